"""The law that moves an arm while it is identified, by what the arm takes."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..core.errors import refused
from ..core.types import Array, CommandMode
from ..laws.running_law import RunningLaw
from ..robot.configuration import RobotConfig
from ..robot.model import RobotModel
from ..robot.profile import HardwareProfile

# rad/s of each joint about its reference, under torques: five time constants are 0.35 s
FREQUENCY = 15.0
LAWS = {CommandMode.EFFORT: "joint_impedance", CommandMode.POSITION: "position_domain_pd"}
_GAINS = {  # that the motion needs
    CommandMode.EFFORT: ("stiffness", "damping_ratio", "damping", "feedforward"),
    CommandMode.POSITION: ("output", "domain"),
}


def motion_mode(profile: HardwareProfile, wanted: str = "") -> CommandMode:
    """The commands by which an arm is identified: torques where it takes them, else positions.

    Raises:
        ConfigError: The profile hasn't got the wanted mode, or neither of the two.
    """
    offered = [mode for mode in LAWS if mode in profile.commands and wanted in ("", mode.value)]
    if not offered:
        commands = ", ".join(mode.value for mode in profile.commands)
        rule = f"must be effort or position, and the profile must take it; it takes {commands}"
        raise refused("mode", wanted or commands, rule, [mode.value for mode in LAWS])
    return offered[0]


def motion_gains(
    robot: RobotConfig, model: RobotModel, mode: CommandMode, q0: Array
) -> dict[str, Any]:
    """Gains of the law by name: the command is the reference itself, or each joint a spring of 15
    rad/s on its inertia.

    Args:
        robot: Configuration of the robot.
        model: Model of the robot.
        mode: Mode of the commands.
        q0: (n,) Joint angles at which the motion starts [rad].
    """
    chosen: dict[str, Any] = {"output": "position", "domain": "time"}
    if mode is CommandMode.EFFORT:
        chosen = {"stiffness": FREQUENCY**2 * model.mass(q0).diagonal()}
    gains = RunningLaw(robot, LAWS[mode], chosen).gains.target
    return {name: np.asarray(getattr(gains, name)).tolist() for name in _GAINS[mode]}
