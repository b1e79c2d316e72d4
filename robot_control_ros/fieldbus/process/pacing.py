"""When the cycles are, and how well they were kept."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from ...control.cycle_times import TimeRing

SIZE = 8192  # of the last cycles
COLUMNS = ("wake-up", "round trip", "compute and pack", "whole cycle")
# Settings of the bus's process for an emulated bus: where machines stall, as virtual ones do, that
# isn't its fault.
EMULATED_BUS_TIMEOUTS: dict[str, Any] = {
    "frame_timeout": 0.05,
    "bad_cycles": 20,
    "command_timeout": 0.2,
    "watchdog": 0.2,
}
_HEAD = 16  # bytes of counters
TIMING_BYTES = _HEAD + TimeRing.bytes_of(len(COLUMNS), SIZE)


class Timing(TimeRing):
    """Durations of the parts of the last cycles.

    Wake-up: from the cycle's time to the frame being sent. Round trip: until it was received.
    Compute and pack: until the next outputs were ready. Whole cycle: from the cycle's time to that.
    A cycle is on time whose next outputs are ready before the next cycle's time.

    Args:
        memory: Memory of TIMING_BYTES, zeros at first, which one process writes and others read.
    """

    def __init__(self, memory: memoryview | None = None) -> None:
        memory = memoryview(bytearray(TIMING_BYTES)) if memory is None else memory
        super().__init__(len(COLUMNS), SIZE, memory[_HEAD:])
        self._on_time = memory[:8].cast("Q")
        self._overruns = memory[8:_HEAD].cast("Q")

    def add_cycle(
        self,
        due: float,
        sent: float,
        received: float,
        ready: float,
        period: float,
        overruns: int = 0,
    ) -> None:
        """Add one cycle, by times of one clock [s], and how many overruns there have been."""
        self.add(sent - due, received - sent, ready - received, ready - due)
        self._on_time[0] += ready - due < period
        self._overruns[0] = overruns

    @property
    def on_time(self) -> float:
        """Fraction of all cycles that were on time, overruns among them; NaN
        where there were none.
        """
        due = self.count + self._overruns[0]
        return self._on_time[0] / due if due else math.nan

    def by_column(self, percents: Sequence[float] = (50.0, 99.0)) -> dict[str, tuple[float, ...]]:
        """Percentiles of the last cycles by column [s]; NaN where there were none."""
        return {
            name: tuple(row.tolist())
            for name, row in zip(COLUMNS, self.percentiles(percents), strict=True)
        }


class ClockFollower:
    """Keeps cycles in step with the bus's reference clock, so that frames arrive at a fixed time
    before SYNC0.

    A phase-locked loop, proportional and integral: a clock that is wrong by a constant rate is
    followed exactly.

    Args:
        period: Time between two cycles [s].
        shift: Time in the period when the frame shall be at the reference clock [s]; half of it by
            default.
    """

    LARGEST = 2e-5  # s, correction of one cycle
    # per cycle; damping ratio 1: integral = proportional² / 4
    PROPORTIONAL = 0.02
    INTEGRAL = 0.0001

    def __init__(self, period: float, shift: float | None = None) -> None:
        self._period = round(period * 1e9)
        self._shift = round((0.5 * period if shift is None else shift) * 1e9)
        self._drift = 0.0
        self.error = math.nan  # s, of the last phase

    def correction(self, clock: int) -> float:
        """Time by which the next cycle has to be later [s].

        `clock` is the reference clock's time with the last frame [ns].
        """
        error = (clock - self._shift) % self._period
        error -= self._period if error > self._period // 2 else 0
        self.error = error * 1e-9
        wanted = self.PROPORTIONAL * self.error + self._drift
        correction = max(-self.LARGEST, min(self.LARGEST, wanted))
        # else the integral would wind up, for ever where the clock stands still
        if correction == wanted:
            self._drift += self.INTEGRAL * self.error
        return -correction
