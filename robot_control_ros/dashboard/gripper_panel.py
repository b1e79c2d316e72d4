"""The gripper: open, close, a width with a force, and what it holds."""

from __future__ import annotations

from typing import Any

from ..core.errors import RobotControlError
from ..robot.fingers import FingerModel
from ..robot.gripper import Fingers, describe_grip
from .availability import Availability
from .markup import note
from .page_thread import PageThread
from .theme import AMBER
from .view.robot_view import RobotView

OPEN = "Open"
CLOSE = "Close"
STEP = 1.0  # mm and N


class GripperPanel:
    """A folder with two buttons and two sliders; the fingers of `view` move as they do."""

    def __init__(self, gui: Any, fingers: Fingers, thread: PageThread, view: RobotView) -> None:
        self._fingers = fingers
        self._view = view
        config = fingers.config
        self._model = FingerModel(config)
        self._refusal = ""
        self._shown = ""
        with gui.add_folder("Gripper"):
            buttons = gui.add_button_group(
                "Gripper", (OPEN, CLOSE), hint="The gripper keeps the last command."
            )
            low = 1e3 * config.widths[-1]
            high = 1e3 * config.widths[0]
            self._width = gui.add_slider(
                "Width [mm]", low, high, STEP, high, hint="Between the fingers."
            )
            least, most = config.force
            hint = "Of each finger, at most; it goes with the next command."
            self._force = gui.add_slider(
                "Force [N]", least, most, STEP, config.default_force, hint=hint
            )
            self._text = gui.add_html("")
        self._available = Availability(buttons, self._width)
        places = dict(zip((OPEN, CLOSE), config.positions, strict=True))
        thread.connect(buttons, lambda label: self._press(places[label]))
        thread.connect(
            self._width,
            lambda width: self._command(config.position(min(1e-3 * width, config.widths[0]))),
        )

    def _press(self, position: float) -> None:
        self._width.value = 1e3 * self._fingers.config.width(position)
        self._command(position)

    def _command(self, position: float) -> None:
        try:
            self._fingers.command(position, self._force.value)
            self._refusal = ""
        except RobotControlError as error:
            self._refusal = str(error)

    def draw(self) -> None:
        """Show what the fingers do."""
        fingers = self._fingers
        lost = "" if fingers.ready else f"nobody takes commands of {fingers.config.controller}"
        self._available.draw(lost)
        refusal = self._refusal or fingers.refusal or lost
        text = note(refusal, AMBER) if refusal else note(describe_grip(fingers.grip))
        if text != self._shown:
            self._shown = text
            self._text.content = text
        if (grip := self._fingers.grip) is not None:
            self._view.draw_beside(
                self._model.root, self._model.poses(self._fingers.config.position(grip.width))
            )
