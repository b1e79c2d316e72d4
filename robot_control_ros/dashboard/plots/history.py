"""What the controller told lately, as arrays over time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from ...core.types import Array

ROWS = 4096  # to begin with


@dataclass(frozen=True, eq=False)
class Record:
    """N samples, which stay as they are whatever comes later.

    Attributes:
        t: (N,) rising [s].
        blocks: (N, width) by name; NaN where a sample lacked it.
    """

    t: Array
    blocks: Mapping[str, Array]

    def block(self, name: str, width: int) -> Array:
        """(N, width) of a name; NaN where nothing of it has ever come."""
        found = self.blocks.get(name)
        return np.full((len(self.t), width), np.nan) if found is None else found

    def last(self, span: float) -> Record:
        """Its newest samples, over a time [s]."""
        if not len(self.t):
            return self
        first = int(np.searchsorted(self.t, self.t[-1] - span))
        return Record(self.t[first:], {name: values[first:] for name, values in self.blocks.items()})


class History:
    """Samples of the last minute or so. Time that jumps back begins a new one.

    Args:
        span: that is kept at least [s].
    """

    def __init__(self, span: float) -> None:
        self._span = span
        self.clear()

    def clear(self) -> None:
        """Forget everything."""
        self._count, self._t = 0, np.zeros(ROWS)
        self._blocks: dict[str, Array] = {}

    def add(self, time: float, blocks: Mapping[str, Array]) -> None:
        """One sample at a time [s]: arrays (width,) by name. A second one of the same time is left out."""
        if self._count and time <= self._t[self._count - 1]:
            if time == self._t[self._count - 1]:
                return
            self.clear()
        if self._count == len(self._t):
            self._renew()
        row = self._count
        for name, values in blocks.items():
            column = self._blocks.get(name)
            if column is None or column.shape[1] != len(values):
                column = self._blocks[name] = np.full((len(self._t), len(values)), np.nan)
            column[row] = values
        self._t[row] = time
        self._count += 1

    def record(self) -> Record:
        """All samples that are still here."""
        return Record(self._t[: self._count], {name: values[: self._count] for name, values in self._blocks.items()})

    def _renew(self) -> None:
        """Go on in other arrays, with room for as much again as is still wanted; records keep the old ones."""
        kept = self.record().last(self._span)
        self._count = len(kept.t)
        room = max(ROWS, 2 * self._count)
        self._t = np.zeros(room)
        self._t[: self._count] = kept.t
        self._blocks = {name: np.full((room, values.shape[1]), np.nan) for name, values in kept.blocks.items()}
        for name, values in kept.blocks.items():
            self._blocks[name][: self._count] = values
