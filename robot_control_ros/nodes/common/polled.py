"""Subscriptions that are asked for what has come: waking an executor for every message costs more than the message."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rclpy.event_handler import SubscriptionEventCallbacks
from rclpy.node import Node

from .running import STATE_QOS


class PolledSubscriptions:
    """Subscriptions on a node of their own, hidden and spun by nobody.

    Args:
        node: whose names of topics are used.
    """

    def __init__(self, node: Node) -> None:
        self._named = node
        self._node = Node(
            f"_{node.get_name()}_polled",
            context=node.context,
            namespace=node.get_namespace(),
            use_global_arguments=False,
            start_parameter_services=False,
            enable_rosout=False,
        )

    def add(self, kind: type, topic: str) -> Callable[[], list[bytes]]:
        """Subscribe; returns the function that gives what has come since its last call, oldest first, serialised."""
        name = self._named.resolve_topic_name(topic)
        quiet = SubscriptionEventCallbacks(use_default_callbacks=False)
        made = self._node.create_subscription(kind, name, _ignore, STATE_QOS, event_callbacks=quiet, raw=True)

        def take() -> list[bytes]:
            messages: list[Any] = []
            with made.handle:
                while (taken := made.handle.take_message(kind, True)) is not None:
                    messages.append(taken[0])
            return messages

        return take

    def close(self) -> None:
        """Unsubscribe."""
        self._node.destroy_node()


def _ignore(message: object) -> None:
    """Nobody spins the node."""
