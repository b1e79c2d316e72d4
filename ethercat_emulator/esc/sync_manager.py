"""Sync managers: which parts of the memory a master may read or write, and when."""

from __future__ import annotations

from .registers import RAM, SIZE, SYNC_MANAGER, SYNC_MANAGER_SIZE

MAILBOX_FULL = 0x08  # bit of the status
_ENABLED = 0x01  # bits of activation
_REPEAT_REQUEST = 0x02
_LOCKED_BY_DEVICE = 0x01  # bits of the device's own control
_REPEAT_ACKNOWLEDGED = 0x02


class SyncManager:
    """One of a slave's windows into its memory; its registers are the truth, the attributes a copy
    of them.

    Attributes:
        start, end: of the window.
        is_mailbox: else it is a buffer of process data, which is always accessible.
        written_by_master: else it is read by the master.
        triggers_watchdog: when the master has written it.
        active: the master has enabled it, in memory that there is; else the memory is free.
        enabled: and the device hasn't locked it.
    """

    def __init__(self, memory: bytearray, number: int) -> None:
        self._memory = memory
        self._at = SYNC_MANAGER + SYNC_MANAGER_SIZE * number
        self._open = False
        self.configure()

    def configure(self) -> None:
        """Take the registers over, after a change."""
        registers = self._memory[self._at : self._at + SYNC_MANAGER_SIZE]
        control = registers[4]
        self.start = int.from_bytes(registers[0:2], "little")
        self.end = self.start + int.from_bytes(registers[2:4], "little")
        self.is_mailbox = control & 0x03 == 0x02
        self.written_by_master = control & 0x0C == 0x04
        self.triggers_watchdog = bool(control & 0x40)
        self.active = bool(registers[6] & _ENABLED) and RAM <= self.start < self.end <= SIZE
        self.enabled = self.active and not registers[7] & _LOCKED_BY_DEVICE
        if not self.active:
            self.set_full(False)

    @property
    def length(self) -> int:
        """Bytes of the window."""
        return self.end - self.start

    def content(self) -> bytes:
        """What is in the window; nothing while it isn't active."""
        return bytes(self._memory[self.start : self.end]) if self.active else b""

    def store(self, data: bytes) -> None:
        """Fill an active window with the device's data, cut off or followed by zeros."""
        if self.active:
            self._memory[self.start : self.end] = data[: self.length].ljust(self.length, b"\x00")

    @property
    def full(self) -> bool:
        """Whether a mailbox holds a message that its reader hasn't read."""
        return bool(self._memory[self._at + 5] & MAILBOX_FULL)

    def set_full(self, full: bool) -> None:
        """Fill or empty a mailbox."""
        status = self._memory[self._at + 5]
        self._memory[self._at + 5] = status | MAILBOX_FULL if full else status & ~MAILBOX_FULL
        self._open = False

    def lock(self, locked: bool) -> None:
        """Let the device lock the window, or unlock it."""
        control = self._memory[self._at + 7]
        self._memory[self._at + 7] = (
            control | _LOCKED_BY_DEVICE if locked else control & ~_LOCKED_BY_DEVICE
        )
        self.configure()

    def repeat_requested(self) -> bool:
        """Whether the master has asked for the last message once more; asking again is
        acknowledged by this.
        """
        request = self._memory[self._at + 6] & _REPEAT_REQUEST
        control = self._memory[self._at + 7]
        if request == control & _REPEAT_ACKNOWLEDGED:
            return False
        self._memory[self._at + 7] = control ^ _REPEAT_ACKNOWLEDGED
        return True

    def admits(self, address: int, end: int, write: bool) -> bool:
        """Whether the master may access these bytes of the window now.

        A mailbox is filled or emptied from its first byte to its last, by one access or more;
        nothing is read from an empty one nor written into a full one.
        """
        if (
            not self.enabled
            or write != self.written_by_master
            or address < self.start
            or end > self.end
        ):
            return False
        if not self.is_mailbox:
            return True
        if write == self.full:
            return False
        return self._open or address == self.start

    def accessed(self, end: int) -> bool:
        """Note an access that was admitted; whether it completed the window."""
        complete = end == self.end
        if complete and self.is_mailbox:
            self.set_full(self.written_by_master)
        self._open = not complete
        return complete
