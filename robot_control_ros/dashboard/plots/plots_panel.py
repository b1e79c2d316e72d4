"""A panel of curves over the last seconds: chosen, paused, zoomed, and exported as files."""

from __future__ import annotations

import contextlib
import time
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np

from ...control.requests import Parameter
from ...core.errors import ConfigError
from ...core.types import Array, CommandMode
from ...laws import command_mode, law_class
from ...robot.model import JointLimits
from ..chart import TIME, Chart, add_plot, fill, png
from ..link import RobotLink
from ..page_thread import PageThread
from .charts import LOOP, OF_ONE_JOINT, QUANTITIES, Charts, record_csv
from .history import Blocks, History

PERIOD = 1.0 / 6.0  # s between two drawings
SPANS = {"10 s": 10.0, "30 s": 30.0, "60 s": 60.0}
DIAGNOSES = 1000  # samples of /diagnostics that are kept
SETTLING = 1.0  # s in which new plots are drawn even if paused
# s: data that come while uPlot changes its size leave it without axes, until a range changes
NUDGE = 1e-6
HEIGHT = 270  # px, of all charts together, without legends
# of uPlot's soft bounds, where the data don't reach them
NO_PAD = 1
KEEP_PAD = 2
PNG = "PNG"
CSV = "CSV"


@dataclass(frozen=True, eq=False)
class PlotData:
    """The law, its command's mode (None if unknown), and samples of ~/state and of
    /diagnostics at one moment.
    """

    law: str
    mode: CommandMode | None
    states: Sequence[Blocks]
    loop: Sequence[Blocks]


@dataclass(frozen=True, eq=False)
class DrawnPlots:
    """Plots of the panel: a quantity of the data, its record, and its charts with gaps.

    The record is of the chosen time.
    """

    data: PlotData
    quantity: str
    record: History
    charts: tuple[Chart, ...]


