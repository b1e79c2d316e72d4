"""A panel in which a step or chirp of force is tried, and shown against the ideal."""

from __future__ import annotations

import html
import math
import time
from typing import Any

import numpy as np

from ...core.errors import ConfigError
from ...core.gains import AXES
from ...core.types import Array
from ...robot.model import RobotModel
from ..colours import AMBER, GREY, RED
from ..link import RobotLink
from ..turns import PERIOD as DRAWING
from ..turns import Turns
from ..uplot import AXIS, DASH, fill
from .evaluation import FrequencyResult, Result, StepResult, degrees, table
from .experiment import BASELINE, Experiment
from .plan import BAND, MAX_FORCE, MAX_TORQUE, Expectation, Plan, expect

WIDTH = 300  # px: beside the other panels there is still room for STOP
STEP_HEIGHT, BODE_HEIGHT = 220, 145  # px
MEASURED, IDEAL = "#1c7ed6", "#e8590c"
STEP, CHIRP = "Step", "Chirp"
RUN, ABORT = "Run", "Abort"
PERIOD = 0.5  # s between two looks at what would come of it
FORCE, TORQUE = 10.0, 1.0  # N, N·m, to begin with


class ResponsePanel:
    """A switch, and the panel that it opens.

    Args:
        gui: of viser; the switch goes where it now puts things.
        link: of the robot.
        turns: of the page.
        model: of the robot; used in the page's thread only.
    """

    def __init__(self, gui: Any, link: RobotLink, turns: Turns, model: RobotModel) -> None:
        self._link, self._model = link, model
        self._experiment: Experiment | None = None
        self._result: tuple[Plan, Result] | None = None
        self._expected: object = None
        self._due = 0.0  # when to look again at what would come of it, and of what it was said
        self._open = gui.add_checkbox(
            "Step and chirp", False, hint="Try how the tip answers a force, against the ideal, in a panel at the left."
        )
        self._open.on_update(turns.callback(self._show))
        self._panel = gui.add_panel(visible=False)
        with self._panel.add_tab("Step and chirp"):
            self._make_controls(gui, turns)
            self._make_plots(gui)
        self._panel.dock_left()
        self._panel.set_width(WIDTH)

    def _make_controls(self, gui: Any, turns: Turns) -> None:
        axes = [name for name, movable in zip(AXES, self._link.robot.axes, strict=True) if movable]
        self._axis = gui.add_dropdown(
            "Axis", axes, hint="Of the base, at the tip: x, y, z pushed along; rx, ry, rz turned about."
        )
        low, high = BAND
        self._kind = gui.add_dropdown(
            "Excitation",
            (STEP, CHIRP),
            hint=f"Step: a force that comes at once and stays. Chirp: a sine from {low:g} to {high:g} Hz.",
        )
        hint = "Exerted by the controller itself (~/target_wrench), by impedance and admittance; zero afterwards."
        self._force = gui.add_slider("Force [N]", 1.0, MAX_FORCE, 1.0, FORCE, hint=hint)
        self._torque = gui.add_slider("Torque [N·m]", 0.1, MAX_TORQUE, 0.1, TORQUE, hint=hint)
        self._buttons = gui.add_button_group(
            "Test", (RUN, ABORT), hint="A run can be ended at any time; STOP does, too."
        )
        self._buttons.on_click(turns.callback(self._click))
        self._note = gui.add_html("")
        for handle in (self._axis, self._kind, self._force, self._torque):
            handle.on_update(turns.callback(self._expect))

    def _make_plots(self, gui: Any) -> None:
        self._plots = {
            "step": _plot(gui, "time [s]", "", False, STEP_HEIGHT),
            "gain": _plot(gui, "", "", True, BODE_HEIGHT),
            "phase": _plot(gui, "frequency [Hz]", "phase [°]", True, BODE_HEIGHT),
        }
        self._figures = gui.add_html("")
        self._export = gui.add_button("Export CSV", hint="What the plots show, in SI units.", visible=False)
        self._export.on_click(self._save)

    def close(self) -> None:
        """End what runs, and wait until its zeros are sent; only when nobody draws any more."""
        experiment = self._experiment
        if experiment is not None:
            experiment.abort("the page was closed", time.monotonic())
            while experiment.running:
                experiment.draw(time.monotonic())
                time.sleep(DRAWING)

    # --- the run ---

    def draw(self) -> None:
        """Go on with what runs."""
        now, experiment = time.monotonic(), self._experiment
        if experiment is not None:
            experiment.draw(now)
            if experiment.running:
                self._say(f"running: {100 * experiment.progress:.0f} %", GREY)
            else:
                self._experiment = None
                self._conclude(experiment)
        elif self._open.value and now >= self._due and self._known() != self._expected:
            self._expect()

    def _known(self) -> object:
        """What the expectation depends on."""
        q = self._link.telemetry().blocks.get("position")
        return (
            self._link.law(),
            tuple(parameter.value for parameter in self._link.parameters().values()),
            None if q is None else tuple(np.round(q, 1)),
        )

    def _plan(self) -> Plan:
        axis = AXES.index(self._axis.value)
        size = self._force if axis < 3 else self._torque
        return Plan(axis, self._kind.value == CHIRP, size.value)

    def _click(self) -> None:
        now = time.monotonic()
        if self._buttons.value == ABORT:
            if self._experiment is not None:
                self._experiment.abort("as you wished", now)
        elif self._experiment is None:
            try:
                self._experiment = Experiment(self._link, self._model, self._plan(), now)
            except ConfigError as error:
                self._say(f"refused: {error}", RED)
                self._due = now + 8.0 * PERIOD

    def _conclude(self, experiment: Experiment) -> None:
        self._due = time.monotonic() + 8.0 * PERIOD
        if experiment.result is None:
            self._say(f"ended early: {experiment.problem}; the force is zero again", AMBER)
            return
        self._result = experiment.plan, experiment.result
        self._draw_result(*self._result)
        self._say(experiment.result.words, GREY)

    def _expect(self) -> None:
        """Say what would come of it, unless something runs."""
        if self._experiment is not None:
            return
        self._due, self._expected = time.monotonic() + PERIOD, self._known()
        plan = self._plan()
        for handle, there in ((self._force, plan.axis < 3), (self._torque, plan.axis >= 3)):
            if handle.visible != there:
                handle.visible = there
        try:
            self._say(_promise(plan, expect(self._link, self._model, plan)), GREY)
        except ConfigError as error:
            self._say(str(error), AMBER)

    def _say(self, message: str, colour: str) -> None:
        content = (
            f'<div style="color:{colour};font-size:0.85em;line-height:1.4;padding:0 0.9em">{html.escape(message)}</div>'
        )
        if content != self._note.content:
            self._note.content = content

    # --- what came of it ---

    def _show(self) -> None:
        if self._panel.visible != self._open.value:
            self._panel.visible = self._open.value

    def _draw_result(self, plan: Plan, result: Result) -> None:
        name, turned = AXES[plan.axis], plan.axis >= 3
        scale, unit = (math.degrees(1.0), "°") if turned else (1e3, "mm")
        per = f"{unit}/(N·m)" if turned else f"{unit}/N"
        if isinstance(result, StepResult):
            size = f"{plan.size:g} {'N·m' if turned else 'N'}"
            _draw(
                self._plots["step"],
                f"{name} after {size} [{unit}]",
                result.times,
                scale * result.measured,
                scale * result.ideal,
            )
            rows = _step_rows(result, scale, unit)
        else:
            gains = (scale * np.abs(curve) for curve in (result.measured, result.ideal))
            _draw(self._plots["gain"], f"gain of {name} [{per}]", result.frequencies, *gains)
            _draw(
                self._plots["phase"], "phase [°]", result.frequencies, degrees(result.measured), degrees(result.ideal)
            )
            rows = _frequency_rows(result, scale, per)
        for key, plot in self._plots.items():
            plot.visible = (key == "step") == isinstance(result, StepResult)
        self._figures.content = _table(rows)
        self._export.visible = True

    def _save(self, event: Any) -> None:
        if self._result is not None:
            plan, result = self._result
            kind = "step" if isinstance(result, StepResult) else "chirp"
            name = f"{self._link.robot.name}_{kind}_{AXES[plan.axis]}.csv"
            event.client.send_file_download(name, table(result).encode(), save_immediately=True)


