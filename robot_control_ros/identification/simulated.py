"""Identification of a simulated arm, in one process: plan, motion, estimate."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..control.loop import ControlLoop
from ..core.errors import HardwareFault
from ..core.types import Command, CommandMode
from ..robot.configuration import RobotConfig
from ..robot.model import RobotModel
from ..simulation.imperfect.imperfect_plant import arm_and_plant
from ..simulation.imperfect.imperfections import Imperfections
from .dialog import Dialog, IdentificationStep
from .estimate import Identification, identify
from .motion_law import LAWS, motion_gains, motion_mode
from .motion_plan import MotionPlan, plan_motion
from .recording import ArmRecording, Recorder
from .session import IdentificationRequest, write_results


def identify_simulated(
    robot: RobotConfig, imperfections: Imperfections, request: IdentificationRequest, dialog: Dialog
) -> Identification | None:
    """Identify a simulated arm in this process.

    Args:
        robot: Configuration of the robot, at the rate of control.
        imperfections: Imperfections of the simulated arm.
        request: Bounds, mode and files.
        dialog: Person who agrees to the motion.

    Returns:
        What was found; None where the person didn't agree.

    Raises:
        ConfigError, HardwareFault: See :func:`~.motion_plan.plan_motion`, :func:`identify_plan` and
            :func:`~.session.write_results`.
    """
    imperfections.check(robot)
    motion_mode(robot.profile, request.mode)
    plan = plan_motion(robot, RobotModel.of(robot), np.array(robot.home), request.bounds)
    if not dialog.agrees(robot, plan):
        return None
    identification, recording = identify_plan(
        robot, imperfections, plan, request.mode, progress=_reporter(dialog)
    )
    write_results(robot, identification, recording, request, dialog)
    return identification


def identify_plan(
    robot: RobotConfig,
    imperfections: str | Imperfections,
    plan: MotionPlan,
    mode: str = "",
    *,
    progress: Callable[[float], object] | None = None,
    **settings: Any,
) -> tuple[Identification, ArmRecording]:
    """Identify a simulated arm by a planned motion.

    Args:
        robot: Configuration of the robot, at the rate of control.
        imperfections: Imperfections that are to be found: their name, the path of a YAML file, or
            the object.
        plan: Plan of the motion, from home.
        mode: Mode of the commands, effort or position; empty takes effort where the profile has it.
        progress: Function that is called now and then with the part of the motion that is done,
            from 0 to 1.
        settings: Settings of the simulated arm, see
            :class:`~...simulation.mujoco_plant.MujocoPlant`.

    Returns:
        What was found, and the recording of the motion.

    Raises:
        ConfigError: See :func:`~.motion_law.motion_mode`, :func:`~.estimate.identify`.
        HardwareFault: The arm left the bounds, or tripped.
    """
    recording = _record(
        robot, imperfections, plan, motion_mode(robot.profile, mode), settings, progress
    )
    return identify(recording, plan, RobotModel.of(robot), robot.profile), recording


def _reporter(dialog: Dialog) -> Callable[[float], object]:
    """Function that reports the part of the motion that is done to a person."""
    return lambda part: dialog.report(
        IdentificationStep("moving", f"moving: {part:.0%}", progress=part)
    )


def _record(
    robot: RobotConfig,
    imperfections: Any,
    plan: MotionPlan,
    mode: CommandMode,
    settings: dict[str, Any],
    progress: Callable[[float], object] | None,
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
    told = 0  # hundredths of the motion
    while state.time < start + plan.duration:
        state = plant.read()
        command = loop.tick(state)
        plant.write(Command(command.mode, command.values))  # forward controllers take no more
        if loop.fault:
            raise HardwareFault(loop.fault)
        if left := plan.left(state.q, state.v):
            raise HardwareFault(f"identification stopped: {left}")
        recorder.add(state, plant.time, command)
        hundredths = int(100.0 * (state.time - start) / plan.duration)
        if progress is not None and hundredths > told:
            told = hundredths
            progress(hundredths / 100.0)
    return recorder.recording(command.mode, start)
