"""Bytes that are no message, and messages that say nonsense, on each topic of each node: they end none of them."""

from random import Random

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="needs ROS 2 (rclpy)")
pytest.importorskip("mujoco", reason="the simulator needs MuJoCo")

from damage import damaged
from diagnostic_msgs.msg import DiagnosticArray
from rclpy.serialization import serialize_message
from ros_support import ended_cleanly
from std_msgs.msg import Float64MultiArray

pytestmark = [pytest.mark.ros, pytest.mark.sim]

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
            if self._topics in name and any(child.process is reader.node.process for child in self._ros.children)
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
                ended = [str(child) for child in self._ros.children if child.process.poll() is not None]
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
    ros.until(lambda: "on joint_states" in refused(diagnostics, "watchdog"), "the watchdog's diagnostics")
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


@pytest.mark.long
@pytest.mark.parametrize("topics", ["joint_states", "commands", "wrench", "controller/", ""])
def test_a_hundred_thousand_damaged_messages_end_nothing(ros, topics):
    start_arm(ros)
    Damage(ros, topics).send(100_000, burst=100)
    for child in ros.children:
        assert "Traceback" not in child.err


@pytest.mark.parametrize("kind", ["joy", "twist", "twist_stamped", "pose", "leader"])
def test_damaged_messages_end_no_teleoperation(ros, kind):
    child = ros.start("teleop", {"input": kind, "button": 9})
    Damage(ros).send(500)
    assert "Traceback" not in child.err
