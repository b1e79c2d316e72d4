"""Distributed clocks: a slave's own clock, and how a master reads, shifts and disciplines it."""

from __future__ import annotations

from .registers import (
    DC_DELAY,
    DC_DIFFERENCE,
    DC_OFFSET,
    DC_RECEIVE_TIME,
    DC_RECEIVE_TIMES,
    DC_SYSTEM_TIME,
)

HOP = 500  # ns, from one slave to the next

_64_BITS = (1 << 64) - 1


class Clock:
    """The clock of one slave.

    Every clock runs at the same rate as the caller's; what differs is where it starts. A system
    time that is written is compared, and the difference is taken over at once and wholly, where a
    real one slews. SYNC0 and SYNC1 are registers only: the device doesn't wait for them.

    Args:
        memory: of the slave.
        start: what the clock shows at the caller's time 0 [ns].
    """

    def __init__(self, memory: bytearray, start: int) -> None:
        self._memory = memory
        self._start = start
        self._correction = 0

    def local_time(self, now: int) -> int:
        """What the clock shows [ns]."""
        return now + self._start

    def system_time(self, now: int) -> int:
        """What the clock shows, with the master's offset and its own correction [ns]."""
        offset = int.from_bytes(self._memory[DC_OFFSET : DC_OFFSET + 8], "little")
        return (self.local_time(now) + offset + self._correction) & _64_BITS

    def refresh(self, now: int) -> None:
        """Put the system time into its register; called before the master reads."""
        self._memory[DC_SYSTEM_TIME : DC_SYSTEM_TIME + 8] = self.system_time(now).to_bytes(
            8, "little"
        )

    def latch(self, now: int, behind: int) -> None:
        """Note when a frame passed each port: it comes back after as many hops as
        there are slaves behind.
        """
        arrival = self.local_time(now)
        back = arrival + 2 * HOP * behind
        times = (arrival & 0xFFFFFFFF).to_bytes(4, "little") + (back & 0xFFFFFFFF).to_bytes(
            4, "little"
        )
        self._memory[DC_RECEIVE_TIMES : DC_RECEIVE_TIMES + (8 if behind else 4)] = times[
            : 8 if behind else 4
        ]
        self._memory[DC_RECEIVE_TIME : DC_RECEIVE_TIME + 8] = (arrival & _64_BITS).to_bytes(
            8, "little"
        )

    def discipline(self, reference: bytes, now: int) -> None:
        """Follow a system time (4 or 8 bytes) that another slave's clock gave."""
        bits = 8 * len(reference)
        delay = int.from_bytes(self._memory[DC_DELAY : DC_DELAY + 4], "little")
        ahead = (self.system_time(now) - delay - int.from_bytes(reference, "little")) & (
            (1 << bits) - 1
        )
        if ahead >> (bits - 1):
            ahead -= 1 << bits
        self._correction = (self._correction - ahead) & _64_BITS
        magnitude = min(abs(ahead), 0x7FFFFFFF)
        # bit 31: this clock is behind the reference
        self._memory[DC_DIFFERENCE : DC_DIFFERENCE + 4] = (magnitude | (ahead < 0) << 31).to_bytes(
            4, "little"
        )
