"""Trials of contact, each with its bound: what ``robot_control contact`` prints."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from ...tuning.grid import Point, sweep
from ..stability.default_gains import IMPERFECT
from . import collision_trials, force_trials, frame_trials, leading_trials, ringing_trials, spring_trials
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
    """Run the trials of each robot, and print the rows section by section; then some on its imperfect arm.

    `workers` and `scheduler` say where they are computed, see :func:`~...tuning.engine.engine`; by default here.

    Returns the exit status: 1 if a row of the ideal arm fails.
    """
    names = list(robots or ROBOTS)
    where: dict[str, Any] = {"workers": workers, "scheduler": scheduler}
    ideal = sweep(section_rows, {"robot": names, "section": list(SECTIONS)}, progress=_print_ideal, **where)
    grid: dict[str, list[Any]] = {"robot": names, "section": list(IMPERFECT_SECTIONS), "imperfect": [True]}
    _ = sweep(section_rows, grid, progress=_print_imperfect, **where).results
    return int(any(not row.holds for rows in ideal.results for row in rows))


def section_rows(robot: str, section: str, imperfect: bool = False) -> list[Row]:
    """The rows of a section for a robot, or for its imperfect arm."""
    return list(IMPERFECT_SECTIONS[section](robot, IMPERFECT[robot]) if imperfect else SECTIONS[section](robot))


def _print_ideal(done: int, count: int, point: Point) -> None:
    print(f"{point.arguments['robot']}: {point.arguments['section']}")
    for row in point.result or ():
        _print(row, "ok  " if row.holds else "FAIL")


def _print_imperfect(done: int, count: int, point: Point) -> None:
    print(f"{IMPERFECT[point.arguments['robot']]}: {point.arguments['section']}")
    for row in point.result or ():
        _print(row, "    " if row.holds else "more")


def _print(row: Row, verdict: str) -> None:
    print(f"  {verdict} {row.name:<88}{row.value:>10.4g}  {row.bound}", flush=True)
