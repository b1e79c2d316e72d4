"""Keeps what comes on topics, each message with its times; nobody is woken by a message."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from rclpy.node import Node
from rclpy.qos import QoSProfile, ReliabilityPolicy

from .messages import read_message
from .polled import PolledSubscriptions, TimedSubscription
from .refusals import Refusals

# Deep enough for two seconds in which this process is held up; no publisher waits for the record.
RECORD_QOS = QoSProfile(depth=2000, reliability=ReliabilityPolicy.BEST_EFFORT)


class RecordedMessage(NamedTuple):
    """One message of a topic.

    Attributes:
        data: Serialised message.
        sent: Time at which it was sent, by the clock of its sender [ns]; 0 where the middleware
            keeps none.
        received: Time at which it came, by the system's clock [ns]; 0 likewise.
        kind: Type of the message.
    """

    data: bytes
    sent: int
    received: int
    kind: type

    @property
    def sent_at(self) -> float:
        """Time at which it was sent [s]."""
        return self.sent * 1e-9

    def read(self) -> Any:
        """The message itself.

        Raises:
            ConfigError: The bytes are no message of the type.
        """
        return read_message(self.data, self.kind)


class TopicRecorder:
    """Gives the messages of topics to functions that keep them, whenever :meth:`poll` is called.

    A message that its function refuses by one of our errors is counted and told, as
    :class:`Refusals` does.

    Args:
        node: Node whose names, remappings and log are used.
        purpose: Word at the end of the hidden node's name.
    """

    def __init__(self, node: Node, purpose: str = "recorder") -> None:
        self._polled = PolledSubscriptions(node, purpose)
        self._refusals = Refusals.of(node)
        self._topics: list[
            tuple[str, type, TimedSubscription, Callable[[RecordedMessage], object]]
        ] = []

    def add(
        self,
        kind: type,
        topic: str,
        keep: Callable[[RecordedMessage], object],
        quality: QoSProfile = RECORD_QOS,
    ) -> TimedSubscription:
        """Subscribe to a topic; `keep` gets each of its messages, oldest first."""
        subscription = self._polled.add_timed(kind, topic, quality)
        self._topics.append((topic, kind, subscription, keep))
        return subscription

    def poll(self) -> None:
        """Take all messages that have come since the last call."""
        for topic, kind, subscription, keep in self._topics:
            for data, info in subscription.take():
                with self._refusals.told(topic):
                    keep(_recorded(data, info, kind))

    def close(self) -> None:
        """Unsubscribe from all topics."""
        self._polled.close()


def _recorded(data: bytes, info: Mapping[str, Any], kind: type) -> RecordedMessage:
    return RecordedMessage(data, info["source_timestamp"], info["received_timestamp"], kind)
