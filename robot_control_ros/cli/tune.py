"""``robot_control tune``: searches for the gains of a law, and shows or exports the result."""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Any

from ..core.bounded import Bounded
from ..core.errors import missing_extra
from .options import LAW, OUTPUT_FOLDER, SCHEDULER, WORKERS, add_command, add_number
from .progress import Progress

RUN = "run"
STATUS = "status"
BEST = "best"
EXPORT = "export"
ACTIONS = (RUN, STATUS, BEST, EXPORT)
STUDY = "tuning"
ARMS = 4
TRIALS = 200
LAG = 16
HELD_OUT = 20  # arms that no search has seen
MOST = 10**6


def add_tune(commands: Any) -> None:
    """Add the command `tune` to the subcommands of a parser."""
    add = add_command(
        commands,
        "tune",
        "Search for a law's gains in simulation, on one core or on many machines.",
        _tune,
        "robot_control tune ur5e --law impedance --trials 50 --workers 2",
        "robot_control tune ur5e export --output gains",
        details="The trials are kept: the same line again goes on with the search.",
        renamed={"--arm": "--imperfections"},
    )
    add("robot", metavar="ROBOT", help="robot: name, or path of a YAML file")
    text = "search; or print the study's status or its best gains; or export them (default: run)"
    add("action", nargs="?", choices=ACTIONS, default=RUN, help=text)
    add("--law", **LAW)
    text = "goals of the search, with commas; ? lists all with their units (default: track,contact)"
    add("--objective", default="track,contact", metavar="NAMES", help=text)
    text = (
        "gain to vary, as in stiffness=200:4000 or stiffness.linear=0.2x:5x; "
        "may be repeated (default: the usual)"
    )
    add("--vary", action="append", default=[], metavar="GAIN=LOWER:UPPER", help=text)
    text = "number of trials that the study has in the end"
    trials = Bounded(default=TRIALS, lower=1, upper=MOST, whole=True, doc=text)
    add_number(add, "--trials", trials)
    text = "number of arms that each trial simulates"
    arms = Bounded(default=ARMS, lower=1, upper=1000, whole=True, doc=text)
    add_number(add, "--arms", arms)
    text = (
        "imperfections that the arms lie around, such as an identified arm: "
        "name, or path of a YAML file"
    )
    add("--imperfections", default="", metavar="NAME", help=text)
    text = "seed of the search and of the arms"
    seed = Bounded(default=0, lower=0, upper=2**32 - 1, whole=True, doc=text)
    add_number(add, "--seed", seed)
    add("--sampler", default="tpe", help="kind of search: tpe, nsga2 or random (default: tpe)")
    text = "number k: a trial knows those up to k before it, so at most k run at a time"
    lag = Bounded(default=LAG, lower=1, upper=MOST, whole=True, doc=text)
    add_number(add, "--lag", lag)
    add_number(add, "--workers", WORKERS, default="this one alone")
    add("--scheduler", **SCHEDULER)
    text = (
        "storage of the trials, which machines may share: journal:///PATH or postgresql://… "
        "(default: a journal here)"
    )
    add("--storage", default="", metavar="URL", help=text)
    text = f"name of the study in the storage (default: {STUDY})"
    add("--study", default=STUDY, metavar="NAME", help=text)
    text = (
        "folder that export writes the gains, the table, the page and its picture to "
        "(default: ROBOT-LAW-tuned)"
    )
    add("--output", type=OUTPUT_FOLDER, metavar="FOLDER", help=text)
    text = "number of other arms on which export measures both gains"
    held_out = Bounded(default=HELD_OUT, lower=1, upper=1000, whole=True, doc=text)
    add_number(add, "--held-out", held_out)


def _tune(options: argparse.Namespace) -> int:
    if options.objective.strip() == "?":
        return _list_objectives()
    try:
        import optuna as _  # noqa: F401
    except ImportError as error:
        raise missing_extra("tune", "optuna", "tuning") from error
    actions = {RUN: _run, STATUS: _status, BEST: _best, EXPORT: _export}
    return actions[options.action](options)


def _list_objectives() -> int:
    from ..tuning.objectives import objectives

    for each in objectives():
        print(f"{each.name:<14}{f'[{each.unit}]':<14}{each.direction:<10}{each.doc}")
    return 0


def _storage(options: argparse.Namespace) -> str:
    """Address of the storage; by default a journal in this folder, named by robot and law."""
    return options.storage or f"journal://{Path.cwd()}/{_name(options)}.journal"


def _name(options: argparse.Namespace) -> str:
    law = options.law.rpartition(":")[2].rpartition(".")[2]
    return f"{Path(options.robot).stem}-{law}"


# --- run ---


