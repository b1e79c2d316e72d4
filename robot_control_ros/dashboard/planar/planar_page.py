"""The page of the planar two-link arm: a drawing to drag in, and the law's values beside it. It needs no ROS."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from ...core.errors import HardwareFault
from ...simulation.planar_arm import DT, PlanarArm
from ..markup import GREEN, RED, block, note, span, table
from ..web_page import WebPage
from .view import PlanarView

TITLE = "Planar two-link arm"
MAX_LAG = 0.2  # s that simulated time may be late; more is skipped
MODES = {"Kinematics": False, "PD": True}
INERTIAS = {"1/48": 1.0 / 48.0, "1/12": 1.0 / 12.0}
INTEGRATORS = {"semi-implicit Euler": False, "with a dt²/2": True}
WHY = "The source's 13/48 is I + 1/4, so I = 1/48 kg·m². A uniform rod has 1/12."
BLUE = "light-dark(#1864ab, #74c0fc)"


class PlanarPage(WebPage):
    """The arm in the browser, simulated in real time.

    Args:
        host, port, token: see :class:`WebPage`.

    Attributes:
        arm: that is shown; to be used in the page's thread only.
    """

    def __init__(self, host: str = "127.0.0.1", port: int = 8080, token: bool = True) -> None:
        self.arm = PlanarArm()
        super().__init__(TITLE, host, port, token)
        self._problem = ""  # the last one
        self._late, self._at = 0.0, time.monotonic()  # simulated time to catch up, at this time
        self._shown_target = self._round_target()  # as its numbers were written or typed
        self._view = PlanarView(self.server, self.arm, self.thread)
        self._make_panel()
        self.thread.start()

    # --- the panel ---

    def _make_panel(self) -> None:
        gui, arm, connect = self.server.gui, self.arm, self.thread.connect
        self._text = gui.add_html("")
        hint = "Drag the joints, or let the law drive the arm from here, beginning at rest."
        self._mode = connect(gui.add_button_group("Mode", _radio(arm.driven), hint=hint), self._choose_mode)
        self._slider("Kp [N/m]", "stiffness", 0.0, 300.0, 5.0, "Spring between tip and target.")
        self._slider("Kd [N·s/m]", "damping", 0.0, 30.0, 1.0, "Damper of the tip; with 0 it never comes to rest.")
        self._slider("M [kg]", "inertia", 0.0, 10.0, 0.1, "Inertia that the law adds to the tip; 0 is PD alone.")
        hint, reach = "x and y, within the arm's reach; in PD.", (arm.reach, arm.reach)
        least = (-arm.reach, -arm.reach)
        target = gui.add_vector2("Target [m]", arm.target, min=least, max=reach, step=0.001, hint=hint)
        self._target = connect(target, self._type_target)
        self._target.disabled = not arm.driven
        shown = gui.add_checkbox("Show trajectory", False, hint="Draw the path of the tip E.")
        connect(shown, self._view.trail.show)
        clear = gui.add_button_group("Trajectory", ("Clear",), hint="Remove the path drawn so far.")
        connect(clear, lambda label: self._view.trail.clear())
        self._paused = gui.add_checkbox("Pause", False, hint="Time stands still.")
        hint = "Upright, at rest; the gains stay and, in PD, the target."
        connect(gui.add_button_group("Arm", ("Reset",), hint=hint), lambda label: self._reset())
        with gui.add_folder("Wall"):
            wall = gui.add_checkbox("Wall", False, hint="A spring without friction, on the right of its edge.")
            self._bind(wall, "wall", bool)
            self._slider("Wall at x [m]", "wall_x", -1.5, 1.5, 0.05, "Its edge.")
            self._slider("Stiffness [N/m]", "wall_stiffness", 100.0, 1000.0, 50.0, "Of the wall.")
        with gui.add_folder("Model"):
            inertia = gui.add_dropdown("Inertia [kg·m²]", tuple(INERTIAS), hint="Of each link, about its centre.")
            self._bind(inertia, "link_inertia", INERTIAS.__getitem__)
            hint = "Steps of 10 ms: v += a dt, x += v dt; or x += v dt + a dt²/2."
            integrator = gui.add_dropdown("Integrator", tuple(INTEGRATORS), hint=hint)
            self._bind(integrator, "taylor", INTEGRATORS.__getitem__)
            gui.add_html(note(WHY))

    def _slider(self, label: str, name: str, lower: float, upper: float, step: float, hint: str) -> None:
        start = getattr(self.arm.settings, name)
        self._bind(self.server.gui.add_slider(label, lower, upper, step, start, hint=hint), name, float)

    def _bind(self, handle: Any, name: str, convert: Callable[[Any], Any]) -> None:
        """Let a control change a setting of the arm."""
        self.thread.connect(handle, lambda value: self.arm.change(**{name: convert(value)}))

    def _choose_mode(self, button: str) -> None:
        self._problem = ""
        self.arm.drive(MODES[button[2:]])
        self._mode.options = _radio(self.arm.driven)
        self._target.disabled = not self.arm.driven

    def _type_target(self, point: tuple[float, float]) -> None:
        """Numbers out of reach stay as typed, as the user may type the other one next."""
        self.arm.lead_target(point)
        self._shown_target = self._round_target()

    def _round_target(self) -> tuple[float, float]:
        x, y = self.arm.target
        return round(float(x), 3), round(float(y), 3)

    def _reset(self) -> None:
        self._problem = ""
        self.arm.reset()
        self._view.trail.clear()

    def refuse(self, message: str) -> None:
        """Show a problem instead of the mode."""
        self._problem = message

    # --- every drawing ---

    def draw(self) -> None:
        """Catch up with the time, and show the arm."""
        with self.server.atomic():
            self._advance()
            self._view.draw()
            self._text.content = _readings(self.arm, self._paused.value, self._problem)
            if self._shown_target != self._round_target():
                self._shown_target = self._target.value = self._round_target()

    def _advance(self) -> None:
        """Make the steps that are due."""
        before, self._at = self._at, time.monotonic()
        self._late = 0.0 if self._paused.value else min(self._late + self._at - before, MAX_LAG)
        try:
            while self._late >= DT:
                self._late -= DT
                self.arm.step()
                self._view.trace()
        except HardwareFault as error:
            self.refuse(str(error))
            self._view.trail.clear()


def _radio(driven: bool) -> tuple[str, ...]:
    return tuple(f"{'●' if MODES[name] == driven else '○'} {name}" for name in MODES)


def _readings(arm: PlanarArm, paused: bool, problem: str) -> str:
    """The state of the arm, as HTML."""
    colour, head = (GREEN, "PD: drag the target") if arm.driven else (BLUE, "kinematics: drag the joints B and E")
    if paused:
        head += " (paused)"
    error, contact = float(np.linalg.norm(arm.target - arm.tip)), float(np.linalg.norm(arm.contact))
    (x, y), (t1, t2) = arm.tip, arm.torque if arm.driven else (None, None)
    rows = (
        ("T1, T2 [N·m]", f"{_number(t1)}, {_number(t2)}"),
        ("Tip E [m]", f"{x:.3f}, {y:.3f}"),
        ("Distance to target [m]", f"{error:.3f}"),
        ("Contact force [N]", f"{contact:.1f}"),
        ("Time [s]", f"{arm.time:.2f}"),
    )
    line = span(problem, RED) if problem else span(f"● {head}", colour, 700)
    return block(line + table(rows))


def _number(value: float | None) -> str:
    return "–" if value is None else f"{round(value, 2) + 0.0:.2f}"  # no -0.00
