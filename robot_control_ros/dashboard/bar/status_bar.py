"""The bar's server side: it adds the bar to viser's page, sends the state, and takes STOP."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from websockets.exceptions import ConnectionClosed
from websockets.http11 import Response

PATH = "/bar"  # of its websocket
STOP = "stop"  # what a browser sends
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


class StatusBar:
    """A bar in every browser; each may press STOP. A state is sent only after a drawing: a silent page looks lost.

    Attributes:
        on_stop: called after STOP, in the server's thread; None: the bar has no STOP.
    """

    def __init__(self) -> None:
        self.on_stop: Callable[[], None] | None = None
        self._drawn = 0, ""  # number and text of the last state
        names = ("status_bar.html", "status_bar.css", "status_bar.js", "names.js")
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
        sending = asyncio.create_task(self._send(connection))
        try:
            with suppress(ConnectionClosed):
                async for message in connection:
                    if message == STOP and self.on_stop is not None:
                        self.on_stop()
        finally:
            sending.cancel()

    async def _send(self, connection: Any) -> None:
        sent = 0
        with suppress(ConnectionClosed):
            while True:
                number, text = self._drawn
                if number != sent:
                    sent = number
                    await connection.send(text)
                await asyncio.sleep(PERIOD)
