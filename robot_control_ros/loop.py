"""One control cycle, shared by everything that controls: model, then reference, then law, then safety."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from .cycle_times import CycleTimes
from .errors import ConfigError
from .gains import Tuning
from .handover import Handover
from .joint_reference import JointReference
from .laws.law import ControlLaw
from .model import Kinematics, RobotModel
from .robots import RobotConfig
from .running_law import RunningLaw
from .safety import Safety
from .spatial import pose_error
from .trajectories import Hold, Jog, JointMove, JointPath, JointPursuit, Pursuit, Trajectory
from .types import Array, Command, Reference, RobotState
from .wrench import WrenchPipeline

LONGEST_GAP = 0.1  # s between two samples; after a longer one the loop starts anew where the robot is
JOINT_RAMP = 0.5  # s from rest to full speed, of joint moves


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

    Raises:
        ConfigError: the law, a gain, or the pairing of law and robot is refused.
        ModelError: the description lacks a joint or frame.
    """

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
        self.wrench = WrenchPipeline(robot.profile.wrench)
        self.times = CycleTimes(robot.period)
        self.trajectory: Trajectory | None = None
        self.feedforward_wrench: Array | None = None
        self.state: RobotState | None = None
        self.kin: Kinematics | None = None
        self.reference = Reference()
        self._handover = Handover(gain_time_constant)
        self._joint_reference = JointReference(self.model, np.array(robot.axes))
        self._law_is_new = False

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

    def switch_law(self, running: RunningLaw) -> None:
        """Let another law take over with the next tick, without a jump; targets and moves go on as they are."""
        self.running = running
        self._law_is_new = True

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
        if self.feedforward_wrench is not None:
            reference = replace(reference, wrench=self.feedforward_wrench)
        if running.joint_space:
            reference = self._joint_reference.complete(reference, self.trajectory, state.time, dt)
        gains = running.gains.advance(dt)
        if running.needs_wrench and state.wrench_on_tip is None:
            sent = self.safety.stop(running.mode, state, kin, f"law {running.name}: {self.wrench.reason}")
        else:
            sent = self._guard(law.compute(state, kin, reference, gains, dt), state, kin, dt)
        self.state, self.kin, self.reference = state, kin, reference
        if self.safety.fault:
            self.trajectory = None
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

    def hold(self) -> None:
        """Make the present pose the reference."""
        state, kin = self._known()
        self.trajectory = Hold(kin.pose, state.q)

    def move_to(self, pose: Array) -> None:
        """Move the reference to a pose (4, 4) in the base, within the robot's tip limits, as often as you like."""
        state, _ = self._known()
        if isinstance(self.trajectory, Pursuit):
            self.trajectory.target = pose
            return
        speed, acceleration = self.robot.tip_speed, self.robot.tip_acceleration
        self.trajectory = Pursuit(self.reference, pose, state.time, speed, acceleration, self.reference.q)

    def move_joints_to(self, goal: Array) -> None:
        """Move the reference to joint angles (n,), each joint within its limits, as often as you like.

        Raises:
            ConfigError: wrong size, not finite, or beyond a position limit.
        """
        state, _ = self._known()
        self._check_joint_goal(goal)
        if isinstance(self.trajectory, JointPursuit):
            self.trajectory.target = goal
            return
        in_joints = self.reference.q is not None and self.reference.v is not None
        start = self.reference if in_joints else Reference(q=state.q)
        speed = self.robot.joint_speed * self.model.limits.velocity
        self.trajectory = JointPursuit(self.model, start, goal, state.time, speed, speed / JOINT_RAMP)

    def _check_joint_goal(self, goal: Array) -> None:
        limits = self.model.limits
        if goal.shape != (self.robot.n,) or not np.isfinite(goal).all():
            raise ConfigError(f"joint goal {goal.tolist()}: must be {self.robot.n} finite numbers")
        for name, value, low, high in zip(self.robot.joints, goal, limits.lower, limits.upper, strict=True):
            if not low <= value <= high:
                raise ConfigError(f"joint goal {name} = {value:g} rad: must be within [{low:g}, {high:g}]")

    def follow_joints(self, times: Array, positions: Array, velocities: Array | None) -> None:
        """Follow joint positions (k, n) at times (k,) [s] from now; velocities (k, n) or None.

        Raises:
            ConfigError: times that don't rise, values that aren't finite or beyond a limit.
        """
        state, _ = self._known()
        for goal in positions:
            self._check_joint_goal(goal)
        self.trajectory = JointPath(
            self.model, state.q.copy(), times, positions, velocities, state.time, self.model.limits.velocity
        )

    def go_home(self) -> None:
        """Move the joints to the robot's home from where they are, all together."""
        state, _ = self._known()
        speed = self.robot.joint_speed * self.model.limits.velocity
        home = np.array(self.robot.home)
        self.trajectory = JointMove(self.model, state.q.copy(), home, state.time, speed, speed / JOINT_RAMP)

    def jog(self, twist: Array, lasting: float) -> None:
        """Move the reference with a twist (6,) for `lasting` seconds; speeds above the tip limits are scaled down."""
        state, _ = self._known()
        linear, angular = float(np.linalg.norm(twist[:3])), float(np.linalg.norm(twist[3:]))
        share = max(linear / self.robot.tip_speed[0], angular / self.robot.tip_speed[1], 1.0)
        self.trajectory = Jog(self.reference, twist / share, state.time, self.robot.tip_acceleration, lasting)

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
        self._law_is_new = False
        if not self.safety.fault:
            self.safety.reset()

    def _guard(self, command: Command, state: RobotState, kin: Kinematics, dt: float) -> Command:
        """What may be sent of a law's command."""
        if self.safety.usable(command):
            if self._law_is_new or self.safety.mode not in (None, command.mode):
                self._law_is_new = False
                self._handover.begin(self.safety.start(command.mode, state, kin) - command.values)
            command.values = self._handover.add_to(command.values, dt)
        return self.safety.apply(command, state, kin, dt)

    def _check(self, state: RobotState) -> None:
        n = self.robot.n
        for name, values in (("position", state.q), ("velocity", state.v)):
            if values.shape != (n,) or not math.isfinite(values.dot(values)):
                raise ConfigError(f"joint state: {name} = {values.tolist()}: must be {n} finite numbers")
        if not math.isfinite(state.time):
            raise ConfigError(f"joint state: time = {state.time}: must be finite")
