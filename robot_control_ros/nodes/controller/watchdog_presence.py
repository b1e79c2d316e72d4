"""Notices that the watchdog has gone, and says what the controller does then."""

from __future__ import annotations

import time

from std_msgs.msg import Empty

from ...core.errors import unknown
from ...core.timeout import Timeout
from ...ros.entities import Entities
from ...ros.qos import STATE_QOS
from ...ros.system_check import WATCHDOG_ALIVE

LOST_AFTER = 0.3  # s without a sign of life
REACTIONS = ("profile", "go_on", "hold", "stop")


class WatchdogPresence:
    """Listens to the watchdog's signs of life. A watchdog that was never heard isn't missed.

    Args:
        entities: Entities that the subscription is made with.
        reaction: `go_on`, `hold` (motions end, targets are refused), `stop` (the safe output), or
            `profile`: go on in a simulation, hold a real robot.
        simulated: True where the profile is that of a simulation.

    Attributes:
        lost: True where the watchdog was there and has gone.

    Raises:
        ConfigError: The reaction is none of these.
    """

    def __init__(self, entities: Entities, reaction: str, simulated: bool) -> None:
        if reaction not in REACTIONS:
            raise unknown("without_watchdog", reaction, REACTIONS)
        if reaction == "profile":
            reaction = "go_on" if simulated else "hold"
        self._reaction = reaction
        self._heard = False
        self.lost = False
        self._silence = Timeout(LOST_AFTER)
        entities.subscription(Empty, WATCHDOG_ALIVE, self._on_sign, STATE_QOS)

    @property
    def text(self) -> str:
        """Message that the watchdog has gone, and what is done then; empty where it hasn't."""
        if not self.lost:
            return ""
        done = {
            "go_on": "the law goes on",
            "hold": "the arm holds, and takes no targets until the watchdog is back",
            "stop": "the safe output is sent until the watchdog is back",
        }
        return f"the watchdog has gone: nobody brakes the arm where this controller dies; {done[self._reaction]}"

    @property
    def holds(self) -> bool:
        """True while no targets are taken, as the watchdog has gone."""
        return self.lost and self._reaction != "go_on"

    @property
    def stops(self) -> bool:
        """True while the safe output is sent, as the watchdog has gone."""
        return self.lost and self._reaction == "stop"

    def look(self, now: float) -> bool:
        """Return True where it has gone or come back since the last look; `now` is steady [s]."""
        before = self.lost
        self.lost = self._heard and self._silence.poll(now) > LOST_AFTER
        return self.lost is not before

    def _on_sign(self, message: Empty) -> None:
        self._heard = True
        self._silence.restart(time.monotonic())
