"""Settings of one kind of bus, as plain data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any, TypeVar

from ..core.errors import unknown

_Options = TypeVar("_Options")


def read_options(kind: type[_Options], options: Mapping[str, Any]) -> _Options:
    """Make a dataclass of settings of a mapping; a ConfigError refuses an unknown name."""
    names = [each.name for each in fields(kind)]  # type: ignore[arg-type]
    for name in options:
        if name not in names:
            raise unknown("option", name, names)
    return kind(**options)
