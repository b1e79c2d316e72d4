"""``python -m evidence faults``: all rows one after the other, and their records, each figure beside
its bound, as a table in Markdown.
"""

from __future__ import annotations

import argparse
import fnmatch
import json
import sys
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace

from robot_control_ros.cli.options import add_number, output_file
from robot_control_ros.core.bounded import Bounded
from robot_control_ros.core.errors import RobotControlError, unknown
from robot_control_ros.core.output_files import write_text
from robot_control_ros.core.types import Array

from ..programs import Programs
from ..row import Row
from .bench import Bench
from .clock_rows import CLOCKS
from .crowd_rows import CROWD
from .line_rows import LINES
from .message_rows import MESSAGES
from .process_rows import PROCESSES
from .trial import (
    Fault,
    Trial,
    TrialRecord,
    failures,
    not_run,
    path_without_fault,
    safe_output_row,
    speed_row,
    step_row,
    way_row,
)

FAULTS: tuple[Fault, ...] = (*PROCESSES, *LINES, *MESSAGES, *CLOCKS, *CROWD)
HEAD = (
    "fault",
    "safe output after [ms]",
    "largest step",
    "of its rate [%]",
    "joint speed [%]",
    "tip [m/s]",
    "way, off path [mm]",
    "rest after [s]",
    "told",
    "back by",
)
SHOWN = 3  # texts of a row
LONGEST = 160  # characters of a text


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of the command line."""
    parser.add_argument(
        "--rows",
        default="*",
        metavar="PATTERN",
        help="pattern of the rows' names, as a shell has it",
    )
    load = Bounded(default=0.0, lower=0.0, unit="kg", doc="mass on the tip that nobody knows of")
    add_number(parser.add_argument, "--load", load, default="")
    parser.add_argument("--list", action="store_true", help="print the names of the rows")
    parser.add_argument(
        "--page",
        type=output_file(".md"),
        metavar="FILE",
        help="Markdown page that the table is written into",
    )
    parser.add_argument(
        "--json", type=output_file(".json"), metavar="FILE", help="JSON file for the records"
    )


def run(options: argparse.Namespace) -> int:
    """Run the chosen rows, and print them; the exit status is 1 where one fails.

    Raises:
        ConfigError: no row has such a name; a file can't be written.
    """
    faults = [fault for fault in FAULTS if fnmatch.fnmatchcase(fault.name, options.rows)]
    if options.load > 0.0:
        faults = [fault for fault in faults if not fault.simulator]
    if not faults:
        raise unknown("rows", options.rows, [fault.name for fault in FAULTS])
    if options.list:
        print("\n".join(fault.name for fault in faults))
        return 0
    records = []
    lines = []
    print("\n".join(head()), flush=True)
    for fault, record in zip(faults, records_of(faults, options.load), strict=True):
        line = row(fault, record)
        print(line, flush=True)
        for failure in record.failures:
            print(f"{record.fault}: {failure}", file=sys.stderr, flush=True)
        lines.append(line)
        records.append(record)
    if options.json:
        write_text(
            options.json, json.dumps([asdict(record) for record in records], indent=2), ".json"
        )
    if options.page:
        write_page(options.page, lines)
    return int(any(record.failures for record in records))


def records_of(faults: Sequence[Fault], load: float = 0.0) -> Iterator[TrialRecord]:
    """Run rows one after the other, each with programs of its own, and with a
    load on the tip [kg].
    """
    paths: dict[str, Array] = {}
    for fault in faults:
        if fault.moving and fault.law not in paths:
            paths[fault.law] = path_of(fault.law, load)
        yield record_of(fault, paths.get(fault.law) if fault.moving else None, load)


def path_of(law: str, load: float = 0.0) -> Array:
    """Positions of the tip (k, 3) on its way where nothing fails [m].

    The arm is under a law, and has a load [kg].
    """
    with Programs() as programs:
        bench = Bench(programs, law, load=load)
        bench.start()
        return path_without_fault(bench)


def record_of(fault: Fault, path: Array | None = None, load: float = 0.0) -> TrialRecord:
    """Run one row, end its programs, and judge all of it.

    Args:
        fault: Fault of the row.
        path: Positions of the tip without the fault (k, 3) [m]; needed where the arm moves.
        load: Mass on the tip that nobody knows of [kg].
    """
    with Programs() as programs:
        bench = Bench(programs, fault.law, simulator=fault.simulator, load=load)
        try:
            bench.start()
            record = Trial(bench, fault, path).run()
        except RobotControlError as error:
            return not_run(fault, str(error))
        statuses = programs.end()
        record = replace(record, statuses=statuses, left=tuple(programs.left_behind()))
        return replace(record, failures=tuple(failures(fault, record)))


def head() -> list[str]:
    """The head of the table, and its ruler."""
    return [_line(HEAD), _line(["---"] * len(HEAD))]


def row(fault: Fault, record: TrialRecord) -> str:
    """A record as a row of the table; bounds stand in brackets."""
    more = len(record.told) - SHOWN
    told = "; ".join(
        textwrap.shorten(text, LONGEST, placeholder=" …") for text in record.told[:SHOWN]
    ) + (f"; and {more} more" if more > 0 else "")
    safe = _bounded(safe_output_row(fault, record)) if fault.safe else "-"
    way = way_row(fault, record)
    away = f"{1e3 * record.off_path:.0f}" if way is None else _bounded(way)
    return _line(
        (
            record.fault + (": FAILED" if record.failures else ""),
            safe,
            f"{record.step:.3g}",
            _bounded(step_row(record)),
            _bounded(speed_row(record)),
            f"{record.tip_speed:.2f}",
            f"{1e3 * record.way:.0f}, {away}",
            "-" if record.rest_after is None else f"{record.rest_after:.2f}",
            told or "-",
            record.back or "-",
        )
    )


def write_page(path: str, lines: Sequence[str]) -> None:
    """Put a table of lines in place of the one on a page.

    Raises:
        ConfigError: the page can't be written.
    """
    with open(path, encoding="utf-8") as file:
        page = file.read()
    before = page.partition(_line(HEAD))[0]
    write_text(path, "\n".join([before.rstrip(), "", *head(), *lines, ""]), ".md")


def _bounded(row: Row) -> str:
    """A measured value with its bound in brackets."""
    return f"{row.measured:.0f} ({row.bound})"


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(' '.join(cell.replace('|', '/').split()) for cell in cells)} |"
