"""Units of a joint: one that turns has angles and torques, one that slides has ways and forces."""

from __future__ import annotations

from typing import NamedTuple

from ..core.types import CommandMode


class JointUnits(NamedTuple):
    """Units of a joint's position, velocity and effort, for messages."""

    position: str
    velocity: str
    effort: str

    def of_command(self, mode: CommandMode) -> str:
        """Unit of a command in a mode."""
        return str(getattr(self, mode.value))


TURNING = JointUnits("rad", "rad/s", "N·m")
SLIDING = JointUnits("m", "m/s", "N")


def joint_units(slides: bool) -> JointUnits:
    """Units of a joint that slides, or else turns."""
    return SLIDING if slides else TURNING
