"""Shared memory: nothing torn, nothing lost, whoever is killed when."""

import ast
import os
import struct
import tempfile
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from robot_control_ros.core.errors import ConfigError
from robot_control_ros.fieldbus.process import (
    bus_process,
    client,
    in_process_loop,
    protocol,
    remote_loop,
    rpc,
    shared_memory,
)
from robot_control_ros.fieldbus.process.shared_memory import Latest, SharedFile

REGIONS = {"latest": 1 << 13}


def memory_of(size):
    return memoryview(bytearray(size))


# --- the newest record ---


def test_no_record_at_first():
    assert Latest(memory_of(256)).get() == (0, b"")


@settings(deadline=None)
@given(st.lists(st.binary(max_size=108), min_size=1))
def test_the_newest_is_got_as_often_as_one_likes(records):
    region = memory_of(256)
    writer, reader = Latest(region), Latest(region)
    for number, data in enumerate(records, 1):
        writer.put(data)
        assert reader.get() == reader.get() == (number, data)
        assert reader.number == number


def test_a_record_of_the_capacity_fits_and_no_longer_one():
    latest = Latest(memory_of(256))
    latest.put(bytes(latest.capacity))
    latest.put(b"last")
    with pytest.raises(ConfigError) as caught:
        latest.put(bytes(latest.capacity + 1))
    assert (caught.value.value, caught.value.bound) == (latest.capacity + 1, latest.capacity)
    assert latest.get() == (2, b"last")


@pytest.mark.parametrize("written", range(0, 40, 3))
def test_a_record_written_halfway_isn_t_taken(written):
    """What a killed writer leaves: part of the next record's bytes, with or without its head."""
    region = memory_of(256)
    latest = Latest(region)
    for data in (b"a" * 40, b"b" * 40, b"c" * 40):
        latest.put(data)
    other = bytearray(region)
    ahead = memoryview(other)
    Latest(ahead).put(b"d" * 40)
    changed = [i for i in range(8, len(other)) if other[i] != region[i]]
    for i in changed[:written]:
        region[i] = other[i]
    assert latest.get() == (3, b"c" * 40)
    latest.put(b"e" * 40)
    assert latest.get() == (4, b"e" * 40)


def test_a_record_that_is_overwritten_while_it_is_read_isn_t_taken():
    """The writer is two records ahead, and in the middle of the second."""
    region = memory_of(256)
    latest = Latest(region)
    latest.put(b"x" * 50)
    latest.put(b"y" * 50)
    half = (len(region) - 8) // 2
    at = bytes(region).index(b"y" * 50)
    region[at : at + 25] = b"z" * 25
    assert at < 8 + half  # even numbers are in the first half
    assert latest.get() == (0, b"")


def test_a_head_that_is_read_half_before_and_half_after_isn_t_taken():
    """The number of one record, length and sum of the one that is written over it."""
    region = memory_of(256)
    latest = Latest(region)
    for data in (b"a", b"b" * 10, b"c"):
        latest.put(data)
    number_two = bytes(region)[8:16]
    assert struct.unpack("=Q", number_two) == (2,)
    latest.put(b"d" * 20)
    region[8:16], region[:8] = number_two, number_two
    assert latest.get() == (0, b"")


# --- files ---


def test_two_mappings_are_one_memory(tmp_path):
    sizes = {"a": 64, "b": 128}
    first = SharedFile(tmp_path / "memory", sizes, create=True)
    second = SharedFile(tmp_path / "memory", sizes, create=False)
    assert bytes(first.region("a")) == bytes(64)
    assert bytes(second.region("b")) == bytes(128)
    first.region("a")[:] = b"a" * 64
    second.region("b")[:] = b"b" * 128
    assert bytes(second.region("a")) == b"a" * 64
    assert bytes(first.region("b")) == b"b" * 128
    assert (tmp_path / "memory").read_bytes().endswith(b"a" * 64 + b"b" * 128)
    assert (tmp_path / "memory").stat().st_mode & 0o777 == 0o600


