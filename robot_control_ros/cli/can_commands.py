"""The command line for motors on CAN: ``robot_control can emulate``."""

from __future__ import annotations

from importlib import import_module
from typing import Any


def add_can(commands: Any) -> None:
    """Add the command `can` to the subcommands of a parser."""
    parser = commands.add_parser("can", help="motors on CAN: an emulated bus with an arm on it")
    can = parser.add_subparsers(required=True, metavar="command")
    _add_emulate(can)


def _add_emulate(commands: Any) -> None:
    """Add the command `emulate`; the emulator is imported when its options are asked for."""

    def program() -> Any:
        return import_module("..fieldbus.emulation.can_program", __package__)

    text = "an arm in MuJoCo whose motors are on an emulated bus"
    parser = commands.add_parser(
        "emulate", help=text, fill=lambda parser: program().add_arguments(parser)
    )
    parser.set_defaults(run=lambda options: program().run(options))
