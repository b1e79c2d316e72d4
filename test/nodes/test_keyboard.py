"""Keys of a terminal: what they are called, and that the terminal is itself again afterwards."""

import os
import pty
import signal
import termios

import pytest
from terminal import Terminal

pytest.importorskip("rclpy", reason="the nodes' folder needs ROS 2 (rclpy)")

from robot_control_ros.nodes.demo.keyboard import Keyboard, KeyReader


@pytest.mark.parametrize(
    ("data", "keys"),
    [
        (b"g", ["g"]),
        (b"gb\n", ["g", "b", "\n"]),
        (b"\x1b[A\x1b[B\x1b[C\x1b[D", ["up", "down", "right", "left"]),
        (b"\x1bOA\x1bOD", ["up", "left"]),  # a terminal in application mode
        (b"\x1b[A\x1b[A\x1b[A", ["up", "up", "up"]),
        (b"\x1b[1;5Ag", ["g"]),  # Ctrl and an arrow: not one of ours, and swallowed whole
        (b"\x1b[3~g", ["g"]),  # Delete
        (b"\x1bg", ["escape", "g"]),
        (b"\x1b\x1b[A", ["escape", "up"]),
    ],
)
def test_keys_are_read_as_they_come_whole_or_byte_by_byte(data, keys):
    assert KeyReader().feed(data) == keys
    reader = KeyReader()
    assert [key for byte in data for key in reader.feed(bytes([byte]))] == keys


def test_escape_alone_is_the_key_once_nothing_follows():
    reader = KeyReader()
    assert reader.feed(b"\x1b") == []
    assert reader.feed(b"") == ["escape"]
    assert reader.feed(b"") == []


def test_half_an_arrow_is_no_escape():
    reader = KeyReader()
    assert reader.feed(b"\x1b[") == []
    assert reader.feed(b"A") == ["up"]
    assert reader.feed(b"\x1b[") == []
    assert reader.feed(b"") == []
    assert reader.feed(b"A") == ["A"]


def test_a_stream_that_is_no_terminal_gives_no_keys(tmp_path):
    with (tmp_path / "keys").open("w+") as stream:
        stream.write("ggg")
        stream.seek(0)
        with Keyboard(stream) as keyboard:
            assert not keyboard.usable
            assert keyboard.keys() == []
    assert not Keyboard(stream).usable  # closed


def test_a_terminal_of_others_is_left_alone():
    master, slave = pty.openpty()  # not our session's
    with os.fdopen(slave) as stream, Keyboard(stream) as keyboard:
        before = termios.tcgetattr(stream)
        assert not keyboard.usable
        assert termios.tcgetattr(stream) == before
    os.close(master)


PROGRAM = """
import signal, sys, time
from robot_control_ros.nodes.demo.keyboard import Keyboard

def interrupt(number, frame):
    raise KeyboardInterrupt

signal.signal(signal.SIGTERM, interrupt)
print("usable", Keyboard().usable, flush=True)
with Keyboard() as keyboard:
    print("ready", flush=True)
    while True:
        for key in keyboard.keys():
            print(f"<{key}>", flush=True)
            if key == "escape":
                sys.exit(0)
            if key == "x":
                raise ValueError("on purpose")
        time.sleep(0.01)
"""


@pytest.fixture
def terminal():
    started = []

    def start():
        started.append(Terminal("-c", PROGRAM))
        return started[-1]

    yield start
    for item in started:
        item.close()


def test_keys_come_one_by_one_without_echo(terminal):
    program = terminal()
    program.until("usable True")
    program.until("ready")
    assert program.modes() == termios.ISIG  # Ctrl-C stays what it is
    shown = len(program.shown)
    program.press(b"g\x1b[A")
    program.until("<g>")
    program.until("<up>")
    assert program.shown[shown:].split() == ["<g>", "<up>"]
    program.press(b"\x1b")
    assert program.end() == (0, program.before)


@pytest.mark.parametrize(
    ("how", "status"),
    [
        (lambda program: program.press(b"x"), 1),
        (lambda program: program.press(b"\x03"), -signal.SIGINT),
        (lambda program: os.kill(program.pid, signal.SIGTERM), -signal.SIGINT),
    ],
    ids=["an error", "Ctrl-C", "SIGTERM"],
)
def test_the_terminal_is_itself_again_however_the_program_ends(terminal, how, status):
    program = terminal()
    program.until("ready")
    assert program.modes() != program.before
    how(program)
    assert program.end() == (status, program.before)
