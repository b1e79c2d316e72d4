"""``python -m evidence speed``: how fast it all is, each figure beside what it is compared
with in the same run.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
from collections.abc import Iterator, Mapping
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from robot_control_ros.cli.options import add_number, output_file
from robot_control_ros.cli.progress import Progress
from robot_control_ros.core.bounded import Bounded
from robot_control_ros.core.errors import ConfigError, missing_extra, unknown
from robot_control_ros.core.input_files import read_text
from robot_control_ros.core.output_files import write_text

# Each part: where it is, what makes its figures, what prints them, whether it needs ROS.
PARTS = {
    "ticks": (".ticks", "tick_rows", "print_ticks", False),
    "simulate": (".simulated", "simulation_rows", "print_simulation", False),
    "environments": (".simulated", "environment_rows", "print_environments", False),
    "arms": (".many_arms", "arm_rows", "print_arms", False),
    "dds": (".over_dds", "dds_rows", "print_dds", True),
    "bus": (".bus", "bus_row", "print_bus", False),
    "tuning": (".tuned_arms", "tuning_rows", "print_tuning", False),
}
# What a load costs, printed by itself: where it is, its function, the options that it takes,
# whether it needs ROS.
LOADS: dict[str, tuple[str, str, tuple[str, ...], bool]] = {
    "page": (".page_load", "page_load", ("seconds", "browser", "browsers"), True),
    "mutated": (".mutated_load", "mutated_load", ("seconds",), True),
    "two-arms": (".two_arms", "two_arms", ("seconds",), True),
    "vector": (".vector_envs", "vector_environments", ("seconds",), False),
}
USUAL = ("ticks", "simulate", "environments", "arms", "dds")
TIMED = ("dds", "bus")  # they run for some seconds


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of the command line."""
    names = (*PARTS, *LOADS)
    parser.add_argument(
        "parts",
        nargs="*",
        metavar="PART",
        help=f"parts: {', '.join(names)} (default: {' '.join(USUAL)}, dds where ROS is)",
    )
    seconds = Bounded(default=30.0, above=0.0, unit="s", doc="length of each run in real time")
    add_number(parser.add_argument, "--seconds", seconds)
    parser.add_argument(
        "--law", action="append", default=[], help="law whose ticks are measured alone"
    )
    parser.add_argument(
        "--json",
        type=output_file(".json"),
        default="speed.json",
        metavar="FILE",
        help="JSON file for the figures (default: speed.json)",
    )
    parser.add_argument(
        "--against", default="", metavar="FILE", help="figures of an earlier run to compare with"
    )
    parser.add_argument(
        "--browser", default="", metavar="COMMAND", help="Chromium that draws the page here"
    )
    browsers = Bounded(
        default=1, lower=1, upper=64, whole=True, doc="number of browsers that draw the page"
    )
    add_number(parser.add_argument, "--browsers", browsers)


def run(options: argparse.Namespace) -> int:
    """Measure, print, and write the figures; returns the exit status.

    Raises:
        ConfigError: an unknown part, a file that can't be read or written, ROS is missing.
        HardwareFault: a program that is measured doesn't run.
    """
    parts = _chosen(options)
    before = _earlier(options.against) if options.against else {}
    results: dict[str, Any] = {"machine": _machine()}
    status = 0
    with Progress("speed", len(parts), "parts", beats=True) as shown:
        for index, part in enumerate(parts):
            shown.show(index, part)
            if part in LOADS:
                with shown.paused():  # it prints while it runs
                    status = max(status, _run_load(part, options))
                continue
            module, make, show, _ = PARTS[part]
            room = import_module(module, __package__)
            results[part] = getattr(room, make)(*_arguments(part, options))
            with shown.paused():
                getattr(room, show)(results[part])
                print(flush=True)
    if len(results) > 1:
        print(
            f"written: {write_text(options.json, json.dumps(results, indent=2) + chr(10), '.json')}"
        )
    for line in _comparison(before, results):
        print(line)
    return status


def _run_load(part: str, options: argparse.Namespace) -> int:
    """Run a program of LOADS, which prints its figures; returns its exit status."""
    module, name, taken, _ = LOADS[part]
    arguments = [getattr(options, each) for each in taken]
    return int(getattr(import_module(module, __package__), name)(*arguments))


def ratios(results: Mapping[str, Any], path: str = "") -> Iterator[tuple[str, float]]:
    """All figures that are ratios, with their place in the results."""
    for name, value in results.items():
        place = f"{path}: {name}" if path else name
        if isinstance(value, Mapping):
            yield from ratios(value, place)
        elif name == "ratio":
            yield path, float(value)


def _chosen(options: argparse.Namespace) -> list[str]:
    known = (*PARTS, *LOADS)
    for part in options.parts:
        if part not in known:
            raise unknown("part", part, known)
    if options.law:
        return ["ticks"]
    with_ros = find_spec("rclpy") is not None
    parts = list(options.parts) or [part for part in USUAL if with_ros or not PARTS[part][-1]]
    for part in parts:
        needs_ros = (PARTS.get(part) or LOADS[part])[-1]
        if needs_ros and not with_ros:
            raise missing_extra(f"speed {part} without a sourced ROS 2", "rclpy", "ros,sim")
    return parts


def _arguments(part: str, options: argparse.Namespace) -> tuple[Any, ...]:
    if part == "ticks":
        return (tuple(options.law),)
    return (options.seconds,) if part in TIMED else ()


def _machine() -> dict[str, Any]:
    kernel = os.uname()
    system = f"{kernel.sysname} {kernel.release} {kernel.machine}"
    return {"python": platform.python_version(), "system": system, "cores": os.cpu_count()}


def _earlier(path: str) -> dict[str, float]:
    """The ratios of an earlier run, by name."""
    try:
        results = json.loads(read_text("figures", path))
    except ValueError as error:
        raise ConfigError(
            f"{path} has no figures of a run: {error}", name="--against", value=path
        ) from error
    if not isinstance(results, dict):
        raise ConfigError(f"{path} has no figures of a run", name="--against", value=path)
    return dict(ratios(results))


def _comparison(before: Mapping[str, float], results: Mapping[str, Any]) -> Iterator[str]:
    """Lines of a table of what was measured in both runs."""
    both = [(name, before[name], ratio) for name, ratio in ratios(results) if name in before]
    if not both:
        return
    width = max(len(name) for name, *_ in both) + 2
    yield f"\n{'ratio':<{width}}{'before':>9}{'now':>9}{'now / before':>14}"
    for name, old, new in both:
        yield f"{name:<{width}}{old:>9.3f}{new:>9.3f}{new / old:>14.2f}"
