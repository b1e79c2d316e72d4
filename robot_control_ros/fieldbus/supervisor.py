"""The supervisor of the drives on a bus: from what the bus and its drives show to hold, quick stop
or disable. No I/O, no clock.

In one or two bad cycles the drives hold. Whatever is worse stops all drives, and is kept with its
cause. It ends only by an operator's request, which is refused while something still stands against
it.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from enum import Enum

_MAX_CAUSES = 20


class Action(Enum):
    """Action of all drives in a cycle."""

    DISABLE = "disable"
    ENABLE = "enable"  # be brought to operation enabled; nothing is commanded yet
    RUN = "run"  # commands go through
    HOLD = "hold"  # the last targets stay
    QUICK_STOP = "quick stop"


@dataclass(frozen=True)
class SupervisorLimits:
    """Limits at which the supervisor holds, stops or refuses to enable the drives.

    Attributes:
        bad_cycles: Number of bad cycles in a row that stops the drives; in fewer they hold.
        good_cycles: Number of good cycles in a row that is needed to enable.
        stale_after: Age of the last command that stops the drives [s].
        enable_time, stop_time: Longest time to be enabled, and to come to rest before the drives
            are disabled [s].
    """

    bad_cycles: int = 3
    good_cycles: int = 20
    stale_after: float = 0.02
    enable_time: float = 5.0
    stop_time: float = 2.0


@dataclass(frozen=True)
class StateMeanings:
    """Meaning of the states that a bus's drives can be in, an enumeration whose values are texts.

    Attributes:
        enabled: State in which a drive does what is commanded.
        moving: States in which a drive may still move.
        faults: States that need a reset before the drive can be enabled.
        unknown: State before the first good exchange.
    """

    enabled: Enum
    moving: Collection[Enum]
    faults: Collection[Enum]
    unknown: Enum


class ExchangeCounter:
    """Counts of exchanges with the drives that brought a fresh sample, and of those that didn't.

    Attributes:
        good, bad: Number of good or bad exchanges in a row, up to the last one.
        cycles: Number of all exchanges.
        result: Number that tells how the last exchange went, such as a working counter. A change is
            kept in `turns` of :class:`Supervisor`.
    """

    def __init__(self) -> None:
        self.good = 0
        self.bad = 0
        self.cycles = 0
        self.result = 0
        self._problem = ""

    def count(self, problem: str = "") -> None:
        """Count an exchange; `problem` says what was wrong with a bad one."""
        self._problem = problem
        self.add(not problem, -1 if problem else 1)

    def add(self, good: bool, result: int) -> None:
        """Count a good or bad exchange with its result."""
        self.cycles += 1
        self.result = result
        if good:
            self.bad = 0
            self.good += 1
        else:
            self.bad += 1
            self.good = 0

    def describe(self) -> str:
        """Text about what was wrong with a bad exchange, for people."""
        return self._problem


class _Phase(Enum):
    DISABLED = "disabled"
    ENABLING = "enabling"
    RUNNING = "running"
    STOPPING = "stopping"
    STOPPED = "stopped"


class Supervisor:
    """Decides, once per cycle, what the drives shall do.

    A driver counts the exchange, then calls :meth:`decide`.

    Args:
        names: Names of the drives, for people.
        meanings: Meaning of the states that the drives can be in.
        exchanges: Counter of the exchanges; by default a new one.

    Attributes:
        causes: Reasons why the drives were stopped, the first one first; empty after the next
            enabling.
        waits_for_commands: True where nothing holds a drive but its commands, in torque mode:
            enabling then needs fresh ones. False where drives hold by themselves until the first
            one.
        events: Last things that happened, (time [s], message).
        turns: Last cycles in which the action or the exchange's result was another than before,
            (time [s], action, result).
    """

    def __init__(
        self,
        names: Sequence[str],
        meanings: StateMeanings,
        limits: SupervisorLimits | None = None,
        exchanges: ExchangeCounter | None = None,
    ) -> None:
        self.limits = SupervisorLimits() if limits is None else limits
        self.exchanges = ExchangeCounter() if exchanges is None else exchanges
        self.causes: list[str] = []
        self.waits_for_commands = False
        self.events: deque[tuple[float, str]] = deque(maxlen=100)
        self.turns: deque[tuple[float, str, int]] = deque(maxlen=200)
        self._names = tuple(names)
        self._enabled = meanings.enabled
        self._moving = frozenset(meanings.moving)
        self._faults = frozenset(meanings.faults)
        self._noted: set[str] = set()  # causes while the drives weren't enabled
        self._phase = _Phase.DISABLED
        self._since = 0.0
        self._time = 0.0
        self._commanded = False
        self._command_age = math.inf
        self._states: Sequence[Enum] = (meanings.unknown,) * len(self._names)

    # --- the cycle ---

    def decide(
        self,
        time: float,
        states: Sequence[Enum],
        failures: Sequence[str] = (),
        command_age: float = math.inf,
    ) -> Action:
        """The action of this cycle, after its exchange was counted.

        Args:
            time: Time of this cycle, by a clock that doesn't go back [s].
            states: States of the drives, in the last good cycle: in a bad one, the inputs may be
                anything.
            failures: Messages about drives that don't do what they shall; empty where there is
                none.
            command_age: Time since the last command [s]; infinite where there was none yet.
        """
        self._time = time
        self._states = states
        self._command_age = command_age
        if self._phase is _Phase.RUNNING or self._phase is _Phase.ENABLING:
            self._supervise(time, states, failures, command_age)
        if self._phase is _Phase.STOPPING:
            at_rest = self.exchanges.bad == 0 and self._moving.isdisjoint(states)
            if at_rest or time - self._since > self.limits.stop_time:
                self._enter(_Phase.STOPPED)
        action = self.action
        turn = (action.value, self.exchanges.result)
        if not self.turns or self.turns[-1][1:] != turn:
            self.turns.append((time, *turn))
        return action

    def _supervise(
        self, time: float, states: Sequence[Enum], failures: Sequence[str], command_age: float
    ) -> None:
        limits = self.limits
        if self.exchanges.bad >= limits.bad_cycles:
            return self.trip(f"{self.exchanges.bad} cycles in a row: {self.exchanges.describe()}")
        enabled = states.count(self._enabled) == len(self._names)
        if not enabled or any(failures):
            self._find_causes(states, failures)
            if self._phase is _Phase.STOPPING:
                return None
        self._commanded = self._commanded or command_age <= limits.stale_after
        if (self._commanded or self.waits_for_commands) and command_age > limits.stale_after:
            return self.trip(
                f"the last command is {command_age:.3g} s old (limit {limits.stale_after:g} s)"
            )
        if self._phase is _Phase.RUNNING:
            return None
        if enabled:
            self._enter(_Phase.RUNNING)
        elif time - self._since > limits.enable_time:
            self.trip(f"not enabled within {limits.enable_time:g} s: {self._not_enabled()}")
        return None

    def _find_causes(self, states: Sequence[Enum], failures: Sequence[str]) -> None:
        running = self._phase is _Phase.RUNNING
        for name, failure in zip(self._names, failures, strict=False):
            if failure:
                self.trip(f"{name}: {failure}")
        for name, state in zip(self._names, states, strict=True):
            wrong = state is not self._enabled and (running or state in self._faults)
            if wrong and not any(cause.startswith(f"{name}: ") for cause in self.causes):
                self.trip(f"{name}: {state.value}")

    @property
    def action(self) -> Action:
        """Action that all drives shall do now."""
        if self._phase is _Phase.RUNNING:
            return Action.RUN if self.exchanges.bad == 0 and self._commanded else Action.HOLD
        if self._phase is _Phase.ENABLING:
            return Action.ENABLE
        return Action.QUICK_STOP if self._phase is _Phase.STOPPING else Action.DISABLE

    # --- what comes from outside the cycle ---

    def trip(self, cause: str) -> None:
        """Stop all drives because of something; where they are stopped already, it is one more
        cause.

        Where they weren't enabled yet, it is only noted, once until all is well.
        """
        if self._phase is _Phase.DISABLED:
            if cause not in self._noted:
                self._noted.add(cause)
                self.note(cause)
            return
        if cause not in self.causes and len(self.causes) < _MAX_CAUSES:
            self.causes.append(cause)
            self.note(cause)
        if self._phase in (_Phase.RUNNING, _Phase.ENABLING):
            self._enter(_Phase.STOPPING)

    def all_well(self) -> None:
        """Take word that nothing is wrong with the bus: what was noted is noted again next time."""
        self._noted.clear()

    def note(self, message: str) -> None:
        """Keep something that stops nothing: an emergency, a request that got no answer."""
        self.events.append((self._time, message))

    # --- requests ---

    def request_enable(self) -> list[str]:
        """Enable all drives, unless something stands against it; returns what does, empty
        where nothing does.
        """
        obstacles = self._obstacles()
        if not obstacles and self._phase in (_Phase.DISABLED, _Phase.STOPPED):
            self.causes = []
            self._commanded = False
            self.note("enabling on request")
            self._enter(_Phase.ENABLING)
        return obstacles

    def request_disable(self) -> None:
        """Disable all drives, each by way of its own ramp."""
        self.note("disabled on request")
        if self._phase in (_Phase.ENABLING, _Phase.RUNNING):
            self.causes = ["disabled on request"]
            self._enter(_Phase.STOPPED)

    def request_quick_stop(self) -> None:
        """Stop all drives as fast as they can, and disable them."""
        self.trip("quick stop on request")

    # --- what it says ---

    @property
    def stopped(self) -> bool:
        """True where something stopped the drives since they were last enabled."""
        return self._phase in (_Phase.STOPPING, _Phase.STOPPED)

    @property
    def idle(self) -> bool:
        """True where the drives are neither enabled nor about to be, nor being stopped."""
        return self._phase in (_Phase.DISABLED, _Phase.STOPPED)

    @property
    def message(self) -> str:
        """Text about what the drives do and why, for people."""
        if self._phase is _Phase.DISABLED:
            return "disabled; enabled on request"
        if self._phase is _Phase.ENABLING:
            return f"enabling: {self._not_enabled()}"
        if self._phase is _Phase.RUNNING:
            if self.exchanges.bad:
                return f"holds the last targets: {self.exchanges.describe()}"
            return "running" if self._commanded else "holds: no command yet"
        return f"{self._phase.value}: {'; '.join(self.causes)}. Enabled again only on request"

    def _not_enabled(self) -> str:
        pairs = zip(self._names, self._states, strict=True)
        waiting = [
            f"{name} is {state.value}" for name, state in pairs if state is not self._enabled
        ]
        return ", ".join(waiting) or "all drives are enabled"

    def problems(self) -> list[str]:
        """Reasons of this kind of bus against enabling; none here."""
        return []

    def _obstacles(self) -> list[str]:
        if self._phase is _Phase.STOPPING:
            return ["the drives are still being stopped"]
        exchanges = self.exchanges
        obstacles = []
        if exchanges.good < self.limits.good_cycles:
            few = f"only {exchanges.good} good cycles since the last bad one"
            obstacles.append(exchanges.describe() if exchanges.bad else few)
        obstacles += self.problems()
        pairs = zip(self._names, self._states, strict=True)
        obstacles += [
            f"{name}: {state.value}; reset it first"
            for name, state in pairs
            if state in self._faults
        ]
        if self.waits_for_commands and self._command_age > self.limits.stale_after:
            obstacles.append(
                "no fresh command: start the controller first, because only its torque holds the arm"
            )
        return obstacles

    def _enter(self, phase: _Phase) -> None:
        self._phase = phase
        self._since = self._time
