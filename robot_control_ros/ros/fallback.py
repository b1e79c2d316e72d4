"""The fallback controller of ros2_control: it gets the robot where this package can't lead it."""

from __future__ import annotations

import math
from typing import Any

from rclpy.duration import Duration

from ..robot.configuration import RobotConfig
from .controller_manager import manager_services
from .entities import Entities, in_namespace

RETRY = 1.0  # s between two requests
# s for a switch of controllers: the default of `ros2 control switch_controllers`
SWITCH_TIMEOUT = 5.0


class Fallback:
    """Requests the profile's fallback controller of ros2_control's controller manager, until it is
    active.

    Where the profile has none, or controller_manager_msgs isn't installed, nothing is requested.
    """

    def __init__(self, entities: Entities, robot: RobotConfig) -> None:
        self._profile = robot.profile
        self._log = entities.node.get_logger()
        # steady time of the next request
        self._next = -math.inf
        self._taken = False
        self._since = -math.inf
        self._client: Any = None
        self._switch = f"a switch to {robot.profile.fallback_controller}"
        if not (self._profile.controller_manager and self._profile.fallback_controller):
            return
        self._manager = in_namespace(entities.node, self._profile.controller_manager)
        services = manager_services()
        if services is None:
            without = f"{self._profile.fallback_controller} will not be activated where ours can't lead the robot"
            self._log.warning(f"controller_manager_msgs isn't installed: {without}")
            return
        self._kind = services.SwitchController
        self._client = entities.client(self._kind, f"{self._manager}/switch_controller")

    def has_robot(self, now: float, since: float) -> bool:
        """Return True where the fallback controller has the robot; else request it once a second.

        The answers go to the log.

        Args:
            now: Present steady time [s].
            since: Steady time when this package's controller ceased to lead the robot [s].
        """
        if since != self._since:
            self._since = since
            self._next = -math.inf
            self._taken = False
        if self._client is None or self._taken or now < self._next:
            return self._taken
        self._next = now + RETRY
        if self._client.service_is_ready():
            self._client.call_async(self._request()).add_done_callback(self._on_answer)
        else:
            self._log.error(f"{self._manager} doesn't answer: {self._switch} isn't possible")
        return False

    def _request(self) -> Any:
        # controller_manager_msgs, srv/SwitchController.srv: BEST_EFFORT doesn't mind controllers
        # that are inactive
        profile = self._profile
        request = self._kind.Request()
        taking = {profile.controllers[mode] for mode in profile.commands} - {
            profile.fallback_controller
        }
        request.deactivate_controllers = sorted(taking)
        request.activate_controllers = [profile.fallback_controller]
        request.strictness = self._kind.Request.BEST_EFFORT
        request.timeout = Duration(seconds=SWITCH_TIMEOUT).to_msg()
        return request

    def _on_answer(self, future: Any) -> None:
        answer = future.result()
        if answer.ok:
            if not self._taken:  # an earlier request may be answered late
                self._log.info(f"{self._profile.fallback_controller} is active")
            self._taken = True
        else:  # before Jazzy there is no message
            self._log.error(f"{self._switch} was refused: {getattr(answer, 'message', '')}")
