"""The energy tank of laws: energy that a damper took out pays for changes that would make energy.

There is one rule: the tank pays as far as it reaches. A change that isn't paid in full goes part of
the way, and goes on when a damper has taken more. A change that can't be had in part, such as
another frame, waits for the whole of its cost.

A tank is one number (1,) in a law's memory, its energy [J]. It pays for

- changes of the spring between arm and reference (laws/spring/compliance_frame.py),
- changes of a virtual body (laws/spring/virtual_body.py),
- feedback of a force (laws/force/pressing.py).

Source: F. Ferraguti et al., An energy tank-based interactive control architecture for autonomous
and teleoperated robotic surgery, IEEE Trans. Robotics 31(5), 2015.
"""

from __future__ import annotations

import numpy as np

from ..core.compiled import compiled
from ..core.gains import AXES
from ..core.types import Array

TOLD = 0.01  # of the largest entry, by which a matrix may be behind without being told
TINY = 1e-9  # stiffness or mass that counts as none


@compiled
def fill(tank: Array, energy: float, most: float) -> None:
    """Put energy [J] into a tank, which holds `most` [J] at most."""
    tank[0] = min(tank[0] + energy, most)


@compiled
def pay(tank: Array, cost: float, most: float) -> float:
    """Take a cost [J] out of a tank as far as it reaches; a cost below 0 fills it up to `most` [J].

    Returns:
        The share of the cost that was paid, 0 to 1.
    """
    if cost > tank[0]:
        share = float(tank[0]) / cost
        tank[0] = 0.0
        return share
    fill(tank, -cost, most)
    return 1.0


@compiled
def pay_whole(tank: Array, cost: float, most: float) -> bool:
    """Take the whole cost [J] out of a tank; False where it doesn't reach, and
    nothing is taken then.
    """
    if cost > tank[0]:
        return False
    pay(tank, cost, most)
    return True


def unpaid(name: str, acts: Array, wanted: Array, units: tuple[str, str]) -> str:
    """The part of a matrix that isn't in force, in words; empty where all of it is.

    A tank couldn't pay for that part yet.

    Args:
        name: Name of the gain.
        acts, wanted: (6, 6) matrix that is in force, and the one that is wanted.
        units: Units of translations and of rotations.
    """
    behind = np.abs(wanted - acts)
    if behind.max() <= TOLD * np.abs(wanted).max():
        return ""
    axis = int((behind.diagonal() / np.maximum(wanted.diagonal(), TINY)).argmax())
    return (
        f"{name} {acts[axis, axis]:.4g} of {wanted[axis, axis]:.4g} {units[axis // 3]} is in force along {AXES[axis]}: "
        "more would add energy under this load. It comes as the load goes, or as the damper takes energy"
    )
