"""Trials of contact, each with its bound: what ``python -m evidence contact`` prints."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from robot_control_ros.robot.configuration import load_robot
from robot_control_ros.tuning.grid import Point, sweep

from ..stability.default_gains import IMPERFECT
from . import (
    collision_trials,
    force_trials,
    frame_trials,
    leading_trials,
    ringing_trials,
    spring_trials,
)
from .row import Row

ROBOTS = ("ur5", "ur5e", "gen3")
SECTIONS: dict[str, Callable[[str], Iterable[Row]]] = {
    "bounded spring": spring_trials.rows,
    "compliance frame": frame_trials.rows,
    "force control": force_trials.rows,
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
    imperfect arm.

    `workers` and `scheduler` say where they are computed, see :func:`~...tuning.engine.engine`; by
    default here.

    Returns the exit status: 1 if a row of the ideal arm fails.
    """
    names = list(robots or ROBOTS)
    for name in names:
        load_robot(name)
    where: dict[str, Any] = {"workers": workers, "scheduler": scheduler}
    rows: list[Row] = []
    if SECTIONS:
        ideal = sweep(
            section_rows,
            {"robot": names, "section": list(SECTIONS)},
            progress=_print_ideal,
            **where,
        )
        rows = [row for found in ideal.results for row in found]
    known = [name for name in names if name in IMPERFECT]
    if known and IMPERFECT_SECTIONS:
        grid: dict[str, list[Any]] = {
            "robot": known,
            "section": list(IMPERFECT_SECTIONS),
            "imperfect": [True],
        }
        sweep(section_rows, grid, progress=_print_imperfect, **where)
    return int(any(not row.holds for row in rows))


def section_rows(robot: str, section: str, imperfect: bool = False) -> list[Row]:
    """The rows of a section for a robot, or for its imperfect arm."""
    return list(
        IMPERFECT_SECTIONS[section](robot, IMPERFECT[robot])
        if imperfect
        else SECTIONS[section](robot)
    )


def _print_ideal(done: int, count: int, point: Point) -> None:
    _print_section(point.arguments["robot"], point, "ok  ", "FAIL")


def _print_imperfect(done: int, count: int, point: Point) -> None:
    _print_section(IMPERFECT[point.arguments["robot"]], point, "    ", "more")


def _print_section(arm: str, point: Point, holds: str, breaks: str) -> None:
    """Print the rows of a section; an error in it ends all."""
    if point.error is not None:
        raise point.error
    print(f"{arm}: {point.arguments['section']}")
    for row in point.result:
        _print(row, holds if row.holds else breaks)


def _print(row: Row, verdict: str) -> None:
    print(f"  {verdict} {row.name:<88}{row.value:>10.4g}  {row.bound}", flush=True)