def _promise(plan: Plan, expectation: Expectation) -> str:
    ideal, (lasts, decay) = expectation.ideal, expectation.lasts
    scale, unit, mass = (1e3, "mm", "kg") if plan.axis < 3 else (math.degrees(1.0), "°", "kg·m²")
    spring = f"{1.0 / ideal.compliance:.4g} {'N/m' if plan.axis < 3 else 'N·m/rad'}"
    return (
        f"The ideal moves by {scale * expectation.largest:.3g} {unit}, as a spring of {spring} and, at first, "
        f"{1.0 / ideal.mobility:.3g} {mass}. Takes {BASELINE + lasts + decay:.0f} s."
    )


def _step_rows(result: StepResult, scale: float, unit: str) -> list[tuple[str, float, float, str]]:
    a, b = result.measured_figures, result.ideal_figures
    return [
        (f"final [{unit}]", scale * a.final, scale * b.final, ".2f"),
        ("rise 10-90 % [s]", a.rise, b.rise, ".3f"),
        ("overshoot [%]", a.overshoot, b.overshoot, ".1f"),
        ("settling to 5 % [s]", a.settling_5, b.settling_5, ".3f"),
        ("settling to 2 % [s]", a.settling_2, b.settling_2, ".3f"),
    ]


def _frequency_rows(result: FrequencyResult, scale: float, per: str) -> list[tuple[str, float, float, str]]:
    a, b = result.measured_figures, result.ideal_figures
    return [
        (f"gain at {result.frequencies[0]:.2g} Hz [{per}]", scale * a.static, scale * b.static, ".3f"),
        ("resonance [times that]", a.resonance, b.resonance, ".2f"),
        ("bandwidth, -3 dB [Hz]", a.bandwidth, b.bandwidth, ".2f"),
        ("phase -90° at [Hz]", a.quarter, b.quarter, ".2f"),
    ]


