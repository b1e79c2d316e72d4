"""Stiffness and damping that come with the targets: a topic whose values become
gains when they are due.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import dropwhile, pairwise
from typing import Any, NamedTuple

from rclpy.parameter import Parameter
from trajectory_msgs.msg import JointTrajectory

from ....control.controller import Controller
from ....core.errors import ConfigError, refused, unknown
from ....core.gains import short_names
from ....ros.entities import Entities
from ....ros.messages import bounded_reader, check_count, check_different, seconds

WHAT = "target impedance"
LENGTHS = 1, 6, 36  # numbers of one gain, or one for each joint


class DueGains(NamedTuple):
    """Gains by name, and when they are due [s]."""

    time: float
    values: dict[str, Any]


class ImpedanceTargets:
    """Subscribes to ``~/target_impedance``: gains of the running law along the tip's trajectory.

    `joint_names` of the message are names of gains, such as stiffness or impedance.stiffness. Each
    point has 1, 6 or 36 numbers for each gain, or one for each joint; as many for each gain. The
    message's `header.frame_id` becomes the gain `frame`; an empty one leaves that gain as it is.

    The values become parameters of the node when they are due: `stream.delay` after their times, as
    the poses of ``~/tip_trajectory``. A newer message replaces what is due from its first point on.

    Args:
        entities: Entities of the controller's node, whose parameters the gains are.
        loop: Control loop of the controller.
        report_errors: Function that makes a callback which reports and answers what can't be used,
            as `answered` of :class:`~.target_topics.Targets`.
        refuse: Function that reports an error in a message that is too long or can't be read.
    """

    def __init__(
        self,
        entities: Entities,
        loop: Controller,
        report_errors: Callable[[Any], Any],
        refuse: Callable[[Exception], None],
    ) -> None:
        self._node = entities.node
        self._loop = loop
        self._due: list[DueGains] = []
        bounded = bounded_reader(WHAT, JointTrajectory, report_errors(self._on_message), refuse)
        entities.subscription(JointTrajectory, "~/target_impedance", bounded, raw=True)

    def forget(self) -> None:
        """Drop the gains that aren't due yet."""
        self._due.clear()

    def cycle(self, time: float) -> None:
        """Set the gains that are due at a time [s] of the joint states.

        Raises:
            ConfigError: The node refuses them.
        """
        if not self._due or self._due[0].time > time:
            return
        left = list(dropwhile(lambda each: each.time <= time, self._due))
        newest = self._due[-len(left) - 1]
        self._due = left
        law = self._loop.running.name
        changes = [Parameter(f"{law}.{name}", value=value) for name, value in newest.values.items()]
        result = self._node.set_parameters_atomically(changes)
        if not result.successful:
            raise ConfigError(
                f"target impedance: {result.reason}", name="target_impedance", value=newest.values
            )

    def _on_message(self, message: JointTrajectory) -> None:
        check_count(WHAT, message.points)
        check_different(WHAT, message.joint_names)
        state = self._loop.state
        now = 0.0 if state is None else state.time
        start = seconds(message.header.stamp) or now
        frame = self._frame(message.header.frame_id)
        coming = [
            DueGains(
                start + seconds(point.time_from_start) + self._loop.motion.stream.target.delay,
                frame | self._read(message.joint_names, list(point.positions)),
            )
            for point in message.points
        ]
        times = [each.time for each in coming]
        if any(later <= earlier for earlier, later in pairwise(times)):
            raise refused("time_from_start", times, "must rise", where=f"{WHAT}: ", unit="s")
        due = [each for each in self._due if each.time < times[0]] + coming
        check_count(f"{WHAT}, what isn't due yet and this", due)
        self._due = due

    def _read(self, names: list[str], numbers: list[float]) -> dict[str, Any]:
        gains = [
            spec.name
            for spec in self._loop.running.gains.specs
            if not (spec.switch or spec.choices)
        ]
        names = list(short_names(self._loop.running.name, dict.fromkeys(names), gains))
        for name in names:
            if name not in gains:
                raise unknown("gain", name, gains)
        each = len(numbers) // max(len(names), 1)
        lengths = tuple(sorted({*LENGTHS, self._loop.robot.n}))
        if each not in lengths or each * len(names) != len(numbers):
            rule = f"must be {', '.join(map(str, lengths))} for each of {', '.join(names)}"
            raise refused("numbers of a point", len(numbers), rule, lengths, where=f"{WHAT}: ")
        parts = (numbers[i * each : (i + 1) * each] for i in range(len(names)))
        return {
            name: part[0] if each == 1 else part for name, part in zip(names, parts, strict=True)
        }

    def _frame(self, link: str) -> dict[str, Any]:
        """The gain `frame` for a frame_id; empty where it stays as it is."""
        robot = self._loop.robot
        named = {robot.base: "base", robot.tip: "tip"}.get(link, link)
        if not link:
            return {}
        if any(spec.name == "frame" for spec in self._loop.running.gains.specs):
            return {"frame": named}
        if named != "base":
            rule = f"must be {robot.base}: law {self._loop.running.name} has no gain `frame`"
            raise refused("frame_id", link, rule, robot.base, where=f"{WHAT}: ")
        return {}
