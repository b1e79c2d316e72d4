"""One cycle of all motors: frames that came, supervisor, frames to send. No I/O, no clock."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from enum import Enum

import numpy as np

from ...core.errors import ConfigError
from ...core.types import Array, Command, CommandMode, RobotState
from ..command_checks import check_command, describe_jump
from ..supervisor import Action, StateMeanings, Supervisor, SupervisorLimits
from .can_arm import CanArm
from .frames import CanFrame
from .motors import Reply

ENABLE_EVERY = 10  # cycles between two orders to a motor that doesn't follow the first one
STATUS_EVERY = 20  # cycles between two questions for temperature and errors, of one motor in turn
BRAKED = 0.05  # rad/s, of each joint: slower, a stopped arm is held where it is
BRAKE_TIME = 0.25  # s, after which it is held in any case
OUTSTANDING = 3  # replies of a motor that may still come; more are taken for lost
STRANGERS = 8  # identifiers of nobody that are told
_MODES = (CommandMode.EFFORT, CommandMode.POSITION)


class MotorState(Enum):
    """State of a motor."""

    UNKNOWN = "no reply yet"
    DISABLED = "disabled"
    ENABLED = "enabled"
    HOLDING = "holding"  # enabled, and held where a stop ended
    FAULT = "fault"


MEANINGS = StateMeanings(
    enabled=MotorState.ENABLED,
    moving=(MotorState.ENABLED,),
    faults=(MotorState.FAULT,),
    unknown=MotorState.UNKNOWN,
)


class _Wish(Enum):
    """What a user asked for last."""

    NOTHING = "nothing"  # motors stay as they were found
    ENABLE = "enable"
    RELEASE = "release"


class MotorSupervisor(Supervisor):
    """Supervisor of motors, which are not enabled while one of them is too hot."""

    def __init__(
        self,
        names: Sequence[str],
        limits: SupervisorLimits | None,
        failures: Callable[[], Sequence[str]],
    ) -> None:
        super().__init__(names, MEANINGS, limits)
        self._failures = failures

    def problems(self) -> list[str]:
        """Failures of the motors."""
        pairs = zip(self._names, self._failures(), strict=True)
        return [f"{name}: {failure}" for name, failure in pairs if failure]


_Owners = dict[tuple[int, int], tuple[int, Reply]]


def _by_masks(replies: Sequence[Sequence[Reply]]) -> dict[tuple[int, int], _Owners]:
    """For each pair of masks the owners, motor and reply, by what the masked bits are.

    Masks that more bits tell from others come first.
    """
    found: dict[tuple[int, int], _Owners] = {}
    for i, of_motor in enumerate(replies):
        for reply in of_motor:
            masks = (reply.identifier_mask, reply.data_mask)
            found.setdefault(masks, {})[reply.key] = (i, reply)
    ordered = sorted(found, key=lambda masks: masks[1].bit_count(), reverse=True)
    return {masks: found[masks] for masks in ordered}


class MotorCycle:
    """Takes the frames that came, and makes those that shall go.

    Per cycle: :meth:`sense`, then :meth:`command` where there is a new one, then :meth:`act`.

    A command of torques goes into the frames as feed-forward. Where the arm's file has a guard, the
    frames carry stiffness and damping as well, about the measured state, so that the torque is the
    commanded one there. A command of positions is joint impedance in the motors: their stiffness
    and damping about it, and the arm's weight as feed-forward. A stopped arm is braked by the
    motors' damping, and then held by their stiffness, under the arm's weight. It stays so until a
    user disables it: an arm without brakes would fall.

    Args:
        arm: Motors of the arm.
        joints: Names of the robot's joints, in its order.
        weight: Function of the joint angles (n,) [rad] that returns the torques (n,) which hold the
            arm's weight [N·m].
        limits: Limits of the supervisor.

    Attributes:
        motors: Motors in the order of the joints.
        supervisor: Supervisor of all motors.
        q, v, effort: Joint angles, velocities and torques (n,) of the last replies [rad, rad/s,
            N·m].
        temperatures: Temperature (n,) of each motor, the higher one of winding and driver [°C].
        lost_replies, strange_frames, clipped: Numbers of replies that didn't come, of frames of
            nobody, and of torques that were cut off at a motor's limit.

    Raises:
        ConfigError: the motors don't move the robot's joints.
    """

    def __init__(
        self,
        arm: CanArm,
        joints: Sequence[str],
        weight: Callable[[Array], Array],
        limits: SupervisorLimits | None = None,
    ) -> None:
        self.motors = arm.in_order_of(joints)
        self.supervisor = MotorSupervisor(joints, limits, self._failures)
        n = len(self.motors)
        self.q = np.zeros(n)
        self.v = np.zeros(n)
        self.effort = np.zeros(n)
        self.temperatures = np.full(n, math.nan)
        self.lost_replies = 0
        self.strange_frames = 0
        self.clipped = 0
        self._arm = arm
        self._joints = tuple(joints)
        self._weight = weight
        self._codecs = [motor.codec() for motor in self.motors]
        self._sign = np.array([motor.sign for motor in self.motors])
        self._offset = np.array([motor.offset for motor in self.motors])
        self._limit = np.array([motor.torque_limit for motor in self.motors])
        self._stiffness = np.array([motor.stiffness for motor in self.motors])
        self._damping = np.array([motor.damping for motor in self.motors])
        self._replies = _by_masks([codec.replies for codec in self._codecs])
        self._states = [MotorState.UNKNOWN] * n
        self._errors = [""] * n
        self._codes: list[tuple[int | None, int]] = [(None, 0)] * n
        self._outstanding = [0] * n
        self._extra = [0] * n  # cycles in a row with more replies than questions
        self._strangers: dict[int, int] = {}
        self._time = 0.0
        self._count = 0
        self._command: Command | None = None
        self._commanded_at = -math.inf
        self._sent: list[CanFrame] = []  # frames of the last command that went out
        self._position: Array | None = None  # the last position command that was sent
        self._held: Array | None = None  # where a stopped or enabling arm is held
        self._stopped_at = math.nan
        self._action = Action.DISABLE
        self._wish = _Wish.NOTHING
        self._released_at = -math.inf  # number of the cycle

    # --- what came ---

    def sense(self, time: float, frames: Sequence[CanFrame], trouble: str = "") -> bool:
        """Take the frames that came since the last cycle; returns True where each motor replied.

        Args:
            time: Time of this cycle, by a clock that doesn't go back [s].
            frames: Frames in their order.
            trouble: What the bus's controller says is wrong; empty where nothing is.
        """
        self._time = time
        counts = [0] * len(self.motors)
        for frame in frames:
            if not self._take(frame, counts):
                self._note_stranger(frame)
        problem = trouble or self._missing(counts)
        supervisor = self.supervisor
        if trouble:
            supervisor.trip(trouble)
        elif not problem:
            supervisor.all_well()
        supervisor.exchanges.count(problem)
        age = time - self._commanded_at
        action = supervisor.decide(time, self._shown_states(), self._failures(), age)
        if action is not self._action:
            self._enter(action)
        return not problem

    def _shown_states(self) -> list[MotorState]:
        """States of the motors; those that hold a stopped arm are told from those that move it."""
        stopped = self._action in (Action.QUICK_STOP, Action.DISABLE) and self._held is not None
        if not stopped:
            return self._states
        return [
            MotorState.HOLDING if state is MotorState.ENABLED else state for state in self._states
        ]

    def _take(self, frame: CanFrame, counts: list[int]) -> bool:
        data = int.from_bytes(frame.data.ljust(8, b"\0"), "big")
        for (identifier_mask, data_mask), replies in self._replies.items():
            owner = replies.get((frame.identifier & identifier_mask, data & data_mask))
            if owner is not None and frame.extended == self.motors[owner[0]].family.extended:
                i, reply = owner
                self._take_numbers(i, reply.unpack(frame.identifier, data), counts)
                return True
        return False

    def _take_numbers(self, i: int, numbers: dict[str, float], counts: list[int]) -> None:
        motor = self.motors[i]
        if "position" in numbers:
            counts[i] += 1
            self.q[i] = motor.sign * numbers["position"] + motor.offset
            self.v[i] = motor.sign * numbers.get("velocity", 0.0)
            self.effort[i] = motor.sign * numbers.get("torque", 0.0)
        if "temperature" in numbers:
            warmer = max(numbers["temperature"], numbers.get("driver_temperature", -math.inf))
            self.temperatures[i] = warmer
        if "state" in numbers or "errors" in numbers:
            state = int(numbers["state"]) if "state" in numbers else None
            codes = (state, int(numbers.get("errors", 0)))
            if codes != self._codes[i] or self._states[i] is MotorState.UNKNOWN:
                self._codes[i] = codes
                self._errors[i] = motor.family.error_text(*codes)
        self._states[i] = self._state_of(i)

    def _state_of(self, i: int) -> MotorState:
        if self._errors[i]:
            return MotorState.FAULT
        family = self.motors[i].family
        if family.enabled is None:  # no frame says it: a motor follows its first command
            active = self._wish is _Wish.ENABLE
            return MotorState.ENABLED if active else MotorState.DISABLED
        enabled = self._codes[i][0] == family.enabled
        return MotorState.ENABLED if enabled else MotorState.DISABLED

    def _note_stranger(self, frame: CanFrame) -> None:
        self.strange_frames += 1
        known = frame.identifier in self._strangers
        if not known and len(self._strangers) < STRANGERS:
            self.supervisor.note(
                f"frame {frame} is none of {self._arm.path.name}: another motor on the bus, or one "
                "with a wrong id or reply_id"
            )
        if known or len(self._strangers) < STRANGERS:
            self._strangers[frame.identifier] = self._strangers.get(frame.identifier, 0) + 1

    def _missing(self, counts: list[int]) -> str:
        """Text about motors that didn't reply, or replied too often; empty where all is well."""
        missing = []
        for i, count in enumerate(counts):
            surplus = count > self._outstanding[i]
            self._outstanding[i] = max(0, self._outstanding[i] - count)
            self._extra[i] = self._extra[i] + 1 if surplus else 0
            if count == 0:
                missing.append(str(self.motors[i]))
        self.lost_replies += len(missing)
        twice = [str(self.motors[i]) for i, cycles in enumerate(self._extra) if cycles]
        for i, cycles in enumerate(self._extra):
            if cycles >= self.supervisor.limits.bad_cycles:
                self.supervisor.trip(self._twice_text([str(self.motors[i])]))
        if missing:
            heard = [f"0x{identifier:X}" for identifier in self._strangers]
            strangers = f"; frames of nobody: {', '.join(heard)}" if heard else ""
            return f"no reply of {', '.join(missing)}{strangers}"
        return self._twice_text(twice) if twice else ""

    @staticmethod
    def _twice_text(names: Sequence[str]) -> str:
        return f"more replies than questions of {', '.join(names)}: do two motors have one id?"

    def _failures(self) -> list[str]:
        failures = []
        for i, motor in enumerate(self.motors):
            failure = self._errors[i]
            if not failure and self.temperatures[i] > motor.temperature_limit:
                failure = f"{self.temperatures[i]:g} °C (temperature_limit {motor.temperature_limit:g} °C)"
            failures.append(failure)
        return failures

    # --- what shall go ---

    def _enter(self, action: Action) -> None:
        moved = self._action in (Action.RUN, Action.HOLD, Action.ENABLE)
        self._action = action
        if action is Action.ENABLE:
            self._wish = _Wish.ENABLE
        if action is Action.ENABLE or (moved and action in (Action.QUICK_STOP, Action.DISABLE)):
            self._held = None
            self._stopped_at = self._time
            self._sent = []
            self._position = None

    def release(self) -> None:
        """Let the motors go: a user disables them. An arm without brakes falls."""
        self.supervisor.request_disable()
        self._wish = _Wish.RELEASE
        self._released_at = self._count

    def command(self, command: Command, time: float) -> None:
        """Take a command and its time, by the clock of :meth:`sense` [s]; one older than the last
        is left alone.

        Raises:
            ConfigError: not of the joints' number, not finite, or of velocities; the last stays.
        """
        if command.mode not in _MODES:
            valid = tuple(mode.value for mode in _MODES)
            raise ConfigError(
                f"command {command.mode.value}: motors in MIT mode take {' or '.join(valid)}",
                name="command",
                value=command.mode.value,
                bound=valid,
            )
        check_command(command, len(self.motors))
        if time < self._commanded_at:
            return
        self._command = command
        self._commanded_at = time

    def act(self) -> list[CanFrame]:
        """The frames of this cycle: one for each motor, and a question now and then."""
        self._count += 1
        frames = self._frames_of(self._action)
        self._outstanding = [min(count + 1, OUTSTANDING) for count in self._outstanding]
        return frames + self._questions()

    def _frames_of(self, action: Action) -> list[CanFrame]:
        if action is Action.RUN:
            assert self._command is not None
            if self._jumps(self._command):
                return self._stop_frames()
            self._sent = self._command_frames(self._command)
            return self._sent
        if action is Action.HOLD and self._sent:
            return self._sent  # a motor keeps its damping: nothing is set to zero
        if action is Action.ENABLE:
            return self._enable_frames()
        if action is Action.DISABLE and self._wish is _Wish.RELEASE:
            return self._release_frames()
        if action is Action.DISABLE and self._wish is _Wish.NOTHING:
            return [self._request(i) for i in range(len(self.motors))]
        return self._stop_frames()

    def _command_frames(self, command: Command) -> list[CanFrame]:
        if command.mode is CommandMode.POSITION:
            velocity = np.zeros(len(self.motors)) if command.velocity is None else command.velocity
            torque = self._weight(self.q)
            if command.feedforward is not None:
                torque = torque + command.feedforward
            self._position = command.values
            return self._frames(command.values, velocity, 1.0, torque)
        self._position = None
        torque = self._clipped(command.values)
        guard = self._arm.guard
        # at the measured velocity the motor's damper takes just what is added here
        torque = torque + guard * self._damping * self.v
        return self._frames(self.q, np.zeros(len(self.motors)), guard, torque)

    def _frames(
        self, position: Array, velocity: Array, share: float, torque: Array
    ) -> list[CanFrame]:
        """Frames of joint angles, velocities and torques, with a share of stiffness and damping.

        The angle is at most so far away that stiffness and torque stay within the motor's limit.
        """
        torque = self._clipped(torque)
        stiffness = share * self._stiffness
        damping = share * self._damping
        room = np.maximum(self._limit - np.abs(torque), 0.0) / np.maximum(stiffness, 1e-9)
        position = self.q + np.clip(position - self.q, -room, room)
        at = self._sign * (position - self._offset)
        speed = self._sign * velocity
        push = self._sign * torque
        rows = zip(
            self._codecs,
            at.tolist(),
            speed.tolist(),
            stiffness.tolist(),
            damping.tolist(),
            push.tolist(),
            strict=True,
        )
        return [codec.command(q, v, kp, kd, tau) for codec, q, v, kp, kd, tau in rows]

    def _clipped(self, torque: Array) -> Array:
        within = np.clip(torque, -self._limit, self._limit)
        self.clipped += int((within != torque).sum())
        return within

    def _stop_frames(self) -> list[CanFrame]:
        """Frames that brake with the motors' damping, and then hold."""
        braking = self._time - self._stopped_at < BRAKE_TIME and np.abs(self.v).max() > BRAKED
        if self._held is None and not braking:
            self._held = self.q.copy()
        position = self.q if self._held is None else self._held
        return self._frames(position, np.zeros(len(self.motors)), 1.0, self._weight(self.q))

    def _enable_frames(self) -> list[CanFrame]:
        frames = self._stop_frames()
        for i, codec in enumerate(self._codecs):
            order = codec.order("enable")
            if order is not None and self._states[i] is not MotorState.ENABLED:
                due = (self._count + i) % ENABLE_EVERY == 0
                frames[i] = order if due else self._request(i)
        return frames

    def _release_frames(self) -> list[CanFrame]:
        first = self._count - self._released_at <= ENABLE_EVERY
        frames = []
        for i, codec in enumerate(self._codecs):
            order = codec.order("disable")
            assert order is not None  # each family has one
            enabled = self._states[i] is not MotorState.DISABLED
            frames.append(order if enabled or first else self._request(i))
        return frames

    def _request(self, i: int) -> CanFrame:
        frame = self._codecs[i].order("request")
        assert frame is not None  # each family has one
        return frame

    def _questions(self) -> list[CanFrame]:
        if self._count % STATUS_EVERY:
            return []
        i = self._count // STATUS_EVERY % len(self.motors)
        frame = self._codecs[i].order("status")
        return [] if frame is None else [frame]

    def _jumps(self, command: Command) -> bool:
        """Trip where a position command is far from the joints, or from the last one."""
        if command.mode is not CommandMode.POSITION:
            return False
        start = self.q if self._position is None else self._position
        jump = describe_jump(self._joints, start.tolist(), command.values.tolist())
        if jump:
            self.supervisor.trip(jump)
            self._enter(self.supervisor.action)
        return bool(jump)

    # --- what it says ---

    @property
    def action(self) -> Action:
        """Action of the motors."""
        return self.supervisor.action

    @property
    def is_still(self) -> bool:
        """True where nothing was enabled, or a stopped arm is held, or let go."""
        if self._action is not Action.DISABLE:
            return False
        return self._wish is not _Wish.ENABLE or self._held is not None

    @property
    def is_released(self) -> bool:
        """True where each motor is known to be disabled."""
        return all(state is MotorState.DISABLED for state in self._states)

    def orders(self, name: str) -> list[CanFrame]:
        """One order for each motor, as `clear` or `zero`."""
        frames = (codec.order(name) for codec in self._codecs)
        return [frame for frame in frames if frame is not None]

    def state(self, time: float) -> RobotState:
        """The joints in the last fresh cycle, stamped [s]."""
        return RobotState(time, self.q.copy(), self.v.copy(), self.effort.copy())

    def describe(self) -> list[dict[str, object]]:
        """Report of each motor, as JSON has it."""
        rows: list[dict[str, object]] = []
        failures = self._failures()
        states = self._shown_states()
        for i, motor in enumerate(self.motors):
            temperature = float(self.temperatures[i])
            values: dict[str, object] = {
                "motor": str(motor),
                "torque [N·m]": round(float(self.effort[i]), 3),
            }
            if not math.isnan(temperature):
                values["temperature [°C]"] = temperature
            rows.append(
                {
                    "joint": motor.joint,
                    "state": states[i].value,
                    "error": self._errors[i],
                    "failure": "" if self._errors[i] else failures[i],
                    "values": values,
                }
            )
        return rows
