"""Moving the tip with the keyboard and a gamepad of the browser: motion only
while something is held.
"""

from __future__ import annotations

import threading
import time
from typing import Any

import numpy as np

from ...core.types import Array
from ..availability import Availability
from ..link import RobotLink
from ..markup import block

FRESH = 0.25  # s after which what a browser has sent doesn't move the tip any more
BASE = "base"
TIP = "tip"
REST = np.zeros(6)
HELP = """Hold a key, and the tip moves; let it go, and it stops.<br>
<b>W S</b> x, <b>A D</b> y, <b>E Q</b> z; turns: <b>U O</b> about x, <b>I K</b> about y, <b>J L</b> about z.<br>
Gamepad: hold the <b>left shoulder button</b>. Left stick x and y, triggers z, right stick turns about z and y.<br>
A window without focus stops the tip."""


class JogPanel:
    """A switch, a speed and axes. The deflection of keys and sticks comes from the bar's script,
    see jog.js.

    Attributes:
        available: Availability of the switch, see :class:`~..availability.Availability`.
    """

    def __init__(self, gui: Any, link: RobotLink) -> None:
        self._link = link
        # the server's thread takes deflections and STOP, the page's thread draws
        self._lock = threading.Lock()
        self._deflection = REST
        self._came = 0.0
        self._moves = False
        self._must_release = False
        self._switch = gui.add_checkbox(
            "Keys and gamepad", False, hint="Move the tip while a key is held."
        )
        self.available = Availability(self._switch)
        hint = "Of the tip's limits of speed."
        self._speed = gui.add_slider(
            "Jog speed [%]", min=1.0, max=100.0, step=1.0, initial_value=20.0, hint=hint
        )
        self._axes = gui.add_dropdown(
            "Jog axes", (BASE, TIP), hint="Whose x, y and z the keys mean."
        )
        gui.add_html(block(HELP))

    @property
    def on(self) -> bool:
        """True where keys and sticks move the tip."""
        return bool(self._switch.value)

    def take(self, deflection: Array) -> None:
        """Take a browser's deflection (6,), each number from -1 to 1; from any thread."""
        with self._lock:
            if not deflection.any():
                self._must_release = False
            self._deflection = deflection
            self._came = time.monotonic()

    def stop(self) -> None:
        """Stop the tip: what is held must be let go before it moves again."""
        with self._lock:
            self._must_release = bool(self._deflection.any())

    def draw(self, commands: bool) -> bool:
        """Send the twist that is wanted, if the controller commands the robot.

        Returns True where the tip is moved.
        """
        with self._lock:
            moves = (
                self.on
                and commands
                and not self._must_release
                and time.monotonic() - self._came < FRESH
            )
            deflection = self._deflection if moves else REST
        before = self._moves
        self._moves = bool(deflection.any())
        if self._moves or before:
            robot = self._link.robot
            full = 0.01 * self._speed.value * np.repeat((robot.tip_speed[0], robot.tip_speed[1]), 3)
            frame = robot.base if self._axes.value == BASE else robot.tip
            self._link.set_target_twist(full * deflection, frame)
        return self._moves
