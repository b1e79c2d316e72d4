"""The box that targets of the tip stay in, for the sake of things around the robot."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..core.errors import refused
from ..core.gains import VECTOR, ParameterSet, gain
from ..core.types import Array
from .jog import ramp_time, reach

FAR = 20.0  # m; a bound as far away as this is none
# times the arm's reach: a target may lie beyond it, so that the arm leans on something
REACHES = 2.0
# m that a jog rests before a wall: the shortest ramp isn't shorter than a millisecond
_MARGIN = 1e-6
_RESOLUTION = 2**-10  # of the fraction of a twist that is taken up


@dataclass(frozen=True, eq=False)
class WorkspaceSettings:
    """Settings of the box that targets of the tip stay in; see :class:`Workspace`."""

    lower: Array = gain(
        -FAR,
        size=VECTOR,
        unit="m",
        lower=-FAR,
        upper=FAR,
        doc="Least coordinates of the tip's targets; -20 for none.",
    )
    upper: Array = gain(
        FAR,
        size=VECTOR,
        unit="m",
        lower=-FAR,
        upper=FAR,
        doc="Largest coordinates of the tip's targets; 20 for none.",
    )


class Workspace:
    """A box, in the axes of the robot's base, for the origin of the tip.

    It bounds targets, not the robot: who pushes a compliant arm may push it out, and moves of the
    joints may leave it between two targets. It is no safety function. Without a box a target may be
    as far from the base as twice the arm's reach.

    Args:
        settings: Settings that differ from the defaults of WorkspaceSettings, by name.
        reach: Distance from the base that the tip can't exceed [m], see
            :attr:`~..robot.model.RobotModel.reach`; infinite bounds nothing.

    Attributes:
        settings: Settings that may be changed at any time, and count for the next target.

    Raises:
        ConfigError: a setting is refused.
    """

    def __init__(self, settings: Mapping[str, Any] | None = None, reach: float = math.inf) -> None:
        self._farthest = REACHES * reach
        # no setting is per joint
        self.settings = ParameterSet(WorkspaceSettings, 0, settings or {}, _check_order)
        self.settings.check({})

    @property
    def bounded(self) -> bool:
        """True where there is any bound."""
        return is_bounded(self.settings.target.lower, self.settings.target.upper)

    def check(self, position: Array) -> None:
        """Refuse a target of the tip at a position (3,) [m] outside.

        Raises:
            ConfigError: names the coordinate, its value and the bounds; or the distance from the
                base, and twice the reach.
        """
        lower, upper = self._walls()
        for axis, value, low, high in zip("xyz", position, lower, upper, strict=True):
            if not low <= value <= high:
                rule = f"must be within [{low:g}, {high:g}] m, the workspace (workspace.lower, workspace.upper)"
                bound = float(low), float(high)
                raise refused(axis, float(value), rule, bound, where="the tip's target ", unit="m")
        distance = float(np.linalg.norm(position))
        if not distance <= self._farthest:
            rule = f"must be at most {self._farthest:.4g} m, twice the arm's reach"
            where = "the tip's target: "
            raise refused(
                "distance from the base", distance, rule, self._farthest, where=where, unit="m"
            )

    def _walls(self) -> tuple[Array, Array]:
        """Least and largest coordinates (3,) of targets [m]; infinite where there is no wall."""
        box = self.settings.target
        lower = np.where(box.lower > -FAR, box.lower, -np.inf)
        return lower, np.where(box.upper < FAR, box.upper, np.inf)

    def slowed(
        self,
        twist: Array,
        before: Array,
        position: Array,
        acceleration: Sequence[float],
        lasting: float,
    ) -> Array:
        """A twist, slower towards the walls, after which a :class:`~.jog.Jog` comes to rest inside.

        A stream of such jogs stays inside, whenever one follows the other.

        Args:
            twist: (6,) wanted twist [m/s, rad/s].
            before: (6,) present twist [m/s, rad/s].
            position: (3,) position of the reference [m].
            acceleration: Limits of the jog (linear [m/s²], angular [rad/s²]).
            lasting: Time after which the jog brakes [s].
        """
        linear = twist[:3]
        lower, upper = self._walls()
        lower = np.maximum(lower, -self._farthest)
        upper = np.minimum(upper, self._farthest)
        ahead, back = np.maximum([upper - position, position - lower], _MARGIN) - _MARGIN
        present = float(np.linalg.norm(before[:3]))
        speed = float(np.linalg.norm(linear))
        rise = max((speed + present) / acceleration[0], ramp_time(twist - before, acceleration))
        way = np.sign(linear)
        # gone meanwhile
        room = np.where(way > 0.0, ahead, back) - np.maximum(way * before[:3], 0.0) * rise / 2.0
        fastest = np.maximum(room, 0.0) / (
            max(lasting, rise) + ramp_time(twist, acceleration) / 2.0
        )
        slower = np.concatenate((way * np.minimum(np.abs(linear), fastest), twist[3:]))
        return slower * _largest_fraction(
            lambda fraction: bool(
                (reach(fraction * slower, before, acceleration) <= (ahead, back)).all()
            )
        )


def _largest_fraction(fits: Callable[[float], bool]) -> float:
    """The largest number from 0 to 1 that fits, within a resolution; 0 where none does."""
    fitting = 0.0
    beyond = 2.0
    while beyond - fitting > _RESOLUTION and fitting < 1.0:
        middle = (fitting + beyond) / 2.0
        fitting, beyond = (middle, beyond) if fits(middle) else (fitting, middle)
    return fitting


def is_bounded(lower: Array, upper: Array) -> bool:
    """Return True where any of the bounds (3,) [m] is nearer than FAR."""
    return bool((lower > -FAR).any() or (upper < FAR).any())


def _check_order(box: WorkspaceSettings) -> None:
    for axis, low, high in zip("xyz", box.lower, box.upper, strict=True):
        if not low < high:
            rule = f"must be below workspace.upper {axis} = {high:g} m"
            raise refused(
                f"workspace.lower {axis}", float(low), rule, (-FAR, float(high)), unit="m"
            )
