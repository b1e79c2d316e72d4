"""The stop that a robot makes by itself: the first choice where its joint states have ended."""

from __future__ import annotations

import math
from typing import Any

from std_srvs.srv import Trigger

from ..robot.configuration import RobotConfig
from .entities import Entities
from .fallback import Fallback

RETRY = 1.0  # s between two requests


class OwnStop:
    """Calls the profile's `stop_service`, and requests its `fallback_controller`.

    The answers go to the log, and nothing waits for them. Meanwhile the caller brakes the robot
    without joint states.

    Args:
        entities: Entities that the client is made with.
        robot: Configuration of the robot; its profile names the service and the controller.
        fallback: Fallback controller that is requested, too.
    """

    def __init__(self, entities: Entities, robot: RobotConfig, fallback: Fallback) -> None:
        self._log = entities.node.get_logger()
        self._name = robot.profile.stop_service
        self._client: Any = entities.client(Trigger, self._name) if self._name else None
        self._fallback = fallback
        self._since = -math.inf
        self._next = -math.inf
        self._stopped = False

    def ask(self, now: float, since: float) -> bool:
        """Ask once a second until the robot has stopped.

        Returns True where it has stopped by itself, or the fallback controller has it.

        Args:
            now: Present steady time [s].
            since: Steady time when the joint states ended, or the blind braking began [s].
        """
        if since != self._since:
            self._since = since
            self._next = -math.inf
            self._stopped = False
        if self._client is not None and not self._stopped and now >= self._next:
            self._next = now + RETRY
            if self._client.service_is_ready():
                self._client.call_async(Trigger.Request()).add_done_callback(self._on_answer)
            else:
                self._log.error(
                    f"{self._name} doesn't answer: the robot is not asked to stop by itself"
                )
        return self._fallback.has_robot(now, since) or self._stopped

    def _on_answer(self, future: Any) -> None:
        answer = future.result()
        if answer.success:
            self._stopped = True
            self._log.info(f"{self._name}: the robot stops by itself")
        else:
            self._log.error(f"{self._name} was refused: {answer.message}")
