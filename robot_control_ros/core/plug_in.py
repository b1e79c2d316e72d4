"""Classes of users, which are named by their places: ``package.module:Class``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from operator import attrgetter
from typing import Any

from .errors import ConfigError


def load_plug_in(
    kind: str,
    name: str,
    place: str | Callable[[], Any],
    parts: Sequence[str],
    *,
    what: str = "",
    key: str = "",
    makes: bool = False,
) -> Any:
    """The class at a place, or an object of it.

    Args:
        kind: Kind of what is named, in words.
        name: Name by which the user has chosen the class.
        place: Place of the class, ``package.module:Class``; or a function that returns it.
        parts: Names of the attributes that the result must have.
        what: Kind of the class in words, where it isn't `kind`.
        key: Name of the parameter or key that has the name, where it isn't `kind`.
        makes: True for an object of the class, which is made without arguments.

    Raises:
        ConfigError: The class can't be loaded, or no object can be made; it is no class, or lacks
            a part.
    """
    key = key or kind
    try:
        plug_in = _load(place) if isinstance(place, str) else place()
        if makes:
            plug_in = plug_in()
    except Exception as error:  # whatever a user's module raises when it is imported
        text = f"{kind} {name!r} can't be loaded: {type(error).__name__}: {error}"
        raise ConfigError(text, name=key, value=name) from error
    missing = [part for part in parts if not hasattr(plug_in, part)]
    if missing or not (makes or isinstance(plug_in, type)):
        lacks = ", ".join(missing) or "a class"
        raise ConfigError(
            f"{kind} {name!r} is not a {what or kind}: it lacks {lacks}", name=key, value=name
        )
    return plug_in


def _load(place: str) -> Any:
    module, _, attribute = place.partition(":")
    return attrgetter(attribute)(import_module(module))
