"""The one gate that every command passes: limits, rates, finiteness, and what to send
when all else fails.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..core.compiled import compiled
from ..core.cycle import RATE_LIMITED, SATURATED
from ..core.errors import ConfigError
from ..core.gains import ParameterSet, gain
from ..core.record import JOINTS, Field, Record
from ..core.types import Array, Command, CommandMode, RobotState, as_row, is_finite
from ..robot.configuration import RobotConfig
from ..robot.differential_kinematics import RETREAT
from ..robot.model import JointLimits, RobotDynamics
from ..sensing.sensor_drift import AT_REST
from .blind_stop import BlindStop
from .clearance_guard import ClearanceGuard, is_far, slow_down
from .following import DEFLECTION, FollowingMonitor
from .held_load import HeldLoad, per_kilogram_at
from .impact import ImpactBound
from .reactions.late_samples import max_rate
from .soft_limits import TIP_SPEED, SoftLimits, is_clear, tip_speed_of

# times the interval before: a command that comes later than that changes by no more
LONGEST_STEP = 2.0
CROSSING = 0.01  # periods in which a command may change that crosses another's
LONGEST_INTERVAL = 0.02  # s between two commands that counts as usual
LONGEST_LOOK = 0.1  # s between two looks at the load of a moving arm
SAFE_AGE = 0.008  # s: age of a state that safe_damping bears; an older one gets less
EFFORT, POSITION, VELOCITY = range(3)  # for compiled code
# what limit_command finds
NOT_CLEAR = 1
NOT_FAR = 2
BOUNDS = Record(
    "Bounds",
    (
        Field("lower", (JOINTS,), "rad", "Position limits."),
        Field("upper", (JOINTS,), "rad", "The same at the other end."),
        Field("velocity", (JOINTS,), "rad/s", "Velocity limits."),
        Field("effort", (JOINTS,), "N·m", "Effort limits."),
        Field("effort_rate", (JOINTS,), "N·m/s", "By which efforts change at most."),
        Field(
            "acceleration",
            (JOINTS,),
            "rad/s²",
            "With which position limits and velocity commands are approached.",
        ),
        Field("tip_speed", (), "m/s", "To which position and velocity commands may move the tip."),
    ),
)
_bounds_at = BOUNDS.views
_KINDS = {
    CommandMode.EFFORT: EFFORT,
    CommandMode.POSITION: POSITION,
    CommandMode.VELOCITY: VELOCITY,
}
STOPPING = 4.0  # 1/s: from full speed to rest, or the other way, in a quarter of a second


@dataclass(frozen=True, eq=False)
class LimitSettings:
    """Limits that may be changed at any time."""

    max_tip_speed: float = gain(
        1.5,
        unit="m/s",
        lower=0.01,
        upper=10.0,
        doc="Speed of the tip. The arm brakes before it, and stops beyond it.",
    )
    speed: float = gain(
        1.0,
        lower=0.001,
        upper=1.0,
        doc="Fraction of their usual speed with which moves and jogs go. Paths and chunks keep their own times.",
    )


def limit_settings(robot: RobotConfig) -> ParameterSet:
    """New settings with the robot's defaults."""
    return ParameterSet(LimitSettings, 0, {"max_tip_speed": robot.max_tip_speed})


