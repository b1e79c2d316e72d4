"""``robot_control replay``: computes recorded laws again, with their gains or with others."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..control.law_replay import Replay, Replayed
from ..core.output_files import replaced_file
from ..core.types import Array
from ..recording.cycle_file import CycleFile
from ..robot.model import RobotModel


@dataclass
class Summary:
    """Summary of a replayed record.

    Attributes:
        cycles: Number of cycles in the record.
        replayed: Number of cycles that could be computed again.
        begin, end: Stamps of the first and the last cycle [s].
        laws: Names of the laws that ran, in the order of time.
        faults: Reasons why the safe output was sent, in the order of time.
        largest: (n,) largest difference of the commands of each joint; None before the first cycle.
        reasons: Reasons why cycles could not be computed again.
    """

    cycles: int = 0
    replayed: int = 0
    begin: float = 0.0
    end: float = 0.0
    laws: list[str] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)
    largest: Array | None = None
    reasons: list[str] = field(default_factory=list)

    def add(self, part: Replayed) -> None:
        """Add the next cycles to the summary."""
        record = part.record
        times = record["time"]
        if self.cycles == 0:
            self.begin = float(times[0])
        self.end = float(times[-1])
        self.cycles += len(record)
        self.replayed += int(part.replayed.sum())
        difference = part.difference().max(axis=0)
        self.largest = difference if self.largest is None else np.maximum(self.largest, difference)
        _add_new(self.laws, [setting.law for setting in record.settings])
        _add_new(self.faults, [note.fault for note in record.notes if note.fault])
        _add_new(self.reasons, [part.reason] if part.reason else [])

    def lines(self, joints: list[str], others: dict[str, Any]) -> Iterator[str]:
        """Lines that are printed; `others` are the gains in place of the recorded ones."""
        yield f"{self.cycles} cycles in {self.end - self.begin:.3f} s, laws: {', '.join(self.laws)}"
        for fault in self.faults:
            yield f"fault: {fault}"
        yield f"{self.replayed} cycles computed again"
        for reason in self.reasons:
            yield f"the others were not: {reason}"
        if self.replayed == 0 or self.largest is None:
            return
        if not others and not self.largest.any():
            yield "the commands are the same, to the last bit"
            return
        what = (
            "with " + ", ".join(f"{name} = {value}" for name, value in others.items())
            if others
            else "now"
        )
        yield f"largest difference of the law's commands, {what}:"
        for joint, size in zip(joints, self.largest, strict=True):
            yield f"  {joint:<24} {size:.6g}"


def _add_new(texts: list[str], more: list[str]) -> None:
    for text in more:
        if text not in texts:
            texts.append(text)


def run(options: argparse.Namespace) -> int:
    """Replay a record, print the summary, and write a table where asked for.

    Returns the exit status: 1 where the recorded gains give other commands.
    """
    file = CycleFile(options.file)
    model = file.model()
    others = dict(options.set)
    summary = Summary()
    parts = _replayed(file, model, others)
    if options.csv:
        with replaced_file(options.csv, ".csv") as table:
            table.write(f"{','.join(_columns(model))}\n".encode())
            for part in parts:
                summary.add(part)
                np.savetxt(table, _rows(part), delimiter=",")
    else:
        for part in parts:
            summary.add(part)
    for line in summary.lines(list(model.joints), others):
        print(line)
    if not file.complete:
        print("the file was cut off: it was read to its end")
    differs = summary.largest is not None and bool(summary.largest.any())
    return 1 if differs and not others else 0


def _replayed(file: CycleFile, model: RobotModel, others: dict[str, Any]) -> Iterator[Replayed]:
    replay = Replay(model, others)
    for block in file.blocks():
        yield replay.run(block)


def _columns(model: RobotModel) -> list[str]:
    """Names of the columns of the table."""
    kinds = ("recorded", "replayed", "sent")
    return ["time", *(f"{kind}.{joint}" for kind in kinds for joint in model.joints)]


def _rows(part: Replayed) -> Array:
    """Rows of the table: time, recorded and replayed command of the law, and the command sent."""
    record = part.record
    return np.column_stack((record["time"], record["asked"], part.asked, record["sent"]))
