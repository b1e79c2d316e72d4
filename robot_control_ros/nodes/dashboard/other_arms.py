"""The other arms in a ROS domain, which a page shows, and can stop, too."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from rcl_interfaces.srv import GetParameters
from rclpy.node import Node
from sensor_msgs.msg import JointState
from std_srvs.srv import Trigger

from ...control.requests import Reply, RequestResult
from ...core.errors import RobotControlError
from ...dashboard.link import Neighbour
from ...robot.configuration import load_robot
from ...ros.bus_services import BusServices
from ...ros.controller_client import Calls, Script
from ...ros.entities import Entities, in_namespace
from ...ros.polled import PolledSubscriptions
from ...ros.robot_states import RobotStateReader

PERIOD = 1.0  # s between two looks who is there
STATES_PERIOD = 1.0 / 15.0  # s between two looks at their joint states
PARAMETERS = ["robot", "profile", "prefix"]  # of a controller, which name its robot
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
        self._calls = Calls()
        self._polled = PolledSubscriptions(node, "other_arms")
        # by arm; replaced, as other threads read it
        self._neighbours: Mapping[str, Neighbour] = {}
        self._asked: set[str] = set()  # arms whose robot was asked for
        self._states: dict[str, tuple[Callable[[], Any], RobotStateReader, str]] = {}
        entities.timer(PERIOD, self._look)
        entities.timer(STATES_PERIOD, self._poll)

    def close(self) -> None:
        self._polled.close()

    @property
    def names(self) -> tuple[str, ...]:
        """Namespaces of the arms that are there."""
        return tuple(self._present)

    @property
    def neighbours(self) -> Mapping[str, Neighbour]:
        """The arms that are there, and whose robots are known on this machine."""
        present = self._present
        return {name: arm for name, arm in self._neighbours.items() if name in present}

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
                    self._ask_robot(arm, namespace)
        self._present = present
        self._calls.give_up()

    def _ask_robot(self, arm: str, namespace: str) -> None:
        """Ask a controller for the names of its robot, once; again where it doesn't answer."""
        if arm in self._asked:
            return
        self._asked.add(arm)
        client = self._entities.client(GetParameters, f"{namespace}/controller/get_parameters")

        def script() -> Script:
            response = yield client, GetParameters.Request(names=PARAMETERS)
            names = [str(value.string_value) for value in response.values]
            if len(names) == len(PARAMETERS) and names[0]:
                self._know(arm, namespace, names)

        def answered(result: RequestResult) -> None:
            self._asked.discard(arm)  # only a missing answer comes here

        self._calls.run(script(), answered)

    def _know(self, arm: str, namespace: str, names: list[str]) -> None:
        """Read an arm's robot, and subscribe to its joint states."""
        try:
            robot = load_robot(*names)
            neighbour = Neighbour(robot, robot.urdf())
        except RobotControlError as error:
            logging.getLogger(__name__).warning("%s isn't drawn: %s", arm, error)
            return
        topic = robot.profile.joint_states
        name = topic if topic.startswith("/") else f"{namespace}/{topic}"
        take = self._polled.add_newest(JointState, name)
        self._states[arm] = take, RobotStateReader(robot), name
        self._neighbours = {**self._neighbours, arm: neighbour}

    def _poll(self) -> None:
        """Take the newest joint states of each arm."""
        new = {}
        for arm, (take, reader, name) in self._states.items():
            message = take()
            if message is None:
                continue
            with self._entities.refusals.told(name):
                state = reader.read_message(message)
                if state is not None:
                    new[arm] = replace(self._neighbours[arm], q=state.q.copy())
        if new:
            self._neighbours = {**self._neighbours, **new}

    def _client(self, name: str) -> Any:
        if name not in self._clients:
            self._clients[name] = self._entities.client(Trigger, name)
        return self._clients[name]


def _naming(arm: str, reply: Reply) -> Reply:
    """A reply whose refusals begin with the name of the arm."""

    def name(result: RequestResult) -> None:
        reply(RequestResult(result.accepted, f"{arm}: {result.message}", result.answered))

    return name
