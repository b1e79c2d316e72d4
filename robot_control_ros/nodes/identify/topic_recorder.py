"""Records topics with the times at which their messages were sent."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rclpy.event_handler import SubscriptionEventCallbacks
from rclpy.node import Node
from rclpy.qos import QoSProfile, ReliabilityPolicy

from ...ros.messages import read_message
from ...ros.refusals import Refusals

# Deep enough for two seconds in which this process is held up.
RECORD_QOS = QoSProfile(depth=2000, reliability=ReliabilityPolicy.BEST_EFFORT)


class TopicRecorder:
    """Subscriptions on a hidden node that nobody spins: :meth:`poll` takes what has come.

    Args:
        node: whose namespace and remappings hold.
    """

    def __init__(self, node: Node) -> None:
        self._named = node
        self._node = Node(
            f"_{node.get_name()}_recorder",
            context=node.context,
            namespace=node.get_namespace(),
            use_global_arguments=False,
            start_parameter_services=False,
            enable_rosout=False,
        )
        self._taken: list[tuple[Any, type, Callable[[float, Any], None]]] = []

    def add(self, kind: type, topic: str, keep: Callable[[float, Any], None]) -> None:
        """Call `keep` with each message of a topic, after the time when it was sent, by the system's clock [s]."""
        quiet = SubscriptionEventCallbacks(use_default_callbacks=False)
        name = self._named.resolve_topic_name(topic)
        made = self._node.create_subscription(kind, name, lambda _: None, RECORD_QOS, event_callbacks=quiet, raw=True)
        self._taken.append((made, kind, keep))

    def poll(self) -> None:
        """Take all messages that have come, oldest first."""
        refusals = Refusals.of(self._named)
        for made, kind, keep in self._taken:
            with made.handle:
                while (taken := made.handle.take_message(kind, True)) is not None:
                    data, info = taken
                    with refusals.told(made.topic):
                        keep(info["source_timestamp"] * 1e-9, read_message(data, kind))

    def close(self) -> None:
        """Unsubscribe."""
        self._node.destroy_node()
