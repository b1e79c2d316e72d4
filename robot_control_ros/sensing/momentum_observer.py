"""External joint torques, and the wrench at the tip, from measured joint torques: without a force-torque sensor."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy.linalg import lapack

from ..core.compiled import compiled
from ..core.record import Field, Record
from ..core.types import Array, RobotState, is_finite
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
    ),
)
_views = MEMORY.views


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
        self._n = 0
        self._row = np.zeros(0)
        self._memory: Any = None
        self.time: float | None = None

    @property
    def torque(self) -> Array:
        """(n,) r [N·m], exerted by the environment on the robot."""
        return np.zeros(0) if self._memory is None else np.array(self._memory["torque"])

    def reset(self) -> None:
        """Start anew at the next sample."""
        self.time = None

    def update(self, state: RobotState, kin: RobotDynamics, gain: float) -> Array | None:
        """The external joint torques (n,) [N·m], until the next call; `state.effort` acted since the last sample.

        Efforts that aren't finite numbers give None, and change nothing.

        Args:
            state: not older than the last one.
            kin: at that state; joints that turn without end are counted on.
            gain: K [1/s].
        """
        v, effort, model = state.v, state.effort, kin.model
        if not is_finite(effort):
            return None
        if self.time is None or self._n != v.size:
            self._begin(kin.q, v)
        elif state.time > self.time:
            dt = state.time - self.time
            take_motion(self._row, kin.q, v, dt, self._n)
            needed = model.inverse_dynamics(self._position, self._velocity, self._acceleration)
            relax_torque(self._row, needed, effort, model.viscous_friction, model.dry_friction, gain * dt, self._n)
        self.time = state.time
        torque: Array = self._torque
        return torque

    def _begin(self, q: Array, v: Array) -> None:
        """Take a sample as the beginning, with r = 0."""
        self._n = v.size
        self._row, self._memory = MEMORY.single(self._n)
        memory = self._memory
        memory["q"] = q
        memory["v"] = v
        self._torque, self._position = memory["torque"], memory["position"]
        self._velocity, self._acceleration = memory["velocity"], memory["acceleration"]


@compiled
def take_motion(row: Array, q: Array, v: Array, dt: float, n: int) -> None:
    """The motion at the middle of a sample of `dt` [s] that ends with q and v (n,); the next one begins there."""
    memory = _views(row, n)
    for joint in range(n):
        memory.position[joint] = 0.5 * (memory.q[joint] + q[joint])
        memory.velocity[joint] = 0.5 * (memory.v[joint] + v[joint])
        memory.acceleration[joint] = (v[joint] - memory.v[joint]) / dt
        memory.q[joint] = q[joint]
        memory.v[joint] = v[joint]


@compiled
def relax_torque(
    row: Array, needed: Array, effort: Array, viscous: Array, dry: Array, gain_times_dt: float, n: int
) -> None:
    """Lead r (n,) towards what the motion needed, with friction, less the measured effort: by 1 - exp(-K dt)."""
    memory = _views(row, n)
    share = -math.expm1(-gain_times_dt)
    for joint in range(n):
        speed = memory.velocity[joint]
        friction = viscous[joint] * speed + dry[joint] * math.tanh(speed / SMOOTHING)
        external = needed[joint] + friction - effort[joint]
        memory.torque[joint] += (external - memory.torque[joint]) * share


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
