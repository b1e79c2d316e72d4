"""The page of the planar two-link arm: a drawing to drag in, and the law's values beside it. It needs no ROS."""

from __future__ import annotations

import html
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from ...core.errors import HardwareFault
from ...simulation.planar_arm import DT, PlanarArm
from ..colours import GREEN, RED
from ..server import open_server, until_interrupted
from ..turns import Turns
from .view import PlanarView

TITLE = "Planar two-link arm"
CAUGHT_UP = 0.2  # s that simulated time may be behind; more is left out
MODES = {"RobotDynamics": False, "PD": True}
INERTIAS = {"1/48": 1.0 / 48.0, "1/12": 1.0 / 12.0}
INTEGRATORS = {"semi-implicit Euler": False, "with a dt²/2": True}
WHY = (
    "The source's numbers mean an inertia of 1/48 kg·m² for each link (its 13/48 is I + 1/4); "
    "a uniform rod of 1 kg and 1 m would have 1/12."
)
BLUE = "#1c6dbe"


class PlanarPage:
    """The arm in the browser, simulated in real time, until it is closed.

    Args:
        host: address to listen on.
        port: the first to try; where it is taken, the next free one is.

    Attributes:
        port: that it listens on.
        server: viser's.
        arm: that is shown; it belongs to the page's own thread.
    """

    def __init__(self, host: str = "127.0.0.1", port: int = 8080) -> None:
        self.arm = PlanarArm()
        self.server = open_server(TITLE, host, port)
        self.port = self.server.get_port()
        self._turns = Turns(self._draw, self._tell)
        self._message = ""  # what went wrong last
        self._owed, self._at = 0.0, time.monotonic()  # simulated time that is behind, at this time
        self._numbers = self._round_target()  # that the target had when its numbers were written or typed
        self._view = PlanarView(self.server, self.arm, self._turns)
        self._make_panel()
        self._turns.start()

    def close(self) -> None:
        """End it."""
        self._turns.close()
        self.server.stop()

    # --- the panel ---

    def _make_panel(self) -> None:
        gui, arm, view = self.server.gui, self.arm, self._view
        self._text = gui.add_html("")
        self._mode = gui.add_button_group(
            "Mode", _radio(arm.driven), hint="Drag the joints; or let the law drive the arm, from where it is, at rest."
        )
        self._mode.on_click(self._turns.choice(self._choose_mode))
        self._slider("Kp [N/m]", "stiffness", 0.0, 300.0, 5.0, "Spring between tip and target.")
        self._slider("Kd [N·s/m]", "damping", 0.0, 30.0, 1.0, "Damper of the tip; with 0 it never comes to rest.")
        self._slider("M [kg]", "inertia", 0.0, 10.0, 0.1, "Inertia that the law adds to the tip; 0 is PD alone.")
        limits = (-arm.reach,) * 2, (arm.reach,) * 2
        self._target: Any = gui.add_vector2(
            "Target [m]",
            arm.target,
            min=limits[0],
            max=limits[1],
            step=0.001,
            disabled=not arm.driven,
            hint="x and y, within the arm's reach; in PD.",
        )
        self._target.on_update(self._turns.choice(self._type_target))
        trajectory = gui.add_checkbox("Show trajectory", False, hint="Draw where the tip E goes.")
        trajectory.on_update(self._turns.choice(lambda shown: setattr(view.trail, "shown", shown)))
        clear = gui.add_button_group("Trajectory", ("Clear",), hint="Forget the line drawn so far.")
        clear.on_click(self._turns.callback(view.trail.clear))
        self._paused = gui.add_checkbox("Pause", False, hint="Time stands still.")
        reset = gui.add_button_group("Arm", ("Reset",), hint="Upright, at rest; gains stay and, in PD, the target.")
        reset.on_click(self._turns.callback(self._reset))
        with gui.add_folder("Wall"):
            wall = gui.add_checkbox("Wall", False, hint="A spring without friction, from its place to the right.")
            self._binds(wall, "wall", bool)
            self._slider("Wall at x [m]", "wall_x", -1.5, 1.5, 0.05, "Where it begins.")
            self._slider("Stiffness [N/m]", "wall_stiffness", 100.0, 1000.0, 50.0, "Of the wall.")
        with gui.add_folder("Model"):
            inertia = gui.add_dropdown("Inertia [kg·m²]", tuple(INERTIAS), hint=WHY)
            self._binds(inertia, "link_inertia", INERTIAS.__getitem__)
            integrator = gui.add_dropdown(
                "Integrator", tuple(INTEGRATORS), hint="Steps of 10 ms: v += a dt, x += v dt; or x += v dt + a dt²/2."
            )
            self._binds(integrator, "taylor", INTEGRATORS.__getitem__)
            gui.add_html(f'<div style="font-size:0.75em;line-height:1.35;padding:0 1em;color:#666">{WHY}</div>')

    def _slider(self, label: str, name: str, lower: float, upper: float, step: float, hint: str) -> None:
        start = getattr(self.arm.settings, name)
        self._binds(self.server.gui.add_slider(label, lower, upper, step, start, hint=hint), name, float)

    def _binds(self, handle: Any, name: str, meaning: Callable[[Any], Any]) -> None:
        handle.on_update(self._turns.choice(lambda value: self.arm.change(**{name: meaning(value)})))

    def _choose_mode(self, button: str) -> None:
        self._message = ""
        self.arm.drive(MODES[button[2:]])
        self._mode.options = _radio(self.arm.driven)
        self._target.disabled = not self.arm.driven

    def _type_target(self, point: tuple[float, float]) -> None:
        """Where it is out of reach, the numbers stay as typed: the other one may yet come."""
        self.arm.lead_target(point)
        self._numbers = self._round_target()

    def _round_target(self) -> tuple[float, float]:
        x, y = self.arm.target
        return round(float(x), 3), round(float(y), 3)

    def _reset(self) -> None:
        self._message = ""
        self.arm.reset()
        self._view.trail.clear()

    def _tell(self, message: str) -> None:
        self._message = message

    # --- every drawing ---

    def _draw(self) -> None:
        with self.server.atomic():
            self._advance()
            self._view.draw()
            content = _readings(self.arm, self._paused.value, self._message)
            if content != self._text.content:
                self._text.content = content
            if self._numbers != self._round_target():
                self._numbers = self._target.value = self._round_target()

    def _advance(self) -> None:
        """The steps that are due."""
        before, self._at = self._at, time.monotonic()
        self._owed = 0.0 if self._paused.value else min(self._owed + self._at - before, CAUGHT_UP)
        try:
            while self._owed >= DT:
                self._owed -= DT
                self.arm.step()
                self._view.trace()
        except HardwareFault as error:
            self._tell(str(error))
            self._view.trail.clear()


def serve_planar(host: str, port: int) -> int:
    """The page until Ctrl-C; its address is printed. Returns the exit status."""
    return until_interrupted(PlanarPage(host, port), TITLE, host, port)


def _radio(driven: bool) -> tuple[str, ...]:
    return tuple(f"{'●' if MODES[name] == driven else '○'} {name}" for name in MODES)


def _readings(arm: PlanarArm, paused: bool, message: str) -> str:
    """What is measured, as HTML."""
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
    table = "".join(f'<tr><td>{name}</td><td style="text-align:right">{value}</td></tr>' for name, value in rows)
    line = f'<span style="color:{colour};font-weight:700">● {head}</span>'
    if message:
        line = f'<span style="color:{RED}">{html.escape(message)}</span>'
    style = "font-size:0.85em;line-height:1.45;padding:0.2em 0.8em;font-variant-numeric:tabular-nums"
    return f'<div style="{style}">{line}<table style="width:100%">{table}</table></div>'


def _number(value: float | None) -> str:
    return "–" if value is None else f"{round(value, 2) + 0.0:.2f}"  # no -0.00
