"""``python -m evidence contact``."""

from __future__ import annotations

import argparse

from robot_control_ros.cli.options import SCHEDULER, WORKERS, add_number

from . import contact_table


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the program's options to a parser."""
    text = "robot: name, or path of a YAML file; may be repeated"
    parser.add_argument("--robot", action="append", default=[], help=text)
    add_number(parser.add_argument, "--workers", WORKERS, default="this one alone")
    parser.add_argument("--scheduler", **SCHEDULER)


def run(options: argparse.Namespace) -> int:
    """Run the trials; returns the exit status, 1 where a bound isn't kept."""
    return contact_table(options.robot, workers=options.workers, scheduler=options.scheduler)
