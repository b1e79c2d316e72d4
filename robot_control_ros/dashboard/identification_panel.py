"""Identification of the arm that runs: its bounds are shown before it moves, and its figures afterwards."""

from __future__ import annotations

import base64
import html
from collections.abc import Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

from .availability import Availability
from .link import RobotLink
from .markup import AMBER, GREY, RED, block, note
from .page_thread import PageThread

PLAN = "Identify this arm"
MOVE = "Move within these bounds"
STOP = "Stop identification"
PREFIX = "controller/"
REQUESTS = {PLAN: "plan_identification", MOVE: "identify", STOP: "stop_identification"}
WHEN = {  # states in which a button is shown; the first one in all others
    MOVE: ("planned",),
    STOP: ("planning", "planned", "moving"),
}
INTRODUCTION = (
    "Measures delay, noise, friction and payload by a slow motion of each joint. "
    "First its bounds are shown; nothing moves before you agree."
)


class IdentificationPanel:
    """A folder with the buttons, and what the controller says of the identification.

    Attributes:
        available: whether the buttons that plan and move act.
    """

    def __init__(self, gui: Any, link: RobotLink, thread: PageThread) -> None:
        self._link = link
        self._thread = thread
        self._shown: object = None
        self._folder = gui.add_folder("Identification", expand_by_default=False, visible=False)
        with self._folder:
            gui.add_html(note(INTRODUCTION))
            self._buttons = {label: gui.add_button(label, visible=label == PLAN) for label in REQUESTS}
            self._progress = gui.add_progress_bar(0.0, visible=False)
            self._text = gui.add_html("")
        self.available = Availability(*(self._buttons[label] for label in (PLAN, MOVE)))
        for label, handle in self._buttons.items():
            thread.connect(handle, partial(self._request, PREFIX + REQUESTS[label]))

    def _request(self, name: str, clicked: bool) -> None:
        self._link.request(name, self._thread.reply())

    def draw(self, requests: frozenset[str]) -> None:
        """Show the last step, where it is a new one."""
        self._folder.visible = PREFIX + REQUESTS[PLAN] in requests
        step = self._link.identification()
        if step is self._shown:
            return
        self._shown = step
        state = step.get("state", "")
        for label, states in WHEN.items():
            self._buttons[label].visible = state in states
        self._buttons[PLAN].visible = not self._buttons[STOP].visible
        self._progress.visible = "progress" in step
        self._progress.value = 100.0 * step.get("progress", 0.0)
        self._text.content = _content(step)


def _content(step: Mapping[str, Any]) -> str:
    """The text of a step, in a colour for its state, with the file's place and the picture."""
    colour = {"planned": AMBER, "failed": RED}.get(step.get("state", ""), GREY)
    text = html.escape(step.get("text", "")).replace("\n", "<br>")
    content = block(text, f"color:{colour}")
    if "file" in step:
        content += note(f"Written to {step['file']}: for --imperfections and --measured.")
    with suppress(OSError, KeyError):  # another machine's
        picture = base64.b64encode(Path(step["picture"]).read_bytes()).decode()
        content += block(f'<img alt="angles and efforts" style="width:100%" src="data:image/png;base64,{picture}">')
    return content
