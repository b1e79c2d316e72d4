"""Documentation of the cells: the page and its picture."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np

from robot_control_ros.core.types import Array
from robot_control_ros.robot.configuration import load_robot
from robot_control_ros.simulation.log import figure_class, save_picture
from robot_control_ros.simulation.mujoco_plant import PHYSICS_STEP
from robot_control_ros.stability import stiffness_bound

from . import cells as search
from . import trials
from .cells import (
    QUANTITIES,
    ROTATION,
    WALL,
    Cell,
    Quantity,
    default_body,
    least_contact_damping,
    lightest,
    virtual_damping,
)


def page_text(cells: Sequence[Cell], figure: Path) -> str:
    """Markdown, with the figure, as seen from the page, and the tables of all cells."""
    text = Path(__file__).with_name("page.md").read_text(encoding="utf-8")
    lines = [
        text.format(
            figure=figure.as_posix(),
            both=sum(cell.half_of_both for cell in cells),
            count=len(cells),
            search=search,
            scan=stiffness_bound,
            trials=trials,
            physics_rate=1.0 / PHYSICS_STEP,
            press_mm=1e3 * trials.PRESS,
            virtual_damping=virtual_damping(),
        )
    ]
    for name, group in groupby(cells, lambda cell: cell.robot):
        lines += [f"## {name}", "", _inertia(name), ""]
        row = list(group)
        for quantity in QUANTITIES:
            title = f"{quantity.law.capitalize()}: {quantity.title} [{quantity.unit}]"
            lines += _table(title, quantity.text, row)
        mass, damping = default_body(name)
        title = f"Admittance: least damping for {mass:g} kg against 10000 N/m [N·s/m]; the default is {damping:.0f}"
        lines += _table(title, lambda cell: f"{least_contact_damping(cell):.0f}", row)
    return "\n".join(lines)


def _inertia(name: str) -> str:
    robot = load_robot(name)
    mass, inertia = lightest(robot)
    bare_mass, bare_inertia = lightest(robot.with_rotors(0.0))
    return (
        f"Smallest Λ over the postures: {mass:.2g} kg and {inertia:.2g} kg·m². "
        f"With `rotor_inertia` 0: {bare_mass:.2g} kg and {bare_inertia:.2g} kg·m²."
    )


def _table(title: str, text: Callable[[Cell], str], cells: Sequence[Cell]) -> Iterator[str]:
    rows = [(rate, list(group)) for rate, group in groupby(cells, lambda cell: cell.rate)]
    yield title
    yield ""
    yield "| | " + " | ".join(f"{1e3 * cell.delay:g} ms" for cell in rows[0][1]) + " |"
    yield "|---" * (len(rows[0][1]) + 1) + "|"
    for rate, row in rows:
        yield f"| {rate:g} Hz | " + " | ".join(map(text, row)) + " |"
    yield ""


def draw(cells: Sequence[Cell], path: Path) -> Path:
    """A row of panels per quantity and a column per robot; returns the file, a PNG.

    The impedance is drawn over the lag, the wall over the delay.
    """
    names = list(dict.fromkeys(cell.robot for cell in cells))
    figure = figure_class()(figsize=(1.5 + 3.2 * len(names), 10.0), layout="constrained")
    panels = figure.subplots(len(QUANTITIES), len(names), sharex="row", sharey="row", squeeze=False)
    for row, quantity in zip(panels, QUANTITIES, strict=True):
        for axes, name in zip(row, names, strict=True):
            _panel(axes, [cell for cell in cells if cell.robot == name], quantity)
            axes.set_xlabel("delay [ms]" if quantity is WALL else "τ = delay + half a period [ms]")
        row[0].set_ylabel(f"{quantity.law}:\n{quantity.title} [{quantity.unit}]")
    for axes, name in zip(panels[0], names, strict=True):
        axes.set_title(name)
    handles = [line for line in panels[0][0].get_lines() if line.get_label().endswith("Hz")]
    figure.legend(handles=handles, loc="outside upper center", ncols=len(handles), frameon=False)
    path.parent.mkdir(parents=True, exist_ok=True)
    return save_picture(figure, path, dpi=110)


_MARKS = (("o", "-", "0.0"), ("s", "--", "0.25"), ("^", "-.", "0.45"), ("D", ":", "0.6"))


def _panel(axes: Any, cells: Sequence[Cell], quantity: Quantity) -> None:
    """One quantity of one robot: a line per rate, arrows at the ends of the range, and
    the rule beside it.
    """
    for (rate, group), (mark, line, shade) in zip(
        groupby(cells, lambda cell: cell.rate), _MARKS, strict=False
    ):
        points = [
            (1e3 * (cell.delay if quantity is WALL else cell.lag), quantity.of(cell))
            for cell in group
        ]
        inside = np.array([(x, y if 0.0 < y < quantity.highest else np.nan) for x, y in points])
        axes.plot(
            *inside.T, mark + line, color=shade, markersize=5.5, linewidth=1.1, label=f"{rate:g} Hz"
        )
        for x, y in points:
            if y == 0.0 or y >= quantity.highest:
                end, arrow = (quantity.lowest, "v") if y == 0.0 else (quantity.highest, "^")
                axes.plot(x, end, marker=arrow, color=shade, markersize=6, fillstyle="none")
    late = np.geomspace(0.3, 22.0, 50)
    rule, formula = _rule(cells[0].robot, quantity, 1e-3 * late)
    (handle,) = axes.plot(late, rule, color="0.75", linewidth=3.0, zorder=0.5, label=formula)
    axes.legend(handles=[handle], loc="lower left", frameon=False)
    if quantity is WALL:
        axes.set_xscale("symlog", linthresh=1.0)
        axes.set_xlim(-0.2, 24.0)
        ticks = [1e3 * delay for delay in search.DELAYS]
    else:
        axes.set_xscale("log")
        axes.set_xlim(0.4, 24.0)
        ticks = [0.5, 1.0, 2.0, 5.0, 10.0, 20.0]
    axes.set_yscale("log")
    axes.set_ylim(0.75 * quantity.lowest, 1.4 * quantity.highest)
    axes.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
    axes.minorticks_off()
    axes.grid(True, color="0.9")


def _rule(name: str, quantity: Quantity, late: Array) -> tuple[Array, str]:
    """Values of the formula [unit] for commands that are so late [s], and the formula as text."""
    if quantity is WALL:
        return virtual_damping() / late, "B / delay"
    inertia = lightest(load_robot(name))[quantity is ROTATION]
    return search.CRITICAL * inertia / late**2, f"{search.CRITICAL:.2f} Λ / τ²"
