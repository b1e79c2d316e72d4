"""The pages' library comes with an extra of this package: where it is missing, that is said."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from ..core.errors import ConfigError


@contextmanager
def viser_needed(by: str) -> Iterator[None]:
    """Import a page within this.

    Args:
        by: what needs it, in words.

    Raises:
        ConfigError: viser isn't there; names the extra that brings it.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        if error.name != "viser":
            raise
        raise ConfigError(f"{by} needs viser: pip install 'robot_control_ros[dashboard]'") from error
