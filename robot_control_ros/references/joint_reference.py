"""References of the joints, made of those of the tip, for laws that work in joint space."""

from __future__ import annotations

import math

import numpy as np

from ..core.compiled import compiled
from ..core.remembered_path import REMEMBERED, RememberedPath
from ..core.rotations import pose_error_into
from ..core.small_matrices import times
from ..core.spatial import make_pose, rotation_exp
from ..core.types import Array, JointSpaceReference, Reference, as_row
from ..robot.differential_kinematics import POSTURE, TRACKING, DifferentialKinematics, joint_step
from ..robot.model import RobotModel
from .trajectory import Trajectory

# fraction of the joints' velocity limits, at most, with which the null space goes to its posture
POSTURE_SPEED = 0.1
TIP_SPEED = 0.05  # m/s of the reference; below it the null space goes slower in proportion
START_STEPS = 10  # of inverse kinematics at a start, at most
ARRIVED = 1e-6  # rad, of a step after which the start needs no other one
POINTS_BEFORE = 10  # of the path before a start; the oldest one is soon forgotten
FASTER = 1.1  # than the reference is, that the tip may be to come back to it
# m, rad: from further away the joints approach the pose; see MotionCommands.approach
NEAR = 0.05, 0.2


class JointReference:
    """Completes references with q, v, a and a path in joint space.

    A reference of joints (it has v) is taken as it is. A reference of poses is followed by
    differential inverse kinematics: q̇ = J⁺ (V_ref + k (e - V_ref dt)) with k = 20/s and e from the
    last q to the present pose, within the joints' limits. The tip moves with `speed` at most, or
    1.1 times that of the reference. So at the end of its reach the joints don't rush after a
    reference that goes on. The path that was followed is remembered, and can be looked up a quarter
    of a second back.

    Where the pose is within 0.05 m and 0.2 rad of the tip, it starts at the pose, and not at the
    joints: else k e would rush the joints there. In contact the tip is held away from its
    reference, and such a rush strikes, or makes the tip leap off.

    The null space goes to the posture of the last start, but only while the reference moves. It
    goes with a tenth of the joints' velocity limits at most, and below 0.05 m/s with less in
    proportion. A posture that was set is gone to while the reference rests, too. Without one, the
    joints rest when the tip does. Else the elbow of a redundant arm would creep on for long, as a
    posture that the pose forbids is approached ever more slowly. For references without twist, k e
    counts as their motion.

    Args:
        model: Model of the robot.
        axes: (6,) 1 for each axis of the tip that counts.
        speed: Linear and angular speed (2,) of the tip [m/s, rad/s].
    """

    def __init__(self, model: RobotModel, axes: Array, speed: Array) -> None:
        self._model = model
        self._speed = speed
        kinematics = DifferentialKinematics(axes)
        self._weight = kinematics.weight
        self._count = kinematics.count
        self._path = RememberedPath(model.n)
        self.reset(np.zeros(model.n))

    def reset(self, q: Array) -> None:
        """Begin anew: at joint angles q (n,), or at the pose of the next step if that is near."""
        self._begins = True
        self._posture = np.array(q, dtype=float)
        self._last = np.full((3, q.size), math.nan)  # q, v and a; only q is known
        self._last[0] = q
        self._path.clear()

    def complete(
        self,
        reference: Reference,
        trajectory: Trajectory,
        t: float,
        dt: float,
        posture: Array | None = None,
    ) -> JointSpaceReference:
        """The reference at time t [s], dt after the last one, with q, v, a and path.

        A posture (n,) that is set is gone to while the tip rests, too.
        """
        if posture is not None:
            self._posture = as_row(posture)
        seeks = 0.0 if posture is None else 1.0
        sample = np.empty((3, self._model.n))
        if reference.v is not None and reference.q is not None:
            sample[0] = reference.q
            sample[1] = reference.v
            sample[2] = 0.0 if reference.a is None else reference.a
            self._posture = as_row(reference.q)
        elif reference.pose is not None:
            starts = self._begins and self._start_at(reference.pose, reference.twist, dt)
            self._follow(reference.pose, reference.twist, dt, seeks, sample)
            if starts:
                self._remember_backwards(t, sample)
        else:
            sample[0] = self._last[0]
            sample[1:] = 0.0
        self._begins = False
        self._last = sample
        self._path.remember(t, sample)
        path = getattr(trajectory, "path", self._path)
        tip = reference.pose, reference.twist, reference.acceleration, reference.wrench
        return JointSpaceReference(*tip, path, q=sample[0], v=sample[1], a=sample[2])

    def _start_at(self, pose: Array, twist: Array | None, dt: float) -> bool:
        """Begin where the reference was a step before the pose (4, 4), if that is near; the posture
        stays.

        Returns:
            True where it is near.
        """
        error = np.empty(6)
        pose_error_into(
            as_row(pose), as_row(self._model.link(self._model.tip, self._last[0])[0]), error
        )
        if np.linalg.norm(error[:3]) > NEAR[0] or np.linalg.norm(error[3:]) > NEAR[1]:
            return False
        if twist is not None:
            pose = make_pose(
                pose[:3, 3] - dt * twist[:3], rotation_exp(-dt * twist[3:]) @ pose[:3, :3]
            )
        sample = np.empty((3, self._model.n))
        for _ in range(START_STEPS):
            q = self._last[0].copy()
            self._follow(pose, None, 1.0 / TRACKING, 0.0, sample)  # takes the whole error back
            self._last[0] = sample[0]
            if np.abs(sample[0] - q).max() < ARRIVED:
                break
        return True

    def _remember_backwards(self, t: float, sample: Array) -> None:
        """Let the path begin before a start at time t [s], with the velocities of `sample` (3, n).

        Joints that are behind their reference are somewhere on that part of the path.
        """
        for earlier in np.linspace(REMEMBERED, 0.0, POINTS_BEFORE, endpoint=False):
            self._path.remember(
                t - earlier, np.stack((sample[0] - earlier * sample[1], sample[1], 0.0 * sample[1]))
            )

    def _follow(
        self, pose: Array, twist_ref: Array | None, dt: float, seeks: float, sample: Array
    ) -> None:
        model = self._model
        limits = model.limits
        last = self._last
        there, jacobian = model.link(model.tip, last[0])
        twist = _UNKNOWN if twist_ref is None else as_row(twist_ref)
        target = as_row(pose), twist, self._posture, seeks
        bounds = limits.lower, limits.upper, limits.velocity
        follow_pose(
            *target,
            as_row(there),
            as_row(jacobian),
            last,
            self._weight,
            self._count,
            *bounds,
            self._speed,
            dt,
            sample,
        )


