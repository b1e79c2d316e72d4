"""What proves the figures of the documentation: ``python -m evidence NAME`` in a
checkout of the repository.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any, NamedTuple

from robot_control_ros.cli.command_runner import run_command
from robot_control_ros.cli.options import CommandParser, add_command


class EvidenceProgram(NamedTuple):
    """A program of evidence.

    Attributes:
        module: Module that has `add_arguments(parser)` and `run(options)`.
        sentence: Sentence that says what it does.
        example: Words to type behind its name.
        renamed: New names of options, by their former names.
    """

    module: str
    sentence: str
    example: str = ""
    renamed: Mapping[str, str] = {}


PROGRAMS = {
    "reproduce": EvidenceProgram(
        ".reproduce.reproduce_program",
        "Run the experiments of the laws' sources again: each figure beside its bound.",
        "joint_pid --output reproduction",
    ),
    "stability": EvidenceProgram(
        ".stability.stability_program",
        "Measure the largest stable stiffness by rate and delay; it takes minutes.",
        "--robot ur5e --workers 2",
    ),
    "contact": EvidenceProgram(
        ".contact.contact_program",
        "Press, release and push arms, and print figures beside bounds; it takes minutes.",
        "--robot ur5",
    ),
    "policy": EvidenceProgram(
        ".policy_stream",
        "Stream chunks of poses as a policy does: seams, and what holds when it is late.",
    ),
    "contour": EvidenceProgram(
        ".contour.ethercat_demo",
        "Lead six emulated drives on an EtherCAT bus along a rectangle.",
        "--domains matched --rate 500",
    ),
    "faults": EvidenceProgram(
        ".faults.table",
        "Inject each fault of the ROS side, and print what became of the arm.",
        "--rows 'controller*'",
    ),
    "ethercat-faults": EvidenceProgram(
        ".ethercat_faults.bus_table",
        "Inject every fault on an emulated bus; it takes minutes.",
    ),
    "speed": EvidenceProgram(
        ".speed.report",
        "Measure how fast it all is, as ratios within one run.",
        "ticks simulate",
    ),
    "soak": EvidenceProgram(
        ".soak.demonstration",
        "Run the demonstration for long, and print what its processes take and miss.",
        "--minutes 5",
        {"--load": "--busy"},
    ),
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one of the programs; returns the exit status, which is 2 for what is refused."""
    return run_command(command_parser(), "evidence", arguments)


def command_parser() -> CommandParser:
    """The parser of all programs. The options of a program are added when they are needed."""
    parser = CommandParser(
        prog="python -m evidence",
        description="Prove the figures of the documentation, in a checkout of the repository.",
    )
    commands = parser.add_commands("program")
    for name, program in PROGRAMS.items():
        _add_program(commands, name, program)
    return parser


def _add_program(commands: Any, name: str, program: EvidenceProgram) -> None:
    def module() -> Any:
        return import_module(program.module, "evidence")

    add_command(
        commands,
        name,
        program.sentence,
        lambda options: module().run(options),
        f"python -m evidence {name} {program.example}".rstrip(),
        fill=lambda parser: module().add_arguments(parser),
        renamed=program.renamed,
    )


if __name__ == "__main__":
    sys.exit(main())
