"""The command line for motors on CAN: ``robot_control can emulate``."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from .options import add_command, add_group


def add_can(commands: Any) -> None:
    """Add the command `can` to the subcommands of a parser."""
    _add_emulate(add_group(commands, "can", "Emulate motors on CAN, with an arm on them."))


def _add_emulate(commands: Any) -> None:
    """Add the command `emulate`; the emulator is imported when its options are asked for."""

    def program() -> Any:
        return import_module("..fieldbus.emulation.can_program", __package__)

    add_command(
        commands,
        "emulate",
        "Run an arm in MuJoCo whose motors are on an emulated CAN bus.",
        lambda options: program().run(options),
        "robot_control can emulate --robot openarm",
        details="It ends by Ctrl-C.",
        fill=lambda parser: program().add_arguments(parser),
    )
