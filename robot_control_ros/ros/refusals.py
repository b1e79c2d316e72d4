"""Messages of others that can't be used: counted, told, and harmless."""

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
    """What a node has refused of each topic.

    Args:
        node: its log has a line for the newest refusal, once a second at most.
    """

    _of_nodes: ClassVar[WeakKeyDictionary[Node, Refusals]] = WeakKeyDictionary()

    def __init__(self, node: Node) -> None:
        self._log = node.get_logger()
        self._counts: Counter[str] = Counter()

    @classmethod
    def of(cls, node: Node) -> Refusals:
        """The ones of a node, however many of its parts ask."""
        return cls._of_nodes.setdefault(node, cls(node))

    @property
    def text(self) -> str:
        """For diagnostics: how many of which topic; empty for none."""
        return ", ".join(f"{count} on {topic}" for topic, count in self._counts.items())

    @contextmanager
    def told(self, topic: str) -> Iterator[None]:
        """Count and tell what the block refuses, by one of our errors, of a topic's message."""
        try:
            yield
        except RobotControlError as error:
            self._counts[topic] += 1
            number = self._counts[topic]
            self._log.error(f"refused on {topic}: {error} ({number} so far)", throttle_duration_sec=1.0)
