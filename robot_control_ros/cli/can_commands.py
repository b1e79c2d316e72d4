"""The command line for motors on CAN: ``robot_control can emulate``."""

from __future__ import annotations

from typing import Any

from .options import add_emulator, add_group


def add_can(commands: Any) -> None:
    """Add the command `can` to the subcommands of a parser."""
    add_emulator(
        add_group(commands, "can", "Emulate motors on CAN, with an arm on them."),
        "can_program",
        "Run an arm in MuJoCo whose motors are on an emulated CAN bus.",
        "robot_control can emulate --robot openarm",
    )
