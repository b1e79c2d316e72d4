"""The watchdog of commands: where they fail to come, it brings the robot to rest itself.

A forward command controller holds the last command for ever, whatever it is. No ROS and no clock
in here: times are arguments.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from ..core.compiled import compile_now
from ..core.errors import ConfigError
from ..core.timeout import Timeout
from ..core.types import Command, CommandMode, RobotState, is_finite
from ..robot.configuration import RobotConfig
from ..robot.model import RobotModel
from ..sensing.joint_jumps import JointJumps
from .blind_stop import BlindStop, RecentMotion
from .held_load import LOAD_PERIOD, SMOOTHING
from .safety import Safety
from .sample_order import SampleOrder

# s, and periods, without a joint state after which the last one doesn't brake any more
STALE = 0.02
STALE_PERIODS = 3
FINAL_COMMANDS = 50  # at most, that lead to one that doesn't brake any more
# rad/s (m/s) below which the joints are at rest, and for how long [s]
REST_SPEED = 0.02
REST_TIME = 0.2


class CommandWatchdog:
    """Watches the commands of a robot's controllers, and commands the robot itself when these fail
    to come.

    A controller answers joint states, so commands are missed only while joint states come: a paused
    simulation is no silence. The first command arms the watchdog. Where joint states come and no
    command has come for `timeout`, it takes the robot over. The time counts by the steady clock,
    and in a simulation by the stamps of the joint states as well. Each joint state is then answered
    by a command. These commands lead from the last one received to the robot's safe output, within
    the limits and rates of :class:`Safety`.

    Where joint states fail to come as well, a controller brakes the robot itself. After
    `state_timeout` without any the watchdog brakes it, by a :class:`BlindStop`. A robot that is
    taken over already is braked so at once: torque that brakes a joint accelerates it as soon as it
    stands.

    It yields to any other command. Commands of another size, or that aren't finite, don't count:
    forward command controllers drop them.

    Args:
        robot, model: Configuration and model of the robot.
        timeout: Longest silence [s]; in any case three joint states stay without a command.
        state_timeout: Longest time with neither joint states nor commands [s]; longer than the
            controller's own.
        simulated: True where the stamps of joint states are those of a simulation, which may pause
            or be slow.

    Attributes:
        timeout: Longest silence [s].
        active: True while the watchdog commands the robot.
        at_rest: True where the robot, taken over, has come to rest.
        silence, longest_silence: Time for which commands have been missed, and the longest such
            time that ended without a takeover [s].
    """

    def __init__(
        self,
        robot: RobotConfig,
        model: RobotModel,
        timeout: float,
        state_timeout: float,
        simulated: bool,
    ) -> None:
        self.timeout = timeout
        self.active = False
        self.at_rest = False
        self.silence = 0.0
        self.longest_silence = 0.0
        self._robot = robot
        self._model = model
        self._simulated = simulated
        self._state_timeout = max(state_timeout, self.timeout)
        self._stale = max(STALE, STALE_PERIODS * robot.period)
        self._safety = Safety(robot, model.limits)
        self._unanswered = Timeout(self.timeout)
        self._nothing = Timeout(self._state_timeout)
        self._last: Command | None = None  # received
        self._state: RobotState | None = None
        self._clock = 0.0  # of the simulation, at the last poll
        self._sent_at = 0.0
        self._moved_at = 0.0
        self._load_at = 0.0  # time of the last look at what the arm holds [s]
        self._state_at = 0.0  # when the last state came [s]
        self._order = SampleOrder(robot.period)
        self._jumps = JointJumps(model, robot.period)
        self._recent_motion = RecentMotion()
        self._blind_stop: BlindStop | None = None  # where states fail to come
        compile_now([self._rehearse])

    @property
    def armed(self) -> bool:
        """True where a command has come."""
        return self._last is not None

    @property
    def mode(self) -> CommandMode | None:
        """Mode of the last command received; None where none has come."""
        return None if self._last is None else self._last.mode

    @property
    def moves(self) -> bool:
        """True where a joint moves in the last state."""
        return self._state is not None and bool(np.abs(self._state.v).max() >= REST_SPEED)

    def on_command(self, command: Command, now: float) -> bool:
        """Take up a controller's command, received at the steady time `now` [s].

        Returns:
            True where the command counts: one of another size, or that isn't finite, doesn't.
        """
        if not self._safety.usable(command):
            return False
        if not self.active:
            self.longest_silence = max(self.longest_silence, self.silence)
        self.active = False
        self.at_rest = False
        self._last = command
        self.silence = 0.0
        self._learn_load(command, now)
        self._unanswered.restart(
            *self._times(now, 0.0 if self._state is None else self._state.time)
        )
        self._nothing.restart(*self._times(now, self._clock))
        return True

    def _learn_load(self, command: Command, now: float) -> None:
        """Look from time to time at the load that the arm holds under a controller's efforts."""
        since = now - self._load_at
        if command.mode is not CommandMode.EFFORT or self._state is None or since < LOAD_PERIOD:
            return
        self._load_at = now
        kin = self._model.at(self._state.q, self._state.v)
        self._safety.learn_load(command.values, self._state, kin, min(since, SMOOTHING))

    def on_state(self, state: RobotState, now: float) -> Command | None:
        """The command for a joint state that came at the steady time `now` [s]; None where none is
        due.

        States with numbers that no joint can have, or can have reached, are ignored. So are those
        that bring no new time.
        """
        if not (is_finite(state.q) and is_finite(state.v)):
            return None
        try:
            self._model.limits.check_sample(state.q, state.v)
            self._jumps.check(state.time, state.q, state.v)
        except ConfigError:
            return None
        if not self._order.judge(state.time).new:
            self._jumps.pass_over()
            return None
        self._jumps.accept(state.time, state.q, state.v)
        if (
            self._last is not None and self._last.mode is CommandMode.POSITION
        ):  # commands may count turns from elsewhere
            state = replace(
                state, q=self._last.values + self._model.wrap(state.q - self._last.values)
            )
        self._state = state
        self._state_at = now
        self._recent_motion.observe(state)
        self._blind_stop = None
        if np.abs(state.v).max() >= REST_SPEED:
            self._moved_at = now
        if self._last is None:
            return None
        self._nothing.restart(*self._times(now, self._clock))
        self.silence = self._unanswered.poll(*self._times(now, state.time))
        if not self.active and self.silence <= self.timeout:
            return None
        command = self._command(self._last, now)
        self.at_rest = now - self._moved_at >= REST_TIME
        return command

    def poll(self, now: float, clock: float = 0.0, hears: bool = True) -> Command | None:
        """The command where neither states nor commands come any more; None where none is due.

        Call it 50 times a second or more.

        Args:
            now: Steady time [s].
            clock: Time of the simulation [s]; unused where the robot isn't simulated.
            hears: True where this process receives messages at all: one that is deaf takes no robot
                over.
        """
        self._clock = clock
        if self._last is None or self._state is None:
            return None
        silence = self._nothing.poll(*self._times(now, clock))
        if silence <= (self._stale if self.active else self._state_timeout):
            return None
        if not self.active and not hears:
            return None
        self.silence = silence
        if self._blind_stop is None:
            acceleration = self._recent_motion.acceleration(self._state)
            state = self._on_turn_of(self._last, self._state)
            age = self._state_age(state, now)
            mass = self._safety.held_mass
            self._blind_stop = BlindStop(self._robot, self._model, state, acceleration, age, mass)
        command = self._command(self._last, now)
        rested = self._state_at - self._moved_at >= REST_TIME
        self.at_rest = rested or self._blind_stop.ended(
            self._state_age(self._state, now) - REST_TIME
        )
        return command

    def disarm(self) -> None:
        """Do nothing until the next command comes."""
        self.active = False
        self.at_rest = False
        self.silence = 0.0
        self._last = None

    def final_commands(self) -> Iterator[Command]:
        """The last commands before the watchdog ends, one a period.

        There are none where the robot isn't taken over, or is at rest.

        They lead to one that holds the robot and doesn't brake any more: nobody changes it after
        that.
        """
        last = self._last
        if not self.active or self.at_rest or last is None or self._state is None:
            return
        kin = self._model.update(self._state.q, self._state.v)
        values = None
        for _ in range(FINAL_COMMANDS):
            command = self._safety.safe_output(
                last.mode, self._state, kin, self._robot.period, fresh=False
            )
            yield command
            if values is not None and np.array_equal(command.values, values):
                return
            values = command.values

    def _rehearse(self) -> None:
        """Make safe outputs that nobody gets, so that nothing is compiled when the
        robot is taken over.
        """
        robot = self._robot
        model = self._model
        home = np.array(robot.home)
        rest = np.zeros(robot.n)
        state = RobotState(0.0, home, rest, rest)
        kin = model.at(home)
        for mode in robot.profile.commands:
            safety = Safety(robot, model.limits)
            for _ in range(2):  # the second one is judged by the first
                safety.safe_output(mode, state, kin, robot.period)

    def _times(self, now: float, simulated: float) -> tuple[float, ...]:
        return (now, simulated) if self._simulated else (now,)

    def _state_age(self, state: RobotState, now: float) -> float:
        """Age of the last state [s], by the clock that makes it youngest.

        In a slow simulation, the arm moves as slowly.
        """
        age = now - self._state_at
        return min(age, max(self._clock - state.time, 0.0)) if self._simulated else age

    def _command(self, last: Command, now: float) -> Command:
        """The next command of the safe output: for a new state, or without one."""
        if not self.active:
            self._safety.take_over(last)
            self.active = True
            self._sent_at = now - self._robot.period
        dt = now - self._sent_at
        self._sent_at = now
        assert self._state is not None
        if self._blind_stop is not None:
            return self._safety.brake_blindly(
                last.mode, self._blind_stop, self._state_age(self._state, now), dt
            )
        state = self._on_turn_of(last, self._state)
        kin = self._model.update(state.q, state.v)
        return self._safety.safe_output(last.mode, state, kin, dt)

    def _on_turn_of(self, last: Command, state: RobotState) -> RobotState:
        """The state with its cyclic joints on the turn of a command of positions, which may
        count from elsewhere.
        """
        if last.mode is not CommandMode.POSITION:
            return state
        return replace(state, q=last.values + self._model.wrap(state.q - last.values))
