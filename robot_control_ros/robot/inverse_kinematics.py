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
    what can be reached and knows no singularity. Source: T. Sugihara, Solvability-unconcerned
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
    raise ConfigError(
        text + f"{size:.2g} (m, rad) are left", name="pose", value=size, bound=tolerance
    )


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
