"""A law inside the plant: called at every physics step, as the controller of a drive would be."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from ..core.errors import refused
from ..core.types import Command, CommandMode, Reference, RobotState
from ..laws.running_law import RunningLaw
from ..robot.configuration import RobotConfig
from ..robot.model import RobotModel


class JointLaw:
    """Turns the position commands of a controller into torques or velocities, at the pace of the physics.

    The law's reference is the command: its positions, its velocities (zeros where it has none), no acceleration, no
    pose. It sees neither the controller's gains nor a wrench.

    Args:
        robot: its configuration; the law may command whatever it likes, and compensates gravity if it wants to.
        model: of the robot, for this law alone.
        name: of the law, or ``package.module:Class``.
        gains: by name, over the robot's own and the law's defaults.
        period: between two calls [s].

    Raises:
        ConfigError: the law or a gain is refused, or it needs a wrench.
    """

    def __init__(
        self, robot: RobotConfig, model: RobotModel, name: str, gains: Mapping[str, Any] | None, period: float
    ) -> None:
        motor = replace(robot.profile, commands=tuple(CommandMode), gravity_by_robot=False)
        self._running = RunningLaw(replace(robot, profile=motor), name, gains)
        if self._running.needs_wrench:
            raise refused("joint_law", name, "it needs a wrench, and the joints have none")
        self.name = name
        self._model, self._period = model, period
        self._rest = np.zeros(robot.n)
        self._fresh = True

    def reset(self) -> None:
        """Begin anew at the next call."""
        self._fresh = True

    def command(self, state: RobotState, wanted: Command) -> Command:
        """What the motors get in this physics step.

        Args:
            state: of this step.
            wanted: the controller's last command, of positions.
        """
        kin = self._model.update(state.q, state.v)
        if self._fresh:
            self._running.law.reset(state, kin)
            self._fresh = False
        velocity = self._rest if wanted.velocity is None else wanted.velocity
        reference = Reference(q=wanted.values, v=velocity, a=self._rest)
        return self._running.law.compute(state, kin, reference, self._running.gains.current, self._period)
