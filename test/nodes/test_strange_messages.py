"""Well-formed messages with anything in them, on each input topic of the controller:
nothing leaves a callback.
"""

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="needs ROS 2 (rclpy)")

from geometry_msgs.msg import PoseStamped, Transform, TwistStamped, WrenchStamped
from lockstep import LockstepRos
from ros_support import PERIOD, Controller, FakeRobot
from sensor_msgs.msg import JointState
from trajectory_msgs.msg import (
    JointTrajectory,
    JointTrajectoryPoint,
    MultiDOFJointTrajectory,
    MultiDOFJointTrajectoryPoint,
)

from robot_control_ros.robot.configuration import load_robot
from robot_control_ros.robot.model import RobotModel
from robot_control_ros.ros.messages import to_duration, to_stamp

pytestmark = pytest.mark.ros

ROBOT = load_robot("ur5")
NUMBERS = [
    0.0,
    -0.0,
    1.0,
    -1.0,
    0.3,
    1e-300,
    1e3,
    1e16,
    1e154,
    1e300,
    float("inf"),
    float("-inf"),
    float("nan"),
]
FRAMES = ["base_link", "tool0", "ft_frame", "", "nowhere", "\u20ac", "x" * 1000]
NAMES = [*ROBOT.joints, "tool0", "finger", "", "stiffness", "damping_ratio", "frame", "x" * 1000]


class Stranger:
    """Makes messages of random content; half of the numbers are plausible."""

    def __init__(self, rng):
        self.rng, self.now = rng, 0.0

    def number(self):
        return float(self.rng.uniform(-1, 1)) if self.rng.random() < 0.5 else self.choose(NUMBERS)

    def choose(self, options):
        return options[self.rng.integers(len(options))]

    def numbers(self, count):
        return [self.number() for _ in range(count)]

    def count(self, usual):
        return usual if self.rng.random() < 0.7 else int(self.rng.integers(0, 40))

    def header(self, message):
        message.header.frame_id = self.choose(FRAMES)
        times = [0.0, self.now, self.now + 0.1, self.now - 0.1, 2e9, self.now + 1e4]
        message.header.stamp = to_stamp(max(self.choose(times), 0.0))
        return message

    def vector(self, message):
        message.x, message.y, message.z = self.numbers(3)

    def turn(self, message):
        message.x, message.y, message.z, message.w = (
            self.numbers(4) if self.rng.random() < 0.5 else (0.0, 0.0, 0.0, 1.0)
        )

    def names(self):
        if self.rng.random() < 0.5:
            return list(ROBOT.joints)
        return [self.choose(NAMES) for _ in range(self.count(2))]

    def pose(self):
        message = self.header(PoseStamped())
        self.vector(message.pose.position)
        self.turn(message.pose.orientation)
        return message

    def twist(self):
        message = self.header(TwistStamped())
        self.vector(message.twist.linear)
        self.vector(message.twist.angular)
        return message

    def wrench(self):
        message = self.header(WrenchStamped())
        self.vector(message.wrench.force)
        self.vector(message.wrench.torque)
        return message

    def joint(self):
        names = self.names()
        parts = {
            part: self.numbers(self.count(len(names)))
            for part in ("position", "velocity", "effort")
        }
        return self.header(JointState(name=names, **parts))

    def time(self, k):
        return to_duration(
            0.1 * (k + 1) if self.rng.random() < 0.9 else self.choose([0.0, 1e-9, 1e6, -1.0])
        )

    def trajectory(self):
        names = self.names()
        points = []
        for k in range(self.count(4)):
            parts = {
                part: self.numbers(self.count(len(names))) for part in ("positions", "velocities")
            }
            points.append(JointTrajectoryPoint(time_from_start=self.time(k), **parts))
        return self.header(JointTrajectory(joint_names=names, points=points))

    def poses(self):
        points = []
        for k in range(self.count(4)):
            transforms = [Transform() for _ in range(1 if self.rng.random() < 0.9 else 2)]
            for each in transforms:
                self.vector(each.translation)
                self.turn(each.rotation)
            points.append(
                MultiDOFJointTrajectoryPoint(transforms=transforms, time_from_start=self.time(k))
            )
        names = ["tool0"] if self.rng.random() < 0.8 else self.names()
        return self.header(MultiDOFJointTrajectory(joint_names=names, points=points))


TOPICS = {
    "/sensor/wrench": (WrenchStamped, Stranger.wrench),
    "/controller/target_wrench": (WrenchStamped, Stranger.wrench),
    "/controller/target_pose": (PoseStamped, Stranger.pose),
    "/controller/target_twist": (TwistStamped, Stranger.twist),
    "/controller/target_joint": (JointState, Stranger.joint),
    "/controller/target_posture": (JointState, Stranger.joint),
    "/controller/joint_trajectory": (JointTrajectory, Stranger.trajectory),
    "/controller/tip_trajectory": (MultiDOFJointTrajectory, Stranger.poses),
    "/controller/target_impedance": (JointTrajectory, Stranger.trajectory),
}


def bombard(folder, rng, law, count):
    """So many messages on random topics, each followed by a joint state of a robot that
    goes where it is led.
    """
    model = RobotModel.of(ROBOT)
    limits = model.limits
    step = np.array(ROBOT.effort_rate) * PERIOD
    with LockstepRos(folder) as ros:
        controller = Controller(ros, state_timeout=10.0, law=law, check_system=False)
        robot = FakeRobot(ros, ROBOT)
        publishers = {topic: ros.publisher(kind, topic) for topic, (kind, _) in TOPICS.items()}
        robot.begin(lambda q: model.at(q).gravity)
        stranger, last = Stranger(rng), robot.exchange()
        for _ in range(count):
            stranger.now = robot.time
            topic = stranger.choose(list(TOPICS))
            publishers[topic].publish(TOPICS[topic][1](stranger))
            command = robot.exchange()
            assert np.isfinite(command).all(), topic
            assert (np.abs(command) <= limits.effort + 1e-9).all(), topic
            assert (np.abs(command - last) <= step + 1e-9).all(), topic
            last = command
        assert controller.state == "active"
        assert "Traceback" not in controller.child.err


@pytest.mark.few(1)
@pytest.mark.parametrize("law", ["impedance", "joint_impedance"])
def test_no_content_of_a_message_ends_the_controller_or_makes_its_command_jump(tmp_path, rng, law):
    bombard(tmp_path, rng, law, 400)


@pytest.mark.long
@pytest.mark.parametrize("law", ["impedance", "joint_impedance", "task_space_pd"])
def test_no_content_of_a_hundred_thousand_messages_ends_the_controller(tmp_path, rng, law):
    bombard(tmp_path, rng, law, 35_000)
