"""Parts of a reproduction: rows of measured beside reference, figures, and series of numbers."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass, field, fields, replace
from pathlib import Path
from typing import Any, SupportsFloat

import numpy as np

from robot_control_ros.core.output_files import replaced_file, write_rows
from robot_control_ros.core.types import Array
from robot_control_ros.robot.configuration import RobotConfig, load_robot
from robot_control_ros.simulation.log import figure_class, save_picture

REPORTED = float(np.finfo(float).max)  # bound of a row without a threshold


def light_ur5(rotor_inertia: float = 0.1) -> RobotConfig:
    """The UR5 with rotors as light as in MuJoCo Menagerie's models [kg·m²], which these figures are
    for.

    A real one's are up to 19 times as heavy, and so are the package's own. The sources' arms have
    no floor at their base: some begin below it.
    """
    return replace(load_robot("ur5").with_rotors(rotor_inertia), cell={})


@dataclass(frozen=True)
class Row:
    """One figure of a source, measured anew. It passes where ``low <= measured <= high``; NaN never
    does.

    Attributes:
        name: Text that says what was measured.
        measured: Figure that was measured here.
        reference: Figure to compare with; NaN where there is only a bound, or nothing.
        low, high: Bounds, inclusive.
        unit: Unit of the figures and the bounds.
    """

    name: str
    measured: float
    reference: float
    low: float
    high: float
    unit: str = ""

    @classmethod
    def near(
        cls, name: str, measured: SupportsFloat, reference: float, tolerance: float, unit: str = ""
    ) -> Row:
        """A row that passes within `tolerance` (in `unit`) of the reference."""
        return cls(
            name, float(measured), reference, reference - tolerance, reference + tolerance, unit
        )

    @classmethod
    def at_most(
        cls,
        name: str,
        measured: SupportsFloat,
        bound: float,
        unit: str = "",
        reference: float = np.nan,
    ) -> Row:
        """A row that passes where it is no more than a bound."""
        return cls(name, float(measured), reference, -np.inf, bound, unit)

    @classmethod
    def at_least(cls, name: str, measured: SupportsFloat, bound: float, unit: str = "") -> Row:
        """A row that passes where it is no less than a bound."""
        return cls(name, float(measured), np.nan, bound, np.inf, unit)

    @classmethod
    def report(cls, name: str, measured: SupportsFloat, unit: str = "") -> Row:
        """A row without a threshold: it passes where it is a finite number."""
        return cls(name, float(measured), np.nan, -REPORTED, REPORTED, unit)

    @property
    def passed(self) -> bool:
        return self.low <= self.measured <= self.high

    def bounds(self) -> str:
        if self.high == REPORTED:
            return "reported"
        if self.low == -np.inf:
            return f"<= {self.high:.6g}"
        if self.high == np.inf:
            return f">= {self.low:.6g}"
        return f"{self.low:.6g} … {self.high:.6g}"


def near_each(
    names: Iterable[str],
    measured: Iterable[SupportsFloat],
    references: Iterable[float],
    tolerance: float,
    unit: str,
) -> Iterator[Row]:
    """Rows that share a tolerance and a unit."""
    for name, value, reference in zip(names, measured, references, strict=True):
        yield Row.near(name, value, reference, tolerance, unit)


def settled_at(time: Array, error: Array, bound: float) -> float:
    """The first of the times (k,) from which the error (k,) stays within a bound;
    infinite where it doesn't.
    """
    outside = np.flatnonzero(error > bound)
    first = outside[-1] + 1 if outside.size else 0
    return float(time[first]) if first < time.size else math.inf


def panels(
    width: float,
    height: float,
    rows: int = 1,
    columns: int = 1,
    *,
    x: str = "",
    y: Sequence[str] = (),
    **shared: Any,
) -> tuple[Any, Any]:
    """A matplotlib figure [inch] and its axes (rows, columns), with grids.

    The label x is below the last row, the labels y are beside the first column. `shared` has sharex
    and sharey.

    Raises:
        ConfigError: matplotlib is not installed.
    """
    figure = figure_class()(figsize=(width, height), layout="constrained")
    grid = figure.subplots(rows, columns, squeeze=False, **shared)
    for axes in grid.flat:
        axes.grid(alpha=0.3)
    for axes in grid[-1]:
        axes.set_xlabel(x)
    for axes, label in zip(grid[:, 0], y, strict=False):
        axes.set_ylabel(label)
    return figure, grid


@dataclass(frozen=True, eq=False)
class Result:
    """One source's experiments.

    Attributes:
        title: Heading of the source's section.
        source: Sentences that say what is reproduced.
        rows: Measured figures beside their bounds, see :class:`Row`.
        notes: Findings, each a paragraph.
        drawings: Functions that make a matplotlib figure, by name (the file's stem).
        series: Tables by name (the file's stem), each with columns of equal length by name.
    """

    title: str
    source: str
    rows: list[Row]
    notes: list[str] = field(default_factory=list)
    drawings: Mapping[str, Callable[[], Any]] = field(default_factory=dict)
    series: Mapping[str, Mapping[str, Array]] = field(default_factory=dict)

    @property
    def failed(self) -> list[Row]:
        """The rows that are out of their bounds."""
        return [row for row in self.rows if not row.passed]

    def table(self) -> Iterator[str]:
        """The rows as text, aligned for a terminal."""
        cells = [("", "measured", "reference", "bounds", ""), *(_cells(row) for row in self.rows)]
        widths = [max(len(row[column]) for row in cells) for column in range(5)]
        for name, measured, reference, bounds, verdict in cells:
            yield (
                f"  {name:<{widths[0]}}  {measured:>{widths[1]}}  {reference:>{widths[2]}}  "
                f"{bounds:<{widths[3]}}  {verdict}"
            ).rstrip()

    def markdown(self) -> Iterator[str]:
        """The rows as a Markdown table."""
        yield "| | measured | reference | bounds | |"
        yield "|---|---|---|---|---|"
        for row in self.rows:
            yield "| " + " | ".join(cell.replace("|", "\\|") for cell in _cells(row)) + " |"

    def write(self, folder: Path, name: str) -> list[Path]:
        """Write rows and series as CSV; returns the files."""
        folder.mkdir(parents=True, exist_ok=True)
        written = [folder / f"{name}.csv"]
        header = (*(item.name for item in fields(Row)), "passed")
        write_rows(written[0], [header, *((*astuple(row), row.passed) for row in self.rows)])
        for series, columns in self.series.items():
            path = folder / f"{name}_{series}.csv"
            values = np.column_stack(list(columns.values()))
            with replaced_file(path, ".csv") as file:
                np.savetxt(file, values, delimiter=",", header=",".join(columns), comments="")
            written.append(path)
        return written

    def draw(self, folder: Path, name: str) -> list[Path]:
        """Write the drawings as PNG; returns the files.

        Raises:
            ConfigError: matplotlib is not installed.
        """
        folder.mkdir(parents=True, exist_ok=True)
        paths = []
        for drawing, draw in self.drawings.items():
            path = folder / f"{name}_{drawing}.png"
            save_picture(draw(), path, dpi=110)
            paths.append(path)
        return paths


def _cells(row: Row) -> tuple[str, str, str, str, str]:
    reference = "" if np.isnan(row.reference) else f"{row.reference:.6g}"
    name = f"{row.name} [{row.unit}]" if row.unit else row.name
    return name, f"{row.measured:.6g}", reference, row.bounds(), "ok" if row.passed else "FAILED"
