"""The bar's server side: it adds the bar to viser's page, sends the state, and takes STOP and held keys."""

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

PATH = "/bar"  # of its websocket
STOP, JOG = "stop", "jog "  # what a browser sends; six numbers come after the second
PERIOD = 0.1  # s between two states; a browser says after 0.7 s that none comes
FOLDER = Path(__file__).resolve().parent


@dataclass(frozen=True)
class BarState:
    """What the bar shows."""

    state: str  # in a few words
    law: str = ""
    rate: str = ""
    level: str = "good"  # or warning, error
    lost: str = ""  # what is lost, in a sentence; the page is grey then
    jogs: bool = False  # whether keys and gamepad move the tip


class StatusBar:
    """A bar in every browser; each may press STOP. A state is sent only after a drawing: a silent page looks lost.

    Attributes:
        on_stop: called after STOP, in the server's thread; None: the bar has no STOP.
        on_jog: called there with the deflection (6,) of keys and gamepad, from -1 to 1, of those who may control.
    """

    def __init__(self) -> None:
        self.on_stop: Callable[[], None] | None = None
        self.on_jog: Callable[[Array], None] | None = None
        self._drawn = 0, ""  # number and text of the last state
        names = ("status_bar.html", "status_bar.css", "status_bar.js", "names.js", "jog.js")
        html, css, *scripts = ((FOLDER / name).read_text("utf-8") for name in names)
        self._head = f"<style>{css}</style></head>".encode()
        self._body = f"<body>{html}".encode()
        self._end = ("".join(f"<script>{each}</script>" for each in scripts) + "</body>").encode()

    def show(self, state: BarState) -> None:
        """Show a state, which is now true; each drawing calls it."""
        text = json.dumps(asdict(state) | {"stops": self.on_stop is not None})
        self._drawn = self._drawn[0] + 1, text

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
        """One browser, until it goes."""
        sending, jogs = asyncio.create_task(self._send(connection)), False
        try:
            with suppress(ConnectionClosed):
                async for message in connection:
                    if message == STOP and self.on_stop is not None:
                        self.on_stop()
                    elif connection.right is Right.CONTROL and (deflection := _deflection(message)) is not None:
                        self._jog(deflection)
                        jogs = bool(deflection.any())
        finally:
            sending.cancel()
            if jogs:
                self._jog(np.zeros(6))

    def _jog(self, deflection: Array) -> None:
        if self.on_jog is not None:
            self.on_jog(deflection)

    async def _send(self, connection: Any) -> None:
        sent = 0
        with suppress(ConnectionClosed):
            while True:
                number, text = self._drawn
                if number != sent:
                    sent = number
                    await connection.send(text)
                await asyncio.sleep(PERIOD)


def _deflection(message: Any) -> Array | None:
    """The six numbers of a message, each within -1 and 1; None where it is another one."""
    if not isinstance(message, str) or not message.startswith(JOG):
        return None
    with suppress(ValueError):
        numbers = np.array(message.removeprefix(JOG).split(), dtype=float)
        if numbers.shape == (6,) and np.isfinite(numbers).all():
            return np.asarray(np.clip(numbers, -1.0, 1.0))
    return None
