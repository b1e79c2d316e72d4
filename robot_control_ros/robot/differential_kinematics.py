"""From motions of the tip to motions of the joints, cycle by cycle."""

from __future__ import annotations

import math

import numpy as np

from ..core.compiled import compiled
from ..core.small_matrices import (
    cholesky_into,
    product_into,
    solve_with_factor,
    times,
    transposed_times,
)
from ..core.types import Array, as_row
from .model import RobotDynamics

ROTATION_LENGTH = 0.3  # m that one radian counts as, so that metres and radians can be compared
SMALLEST = 0.08  # m, singular value below which the damping begins
DAMPING = 0.04  # m, largest damping, at a singular value of 0
TRACKING = 20.0  # 1/s, with which an error of the pose is taken back
FOLLOWED = 0.01  # m, error of a pose beyond which the damping grows with it
POSTURE = 2.0  # 1/s, with which the null space goes to the posture
# m, damping where nothing is singular: makes the solve of an arm with fewer than six joints finite
FREE = 1e-4
# What joint servos can follow, so that they don't catch up above their velocity limits:
TOP_SPEED = 0.9  # of the velocity limits: a servo overshoots by some percent
# of the velocity limits: slower joints may change their speed as they like, as in contact
SLOW = 0.25
FAST = 0.5  # of the velocity limits: from there on the bounds below hold in full
# of the effort that gravity leaves, that the inertia may take; friction needs the rest
EFFORT = 0.5
LEAST_EFFORT = 0.1  # of the effort limits, that counts as left by gravity
RETREAT = 0.1  # rad/s with which a joint that begins beyond a position limit goes back
HASTE = 20.0  # 1/s, with which a joint comes nearer to its top speed
# what joint_step answers
DONE = 0
NEEDS_MASS = 1
_NO_MASS = np.empty((0, 0))


class DifferentialKinematics:
    """Joint velocities for a twist of the tip, by damped least squares.

    q̇ = Jᵀ (J Jᵀ + λ² 1)⁻¹ V + N q̇_n,  λ² = λ_max² (1 - (σ_min / ε)²) for σ_min < ε, else next to
    nothing; N projects into the null space. Rotations count 0.3 m per radian. So q̇ stays bounded,
    and continuous, through singularities, at the price of an error of the tip near them.

    Source: Y. Nakamura, H. Hanafusa, Inverse kinematic solutions with singularity robustness for
    robot manipulator control, ASME J. Dyn. Sys. Meas. Control 108, 1986. Variable damping: S.
    Chiaverini, B. Siciliano, O. Egeland, Review of the damped least-squares inverse kinematics,
    IEEE Trans. Control Systems Technology 2(2), 1994.

    Args:
        axes: (6,) 1 for each axis of the tip that counts, 0 where it is left free; all by default.

    Attributes:
        weight: (6,) weights of the axes: 0 where they are free, and m per rad for rotations.
        count: Number of axes that count.
    """

    def __init__(self, axes: Array | None = None) -> None:
        self.weight = np.empty(6)
        self.count = weigh_axes(np.ones(6) if axes is None else as_row(axes), self.weight)

    def velocities(
        self, kin: RobotDynamics, twist: Array, posture_rate: Array | None = None
    ) -> Array:
        """Joint velocities (n,) [rad/s] of an arm for a twist (6,) of its tip [m/s, rad/s].

        `posture_rate` (n,) is wanted besides, in the null space [rad/s].
        """
        n = kin.v.size
        found = np.empty(n)
        rest = np.zeros(n) if posture_rate is None else as_row(posture_rate)
        wanted = as_row(twist), rest, np.zeros(n)
        joint_velocities(as_row(kin.jacobian), self.weight, self.count, *wanted, 0.0, found)
        return found

    def step(
        self,
        kin: RobotDynamics,
        twist: Array,
        posture_rate: Array,
        dt: float,
        error: float = 0.0,
        before: Array | None = None,
    ) -> Array:
        """Joint angles (n,) [rad] `dt` seconds later; see :func:`joint_step`. Without `before`
        that doesn't bound.
        """
        limits = kin.model.limits
        bounds = limits.lower, limits.upper, limits.velocity, limits.effort
        jacobian = as_row(kin.jacobian)
        q = as_row(kin.q)
        gravity = as_row(kin.gravity)
        wanted = as_row(twist), as_row(posture_rate)
        last = np.full(q.size, math.nan) if before is None else as_row(before)
        found = np.empty(q.size)
        fixed = self.weight, self.count, *bounds, *wanted, dt, error, last, found
        if joint_step(jacobian, q, gravity, _NO_MASS, *fixed) == NEEDS_MASS:
            joint_step(jacobian, q, gravity, as_row(kin.mass), *fixed)
        return found


