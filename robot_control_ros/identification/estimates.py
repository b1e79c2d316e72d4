"""A figure with its uncertainty."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..core.types import Array

Z = 2.576  # standard deviations on each side that hold 99 % of a normal distribution


@dataclass(frozen=True, eq=False)
class Estimate:
    """A measured figure, or one per joint.

    Attributes:
        value: Figure, of any shape.
        half_width: Half width of its 99 % interval, of the same shape and unit.
    """

    value: Array
    half_width: Array

    def holds(self, true: Array | float) -> Array:
        """Return whether the interval holds a value (or each one)."""
        return np.asarray(np.abs(self.value - true) <= self.half_width)
