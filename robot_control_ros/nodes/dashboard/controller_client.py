"""A controller from outside: whether it answers, its lifecycle, its law and gains; nothing here waits."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from lifecycle_msgs.msg import Transition
from lifecycle_msgs.srv import ChangeState, GetState
from rcl_interfaces.msg import Log, ParameterEvent
from rcl_interfaces.srv import DescribeParameters, GetParameters, ListParameters, SetParametersAtomically
from rclpy.node import Node
from rclpy.parameter import Parameter as RosParameter
from rclpy.parameter import parameter_value_to_python
from rclpy.qos import QoSProfile

from ...dashboard.link import SETTINGS, Parameter, Reply, RequestResult, Value
from ..common.entities import Entities
from .gain_parameters import full_name, plain, read_parameters, ros_value, short_name

LATE = 2.0  # s after which a request counts as unanswered
TELEMETRY_LATE = 0.3  # s without telemetry after which the state is requested
STATE_PERIOD, STATE_LATE = 0.25, 0.5  # s between two such requests, and for the answer
SILENT = 0.5  # s without a sign of life after which it doesn't answer
RETRY = 0.5  # s between two attempts to learn the gains
ERROR = 40  # level of a log message; Log.ERROR is a number or bytes, as the version has it
PERIOD = 0.05  # s between two looks at all this


class Calls:
    """Requests of services whose answers are taken in the executor's thread, or None when they are late."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._open: dict[Any, tuple[float, Any, Callable[[Any], None]]] = {}

    def call(self, client: Any, request: Any, then: Callable[[Any], None], late: float = LATE) -> None:
        """Send a request, from any thread."""
        if not client.service_is_ready():
            then(None)
            return
        future = client.call_async(request)
        with self._lock:
            self._open[future] = (time.monotonic() + late, client, then)
        future.add_done_callback(self._take)

    def give_up(self) -> None:
        """Answer None to what is late; to be called now and then."""
        now = time.monotonic()
        with self._lock:
            late = [(future, *entry) for future, entry in self._open.items() if entry[0] < now]
            for future, *_ in late:
                del self._open[future]
        for future, _, client, then in late:
            client.remove_pending_request(future)
            then(None)

    def _take(self, future: Any) -> None:
        with self._lock:
            entry = self._open.pop(future, None)
        if entry is not None:
            entry[2](future.result())