_UNKNOWN = np.full(6, math.nan)  # a twist that the reference doesn't say


@compiled
def follow_pose(
    target: Array,
    twist: Array,
    posture: Array,
    seeks: float,
    pose: Array,
    jacobian: Array,
    last: Array,
    weight: Array,
    count: int,
    lower: Array,
    upper: Array,
    fastest: Array,
    tip_speed: Array,
    dt: float,
    sample: Array,
) -> None:
    """Make one step of the joints after a pose of the tip; see :class:`JointReference`.

    Args:
        target, twist: Pose (4, 4) and twist (6,) of the reference; NaN for a twist that it hasn't.
        posture: (n,) joint angles to which the null space goes [rad].
        seeks: 1 where it goes there while the tip rests, too; else 0.
        pose, jacobian: Pose (4, 4) and Jacobian (6, n) of the tip at the last joint angles.
        last: (3, n) last joint angles, velocities and accelerations; all but the angles may be NaN.
        weight, count, lower, upper, fastest: Axes and limits, see :func:`joint_step`.
        tip_speed: Linear and angular speed (2,) with which the tip is led [m/s, rad/s].
        dt: Duration of the step [s].
        sample: Result (3, n): joint angles, velocities and accelerations.
    """
    q = last[0]
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
    slow = POSTURE_SPEED * max(seeks, min(1.0, math.sqrt(speed) / TIP_SPEED))
    rate = np.empty(n)
    for joint in range(n):
        most = slow * fastest[joint]
        rate[joint] = min(max(POSTURE * (posture[joint] - q[joint]), -most), most)
    unbound = np.full(n, math.nan)  # servos aren't asked whether they can follow
    unused = np.empty(n)  # gravity and efforts, which only that needs
    mass = np.empty((0, 0))
    length = math.sqrt(square)
    joint_step(
        jacobian,
        q,
        unused,
        mass,
        weight,
        count,
        lower,
        upper,
        fastest,
        unused,
        wanted,
        rate,
        dt,
        length,
        unbound,
        sample[0],
    )
    share = 1.0
    led = np.empty(6)  # twist of the tip
    times(jacobian, (sample[0] - q) / dt, led)
    for half in range(2):
        moves = 0.0
        moving = 0.0
        for i in range(3 * half, 3 * half + 3):
            moves += led[i] ** 2
            moving += twist[i] ** 2 if said else 0.0
        most = max(tip_speed[half], FASTER * math.sqrt(moving))
        if moves > most * most:
            share = min(share, most / math.sqrt(moves))
    if share < 1.0:
        for joint in range(n):
            sample[0, joint] = q[joint] + share * (sample[0, joint] - q[joint])
    known = not math.isnan(last[1, 0])
    for joint in range(n):
        sample[1, joint] = (sample[0, joint] - q[joint]) / dt
        sample[2, joint] = (sample[1, joint] - last[1, joint]) / dt if known else 0.0
