"""Whether an arm rings: an oscillation of a joint that doesn't decay."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from ..core.compiled import compiled
from ..core.record import Field, Record
from ..core.types import Array

EXTREMA = 6  # in a row, that make an alarm
RATIO = 0.7  # of the first, that the last two must reach
FLOOR = 0.02  # √J, below which an extremum is none
BAND = 25.0  # rad/s, of the high-pass
SPAN = 0.5  # s, within which they must come
MAX_GAP = 0.1  # s between two samples
HELD = 1.0  # s for which the smallest margin stays

MEMORY = Record(
    "RingingMemory",
    (
        Field("weight", ("n",), "√(kg·m²)", "Root of each joint's inertia: a velocity times it is a root of energy."),
        Field("floor", (), "√J", "Below it an extremum is none.", first=FLOOR),
        Field("time", (), "s", "Stamp of the last sample.", first=-math.inf),
        Field("slow", ("n",), "rad/s", "Velocities, low-passed."),
        Field("largest", ("n",), "rad/s", "Largest high-passed velocity since its sign changed."),
        Field("count", ("n",), "", "Extrema that are remembered."),
        Field("extremum_time", ("n", EXTREMA), "s", "When each of them was, oldest first."),
        Field("extremum_size", ("n", EXTREMA), "√J", "How large each of them was."),
        Field("longest", (), "", "Most extrema in a row that didn't decay, lately."),
        Field("longest_at", (), "s", "When that was.", first=-math.inf),
    ),
)

_views = MEMORY.views


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
        row: the memory, for :func:`find_ringing`.

    Source:
        Own method. For comparison, passivity observers: B. Hannaford, J.-H. Ryu, Time-domain passivity control of
        haptic interfaces, IEEE Trans. Robotics and Automation 18(1), 2002.
    """

    def __init__(self, inertia: Array, floor: float = FLOOR) -> None:
        self._n = inertia.size
        self.row, self._memory = MEMORY.single(self._n)
        self._memory["weight"] = inertia**0.5
        self._memory["floor"] = floor

    @property
    def floor(self) -> float:
        """Below which an extremum is none [√J]; may be changed."""
        return float(self._memory["floor"])

    @floor.setter
    def floor(self, value: float) -> None:
        self._memory["floor"] = value

    def margin(self, time: float) -> float:
        """How far it was from an alarm in the second before a time [s]: 1 far, 0 at an alarm.

        It is 1 less the number of extrema in a row that don't decay, over the number that makes an alarm.
        """
        memory = self._memory
        recent = 0.0 <= time - memory["longest_at"] <= HELD
        return 1.0 - float(memory["longest"]) / EXTREMA if recent else 1.0

    def update(self, time: float, v: Array) -> Ringing | None:
        """What rings at a sample; None where nothing does.

        It begins anew after a gap of 0.1 s, and where the time goes back.

        Args:
            time: of the sample [s].
            v: (n,) velocities of the joints, or of a path that a law makes for them [rad/s].
        """
        return self.ringing(find_ringing(self.row, time, v, self._n), time)

    def ringing(self, joint: int, time: float) -> Ringing | None:
        """What rings at a sample of a time [s], by the answer of :func:`find_ringing`; None where nothing does."""
        if joint < 0:
            return None
        began = float(self._memory["extremum_time"][joint, 0])
        size = float(self._memory["extremum_size"][joint, -1])
        return Ringing(joint, (EXTREMA - 1) / (2.0 * (time - began)), size, time)


@compiled
def find_ringing(row: Array, time: float, v: Array, n: int) -> int:
    """Number of a joint that rings at a sample, or -1; see :class:`RingingDetector`."""
    memory = _views(row, n)
    dt = time - memory.time[0]
    memory.time[0] = time
    if not 0.0 < dt <= MAX_GAP:
        memory.slow[:] = v
        memory.largest[:] = 0.0
        memory.count[:] = 0.0
        return -1
    keep = 1.0 / (1.0 + BAND * dt)
    ringing = -1
    for joint in range(n):
        high = keep * (v[joint] - memory.slow[joint])
        memory.slow[joint] = v[joint] - high
        extremum = memory.largest[joint]
        if extremum * high < 0.0:
            size = abs(extremum) * memory.weight[joint]
            if size < memory.floor[0]:
                memory.count[joint] = 0.0
            elif _is_alarm(memory, joint, size, time):
                ringing = joint
            memory.largest[joint] = high
        elif high * high > extremum * extremum:
            memory.largest[joint] = high
    if ringing >= 0:
        memory.count[:] = 0.0
    return ringing


@compiled
def _is_alarm(memory: Any, joint: int, size: float, time: float) -> bool:
    """Remember an extremum; returns whether enough of them in a row don't decay."""
    times = memory.extremum_time[joint]
    sizes = memory.extremum_size[joint]
    count = int(memory.count[joint])
    if count == EXTREMA:
        times[:-1] = times[1:].copy()
        sizes[:-1] = sizes[1:].copy()
        count -= 1
    times[count] = time
    sizes[count] = size
    count += 1
    memory.count[joint] = count
    lasting = _lasting(times, sizes, count, time)
    if lasting >= memory.longest[0] or time - memory.longest_at[0] > HELD:
        memory.longest[0] = lasting
        memory.longest_at[0] = time
    return lasting >= EXTREMA


@compiled
def _lasting(times: Array, sizes: Array, count: int, time: float) -> int:
    """How many of the last of `count` extrema don't decay, within the span before a time [s]."""
    least = sizes[count - 1]
    if count > 1:
        least = min(least, sizes[count - 2])
    for first in range(count):
        if time - times[first] <= SPAN and least >= RATIO * sizes[first]:
            return count - first
    return 0
