"""Friction of a robot's joints."""

from __future__ import annotations

from dataclasses import dataclass

from ..core.gains import JOINT
from .schema import entry


@dataclass(frozen=True)
class JointFriction:
    """What friction takes from each joint: (coulomb + viscous |q̇|) sign(q̇)."""

    coulomb: tuple[float, ...] = entry(0.0, size=JOINT, lower=0.0, unit="N·m", doc="Dry friction of each joint.")
    viscous: tuple[float, ...] = entry(
        0.0, size=JOINT, lower=0.0, unit="N·m·s/rad", doc="Viscous friction of each joint."
    )
