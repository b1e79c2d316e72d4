"""MuJoCo's model and data of the arms in one world, and the time that they share.

The mujoco module itself is handed in by :mod:`robot_control_ros.simulation.mujoco_plant`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from ..core.errors import HardwareFault, refused
from ..core.types import Array
from ..robot.configuration import RobotConfig
from .imperfect_arm import set_imperfections, settle
from .imperfections import Imperfections
from .joint_motors import JointMotors
from .mujoco_scene import compile_model
from .scene import Scene


class MujocoWorld:
    """One arm, or several that may touch.

    Args:
        mujoco: the module.
        arms: each with the text of its description.
        rate: samples per second.
        physics_step: [s], at most.
        scene: what stands around the first arm.
        imperfections: of the first arm.

    Attributes:
        model, data: MuJoCo's own.
        substeps: physics steps of a period.

    Raises:
        ConfigError: a rate or step that isn't above 0.
        ModelError: see :func:`.mujoco_scene.compile_model`.
    """

    def __init__(
        self,
        mujoco: Any,
        arms: Sequence[tuple[RobotConfig, str]],
        rate: float,
        physics_step: float,
        scene: Scene,
        imperfections: Imperfections | None = None,
    ) -> None:
        for name, value, unit in (("rate", rate, "Hz"), ("physics_step", physics_step, "s")):
            if not (math.isfinite(value) and value > 0.0):
                raise refused(name, value, f"must be above 0 {unit}", (0.0, math.inf))
        self._mujoco, (self._robot, _) = mujoco, arms[0]
        self.substeps = math.ceil(1.0 / (rate * physics_step) - 1e-9)
        self.model = compile_model(mujoco, arms, 1.0 / (rate * self.substeps), scene, imperfections)
        if imperfections is not None:
            set_imperfections(mujoco, self.model, self._robot, imperfections)
        self._elastic = imperfections is not None and bool(imperfections.stiffness)
        self.data = mujoco.MjData(self.model)
        self._motors: list[JointMotors] = []

    def add(self, motors: JointMotors) -> None:
        """Let motors drive the joints of an arm."""
        self._motors.append(motors)

    def reset(self) -> None:
        """Back to time 0: all arms at rest at their starts, held, objects in place."""
        mujoco, model, data = self._mujoco, self.model, self.data
        mujoco.mj_resetData(model, data)
        for motors in self._motors:
            motors.place()
        mujoco.mj_forward(model, data)
        if self._elastic:
            settle(mujoco, model, data, self._robot)
        for motors in self._motors:
            motors.begin()
        mujoco.mj_forward(model, data)

    def advance(self, steps: int) -> None:
        """Advance the physics under the last commands.

        Raises:
            HardwareFault: the physics diverged.
        """
        mujoco, model, data = self._mujoco, self.model, self.data
        for _ in range(steps):
            mujoco.mj_step1(model, data)  # inertia and bias of the present state, for the motors
            for motors in self._motors:
                motors.actuate()
            mujoco.mj_step2(model, data)
        for motors in self._motors:
            motors.end_period(steps)
        self._check()

    def drive(self, motors: JointMotors, torque: Array, dt: float) -> None:
        """Advance the physics by a step [s] under torques (n,) [N·m] that these motors don't limit.

        Raises:
            HardwareFault: the physics diverged.
        """
        option = self.model.opt
        period_step, option.timestep = option.timestep, dt
        self._mujoco.mj_step1(self.model, self.data)
        motors.apply(torque)
        self._mujoco.mj_step2(self.model, self.data)
        option.timestep = period_step
        self._check()

    def _check(self) -> None:
        if self.data.warning.number.any():
            kinds = self._mujoco.mjtWarning
            found = [kinds(i).name for i, warning in enumerate(self.data.warning) if warning.number]
            raise HardwareFault(f"the physics diverged at t = {self.data.time:.3f} s: {', '.join(found)}")
