"""Findings of checks on a system, with advice; for a controller's activation and the doctor."""

from __future__ import annotations

import enum
from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial


class Level(enum.Enum):
    """Level of a finding; an ERROR keeps a controller from being activated."""

    OK = "ok"
    WARNING = "warning"
    ERROR = "error"


@dataclass(frozen=True)
class Finding:
    """Result of one check.

    Attributes:
        level: Level of the finding.
        text: Words for the finding.
        remedy: Advice on what to do; empty where all is well, or no remedy is known.
        command: Command line that does the remedy; empty where it isn't done by typing.
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
    """All findings and their advice as one text; advice of several findings stands there once."""
    found = list(findings)
    advice = dict.fromkeys(finding.advice for finding in found if finding.advice)
    return ". ".join(["; ".join(finding.text for finding in found), *advice])


def errors(findings: Iterable[Finding]) -> list[Finding]:
    """Findings that forbid activation."""
    return [finding for finding in findings if finding.level is Level.ERROR]
