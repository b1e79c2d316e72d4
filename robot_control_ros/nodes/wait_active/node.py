"""Ends when a lifecycle node is active, for launch files: what has to come after that starts after this.

launch_ros's OnStateTransition can't do it: it misses a transition that comes before ~/transition_event is discovered.
"""

from __future__ import annotations

import sys
from typing import Any

from lifecycle_msgs.msg import State
from lifecycle_msgs.srv import GetState
from rcl_interfaces.msg import ParameterDescriptor
from rclpy.node import Node

from ..common.running import spinning, steady_clock

PERIOD = 0.1  # s between two questions


class WaitNode(Node):
    """Asks for the state.

    Attributes:
        active: whether the node is.
    """

    def __init__(self) -> None:
        super().__init__("wait_active")
        text = ParameterDescriptor(description="Name of the lifecycle node.", read_only=True)
        name: Any = self.declare_parameter("node", "controller", text).value
        self.active = False
        self._client: Any = self.create_client(GetState, f"{name}/get_state")
        self.create_timer(PERIOD, self._ask, clock=steady_clock())

    def _ask(self) -> None:
        if self._client.service_is_ready():
            self._client.call_async(GetState.Request()).add_done_callback(self._take)

    def _take(self, future: Any) -> None:
        self.active = future.result().current_state.id == State.PRIMARY_STATE_ACTIVE


def main() -> None:
    """Run the node; a signal ends it with exit status 1."""
    try:
        with spinning(WaitNode) as (node, spin):
            while not node.active:
                spin(PERIOD)
    except KeyboardInterrupt:
        sys.exit(1)
