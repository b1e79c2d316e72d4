"""The state machine of a drive (CiA 402, IEC 61800-7-201): from status words to control words. No
I/O, no clock.

The status word says where the drive is, the control word asks for the next transition. Operation is
enabled by going through all states, and only on request::

    switch on disabled --0x06--> ready to switch on --0x07--> switched on --0x0F--> operation enabled
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum, IntEnum

from ...core.errors import ConfigError
from ...core.types import CommandMode


class State(Enum):
    """State of a drive; the value is its name in the standard."""

    NOT_READY_TO_SWITCH_ON = "not ready to switch on"
    SWITCH_ON_DISABLED = "switch on disabled"
    READY_TO_SWITCH_ON = "ready to switch on"
    SWITCHED_ON = "switched on"
    OPERATION_ENABLED = "operation enabled"
    QUICK_STOP_ACTIVE = "quick stop active"
    FAULT_REACTION_ACTIVE = "fault reaction active"
    FAULT = "fault"
    # not in the standard: the status word has a pattern of none of the others
    UNDEFINED = "undefined"


# s, longest wait of an enabled drive for another mode: nobody controls it meanwhile
MODE_TIME = 0.05
RESET_TIME = 1.0  # s, longest wait for a fault to go away after a reset
EDGE_TIME = 0.01  # s that bit 7 is low before it rises; longer than a frame or two may be lost
FAULTS = (State.FAULT, State.FAULT_REACTION_ACTIVE)

# Status word (0x6041): mask, pattern under the mask, state. No word has two of the patterns.
PATTERNS = (
    (0x4F, 0x00, State.NOT_READY_TO_SWITCH_ON),
    (0x4F, 0x40, State.SWITCH_ON_DISABLED),
    (0x6F, 0x21, State.READY_TO_SWITCH_ON),
    (0x6F, 0x23, State.SWITCHED_ON),
    (0x6F, 0x27, State.OPERATION_ENABLED),
    (0x6F, 0x07, State.QUICK_STOP_ACTIVE),
    (0x4F, 0x0F, State.FAULT_REACTION_ACTIVE),
    (0x4F, 0x08, State.FAULT),
)
_STATES = tuple(
    next((state for mask, pattern, state in PATTERNS if low & mask == pattern), State.UNDEFINED)
    for low in range(0x80)
)

_VOLTAGE_ENABLED = 0x0010  # bits of the status word
_REMARKS = ((0x0080, "warning"), (0x0800, "internal limit active"))


class ControlWord(IntEnum):
    """Words that are written to 0x6040."""

    DISABLE_VOLTAGE = 0x00
    QUICK_STOP = 0x02
    SHUTDOWN = 0x06
    SWITCH_ON = 0x07  # from operation enabled: disable operation
    ENABLE_OPERATION = 0x0F
    FAULT_RESET = 0x80  # acts with the rising edge of its bit 7


class Mode(IntEnum):
    """Modes of operation (0x6060, shown in 0x6061), the cyclic synchronous ones."""

    NONE = 0
    POSITION = 8
    VELOCITY = 9
    TORQUE = 10


MODES = {
    CommandMode.POSITION: Mode.POSITION,
    CommandMode.VELOCITY: Mode.VELOCITY,
    CommandMode.EFFORT: Mode.TORQUE,
}
_MODE_NAMES = {
    **{0: "none", 1: "profile position", 3: "profile velocity", 4: "profile torque", 6: "homing"},
    **{
        8: "cyclic synchronous position",
        9: "cyclic synchronous velocity",
        10: "cyclic synchronous torque",
    },
}

# 0x603F: IEC 61800-7-201's names, as in openCANopen, inc/canopen/cia402-error-codes.h; 0x1000 and
# 0x8130 are CiA 301's. Vendors add their own, see DriveConfig.error_codes.
ERROR_CODES = {
    0x0000: "no error",
    0x1000: "generic error",
    0x2110: "short circuit or earth leakage, input",
    0x2220: "continuous over current, inside the device",
    0x2230: "short circuit or earth leakage, inside the device",
    0x2310: "continuous over current, output",
    0x2320: "short circuit or earth leakage, output",
    0x2330: "earth leakage, output",
    0x2340: "short circuit, output",
    0x3110: "mains over-voltage",
    0x3120: "mains under-voltage",
    0x3130: "mains phase failure",
    0x3210: "DC link over-voltage",
    0x3220: "DC link under-voltage",
    0x4110: "excess ambient temperature",
    0x4210: "excess temperature, device",
    0x4310: "excess temperature, drive",
    0x5113: "supply +5 V low",
    0x5300: "operating unit",
    0x5400: "power section",
    0x5530: "data storage, EEPROM",
    0x6010: "software reset by watchdog",
    0x6320: "parameter error",
    0x7121: "motor blocked",
    0x7122: "motor error or commutation malfunction",
    0x7300: "sensor",
    0x7305: "incremental sensor 1 fault",
    0x7306: "incremental sensor 2 fault",
    0x7310: "speed",
    0x7320: "position",
    0x7500: "communication",
    0x8130: "life guard or heartbeat error",
    0x8311: "excess torque",
    0x8400: "velocity speed controller",
    0x8500: "position controller",
    0x8611: "following error",
    0x8612: "reference limit",
    0x8700: "sync controller",
}
_GROUPS = {
    0x1000: "generic",
    0x2000: "current",
    0x3000: "voltage",
    0x4000: "temperature",
    0x5000: "device hardware",
    0x6000: "device software",
    0x7000: "additional modules",
    0x8000: "monitoring",
    0x9000: "external",
    0xF000: "additional functions",
}


def decode(status_word: int) -> State:
    """The state that a status word shows."""
    return _STATES[status_word & 0x7F]


def remarks(status_word: int) -> tuple[str, ...]:
    """Remarks of a status word besides the state, as texts."""
    found = tuple(text for bit, text in _REMARKS if status_word & bit)
    return found if status_word & _VOLTAGE_ENABLED else (*found, "no voltage at the power stage")


def describe_error(code: int, vendor_codes: Mapping[int, str] | None = None) -> str:
    """An error code (0x603F) and its meaning: the vendor's, the standard's, or that of its
    group in the standard.
    """
    meaning = (vendor_codes or {}).get(code) or ERROR_CODES.get(code)
    if meaning is None:
        group = "manufacturer specific" if code >= 0xFF00 else _GROUPS.get(code & 0xF000, "unknown")
        meaning = f"{group} error, see the drive's manual"
    return f"0x{code:04X} {meaning}"


def describe_mode(mode: int) -> str:
    """A mode of operation by name and number."""
    return f"{_MODE_NAMES.get(mode, 'manufacturer specific')} ({mode})"


class TargetSource(Enum):
    """Source of what has to go into a drive's target objects."""

    # the measured position (0x607A = 0x6064), zero velocity and torque: nothing to jump to
    FOLLOW = "follow"
    KEEP = "keep"  # the last ones: the drive is enabled, but still in another mode than asked for
    # the last position, zero velocity and torque: the drive is enabled, and shall leave that
    HALT = "halt"
    COMMAND = "command"  # commands count


