"""What the motors turn: the protocol of any arm, and the simplest one, axes that know
nothing of each other.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

BRAKE_TORQUE = 1000.0  # N·m, more than any drive's


class Mechanics(Protocol):
    """Joints that drives act on. All are advanced together, since in an arm they move each other.

    Attributes:
        position: of each joint [rad].
        velocity: of each joint [rad/s].
        inertia: that each joint's drive is tuned for, the other joints held [kg·m²].
    """

    @property
    def position(self) -> Sequence[float]: ...

    @property
    def velocity(self) -> Sequence[float]: ...

    @property
    def inertia(self) -> Sequence[float]: ...

    def advance(self, torque: Sequence[float], braked: Sequence[bool], dt: float) -> None:
        """Let time pass.

        Args:
            torque: of each joint's motor, behind its gear [N·m].
            braked: whether each joint's holding brake is closed.
            dt: how much time [s].
        """


@dataclass(frozen=True)
class Load:
    """What one motor turns, seen from the joint.

    Attributes:
        inertia: of rotor and load [kg·m²].
        viscous: friction [N·m·s/rad].
        coulomb: dry friction [N·m].
        gravity: constant torque on it [N·m].
        position: where it begins [rad].
    """

    inertia: float = 0.1
    viscous: float = 0.2
    coulomb: float = 0.1
    gravity: float = 0.0
    position: float = 0.0


class Rotors:
    """Independent rotating loads.

    Args:
        loads: one per joint.
    """

    def __init__(self, loads: Sequence[Load]) -> None:
        self._loads = tuple(loads)
        self.position = [load.position for load in loads]
        self.velocity = [0.0 for _ in loads]
        self.inertia = [load.inertia for load in loads]

    def advance(self, torque: Sequence[float], braked: Sequence[bool], dt: float) -> None:
        position = self.position
        velocity = self.velocity
        for n, load in enumerate(self._loads):
            v = (
                velocity[n]
                + dt * (torque[n] + load.gravity - load.viscous * velocity[n]) / load.inertia
            )
            friction = dt * (load.coulomb + (BRAKE_TORQUE if braked[n] else 0.0)) / load.inertia
            v = v - friction if v > friction else v + friction if v < -friction else 0.0
            velocity[n] = v
            position[n] += dt * v
