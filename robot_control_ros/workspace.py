"""The box that targets of the tip stay in: for the things around a robot that its own limits know nothing of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .errors import ConfigError
from .gains import VECTOR, Tuning, gain
from .types import Array

FAR = 5.0  # m; a bound as far away as this is none


@dataclass(frozen=True, eq=False)
class WorkspaceSettings:
    """Where targets of the tip may be; see :class:`Workspace`."""

    lower: Array = gain(
        -FAR, size=VECTOR, unit="m", lower=-FAR, upper=FAR, doc="Least coordinates of the tip's targets; -5 for none."
    )
    upper: Array = gain(
        FAR, size=VECTOR, unit="m", lower=-FAR, upper=FAR, doc="Largest coordinates of the tip's targets; 5 for none."
    )


class Workspace:
    """A box, in the axes of the robot's base, for the origin of the tip.

    It bounds targets, not the robot: who pushes a compliant arm may push it out, and moves of the joints may leave it
    between two targets. It is no safety function.

    Args:
        settings: what differs from the defaults of WorkspaceSettings, by name.

    Attributes:
        settings: may be changed at any time, and count for the next target.

    Raises:
        ConfigError: a setting is refused.
    """

    def __init__(self, settings: Mapping[str, Any] | None = None) -> None:
        self.settings = Tuning(WorkspaceSettings, 0, settings or {}, _check_order)  # no setting is per joint
        self.settings.check({})

    @property
    def bounded(self) -> bool:
        """Whether there is any bound."""
        return is_bounded(self.settings.target.lower, self.settings.target.upper)

    def check(self, position: Array) -> None:
        """Refuse a target of the tip at a position (3,) [m] outside.

        Raises:
            ConfigError: names the coordinate, its value and the bounds.
        """
        box = self.settings.target
        for axis, value, low, high in zip("xyz", position, box.lower, box.upper, strict=True):
            if not low <= value <= high:
                raise ConfigError(
                    f"the tip's target {axis} = {value:g} m: must be within [{low:g}, {high:g}] m, the workspace "
                    "(parameters workspace.lower, workspace.upper)"
                )

    def slowed(
        self, twist: Array, before: Array, position: Array, acceleration: Sequence[float], lasting: float
    ) -> Array:
        """A twist, slower towards the walls, after which a :class:`~.trajectories.Jog` comes to rest inside.

        A stream of such jogs, whatever comes next, stays inside where each lasts for half the time, at least, that
        it takes from rest to the largest speed.

        Args:
            twist: (6,) that is wanted [m/s, rad/s].
            before: (6,) of the present.
            position: (3,) of the reference [m].
            acceleration: of the jog, (linear [m/s²], angular [rad/s²]).
            lasting: of the jog [s].
        """
        box, linear, turning = self.settings.target, twist[:3], twist[3:]
        speed, present = float(np.linalg.norm(linear)), float(np.linalg.norm(before[:3]))
        change, turn = float(np.linalg.norm(turning - before[3:])), float(np.linalg.norm(turning))
        rise = max((speed + present) / acceleration[0], change / acceleration[1])
        brake = max(speed / acceleration[0], turn / acceleration[1])
        way = np.sign(linear)
        room = np.where(way > 0.0, box.upper - position, position - box.lower)
        room = room - np.maximum(way * before[:3], 0.0) * rise / 2.0  # gone while the speed changes
        fastest = np.maximum(room, 0.0) / (max(lasting, rise) + brake / 2.0)
        return np.concatenate((way * np.minimum(np.abs(linear), fastest), turning))


def is_bounded(lower: Array, upper: Array) -> bool:
    """Whether any of these bounds (3,) is one [m]."""
    return bool((lower > -FAR).any() or (upper < FAR).any())


def _check_order(box: WorkspaceSettings) -> None:
    for axis, low, high in zip("xyz", box.lower, box.upper, strict=True):
        if not low < high:
            raise ConfigError(f"workspace.lower {axis} = {low:g} m: must be below workspace.upper {axis} = {high:g} m")
