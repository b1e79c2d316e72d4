"""Pure functions on SO(3) and SE(3).

The one convention of the package, stated here: twists, wrenches and Jacobians are linear then
angular, in the axes of the base and about the origin of the tip (Pinocchio's
``LOCAL_WORLD_ALIGNED``). A pose is a
(4, 4) homogeneous transform; ``pose_a_in_b`` maps coordinates in a to coordinates in b. Quaternions
are
(x, y, z, w), as in ROS messages.

The pose error of a reference (p_ref, R_ref) against a pose (p, R) is

    e = [p_ref - p;  log(R_ref Rᵀ)]

with the rotation vector in base axes. Its logarithm follows Grassia/Blanco as Pinocchio implements
it: exact at the identity, and deterministic at pi.
"""

from __future__ import annotations

import math

import numpy as np
import pinocchio as pin
from numpy.typing import NDArray

from .errors import refused
from .rotations import euler_xyz_into
from .types import Array, as_row


def make_pose(position: Array, rotation: Array | None = None) -> Array:
    """Pose (4, 4) from a position (3,) [m] and a rotation matrix (3, 3), the
    identity by default.
    """
    pose = np.eye(4)
    pose[:3, 3] = position
    if rotation is not None:
        pose[:3, :3] = rotation
    return pose


def pose_from_rows(rows: Array) -> Array:
    """Pose (4, 4) from its upper three rows, (3, 4) or one after the other (12,)."""
    return np.vstack((rows.reshape(3, 4), (0.0, 0.0, 0.0, 1.0)))


def wrap(angles: Array, cyclic: Array | NDArray[np.bool_]) -> Array:
    """Angles (n,) [rad], those of cyclic joints by the short way round:
    ((angle + π) mod 2π) - π.
    """
    return np.asarray(
        angles - 2.0 * math.pi * cyclic * np.floor((angles + math.pi) / (2.0 * math.pi))
    )


def skew(x: Array) -> Array:
    """Matrix (3, 3) with ``skew(x) @ y == cross(x, y)``."""
    return np.array([[0.0, -x[2], x[1]], [x[2], 0.0, -x[0]], [-x[1], x[0], 0.0]])


def cross(a: Array, b: Array) -> Array:
    """Cross product of two (3,) vectors; np.cross takes ten times as long."""
    ax, ay, az = a.tolist()
    bx, by, bz = b.tolist()
    return np.array([ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx])


def rotation_exp(rotation_vector: Array) -> Array:
    """Rotation matrix (3, 3) of a rotation vector (3,) [rad]."""
    return np.asarray(pin.exp3(rotation_vector))


def rotation_exp_jacobian(rotation_vector: Array) -> Array:
    """Left Jacobian J (3, 3) of SO(3): w = J d/dt x for R = exp(x), with w in the axes of x."""
    return np.asarray(pin.Jexp3(rotation_vector)).T


def rotation_log(rotation: Array) -> Array:
    """Rotation vector (3,) [rad], of length at most pi, of a rotation matrix (3, 3)."""
    return np.asarray(pin.log3(rotation))


def rotation_log_jacobian(rotation: Array) -> Array:
    """Inverse right Jacobian J (3, 3) of SO(3): ``log(R exp(d)) = log(R) + J d`` to first order.

    It is finite up to and including pi (it is singular at 2 pi, which a logarithm never reaches).
    """
    return np.asarray(pin.Jlog3(rotation))


def rotation_error_euler_xyz(rotation: Array) -> Array:
    """Angles (a, b, c) [rad] with R = Rx(a) Ry(b) Rz(c) and b within ±pi/2, of a rotation matrix
    (3, 3).

    As a rotation error it is the rotation vector for turns about x, about z, and about y up to
    pi/2. Beyond pi/2 it points elsewhere, and a and c jump where they pass ±pi. Where the matrix
    leaves the sign of a half turn open, a is -pi and c is pi. At b = ±pi/2, where only their sum or
    difference is known, c is 0.
    """
    angles = np.empty(3)
    euler_xyz_into(as_row(rotation), angles)
    return angles


def pose_error(pose_ref: Array, pose: Array) -> Array:
    """Error (6,) [m, rad] = [p_ref - p; log(R_ref Rᵀ)], in base axes; both poses
    (4, 4) in the base.
    """
    return _pose_error(pose_ref, pose)[0]


def pose_error_and_map(pose_ref: Array, pose: Array) -> tuple[Array, Array]:
    """The pose error e (6,) and the map A (3, 3) of its rotational half.

    For a resting reference and a tip twist [v; w] in base axes, d/dt e = -[v; A w] with
    A = Jr⁻¹(e_rot). Hence -diag(I, A) J is the exact derivative of e by the joint angles, and
    Jᵀ diag(I, A)ᵀ K e is minus the exact gradient of the potential eᵀ K e / 2.
    """
    error, rotation = _pose_error(pose_ref, pose)
    return error, pin.Jlog3(rotation)


def _pose_error(pose_ref: Array, pose: Array) -> tuple[Array, Array]:
    """The error (6,) and R_ref Rᵀ (3, 3)."""
    error = np.empty(6)
    np.subtract(pose_ref[:3, 3], pose[:3, 3], error[:3])
    rotation = pose_ref[:3, :3].dot(pose[:3, :3].T)
    error[3:] = pin.log3(rotation)
    return error, rotation


def wrench_at(wrench: Array, pose_from_in_to: Array) -> Array:
    """A wrench (6,) given in frame `from` (its axes, its origin), expressed in frame `to`.

    The force is rotated; the torque is rotated and gets the lever arm:  tau_to = R tau + p x (R f).
    """
    result = wrench.reshape(2, 3).dot(pose_from_in_to[:3, :3].T).ravel()
    result[3:] += cross(pose_from_in_to[:3, 3], result[:3])
    return np.asarray(result)


def rotation_to_quaternion(rotation: Array) -> Array:
    """Unit quaternion (4,) as (x, y, z, w) of a rotation matrix (3, 3)."""
    # eigenpy 3.13 copies another order, and never frees the copy
    by_column = np.asfortranarray(rotation)
    return np.asarray(pin.Quaternion(by_column).coeffs())


def quaternion_to_rotation(quaternion: Array) -> Array:
    """Rotation matrix (3, 3) of a quaternion (4,) as (x, y, z, w).

    Raises:
        ConfigError: where its length is not 1 within 1 %: a forgotten quaternion is all zeros.
    """
    x, y, z, w = (float(c) for c in quaternion)
    norm = math.sqrt(x * x + y * y + z * z + w * w)
    if not abs(norm - 1.0) <= 0.01:
        raise refused(
            "quaternion", norm, f"must be 1: ({x}, {y}, {z}, {w})", 1.0, where="length of "
        )
    return np.asarray(pin.Quaternion(w / norm, x / norm, y / norm, z / norm).toRotationMatrix())


def rotation_from_rpy(roll: float, pitch: float, yaw: float) -> Array:
    """Rotation matrix (3, 3) Rz(yaw) Ry(pitch) Rx(roll) of fixed-axis angles [rad], as in URDF."""
    return np.asarray(pin.rpy.rpyToMatrix(roll, pitch, yaw))


def rotation_to_rpy(rotation: Array) -> Array:
    """Angles (roll, pitch, yaw) [rad] of a rotation (3, 3): inverse of `rotation_from_rpy`."""
    return np.asarray(pin.rpy.matrixToRpy(rotation))
