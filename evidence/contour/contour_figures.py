"""Pictures of contour errors: on the bus beside those of the simulation."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from robot_control_ros.core.types import Array
from robot_control_ros.references.contours import Polyline
from robot_control_ros.simulation.log import save_picture

from ..reproduce.case import panels
from .contour_trial import Comparison

STYLES: dict[str, dict[str, Any]] = {
    "in process": {"color": "tab:orange", "linewidth": 3.2, "alpha": 0.55},
    "in process, with drives": {"color": "0.2", "linewidth": 1.6, "linestyle": "--"},
    "on the bus": {"color": "tab:blue", "linewidth": 1.1},
}
LARGEST = 0.012  # m that the largest error is drawn as, at most


def draw_contours(
    contour: Polyline, comparisons: Sequence[Comparison], path: Path, title: str
) -> Path:
    """The tip's path in x and z, errors magnified; returns the file."""
    figure, grid = _panels(comparisons, 3.1, "x [mm]", "z [mm]", sharex=True, sharey=True)
    for axes, each in zip(grid.T.flat, comparisons, strict=True):
        tracks = each.tracks()
        factor = _magnification(max(track.max for track in tracks.values()) * 1e-3)
        axes.plot(
            *_plane(contour.points), color="0.75", linewidth=1.0, linestyle=":", label="contour"
        )
        for where, style in STYLES.items():
            track = tracks[where]
            magnified = track.broken(track.nearest + factor * (track.tip - track.nearest))
            axes.plot(*_plane(magnified), **style, label=where)
        axes.set_title(f"{each.setting}: errors x{factor:g}", fontsize="medium")
        axes.set_aspect("equal")
    return _save(figure, grid, path, title)


def draw_errors(comparisons: Sequence[Comparison], path: Path, title: str) -> Path:
    """The contour error over time; returns the file."""
    figure, grid = _panels(
        comparisons, 2.9, "t [s]", "contour error [mm]", sharex=True, sharey="row"
    )
    for axes, each in zip(grid.T.flat, comparisons, strict=True):
        tracks = each.tracks()
        for where, style in STYLES.items():
            track = tracks[where]
            axes.plot(track.broken(track.t), track.broken(track.error), **style, label=where)
        axes.set_title(str(each.setting), fontsize="medium")
        axes.margins(x=0.0)
    for axes in grid[:, 0]:
        axes.set_ylim(bottom=0.0)
    return _save(figure, grid, path, title)


def contour_table(comparisons: Sequence[Comparison]) -> list[str]:
    """Lines of a table of contour errors; a star marks what samples are missing for."""
    columns = (
        ("on the bus", 18),
        ("cycles", 10),
        ("in process", 18),
        ("ratio", 14),
        ("with drives", 18),
        ("ratio", 14),
    )
    lines = [
        f"{'contour error [mm]':<28}" + "".join(f"{name:>{width}}" for name, width in columns),
        f"{'':<28}{'max':>9}{'rms':>9}{'left out':>10}"
        + 2 * f"{'max':>9}{'rms':>9}{'max':>7}{'rms':>7}",
    ]
    for each in comparisons:
        mark = " " if each.bus.complete else "*"
        cells = f"{each.bus.max:8.4f}{mark}{each.bus.rms:8.4f}{mark}{each.left_out:10d}"
        for track in (each.simulated, each.delayed):
            ratios = f"{each.bus.max / track.max:6.3f}{mark}{each.bus.rms / track.rms:6.3f}{mark}"
            cells += f"{track.max:9.4f}{track.rms:9.4f}{ratios}"
        lines.append(f"{each.setting!s:<28}{cells}")
    if gap := max(
        (each.bus.longest_gap for each in comparisons if not each.bus.complete), default=0.0
    ):
        lines.append(
            f"* samples are missing, for up to {gap:.3f} s: the true figures may be larger"
        )
    return lines


def _panels(
    comparisons: Sequence[Comparison], height: float, x: str, y: str, **shared: Any
) -> tuple[Any, Any]:
    """A row of axes [inch] per feed-forward, and a column per domain."""
    columns = len({each.setting.domain for each in comparisons})
    rows = len(comparisons) // columns
    return panels(5.0 * columns, height * rows + 0.6, rows, columns, x=x, y=(y,) * rows, **shared)


def _save(figure: Any, grid: Any, path: Path, title: str) -> Path:
    handles, labels = grid[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=len(labels), frameon=False)
    figure.suptitle(title, fontsize="medium")
    return save_picture(figure, path, dpi=110)


def _magnification(error: float) -> float:
    """1, 2 or 5 times a power of ten, that makes an error [m] at most LARGEST."""
    power = 10.0 ** math.floor(math.log10(LARGEST / error))
    return power * max(step for step in (1, 2, 5) if step * power * error <= LARGEST)


def _plane(points: Array) -> tuple[Array, Array]:
    """Coordinates x and z of points (k, 3) [mm]."""
    return 1e3 * points[:, 0], 1e3 * points[:, 2]
