"""What processes take of the machine over time (Linux), and whether that grows."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ..row import Row, required

SETTLED = 600.0  # s after which memory may not grow any more
MAX_GROWTH = 5.0  # MB, of a process after that
MAX_MISSED = 1e-3  # share of the joint states
REQUIRED = required("evidence/faults/README.md")


@dataclass(frozen=True)
class Usage:
    """What a process takes at one time.

    Attributes:
        time: Time since the begin [s].
        memory: Resident memory [MB].
        handles: Number of open files, sockets and the like.
        threads: Number of threads.
    """

    time: float
    memory: float
    handles: int
    threads: int


@dataclass(frozen=True)
class Missed:
    """Joint states of the controller until one time.

    Attributes:
        time: Time since the begin [s].
        cycles: Joint states that were answered.
        missed: Joint states that were late or lost.
    """

    time: float
    cycles: int
    missed: int


def usage_of(process: int, time: float) -> Usage:
    """What a process takes now.

    Raises:
        OSError: it has ended.
    """
    lines = (
        Path(f"/proc/{process}/status").read_text(encoding="ascii", errors="replace").splitlines()
    )
    fields = dict(line.split(":", 1) for line in lines)
    memory = int(fields["VmRSS"].split()[0]) / 1e3
    return Usage(time, memory, len(os.listdir(f"/proc/{process}/fd")), int(fields["Threads"]))


def settled_usages(usages: Sequence[Usage]) -> list[Usage]:
    """What a process took from its tenth minute on."""
    return [usage for usage in usages if usage.time >= usages[0].time + SETTLED]


def growth(usages: Sequence[Usage]) -> float | None:
    """Growth of settled memory [MB]: the mean of the last tenth less that of the first.

    It settles within ten minutes of the process. None where that ran for less time, or was looked
    at too seldom: nothing can be said of its growth then.
    """
    settled = [usage.memory for usage in settled_usages(usages)]
    part = len(settled) // 10
    if part == 0:
        return None
    return sum(settled[-part:]) / part - sum(settled[:part]) / part


def missed_share(counts: Sequence[Missed]) -> float:
    """The share of joint states that were late or lost from the first count to the last."""
    if len(counts) < 2:
        return 0.0
    missed = counts[-1].missed - counts[0].missed
    cycles = counts[-1].cycles - counts[0].cycles
    return missed / max(cycles + missed, 1)


def soak_rows(usages: Mapping[str, Sequence[Usage]], counts: Sequence[Missed]) -> list[Row]:
    """Rows of memory and of missed joint states. A process too young to be judged has none."""
    rows = []
    for name, seen in usages.items():
        grown = growth(seen)
        if grown is not None:
            text = f"{name}: memory grown after the tenth minute by"
            rows.append(Row.at_most(text, grown, MAX_GROWTH, "MB", REQUIRED))
    missed = 100.0 * missed_share(counts)
    rows.append(Row.at_most("joint states missed", missed, 100.0 * MAX_MISSED, "%", REQUIRED))
    return rows
