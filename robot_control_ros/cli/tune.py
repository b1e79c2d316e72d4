"""``robot_control tune``: searches for the gains of a law, and shows or exports the result."""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path
from typing import Any

from ..core.bounded import Bounded
from ..core.errors import missing_extra
from .options import LAW, OUTPUT_FOLDER, SCHEDULER, WORKERS, add_command, add_number

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
LINE_EVERY = 10.0  # s between two lines of progress, where nobody sees a bar
MOST = 10**6


def add_tune(commands: Any) -> None:
    """Add the command `tune` to the subcommands of a parser."""
    text = "search for gains, on one core or on many machines; the same line again goes on"
    add = add_command(commands, "tune", text, _tune)
    add("robot", metavar="ROBOT", help="name, or path of a YAML file")
    help_text = "run; or tell of the study: its status, its best gains; or export them"
    add("action", nargs="?", choices=ACTIONS, default=RUN, help=help_text)
    add("--law", **LAW)
    text = "what is made small or large, with commas: track,contact (default). ? lists all with their units"
    add("--objective", default="track,contact", metavar="NAMES", help=text)
    text = "a gain to vary, as in stiffness=200:4000 or stiffness.linear=0.2x:5x; may be repeated (default: the usual)"
    add("--vary", action="append", default=[], metavar="GAIN=LOWER:UPPER", help=text)
    trials = Bounded(default=TRIALS, lower=1, upper=MOST, whole=True, doc="of the study in the end")
    add_number(add, "--trials", trials)
    arms = Bounded(default=ARMS, lower=1, upper=1000, whole=True, doc="simulated, for each trial")
    add_number(add, "--arms", arms)
    text = "imperfections that the arms lie around, such as an identified arm: name, or path of a YAML file"
    add("--arm", default="", metavar="NAME", help=text)
    seed = Bounded(
        default=0, lower=0, upper=2**32 - 1, whole=True, doc="of the search and of the arms"
    )
    add_number(add, "--seed", seed)
    add("--sampler", default="tpe", help="tpe, nsga2 or random (default: tpe)")
    text = "trial k knows the trials up to k - lag, so at most so many run at a time"
    lag = Bounded(default=LAG, lower=1, upper=MOST, whole=True, doc=text)
    add_number(add, "--lag", lag)
    add_number(add, "--workers", WORKERS, default="this one alone")
    add("--scheduler", **SCHEDULER)
    text = "what keeps the trials, and may be shared: journal:///PATH or postgresql://… (default: a journal here)"
    add("--storage", default="", metavar="URL", help=text)
    add(
        "--study", default=STUDY, metavar="NAME", help=f"its name in the storage (default: {STUDY})"
    )
    text = (
        "of export: for the gains, the table, the page and its picture (default: ROBOT-LAW-tuned)"
    )
    add("--output", type=OUTPUT_FOLDER, metavar="FOLDER", help=text)
    text = "of export: other arms, on which both gains are measured"
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
        options.arm,
        options.seed,
    )
    began = time.monotonic()
    with _Bar() as bar:
        tuned = study.run(
            options.trials,
            storage=_storage(options),
            name=options.study,
            seed=options.seed,
            sampler=options.sampler,
            lag=options.lag,
            workers=options.workers,
            scheduler=options.scheduler,
            tell=bar.tell,
            progress=bar.show,
        )
    _print_costs(tuned.rows[bar.ended_before :], time.monotonic() - began, options)
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


class _Bar:
    """Progress of a study: a bar on a terminal, else a line every 10 s.

    Attributes:
        ended_before: Number of trials that had ended before this run.
    """

    def __init__(self) -> None:
        self.ended_before = 0
        self._bar: Any = None
        self._lines = not sys.stderr.isatty()
        self._last_line = -LINE_EVERY
        self._first = True

    def __enter__(self) -> _Bar:
        return self

    def __exit__(self, *error: object) -> None:
        if self._bar is not None:
            self._bar.close()

    def tell(self, words: str) -> None:
        """Print words on a line of their own, below the bar where there is one."""
        print(f"\n{words}" if self._bar is not None else words, file=sys.stderr, flush=True)

    def show(self, progress: Any) -> None:
        """Show how far the study is."""
        ended = len(progress.tuned.rows)
        if self._first:
            self._first = False
            self.ended_before = ended
        best = _best_text(progress.tuned)
        if self._lines:
            self._show_line(progress, ended, best)
            return
        if self._bar is None:
            from tqdm import tqdm

            self._bar = tqdm(total=progress.trials, initial=ended, unit="trial", dynamic_ncols=True)
        self._bar.n = ended
        self._bar.set_postfix_str(best)

    def _show_line(self, progress: Any, ended: int, best: str) -> None:
        last = ended == progress.trials
        if not last and progress.seconds < self._last_line + LINE_EVERY:
            return
        self._last_line = progress.seconds
        left = f", ends in {progress.remaining:.0f} s" if progress.remaining > 0.0 else ""
        print(
            f"{ended} of {progress.trials} trials{left}; {best}",
            file=sys.stderr,
            flush=True,
        )


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
