"""Requests to ros2_control's controller manager, where its messages are installed."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from typing import Any

import rclpy
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node

ANSWER_LIMIT = 2.0  # s


def manager_services() -> Any:
    """The module controller_manager_msgs.srv; None where it isn't installed."""
    try:
        return importlib.import_module("controller_manager_msgs.srv")
    except ImportError:
        return None


def list_controllers(node: Node, manager: str) -> Sequence[Any] | None:
    """All controllers that a manager has loaded (controller_manager_msgs/ControllerState).

    None without an answer within some seconds. It may be called within a callback: a node and an
    executor of its own wait for the answer.
    """
    kind = manager_services().ListControllers
    context = node.context
    caller = rclpy.create_node(
        f"{node.get_name()}_asks", context=context, use_global_arguments=False
    )
    executor = SingleThreadedExecutor(context=context)
    executor.add_node(caller)
    try:
        client: Any = caller.create_client(
            kind, node.resolve_service_name(f"{manager}/list_controllers")
        )
        if not client.wait_for_service(ANSWER_LIMIT):
            return None
        future = client.call_async(kind.Request())
        executor.spin_until_future_complete(future, ANSWER_LIMIT)
        return future.result().controller if future.done() else None
    finally:
        executor.shutdown()
        caller.destroy_node()
