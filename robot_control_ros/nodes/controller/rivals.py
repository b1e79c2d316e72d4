"""Who else commands the robot, and which of two controllers yields where both have begun to lead it."""

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
    """What a controller does beside other controllers."""

    LEAD = auto()  # it commands
    STAND_BACK = auto()  # it sends nothing, until another has yielded or its patience ends
    YIELD = auto()  # it ends to be active


class Rivals:
    """Finds those that command the robot beside this node, by the identifiers of their publishers.

    Two controllers may both become active, where each sees the other late. Within 10 s of its activation one that
    meets another sends nothing from then on. It yields at once, unless its full name and identifier come first in
    their order: then a second later, if the other still commands. So the older one leads on, and of two young ones
    exactly one. After these 10 s it leads on in any case. Nobody knows of other nodes whether they command at all, so
    it yields to controllers alone.

    Args:
        node: of the controller.
        loop: its profile names the topics.
        publishers: of its own commands.

    Attributes:
        others: names of other nodes that command the robot, once for each publisher; without the watchdog beside it.
        leading: the same with this node.
        text: who commands beside this node; empty for nobody.
        unnamed: whether somebody commands whose name isn't known yet.
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
        """The controller is activated, at the steady time `now` [s]."""
        self._activated_at = now
        self._met_at = None
        self.text = ""

    def look(self, now: float) -> Precedence:
        """See who commands, at the steady time `now` [s]; returns what the controller has to do, if it is active."""
        ends = commanders(self._node, self._loop.robot, self._loop.running.mode)
        own = [end for end in ends if end.gid in self._publishers.gids]
        others = [end for end in ends if end not in own and end.name != UNKNOWN]
        self.unnamed = any(end.name == UNKNOWN for end in ends)
        self.others = sorted(self._told(end) for end in others)
        self.leading = sorted([*self.others, *(end.name for end in own)])
        self.text = f"{', '.join(self.others)} commands the robot, too: only one node may" if others else ""
        return self._precedence(own, [end for end in others if self._is_controller(end)], now)

    def _precedence(self, own: Sequence[Commander], controllers: Sequence[Commander], now: float) -> Precedence:
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
        """The name of another publisher's node; names aren't unique in ROS 2."""
        return f"another {end.name}" if end.name == self._own_name else end.name

    def _is_controller(self, end: Commander) -> bool:
        """Whether the node of another publisher is a controller of this package: it has that one's topics."""
        count: int = self._node.count_publishers(f"{end.name}/{FAULT}")
        return count > (end.name == self._own_name)


class PublisherCounts:
    """Sees cheaply that publishers come or go; who they are is asked for only then.

    Args:
        node: that looks.
        topics: gives the names of the topics, relative ones, too.
    """

    def __init__(self, node: Node, topics: Callable[[], Sequence[str]]) -> None:
        self._node = node
        self._topics = topics
        self._counts: tuple[int, ...] = ()

    def changed(self) -> bool:
        """Whether there are more or fewer of them than at the last call."""
        node = self._node
        counts = tuple(node.count_publishers(node.resolve_topic_name(topic)) for topic in self._topics())
        before = self._counts
        self._counts = counts
        return counts != before
