"""What an identification tells a person, and what the person decides."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:  # the command line reads this module before it needs numpy
    from ..robot.configuration import RobotConfig
    from .motion_plan import MotionPlan


class StopRequested(Exception):
    """The person stops the identification."""


@dataclass(frozen=True, eq=False)
class IdentificationStep:
    """A step of an identification.

    Attributes:
        state: Word for the state: planning, planned, moving, restored, and at the end done, stopped
            or failed.
        text: Words for people, in one or more lines.
        progress: Part of the motion that is done, from 0 to 1; None where nothing moves.
        file: File of imperfections that was written.
        picture: Picture that was written.
    """

    state: str
    text: str
    progress: float | None = None
    file: Path | None = None
    picture: Path | None = None


class Dialog(Protocol):
    """A person at a terminal or at a page; an identification calls it in its own thread."""

    def report(self, step: IdentificationStep) -> None:
        """Show a step."""

    def warn(self, text: str) -> None:
        """Show a warning, which must be read even after the end."""

    def agrees(self, robot: RobotConfig, plan: MotionPlan) -> bool:
        """Show the bounds of a motion, and return whether the person lets the robot move.

        Raises:
            StopRequested: The person stops the identification in place of an answer.
        """

    def check_stop(self) -> None:
        """Raise StopRequested where the person has asked for the stop since the last call.

        Each request is raised once, so that who clears up afterwards isn't stopped by it again.
        """
