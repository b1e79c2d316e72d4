"""Identification of a simulated arm, in one process: plan, motion, estimate."""

from __future__ import annotations

from typing import Any

from ..control.loop import ControlLoop
from ..core.errors import HardwareFault
from ..core.types import Command, CommandMode
from ..robot.configuration import RobotConfig
from ..robot.model import RobotModel
from ..simulation.imperfect.imperfect_plant import arm_and_plant
from ..simulation.imperfect.imperfections import Imperfections
from .estimate import Identification, identify
from .motion_law import LAWS, motion_gains, motion_mode
from .motion_plan import MotionPlan
from .recording import ArmRecording, Recorder


def identify_plan(
    robot: RobotConfig, imperfections: str | Imperfections, plan: MotionPlan, mode: str = "", **settings: Any
) -> tuple[Identification, ArmRecording]:
    """Identify a simulated arm by a planned motion.

    Args:
        robot: its configuration, at the rate of control.
        imperfections: that are to be found: name, path of a YAML file, or the object.
        plan: of the motion, from home.
        mode: of the commands, effort or position; empty takes effort where the profile has it.
        settings: of the simulated arm, see :class:`~...simulation.mujoco_plant.MujocoPlant`.

    Raises:
        ConfigError: see :func:`~.motion_law.motion_mode`, :func:`~.estimate.identify`.
        HardwareFault: the arm left the bounds, or tripped.
    """
    recording = _record(robot, imperfections, plan, motion_mode(robot.profile, mode), settings)
    return identify(recording, plan, RobotModel.of(robot), robot.profile), recording


def _record(
    robot: RobotConfig, imperfections: Any, plan: MotionPlan, mode: CommandMode, settings: dict[str, Any]
) -> ArmRecording:
    _, plant = arm_and_plant(robot, imperfections, rate=robot.profile.rate, **settings)
    model = RobotModel.of(robot)
    loop = ControlLoop(robot, LAWS[mode], motion_gains(robot, model, mode, plan.q0), model=model)
    plant.reset()
    state = plant.read()
    plant.write(loop.tick(state))
    start = state.time + robot.period
    loop.motion.trajectory = plan.path(model, start)
    recorder = Recorder(round(plan.duration / robot.period) + 1, robot.n)
    while state.time < start + plan.duration:
        state = plant.read()
        command = loop.tick(state)
        plant.write(Command(command.mode, command.values))  # forward controllers take no more
        if loop.fault:
            raise HardwareFault(loop.fault)
        if left := plan.left(state.q, state.v):
            raise HardwareFault(f"identification stopped: {left}")
        recorder.add(state, plant.time, command)
    return recorder.recording(command.mode, start)
