"""The services of a robot's nodes that the dashboard calls, and which of them are there."""

from __future__ import annotations

from typing import Any

from rclpy.node import Node
from std_srvs.srv import SetBool, Trigger

from ..common.entities import Entities

GRAPH_PERIOD = 0.5  # s between two looks at what is there
SERVICES = (
    *(f"controller/{name}" for name in ("hold", "go_home", "zero_wrench")),
    *(f"ethercat/{name}" for name in ("enable", "disable", "quick_stop", "reset_fault")),
    "simulator/reset",
)


class RobotServices:
    """Clients, and what of the robot's nodes was there when last looked for.

    Args:
        node: whose executor is used.
        entities: where the timer belongs.

    Attributes:
        triggers: clients of SERVICES, by name.
        pause: client of the simulator's pause.
        ready: names of the services that are there.
        simulated: whether a simulator takes pushes.
    """

    def __init__(self, node: Node, entities: Entities) -> None:
        self._node = node
        self.triggers: dict[str, Any] = {name: node.create_client(Trigger, f"/{name}") for name in SERVICES}
        self.pause: Any = node.create_client(SetBool, "/simulator/pause")
        self.ready: frozenset[str] = frozenset()
        self.simulated = False
        entities.timer(GRAPH_PERIOD, self._find)

    def _find(self) -> None:
        self.ready = frozenset(name for name, client in self.triggers.items() if client.service_is_ready())
        self.simulated = self._node.count_subscribers("/simulator/push") > 0
