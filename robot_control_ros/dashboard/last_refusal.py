"""What was refused last, shown for some seconds."""

from __future__ import annotations

import time

SHOWN = 12.0  # s


class LastRefusal:
    """The message of the last refusal."""

    def __init__(self) -> None:
        self._message = ""
        self._at = 0.0

    @property
    def message(self) -> str:
        """The message while it is shown; then empty."""
        return self._message if time.monotonic() - self._at < SHOWN else ""

    def show(self, message: str) -> None:
        """Show a message from now on."""
        self._message = message
        self._at = time.monotonic()
