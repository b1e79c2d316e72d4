"""Other nodes that command the robot, and the rule by which one of two controllers yields."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from enum import Enum, auto

from rclpy.node import Node

from ...control.controller import Controller
from ...ros.entities import in_namespace
from ...ros.system_check import UNKNOWN, Commander, commanders
from .answers import FAULT
from .commands import CommandPublishers

YOUTH = 10.0  # s from its activation, in which a controller yields to another one
PATIENCE = 1.0  # s in which another young controller yields, if it is young


class Precedence(Enum):
    """What a controller does where other controllers command the robot, too."""

    LEAD = auto()  # it commands
    STAND_BACK = auto()  # it sends nothing, until another has yielded or its patience ends
    YIELD = auto()  # it ends to be active


class Rivals:
    """Finds other nodes that command the robot, by the identifiers of their publishers.

    Two controllers may both become active, where each sees the other late. A controller that meets
    another one within 10 s of its own activation sends nothing from then on. It yields at once,
    unless its full name and identifier come first in their order. Then it yields after 1 s, if the
    other one still commands. So the older controller leads on, and exactly one of two young ones.
    After these 10 s a controller leads on in any case. It yields to controllers alone: other nodes
    may have a publisher and command nothing.

    Args:
        node: Node of the controller.
        loop: Control loop; the profile of its robot names the topics.
        publishers: Publishers of this controller's commands.

    Attributes:
        others: Names of other nodes that command the robot, once for each publisher; without the
            watchdog of the robot.
        leading: Names of all nodes that command the robot, this one included.
        text: Message that names the other nodes; empty where there are none.
        unnamed: True while a node commands whose name isn't known yet.
    """

    def __init__(self, node: Node, loop: Controller, publishers: CommandPublishers) -> None:
        self._node = node
        self._loop = loop
        self._publishers = publishers
        self._own_name = in_namespace(node, node.get_name())
        self._activated_at = -math.inf
        self._met_at: float | None = None  # when another controller was met, by a young one
        self.others: list[str] = []
        self.leading: list[str] = []
        self.text = ""
        self.unnamed = False

    def begin(self, now: float) -> None:
        """Note that the controller is activated, at the steady time `now` [s]."""
        self._activated_at = now
        self._met_at = None
        self.text = ""

    def look(self, now: float) -> Precedence:
        """Find the nodes that command the robot, at the steady time `now` [s].

        Returns what the controller has to do if it is active.
        """
        ends = commanders(self._node, self._loop.robot, self._loop.running.mode)
        own = [end for end in ends if end.gid in self._publishers.gids]
        others = [end for end in ends if end not in own and end.name != UNKNOWN]
        self.unnamed = any(end.name == UNKNOWN for end in ends)
        self.others = sorted(self._told(end) for end in others)
        self.leading = sorted([*self.others, *(end.name for end in own)])
        self.text = (
            f"{', '.join(self.others)} commands the robot, too: only one node may" if others else ""
        )
        return self._precedence(own, [end for end in others if self._is_controller(end)], now)

    def _precedence(
        self, own: Sequence[Commander], controllers: Sequence[Commander], now: float
    ) -> Precedence:
        if not own or not controllers:
            self._met_at = None
            return Precedence.LEAD
        if self._met_at is None:
            if now - self._activated_at > YOUTH:
                return Precedence.LEAD
            self._met_at = now
        if min(controllers) < min(own) or now - self._met_at > PATIENCE:
            return Precedence.YIELD
        return Precedence.STAND_BACK

    def _told(self, end: Commander) -> str:
        """Name of another publisher's node, after "another" where this node has the same name."""
        return f"another {end.name}" if end.name == self._own_name else end.name

    def _is_controller(self, end: Commander) -> bool:
        """Return True where another publisher's node is a controller of this package.

        It is one where it publishes ``fault``, as each controller does.
        """
        count: int = self._node.count_publishers(f"{end.name}/{FAULT}")
        return count > (end.name == self._own_name)


class PublisherCounts:
    """Sees cheaply that publishers come or go, so that their names are asked for only then.

    Args:
        node: Node that looks at the graph.
        topics: Function that returns the names of the topics; they may be relative.
    """

    def __init__(self, node: Node, topics: Callable[[], Sequence[str]]) -> None:
        self._node = node
        self._topics = topics
        self._counts: tuple[int, ...] = ()

    def changed(self) -> bool:
        """Return True where a topic has more or fewer publishers than at the last call."""
        node = self._node
        counts = tuple(
            node.count_publishers(node.resolve_topic_name(topic)) for topic in self._topics()
        )
        before = self._counts
        self._counts = counts
        return counts != before
