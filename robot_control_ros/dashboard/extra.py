"""The extra of this package that brings the pages' library."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from ..core.errors import missing_extra

EXTRA = ("viser", "trimesh")


@contextmanager
def viser_needed(user: str) -> Iterator[None]:
    """Import a page within this; `user` names what needs it.

    Raises:
        ConfigError: viser or trimesh is not installed; names the extra that brings them.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        library = (error.name or "").partition(".")[0]
        if library not in EXTRA:
            raise
        raise missing_extra(user, library, "dashboard") from error
