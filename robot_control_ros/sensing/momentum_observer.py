"""External joint torques, and the wrench at the tip, from measured joint torques: without a force-torque sensor."""

from __future__ import annotations

import math

import numpy as np
from scipy.linalg import lapack

from ..core.types import Array, RobotState
from ..robot.inverse_kinematics import ROTATION_LENGTH
from ..robot.model import RobotDynamics, friction_torque

MIN_SINGULAR_VALUE = 0.03  # m, singular value below which the wrench is damped
_SCALE = np.array([1.0, 1.0, 1.0, ROTATION_LENGTH, ROTATION_LENGTH, ROTATION_LENGTH])


class MomentumObserver:
    """Generalized momentum observer.

    With p = M q̇, and so ṗ = tau + Cᵀ q̇ - g - friction + tau_ext, the observer

        r = K [p - p(0) - ∫ (tau + Cᵀ q̇ - g - friction + r) dt]

    obeys ṙ = K (tau_ext - r): each joint's external torque through a first-order lag of 1/K, with neither
    measured accelerations nor M⁻¹. It is computed as the exact solution of that equation over one sample, in which
    tau_ext is constant: so it is stable for every K and dt, and no integral grows. What p gained in the sample, less
    Cᵀ q̇ - g, is to second order M q̈ + C q̇ + g at its middle, q̈ being the change of q̇ over dt: one inverse dynamics.

    It begins with r = 0. tau is the whole torque at the joints, with that against gravity; what the robot
    description gets wrong (friction above all) is taken for an external torque, and a push that dry friction holds at
    rest is not seen.

    Source: A. De Luca, A. Albu-Schäffer, S. Haddadin, G. Hirzinger, Collision detection and safe reaction with the
    DLR-III lightweight manipulator arm, IROS 2006.

    Attributes:
        time: of the last sample [s]; None before the first.
    """

    def __init__(self) -> None:
        self._torque = list[float]()
        self.time: float | None = None

    @property
    def torque(self) -> Array:
        """(n,) r [N·m], exerted by the environment on the robot."""
        return np.array(self._torque)

    def reset(self) -> None:
        """Start anew at the next sample."""
        self.time = None

    def update(self, state: RobotState, kin: RobotDynamics, gain: float) -> list[float] | None:
        """The n external joint torques [N·m], until the next call; `state.effort` acted since the last sample.

        Efforts that aren't finite numbers give None, and change nothing.

        Args:
            state: not older than the last one.
            kin: at that state; joints that turn without end are counted on.
            gain: K [1/s].
        """
        v, efforts = state.v, state.effort.tolist()
        if not math.isfinite(sum(efforts)):
            return None
        if self.time is None:
            self._torque, self._sample = [0.0] * v.size, _Sample(kin.q, v)
        elif state.time > self.time:
            dt, model = state.time - self.time, kin.model
            position, middle, acceleration = self._sample.middle(kin.q, v, dt)
            needed = model.inverse_dynamics(position, middle, acceleration)
            if model.has_friction:
                friction = friction_torque(middle, model.viscous_friction, model.dry_friction)
                needed, efforts = needed - state.effort + friction, [0.0] * v.size
            share, torque = -math.expm1(-gain * dt), self._torque
            for joint, new in enumerate(needed.tolist()):  # plain numbers: numpy takes longer for so few
                old = torque[joint]
                torque[joint] = (new - efforts[joint] - old) * share + old
        self.time = state.time
        return self._torque


class _Sample:
    """The motion between two states, as one matrix product: sums and a difference take twice the time.

    Args:
        q, v: (n,) at its beginning.
    """

    def __init__(self, q: Array, v: Array) -> None:
        ends = np.array((q, v, q, v))
        self._older, self._newer = (ends[0], ends[1]), (ends[2], ends[3])
        self._ends, self._sign = ends, -1.0
        self._weights = np.array(((0.5, 0.0, 0.5, 0.0), (0.0, 0.5, 0.0, 0.5), (0.0, 0.0, 0.0, 0.0)))
        self._motion = np.empty((3, q.size))
        self._rows = tuple(self._motion)

    def middle(self, q: Array, v: Array, dt: float) -> tuple[Array, ...]:
        """The q and q̇ at the middle of a sample of `dt` [s] that ends with these (n,); q̈ is the change of q̇ over dt."""
        self._older, self._newer, self._sign = self._newer, self._older, -self._sign
        newer, weights, per_second = self._newer, self._weights, self._sign / dt
        newer[0][:], newer[1][:] = q, v
        weights[2, 1], weights[2, 3] = per_second, -per_second
        weights.dot(self._ends, self._motion)
        return self._rows


def wrench_from_torque(jacobian: Array, torque: Array) -> Array:
    """The wrench (6,) [N, N·m] at the tip that accounts for external joint torques: Jᵀ w = tau by damped least squares.

    w = (J Jᵀ + λ² 1)⁻¹ J tau, rotations counting 0.3 m per radian. λ² = max(0, ε² - σ_min²), ε = 0.03 m: exact away
    from singularities, bounded and continuous through them. The price is a bias towards zero: a part of the
    wrench along a direction of singular value σ is estimated as σ²/(σ² + λ²) of it, so that along the weakest one
    (σ_min / ε)² is left. With fewer than six joints the smallest wrench that explains the torques is given, and the
    part that moves no joint is not seen. All torques are taken to come from the tip.

    Args:
        jacobian: (6, n), base axes, tip origin.
        torque: (n,) [N·m].
    """
    scaled = _SCALE[:, None] * jacobian
    few = jacobian.shape[1] < 6
    square = scaled.T.dot(scaled) if few else scaled.dot(scaled.T)
    squares, _, _ = lapack.dsyev(square, compute_v=0)
    damping = MIN_SINGULAR_VALUE**2 - max(float(squares[0]), 0.0)
    if damping > 0.0:
        square.flat[:: len(square) + 1] += damping
    if few:
        _, solved, _ = lapack.dposv(square, torque)
        return np.asarray(_SCALE * scaled.dot(solved))
    _, solved, _ = lapack.dposv(square, scaled.dot(torque))
    return np.asarray(_SCALE * solved)
