"""The controller's last minute in a file: a button, and where the file is."""

from __future__ import annotations

import html
from typing import Any

from ..control.requests import RequestResult
from .browser_script import copy_buttons
from .link import RobotLink
from .markup import block, note, span
from .page_thread import PageThread
from .theme import GREY, RED

SAVE = "Save the last minute"
REQUEST = "controller/save_record"
HINT = "Each cycle of the last 60 s as an MCAP file, for robot_control replay, PlotJuggler and Foxglove."
PATH = "record-path"  # identifier of the path's element


class RecordsPanel:
    """A folder with the button, and what became of the request."""

    def __init__(self, gui: Any, link: RobotLink, thread: PageThread) -> None:
        self._link = link
        self._thread = thread
        self._folder = gui.add_folder("Records", visible=False)
        with self._folder:
            thread.connect(gui.add_button(SAVE, hint=HINT), self._save)
            self._text = gui.add_html("")

    def draw(self, requests: frozenset[str]) -> None:
        """Show the folder where the controller writes records."""
        self._folder.visible = REQUEST in requests

    def _save(self, clicked: bool) -> None:
        self._text.content = note("…")
        self._link.request(REQUEST, self._thread.reply(self._show))

    def _show(self, result: RequestResult) -> None:
        self._text.content = (
            written(result.message) if result.accepted else note(result.message, RED)
        )


def written(path: str) -> str:
    """HTML that tells the path of a file, with a button that copies it."""
    where = f'<span id="{PATH}" style="overflow-wrap:anywhere">{html.escape(path)}</span>'
    text = span("Written, on the controller's machine, to", GREY)
    return block(f"{text}<br>{where}") + copy_buttons({"path": PATH})
