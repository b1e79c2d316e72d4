"""From motions of the tip to motions of the joints."""

from __future__ import annotations

import math

import numpy as np
from scipy.linalg import lapack

from ..core.errors import ConfigError, refused
from ..core.spatial import pose_error
from ..core.types import Array
from .model import RobotDynamics, RobotModel

ROTATION_LENGTH = 0.3  # m that one radian counts as, so that metres and radians can be compared
SMALLEST = 0.08  # m, singular value below which the damping begins
DAMPING = 0.04  # m, largest damping, at a singular value of 0
TRACKING = 20.0  # 1/s, with which an error of the pose is taken back
FOLLOWED = 0.01  # m, error of a pose beyond which the damping grows with it
POSTURE = 2.0  # 1/s, with which the null space goes to the posture
OTHER_STARTS = 10  # postures from which a pose is tried to be reached
NEAR = 1e-3  # m, rad within which a pose counts as reached
FREE = 1e-4  # m, damping where nothing is singular: makes the solve of an arm with fewer than six joints finite
# What joint servos can follow, so that they don't catch up above their velocity limits:
TOP_SPEED = 0.9  # of the velocity limits: a servo overshoots by some percent
SLOW = 0.25  # of the velocity limits: slower joints may change their speed as they like, as in contact
FAST = 0.5  # of the velocity limits: from there on the bounds below hold in full
EFFORT = 0.5  # of the effort that gravity leaves, that the inertia may take; friction needs the rest
LEAST_EFFORT = 0.1  # of the effort limits, that counts as left by gravity
HASTE = 20.0  # 1/s, with which a joint comes nearer to its top speed


class DifferentialKinematics:
    """Joint velocities for a twist of the tip, by damped least squares.

    q̇ = Jᵀ (J Jᵀ + λ² 1)⁻¹ V + N q̇_n,  λ² = λ_max² (1 - (σ_min / ε)²) for σ_min < ε, else next to nothing; N projects
    into the null space. Rotations count 0.3 m per radian. So q̇ stays bounded, and continuous, through singularities,
    at the price of an error of the tip near them.

    Source: Y. Nakamura, H. Hanafusa, Inverse kinematic solutions with singularity robustness for robot manipulator
    control, ASME J. Dyn. Sys. Meas. Control 108, 1986. Variable damping: S. Chiaverini, B. Siciliano, O. Egeland,
    Review of the damped least-squares inverse kinematics, IEEE Trans. Control Systems Technology 2(2), 1994.

    Args:
        axes: (6,) 1 for each axis of the tip that counts, 0 where it is left free; all by default.
    """

    def __init__(self, axes: Array | None = None) -> None:
        chosen = np.ones(6) if axes is None else axes
        self._weight = chosen * np.array([1.0, 1.0, 1.0, ROTATION_LENGTH, ROTATION_LENGTH, ROTATION_LENGTH])
        self._count = int(np.count_nonzero(chosen))

    def length(self, twist: Array) -> float:
        """Of a twist (6,) [m/s] or of an error of the pose [m]: as rotations count, and without the free axes."""
        weighted = self._weight * twist
        return math.sqrt(weighted.dot(weighted))

    def velocities(
        self,
        kin: RobotDynamics,
        twist: Array,
        posture_rate: Array | None = None,
        held: Array | None = None,
        error: float = 0.0,
    ) -> Array:
        """Joint velocities (n,) [rad/s].

        Args:
            kin: where the arm is.
            twist: (6,) wanted of the tip [m/s, rad/s].
            posture_rate: (n,) wanted besides, in the null space.
            held: (n,) True for joints that move as `posture_rate` says; the others make up for them.
            error: :meth:`length` of the pose's error [m], see :meth:`step`.
        """
        weight = self._weight
        jacobian = weight[:, None] * kin.jacobian
        wanted = weight * twist
        if posture_rate is not None:
            wanted = wanted - jacobian.dot(posture_rate)
        free = kin.jacobian.shape[1]
        if held is not None:
            jacobian[:, held] = 0.0
            free -= int(np.count_nonzero(held))
        square = jacobian.dot(jacobian.T)
        square.flat[::7] += self._damping(square, min(self._count, free)) + 0.5 * max(error - FOLLOWED, 0.0) ** 2
        _, force, _ = lapack.dposv(square, wanted)
        v = jacobian.T.dot(force)
        return np.asarray(v if posture_rate is None else posture_rate + v)

    def step(
        self,
        kin: RobotDynamics,
        twist: Array,
        posture_rate: Array,
        dt: float,
        error: float = 0.0,
        before: Array | None = None,
    ) -> Array:
        """Joint angles (n,) [rad] `dt` seconds later, within the joints' velocity and position limits.

        A joint that is x away from a position limit moves there with 20/s x at most. Such a joint is held at that
        speed, and the velocities of the others are solved again: they make up for it where they can. Too fast a motion
        is slowed down as a whole after that: so no velocity jumps when a joint comes to be held.

        An `error` of the pose [m], which `twist` takes back, adds (error - 10 mm)² / 2 to the damping λ², from there
        on. At a pose beyond reach the Jacobian turns singular, with an error left. There the joints would else jump to
        and fro in each step.

        Velocities of the step `before` (n,) [rad/s] bound the change to what servos can follow. Fast joints change
        their speed with at most half of the effort that gravity leaves. They come to 0.9 of their velocity limits
        smoothly. All joints then go the same fraction of the way from `before`. Without it only the velocity limits
        hold.

        Source: velocity dampers, B. Faverjon, P. Tournassoud, A local based approach for path planning of manipulators
        with a high number of degrees of freedom, ICRA 1987. Held joints: F. Flacco, A. De Luca, O. Khatib, Motion
        control of redundant robots under joint constraints: saturation in the null space, ICRA 2012. Damping by the
        error: see :func:`solve_pose`.
        """
        limits = kin.model.limits
        rate = min(TRACKING, 1.0 / dt)
        least, most = rate * (limits.lower - kin.q), rate * (limits.upper - kin.q)
        held = np.zeros(len(kin.q), dtype=bool)
        v = self.velocities(kin, twist, posture_rate, None, error)
        while (beyond := ((v > most) | (v < least)) & ~held).any():
            held |= beyond
            posture_rate = np.where(beyond, np.minimum(np.maximum(v, least), most), posture_rate)
            v = self.velocities(kin, twist, posture_rate, held, error)
        if before is None:
            v = v / max(float((np.abs(v) / limits.velocity).max()), 1.0)
        else:
            v = np.minimum(np.maximum(_followable(v, before, kin, dt), least), most)
        return np.minimum(np.maximum(kin.q + dt * v, limits.lower), limits.upper)

    @staticmethod
    def _damping(square: Array, rank: int) -> float:
        """λ² from the smallest of the singular values that needn't be 0; their number is `rank`, which may be 0."""
        squares, _, _ = lapack.dsyev(square, compute_v=0)
        smallest = max(float(squares[6 - rank]), 0.0) if rank > 0 else math.inf
        if smallest >= SMALLEST**2:
            return FREE**2
        return FREE**2 + DAMPING**2 * (1.0 - smallest / SMALLEST**2)


