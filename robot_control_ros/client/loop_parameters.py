"""Gains and settings of a loop that a client leads without ROS, by the names of parameters."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ..control.controller import Controller, settings_of
from ..control.requests import Value
from ..core.gains import ParameterSet, plain_value


class LoopParameters:
    """Parameters of a loop: gains without a prefix, settings such as ``wrench.…`` with one.

    Args:
        loop: Function that returns the loop.
    """

    def __init__(self, loop: Callable[[], Controller]) -> None:
        self._loop = loop
        # by prefix: target whose values these are, and the values
        self._plain: dict[str, tuple[Any, dict[str, Value]]] = {}

    def values(self) -> dict[str, Value]:
        """Target values by name; only those of a changed target are made anew."""
        values: dict[str, Value] = {}
        for prefix, tuned in self._sets().items():
            target, plain = self._plain.get(prefix, (None, {}))
            if target is not tuned.target:
                plain = _plain_values(prefix, tuned, target, plain)
                self._plain[prefix] = tuned.target, plain
            values.update(plain)
        return values

    def change(self, values: Mapping[str, Value]) -> None:
        """Change values by name, all or none; a ConfigError names the one that is refused."""
        changes = []
        for prefix, tuned in self._sets().items():
            names = {prefix + spec.name: spec.name for spec in tuned.specs}
            chosen = {names[name]: value for name, value in values.items() if name in names}
            if chosen:
                changes.append((tuned, tuned.check(chosen, tuned.target)))
        for tuned, checked in changes:
            tuned.change(checked)

    def _sets(self) -> dict[str, ParameterSet]:
        loop = self._loop()
        settings = {f"{name}.": settings for name, settings in settings_of(loop).items()}
        return {"": loop.running.gains, **settings}


def _plain_values(
    prefix: str, tuned: ParameterSet, before: Any, plain: Mapping[str, Value]
) -> dict[str, Value]:
    """Targets of a set by name, as parameters; `plain` has the values of the targets `before`."""
    values: dict[str, Value] = {}
    same_kind = type(before) is type(tuned.target)
    for spec in tuned.specs:
        name = prefix + spec.name
        if same_kind and getattr(before, spec.name) is getattr(tuned.target, spec.name):
            values[name] = plain[name]
            continue
        value = plain_value(spec, tuned.target)
        values[name] = tuple(value) if isinstance(value, list) else value
    return values
