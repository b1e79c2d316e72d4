"""Ends when a lifecycle node is active; launch files start after it what needs an active node.

launch_ros's OnStateTransition can't do it: it misses a transition that comes before
~/transition_event is discovered.
"""

from __future__ import annotations

import sys
from typing import Any

from lifecycle_msgs.msg import State
from lifecycle_msgs.srv import GetState
from rclpy.node import Node

from ...core.errors import RobotControlError
from ...ros.ros_params import declare
from ...ros.running import spinning, steady_clock

PERIOD = 0.1  # s between two requests


class WaitNode(Node):
    """Requests the state of a lifecycle node ten times a second.

    Attributes:
        active: True where the lifecycle node was active at the last answer.
    """

    def __init__(self) -> None:
        super().__init__("wait_active")
        name = declare(self, {"node": ("controller", "Name of the lifecycle node.")})["node"]
        self.active = False
        self._client: Any = self.create_client(GetState, f"{name}/get_state")
        self.create_timer(PERIOD, self._request, clock=steady_clock())

    def _request(self) -> None:
        if self._client.service_is_ready():
            self._client.call_async(GetState.Request()).add_done_callback(self._on_state)

    def _on_state(self, future: Any) -> None:
        self.active = future.result().current_state.id == State.PRIMARY_STATE_ACTIVE


def main() -> None:
    """Run the node; a signal ends it with exit status 1."""
    try:
        with spinning(WaitNode, interrupted_status=1) as (node, spin):
            while not node.active:
                spin(PERIOD)
    except KeyboardInterrupt:
        sys.exit(1)
    except RobotControlError as error:
        sys.exit(f"wait_active: {error}")
