"""Functions on SO(3) and SE(3) for compiled code: plain loops over arrays, conventions as
in :mod:`.spatial`.
"""

from __future__ import annotations

import math

import numpy as np

from .compiled import compiled
from .types import Array

SMALL = 1e-4  # rad: below, a series takes the place of quotients of small numbers


@compiled
def add_cross(a: Array, b: Array, result: Array) -> None:
    """Add the cross product of a and b, (3,) each, to `result`, which is another array than both.

    Of longer arrays the first three numbers count.
    """
    result[0] += a[1] * b[2] - a[2] * b[1]
    result[1] += a[2] * b[0] - a[0] * b[2]
    result[2] += a[0] * b[1] - a[1] * b[0]


@compiled
def short_way(angle: float, cyclic: float) -> float:
    """Return an angle [rad], for a joint that turns without end by the short way.

    `cyclic` is 1 for such a joint, whose angle is ((angle + π) mod 2π) - π; else it is 0.
    """
    return angle - 2.0 * math.pi * cyclic * math.floor((angle + math.pi) / (2.0 * math.pi))


@compiled
def rotation_log_into(rotation: Array, result: Array) -> None:
    """Write the rotation vector (3,) [rad], of length at most pi, of a rotation matrix (3, 3).

    It is computed by the unit quaternion, the largest of whose four numbers is found first. So it
    is exact to rounding also near pi. At pi, where both signs are right, the largest number of the
    vector is positive.

    Source: S. W. Shepperd, Quaternion from rotation matrix, J. Guidance and Control 1(3), 1978.
    """
    trace = rotation[0, 0] + rotation[1, 1] + rotation[2, 2]
    largest = 0
    if rotation[1, 1] > rotation[0, 0]:
        largest = 1
    if rotation[2, 2] > rotation[largest, largest]:
        largest = 2
    if trace > rotation[largest, largest]:
        w = 1.0 + trace
        x = rotation[2, 1] - rotation[1, 2]
        y = rotation[0, 2] - rotation[2, 0]
        z = rotation[1, 0] - rotation[0, 1]
    else:
        i = largest
        j = (i + 1) % 3
        k = (i + 2) % 3
        vector = np.empty(3)
        vector[i] = 1.0 - trace + 2.0 * rotation[i, i]
        vector[j] = rotation[j, i] + rotation[i, j]
        vector[k] = rotation[k, i] + rotation[i, k]
        w = rotation[k, j] - rotation[j, k]
        x = vector[0]
        y = vector[1]
        z = vector[2]
    sign = -1.0 if w < 0.0 else 1.0
    length = math.sqrt(x * x + y * y + z * z)
    if length == 0.0:
        result[:] = 0.0
        return
    angle = 2.0 * math.atan2(length, sign * w)
    scale = sign * angle / length
    result[0] = scale * x
    result[1] = scale * y
    result[2] = scale * z


@compiled
def euler_xyz_into(rotation: Array, result: Array) -> None:
    """Write the angles (3,) [rad] of a rotation matrix (3, 3).

    See :func:`.spatial.rotation_error_euler_xyz`.
    """
    cosine = math.hypot(rotation[0, 0], rotation[0, 1])
    result[1] = math.atan2(rotation[0, 2], cosine)
    if cosine < 1e-12:
        result[0] = math.copysign(1.0, rotation[0, 2]) * math.atan2(rotation[1, 0], rotation[1, 1])
        result[2] = 0.0
    else:
        result[0] = -math.atan2(rotation[1, 2] + 0.0, rotation[2, 2])  # + 0.0: -0.0 counts as 0.0
        result[2] = math.atan2(0.0 - rotation[0, 1], rotation[0, 0])


@compiled
def rotation_exp_into(vector: Array, result: Array) -> None:
    """Write the rotation matrix (3, 3) of a rotation vector (3,) [rad], by Rodrigues' formula."""
    x = vector[0]
    y = vector[1]
    z = vector[2]
    square = x * x + y * y + z * z
    angle = math.sqrt(square)
    if angle < SMALL:
        sine = 1.0 - square / 6.0
        versine = 0.5 - square / 24.0
    else:
        sine = math.sin(angle) / angle
        half = math.sin(0.5 * angle) / angle
        versine = 2.0 * half * half
    cosine = 1.0 - versine * square
    result[0, 0] = cosine + versine * x * x
    result[1, 1] = cosine + versine * y * y
    result[2, 2] = cosine + versine * z * z
    result[0, 1] = versine * x * y - sine * z
    result[1, 0] = versine * x * y + sine * z
    result[0, 2] = versine * x * z + sine * y
    result[2, 0] = versine * x * z - sine * y
    result[1, 2] = versine * y * z - sine * x
    result[2, 1] = versine * y * z + sine * x


