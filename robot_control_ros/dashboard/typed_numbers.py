"""Numbers that a person types into the page's fields: taken over as a whole, or refused in words.

viser's browser side would apply each keystroke: of 300, first 3 and then 30. So the script
``bar/number_fields.js`` keeps from it what is typed. At Enter, or when the field is left, the
script sends the text here, and shows the value in force again.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import viser

from ..core.errors import ConfigError, refused
from .browser_values import MAX_TEXT, number_bounds
from .page_thread import PageThread


@dataclass(frozen=True)
class TypedNumber:
    """Text that was typed into one field of a control.

    Attributes:
        control: Identifier of the control.
        index: Place of the field among those of the control.
        text: Text as it was typed.
    """

    control: str
    index: int
    text: str

    @classmethod
    def read(cls, message: str) -> TypedNumber | None:
        """Number that a browser sent, as JSON; None where no page's script sends it."""
        try:
            fields = json.loads(message)
            typed = cls(**fields)
        except (ValueError, TypeError, RecursionError):
            return None
        kinds = (
            isinstance(typed.control, str),
            type(typed.index) is int,
            isinstance(typed.text, str),
        )
        return typed if all(kinds) and len(typed.text) <= MAX_TEXT else None


class TypedNumbers:
    """Takes typed numbers over, in the page's thread.

    Args:
        controls: Function that returns viser's handles by their identifiers; it is called at each
            number.
        thread: Thread of the page.
    """

    def __init__(self, controls: Callable[[], Mapping[str, Any]], thread: PageThread) -> None:
        self._controls = controls
        self._thread = thread

    def take(self, typed: TypedNumber) -> None:
        """Set the control to the typed number, or say why not; from any thread."""
        self._thread.post(lambda: self._take(typed))

    def _take(self, typed: TypedNumber) -> None:
        handle = self._controls().get(typed.control)
        value: float | tuple[float, ...]
        try:
            if isinstance(handle, viser.GuiSliderHandle):
                value = checked_number(
                    handle.label, typed.text, handle.min, handle.max, handle.precision
                )
            elif isinstance(handle, viser.GuiNumberHandle):
                value = checked_number(
                    handle.label, typed.text, *number_bounds(handle), handle.precision
                )
            elif isinstance(handle, (viser.GuiVector2Handle, viser.GuiVector3Handle)):
                value = _with_number(handle, typed)
            else:
                return
            if handle.disabled:
                raise ConfigError(
                    f"{handle.label} can't be changed: {handle.hint or 'it is switched off'}"
                )
        except ConfigError as error:
            self._thread.refuse(str(error))
            return
        self._thread.refuse("")  # what was refused before counts no more
        self._thread.enter(handle, value)


def checked_number(label: str, text: str, low: float, high: float, decimals: int) -> float:
    """The number in a text.

    Args:
        label: Label of the field.
        text: Text as it was typed.
        low, high: Bounds of the number.
        decimals: Number of decimals that the field shows.

    Raises:
        ConfigError: no number, outside of the bounds, or with more decimals than the field shows.
    """
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not math.isfinite(number) or "_" in text:
        raise refused(label, text.strip()[:40], "must be a number, as 0.5 or 1e3")
    if not low <= number <= high:
        raise refused(label, number, f"must be within {low:g} to {high:g}", (low, high))
    if round(number, decimals) != number:
        step = 10.0**-decimals
        raise refused(label, number, f"must be a multiple of {step:g}", step)
    return number


def _with_number(handle: Any, typed: TypedNumber) -> tuple[float, ...]:
    """The value of a vector, with one number of it replaced."""
    values = list(handle.value)
    if not 0 <= typed.index < len(values):
        raise refused(
            handle.label,
            typed.index,
            f"must be a field from 0 to {len(values) - 1}",
            len(values) - 1,
        )
    low = -math.inf if handle.min is None else handle.min[typed.index]
    high = math.inf if handle.max is None else handle.max[typed.index]
    values[typed.index] = checked_number(handle.label, typed.text, low, high, handle.precision)
    return tuple(values)
