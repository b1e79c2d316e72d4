"""A file is replaced when the new one is complete; where that fails, the old
one is there, whole.
"""

import os
import stat

import pytest
from full_disk import files_end_at

from robot_control_ros.core.errors import ConfigError, HardwareFault
from robot_control_ros.core.output_files import replaced_file, write_rows, write_text
from robot_control_ros.core.output_paths import writable_file


@pytest.fixture
def full_disk():
    """No file may become longer than 4 kB, as where a disk is full."""
    with files_end_at(4096):
        yield


def test_a_new_file_has_its_content_and_nothing_stands_beside_it(tmp_path):
    assert write_text(tmp_path / "a.md", "für\n", ".md") == tmp_path / "a.md"
    assert write_rows(tmp_path / "a.csv", [["x", "y"], [1, "2,3"]]) == tmp_path / "a.csv"
    assert (tmp_path / "a.md").read_bytes() == "für\n".encode()
    assert (tmp_path / "a.csv").read_bytes() == b'x,y\r\n1,"2,3"\r\n'
    assert len(list(tmp_path.iterdir())) == 2


@pytest.mark.parametrize(
    "write",
    [lambda path: write_text(path, "x" * 10_000), lambda path: write_rows(path, [["x" * 10_000]])],
)
def test_a_full_disk_keeps_the_old_file_and_is_told_with_its_name(write, tmp_path, full_disk):
    path = tmp_path / "old.csv"
    path.write_text("old")
    with pytest.raises(HardwareFault, match=r"old\.csv"):
        write(path)
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_an_error_while_it_is_written_keeps_the_old_file(tmp_path):
    path = tmp_path / "old.csv"
    path.write_text("old")
    with pytest.raises(ZeroDivisionError), replaced_file(path) as file:
        file.write(b"%d" % (1 / 0))
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_the_old_file_is_there_until_the_new_one_is_complete(tmp_path):
    path = tmp_path / "old.csv"
    path.write_text("old")
    with replaced_file(path) as file:
        file.write(b"new")
        file.flush()
        assert path.read_text() == "old"
    assert path.read_text() == "new"


def test_the_mode_stays_and_a_link_s_target_is_replaced(tmp_path):
    (tmp_path / "there").mkdir()
    target, link = tmp_path / "there" / "a.csv", tmp_path / "link.csv"
    target.write_text("old")
    target.chmod(0o640)
    link.symlink_to(target)
    write_text(link, "new", ".csv")
    assert link.is_symlink()
    assert target.read_text() == "new"
    assert stat.S_IMODE(target.stat().st_mode) == 0o640


def test_a_device_is_written_to_and_stays(tmp_path):
    write_text(os.devnull, "x")
    assert stat.S_ISCHR(os.stat(os.devnull).st_mode)
    with pytest.raises(HardwareFault, match="/dev/full"):
        write_text("/dev/full", "x")


@pytest.mark.parametrize("linked", [False, True])
def test_a_file_of_another_kind_is_not_overwritten(linked, tmp_path):
    robot = tmp_path / "robot.yaml"
    robot.write_text("name: arm")
    path = robot
    if linked:
        path = tmp_path / "log.csv"
        path.symlink_to(robot)
    for write in (lambda: writable_file(path, ".csv"), lambda: write_rows(path, [["x"]])):
        with pytest.raises(ConfigError) as caught:
            write()
        assert (caught.value.value, caught.value.bound) == (str(path), (".csv",))
    assert robot.read_text() == "name: arm"


def test_any_new_name_may_be_written_and_an_empty_file_as_well(tmp_path):
    (tmp_path / "empty.txt").touch()
    for name in ("new.txt", "empty.txt", "new"):
        write_rows(tmp_path / name, [["x"]])
        assert (tmp_path / name).read_text() == "x\n"


@pytest.mark.parametrize("name", ["no/such/folder.csv", "folder", "loop"])
def test_what_can_not_be_written_is_refused(name, tmp_path):
    (tmp_path / "folder").mkdir()
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    with pytest.raises(ConfigError) as caught:
        writable_file(tmp_path / name)
    assert caught.value.name == "file"
