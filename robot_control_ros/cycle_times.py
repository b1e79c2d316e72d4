"""How long control cycles take."""

from __future__ import annotations

import numpy as np


class CycleTimes:
    """How long the last cycles took and how far apart they were, in rings of fixed size.

    Attributes:
        count: cycles since the start.
        missed: cycles that came later than 1.5 periods after the one before.
    """

    SIZE = 2000

    def __init__(self, period: float) -> None:
        self._period = period
        self._spent = [0.0] * self.SIZE
        self._gaps = [0.0] * self.SIZE
        self.count = 0
        self.missed = 0

    def add(self, spent: float, gap: float) -> None:
        """One cycle: the time it took and the time since the one before [s]."""
        at = self.count % self.SIZE
        self._spent[at], self._gaps[at] = spent, gap
        self.count += 1
        if gap > 1.5 * self._period:
            self.missed += 1

    def summary(self) -> dict[str, float]:
        """Percentiles over the ring [s], and the counters."""
        filled = min(self.count, self.SIZE)
        if filled == 0:
            return {"cycles": 0.0, "missed": 0.0}
        spent, gaps = self._spent[:filled], self._gaps[:filled]
        return {
            "cycles": float(self.count),
            "missed": float(self.missed),
            "compute_p50": float(np.percentile(spent, 50)),
            "compute_p99": float(np.percentile(spent, 99)),
            "period_p50": float(np.percentile(gaps, 50)),
            "period_p99": float(np.percentile(gaps, 99)),
        }
