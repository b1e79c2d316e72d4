"""A row of the table of ``python -m evidence contact``."""

from __future__ import annotations

from typing import NamedTuple


class ContactRow(NamedTuple):
    """One measured value beside its bound.

    Attributes:
        name: Text that says what was measured, with its unit.
        value: Measured value, in that unit.
        bound: Bound of the value as text.
        holds: True where the value keeps its bound.
    """

    name: str
    value: float
    bound: str
    holds: bool


Row = ContactRow  # within this folder; evidence/reproduce has rows of its own


def at_most(name: str, value: float, bound: float) -> Row:
    """A value that must not be larger than a bound."""
    return Row(name, float(value), f"<= {bound:.4g}", bool(value <= bound))
