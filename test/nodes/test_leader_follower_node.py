"""Two controllers and two simulated arms in two namespaces over DDS: one leads the
other against a wall.
"""

import signal

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="needs ROS 2 (rclpy)")
pytest.importorskip("mujoco", reason="the simulator needs MuJoCo")

from geometry_msgs.msg import PoseStamped, WrenchStamped
from lockstep import LockstepRos

from robot_control_ros.robot.configuration import load_robot
from robot_control_ros.robot.model import RobotModel
from robot_control_ros.ros.messages import fill_vector, read_pose, vector

pytestmark = [pytest.mark.ros, pytest.mark.sim, pytest.mark.long]

ABSOLUTE = (
    "/clock",
    "/force_torque_sensor_broadcaster/wrench",
    "/forward_effort_controller/commands",
)
DAMPER = {
    "impedance.stiffness": 0.0,
    "impedance.damping_ratio": 0.0,
    "impedance.damping": [80.0] * 3 + [8.0] * 3,
}
PUSH = 12.0  # N
HOME = RobotModel.of(load_robot("ur5")).at(np.array(load_robot("ur5").home)).pose


def start_arm(ros, side, scene, **gains):
    """A simulator and its controller in a namespace; returns the controller's process."""
    names = {name: f"/{side}{name}" for name in ABSOLUTE} | {"__ns": f"/{side}"}
    ros.start(
        "simulator",
        {"robot": "ur5", "rate": 250.0, "scene": scene, "pacing": "lockstep"},
        remappings=names,
    )
    given = {
        "robot": "ur5",
        "profile": "sim",
        "rate": 250.0,
        "law": "impedance",
        "use_sim_time": True,
    } | gains
    return ros.start("controller", given, remappings=names | {"wrench": f"/{side}{ABSOLUTE[1]}"})


def test_a_pushed_leader_presses_the_follower_to_a_wall_and_feels_it_and_a_lost_leader_leaves_it_there(
    tmp_path,
):
    with LockstepRos(tmp_path) as ros:
        leader = start_arm(ros, "left", "", **DAMPER)
        start_arm(ros, "right", "wall")
        teleop = ros.start(
            "teleop",
            {
                "input": "leader",
                "leader": "/left/controller",
                "controller": "/right/controller",
                "force_scale": 0.4,
            }
            | {"timeout": 2.0, "max_force": 100.0},
        )
        push = ros.publisher(WrenchStamped, "/left/simulator/push")
        contacts = ros.subscribe(WrenchStamped, "/right/simulator/contact_wrench")
        felt = ros.subscribe(WrenchStamped, "/left/controller/target_wrench")
        poses = ros.subscribe(PoseStamped, "/right/controller/pose")
        ros.until(lambda: len(felt) and len(poses), "both arms")
        start, hand = read_pose(poses.last.pose)[:3, 3], WrenchStamped()
        hand.header.frame_id = "tool0"
        fill_vector(hand.wrench.force, HOME[:3, :3].T @ (PUSH, 0.0, 0.0))  # the wall is along x

        def contact():
            return (
                float(np.linalg.norm(vector(contacts.last.wrench.force))) if len(contacts) else 0.0
            )

        ros.until(lambda: contact() > 0.95 * PUSH / 0.4, "the wall", lambda: push.publish(hand))
        ros.until(
            lambda: np.linalg.norm(read_pose(poses.last.pose)[:3, 3] - start) > 0.05,
            "5 cm and more",
        )
        ros.until(
            lambda: abs(np.linalg.norm(vector(felt.last.wrench.force)) - PUSH) < 0.1 * PUSH,
            "the hand's own force, felt back",
            lambda: push.publish(hand),
        )
        leader.process.send_signal(signal.SIGKILL)
        ros.until(lambda: "let go" in teleop.err + teleop.out, "the loss of the leader")
        ros.until(lambda: not vector(felt.last.wrench.force).any(), "the end of the force")
        pressed, place, count = contact(), read_pose(poses.last.pose), len(poses)
        ros.until(lambda: len(poses) > count + 50, "a while")
        assert np.abs(read_pose(poses.last.pose) - place).max() < 1e-3
        assert contact() == pytest.approx(pressed, rel=0.1)
