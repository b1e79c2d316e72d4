"""Identification of the arm that runs: its bounds are shown before it moves, and its
figures afterwards.
"""

from __future__ import annotations

import base64
import html
from collections.abc import Callable
from functools import partial
from typing import Any

from ..core.errors import RobotControlError
from ..identification.dialog import IdentificationStep
from .availability import Availability
from .link import RobotLink
from .markup import block, note
from .page_thread import PageThread
from .theme import AMBER, GREY, RED

PLAN = "Identify this arm"
MOVE = "Move within these bounds"
STOP = "Stop identification"
HOLD = "controller/hold"  # request of a controller that can be identified
SHOWN_IN = {  # states in which a button is shown; the first one in all others
    MOVE: ("planned",),
    STOP: ("planning", "planned", "moving"),
}
INTRODUCTION = (
    "Measures delay, noise, friction and payload by a slow motion of each joint. "
    "First its bounds are shown; nothing moves before you agree."
)


class IdentificationPanel:
    """A folder with the buttons, and the last step of the identification.

    Args:
        gui: Part of the page that gets the folder.
        link: Link to the robot.
        thread: Thread of the page.

    Attributes:
        available: Availability of the buttons that plan and move.
    """

    def __init__(self, gui: Any, link: RobotLink, thread: PageThread) -> None:
        identification = link.identification
        self._identification = identification
        self._thread = thread
        self._shown: IdentificationStep | None = None
        actions = {PLAN: identification.plan, MOVE: identification.agree, STOP: identification.stop}
        self._folder = gui.add_folder("Identification", expand_by_default=False, visible=False)
        with self._folder:
            gui.add_html(note(INTRODUCTION))
            self._buttons = {
                label: gui.add_button(label, visible=label == PLAN) for label in actions
            }
            self._progress = gui.add_progress_bar(0.0, visible=False)
            self._text = gui.add_html("")
        self.available = Availability(*(self._buttons[label] for label in (PLAN, MOVE)))
        for label, handle in self._buttons.items():
            thread.connect(handle, partial(self._act, actions[label]))

    def _act(self, action: Callable[[], None], clicked: bool) -> None:
        try:
            action()
        except RobotControlError as error:
            self._thread.refuse(str(error))

    def draw(self, requests: frozenset[str]) -> None:
        """Show the last step, where it is a new one."""
        self._folder.visible = HOLD in requests
        step = self._identification.step
        if step is None or step is self._shown:
            return
        self._shown = step
        for label, states in SHOWN_IN.items():
            self._buttons[label].visible = step.state in states
        self._buttons[PLAN].visible = not self._buttons[STOP].visible
        self._progress.visible = step.progress is not None
        self._progress.value = 100.0 * (step.progress or 0.0)
        self._text.content = _content(step)


def _content(step: IdentificationStep) -> str:
    """The text of a step in the colour of its state, with the file's place and the picture."""
    colour = {"planned": AMBER, "failed": RED}.get(step.state, GREY)
    text = html.escape(step.text).replace("\n", "<br>")
    content = block(text, f"color:{colour}")
    if step.file is not None:
        content += note(f"Written to {step.file}: for --imperfections and --measured.")
    if step.picture is not None:
        picture = base64.b64encode(step.picture.read_bytes()).decode()
        content += block(
            f'<img alt="angles and efforts" style="width:100%" src="data:image/png;base64,{picture}">'
        )
    return content
