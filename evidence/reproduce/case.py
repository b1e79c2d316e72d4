"""Parts of a reproduction: its rows, figures, and series of numbers."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, SupportsFloat, TypeVar

import numpy as np

from robot_control_ros.core.output_files import replaced_file, write_rows
from robot_control_ros.core.types import Array
from robot_control_ros.robot.configuration import RobotConfig, load_robot
from robot_control_ros.simulation.log import figure_class, save_picture

from ..row import Origin, Row, csv_lines, failed

T = TypeVar("T")


Tell = Callable[[float], object]
"""Takes the part of a source's experiments that is done, from 0 to 1."""


def tell_nobody(part: float) -> None:
    """Keep the part that is done to oneself."""


def counted(items: Collection[T], tell: Tell, begin: float = 0.0, end: float = 1.0) -> Iterator[T]:
    """Yield items, and tell how much is done each time that another one is wanted.

    Args:
        items: Items that there is work to do for.
        tell: Function that is told.
        begin, end: Part of all experiments that is done before the items, and after them.
    """
    for count, item in enumerate(items, 1):
        yield item
        tell(begin + (end - begin) * count / len(items))


def in_turn(groups: Sequence[Iterable[Row]], tell: Tell, begin: float = 0.0) -> list[Row]:
    """Rows of groups, such as generators, each of which does its work when its turn comes.

    Args:
        groups: Groups of rows.
        tell: Function that is told how much is done.
        begin: Part of all experiments that is done before.
    """
    return [row for group in counted(groups, tell, begin) for row in group]


def light_ur5(rotor_inertia: float = 0.1) -> RobotConfig:
    """The UR5 with rotors as light as in MuJoCo Menagerie's models [kg·m²], which these figures are
    for.

    A real one's are up to 19 times as heavy, and so are the package's own. The sources' arms have
    no floor at their base: some begin below it.
    """
    return replace(load_robot("ur5").with_rotors(rotor_inertia), cell={})


def near_each(
    names: Iterable[str],
    measured: Iterable[SupportsFloat],
    figures: Iterable[float],
    tolerance: float,
    unit: str,
    origin: Origin,
) -> Iterator[Row]:
    """Rows that share a tolerance, a unit and an origin."""
    for name, value, figure in zip(names, measured, figures, strict=True):
        yield Row.near(name, value, figure, tolerance, unit, origin)


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
        rows: Measured figures beside their bounds.
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
        return failed(self.rows)

    def write(self, folder: Path, name: str) -> list[Path]:
        """Write rows and series as CSV; returns the files."""
        folder.mkdir(parents=True, exist_ok=True)
        written = [folder / f"{name}.csv"]
        write_rows(written[0], csv_lines(self.rows))
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
