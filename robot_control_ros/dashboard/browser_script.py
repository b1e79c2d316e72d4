"""HTML for what only the browser can do: the tab's title, the clipboard, a picture of the view."""

from __future__ import annotations

import html
import json
from collections.abc import Mapping
from typing import Any

from .markup import block

BUTTON = (
    "font:inherit;color:inherit;background:var(--rc-button);border:1px solid var(--rc-button-line);"
    "border-radius:4px;padding:0.2em 0.7em;margin:0.15em 0.3em 0.15em 0;cursor:pointer"
)
COPY = """const area = document.createElement('textarea');
area.value = document.getElementById(NAME).textContent;
document.body.append(area); area.select(); document.execCommand('copy'); area.remove();
this.style.outline = '2px solid var(--rc-done)'; setTimeout(() => this.style.outline = '', 700);"""
PICTURE = """const link = document.createElement('a');
const views = [...document.querySelectorAll('canvas')].sort((a, b) => b.width * b.height - a.width * a.height);
link.href = views[0].toDataURL('image/png');
link.download = NAME; link.click();"""


class BrowserTab:
    """Title of the browser's tab; the page's library has no call for it."""

    def __init__(self, gui: Any, title: str) -> None:
        self._title = ""
        self._handle = gui.add_html("")
        self.show(title)

    def show(self, title: str) -> None:
        """Make a text the title of every open tab."""
        if title != self._title:
            self._title = title
            script = html.escape(f"document.title = {json.dumps(title)}")
            self._handle.content = f'<img src="data:," alt="" hidden onerror="{script}">'


def copy_buttons(sources: Mapping[str, str]) -> str:
    """A button per name, that copies the text of the element with an identifier."""
    buttons = (
        _button(name, COPY, source, f"Copy as one line: {name}.")
        for name, source in sources.items()
    )
    return block("Copy: " + "".join(buttons))


def picture_button(file: str) -> str:
    """A button that saves the three-dimensional view as a PNG."""
    return block(_button("Save picture", PICTURE, file, "The view as it is now, as a PNG."))


def _button(label: str, script: str, name: str, hint: str) -> str:
    action = html.escape(script.replace("NAME", json.dumps(name)).replace("\n", " "))
    shown = html.escape(label), html.escape(hint), BUTTON
    return '<button type="button" title="{1}" style="{2}" onclick="{3}">{0}</button>'.format(
        *shown, action
    )
