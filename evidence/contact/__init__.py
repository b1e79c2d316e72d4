"""Trials of contact, each with its bound: what ``python -m evidence contact`` prints."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from robot_control_ros.cli.progress import Progress
from robot_control_ros.robot.configuration import load_robot
from robot_control_ros.tuning.grid import Point, sweep

from ..row import Row, exit_status, summary, text_table
from ..stability.default_gains import IMPERFECT
from . import (
    collision_trials,
    force_trials,
    frame_trials,
    guard_trials,
    leading_trials,
    ringing_trials,
    spring_trials,
)

ROBOTS = ("ur5", "ur5e", "gen3")
SECTIONS: dict[str, Callable[[str], Iterable[Row]]] = {
    "bounded spring": spring_trials.rows,
    "compliance frame": frame_trials.rows,
    "force control": force_trials.rows,
    "guarded moves": guard_trials.rows,
    "contact detection": collision_trials.rows,
    "ringing": ringing_trials.rows,
    "leader and follower": leading_trials.rows,
}
IMPERFECT_SECTIONS: dict[str, Callable[[str, str], Iterable[Row]]] = {
    "bounded spring": spring_trials.rows,
    "compliance frame": frame_trials.rows,
    "force control": force_trials.rows,
}


def contact_table(robots: Sequence[str] = (), *, workers: int = 0, scheduler: str = "") -> int:
    """Run the trials of each robot, and print the rows section by section; then some on its
    imperfect arm. There a row beyond the bound of the ideal arm is no failure.

    `workers` and `scheduler` say where they are computed, see :func:`~...tuning.engine.engine`; by
    default here.

    Returns the exit status: 1 where a row fails.
    """
    names = list(robots or ROBOTS)
    for name in names:
        load_robot(name)
    where: dict[str, Any] = {"workers": workers, "scheduler": scheduler}
    rows: list[Row] = []
    known = [name for name in names if name in IMPERFECT]
    grids: list[dict[str, list[Any]]] = [
        {"robot": names, "section": list(SECTIONS)},
        {"robot": known, "section": list(IMPERFECT_SECTIONS), "imperfect": [True]},
    ]
    counts = [len(grid["robot"]) * len(grid["section"]) for grid in grids]
    with Progress("contact", sum(counts), "sections", beats=True) as shown:
        for grid, count, before in zip(grids, counts, (0, counts[0]), strict=True):
            if count:
                show = partial(_print_section, shown, before)
                sections = sweep(section_rows, grid, progress=show, **where).results
                rows += [row for section in sections for row in section]
    print(summary(rows))
    return exit_status(rows)


def section_rows(robot: str, section: str, imperfect: bool = False) -> list[Row]:
    """The rows of a section for a robot, or for its imperfect arm."""
    if not imperfect:
        return list(SECTIONS[section](robot))
    rows = IMPERFECT_SECTIONS[section](robot, IMPERFECT[robot])
    return [replace(row, excuse="the bound of the ideal arm") for row in rows]


def _print_section(shown: Progress, before: int, done: int, count: int, point: Point) -> None:
    """Print the rows of a section; an error in it ends all. Other sections came before."""
    if point.error is not None:
        raise point.error
    robot = point.arguments["robot"]
    arm = IMPERFECT[robot] if point.arguments.get("imperfect") else robot
    shown.print(f"{arm}: {point.arguments['section']}", *text_table(point.result))
    shown.show(before + done)
