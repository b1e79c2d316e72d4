"""Columns of numbers for a uPlot chart of viser's."""

from __future__ import annotations

from typing import Any

from ..types import Array


def fill(plot: Any, *columns: Array) -> None:
    """Give a chart its columns (k,), those of the x axis first.

    The line breaks at NaN. uPlot itself draws across it, and breaks at null, which the handle's `data` can't have.
    """
    plot._queue_update("data", [[None if x != x else x for x in column.tolist()] for column in columns])
