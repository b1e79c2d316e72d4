"""The trials from the command line, and what came of them as a table in Markdown."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from ethercat_emulator.network.veth import enter_namespace

from ...core.types import CommandMode
from .table import trials
from .trial import TrialRecord

_HEAD = ("fault", "the master saw", "the driver did", "after [ms]", "disabled [ms]", "step, way [mrad]", "back by")


def table(records: Sequence[TrialRecord]) -> str:
    """Records as a table in Markdown."""
    return "\n".join([_line(_HEAD), _line(["---"] * len(_HEAD)), *map(row, records)])


def row(record: TrialRecord) -> str:
    """One of its rows."""
    said = "; ".join(record.said)
    return _line(
        (
            record.fault + (", torque" if record.mode == CommandMode.EFFORT.value else ""),
            record.shown,
            record.action + (f": {said}" if said else ""),
            _milliseconds(record.reaction),
            _milliseconds(record.disabled),
            f"{1e3 * record.step:.2f}, {1e3 * record.moved:.1f}",
            record.recovery + ("" if record.recovered else " (NOT RECOVERED)"),
        )
    )


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(' '.join(cell.replace('|', '/').split()) for cell in cells)} |"


def _milliseconds(seconds: float | None) -> str:
    return "-" if seconds is None else f"{1e3 * seconds:.1f}"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of the command line; :func:`run_arguments` runs what they say."""
    parser.add_argument("rows", nargs="*", metavar="FAULT", help="names of faults (default: the whole table)")
    parser.add_argument("--json", default="", metavar="FILE", help="write the records there, too")


def run_arguments(options: argparse.Namespace) -> int:
    """Run the trials in a namespace of their own, and print the table; the exit status says whether all came back."""
    enter_namespace()
    print(table(()))
    records = trials(options.rows, lambda record: print(row(record), flush=True))
    if options.json:
        Path(options.json).write_text(json.dumps([asdict(record) for record in records], indent=2), encoding="utf-8")
    return 0 if all(record.recovered and not record.self_enabled for record in records) else 1
