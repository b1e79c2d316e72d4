"""A panel of the controller's cycles at its full rate: chosen fields around a trigger, held,
and exported as files.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...control.requests import CycleAnswer
from ...core.cycle import COMMAND
from ...core.errors import ConfigError
from ..chart import TIME, Chart, Curve, add_plot, csv, fill, png
from ..link import RobotLink
from ..markup import note
from ..page_thread import PageThread
from ..plots.charts import UNITS
from ..plots.plots_panel import mode_of
from ..theme import AMBER, CURVE_RED, CURVES, GREY, RED
from .cycle_fields import FIELDS
from .field_choice import ChosenField, FieldChoice
from .scope import CycleQuery, Scope, ScopeSettings, Trace
from .trigger import AT_FAULT, Trigger

PERIOD = 1.0 / 6.0  # s between two drawings
LOOK = 0.1  # s between two looks for new cycles, where all that there are have been read
RETRY = 1.0  # s after a refusal
SETTLING = 1.0  # s in which new plots are drawn again and again
NUDGE = 1e-6  # s: as in the plots, uPlot may have no axes until its range changes
HEIGHT = 300  # px, of all charts together, without legends
LONGEST = 5.0  # s before the trigger, and after it
HIGHEST = 1e6  # level, in any unit
FREE = "none: the newest"
FAULT = "a fault"
RISES = "a field rises to"
FALLS = "a field falls to"
TRIGGERS = (FREE, FAULT, RISES, FALLS)
SINCE = "time from the trigger [s]"
PNG = "PNG"
CSV = "CSV"


@dataclass(frozen=True, eq=False)
class DrawnTrace:
    """Trace that the panel shows, with its fields and charts."""

    trace: Trace
    fields: tuple[ChosenField, ...]
    charts: tuple[Chart, ...]


class ScopePanel:
    """A switch, and the panel that it opens. While it is closed nothing is read.

    Attributes:
        panel: Panel of viser.
        scope: Scope that reads the cycles and finds the trigger.
        drawn: Trace that is shown; None for nothing.
        plots: Charts of viser.
    """

    def __init__(self, gui: Any, link: RobotLink, thread: PageThread) -> None:
        self._gui = gui
        self._link = link
        self._thread = thread
        self._joints = tuple(
            name.removesuffix("_joint").replace("_", " ") for name in link.robot.joints
        )
        self._parameters: object = None  # that the unit of commands was found with
        self._waits = False  # for an answer
        self._refusal = ""
        self._look_at = 0.0  # steady time of the next look for cycles [s]
        self._due = 0.0  # steady time of the next drawing [s]
        self._built = 0.0  # steady time at which the plots were made [s]
        self._nudge = 0.0
        self._look: object = None  # of the plots
        self.drawn: DrawnTrace | None = None
        self.plots: list[Any] = []
        hint = "The controller's cycles at its full rate, around a trigger, above the controls."
        self._open = gui.add_checkbox("Scope", False, hint=hint)
        thread.connect(self._open, self._show)
        self.panel = gui.add_panel(visible=False)
        self._tab = self.panel.add_tab("Scope")
        with self._tab:
            self._picture = gui.add_folder("Trace")
            self._make_fields(gui)
            self._make_trigger(gui)
            self._make_export(gui)
        with self._picture:
            self._text = gui.add_html("")
            self._next = gui.add_button(
                "Next trace", hint="Look for the next trigger.", visible=False
            )
        self._thread.connect(self._next, lambda clicked: self.scope.go_on())
        # in their column, so that the arm keeps most of a small window
        self.panel.dock_above(gui.main_panel)
        self.scope = Scope(self._settings())
        self._arrange()

    def _make_fields(self, gui: Any) -> None:
        self._choices = [
            FieldChoice(gui, f"Field {number}", initial, self._joints)
            for number, initial in enumerate(("sent", "", ""), start=1)
        ]
        for choice in self._choices:
            self._thread.connect(choice.field, lambda value: self._choose())
            self._thread.connect(choice.component, lambda value: self._choose())

    def _make_trigger(self, gui: Any) -> None:
        hint = "What a trace is shown around. The last minute is searched as well."
        self._trigger = gui.add_dropdown("Trigger", TRIGGERS, hint=hint)
        self._trigger_field = FieldChoice(gui, "Trigger field", "wrench", self._joints, single=True)
        hint = "In the unit of the field."
        self._level = gui.add_number("Level", 0.0, min=-HIGHEST, max=HIGHEST, step=0.001, hint=hint)
        hint = "Time that is shown before the trigger."
        self._before = gui.add_slider("Before [s]", 0.0, LONGEST, 0.01, 0.5, hint=hint)
        hint = "Time that is shown from the trigger on."
        self._after = gui.add_slider("After [s]", 0.01, LONGEST, 0.01, 0.5, hint=hint)
        hint = "Each trace stays until you go on, the oldest first. Else the newest is shown."
        self._hold = gui.add_checkbox("Hold each trace", False, hint=hint)
        choice = self._trigger_field
        for handle in (
            self._trigger,
            choice.field,
            choice.component,
            self._level,
            self._before,
            self._after,
            self._hold,
        ):
            self._thread.connect(handle, lambda value: self._choose())

    def _make_export(self, gui: Any) -> None:
        export = gui.add_button_group("Export trace", (PNG, CSV), hint="Each cycle that is shown.")
        self._thread.offer_file(export, lambda kind, camera: self._make_file(kind))

    # --- what is chosen ---

    def _choose(self) -> None:
        """Show what is chosen; begin anew where it is read or found in another way."""
        for choice in (*self._choices, self._trigger_field):
            choice.update()
        self._arrange()
        self.drawn = None
        self._due = 0.0
        settings = self._settings()
        if settings != self.scope.settings:
            self._begin(settings)

    def _begin(self, settings: ScopeSettings) -> None:
        self.scope = Scope(settings)
        self._refusal = ""
        self._look_at = 0.0

    def _arrange(self) -> None:
        """Show the controls that count."""
        is_wanted = True
        for choice in self._choices:
            choice.show(is_wanted)
            is_wanted = choice.chosen is not None
        has_level = self._trigger.value in (RISES, FALLS)
        self._trigger_field.show(has_level)
        self._level.visible = has_level
        self._hold.visible = self._trigger.value != FREE

    def _chosen(self) -> tuple[ChosenField, ...]:
        """Fields that are shown."""
        chosen = (choice.chosen for choice in self._choices if choice.field.visible)
        return tuple(each for each in chosen if each is not None)

    def _settings(self) -> ScopeSettings:
        names = tuple(dict.fromkeys(each.name for each in self._chosen()))
        holds = self._hold.value and self._hold.visible
        period = self._link.robot.period
        return ScopeSettings(
            names, self._chosen_trigger(), self._before.value, self._after.value, period, holds
        )

    def _chosen_trigger(self) -> Trigger | None:
        kind = self._trigger.value
        if kind == FREE:
            return None
        if kind == FAULT:
            return AT_FAULT
        chosen = self._trigger_field.chosen
        assert chosen is not None
        return Trigger(chosen.name, chosen.shown[0].place, float(self._level.value), kind == RISES)

    def _take_unit(self) -> None:
        """Take the unit of commands, which the law decides."""
        law = self._link.law()
        parameters = self._link.parameters()
        if not law or parameters is self._parameters:
            return
        self._parameters = parameters
        mode = mode_of(law, parameters)
        for choice in (*self._choices, self._trigger_field):
            choice.update(COMMAND if mode is None else UNITS[mode])

    # --- what is read ---

    def draw(self) -> None:
        """Read what comes, and show it if the panel is open."""
        if not self._open.value:
            return
        now = time.monotonic()
        self._read(now)
        if now >= self._due:
            self._due = now + PERIOD
            self._redraw(now)

    def _read(self, now: float) -> None:
        if self._waits or now < self._look_at:
            return
        scope = self.scope
        query = scope.query()
        if query is not None:
            self._waits = True

            def reply(answer: CycleAnswer) -> None:
                self._thread.post(lambda: self._take(scope, query, answer))

            self._link.read_cycles(query.first, query.fields, reply)

    def _take(self, scope: Scope, query: CycleQuery, answer: CycleAnswer) -> None:
        self._waits = False
        if scope is not self.scope:  # something else was chosen meanwhile
            return
        self._refusal = answer.refusal
        if answer.refusal:
            scope.restart()
            self._look_at = time.monotonic() + RETRY
            return
        scope.take(query, answer)
        self._look_at = 0.0 if scope.behind > 0 else time.monotonic() + LOOK

    # --- what is shown ---

    def _show(self, shown: bool) -> None:
        self.panel.visible = shown
        self.drawn = None
        if shown:
            self._begin(self._settings())
        else:
            self._build("", ())

    def _redraw(self, now: float) -> None:
        self._take_unit()
        scope = self.scope
        self._next.visible = scope.holds
        self._text.content = self._status()
        trace = scope.trace
        if trace is None:
            self._build("", ())
            return
        is_new = self.drawn is None or trace is not self.drawn.trace
        if not is_new and now > self._built + SETTLING:
            return
        self._nudge = NUDGE - self._nudge
        fields = self._chosen()
        charts = tuple(self._chart(trace, each) for each in fields if each.name in trace.values)
        self._build(TIME if scope.settings.trigger is None else SINCE, charts)
        for plot, chart in zip(self.plots, charts, strict=True):
            fill(plot, chart)
        self.drawn = DrawnTrace(trace, fields, charts)

    def _chart(self, trace: Trace, chosen: ChosenField) -> Chart:
        """Chart of one field of a trace."""
        t = trace.t - trace.zero + self._nudge
        columns = trace.values[chosen.name]
        curves = [
            Curve(component.name, columns[:, component.place], CURVES[number % len(CURVES)])
            for number, component in enumerate(chosen.shown)
        ]
        trigger = self.scope.settings.trigger
        if trigger is not None and trigger is not AT_FAULT and trigger.field == chosen.name:
            curves.append(Curve("level", np.full(len(t), trigger.level), CURVE_RED, dashed=True))
        unit = chosen.shown[0].unit
        label = (
            f"{chosen.name.replace('_', ' ')} [{unit}]" if unit else chosen.name.replace("_", " ")
        )
        places = [component.place for component in chosen.shown]
        missing = "" if np.isfinite(columns[:, places]).any() else ": none"
        return Chart(label + missing, t, tuple(curves))

    def _build(self, x_label: str, charts: tuple[Chart, ...]) -> None:
        """Make plots for these charts; plots of the same look stay, and stay zoomed."""
        look = (
            x_label,
            [
                (chart.label, [(curve.name, curve.colour) for curve in chart.curves])
                for chart in charts
            ],
        )
        if look == self._look:
            return
        self._look = look
        self._built = time.monotonic()
        for plot in self.plots:
            plot.remove()
        scales = {"x": {"time": False}, "y": {}}
        with self._picture:
            self.plots = [
                add_plot(self._gui, x_label, chart, scales=scales, height=HEIGHT // len(charts))
                for chart in charts
            ]

    def _status(self) -> str:
        """Text about what the scope does, as HTML."""
        scope = self.scope
        rate = self._link.robot.profile.rate
        if self._refusal:
            return note(self._refusal, RED)
        shown = "" if scope.trace is None else f" This trace is from {scope.trace.zero:.3f} s."
        if scope.settings.trigger is None:
            return note("The newest cycles." if scope.trace is not None else "No cycle yet.")
        if scope.holds:
            return note(f"Held.{shown}")
        if scope.behind > rate:
            return note(f"Searching: {scope.behind / rate:.0f} s to go.{shown}", AMBER)
        if scope.trace is not None and not scope.complete:
            return note(f"Triggered.{shown}", AMBER)
        return note(f"Waiting for the trigger.{shown}", GREY)

    # --- files ---

    def _make_file(self, kind: str) -> tuple[str, bytes]:
        """Name and content of a file that is exported."""
        drawn = self.drawn
        robot = self._link.robot
        if drawn is None:
            raise ConfigError("there is no trace to export yet")
        law = self._link.law().rpartition(":")[2]
        content = (
            png(drawn.charts, f"{robot.name}, {law}")
            if kind == PNG
            else trace_csv(drawn.trace, drawn.fields)
        )
        return f"{robot.name}_{law}_scope.{kind.lower()}", content


def trace_csv(trace: Trace, fields: tuple[ChosenField, ...]) -> bytes:
    """One row per cycle of a trace, with the components of the fields; the header has each
    column's name and unit.
    """
    columns = {TIME: trace.t}
    for chosen in fields:
        for component in chosen.shown:
            unit = f" [{component.unit}]" if component.unit else ""
            name = (
                chosen.name
                if len(FIELDS[chosen.name].shape) == 0
                else f"{chosen.name}.{component.name}"
            )
            columns[name + unit] = trace.values[chosen.name][:, component.place]
    return csv(columns)
