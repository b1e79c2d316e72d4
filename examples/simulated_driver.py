"""A driver of your own: a bus of simulated drives, at the rate of the robot's profile.

Type what docs/fieldbus.md says, in this folder.

A driver has the methods of ``robot_control_ros.fieldbus.driver.Driver``. Real ones talk to drives
in `sense` and `act`; this one lets MuJoCo do what the drives would.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any

from robot_control_ros import (
    Command,
    CommandMode,
    ConfigError,
    MujocoPlant,
    RobotConfig,
    RobotState,
)
from robot_control_ros.fieldbus.command_checks import check_command
from robot_control_ros.fieldbus.driver_options import read_options
from robot_control_ros.fieldbus.process.pacing import Timing
from robot_control_ros.fieldbus.process.realtime import sleep_until
from robot_control_ros.fieldbus.process.rpc import BetweenCycles
from robot_control_ros.fieldbus.supervisor import (
    Action,
    StateMeanings,
    Supervisor,
    SupervisorLimits,
)

HOLD_AFTER = 3  # cycles without a command after which the brakes close


class DriveState(Enum):
    """State of a simulated drive."""

    UNKNOWN = "unknown"
    DISABLED = "disabled"
    ENABLED = "enabled"
    FAULT = "fault"


MEANINGS = StateMeanings(
    enabled=DriveState.ENABLED,
    moving=(DriveState.ENABLED,),
    faults=(DriveState.FAULT,),
    unknown=DriveState.UNKNOWN,
)


@dataclass(frozen=True)
class SimulatedOptions:
    """Settings of the simulated bus.

    Attributes:
        real_time: False makes a cycle as fast as it goes.
    """

    real_time: bool = True


class SimulatedDriver:
    """Simulated drives that measure the wrench, too; disabled, their brakes hold."""

    measures_wrench = True
    warnings = ("these drives are simulated",)

    def __init__(
        self,
        robot: RobotConfig,
        address: str,
        options: Mapping[str, Any],
        limits: SupervisorLimits,
        timing: Timing,
        between: BetweenCycles,
    ) -> None:
        self.joints = robot.joints
        self.period = robot.period
        self.overruns = 0
        self.states = [DriveState.DISABLED] * robot.n
        self._robot = robot
        self._real_time = read_options(SimulatedOptions, options).real_time
        self._timing = timing
        self._between = between
        self._supervisor = Supervisor(robot.joints, MEANINGS, limits)
        self._command: Command | None = None
        self._commanded_at = -math.inf
        self._due = 0.0
        self._sent = 0.0
        self._received = 0.0

    @staticmethod
    def check_free(address: str) -> None:
        """Nobody else can have a simulated bus."""

    # --- the start and the end ---

    def prepare(self) -> None:
        """Make the arm, at home."""
        self._plant = MujocoPlant(self._robot, command_timeout=HOLD_AFTER * self.period)
        self._plant.open()
        self._sample = self._plant.sample()

    def operate(self) -> None:
        """Start the cycle."""
        self._due = time.monotonic()

    def close(self) -> None:
        """Let the brakes hold the arm."""
        self._supervisor.request_quick_stop()
        self._plant.close()

    # --- the cycle ---

    def sense(self) -> bool:
        """Wait for the cycle's time, and let the drives move for a period."""
        self._due += self.period
        now = time.monotonic()
        if self._real_time and now - self._due > 0.5 * self.period:
            left_out = round((now - self._due) / self.period)
            self.overruns += left_out
            self._due += left_out * self.period
        if self._real_time:
            sleep_until(self._due)
        else:
            self._due = now
        self._sent = time.monotonic()
        self._sample = self._plant.read()
        self._received = time.monotonic()
        self._supervisor.exchanges.count()
        age = self._received - self._commanded_at
        action = self._supervisor.decide(self._received, self.states, command_age=age)
        self._obey(action)
        return True

    def _obey(self, action: Action) -> None:
        """Do what real drives do by themselves: change their states."""
        on = action in (Action.ENABLE, Action.RUN, Action.HOLD)
        wanted = DriveState.ENABLED if on else DriveState.DISABLED
        self.states = [state if state is DriveState.FAULT else wanted for state in self.states]

    def state(self, time: float) -> RobotState:
        """The last sample, with the wrench."""
        sample = self._sample
        return RobotState(time, sample.q, sample.v, sample.effort, sample.wrench)

    def command(self, command: Command, time: float) -> None:
        """Take a command."""
        check_command(command, len(self.joints))
        self._plant.check(command)
        self._command = command
        self._commanded_at = time
        self._supervisor.waits_for_commands = command.mode is CommandMode.EFFORT

    def act(self) -> None:
        """Send the command, where it goes through; else the brakes close."""
        if self._command is not None and self.action is Action.RUN:
            self._plant.write(self._command)
        self._timing.add_cycle(
            self._due, self._sent, self._received, time.monotonic(), self.period, self.overruns
        )

    @property
    def action(self) -> Action:
        """Action of the drives."""
        return self._supervisor.action

    def trip(self, cause: str) -> None:
        """Stop all drives."""
        self._supervisor.trip(cause)

    def note(self, message: str) -> None:
        """Keep an event."""
        self._supervisor.note(message)

    def counters(self) -> dict[str, float]:
        """Numbers for the diagnostics."""
        return {"simulated time [s]": self._sample.time}

    # --- beside the cycle ---

    def look(self) -> None:
        """Nothing is hidden here."""

    def describe(self) -> dict[str, Any]:
        """Report for people."""
        supervisor = self._supervisor
        drives: list[dict[str, Any]] = [
            {"joint": joint, "state": state.value, "error": "", "failure": "", "values": {}}
            for joint, state in zip(self.joints, self.states, strict=True)
        ]
        return {
            "message": supervisor.message,
            "stopped": supervisor.stopped,
            "causes": supervisor.causes,
            "events": list(supervisor.events),
            "drives": drives,
            "facts": {"arm": self._robot.name},
        }

    @property
    def requests(self) -> Mapping[str, Callable[..., str]]:
        """What may be asked for."""
        return {
            "enable": lambda: self._between.call(self._enable),
            "disable": lambda: self._order(self._supervisor.request_disable, "disabled"),
            "quick_stop": lambda: self._order(self._supervisor.request_quick_stop, "stopping"),
            "reset_fault": lambda: self._order(self._reset, "no fault any more"),
        }

    def _order(self, action: Callable[[], None], message: str) -> str:
        self._between.call(action)
        return message

    def _enable(self) -> str:
        if obstacles := self._supervisor.request_enable():
            raise ConfigError("not enabled: " + "; ".join(obstacles))
        return "enabling"

    def _reset(self) -> None:
        self.states = [DriveState.DISABLED] * len(self.states)
