"""The services of a field bus's node, for programs to which it doesn't matter which bus it is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from std_srvs.srv import Trigger

from .entities import Entities

# default names of the nodes that drive a bus
BUS_NODES = ("can", "ethercat", "fieldbus", "franka")
# services that each of them has
REQUESTS = ("enable", "disable", "quick_stop", "reset_fault")


class BusServices:
    """Clients of the services of whichever node of BUS_NODES is there.

    Args:
        entities: Entities that the clients are made with.
        namespace: Namespace of the nodes, with a slash behind it; empty takes that of the node that
            the entities belong to.
        requests: Names of the requests that are needed, of REQUESTS.
    """

    def __init__(
        self, entities: Entities, namespace: str = "", requests: Sequence[str] = REQUESTS
    ) -> None:
        self._clients: dict[str, list[Any]] = {
            request: [
                entities.client(Trigger, f"{namespace}{node}/{request}") for node in BUS_NODES
            ]
            for request in requests
        }

    def ready(self, request: str) -> Any:
        """Client of a node that has this service now; None where no node drives a bus."""
        clients = self._clients[request]
        return next((client for client in clients if client.service_is_ready()), None)
