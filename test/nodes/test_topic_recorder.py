"""The recorder of topics: messages in their order, with the times at which they were sent,
whenever it is asked.
"""

import pytest

pytest.importorskip("rclpy", reason="needs ROS 2 (rclpy)")

import graph
import numpy as np
from rclpy.serialization import serialize_message
from std_msgs.msg import Float64MultiArray, String

from evidence.faults.heard_commands import HeardCommands
from robot_control_ros.core.errors import ConfigError
from robot_control_ros.core.types import CommandMode
from robot_control_ros.ros.refusals import Refusals
from robot_control_ros.ros.topic_recorder import TopicRecorder

pytestmark = pytest.mark.ros
PAUSE = 0.25  # s


def seconds_of_graph(sent):
    return (sent - graph.EPOCH) * 1e-9


def test_messages_come_oldest_first_with_the_times_at_which_they_were_sent(ros):
    recorder, kept = TopicRecorder(ros.node), []
    recorder.add(String, "said", kept.append)
    said = ros.publisher(String, "said")
    sent = []
    for number in range(4):
        ros.wait(PAUSE)
        sent.append(ros.graph.now * 1e-9)
        said.publish(String(data=str(number)))
    ros.wait(PAUSE)
    assert kept == []  # nobody has asked
    recorder.poll()
    assert [recorded.read().data for recorded in kept] == ["0", "1", "2", "3"]
    np.testing.assert_allclose(
        [seconds_of_graph(recorded.sent) for recorded in kept], sent, rtol=0.0, atol=PAUSE / 2
    )
    assert [recorded.sent_at for recorded in kept] == [recorded.sent * 1e-9 for recorded in kept]
    assert all(recorded.received >= recorded.sent for recorded in kept)
    recorder.poll()
    assert len(kept) == 4


def test_a_relative_topic_is_in_the_namespace_of_the_node_until_the_record_is_closed(ros):
    recorder = TopicRecorder(ros.node)
    subscription = recorder.add(String, "said", lambda recorded: None)
    assert subscription.publishers == 0
    publisher = ros.publisher(String, "/said")
    ros.wait(PAUSE)
    assert subscription.publishers == publisher.get_subscription_count() == 1
    recorder.close()
    ros.wait(PAUSE)
    assert publisher.get_subscription_count() == 0


def test_bytes_that_are_no_message_and_what_is_refused_are_counted_and_the_next_one_is_kept(ros):
    kept = []

    def keep(recorded):
        text = recorded.read().data
        if text == "bad":
            raise ConfigError("bad")
        kept.append(text)

    recorder = TopicRecorder(ros.node)
    recorder.add(String, "said", keep)
    (reader,) = ros.graph.subscriptions["/said"]
    for data in (
        b"\0\1\0\0",
        serialize_message(String(data="bad")),
        serialize_message(String(data="good")),
    ):
        reader.receive(bytes(data), ros.graph.now)
    recorder.poll()
    assert kept == ["good"]
    assert Refusals.of(ros.node).text == "2 on said"


def test_commands_of_all_modes_are_heard_in_the_order_in_which_they_were_sent(ros):
    """The fault table hears commands by it: those that a forward controller drops don't count."""
    heard = HeardCommands(ros.node, 2)
    publishers = {
        mode: ros.publisher(Float64MultiArray, f"forward_{mode.value}_controller/commands")
        for mode in CommandMode
    }
    order = [CommandMode.VELOCITY, CommandMode.EFFORT, CommandMode.POSITION, CommandMode.EFFORT]
    for number, mode in enumerate(order):
        for values in ([float(number)] * 2, [1.0], [float("nan")] * 2):
            publishers[mode].publish(Float64MultiArray(data=values))
        ros.wait(PAUSE)
    commands = heard.take(7.0)
    assert [command.mode for command in commands] == order
    assert [command.values[0] for command in commands] == [0.0, 1.0, 2.0, 3.0]
    assert {command.time for command in commands} == {7.0}
    assert heard.take(8.0) == []
