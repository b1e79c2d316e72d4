"""What a redundant arm does with the freedom that the task leaves."""

from __future__ import annotations

import numpy as np
from scipy.linalg import lapack

from ..core.types import Array

REGULARISATION = 1e-6  # 1/kg, added to J M⁻¹ Jᵀ: keeps the solve finite at singularities


def project(torque: Array, jacobian: Array, mass: Array, slack: Array | float = 0.0) -> Array:
    """The part of a joint torque (n,) that doesn't accelerate the task: Nᵀ tau.

    Nᵀ = I - Jᵀ Λ J M⁻¹ with Λ = (J M⁻¹ Jᵀ)⁻¹, the dynamically consistent projector:  J M⁻¹ Nᵀ tau = 0.

    Args:
        torque: (n,) [N·m].
        jacobian: (m, n) of the task's axes; m may be 0; a row of zeros is no axis.
        mass: (n, n) [kg·m²].
        slack: (m,) or one number [1/kg], added to J M⁻¹ Jᵀ: 0 for an axis of the task, 1 with a row of zeros; between
            the two an axis is faded out.

    Source: O. Khatib, A unified approach for motion and force control of robot manipulators: the operational
    space formulation, IEEE J. Robotics and Automation 3(1), 1987.
    """
    if jacobian.shape[0] == 0:
        return torque
    both = np.column_stack((jacobian.T, torque))
    _, solved, _ = lapack.dposv(mass, both)  # M⁻¹ [Jᵀ tau]
    mobility = jacobian @ solved
    inverse_inertia = mobility[:, :-1]
    inverse_inertia.flat[:: inverse_inertia.shape[1] + 1] += REGULARISATION + slack
    _, force, _ = lapack.dposv(inverse_inertia, mobility[:, -1])
    return np.asarray(torque - jacobian.T @ force)