def test_a_new_file_begins_with_zeros_and_the_old_one_stays_with_who_has_it(tmp_path):
    old = SharedFile(tmp_path / "memory", {"a": 64}, create=True)
    Latest(old.region("a")).put(b"old")
    old.close()
    new = SharedFile(tmp_path / "memory", {"a": 64}, create=True)
    assert Latest(new.region("a")).get() == (0, b"")
    Latest(new.region("a")).put(b"new")
    assert Latest(old.region("a")).get() == (1, b"old")


def test_views_stay_valid_when_the_file_is_closed_and_removed(tmp_path):
    file = SharedFile(tmp_path / "memory", {"a": 64}, create=True)
    latest = Latest(file.region("a"))
    file.close(remove=True)
    latest.put(b"here")
    assert latest.get() == (1, b"here")
    assert not (tmp_path / "memory").exists()


def test_an_absent_file_is_refused_in_words(tmp_path):
    with pytest.raises(
        ConfigError, match=r"shared memory /.*/memory: No such file.*of user [0-9]+ run\?"
    ) as caught:
        SharedFile(tmp_path / "memory", REGIONS, create=False)
    assert caught.value.name == str(tmp_path / "memory")


def opened_here(folder):
    """How many files of a folder this process has open: others are closed and opened by
    what else runs here.
    """
    names = []
    for each in os.listdir("/proc/self/fd"):
        with suppress(FileNotFoundError):  # closed meanwhile
            names.append(os.readlink(f"/proc/self/fd/{each}"))
    return sum(name.startswith(str(folder)) for name in names)


@pytest.mark.parametrize("regions", [{"a": 128}, {"b": 64}, {"a": 32, "b": 32}])
def test_a_file_of_another_layout_is_refused_and_left_alone(tmp_path, regions):
    SharedFile(tmp_path / "memory", {"a": 64}, create=True).region("a")[:3] = b"abc"
    content = (tmp_path / "memory").read_bytes()
    opened = opened_here(tmp_path)
    with pytest.raises(ConfigError) as caught:
        SharedFile(tmp_path / "memory", regions, create=False)
    assert content.startswith(bytes.fromhex(caught.value.value))
    assert opened_here(tmp_path) == opened
    assert (tmp_path / "memory").read_bytes() == content


@pytest.mark.parametrize("content", [b"", b"rcr-bus", bytes(80), b"\x80\x04K\x01." * 40])
def test_a_file_without_our_head_is_refused(tmp_path, content):
    (tmp_path / "memory").write_bytes(content)
    (tmp_path / "memory").chmod(0o600)
    with pytest.raises(ConfigError) as caught:
        SharedFile(tmp_path / "memory", {"a": 64}, create=False)
    assert caught.value.value == content[:16].hex()


def test_a_file_that_somebody_has_is_not_made_anew(tmp_path):
    first = SharedFile(tmp_path / "memory", {"a": 64}, create=True)
    first.region("a")[:3] = b"abc"
    with pytest.raises(ConfigError):
        SharedFile(tmp_path / "memory", {"a": 64}, create=True)
    again = SharedFile(tmp_path / "memory", {"a": 64}, create=False)
    assert bytes(again.region("a")[:3]) == b"abc"
    first.close()
    assert bytes(SharedFile(tmp_path / "memory", {"a": 64}, create=True).region("a")) == bytes(64)


def test_a_lock_is_one_file_s_until_that_is_closed_and_leaves_no_file(tmp_path):
    first = SharedFile(tmp_path / "memory", {"a": 64}, create=True)
    second, third = (SharedFile(tmp_path / "memory", {"a": 64}, create=False) for _ in range(2))
    assert second.lock(SharedFile.LED)
    assert not third.lock(SharedFile.LED)
    second.close()
    assert third.lock(SharedFile.LED)
    first.close(remove=True)
    assert list(tmp_path.iterdir()) == []


# --- another user ---


OTHER = 65534
another_user = pytest.mark.starts("a process of another user, which does one thing and ends")


