"""External joint torques, and the wrench at the tip, from measured joint torques: without a
force-torque sensor.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy.linalg import lapack

from ..core.compiled import compiled
from ..core.record import Field, Record
from ..core.types import Array, RobotState, as_row, is_finite
from ..robot.differential_kinematics import ROTATION_LENGTH
from ..robot.model import SMOOTHING, RobotDynamics

MIN_SINGULAR_VALUE = 0.03  # m, singular value below which the wrench is damped
_SCALE = np.array([1.0, 1.0, 1.0, ROTATION_LENGTH, ROTATION_LENGTH, ROTATION_LENGTH])

MEMORY = Record(
    "ObserverMemory",
    (
        Field("torque", ("n",), "N·m", "External joint torques r."),
        Field("q", ("n",), "rad", "Joint angles of the last sample."),
        Field("v", ("n",), "rad/s", "Joint velocities of the last sample."),
        Field("position", ("n",), "rad", "Joint angles in the middle of the last two samples."),
        Field("velocity", ("n",), "rad/s", "Joint velocities there."),
        Field("acceleration", ("n",), "rad/s²", "Joint accelerations there."),
        Field("needed", ("n",), "N·m", "Torques that this motion needed, without friction."),
        Field("viscous", ("n",), "N·m·s/rad", "Viscous friction of the joints."),
        Field("dry", ("n",), "N·m", "Dry friction of the joints."),
    ),
)
_views = MEMORY.views


class MomentumObserver:
    """Generalized momentum observer.

    With p = M q̇, and so ṗ = tau + Cᵀ q̇ - g - friction + tau_ext, the observer

        r = K [p - p(0) - ∫ (tau + Cᵀ q̇ - g - friction + r) dt]

    obeys ṙ = K (tau_ext - r): each joint's external torque through a first-order lag of 1/K, with
    neither measured accelerations nor M⁻¹. It is computed as the exact solution of that equation
    over one sample, in which tau_ext is constant. So it is stable for every K and dt, and no
    integral grows. The gain of p in the sample, less Cᵀ q̇ - g, is to second order M q̈ + C q̇ + g
    at its middle. Here q̈ is the change of q̇ over dt. So one inverse dynamics is enough.

    It begins with r = 0. tau is the whole torque at the joints, with that against gravity. Errors
    of the robot description, friction above all, are taken for an external torque. A push that dry
    friction holds at rest is not seen.

    Source: A. De Luca, A. Albu-Schäffer, S. Haddadin, G. Hirzinger, Collision detection and safe
    reaction with the DLR-III lightweight manipulator arm, IROS 2006.

    Args:
        n: Number of joints; the first sample may have another one.

    Attributes:
        time: Time of the last sample [s]; None before the first.
        row: Memory, as compiled functions take it.
    """

    def __init__(self, n: int = 1) -> None:
        self.time: float | None = None
        self._remember(n)

    def _remember(self, n: int) -> None:
        self._n = n
        self.row, memory = MEMORY.single(n)
        self._memory: Any = memory
        self._position = memory["position"]
        self._velocity = memory["velocity"]
        self._acceleration = memory["acceleration"]
        self._needed = memory["needed"]
        self._torque = memory["torque"]

    @property
    def torque(self) -> Array:
        """External torques r (n,) [N·m], exerted by the environment on the robot."""
        return np.array(self._memory["torque"])

    def reset(self) -> None:
        """Start anew at the next sample."""
        self.time = None

    def update(self, state: RobotState, kin: RobotDynamics, gain: float) -> Array | None:
        """Take a sample, and return the external joint torques (n,) [N·m].

        `state.effort` is the torque that acted since the last sample. Efforts that aren't finite
        numbers give None, and change nothing. The next call overwrites the result.

        Args:
            state: State of the sample, which isn't older than the last one.
            kin: Dynamics at that state; joints that turn without end are counted on.
            gain: Gain K [1/s].
        """
        if not is_finite(state.effort):
            return None
        dt = self.follow(state.time, kin)
        relax_torque(self.row, as_row(state.effort), gain * dt, self._n)
        torque: Array = self._torque
        return torque

    def follow(self, time: float, kin: RobotDynamics) -> float:
        """Compute the torques that the motion since the last sample needed.

        :func:`relax_torque` has to follow it.

        Args:
            time: Time of the sample [s].
            kin: Dynamics at the sample, see :meth:`update`.

        Returns:
            Time since the last sample [s]; 0 where this one is the first, or isn't later.
        """
        before = self.time
        self.time = time
        if before is None or self._n != kin.model.n:
            self._begin(kin)
            return 0.0
        dt = time - before
        if dt <= 0.0:
            return 0.0
        # it writes position, velocity and acceleration, which are views of the row
        take_motion(self.row, kin.q, kin.v, dt, self._n)
        self._needed[:] = kin.model.inverse_dynamics(
            self._position, self._velocity, self._acceleration
        )
        return dt

    def _begin(self, kin: RobotDynamics) -> None:
        """Take a sample as the beginning, with r = 0."""
        if self._n != kin.model.n:
            self._remember(kin.model.n)
        memory = self._memory
        memory["torque"] = 0.0
        memory["q"] = kin.q
        memory["v"] = kin.v
        memory["viscous"] = kin.model.viscous_friction
        memory["dry"] = kin.model.dry_friction


@compiled
def take_motion(row: Array, q: Array, v: Array, dt: float, n: int) -> None:
    """Write the motion at the middle of a sample of `dt` [s], which ends with q and v (n,).

    The next sample begins with these.
    """
    memory = _views(row, n)
    for joint in range(n):
        memory.position[joint] = 0.5 * (memory.q[joint] + q[joint])
        memory.velocity[joint] = 0.5 * (memory.v[joint] + v[joint])
        memory.acceleration[joint] = (v[joint] - memory.v[joint]) / dt
        memory.q[joint] = q[joint]
        memory.v[joint] = v[joint]


@compiled
def relax_torque(row: Array, effort: Array, gain_times_dt: float, n: int) -> None:
    """Lead r (n,) towards the external torque of a sample, by the fraction 1 - exp(-K dt).

    That is the torque that the motion needed, with friction, less the measured effort (n,).
    """
    memory = _views(row, n)
    share = -math.expm1(-gain_times_dt)
    for joint in range(n):
        speed = memory.velocity[joint]
        friction = memory.viscous[joint] * speed + memory.dry[joint] * math.tanh(speed / SMOOTHING)
        external = memory.needed[joint] + friction - effort[joint]
        memory.torque[joint] += (external - memory.torque[joint]) * share


@compiled
def external_torque(row: Array, n: int) -> Array:
    """Torques r (n,) [N·m] of an observer's memory."""
    return _views(row, n).torque  # type: ignore[no-any-return]


def wrench_from_torque(jacobian: Array, torque: Array) -> Array:
    """Wrench (6,) [N, N·m] at the tip that explains external joint torques.

    It solves Jᵀ w = tau by damped least squares: w = (J Jᵀ + λ² 1)⁻¹ J tau, rotations counting
    0.3 m per radian. λ² = max(0, ε² - σ_min²), ε = 0.03 m: exact away from singularities, bounded
    and continuous through them. The price is a bias towards zero. The part of the wrench along a
    direction of singular value σ is estimated as σ²/(σ² + λ²) of it. So along the weakest direction
    (σ_min / ε)² is left.

    With fewer than six joints it is the smallest wrench that explains the torques, and the part
    that moves no joint is not seen. All torques are taken to come from the tip.

    Args:
        jacobian: (6, n) Jacobian of the tip, base axes, tip origin.
        torque: (n,) external joint torques [N·m].
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