class PlotsPanel:
    """A switch, and the panel that it opens. While it is closed, only the loop's diagnostics are
    recorded.

    Attributes:
        panel: Panel of viser.
        drawn: Plots that are shown; None until the first drawing.
        paused: Data while the plots are paused, else None.
        plots: Charts of viser.
    """

    def __init__(self, gui: Any, link: RobotLink, thread: PageThread, limits: JointLimits) -> None:
        self._gui = gui
        self._link = link
        self._charts = Charts(link.robot, limits)
        self._law = ""
        self._mode: CommandMode | None = None
        self._parameters: object = None  # that the mode was found with
        self._begin = 0  # number of samples before those with commands of this mode
        self._loop: deque[Blocks] = deque(maxlen=DIAGNOSES)
        self._diagnosis: Mapping[str, str] = {}
        self.paused: PlotData | None = None
        self.drawn: DrawnPlots | None = None
        self.plots: list[Any] = []
        self._look: object = None  # of the plots
        self._due = 0.0
        self._built = 0.0
        self._nudge = 0.0
        self._open = gui.add_checkbox(
            "Plots", False, hint="Curves of the last minute, above the controls."
        )
        thread.connect(self._open, self._show)
        self.panel = gui.add_panel(visible=False)
        self._tab = self.panel.add_tab("Plots")
        with self._tab:
            self._curves = gui.add_folder(None)
            self._make_controls(gui, thread)
        # in their column, so that the arm keeps most of a small window
        self.panel.dock_above(gui.main_panel)

    def _make_controls(self, gui: Any, thread: PageThread) -> None:
        self._quantity = gui.add_dropdown("Quantity", QUANTITIES, hint="What is plotted.")
        self._joint = gui.add_dropdown(
            "Joint", self._charts.joints, hint="Of the upper plot.", visible=False
        )
        self._span = gui.add_dropdown(
            "Time", tuple(SPANS), hint="How far back; the newest sample is at 0 s."
        )
        for handle in (self._quantity, self._joint, self._span):
            thread.connect(handle, lambda value: self._redraw())
        hint = "The plots stand still. Drag over one to zoom in, double-click to zoom out."
        thread.connect(gui.add_checkbox("Pause plots", False, hint=hint), self._pause)
        hint = "Every sample of the chosen time: these plots, or a table of all values."
        thread.offer_file(
            gui.add_button_group("Export", (PNG, CSV), hint=hint),
            lambda kind, camera: self._make_file(kind),
        )

    # --- what arrives ---

    def draw(self) -> None:
        """Take what has arrived, and show it if the panel is open."""
        self._take_diagnosis()
        self._take_mode()
        now = time.monotonic()
        settled = now > self._built + SETTLING
        if self._open.value and now >= self._due and not (settled and self.paused is not None):
            self._due = now + PERIOD
            self._redraw()

    def _take_diagnosis(self) -> None:
        diagnosis = self._link.health().diagnosis
        if diagnosis and diagnosis is not self._diagnosis:
            self._diagnosis = diagnosis
            self._loop.append({"time": np.array([time.monotonic()]), **_numbers(diagnosis)})

    def _take_mode(self) -> None:
        """Take the mode of the law's commands; a command of another unit begins a new record."""
        law = self._link.law()
        parameters = self._link.parameters()
        before = self._mode
        if not law or (law == self._law and parameters is self._parameters):
            return
        self._mode = mode_of(law, parameters)
        if self._law and self._mode != before:
            self._begin = self._link.telemetry().samples
        self._law = law
        self._parameters = parameters

    def _data(self) -> PlotData:
        return PlotData(self._law, self._mode, self._link.recent(self._begin), tuple(self._loop))

    # --- what is shown ---

    def _show(self, shown: bool) -> None:
        self.panel.visible = shown
        if shown:
            self._redraw()
        else:
            self._build((), 0.0)

    def _pause(self, paused: bool) -> None:
        self.paused = self._data() if paused else None

    def _redraw(self) -> None:
        data = self.paused or self._data()
        quantity = self._quantity.value
        span = SPANS[self._span.value]
        record = History.last(data.loop if quantity == LOOP else data.states, span)
        self._nudge = NUDGE - self._nudge
        shown = record.with_gaps(span + self._nudge)
        charts = self._charts.of(quantity, self._joint.value, data.mode, shown)
        self._joint.visible = quantity in OF_ONE_JOINT
        self._build(charts, span)
        for plot, chart in zip(self.plots, charts, strict=True):
            fill(plot, chart)
        self.drawn = DrawnPlots(data, quantity, record, charts)

    def _build(self, charts: tuple[Chart, ...], span: float) -> None:
        """Make plots for these charts; plots of the same look stay, and stay zoomed."""
        look = [
            (chart.label, [(curve.name, curve.colour) for curve in chart.curves])
            for chart in charts
        ]
        if look == self._look:
            return
        self._look = look
        self._built = time.monotonic()
        for plot in self.plots:
            plot.remove()
        with self._curves:
            self.plots = [_add(self._gui, chart, HEIGHT // len(charts)) for chart in charts]

    # --- files ---

    def _make_file(self, kind: str) -> tuple[str, bytes]:
        """Name and content of a file that is exported."""
        drawn = self.drawn
        robot = self._link.robot
        if drawn is None or not len(drawn.record.t):
            raise ConfigError("there is nothing to export yet")
        law = drawn.data.law.rpartition(":")[2]
        quantity = drawn.quantity.lower()
        if kind == PNG:
            what = quantity
            content = png(drawn.charts, f"{robot.name}, {law}: {quantity}")
        else:
            what = quantity if drawn.quantity == LOOP else "state"
            content = record_csv(drawn.record, robot, drawn.data.mode)
        return f"{robot.name}_{law}_{what.replace(' ', '_')}.{kind.lower()}", content


def _numbers(diagnosis: Mapping[str, str]) -> dict[str, Array]:
    found = {}
    for name, value in diagnosis.items():
        with contextlib.suppress(ValueError):
            found[name] = np.array([float(value)])
    return found


def mode_of(law: str, parameters: Mapping[str, Parameter]) -> CommandMode | None:
    """The mode of the law's commands; None if only the controller knows the law."""
    try:
        return command_mode(
            law_class(law),
            SimpleNamespace(**{name: each.value for name, each in parameters.items()}),
        )
    except Exception:  # whatever a user's law raises here
        return None


def _add(gui: Any, chart: Chart, height: int) -> Any:
    """Add the plot of a chart, whose axis shows the chart's values at least.

    Its scale grows by a tenth beyond the values. A bound of 0 stays the end of the axis.
    """
    shows = chart.shows or (0.0, 0.0)
    low, high = (
        {"pad": 0.1, "soft": bound, "mode": KEEP_PAD if bound else NO_PAD} for bound in shows
    )
    scales = {"x": {"time": False}, "y": {"range": {"min": low, "max": high}}}
    return add_plot(gui, TIME, chart, scales=scales, height=height)
