"""What viser's uPlot charts have in common: looks of the small ones, and their numbers."""

from __future__ import annotations

from typing import Any

from ..core.types import Array

DASH = (5.0, 4.0)
_FONT = "11px sans-serif"
AXIS = {"font": _FONT, "labelFont": _FONT, "labelGap": 0, "gap": 3, "ticks": {"size": 4}}  # in a narrow panel


def fill(plot: Any, *columns: Array) -> None:
    """Give a chart its columns (k,), those of the x axis first.

    The line breaks at NaN. uPlot itself draws across it, and breaks at null, which the handle's `data` can't have.
    """
    plot._queue_update("data", [[None if x != x else x for x in column.tolist()] for column in columns])
