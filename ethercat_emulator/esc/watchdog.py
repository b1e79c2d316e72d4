"""The process data watchdog: a slave that gets no outputs notices."""

from __future__ import annotations

from .registers import WATCHDOG_COUNTER, WATCHDOG_DIVIDER, WATCHDOG_STATUS, WATCHDOG_TIME

_TICK = 40  # ns


class Watchdog:
    """Counts the time since the outputs were last written, while it is armed.

    Args:
        memory: of the slave.
    """

    def __init__(self, memory: bytearray) -> None:
        self._memory = memory
        self._written_at = 0
        self._armed = False
        self.configure()

    def configure(self) -> None:
        """Take the registers over, after a change."""
        divider = int.from_bytes(self._memory[WATCHDOG_DIVIDER : WATCHDOG_DIVIDER + 2], "little")
        self.time = (
            (divider + 2)
            * _TICK
            * int.from_bytes(self._memory[WATCHDOG_TIME : WATCHDOG_TIME + 2], "little")
        )
        self._memory[WATCHDOG_STATUS] = 1

    def arm(self, armed: bool, now: int) -> None:
        """Begin to count, or end."""
        self._armed = armed
        self._written_at = now
        if armed:
            self._memory[WATCHDOG_STATUS] = 1

    def written(self, now: int) -> None:
        """Note that the outputs were written."""
        self._written_at = now

    def expired(self, now: int) -> bool:
        """Whether the outputs are overdue: true once. A watchdog time of 0 never expires."""
        if not self._armed or not self.time or now - self._written_at <= self.time:
            return False
        self._armed = False
        self._memory[WATCHDOG_STATUS] = 0
        self._memory[WATCHDOG_COUNTER] = min(self._memory[WATCHDOG_COUNTER] + 1, 0xFF)
        return True