@compiled
def weigh_axes(axes: Array, weight: Array) -> int:
    """Weight (6,) of chosen axes (6,), into weight; see :class:`DifferentialKinematics`.
    Returns how many count.
    """
    count = 0
    for i in range(6):
        weight[i] = axes[i] if i < 3 else ROTATION_LENGTH * axes[i]
        if axes[i] != 0.0:
            count += 1
    return count


@compiled
def joint_velocities(
    jacobian: Array,
    weight: Array,
    count: int,
    twist: Array,
    posture_rate: Array,
    held: Array,
    error: float,
    velocities: Array,
) -> None:
    """Joint velocities for a twist of the tip; see :class:`DifferentialKinematics`.

    Args:
        jacobian: (6, n) base axes, tip origin.
        weight, count: Weights of the axes, and number of those that count.
        twist: (6,) twist that is wanted of the tip [m/s, rad/s].
        posture_rate: (n,) joint velocities that are wanted besides, in the null space [rad/s].
        held: (n,) 1 for joints that move as `posture_rate` says; the others make up for them.
        error: Length of the pose's error [m], see :func:`joint_step`.
        velocities: Result (n,) [rad/s]; NaN for numbers that aren't finite.
    """
    n = jacobian.shape[1]
    weighted = np.empty((6, n))
    for i in range(6):
        for joint in range(n):
            weighted[i, joint] = weight[i] * jacobian[i, joint]
    moved = np.empty(6)
    times(weighted, posture_rate, moved)
    force = np.empty((6, 1))
    for i in range(6):
        force[i, 0] = weight[i] * twist[i] - moved[i]
    free = n
    for joint in range(n):
        if held[joint] != 0.0:
            free -= 1
            weighted[:, joint] = 0.0
    square = np.empty((6, 6))
    product_into(weighted, weighted.T.copy(), square)
    damping = _damping(square, min(count, free)) + 0.5 * max(error - FOLLOWED, 0.0) ** 2
    for i in range(6):
        square[i, i] += damping
    lower = np.empty((6, 6))
    if not cholesky_into(square, lower):
        velocities[:] = math.nan
        return
    solve_with_factor(lower, force)
    transposed_times(weighted, force[:, 0].copy(), velocities)
    for joint in range(n):
        velocities[joint] += posture_rate[joint]


@compiled
def _damping(square: Array, rank: int) -> float:
    """λ² from the smallest of the singular values that needn't be 0; their number is
    `rank`, which may be 0.
    """
    if rank == 0:
        return FREE**2
    if rank == 6:  # the usual case: all are above the bound
        above = square.copy()
        for i in range(6):
            above[i, i] -= SMALLEST**2
        if cholesky_into(above, np.empty((6, 6))):
            return FREE**2
    if not math.isfinite(np.sum(square)):
        return FREE**2
    smallest = max(float(np.linalg.eigvalsh(square)[6 - rank]), 0.0)
    return FREE**2 + DAMPING**2 * max(1.0 - smallest / SMALLEST**2, 0.0)


