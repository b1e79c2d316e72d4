"""The protocol of a driver: what differs between field buses.

All else is the same for each bus: the process and its real-time priority, shared memory, the law in
the process, the node's topics and services.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from ..core.types import Command, RobotState
from ..robot.configuration import RobotConfig
from .process.pacing import Timing
from .process.rpc import BetweenCycles
from .supervisor import Action, SupervisorLimits


class Driver(Protocol):
    """Drives of one robot on a field bus, as the bus process runs them.

    One thread keeps the cycle. It calls prepare, operate, sense, state, command, act, counters,
    trip, note and close. The thread beside it calls look, describe and the requests. What these
    decide is handed to `between`, and takes effect between two cycles.

    Making a driver opens nothing. Its module imports no third-party library: the node and a
    client import it, too.

    Attributes:
        joints: Names of the joints, in the robot's order.
        period: Time between two cycles [s].
        measures_wrench: True where :meth:`state` has a wrench, but for times when it can't be
            measured. A law in the process then takes no other sensor's.
        overruns: Number of cycles that were left out, because the one before took longer.
    """

    joints: tuple[str, ...]
    period: float
    measures_wrench: bool
    overruns: int

    @property
    def warnings(self) -> Sequence[str]:
        """Warnings of prepare for the user, which go into the report."""

    @staticmethod
    def check_free(address: str) -> None:
        """Refuse an address that another process uses; the node calls it before the start.

        Raises:
            ConfigError: names the other process, where that is known.
        """

    def prepare(self) -> None:
        """Connect, check and configure. It may take long; nothing moves, nothing has to follow.

        Raises:
            ConfigError: the settings don't fit the drives.
            HardwareFault: a drive doesn't answer.
        """

    def operate(self) -> None:
        """Start the exchange, drives disabled; cycles must follow without a pause.

        A HardwareFault says why it doesn't start.
        """

    def sense(self) -> bool:
        """Wait for the cycle's time, and exchange; returns True where a fresh sample came."""

    def state(self, time: float) -> RobotState:
        """The last fresh sample, stamped [s]; with a wrench where the bus measures one."""

    def command(self, command: Command, time: float) -> None:
        """Take a command, and when it was given [s, by time.monotonic()].

        It has no effect before the drives are enabled.

        Raises:
            ConfigError: wrong size, not finite, or of a mode that the drives don't have; the last
                command stays.
        """

    def act(self) -> None:
        """Send the outputs, or make them ready for the next exchange; stopped drives get a stop."""

    @property
    def action(self) -> Action:
        """Action that the drives shall do now."""

    def trip(self, cause: str) -> None:
        """Stop all drives because of something."""

    def note(self, message: str) -> None:
        """Keep an event that stops nothing."""

    def counters(self) -> Mapping[str, float]:
        """Numbers for the diagnostics of each cycle, by the names that users see."""

    def look(self) -> None:
        """Look at what the exchange doesn't show; called before each report, ten times a second."""

    def describe(self) -> dict[str, Any]:
        """Report for people, as JSON has it.

        Its keys:
            message: What the drives do, and why.
            stopped: True where something stopped the drives since they were last enabled.
            causes: Reasons why they were stopped.
            events: Last things that happened, [time [s, by time.monotonic()], message] each.
            drives: For each joint a dictionary: `joint`, `state`, `error` and `failure` as texts,
                empty where there is none, and `values`, more for the diagnostics by name.
            facts: More of the bus for the diagnostics, by name.

        A driver may add keys of its own for its tools.
        """

    @property
    def requests(self) -> Mapping[str, Callable[..., str]]:
        """What the bus's owner may ask for: functions that return a message for people.

        Each driver has enable, disable, quick_stop and reset_fault, without arguments; only enable
        ever enables a drive. A ConfigError refuses, a HardwareFault says that it failed.
        """

    def close(self) -> None:
        """Stop the drives, disable them, and let the bus go."""


class DriverClass(Protocol):
    """A class of drivers, as `driver_class.py` finds it by the bus's name.

    Args:
        robot: Robot that the drives move.
        address: Place of the bus: a network interface, an IP address, a CAN channel.
        options: Settings of this kind of bus by name. A ConfigError refuses an unknown name.
        limits: Limits at which the supervisor stops the drives.
        timing: Record of how the cycles were kept; the driver adds each cycle.
        between: Queue of actions that are done between two cycles.
    """

    def __call__(
        self,
        robot: RobotConfig,
        address: str,
        options: Mapping[str, Any],
        limits: SupervisorLimits,
        timing: Timing,
        between: BetweenCycles,
    ) -> Driver: ...

    @staticmethod
    def check_free(address: str) -> None: ...
