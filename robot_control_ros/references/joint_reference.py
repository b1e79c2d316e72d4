"""What a reference means for the joints, for laws that work in joint space."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections import deque

import numpy as np

from ..core.compiled import compiled
from ..core.rotations import pose_error_into
from ..core.types import Array, JointSample, JointSpaceReference, Reference, as_row
from ..robot.differential_kinematics import POSTURE, TRACKING, DifferentialKinematics, joint_step
from ..robot.model import RobotModel
from .joint import between
from .trajectory import Trajectory

REMEMBERED = 0.25  # s of the joints' way that can be looked up
POSTURE_SPEED = 0.1  # fraction of the joints' velocity limits, at most, with which the null space goes to its posture
TIP_SPEED = 0.05  # m/s of the reference; below it the null space goes slower in proportion
AHEAD = 0.05  # s, at most, that it is continued into the future


class JointReference:
    """Completes references with q, v, a and a path in joint space.

    A reference of joints (it has v) is taken as it is. One of poses is followed by differential inverse kinematics:
    q̇ = J⁺ (V_ref + k (e - V_ref dt)) with k = 20/s and e from the last q to the present pose, within the joints'
    limits. What was followed is remembered, so that the path can be looked up a quarter of a second back.

    The null space goes to the posture of the last start, but only while the reference moves: a tenth of the joints'
    velocity limits at most, and below 0.05 m/s less in proportion. So the joints rest when the tip does. Else the elbow
    of a redundant arm would creep on for long, as a posture that the pose forbids is approached ever more slowly. For
    references without twist, k e counts as their motion.

    Args:
        model: of the robot.
        axes: (6,) 1 for each axis of the tip that counts.
    """

    def __init__(self, model: RobotModel, axes: Array) -> None:
        self._model, self._axes = model, axes
        self._kinematics = DifferentialKinematics(axes)
        self.reset(np.zeros(model.n))

    def reset(self, q: Array) -> None:
        """Begin at joint angles q (n,)."""
        self._q, self._posture = q.copy(), q.copy()
        self._v: Array | None = None
        self._times: deque[float] = deque()
        self._points: deque[JointSample] = deque()

    def complete(self, reference: Reference, trajectory: Trajectory, t: float, dt: float) -> JointSpaceReference:
        """The reference at time t [s], dt after the last one, with q, v, a and path."""
        if reference.v is not None and reference.q is not None:
            q, v, self._posture = reference.q, reference.v, reference.q
            a = np.zeros_like(v) if reference.a is None else reference.a
        elif reference.pose is not None:
            q, v, a = self._follow(reference.pose, reference.twist, dt)
        else:
            q, v, a = self._q, np.zeros_like(self._q), np.zeros_like(self._q)
        self._q, self._v = q, v
        self._remember(t, (q, v, a))
        path = getattr(trajectory, "path", self._recall)
        tip = reference.pose, reference.twist, reference.acceleration, reference.wrench
        return JointSpaceReference(*tip, path, q=q, v=v, a=a)

    def _follow(self, pose: Array, twist_ref: Array | None, dt: float) -> JointSample:
        kin, limits, kinematics = self._model.at(self._q), self._model.limits, self._kinematics
        present = as_row(kin.pose), as_row(kin.jacobian), as_row(kin.gravity)
        bounds = limits.lower, limits.upper, limits.velocity, limits.effort
        twist = _UNKNOWN if twist_ref is None else as_row(twist_ref)
        before = np.full(self._q.size, math.nan) if self._v is None else self._v
        sample = np.empty((3, self._q.size))
        target = as_row(pose), twist, self._posture
        follow_pose(*target, *present, self._q, before, kinematics.weight, kinematics.count, *bounds, dt, sample)
        return sample[0], sample[1], sample[2]

    def _remember(self, t: float, point: JointSample) -> None:
        self._times.append(t)
        self._points.append(point)
        while self._times[0] < t - REMEMBERED:
            self._times.popleft()
            self._points.popleft()

    def _recall(self, s: float) -> JointSample:
        """(q, v, a) at time s: between two samples the cubic through both, beyond the last one its parabola."""
        times, points = self._times, self._points
        at = bisect_right(times, s)
        if at == 0:
            return points[0]
        if at == len(times):
            q, v, a = points[-1]
            ahead = min(s - times[-1], AHEAD)
            return q + ahead * v + ahead**2 / 2.0 * a, v + ahead * a, a
        length = times[at] - times[at - 1]
        return between((s - times[at - 1]) / length, length, points[at - 1], points[at])


_UNKNOWN = np.full(6, math.nan)  # a twist that the reference doesn't say


@compiled
def follow_pose(
    target: Array,
    twist: Array,
    posture: Array,
    pose: Array,
    jacobian: Array,
    gravity: Array,
    q: Array,
    before: Array,
    weight: Array,
    count: int,
    lower: Array,
    upper: Array,
    fastest: Array,
    effort: Array,
    dt: float,
    sample: Array,
) -> None:
    """One step of the joints after a pose of the tip; see :class:`JointReference`.

    Args:
        target, twist: pose (4, 4) and twist (6,) of the reference; NaN for a twist that it doesn't say.
        posture: (n,) to which the null space goes [rad].
        pose, jacobian, gravity: at q.
        q, before: (n,) last joint angles and velocities [rad, rad/s]; NaN for velocities that aren't known.
        weight, count, lower, upper, fastest, effort: see :func:`joint_step`.
        dt: the step [s].
        sample: result (3, n): joint angles, velocities and accelerations.
    """
    n = len(q)
    error = np.empty(6)
    pose_error_into(target, pose, error)
    wanted = np.empty(6)
    said = not math.isnan(twist[0])
    square = 0.0
    speed = 0.0
    for i in range(6):
        wanted[i] = TRACKING * error[i]
        if said:  # the twist takes back by itself what the reference moves in dt
            wanted[i] = twist[i] + TRACKING * (error[i] - dt * twist[i])
        square += (weight[i] * error[i]) ** 2
        speed += (weight[i] * (twist[i] if said else wanted[i])) ** 2
    slow = POSTURE_SPEED * min(1.0, math.sqrt(speed) / TIP_SPEED)
    rate = np.empty(n)
    for joint in range(n):
        most = slow * fastest[joint]
        rate[joint] = min(max(POSTURE * (posture[joint] - q[joint]), -most), most)
    free = np.full(n, math.nan)  # servos aren't asked whether they can follow
    mass = np.empty((0, 0))  # which only that needs
    length = math.sqrt(square)
    joint_step(
        jacobian,
        q,
        gravity,
        mass,
        weight,
        count,
        lower,
        upper,
        fastest,
        effort,
        wanted,
        rate,
        dt,
        length,
        free,
        sample[0],
    )
    known = not math.isnan(before[0])
    for joint in range(n):
        sample[1, joint] = (sample[0, joint] - q[joint]) / dt
        sample[2, joint] = (sample[1, joint] - before[joint]) / dt if known else 0.0