@compiled
def log_jacobian_into(vector: Array, result: Array) -> None:
    """Write J (3, 3) with log(exp(x) exp(d)) = x + J d to first order, at a rotation vector x (3,).

    J = 1 + [x] / 2 + c [x]², c = (1 - θ/2 cot(θ/2)) / θ². It is the inverse right Jacobian of
    SO(3), finite up to pi.
    """
    x = vector[0]
    y = vector[1]
    z = vector[2]
    square = x * x + y * y + z * z
    angle = math.sqrt(square)
    if angle < 1e-2:
        curve = 1.0 / 12.0 + square / 720.0 + square * square / 30240.0
    else:
        half = 0.5 * angle
        curve = (1.0 - half * math.cos(half) / math.sin(half)) / square
    diagonal = 1.0 - curve * square
    result[0, 0] = diagonal + curve * x * x
    result[1, 1] = diagonal + curve * y * y
    result[2, 2] = diagonal + curve * z * z
    result[0, 1] = curve * x * y - 0.5 * z
    result[1, 0] = curve * x * y + 0.5 * z
    result[0, 2] = curve * x * z + 0.5 * y
    result[2, 0] = curve * x * z - 0.5 * y
    result[1, 2] = curve * y * z - 0.5 * x
    result[2, 1] = curve * y * z + 0.5 * x


@compiled
def pose_error_into(target: Array, pose: Array, error: Array) -> None:
    """Write the error (6,) [m, rad] of a target (4, 4) against a pose (4, 4).

    It is [p_ref - p; log(R_ref Rᵀ)].
    """
    turn = np.empty((3, 3))
    offset_into(target, pose, error, turn)
    rotation_log_into(turn, error[3:])


@compiled
def offset_into(target: Array, pose: Array, way: Array, turn: Array) -> None:
    """Write the offset from a pose (4, 4) to a target (4, 4).

    p_ref - p goes into `way` (3,) or longer, and R_ref Rᵀ into `turn` (3, 3).
    """
    for i in range(3):
        way[i] = target[i, 3] - pose[i, 3]
        for j in range(3):
            total = 0.0
            for k in range(3):
                total += target[i, k] * pose[j, k]
            turn[i, j] = total


@compiled
def wrench_at_into(wrench: Array, pose: Array, result: Array) -> None:
    """Write a wrench (6,) given in a frame, expressed in the frame that the pose (4, 4) leads to.

    The force is rotated; the torque is rotated and gets the lever arm: tau_to = R tau + p x (R f).
    """
    for i in range(3):
        force = 0.0
        torque = 0.0
        for j in range(3):
            force += pose[i, j] * wrench[j]
            torque += pose[i, j] * wrench[3 + j]
        result[i] = force
        result[3 + i] = torque
    px = pose[0, 3]
    py = pose[1, 3]
    pz = pose[2, 3]
    result[3] += py * result[2] - pz * result[1]
    result[4] += pz * result[0] - px * result[2]
    result[5] += px * result[1] - py * result[0]


@compiled
def wrench_in_into(wrench: Array, pose: Array, result: Array) -> None:
    """Write a wrench (6,), expressed in a frame that has the pose (4, 4).

    It is the inverse of :func:`wrench_at_into`:
    f' = Rᵀ f, tau' = Rᵀ (tau - p x f).
    """
    x = wrench[3] - pose[1, 3] * wrench[2] + pose[2, 3] * wrench[1]
    y = wrench[4] - pose[2, 3] * wrench[0] + pose[0, 3] * wrench[2]
    z = wrench[5] - pose[0, 3] * wrench[1] + pose[1, 3] * wrench[0]
    for i in range(3):
        result[i] = pose[0, i] * wrench[0] + pose[1, i] * wrench[1] + pose[2, i] * wrench[2]
        result[3 + i] = pose[0, i] * x + pose[1, i] * y + pose[2, i] * z


@compiled
def twist_in_into(twist: Array, pose: Array, result: Array) -> None:
    """Write a twist (6,), expressed in a frame of the same body that has the pose (4, 4).

    v' = Rᵀ (v + w x p), w' = Rᵀ w: its power with the wrench of :func:`wrench_in_into` is the same.
    """
    x = twist[0] + twist[4] * pose[2, 3] - twist[5] * pose[1, 3]
    y = twist[1] + twist[5] * pose[0, 3] - twist[3] * pose[2, 3]
    z = twist[2] + twist[3] * pose[1, 3] - twist[4] * pose[0, 3]
    for i in range(3):
        result[i] = pose[0, i] * x + pose[1, i] * y + pose[2, i] * z
        result[3 + i] = pose[0, i] * twist[3] + pose[1, i] * twist[4] + pose[2, i] * twist[5]


@compiled
def twist_at_into(twist: Array, pose: Array, result: Array) -> None:
    """Write a twist (6,) by the inverse of :func:`twist_in_into`: w = R w', v = R v' - w x p."""
    for i in range(3):
        result[i] = pose[i, 0] * twist[0] + pose[i, 1] * twist[1] + pose[i, 2] * twist[2]
        result[3 + i] = pose[i, 0] * twist[3] + pose[i, 1] * twist[4] + pose[i, 2] * twist[5]
    result[0] -= result[4] * pose[2, 3] - result[5] * pose[1, 3]
    result[1] -= result[5] * pose[0, 3] - result[3] * pose[2, 3]
    result[2] -= result[3] * pose[1, 3] - result[4] * pose[0, 3]
