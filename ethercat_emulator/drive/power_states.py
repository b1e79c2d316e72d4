"""The states of a CiA 402 drive's power, as the drive keeps them.

Written independently of the master's side, so that the two check each other.
Source: CiA 402-2 (IEC 61800-7-201), finite state automaton, control and status word.
"""

from __future__ import annotations

from enum import IntEnum

QUICK_STOP_STAYS = (5, 6)  # quick stop option codes (0x605A) that end in QUICK_STOP_ACTIVE


class Power(IntEnum):
    """A state: bits 0 to 3, 5 and 6 of the status word."""

    SWITCH_ON_DISABLED = 0x40
    READY_TO_SWITCH_ON = 0x21
    SWITCHED_ON = 0x23
    OPERATION_ENABLED = 0x27
    QUICK_STOP_ACTIVE = 0x07
    FAULT_REACTION_ACTIVE = 0x0F
    FAULT = 0x08


# the motor has torque
MOVING = (Power.OPERATION_ENABLED, Power.QUICK_STOP_ACTIVE, Power.FAULT_REACTION_ACTIVE)

# bits of the control word; quick stop at 0
_ENABLE_VOLTAGE = 0x02
_QUICK_STOP = 0x04
_FAULT_RESET = 0x80


class PowerStates:
    """From control words to states, one step at a time.

    Attributes:
        state: at present.
    """

    def __init__(self) -> None:
        self.state = Power.SWITCH_ON_DISABLED
        self._last = 0

    def fail(self, *, at_once: bool) -> None:
        """A fault; `at_once` without bringing the motor to rest first."""
        moving = self.state in MOVING and not at_once
        self.state = Power.FAULT_REACTION_ACTIVE if moving else Power.FAULT

    def stopped(self, option: int) -> None:
        """The motor has come to rest after a quick stop, with its option code, or a fault."""
        if self.state is Power.FAULT_REACTION_ACTIVE:
            self.state = Power.FAULT
        elif self.state is Power.QUICK_STOP_ACTIVE and option not in QUICK_STOP_STAYS:
            self.state = Power.SWITCH_ON_DISABLED

    def disable(self) -> None:
        """Take the voltage off."""
        if self.state not in (Power.FAULT, Power.FAULT_REACTION_ACTIVE):
            self.state = Power.SWITCH_ON_DISABLED

    def quick_stop(self) -> None:
        """Begin to stop by the drive's own decision."""
        if self.state is Power.OPERATION_ENABLED:
            self.state = Power.QUICK_STOP_ACTIVE

    def command(self, word: int, option: int, *, fault_present: bool) -> bool:
        """Obey a control word; whether it reset a fault.

        Args:
            word: control word.
            option: quick stop option code.
            fault_present: its cause is still there; it can't be reset.
        """
        rising = word & ~self._last
        self._last = word
        state = self.state
        if state is Power.FAULT:
            if rising & _FAULT_RESET and not fault_present:
                self.state = Power.SWITCH_ON_DISABLED
                return True
            return False
        if state is Power.FAULT_REACTION_ACTIVE:
            return False
        if not word & _ENABLE_VOLTAGE:
            self.state = Power.SWITCH_ON_DISABLED
        elif not word & _QUICK_STOP:
            if state is Power.OPERATION_ENABLED and option != 0:
                self.state = Power.QUICK_STOP_ACTIVE
            elif state is not Power.QUICK_STOP_ACTIVE:
                self.state = Power.SWITCH_ON_DISABLED
        else:
            self._step(word & 0x0F, option)
        return False

    def _step(self, command: int, option: int) -> None:
        state = self.state
        if state is Power.QUICK_STOP_ACTIVE:
            if command == 0x0F and option in QUICK_STOP_STAYS:
                self.state = Power.OPERATION_ENABLED
        elif command & 0x07 == 0x06:  # shutdown
            self.state = Power.READY_TO_SWITCH_ON
        elif command == 0x07:  # switch on, or disable operation
            if state is not Power.SWITCH_ON_DISABLED:
                self.state = Power.SWITCHED_ON
        elif command == 0x0F:  # enable operation, by way of SWITCHED_ON
            if state is Power.SWITCHED_ON:
                self.state = Power.OPERATION_ENABLED
            elif state is Power.READY_TO_SWITCH_ON:
                self.state = Power.SWITCHED_ON
