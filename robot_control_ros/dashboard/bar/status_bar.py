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
from ..access import Right
from ..typed_numbers import TypedNumber

PATH = "/bar"  # of its websocket
# what a browser sends
STOP = "stop"
STOP_ALL = "stop all"
ACTIVATE = "activate"
# the same; six numbers come after the first, JSON after the second
JOG = "jog "
NUMBER = "number "
PERIOD = 0.1  # s between two states; a browser says after 0.7 s that none comes
FOLDER = Path(__file__).resolve().parent


@dataclass(frozen=True)
class BarState:
    """State that the bar shows."""

    state: str  # in a few words
    law: str = ""
    rate: str = ""
    level: str = "good"  # or warning, error
    lost: str = ""  # what is lost, in a sentence; the page is grey then
    jogs: bool = False  # whether keys and gamepad move the tip
    arm: str = ""  # name of the robot
    others: tuple[str, ...] = ()  # names of the other arms, which STOP ALL stops, too
    activates: bool = False  # whether the controller can be activated


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
    """

    def __init__(self) -> None:
        self.on_stop: Callable[[bool], None] | None = None
        self.on_activate: Callable[[], None] | None = None
        self.on_number: Callable[[TypedNumber], None] | None = None
        self.on_jog: Callable[[Array], None] | None = None
        # number of the last state, and its text for each right
        self._drawn: tuple[int, dict[Right, str]] = 0, {}
        names = (
            "status_bar.html",
            "status_bar.css",
            "status_bar.js",
            "names.js",
            "number_fields.js",
            "jog.js",
        )
        html, css, *scripts = ((FOLDER / name).read_text("utf-8") for name in names)
        self._head = f"<style>{css}</style></head>".encode()
        self._body = f"<body>{html}".encode()
        self._end = ("".join(f"<script>{each}</script>" for each in scripts) + "</body>").encode()

    def show(self, state: BarState) -> None:
        """Show a state, which is now true; each drawing calls it."""
        shown = asdict(state) | {"stops": self.on_stop is not None}
        texts = {right: json.dumps(shown | {"controls": right is Right.CONTROL}) for right in Right}
        self._drawn = self._drawn[0] + 1, texts

    def add_to(self, response: Response) -> None:
        """Add the bar to viser's page: the first on it, so that Tab comes to STOP first."""
        parts = ((b"</head>", self._head), (b"<body>", self._body), (b"</body>", self._end))
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
