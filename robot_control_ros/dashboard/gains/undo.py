"""Changes of gains that were made on this page, so that the last one can be taken back."""

from __future__ import annotations

import time
from collections.abc import Mapping

from ...control.requests import Parameter, Value, split

TOGETHER = 1.0  # s: changes of the same gains within it are one, as those of a slider's drag
KEPT = 100  # changes


class Changes:
    """The values before each change, the last one at the end. Another law begins anew."""

    def __init__(self) -> None:
        self._law = ""
        self._before: list[dict[str, Value]] = []
        self._at = 0.0

    def add(self, law: str, before: Mapping[str, Value]) -> None:
        """Remember the values before a change that was accepted."""
        self._begin(law)
        now = time.monotonic()
        same = bool(self._before) and self._before[-1].keys() == before.keys()
        if not same or now - self._at > TOGETHER:
            self._before = [*self._before[1 - KEPT :], dict(before)]
        self._at = now

    def take(self, law: str) -> dict[str, Value]:
        """Remove the last change, and return the values before it; empty where there is none."""
        self._begin(law)
        return self._before.pop() if self._before else {}

    def _begin(self, law: str) -> None:
        if law != self._law:
            self._law = law
            self._before = []


def defaults(parameters: Mapping[str, Parameter]) -> dict[str, Value]:
    """The defaults of all gains of the law that have another value; settings stay."""
    return {
        name: each.default
        for name, each in parameters.items()
        if not split(name)[0] and each.value != each.default
    }