class Safety:
    """Bounds each command, and its change per second, joint by joint.

    Effort commands stay within the description's effort limits. They change by at most
    ``effort_rate`` per second, beginning from the torque that holds the robot. Near the joints'
    other limits :class:`SoftLimits` adds to them, without regard to that rate, but not beyond the
    effort limits.

    Position commands stay within the position limits and move at most at the velocity limits,
    slower towards a position limit.

    Velocity commands stay within the velocity limits, and end before a position limit is passed.
    From 0 to the limit they take at least a quarter of a second. Torque that is fed forward keeps
    the effort limits and ``effort_rate``, beginning at 0. Where a joint doesn't follow, see
    :class:`FollowingMonitor`, the command goes back to that which holds the robot where it is.

    A command that comes late changes no more than within twice the usual interval. Joints execute
    the change at once, however long they have waited for it.

    Position and velocity commands move the tip at 0.9 of its speed limit at most. Where
    :class:`ImpactBound` acts, the smaller one of the two limits counts. A position command that
    begins beyond a position limit goes back with 0.1 rad/s, or as fast as it is asked to.

    Args:
        robot: Configuration of the robot.
        limits: Limits of the robot's joints.
        soft_limits: Soft limits of efforts; None for none.
        impact: Bound on the tip's speed for the sake of blows; None for none.

    Attributes:
        settings: Settings that may be changed at any time.
        fault: Reason why the last command was replaced by the safe output; empty where it was not.
        mode: Mode of the last command; None after a reset.
        sent_velocity: Velocities (n,) that went with the last command [rad/s]; None where none did.
        limited: (n,) marks of what has changed the last command: SATURATED, RATE_LIMITED, their
            sum, or 0; see :mod:`~..core.cycle`.
    """

    def __init__(
        self,
        robot: RobotConfig,
        limits: JointLimits,
        soft_limits: SoftLimits | None = None,
        impact: ImpactBound | None = None,
    ) -> None:
        for name, values in (("effort", limits.effort), ("velocity", limits.velocity)):
            if not (np.isfinite(values).all() and (values > 0.0).all()):
                text = f"robot {robot.name}: its description's {name} limits are {values.tolist()}: must all be above 0"
                raise ConfigError(text, name=name, value=values, bound=(0.0, math.inf))
        self._robot = robot
        self._limits = limits
        self._shape = (robot.n,)
        self._effort_rate = np.array(robot.effort_rate, dtype=float)
        self._bounds, bounds = BOUNDS.single(robot.n)
        self._period = robot.period
        self._usual = LONGEST_STEP * robot.period  # time after the last command that counts whole
        self._interval = robot.period  # between the last two commands [s]
        # periods in which the next command may change, where the last one was another's; else 0
        self._taken_over = 0.0
        self._safe_damping = np.array(robot.safe_damping)
        self._acceleration = STOPPING * limits.velocity
        bounds["lower"] = limits.lower
        bounds["upper"] = limits.upper
        bounds["velocity"] = limits.velocity
        bounds["effort"] = limits.effort
        bounds["effort_rate"] = self._effort_rate
        bounds["acceleration"] = self._acceleration
        bounds["tip_speed"] = TIP_SPEED * robot.max_tip_speed
        self._bounds_by_name = bounds
        self.settings = limit_settings(robot)
        self._adopted: LimitSettings | None = self.settings.current
        self._none = np.zeros(robot.n)
        self._following = FollowingMonitor(robot, limits)
        self._soft_limits = soft_limits
        self._guard = None if soft_limits is None else soft_limits.guard
        self._impact = ImpactBound() if impact is None else impact
        self._no_row = np.zeros(0)
        self._soft_row = self._no_row if soft_limits is None else soft_limits.row
        self._guard_row = self._no_row if self._guard is None else self._guard.row
        self._last: Array | None = None  # before the soft limits
        self.mode: CommandMode | None = None
        self.sent_velocity: Array | None = None
        self._position_rate = self._none  # of position commands [rad/s]
        self._last_extra: Array | None = None
        self._load = HeldLoad(robot.n)
        # time [s], velocities and efforts (n,) of the last look at the load
        self._looked: tuple[float, Array, Array] | None = None
        self._effort_bounds = -limits.effort, limits.effort
        self._executed = self._none
        self.limited = np.zeros(robot.n)
        self.fault = ""

    def reset(self) -> None:
        """Forget the last command and fault: the next command begins where the robot is."""
        self.fault = ""
        self._last = None
        self._taken_over = 0.0
        self.mode = None
        self._position_rate = self._none
        self._last_extra = None
        self._following.reset()
        if self._soft_limits is not None:
            self._soft_limits.reset()
            self._soft_limits.release()

    def restart(self, state: RobotState) -> None:
        """Let the law start anew; the next command is measured against the last one.

        A position from which the robot has been moved away doesn't count any more. Then the next
        command begins where the robot is, as after :meth:`reset`.
        """
        last = self._last if self.mode is CommandMode.POSITION else None
        if last is not None and np.abs(last - state.q).max() > DEFLECTION:
            self._last = None
        self.fault = ""
        self._following.reset()
        if self._soft_limits is not None:
            self._soft_limits.reset()

    def release(self, state: RobotState) -> None:
        """Measure the next position against where the joints are, and not against the last command.

        A drive that is held back presses towards its last command. The step to the joints' place
        ends that.
        """
        if self.mode is CommandMode.POSITION:
            self._last = state.q.copy()
            self._position_rate = self._none

    def start(self, mode: CommandMode, state: RobotState, kin: RobotDynamics) -> Array:
        """The command (n,) from which the next one in this mode may change.

        It is the last command in this mode. Where there is none, it is the command that holds the
        robot. Velocities begin at the present ones, so that an arm that moves isn't stopped at
        once. Efforts that follow positions or velocities begin with what the drives press with, by
        the wrench at the tip.
        """
        if self._last is not None and mode is self.mode:
            return self._last
        if mode is CommandMode.VELOCITY:
            return np.clip(state.v, -self._limits.velocity, self._limits.velocity)
        held = self.holding(mode, state, kin)
        wrench = state.wrench_on_tip
        if mode is not CommandMode.EFFORT or self.mode is None or wrench is None:
            return held
        return np.asarray(np.clip(held - kin.jacobian.T.dot(wrench), *self._effort_bounds))

    def holding(self, mode: CommandMode, state: RobotState, kin: RobotDynamics) -> Array:
        """The command (n,) that holds the robot where it is.

        Efforts are the gravity torque, or 0 where the robot compensates gravity itself. Positions
        are q, and velocities 0.
        """
        if mode is CommandMode.POSITION:
            return state.q.copy()
        if mode is CommandMode.EFFORT and not self._robot.profile.gravity_by_robot:
            return np.minimum(np.maximum(kin.gravity, -self._limits.effort), self._limits.effort)
        return np.zeros(self._robot.n)

    def safe_output(
        self,
        mode: CommandMode,
        state: RobotState,
        kin: RobotDynamics,
        dt: float,
        fresh: bool = True,
    ) -> Command:
        """The next command on the way to a safe robot, within the limits and rates of
        :meth:`apply`.

        Efforts go to the torque that holds the robot, see :meth:`holding`, with the load that held
        still before, see :class:`HeldLoad`. Velocities go to 0. Positions brake and then stay where
        they are: they don't give way, sample by sample, to a load. Where the state is `fresh`, of
        now, efforts brake by ``safe_damping``. With an old velocity they would drive the arm.

        The limits count from the last command, `dt` seconds ago; :meth:`take_over` may have set
        that.
        """
        return self.apply(
            Command(mode, self._safe_values(mode, state, kin, dt, fresh)), state, kin, dt
        )

    def brake_blindly(
        self, mode: CommandMode, stop: BlindStop, silence: float, dt: float
    ) -> Command:
        """The next command, where the robot's last sample is `silence` seconds old; see
        :class:`BlindStop`.

        Efforts follow `stop`. Positions and velocities do as in :meth:`safe_output`. Limits and
        rates are those of :meth:`apply`, `dt` seconds after the last command; soft limits need a
        fresh state and don't act.
        """
        state, kin = stop.predicted(silence)
        if mode is CommandMode.EFFORT:
            values = np.clip(stop.torque(silence) + self._load.rest, *self._effort_bounds)
        else:
            values = self._safe_values(mode, state, kin, dt, fresh=False)
        self.fault = ""
        return self._send(Command(mode, values), values, state, kin, dt, soft_limits=False)

    def take_over(self, command: Command, crossing: bool = False) -> None:
        """Begin at another's last command, which came just now; a position is then held there.

        Args:
            command: Command of the other.
            crossing: True where the other may send one more command before it hears ours. Our
                first command nearly repeats the other's then. So the step between them is bounded.
        """
        self._last = as_row(command.values)
        self._executed = self._last
        self._taken_over = CROSSING if crossing else 1.0
        self.mode = command.mode
        self.sent_velocity = command.velocity
        self._position_rate = self._none
        self._last_extra = None

    def _safe_values(
        self, mode: CommandMode, state: RobotState, kin: RobotDynamics, dt: float, fresh: bool
    ) -> Array:
        """The values (n,) of the safe output, before limits and rates; see :meth:`safe_output`.

        Positions brake and stay. Velocities are 0. Efforts hold gravity and the load. Where the
        state is fresh, they are damped, and the load's torque fades with the work that it does.
        """
        if mode is CommandMode.POSITION and mode is self.mode and self._last is not None:
            dt = self._countable(dt)
            return self._last + self._braked_position_rate(dt) * dt
        values = self.holding(mode, state, kin)
        if mode is not CommandMode.EFFORT:
            return values
        per_kilogram = per_kilogram_at(kin)
        if not fresh:
            return np.clip(values + self._load.torque(per_kilogram), *self._effort_bounds)
        held = self._load.torque(per_kilogram, state.v, dt)
        braking = self._damping(state, kin) * state.v
        return np.clip(values + held - braking, *self._effort_bounds)

    def _braked_position_rate(self, dt: float) -> Array:
        """Rates (n,) [rad/s] of position commands that brake, `dt` seconds after the last one."""
        slower = np.abs(self._position_rate) - self._acceleration * dt
        return np.copysign(np.maximum(slower, 0.0), self._position_rate)

    def _damping(self, state: RobotState, kin: RobotDynamics) -> Array:
        """Safe damping D (n,) that brakes at the state's age τ.

        The largest eigenvalue of M⁻¹ D is at most 1 / (e τ).
        """
        if state.age <= SAFE_AGE or not self._safe_damping.any():
            return self._safe_damping
        fastest = max_rate(kin.mass, np.diag(self._safe_damping))
        return np.asarray(self._safe_damping * min(1.0, 1.0 / (math.e * state.age * fastest)))

    def stop(
        self, mode: CommandMode, state: RobotState, kin: RobotDynamics, reason: str, dt: float
    ) -> Command:
        """The safe output at a fresh state, `dt` seconds after the last command, with the
        reason as the fault.
        """
        command = self.safe_output(mode, state, kin, dt)
        self.fault = reason
        return command

    def apply(self, command: Command, state: RobotState, kin: RobotDynamics, dt: float) -> Command:
        """The command that may be sent, `dt` seconds after the last one."""
        if not self.usable(command):
            parts = {
                "values": command.values,
                "feed-forward": command.feedforward,
                "velocity": command.velocity,
            }
            given = " with ".join(
                f"{name} {part.tolist()}" for name, part in parts.items() if part is not None
            )
            reason = f"the law gave {given}: must be {self._robot.n} finite numbers"
            return self.stop(command.mode, state, kin, reason, dt)
        mode = command.mode
        wanted = command.values
        self.fault = ""
        if mode is self.mode:
            self.fault = self._following.check(mode, self._executed, state, kin, dt)
            if self.fault:
                wanted = self.holding(mode, state, kin)
        return self._send(command, wanted, state, kin, dt)

    def hand_over_load(self, torque: Array) -> None:
        """Leave `torque` (n,) [N·m] of the held load to the model, which knows it from now on."""
        if not self._robot.profile.gravity_by_robot:
            self._load.hand_over(torque)

    def learn_load(self, efforts: Array, state: RobotState, kin: RobotDynamics, dt: float) -> None:
        """Learn the load that the efforts (n,) [N·m] hold beyond the model.

        Call it every 50 ms or so while the robot isn't stopped; `dt` [s] is the time since the last
        call.
        """
        holding = self.holding(CommandMode.EFFORT, state, kin)
        per_kilogram = per_kilogram_at(kin)
        self._load.learn(efforts, holding, per_kilogram, state, dt)
        before = self._looked
        self._looked = state.time, state.v, efforts
        if before is None or np.abs(state.v).max() <= AT_REST:
            return
        time, v, last_efforts = before
        elapsed = state.time - time
        if not 0.0 < elapsed <= LONGEST_LOOK:
            return
        acceleration = (state.v - v) / elapsed
        needed = holding + kin.mass.dot(acceleration) + kin.coriolis
        if kin.model.has_friction and not self._robot.profile.friction_by_robot:
            needed = needed + kin.friction
        jacobian = kin.jacobian[:3]
        tip = jacobian.dot(acceleration) + kin.model.jdot_v(state.q, state.v)[:3]
        moved = per_kilogram + jacobian.T.dot(tip)
        excess = 0.5 * (efforts + last_efforts) - needed
        self._load.learn_in_motion(excess, moved, per_kilogram, elapsed)

    @property
    def position_rate(self) -> Array:
        """Rates (n,) of the last position commands [rad/s]; zeros in another mode."""
        return self._position_rate

    @property
    def held_mass(self) -> float:
        """Weight at the tip that a stopped arm goes on to hold [kg]; see :class:`HeldLoad`."""
        return self._load.mass

    def leans(self, time: float) -> bool:
        """Look whether the arm leant on itself or its cell within the last second; see
        :class:`SoftLimits`.
        """
        return self._soft_limits is not None and self._soft_limits.leans(time)

    @property
    def held(self) -> Array:
        """Torque (n,) [N·m] that holds a resting arm beyond the model's; see :meth:`learn_load`."""
        return self._load.present

    def _send(
        self,
        command: Command,
        wanted: Array,
        state: RobotState,
        kin: RobotDynamics,
        dt: float,
        soft_limits: bool = True,
    ) -> Command:
        """The command with its values as near to those wanted (n,) as limits and rates allow."""
        mode = command.mode
        if self.settings.current is not self._adopted:
            self._adopt(self.settings.current)
        counted = dt if dt <= self._usual and not self._taken_over else self._countable(dt)
        last = self._last
        if last is None or mode is not self.mode:
            last = self.start(mode, state, kin)
        if self._impact.acts:
            self._bound_impact(command, last, state, kin)
        sent = np.empty(self._shape)
        asked = as_row(command.values)
        wanted = asked if wanted is command.values else as_row(wanted)
        watches = soft_limits and mode is CommandMode.EFFORT
        guard = self._guard if soft_limits else None
        if guard is not None:
            guard.refresh()
        found = limit_command(
            _KINDS[mode],
            asked,
            wanted,
            last,
            last if mode is CommandMode.VELOCITY else self._position_rate,
            state.q,
            state.v,
            kin.jacobian,
            kin.gravity,
            state.age,
            self._bounds,
            self._soft_row if watches else self._no_row,
            self._no_row if guard is None else self._guard_row,
            counted,
            self.limited,
            sent,
        )
        self._interval = dt if dt < LONGEST_INTERVAL else LONGEST_INTERVAL
        self._taken_over = 0.0
        if mode is not self.mode:
            self._begin(mode)
        self._last = sent
        self._executed = sent
        if watches and self._soft_limits is not None:
            self._soft_limits.remember(state)
            if found != 0 or self._soft_limits.acts:
                self._executed = self._with_soft_limits(
                    self._soft_limits, sent, state, kin, not found & NOT_CLEAR
                )
        elif found & NOT_FAR and guard is not None:
            self._slow(guard, mode, last, state, counted, sent)
        if mode is CommandMode.POSITION:
            self._position_rate = (sent - last) / counted
        torque = None
        if command.feedforward is not None or self._last_extra is not None:
            torque = self._limited_feedforward(command.feedforward, counted)
        velocity = command.velocity
        if velocity is not None:
            velocity = np.minimum(
                np.maximum(velocity, -self._limits.velocity), self._limits.velocity
            )
        self.sent_velocity = velocity
        return Command(mode, self._executed, torque, velocity)

    def _adopt(self, settings: LimitSettings) -> None:
        self._adopted = settings
        self._bounds_by_name["tip_speed"] = TIP_SPEED * settings.max_tip_speed
        if self._soft_limits is not None:
            self._soft_limits.set_tip_speed(settings.max_tip_speed)

    def _bound_impact(
        self, command: Command, last: Array, state: RobotState, kin: RobotDynamics
    ) -> None:
        """Lower the tip's speed limit to that of the impact bound, where this is the smaller one.

        The bound counts along the arm's motion for efforts, else along the commanded motion.
        """
        self._adopted = None  # so that the other limit counts again where this one ends
        limit = self.settings.current.max_tip_speed
        rate = state.v
        if command.mode is CommandMode.POSITION:
            rate = command.values - last
        elif command.mode is CommandMode.VELOCITY:
            rate = command.values
        bound = self._impact.speed(kin.jacobian[:3].dot(rate))
        if bound >= limit:
            return
        self._bounds_by_name["tip_speed"] = TIP_SPEED * bound
        if self._soft_limits is not None:
            self._soft_limits.brake_tip_at(bound, "contact.max_impact")

    def _countable(self, dt: float) -> float:
        """The part of the time since the last command, `dt` [s], in which the next one may change.

        The last command of another was executed until now, whatever the time since our own.
        """
        if self._taken_over:
            return min(dt, self._taken_over * self._period)
        return min(dt, LONGEST_STEP * max(self._period, self._interval))

    def _slow(
        self,
        guard: ClearanceGuard,
        mode: CommandMode,
        last: Array,
        state: RobotState,
        dt: float,
        sent: Array,
    ) -> None:
        """Slow down a command (n,) of positions or velocities at which near bodies approach
        each other too fast.
        """
        acceleration = self._acceleration
        if mode is CommandMode.POSITION:
            rate = self._position_rate
            guard.slow(last, dt, rate, acceleration, state.time, last, dt, self.limited, sent)
        else:
            guard.slow(
                self._none, 1.0, last, acceleration, state.time, state.q, dt, self.limited, sent
            )

    def _begin(self, mode: CommandMode) -> None:
        """Begin with commands in another mode: forget what the last mode has left behind.

        That is the torque that was fed forward, the held load, and the samples of the soft limits.
        """
        self._last_extra = None
        if mode is not CommandMode.EFFORT:
            self._load.forget()
        if self._soft_limits is not None:
            self._soft_limits.reset()
        self.mode = mode

    def _with_soft_limits(
        self,
        soft_limits: SoftLimits,
        efforts: Array,
        state: RobotState,
        kin: RobotDynamics,
        clear: bool,
    ) -> Array:
        """Efforts (n,) with the torques of the soft limits, within the effort limits."""
        added = soft_limits.add(efforts, state, kin, clear)
        return efforts if added is efforts else np.clip(added, *self._effort_bounds)

    def _limited_feedforward(self, wanted: Array | None, dt: float) -> Array | None:
        """Torque (n,) fed forward; None where there is none.

        A torque that is no longer wanted is led back to 0.
        """
        last = self._none if self._last_extra is None else self._last_extra
        bounded = self._none if wanted is None else np.clip(wanted, *self._effort_bounds)
        step = self._effort_rate * dt
        sent: Array = np.minimum(np.maximum(bounded, last - step), last + step)
        self._last_extra = sent if wanted is not None or sent.any() else None
        return self._last_extra

    @property
    def saturated(self) -> NDArray[np.bool_]:
        """(n,) True where the last command met a limit of effort, position or velocity."""
        return np.asarray(self.limited % 2.0 == SATURATED)

    @property
    def rate_limited(self) -> NDArray[np.bool_]:
        """(n,) True where the last command changed as fast as it may."""
        return np.asarray(self.limited >= RATE_LIMITED)

    def usable(self, command: Command) -> bool:
        """Return True where all parts of a command are (n,) finite numbers.

        :meth:`apply` replaces a command that isn't usable.
        """
        values = command.values
        if values.shape != self._shape or not is_finite(values):
            return False
        torque = command.feedforward
        velocity = command.velocity
        return (torque is None or self._finite(torque)) and (
            velocity is None or self._finite(velocity)
        )

    def _finite(self, values: Array) -> bool:
        return values.shape == self._shape and is_finite(values)


