"""The cycle's supervisor: from what the bus and its drives show to hold, quick stop or disable. No I/O, no clock.

One or two bad cycles are held over. Whatever is worse stops all drives, is kept with its cause, and ends only by an
operator's request, which is refused while something still stands against it.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum

from .cia402 import State, error_words

# AL states (register 0x0130): low nibble, and the error bit. ETG.1000.6.
INIT, PREOP, BOOT, SAFEOP, OP, AL_ERROR = 1, 2, 3, 4, 8, 0x10
_AL_STATES = {0: "no answer", INIT: "INIT", PREOP: "PRE-OP", BOOT: "BOOT", SAFEOP: "SAFE-OP", OP: "OP"}
# AL status codes (register 0x0134) of ETG.1000.6, as in help.kingstar.com, "EtherCAT AL Status codes".
AL_CODES = {
    0x0001: "unspecified error",
    0x0002: "no memory",
    0x0011: "invalid requested state change",
    0x0012: "unknown requested state",
    0x0013: "bootstrap not supported",
    0x0014: "no valid firmware",
    0x0015: "invalid mailbox configuration (BOOT)",
    0x0016: "invalid mailbox configuration (PRE-OP)",
    0x0017: "invalid sync manager configuration",
    0x0018: "no valid inputs available",
    0x0019: "no valid outputs",
    0x001A: "synchronization error",
    0x001B: "sync manager watchdog",
    0x001C: "invalid sync manager types",
    0x001D: "invalid output configuration",
    0x001E: "invalid input configuration",
    0x001F: "invalid watchdog configuration",
    0x0020: "slave needs cold start",
    0x0021: "slave needs INIT",
    0x0022: "slave needs PRE-OP",
    0x0023: "slave needs SAFE-OP",
    0x0024: "invalid input mapping",
    0x0025: "invalid output mapping",
    0x0026: "inconsistent settings",
    0x002B: "no valid inputs and outputs",
    0x002C: "fatal sync error",
    0x002D: "no sync error",
    0x0030: "invalid DC SYNC configuration",
    0x0032: "PLL error",
}

_FAULTS = (State.FAULT, State.FAULT_REACTION_ACTIVE)
_MOVING = (State.OPERATION_ENABLED, State.QUICK_STOP_ACTIVE, State.FAULT_REACTION_ACTIVE)
_MOST_CAUSES = 20


class Action(Enum):
    """What all drives shall do in this cycle."""

    DISABLE = "disable"
    ENABLE = "enable"  # be brought to operation enabled; nothing is commanded yet
    RUN = "run"  # commands go through
    HOLD = "hold"  # the last targets stay
    QUICK_STOP = "quick stop"


class Recovery(Enum):
    """What a slave needs before it can be operational again; see :meth:`Supervisor.recovery`."""

    RECOVER = "recover"  # it has lost its address: power-cycled, or unplugged
    RECONFIGURE = "reconfigure"  # PDOs, watchdog, distributed clocks anew
    ACKNOWLEDGE = "acknowledge"  # its AL error
    REQUEST_OP = "request OP"


@dataclass(frozen=True)
class AlStatus:
    """What a slave says of its communication.

    Attributes:
        state: AL state with the error bit; 0 where it doesn't answer.
        code: AL status code.
        addressed: False where its station address is gone: it was without power.
    """

    state: int
    code: int = 0
    addressed: bool = True

    @property
    def operational(self) -> bool:
        """Whether it takes part in the process data."""
        return self.addressed and self.state == OP

    def __str__(self) -> str:
        if not self.addressed:
            return "has lost its address: power-cycled"
        if not self.state:
            return "doesn't answer"
        name = _AL_STATES.get(self.state & 0x0F, f"state 0x{self.state:02X}")
        if not self.state & AL_ERROR and not self.code:
            return f"is in {name}"
        return f"is in {name} with error 0x{self.code:04X} {AL_CODES.get(self.code, 'of its vendor')}"


@dataclass(frozen=True)
class SupervisorLimits:
    """When what happens.

    Attributes:
        bad_cycles: so many bad cycles in a row stop the drives; fewer are held over.
        good_cycles: so many good ones in a row are needed to enable.
        stale_after: age of the last command that stops the drives [s].
        enable_time, stop_time: longest time to be enabled, and to come to rest before the drives are disabled [s].
    """

    bad_cycles: int = 3
    good_cycles: int = 20
    stale_after: float = 0.02
    enable_time: float = 5.0
    stop_time: float = 2.0


class _Phase(Enum):
    DISABLED = "disabled"
    ENABLING = "enabling"
    RUNNING = "running"
    STOPPING = "stopping"
    STOPPED = "stopped"


class Supervisor:
    """Decides, once per cycle, what the drives shall do.

    Args:
        names: of the slaves that move joints, in the order of the bus.
        expected_working_counter: of one exchange of process data: 2 per slave with outputs, 1 per slave with inputs.
        limits: see there.
        all_names: of all slaves, in the order of the bus, where some move no joint.

    Attributes:
        expected: the right working counter.
        causes: why the drives were stopped, the first one first; empty after the next enabling.
        waits_for_commands: True where nothing holds a drive but its commands, in torque mode: enabling then needs fresh
            ones. False where drives hold by themselves until the first one.
        working_counter: of the last exchange.
        al: of all slaves, as they were last read.
        cycles, lost_frames, bad_counters, late_frames: counted since the beginning.
        events: the last things that happened, (time [s], words).
        turns: the last cycles in which the action or the working counter was another than before, (time [s], action,
            working counter).
    """

    def __init__(
        self,
        names: Sequence[str],
        expected_working_counter: int,
        limits: SupervisorLimits | None = None,
        all_names: Sequence[str] | None = None,
    ) -> None:
        self._names = tuple(names)
        self._all_names = self._names if all_names is None else tuple(all_names)
        self.expected = expected_working_counter
        self.limits = SupervisorLimits() if limits is None else limits
        self.causes: list[str] = []
        self.waits_for_commands = False
        self.cycles = self.lost_frames = self.bad_counters = self.late_frames = 0
        self.events: deque[tuple[float, str]] = deque(maxlen=100)
        self.turns: deque[tuple[float, str, int]] = deque(maxlen=200)
        self._phase = _Phase.DISABLED
        self._since = self._time = 0.0
        self._bad = self._good = 0
        self._commanded = False
        self._command_age = math.inf
        self._states: Sequence[State] = (State.UNDEFINED,) * len(self._names)
        self._link = True
        self.al: tuple[AlStatus, ...] = ()
        self.working_counter = 0

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
            time: by a clock that doesn't go back [s].
            working_counter: of the process data; negative where no frame came back.
            states: of the drives, in the last good cycle: in a bad one, the inputs may be anything.
            failures: of the drives' state machines, in words, empty where there is none.
            command_age: time since the last command [s]; infinite where there was none yet.
            late: whether the frame came after its cycle.
        """
        self._time, self._states, self._command_age = time, states, command_age
        self._count(working_counter, late)
        if self._phase is _Phase.RUNNING or self._phase is _Phase.ENABLING:
            self._supervise(time, states, failures, command_age)
        if self._phase is _Phase.STOPPING:
            at_rest = self._bad == 0 and not any(state in _MOVING for state in states)
            if at_rest or time - self._since > self.limits.stop_time:
                self._enter(_Phase.STOPPED)
        action = self.action
        turn = (action.value, working_counter)
        if not self.turns or self.turns[-1][1:] != turn:
            self.turns.append((time, *turn))
        return action

    def _count(self, working_counter: int, late: bool) -> None:
        self.cycles += 1
        self.working_counter = working_counter
        if working_counter == self.expected and not late:
            self._bad, self._good = 0, self._good + 1
            return
        self._bad, self._good = self._bad + 1, 0
        if late:
            self.late_frames += 1
        elif working_counter < 0:
            self.lost_frames += 1
        else:
            self.bad_counters += 1

    def _supervise(self, time: float, states: Sequence[State], failures: Sequence[str], command_age: float) -> None:
        limits, running = self.limits, self._phase is _Phase.RUNNING
        if self._bad >= limits.bad_cycles:
            return self.trip(f"{self._bad} cycles in a row: {self._counter_words()}")
        enabled = states.count(State.OPERATION_ENABLED) == len(self._names)
        if not enabled or any(failures):
            self._look_for_causes(states, failures)
            if self._phase is _Phase.STOPPING:
                return None
        self._commanded = self._commanded or command_age <= limits.stale_after
        if (self._commanded or self.waits_for_commands) and command_age > limits.stale_after:
            return self.trip(f"the last command is {command_age:.3g} s old (limit {limits.stale_after:g} s)")
        if running:
            return None
        if enabled:
            self._enter(_Phase.RUNNING)
        elif time - self._since > limits.enable_time:
            self.trip(f"not enabled within {limits.enable_time:g} s: {self._not_enabled()}")
        return None

    def _look_for_causes(self, states: Sequence[State], failures: Sequence[str]) -> None:
        running = self._phase is _Phase.RUNNING
        for name, failure in zip(self._names, failures, strict=False):
            if failure:
                self.trip(f"{name}: {failure}")
        for name, state in zip(self._names, states, strict=True):
            wrong = state is not State.OPERATION_ENABLED and (running or state in _FAULTS)
            if wrong and not any(cause.startswith(f"{name}: ") for cause in self.causes):
                self.trip(f"{name}: {state.value}")

    @property
    def action(self) -> Action:
        """What all drives shall do now."""
        if self._phase is _Phase.RUNNING:
            return Action.RUN if self._bad == 0 and self._commanded else Action.HOLD
        if self._phase is _Phase.ENABLING:
            return Action.ENABLE
        return Action.QUICK_STOP if self._phase is _Phase.STOPPING else Action.DISABLE

    # --- what comes from outside the cycle ---

    def trip(self, cause: str) -> None:
        """Stop all drives because of something, in words; where they are stopped already, it is one more cause."""
        if self._phase is _Phase.DISABLED:
            return
        if cause not in self.causes and len(self.causes) < _MOST_CAUSES:
            self.causes.append(cause)
            self.note(cause)
        if self._phase in (_Phase.RUNNING, _Phase.ENABLING):
            self._enter(_Phase.STOPPING)

    def note(self, words: str) -> None:
        """Keep something that stops nothing: an emergency, an SDO that got no answer."""
        self.events.append((self._time, words))

    def emergency(self, position: int, code: int, register: int, vendor_codes: Mapping[int, str] | None = None) -> None:
        """Keep a slave's emergency message. What it means for the drives, their status words tell."""
        name = self._all_names[position] if 0 <= position < len(self._all_names) else "unknown"
        words = f"emergency {error_words(code, vendor_codes)} (error register 0x{register:02X})"
        self.note(f"slave {position} ({name}): {words}")

    def update_link(self, up: bool) -> None:
        """Whether the network interface has a carrier."""
        self._link = up
        if not up:
            self.trip("link down: the cable at the master, or the first slave's power")

    def update_al(self, statuses: Sequence[AlStatus]) -> None:
        """AL states of all slaves, in the order of the bus, as often as they are read."""
        self.al = tuple(statuses)
        for cause in self._al_problems():
            self.trip(cause)

    # --- requests ---

    def request_enable(self) -> list[str]:
        """Enable all drives, unless something stands against it.

        Returns:
            What stands against it, in words; empty where they are being enabled.
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

    def recovery(self) -> list[tuple[int, Recovery]]:
        """The next thing that each slave (by position) needs to be operational; empty where all are."""
        return [(i, _next_step(status)) for i, status in enumerate(self.al) if not status.operational]

    # --- words ---

    @property
    def stopped(self) -> bool:
        """Whether something stopped the drives since they were last enabled."""
        return self._phase in (_Phase.STOPPING, _Phase.STOPPED)

    @property
    def idle(self) -> bool:
        """Whether the drives are neither enabled nor about to be, nor being stopped."""
        return self._phase in (_Phase.DISABLED, _Phase.STOPPED)

    @property
    def words(self) -> str:
        """Where things are, for people."""
        if self._phase is _Phase.DISABLED:
            return "disabled; enabled on request"
        if self._phase is _Phase.ENABLING:
            return f"enabling: {self._not_enabled()}"
        if self._phase is _Phase.RUNNING:
            if self._bad:
                return f"holds the last targets: {self._counter_words()}"
            return "running" if self._commanded else "holds: no command yet"
        return f"{self._phase.value}: {'; '.join(self.causes)}. Enabled again only on request"

    def _counter_words(self) -> str:
        if self.working_counter < 0:
            return "no answer from the bus (working counter -1)"
        if self.working_counter == self.expected:
            return "the answer came too late"
        words = f"working counter {self.working_counter} of {self.expected}"
        missing = self.expected - self.working_counter
        if missing == 2:
            return f"{words}: a drive doesn't take its outputs (no longer in OP?)"
        return f"{words}: {missing // 3} of the drives missing" if missing > 0 and missing % 3 == 0 else words

    def _not_enabled(self) -> str:
        waiting = [
            f"{name} is {state.value}"
            for name, state in zip(self._names, self._states, strict=True)
            if state is not State.OPERATION_ENABLED
        ]
        return ", ".join(waiting) or "all drives are enabled"

    def _al_problems(self) -> list[str]:
        silent = [i for i, status in enumerate(self.al) if status.addressed and not status.state]
        problems = [
            f"{self._slave(i)} {status}"
            for i, status in enumerate(self.al)
            if not status.operational and i not in silent
        ]
        if not silent:
            return problems
        lost = f"lost: {', '.join(self._slave(i) for i in silent)}"
        first = silent[0]
        if silent == list(range(first, len(self.al))):
            before = self._slave(first - 1) if first else "the master"
            lost += f": the cable between {before} and {self._slave(first)}, or power"
        return [lost, *problems]

    def _obstacles(self) -> list[str]:
        if self._phase is _Phase.STOPPING:
            return ["the drives are still being stopped"]
        obstacles = [] if self._link else ["link down"]
        if self._good < self.limits.good_cycles:
            words = self._counter_words() if self._bad else f"only {self._good} good cycles since the last bad one"
            obstacles.append(words)
        obstacles += self._al_problems()
        obstacles += [
            f"{name}: {state.value}; reset it first"
            for name, state in zip(self._names, self._states, strict=True)
            if state in _FAULTS
        ]
        if self.waits_for_commands and self._command_age > self.limits.stale_after:
            obstacles.append("no fresh command: start the controller first, because only its torque holds the arm")
        return obstacles

    def _slave(self, position: int) -> str:
        name = self._all_names[position] if position < len(self._all_names) else "unknown"
        return f"slave {position} ({name})"

    def _enter(self, phase: _Phase) -> None:
        self._phase, self._since = phase, self._time


def _next_step(status: AlStatus) -> Recovery:
    if not status.addressed or not status.state:
        return Recovery.RECOVER
    if status.state & AL_ERROR:
        return Recovery.ACKNOWLEDGE
    return Recovery.REQUEST_OP if status.state == SAFEOP else Recovery.RECONFIGURE


AT_REST = 0.02  # rad/s: a velocity signal's offset and noise at rest, at most


class FrozenPosition:
    """Finds drives whose measured position stays the same to the last count although they must have moved.

    How far a drive must have moved since its position last changed is what its own velocity says, where that is more
    than noise, or how far its target position has gone, whichever is more.

    Args:
        names: of the drives.
        limit: so far without a change is too far [rad].
    """

    def __init__(self, names: Sequence[str], limit: float = 0.05) -> None:
        self._names, self._limit = tuple(names), limit
        self.reset()

    def reset(self) -> None:
        """Begin anew: when drives are enabled."""
        n = len(self._names)
        self._counts: list[int | None] = [None] * n
        self._turned, self._targets = [0.0] * n, [math.nan] * n

    def step(self, dt: float, counts: Sequence[int], v: Sequence[float], targets: Sequence[float] | None = None) -> str:
        """What is wrong, in words; empty where nothing is.

        Args:
            dt: since the last step [s].
            counts: positions as they came from the drives.
            v: velocities [rad/s].
            targets: positions commanded [rad]; None in other modes.
        """
        for i, count in enumerate(counts):
            target = math.nan if targets is None else targets[i]
            if count != self._counts[i]:
                self._counts[i], self._turned[i], self._targets[i] = count, 0.0, target
                continue
            if abs(v[i]) > AT_REST:
                self._turned[i] += v[i] * dt
            turned, gone = abs(self._turned[i]), abs(target - self._targets[i])
            if turned > self._limit or gone > self._limit:
                far = turned if math.isnan(gone) else max(turned, gone)
                return f"{self._names[i]}: its measured position is frozen at {count} counts, {far:.3g} rad behind"
        return ""


def jump_words(names: Sequence[str], start: Sequence[float], commanded: Sequence[float], limit: float) -> str:
    """Why position commands [rad] would make an arm jump, in words; empty where all are within the limit [rad]."""
    far = [
        f"{name}: the command jumps from {q:.4g} rad to {target:.4g} rad (limit {limit:g} rad)"
        for name, q, target in zip(names, start, commanded, strict=True)
        if not abs(target - q) <= limit
    ]
    return "; ".join(far)
