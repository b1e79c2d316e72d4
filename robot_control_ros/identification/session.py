"""What a person wants of an identification, and what the person gets at its end."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path

from ..core.errors import ConfigError
from ..core.output_paths import state_folder
from ..robot.configuration import RobotConfig
from .dialog import Dialog, IdentificationStep
from .estimate import Identification
from .identified_file import plot, table, write_file
from .motion_plan import MotionBounds
from .recording import ArmRecording


@dataclass(frozen=True)
class IdentificationRequest:
    """What a person wants of an identification.

    Attributes:
        bounds: Bounds of the motion.
        mode: Mode of the commands, effort or position; empty takes effort where the profile has it.
        file: File that gets the arm as imperfections; None writes no file.
        picture: File that gets a picture; None writes no picture.
    """

    bounds: MotionBounds = field(default_factory=MotionBounds)
    mode: str = ""
    file: Path | None = None
    picture: Path | None = None


def request_with_files(robot: str) -> IdentificationRequest:
    """Request for all joints, whose files are in the user's state folder, named by robot and time.

    Args:
        robot: Name of the robot.

    Raises:
        ConfigError: The folder can't be made.
    """
    try:
        folder = state_folder()
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except (OSError, RuntimeError) as error:
        raise ConfigError(f"nowhere to write: {error}; set XDG_STATE_HOME") from error
    name = f"{robot}_{datetime.now():%Y%m%d_%H%M%S}"
    return IdentificationRequest(file=folder / f"{name}.yaml", picture=folder / f"{name}.png")


def write_results(
    robot: RobotConfig,
    identification: Identification,
    recording: ArmRecording,
    request: IdentificationRequest,
    dialog: Dialog,
) -> None:
    """Write the files of a request, then report the figures and what was written.

    Args:
        robot: Configuration of the robot.
        identification: What was found.
        recording: Recording of the motion.
        request: Paths of the files.
        dialog: Person who gets the figures, also where the disk is full.

    Raises:
        ConfigError, HardwareFault: See :func:`~.identified_file.write_file` and
            :func:`~.identified_file.plot`.
    """
    step = IdentificationStep("done", table(robot, identification))
    try:
        if request.file is not None:
            step = replace(step, file=write_file(request.file, robot, identification))
        if request.picture is not None:
            step = replace(step, picture=plot(request.picture, robot, identification, recording))
    finally:
        dialog.report(step)
