"""Distances that an arm keeps from itself and its cell: motions that come too near are refused."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..core.errors import ConfigError
from ..core.gains import ParameterSet, gain
from ..core.types import Array
from ..robot.collision_model import CollisionModel, NearestPair
from ..robot.configuration import RobotConfig
from ..robot.distances import BLOCKED_AT, DEEPEST_DISTANCE, DEEPEST_PAIR, FINDINGS, walk
from ..robot.model import RobotModel

SHARES = 5  # halvings of a twist that leads too near


@dataclass(frozen=True, eq=False)
class ClearanceSettings:
    """Distances that an arm keeps from itself and its cell; see :class:`Clearance`."""

    checked: float = gain(
        True, doc="Whether ways are checked before a motion, and bodies kept apart in each cycle."
    )
    margin: float = gain(
        0.01, unit="m", upper=0.5, doc="Distance that bodies of the arm keep from all others."
    )
    payload_radius: float = gain(
        0.0,
        unit="m",
        upper=1.0,
        doc="Of the sphere that stands for the payload. With 0 it is that of its mass in water, and keeps from the arm "
        "alone.",
    )


class Clearance:
    """Checks the way of the joints before they move along it.

    It bounds references. A compliant arm may leave its way: then
    :class:`~..control.clearance_guard.ClearanceGuard` keeps bodies apart. It is no safety function.
    Where bodies are too near already, they may only go apart.

    Args:
        robot, model: Configuration and model of the robot.

    Attributes:
        settings: ClearanceSettings, which may be changed at any time, and count for the next way.

    Raises:
        ConfigError: a setting is refused, or a link of the configuration's capsules is unknown.
    """

    def __init__(self, robot: RobotConfig, model: RobotModel) -> None:
        self.settings = ParameterSet(ClearanceSettings, robot.n, robot.clearance)
        self._robot = robot
        self._model = model
        self._bodies: CollisionModel | None = None
        self._made_of: tuple[Any, Any] = (None, None)
        if self.settings.target.checked:
            self.bodies  # noqa: B018  the first way needn't wait for it

    @property
    def bodies(self) -> CollisionModel:
        """The bodies and pairs that are checked, with the present settings and payload."""
        settings = self.settings.target
        payload = self._model.payload
        if self._bodies is None or self._made_of != (settings, payload):
            self._bodies = CollisionModel(
                self._robot, self._model, settings.margin, payload, settings.payload_radius
            )
            self._made_of = settings, payload
        return self._bodies

    def nearest(self, q: Array) -> NearestPair | None:
        """The pair of bodies nearest to its margin at joint angles q (n,); None for no pair."""
        return self.bodies.nearest(q)

    def is_free(self, way: Array) -> bool:
        """Return True where all bodies keep their margins on a way (k, n) of joint angles [rad]."""
        return not self.settings.target.checked or self._walk(way)[BLOCKED_AT] < 0.0

    def check(self, what: str, way: Array) -> None:
        """Refuse a way (k, n) of joint angles [rad] on which bodies come nearer than their margin.

        Args:
            what: Name of the target, for the error.
            way: Points at equal times; between them the joints go straight.

        Raises:
            ConfigError: names the bodies, their least distance, the margin, and where on the way it
                is passed first.
        """
        if not self.settings.target.checked:
            return
        findings = self._walk(way)
        if findings[BLOCKED_AT] < 0.0:
            return
        bodies = self.bodies
        at = float(findings[BLOCKED_AT])
        pair = int(findings[DEEPEST_PAIR])
        names = bodies.pair_names(pair)
        margin = float(bodies.bodies.margin[pair])
        distance = float(findings[DEEPEST_DISTANCE])
        point = min(int(at), len(way) - 2)
        q = way[point] + (at - point) * (way[point + 1] - way[point])
        share = 100.0 * at / (len(way) - 1)
        reached = (
            f"{-1e3 * distance:.0f} mm into"
            if distance < 0.0
            else f"to {1e3 * distance:.1f} mm from"
        )
        raise ConfigError(
            f"{what}: {names[0]} would come {reached} {names[1]}, which begins at {share:.0f} % of the way, at "
            f"{np.round(q, 3).tolist()} rad: must stay {1e3 * margin:g} mm away (clearance.margin, or that in `cell`)",
            name=f"{names[0]}, {names[1]}",
            value=distance,
            bound=margin,
        )

    def check_hand(self, what: str, q: Array, pose: Array) -> None:
        """Refuse a pose of the tip where the hand itself would be too near to another body.

        It is for a pose that the arm doesn't reach. The hand is placed at the pose, and the rest of
        the arm at the joint angles.

        Args:
            what: Name of the target, for the error.
            q: (n,) joint angles as near to the pose as the arm comes [rad].
            pose: (4, 4) pose of the tip.

        Raises:
            ConfigError: see :meth:`check`.
        """
        if not self.settings.target.checked:
            return
        pair = self.bodies.hand_at(q, pose)
        if pair is None or pair.distance >= pair.margin:
            return
        raise ConfigError(
            f"{what}: there {pair.first} and {pair.second} would be {1e3 * pair.distance:.0f} mm apart, and "
            f"the arm doesn't reach it: must stay {1e3 * pair.margin:g} mm away (clearance.margin, or that in `cell`)",
            name=f"{pair.first}, {pair.second}",
            value=pair.distance,
            bound=pair.margin,
        )

    def slowed(self, twist: Array, way_of: Callable[[Array], Array]) -> Array:
        """The largest part of a twist (6,) whose way is free; 0 where none is.

        Args:
            twist: Wanted twist (6,) [m/s, rad/s].
            way_of: Function that returns the way (k, n) for a twist, to the point at which the arm
                rests again.
        """
        if self.is_free(way_of(twist)):
            return twist
        free = 0.0
        blocked = 1.0
        for _ in range(SHARES):
            middle = (free + blocked) / 2.0
            if self.is_free(way_of(middle * twist)):
                free = middle
            else:
                blocked = middle
        return free * twist

    def _walk(self, way: Array) -> Array:
        findings = np.empty(FINDINGS)
        bodies = self.bodies
        walk(self._model.chain, bodies.bodies, np.ascontiguousarray(way), findings)
        return findings
