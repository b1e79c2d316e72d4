"""Joint angles for a pose of the tip."""

from __future__ import annotations

import math

import numpy as np
from scipy.linalg import lapack

from ..core.errors import ConfigError, refused
from ..core.spatial import pose_error
from ..core.types import Array
from .model import RobotModel

OTHER_STARTS = 10  # postures from which a pose is tried to be reached
NEAR = 1e-3  # m, rad within which a pose counts as reached


def solve_pose(
    model: RobotModel, pose: Array, q0: Array, axes: Array | None = None, tolerance: float = 1e-10
) -> Array:
    """Joint angles (n,) [rad] within the limits that bring the tip to a pose (4, 4), the nearest
    from q0 (n,).

    Levenberg-Marquardt on the pose error, with the damping in proportion to it: it converges to
    what can be reached and knows no singularity. Where that fails, because joints are at their
    limits, a second try leaves those out that would have to go beyond. Source: T. Sugihara, Solvability-unconcerned
    inverse kinematics by the Levenberg-Marquardt method, IEEE Trans. Robotics 27(5), 2011.

    Args:
        model, pose, q0: Kinematics of the arm, pose of the tip in the base (4, 4), and angles to
            start from (n,) [rad].
        axes: (6,) 1 for each axis that counts, 0 where it is left free; all by default.
        tolerance: Bound of the error's length, below which the pose is reached [m, rad].

    Raises:
        ConfigError: nothing near can reach it; says how far it got.
    """
    weight = np.ones(6) if axes is None else axes
    left = math.inf
    for leave_out in (False, True):
        q, size = _solved(model, pose, q0, weight, tolerance, leave_out)
        if size < tolerance:
            return q
        left = min(left, size)
    text = f"pose at {pose[:3, 3].round(4).tolist()} m can't be reached from {q0.round(3).tolist()} rad: "
    raise ConfigError(
        text + f"{left:.2g} (m, rad) are left", name="pose", value=left, bound=tolerance
    )


def _solved(
    model: RobotModel, pose: Array, q0: Array, weight: Array, tolerance: float, leave_out: bool
) -> tuple[Array, float]:
    """Joint angles (n,) and the length of the error that is left.

    With `leave_out`, joints at their limits that would have to go beyond them are left out of a
    step.
    """
    q = q0.copy()
    size = math.inf
    for _ in range(200):
        kin = model.at(q)
        error = weight * pose_error(pose, kin.pose)
        size = math.sqrt(error.dot(error))
        if size < tolerance:
            break
        jacobian = weight[:, None] * kin.jacobian
        step = _damped_step(jacobian, error, size)
        if leave_out:
            blocked = (q <= model.limits.lower) & (step < 0.0)
            blocked |= (q >= model.limits.upper) & (step > 0.0)
            jacobian[:, blocked] = 0.0
            step = _damped_step(jacobian, error, size)
        q = np.clip(q + step, model.limits.lower, model.limits.upper)
    return q, size


def _damped_step(jacobian: Array, error: Array, size: float) -> Array:
    """Step (n,) of Levenberg and Marquardt towards an error (6,) of this size."""
    square = jacobian.T.dot(jacobian)
    square.flat[:: square.shape[0] + 1] += 0.5 * size * size + 1e-12
    _, step, _ = lapack.dposv(square, jacobian.T.dot(error))
    return np.asarray(step)


def check_reach(
    name: str, model: RobotModel, pose: Array, q0: Array, axes: Array | None = None
) -> None:
    """Refuse a pose (4, 4) that :func:`solve_pose` reaches neither from q0 (n,) nor from other
    postures.

    Raises:
        ConfigError: says how far away the nearest one is that was found; `name` is what the user
            calls the pose.
    """
    random = np.random.default_rng(0)
    lower = np.maximum(model.limits.lower, -math.pi)
    upper = np.minimum(model.limits.upper, math.pi)
    nearest = math.inf
    for start in (q0, *(random.uniform(lower, upper) for _ in range(OTHER_STARTS))):
        try:
            solve_pose(model, pose, start, axes, NEAR)
        except ConfigError as error:
            nearest = min(nearest, float(error.value))
        else:
            return
    rule = (
        f"must be within reach: the nearest pose found is {nearest:.2g} away (m and rad together)"
    )
    raise refused(name, pose[:3, 3].round(4).tolist(), rule, NEAR, unit="m")
