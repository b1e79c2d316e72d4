"""The damping and the mass that a virtual body needs to stay in contact with a wall.

The wall is a spring k at the tip. Its force reaches the virtual body, and the body's motion reaches
the wall through the joints, τ later in all. Beside k the body's own spring is small. With e^{-τs} ≈
1 - τs + τ²s²/2, what remains of M s² + B s + k e^{-τs} = 0 is

    (M + k τ²/2) s² + (B - k τ) s + k = 0:

the delay takes k τ of the damping. The damping ratio in contact is at least ζ for

    B ≥ k τ + 2 ζ √(k (M + k τ²/2)).

τ is the delay of the commands and half a period, in which wrench and command are held. In discrete
time the exact bound is a third to 1.2 times this one. That was computed with the servoed arm's
inertia Λ from 1.2 to 6.1 kg, masses from 2 to 16 kg, and delays from 4 ms on, at 125 Hz to 1 kHz.

The arm is no stiffer than its joint servos. With the bandwidth w, they are a spring Λ w² and a
damper 2 Λ w between command and tip. A wall stiffer than Λ w² makes no difference, but then the
damper leads. The loop M s + B + 2 Λ w e^{-τs} = 0 is stable with B ≥ 2 Λ w, or else with a mass of
at least (2/π) 2 Λ w τ. The robots' defaults have 2.75 times that mass:

    M ≥ 1.75 (2 Λ w τ).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..core.types import Array

WALL = 1e4  # N/m, stiffness of the wall that gains are judged by
RATIO = 0.1  # damping ratio that the contact shall have
USUAL_DELAY = 2.0  # periods, from a sample to the effect of its command, where a node computes it


def least_damping(mass: Any, lag: float, wall: float = WALL) -> Array:
    """Least damping of the virtual body [N·s/m] for masses [kg], a lag τ [s] and a wall [N/m]."""
    return np.asarray(
        wall * lag + 2.0 * RATIO * np.sqrt(wall * (np.asarray(mass) + wall * lag**2 / 2.0))
    )


def usual_lag(period: float) -> float:
    """Lag τ of a node [s] that runs at a period [s]."""
    return (USUAL_DELAY + 0.5) * period
