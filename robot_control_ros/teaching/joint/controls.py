"""The controls of the joint's page: the law, its gains, the step, and the source's
line to compare with.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from ...dashboard.page_thread import PageThread
from ..joint_step.response import STEP, Step
from ..joint_step.source import LINES, SourceLine

PID = "PID"
BRAKING = "P, square-root braking"
TRAPEZOIDAL = "trapezoidal velocity"
USED = {  # controls by law; a user's own has none of them
    PID: ("variant", "p", "i", "d", "anti_windup"),
    BRAKING: ("p", "acceleration"),
    TRAPEZOIDAL: ("acceleration",),
}
NO_LINE = "none"
STEPS_MS = ("1", "2", "5", "10")  # all fit into the simulation step


@dataclass(frozen=True)
class StepSettings:
    """The values of the controls."""

    law: str  # PID, BRAKING, TRAPEZOIDAL, or the name of the user's own
    gains: Mapping[str, Any]  # of the PID, by name
    acceleration: float  # of the other two [rad/s²]
    step: Step  # of the joint
    line: SourceLine | None  # of the source's table, or None


class JointControls:
    """The controls; they call `change` after each change. `own` is the name of the
    user's own law, or empty.
    """

    def __init__(self, gui: Any, thread: PageThread, own: str, change: Callable[[], None]) -> None:
        self._gui = gui
        self._thread = thread
        self._change = change
        self._handles: dict[str, Any] = {}
        self._initial: dict[str, Any] = {}
        laws = (*USED, own) if own else tuple(USED)
        self._add_control(
            "law",
            "dropdown",
            "Law",
            "It gives the velocity command at each physics step.",
            own or PID,
            laws,
        )
        self._add_gains()
        with gui.add_folder("Step"):
            self._add_step()
        with gui.add_folder("Source"):
            names = tuple(line.name for line in LINES)
            hint = "(P, I, D), velocity limit: a line of the source's table. Curve by its equation, dots as printed."
            self._add_control("line", "dropdown", "Reference", hint, names[0], (NO_LINE, *names))
            hint = "Set everything as in that line."
            self._copy = gui.add_button_group("Gains and step", ("As the reference",), hint=hint)
            thread.connect(self._copy, lambda label: self._copy_line())

    def read(self) -> StepSettings:
        value = {name: handle.value for name, handle in self._handles.items()}
        step = Step(
            start=value["start"],
            target=value["target"],
            cyclic=value["cyclic"],
            velocity_limit=value["limit"] if value["limited"] else math.inf,
            duration=value["duration"],
            dt=float(value["dt"]) / 1e3,
        )
        gains = {name: value[name] for name in USED[PID]}
        return StepSettings(
            value["law"], gains, math.radians(value["acceleration"]), step, self._line()
        )

    def show_used(self) -> None:
        """Show only what the chosen law uses."""
        law = self._handles["law"].value
        for name in {name for names in USED.values() for name in names}:
            self._handles[name].visible = name in USED.get(law, ())
        limited = self._handles["limited"].value
        self._handles["limit"].visible = limited
        self._handles["anti_windup"].visible &= limited  # without a limit the sum never stops
        self._copy.visible = self._line() is not None

    def _add_gains(self) -> None:
        hint = "legacy: D on the change of the error, P per step. current: D on the velocity, P per 5 ms."
        self._add_control("variant", "dropdown", "Variant", hint, "legacy", ("legacy", "current"))
        self._add_control(
            "p", "slider", "P", "Part of the error that is corrected per step.", 0.1, 0.0, 2.0, 0.01
        )
        self._add_control(
            "i",
            "slider",
            "I [1/s]",
            "On the sum of all errors times T; 0 resets the sum.",
            2.0,
            0.0,
            20.0,
            0.1,
        )
        self._add_control(
            "d", "slider", "D [s]", "On the rate of the error.", 0.0, 0.0, 0.01, 0.00005
        )
        hint = "Of braking and starting."
        self._add_control(
            "acceleration", "slider", "Acceleration [deg/s²]", hint, 1000.0, 100.0, 5000.0, 100.0
        )
        self._add_control(
            "limited",
            "checkbox",
            "Limit the velocity",
            "Off: the servo reaches any velocity.",
            False,
        )
        hint = "Of the servo; the law takes it into account."
        self._add_control("limit", "slider", "Limit [deg/s]", hint, 90.0, 10.0, 720.0, 10.0)
        hint = "The sum stops at the limit, while the error would drive it further."
        self._add_control("anti_windup", "checkbox", "Anti-windup", hint, False)

    def _add_step(self) -> None:
        self._add_control(
            "start",
            "slider",
            "Start [deg]",
            "Where the joint is before the step.",
            0.0,
            -360.0,
            360.0,
            1.0,
        )
        self._add_control(
            "target", "slider", "Target [deg]", "Where the joint goes.", STEP, -360.0, 360.0, 1.0
        )
        hint = "It turns endlessly and goes the short way: from 10 to 350 by -20."
        self._add_control("cyclic", "checkbox", "Cyclic joint", hint, False)
        self._add_control(
            "duration", "slider", "Duration [s]", "Of the simulation.", 1.0, 0.1, 3.0, 0.1
        )
        hint = "T of the physics; the law is called once in each."
        self._add_control("dt", "dropdown", "Time step [ms]", hint, "5", STEPS_MS)

    def _add_control(
        self, name: str, kind: str, label: str, hint: str, initial: Any, *choices: Any
    ) -> None:
        """Add a control of viser, of a kind: its options, or lowest and highest value and step."""
        handle = getattr(self._gui, f"add_{kind}")(
            label, *choices, initial_value=initial, hint=hint
        )
        self._handles[name] = self._thread.connect(handle, lambda value: self._change())
        self._initial[name] = initial

    def _line(self) -> SourceLine | None:
        return next((line for line in LINES if line.name == self._handles["line"].value), None)

    def _copy_line(self) -> None:
        line = self._line()
        if line is None:
            return
        p, i, d = line.pid
        values = self._initial | {"law": PID, "line": line.name, "p": p, "i": i, "d": d}
        if line.limit is not None:
            values |= {"limited": True, "limit": line.limit}
        for name, value in values.items():
            self._handles[name].value = value
        self._change()
