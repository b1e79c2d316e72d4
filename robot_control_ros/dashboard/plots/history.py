"""Samples of the controller as arrays over time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from ...core.types import Array

LATE = 8.0  # times the usual period: a later sample leaves a gap

Blocks = Mapping[str, Array]  # a sample: arrays by name


@dataclass(frozen=True, eq=False)
class History:
    """N samples of the controller over time."""

    t: Array = field(default_factory=lambda: np.zeros(0))  # (N,) rising [s]
    samples: Sequence[Blocks] = ()  # N

    @classmethod
    def last(cls, samples: Sequence[Blocks], span: float) -> History:
        """The newest of samples, over a time [s]; each has its own time in the block `time`.

        A time that jumps back begins a new record. A second sample of the same time is left out.
        """
        t = np.array([each["time"][0] for each in samples], dtype=float)
        steps = np.diff(t, prepend=-np.inf)
        begin = max(np.flatnonzero(steps < 0.0), default=0)
        chosen = np.flatnonzero(
            (steps != 0.0) & (t >= t[-1:] - span) & (np.arange(len(t)) >= begin)
        )
        return cls(t[chosen], [samples[index] for index in chosen.tolist()])

    @property
    def widths(self) -> dict[str, int]:
        """The number of values by name, as in the newest sample that has the name."""
        return {name: len(values) for each in self.samples for name, values in each.items()}

    def block(self, name: str, width: int) -> Array:
        """(N, width) of a name; NaN where a sample lacks it, or has another number of values."""
        missing = np.full(width, np.nan)
        found = (each.get(name, missing) for each in self.samples)
        rows = (values if len(values) == width else missing for values in found)
        return np.concatenate([np.zeros(0), *rows]).reshape(-1, width)

    def with_gaps(self, span: float) -> History:
        """Return a history with times relative to the newest, and an empty sample in each pause.

        A history that is shorter than the span begins with an empty sample at -span, so that the
        chart's axis keeps its length.

        Args:
            span: Length of the chart's time axis [s].
        """
        t = self.t - self.t[-1:] if len(self.t) else np.zeros(1)
        steps = np.diff(t)
        samples = list(self.samples or ({},))
        pauses = np.flatnonzero(steps > LATE * np.median([*steps, np.inf])) + 1
        times = np.insert(t, pauses, t[pauses] - steps[pauses - 1] / 2.0)
        for index in reversed(pauses.tolist()):
            samples.insert(index, {})
        return (
            History(np.append(-span, times), [{}, *samples])
            if t[0] > -span
            else History(times, samples)
        )
