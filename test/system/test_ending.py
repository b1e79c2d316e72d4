"""Processes that end although no Python runs in them any more."""

import signal
import subprocess
import sys

import pytest

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the C library of Linux")

BEGIN = """
import ctypes, os, signal, sys, time
from robot_control_ros.ros import ending
holding = ctypes.PyDLL(None)  # its functions keep the interpreter's lock, as rclpy's do
"""


def end_of(program, number=None):
    """The exit status of a program that gets a signal when it says that it is ready, and what it
    printed after that.
    """
    with subprocess.Popen(
        [sys.executable, "-c", BEGIN + program],
        stdout=subprocess.PIPE,
        stdin=subprocess.DEVNULL,
        text=True,
    ) as process:
        assert process.stdout.readline() == "ready\n"
        if number is not None:
            process.send_signal(number)
        # not communicate(), which misses what readline() has read ahead
        printed = process.stdout.read()
    return process.returncode, printed


def test_a_block_that_takes_too_long_ends_the_process_with_its_status():
    program = """
print("ready", flush=True)
with ending.exits_within(0.3, 7):
    holding.sleep(50)
print("goes on")
"""
    assert end_of(program) == (7, "")


def test_a_block_that_is_done_in_time_ends_nothing():
    program = """
print("ready", flush=True)
with ending.exits_within(0.3, 7):
    pass
time.sleep(1.0)
print("goes on")
"""
    assert end_of(program) == (0, "goes on\n")


def test_a_command_that_is_done_ends_well_although_its_middleware_hangs_at_the_end():
    program = """
from robot_control_ros.cli import lead, main
from robot_control_ros.client import robot
class Hanging:
    law = "impedance"
    def __init__(self, **chosen): pass
    def __enter__(self): return self
    def __exit__(self, *error):
        with ending.exits_within(4.0, ending.DEAF):  # as a client's own thread
            holding.sleep(50)
    def hold(self): return ""
robot.Robot = Hanging
print("ready", flush=True)
sys.exit(main.main(["hold"]))
"""
    assert end_of(program)[0] == 0


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_a_process_in_which_no_python_runs(number):
    program = """
for number in (signal.SIGINT, signal.SIGTERM):
    signal.signal(number, lambda number, frame: None)
ending.signal_bound().begin()
print("ready", flush=True)
for _ in range(100):
    holding.sleep(50)
"""
    assert end_of(program, number) == (-signal.SIGALRM, "")


def test_a_process_in_which_python_runs_goes_on():
    program = """
signals = []
signal.signal(signal.SIGINT, lambda number, frame: signals.append(number))
bound = ending.signal_bound()
bound.begin()
print("ready", flush=True)
for _ in range(2):  # each signal counts anew
    while not signals:
        bound.alive()
        time.sleep(0.05)
    signals.clear()
    for _ in range(60):
        bound.alive()
        time.sleep(0.05)
    os.kill(os.getpid(), signal.SIGINT)
bound.end()
print("goes on")
"""
    assert end_of(program, signal.SIGINT) == (0, "goes on\n")


def test_what_was_registered_for_the_end_is_called_once():
    program = """
import atexit
atexit.register(print, "at the end")
atexit.register(ending.leave, 3, 60.0)
print("ready", flush=True)
"""
    assert end_of(program) == (3, "at the end\n")
