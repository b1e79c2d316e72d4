"""A panel of curves over the last seconds: chosen, paused, zoomed, and exported as files."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import takewhile
from types import SimpleNamespace
from typing import Any

import numpy as np

from ...core.errors import ConfigError
from ...core.types import Array, CommandMode
from ...laws import command_mode, law_class
from ...robot.model import JointLimits
from ..chart import TIME, Chart, add_plot, fill, png
from ..link import Parameter, RobotLink
from ..page_thread import PageThread
from .charts import LOOP, OF_ONE_JOINT, QUANTITIES, Charts, record_csv
from .history import Record
from .thinning import chart_with_gaps, thin

PERIOD = 1.0 / 6.0  # s between two drawings
SPANS = {"10 s": 10.0, "30 s": 30.0, "60 s": 60.0}
LONGEST = max(SPANS.values())
SETTLING = 1.0  # s in which new plots are drawn even if paused
NUDGE = 1e-6  # s: data that come while uPlot changes its size leave it without axes, until a range changes
WIDTH = 400  # px
HEIGHT = 380  # px, of all charts together, without legends
NO_PAD, KEEP_PAD = 1, 2  # of uPlot's soft bounds, where the data don't reach them
PNG, CSV = "PNG", "CSV"


@dataclass(frozen=True, eq=False)
class PlotData:
    """The law, its command's mode (None if unknown), and records of ~/state and of /diagnostics at one moment."""

    law: str
    mode: CommandMode | None
    states: Record
    loop: Record


@dataclass(frozen=True, eq=False)
class DrawnPlots:
    """What the panel shows: a quantity of the data, as a record of the chosen time, and its charts."""

    data: PlotData
    quantity: str
    record: Record
    charts: tuple[Chart, ...]


