"""Whether an arm rings: an oscillation of a joint that doesn't decay."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

import numpy as np

from ..core.types import Array

EXTREMA = 6  # in a row, that make an alarm
RATIO = 0.7  # of the first, that the last two must reach
FLOOR = 0.02  # √J, below which an extremum is none
BAND = 25.0  # rad/s, of the high-pass
SPAN = 0.5  # s, within which they must come
MAX_GAP = 0.1  # s between two samples
HELD = 1.0  # s for which the smallest margin stays


@dataclass(frozen=True)
class Ringing:
    """An oscillation that doesn't decay.

    Attributes:
        joint: its number.
        frequency: [Hz].
        size: the last extremum [√J].
        time: of that [s].
    """

    joint: int
    frequency: float
    size: float
    time: float


class RingingDetector:
    """Finds oscillations in the joint velocities.

    A late damper, or a stiff contact, feeds energy in at about 1/τ, τ being the delay: above the motions of an arm,
    which are below 3 Hz. Each velocity is weighted with √M_ii and high-passed. Its extrema are the largest values
    between two changes of sign. Six in a row within 0.5 s, all above a floor, the last two at least 0.7 of the first,
    don't decay. So an oscillation below 5 Hz is never one: a hand shakes an arm like that. After an alarm it counts
    anew.

    Args:
        inertia: (n,) diagonal of the joint-space inertia [kg·m²].
        floor: below which an extremum is none [√J]; 0.02 suits exact velocities, 0.05 noisy ones.

    Attributes:
        floor: as given; may be changed.

    Source:
        Own method. For comparison, passivity observers: B. Hannaford, J.-H. Ryu, Time-domain passivity control of
        haptic interfaces, IEEE Trans. Robotics and Automation 18(1), 2002.
    """

    def __init__(self, inertia: Array, floor: float = FLOOR) -> None:
        self._weights: list[float] = (inertia**0.5).tolist()
        self.floor = floor
        self._time = -np.inf
        self._longest, self._longest_at = 0, -np.inf  # extrema in a row, and when [s]

    def margin(self, time: float) -> float:
        """How far it was from an alarm in the second before a time [s]: 1 far, 0 at an alarm.

        It is 1 less the number of extrema in a row that don't decay, over the number that makes an alarm.
        """
        return 1.0 - self._longest / EXTREMA if 0.0 <= time - self._longest_at <= HELD else 1.0

    def update(self, time: float, v: Array) -> Ringing | None:
        """What rings at a sample; None where nothing does.

        It begins anew after a gap of 0.1 s, and where the time goes back.

        Args:
            time: of the sample [s].
            v: (n,) velocities of the joints, or of a path that a law makes for them [rad/s].
        """
        now, dt, self._time = v.tolist(), time - self._time, time
        if not 0.0 < dt <= MAX_GAP:
            self._slow, self._largest = list(now), [0.0] * len(now)
            self._extrema: list[deque[tuple[float, float]]] = [deque(maxlen=EXTREMA) for _ in now]
            return None
        found, keep = None, 1.0 / (1.0 + BAND * dt)
        slow, largest = self._slow, self._largest
        for joint, value in enumerate(now):
            extremum, new = largest[joint], keep * (value - slow[joint])
            slow[joint] = value - new
            if extremum * new < 0.0:
                size = abs(extremum) * self._weights[joint]
                if size < self.floor:
                    self._extrema[joint].clear()
                else:
                    found = self._judge(joint, size, time) or found
                largest[joint] = new
            elif new * new > extremum * extremum:
                largest[joint] = new
        if found is not None:
            for extrema in self._extrema:
                extrema.clear()
        return found

    def _judge(self, joint: int, size: float, time: float) -> Ringing | None:
        extrema = self._extrema[joint]
        extrema.append((time, size))
        count = _lasting(extrema, time)
        if count >= self._longest or time - self._longest_at > HELD:
            self._longest, self._longest_at = count, time
        if count < EXTREMA:
            return None
        return Ringing(joint, (EXTREMA - 1) / (2.0 * (time - extrema[0][0])), size, time)


def _lasting(extrema: deque[tuple[float, float]], time: float) -> int:
    """How many of the last extrema don't decay, within the span before a time [s]."""
    least = min(size for _, size in tuple(extrema)[-2:])
    for count in range(len(extrema), 0, -1):
        began, first = extrema[-count]
        if time - began <= SPAN and least >= RATIO * first:
            return count
    return 0
