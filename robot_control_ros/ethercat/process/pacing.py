"""When the cycles are, and how well they were kept."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

SIZE = 8192  # of the last cycles
COLUMNS = ("wake-up", "round trip", "compute and pack", "whole cycle")
_BYTES = 4
# Settings of the bus's process for an emulated bus: where machines stall, as virtual ones do, that isn't its fault.
EMULATED_BUS_TIMEOUTS: dict[str, Any] = {
    "frame_timeout": 0.05,
    "bad_cycles": 20,
    "command_timeout": 0.2,
    "watchdog": 0.2,
}
_HEAD = 24  # bytes of counters
TIMING_BYTES = _HEAD + SIZE * len(COLUMNS) * _BYTES


class Timing:
    """How long the parts of the last cycles took.

    Wake-up: from the cycle's time to the frame being sent. Round trip: until it was received. Compute and pack: until
    the next outputs were ready. Whole cycle: from the cycle's time to that. A cycle is on time whose next outputs are
    ready before the next cycle's time.

    Args:
        memory: of TIMING_BYTES, zeros at first, which one process writes and others read.
    """

    def __init__(self, memory: memoryview | bytearray | None = None) -> None:
        memory = memoryview(bytearray(TIMING_BYTES) if memory is None else memory)
        self._counts = memory[:_HEAD].cast("Q")  # cycles, of them on time, and left out
        self._rings: NDArray[np.float32] = np.frombuffer(memory[_HEAD:], np.float32).reshape(len(COLUMNS), SIZE)

    def add(self, due: float, sent: float, received: float, ready: float, period: float, left_out: int = 0) -> None:
        """One cycle, by times of one clock [s], and how many have been left out so far."""
        at = self._counts[0] % SIZE
        rings = self._rings
        rings[0, at], rings[1, at] = sent - due, received - sent
        rings[2, at], rings[3, at] = ready - received, ready - due
        self._counts[0] += 1
        self._counts[1] += ready - due < period
        self._counts[2] = left_out

    @property
    def cycles(self) -> int:
        """How many there have been."""
        return self._counts[0]

    @property
    def on_time(self) -> float:
        """Share of all cycles that were on time, those that were left out among them; NaN where there were none."""
        due = self._counts[0] + self._counts[2]
        return self._counts[1] / due if due else math.nan

    def percentiles(self, shares: tuple[float, ...] = (50.0, 99.0, 99.9)) -> Mapping[str, tuple[float, ...]]:
        """By column, percentiles of the last cycles [s]; NaN where there were none."""
        filled = self._rings[:, : min(self.cycles, SIZE)].astype(float)
        if not filled.size:
            return {name: (math.nan,) * len(shares) for name in COLUMNS}
        return {name: tuple(np.percentile(row, shares).tolist()) for name, row in zip(COLUMNS, filled, strict=True)}

    def samples(self) -> NDArray[np.float32]:
        """(columns, cycles) of the last cycles [s], in no order."""
        return self._rings[:, : min(self.cycles, SIZE)].copy()


class ClockFollower:
    """Keeps cycles in step with the bus's reference clock, so that frames arrive at a fixed time before SYNC0.

    A phase-locked loop, proportional and integral: a clock that is wrong by a constant rate is followed exactly.

    Args:
        period: of the cycle [s].
        shift: when in the period the frame shall be at the reference clock [s]; half of it by default.
        largest: correction of one cycle [s].
    """

    PROPORTIONAL, INTEGRAL = 0.02, 0.0001  # per cycle; damping ratio 1: integral = proportional² / 4

    def __init__(self, period: float, shift: float | None = None, largest: float = 2e-5) -> None:
        self._period, self._largest = round(period * 1e9), largest
        self._shift = round((0.5 * period if shift is None else shift) * 1e9)
        self._drift = 0.0
        self.error = math.nan  # s, of the last phase

    def correction(self, clock: int) -> float:
        """What the next cycle has to be later [s].

        Args:
            clock: of the reference, with the last frame [ns].
        """
        error = (clock - self._shift) % self._period
        error -= self._period if error > self._period // 2 else 0
        self.error = error * 1e-9
        wanted = self.PROPORTIONAL * self.error + self._drift
        correction = max(-self._largest, min(self._largest, wanted))
        if correction == wanted:  # else the integral would wind up, for ever where the clock stands still
            self._drift += self.INTEGRAL * self.error
        return -correction
