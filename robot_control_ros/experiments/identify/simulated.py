"""Identification of a simulated arm, in one process: plan, motion, estimate."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...control.loop import ControlLoop
from ...core.errors import HardwareFault
from ...core.types import Array
from ...robot.configuration import RobotConfig
from ...robot.model import RobotModel
from ...simulation.imperfect_plant import arm_and_plant
from ...simulation.imperfections import Imperfections
from .estimate import Identification, identify
from .motion_plan import MotionPlan
from .recording import ArmRecording, Recorder

LAW = "joint_impedance"
FREQUENCY = 15.0  # rad/s of each joint about its reference: five time constants are 0.35 s


def identify_plan(
    robot: RobotConfig, imperfections: str | Imperfections, plan: MotionPlan, **settings: Any
) -> tuple[Identification, ArmRecording]:
    """Identify a simulated arm by a planned motion.

    Args:
        robot: its configuration, at the rate of control.
        imperfections: that are to be found: name, path of a YAML file, or the object.
        plan: of the motion, from home.
        settings: of the simulated arm, see :class:`~...simulation.mujoco_plant.MujocoPlant`.

    Raises:
        ConfigError: see :func:`~.estimate.identify`.
        HardwareFault: the arm left the bounds, or tripped.
    """
    recording = _record(robot, imperfections, plan, settings)
    return identify(recording, plan, RobotModel.of(robot)), recording


def stiffness(model: RobotModel, q: Array) -> Array:
    """(n,) of the springs that hold the joints during identification [N·m/rad]."""
    return np.asarray(FREQUENCY**2 * model.mass(q).diagonal())


def _record(robot: RobotConfig, imperfections: Any, plan: MotionPlan, settings: dict[str, Any]) -> ArmRecording:
    _, plant = arm_and_plant(robot, imperfections, rate=robot.profile.rate, **settings)
    model = RobotModel.of(robot)
    loop = ControlLoop(robot, LAW, {"stiffness": stiffness(model, plan.q0)}, model=model)
    plant.reset()
    state = plant.read()
    plant.write(loop.tick(state))
    start = state.time + robot.period
    loop.motion.trajectory = plan.path(model, start)
    recorder = Recorder(round(plan.duration / robot.period) + 1, robot.n)
    while state.time < start + plan.duration:
        state = plant.read()
        command = loop.tick(state)
        plant.write(command)
        if loop.fault:
            raise HardwareFault(loop.fault)
        if left := plan.left(state.q, state.v):
            raise HardwareFault(f"identification stopped: {left}")
        recorder.add(state, plant.time, command)
    return recorder.recording(command.mode, start)
