"""The joint's page: the step of one joint, drawn anew as its gains move, beside the curves of the source."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...core.errors import ConfigError
from ...core.types import Array
from ...simulation.joint_step.callbacks import Braking, Pid, Trapezoidal, load
from ...simulation.joint_step.response import Callback, respond
from ...simulation.joint_step.stability import Loop
from ..server import open_server, until_interrupted
from ..turns import Turns
from ..uplot import fill
from .controls import BRAKING, PID, TRAPEZOIDAL, JointControls, StepSettings
from .curves import OWN, REFERENCE, TARGET, Curves
from .step_report import HEIGHT as REPORT
from .step_report import report

TITLE = "One joint"
CANVAS = (950, 720)  # px: what a window of 1280 x 720 leaves beside the controls
FRAME = 124  # px, of the panel's height, that neither plots nor report have
SHARE = 0.65  # of the angle's plot in the height of both


class JointPage:
    """The page, until it is closed.

    Args:
        host: address to listen on.
        port: the first to try; where it is taken, the next free one is.
        callback: a user's law of the joint, ``package.module:function``; see
            :class:`~robot_control_ros.simulation.joint_step.response.JointInput`.

    Attributes:
        port: that it listens on.
        server: viser's.
        curves: what is shown; None until the first drawing.

    Raises:
        ConfigError: the callback can't be loaded.
    """

    def __init__(self, host: str = "127.0.0.1", port: int = 8080, callback: str = "") -> None:
        self._name = callback
        self._own: Callback | None = load(callback) if callback else None
        self._problem = ""
        self._stale = True
        self.curves: Curves | None = None
        self.server = open_server(TITLE, host, port)
        self.port = self.server.get_port()
        self._turns = Turns(self._draw, self._tell)
        gui = self.server.gui
        self._controls = JointControls(gui, self._turns, callback, self._change)
        if callback:
            again = gui.add_button_group("My law", ("Load again",), hint=f"{callback}, from its file as it is now.")
            again.on_click(self._turns.callback(self._load))
        files = gui.add_button_group("Save as", ("PNG", "CSV"), hint="The plots as a picture; every sample as text.")
        files.on_click(self._save)
        self._make_plots(gui)
        self._turns.start()

    def close(self) -> None:
        """End it."""
        self._turns.close()
        self.server.stop()

    def _change(self) -> None:
        self._stale = True

    def _tell(self, message: str) -> None:
        self._problem = message

    def _load(self) -> None:
        self._problem, self._stale = "", True
        try:
            self._own = load(self._name)
        except ConfigError as error:
            self._tell(str(error))

    def _save(self, event: Any) -> None:
        """In viser's thread, as a picture takes its time; what is drawn doesn't change any more."""
        kind, curves = event.target.value, self.curves
        if curves is None:
            return
        try:
            content = curves.png() if kind == "PNG" else curves.csv().encode()
        except ConfigError as error:
            event.client.add_notification("Not saved", str(error), color="red")
            return
        event.client.send_file_download(f"joint_step.{kind.lower()}", content, save_immediately=True)

    # --- drawing ---

    def _make_plots(self, gui: Any) -> None:
        nothing: Any = (np.zeros(2), np.zeros(2))
        series: Any = ({}, {})  # until the first drawing
        self._panel = gui.add_panel()
        with self._panel.add_tab("Step of one joint"):
            self._angles = gui.add_uplot(nothing, series, **_layout("angle [deg]", ""))
            self._commands = gui.add_uplot(nothing, series, **_layout("command [deg/s]", "time [s]"))
            self._report = gui.add_html("")
        self._fill(*CANVAS)
        self.server.on_client_connect(self._follow)

    def _follow(self, client: Any) -> None:
        """Fill the window of the browser that came, or was resized, last."""
        size = CANVAS

        def fill() -> None:
            nonlocal size
            now = client.camera.image_width, client.camera.image_height
            if now != size:
                size = now
                self._fill(*now)

        client.camera.on_update(lambda camera: fill())
        fill()  # after that: a size that comes in between isn't missed

    def _fill(self, width: int, height: int) -> None:
        """Over the canvas [px], which has nothing to show."""
        self._panel.float(x=0, y=0, width=max(width, CANVAS[0] // 2), height=max(height, CANVAS[1]))
        plots = max(height, CANVAS[1]) - REPORT - FRAME
        self._angles.height, self._commands.height = round(SHARE * plots), round((1.0 - SHARE) * plots)

    def _draw(self) -> None:
        if not self._stale:
            return
        self._stale = False
        settings = self._controls.read()
        title, callback, notes, alarms = self._law(settings)
        if math.isfinite(settings.step.velocity_limit):
            title += f", {settings.step.velocity_limit:g} deg/s"
        self.curves = curves = Curves(title, settings.step, respond(callback, settings.step), settings.line)
        if curves.drawn < curves.run.time.size:
            notes.append(f"not drawn from {curves.run.time[curves.drawn]:.3f} s on, where it is far away")
        if curves.step.size == 0.0:
            notes.append("the target is where the joint is: no step")
        alarms += [message for message in (self._problem, curves.run.problem) if message]
        with self.server.atomic():
            self._controls.show_used()
            own = _line("this joint", OWN)
            target = _line("target", TARGET, width=1, dash=(2, 4))
            _plot(self._angles, curves.angles(), (own, target, *_beside(curves)))
            _plot(self._commands, curves.commands(), (own, *_beside(curves)[:1]))
            self._report.content = report(curves, notes, alarms)

    def _law(self, settings: StepSettings) -> tuple[str, Callback, list[str], list[str]]:
        """Its name with gains, itself, what can be said of it, and what is wrong with it."""
        gains, acceleration = settings.gains, settings.acceleration
        if settings.law == PID:
            loop = Loop(gains["p"], gains["i"], gains["d"], settings.step.dt, gains["variant"])
            title = f"PID ({gains['p']:g}, {gains['i']:g}, {gains['d']:g})"
            verdict = [loop.verdict()]
            return title, Pid(gains), (verdict if loop.stable else []) + loop.notes(), [] if loop.stable else verdict
        if settings.law == BRAKING:
            return settings.law, Braking(gains["p"], acceleration), ["P, but never faster than can be braked"], []
        if settings.law == TRAPEZOIDAL:
            return settings.law, Trapezoidal(acceleration), ["velocity as a trapezium, up to the limit"], []
        assert self._own is not None
        return settings.law, self._own, [], []


def serve_joint(host: str, port: int, callback: str) -> int:
    """The page until Ctrl-C; its address is printed. Returns the exit status.

    Raises:
        ConfigError: the callback can't be loaded.
    """
    return until_interrupted(JointPage(host, port, callback), "one joint", host, port)


def _layout(label: str, below: str) -> dict[str, Any]:
    """How a plot over time looks."""
    time = {"label": below, "labelSize": 20, "size": 32} if below else {"size": 32}
    return {
        "axes": (time, {"label": label, "labelSize": 22, "size": 64}),
        "scales": {"x": {"time": False}},
        "padding": (8, 24, 0, 0),
        "cursor": {"sync": {"key": "time"}},
    }


def _line(label: str, colour: str, **more: Any) -> dict[str, Any]:
    return {"label": label, "stroke": colour, "width": 2, "points": {"show": False}, **more}


def _beside(curves: Curves) -> tuple[dict[str, Any], ...]:
    """The source's curve and its dots."""
    if curves.line is None:
        return ()
    dots = {"show": True, "size": 8, "fill": REFERENCE, "stroke": "white", "width": 1}
    return (
        _line(f"source {curves.line.name}", REFERENCE, dash=(7, 5)),
        _line("● as printed there", REFERENCE, width=0, points=dots),
    )


def _plot(plot: Any, data: tuple[Array, ...], lines: tuple[dict[str, Any], ...]) -> None:
    """New data; new lines only where they differ, as that forgets the zoom."""
    series = ({"label": "time [s]"}, *lines)
    if series != plot.series:
        plot.series = series
    fill(plot, *data)
