"""The speed of moves, for the slider in the bar: the controller's setting `limits.speed`."""

from __future__ import annotations

from ...control.requests import RequestResult
from ..link import RobotLink
from ..page_thread import PageThread

SPEED = "limits.speed"


class SpeedSetting:
    """Passes on the speed that was chosen last, one request at a time.

    Args:
        link: Link to the robot.
        thread: Thread of the page.
    """

    def __init__(self, link: RobotLink, thread: PageThread) -> None:
        self._link = link
        self._thread = thread
        self._wanted: float | None = None
        self._waiting = False

    @property
    def value(self) -> float | None:
        """The speed in force, from 0 to 1; None where the controller has no such setting."""
        parameter = self._link.parameters().get(SPEED)
        return None if parameter is None else float(parameter.value)  # type: ignore[arg-type]

    def take(self, fraction: float) -> None:
        """Take a fraction of the usual speed, from 0 to 1; from any thread."""
        self._thread.post(lambda: self._set(fraction))

    def _set(self, fraction: float) -> None:
        self._wanted = fraction
        self._send()

    def _send(self) -> None:
        if self._wanted is None or self._waiting or self.value is None:
            return
        wanted = self._wanted
        self._wanted = None
        self._waiting = True
        self._link.set_gains({SPEED: wanted}, self._thread.reply(self._settle))

    def _settle(self, result: RequestResult) -> None:
        self._waiting = False
        self._send()
