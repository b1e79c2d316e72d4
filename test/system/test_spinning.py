"""Programs that spin between their own steps: each signal interrupts them once."""

import subprocess
import sys

import pytest

pytest.importorskip("rclpy", reason="needs ROS 2 (rclpy)")

from ros_support import Ros

pytestmark = pytest.mark.ros

PROGRAM = """
import os, signal, threading
from rclpy.node import Node
from robot_control_ros.ros.running import spinning

with spinning(lambda: Node("program")) as (node, spin):
    for number in (signal.SIGINT, signal.SIGTERM):
        for when in ("between spins", "while it spins", "between spins"):
            try:
                if when == "between spins":
                    os.kill(os.getpid(), number)
                else:
                    threading.Timer(0.05, os.kill, (os.getpid(), number)).start()
                spin(60.0)
                print("not interrupted")
            except KeyboardInterrupt:
                spin(0.1)  # it clears up
                print("goes on")
"""


def test_a_signal_interrupts_once_and_who_clears_up_spins_on(tmp_path):
    with Ros(tmp_path) as ros:
        command = [sys.executable, "-c", PROGRAM]
        ended = subprocess.run(
            command, env=ros.environment, capture_output=True, text=True, timeout=120
        )
    assert ended.stdout.split("\n")[:-1] == ["goes on"] * 6, ended.stderr
    assert ended.returncode == 0
