"""What proves the figures of the documentation: ``python -m evidence NAME`` in a
checkout of the repository.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Any

from robot_control_ros.cli.command_runner import run_command
from robot_control_ros.cli.options import CommandParser

# Each program: its module, which has add_arguments(parser) and run(options), and what it does.
PROGRAMS = {
    "reproduce": (
        ".reproduce.reproduce_program",
        "the laws' sources, run again: each figure beside its bound",
    ),
    "stability": (
        ".stability.stability_program",
        "the largest stable stiffness by rate and delay; takes minutes",
    ),
    "contact": (
        ".contact.contact_program",
        "pressed, released and pushed arms beside their bounds; status 1 where one fails; takes minutes",
    ),
    "policy": (
        ".policy_stream",
        "a policy that streams chunks of poses: seams, and what holds when it is late",
    ),
    "contour": (
        ".contour.ethercat_demo",
        "six emulated drives on an EtherCAT bus along a rectangle",
    ),
    "faults": (
        ".faults.table",
        "inject each fault of the ROS side, and print what became of the arm",
    ),
    "ethercat-faults": (
        ".ethercat_faults.bus_table",
        "every fault on an emulated bus; takes minutes",
    ),
    "speed": (".speed.report", "how fast it all is, as ratios within one run"),
    "soak": (
        ".soak.demonstration",
        "run the demonstration for long, and print what its processes take and miss",
    ),
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one of the programs; returns the exit status, which is 2 for what is refused."""
    return run_command(command_parser(), "evidence", arguments)


def command_parser() -> CommandParser:
    """The parser of all programs. The options of a program are added when they are needed."""
    parser = CommandParser(
        prog="python -m evidence", description=(__doc__ or "").partition("\n")[0]
    )
    commands = parser.add_subparsers(required=True, metavar="name")
    for name, (module, text) in PROGRAMS.items():
        _add_program(commands, name, module, text)
    return parser


def _add_program(commands: Any, name: str, module: str, text: str) -> None:
    def program() -> Any:
        return import_module(module, "evidence")

    parser = commands.add_parser(
        name, help=text, fill=lambda parser: program().add_arguments(parser)
    )
    parser.set_defaults(run=lambda options: program().run(options))


if __name__ == "__main__":
    sys.exit(main())
