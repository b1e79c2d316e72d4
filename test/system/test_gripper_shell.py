"""A gripper over DDS: commands by topic, the client, the shell; who is lost opens nothing."""

import subprocess
import sys

import pytest

pytest.importorskip("rclpy", reason="needs ROS 2 (rclpy)")
pytest.importorskip("mujoco", reason="the simulator needs MuJoCo")

from ros_support import Ros
from sensor_msgs.msg import JointState
from std_srvs.srv import SetBool

from robot_control_ros import Robot
from robot_control_ros.robot.configuration import load_robot

pytestmark = [pytest.mark.ros, pytest.mark.sim]
NAME = "ur5+robotiq_2f85"
ROBOT = load_robot(NAME)
GRIPPER = ROBOT.gripper
PREFIX = "left_"
RATE = 100.0  # Hz
SLOW = 60.0  # s, for a machine under load


def driven(message):
    return message.position[list(message.name).index(PREFIX + GRIPPER.joint)]


def test_shell_and_client_lead_the_fingers_in_a_namespace_and_a_killed_controller_opens_nothing(
    tmp_path,
):
    """The shell's other commands and its refusals: test/cli/test_lead.py."""
    with Ros(tmp_path) as ros:
        given = {"robot": NAME, "prefix": PREFIX, "rate": RATE}
        scene = {"scene": "pick", "pacing": "lockstep"}
        ros.start("simulator", {**given, **scene}, namespace="left")
        remappings = {"wrench": "force_torque_sensor_broadcaster/wrench"}
        controller = ros.start(
            "controller",
            {**given, "autostart": True, "use_sim_time": True},
            remappings=remappings,
            namespace="left",
        )
        states = ros.subscribe(JointState, "left/joint_states")
        with Robot(namespace="left", timeout=SLOW, lost_after=SLOW) as robot:
            below = robot.state.reference_pose
            below[2, 3] = 0.148
            robot.move_to(below, timeout=SLOW)
            assert "40 N, holds something" in gripper(
                ros, "close", "--force", "40", "--seconds", str(SLOW)
            )
            grip = robot.gripper.state
            assert grip.holding
            assert grip.force == pytest.approx(40.0, abs=1.0)
            below[2, 3] = 0.25
            robot.move_to(below, timeout=SLOW)
            assert robot.gripper.state.holding
        controller.process.kill()
        assert ros.call(SetBool, "/left/simulator/pause", data=True).success
        for _ in range(30):  # 0.3 s, longer than the time-out of the arm's commands
            assert ros.trigger("/left/simulator/step").success
        ros.next(states, "a last step", lambda: ros.trigger("/left/simulator/step"))
        assert GRIPPER.width(driven(states.last)) == pytest.approx(grip.width, abs=5e-4)


def gripper(ros, *arguments):
    """What `robot_control gripper` prints."""
    command = [sys.executable, "-m", "robot_control_ros.cli", "gripper", *arguments]
    command += ["--namespace", "left", "--within", str(SLOW), "--lost-after", str(SLOW)]
    done = subprocess.run(command, env=ros.environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout
