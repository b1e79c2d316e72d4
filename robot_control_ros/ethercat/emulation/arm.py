"""A whole arm as what the motors turn: the robot's description in MuJoCo."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from ...core.types import Array
from ...robot.configuration import RobotConfig
from ...simulation.mujoco_plant import MujocoPlant
from ...simulation.scene import Scene

MAX_STEP = 0.0015  # s, of the physics; what is longer is cut into equal steps


class MujocoArm:
    """Mechanics of a robot, which weighs something: where a brake opens and no drive holds, it falls.

    It begins at rest, where its scene or configuration puts it. Its time is the sum of all dt. Brakes are stiff: a
    joint stops within a few milliseconds and stays where it was when the brake closed.

    Attributes:
        joints: names, in the order of position, velocity and torque.
        inertia: of each joint where it begins, the other joints held [kg·m²].
    """

    def __init__(self, robot: RobotConfig, scene: Scene | None = None) -> None:
        self.joints = robot.joints
        self._plant = MujocoPlant(robot, scene=scene)
        mass, _, _ = self._plant.dynamics(self._plant.start, np.zeros(robot.n))
        self.inertia: list[float] = mass.diagonal().tolist()
        self._sense()

    @property
    def time(self) -> float:
        """Simulated time [s]."""
        return self._plant.time

    def advance(self, torque: Sequence[float], braked: Sequence[bool], dt: float) -> None:
        """Let time pass; see :class:`.mechanics.Mechanics`.

        Raises:
            HardwareFault: the physics diverged.
        """
        steps = math.ceil(dt / MAX_STEP - 1e-9)
        for _ in range(steps):
            self._plant.drive(np.array(torque), braked, dt / steps)
        self._sense()

    def push(self, link: str, force: Array, torque: Array) -> None:
        """Push a link at its origin, in base axes [N, N·m]; see :meth:`.MujocoPlant.push`."""
        self._plant.push(link, force, torque)

    def _sense(self) -> None:
        sample = self._plant.sample()
        self.position: list[float] = sample.q.tolist()
        self.velocity: list[float] = sample.v.tolist()