class ControllerClient:
    """See the module.

    Attributes:
        law: that runs; empty until it is known.
        parameters: its gains and settings; replaced, never changed.
        lifecycle: the last known state.
    """

    def __init__(self, node: Node, entities: Entities, name: str = "/controller") -> None:
        self.law, self.lifecycle = "", ""
        self.parameters: Mapping[str, Parameter] = {}
        self._name = name
        self._calls = Calls()
        self._answered_at = self._telemetry = self._requested_at = self._learned = -1e9
        self._known = False  # what the controller's gains are
        self._round = 0  # of learning them; a new one takes the place of the one before
        self._waiting: list[Callable[[], None]] = []  # what is to be done at the end of the round; empty after it
        self._newer: dict[str, Any] = {}  # what has changed since it began
        self._since = time.monotonic()
        self._error = ""  # the controller's last, in its log
        self._clients: dict[str, Any] = {
            kind: node.create_client(service, f"{name}/{kind}")
            for kind, service in (
                ("get_state", GetState),
                ("change_state", ChangeState),
                ("get_parameters", GetParameters),
                ("list_parameters", ListParameters),
                ("describe_parameters", DescribeParameters),
                ("set_parameters_atomically", SetParametersAtomically),
            )
        }
        entities.subscription(ParameterEvent, "/parameter_events", self._on_event, QoSProfile(depth=100))
        entities.subscription(Log, "/rosout", self._on_log, QoSProfile(depth=20))
        entities.timer(PERIOD, self._poll)

    # --- whether it answers ---

    @property
    def silence(self) -> float:
        """Since its last sign of life, or since this began [s]."""
        return time.monotonic() - max(self._answered_at, self._since)

    @property
    def answers(self) -> bool:
        """Whether it has shown a sign of life lately."""
        return time.monotonic() - self._answered_at < SILENT

    def on_telemetry(self) -> None:
        """Telemetry is a sign of life, and of an active controller."""
        self._telemetry = self._answered_at = time.monotonic()
        self.lifecycle = "active"

    def _poll(self) -> None:
        self._calls.give_up()
        now = time.monotonic()
        if now - self._telemetry > TELEMETRY_LATE and now - self._requested_at > STATE_PERIOD:
            self._request_state()
        if not self.answers:
            self._known = False  # another controller may come back
        elif not self._known and not self._waiting and now - self._learned > RETRY:
            self._learn()

    def _request_state(self, then: Callable[[], None] = lambda: None) -> None:
        self._requested_at = time.monotonic()

        def take(answer: GetState.Response | None) -> None:
            if answer is not None:
                self._answered_at = time.monotonic()
                self.lifecycle = answer.current_state.label
            then()

        self._calls.call(self._clients["get_state"], GetState.Request(), take, STATE_LATE)

    # --- requests ---

    def call(self, client: Any, request: Any, reply: Reply) -> None:
        """Call a service of std_srvs, whose response has `success` and `message`."""
        message = f"{client.srv_name} doesn't answer"

        def take(answer: Any) -> None:
            reply(RequestResult(False, message) if answer is None else RequestResult(answer.success, answer.message))

        self._calls.call(client, request, take)

    def change_state(self, transition: str, reply: Reply) -> None:
        """A lifecycle transition by its name; a refusal has the message of the controller's log."""
        number = getattr(Transition, f"TRANSITION_{transition.upper()}")
        self._error = ""

        def take(answer: ChangeState.Response | None) -> None:
            if answer is None:
                reply(self._unanswered())
            else:  # the state is requested in any case, and meanwhile the log comes
                self._request_state(lambda: conclude(bool(answer.success)))

        def conclude(done: bool) -> None:
            message = self._error or f"{transition} isn't possible while the controller is {self.lifecycle}"
            reply(RequestResult(True) if done else RequestResult(False, message))

        self._calls.call(self._clients["change_state"], ChangeState.Request(transition=Transition(id=number)), take)

    def deactivate(self, reply: Reply) -> None:
        """Stop; a controller that isn't active has stopped."""

        def take(answer: RequestResult) -> None:
            reply(RequestResult(True) if self.answers and self.lifecycle != "active" else answer)

        self.change_state("deactivate", take)

    def set_law(self, name: str, reply: Reply) -> None:
        """Go on with another law."""
        self._set([RosParameter("law", value=name)], self._learn, reply)

    def set_gains(self, values: Mapping[str, Value], reply: Reply) -> None:
        """Change gains of the running law and settings, all or none."""
        full = {full_name(self.law, name): ros_value(value) for name, value in values.items()}
        try:
            parameters = [RosParameter(name, value=value) for name, value in full.items()]
        except (TypeError, ValueError) as error:
            reply(RequestResult(False, f"{dict(values)}: {error}"))
            return
        self._set(parameters, lambda then: self._read(list(full), then), reply)

    def _set(self, parameters: list[RosParameter], then: Callable[[Callable[[], None]], None], reply: Reply) -> None:
        """Set parameters together; what the controller made of them is known before the reply."""

        def take(answer: SetParametersAtomically.Response | None) -> None:
            if answer is None:
                reply(self._unanswered())
            elif answer.result.successful:
                then(lambda: reply(RequestResult(True)))
            else:
                reply(RequestResult(False, answer.result.reason))

        request = SetParametersAtomically.Request(parameters=[each.to_parameter_msg() for each in parameters])
        self._calls.call(self._clients["set_parameters_atomically"], request, take)

    def _unanswered(self) -> RequestResult:
        return RequestResult(False, f"{self._name} doesn't answer")

    # --- what it is ---

    def _learn(self, then: Callable[[], None] = lambda: None) -> None:
        """Learn the law and its gains anew, request by request."""
        self._round += 1
        self._newer = {}
        self._waiting.append(then)
        mine, requests = self._round, self._requests()

        def send(request: tuple[str, Any] | None) -> None:
            if request is not None:
                self._calls.call(self._clients[request[0]], request[1], take)
                return
            self._learned = time.monotonic()
            waiting, self._waiting = self._waiting, []
            for each in waiting:
                each()

        def take(answer: Any) -> None:
            if mine == self._round:
                send(None if answer is None else requests.send(answer))

        send(next(requests))

    def _requests(self) -> Generator[tuple[str, Any] | None, Any, None]:
        """The requests for the law, then for its gains' names, descriptors and values; None at the end."""
        answer = yield "get_parameters", GetParameters.Request(names=["law"])
        law = str(answer.values[0].string_value) if answer.values else ""
        if law:
            prefixes = [law, *(prefix.rstrip(".") for prefix in SETTINGS)]
            depth = ListParameters.Request.DEPTH_RECURSIVE
            answer = yield "list_parameters", ListParameters.Request(prefixes=prefixes, depth=depth)
            names = list(answer.result.names)
            descriptors = (yield "describe_parameters", DescribeParameters.Request(names=names)).descriptors
            found = (yield "get_parameters", GetParameters.Request(names=names)).values
            if descriptors and len(found) == len(descriptors):
                values = [plain(parameter_value_to_python(value)) for value in found]
                self.law, self._known = law, True
                self.parameters = read_parameters(law, descriptors, values)
                self._take_values(self._newer)
        yield None

    def _read(self, names: Sequence[str], then: Callable[[], None]) -> None:
        def take(answer: GetParameters.Response | None) -> None:
            if answer is not None:
                self._take_values(dict(zip(names, map(parameter_value_to_python, answer.values), strict=True)))
            then()

        self._calls.call(self._clients["get_parameters"], GetParameters.Request(names=list(names)), take)

    def _on_event(self, event: ParameterEvent) -> None:
        if event.node != self._name:
            return
        changed = [*event.new_parameters, *event.changed_parameters]
        if any(each.name == "law" for each in changed):
            self._learn()
        else:
            self._take_values({each.name: parameter_value_to_python(each.value) for each in changed})

    def _take_values(self, values: Mapping[str, Any]) -> None:
        new = dict(self.parameters)
        self._newer |= values
        for name, value in values.items():
            gain = short_name(self.law, name)
            if gain in new and value is not None:
                new[gain] = replace(new[gain], value=plain(value))
        self.parameters = new

    def _on_log(self, message: Log) -> None:
        if message.name == self._name.strip("/") and message.level >= ERROR:
            self._error = message.msg