def _table(rows: list[tuple[str, float, float, str]]) -> str:
    right = 'style="text-align:right;padding-left:1em"'
    head = f'<tr><td></td><td {right}><b style="color:{MEASURED}">measured</b></td>'
    head += f'<td {right}><b style="color:{IDEAL}">ideal</b></td></tr>'
    lines = [
        f"<tr><td>{html.escape(name)}</td><td {right}>{_number(a, form)}</td><td {right}>{_number(b, form)}</td></tr>"
        for name, a, b, form in rows
    ]
    return f'<table style="font-size:0.85em;line-height:1.5;margin:0 0.9em">{head}{"".join(lines)}</table>'


def _number(value: float, form: str) -> str:
    return format(value, form) if math.isfinite(value) else "-"


def _plot(gui: Any, across: str, up: str, logarithmic: bool, height: int) -> Any:
    points = {"show": logarithmic, "size": 4}
    return gui.add_uplot(
        (np.zeros(2), np.zeros(2), np.zeros(2)),
        (
            {"label": across},
            {"label": "measured", "stroke": MEASURED, "width": 2.0, "points": points},
            {"label": "ideal", "stroke": IDEAL, "width": 1.5, "dash": DASH, "points": {"show": False}},
        ),
        scales={"x": {"time": False, "distr": 3 if logarithmic else 1}, "y": {}},
        legend={"show": bool(across)},
        axes=(
            {**AXIS, "label": across, "size": 24, "labelSize": 18 if across else 0},
            {**AXIS, "label": up, "size": 46, "labelSize": 16},
        ),
        cursor={"drag": {"x": True, "y": False}},
        height=height,
        padding=(8, 12, 0, 0),
        visible=False,
    )


def _draw(plot: Any, up: str, x: Array, measured: Array, ideal: Array) -> None:
    """Show curves, with this label up the side."""
    across, along = plot.axes
    if along["label"] != up:
        plot.axes = (across, {**along, "label": up})
    fill(plot, x, measured, ideal)