class PlotsPanel:
    """A switch, and the panel that it opens. While it is closed, only the loop's diagnostics are recorded.

    Attributes:
        panel: of viser.
        drawn: what is shown; None until the first drawing.
        paused: the data while the plots are paused, else None.
        plots: charts of viser.
    """

    def __init__(self, gui: Any, link: RobotLink, thread: PageThread, limits: JointLimits) -> None:
        self._gui, self._link, self._thread = gui, link, thread
        self._charts = Charts(link.robot, limits)
        self._data = PlotData("", None, Record(), Record())
        self._newest: Any = None  # state that was taken
        self._diagnosis: Mapping[str, str] = {}
        self._parameters: object = None  # that the mode was found with
        self.paused: PlotData | None = None
        self.drawn: DrawnPlots | None = None
        self.plots: list[Any] = []
        self._look: object = None  # of the plots
        self._due = self._built = self._nudge = 0.0
        self._open = gui.add_checkbox("Plots", False, hint="Curves of the last minute, in a panel at the left.")
        thread.connect(self._open, self._show)
        self.panel = gui.add_panel(visible=False)
        self._tab = self.panel.add_tab("Plots")
        with self._tab:
            self._make_controls(gui, thread)
        self.panel.dock_left()
        self.panel.set_width(WIDTH)

    def _make_controls(self, gui: Any, thread: PageThread) -> None:
        self._quantity = gui.add_dropdown("Quantity", QUANTITIES, hint="What is plotted.")
        self._joint = gui.add_dropdown("Joint", self._charts.joints, hint="Of the upper plot.", visible=False)
        self._span = gui.add_dropdown("Time", tuple(SPANS), hint="How far back; the newest sample is at 0 s.")
        for handle in (self._quantity, self._joint, self._span):
            thread.connect(handle, lambda value: self._redraw())
        hint = "The plots stand still. Drag over one to zoom in, double-click to zoom out."
        thread.connect(gui.add_checkbox("Pause plots", False, hint=hint), self._pause)
        hint = "Every sample of the chosen time: these plots, or a table of all values."
        files = gui.add_button_group("Export", (PNG, CSV), hint=hint)
        files.on_click(self._export)

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
            sample = time.monotonic(), _numbers(diagnosis)
            self._change(loop=self._data.loop.extended([sample]).last(LONGEST))

    def _take_mode(self) -> None:
        """A command of another unit begins a new record."""
        law, parameters, data = self._link.law(), self._link.parameters(), self._data
        if not law or (law == data.law and parameters is self._parameters):
            return
        self._parameters, mode = parameters, _mode(law, parameters)
        self._change(law=law, mode=mode)
        if data.law and data.mode != mode:
            self._newest = next(reversed(self._link.recent(0)), None)
            self._change(states=Record())

    def _take_states(self) -> None:
        new = list(takewhile(lambda blocks: blocks is not self._newest, reversed(self._link.recent(0))))
        if new:
            self._newest = new[0]
            samples = ((float(blocks["time"][0]), blocks) for blocks in reversed(new))
            self._change(states=self._data.states.extended(samples).last(LONGEST))

    def _change(self, **changes: Any) -> None:
        self._data = replace(self._data, **changes)

    # --- what is shown ---

    def _show(self, shown: bool) -> None:
        self.panel.visible = shown
        if shown:
            self._redraw()
        else:
            self._build((), 0.0)

    def _pause(self, paused: bool) -> None:
        self._take_states()
        self.paused = self._data if paused else None

    def _redraw(self) -> None:
        self._take_states()
        data, quantity, span = self.paused or self._data, self._quantity.value, SPANS[self._span.value]
        record = (data.loop if quantity == LOOP else data.states).last(span)
        charts = self._charts.of(quantity, self._joint.value, data.mode, record)
        self._joint.visible = quantity in OF_ONE_JOINT
        self._build(charts, span)
        self._nudge = NUDGE - self._nudge
        for plot, chart in zip(self.plots, charts, strict=True):
            t, values = thin(chart.x, chart.values, span)
            t[0] -= self._nudge
            fill(plot, t, *values.T)
        self.drawn = DrawnPlots(data, quantity, record, charts)

    def _build(self, charts: tuple[Chart, ...], span: float) -> None:
        """Make plots for these charts; plots of the same look stay, and stay zoomed."""
        look = [(chart.label, [(curve.name, curve.colour) for curve in chart.curves]) for chart in charts]
        if look == self._look:
            return
        self._look, self._built = look, time.monotonic()
        for plot in self.plots:
            plot.remove()
        with self._tab:
            self.plots = [_add(self._gui, chart, HEIGHT // len(charts)) for chart in charts]

    # --- files ---

    async def _export(self, event: Any) -> None:
        """Runs in viser's own thread, before the button's value changes again; the work is done in another thread."""
        threading.Thread(target=self._send_file, args=(event.client, event.target.value), daemon=True).start()

    def _send_file(self, client: Any, kind: str) -> None:
        drawn, robot = self.drawn, self._link.robot
        if drawn is None or not len(drawn.record.t):
            self._thread.refuse("there is nothing to export yet")
            return
        law, quantity = drawn.data.law.rpartition(":")[2], drawn.quantity.lower()
        try:
            if kind == PNG:
                content = png([chart_with_gaps(chart) for chart in drawn.charts], f"{robot.name}, {law}: {quantity}")
            else:
                content = record_csv(drawn.record, robot, drawn.data.mode)
        except ConfigError as error:
            self._thread.refuse(str(error))
            return
        what = quantity.replace(" ", "_") if kind == PNG or drawn.quantity == LOOP else "state"
        client.send_file_download(f"{robot.name}_{law}_{what}.{kind.lower()}", content, save_immediately=True)


def _numbers(diagnosis: Mapping[str, str]) -> dict[str, Array]:
    found = {}
    for name, value in diagnosis.items():
        with contextlib.suppress(ValueError):
            found[name] = np.array([float(value)])
    return found


def _mode(law: str, parameters: Mapping[str, Parameter]) -> CommandMode | None:
    """The mode of the law's commands; None if only the controller knows the law."""
    try:
        return command_mode(law_class(law), SimpleNamespace(**{name: each.value for name, each in parameters.items()}))
    except Exception:  # whatever a user's law raises here
        return None


def _add(gui: Any, chart: Chart, height: int) -> Any:
    shows = chart.shows or (0.0, 0.0)
    low, high = ({"pad": 0.1, "soft": bound, "mode": KEEP_PAD if bound else NO_PAD} for bound in shows)
    scales = {"x": {"time": False}, "y": {"range": {"min": low, "max": high}}}
    return add_plot(gui, TIME, chart, scales=scales, height=height)
