"""What was refused: the last one for some seconds, and the newest in a list."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Mapping

SHOWN = 12.0  # s
KEPT = 10  # refusals in the list
COUNT = "refusals"  # the controller's values in /diagnostics
LAST = "last refusal"


class LastRefusal:
    """Refusals of this page's requests, and those that the controller reports of others'.

    Attributes:
        listed: The newest refusals with the time of day, the newest first.
    """

    def __init__(self) -> None:
        self._message = ""
        self._at = 0.0
        self._count = ""  # as the controller reported it last
        self.listed: deque[str] = deque(maxlen=KEPT)

    @property
    def message(self) -> str:
        """The message while it is shown; then empty."""
        return self._message if time.monotonic() - self._at < SHOWN else ""

    def show(self, message: str) -> None:
        """Show a message from now on."""
        self._message = message
        self._at = time.monotonic()
        self._list(message)

    def look(self, diagnosis: Mapping[str, str]) -> None:
        """Add what the controller has refused since the last look."""
        count = diagnosis.get(COUNT, "")
        if count != self._count:
            self._count = count
            message = diagnosis.get(LAST, "")
            if message and not (self.listed and message in self.listed[0]):
                self._list(message)

    def _list(self, message: str) -> None:
        self.listed.appendleft(f"{time.strftime('%H:%M:%S')} {message}")
