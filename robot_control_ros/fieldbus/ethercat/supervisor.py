"""The cycle's supervisor: from what the bus and its drives show to hold, quick stop or disable. No
I/O, no clock.

In one or two bad cycles the drives hold. Whatever is worse stops all drives, and is kept with its
cause. It ends only by an operator's request, which is refused while something still stands against
it.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

from .al_status import AlStatus, SlaveStates
from .cia402 import FAULTS, State

_MOVING = (State.OPERATION_ENABLED, State.QUICK_STOP_ACTIVE, State.FAULT_REACTION_ACTIVE)
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


class FrameCounter:
    """Counts of frames that came back in time, changed by all slaves, and of those that didn't.

    Attributes:
        expected: Right working counter: 2 per slave with outputs, 1 per slave with inputs.
        working_counter: Working counter of the last exchange; negative where no frame came back.
        bad, good: Number of bad or good exchanges in a row, up to the last one.
        cycles, lost_frames, bad_counters, late_frames: Numbers of exchanges, counted since the
            beginning.
    """

    def __init__(self, expected: int) -> None:
        self.expected = expected
        self.working_counter = 0
        self.bad = 0
        self.good = 0
        self.cycles = 0
        self.lost_frames = 0
        self.bad_counters = 0
        self.late_frames = 0

    def count(self, working_counter: int, late: bool) -> None:
        """Count an exchange: a negative counter is a lost frame; a late frame
        came after its cycle.
        """
        self.cycles += 1
        self.working_counter = working_counter
        if working_counter == self.expected and not late:
            self.bad = 0
            self.good = self.good + 1
            return
        self.bad = self.bad + 1
        self.good = 0
        if late:
            self.late_frames += 1
        elif working_counter < 0:
            self.lost_frames += 1
        else:
            self.bad_counters += 1

    def describe(self) -> str:
        """Text about what was wrong with a bad exchange, for people."""
        if self.working_counter < 0:
            return "no answer from the bus (working counter -1)"
        if self.working_counter == self.expected:
            return "the answer came too late"
        counters = f"working counter {self.working_counter} of {self.expected}"
        missing = self.expected - self.working_counter
        if missing == 2:
            return f"{counters}: a drive doesn't take its outputs (no longer in OP?)"
        return (
            f"{counters}: {missing // 3} of the drives missing"
            if missing > 0 and missing % 3 == 0
            else counters
        )


class _Phase(Enum):
    DISABLED = "disabled"
    ENABLING = "enabling"
    RUNNING = "running"
    STOPPING = "stopping"
    STOPPED = "stopped"


class Supervisor:
    """Decides, once per cycle, what the drives shall do.

    Args:
        names: Names of the slaves that move joints, in the order of the bus.
        expected_working_counter: Right working counter of one exchange, see :class:`FrameCounter`.
        all_names: Names of all slaves, in the order of the bus, where some move no joint.

    Attributes:
        causes: Reasons why the drives were stopped, the first one first; empty after the next
            enabling.
        waits_for_commands: True where nothing holds a drive but its commands, in torque mode:
            enabling then needs fresh ones. False where drives hold by themselves until the first
            one.
        events: Last things that happened, (time [s], message).
        turns: Last cycles in which the action or the working counter was another than before, (time
            [s], action, working counter).
    """

    def __init__(
        self,
        names: Sequence[str],
        expected_working_counter: int,
        limits: SupervisorLimits | None = None,
        all_names: Sequence[str] | None = None,
    ) -> None:
        self._names = tuple(names)
        self.frames = FrameCounter(expected_working_counter)
        self.slaves = SlaveStates(self._names if all_names is None else all_names)
        self.limits = SupervisorLimits() if limits is None else limits
        self.causes: list[str] = []
        self._noted: set[str] = set()  # causes while the drives weren't enabled
        self.waits_for_commands = False
        self.events: deque[tuple[float, str]] = deque(maxlen=100)
        self.turns: deque[tuple[float, str, int]] = deque(maxlen=200)
        self._phase = _Phase.DISABLED
        self._since = 0.0
        self._time = 0.0
        self._commanded = False
        self._command_age = math.inf
        self._states: Sequence[State] = (State.UNDEFINED,) * len(self._names)
        self._link = True

    # --- the cycle ---

    def step(
        self,
        time: float,
        working_counter: int,
        states: Sequence[State],
        failures: Sequence[str] = (),
        command_age: float = math.inf,
        late: bool = False,
    ) -> Action:
        """The action of this cycle.

        Args:
            time: Time of this cycle, by a clock that doesn't go back [s].
            working_counter: Working counter of the process data; negative where no frame came back.
            states: States of the drives, in the last good cycle: in a bad one, the inputs may be
                anything.
            failures: Messages of the drives' state machines; empty where there is none.
            command_age: Time since the last command [s]; infinite where there was none yet.
            late: True where the frame came after its cycle.
        """
        self._time = time
        self._states = states
        self._command_age = command_age
        self.frames.count(working_counter, late)
        if self._phase is _Phase.RUNNING or self._phase is _Phase.ENABLING:
            self._supervise(time, states, failures, command_age)
        if self._phase is _Phase.STOPPING:
            at_rest = self.frames.bad == 0 and not any(state in _MOVING for state in states)
            if at_rest or time - self._since > self.limits.stop_time:
                self._enter(_Phase.STOPPED)
        action = self.action
        turn = (action.value, working_counter)
        if not self.turns or self.turns[-1][1:] != turn:
            self.turns.append((time, *turn))
        return action

    def _supervise(
        self, time: float, states: Sequence[State], failures: Sequence[str], command_age: float
    ) -> None:
        limits = self.limits
        if self.frames.bad >= limits.bad_cycles:
            return self.trip(f"{self.frames.bad} cycles in a row: {self.frames.describe()}")
        enabled = states.count(State.OPERATION_ENABLED) == len(self._names)
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

    def _find_causes(self, states: Sequence[State], failures: Sequence[str]) -> None:
        running = self._phase is _Phase.RUNNING
        for name, failure in zip(self._names, failures, strict=False):
            if failure:
                self.trip(f"{name}: {failure}")
        for name, state in zip(self._names, states, strict=True):
            wrong = state is not State.OPERATION_ENABLED and (running or state in FAULTS)
            if wrong and not any(cause.startswith(f"{name}: ") for cause in self.causes):
                self.trip(f"{name}: {state.value}")

    @property
    def action(self) -> Action:
        """Action that all drives shall do now."""
        if self._phase is _Phase.RUNNING:
            return Action.RUN if self.frames.bad == 0 and self._commanded else Action.HOLD
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

    def note(self, message: str) -> None:
        """Keep something that stops nothing: an emergency, an SDO that got no answer."""
        self.events.append((self._time, message))

    def update_link(self, up: bool) -> None:
        """Take the network interface's link state; without a carrier all drives are stopped."""
        self._link = up
        if not up:
            self.trip("link down: the cable at the master, or the first slave's power")

    def update_al(self, statuses: Sequence[AlStatus]) -> None:
        """Take the AL states of all slaves, in the order of the bus, as often as they are read."""
        self.slaves.statuses = tuple(statuses)
        problems = self.slaves.problems()
        if not problems:
            self._noted.clear()
        for cause in problems:
            self.trip(cause)

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
            if self.frames.bad:
                return f"holds the last targets: {self.frames.describe()}"
            return "running" if self._commanded else "holds: no command yet"
        return f"{self._phase.value}: {'; '.join(self.causes)}. Enabled again only on request"

    def _not_enabled(self) -> str:
        pairs = zip(self._names, self._states, strict=True)
        waiting = [
            f"{name} is {state.value}"
            for name, state in pairs
            if state is not State.OPERATION_ENABLED
        ]
        return ", ".join(waiting) or "all drives are enabled"

    def _obstacles(self) -> list[str]:
        if self._phase is _Phase.STOPPING:
            return ["the drives are still being stopped"]
        obstacles = [] if self._link else ["link down"]
        if self.frames.good < self.limits.good_cycles:
            few = f"only {self.frames.good} good cycles since the last bad one"
            obstacles.append(self.frames.describe() if self.frames.bad else few)
        obstacles += self.slaves.problems()
        pairs = zip(self._names, self._states, strict=True)
        obstacles += [
            f"{name}: {state.value}; reset it first" for name, state in pairs if state in FAULTS
        ]
        if self.waits_for_commands and self._command_age > self.limits.stale_after:
            obstacles.append(
                "no fresh command: start the controller first, because only its torque holds the arm"
            )
        return obstacles

    def _enter(self, phase: _Phase) -> None:
        self._phase = phase
        self._since = self._time
