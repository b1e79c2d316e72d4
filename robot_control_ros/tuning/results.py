"""Results of trials: a row for each, the Pareto front, and the trial that is chosen from it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..core.errors import RobotControlError
from ..core.output_files import write_rows

MINIMIZE = "minimize"
MAXIMIZE = "maximize"
DIRECTIONS = (MINIMIZE, MAXIMIZE)
TINY = 1e-12  # what a value of 0 counts as, where ratios are compared


@dataclass(frozen=True)
class Goal:
    """What an objective's value should be.

    Attributes:
        name: Name of the objective.
        direction: ``minimize`` or ``maximize``.
        unit: Unit of the value.
    """

    name: str
    direction: str = MINIMIZE
    unit: str = ""

    def __str__(self) -> str:
        return f"{self.name} [{self.unit}]" if self.unit else self.name

    def loss(self, value: float) -> float:
        """The value, with the sign that makes a smaller one better."""
        return value if self.direction == MINIMIZE else -value

    def ratio(self, value: float, other: float) -> float:
        """Value / other, or its inverse: below 1 where the value is better. Both
        count as TINY at least.
        """
        ratio = max(value, TINY) / max(other, TINY)
        return ratio if self.direction == MINIMIZE else 1.0 / ratio


@dataclass(frozen=True)
class TrialOutcome:
    """What a trial gives, where numbers alone don't say it.

    Attributes:
        values: Value of each objective; empty where the trial failed.
        reason: Reason why the trial failed, or what went wrong in it; empty where nothing did.
        details: Further measurements by name, as plain JSON.
    """

    values: tuple[float, ...]
    reason: str = ""
    details: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class TrialRow:
    """One trial that has ended.

    Attributes:
        index: Number of the trial, from 0 on.
        parameters: Parameters that were tried, by name.
        values: Value of each objective; empty where the trial failed.
        reason: Reason why the trial failed, or what went wrong in it; empty where nothing did.
        details: Further measurements by name, as plain JSON.
        seconds: Time that the trial took [s]; 0 where its function raised an error.
        worker: Name of the process that ran it: host and process number.
    """

    index: int
    parameters: Mapping[str, float]
    values: tuple[float, ...]
    reason: str = ""
    details: Mapping[str, Any] = field(default_factory=dict)
    seconds: float = 0.0
    worker: str = ""

    @property
    def failed(self) -> bool:
        """True where the trial gave no values."""
        return not self.values


@dataclass(frozen=True)
class Tuned:
    """The trials of a study.

    Attributes:
        goals: Objectives of the study.
        rows: Trials that have ended, in the order of their index.
    """

    goals: tuple[Goal, ...]
    rows: tuple[TrialRow, ...]

    @property
    def front(self) -> tuple[TrialRow, ...]:
        """The trials that no other one beats: a Pareto front. Of equal trials it has the first."""
        kept: list[TrialRow] = []
        for row in self._with_values():
            losses = self._losses(row)
            others = (self._losses(other) for other in self._with_values() if other is not row)
            if any(_beats(other, losses) for other in others):
                continue
            if all(self._losses(other) != losses for other in kept):
                kept.append(row)
        return tuple(kept)

    @property
    def best(self) -> TrialRow:
        """The trial that is chosen from the front.

        Trial 0 has the values from which the search begins. In each objective, the ratio of a
        trial's value to that of trial 0 is below 1 where it is better; its gain is 1 - ratio. Among
        the trials that are better than trial 0 in all objectives, that with the largest product of
        gains is chosen. It is the bargain of J. F. Nash, The bargaining problem, Econometrica
        18(2), 1950: no objective is improved alone. Where no trial is better in all, the one with
        the smallest product of ratios is chosen. Where trial 0 failed, the first trial with values
        takes its place.

        Raises:
            RobotControlError: no trial has values.
        """
        with_values = self._with_values()
        if not with_values:
            raise RobotControlError(
                "no trial has values yet: run the same line again, or see why they failed by status"
            )
        base = with_values[0]
        better = [row for row in self.front if self.is_better(row, base)]
        if better:
            return max(
                better, key=lambda row: math.prod(1.0 - ratio for ratio in self._ratios(row, base))
            )
        return min(self.front, key=lambda row: math.prod(self._ratios(row, base)))

    def is_better(self, row: TrialRow, base: TrialRow) -> bool:
        """True where a trial is better than another one in all objectives."""
        pairs = zip(self._losses(row), self._losses(base), strict=True)
        return all(loss < other for loss, other in pairs)

    def table(self) -> list[list[Any]]:
        """Header and rows of all trials, without what differs from machine to machine.

        The columns are the index, the parameters, the objectives with their units, and the reason.
        """
        names = sorted({name for row in self.rows for name in row.parameters})
        header: list[Any] = ["trial", *names, *map(str, self.goals), "reason"]
        lines = [header]
        for row in self.rows:
            parameters = [_number(row.parameters.get(name)) for name in names]
            values = (
                [_number(value) for value in row.values] if row.values else [""] * len(self.goals)
            )
            lines.append([row.index, *parameters, *values, row.reason])
        return lines

    def to_csv(self, path: str | Path) -> Path:
        """Write the table as CSV; returns the path.

        Raises:
            ConfigError, HardwareFault: see :func:`~..core.output_files.write_rows`.
        """
        return write_rows(path, self.table())

    def _with_values(self) -> list[TrialRow]:
        return [row for row in self.rows if not row.failed]

    def _losses(self, row: TrialRow) -> tuple[float, ...]:
        return tuple(goal.loss(value) for goal, value in zip(self.goals, row.values, strict=True))

    def _ratios(self, row: TrialRow, base: TrialRow) -> list[float]:
        values = zip(self.goals, row.values, base.values, strict=True)
        return [goal.ratio(value, other) for goal, value, other in values]


def _beats(losses: Sequence[float], other: Sequence[float]) -> bool:
    """True where losses are nowhere larger than others, and smaller somewhere."""
    pairs = list(zip(losses, other, strict=True))
    return all(loss <= its for loss, its in pairs) and any(loss < its for loss, its in pairs)


def _number(value: float | None) -> str:
    """All digits of a number; empty for none."""
    return "" if value is None else repr(float(value))
