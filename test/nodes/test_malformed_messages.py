"""Bytes that are no message, and messages that say nonsense, on each topic of each node:
they end none of them.
"""

from contextlib import suppress
from random import Random

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="needs ROS 2 (rclpy)")
pytest.importorskip("mujoco", reason="the simulator needs MuJoCo")

from builtin_interfaces.msg import Duration, Time
from damage import damaged
from diagnostic_msgs.msg import DiagnosticArray
from geometry_msgs.msg import PoseStamped, Transform
from rclpy.serialization import serialize_message
from ros_support import ended_cleanly
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
from trajectory_msgs.msg import (
    JointTrajectory,
    JointTrajectoryPoint,
    MultiDOFJointTrajectory,
    MultiDOFJointTrajectoryPoint,
)

from robot_control_ros.core.errors import RobotControlError
from robot_control_ros.core.types import Command, CommandMode
from robot_control_ros.fieldbus.command_checks import check_command
from robot_control_ros.robot.configuration import load_robot
from robot_control_ros.ros.messages import (
    read_joint_command,
    read_joint_positions,
    read_joint_trajectory,
    read_message,
    read_pose,
    read_state,
    read_tip_trajectory,
)

pytestmark = [pytest.mark.ros, pytest.mark.sim]

UR5 = load_robot("ur5")
WRENCH = {"wrench": "/force_torque_sensor_broadcaster/wrench"}
NODES = {
    "simulator": {"command_timeout": 0.0},
    "watchdog": {"use_sim_time": True},
    "controller": {"law": "joint_impedance", "use_sim_time": True},
}
GARBAGE = (b"\0", b"\0\1\0\0", b"\xff" * 64, b"\0\1\0\0" + b"\xff" * 64)


class Damage:
    """Damaged copies of what goes over the topics, to all subscriptions of nodes of the package.

    Args:
        ros: the graph.
        topics: part of the names of those that are damaged; empty for all.
    """

    def __init__(self, ros, topics=""):
        self._graph, self._topics, self._random = ros.graph, topics, Random(1)
        self._good = {}  # by topic, the last message on it
        self._ros = ros
        self.sent = 0
        ros.graph.on_message = self._keep

    def send(self, count, burst=10):
        """Send so many, `burst` of them in each 10 ms."""
        readers = [
            reader
            for name, each in self._graph.subscriptions.items()
            for reader in each
            if self._topics in name
            and any(child.process is reader.node.process for child in self._ros.children)
        ]
        assert readers
        for number in range(count):
            reader = self._random.choice(readers)
            good = self._good.get(reader.name) or bytes(serialize_message(reader.kind()))
            data = self._random.choice(GARBAGE) if number % 10 == 0 else damaged(good, self._random)
            reader.receive(data, self._graph.now)
            self.sent += 1
            if number % burst == burst - 1:
                self._ros.wait(0.01)
                ended = [
                    str(child) for child in self._ros.children if child.process.poll() is not None
                ]
                assert ended == []

    def _keep(self, publisher, data):
        self._good[publisher.name] = bytes(data)
        return [(0, data)]


def start_arm(ros):
    """An arm under control, and an inbox with its commands."""
    for name, parameters in NODES.items():
        ros.start(name, parameters, remappings=WRENCH)
    commands = ros.subscribe(Float64MultiArray, "/forward_effort_controller/commands")
    ros.until(lambda: len(commands) > 20, "commands")
    return commands


def hurt_arm(ros, topics, count):
    """An arm gets damaged messages; each of its nodes goes on, and commands stay finite."""
    commands = start_arm(ros)
    diagnostics = ros.subscribe(DiagnosticArray, "/diagnostics")
    damage = Damage(ros, topics)
    damage.send(count)
    assert all(np.isfinite(message.data).all() for message in commands.messages)
    ros.graph.on_message = None
    commands.messages.clear()
    ros.until(lambda: len(commands) > 20, "commands again")
    ros.until(
        lambda: "on joint_states" in refused(diagnostics, "watchdog"), "the watchdog's diagnostics"
    )
    for child in ros.children:
        assert "Traceback" not in child.err
    assert ended_cleanly(ros.children[1])


