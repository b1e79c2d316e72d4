"""The recorder of a control loop: its last cycles, so that what happened can be looked at
and computed again.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from ..core.compiled import compiled
from ..core.cycle import CYCLE, Cycles, cycle_at
from ..core.errors import refused
from ..core.small_matrices import times
from ..core.types import Array
from ..laws.running_law import RunningLaw

SECONDS = 60.0  # that are kept
SPARE = 1.0  # s more, so that what is read isn't overwritten meanwhile
MEMORY_PERIOD = 1.0  # s between two copies of the law's memory
MOST_SETTINGS = 20_000  # that are kept: fading gains are others in each cycle
MOST_NOTES = 1000


class LawSetting(NamedTuple):
    """A law with its gains.

    Attributes:
        number: Number of this setting, as it stands in the records' `setting`.
        cycle: Number of the first cycle that had it.
        law: Name of the law.
        gains: Gains of the law.
    """

    number: int
    cycle: int
    law: str
    gains: Any


class LawMemory(NamedTuple):
    """The memory of a law between two cycles.

    Attributes:
        cycle: Number of the cycle that began with it.
        setting: Number of the law and the gains that it had before.
        row: Memory of the law (width,), see :class:`~..laws.compiled_law.CompiledLaw`.
    """

    cycle: int
    setting: int
    row: Array


class Note(NamedTuple):
    """A fault in words, with the cycle in which it began or ended.

    Attributes:
        cycle: Number of the cycle.
        fault: Reason why the safe output was sent from this cycle on; empty where it wasn't any
            more.
    """

    cycle: int
    fault: str


@dataclass(frozen=True, eq=False)
class CycleRecord:
    """Cycles of one loop.

    Attributes:
        rows: (N, width) fields that are kept of each cycle; see :data:`~..core.cycle.CYCLE`.
        settings: Laws and gains that the cycles had, in the order of time.
        memories: Memories of the law, in the order of time.
        notes: Faults that began or ended in these cycles, see :class:`Note`.
        joints: Number of joints.
    """

    rows: Array
    settings: tuple[LawSetting, ...]
    memories: tuple[LawMemory, ...]
    notes: tuple[Note, ...]
    joints: int

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, name: str) -> Array:
        """The field of all cycles (N, *shape), by its name."""
        return np.asarray(self._named[name])

    @cached_property
    def _named(self) -> Any:
        return self.rows.view(CYCLE.kept_dtype(self.joints)).reshape(len(self.rows))

    def since(self, number: int) -> CycleRecord:
        """The record from a number on, without the earlier cycles and their memories."""
        memories = tuple(each for each in self.memories if each.cycle >= number)
        return replace(self, rows=self.rows[self["number"] >= number], memories=memories)

    def faults(self) -> list[str]:
        """Reason why the safe output was sent, for each cycle; empty where it wasn't."""
        texts = []
        notes = deque(self.notes)
        fault = ""
        for cycle in self["number"]:
            while notes and notes[0].cycle <= cycle:
                fault = notes.popleft().fault
            texts.append(fault)
        return texts


def replayable_begin(
    memories: Sequence[LawMemory], begun: Iterable[int], oldest: int, first: int
) -> int:
    """Number of the last cycle, up to `first`, from which a law can be computed again.

    It began with a recorded memory, or the law began anew in it.

    Args:
        memories: Recorded memories.
        begun: Numbers of the cycles in which the law began anew.
        oldest: First number that may be returned.
        first: Number that is returned where there is no such cycle.
    """
    numbers = [*(each.cycle for each in memories), *begun]
    return max((each for each in numbers if oldest <= each <= first), default=first)


@compiled
def keep(
    cycles: Array,
    kept: Array,
    place: int,
    number: int,
    sent: Array,
    limited: Array,
    setting: int,
    fault: float,
    interval: float,
    begins: float,
    softening: float,
    spring_load: float,
    n: int,
) -> None:
    """Complete the first of the cycles, and copy the fields that are kept into a row of `kept`.

    Args:
        cycles: Records.
        kept: Ring of the rows that are kept (length, width).
        place: Place of the row in the ring.
        number, sent, limited, setting, interval, begins, softening, spring_load: Fields of the
            record, see :data:`~..core.cycle.CYCLE`.
        fault: 1 where the safe output was sent.
        n: Number of joints.
    """
    cycle = cycle_at(cycles[0], n)
    times(cycle.jacobian, cycle.v, cycle.twist)
    cycle.number[0] = number
    cycle.sent[:] = sent
    cycle.limited[:] = limited
    cycle.setting[0] = setting
    cycle.fault[0] = fault
    cycle.interval[0] = interval
    cycle.begins[0] = begins
    cycle.softening[0] = softening
    cycle.spring_load[0] = spring_load
    for i in range(kept.shape[1]):
        kept[place, i] = cycles[0, i]


