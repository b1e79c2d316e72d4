"""A gripper over DDS: commands by topic, the client, the shell; who is lost opens nothing."""

import subprocess
import sys

import pytest

pytest.importorskip("rclpy", reason="needs ROS 2 (rclpy)")
pytest.importorskip("mujoco", reason="the simulator needs MuJoCo")

from ros_support import Ros
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
from std_srvs.srv import SetBool

from robot_control_ros import Robot
from robot_control_ros.robot.configuration import load_robot

pytestmark = [pytest.mark.ros, pytest.mark.sim]
NAME = "ur5+robotiq_2f85"
ROBOT = load_robot(NAME)
GRIPPER = ROBOT.gripper
OPEN, CLOSED = GRIPPER.positions
RATE = 100.0  # Hz
SLOW = 60.0  # s, for a machine under load


def driven(message):
    return message.position[list(message.name).index(GRIPPER.joint)]


def test_the_client_and_the_shell_lead_the_fingers_and_a_killed_controller_opens_nothing(tmp_path):
    def run(*arguments, status=0):
        command = [
            sys.executable,
            "-m",
            "robot_control_ros.cli",
            "gripper",
            *arguments,
            "--within",
            str(SLOW),
        ]
        command += ["--lost-after", str(SLOW)]
        done = subprocess.run(
            command, cwd=tmp_path, env=ros.environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == status, done.stderr
        return done.stdout + done.stderr

    with Ros(tmp_path) as ros:
        ros.start("simulator", {"robot": NAME, "scene": "pick", "rate": RATE, "pacing": "lockstep"})
        remappings = {"wrench": "/force_torque_sensor_broadcaster/wrench"}
        given = {"robot": NAME, "rate": RATE, "autostart": True, "use_sim_time": True}
        controller = ros.start("controller", given, remappings=remappings)
        states = ros.subscribe(JointState, "joint_states")
        with Robot("ur5", timeout=SLOW, lost_after=SLOW) as robot:
            below = robot.state.reference_pose
            below[2, 3] = 0.148
            robot.move_to(below, timeout=SLOW)
            grip = robot.gripper.close(force=40.0, timeout=SLOW)
            assert grip.holding
            assert grip.force == pytest.approx(40.0, abs=1.0)
            below[2, 3] = 0.25
            robot.move_to(below, timeout=SLOW)
            assert robot.gripper.state.holding
        ros.until(
            lambda: "40 N, holds something" in run(), "fingers at rest, as the shell sees them"
        )
        controller.process.kill()
        assert ros.call(SetBool, "/simulator/pause", data=True).success
        for _ in range(30):  # 0.3 s, longer than the time-out of the arm's commands
            assert ros.trigger("/simulator/step").success
        ros.next(states, "a last step", lambda: ros.trigger("/simulator/step"))
        assert GRIPPER.width(driven(states.last)) == pytest.approx(grip.width, abs=5e-4)


def test_the_shell_leads_the_fingers_of_the_arm_in_its_namespace(tmp_path):
    """Its other commands and its refusals: test/cli/test_lead.py."""
    with Ros(tmp_path) as ros:
        given = {"robot": NAME, "prefix": "left_", "rate": RATE}
        # in lockstep it would take the time in which the shells start
        ros.start("simulator", given, namespace="left")
        ros.start(
            "controller", {**given, "autostart": True, "use_sim_time": True}, namespace="left"
        )
        commands = ros.subscribe(Float64MultiArray, "left/forward_effort_controller/commands")
        ros.until(lambda: len(commands), "an active controller")

        def run(*arguments):
            command = [
                sys.executable,
                "-m",
                "robot_control_ros.cli",
                "gripper",
                *arguments,
                "--within",
                str(SLOW),
            ]
            command += ["--lost-after", str(SLOW), "--namespace", "left"]
            done = subprocess.run(
                command, env=ros.environment, capture_output=True, text=True, check=False
            )
            assert done.returncode == 0, done.stderr
            return done.stdout

        assert run("close").startswith("0.")
        assert "85.0 mm" in run("open")
