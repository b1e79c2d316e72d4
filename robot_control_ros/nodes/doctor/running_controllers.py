"""Controllers that run: what each one controls, by its own parameters."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable
from typing import Any, NamedTuple

from rcl_interfaces.srv import GetParameters
from rclpy.node import Node
from rclpy.parameter import parameter_value_to_python

from ...client.ros_thread import RosThread
from ...ros.entities import Entities

CONTROLLER = "controller"  # name of its node
PARAMETERS = ("robot", "profile", "prefix", "law")
LOOK = 0.1  # s between two looks
SETTLED = 1.0  # s without another controller, after which all are known
ANSWERED = 2.0  # s for an answer


class RunningController(NamedTuple):
    """A controller that runs, as its parameters say.

    Attributes:
        namespace: Namespace of its node, without a slash at its ends.
        robot, profile, prefix, law: Parameters of the controller.
    """

    namespace: str
    robot: str
    profile: str
    prefix: str
    law: str


def find_controllers(within: float) -> list[RunningController]:
    """Find the controllers that run, and ask each for its parameters.

    Args:
        within: Time in which nodes may be discovered [s].

    Returns:
        The controllers that answer, by namespace.
    """
    with contextlib.ExitStack() as opened:
        ros = RosThread(None, "", lambda error: None)
        opened.callback(ros.close)
        names = controller_namespaces(ros.node, time.sleep, within)
        answers = ParameterAnswers(ros.entities, names)
        ros.start()
        return answers.await_all(time.sleep)


def controller_namespaces(node: Node, wait: Callable[[float], Any], within: float) -> list[str]:
    """Namespaces of the nodes that are called controller.

    It waits until none has come for a second, or until the time is over.

    Args:
        node: Node that looks.
        wait: Function that lets some seconds pass.
        within: Longest time [s].
    """
    seen: set[str] = set()
    waited = 0.0
    unchanged = 0.0
    while waited < within and not (seen and unchanged >= SETTLED):
        names = {
            namespace.strip("/")
            for name, namespace in node.get_node_names_and_namespaces()
            if name == CONTROLLER
        }
        unchanged = unchanged + LOOK if names <= seen else 0.0
        seen |= names
        wait(LOOK)
        waited += LOOK
    return sorted(seen)


class ParameterAnswers:
    """Requests of the controllers' parameters, and what is answered.

    Args:
        entities: Entities of the node that requests.
        namespaces: Namespaces of the controllers.
    """

    def __init__(self, entities: Entities, namespaces: list[str]) -> None:
        self._clients = {
            namespace: entities.client(
                GetParameters, f"/{namespace}/{CONTROLLER}/get_parameters".replace("//", "/")
            )
            for namespace in namespaces
        }
        self._futures: dict[str, Any] = {}

    def await_all(self, wait: Callable[[float], Any]) -> list[RunningController]:
        """Controllers that answer in time; `wait` lets some seconds pass."""
        waited = 0.0
        while waited < ANSWERED and not self._complete():
            wait(LOOK)
            waited += LOOK
        running = []
        for namespace, future in self._futures.items():
            values = _values(future) if future.done() else []
            if len(values) == len(PARAMETERS):
                running.append(RunningController(namespace, *values))
        return running

    def _complete(self) -> bool:
        """Request where a service is there; True where all have answered."""
        for namespace, client in self._clients.items():
            if namespace not in self._futures and client.service_is_ready():
                request = GetParameters.Request(names=list(PARAMETERS))
                self._futures[namespace] = client.call_async(request)
        return all(
            namespace in self._futures and self._futures[namespace].done()
            for namespace in self._clients
        )


def _values(future: Any) -> list[str]:
    """Values of an answer that are texts; all of them are, where the controller has each one."""
    response = future.result()
    values = [] if response is None else map(parameter_value_to_python, response.values)
    return [value for value in values if isinstance(value, str)]
