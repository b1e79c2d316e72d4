"""The states of a slave's application layer, and what it answers to requests for another.

Source: ETG.1000.6, EtherCAT state machine and AL status codes.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import IntEnum

from .registers import AL_CODE, AL_STATUS

# bit of the status: a request was refused, or the slave fell back; bit of the control: acknowledged
ERROR = 0x10

NO_ERROR = 0x0000
INVALID_TRANSITION = 0x0011
UNKNOWN_STATE = 0x0012
NO_BOOTSTRAP = 0x0013
MAILBOX_CONFIGURATION = 0x0016
WATCHDOG = 0x001B
OUTPUT_CONFIGURATION = 0x001D
INPUT_CONFIGURATION = 0x001E


class State(IntEnum):
    """Of the application layer."""

    INIT = 1
    PREOP = 2
    BOOT = 3
    SAFEOP = 4
    OP = 8


_UPWARD = {(State.INIT, State.PREOP), (State.PREOP, State.SAFEOP), (State.SAFEOP, State.OP)}


class AlState:
    """The state that a slave is in, kept in its registers.

    Args:
        memory: of the slave.
        refusal: whether a step upward to this state is refused: an AL status code, or NO_ERROR.
        changed: called with the states before and after.
    """

    def __init__(
        self,
        memory: bytearray,
        refusal: Callable[[State], int],
        changed: Callable[[State, State], None],
    ) -> None:
        self._memory = memory
        self._refusal = refusal
        self._changed = changed
        self.state = State.INIT

    @property
    def error(self) -> bool:
        """Whether an error waits for its acknowledgement."""
        return bool(self._memory[AL_STATUS] & ERROR)

    def request(self, control: int) -> None:
        """Do what the AL control register asks for, or set an error code."""
        wanted = control & 0x0F
        if control & ERROR:
            self._tell(NO_ERROR)
        elif self.error and wanted > self.state:
            return  # nothing upward before the error is acknowledged
        if wanted == self.state:
            return
        code = self._check(wanted)
        if code != NO_ERROR:
            self._tell(code)
        else:
            self._enter(State(wanted))

    def fall(self, state: State, code: int) -> None:
        """Go down by the slave's own decision."""
        if state != self.state:
            self._enter(state)
        self._tell(code)

    def _check(self, wanted: int) -> int:
        if wanted == State.BOOT:
            return NO_BOOTSTRAP
        if wanted not in State.__members__.values():
            return UNKNOWN_STATE
        if wanted < self.state:
            return NO_ERROR
        if (self.state, wanted) not in _UPWARD:
            return INVALID_TRANSITION
        return self._refusal(State(wanted))

    def _enter(self, state: State) -> None:
        before = self.state
        self.state = state
        self._tell(NO_ERROR)
        self._changed(before, state)

    def _tell(self, code: int) -> None:
        self._memory[AL_STATUS] = self.state | (ERROR if code != NO_ERROR else 0)
        self._memory[AL_CODE : AL_CODE + 2] = code.to_bytes(2, "little")
