"""Durations of control cycles, and the count of those that come late."""

from __future__ import annotations

import struct
from collections.abc import Sequence

import numpy as np

from ..core.types import Array

CREDIT = 1.5  # periods, at most, that a sample may be early and a later one late for it
LATE = 0.5  # periods after it was due, from which on a sample has missed its deadline
FORGIVEN = 0.05  # of the lateness, each cycle: a rate a little below the nominal one misses nothing


class TimeRing:
    """The times of the last cycles, in columns.

    Args:
        columns: Number of times per cycle.
        size: Number of cycles that are kept.
        memory: Memory of :meth:`bytes_of` bytes, zeros at first, which one process writes and
            others may read; None for memory of its own.
    """

    def __init__(self, columns: int, size: int, memory: memoryview | None = None) -> None:
        memory = memoryview(bytearray(self.bytes_of(columns, size))) if memory is None else memory
        self._columns = columns
        self._size = size
        self._memory = memory
        self._count = memory[:8].cast("Q")
        self._write = struct.Struct(f"{columns}d").pack_into
        self._rows = np.frombuffer(memory[8:]).reshape(size, columns)

    @staticmethod
    def bytes_of(columns: int, size: int) -> int:
        """The length of a ring's memory."""
        return 8 * (1 + columns * size)

    @property
    def count(self) -> int:
        """Cycles since the start."""
        return self._count[0]

    def add(self, *times: float) -> None:
        """Add one cycle, with one time for each column [s]."""
        count = self._count[0]
        self._write(self._memory, 8 + count % self._size * 8 * self._columns, *times)
        self._count[0] = count + 1

    def samples(self) -> Array:
        """Times (columns, cycles) [s] of the last cycles; cycle i is at i modulo the size."""
        return np.array(self._rows[: min(self.count, self._size)].T)

    def percentiles(self, percents: Sequence[float]) -> Array:
        """Percentiles (columns, percents) [s] over the last cycles; NaN where there were none."""
        samples = self.samples()
        if not samples.size:
            return np.full((self._columns, len(percents)), np.nan)
        return np.percentile(samples, percents, axis=1).T


class CycleTimes:
    """Durations of the last cycles, and the times between them, in a ring of fixed size.

    A sample is due one period after the one before was, or came, whichever is later. In simulated
    time ros2_control stamps samples with a clock that comes unsteadily. So samples that come early,
    or without new time, make good for samples that come late.

    Attributes:
        repeated: Number of samples that brought no new time.
        missed: Number of cycles that came half a period after they were due, or later.
    """

    SIZE = 2000

    def __init__(self, period: float) -> None:
        self._period = period
        self._earliest = -CREDIT * period
        self._latest = LATE * period
        self._ring = TimeRing(2, self.SIZE)
        self._late = 0.0  # of the last sample [s]; below 0 where it was early
        self.repeated = 0
        self.missed = 0

    @property
    def count(self) -> int:
        """Cycles since the start, without samples that brought no new time."""
        return self._ring.count

    def add(self, spent: float, gap: float) -> None:
        """Add one cycle: the time it took, and the time since the one before [s]."""
        self._ring.add(spent, gap)
        late = self._late + gap - self._period
        if late > self._latest:
            self.missed += 1
            late = 0.0
        elif late > 0.0:
            late -= FORGIVEN * late
        elif late < self._earliest:
            late = self._earliest
        self._late = late

    def repeat(self) -> None:
        """Count one sample without new time."""
        self.repeated += 1
        self._late = max(self._late - self._period, self._earliest)

    def summary(self) -> dict[str, float]:
        """Percentiles over the ring [s], and the counters."""
        counters = {
            "cycles": float(self.count),
            "repeated": float(self.repeated),
            "missed": float(self.missed),
        }
        if self.count == 0:
            return counters
        names = ("compute_p50", "compute_p99", "period_p50", "period_p99")
        return {
            **counters,
            **dict(zip(names, self._ring.percentiles((50.0, 99.0)).ravel().tolist(), strict=True)),
        }
