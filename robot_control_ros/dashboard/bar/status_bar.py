"""The bar's server side: it adds the bar to viser's page, sends the state, and takes
STOP and held keys.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from websockets.exceptions import ConnectionClosed
from websockets.http11 import Response

from ...core.types import Array
from .. import theme
from ..access import Right
from ..typed_numbers import TypedNumber

PATH = "/bar"  # of its websocket
# what a browser sends
STOP = "stop"
STOP_ALL = "stop all"
ACTIVATE = "activate"
# the same; behind them come six numbers, JSON, and one number
JOG = "jog "
NUMBER = "number "
SPEED = "speed "
PERIOD = 0.1  # s between two states; a browser says after 0.7 s that none comes
FOLDER = Path(__file__).resolve().parent
SCRIPTS = (
    "dark.js",
    "sheet.js",
    "status_bar.js",
    "speed.js",
    "view.js",
    "names.js",
    "number_fields.js",
    "jog.js",
)


@dataclass(frozen=True)
class Outlook:
    """From where a browser sees the whole arm, in the axes of the picture."""

    centre: tuple[float, float, float]  # of a ball around the arm [m]
    radius: float  # of the ball [m]
    towards: tuple[float, float, float]  # direction from the centre to the camera, of length 1
    floor: float  # height that the camera doesn't look below [m]


@dataclass(frozen=True)
class BarState:
    """State that the bar shows."""

    state: str  # in a few words
    law: str = ""
    rate: str = ""
    level: str = "good"  # or starting, warning, error
    lost: str = ""  # what is lost, in a sentence; the page is grey then
    jogs: bool = False  # whether keys and gamepad move the tip
    arm: str = ""  # name of the robot
    others: tuple[str, ...] = ()  # names of the other arms, which STOP ALL stops, too
    activates: bool = False  # whether the controller can be activated
    # fraction of their usual speed with which moves go; None where it can't be set
    speed: float | None = None
    view: Outlook | None = None  # None: the page's picture has no arm


class StatusBar:
    """A bar in every browser; each may press STOP. A state is sent only after a drawing: a silent
    page looks lost.

    Attributes:
        on_number: Function that is called in the server's thread with what was typed into a field,
            by those who may control.
        on_stop: Function that is called after STOP, in the server's thread, with True where all
            arms are meant. None: there is no STOP.
        on_activate: Function that is called in the server's thread after Activate, of those who may
            control.
        on_jog: Function that is called in the server's thread with the deflection (6,) of keys and
            gamepad, from -1 to 1, of those who may control.
        on_speed: Function that is called in the server's thread with the fraction of the usual
            speed, from 0 to 1, that somebody who may control has chosen.
        sheet_starts_open: True where the panel of a small window is open at first.
    """

    def __init__(self) -> None:
        self.on_stop: Callable[[bool], None] | None = None
        self.on_activate: Callable[[], None] | None = None
        self.on_number: Callable[[TypedNumber], None] | None = None
        self.on_jog: Callable[[Array], None] | None = None
        self.on_speed: Callable[[float], None] | None = None
        self.sheet_starts_open = False
        # number of the last state, and its text for each right
        self._drawn: tuple[int, dict[Right, str]] = 0, {}
        names = ("status_bar.html", "status_bar.css", *SCRIPTS)
        html, css, *scripts = ((FOLDER / name).read_text("utf-8") for name in names)
        self._head = f"<style>{theme.style()}{css}</style></head>".encode()
        self._html = html
        self._end = ("".join(f"<script>{each}</script>" for each in scripts) + "</body>").encode()

    def show(self, state: BarState) -> None:
        """Show a state, which is now true; each drawing calls it."""
        shown = asdict(state) | {"stops": self.on_stop is not None}
        texts = {right: json.dumps(shown | {"controls": right is Right.CONTROL}) for right in Right}
        self._drawn = self._drawn[0] + 1, texts

    def add_to(self, response: Response) -> None:
        """Add the bar to viser's page: the first on it, so that Tab comes to STOP first."""
        html = self._html
        if self.sheet_starts_open:
            html = html.replace('data-sheet-starts="closed"', 'data-sheet-starts="open"')
        bar = f"<body>{html}".encode()
        parts = ((b"</head>", self._head), (b"<body>", bar), (b"</body>", self._end))
        body = response.body
        for mark, part in parts:
            before, _, after = body.rpartition(mark)
            body = before + part + after
        response.body = body
        del response.headers["Content-Length"]
        response.headers["Content-Length"] = str(len(body))

    async def serve(self, connection: Any) -> None:
        """Serve one browser, until it goes."""
        sending = asyncio.create_task(self._send(connection))
        jogs = False
        try:
            with suppress(ConnectionClosed):
                async for message in connection:
                    if message in (STOP, STOP_ALL) and self.on_stop is not None:
                        self.on_stop(message == STOP_ALL)
                    elif connection.right is not Right.CONTROL:
                        continue
                    elif message == ACTIVATE and self.on_activate is not None:
                        self.on_activate()
                    elif (number := _typed(message)) is not None:
                        self._number(number)
                    elif (speed := _speed(message)) is not None:
                        self._set_speed(speed)
                    elif (deflection := _deflection(message)) is not None:
                        self._jog(deflection)
                        jogs = bool(deflection.any())
        finally:
            sending.cancel()
            if jogs:
                self._jog(np.zeros(6))

    def _number(self, number: TypedNumber) -> None:
        if self.on_number is not None:
            self.on_number(number)

    def _jog(self, deflection: Array) -> None:
        if self.on_jog is not None:
            self.on_jog(deflection)

    def _set_speed(self, speed: float) -> None:
        if self.on_speed is not None:
            self.on_speed(speed)

    async def _send(self, connection: Any) -> None:
        sent = 0
        with suppress(ConnectionClosed):
            while True:
                number, texts = self._drawn
                if number != sent:
                    sent = number
                    await connection.send(texts[connection.right])
                await asyncio.sleep(PERIOD)


def _typed(message: Any) -> TypedNumber | None:
    """The number that was typed, in a message; None where it is another message."""
    if not isinstance(message, str) or not message.startswith(NUMBER):
        return None
    return TypedNumber.read(message.removeprefix(NUMBER))


def _deflection(message: Any) -> Array | None:
    """The six numbers of a message, each within -1 and 1; None where it is another message."""
    if not isinstance(message, str) or not message.startswith(JOG):
        return None
    with suppress(ValueError):
        numbers = np.array(message.removeprefix(JOG).split(), dtype=float)
        if numbers.shape == (6,) and np.isfinite(numbers).all():
            return np.asarray(np.clip(numbers, -1.0, 1.0))
    return None


def _speed(message: Any) -> float | None:
    """The fraction of the usual speed in a message, within 0 and 1; None in another message."""
    if not isinstance(message, str) or not message.startswith(SPEED):
        return None
    with suppress(ValueError):
        speed = float(message.removeprefix(SPEED))
        if 0.0 < speed <= 1.0:
            return speed
    return None
