"""The nodes' executables as they are installed: they start, and Ctrl-C ends them."""

import signal
import subprocess
import time

import pytest
from ros_support import ros_environment
from wheel_installation import NAME, install

pytestmark = [pytest.mark.ros, pytest.mark.long]


def test_installed_executables_start_and_end_as_ros2_run_would(tmp_path):
    """From the installed files alone: own configuration, own description, until Ctrl-C."""
    pytest.importorskip("rclpy", reason="ROS 2 is not installed")
    pytest.importorskip("viser", reason="the page needs viser")
    installation = install(tmp_path)
    settings = installation.environment() | {"ROS_DOMAIN_ID": ros_environment()["ROS_DOMAIN_ID"]}
    for node in ("controller", "dashboard", "simulator", "watchdog"):
        messages = tmp_path / f"{node}.txt"
        with messages.open("w") as out:
            command = [
                installation.prefix / "lib" / NAME / node,
                "--ros-args",
                "--log-level",
                "debug",
            ]
            process = subprocess.Popen(command, env=settings, cwd=tmp_path, stdout=out, stderr=out)
        while node not in messages.read_text():
            assert process.poll() is None, messages.read_text()
            time.sleep(0.05)  # between two looks
        process.send_signal(signal.SIGINT)
        assert process.wait() == 0, messages.read_text()
        assert "Traceback" not in messages.read_text()
