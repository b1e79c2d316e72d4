"""Curves as text, one column each."""

from __future__ import annotations

import io
from collections.abc import Mapping

import numpy as np

from ..core.types import Array

TIME = "time [s]"


def csv(columns: Mapping[str, Array]) -> bytes:
    """CSV of columns (m,) by name: microseconds of a time, nine digits of all others."""
    content = io.StringIO()
    formats = ["%.6f" if name == TIME else "%.9g" for name in columns]
    np.savetxt(content, np.column_stack(list(columns.values())), formats, ",", header=",".join(columns), comments="")
    return content.getvalue().encode()
