"""Trials of contact, each with its bound: what ``robot_control contact`` prints."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

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


def contact_table(robots: Sequence[str] = ()) -> int:
    """Run the trials of each robot, and print the rows as they come; then some on its imperfect arm.

    Returns the exit status: 1 if a row of the ideal arm fails.
    """
    failed = False
    for robot in robots or ROBOTS:
        for section, rows in SECTIONS.items():
            print(f"{robot}: {section}")
            for row in rows(robot):
                _print(row, "ok  " if row.holds else "FAIL")
                failed = failed or not row.holds
    for robot in robots or ROBOTS:
        for section, imperfect_rows in IMPERFECT_SECTIONS.items():
            print(f"{IMPERFECT[robot]}: {section}")
            for row in imperfect_rows(robot, IMPERFECT[robot]):
                _print(row, "    " if row.holds else "more")
    return int(failed)


def _print(row: Row, verdict: str) -> None:
    print(f"  {verdict} {row.name:<88}{row.value:>10.4g}  {row.bound}", flush=True)
