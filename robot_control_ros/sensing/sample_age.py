"""How late samples come, whatever their sender's clock shows."""

from __future__ import annotations

import math

OFFSET = 0.25  # s: no line to a robot is always so late, so stamps that are always older are of another clock
AHEAD = 0.05  # s: /clock of a simulation may be as coarse
ANOTHER_TIME = 1e7  # s: stamps that are further off are no wall time
DRIFT = 2e-4  # s per s, at most, by which two clocks of computers differ
JUMP = 0.05  # s by which our own clock may differ from the steady one between two samples; more is a jump


class SampleAge:
    """Tells a sender's clock that is behind, or ahead, from samples that come late.

    The least age so far is what line and clocks always take; it may grow no faster than clocks drift. Where it is below
    -:data:`AHEAD`, or above :data:`OFFSET`, it is the clock's, and what is older is late by the difference. So samples
    that come later and later are late; those of a clock that is always behind are not. Where stamps go back, or our own
    clock jumps, the least age counts anew. Beyond :data:`ANOTHER_TIME` the stamps are no wall time, but perhaps those
    of a simulation, which may be slow or pause: nobody can say how late they come.

    Attributes:
        offset: by how much the sender's clock is behind ours [s]; negative where it is ahead, 0 where the line may
            explain it.
    """

    def __init__(self) -> None:
        self.offset = 0.0
        self._least = math.inf
        self._stamp = -math.inf  # of the last sample [s]
        self._ahead = math.inf  # our clock before the steady one, at the last sample [s]

    def late(self, stamp: float, now: float, steady: float) -> float:
        """How late a sample is [s].

        Args:
            stamp: its stamp, by its sender's clock [s].
            now: by our own clock [s].
            steady: by our steady clock [s].
        """
        age = now - stamp
        ahead = now - steady
        if stamp < self._stamp or abs(ahead - self._ahead) > JUMP:
            self._least = math.inf
        drifted = self._least + DRIFT * max(stamp - self._stamp, 0.0)
        self._least = min(age, drifted)
        self._stamp = stamp
        self._ahead = ahead
        self.offset = 0.0 if -AHEAD <= self._least <= OFFSET else self._least
        return 0.0 if abs(self.offset) > ANOTHER_TIME else max(age - self.offset, 0.0)
