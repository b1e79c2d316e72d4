"""The page of the planar two-link arm: a drawing to drag in, and the law's values beside
it. It needs no ROS.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from ...core.errors import HardwareFault
from ...dashboard.availability import Availability
from ...dashboard.bar.status_bar import BarState
from ...dashboard.browser_script import BrowserTab, picture_button
from ...dashboard.last_refusal import LastRefusal
from ...dashboard.markup import block, note, span, table
from ...dashboard.theme import BLUE, GREEN, RED
from ...dashboard.web_page import WebPage
from ..planar_arm import DT, PlanarArm
from .equation import COMPARISON, comparison, equation, pair
from .view import FULL, PlanarView

TITLE = "Planar two-link arm"
MAX_LAG = 0.2  # s that simulated time may be late; more is skipped
KINEMATICS = "Kinematics"
IMPEDANCE = "Impedance"
JOINT_PD = "Joint PD"
MODES = (KINEMATICS, IMPEDANCE, JOINT_PD)
INERTIAS = {"1/48": 1.0 / 48.0, "1/12": 1.0 / 12.0}
INTEGRATORS = {"semi-implicit Euler": False, "with a dt²/2": True}
WHY = "The source's 13/48 is I + 1/4, so I = 1/48 kg·m². A uniform rod has 1/12."


class PlanarPage(WebPage):
    """The arm in the browser, simulated in real time.

    Args:
        host, port, token: Address to listen on, first port to try, and True to ask for a token; see
            :class:`WebPage`.

    Attributes:
        arm: Arm that is shown; to be used in the page's thread only.
    """

    def __init__(self, host: str = "127.0.0.1", port: int = 8080, token: bool = True) -> None:
        self.arm = PlanarArm()
        super().__init__(TITLE, host, port, token)
        self._problem = ""  # that ended the simulation
        self._refusal = LastRefusal()
        # simulated time to catch up, at this time
        self._late = 0.0
        self._at = time.monotonic()
        self._shown_target = self._round_target()  # as its numbers were written
        self._view = PlanarView(self.server, self.arm, self.thread)
        self._make_panel()
        self.thread.start()

    # --- the panel ---

    def _make_panel(self) -> None:
        gui = self.server.gui
        arm = self.arm
        connect = self.thread.connect
        self._tab = BrowserTab(gui, TITLE)
        self._text = gui.add_html("")
        hint = "Drag the joints, or let a law drive the arm from here, beginning at rest."
        self._mode = connect(
            gui.add_button_group("Mode", _radio(_mode(arm)), hint=hint), self._choose_mode
        )
        with gui.add_folder("Equation in force", expand_by_default=False):
            self._equation = gui.add_html("")
        with gui.add_folder("Impedance or joint PD?", expand_by_default=False):
            gui.add_html("".join(note(sentence) for sentence in COMPARISON))
            self._comparison = gui.add_html("")
        self._make_gains()
        hint = "x and y, within the arm's reach; under a law."
        reach = (arm.reach, arm.reach)
        least = (-arm.reach, -arm.reach)
        target = gui.add_vector2(
            "Target [m]", arm.target, min=least, max=reach, step=0.001, hint=hint
        )
        self._target = connect(target, self._type_target)
        self._target_available = Availability(self._target)
        shown = gui.add_checkbox("Show trajectory", False, hint="Draw the path of the tip E.")
        connect(shown, self._view.trail.show)
        clear = gui.add_button_group("Trajectory", ("Clear",), hint="Remove the path drawn so far.")
        connect(clear, lambda label: self._view.trail.clear())
        self._paused = gui.add_checkbox("Pause", False, hint="Time stands still.")
        hint = "Upright, at rest; the gains stay and, under a law, the target."
        connect(gui.add_button_group("Arm", ("Reset",), hint=hint), lambda label: self._reset())
        with gui.add_folder("Wall"):
            wall = gui.add_checkbox(
                "Wall", False, hint="A spring without friction, on the right of its edge."
            )
            self._bind(wall, "wall", bool)
            self._wall = (
                self._slider("Wall at x [m]", "wall_x", -1.5, 1.5, 0.05, "Its edge."),
                self._slider(
                    "Stiffness [N/m]", "wall_stiffness", 100.0, 1000.0, 50.0, "Of the wall."
                ),
            )
            self._wall_available = Availability(*self._wall)
            gui.add_html(
                note(f"The force is an arrow: 0.1 m is {0.1 * FULL / (0.5 * arm.reach):g} N.")
            )
        with gui.add_folder("Model"):
            inertia = gui.add_dropdown(
                "Inertia [kg·m²]", tuple(INERTIAS), hint="Of each link, about its centre."
            )
            self._bind(inertia, "link_inertia", INERTIAS.__getitem__)
            hint = "Steps of 10 ms: v += a dt, x += v dt; or x += v dt + a dt²/2."
            integrator = gui.add_dropdown("Integrator", tuple(INTEGRATORS), hint=hint)
            self._bind(integrator, "taylor", INTEGRATORS.__getitem__)
            gui.add_html(note(WHY))
        gui.add_html(picture_button("planar_arm.png"))

    def _make_gains(self) -> None:
        """Make the sliders of both laws.

        Those of the law that doesn't run are hidden later.
        """
        kd = "Damper of the tip; with 0 it never comes to rest."
        m = "Inertia that the law adds to the tip; 0 is PD."
        impedance = (
            self._slider(
                "Kp [N/m]",
                "stiffness",
                0.0,
                300.0,
                5.0,
                "Spring between tip and target, in x and y.",
            ),
            self._slider("Kd [N·s/m]", "damping", 0.0, 30.0, 1.0, kd),
            self._slider("M [kg]", "inertia", 0.0, 10.0, 0.1, m),
        )
        joints = (
            self._slider(
                "Kq [N·m/rad]", "joint_stiffness", 0.0, 300.0, 5.0, "Spring of each joint."
            ),
            self._slider(
                "Dq [N·m·s/rad]", "joint_damping", 0.0, 30.0, 1.0, "Damper of each joint."
            ),
        )
        self._gains = {False: impedance, True: joints}  # by whether the law is one of the joints
        self._gains_available = Availability(*impedance, *joints)

    def _slider(
        self, label: str, name: str, lower: float, upper: float, step: float, hint: str
    ) -> Any:
        start = getattr(self.arm.settings, name)
        handle = self.server.gui.add_slider(label, lower, upper, step, start, hint=hint)
        self._bind(handle, name, float)
        return handle

    def _bind(self, handle: Any, name: str, convert: Callable[[Any], Any]) -> None:
        """Let a control change a setting of the arm."""
        self.thread.connect(handle, lambda value: self.arm.change(**{name: convert(value)}))

    def _choose_mode(self, button: str) -> None:
        mode = button[2:]
        self._problem = ""
        self.arm.drive(mode != KINEMATICS)
        if mode != KINEMATICS:
            self.arm.change(joint_pd=mode == JOINT_PD)
            self.arm.lead_target(self.arm.target)  # the joints' goal for the elbow as it is now
        self._mode.options = _radio(mode)

    def _type_target(self, point: tuple[float, float]) -> None:
        """Lead the target to a point, or as near as it can be; the numbers are those in force."""
        self.arm.lead_target(point)
        self._shown_target = self._round_target()
        self._target.value = self._shown_target
        if not np.allclose(point, self.arm.target, atol=1e-3):
            self.refuse(
                f"target {pair(np.array(point))} m is out of reach: the nearest is {pair(self.arm.target)} m"
            )

    def _round_target(self) -> tuple[float, float]:
        x, y = self.arm.target
        return round(float(x), 3), round(float(y), 3)

    def _reset(self) -> None:
        self._problem = ""
        self.arm.reset()
        self._view.trail.clear()

    def refuse(self, message: str) -> None:
        """Show a refusal instead of the mode, for some seconds."""
        self._refusal.show(message)

    # --- every drawing ---

    def draw(self) -> None:
        """Catch up with the time, and show the arm."""
        problem = self._problem or self._refusal.message
        self.bar.show(BarState(problem or self._head(), level="error" if problem else "good"))
        with self.server.atomic():
            self._advance()
            self._view.draw()
            self._text.content = _readings(self.arm, self._head(), problem)
            self._equation.content = equation(self.arm)
            self._comparison.content = comparison(self.arm)
            self._show_used()
            if self._shown_target != self._round_target():
                self._shown_target = self._round_target()
                self._target.value = self._shown_target

    def _head(self) -> str:
        head = (
            f"{_mode(self.arm)}: drag the target"
            if self.arm.driven
            else "kinematics: drag the joints B and E"
        )
        return f"{head} (paused)" if self._paused.value else head

    def _show_used(self) -> None:
        """Show only the sliders of the law in force; only what is in force can be set."""
        arm = self.arm
        self._tab.show(f"{TITLE}: {_mode(arm)}")
        for joint_pd, sliders in self._gains.items():
            for slider in sliders:
                slider.visible = joint_pd == arm.settings.joint_pd
        by_hand = "" if arm.driven else "no law drives the arm"
        self._gains_available.draw(by_hand)
        self._target_available.draw(by_hand)
        self._wall_available.draw("" if arm.settings.wall else "there is no wall")

    def _advance(self) -> None:
        """Make the steps that are due."""
        before = self._at
        self._at = time.monotonic()
        self._late = 0.0 if self._paused.value else min(self._late + self._at - before, MAX_LAG)
        try:
            while self._late >= DT:
                self._late -= DT
                self.arm.step()
                self._view.trace()
        except HardwareFault as error:
            self._problem = str(error)
            self._view.trail.clear()


def _mode(arm: PlanarArm) -> str:
    if not arm.driven:
        return KINEMATICS
    return JOINT_PD if arm.settings.joint_pd else IMPEDANCE


def _radio(mode: str) -> tuple[str, ...]:
    return tuple(f"{'●' if name == mode else '○'} {name}" for name in MODES)


def _readings(arm: PlanarArm, head: str, problem: str) -> str:
    """The state of the arm, as HTML."""
    error = float(np.linalg.norm(arm.target - arm.tip))
    contact = float(np.linalg.norm(arm.contact))
    x, y = arm.tip
    rows = (
        ("T1, T2 [N·m]", pair(arm.torque) if arm.driven else "–"),
        ("Tip E [m]", f"{x:.3f}, {y:.3f}"),
        ("Distance to target [m]", f"{error:.3f}"),
        ("Contact force [N]", f"{contact:.1f}"),
        ("Time [s]", f"{arm.time:.2f}"),
    )
    line = span(problem, RED) if problem else span(f"● {head}", GREEN if arm.driven else BLUE, 700)
    return block(line + table(rows))
