"""Checks that a control can have a value of a browser.

viser itself casts: "x" is taken as a choice, "no" as True.
"""

from __future__ import annotations

import math
from typing import Any

import viser

MAX_TEXT = 1000  # characters
ROUNDING = 1e-9  # of a slider's range
ROTATION = 1e-3  # of a quaternion's length


def is_value_of(control: Any, value: Any) -> bool:
    """True where a control of the page can have a finite value that a browser sent.

    Args:
        control: Handle of viser.
        value: Value as it came: a bool, number, string, list or None.
    """
    match control:
        case viser.GuiButtonHandle() | viser.GuiCheckboxHandle():
            return isinstance(value, bool)
        case viser.GuiDropdownHandle() | viser.GuiButtonGroupHandle():
            return value in control.options
        case viser.GuiSliderHandle():
            return is_number(value) and _within(value, control.min, control.max)
        case viser.GuiNumberHandle():
            return (
                is_number(value) and number_bounds(control)[0] <= value <= number_bounds(control)[1]
            )
        case viser.GuiTextHandle():
            return isinstance(value, str) and len(value) <= MAX_TEXT
        case viser.GuiVector2Handle() | viser.GuiVector3Handle():
            numbers = isinstance(value, list) and all(is_number(each) for each in value)
            return numbers and len(value) == len(control.value)
    return False


def is_rotation(quaternion: Any) -> bool:
    """True where four numbers w, x, y, z are of a rotation, thus of length 1."""
    return abs(math.hypot(*quaternion) - 1.0) < ROTATION


def is_number(value: Any) -> bool:
    """True where a value is an int or a float; a bool is no number."""
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def number_bounds(control: viser.GuiNumberHandle) -> tuple[float, float]:
    """The lowest and the highest value of a number field."""
    low = -math.inf if control.min is None else control.min
    high = math.inf if control.max is None else control.max
    return low, high


def _within(value: float, low: float, high: float) -> bool:
    slack = ROUNDING * (high - low)
    return low - slack <= value <= high + slack
