"""The topics of a running controller in an MCAP record: their bytes, as they come."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from functools import partial
from importlib import import_module
from threading import Event
from typing import Any

from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy

from ...core.errors import ConfigError
from ...nodes.common.entities import Entities
from ...recording.mcap_recording import McapRecording
from ..ros_thread import RosThread
from .message_schemas import message_schema

SKIPPED = ("/clock", "/parameter_events", "/rosout")
DEPTH = 100
CONNECTED = 2.0  # s, at most, until what is published comes


def record_topics(ros: RosThread, controller: str, recording: McapRecording) -> None:
    """Record each topic that a controller publishes or subscribes to, until the record is closed.

    It returns when its subscriptions are connected, so that what is done next is in the record.

    Args:
        ros: to subscribe with.
        controller: full name of its node.
        recording: to write to.
    """
    heard = Event()
    stop, connected = ros.call(lambda: _subscribe(ros.node, controller, recording, heard))
    recording.on_close.callback(ros.call, stop)
    end = time.monotonic() + CONNECTED
    while not (heard.is_set() and connected()) and time.monotonic() < end:
        time.sleep(0.005)


def _subscribe(
    node: Node, controller: str, recording: McapRecording, heard: Event
) -> tuple[Callable[[], None], Callable[[], bool]]:
    """Subscribe, in the thread that spins the node; returns what ends it, and whether all publishers are connected.

    `heard` is set by the controller's state.
    """
    namespace, _, name = controller.rpartition("/")
    entities = Entities(node)
    found = {}
    expected = []
    for of_node in (node.get_publisher_names_and_types_by_node, node.get_subscriber_names_and_types_by_node):
        found.update(dict(of_node(name, namespace or "/")))
    for topic, kinds in sorted(found.items()):
        if topic in SKIPPED:
            continue
        try:
            schema = message_schema(kinds[0])
            message_class = _message_class(kinds[0])
        except (ConfigError, ImportError):
            continue  # a type that isn't installed here can't be subscribed to
        channel = recording.channel(topic, kinds[0], schema)
        publishers = node.get_publishers_info_by_topic(topic)
        put = partial(_put, recording, channel, heard if topic == f"{controller}/state" else None)
        taken = entities.subscription(message_class, topic, put, _quality(publishers), raw=True)
        expected.append((taken, len(publishers)))
    return entities.close, lambda: all(each.get_publisher_count() >= count for each, count in expected)


def _put(recording: McapRecording, channel: int, heard: Event | None, data: bytes) -> None:
    recording.put(channel, data, time.time_ns())
    if heard is not None:
        heard.set()


def _message_class(kind: str) -> Any:
    package, _, name = kind.partition("/msg/")
    return getattr(import_module(f"{package}.msg"), name)


def _quality(publishers: Iterable[Any]) -> QoSProfile:
    """Best effort, so that no publisher waits for the record; latched where all publishers are."""
    durabilities = {each.qos_profile.durability for each in publishers}
    if durabilities == {DurabilityPolicy.TRANSIENT_LOCAL}:
        return QoSProfile(depth=DEPTH, durability=DurabilityPolicy.TRANSIENT_LOCAL)
    return QoSProfile(depth=DEPTH, reliability=ReliabilityPolicy.BEST_EFFORT)
