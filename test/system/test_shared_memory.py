"""Shared memory between processes that run at once, and what is left where
one of them is killed.
"""

import os
import signal
import struct
import subprocess
import sys
import time
from pathlib import Path

from played_bus import Bus
from whole_records import REGIONS, record

from robot_control_ros.fieldbus.process.shared_memory import Latest, SharedFile

# A writer at full speed, of records of changing length that tell by themselves whether they are
# whole.
WRITER = """
import sys
from pathlib import Path
from robot_control_ros.fieldbus.process.shared_memory import Latest, SharedFile
from whole_records import REGIONS, record
memory = SharedFile(Path(sys.argv[1]), REGIONS, create=False)
latest = Latest(memory.region("latest"))
number = latest.number
while True:
    number += 1
    latest.put(record(number))
"""
CONTROLLER = """
import sys
from pathlib import Path
from robot_control_ros.fieldbus.process.remote_loop import RemoteLoop
from robot_control_ros.robot.configuration import load_robot
from robot_control_ros.laws import law_class
from robot_control_ros.laws.running_law import RunningLaw
robot = load_robot("ur5", "ethercat")
loop = RemoteLoop(robot, RunningLaw(robot, "impedance"), None, 0.2, name="ur5", path=Path(sys.argv[1]))
loop.reset()
print("active", flush=True)
sys.stdin.read()
"""


def number_in(data):
    """The number, where the record is just what its writer wrote."""
    (number,) = struct.unpack_from("=Q", data)
    assert data == record(number)
    return number


def started(program, *arguments):
    paths = [
        Path(__file__).parent,
        Path(__file__).parents[1] / "support",
        Path(__file__).parents[2],
    ]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, paths))}
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    return subprocess.Popen(
        [sys.executable, "-c", program, *map(str, arguments)], env=environment, text=True, **pipes
    )


def killed(process):
    process.send_signal(signal.SIGKILL)
    process.wait()


def test_no_record_is_torn_by_a_writer_at_full_speed_nor_where_it_is_killed(tmp_path):
    memory = SharedFile(tmp_path / "memory", REGIONS, create=True)
    latest, last = Latest(memory.region("latest")), 0
    for _ in range(3):
        writer, got = started(WRITER, memory.path), 0
        while got < 500:  # without the checksum a torn one comes among the first 25
            assert writer.poll() is None
            number, data = latest.get()
            if number:
                assert number_in(data) == number >= last
                got += number > last
                last = number
        killed(writer)
        number, data = latest.get()
        assert number == latest.number >= last
        assert number_in(data) == number
        last = number


def test_a_controller_that_was_killed_is_found_at_once_and_another_one_may_attach(
    tmp_path, monkeypatch
):
    bus = Bus(tmp_path / "memory", monkeypatch)
    bus.remote.close()
    process = started(CONTROLLER, bus.path)
    while not bus.in_process.active:
        bus.serve()
        assert process.poll() is None
    bus.serve()
    assert process.stdout.readline() == "active\n"
    bus.cycles(3)
    assert bus.in_process.failure(time.monotonic()) == ""
    killed(process)
    assert bus.in_process.failure(time.monotonic()) == "the controller's process has ended"
    bus.remote = bus.controller("impedance")
    assert not bus.in_process.active
    bus.remote.reset()
    assert bus.cycles(2)[-1] is not None
