"""How long control cycles take, and whether they come on time."""

from __future__ import annotations

import numpy as np

CREDIT = 1.5  # periods, at most, that a sample may be early and a later one late for it
LATE = 0.5  # periods after it was due, from which on a sample has missed its deadline
FORGIVEN = 0.05  # of the lateness, each cycle: a rate a little below the nominal one misses nothing


class CycleTimes:
    """How long the last cycles took and how far apart they were, in rings of fixed size.

    A sample is due one period after the one before was, or came, whichever is later. In simulated time ros2_control
    stamps samples with a clock that comes unsteadily: what comes early, or with no new time at all, makes good for what
    comes late.

    Attributes:
        count: cycles since the start, without samples that brought no new time.
        repeated: samples that brought no new time.
        missed: cycles that came half a period after they were due, or later.
    """

    SIZE = 2000

    def __init__(self, period: float) -> None:
        self._period = period
        self._spent = [0.0] * self.SIZE
        self._gaps = [0.0] * self.SIZE
        self._late = 0.0  # of the last sample [s]; below 0 where it was early
        self.count = self.repeated = self.missed = 0

    def add(self, spent: float, gap: float) -> None:
        """One cycle: the time it took and the time since the one before [s]."""
        at = self.count % self.SIZE
        self._spent[at], self._gaps[at] = spent, gap
        self.count += 1
        late = self._late + gap - self._period
        if late > LATE * self._period:
            self.missed += 1
            late = 0.0
        elif late > 0.0:
            late -= FORGIVEN * late
        self._late = max(late, -CREDIT * self._period)

    def repeat(self) -> None:
        """One sample without new time."""
        self.repeated += 1
        self._late = max(self._late - self._period, -CREDIT * self._period)

    def summary(self) -> dict[str, float]:
        """Percentiles over the ring [s], and the counters."""
        filled = min(self.count, self.SIZE)
        counters = {"cycles": float(self.count), "repeated": float(self.repeated), "missed": float(self.missed)}
        if filled == 0:
            return counters
        spent, gaps = self._spent[:filled], self._gaps[:filled]
        return {
            **counters,
            "compute_p50": float(np.percentile(spent, 50)),
            "compute_p99": float(np.percentile(spent, 99)),
            "period_p50": float(np.percentile(gaps, 50)),
            "period_p99": float(np.percentile(gaps, 99)),
        }
