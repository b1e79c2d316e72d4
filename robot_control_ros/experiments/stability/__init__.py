"""How stiff a robot may be held, and how stiff a wall it may touch, at a rate and a delay: measured in simulation."""

from __future__ import annotations

import csv
import multiprocessing
import os
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import astuple, fields
from pathlib import Path

from ...core.errors import ConfigError
from ...robot.configuration import load_robot
from ...simulation.log import figure_class
from .cells import DELAYS, QUANTITIES, RATES, Cell, measure
from .document import page_text
from .picture import draw

ROBOTS = ("ur5", "ur5e", "gen3")
FIGURE = "limits.png"

__all__ = ["ROBOTS", "stability"]


def stability(names: Sequence[str], output: Path, page: Path | None = None) -> int:
    """Measure, print the tables as they come, and write CSV and figure.

    Args:
        names: of robots, or paths of their YAML files; none takes ROBOTS.
        output: folder for the files.
        page: Markdown page to write as well, with its figure in a folder beside it that is named as the page.

    Returns:
        The exit status.

    Raises:
        ConfigError: a robot that can't move its tip along all six axes; matplotlib or MuJoCo is not installed.
    """
    figure_class()
    names = names or ROBOTS
    for name in names:
        if not all(load_robot(name).axes):
            raise ConfigError(f"robot {name}: stability is measured where the tip moves along all six axes")
    jobs = [(name, rate, delay) for name in names for rate in RATES for delay in DELAYS]
    cells: list[Cell] = []
    print(f"{'robot':<8}{'Hz':>6}{'ms':>4}" + "".join(f"{quantity.name:>13}" for quantity in QUANTITIES), flush=True)
    with ProcessPoolExecutor(os.cpu_count(), multiprocessing.get_context("spawn")) as pool:
        for cell in pool.map(measure, *zip(*jobs, strict=True)):
            cells.append(cell)
            values = "".join(f"{quantity.words(cell):>13}" for quantity in QUANTITIES)
            print(f"{cell.robot:<8}{cell.rate:>6g}{cell.delay * 1e3:>4g}{values}", flush=True)
    print(_write_csv(cells, output / "stability.csv"))
    print(draw(cells, output / FIGURE))
    if page is not None:
        figure = draw(cells, page.with_suffix("") / FIGURE)
        page.write_text(page_text(cells, figure.relative_to(page.parent)), encoding="utf-8")
        print(page)
    return 0


def _write_csv(cells: Sequence[Cell], path: Path) -> Path:
    """One row per cell, in SI units."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow([field.name for field in fields(Cell)])
        writer.writerows(astuple(cell) for cell in cells)
    return path
