"""Questions to ros2_control's controller manager, where its messages are installed."""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from typing import Any

import rclpy
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node

ANSWER_LIMIT = 2.0  # s


def manager_services() -> Any:
    """The controller manager's services, controller_manager_msgs.srv; None where that isn't installed."""
    try:
        return importlib.import_module("controller_manager_msgs.srv")
    except ImportError:
        return None


@dataclass(frozen=True)
class ControllerState:
    """One controller: its name, its state (active, inactive, …), and the command interfaces that it has claimed."""

    name: str
    state: str
    claimed: tuple[str, ...]


class ControllerManager:
    """A controller manager, asked from within a callback: a node and an executor of its own wait for the answer.

    Args:
        node: in whose context it is asked.
        name: of the manager's node.

    Attributes:
        installed: whether controller_manager_msgs is.
    """

    def __init__(self, node: Node, name: str) -> None:
        self._node, self._name = node, name
        self._services = manager_services()
        self.installed = self._services is not None

    def controllers(self) -> list[ControllerState] | None:
        """All that are loaded; None where nobody answers."""
        kind = self._services.ListControllers
        answer = self._call(kind, "list_controllers", kind.Request())
        if answer is None:
            return None
        return [ControllerState(one.name, one.state, tuple(one.claimed_interfaces)) for one in answer.controller]

    def _call(self, kind: Any, service: str, request: Any) -> Any:
        context = self._node.context
        asking = rclpy.create_node(f"{self._node.get_name()}_asks", context=context, use_global_arguments=False)
        executor = SingleThreadedExecutor(context=context)
        executor.add_node(asking)
        try:
            client: Any = asking.create_client(kind, f"{self._name}/{service}")
            if not client.wait_for_service(ANSWER_LIMIT):
                return None
            future = client.call_async(request)
            executor.spin_until_future_complete(future, ANSWER_LIMIT)
            return future.result() if future.done() else None
        finally:
            executor.shutdown()
            asking.destroy_node()
