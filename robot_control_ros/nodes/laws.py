"""The laws of a controller, each with its gains as parameters."""

from __future__ import annotations

from rclpy.node import Node

from ..robots import RobotConfig
from ..running_law import RunningLaw
from .ros_params import GainParameters


class Laws:
    """Every law that has been asked for so far. Its parameters stay declared, and its gains as they were set.

    Args:
        node: that owns the parameters.
        robot: that the laws are for.
        time_constant: [s] with which changed gains are taken over.
    """

    def __init__(self, node: Node, robot: RobotConfig, time_constant: float) -> None:
        self._node, self._robot, self._time_constant = node, robot, time_constant
        self._laws: dict[str, tuple[RunningLaw, GainParameters]] = {}

    def get(self, name: str) -> RunningLaw:
        """The law of this name, its parameters declared.

        Raises:
            ConfigError, ParameterException: the law, its pairing with the robot, or a parameter given for it is refused.
        """
        if name not in self._laws:
            running = RunningLaw(self._robot, name, time_constant=self._time_constant)
            self._laws[name] = running, GainParameters(self._node, name, running.gains)
        return self._laws[name][0]

    def close(self) -> None:
        """Undeclare all parameters."""
        for _, parameters in self._laws.values():
            parameters.close()
        self._laws.clear()
