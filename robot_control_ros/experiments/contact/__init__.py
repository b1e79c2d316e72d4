"""Trials of contact, each with its bound: what ``robot_control contact`` prints."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from . import collision_trials, force_trials, frame_trials, spring_trials
from .row import Row

ROBOTS = ("ur5", "ur5e", "gen3")
SECTIONS: dict[str, Callable[[str], Iterable[Row]]] = {
    "bounded spring": spring_trials.rows,
    "compliance frame": frame_trials.rows,
    "force control": force_trials.rows,
    "contact detection": collision_trials.rows,
}


def contact_table(robots: Sequence[str] = ()) -> int:
    """Run the trials of each robot, and print the rows as they come.

    Returns the exit status: 1 if a row fails.
    """
    failed = False
    for robot in robots or ROBOTS:
        for section, rows in SECTIONS.items():
            print(f"{robot}: {section}")
            for row in rows(robot):
                print(f"  {'ok  ' if row.holds else 'FAIL'} {row.name:<84}{row.value:>10.4g}  {row.bound}", flush=True)
                failed = failed or not row.holds
    return int(failed)
