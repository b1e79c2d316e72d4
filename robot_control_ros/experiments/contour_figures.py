"""Pictures of contour errors: on the bus beside those of the simulation."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ..core.types import Array
from ..references.contours import Polyline
from ..simulation.log import figure_class
from .contour_trial import Comparison, Track

STYLES: dict[str, dict[str, Any]] = {
    "in process": {"color": "tab:orange", "linewidth": 3.2, "alpha": 0.55},
    "in process, with drives": {"color": "0.2", "linewidth": 1.6, "linestyle": "--"},
    "on the bus": {"color": "tab:blue", "linewidth": 1.1},
}
LARGEST = 0.012  # m that the largest error is drawn as, at most


def draw_contours(contour: Polyline, comparisons: Sequence[Comparison], path: Path, title: str) -> Path:
    """The tip's way in x and z, errors magnified; returns the file."""
    rows, columns = _shape(comparisons)
    figure = figure_class()(figsize=(5.0 * columns, 3.1 * rows + 0.6), layout="constrained")
    panels = figure.subplots(rows, columns, squeeze=False, sharex=True, sharey=True)
    for axes, each in zip(panels.T.flat, comparisons, strict=True):
        tracks = each.tracks()
        factor = _magnification(max(track.max for track in tracks.values()) * 1e-3)
        axes.plot(*_plane(contour.points), color="0.75", linewidth=1.0, linestyle=":", label="contour")
        for where, style in STYLES.items():
            axes.plot(*_plane(_magnified(tracks[where], factor)), **style, label=where)
        axes.set_title(f"{each.setting}: errors x{factor:g}", fontsize="medium")
        axes.set_aspect("equal")
        axes.grid(alpha=0.3)
    _label(panels, "x [mm]", "z [mm]")
    figure.legend(*panels[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=4, frameon=False)
    figure.suptitle(title, fontsize="medium")
    figure.savefig(path, dpi=110)
    return path


def draw_errors(comparisons: Sequence[Comparison], path: Path, title: str) -> Path:
    """The contour error over time; returns the file."""
    rows, columns = _shape(comparisons)
    figure = figure_class()(figsize=(5.0 * columns, 2.9 * rows + 0.6), layout="constrained")
    panels = figure.subplots(rows, columns, squeeze=False, sharex=True, sharey="row")
    for axes, each in zip(panels.T.flat, comparisons, strict=True):
        tracks = each.tracks()
        for where, style in STYLES.items():
            axes.plot(tracks[where].t, tracks[where].error, **style, label=where)
        axes.set_title(str(each.setting), fontsize="medium")
        axes.grid(alpha=0.3)
        axes.margins(x=0.0)
    for axes in panels[:, 0]:
        axes.set_ylim(bottom=0.0)
    _label(panels, "t [s]", "contour error [mm]")
    figure.legend(*panels[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=3, frameon=False)
    figure.suptitle(title, fontsize="medium")
    figure.savefig(path, dpi=110)
    return path


def _shape(comparisons: Sequence[Comparison]) -> tuple[int, int]:
    """Rows, one per feed-forward, and columns, one per domain."""
    columns = len({each.setting.domain for each in comparisons})
    return len(comparisons) // columns, columns


def _label(panels: Any, below: str, beside: str) -> None:
    for axes in panels[-1]:
        axes.set_xlabel(below)
    for axes in panels[:, 0]:
        axes.set_ylabel(beside)


def _magnification(error: float) -> float:
    """1, 2 or 5 times a power of ten, that makes an error [m] at most LARGEST."""
    power = 10.0 ** math.floor(math.log10(LARGEST / error))
    return power * max(step for step in (1, 2, 5) if step * power * error <= LARGEST)


def _magnified(track: Track, factor: float) -> Array:
    return np.asarray(track.nearest + factor * (track.tip - track.nearest))


def _plane(points: Array) -> tuple[Array, Array]:
    """Their x and z [mm]."""
    return 1e3 * points[:, 0], 1e3 * points[:, 2]
