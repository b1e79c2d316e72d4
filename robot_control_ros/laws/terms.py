"""Declarations of gains that several laws share, and the sum of terms that becomes a command."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..core.compiled import compiled
from ..core.errors import ConfigError
from ..core.gains import JOINT, MATRIX, TASK, gain
from ..core.small_matrices import cholesky_into, congruence_into, solve_transposed
from ..core.types import Array, as_row


def joint_stiffness_gain(default: float) -> Any:
    """Spring of each joint."""
    doc = "Spring K to the reference; 0 lets the joint float."
    return gain(default, size=JOINT, unit="N·m/rad", upper=5000.0, doc=doc)


def damping_ratio_gain(size: str) -> Any:
    """Damping of a spring by ratio, of the tip (TASK) or of each joint (JOINT)."""
    inertia = "the operational-space inertia" if size == TASK else "the joint's inertia"
    doc = f"Damping as a ratio of the critical one, from the stiffness and {inertia}."
    return gain(1.0, size=size, upper=2.0, doc=doc)


def damping_gain(size: str) -> Any:
    """Damping that is added to that by ratio, of the tip (TASK, MATRIX) or of
    each joint (JOINT).
    """
    unit, upper = ("N·s/m, N·m·s/rad", 2000.0) if size != JOINT else ("N·m·s/rad", 500.0)
    doc = "Damping outright, added to the ratio's; set damping_ratio to 0 to have it alone."
    return gain(0.0, size=size, unit=unit, upper=upper, symmetric=size == MATRIX, doc=doc)


def gravity_gain() -> Any:
    """Switch of the gravity compensation."""
    return gain(True, doc="Compensate gravity; off where the robot does it itself.")


@compiled
def joint_damping(stiffness: float, ratio: float, damping: float, inertia: float) -> float:
    """D_0 + 2 ζ √(K M_ii) [N·m·s/rad] of one joint: of K, ζ, D_0 and M_ii."""
    return damping + 2.0 * ratio * math.sqrt(stiffness * inertia)


def critical_damping(stiffness: Array, mobility: Array, ratio: Array) -> Array:
    """D = 2 S Z Ω Zᵀ S (6, 6), S = diag(√ζ): the damping ratios ζ (6,) of a stiffness K and an
    inertia W⁻¹ (6, 6).

    K = Z Ω² Zᵀ and Zᵀ W Z = 1 come from the symmetric pencil (K, W); no inverse is taken.

    Raises:
        ConfigError: W isn't positive definite.
    """
    damping = np.empty((6, 6))
    if not critical_damping_into(as_row(stiffness), as_row(mobility), as_row(ratio), damping):
        raise ConfigError(
            "the operational-space inertia can't be diagonalised: it isn't positive definite"
        )
    return damping


@compiled
def critical_damping_into(stiffness: Array, mobility: Array, ratio: Array, damping: Array) -> bool:
    """Write D (6, 6) of :func:`critical_damping`; return False where W isn't positive definite.

    With W = L Lᵀ and Lᵀ K L = Y Ω² Yᵀ, Z = L⁻ᵀ Y.
    """
    size = stiffness.shape[0]
    lower = np.empty((size, size))
    if not cholesky_into(mobility, lower) or not np.all(np.isfinite(stiffness)):
        return False
    balanced = np.empty((size, size))
    congruence_into(stiffness, lower, balanced)
    squares, modes = np.linalg.eigh(balanced)
    for mode in range(size):
        solve_transposed(lower, modes, mode)
    for i in range(size):
        for j in range(size):
            total = 0.0
            for mode in range(size):
                total += modes[i, mode] * math.sqrt(max(squares[mode], 0.0)) * modes[j, mode]
            damping[i, j] = 2.0 * math.sqrt(ratio[i] * ratio[j]) * total
    return True


@compiled
def sum_terms(terms: Array, active: Array, result: Array) -> None:
    """Write the sum (n,) of the terms (k, n) whose entry in `active` is 1 into `result`."""
    result[:] = 0.0
    for term in range(len(active)):
        if active[term] == 1.0:
            for joint in range(len(result)):
                result[joint] += terms[term, joint]


@compiled
def limit_sum(result: Array, limit: Array, taken: Array) -> None:
    """Bring a sum (n,) within ±limit (n,), in place.

    The change is written into `taken`, as a term (n,).
    """
    for joint in range(len(result)):
        wanted = result[joint]
        if wanted > limit[joint]:
            result[joint] = limit[joint]
        elif wanted < -limit[joint]:
            result[joint] = -limit[joint]
        taken[joint] = result[joint] - wanted
