"""The topics of a running controller in an MCAP record: their bytes, as they come."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from importlib import import_module
from typing import Any

from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy

from ...core.errors import ConfigError
from ...recording.mcap_recording import McapRecording
from ...ros.entities import Entities
from ...ros.polled import PolledSubscriptions, TimedSubscription
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
        ros: to subscribe with.
        controller: full name of its node.
        recording: to write to.
    """
    topics = ros.call(lambda: _RecordedTopics(ros, controller, recording))
    recording.on_close.callback(ros.call, topics.close)
    end = time.monotonic() + CONNECTED
    while not topics.connected and time.monotonic() < end:
        time.sleep(0.005)


class _RecordedTopics:
    """The subscriptions of a record. They are made, polled and closed in the thread that spins the node.

    Attributes:
        connected: whether all publishers are, and the controller's state has come.
    """

    def __init__(self, ros: RosThread, controller: str, recording: McapRecording) -> None:
        self.connected = False
        self._recording = recording
        self._entities = Entities(ros.node)
        self._polled = PolledSubscriptions(ros.node, "record")
        self._state = f"{controller}/state"
        self._subscriptions: dict[str, tuple[int, TimedSubscription, int]] = {}  # channel, ours, number of publishers
        self._heard = False
        namespace, _, name = controller.rpartition("/")
        node = ros.node
        found: dict[str, list[str]] = {}
        for of_node in (node.get_publisher_names_and_types_by_node, node.get_subscriber_names_and_types_by_node):
            found.update(dict(of_node(name, namespace or "/")))
        for topic, kinds in sorted(found.items()):
            if topic not in SKIPPED:
                self._add(topic, kinds[0], node.get_publishers_info_by_topic(topic))
        self._entities.timer(POLL, self._poll)

    def close(self) -> None:
        """Take what has come until now, and unsubscribe."""
        self._entities.close()
        self._poll()
        self._polled.close()

    def _add(self, topic: str, kind: str, publishers: Sequence[Any]) -> None:
        try:
            schema = message_schema(kind)
            message_class = _message_class(kind)
        except (ConfigError, ImportError):
            return  # a type that isn't installed here can't be subscribed to
        taken = self._polled.add_timed(message_class, topic, _quality(publishers))
        self._subscriptions[topic] = (self._recording.channel(topic, kind, schema), taken, len(publishers))

    def _poll(self) -> None:
        for topic, (channel, subscription, _) in self._subscriptions.items():
            for data, info in subscription.take():
                came = info["received_timestamp"] or time.time_ns()
                self._recording.put(channel, data, came, info["source_timestamp"] or came)
                self._heard = self._heard or topic == self._state
        if self._heard and not self.connected:
            self.connected = all(each.publishers >= count for _, each, count in self._subscriptions.values())


def _message_class(kind: str) -> Any:
    package, _, name = kind.partition("/msg/")
    return getattr(import_module(f"{package}.msg"), name)


def _quality(publishers: Iterable[Any]) -> QoSProfile:
    """Best effort, so that no publisher waits for the record; latched where all publishers are."""
    durabilities = {each.qos_profile.durability for each in publishers}
    if durabilities == {DurabilityPolicy.TRANSIENT_LOCAL}:
        return QoSProfile(depth=DEPTH, durability=DurabilityPolicy.TRANSIENT_LOCAL)
    return QoSProfile(depth=DEPTH, reliability=ReliabilityPolicy.BEST_EFFORT)
