"""Friction of the joints of an arm, as data: laws and simulations read the same."""

from __future__ import annotations

from dataclasses import dataclass

from .schema import SOME, entry


@dataclass(frozen=True)
class JointFriction:
    """What friction takes from each joint: coulomb sign(v) + viscous v. One value for all joints, or one per joint."""

    coulomb: tuple[float, ...] = entry((0.0,), size=SOME, lower=0.0, unit="N·m", doc="Coulomb friction.")
    viscous: tuple[float, ...] = entry((0.0,), size=SOME, lower=0.0, unit="N·m·s/rad", doc="Viscous friction.")
