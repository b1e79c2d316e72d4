"""Joint friction, as modelled in the robot description's <dynamics damping friction>."""

from __future__ import annotations

import numpy as np

from ..core.types import Array

SMOOTHING = 0.01  # rad/s over which Coulomb friction changes sign


def friction_torque(v: Array, viscous: Array, dry: Array) -> Array:
    """Torque that friction takes from the joints: b v + f tanh(v / 0.01 rad/s).

    Args:
        v: (n,) joint velocities [rad/s].
        viscous: (n,) b [N·m·s/rad].
        dry: (n,) f [N·m].
    """
    return np.asarray(viscous * v + dry * np.tanh(v / SMOOTHING))
