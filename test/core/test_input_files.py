"""What is no regular file, too large or no text is refused; nothing waits for a pipe, and
a device isn't read.
"""

import os

import pytest

from robot_control_ros.core.errors import ConfigError
from robot_control_ros.core.input_files import read_bytes, read_text


def test_a_regular_file_is_read_also_by_a_link(tmp_path):
    (tmp_path / "a.txt").write_text("für\n", encoding="utf-8")
    (tmp_path / "link.txt").symlink_to(tmp_path / "a.txt")
    assert read_text("urdf", tmp_path / "link.txt") == "für\n"


def test_a_byte_order_mark_is_no_text(tmp_path):
    (tmp_path / "a.txt").write_bytes("\ufeffa".encode())
    assert read_text("urdf", tmp_path / "a.txt") == "a"


def pipe(folder):
    os.mkfifo(folder / "pipe")
    return folder / "pipe"


def loop(folder):
    (folder / "one").symlink_to(folder / "two")
    (folder / "two").symlink_to(folder / "one")
    return folder / "one"


@pytest.mark.parametrize(
    "make",
    [
        pipe,
        loop,
        lambda folder: folder,
        lambda folder: folder / "missing",
        lambda folder: "/dev/zero",
        lambda folder: "a\0b",
        lambda folder: "x" * 5000,
        lambda folder: "\ud800",
    ],
    ids=["pipe", "loop", "folder", "missing", "zero", "NUL", "long", "surrogate"],
)
def test_what_is_no_regular_file_is_refused_at_once(make, tmp_path):
    path = make(tmp_path)
    with pytest.raises(ConfigError) as caught:
        read_bytes("urdf", path)
    assert (caught.value.name, caught.value.value) == ("urdf", str(path))


def test_a_file_beyond_the_bound_is_refused_with_it(tmp_path):
    path = tmp_path / "large"
    with path.open("wb") as file:
        file.truncate(10**12)  # a hole: nothing of it is on the disk
    with pytest.raises(ConfigError) as caught:
        read_bytes("urdf", path, 1000)
    assert caught.value.bound == 1000
    path.write_bytes(b"x" * 1000)
    assert len(read_bytes("urdf", path, 1000)) == 1000


def test_other_bytes_than_utf_8_are_refused_with_their_line(tmp_path):
    (tmp_path / "latin").write_bytes("a\nfür".encode("latin-1"))
    with pytest.raises(ConfigError, match="line 2"):
        read_text("urdf", tmp_path / "latin")
