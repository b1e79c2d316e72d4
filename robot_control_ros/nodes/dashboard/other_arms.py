"""The other arms in a ROS domain, which a page can stop, too."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from rclpy.node import Node
from std_srvs.srv import Trigger

from ...control.requests import Reply, RequestResult
from ...ros.bus_services import BusServices
from ...ros.entities import Entities, in_namespace

PERIOD = 1.0  # s between two looks who is there
STOP = "controller/stop"  # service below an arm's namespace
KIND = "std_srvs/srv/Trigger"


class OtherArms:
    """Finds controllers in other namespaces by their service ``controller/stop``.

    Args:
        node: Node that looks; the arm of its own namespace isn't listed.
        entities: Entities that the clients are made with.
        call: Function that sends a request of std_srvs/Trigger with a client, and replies.
    """

    def __init__(
        self, node: Node, entities: Entities, call: Callable[[Any, Any, Reply], None]
    ) -> None:
        self._node = node
        self._entities = entities
        self._call = call
        self._own = in_namespace(node, STOP)
        # by name of the service; of all arms that ever were there
        self._clients: dict[str, Any] = {}
        self._buses: dict[str, BusServices] = {}  # by namespace
        # By arm, the client of STOP and the services of its bus; replaced, as other threads read it.
        self._present: Mapping[str, tuple[Any, BusServices]] = {}
        entities.timer(PERIOD, self._look)

    @property
    def names(self) -> tuple[str, ...]:
        """Namespaces of the arms that are there."""
        return tuple(self._present)

    def stop(self, reply: Reply) -> None:
        """Stop each of these arms; a refusal names its arm."""
        for arm, (stop, bus) in self._present.items():
            named = _naming(arm, reply)
            if (brake := bus.ready("quick_stop")) is not None:
                self._call(brake, Trigger.Request(), named)
            self._call(stop, Trigger.Request(), named)

    def _look(self) -> None:
        """See which arms are there now.

        A name in the graph isn't enough, as it may be that of another page's client. So the service
        has to be ready.
        """
        named = {name for name, kinds in self._node.get_service_names_and_types() if KIND in kinds}
        present = {}
        for name in sorted(named - {self._own}):
            if name.endswith(f"/{STOP}"):
                namespace = name.removesuffix(f"/{STOP}")
                stop = self._client(name)
                if namespace not in self._buses:
                    self._buses[namespace] = BusServices(
                        self._entities, f"{namespace}/", ("quick_stop",)
                    )
                if stop.service_is_ready():
                    arm = namespace.strip("/") or "the arm without a namespace"
                    present[arm] = (stop, self._buses[namespace])
        self._present = present

    def _client(self, name: str) -> Any:
        if name not in self._clients:
            self._clients[name] = self._entities.client(Trigger, name)
        return self._clients[name]


def _naming(arm: str, reply: Reply) -> Reply:
    """A reply whose refusals begin with the name of the arm."""

    def name(result: RequestResult) -> None:
        reply(RequestResult(result.accepted, f"{arm}: {result.message}", result.answered))

    return name
