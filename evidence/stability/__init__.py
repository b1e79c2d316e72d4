"""Largest stable stiffness of a robot and of a wall that it touches, by rate and delay."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import astuple, fields
from functools import partial
from pathlib import Path
from typing import Any

from robot_control_ros.cli.progress import Progress
from robot_control_ros.core.errors import ConfigError
from robot_control_ros.core.output_files import write_rows, write_text
from robot_control_ros.robot.configuration import load_robot
from robot_control_ros.simulation.log import figure_class
from robot_control_ros.tuning.grid import Point, sweep

from ..options import FIGURES
from ..row import Row, exit_status, required, text_table
from .cells import DELAYS, QUANTITIES, RATES, Cell, least_contact_damping, measure
from .default_gains import default_gains_table
from .gain_table import gain_table
from .limits_page import draw, page_text
from .press import press_table

ROBOTS = ("ur5", "ur5e", "gen3")
FIGURE = "limits.png"
REQUIRED = required("docs/stability.md")
LEAST = "damping"  # N·s/m that the robot's admittance needs at least

__all__ = ["ROBOTS", "default_gains_table", "gain_table", "press_table", "stability"]


def stability(
    names: Sequence[str],
    output: Path,
    page: Path | None = None,
    *,
    workers: int = os.cpu_count() or 1,
    scheduler: str = "",
) -> int:
    """Measure robots, by default ROBOTS; print the cells as they come, and write CSV file and
    figure to a folder.

    Where `page` is given, that Markdown page is written as well, with its picture in the folder
    FIGURES beside it. `workers` and `scheduler` say where it is computed, see
    :func:`~...tuning.engine.engine`. Returns the exit status: 1 where half of both stiffnesses isn't
    stable in each cell.

    Raises:
        ConfigError: a robot that can't move its tip along all six axes; matplotlib or MuJoCo is not
            installed.
    """
    figure_class()
    names = names or ROBOTS
    for name in names:
        if not all(load_robot(name).axes):
            raise ConfigError(
                f"robot {name}: stability is measured where the tip moves along all six axes",
                name=name,
            )
    print(
        f"{'robot':<8}{'Hz':>6}{'ms':>4}"
        + "".join(f"{quantity.name:>13}" for quantity in QUANTITIES)
        + f"{LEAST:>13}",
        flush=True,
    )
    where: dict[str, Any] = {"scheduler": scheduler} if scheduler else {"workers": workers}
    grid = {"name": names, "rate": RATES, "delay": DELAYS}
    count = len(names) * len(RATES) * len(DELAYS)
    with Progress("stability", count, "cells", beats=True) as shown:
        cells = sweep(measure, grid, progress=partial(_print_cell, shown), **where).results
    table = output / "stability.csv"
    table.parent.mkdir(parents=True, exist_ok=True)
    write_rows(table, [[field.name for field in fields(Cell)], *map(astuple, cells)])  # in SI units
    print(table)
    print(draw(cells, output / FIGURE))
    row = half_of_both_row(cells)
    print("\n".join(text_table([row])))
    if page is not None:
        figure = draw(cells, page.parent / FIGURES / FIGURE)
        write_text(page, page_text(cells, figure.relative_to(page.parent)), ".md")
        print(page)
    return exit_status([row])


def half_of_both_row(cells: Sequence[Cell]) -> Row:
    """Number of cells in which half of both stiffnesses is stable together: all of them."""
    stable = sum(cell.half_of_both for cell in cells)
    name = f"cells of {len(cells)} in which half of both stiffnesses is stable"
    return Row.at_least(name, stable, len(cells), "", REQUIRED)


def _print_cell(shown: Progress, done: int, count: int, point: Point) -> None:
    """Print a cell; an error in it ends all."""
    if point.error is not None:
        raise point.error
    cell = point.result
    values = "".join(f"{quantity.text(cell):>13}" for quantity in QUANTITIES)
    values += f"{least_contact_damping(cell):>13.0f}"
    shown.print(f"{cell.robot:<8}{cell.rate:>6g}{cell.delay * 1e3:>4g}{values}")
    shown.show(done)
