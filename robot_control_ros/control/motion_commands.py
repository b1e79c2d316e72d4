"""Commands that move a loop's reference: hold, move, follow, go home, jog, feed-forward wrench."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from ..core.errors import ConfigError, refused
from ..core.gains import ParameterSet
from ..core.spatial import pose_error, wrap
from ..core.types import Array, Reference, RobotState
from ..references import (
    ChunkStream,
    Hold,
    Jog,
    JointBrake,
    JointPath,
    JointStream,
    OnlineJointTrajectory,
    OnlineTrajectory,
    StreamSettings,
    TipStream,
    Trajectory,
    is_moving,
)
from ..references.clearance import Clearance
from ..references.governor import Governor
from ..references.joint_reference import POSTURE_SPEED
from ..references.ways import SPACING, Ways
from ..references.workspace import Workspace
from ..robot.configuration import RobotConfig
from ..robot.differential_kinematics import DifferentialKinematics
from ..robot.inverse_kinematics import solve_pose
from ..robot.model import RobotDynamics, RobotModel
from .impact import ImpactBound
from .motion_delay import MotionDelay
from .safety import STOPPING
from .transition import BumplessTransition

JOINT_RAMP = 0.5  # s from rest to full speed, of joint moves
# of the speed of moves, along chunks of joint angles: their filter passes its bound by up to 0.1 %
CHUNK_SPEED = 0.99
CHUNK_RAMP = 0.25  # s from rest to full speed, along chunks of joint angles
CHUNK_ONSET = 0.025  # s from no acceleration to the largest one, likewise
JOG_LASTS = 0.2  # s that a target twist is followed without a newer one
JOINT_MOTIONS = (OnlineJointTrajectory, JointPath, JointBrake, JointStream)
# s, and fractions of limits: how chunks are followed, where none are
NO_CHUNK = (math.nan, math.nan, math.nan)
# of the tip's speed limit, to which references keep: the arm brakes at 0.9 of it
REFERENCE_SPEED = 0.85
WRENCH_SHARE = 0.25  # of the effort limits, that a target wrench may take from a joint at home
WRENCH_RAMP = 0.05  # s from none to the largest target wrench
MISSED = 0.01  # m from a target at the end of a way, beyond which it can't be reached
REACHED = 1e-4  # m, rad: of the pose at which a way begins
# rad; m and rad: a law that takes over moves to a reference further away than this
FAR = 0.05
FAR_TIP = (0.05, 0.2)


class MotionCommands:
    """The trajectory that a loop follows, and the commands that change it.

    Each command goes on from the present reference, and never makes the loop's command jump.

    Args:
        robot, model: Configuration and model of the robot.
        workspace: Box that targets stay in.
        limits: Limits of the tip, see :class:`~.safety.LimitSettings`.
        impact: Bound on the tip's speed for the sake of blows; it counts as well.
        clearance: Distances that the arm keeps from itself and its cell.
        transition: Transition by which a command asks the law to begin anew.
        known: Function that returns the last state and its dynamics; it raises ConfigError where
            the loop has none to start from.

    Attributes:
        trajectory: Reference over time; None where the next tick starts anew.
        feedforward_wrench: (6,) wrench to be exerted by the robot, base axes, tip origin [N, N·m];
            None for none. It comes and goes by a ramp: 0.05 s from none to the largest.
        largest_wrench: (2,) largest force and torque of that wrench [N, N·m]; see `target_wrench`
            of the robot's file.
        reference: Reference of the last tick.
        governor: Clock by which the trajectory is sampled.
        chunk_figures: Measured delay [s], and step of velocity and jerk at the last seam of two
            chunks, over their limits; NaN while no chunk is followed. See
            :data:`~..core.cycle.CYCLE`.
        stream: Settings of chunks of poses and of joint angles, see
            :class:`~..references.ChunkStream`.
    """

    def __init__(
        self,
        robot: RobotConfig,
        model: RobotModel,
        workspace: Workspace,
        limits: ParameterSet,
        impact: ImpactBound,
        clearance: Clearance,
        transition: BumplessTransition,
        known: Callable[[], tuple[RobotState, RobotDynamics]],
    ) -> None:
        self.trajectory: Trajectory | None = None
        self.feedforward_wrench: Array | None = None
        self.reference = Reference()
        self.governor = Governor()
        self.stream = ParameterSet(StreamSettings, 0, {})
        self.chunk_figures = NO_CHUNK
        self._move_speed = robot.joint_speed * model.limits.velocity  # (n,) [rad/s]
        self._delay = MotionDelay(self._move_speed, robot.tip_speed[0])
        self._robot = robot
        self._model = model
        self._workspace = workspace
        self._limits = limits
        self._adopted: Any = None  # limits that the governor has
        self._impact = impact
        self._clearance = clearance
        self._transition = transition
        self._known = known
        self._axes = np.array(robot.axes)
        self._ways = Ways(model, self._axes)
        self._posture = np.array(robot.home)  # to which the null space goes, see JointReference
        self._posture_move: OnlineJointTrajectory | None = None  # to the posture that was set
        self._posture_now: Array | None = None  # on that way, in the last cycle
        # by the samples' clock [s]
        self._time = 0.0
        # end of the last chunk [s], and joint angles there
        self._streamed = -math.inf, np.array(robot.home)
        self._wrench_until = math.inf
        self.largest_wrench = _largest_wrench(robot, model)
        # of the feed-forward wrench, in the last tick; None for nothing
        self._exerted: Array | None = None

    # --- what the loop calls ---

    def start(self, state: RobotState, kin: RobotDynamics) -> Trajectory:
        """Hold the robot where it is, without a feed-forward wrench."""
        self._posture = state.q.copy()
        self._posture_move = None
        self._posture_now = None
        trajectory = Hold(kin.pose, self._posture)
        self.trajectory = trajectory
        self.feedforward_wrench = None
        self._exerted = None
        return trajectory

    def stop_here(self, state: RobotState, kin: RobotDynamics) -> Trajectory:
        """Hold the robot where it is, while a law runs: the law begins anew there."""
        self._transition.request()
        return self.start(state, kin)

    def sample(self, trajectory: Trajectory, time: float) -> Reference:
        """The reference at a time [s], with the feed-forward wrench."""
        if self._limits.current is not self._adopted:
            self._adopted = self._limits.current
            self.governor.max_speed = REFERENCE_SPEED * self._adopted.max_tip_speed
            self._scale_speed(trajectory)
        self.governor.max_speed_along = self._reference_speed if self._impact.acts else None
        reference = self.governor.sample(trajectory, time)
        if self._posture_move is not None:
            reference = self._with_posture(self._posture_move, trajectory, reference, time)
        if time > self._wrench_until:
            self.feedforward_wrench = None
        elapsed = time - self._time
        self._time = time
        if self.feedforward_wrench is None and self._exerted is None:
            return reference
        exerted = self._ramped(elapsed)
        self._exerted = exerted if exerted.any() else None
        return replace(reference, wrench=exerted)

    @property
    def posture(self) -> Array | None:
        """Joint angles (n,) to which the null space goes; None where none were set."""
        return self._posture_now

    def _with_posture(
        self, move: OnlineJointTrajectory, trajectory: Trajectory, reference: Reference, time: float
    ) -> Reference:
        """The reference with the posture on its way; a motion of the joints ends that."""
        if isinstance(trajectory, JOINT_MOTIONS):
            self._posture_move = None
            self._posture_now = None
            return reference
        self._posture_now = move.sample(time).q
        return replace(reference, q=self._posture_now, v=None, a=None)

    def watch_chunks(self, state: RobotState, kin: RobotDynamics) -> None:
        """Measure how chunks are followed, at a state."""
        stream = self.trajectory
        if isinstance(stream, ChunkStream):
            delay = self._delay.observe(stream, state, kin)
            self.chunk_figures = delay, stream.seam_step, stream.seam_jerk
        elif self.chunk_figures is not NO_CHUNK:
            self.chunk_figures = NO_CHUNK

    def _scale_speed(self, trajectory: Trajectory) -> None:
        """Let a move keep the fraction of its speed that the limits allow now."""
        if isinstance(trajectory, OnlineTrajectory | OnlineJointTrajectory):
            trajectory.speed_scale = self._limits.current.speed

    def _reference_speed(self, velocity: Array) -> float:
        """Largest speed [m/s] of the reference along its velocity (3,), by the impact bound."""
        return REFERENCE_SPEED * self._impact.speed(velocity)

    def rest(self, state: RobotState, kin: RobotDynamics, reference: Reference) -> None:
        """Let the reference rest where it is; the law begins anew from there when it can."""
        pose = kin.pose if reference.pose is None else reference.pose
        self.trajectory = Hold(pose, state.q if reference.q is None else reference.q)
        self._transition.request()

    @property
    def warning(self) -> str:
        """Reason why the reference is late; empty where it is on time."""
        late = self.trajectory.message if isinstance(self.trajectory, ChunkStream) else ""
        return self.governor.message or late

    def is_moving(self) -> bool:
        """Return True where the reference moves after the last tick."""
        return self.trajectory is not None and is_moving(
            self.trajectory, self.reference, self.governor.time
        )

    def approach(self, state: RobotState, kin: RobotDynamics, joint_space: bool) -> None:
        """Move the robot to the present reference, where the reference's joints rest and it is far
        away.

        Where the arm would come too near to itself or its cell on the way, it stays where it is.
        """
        reference = self.reference
        if reference.v is not None and reference.v.any():
            return
        if joint_space and reference.q is not None and reference.v is not None:
            if np.abs(reference.q - state.q).max() > FAR:
                if self._clearance.is_free(self._joint_way(state.q, state.v, reference.q)):
                    self.trajectory = self._joint_trajectory(
                        state.q, state.v, reference.q, state.time
                    )
                else:
                    self.start(state, kin)
        elif reference.pose is not None:
            error = pose_error(reference.pose, kin.pose)
            if np.linalg.norm(error[:3]) > FAR_TIP[0] or np.linalg.norm(error[3:]) > FAR_TIP[1]:
                start = Reference(kin.pose, kin.twist)
                if self._clearance.is_free(self._tip_way(start, state.q, reference.pose)):
                    self.trajectory = self._tip_trajectory(start, reference.pose, state.time)
                else:
                    self.start(state, kin)

    # --- what moves the reference ---

    def hold(self) -> None:
        """Bring a reference that moves to rest; make the present pose the reference
        where it rests already.
        """
        state, kin = self._known()
        self.feedforward_wrench = None
        self._posture_move = None
        self._posture_now = None
        reference = self.reference
        if reference.q is not None and reference.v is not None and reference.v.any():
            braking = STOPPING * self._model.limits.velocity
            self.trajectory = JointBrake(self._model, reference.q, reference.v, state.time, braking)
        elif reference.twist is not None and reference.twist.any():
            self.trajectory = Jog(
                reference, np.zeros(6), state.time, self._robot.tip_acceleration, 0.0
            )
        else:
            here = Hold(kin.pose, state.q)
            self.trajectory = here
            # what is commanded before the next tick goes on from here
            self.reference = here.sample(state.time)
            self._transition.request()

    def move_to(self, pose: Array) -> None:
        """Move the reference to a pose (4, 4) in the base, within the robot's tip limits, as often
        as you like.

        Raises:
            ConfigError: outside the workspace, or the arm would come too near to itself or its cell
                on the way.
        """
        state, _ = self._known()
        self._workspace.check(pose[:3, 3])
        if self.reference.pose is not None:
            way = self._tip_way(self.reference, self._followed_joints(state), pose)
            self._clearance.check("target pose", way)
            missed = self._axes * pose_error(pose, self._model.link(self._model.tip, way[-1])[0])
            if np.linalg.norm(missed[:3]) > MISSED:
                self._clearance.check_hand("target pose", way[-1], pose)
        if isinstance(self.trajectory, OnlineTrajectory) and self.governor.rate == 1.0:
            self.trajectory.target = pose
        else:
            self.trajectory = self._tip_trajectory(self.reference, pose, state.time)

    def move_joints_to(self, goal: Array) -> None:
        """Move the reference to joint angles (n,), each joint within its limits, as often as you
        like.

        Cyclic joints take the short way.

        Raises:
            ConfigError: the goal has a wrong size, isn't finite, is beyond a position limit, or has
                the tip outside the workspace; or the arm would come too near to itself or its cell.
        """
        state, _ = self._known()
        self._check_joint_goal(goal)
        q, v = self._joint_start(state)
        present = self.trajectory if isinstance(self.trajectory, OnlineJointTrajectory) else None
        goal = _nearest(self._model, q if present is None else present.target, goal)
        self._clearance.check("joint goal", self._joint_way(q, v, goal))
        if present is None:
            self.trajectory = self._joint_trajectory(q, v, goal, state.time)
        else:
            present.target = goal

    def follow_joints(self, times: Array, positions: Array, velocities: Array | None) -> None:
        """Follow joint positions (k, n) at times (k,) [s] from now; velocities (k, n) or None.

        Cyclic joints go the short way to the first position, and from there as it is given.

        Raises:
            ConfigError: times don't rise, values aren't finite or are beyond a limit, or the tip is
                outside the workspace; or the arm would come too near to itself or its cell.
        """
        state, _ = self._known()
        limits = self._model.limits
        self._check_joint_goal(positions[0])
        within = (positions >= limits.lower) & (positions <= limits.upper) & np.isfinite(positions)
        if not within.all():
            self._check_joint_goal(positions[int((~within).any(axis=1).argmax())])
        if self._workspace.bounded:
            for goal in positions:
                self._workspace.check(self._model.at(goal).pose[:3, 3])
        q, v = self._joint_start(state)
        shift = _nearest(self._model, q, positions[0]) - positions[0]  # by whole turns
        path = times, positions + shift, velocities
        trajectory = JointPath(self._model, q, *path, state.time, limits.velocity, v)
        self._clearance.check("joint path", trajectory.positions(SPACING))
        self.trajectory = trajectory

    def follow_tip(self, times: Array, poses: Array) -> None:
        """Follow poses (k, 4, 4) in the base, at times (k,) [s] from now, within the limits of the
        tip.

        A newer chunk may come at any time, and takes the place of the one before; see
        :class:`~..references.TipStream`.

        Raises:
            ConfigError: a pose is outside the workspace, times don't rise or are all past, or the
                chunk begins before the newest one; or the arm would come too near to itself or its
                cell.
        """
        state, _ = self._known()
        for pose in poses:
            self._workspace.check(pose[:3, 3])
        way = self._chunk_way(state, times, poses)
        stream = self.trajectory
        robot = self._robot
        if not isinstance(stream, TipStream):
            limits = robot.tip_speed, robot.tip_acceleration, robot.tip_jerk
            stream = TipStream(self.reference, state.time, *limits, self.stream)
        self._clearance.check("tip trajectory", way)
        stream.add(state.time, times, poses)
        self._streamed = state.time + float(times[-1]), way[-1]
        self.trajectory = stream

    def follow_joint_chunk(self, times: Array, positions: Array) -> None:
        """Follow joint positions (k, n) at times (k,) [s] from now, within limits of jerk.

        A newer chunk may come at any time, and takes the place of the one before; see
        :class:`~..references.JointStream`. Cyclic joints go the short way from point to point.

        Raises:
            ConfigError: times don't rise or are all past, values aren't finite or are beyond a
                limit, the tip is outside the workspace, or the chunk begins before the newest one;
                or the arm would come too near to itself or its cell. What ran goes on.
        """
        state, _ = self._known()
        if positions.ndim != 2 or len(positions) != len(times) or not len(times):
            rule = f"must be {self._robot.n} joints for each of {len(times)} times"
            raise refused("positions", positions.shape, rule, where="joint trajectory: ")
        for goal in positions:
            self._check_joint_goal(goal)
        stream = self.trajectory
        q, v = self._joint_start(state)
        follows = isinstance(stream, JointStream)
        if not isinstance(stream, JointStream):
            a = self.reference.a
            limits = self.chunk_limits
            change = np.zeros(self._robot.n) if a is None else a
            stream = JointStream(self._model, q, v, change, state.time, *limits, self.stream)
        until, end = self._streamed
        if follows and until <= state.time + float(times[0]):
            q = end
        steps = np.diff(positions, axis=0, prepend=q[None])
        turns = np.cumsum(wrap(steps, self._model.cyclic) - steps, axis=0)
        chunk = positions + turns
        self._clearance.check("joint trajectory", self._ways.of_joint_chunk(chunk, q))
        stream.add(state.time, times, chunk)
        self._streamed = state.time + float(times[-1]), chunk[-1]
        self.trajectory = stream

    def set_posture(self, goal: Array) -> None:
        """Move the null space to joint angles (n,), while the tip does what it does.

        It goes there with a tenth of the joints' velocity limits at most, as far as the tip lets
        it. Any motion of the joints and a hold end that. Cyclic joints take the short way.

        Raises:
            ConfigError: the robot has no null space, or its joints are moved; the goal has a wrong
                size, isn't finite, or is beyond a limit; or the arm would come too near to itself or its cell.
        """
        state, kin = self._known()
        robot = self._robot
        count = int(self._axes.sum())
        if robot.n <= count:
            rule = f"must be more than the tip's {count} axes: the arm has no other posture there"
            raise refused("joints", robot.n, rule, count + 1, where="target posture: ")
        self._check_joints(goal)
        joints_lead = isinstance(self.trajectory, JOINT_MOTIONS)
        if joints_lead and self.is_moving():
            rule = "must have ended: wait for it, or hold"
            raise refused("motion of the joints", "moving", rule, where="target posture: ")
        q = self._followed_joints(state)
        reference = self.reference
        present = q if self._posture_now is None else self._posture_now
        goal = _nearest(self._model, present, goal)
        pose = kin.pose if reference.pose is None else reference.pose
        self._clearance.check("target posture", self._ways.of_posture(pose, q, goal))
        if joints_lead:
            self.trajectory = Hold(pose, q)
        speed = POSTURE_SPEED * self._model.limits.velocity
        start = Reference(q=present, v=np.zeros(robot.n))
        limits = speed, speed / JOINT_RAMP
        self._posture_move = OnlineJointTrajectory(self._model, start, goal, state.time, *limits)
        self._posture = goal

    def go_home(self) -> None:
        """Move the joints to the robot's home; see :meth:`move_joints_to`."""
        self.move_joints_to(np.array(self._robot.home))

    def jog(self, twist: Array, lasting: float) -> None:
        """Move the reference with a twist (6,) for `lasting` seconds, then brake.

        The twist is scaled by the limits' `speed`. Speeds above the tip limits are scaled down.
        Speeds towards the workspace's walls are scaled down so that the tip stops before them. So
        are speeds with which the arm would come too near to itself or its cell.
        """
        state, _ = self._known()
        twist = self._limits.current.speed * twist
        linear = float(np.linalg.norm(twist[:3]))
        angular = float(np.linalg.norm(twist[3:]))
        excess = max(linear / self._robot.tip_speed[0], angular / self._robot.tip_speed[1], 1.0)
        reference = self.reference
        acceleration = self._robot.tip_acceleration
        if reference.pose is not None:
            before = np.zeros(6) if reference.twist is None else reference.twist
            twist = self._workspace.slowed(
                twist / excess, before, reference.pose[:3, 3], acceleration, lasting
            )
            q = self._followed_joints(state)

            def way_of(slowed: Array) -> Array:
                jog = Jog(reference, slowed, state.time, acceleration, lasting)
                return self._ways.of_trajectory(jog, state.time, jog.rests_at, q, self._posture)

            twist = self._clearance.slowed(twist, way_of)
        self.trajectory = Jog(reference, twist, state.time, acceleration, lasting)

    def set_feedforward_wrench(self, wrench: Array | None, lasting: float = math.inf) -> None:
        """Feed a wrench (6,) forward, exerted by the robot, base axes, tip origin [N, N·m]; None
        for none.

        It ends after `lasting` seconds without a newer one.

        Raises:
            ConfigError: larger than `largest_wrench`, or not finite; the one before goes on.
        """
        if wrench is not None:
            self._check_wrench(wrench)
        self.feedforward_wrench = wrench
        self._wrench_until = self._time + lasting

    # --- helpers ---

    def _check_wrench(self, wrench: Array) -> None:
        parts = zip(
            ("force", "torque"),
            wrench.reshape(2, 3),
            self.largest_wrench.tolist(),
            ("N", "N·m"),
            strict=True,
        )
        for name, values, most, unit in parts:
            size = float(np.linalg.norm(values))
            if not size <= most:
                rule = (
                    f"must be at most {most:.3g} {unit} (target_wrench of robot {self._robot.name})"
                )
                raise refused(name, size, rule, most, where="target wrench: ", unit=unit)

    def _ramped(self, elapsed: float) -> Array:
        """Feed-forward wrench (6,) to be exerted, `elapsed` seconds after the last one."""
        wanted = np.zeros(6) if self.feedforward_wrench is None else self.feedforward_wrench
        before = np.zeros(6) if self._exerted is None else self._exerted
        change = (wanted - before).reshape(2, 3)
        size = np.sqrt((change * change).sum(axis=1))
        fraction = self.largest_wrench * (elapsed / WRENCH_RAMP) / np.maximum(size, 1e-12)
        if (fraction >= 1.0).all():
            return wanted
        return np.asarray(before + (np.minimum(fraction, 1.0)[:, None] * change).ravel())

    def _tip_trajectory(self, start: Reference, pose: Array, time: float) -> OnlineTrajectory:
        robot = self._robot
        trajectory = OnlineTrajectory(
            start, pose, time, robot.tip_speed, robot.tip_acceleration, start.q
        )
        self._scale_speed(trajectory)
        return trajectory

    def _joint_trajectory(
        self, q: Array, v: Array, goal: Array, time: float
    ) -> OnlineJointTrajectory:
        start = Reference(q=q, v=v)
        trajectory = OnlineJointTrajectory(self._model, start, goal, time, *self._joint_limits)
        self._scale_speed(trajectory)
        return trajectory

    def _joint_way(self, q: Array, v: Array, goal: Array) -> Array:
        """Joint angles (k, n) on the way of a move of the joints."""
        return self._ways.of_joints(q, v, goal, *self._joint_limits)

    @property
    def _joint_limits(self) -> tuple[Array, Array]:
        """Speeds and accelerations (n,) of moves of the joints [rad/s, rad/s²]."""
        return self._move_speed, self._move_speed / JOINT_RAMP

    @property
    def chunk_limits(self) -> tuple[Array, Array, Array]:
        """Limits (n,) of chunks: speeds [rad/s], accelerations [rad/s²] and jerks [rad/s³]."""
        speed = CHUNK_SPEED * self._move_speed
        acceleration = speed / CHUNK_RAMP
        return speed, acceleration, acceleration / CHUNK_ONSET

    def _tip_way(self, start: Reference, q: Array, pose: Array) -> Array:
        """Joint angles (k, n) on the way of a move of the tip, which begins at q (n,)."""
        robot = self._robot
        return self._ways.of_pose(
            start, q, self._posture, pose, robot.tip_speed, robot.tip_acceleration
        )

    def _chunk_way(self, state: RobotState, times: Array, poses: Array) -> Array:
        """Joint angles (k, n) on the way through a chunk of poses.

        It begins where the last chunk ends, or else at the present reference.
        """
        until, q = self._streamed
        if not (isinstance(self.trajectory, TipStream) and until <= state.time + float(times[0])):
            q = self._followed_joints(state)
        return self._ways.of_chunk(poses, q, self._posture)

    def _followed_joints(self, state: RobotState) -> Array:
        """Joint angles (n,) that lead the tip to the reference, near those of a state.

        Where the reference is out of reach, they are those of the state. A reference in the space
        of the joints becomes the posture, too.
        """
        reference = self.reference
        # joint angles without velocities are a posture alone
        if reference.q is not None and reference.v is not None:
            self._posture = reference.q
            return reference.q
        if reference.pose is None:
            return state.q
        try:
            return solve_pose(self._model, reference.pose, state.q, self._axes, REACHED)
        except ConfigError:  # out of reach: where the robot is
            return state.q

    def _joint_start(self, state: RobotState) -> tuple[Array, Array]:
        """Joint angles and velocities (n,) of the reference, or else of its pose and twist."""
        reference = self.reference
        if reference.q is not None and reference.v is not None:
            return reference.q, reference.v
        pose = self._known()[1].pose if reference.pose is None else reference.pose
        try:
            q = solve_pose(self._model, pose, state.q, self._axes)
        except ConfigError:  # out of reach: where the robot is
            self._transition.request()
            return state.q, state.v
        twist = np.zeros(6) if reference.twist is None else reference.twist
        return q, DifferentialKinematics(self._axes).velocities(self._model.at(q), twist)

    def _check_joint_goal(self, goal: Array) -> None:
        self._check_joints(goal)
        if self._workspace.bounded:
            self._workspace.check(self._model.at(goal).pose[:3, 3])

    def _check_joints(self, goal: Array) -> None:
        robot = self._robot
        if goal.shape != (robot.n,) or not np.isfinite(goal).all():
            raise refused("joint goal", goal, f"must be {robot.n} finite numbers", robot.n)
        self._model.limits.check(robot.joints, goal, "joint goal ")


def _largest_wrench(robot: RobotConfig, model: RobotModel) -> Array:
    """Largest force and torque (2,) of a target wrench [N, N·m]."""
    jacobian = model.at(np.array(robot.home)).jacobian.reshape(2, 3, robot.n)
    # (2, n) torque of a joint per unit of force and of torque
    levers = np.sqrt((jacobian * jacobian).sum(axis=1))
    derived = (WRENCH_SHARE * model.limits.effort / np.maximum(levers, 1e-6)).min(axis=1)
    given = np.array(robot.target_wrench)
    return np.where(given > 0.0, given, derived)


def _nearest(model: RobotModel, q: Array, goal: Array) -> Array:
    """The goal (n,) with cyclic joints the short way from q (n,)."""
    return q + model.wrap(goal - q)
