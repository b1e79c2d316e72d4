"""A plant of your own: joints that follow position commands at once. Type: python ideal_plant.py

A plant has the four methods of ``robot_control_ros.Plant``. This one has no dynamics, and its time
is simulated.
On real hardware, ``read`` waits for the next sample, and ``write`` sends the command to the drives.
"""

from __future__ import annotations

import numpy as np

from robot_control_ros import (
    Command,
    CommandMode,
    ConfigError,
    ControlLoop,
    RobotConfig,
    RobotState,
    load_robot,
)


class IdealPlant:
    """The joints of a robot [rad], each where it was commanded."""

    def __init__(self, robot: RobotConfig) -> None:
        self._period = robot.period
        self._time = 0.0
        self._q = np.array(robot.home)
        self._v = np.zeros(robot.n)

    def open(self) -> None:
        """Nothing to open; the joints rest."""

    def read(self) -> RobotState:
        """The next sample, one period later."""
        self._time += self._period
        return RobotState(self._time, self._q.copy(), self._v.copy(), effort=np.zeros(self._q.size))

    def write(self, command: Command) -> None:
        """Move the joints to a position command.

        Raises:
            ConfigError: another mode, a wrong size, or numbers that aren't finite; the joints stay.
        """
        if command.mode is not CommandMode.POSITION:
            mode = command.mode.value
            raise ConfigError(
                f"mode = {mode!r}: must be position", name="mode", value=mode, bound="position"
            )
        if command.values.shape != self._q.shape or not np.isfinite(command.values).all():
            raise ConfigError(
                f"positions = {command.values}: must be {self._q.size} finite numbers"
            )
        self._v = (command.values - self._q) / self._period
        self._q = command.values.copy()

    def close(self) -> None:
        """The joints rest where they are."""
        self._v = np.zeros(self._q.size)


def main() -> None:
    """Turn the first joint of a UR5 by 0.2 rad."""
    robot = load_robot("ur5", "real")  # the driver of a UR5 takes positions and velocities
    loop = ControlLoop(robot, "position_domain_pd")
    plant = IdealPlant(robot)
    plant.open()
    try:
        plant.write(loop.tick(plant.read()))
        goal = np.array(robot.home)
        goal[0] += 0.2
        loop.motion.move_joints_to(goal)
        for _ in range(round(3.0 / robot.period)):
            plant.write(loop.tick(plant.read()))
        print(f"{np.abs(plant.read().q - goal).max():.6f} rad from the goal")
    finally:
        plant.close()


if __name__ == "__main__":
    main()
