"""Programs that spin between their own steps: each signal interrupts them once."""

import signal
import subprocess
import sys

import pytest

pytest.importorskip("rclpy", reason="needs ROS 2 (rclpy)")

from ros_support import Ros

pytestmark = pytest.mark.ros

PROGRAM = """
import os, signal, sys, threading
from rclpy.node import Node
from robot_control_ros.nodes.common.running import spinning

def send():
    os.kill(os.getpid(), signal.SIGINT if sys.argv[2] == "SIGINT" else signal.SIGTERM)

with spinning(lambda: Node("program")) as (node, spin):
    for _ in range(2):
        try:
            if sys.argv[1] == "between spins":
                send()
            else:
                threading.Timer(0.05, send).start()
            spin(60.0)
            print("not interrupted")
        except KeyboardInterrupt:
            spin(0.1)  # it clears up
            print("goes on")
"""


@pytest.mark.parametrize("name", [signal.SIGINT.name, signal.SIGTERM.name])
@pytest.mark.parametrize("when", ["between spins", "while it spins"])
def test_a_signal_interrupts_once_and_who_clears_up_spins_on(tmp_path, when, name):
    with Ros(tmp_path) as ros:
        command = [sys.executable, "-c", PROGRAM, when, name]
        ended = subprocess.run(command, env=ros.environment, capture_output=True, text=True, timeout=120)
    assert ended.stdout.split("\n")[:-1] == ["goes on"] * 2, ended.stderr
    assert ended.returncode == 0
