"""A frame of CAN 2.0, and its bits on the wire."""

from __future__ import annotations

from typing import NamedTuple

STANDARD_BITS = 11
EXTENDED_BITS = 29
LONGEST = 8  # bytes of data

# classes of error frames, of linux/can/error.h
BUS_OFF = 0x040
RESTARTED = 0x100


class Frame(NamedTuple):
    """A frame on the bus.

    Attributes:
        identifier: of 11 or 29 bits.
        data: up to eight bytes.
        extended: whether the identifier has 29 bits.
        error: whether it is an error frame of the host's controller; its identifier is the class.
    """

    identifier: int
    data: bytes
    extended: bool = False
    error: bool = False

    def check(self) -> Frame:
        """The frame itself; a ValueError where CAN has no such one."""
        bits = EXTENDED_BITS if self.extended else STANDARD_BITS
        if not 0 <= self.identifier < 1 << bits:
            raise ValueError(f"identifier {self.identifier:#x}: has at most {bits} bits")
        if len(self.data) > LONGEST:
            raise ValueError(f"{len(self.data)} bytes of data: at most {LONGEST}")
        return self
