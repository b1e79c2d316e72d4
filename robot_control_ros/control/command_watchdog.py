"""When a controller has fallen silent, and what its robot is then sent.

A forward command controller holds the last command for ever, whatever it is. No ROS and no clock in here: times are
arguments.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..core.timeout import Timeout
from ..core.types import Command, CommandMode, RobotState, is_finite
from ..robot.configuration import RobotConfig
from ..robot.model import RobotModel
from .safety import Safety

STALE, STALE_PERIODS = 0.02, 3  # s, and periods, without a joint state after which the last one doesn't brake any more
MAX_STEP = 0.02  # s since the last command, at most, for which the next one may change
REST_SPEED, REST_TIME = 0.02, 0.2  # rad/s (m/s) below which the joints are at rest, and for how long [s]


class CommandWatchdog:
    """Watches the commands of a robot's controllers, and commands the robot itself when these fail to come.

    A controller answers joint states, so commands are missed only while joint states come: a paused simulation is no
    silence. The first command arms the watchdog. When joint states come and no command has for `timeout`, it takes the
    robot over. The time counts by the steady clock, and in a simulation by the stamps of the joint states as well. Each
    joint state then gets a command that leads from the last one received to the robot's safe output, within the limits
    and rates of :class:`Safety`. When joint states fail to come as well, a controller sends its safe output itself;
    after `state_timeout` without any the watchdog does it, from the last known state. Once the robot is taken over it
    does so at once: torque that brakes a joint accelerates it as soon as it stands.

    It yields to any other command. Commands of another size, or that aren't finite, don't count: forward command
    controllers drop them.

    Args:
        robot, model: the robot's configuration and its model.
        timeout: longest silence [s]; in any case three joint states stay without a command.
        state_timeout: longest time with neither joint states nor commands [s]; longer than the controller's own.
        simulated: whether the stamps of joint states are those of a simulation, which may pause or be slow.

    Attributes:
        timeout: the longest silence [s].
        active: whether it has the robot.
        at_rest: whether the robot, taken over, has come to rest.
        silence, longest_silence: how long commands have been missed, and the longest time without a takeover [s].
    """

    def __init__(
        self, robot: RobotConfig, model: RobotModel, timeout: float, state_timeout: float, simulated: bool
    ) -> None:
        self.timeout = timeout
        self.active = self.at_rest = False
        self.silence = self.longest_silence = 0.0
        self._robot, self._model, self._simulated = robot, model, simulated
        self._state_timeout, self._stale = max(state_timeout, self.timeout), max(STALE, STALE_PERIODS * robot.period)
        self._safety = Safety(robot, model.limits)
        self._unanswered, self._nothing = Timeout(self.timeout), Timeout(self._state_timeout)
        self._last: Command | None = None  # received
        self._state: RobotState | None = None
        self._clock = 0.0  # of the simulation, at the last poll
        self._sent_at = self._moved_at = 0.0

    @property
    def armed(self) -> bool:
        """Whether a command has come."""
        return self._last is not None

    @property
    def mode(self) -> CommandMode | None:
        """Of the last command received."""
        return None if self._last is None else self._last.mode

    def on_command(self, command: Command, now: float) -> bool:
        """Take up another's command, received at the steady time `now` [s]; returns whether it counts."""
        if not self._safety.usable(command):
            return False
        if not self.active:
            self.longest_silence = max(self.longest_silence, self.silence)
        self.active, self.at_rest = False, False
        self._last, self.silence = command, 0.0
        self._unanswered.restart(*self._times(now, 0.0 if self._state is None else self._state.time))
        self._nothing.restart(*self._times(now, self._clock))
        return True

    def on_state(self, state: RobotState, now: float) -> Command | None:
        """The command for a joint state that came at the steady time `now` [s]; None where none is due.

        States with numbers that aren't finite are ignored.
        """
        if not (is_finite(state.q) and is_finite(state.v)):
            return None
        self._state = state
        if np.abs(state.v).max() >= REST_SPEED:
            self._moved_at = now
        if self._last is None:
            return None
        self._nothing.restart(*self._times(now, self._clock))
        self.silence = self._unanswered.poll(*self._times(now, state.time))
        if not self.active and self.silence <= self.timeout:
            return None
        command = self._command(self._last, state, now, fresh=True)
        self.at_rest = now - self._moved_at >= REST_TIME
        return command

    def poll(self, now: float, clock: float = 0.0, hears: bool = True) -> Command | None:
        """The command where nothing comes any more; None where none is due. To be called 50 times a second or more.

        `now` is the steady time [s], `clock` that of the simulation [s], unused where the robot isn't simulated.
        `hears` says whether this process receives messages at all: one that is deaf takes no robot over.
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
        return self._command(self._last, self._state, now, fresh=False)

    def disarm(self) -> None:
        """Do nothing until the next command comes."""
        self.active = self.at_rest = False
        self.silence, self._last = 0.0, None

    def final_command(self) -> Command | None:
        """The last command before the watchdog ends; None where the robot isn't taken over, or at rest."""
        if not self.active or self.at_rest or self._last is None or self._state is None:
            return None
        kin = self._model.update(self._state.q, self._state.v)
        return self._safety.safe_output(self._last.mode, self._state, kin)

    def _times(self, now: float, simulated: float) -> tuple[float, ...]:
        return (now, simulated) if self._simulated else (now,)

    def _command(self, last: Command, state: RobotState, now: float, fresh: bool) -> Command:
        if not self.active:
            self._safety.take_over(last)
            self.active, self._sent_at = True, now - self._robot.period
        dt = min(now - self._sent_at, MAX_STEP)
        self._sent_at = now
        if last.mode is CommandMode.POSITION:  # commands may count turns from elsewhere
            q = last.values + self._model.wrap(state.q - last.values)
            self._state = state = replace(state, q=q)
        kin = self._model.update(state.q, state.v)
        return self._safety.approach_safe_output(last.mode, state, kin, dt, fresh)
