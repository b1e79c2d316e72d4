"""The topics of a running controller in an MCAP record: their bytes, as they come."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any

from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy

from ...core.errors import ConfigError
from ...recording.mcap_recording import McapRecording
from ...ros.entities import Entities
from ...ros.message_type import message_type
from ...ros.polled import TimedSubscription
from ...ros.topic_recorder import RecordedMessage, TopicRecorder
from ..ros_thread import RosThread
from .message_schemas import message_schema

SKIPPED = ("/clock", "/parameter_events", "/rosout")
POLL = 0.02  # s between two looks: a thread that woke for each message would take half a core
DEPTH = 500  # messages that may wait
CONNECTED = 2.0  # s, at most, until what is published comes


def record_topics(ros: RosThread, controller: str, recording: McapRecording) -> None:
    """Record each topic that a controller publishes or subscribes to, until the record is closed.

    It returns when its subscriptions are connected, so that what is done next is in the record.

    Args:
        ros: Thread whose node subscribes.
        controller: Full name of the controller.
        recording: Record that is written.
    """
    topics = ros.call(lambda: _RecordedTopics(ros, controller, recording))
    recording.on_close.callback(ros.call, topics.close)
    end = time.monotonic() + CONNECTED
    while not topics.connected and time.monotonic() < end:
        time.sleep(0.005)


class _RecordedTopics:
    """The subscriptions of a record. They are made, polled and closed in the thread that spins the
    node.

    Attributes:
        connected: True once all publishers are connected and the controller's state has come.
    """

    def __init__(self, ros: RosThread, controller: str, recording: McapRecording) -> None:
        self.connected = False
        self._recording = recording
        self._entities = Entities(ros.node)
        self._recorder = TopicRecorder(ros.node, "record")
        # each with the number of its publishers
        self._subscriptions: list[tuple[TimedSubscription, int]] = []
        self._state_channel = -1  # of the controller's state
        self._state_came = False
        namespace, _, name = controller.rpartition("/")
        node = ros.node
        kinds_of_topics: dict[str, list[str]] = {}
        for of_node in (
            node.get_publisher_names_and_types_by_node,
            node.get_subscriber_names_and_types_by_node,
        ):
            kinds_of_topics.update(dict(of_node(name, namespace or "/")))
        for topic, kinds in sorted(kinds_of_topics.items()):
            if topic in SKIPPED:
                continue
            channel = self._record_topic(topic, kinds[0], node.get_publishers_info_by_topic(topic))
            if topic == f"{controller}/state":
                self._state_channel = channel
        self._entities.timer(POLL, self._poll)

    def close(self) -> None:
        """Take what has come until now, and unsubscribe."""
        self._entities.close()
        self._poll()
        self._recorder.close()

    def _record_topic(self, topic: str, kind: str, publishers: Sequence[Any]) -> int:
        """Record a topic; returns its channel, -1 for a type that isn't installed here."""
        try:
            schema = message_schema(kind)
            message_class = message_type(kind)
        except (ConfigError, ImportError):
            return -1
        channel = self._recording.channel(topic, kind, schema)
        keep = partial(self._keep, channel)
        subscription = self._recorder.add(message_class, topic, keep, _quality(publishers))
        self._subscriptions.append((subscription, len(publishers)))
        return channel

    def _keep(self, channel: int, recorded: RecordedMessage) -> None:
        came = recorded.received or time.time_ns()
        self._recording.put(channel, recorded.data, came, recorded.sent or came)
        if channel == self._state_channel:
            self._state_came = True

    def _poll(self) -> None:
        self._recorder.poll()
        if self._state_came and not self.connected:
            self.connected = all(each.publishers >= count for each, count in self._subscriptions)


def _quality(publishers: Iterable[Any]) -> QoSProfile:
    """Best effort, so that no publisher waits for the record; latched where all publishers are."""
    durabilities = {each.qos_profile.durability for each in publishers}
    if durabilities == {DurabilityPolicy.TRANSIENT_LOCAL}:
        return QoSProfile(depth=DEPTH, durability=DurabilityPolicy.TRANSIENT_LOCAL)
    return QoSProfile(depth=DEPTH, reliability=ReliabilityPolicy.BEST_EFFORT)
