"""Curves over time or frequency: as one of viser's uPlot charts, as a picture, and as text."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..core.types import Array
from ..simulation.log import figure_class

TIME = "time [s]"
DPI = 120
_FONT = "11px sans-serif"
# in a narrow panel
_AXIS = {"font": _FONT, "labelFont": _FONT, "labelGap": 0, "gap": 3, "ticks": {"size": 4}}


@dataclass(frozen=True, eq=False)
class Curve:
    """One curve."""

    name: str  # for the legend
    values: Array  # (N,); NaN is a gap
    colour: str  # as in CSS
    width: float = 1.5  # of the line [px]; 0 for none
    dashed: bool = False
    dots: float = 0.0  # diameter [px]; 0 for none


@dataclass(frozen=True, eq=False)
class Chart:
    """Curves over the same x."""

    label: str  # with the unit
    x: Array  # (N,)
    curves: tuple[Curve, ...]  # in the order of the legend
    shows: tuple[float, float] | None = None  # lowest and highest value that are always visible


def add_plot(gui: Any, x_label: str, chart: Chart, **settings: Any) -> Any:
    """A plot without data for a chart; `settings` of viser's `add_uplot`. An empty
    label takes no room.
    """
    settings = {"scales": {"x": {"time": False}}, "padding": (8, 12, 0, 0), **settings}
    empty = tuple(np.zeros(2) for _ in range(1 + len(chart.curves)))
    return gui.add_uplot(empty, _series(x_label, chart), axes=_axes(x_label, chart), **settings)


def show(plot: Any, chart: Chart) -> None:
    """Show another chart; the zoom stays if names and colours of the curves are the same."""
    x_label = plot.axes[0]["label"]
    for name, value in (("series", _series(x_label, chart)), ("axes", _axes(x_label, chart))):
        if getattr(plot, name) != value:
            setattr(plot, name, value)
    fill(plot, chart)


def fill(plot: Any, chart: Chart) -> None:
    """Give a plot the values of a chart; its look stays.

    The line breaks at NaN. uPlot itself draws across it, and breaks at null, which the handle's
    `data` can't have.
    """
    columns = (chart.x, *(curve.values for curve in chart.curves))
    plot._queue_update(
        "data", [[None if x != x else x for x in column.tolist()] for column in columns]
    )


def png(charts: Sequence[Chart], title: str) -> bytes:
    """A picture of charts over the same time.

    Raises:
        ConfigError: matplotlib is not installed.
    """
    figure = figure_class()(figsize=(9.0, 1.2 + 2.3 * len(charts)), layout="constrained")
    rows = figure.subplots(len(charts), 1, sharex=True, squeeze=False)[:, 0]
    for axis, chart in zip(rows, charts, strict=True):
        for curve in chart.curves:
            look = {"linestyle": "--" if curve.dashed else "-", "linewidth": 0.9 * curve.width}
            look |= {"marker": "o" if curve.dots else "", "markersize": 0.6 * curve.dots}
            axis.plot(chart.x, curve.values, color=curve.colour, label=curve.name, **look)
        axis.update_datalim([(chart.x[-1], bound) for bound in chart.shows or ()], updatex=False)
        axis.autoscale_view()
        axis.set_ylabel(chart.label)
        axis.grid(True, alpha=0.3)
        axis.margins(x=0.0)
        axis.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), frameon=False)
    figure.align_ylabels()
    rows[-1].set_xlabel(TIME)
    figure.suptitle(title)
    content = io.BytesIO()
    figure.savefig(content, dpi=DPI, format="png")
    return content.getvalue()


def csv(columns: Mapping[str, Array]) -> bytes:
    """CSV of columns (m,) by name: microseconds of a time, nine digits of all others."""
    content = io.StringIO()
    formats = ["%.6f" if name == TIME else "%.9g" for name in columns]
    np.savetxt(
        content,
        np.column_stack(list(columns.values())),
        formats,
        ",",
        header=",".join(columns),
        comments="",
    )
    return content.getvalue().encode()


def _series(x_label: str, chart: Chart) -> tuple[dict[str, Any], ...]:
    return ({"label": x_label or TIME}, *(_line(curve) for curve in chart.curves))


def _line(curve: Curve) -> dict[str, Any]:
    points = {"show": curve.dots > 0.0, "size": curve.dots, "fill": curve.colour}
    look = {
        "label": curve.name,
        "stroke": curve.colour,
        "width": curve.width,
        "points": points,
        "pxAlign": False,
    }
    return {**look, "dash": (5.0, 4.0)} if curve.dashed else look


def _axes(x_label: str, chart: Chart) -> tuple[dict[str, Any], dict[str, Any]]:
    across = {**_AXIS, "label": x_label, "size": 24, "labelSize": 20 if x_label else 0}
    return across, {**_AXIS, "label": chart.label, "size": 46, "labelSize": 16}
