"""Samples of the controller as arrays over time."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import numpy as np

from ...core.types import Array


@dataclass(frozen=True, eq=False)
class Record:
    """N samples."""

    t: Array = field(default_factory=lambda: np.zeros(0))  # (N,) rising [s]
    blocks: Mapping[str, Array] = field(default_factory=dict)  # (N, width) by name; NaN where a sample lacked it

    def block(self, name: str, width: int) -> Array:
        """(N, width) of a name; NaN if no sample had it."""
        found = self.blocks.get(name)
        return np.full((len(self.t), width), np.nan) if found is None else found

    def last(self, span: float) -> Record:
        """Its newest samples, over a time [s]."""
        if not len(self.t):
            return self
        first = int(np.searchsorted(self.t, self.t[-1] - span))
        return Record(self.t[first:], {name: values[first:] for name, values in self.blocks.items()})

    def extended(self, samples: Iterable[tuple[float, Mapping[str, Array]]]) -> Record:
        """Itself with newer samples: times [s] and arrays (width,) by name.

        A time that jumps back begins a new record. A second sample of the same time is left out.
        """
        old, new = self, list[tuple[float, Mapping[str, Array]]]()
        for time, blocks in samples:
            newest = new[-1][0] if new else old.t[-1] if len(old.t) else -np.inf
            if time < newest:
                old, new = Record(), []
            if time != newest:
                new.append((time, blocks))
        widths = {name: values.shape[1] for name, values in old.blocks.items()}
        widths |= {name: len(values) for _, blocks in new for name, values in blocks.items()}
        first, count = len(old.t), len(old.t) + len(new)
        joined = {name: np.full((count, width), np.nan) for name, width in widths.items()}
        for name, values in old.blocks.items():
            if values.shape[1] == widths[name]:
                joined[name][:first] = values
        for row, (_, blocks) in enumerate(new, first):
            for name, values in blocks.items():
                joined[name][row] = values
        return Record(np.append(old.t, [time for time, _ in new]), joined)