def _run(options: argparse.Namespace) -> int:
    from ..tuning.gain_study import GainStudy

    study = GainStudy(
        options.robot,
        options.law,
        options.objective,
        tuple(options.vary),
        options.arms,
        options.imperfections,
        options.seed,
    )
    began = time.monotonic()
    with Progress("tune", options.trials, "trials") as shown:
        trials = _Trials(shown)
        tuned = study.run(
            options.trials,
            storage=_storage(options),
            name=options.study,
            seed=options.seed,
            sampler=options.sampler,
            lag=options.lag,
            workers=options.workers,
            scheduler=options.scheduler,
            tell=shown.tell,
            progress=trials.show,
        )
    _print_costs(tuned.rows[trials.ended_before :], time.monotonic() - began, options)
    _print_best(tuned)
    print(f"next: robot_control tune {options.robot} {EXPORT}{_same_study(options)}")
    return 0


def _same_study(options: argparse.Namespace) -> str:
    """Options that name the same study in a command line; those with their default are left out."""
    given = (
        ("--law", options.law, LAW["default"]),
        ("--storage", options.storage, ""),
        ("--study", options.study, STUDY),
    )
    return "".join(f" {name} {value}" for name, value, usual in given if value != usual)


def _print_costs(rows: Any, seconds: float, options: argparse.Namespace) -> None:
    if not rows:
        print("all trials had ended before: nothing was computed")
        return
    each = sum(row.seconds for row in rows) / len(rows)
    print(f"{len(rows)} trials in {seconds:.0f} s; {each:.2f} s of computing a trial", end="")
    if options.scheduler:
        print()
        return
    overhead = seconds * max(options.workers, 1) / len(rows) - each
    print(f", and {max(overhead, 0.0):.2f} s of overhead")


class _Trials:
    """Progress of a study's trials.

    Attributes:
        ended_before: Number of trials that had ended before this run; None before it begins.
    """

    def __init__(self, shown: Progress) -> None:
        self.ended_before: int | None = None
        self._shown = shown

    def show(self, progress: Any) -> None:
        """Show how far the study is."""
        ended = len(progress.tuned.rows)
        if self.ended_before is None:
            self.ended_before = ended
        self._shown.show(ended, _best_text(progress.tuned))


def _best_text(tuned: Any) -> str:
    if all(row.failed for row in tuned.rows):
        return "none has values yet"
    best = tuned.best
    values = ", ".join(
        f"{goal.name} {value:.4g}" for goal, value in zip(tuned.goals, best.values, strict=True)
    )
    return f"best: {values} (trial {best.index})"


# --- what a study has found ---


def _stored(options: argparse.Namespace) -> tuple[Any, Any, Any]:
    """The stored study (GainStudy), its ledger, and its trials with their values."""
    from ..tuning.gain_study import GainStudy
    from ..tuning.shared_study import stored_ledger

    url = _storage(options)
    study = GainStudy.stored(url, options.study)
    ledger = stored_ledger(url, options.study)
    return study, ledger, ledger.tuned(study.goals)


def _status(options: argparse.Namespace) -> int:
    study, ledger, tuned = _stored(options)
    failed = [row for row in tuned.rows if row.failed]
    running = [attempt.user_attrs["owner"] for _, attempt in ledger.all_running()]
    print(f"{study.robot} under {study.law}: {study.objective}, on {study.arms} arms")
    print(
        f"{len(tuned.rows)} trials have ended, {len(failed)} of them failed; {len(running)} run, or were left"
    )
    for owner in running:
        print(f"  {owner.get('host')}: process {owner.get('process')}")
    for row in failed[-5:]:
        print(f"  trial {row.index} failed: {row.reason}")
    if tuned.rows:
        seconds = sum(row.seconds for row in tuned.rows) / len(tuned.rows)
        print(f"{seconds:.2f} s a trial; {_best_text(tuned)}")
    return 0


def _best(options: argparse.Namespace) -> int:
    study, _, tuned = _stored(options)
    _print_best(tuned)
    for name, value in study.space.gains(tuned.best.parameters).items():
        print(f"{name}: {value}")
    return 0


def _print_best(tuned: Any) -> None:
    own = tuned.rows[0]
    rows = [("trial 0", own), (f"trial {tuned.best.index}, chosen", tuned.best)]
    print(f"{'':<24}" + "".join(f"{goal!s:>18}" for goal in tuned.goals))
    for name, row in rows:
        print(f"{name:<24}" + "".join(f"{value:>18.5g}" for value in row.values))


def _export(options: argparse.Namespace) -> int:
    from ..tuning.gain_files import write_report

    study, _, tuned = _stored(options)
    folder = options.output or Path(f"{_name(options)}-tuned")
    for path in write_report(study, tuned, folder, options.held_out, workers=options.workers):
        print(path)
    return 0
