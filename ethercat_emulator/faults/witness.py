"""What drives and joints of a bus really do, for comparison with what a master sees."""

from __future__ import annotations

import json
import time
from collections import deque

from ..bus.chain import Bus
from ..drive.power_states import Power

_MOST_POWERS = 1000  # remembered per drive


class Witness:
    """Watches a bus from its next cycle on; the answers are JSON.

    Args:
        bus: with drives.

    Raises:
        ValueError: it has none.
    """

    def __init__(self, bus: Bus) -> None:
        if bus.machine is None:
            raise ValueError("the bus moves nothing")
        self._bus = bus
        self._machine = bus.machine
        self._powers = [drive.power for drive in self._machine.drives]
        self.begin()
        self._machine.watchers.append(self._watch)

    def begin(self) -> None:
        """Count and measure motion from now on."""
        self._left: list[float | None] = [None] * len(self._powers)
        self._passed = [deque([power.name], _MOST_POWERS) for power in self._powers]
        self._first = self._last = list(self._machine.mechanics.position)
        self._step = self._away = 0.0

    def drives(self) -> str:
        """Per joint: last powers of its drive, and when it left operation enabled
        [s, time.monotonic()].
        """
        drives = zip(self._passed, self._left, strict=True)
        return json.dumps([{"powers": list(powers), "left": left} for powers, left in drives])

    def slaves(self) -> str:
        """AL states, in the order of the chain."""
        return json.dumps([slave.state.name for slave in self._bus.slaves])

    def motion(self) -> str:
        """Since the beginning: the largest step of a joint in a cycle, the largest way from
        where it was [rad].
        """
        return json.dumps({"step": self._step, "away": self._away})

    def _watch(self) -> None:
        for n, drive in enumerate(self._machine.drives):
            before = self._powers[n]
            self._powers[n] = drive.power
            if before is drive.power:
                continue
            if before is Power.OPERATION_ENABLED:
                self._left[n] = time.monotonic()
            self._passed[n].append(drive.power.name)
        position = list(self._machine.mechanics.position)
        self._step = max(self._step, _farthest(position, self._last))
        self._away = max(self._away, _farthest(position, self._first))
        self._last = position


def _farthest(a: list[float], b: list[float]) -> float:
    return max(abs(p - q) for p, q in zip(a, b, strict=True))
