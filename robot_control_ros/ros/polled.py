"""Subscriptions that are polled: waking an executor for every message costs more than the message."""

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
    """One of the subscriptions that are polled.

    Args:
        subscription: a raw one.
        kind: type of its messages.
        depth: of its queue: as many are taken at once, at most.
    """

    def __init__(self, subscription: Any, kind: type, depth: int) -> None:
        self._subscription = subscription
        self._kind = kind
        self._depth = depth

    @property
    def publishers(self) -> int:
        """How many are connected."""
        return int(self._subscription.get_publisher_count())

    def take(self) -> list[tuple[bytes, Mapping[str, Any]]]:
        """What has come since the last call, oldest first: serialised, with what the middleware knows of it.

        That has its times `source_timestamp` and `received_timestamp` [ns], 0 where the middleware keeps none.
        """
        taken: list[tuple[bytes, Mapping[str, Any]]] = []
        handle = self._subscription.handle
        with handle:
            while len(taken) < self._depth and (each := handle.take_message(self._kind, True)) is not None:
                taken.append(each)
        return taken


class PolledSubscriptions:
    """Subscriptions on a node of their own, hidden and spun by nobody.

    Args:
        node: The node that they belong to.
        purpose: Ends the hidden node's name.
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
            parameter_overrides=[Parameter("start_type_description_service", value=False)],  # nobody asks this node
        )

    def add(self, kind: type, topic: str) -> Callable[[], list[bytes]]:
        """Subscribe; returns the function that gives what has come since its last call, oldest first, serialised."""
        timed = self.add_timed(kind, topic, STATE_QOS)
        return lambda: [data for data, _ in timed.take()]

    def add_timed(self, kind: type, topic: str, quality: QoSProfile) -> TimedSubscription:
        """Subscribe; what has come is told with its times."""
        name = self._named.resolve_topic_name(topic)
        quiet = SubscriptionEventCallbacks(use_default_callbacks=False)
        made = self._node.create_subscription(kind, name, lambda _: None, quality, event_callbacks=quiet, raw=True)
        return TimedSubscription(made, kind, quality.depth)

    def add_newest(self, kind: type, topic: str) -> Callable[[], Any]:
        """Subscribe; returns the function that gives the newest message since its last call, None where there is none.

        Bytes that are no message of the kind are counted and told.
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
        """A best-effort publisher; returns the function that publishes an empty message."""
        name = self._named.resolve_topic_name(topic)
        message = kind()
        quiet = PublisherEventCallbacks(use_default_callbacks=False)
        made: Any = self._node.create_publisher(kind, name, STATE_QOS, event_callbacks=quiet)
        return lambda: made.publish(message)

    def close(self) -> None:
        """Unsubscribe."""
        self._node.destroy_node()
