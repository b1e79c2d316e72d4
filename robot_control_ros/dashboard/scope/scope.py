"""The scope without its panel: which cycles it reads next, and what it shows of them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np

from ...control.requests import CycleAnswer
from ...core.types import Array
from .trigger import Trigger, crossings, newest_number

TIME = "time"  # the field
TOLERANCE = 1e-6  # s: times are rounded


@dataclass(frozen=True)
class ScopeSettings:
    """Settings of what a scope shows.

    Attributes:
        fields: Names of fields of the cycle's record.
        trigger: Trigger that starts a trace; None shows the newest cycles all the time.
        before, after: Time that is shown before the trigger and from it on [s].
        period: Usual time between two cycles [s].
        holds: True where each trace stays until :meth:`Scope.go_on`, else the newest one is shown.
    """

    fields: tuple[str, ...]
    trigger: Trigger | None
    before: float
    after: float
    period: float
    holds: bool = False


class CycleQuery(NamedTuple):
    """Cycles to read.

    Attributes:
        first: Number of the first cycle; a negative one counts from the newest on back.
        fields: Names of the cycles' fields.
    """

    first: int
    fields: tuple[str, ...]


class Crossing(NamedTuple):
    """A cycle in which the quantity of the trigger came to the level.

    Attributes:
        number: Number of the cycle.
        time: Time of the cycle [s].
    """

    number: int
    time: float


@dataclass(frozen=True, eq=False)
class Trace:
    """Cycles one after the other.

    Attributes:
        first: Number of the first cycle.
        t: (N,) times of the cycles [s].
        values: (N, width) numbers of each field, by name.
        zero: Time of the trigger, or of the newest cycle where there is none [s].
    """

    first: int
    t: Array = field(default_factory=lambda: np.zeros(0))
    values: Mapping[str, Array] = field(default_factory=dict)
    zero: float = 0.0

    @property
    def next(self) -> int:
        """Number of the cycle after the last one."""
        return self.first + len(self.t)

    def extended(self, answer: CycleAnswer) -> Trace:
        """Trace with the cycles of an answer behind it.

        Where cycles between them are missing, it has those of the answer alone.
        """
        t = answer.values[TIME][:, 0]
        if not len(t):
            return self
        if not len(self.t) or answer.first != self.next:
            return Trace(answer.first, t, answer.values, self.zero)
        values = {
            name: np.concatenate((each, answer.values[name])) for name, each in self.values.items()
        }
        return Trace(self.first, np.concatenate((self.t, t)), values, self.zero)

    def within(self, number: int, before: float, after: float) -> Trace:
        """Trace of those cycles whose times are near that of a cycle.

        A clock that is set back, or runs ahead, ends what belongs together.

        Args:
            number: Number of the cycle whose time is `zero`.
            before, after: Longest time by which the cycles may be earlier and later [s].
        """
        place = min(max(number - self.first, 0), len(self.t))
        since = self.t - self.zero
        is_early = (since[:place] < -before - TOLERANCE) | (since[:place] > 0.0)
        is_late = (since[place:] > after - TOLERANCE) | (since[place:] < 0.0)
        begin = max(np.flatnonzero(is_early), default=-1) + 1
        end = place + min(np.flatnonzero(is_late), default=len(is_late))
        values = {name: each[begin:end] for name, each in self.values.items()}
        return Trace(self.first + int(begin), self.t[begin:end], values, self.zero)


class Scope:
    """Finds a trigger in the controller's last minute and in what comes, and gathers the cycles
    around it.

    It asks, cycle by cycle, for the quantity of its trigger alone: from a minute ago to now, and
    then as they come. Where the quantity has come to the level it asks for the fields of the cycles
    around. So little is read, and a trigger is found that was there before the scope was opened.
    Without a trigger it asks for the newest cycles.

    Args:
        settings: Settings of what the scope shows.

    Attributes:
        settings: Settings of what the scope shows.
        trace: Trace that is shown; None as long as there is nothing.
        complete: True where the trace has all its cycles.
        behind: Number of cycles that are not looked through yet.
    """

    def __init__(self, settings: ScopeSettings) -> None:
        self.settings = settings
        self.trace: Trace | None = None
        self.complete = False
        self.restart()

    def restart(self) -> None:
        """Begin anew, a minute ago; what is shown stays."""
        self.behind = 0
        self._end = 0  # number of the controller's next cycle, as it was told last
        self._searched = 0  # number of the cycle from which on is to be searched
        self._previous = math.nan  # value of the trigger before that
        self._crossing: Crossing | None = None  # that a trace is shown around next
        self._period = self.settings.period  # between the cycles around it [s]
        self._gathered: Trace | None = None  # of the cycles around it

    @property
    def holds(self) -> bool:
        """True where a whole trace stays, so that nothing is read."""
        return self.settings.holds and self.complete and self.settings.trigger is not None

    def go_on(self) -> None:
        """Look for the next trigger, where a trace was held."""
        self.complete = False

    def query(self) -> CycleQuery | None:
        """Cycles that are to be read next; None where nothing is."""
        settings = self.settings
        if self.holds:
            return None
        if settings.trigger is None:
            first = -self._length if self._gathered is None else self._gathered.next
            return CycleQuery(first, self._shown())
        if self._gathered is not None:
            return CycleQuery(self._gathered.next, self._shown())
        searched = (TIME, settings.trigger.field)
        return CycleQuery(self._searched, tuple(dict.fromkeys(searched)))

    def take(self, query: CycleQuery, answer: CycleAnswer) -> None:
        """Take the answer to the last query; cycles that are no longer there
        were passed over in it.
        """
        if answer.end < self._end or answer.first < query.first:  # another controller
            self.restart()
            return
        self._end = answer.end
        trigger = self.settings.trigger
        if trigger is None:
            self._follow(answer)
        elif self._gathered is None:
            self._search(trigger, answer)
        else:
            self._gather(self._gathered, answer)

    def _shown(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys((TIME, *self.settings.fields)))

    @property
    def _length(self) -> int:
        """Number of cycles that a trace usually has."""
        span = self.settings.before + self.settings.after
        return max(1, math.ceil(span / self.settings.period))

    def _follow(self, answer: CycleAnswer) -> None:
        """Show the newest cycles; where too many have come meanwhile, begin
        anew with the newest.
        """
        trace = (self._gathered or Trace(answer.first)).extended(answer)
        self.behind = answer.end - trace.next
        if len(trace.t):
            span = self.settings.before + self.settings.after
            newest = replace(trace, zero=float(trace.t[-1]))
            trace = newest.within(newest.next - 1, span, math.inf)
            self.trace = trace
        self._gathered = trace if self.behind <= self._length else None

    def _search(self, trigger: Trigger, answer: CycleAnswer) -> None:
        """Look for the trigger: for the first one where traces are held, else for the newest.

        So a trace that shows a trigger again and again is never late, however often there is one.
        """
        t = answer.values[TIME][:, 0]
        values = answer.values[trigger.field][:, trigger.component]
        if answer.first != self._searched:
            self._previous = math.nan
        places = crossings(values, trigger.level, trigger.rising, self._previous)
        if places:
            place = places[0] if self.settings.holds else places[-1]
            self._crossing = Crossing(answer.first + place, float(t[place]))
            self._period = self._usual_period(t)
        self._previous = newest_number(values, self._previous)
        self._searched = answer.first + len(t)
        self.behind = answer.end - self._searched
        crossing = self._crossing
        if crossing is not None and (self.settings.holds or self.behind <= 0):
            cycles_before = math.ceil(self.settings.before / self._period)
            self._gathered = Trace(max(crossing.number - cycles_before, 0), zero=crossing.time)

    def _usual_period(self, t: Array) -> float:
        """Time between two of these cycles [s]."""
        steps = np.diff(t)
        return (
            float(np.median(steps))
            if len(steps) and np.median(steps) > 0.0
            else self.settings.period
        )

    def _gather(self, gathered: Trace, answer: CycleAnswer) -> None:
        """Show what has come of the cycles around the trigger."""
        assert self._crossing is not None
        extended = gathered.extended(answer)
        self._gathered = extended.within(
            self._crossing.number, self.settings.before, self.settings.after
        )
        self.behind = answer.end - extended.next
        is_there = len(self._gathered.t) > 0
        if is_there:
            self.trace = self._gathered
        is_over = self._gathered.next < extended.next  # a later cycle has come
        self.complete = is_over and is_there
        if is_over:
            self._searched = self._gathered.next
            self._previous = math.nan
            self._gathered = None
            self._crossing = None