def _followable(v: Array, before: Array, kin: RobotDynamics, dt: float) -> Array:
    """Joint velocities (n,) [rad/s], `dt` seconds after `before` (n,), towards v (n,) as far as servos can follow."""
    limits = kin.model.limits
    top = TOP_SPEED * limits.velocity
    v = v / max(float((np.abs(v) / top).max()), 1.0)
    fastest = float((np.maximum(np.abs(v), np.abs(before)) / limits.velocity).max())
    if fastest <= SLOW:
        return v
    change = v - before
    gained = np.where(change * before < 0.0, 0.0, np.abs(change))
    room = np.maximum(top - np.abs(before), 1e-6 * top)
    beyond_room = float((gained / room).max()) / -math.expm1(-HASTE * dt)
    torque = np.abs(kin.mass.dot(change)) / dt
    free = np.maximum(limits.effort - np.abs(kin.gravity), LEAST_EFFORT * limits.effort)
    beyond_effort = float((torque / free).max()) / EFFORT
    weight = min((fastest - SLOW) / (FAST - SLOW), 1.0)
    return np.asarray(before + change / max(weight * max(beyond_room, beyond_effort), 1.0))


def solve_pose(model: RobotModel, pose: Array, q0: Array, axes: Array | None = None, tolerance: float = 1e-10) -> Array:
    """Joint angles (n,) [rad] within the limits that bring the tip to a pose (4, 4), the nearest from q0 (n,).

    Levenberg-Marquardt on the pose error, with the damping in proportion to it: it converges to what can be reached
    and knows no singularity. Source: T. Sugihara, Solvability-unconcerned inverse kinematics by the
    Levenberg-Marquardt method, IEEE Trans. Robotics 27(5), 2011.

    Args:
        model, pose, q0: see above.
        axes: (6,) 1 for each axis that counts, 0 where it is left free; all by default.
        tolerance: of the error's length [m, rad].

    Raises:
        ConfigError: nothing near can reach it; says how far it got.
    """
    weight = np.ones(6) if axes is None else axes
    q = q0.copy()
    for _ in range(200):
        kin = model.at(q)
        error = weight * pose_error(pose, kin.pose)
        size = math.sqrt(error.dot(error))
        if size < tolerance:
            return q
        jacobian = weight[:, None] * kin.jacobian
        square = jacobian.T.dot(jacobian)
        square.flat[:: model.n + 1] += 0.5 * size * size + 1e-12
        _, step, _ = lapack.dposv(square, jacobian.T.dot(error))
        q = np.clip(q + step, model.limits.lower, model.limits.upper)
    text = f"pose at {pose[:3, 3].round(4).tolist()} m can't be reached from {q0.round(3).tolist()} rad: "
    raise ConfigError(text + f"{size:.2g} (m, rad) are left", name="pose", value=size, bound=tolerance)


def check_reach(name: str, model: RobotModel, pose: Array, q0: Array, axes: Array | None = None) -> None:
    """Refuse a pose (4, 4) that :func:`solve_pose` reaches neither from q0 (n,) nor from other postures.

    Raises:
        ConfigError: says how far away the nearest one is that was found; `name` is what the user calls the pose.
    """
    random = np.random.default_rng(0)
    lower, upper = np.maximum(model.limits.lower, -math.pi), np.minimum(model.limits.upper, math.pi)
    nearest = math.inf
    for start in (q0, *(random.uniform(lower, upper) for _ in range(OTHER_STARTS))):
        try:
            solve_pose(model, pose, start, axes, NEAR)
        except ConfigError as error:
            nearest = min(nearest, float(error.value))
        else:
            return
    rule = f"must be within reach: the nearest pose found is {nearest:.2g} away (m and rad together)"
    raise refused(name, pose[:3, 3].round(4).tolist(), rule, NEAR, unit="m")
