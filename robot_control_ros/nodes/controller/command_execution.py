"""Watches that the robot executes commands.

It does so while its program runs and the forward controller of the law's mode is active.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

from std_msgs.msg import Bool

from ...control.controller import Controller
from ...core.types import CommandMode
from ...robot.profile import HardwareProfile
from ...ros.controller_manager import manager_services
from ...ros.entities import Entities
from ...ros.qos import LATCHED_QOS

PERIOD = 0.5  # s between two questions to the controller manager


class ForwardController:
    """Follows the states of ros2_control's controllers, without waiting for an answer.

    From Jazzy on the controller manager publishes changes on ``<manager>/activity``. In addition
    ``<manager>/list_controllers`` is called twice a second. The states stay unknown where
    controller_manager_msgs isn't installed, or the profile has no manager.

    Args:
        entities: Entities that the subscription, the client and the timer are made with.
        profile: Hardware profile; it names the manager, and the controller for each mode.
        on_change: Function that is called after each change of the states.
    """

    def __init__(
        self, entities: Entities, profile: HardwareProfile, on_change: Callable[[], None]
    ) -> None:
        self._profile = profile
        self._on_change = on_change
        self._states: dict[str, str] | None = None
        self._pending: Any = None
        self._client: Any = None
        services = manager_services()
        if services is None or not profile.controller_manager or profile.joint_commands:
            return
        manager = profile.controller_manager
        messages = importlib.import_module("controller_manager_msgs.msg")
        self._kind: Any = services.ListControllers
        self._client = entities.client(self._kind, f"{manager}/list_controllers")
        activity = getattr(messages, "ControllerManagerActivity", None)
        if activity is not None:
            entities.subscription(activity, f"{manager}/activity", self._on_activity, LATCHED_QOS)
        entities.timer(PERIOD, self._ask)

    @property
    def known(self) -> bool:
        """True while the states of the controllers are known."""
        return self._states is not None

    def inactive(self, mode: CommandMode) -> str:
        """Reason why commands of a mode reach no joint; empty where they do, or it isn't known."""
        name = self._profile.controllers[mode]
        state = "active" if self._states is None else self._states.get(name, "not loaded")
        return "" if state == "active" else f"{name} is {state}"

    def _on_activity(self, message: Any) -> None:
        self._update({each.name: each.state.label for each in message.controllers})

    def _ask(self) -> None:
        if not self._client.service_is_ready():
            self._pending = None
            self._update(None)
        elif self._pending is None or self._pending.done():
            self._pending = self._client.call_async(self._kind.Request())
            self._pending.add_done_callback(self._on_answer)

    def _on_answer(self, future: Any) -> None:
        if future is self._pending and (answer := future.result()) is not None:
            self._update({each.name: each.state for each in answer.controller})

    def _update(self, states: dict[str, str] | None) -> None:
        if states != self._states:
            self._states = states
            self._on_change()


class CommandExecution:
    """Says why the robot doesn't execute the controller's commands. The law rests while it doesn't.

    Args:
        entities: Entities that the subscriptions are made with.
        loop: Control loop of the robot; its law has the mode of the commands.
        on_change: Function that is called with each new reason.

    Attributes:
        reason: Reason why commands aren't executed; empty where they are, or nothing is known.
        executed: True once commands are known to have been executed; before, no law has begun.
    """

    def __init__(
        self, entities: Entities, loop: Controller, on_change: Callable[[str], None]
    ) -> None:
        self.reason = ""
        self.executed = False
        self._loop = loop
        self._on_change = on_change
        self._program_runs: bool | None = None  # until the robot says whether it does
        profile = loop.robot.profile
        if profile.running_topic:
            self._running_topic = entities.node.resolve_topic_name(profile.running_topic)
            entities.subscription(Bool, profile.running_topic, self._on_running, LATCHED_QOS)
        self._forward = ForwardController(entities, profile, self.update)

    @property
    def rest(self) -> str:
        """Text that says that the law rests, and why; empty where it doesn't rest."""
        return f"the law rests: {self.reason}" if self.reason else ""

    def update(self) -> None:
        """Find the reason again; also called when another law has taken over."""
        reason = self._forward.inactive(self._loop.running.mode)
        if self._program_runs is False:
            reason = f"the robot executes no commands, as {self._running_topic} says"
        elif not reason and (self._program_runs or self._forward.known):
            self.executed = True
        if reason != self.reason:
            self.reason = reason
            self._on_change(reason)

    def _on_running(self, message: Bool) -> None:
        self._program_runs = message.data
        self.update()
