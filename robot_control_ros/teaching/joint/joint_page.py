"""The joint's page: the step of one joint, computed again whenever its gains change, beside
the source's curves.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...core.errors import ConfigError
from ...dashboard.bar.status_bar import BarState
from ...dashboard.browser_script import BrowserTab
from ...dashboard.chart import TIME, Chart, Curve, add_plot, png, show
from ...dashboard.last_refusal import LastRefusal
from ...dashboard.web_page import WebPage
from ..joint_step.callbacks import Braking, Pid, Trapezoidal, load
from ..joint_step.response import Callback, respond
from ..joint_step.stability import Loop
from .controls import BRAKING, PID, TRAPEZOIDAL, JointControls, StepSettings
from .curves import OWN, Curves
from .step_report import HEIGHT as REPORT
from .step_report import report

TITLE = "One joint"
CANVAS = (950, 720)  # px, that a window of 1280 x 720 leaves beside the controls
FRAME = 124  # px, of the panel's height, besides plots and report
ANGLES = 0.65  # of the plots' height


class JointPage(WebPage):
    """Page of one joint: its step, and the source's curves beside it.

    Args:
        host, port, token: Address to listen on, first port to try, and True to ask for a token; see
            :class:`WebPage`.
        callback: Law of the joint by a user, ``package.module:function``; see
            :class:`~robot_control_ros.teaching.joint_step.response.JointInput`.

    Attributes:
        curves: Curves that are shown; None until the first drawing.
        plots: Charts of viser: angle and command.

    Raises:
        ConfigError: the callback can't be loaded.
    """

    def __init__(
        self, host: str = "127.0.0.1", port: int = 8080, callback: str = "", token: bool = True
    ) -> None:
        self._name = callback
        self._own: Callback | None = load(callback) if callback else None
        self._problem = ""  # of the user's own law
        self._refusal = LastRefusal()
        self._stale = True
        self.curves: Curves | None = None
        super().__init__(TITLE, host, port, token)
        self.bar.sheet_starts_open = True  # its plots are in the panel
        gui = self.server.gui
        self._tab = BrowserTab(gui, TITLE)
        self._controls = JointControls(gui, self.thread, callback, self._change)
        if callback:
            again = gui.add_button_group(
                "My law", ("Load again",), hint=f"{callback}, from its file as it is now."
            )
            self.thread.connect(again, lambda label: self._load())
        files = gui.add_button_group(
            "Save as", ("PNG", "CSV"), hint="The plots as a picture; every sample as text."
        )
        self.thread.offer_file(files, lambda kind, camera: self._make_file(kind))
        self._make_plots(gui)
        self.thread.start()

    def refuse(self, message: str) -> None:
        """Show a refusal in the bar, for some seconds."""
        self._refusal.show(message)

    def _change(self) -> None:
        self._stale = True

    def _load(self) -> None:
        self._problem = ""
        self._stale = True
        try:
            self._own = load(self._name)
        except ConfigError as error:
            self._problem = str(error)

    def _make_file(self, kind: str) -> tuple[str, bytes]:
        """Name and content of a file; curves that are drawn don't change any more."""
        curves = self.curves
        if curves is None:
            raise ConfigError("nothing is drawn yet")
        content = png(curves.charts(), curves.title) if kind == "PNG" else curves.csv()
        return f"joint_step.{kind.lower()}", content

    # --- drawing ---

    def _make_plots(self, gui: Any) -> None:
        self._panel = gui.add_panel()
        self._panel.expand()  # also in a small window
        with self._panel.add_tab("Step of one joint"):
            cursor = {"sync": {"key": "time"}}
            empty = Chart("", np.zeros(2), (Curve("", np.zeros(2), OWN),))
            self.plots = [add_plot(gui, x_label, empty, cursor=cursor) for x_label in ("", TIME)]
            self._report = gui.add_html("")
        self._fill(*CANVAS)
        self.server.on_client_connect(self._follow)

    async def _follow(self, client: Any) -> None:
        """Fill the window of the browser that connected, or was resized, last.

        Runs in viser's own thread, as the sizes are told there: the last one told is the last one
        filled.
        """
        size = CANVAS

        async def fill_window(camera: Any) -> None:
            nonlocal size
            if (camera.image_width, camera.image_height) != size:
                size = camera.image_width, camera.image_height
                self._fill(*size)

        client.camera.on_update(fill_window)
        await fill_window(client.camera)  # after that, so that no size is missed

    def _fill(self, width: int, height: int) -> None:
        """Cover the empty canvas [px]."""
        self._panel.float(x=0, y=0, width=max(width, CANVAS[0] // 2), height=max(height, CANVAS[1]))
        plots = max(height, CANVAS[1]) - REPORT - FRAME
        for plot, fraction in zip(self.plots, (ANGLES, 1.0 - ANGLES), strict=True):
            plot.height = round(fraction * plots)

    def draw(self) -> None:
        """Compute and show the step, if something has changed."""
        refusal = self._refusal.message
        title = TITLE if self.curves is None else self.curves.title
        self.bar.show(
            BarState(
                f"refused: {refusal}" if refusal else title, level="error" if refusal else "good"
            )
        )
        if not self._stale:
            return
        self._stale = False
        settings = self._controls.read()
        title, callback, notes, alarms = self._law(settings)
        if math.isfinite(settings.step.velocity_limit):
            title += f", {settings.step.velocity_limit:g} deg/s"
        step = settings.step
        notes.insert(
            0, f"in force: {title}, T {1e3 * step.dt:g} ms, {step.start:g} to {step.target:g} deg"
        )
        run = respond(callback, settings.step)
        curves = Curves(title, settings.step, run, settings.line)
        self.curves = curves
        if curves.drawn < curves.run.time.size:
            notes.append(
                f"not drawn from {curves.run.time[curves.drawn]:.3f} s on, where it is far away"
            )
        if curves.step.size == 0.0:
            notes.append("the joint is at the target: no step")
        alarms += [message for message in (self._problem, curves.run.problem) if message]
        with self.server.atomic():
            self._controls.show_used()
            self._tab.show(f"{TITLE}: {settings.law}")
            for plot, chart in zip(self.plots, curves.charts(), strict=True):
                show(plot, chart)
            self._report.content = report(curves, notes, alarms)

    def _law(self, settings: StepSettings) -> tuple[str, Callback, list[str], list[str]]:
        """Name with gains, callback, notes and alarms of the chosen law."""
        gains = settings.gains
        acceleration = settings.acceleration
        if settings.law == PID:
            loop = Loop(gains["p"], gains["i"], gains["d"], settings.step.dt, gains["variant"])
            title = f"PID ({gains['p']:g}, {gains['i']:g}, {gains['d']:g})"
            verdict = [loop.verdict()]
            return (
                title,
                Pid(gains),
                (verdict if loop.stable else []) + loop.notes(),
                [] if loop.stable else verdict,
            )
        if settings.law == BRAKING:
            return (
                settings.law,
                Braking(gains["p"], acceleration),
                ["P, but never faster than it can brake"],
                [],
            )
        if settings.law == TRAPEZOIDAL:
            return (
                settings.law,
                Trapezoidal(acceleration),
                ["a trapezium of velocity, up to the limit"],
                [],
            )
        assert self._own is not None
        return settings.law, self._own, [], []
