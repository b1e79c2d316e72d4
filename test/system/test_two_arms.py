"""Two arms below namespaces, their nodes in processes: the doctor."""

import subprocess
import sys

import pytest

pytest.importorskip("rclpy", reason="needs ROS 2 (rclpy)")
pytest.importorskip("mujoco")

from robot_control_ros.bringup import SETUPS

pytestmark = [pytest.mark.ros, pytest.mark.sim]


def test_the_doctor_examines_the_arm_that_it_is_asked_for(ros):
    for spec in SETUPS["two_arms"].make(rate="100", watchdog="false").nodes():
        more = {
            "parameter_files": spec.parameter_files,
            "remappings": spec.remappings,
            "namespace": spec.namespace,
        }
        ros.start(spec.executable, dict(spec.parameters), **more)
    options = ["--robot", "two_ur5e#left", "--seconds", "5"]
    command = [sys.executable, "-m", "robot_control_ros.cli", "doctor", *options]
    found = subprocess.run(
        command, env=ros.environment, capture_output=True, text=True, timeout=120, check=False
    )
    for words in (
        "joint states on /left/joint_states",
        "all 6 joints",
        "left/controller",
        "no watchdog",
    ):
        assert words in found.stdout, found.stdout
    assert "-r __ns:=/left" in found.stdout
    assert "effort on /left/forward_effort_controller/commands" in " ".join(found.stdout.split())
