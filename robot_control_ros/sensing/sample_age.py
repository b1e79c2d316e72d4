"""The delay of samples, found in spite of an offset of their sender's clock."""

from __future__ import annotations

import math

# s: no line to a robot is always so late, so stamps that are always older are of another clock
OFFSET = 0.25
AHEAD = 0.05  # s: /clock of a simulation may be as coarse
ANOTHER_TIME = 1e7  # s: stamps that are further off are no wall time
DRIFT = 2e-4  # s per s, at most, by which two clocks of computers differ
# s by which our own clock may differ from the steady one between two samples; more is a jump
JUMP = 0.05


class SampleAge:
    """Distinguishes samples that come late from a sender's clock that is behind, or ahead.

    The least age so far is due to the line and the clocks. It may grow no faster than clocks drift.
    Where it is below -:data:`AHEAD`, or above :data:`OFFSET`, it is the clock's, and an older
    sample is late by the difference. So samples that come later and later are late, and those of a
    clock that is always behind are not. Where stamps go back, or our own clock jumps, the least age
    counts anew.

    Beyond :data:`ANOTHER_TIME` the stamps are no wall time. They may be those of a simulation,
    which may be slow or pause: nobody can say how late they come.

    Attributes:
        offset: Time by which the sender's clock is behind ours [s]; negative where it is ahead, 0
            where the line may explain it.
    """

    def __init__(self) -> None:
        self.offset = 0.0
        self._least = math.inf
        self._stamp = -math.inf  # of the last sample [s]
        self._ahead = math.inf  # our clock before the steady one, at the last sample [s]

    def late(self, stamp: float, now: float, steady: float) -> float:
        """Take a sample, and return the time by which it is late [s].

        Args:
            stamp: Stamp of the sample, by its sender's clock [s].
            now: Present time by our own clock [s].
            steady: Present time by our steady clock [s].
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
