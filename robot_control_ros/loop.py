"""One control cycle, shared by everything that controls: model, then reference, then law, then safety."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from typing import Any

import numpy as np

from .errors import ConfigError
from .gains import GainSchedule, gain_specs, make_gains
from .laws import law_class, law_names
from .laws.law import ControlLaw
from .model import Kinematics, RobotModel
from .robots import RobotConfig
from .safety import Safety
from .spatial import pose_error
from .trajectories import Hold, Jog, JointMove, JointPath, Pursuit, Trajectory
from .types import Array, Command, Reference, RobotState
from .wrench import WrenchPipeline, check_wrench

LONGEST_GAP = 0.1  # s between two samples; after a longer one the loop starts anew where the robot is


class CycleTimes:
    """How long the last cycles took and how far apart they were, in rings of fixed size.

    Attributes:
        count: cycles since the start.
        missed: cycles that came later than 1.5 periods after the one before.
    """

    SIZE = 2000

    def __init__(self, period: float) -> None:
        self._period = period
        self._spent = [0.0] * self.SIZE
        self._gaps = [0.0] * self.SIZE
        self.count = 0
        self.missed = 0

    def add(self, spent: float, gap: float) -> None:
        """One cycle: the time it took and the time since the one before [s]."""
        at = self.count % self.SIZE
        self._spent[at], self._gaps[at] = spent, gap
        self.count += 1
        if gap > 1.5 * self._period:
            self.missed += 1

    def summary(self) -> dict[str, float]:
        """Percentiles over the ring [s], and the counters."""
        filled = min(self.count, self.SIZE)
        if filled == 0:
            return {"cycles": 0.0, "missed": 0.0}
        spent, gaps = self._spent[:filled], self._gaps[:filled]
        return {
            "cycles": float(self.count),
            "missed": float(self.missed),
            "compute_p50": float(np.percentile(spent, 50)),
            "compute_p99": float(np.percentile(spent, 99)),
            "period_p50": float(np.percentile(gaps, 50)),
            "period_p99": float(np.percentile(gaps, 99)),
        }


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
        law: str,
        gains: Mapping[str, Any] | None = None,
        *,
        model: RobotModel | None = None,
        gain_time_constant: float = 0.2,
    ) -> None:
        self.robot = robot
        self.law_name = law
        law_type = law_class(law)
        self.law: ControlLaw = law_type()
        self._settle = getattr(self.law, "settle", None)
        robot.check_mode(self.law.mode, law)
        unknown = [name for name in robot.law_gains if ":" not in name and name not in law_names()]
        if unknown:
            raise ConfigError(
                f"robot {robot.name}: law_gains for unknown laws {unknown}; laws: {', '.join(law_names())}"
            )
        self.model = RobotModel.of(robot) if model is None else model
        self.safety = Safety(robot, self.model.limits)
        self.wrench = WrenchPipeline()
        self.times = CycleTimes(robot.period)
        self.gains = GainSchedule(self.check_gains(gains or {}), gain_time_constant)
        self.trajectory: Trajectory | None = None
        self.feedforward_wrench: Array | None = None
        self.state: RobotState | None = None
        self.kin: Kinematics | None = None
        self.reference = Reference()

    def check_gains(self, values: Mapping[str, Any], base: Any = None) -> Any:
        """A complete, valid set of gains; `base` gives those not named, else the robot's defaults, else the law's.

        Raises:
            ConfigError: names the gain, its value and the bound.
        """
        law_type = type(self.law)
        if base is None:
            defaults = dict(self.robot.law_gains.get(self.law_name, {}))
            if self.robot.profile.gravity_by_robot and any(s.name == "gravity" for s in gain_specs(law_type.Gains)):
                defaults["gravity"] = False
            base = make_gains(law_type.Gains, defaults, self.robot.n)
        gains = make_gains(law_type.Gains, values, self.robot.n, base)
        if self.robot.profile.gravity_by_robot and getattr(gains, "gravity", 0.0) > 0.0:
            raise ConfigError(
                f"gravity = true: {self.robot.description or self.robot.name} (profile {self.robot.profile_name}) "
                "compensates gravity itself; must be false"
            )
        return gains

    def set_gains(self, values: Mapping[str, Any]) -> None:
        """Change some gains, all or none; they are taken over with the time constant."""
        self.gains.change(self.check_gains(values, self.gains.target))

    def reset(self) -> None:
        """Start anew: the next tick holds the robot where it is then."""
        self.trajectory = None

    def tick(self, state: RobotState) -> Command:
        """The command for one sample.

        Args:
            state: arrays (n,) in the order of the robot's joints; `wrench` in a frame of the description.

        Raises:
            ConfigError: a sample of the wrong size or with a number that isn't finite.
            ModelError: a wrench in an unknown frame. In both cases nothing has changed.
        """
        begin = time.perf_counter()
        self._check(state)
        gap = dt = self.robot.period if self.state is None else state.time - self.state.time
        kin = self.model.update(state.q, state.v)
        state.wrench_on_tip = self.wrench.on_tip(state, kin)
        fresh = self.trajectory is None or self.state is None or not 0.0 < dt <= LONGEST_GAP
        if fresh:
            dt = self.robot.period
            self._start(state, kin)
        assert self.trajectory is not None
        reference = self.trajectory.sample(state.time)
        if self.feedforward_wrench is not None:
            reference = _with_wrench(reference, self.feedforward_wrench)
        gains = self.gains.advance(dt)
        command = self.law.compute(state, kin, reference, gains, dt)
        sent = self.safety.apply(command, state, kin, dt)
        self.state, self.kin, self.reference = state, kin, reference
        if self.safety.fault:
            self.trajectory = None
        self.times.add(time.perf_counter() - begin, gap)
        return sent

    def settle(self) -> None:
        """What can wait until the command is sent; whoever owns time calls it then, or not at all."""
        if self._settle is not None and self.kin is not None:
            self._settle(self.kin, self.gains.current)

    def safe_command(self) -> Command | None:
        """The robot's safe output at the last known state, or None where nothing is known yet."""
        if self.state is None or self.kin is None:
            return None
        return self.safety.safe_output(self.law.mode, self.state, self.kin)

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
        """Move the reference to joint angles (n,) from where the robot is.

        Raises:
            ConfigError: wrong size, not finite, or beyond a position limit.
        """
        state, _ = self._known()
        self._check_joint_goal(goal)
        speed = self.robot.joint_speed * self.model.limits.velocity
        self.trajectory = JointMove(self.model, state.q.copy(), goal, state.time, speed)

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
        """Move the joints to the robot's home."""
        self.move_joints_to(np.array(self.robot.home))

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
        self.safety.reset()

    def _check(self, state: RobotState) -> None:
        n = self.robot.n
        for name, values in (("position", state.q), ("velocity", state.v)):
            if values.shape != (n,) or not math.isfinite(values.dot(values)):
                raise ConfigError(f"joint state: {name} = {values.tolist()}: must be {n} finite numbers")
        if not math.isfinite(state.time):
            raise ConfigError(f"joint state: time = {state.time}: must be finite")
        if state.wrench is not None:
            check_wrench(state.wrench, self.model)


def _with_wrench(reference: Reference, wrench: Array) -> Reference:
    return Reference(
        reference.pose, reference.twist, reference.acceleration, wrench, reference.q, reference.v, reference.a
    )