@pytest.fixture
def other(tmp_path_factory):
    """A function that does something as another user; returns what that returns, or
    the name of its error.
    """
    if os.geteuid() != 0:
        pytest.skip("only root can be another user for a while")

    def run(action):
        ours, its = os.pipe()
        child = os.fork()
        if child == 0:
            os.setgroups([])
            os.setgid(OTHER)
            os.setuid(OTHER)
            try:
                text = repr(action())
            except Exception as error:
                text = type(error).__name__
            os.write(its, text.encode())
            os._exit(0)
        os.close(its)
        os.waitpid(child, 0)
        with os.fdopen(ours) as answer:
            return answer.read()

    return run


@pytest.fixture
def shared_folder(tmp_path):
    """As /dev/shm is, on a way that others may go."""
    with tempfile.TemporaryDirectory(dir="/dev/shm", prefix="robot_control_ros.test.") as folder:
        os.chmod(folder, 0o1777)
        yield Path(folder)


@another_user
def test_another_user_finds_nothing_to_open_write_or_lock(shared_folder, other):
    memory = SharedFile(shared_folder / "memory", {"a": 64}, create=True)
    assert memory.lock(SharedFile.LED)
    for action in (
        lambda: SharedFile(memory.path, {"a": 64}, create=False),
        lambda: SharedFile(memory.path, {"a": 64}, create=True),
    ):
        assert other(action) == "ConfigError"
    for action in (
        lambda: os.open(memory.path, os.O_RDONLY),
        lambda: os.open(memory.path, os.O_WRONLY),
        memory.path.unlink,
        lambda: memory.path.rename(shared_folder / "mine"),
    ):
        assert other(action) == "PermissionError"
    assert [path.name for path in shared_folder.iterdir()] == ["memory"]


def plant_file(path):
    path.write_bytes(bytes(80))
    path.chmod(0o666)


def plant_secret_file(path):
    path.write_bytes(bytes(80))
    path.chmod(0)


def plant_fifo(path):
    os.mkfifo(path, 0o666)


def plant_link(path):
    (path.parent / "target").write_bytes(bytes(80))
    path.symlink_to(path.parent / "target")


def plant_link_to_nothing(path):
    path.symlink_to(path.parent / "nothing")


@pytest.mark.parametrize(
    "plant", [plant_file, plant_secret_file, plant_fifo, plant_link, plant_link_to_nothing]
)
@pytest.mark.parametrize("create", [False, True])
@another_user
def test_what_another_user_has_planted_is_refused_by_path_owner_and_way_out(
    shared_folder, other, plant, create
):
    path = shared_folder / "memory"
    assert other(lambda: plant(path)) == "None"
    with pytest.raises(ConfigError) as caught:
        SharedFile(path, {"a": 64}, create=create)
    assert (caught.value.name, caught.value.value, caught.value.bound) == (str(path), OTHER, 0)
    assert "remove it" in str(caught.value)
    assert {each.name for each in shared_folder.iterdir()} <= {"memory", "target"}


@pytest.mark.parametrize("mode", [0o620, 0o602, 0o666])
def test_a_file_that_others_can_write_is_refused(tmp_path, mode):
    made = SharedFile(tmp_path / "memory", {"a": 64}, create=True)
    made.close()
    made.path.chmod(mode)
    with pytest.raises(ConfigError) as caught:
        SharedFile(tmp_path / "memory", {"a": 64}, create=False)
    assert caught.value.value == os.geteuid()


@another_user
def test_a_file_of_root_is_as_good_as_one_s_own(shared_folder, other):
    made = SharedFile(shared_folder / "memory", {"a": 64}, create=True)
    os.fchown(made.descriptor, OTHER, OTHER)
    assert other(lambda: SharedFile(made.path, {"a": 64}, create=False).path.name) == "'memory'"
    os.fchown(made.descriptor, 0, OTHER)
    os.fchmod(made.descriptor, 0o640)
    # may not write it
    assert other(lambda: SharedFile(made.path, {"a": 64}, create=False)) == "ConfigError"


def test_nothing_here_unpickles():
    for module in (shared_memory, rpc, protocol, client, remote_loop, in_process_loop, bus_process):
        names = {
            each.name.partition(".")[0]
            for node in ast.walk(ast.parse(Path(module.__file__).read_text(encoding="utf-8")))
            if isinstance(node, ast.Import)
            for each in node.names
        }
        assert names.isdisjoint({"pickle", "marshal", "shelve", "dill", "cloudpickle"})
