"""One control cycle, shared by everything that controls: model, then reference, then law, then safety."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from .cycle_times import CycleTimes
from .errors import ConfigError
from .gains import Tuning
from .handover import Handover
from .inverse_kinematics import DifferentialKinematics, solve_pose
from .joint_reference import JointReference
from .laws.law import ControlLaw
from .model import Kinematics, RobotModel
from .robots import RobotConfig
from .running_law import RunningLaw
from .safety import STOPPING, Safety
from .spatial import pose_error, wrap
from .trajectories import Hold, Jog, JointBrake, JointPath, JointPursuit, Pursuit, Trajectory
from .types import Array, Command, Reference, RobotState
from .workspace import Workspace
from .wrench import WrenchPipeline

LONGEST_GAP = 0.1  # s between two samples; after a longer one the loop starts anew where the robot is
JOINT_RAMP = 0.5  # s from rest to full speed, of joint moves
FAR, FAR_TIP = 0.05, (0.05, 0.2)  # rad; m and rad: a law that takes over moves to a reference further away than this


@dataclass(frozen=True, eq=False)
class LoopReport:
    """What a loop tells of its last cycle.

    Attributes:
        state, reference: of it.
        terms: of the law, by name.
        saturated, rate_limited: (n,) see :class:`Safety`.
        fault: why the safe output was sent; empty where it wasn't.
        wrench_reason: why there is no wrench, or why the last sample was refused; empty where all is well.
    """

    state: RobotState
    reference: Reference
    terms: Mapping[str, Array]
    saturated: NDArray[np.bool_]
    rate_limited: NDArray[np.bool_]
    fault: str
    wrench_reason: str


class ControlLoop:
    """A robot under a law.

    Whoever owns time calls :meth:`tick` once per sample. Gains, references and the rest may be changed between two
    ticks, and never make the command jump.

    Args:
        robot: its configuration.
        law: name of a law, or ``package.module:Class``.
        gains: gains by name, over the robot's own and the law's defaults.
        model: of the robot, where it isn't the one of the configuration's description.
        gain_time_constant: [s] with which changed gains are taken over.

    Attributes:
        acts: whether its commands have to be sent; else they have been, where it runs.

    Raises:
        ConfigError: the law, a gain, or the pairing of law and robot is refused.
        ModelError: the description lacks a joint or frame.
    """

    acts: ClassVar[bool] = True

    def __init__(
        self,
        robot: RobotConfig,
        law: str | RunningLaw,
        gains: Mapping[str, Any] | None = None,
        *,
        model: RobotModel | None = None,
        gain_time_constant: float = 0.2,
    ) -> None:
        self.robot = robot
        self.running = law if isinstance(law, RunningLaw) else RunningLaw(robot, law, gains, gain_time_constant)
        self.model = RobotModel.of(robot) if model is None else model
        self.safety = Safety(robot, self.model.limits)
        self.wrench = WrenchPipeline(robot.profile.wrench, not math.isnan(robot.profile.effort_sign))
        self.workspace = Workspace(robot.profile.workspace)
        self.times = CycleTimes(robot.period)
        self.trajectory: Trajectory | None = None
        self.feedforward_wrench: Array | None = None
        self._exerted_until = math.inf  # by the samples' clock [s]
        self.state: RobotState | None = None
        self.kin: Kinematics | None = None
        self.reference = Reference()
        self._axes = np.array(robot.axes)
        self._handover = Handover(gain_time_constant)
        self._joint_reference = JointReference(self.model, self._axes)
        self._turns = bool(self.model.cyclic.any())
        self._law_is_new = False
        self._words: tuple[str, ...] = ()

    @property
    def law(self) -> ControlLaw:
        """The law that runs."""
        return self.running.law

    @property
    def law_name(self) -> str:
        """Its name."""
        return self.running.name

    @property
    def gains(self) -> Tuning:
        """Its gains."""
        return self.running.gains

    @property
    def fault(self) -> str:
        """Why the safe output is sent; empty where it isn't."""
        return self.safety.fault

    @property
    def wrench_reason(self) -> str:
        """Why there is no wrench, or why the last sample was refused; empty where all is well."""
        return self.wrench.reason

    def report(self) -> LoopReport:
        """The last cycle.

        Raises:
            ConfigError: there was none.
        """
        if self.state is None:
            raise ConfigError("there has been no cycle yet")
        safety, terms = self.safety, self.law.terms
        bounds = safety.saturated, safety.rate_limited
        return LoopReport(self.state, self.reference, terms, *bounds, self.fault, self.wrench_reason)

    def timing(self) -> dict[str, float]:
        """See :meth:`CycleTimes.summary`."""
        return self.times.summary()

    def switch_law(self, running: RunningLaw) -> None:
        """Let another law take over with the next tick, without a jump; targets and moves go on as they are.

        Where the law before left the robot far from the reference, the new one goes there within the limits of moves.

        Raises:
            ConfigError: it needs a wrench, and there is none.
        """
        self.check_switch(running)
        self.running = running
        self._law_is_new = True
        if self.trajectory is not None and self.state is not None and self.kin is not None:
            self._approach(self.state, self.kin)

    def check_switch(self, running: RunningLaw) -> None:
        """Refuse a law that couldn't take over now; see :meth:`switch_law`."""
        if running.needs_wrench and self.state is not None and self.state.wrench_on_tip is None:
            raise ConfigError(self._wrench_words(running))

    def _approach(self, state: RobotState, kin: Kinematics) -> None:
        """Move to a reference whose joints rest from where the robot is, if that is far."""
        reference = self.reference
        if reference.v is not None and reference.v.any():
            return
        if self.running.joint_space and reference.q is not None and reference.v is not None:
            if np.abs(reference.q - state.q).max() > FAR:
                self.trajectory = self._joint_pursuit(Reference(q=state.q, v=state.v), reference.q, state.time)
        elif reference.pose is not None:
            error = pose_error(reference.pose, kin.pose)
            if np.linalg.norm(error[:3]) > FAR_TIP[0] or np.linalg.norm(error[3:]) > FAR_TIP[1]:
                self.trajectory = self._pursuit(Reference(pose=kin.pose, twist=kin.twist), reference.pose, state.time)

    def _wrench_words(self, running: RunningLaw) -> str:
        source = "it needs one on the topic wrench, or wrench.source = joint_effort"
        return f"law {running.name}: {self.wrench.reason}; {source}"

    def set_gains(self, values: Mapping[str, Any]) -> None:
        """Change some gains, all or none; they are taken over with the time constant.

        Raises:
            ConfigError: names the gain, its value and the bound.
        """
        self.gains.set(values)

    def reset(self) -> None:
        """Start anew: the next tick holds the robot where it is then."""
        self.trajectory = None
        self.safety.fault = ""

    def tick(self, state: RobotState) -> Command:
        """The command for one sample.

        Args:
            state: arrays (n,) in the order of the robot's joints; `wrench` in a frame of the description.

        Raises:
            ConfigError: a sample of the wrong size or with a number that isn't finite; nothing has changed then. (A
                wrench that can't be used isn't an error of the sample: see :class:`WrenchPipeline`.)
        """
        begin = time.perf_counter()
        self._check(state)
        gap = dt = self.robot.period if self.state is None else state.time - self.state.time
        if self.state is not None and self._turns:
            state.q = self.state.q + wrap(state.q - self.state.q, self.model.cyclic)
        kin = self.model.update(state.q, state.v)
        state.wrench_on_tip = self.wrench.on_tip(state, kin)
        running, law = self.running, self.running.law
        if self.trajectory is None or self.state is None or not 0.0 < dt <= LONGEST_GAP:
            dt = self.robot.period
            self._start(state, kin)
        elif self._law_is_new:
            law.reset(state, kin)
            self._joint_reference.reset(state.q)
        assert self.trajectory is not None
        reference = self.trajectory.sample(state.time)
        if state.time > self._exerted_until:
            self.exert(None)
        if self.feedforward_wrench is not None:
            reference = replace(reference, wrench=self.feedforward_wrench)
        if running.joint_space:
            reference = self._joint_reference.complete(reference, self.trajectory, state.time, dt)
        gains = running.gains.advance(dt)
        if running.needs_wrench and state.wrench_on_tip is None:
            sent = self.safety.stop(running.mode, state, kin, self._wrench_words(running))
            self._wait(reference, state)
        else:
            sent = self._guard(law.compute(state, kin, reference, gains, dt), state, kin, dt)
            if self.safety.fault:
                self.trajectory = None
        self.state, self.kin, self.reference = state, kin, reference
        self.times.add(time.perf_counter() - begin, gap)
        return sent

    def settle(self) -> None:
        """What can wait until the command is sent; whoever owns time calls it then, or not at all."""
        settle = self.running.settle
        if settle is not None and self.kin is not None and not self._law_is_new:
            settle(self.kin, self.gains.current)

    def stop(self) -> Command | None:
        """The robot's safe output at the last known state, None where none is known; the next tick starts anew."""
        self.trajectory = None
        if self.state is None or self.kin is None:
            return None
        mode = self.running.mode if self.safety.mode is None else self.safety.mode  # the law may be newer than that
        return self.safety.safe_output(mode, self.state, self.kin)

    def close(self) -> None:
        """Let go of what it holds of the world outside; it is of no use then."""

    def idle(self, state: RobotState) -> Command:
        """What holds the robot at a state while it executes no commands; the next tick starts anew.

        Raises:
            ConfigError: see :meth:`tick`.
        """
        self._check(state)
        self.reset()
        self.safety.reset()
        self.state, self.kin = state, self.model.update(state.q, state.v)
        return self.safety.safe_output(self.running.mode, self.state, self.kin)

    def hold(self) -> None:
        """Bring a reference that moves to rest; make the present pose the reference where it rests already."""
        state, kin = self._known()
        self.feedforward_wrench = None
        reference = self.reference
        if reference.q is not None and reference.v is not None and reference.v.any():
            braking = STOPPING * self.model.limits.velocity
            self.trajectory = JointBrake(self.model, reference.q, reference.v, state.time, braking)
        elif reference.twist is not None and reference.twist.any():
            self.trajectory = Jog(reference, np.zeros(6), state.time, self.robot.tip_acceleration, 0.0)
        else:
            self.trajectory = Hold(kin.pose, state.q)
            self._law_is_new = True

    def move_to(self, pose: Array) -> None:
        """Move the reference to a pose (4, 4) in the base, within the robot's tip limits, as often as you like.

        Raises:
            ConfigError: outside the workspace.
        """
        state, _ = self._known()
        self.workspace.check(pose[:3, 3])
        if isinstance(self.trajectory, Pursuit):
            self.trajectory.target = pose
        else:
            self.trajectory = self._pursuit(self.reference, pose, state.time)

    def _pursuit(self, start: Reference, pose: Array, time: float) -> Pursuit:
        speed, acceleration = self.robot.tip_speed, self.robot.tip_acceleration
        return Pursuit(start, pose, time, speed, acceleration, start.q)

    def move_joints_to(self, goal: Array) -> None:
        """Move the reference to joint angles (n,), each joint within its limits, as often as you like.

        Cyclic joints take the short way.

        Raises:
            ConfigError: wrong size, not finite, beyond a position limit, or the tip outside the workspace.
        """
        state, _ = self._known()
        self._check_joint_goal(goal)
        if isinstance(self.trajectory, JointPursuit):
            self.trajectory.target = self._nearest(self.trajectory.target, goal)
        else:
            start = self._joint_start()
            assert start.q is not None
            self.trajectory = self._joint_pursuit(start, self._nearest(start.q, goal), state.time)

    def _joint_pursuit(self, start: Reference, goal: Array, time: float) -> JointPursuit:
        speed = self.robot.joint_speed * self.model.limits.velocity
        return JointPursuit(self.model, start, goal, time, speed, speed / JOINT_RAMP)

    def _joint_start(self) -> Reference:
        """Joint angles and velocities that go on from the reference: its own, or else those of its pose and twist."""
        reference = self.reference
        if reference.q is not None and reference.v is not None:
            return reference
        state, _ = self._known()
        assert reference.pose is not None
        try:
            q = solve_pose(self.model, reference.pose, state.q, self._axes)
        except ConfigError:  # out of reach: where the robot is
            self._law_is_new = True
            return Reference(q=state.q, v=state.v)
        twist = np.zeros(6) if reference.twist is None else reference.twist
        return Reference(q=q, v=DifferentialKinematics(self._axes).velocities(self.model.at(q), twist))

    def _nearest(self, q: Array, goal: Array) -> Array:
        """The goal (n,) with cyclic joints the short way from q (n,)."""
        return np.asarray(q + wrap(goal - q, self.model.cyclic))

    def _check_joint_goal(self, goal: Array) -> None:
        limits = self.model.limits
        if goal.shape != (self.robot.n,) or not np.isfinite(goal).all():
            raise ConfigError(f"joint goal {goal.tolist()}: must be {self.robot.n} finite numbers")
        for name, value, low, high in zip(self.robot.joints, goal, limits.lower, limits.upper, strict=True):
            if not low <= value <= high:
                raise ConfigError(f"joint goal {name} = {value:g} rad: must be within [{low:g}, {high:g}]")
        if self.workspace.bounded:
            self.workspace.check(self.model.at(goal).pose[:3, 3])

    def follow_joints(self, times: Array, positions: Array, velocities: Array | None) -> None:
        """Follow joint positions (k, n) at times (k,) [s] from now; velocities (k, n) or None.

        Cyclic joints go the short way to the first position, and from there as it is given.

        Raises:
            ConfigError: times that don't rise, values that aren't finite or beyond a limit, or the tip outside the
                workspace.
        """
        state, _ = self._known()
        for goal in positions:
            self._check_joint_goal(goal)
        start, speed = self._joint_start(), self.model.limits.velocity
        assert start.q is not None
        shift = self._nearest(start.q, positions[0]) - positions[0]  # by whole turns
        self.trajectory = JointPath(
            self.model, start.q, times, positions + shift, velocities, state.time, speed, start.v
        )

    def go_home(self) -> None:
        """Move the joints to the robot's home; see :meth:`move_joints_to`."""
        self.move_joints_to(np.array(self.robot.home))

    def jog(self, twist: Array, lasting: float) -> None:
        """Move the reference with a twist (6,) for `lasting` seconds, then brake.

        Speeds above the tip limits are scaled down, and those towards the workspace's walls so that it stops before.
        """
        state, _ = self._known()
        linear, angular = float(np.linalg.norm(twist[:3])), float(np.linalg.norm(twist[3:]))
        share = max(linear / self.robot.tip_speed[0], angular / self.robot.tip_speed[1], 1.0)
        reference, acceleration = self.reference, self.robot.tip_acceleration
        if reference.pose is not None:
            before = np.zeros(6) if reference.twist is None else reference.twist
            twist = self.workspace.slowed(twist / share, before, reference.pose[:3, 3], acceleration, lasting)
        self.trajectory = Jog(reference, twist, state.time, acceleration, lasting)

    def exert(self, wrench: Array | None, lasting: float = math.inf) -> None:
        """Feed a wrench (6,) forward, exerted by the robot, base axes, tip origin [N, N·m]; None for none.

        Args:
            wrench: as above.
            lasting: [s] without a newer one after which it ends.
        """
        self.feedforward_wrench = wrench
        self._exerted_until = math.inf if self.state is None else self.state.time + lasting

    def zero_wrench(self) -> None:
        """Make the present wrench the tare; raises as :meth:`WrenchPipeline.zero`."""
        self.wrench.zero()

    def set_tare(self, tare: Array) -> None:
        """Take off a tare (6,), see :class:`WrenchPipeline`."""
        self.wrench.tare = tare

    def pose_error(self) -> Array:
        """Reference minus pose (6,), of the last tick; zeros where the reference has no pose."""
        if self.kin is None or self.reference.pose is None:
            return np.zeros(6)
        return pose_error(self.reference.pose, self.kin.pose)

    def tip(self) -> Array:
        """Pose (4, 4) of the tip in the base, of the last tick.

        Raises:
            ConfigError: there is no fresh state.
        """
        return self._known()[1].pose

    def _known(self) -> tuple[RobotState, Kinematics]:
        if self.safety.fault:
            raise ConfigError(self.safety.fault)
        if self.state is None or self.kin is None or self.trajectory is None:
            raise ConfigError("no fresh joint state has arrived: there is nothing to start from")
        return self.state, self.kin

    def _start(self, state: RobotState, kin: Kinematics) -> None:
        self.trajectory = Hold(kin.pose, state.q.copy())
        self.feedforward_wrench = None
        self.gains.finish()
        self.law.reset(state, kin)
        self._joint_reference.reset(state.q)
        self._handover.reset()
        self._law_is_new, self._words = False, self.running.words
        if not self.safety.fault:
            self.safety.reset()

    def _wait(self, reference: Reference, state: RobotState) -> None:
        """Let the reference rest where it is, and the law begin anew from there when it can."""
        assert reference.pose is not None
        self.trajectory = Hold(reference.pose, state.q if reference.q is None else reference.q)
        self._law_is_new = True

    def _guard(self, command: Command, state: RobotState, kin: Kinematics, dt: float) -> Command:
        """What may be sent of a law's command."""
        words, self._words = self._words, self.running.words
        handover, mode = self._handover, self.safety.mode
        changed = self._law_is_new or (mode is not None and (mode is not command.mode or words != self._words))
        if (changed or handover.active) and self.safety.usable(command):
            if changed:
                handover.begin(self.safety.start(command.mode, state, kin) - command.values)
            self._law_is_new = False
            command.values = handover.add_to(command.values, dt)
        return self.safety.apply(command, state, kin, dt)

    def _check(self, state: RobotState) -> None:
        n = self.robot.n
        for name, values in (("position", state.q), ("velocity", state.v)):
            if values.shape != (n,) or not math.isfinite(values.dot(values)):
                raise ConfigError(f"joint state: {name} = {values.tolist()}: must be {n} finite numbers")
        if not math.isfinite(state.time):
            raise ConfigError(f"joint state: time = {state.time}: must be finite")
