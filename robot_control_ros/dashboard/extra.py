"""The extra of this package that brings the pages' library."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from ..core.errors import ConfigError


@contextmanager
def viser_needed(user: str) -> Iterator[None]:
    """Import a page within this; `user` names what needs it.

    Raises:
        ConfigError: viser is not installed; names the extra that brings it.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        if error.name != "viser":
            raise
        raise ConfigError(f"{user} needs viser: pip install 'robot_control_ros[dashboard]'", name="viser") from error
