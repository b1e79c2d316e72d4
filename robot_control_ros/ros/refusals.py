"""Counts and logs messages of other nodes that can't be used, so that they harm nobody."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import ClassVar
from weakref import WeakKeyDictionary

from rclpy.node import Node

from ..core.errors import RobotControlError

KEY = "refused messages"  # in diagnostics


class Refusals:
    """Counts of the messages that a node has refused, by topic.

    Args:
        node: Node whose log gets a line for the newest refusal, once a second at most.
    """

    _of_nodes: ClassVar[WeakKeyDictionary[Node, Refusals]] = WeakKeyDictionary()

    def __init__(self, node: Node) -> None:
        self._log = node.get_logger()
        self._counts: Counter[str] = Counter()

    @classmethod
    def of(cls, node: Node) -> Refusals:
        """The one object of a node, which all its parts share."""
        return cls._of_nodes.setdefault(node, cls(node))

    @property
    def text(self) -> str:
        """Text for diagnostics: the number of refusals on each topic; empty for none."""
        return ", ".join(f"{count} on {topic}" for topic, count in self._counts.items())

    @contextmanager
    def told(self, topic: str) -> Iterator[None]:
        """Catch a RobotControlError, by which the block refuses a message; count and log it."""
        try:
            yield
        except RobotControlError as error:
            self._counts[topic] += 1
            number = self._counts[topic]
            self._log.error(
                f"refused on {topic}: {error} ({number} so far)", throttle_duration_sec=1.0
            )
