"""Findings about a system: how each thing is, and what to do about it; of activation and of the doctor."""

from __future__ import annotations

import enum
from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial


class Level(enum.Enum):
    """How bad it is; an ERROR keeps a controller from being activated."""

    OK = "ok"
    WARNING = "warning"
    ERROR = "error"


@dataclass(frozen=True)
class Finding:
    """One thing that was looked at.

    Attributes:
        level: how bad it is.
        text: what was found.
        remedy: what to do about it; empty where all is well, or where nobody knows.
        command: what to type for that; empty where it isn't done by typing.
    """

    level: Level
    text: str
    remedy: str = ""
    command: str = ""

    @property
    def advice(self) -> str:
        """Remedy and command in one line."""
        return ": ".join(filter(None, (self.remedy, self.command)))


ok, warning, error = (partial(Finding, level) for level in Level)


def describe(findings: Iterable[Finding]) -> str:
    """What was found and what to do, as one text; the same advice stands there once."""
    found = list(findings)
    advice = dict.fromkeys(finding.advice for finding in found if finding.advice)
    return ". ".join(["; ".join(finding.text for finding in found), *advice])


def errors(findings: Iterable[Finding]) -> list[Finding]:
    """Those that forbid activation."""
    return [finding for finding in findings if finding.level is Level.ERROR]