class CycleRecorder:
    """Keeps the last cycles of a loop in a ring.

    One thread adds cycles, others may read: the rows that they read are a second away from those
    that are overwritten next.

    Args:
        n: Number of joints.
        period: Period of the loop [s].
        seconds: Time that is kept [s].

    Attributes:
        count: Number of cycles since the start.

    Raises:
        ConfigError: seconds that aren't above 0, or need more memory than there is.
    """

    def __init__(self, n: int, period: float, seconds: float = SECONDS) -> None:
        if not (math.isfinite(seconds) and seconds > 0.0):
            raise refused(
                "seconds", seconds, "must be above 0", (0.0, math.inf), where="recorder: "
            )
        self.joints = n
        self.count = 0
        self._kept = math.ceil(seconds / period)
        shape = self._kept + math.ceil(SPARE / period), CYCLE.kept_width(n)
        try:
            self._rows = np.zeros(shape)  # memory is taken as it is written
        except MemoryError as error:
            size = 8e-9 * math.prod(shape)
            raise refused(
                "seconds", seconds, f"{size:.0f} GB can't be had to keep them", where="recorder: "
            ) from error
        self._length = len(self._rows)
        self._period = period
        self._every = max(1, round(MEMORY_PERIOD / period))
        self._settings: deque[LawSetting] = deque(maxlen=MOST_SETTINGS)
        self._memories: deque[LawMemory] = deque(maxlen=math.ceil(seconds / MEMORY_PERIOD) + 2)
        self._notes: deque[Note] = deque([Note(0, "")], maxlen=MOST_NOTES)
        self._running: RunningLaw | None = None
        self._gains: Any = None
        self._number = 0
        self._fault = ""

    def add(
        self,
        cycles: Cycles,
        running: RunningLaw,
        gains: Any,
        fault: str,
        sent: Array,
        limited: Array,
        interval: float,
        begins: float,
        softening: float,
        spring_load: float,
    ) -> None:
        """Complete the record of a cycle, and keep it.

        Args:
            cycles: Records, the first of which is complete up to what the law asked for.
            running: Law that ran.
            gains: Gains that the law got.
            fault: Reason why the safe output was sent; empty where it wasn't.
            sent, limited: (n,) fields of the record, see :data:`~..core.cycle.CYCLE`.
            interval, begins, softening, spring_load: Numbers of the record, see there.
        """
        if gains is not self._gains or running is not self._running:
            self._gains = gains
            self._running = running
            self._number += 1
            self._settings.append(LawSetting(self._number, self.count, running.name, gains))
        if fault != self._fault:
            self._fault = fault
            self._notes.append(Note(self.count, fault))
        keep(
            cycles.rows,
            self._rows,
            self.count % self._length,
            self.count,
            sent,
            limited,
            self._number,
            1.0 if fault else 0.0,
            interval,
            begins,
            softening,
            spring_load,
            self.joints,
        )
        self.count += 1
        if self.count % self._every == 0 and not math.isnan(cycles.asked[0, 0]):
            memory = running.memory()
            if memory is not None:
                self._memories.append(LawMemory(self.count, self._number, memory))

    def last(self, seconds: float = SECONDS) -> CycleRecord:
        """Record of the last seconds, or of the time that is kept, from :meth:`begin_of` on."""
        end = self.count
        return self._record(min(self.begin_of(seconds), end), end)

    def begin_of(self, seconds: float = SECONDS) -> int:
        """Number of the cycle with which the last seconds begin, or the time that is kept.

        It may be up to a second earlier. So the record begins where the law began anew, or with
        the law's memory, and can be computed again.
        """
        end = self.count
        oldest = max(0, end - self._kept)
        first = (
            oldest
            if seconds >= self._kept * self._period
            else max(oldest, end - round(seconds / self._period))
        )
        oldest = max(oldest, first - self._every)
        _, begins = self.numbers(oldest, first + 1 - oldest, (CYCLE.place("begins", self.joints),))
        begun = (oldest + np.flatnonzero(begins[:, 0] == 1.0)).tolist()
        return replayable_begin(tuple(self._memories), begun, oldest, first)

    def since(self, cycle: int, most: int) -> CycleRecord:
        """Record of the cycles from a number on, `most` at most, without those no longer kept."""
        end = self.count
        first = max(cycle, end - self._kept)
        return self._record(first, min(first + most, end))

    def numbers(self, first: int, most: int, columns: Sequence[int]) -> tuple[int, Array]:
        """Some columns of the cycles from a number on, without cycles that are no longer kept.

        Args:
            first: Number of the first cycle that is wanted.
            most: Largest number of cycles.
            columns: Places of k values in a cycle's row.

        Returns:
            The number of the first cycle, or of the next one where there is none, and the values
            (N, k).
        """
        end = self.count
        first = min(max(first, end - self._kept, 0), end)
        places = np.arange(first, min(first + most, end)) % len(self._rows)
        return first, self._rows[np.ix_(places, np.array(columns, dtype=int))]

    def _record(self, first: int, end: int) -> CycleRecord:
        """Record of the cycles from `first` to before `end`, with the settings that they had."""
        rows = self._rows[np.arange(first, end) % len(self._rows)]
        memories = tuple(each for each in tuple(self._memories) if first <= each.cycle < end)
        # those of the memories and of the first row, and all later ones
        setting_numbers = [each.setting for each in memories]
        if len(rows):
            setting_numbers.append(int(rows[0, CYCLE.place("setting", self.joints)]))
        oldest = min(setting_numbers, default=math.inf)
        settings = tuple(
            each for each in tuple(self._settings) if each.number >= oldest and each.cycle < end
        )
        return CycleRecord(
            rows, settings, memories, tuple(self._needed_notes(first, end)), self.joints
        )

    def _needed_notes(self, first: int, end: int) -> Iterator[Note]:
        """The notes of these cycles, after the one that holds where they begin."""
        notes = [each for each in tuple(self._notes) if each.cycle < end]
        before = [each for each in notes if each.cycle <= first]
        if before:
            yield Note(first, before[-1].fault)
        yield from (each for each in notes if each.cycle > first)
