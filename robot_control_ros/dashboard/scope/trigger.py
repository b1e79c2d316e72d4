"""Trigger of a scope: the moment at which a quantity comes to a level."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ...core.types import Array


@dataclass(frozen=True)
class Trigger:
    """Condition that starts a trace.

    Attributes:
        field: Name of a field of the cycle's record.
        component: Place of the number in the field.
        level: Level that the number comes to, in the field's unit.
        rising: True where it comes from below, else from above.
    """

    field: str
    component: int
    level: float
    rising: bool


AT_FAULT = Trigger("fault", 0, 1.0, rising=True)


def crossings(values: Array, level: float, rising: bool, previous: float = math.nan) -> list[int]:
    """The places in values (N,) at which they come to a level, in order.

    A value that is NaN counts as none: the values beside it are neighbours then. The first one
    comes to the level only if the value before it is known, and lies on the other side.

    Args:
        values: Values (N,), one of each cycle.
        level: Level that the values come to.
        rising: True where they come from below, else from above.
        previous: Value before the first one; NaN where it isn't known.
    """
    known = np.flatnonzero(~np.isnan(values))
    line = np.concatenate(([previous], values[known]))
    reached = line >= level if rising else line <= level
    reached[0] |= math.isnan(previous)
    places: list[int] = known[reached[1:] & ~reached[:-1]].tolist()
    return places


def newest_number(values: Array, previous: float = math.nan) -> float:
    """The newest of values (N,) that isn't NaN; `previous` where all are."""
    known = values[~np.isnan(values)]
    return float(known[-1]) if len(known) else previous