@compiled
def limit_command(
    kind: int,
    asked: Array,
    wanted: Array,
    last: Array,
    before: Array,
    q: Array,
    v: Array,
    jacobian: Array,
    gravity: Array,
    age: float,
    bounds: Array,
    soft_limits: Array,
    guard: Array,
    dt: float,
    limited: Array,
    sent: Array,
) -> int:
    """Bring a command within its limits and rates; see :class:`Safety`.

    Args:
        kind: Kind of the command: EFFORT, POSITION or VELOCITY.
        asked: Command (n,) that the law has asked for [N·m, rad or rad/s].
        wanted: Command (n,) that shall be sent in its place, in the same unit.
        last: Command (n,) that was sent last, in the same unit.
        before: Velocities (n,) that went with the last command, where this is one of positions or
            velocities [rad/s].
        q, v, gravity, age: Joint positions, velocities and gravity torques (n,) of the sample [rad,
            rad/s, N·m], and its age [s].
        jacobian: (6, n) Jacobian of the tip in the base, there.
        bounds: Bounds of the joints, see BOUNDS.
        soft_limits: Memory of the soft limits; of length 0 where none are looked at.
        guard: Memory of the clearance's guard, likewise.
        dt: Time since the last command [s].
        limited: Result (n,), marks of what has changed the command, see :class:`Safety`.
        sent: Result (n,), the command that may be sent.

    Returns:
        NOT_CLEAR where the soft limits have something to do, NOT_FAR where the guard has, their
        sum, or 0.
    """
    n = len(wanted)
    bound = _bounds_at(bounds, n)
    for joint in range(n):
        least = -bound.effort[joint]
        most = bound.effort[joint]
        rate = bound.effort_rate[joint]
        if kind != EFFORT:
            start = last[joint] if kind == POSITION else q[joint]
            acceleration = bound.acceleration[joint]
            fastest = bound.velocity[joint]
            down = _stopping_speed(start - bound.lower[joint], fastest, acceleration, dt)
            up = _stopping_speed(bound.upper[joint] - start, fastest, acceleration, dt)
            least = -down
            most = up
            rate = acceleration
            if kind == POSITION:
                down = max(down, acceleration * (dt / 2.0))
                up = max(up, acceleration * (dt / 2.0))
                least = (
                    bound.lower[joint]
                    if down >= fastest
                    else max(bound.lower[joint], last[joint] - down * dt)
                )
                most = (
                    bound.upper[joint]
                    if up >= fastest
                    else min(bound.upper[joint], last[joint] + up * dt)
                )
                if last[joint] < bound.lower[joint]:
                    least = min(bound.lower[joint], last[joint] + RETREAT * dt)
                if last[joint] > bound.upper[joint]:
                    most = max(bound.upper[joint], last[joint] - RETREAT * dt)
                rate = fastest
        bounded = min(max(wanted[joint], least), most)
        sent[joint] = min(max(bounded, last[joint] - rate * dt), last[joint] + rate * dt)
        limited[joint] = 0.0
        if asked[joint] != bounded:
            limited[joint] += SATURATED
        if bounded != sent[joint]:
            limited[joint] += RATE_LIMITED
    far = True
    if kind == EFFORT:
        if len(guard) > 0:
            far = is_far(guard, q, v, n)
    else:
        start = last if kind == POSITION else np.zeros(n)
        step = dt if kind == POSITION else 1.0
        _bound_tip_speed(
            start, step, before, bound.acceleration, jacobian, bound.tip_speed[0], dt, limited, sent
        )
        if len(guard) > 0:
            rates = (sent - start) / step
            far = is_far(guard, last, rates, n) if kind == POSITION else is_far(guard, q, rates, n)
    found = 0 if far else NOT_FAR
    if len(soft_limits) > 0 and not is_clear(soft_limits, sent, q, v, jacobian, gravity, age, n):
        found += NOT_CLEAR
    return found


