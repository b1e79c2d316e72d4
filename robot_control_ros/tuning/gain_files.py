"""Files with a search's result, for people and for the robot: gains, table, page and picture."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ..core.output_files import write_text
from ..core.output_paths import writable_folder
from ..core.types import Array
from ..robot.yaml_files import yaml_text
from ..simulation.log import figure_class, save_picture
from ..simulation.worker_processes import worker_processes
from .gain_study import GainStudy, HeldOutComparison, compare
from .objectives import CONTOUR, PRESS, STEP
from .results import Goal, TrialRow, Tuned
from .runs import run_curve, simulated_robot

GAINS = "gains.yaml"
TABLE = "trials.csv"
PAGE = "tuning.md"
PICTURE = "tuning.png"
OWN_COLOUR = "#8a8a8a"
CHOSEN_COLOUR = "#1f5fa8"
OTHERS_COLOUR = "#c9d8ea"
DRAWN_ARMS = 4  # that no search has seen
PANELS = ((STEP, "Step of the target"), (PRESS, "Wall"), (CONTOUR, "Contour"))


def write_report(
    study: GainStudy, tuned: Tuned, folder: Path, held_out: int, *, workers: int = 0
) -> Iterator[Path]:
    """Write gains, table, picture and page of a search into a folder; yields each path.

    The robot's own gains and the chosen ones are measured on arms that no search has seen.

    Args:
        study: Robot, law, objectives and arms of the search.
        tuned: Trials of the search.
        folder: Folder of the files; it is made where there is none.
        held_out: Number of arms that no search has seen.
        workers: Number of processes that measure; 0 measures in this one.

    Raises:
        ConfigError: the folder can't be written; the ranges don't have the robot's own gains.
        HardwareFault: the disk is full.
        RobotControlError: no trial has values.
    """
    writable_folder(folder).mkdir(parents=True, exist_ok=True)
    chosen = tuned.best
    gains = study.space.gains(chosen.parameters)
    yield write_text(folder / GAINS, gains_text(study, chosen, gains), ".yaml")
    yield tuned.to_csv(folder / TABLE)
    yield draw(study, tuned, folder / PICTURE)
    if workers:
        with worker_processes(workers) as (pool,):
            comparison = compare(study, chosen.parameters, held_out, pool.map)
    else:
        comparison = compare(study, chosen.parameters, held_out)
    yield write_text(folder / PAGE, page_text(study, tuned, comparison), ".md")


def gains_text(study: GainStudy, chosen: TrialRow, gains: Mapping[str, Any]) -> str:
    """The gains as a ROS parameter file, which launch files and the demo take."""
    head = (
        f"# {study.robot} under {study.law}, tuned for {study.objective}: trial {chosen.index}.\n"
        "# Pass it with gains:=FILE (launch) or --gains FILE (robot_control demo).\n"
    )
    return head + yaml_text({"/**": {"ros__parameters": {study.law: dict(gains)}}}, flow=None)


# --- the page ---


def page_text(study: GainStudy, tuned: Tuned, comparison: HeldOutComparison) -> str:
    """Markdown: what was searched, what was found, and how it does on other arms."""
    chosen = tuned.best
    own = tuned.rows[0]
    failed = sum(row.failed for row in tuned.rows)
    lines = [
        f"# Gains of {study.law} for {study.robot}",
        "",
        f"{len(tuned.rows)} trials, {failed} of them failed. Each was measured on {study.arms} simulated arms. "
        f"The chosen one is trial {chosen.index}. Trial 0 has the robot's own gains.",
        "",
        f"![The trials, and the chosen gains beside the robot's own]({PICTURE})",
        "",
        "## On the arms of the search",
        "",
        *_table(
            tuned.goals,
            {"own gains": _by_name(tuned, own), "chosen gains": _by_name(tuned, chosen)},
        ),
        f"## On {comparison.arms} other arms",
        "",
        "No search has seen these arms. The last row says on how many of them the chosen gains are better.",
        "",
        *_table(
            tuned.goals,
            {
                "own gains": comparison.own,
                "chosen gains": comparison.chosen,
                "better on": comparison.better,
            },
        ),
        "## Gains",
        "",
        "| gain | own | chosen |",
        "|---|---|---|",
    ]
    before = study.own_gains()
    for name, value in study.space.gains(chosen.parameters).items():
        lines.append(f"| {name} | {_shown(before[name])} | {_shown(value)} |")
    lines += [
        "",
        f"Pass them on: `gains:={GAINS}` (launch) or `--gains {GAINS}` (robot_control demo).",
        "",
    ]
    return "\n".join(lines)


def _by_name(tuned: Tuned, row: TrialRow) -> dict[str, float]:
    return {goal.name: value for goal, value in zip(tuned.goals, row.values, strict=False)}


def _table(goals: Sequence[Goal], rows: Mapping[str, Mapping[str, float]]) -> Iterator[str]:
    yield "| | " + " | ".join(map(str, goals)) + " |"
    yield "|---" * (len(goals) + 1) + "|"
    for name, values in rows.items():
        yield (
            f"| {name} | "
            + " | ".join(_shown(values.get(goal.name, "failed")) for goal in goals)
            + " |"
        )
    yield ""


def _shown(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(map(_shown, value))
    return f"{value:.4g}" if isinstance(value, float) else str(value)


# --- the picture ---


def draw(study: GainStudy, tuned: Tuned, path: Path) -> Path:
    """The trials with their front, and step, wall and contour of the chosen gains beside the
    robot's own.

    Raises:
        ConfigError: see :func:`~..simulation.log.picture_path`.
    """
    figure = figure_class()(figsize=(11.0, 8.0), layout="constrained")
    axes = figure.subplots(2, 2)
    _draw_trials(axes[0, 0], tuned)
    arms = study.trial(held_out=DRAWN_ARMS).arms
    robot = simulated_robot(study.robot)
    gains = {
        "own gains": study.own_gains(),
        "chosen gains": study.space.gains(tuned.best.parameters),
    }
    for panel, (run, title) in zip((axes[0, 1], axes[1, 0], axes[1, 1]), PANELS, strict=True):
        panel.set_title(f"{title}, {DRAWN_ARMS} other arms")
        for (name, values), colour in zip(gains.items(), (OWN_COLOUR, CHOSEN_COLOUR), strict=True):
            for number, arm in enumerate(arms):
                curve = run_curve(robot, study.law, values, arm, run)
                panel.plot(
                    curve.x,
                    curve.y,
                    color=colour,
                    linewidth=1.0,
                    label=name if number == 0 else None,
                )
        if curve.target is not None:
            panel.plot(*curve.target, color="0.2", linewidth=0.8, linestyle="--", label="target")
        panel.set_xlabel(curve.x_label)
        panel.set_ylabel(curve.y_label)
        if run == CONTOUR:
            panel.set_aspect("equal", adjustable="datalim")
    axes[0, 1].legend(frameon=False)
    figure.suptitle(
        f"{study.robot} under {study.law}: {len(tuned.rows)} trials on {study.arms} arms"
    )
    return save_picture(figure, path, dpi=110)


def _draw_trials(panel: Any, tuned: Tuned) -> None:
    """The first two objectives of all trials; of a single one its best value so far."""
    rows = [row for row in tuned.rows if not row.failed]
    values = np.array([row.values for row in rows])
    if len(tuned.goals) == 1:
        (goal,) = tuned.goals
        losses = np.minimum.accumulate([goal.loss(value) for value in values[:, 0]])
        panel.plot(
            [row.index for row in rows], [goal.loss(loss) for loss in losses], color=CHOSEN_COLOUR
        )
        panel.set(title="Best value so far", xlabel="trial", ylabel=str(goal))
        return
    panel.set_title("Trials")
    panel.scatter(values[:, 0], values[:, 1], s=14, color=OTHERS_COLOUR, label="trials")
    front = np.array(sorted(row.values[:2] for row in tuned.front))
    panel.plot(
        front[:, 0],
        front[:, 1],
        ".-",
        color=CHOSEN_COLOUR,
        linewidth=0.8,
        markersize=5,
        label="Pareto front",
    )
    panel.plot(*tuned.best.values[:2], "o", color=CHOSEN_COLOUR, markersize=10, label="chosen")
    if not tuned.rows[0].failed:
        panel.plot(
            *tuned.rows[0].values[:2], "s", color=OWN_COLOUR, markersize=9, label="own gains"
        )
    marked = np.array([row.values for row in (*tuned.front, tuned.rows[0]) if not row.failed])
    panel.set_xlim(*_around(marked[:, 0]))
    panel.set_ylim(*_around(marked[:, 1]))
    panel.set_xlabel(str(tuned.goals[0]))
    panel.set_ylabel(str(tuned.goals[1]))
    panel.legend(frameon=False)


def _around(marked: Array) -> tuple[float, float]:
    """Ends of an axis that shows the front and the own gains well; trials that a fault
    ended count far more.
    """
    lower = float(marked.min())
    upper = float(marked.max())
    room = 0.15 * (upper - lower) or 1.0
    return lower - room, upper + room
