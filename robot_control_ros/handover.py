"""From one law to the next without a jump of the command."""

from __future__ import annotations

import math

from .types import Array

FADED = 1e-4  # share of the difference below which it is dropped


class Handover:
    """What is still added to a new law's commands, so that they begin where the old one's ended.

    u = u_new(t) + exp(-t / T) (u_old(0) - u_new(0)).

    Source: bumpless transfer, K. J. Åström, R. M. Murray, Feedback Systems, 2nd ed., Princeton 2021, section 11.4.

    Args:
        time_constant: T [s]; 0 hands over at once.
    """

    def __init__(self, time_constant: float) -> None:
        self._time_constant = time_constant
        self.reset()

    def reset(self) -> None:
        """Nothing is to be added."""
        self._share = 0.0
        self._difference: Array | None = None

    @property
    def active(self) -> bool:
        """Whether something is to be added."""
        return self._difference is not None

    def begin(self, difference: Array) -> None:
        """`difference` (n,): the old law's last command less the new one's first, in the new one's unit."""
        if self._time_constant > 0.0:
            self._difference, self._share = difference, 1.0

    def add_to(self, values: Array, dt: float) -> Array:
        """The new law's command (n,) with what is left of the difference, which then fades for dt [s]."""
        if self._difference is None:
            return values
        result = values + self._share * self._difference
        self._share *= math.exp(-dt / self._time_constant)
        if self._share < FADED:
            self.reset()
        return result