@compiled
def _bound_tip_speed(
    start: Array,
    step: float,
    before: Array,
    acceleration: Array,
    jacobian: Array,
    most: float,
    dt: float,
    limited: Array,
    sent: Array,
) -> None:
    """Slow down commands that move the tip faster than `most` [m/s]; each joint as fast as it may
    brake.

    Args:
        start, step: Values of which a command's velocities follow: (sent - start) / step.
        before: Velocities (n,) of the last command [rad/s].
        acceleration: Largest change (n,) of the velocities in a second [rad/s²].
        jacobian: (6, n) Jacobian of the tip in the base.
        most: Largest speed of the tip [m/s].
        dt: Time since the last command [s].
        limited, sent: (n,) marks and command, which are changed.
    """
    rate = (sent - start) / step
    tip_speed = tip_speed_of(jacobian, rate)
    if not tip_speed > most:
        return
    slow_down(most / tip_speed, start, step, before, acceleration, dt, limited, sent)


@compiled
def _stopping_speed(room: float, velocity: float, acceleration: float, dt: float) -> float:
    """Speed from which a joint still stops within `room`: v² = 2 a d, less that of half a cycle."""
    braking = 2.0 * acceleration
    speed = math.sqrt(braking * max(room, 0.0)) - braking * (dt / 4.0)
    return min(max(speed, 0.0), velocity)