class _Goal(Enum):
    DISABLED = "disabled"
    ENABLED = "enabled"
    STOPPED = "stopped"


class DriveStateMachine:
    """Brings one drive to where it is wanted, one control word per cycle.

    Only :meth:`enable` makes it send words that switch on. A fault, a drive that leaves operation
    enabled by itself and a transition that takes too long end that wish: it takes another
    :meth:`enable` then.

    Args:
        vendor_codes: Error codes of the drive's vendor, by number.
        transition_time: Longest wait for a transition, or for a mode before the drive is enabled
            [s].

    Attributes:
        state: State of the drive, as its last status word shows.
        mode: Mode of operation that is asked for, for 0x6060.
        control_word: Last control word, for 0x6040.
        targets: Source of what goes into the target objects with that control word.
        waits_for: State, mode or event that the machine waits for; empty where it has arrived.
        failure: Reason why the drive isn't enabled although it should be; empty after the next
            request.
    """

    def __init__(
        self, vendor_codes: Mapping[int, str] | None = None, *, transition_time: float = 2.0
    ) -> None:
        self._transition_time = transition_time
        self._vendor_codes = vendor_codes
        self.state = State.UNDEFINED
        self.mode = Mode.NONE
        self.control_word = int(ControlWord.DISABLE_VOLTAGE)
        self.targets = TargetSource.FOLLOW
        self.waits_for = ""
        self.failure = ""
        self._goal = _Goal.DISABLED
        self._was_enabled = False
        self._reset_begin: float | None = None
        self._reset_asked = False
        self._resets_failed = ""
        self._waiting: tuple[object, float] | None = None  # what for, since when

    # --- requests ---

    def enable(self, mode: Mode) -> None:
        """Ask for operation enabled in a mode. In a fault this does nothing: it
        has to be reset first.
        """
        self.change_mode(mode)
        self.failure = ""
        if self.state in FAULTS:
            self.failure = f"{self.state.value}: reset it first"
            return
        self._goal = _Goal.ENABLED
        self._was_enabled = False
        self._waiting = None

    def change_mode(self, mode: Mode) -> None:
        """Ask for another mode; commands count when the drive shows it. A
        ConfigError refuses Mode.NONE.
        """
        if mode is Mode.NONE:
            valid = tuple(each for each in Mode if each is not Mode.NONE)
            message = f"mode of operation {describe_mode(mode)}: must be one of: {', '.join(map(describe_mode, valid))}"
            raise ConfigError(message, name="mode of operation", value=mode, bound=valid)
        self.mode = mode

    def disable(self) -> None:
        """Ask for switch on disabled, by way of the drive's own ramp (0x605C)."""
        self._set_goal(_Goal.DISABLED)

    def quick_stop(self) -> None:
        """Ask for the quick stop (0x605A says what it does)."""
        self._set_goal(_Goal.STOPPED)

    def reset_fault(self) -> None:
        """Ask for one fault reset, which ends in switch on disabled. Without a
        fault this does nothing.
        """
        if self.state in FAULTS:
            self.failure = ""
            self._resets_failed = ""
            self._reset_asked = True
            self._reset_begin = None

    @property
    def enabled(self) -> bool:
        """True where the drive is enabled, by request, in the mode asked for."""
        return self.targets is TargetSource.COMMAND

    # --- the cycle ---

    def step(self, time: float, status_word: int, mode_display: int, error_code: int = 0) -> int:
        """The next control word, from a time that doesn't go back [s], and
        0x6041, 0x6061 and 0x603F.
        """
        state = _STATES[status_word & 0x7F]
        self.state = state
        self.targets = (
            TargetSource.HALT if state is State.OPERATION_ENABLED else TargetSource.FOLLOW
        )
        self.waits_for = ""
        if state in FAULTS:
            word = self._in_fault(time, error_code)
        else:
            self._reset_asked = False
            self._resets_failed = ""
            if self._goal is _Goal.ENABLED:
                word = self._enable(time, mode_display)
            elif self._goal is _Goal.STOPPED:
                word = self._stop(time)
            else:
                word = self._disable(time)
        self.control_word = int(word)
        return self.control_word

    def _in_fault(self, time: float, error_code: int) -> ControlWord:
        self._set_goal(_Goal.DISABLED)
        fault = f"fault {describe_error(error_code, self._vendor_codes)}"
        if not self._reset_asked:
            self.failure = fault + self._resets_failed
            return ControlWord.DISABLE_VOLTAGE
        self.waits_for = f"the end of {fault}"
        if self.state is State.FAULT_REACTION_ACTIVE:
            return ControlWord.DISABLE_VOLTAGE
        if self._reset_begin is None:
            self._reset_begin = time
        elapsed = time - self._reset_begin
        if elapsed < EDGE_TIME:
            return ControlWord.DISABLE_VOLTAGE
        if elapsed <= EDGE_TIME + RESET_TIME:
            return ControlWord.FAULT_RESET
        self._reset_asked = False
        self._resets_failed = ", which stays after a reset"
        self.failure = fault + self._resets_failed
        self.waits_for = ""
        return ControlWord.DISABLE_VOLTAGE

    def _enable(self, time: float, mode_display: int) -> ControlWord:
        state = self.state
        if self._was_enabled and state is not State.OPERATION_ENABLED:
            return self._give_up(f"left operation enabled by itself: {state.value}")
        if state is State.OPERATION_ENABLED:
            self._was_enabled = True
            return self._run(time, mode_display)
        if state is State.SWITCHED_ON:
            if mode_display != self.mode:
                return self._await_mode(
                    time, mode_display, ControlWord.SWITCH_ON, self._transition_time
                )
            return self._await(time, State.OPERATION_ENABLED, ControlWord.ENABLE_OPERATION)
        if state is State.READY_TO_SWITCH_ON:
            return self._await(time, State.SWITCHED_ON, ControlWord.SWITCH_ON)
        if state is State.SWITCH_ON_DISABLED:
            return self._await(time, State.READY_TO_SWITCH_ON, ControlWord.SHUTDOWN)
        return self._await(time, State.SWITCH_ON_DISABLED, ControlWord.DISABLE_VOLTAGE)

    def _run(self, time: float, mode_display: int) -> ControlWord:
        if mode_display == self.mode:
            self._waiting = None
            self.targets = TargetSource.COMMAND
            return ControlWord.ENABLE_OPERATION
        self.targets = TargetSource.KEEP
        return self._await_mode(time, mode_display, ControlWord.ENABLE_OPERATION, MODE_TIME)

    def _stop(self, time: float) -> ControlWord:
        if self.state is State.OPERATION_ENABLED and self._overdue(time, State.QUICK_STOP_ACTIVE):
            return ControlWord.DISABLE_VOLTAGE
        if self.state is State.OPERATION_ENABLED:
            self.waits_for = "quick stop active"
        return ControlWord.QUICK_STOP

    def _disable(self, time: float) -> ControlWord:
        if self.state is State.OPERATION_ENABLED and not self._overdue(time, State.SWITCHED_ON):
            self.waits_for = "switched on, on the way to switch on disabled"
            return ControlWord.SWITCH_ON
        if self.state is State.SWITCHED_ON:
            self.waits_for = "ready to switch on, on the way to switch on disabled"
            return ControlWord.SHUTDOWN
        return ControlWord.DISABLE_VOLTAGE

    # --- waiting ---

    def _set_goal(self, goal: _Goal) -> None:
        if goal is not self._goal:
            self._goal = goal
            self._waiting = None

    def _overdue(self, time: float, what: object, limit: float | None = None) -> bool:
        if self._waiting is None or self._waiting[0] != what:
            self._waiting = what, time
        return time - self._waiting[1] > (self._transition_time if limit is None else limit)

    def _await(self, time: float, what: State, word: ControlWord) -> ControlWord:
        if self._overdue(time, what):
            return self._give_up(
                f"no {what.value} within {self._transition_time:g} s of control word 0x{word:02X}: the drive is still "
                f"{self.state.value}"
            )
        self.waits_for = what.value
        return word

    def _await_mode(
        self, time: float, display: int, word: ControlWord, limit: float
    ) -> ControlWord:
        refused = (
            f"mode of operation {describe_mode(self.mode)} (0x6060); "
            f"the drive shows {describe_mode(display)} (0x6061)"
        )
        if self._overdue(time, self.mode, limit):
            return self._give_up(f"refuses {refused}")
        self.waits_for = refused
        return word

    def _give_up(self, failure: str) -> ControlWord:
        self.failure = failure
        self.targets = (
            TargetSource.HALT if self.state is State.OPERATION_ENABLED else TargetSource.FOLLOW
        )
        self._set_goal(_Goal.STOPPED)
        return ControlWord.QUICK_STOP
