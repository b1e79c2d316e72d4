"""The protocol of everything that a ControlLoop can drive in process."""

from __future__ import annotations

from typing import Protocol

from ..core.types import Command, RobotState


class Plant(Protocol):
    """A robot, real or simulated. The plant owns time:

    while running: plant.write(loop.tick(plant.read()))
    """

    def open(self) -> None:
        """Get ready; the robot holds still until the first command."""

    def read(self) -> RobotState:
        """Wait for the next fresh sample.

        Raises:
            StaleStateError: none came within the plant's limit.
            HardwareFault: it can't go on.
        """

    def write(self, command: Command) -> None:
        """Send a command to the robot.

        Raises:
            ConfigError: wrong size or numbers that aren't finite; the last command stays.
        """

    def close(self) -> None:
        """Leave the robot safe."""
