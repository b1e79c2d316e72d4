"""Subscriptions that are polled, as waking an executor for a message costs more than reading it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from rclpy.event_handler import PublisherEventCallbacks, SubscriptionEventCallbacks
from rclpy.node import Node
from rclpy.parameter import Parameter
from rclpy.qos import QoSProfile

from .messages import read_message
from .qos import STATE_QOS
from .refusals import Refusals


class TimedSubscription:
    """A polled subscription that gives messages with their times.

    Args:
        subscription: Raw subscription of rclpy.
        kind: Type of its messages.
        depth: Depth of its queue; at most so many messages are taken at once.
    """

    def __init__(self, subscription: Any, kind: type, depth: int) -> None:
        self._subscription = subscription
        self._kind = kind
        self._depth = depth

    @property
    def publishers(self) -> int:
        """Number of publishers that are connected."""
        return int(self._subscription.get_publisher_count())

    def take(self) -> list[tuple[bytes, Mapping[str, Any]]]:
        """Serialised messages since the last call, oldest first, each with the middleware's info.

        The info has the times `source_timestamp` and `received_timestamp` [ns], 0 where the
        middleware keeps none.
        """
        taken: list[tuple[bytes, Mapping[str, Any]]] = []
        handle = self._subscription.handle
        with handle:
            while (
                len(taken) < self._depth
                and (each := handle.take_message(self._kind, True)) is not None
            ):
                taken.append(each)
        return taken


class PolledSubscriptions:
    """Subscriptions on a hidden node of their own, which no executor spins.

    Args:
        node: Node that the subscriptions belong to.
        purpose: Last part of the hidden node's name.
    """

    def __init__(self, node: Node, purpose: str = "polled") -> None:
        self._named = node
        self._node = Node(
            f"_{node.get_name()}_{purpose}",
            context=node.context,
            namespace=node.get_namespace(),
            use_global_arguments=False,
            start_parameter_services=False,
            enable_rosout=False,
            # nobody asks this node
            parameter_overrides=[Parameter("start_type_description_service", value=False)],
        )

    def add(self, kind: type, topic: str) -> Callable[[], list[bytes]]:
        """Subscribe; returns a function that returns serialised messages.

        They are those that have come since its last call, oldest first.
        """
        timed = self.add_timed(kind, topic, STATE_QOS)
        return lambda: [data for data, _ in timed.take()]

    def add_timed(self, kind: type, topic: str, quality: QoSProfile) -> TimedSubscription:
        """Subscribe; returns the subscription, which gives messages with their times."""
        name = self._named.resolve_topic_name(topic)
        quiet = SubscriptionEventCallbacks(use_default_callbacks=False)
        made = self._node.create_subscription(
            kind, name, lambda _: None, quality, event_callbacks=quiet, raw=True
        )
        return TimedSubscription(made, kind, quality.depth)

    def add_newest(self, kind: type, topic: str) -> Callable[[], Any]:
        """Subscribe; returns a function that returns the newest message since its last call.

        It returns None where there is none. Bytes that are no message of the kind are counted and
        logged.
        """
        take = self.add(kind, topic)
        refusals = Refusals.of(self._named)

        def newest() -> Any:
            message: Any = None
            for data in take()[-1:]:
                with refusals.told(topic):
                    message = read_message(data, kind)
            return message

        return newest

    def publisher(self, kind: type, topic: str) -> Callable[[], None]:
        """Make a best-effort publisher; returns a function that publishes an empty message."""
        name = self._named.resolve_topic_name(topic)
        message = kind()
        quiet = PublisherEventCallbacks(use_default_callbacks=False)
        made: Any = self._node.create_publisher(kind, name, STATE_QOS, event_callbacks=quiet)
        return lambda: made.publish(message)

    def close(self) -> None:
        """Destroy the hidden node with all its subscriptions and publishers."""
        self._node.destroy_node()