def refused(diagnostics, node):
    """What a node has refused, by its diagnostics."""
    texts = [
        item.value
        for array in diagnostics.messages
        for status in array.status
        for item in status.values
        if status.name.startswith(node) and item.key == "refused messages"
    ]
    return texts[-1] if texts else ""


def test_damaged_messages_on_any_topic_of_an_arm_are_counted_and_end_nothing(ros):
    hurt_arm(ros, "", 1500)


def test_damaged_joint_states_are_counted_and_end_nothing(ros):
    hurt_arm(ros, "joint_states", 500)


def test_a_negative_time_on_the_clock_ends_no_node_in_simulated_time(ros):
    commands = start_arm(ros)
    clock = ros.publisher(Clock, "/clock")
    for second in (-1, -(2**31), -5):
        clock.publish(Clock(clock=Time(sec=second)))
        ros.wait(0.01)
    commands.messages.clear()
    ros.until(lambda: len(commands) > 20, "commands again")
    assert [child.process.poll() for child in ros.children] == [None] * 3


READERS = {
    "joint command": (JointState, lambda message: read_joint_command(message, UR5.joints)),
    "target joint": (JointState, lambda message: read_joint_positions(message, UR5.joints)),
    "trajectory": (JointTrajectory, lambda message: read_joint_trajectory(message, UR5.joints)),
    "tip trajectory": (
        MultiDOFJointTrajectory,
        lambda message: read_tip_trajectory(message, "tool0"),
    ),
    "pose": (PoseStamped, lambda message: read_pose(message.pose)),
    "state": (Float64MultiArray, read_state),
    "command": (
        Float64MultiArray,
        lambda message: check_command(Command(CommandMode.EFFORT, np.array(message.data)), UR5.n),
    ),
}


def good_message(kind):
    """A message that its readers take."""
    message = kind()
    if kind is JointState:
        message.name, message.position, message.velocity = (
            list(UR5.joints),
            [0.1] * UR5.n,
            [0.0] * UR5.n,
        )
    elif kind is JointTrajectory:
        message.joint_names = list(UR5.joints)
        message.points = [
            JointTrajectoryPoint(positions=[0.1] * UR5.n, time_from_start=Duration(sec=second))
            for second in (1, 2)
        ]
    elif kind is MultiDOFJointTrajectory:
        message.joint_names = ["tool0"]
        message.points = [MultiDOFJointTrajectoryPoint(transforms=[Transform()])]
    elif kind is Float64MultiArray:
        message.data = [0.0] * UR5.n
    return message


@pytest.mark.few(3)
@pytest.mark.parametrize("what", READERS)
def test_a_damaged_message_is_read_or_refused_by_one_of_our_errors(what):
    kind, read = READERS[what]
    good, random = bytes(serialize_message(good_message(kind))), Random(1)
    for _ in range(2000):
        with suppress(RobotControlError):
            read(read_message(damaged(good, random), kind))


@pytest.mark.long
@pytest.mark.parametrize("topics", ["joint_states", "commands", "wrench", "controller/", ""])
def test_a_hundred_thousand_damaged_messages_end_nothing(ros, topics):
    start_arm(ros)
    Damage(ros, topics).send(100_000, burst=100)
    for child in ros.children:
        assert "Traceback" not in child.err


@pytest.mark.few(2)
@pytest.mark.parametrize("kind", ["joy", "twist", "twist_stamped", "pose", "leader"])
def test_damaged_messages_end_no_teleoperation(ros, kind):
    child = ros.start("teleop", {"input": kind, "button": 9})
    Damage(ros).send(500)
    assert "Traceback" not in child.err
