"""``python -m evidence stability``."""

from __future__ import annotations

import argparse
import os
from dataclasses import replace

from robot_control_ros.cli.options import SCHEDULER, WORKERS, add_number

from ..options import add_output_files
from . import default_gains_table, gain_table, press_table, stability


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the program's options to a parser."""
    add = parser.add_argument
    add(
        "--robot",
        action="append",
        default=[],
        help="robot: name, or path of a YAML file; may be repeated",
    )
    add(
        "--wall",
        action="store_true",
        help="only press every law into a wall, and print how the contact holds",
    )
    text = "only compute how stiff and how light each law may be at home, by rate and delay of a profile (sim)"
    add("--gains", nargs="?", const="sim", default="", metavar="PROFILE", help=text)
    text = "imperfections, name or path, whose delay, friction and rotor inertia --gains takes"
    add("--measured", default="", metavar="FILE", help=text)
    text = "only try each law with its default gains, at rest, pushed and at a wall, on both arms"
    add("--defaults", action="store_true", help=text)
    workers = replace(WORKERS, default=os.cpu_count() or 1, doc="number of processes that measure")
    add_number(add, "--workers", workers, default="all cores")
    add("--scheduler", **SCHEDULER)
    add_output_files(parser, "stability")


def run(options: argparse.Namespace) -> int:
    """Measure, print and write what the options name; returns the exit status."""
    if options.gains or options.measured:
        return gain_table(options.robot, options.gains or "sim", options.measured)
    if options.wall:
        return press_table(options.robot)
    if options.defaults:
        return default_gains_table(options.robot)
    where = {"workers": options.workers, "scheduler": options.scheduler}
    return stability(options.robot, options.output, options.page, **where)