@compiled
def joint_step(
    jacobian: Array,
    q: Array,
    gravity: Array,
    mass: Array,
    weight: Array,
    count: int,
    lower: Array,
    upper: Array,
    fastest: Array,
    effort: Array,
    twist: Array,
    posture_rate: Array,
    dt: float,
    error: float,
    before: Array,
    result: Array,
) -> int:
    """Joint angles (n,) [rad] `dt` seconds later, within the joints' velocity and position limits.

    A joint that is x away from a position limit moves there with 20/s x at most. One that is beyond
    it comes back with 0.1 rad/s, or as fast as the twist asks for. Such a joint is held at that
    speed, and the velocities of the others are solved again: they make up for it where they can.
    Too fast a motion is slowed down as a whole after that: so no velocity jumps when a joint comes
    to be held.

    An `error` of the pose [m], which `twist` takes back, adds (error - 10 mm)² / 2 to the damping
    λ², from there on. At a pose beyond reach the Jacobian turns singular, with an error left. There
    the joints would else jump to and fro in each step.

    Velocities of the step `before` (n,) [rad/s] bound the change to what servos can follow. Fast
    joints change their speed with at most half of the effort that gravity leaves. They come to 0.9
    of their velocity limits smoothly. All joints then go the same fraction of the way from
    `before`. Where it is NaN only the velocity limits hold.

    Source: velocity dampers, B. Faverjon, P. Tournassoud, A local based approach for path planning
    of manipulators with a high number of degrees of freedom, ICRA 1987. Held joints: F. Flacco, A.
    De Luca, O. Khatib, Motion control of redundant robots under joint constraints: saturation in
    the null space, ICRA 2012. Damping by the error: see :func:`~.inverse_kinematics.solve_pose`.

    Args:
        jacobian, q, gravity: State of the arm: Jacobian (6, n), joint angles (n,) [rad] and torques
            that hold it (n,) [N·m].
        mass: (n, n) joint-space inertia [kg·m²]; (0, 0) where it isn't known.
        weight, count: Weights of the axes and their number, see :class:`DifferentialKinematics`.
        lower, upper, fastest, effort: Limits of the joints (n,) [rad, rad/s, N·m].
        twist, posture_rate: Motion that is wanted, see :func:`joint_velocities`.
        dt, error, before: Time of the step [s], error of the pose [m], and velocities of the step
            before (n,) [rad/s]; see above.
        result: (n,) joint angles [rad]; NaN for a twist that isn't finite.

    Returns:
        DONE, or NEEDS_MASS where that has to be known: call again.
    """
    n = len(q)
    rate = min(TRACKING, 1.0 / dt)
    least = np.empty(n)
    most = np.empty(n)
    for joint in range(n):
        least[joint] = min(rate * (lower[joint] - q[joint]), RETREAT)
        most[joint] = max(rate * (upper[joint] - q[joint]), -RETREAT)
    rest = posture_rate.copy()
    held = np.zeros(n)
    v = np.empty(n)
    joint_velocities(jacobian, weight, count, twist, rest, held, error, v)
    again = True
    while again:
        again = False
        for joint in range(n):
            if held[joint] == 0.0 and (v[joint] > most[joint] or v[joint] < least[joint]):
                held[joint] = 1.0
                rest[joint] = min(max(v[joint], least[joint]), most[joint])
                again = True
        if again:
            joint_velocities(jacobian, weight, count, twist, rest, held, error, v)
    if math.isnan(np.sum(v)):
        result[:] = math.nan
        return DONE
    if math.isnan(before[0]):
        largest = 1.0
        for joint in range(n):
            largest = max(largest, abs(v[joint]) / fastest[joint])
        for joint in range(n):
            v[joint] /= largest
    else:
        if not _make_followable(v, before, gravity, mass, fastest, effort, dt):
            return NEEDS_MASS
        for joint in range(n):
            v[joint] = min(max(v[joint], least[joint]), most[joint])
    for joint in range(n):
        result[joint] = min(
            max(q[joint] + dt * v[joint], min(lower[joint], q[joint])), max(upper[joint], q[joint])
        )
    return DONE


@compiled
def _make_followable(
    v: Array, before: Array, gravity: Array, mass: Array, fastest: Array, effort: Array, dt: float
) -> bool:
    """Bring joint velocities v (n,), `dt` seconds after `before`, to what servos can follow.

    Returns:
        False where the mass has to be known, and isn't; v is changed all the same.
    """
    n = len(v)
    largest = 1.0
    for joint in range(n):
        largest = max(largest, abs(v[joint]) / (TOP_SPEED * fastest[joint]))
    haste = 0.0
    for joint in range(n):
        v[joint] /= largest
        haste = max(haste, max(abs(v[joint]), abs(before[joint])) / fastest[joint])
    if haste <= SLOW:
        return True
    if mass.shape[0] == 0:
        return False
    change = v - before
    torque = np.empty(n)
    times(mass, change, torque)
    share = -math.expm1(-HASTE * dt)
    beyond = 1.0
    weight = min((haste - SLOW) / (FAST - SLOW), 1.0)
    for joint in range(n):
        top = TOP_SPEED * fastest[joint]
        gained = 0.0 if change[joint] * before[joint] < 0.0 else abs(change[joint])
        room = max(top - abs(before[joint]), 1e-6 * top)
        left = max(effort[joint] - abs(gravity[joint]), LEAST_EFFORT * effort[joint])
        beyond = max(
            beyond, weight * gained / room / share, weight * abs(torque[joint]) / dt / left / EFFORT
        )
    for joint in range(n):
        v[joint] = before[joint] + change[joint] / beyond
    return True
