"""A panel that tries a step or chirp of force, and shows the response beside the ideal."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from typing import Any

import numpy as np

from ...core.errors import ConfigError
from ...core.gains import AXES
from ...core.types import Array
from ...robot.model import RobotModel
from ..availability import Availability
from ..chart import TIME, Chart, Curve, add_plot, show
from ..link import RobotLink
from ..markup import block, legend, note, table
from ..page_thread import PERIOD as DRAWING
from ..page_thread import PageThread
from ..theme import AMBER, GREY, IDEAL, MEASURED, RED
from .evaluation import ResponseResult, degrees, result_csv
from .experiment import BASELINE, Experiment
from .plan import ANGULAR, BAND, LINEAR, Expectation, Plan, expect

# px
STEP_HEIGHT = 220
BODE_HEIGHT = 145
STEP = "Step"
CHIRP = "Chirp"
RUN = "Run"
ABORT = "Abort"
PERIOD = 0.5  # s between two expectations
SHOWN = 8.0 * PERIOD  # s that a message stays before the next expectation
# N, N·m, to begin with
FORCE = 10.0
TORQUE = 1.0
STEP_FIGURES = (  # label, name, format; the first is scaled to the shown unit
    ("final [{unit}]", "final", ".2f"),
    ("rise 10-90 % [s]", "rise", ".3f"),
    ("overshoot [%]", "overshoot", ".1f"),
    ("settling to 5 % [s]", "settling_5", ".3f"),
    ("settling to 2 % [s]", "settling_2", ".3f"),
)
FREQUENCY_FIGURES = (
    ("gain at {lowest:.2g} Hz [{unit}]", "static", ".3f"),
    ("peak gain, relative", "resonance", ".2f"),
    ("-3 dB at [Hz]", "bandwidth", ".2f"),
    ("-90° at [Hz]", "quarter", ".2f"),
)


class ResponsePanel:
    """A switch, and the panel that it opens. It uses the model in the page's thread only.

    Attributes:
        panel: Panel of viser.
        plots: Charts of viser: step, gain and phase.
        available: Availability of the buttons, see :class:`~..availability.Availability`.
    """

    def __init__(self, gui: Any, link: RobotLink, thread: PageThread, model: RobotModel) -> None:
        self._link = link
        self._model = model
        self._experiment: Experiment | None = None
        self._result: tuple[Plan, ResponseResult] | None = None
        self._due = 0.0  # time of the next expectation
        hint = (
            "Measure how the tip answers a force, and compare with the ideal, above the controls."
        )
        self._open = gui.add_checkbox("Step and chirp", False, hint=hint)
        thread.connect(self._open, lambda shown: setattr(self.panel, "visible", shown))
        self.panel = gui.add_panel(visible=False)
        with self.panel.add_tab("Step and chirp"):
            self._make_controls(gui, thread)
            self._make_plots(gui, thread)
        # in their column, so that the arm keeps most of a small window
        self.panel.dock_above(gui.main_panel)

    def _make_controls(self, gui: Any, thread: PageThread) -> None:
        movable = [
            name for name, can_move in zip(AXES, self._link.robot.axes, strict=True) if can_move
        ]
        hint = "Of the base, at the tip: x, y, z for forces along them, rx, ry, rz for torques about them."
        self._axis = gui.add_dropdown("Axis", movable, hint=hint)
        hint = f"Step: a force that begins at once and stays. Chirp: a sine from {BAND[0]:g} to {BAND[1]:g} Hz."
        self._excitation = gui.add_dropdown("Excitation", (STEP, CHIRP), hint=hint)
        hint = "The controller exerts it (~/target_wrench), under impedance and admittance; zero afterwards."
        self._force = gui.add_slider("Force [N]", 1.0, LINEAR.max_force, 1.0, FORCE, hint=hint)
        self._torque = gui.add_slider(
            "Torque [N·m]", 0.1, ANGULAR.max_force, 0.1, TORQUE, hint=hint
        )
        for handle in (self._axis, self._excitation, self._force, self._torque):
            thread.connect(handle, lambda value: self._expect())
        hint = "A run can be ended at any time, also by STOP."
        test = thread.connect(gui.add_button_group("Test", (RUN, ABORT), hint=hint), self._click)
        self.available = Availability(test)
        self._note = gui.add_html("")

    def _make_plots(self, gui: Any, thread: PageThread) -> None:
        def add(below: str, label: str, height: int, logarithmic: bool) -> Any:
            scales = {"x": {"time": False, "distr": 3 if logarithmic else 1}, "y": {}}
            more = {
                "legend": {"show": bool(below)},
                "cursor": {"drag": {"x": True, "y": False}},
                "visible": False,
            }
            chart = _chart(
                label, np.zeros(2), [np.zeros(2), np.zeros(2)], 4.0 if logarithmic else 0.0
            )
            return add_plot(gui, below, chart, scales=scales, height=height, **more)

        self.plots = {
            "step": add(TIME, "", STEP_HEIGHT, False),
            "gain": add("", "", BODE_HEIGHT, True),
            "phase": add("frequency [Hz]", "phase [°]", BODE_HEIGHT, True),
        }
        self._figures = gui.add_html("")
        self._export = gui.add_button(
            "Export CSV", hint="The curves of the plots, in SI units.", visible=False
        )
        thread.offer_file(self._export, lambda clicked, camera: self._make_file())

    def close(self) -> None:
        """End a run, and wait until its zeros are sent; to be called after the last drawing."""
        experiment = self._experiment
        if experiment is not None:
            experiment.abort("the page was closed", time.monotonic())
            while experiment.running:
                experiment.draw(time.monotonic())
                time.sleep(DRAWING)

    # --- the run ---

    def draw(self) -> None:
        """Continue a run."""
        now = time.monotonic()
        experiment = self._experiment
        if experiment is not None:
            experiment.draw(now)
            if experiment.running:
                self._show(f"running: {100 * experiment.progress:.0f} %", GREY)
            else:
                self._experiment = None
                self._conclude(experiment)
        elif self._open.value and now >= self._due:
            self._expect()

    def _plan(self) -> Plan:
        axis = AXES.index(self._axis.value)
        return Plan(
            axis, self._excitation.value == CHIRP, (self._force if axis < 3 else self._torque).value
        )

    def _click(self, button: str) -> None:
        now = time.monotonic()
        if button == ABORT:
            if self._experiment is not None:
                self._experiment.abort("by the Abort button", now)
        elif self._experiment is None:
            try:
                self._experiment = Experiment(self._link, self._model, self._plan(), now)
            except ConfigError as error:
                self._show(f"refused: {error}", RED)
                self._due = now + SHOWN

    def _conclude(self, experiment: Experiment) -> None:
        self._due = time.monotonic() + SHOWN
        if experiment.result is None:
            self._show(f"ended early: {experiment.problem}; the force is zero again", AMBER)
            return
        self._result = experiment.plan, experiment.result
        self._draw_result(*self._result)
        self._show(experiment.result.message, GREY)

    def _expect(self) -> None:
        """Show what the ideal would do, unless a run goes on."""
        if self._experiment is not None:
            return
        self._due = time.monotonic() + PERIOD
        plan = self._plan()
        self._force.visible = plan.kind is LINEAR
        self._torque.visible = plan.kind is ANGULAR
        try:
            self._show(_describe(plan, expect(self._link, self._model, plan)), GREY)
        except ConfigError as error:
            self._show(str(error), AMBER)

    def _show(self, message: str, colour: str) -> None:
        self._note.content = note(message, colour)

    # --- the result ---

    def _draw_result(self, plan: Plan, result: ResponseResult) -> None:
        kind = plan.kind
        x = result.x
        curves = (result.measured, result.ideal)
        unit = kind.shown_unit
        if plan.chirp:
            per = f"({kind.force_unit})" if "·" in kind.force_unit else kind.force_unit
            unit = f"{unit}/{per}"
            gains = [kind.scale * np.abs(curve) for curve in curves]
            show(self.plots["gain"], _chart(f"gain of {plan.name} [{unit}]", x, gains, 4.0))
            show(
                self.plots["phase"],
                _chart("phase [°]", x, [degrees(curve) for curve in curves], 4.0),
            )
        else:
            label = f"{plan.name} after {plan.size:g} {kind.force_unit} [{unit}]"
            show(self.plots["step"], _chart(label, x, [kind.scale * curve for curve in curves]))
        for key, plot in self.plots.items():
            plot.visible = (key == "step") != plan.chirp
        rows = [("", legend("measured", MEASURED), legend("ideal", IDEAL))]
        for label, name, form in FREQUENCY_FIGURES if plan.chirp else STEP_FIGURES:
            scale = kind.scale if "{unit}" in label else 1.0
            values = (
                scale * getattr(each, name)
                for each in (result.measured_figures, result.ideal_figures)
            )
            measured, ideal = (
                format(value, form) if math.isfinite(value) else "-" for value in values
            )
            rows.append((label.format(unit=unit, lowest=x[0]), measured, ideal))
        self._figures.content = block(table(rows))
        self._export.visible = True

    def _make_file(self) -> tuple[str, bytes]:
        assert self._result is not None
        plan, result = self._result
        name = f"{self._link.robot.name}_{'chirp' if plan.chirp else 'step'}_{plan.name}.csv"
        return name, result_csv(result)


def _describe(plan: Plan, expectation: Expectation) -> str:
    ideal = expectation.ideal
    kind = plan.kind
    return (
        f"The ideal moves by {kind.scale * expectation.max_move:.3g} {kind.shown_unit}. It is a spring of "
        f"{1.0 / ideal.compliance:.4g} {kind.spring_unit} and, at first, a mass of {1.0 / ideal.mobility:.3g} "
        f"{kind.mass_unit}. The run takes {BASELINE + expectation.duration + expectation.decay:.0f} s."
    )


def _chart(label: str, x: Array, values: Sequence[Array], dots: float = 0.0) -> Chart:
    """Chart of measured and ideal values; dots [px] for measured ones."""
    measured = Curve("measured", values[0], MEASURED, 2.0, dots=dots)
    return Chart(label, x, (measured, Curve("ideal", values[1], IDEAL, dashed=True)))
