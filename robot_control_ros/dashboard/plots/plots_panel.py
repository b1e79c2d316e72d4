"""A panel of curves over the last seconds: chosen, paused, zoomed, and given away as files."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np

from ...core.errors import ConfigError
from ...core.types import Array, CommandMode
from ...laws import command_mode, law_class
from ...robot.model import JointLimits
from ..link import Parameter, RobotLink
from ..turns import Turns
from ..uplot import AXIS, DASH, fill
from . import export
from .charts import LOOP, OF_ONE_JOINT, QUANTITIES, Chart, Charts
from .history import History, Record
from .thinning import thin

PERIOD = 1.0 / 6.0  # s between two drawings
SPANS = {"10 s": 10.0, "30 s": 30.0, "60 s": 60.0}
SETTLING = 1.0  # s in which new plots are drawn even if paused
NUDGE = 1e-6  # s: data that come while uPlot changes its size leave it without axes, until a range changes
WIDTH = 400  # px
HEIGHT = 380  # px, of all charts together, without legends
NO_PAD, KEEP_PAD = 1, 2  # of uPlot's soft bounds, where the data don't reach them
PNG, CSV = "PNG", "CSV"


@dataclass(frozen=True, eq=False)
class Known:
    """What is known at one moment: the law, what it commands, and records of ~/state and of /diagnostics."""

    law: str
    mode: CommandMode | None
    states: Record
    loop: Record


@dataclass(frozen=True, eq=False)
class Drawn:
    """What the panel shows."""

    known: Known
    quantity: str
    record: Record
    charts: tuple[Chart, ...]


class Plots:
    """A switch, and the panel that it opens. While it is closed, only the loop's diagnoses are gathered.

    Args:
        gui: of viser; the switch goes where it now puts things.
        link: of the robot.
        turns: of the page.
        refuse: called with the message of what this page refuses itself.
        limits: of the robot's joints.
    """

    def __init__(self, gui: Any, link: RobotLink, turns: Turns, refuse: Any, limits: JointLimits) -> None:
        self._gui, self._link, self._refuse = gui, link, refuse
        self._charts = Charts(link.robot, limits)
        self._states, self._loop = (History(max(SPANS.values())) for _ in range(2))
        self._newest: Any = None  # state that was taken
        self._diagnosis: Mapping[str, str] = {}
        self._law, self._parameters = "", link.parameters()
        self._mode: CommandMode | None = None
        self._paused_at: Known | None = None
        self._drawn: Drawn | None = None
        self._plots: list[Any] = []
        self._look: object = None  # of the plots
        self._due = self._built = self._nudge = 0.0
        self._open = gui.add_checkbox("Plots", False, hint="Curves of the last minute, in a panel at the left.")
        self._open.on_update(turns.callback(self._show))
        self._panel = gui.add_panel(visible=False)
        self._tab = self._panel.add_tab("Plots")
        with self._tab:
            self._make_controls(gui, turns)
        self._panel.dock_left()
        self._panel.set_width(WIDTH)

    def _make_controls(self, gui: Any, turns: Turns) -> None:
        self._quantity = gui.add_dropdown("Quantity", QUANTITIES, hint="What is plotted.")
        self._joint = gui.add_dropdown("Joint", self._charts.joints, hint="Of the upper plot.", visible=False)
        self._span = gui.add_dropdown("Time", tuple(SPANS), hint="How far back; at 0 s is the newest sample.")
        for handle in (self._quantity, self._joint, self._span):
            handle.on_update(turns.callback(self._redraw))
        self._paused = gui.add_checkbox(
            "Pause plots", False, hint="They stand still. Drag over one to zoom in, double-click to zoom out."
        )
        self._paused.on_update(turns.callback(self._pause))
        files = gui.add_button_group(
            "Export", (PNG, CSV), hint="Every sample of the time chosen: these plots, or a table of all there is."
        )
        files.on_click(self._export)

    # --- what has come ---

    def draw(self) -> None:
        """Take what has come, and show it where somebody wants to see it."""
        self._take_diagnosis()
        self._learn_mode()
        now = time.monotonic()
        settled = now > self._built + SETTLING
        if self._open.value and now >= self._due and not (settled and self._paused_at is not None):
            self._due = now + PERIOD
            self._redraw()

    def _take_diagnosis(self) -> None:
        diagnosis = self._link.health().diagnosis
        if diagnosis and diagnosis is not self._diagnosis:
            self._diagnosis = diagnosis
            self._loop.add(time.monotonic(), _numbers(diagnosis))

    def _learn_mode(self) -> None:
        """A command of another unit begins a new history."""
        law, parameters = self._link.law(), self._link.parameters()
        if not law or (law == self._law and parameters is self._parameters):
            return
        before = self._law, self._mode
        self._law, self._parameters, self._mode = law, parameters, _mode(law, parameters)
        if before[0] and before[1] != self._mode:
            self._states.clear()
            self._newest = next(reversed(self._link.recent(0)), None)

    def _take_states(self) -> None:
        new: list[Any] = []
        for blocks in reversed(self._link.recent(0)):
            if blocks is self._newest:
                break
            new.append(blocks)
        for blocks in reversed(new):
            self._states.add(float(blocks["time"][0]), blocks)
            self._newest = blocks

    def _known(self) -> Known:
        self._take_states()
        return Known(self._law, self._mode, self._states.record(), self._loop.record())

    # --- what is shown ---

    def _show(self) -> None:
        if self._panel.visible != self._open.value:
            self._panel.visible = self._open.value
        if self._open.value:
            self._redraw()
        else:
            self._build((), 0.0)

    def _pause(self) -> None:
        self._paused_at = self._known() if self._paused.value else None

    def _redraw(self) -> None:
        known, quantity = self._paused_at or self._known(), self._quantity.value
        span = SPANS[self._span.value]
        record = (known.loop if quantity == LOOP else known.states).last(span)
        charts = self._charts.of(quantity, self._joint.value, known.mode, record)
        if self._joint.visible != (quantity in OF_ONE_JOINT):
            self._joint.visible = quantity in OF_ONE_JOINT
        self._build(charts, span)
        self._nudge = NUDGE - self._nudge
        for plot, chart in zip(self._plots, charts, strict=True):
            t, values = thin(chart.t, chart.values, span)
            t[0] -= self._nudge
            fill(plot, t, *values.T)
        self._drawn = Drawn(known, quantity, record, charts)

    def _build(self, charts: tuple[Chart, ...], span: float) -> None:
        """Plots for these; those that are there stay, and remain zoomed, where they are alike."""
        look = [(chart.label, [(curve.name, curve.colour) for curve in chart.curves]) for chart in charts]
        if look == self._look:
            return
        self._look, self._built = look, time.monotonic()
        for plot in self._plots:
            plot.remove()
        with self._tab:
            self._plots = [_add(self._gui, chart, span, HEIGHT // len(charts)) for chart in charts]

    # --- files ---

    async def _export(self, event: Any) -> None:
        """In viser's own thread, where the button's value is still the one that was clicked; the work in another."""
        threading.Thread(target=self._give, args=(event.client, event.target.value), daemon=True).start()

    def _give(self, client: Any, kind: str) -> None:
        drawn, robot = self._drawn, self._link.robot
        if drawn is None or not len(drawn.record.t):
            self._refuse("there is nothing to export yet")
            return
        law, quantity = drawn.known.law.rpartition(":")[2], drawn.quantity.lower()
        try:
            if kind == PNG:
                content = export.png(drawn.charts, f"{robot.name}, {law}: {quantity}")
            else:
                content = export.csv(drawn.record, robot, drawn.known.mode)
        except ConfigError as error:
            self._refuse(str(error))
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
    """What the law commands; None where only the controller knows."""
    try:
        return command_mode(law_class(law), SimpleNamespace(**{name: each.value for name, each in parameters.items()}))
    except Exception:  # another's law, whatever it does here
        return None


def _add(gui: Any, chart: Chart, span: float, height: int) -> Any:
    series: list[dict[str, Any]] = [{"label": "time [s]"}]
    for curve in chart.curves:
        look = {"stroke": curve.colour, "width": curve.width, "points": {"show": False}, "pxAlign": False}
        series.append({"label": curve.name, **look, **({"dash": DASH} if curve.dashed else {})})
    low, high = ({"pad": 0.1, "soft": bound, "mode": KEEP_PAD if bound else NO_PAD} for bound in chart.shows)
    return gui.add_uplot(
        (np.array([-span, 0.0]), *(np.full(2, np.nan) for _ in chart.curves)),
        tuple(series),
        scales={"x": {"time": False}, "y": {"range": {"min": low, "max": high}}},
        axes=(
            {**AXIS, "label": "time [s]", "size": 22, "labelSize": 26},
            {**AXIS, "label": chart.label, "size": 46, "labelSize": 16},
        ),
        height=height,
        padding=(8, 12, 0, 0),
    )
