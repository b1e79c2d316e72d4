"""A controller from outside: its answers, its lifecycle, its law and gains; nothing waits."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

from lifecycle_msgs.msg import Transition
from lifecycle_msgs.srv import ChangeState, GetState
from rcl_interfaces.msg import Log, ParameterEvent
from rcl_interfaces.srv import (
    DescribeParameters,
    GetParameters,
    ListParameters,
    SetParametersAtomically,
)
from rclpy.node import Node
from rclpy.parameter import Parameter as RosParameter
from rclpy.parameter import parameter_value_to_python
from rclpy.qos import QoSProfile
from std_msgs.msg import Bool
from std_srvs.srv import Trigger

from ..control.requests import (
    SETTINGS,
    CycleAnswer,
    CycleReply,
    Parameter,
    Reply,
    RequestResult,
    Value,
)
from .cycle_values import read_answer
from .entities import Entities, in_namespace
from .gain_parameters import plain, read_parameters, ros_value
from .qos import LATCHED_QOS

LATE = 2.0  # s after which a request counts as unanswered
TELEMETRY_LATE = 0.3  # s without telemetry after which the state is requested
STATE_PERIOD = 0.25  # s between two such requests
SILENT = 0.5  # s without a sign of life after which it doesn't answer
RETRY = 0.5  # s between two attempts to learn the gains
ERROR = 40  # level of a log message; Log.ERROR is a number or bytes, as the version has it
PERIOD = 0.05  # s between two looks at all this

# yields a client and a request, and gets the response
Script = Generator[tuple[Any, Any], Any, None]


class Calls:
    """Requests of services, from any thread; their responses are taken in the executor's thread."""

    def __init__(self) -> None:
        self._open: dict[Any, tuple[float, Any, Callable[[Any], None]]] = {}

    def run(self, script: Script, reply: Reply = lambda result: None) -> None:
        """Make the requests of a script.

        A missing response is a TimeoutError in it; one that ends it is the reply.
        """

        def advance(step: Callable[[], tuple[Any, Any]]) -> None:
            try:
                client, request = step()
            except StopIteration:
                return
            except TimeoutError as error:
                reply(RequestResult(False, str(error), answered=False))
                return
            late = TimeoutError(f"{client.srv_name} doesn't answer")
            self._call(
                client,
                request,
                lambda found: advance(lambda: script.send(found) if found else script.throw(late)),
            )

        advance(lambda: next(script))

    def give_up(self) -> None:
        """End the wait for what is late; to be called now and then."""
        for future, (due, client, _) in list(self._open.items()):
            if due < time.monotonic():
                client.remove_pending_request(future)
                self._pass_response(future, None)

    def _call(self, client: Any, request: Any, then: Callable[[Any], None]) -> None:
        if not client.service_is_ready():
            then(None)
            return
        future = client.call_async(request)
        self._open[future] = time.monotonic() + LATE, client, then
        future.add_done_callback(lambda future: self._pass_response(future, future.result()))

    def _pass_response(self, future: Any, response: Any) -> None:
        if entry := self._open.pop(future, None):
            entry[2](response)


class ControllerClient:
    """A controller as its clients see it: requests, replies, and what it has told of itself.

    Args:
        node: Node that requests.
        entities: Entities that clients and subscriptions belong to.
        name: Name of the controller; a relative one is in the namespace of the node.

    Attributes:
        law: Law that runs; empty until it is known.
        robot, profile, prefix: Names of robot, profile and prefix, as the parameters have them.
        parameters: Gains and settings; replaced, never changed.
        lifecycle: Last known state of the lifecycle.
        stopped: True while STOP holds the controller.
        stopped_here: True where :meth:`stop` of this client was called since STOP was released
            last.
    """

    def __init__(self, node: Node, entities: Entities, name: str = "controller") -> None:
        self.law = ""
        self.lifecycle = ""
        self.robot = ""
        self.profile = ""
        self.prefix = ""
        self.parameters: Mapping[str, Parameter] = {}
        self.stopped = False
        self.stopped_here = False
        self._node = node
        self._name = in_namespace(node, name)
        self._calls = Calls()
        # Times by the steady clock [s]; long ago before the first.
        self._answered_at = -1e9  # of the last sign of life
        self._telemetry = -1e9  # of the last telemetry
        self._requested_at = -1e9  # of the last request of the lifecycle's state
        self._learned = -1e9  # of the last attempt to learn the gains
        self._known = False  # what the controller's gains are
        # that have had the controller's name: each has a publisher of its own
        self._processes: set[bytes] = set()
        # of learning them; a new one takes the place of the one before
        self._round: Script | None = None
        # what is to be done at the end of the round; empty after it
        self._waiting: list[Callable[[], None]] = []
        self._newer: dict[str, Any] = {}  # what has changed since it began
        self._since = time.monotonic()
        self._error = ""  # the controller's last, in its log
        self._clients: dict[str, Any] = {
            kind: entities.client(service, f"{self._name}/{kind}")
            for kind, service in (
                ("get_state", GetState),
                ("change_state", ChangeState),
                ("get_parameters", GetParameters),
                ("list_parameters", ListParameters),
                ("describe_parameters", DescribeParameters),
                ("set_parameters_atomically", SetParametersAtomically),
                ("stop", Trigger),
                ("release_stop", Trigger),
                ("get_cycles", GetParameters),
            )
        }
        entities.subscription(
            ParameterEvent, "/parameter_events", self._on_event, QoSProfile(depth=100)
        )
        entities.subscription(Bool, f"{self._name}/stopped", self._on_stopped, LATCHED_QOS)
        entities.subscription(Log, "/rosout", self._on_log, QoSProfile(depth=20))
        entities.timer(PERIOD, self._poll)

    # --- whether it answers ---

    @property
    def silence(self) -> float:
        """Time since its last sign of life, or since this began [s]."""
        return time.monotonic() - max(self._answered_at, self._since)

    @property
    def answers(self) -> bool:
        """True where it has shown a sign of life lately."""
        return time.monotonic() - self._answered_at < SILENT

    @property
    def starting(self) -> bool:
        """True where its node is there, and hasn't answered since this began."""
        return self._answered_at < self._since and bool(
            self._clients["get_state"].service_is_ready()
        )

    @property
    def known(self) -> bool:
        """True where it answers, and its law and gains are those of the process that does."""
        return self._known and self.answers

    def on_telemetry(self) -> None:
        """Telemetry is a sign of life, and of an active controller."""
        now = time.monotonic()
        self._telemetry = now
        self._answered_at = now
        self.lifecycle = "active"

    def _poll(self) -> None:
        self._calls.give_up()
        now = time.monotonic()
        if now - self._telemetry > TELEMETRY_LATE and now - self._requested_at > STATE_PERIOD:
            self._calls.run(self._ask_state())
        if not self.answers or self._another_process():
            self._known = False
        elif not self._known and not self._waiting and now - self._learned > RETRY:
            self._learn()

    def _another_process(self) -> bool:
        """Say whether another process has taken the controller's name.

        It may do so within the time of a late answer.
        """
        publishers = self._node.get_publishers_info_by_topic(f"{self._name}/transition_event")
        new = {bytes(each.endpoint_gid) for each in publishers} - self._processes
        self._processes |= new
        return bool(new)

    def _ask_state(self) -> Script:
        self._requested_at = time.monotonic()
        with suppress(TimeoutError):
            response = yield self._clients["get_state"], GetState.Request()
            self._answered_at = time.monotonic()
            self.lifecycle = response.current_state.label

    # --- requests ---

    def call(self, client: Any, request: Any, reply: Reply) -> None:
        """Call a service of std_srvs, whose response has `success` and `message`."""

        def script() -> Script:
            response = yield client, request
            reply(RequestResult(response.success, response.message))

        self._calls.run(script(), reply)

    def change_state(self, transition: str, reply: Reply) -> None:
        """Request a lifecycle transition by its name; a refusal has the words of the log.

        Activate ends STOP.
        """

        def script() -> Script:
            if transition == "activate" and self.stopped:
                yield self._clients["release_stop"], Trigger.Request()
            number = getattr(Transition, f"TRANSITION_{transition.upper()}")
            self._error = ""
            response = yield (
                self._clients["change_state"],
                ChangeState.Request(transition=Transition(id=number)),
            )
            yield from self._ask_state()  # in any case, and meanwhile the log comes
            message = (
                self._error
                or f"{transition} isn't possible while the controller is {self.lifecycle}"
            )
            reply(RequestResult(True) if response.success else RequestResult(False, message))

        self._calls.run(script(), reply)

    def stop(self, reply: Reply) -> None:
        """Deactivate the controller, and let nobody activate it until STOP is released.

        Args:
            reply: Function that gets the result.
        """
        self.stopped_here = True

        def script() -> Script:
            response = yield self._clients["stop"], Trigger.Request()
            yield from self._ask_state()
            reply(RequestResult(response.success, response.message))

        self._calls.run(script(), reply)

    def set_law(self, name: str, reply: Reply) -> None:
        """Go on with another law; its gains are known before the reply."""

        def script() -> Script:
            if (yield from self._set([RosParameter("law", value=name)], reply)):
                self._learn(lambda: reply(RequestResult(True)))

        self._calls.run(script(), reply)

    def set_gains(self, values: Mapping[str, Value], reply: Reply) -> None:
        """Change gains and settings, all or none; the new ones are known before the reply."""
        prefixes = {name: "" if name.startswith(SETTINGS) else f"{self.law}." for name in values}
        full = {f"{prefixes[name]}{name}": ros_value(value) for name, value in values.items()}

        def script() -> Script:
            try:
                parameters = [RosParameter(name, value=value) for name, value in full.items()]
            except (TypeError, ValueError) as error:
                reply(RequestResult(False, f"{dict(values)}: {error}"))
                return
            if (yield from self._set(parameters, reply)):
                response = yield (
                    self._clients["get_parameters"],
                    GetParameters.Request(names=list(full)),
                )
                self._take_values(
                    dict(zip(full, map(parameter_value_to_python, response.values), strict=True))
                )
                reply(RequestResult(True))

        self._calls.run(script(), reply)

    def _set(
        self, parameters: list[RosParameter], reply: Reply
    ) -> Generator[tuple[Any, Any], Any, bool]:
        """Set parameters together, and say whether they are set; a refusal is the reply."""
        request = SetParametersAtomically.Request(
            parameters=[each.to_parameter_msg() for each in parameters]
        )
        result = (yield self._clients["set_parameters_atomically"], request).result
        if not result.successful:
            reply(RequestResult(False, result.reason))
        return bool(result.successful)

    def read_cycles(
        self, first: int, fields: Sequence[str], joints: int, reply: CycleReply
    ) -> None:
        """Read cycles of the last minute of a robot; see RobotLink of dashboard/link.py."""

        def script() -> Script:
            response = yield (
                self._clients["get_cycles"],
                GetParameters.Request(names=[str(first), *fields]),
            )
            reply(read_answer(response.values, fields, joints))

        self._calls.run(script(), lambda result: reply(CycleAnswer(result.message)))

    # --- what it is ---

    def _learn(self, then: Callable[[], None] = lambda: None) -> None:
        """Learn the law and its gains anew, request by request."""
        self._newer = {}
        self._waiting.append(then)
        if self._round is not None:
            self._round.close()
        self._round = self._learn_in_order()
        self._calls.run(self._round)

    def _learn_in_order(self) -> Script:
        with suppress(TimeoutError):
            yield from self._read_all()
        self._learned = time.monotonic()
        waiting = self._waiting
        self._waiting = []
        for each in waiting:
            each()

    def _read_all(self) -> Script:
        """The law, then its gains' names, descriptors and values."""
        clients = self._clients
        depth = ListParameters.Request.DEPTH_RECURSIVE
        response = yield (
            clients["get_parameters"],
            GetParameters.Request(names=["law", "robot", "profile", "prefix"]),
        )
        names = [str(value.string_value) for value in response.values]
        if len(names) != 4 or not names[0]:
            return
        law, self.robot, self.profile, self.prefix = names
        prefixes = [law, *(prefix.rstrip(".") for prefix in SETTINGS)]
        response = yield (
            clients["list_parameters"],
            ListParameters.Request(prefixes=prefixes, depth=depth),
        )
        names = list(response.result.names)
        described = yield clients["describe_parameters"], DescribeParameters.Request(names=names)
        gains = yield clients["get_parameters"], GetParameters.Request(names=names)
        if described.descriptors and len(gains.values) == len(described.descriptors):
            values = [plain(parameter_value_to_python(value)) for value in gains.values]
            self.law = law
            self._known = True
            self.parameters = read_parameters(law, described.descriptors, values)
            self._take_values(self._newer)

    def _on_event(self, event: ParameterEvent) -> None:
        if event.node != self._name:
            return
        changed = [*event.new_parameters, *event.changed_parameters]
        if any(each.name == "law" for each in changed):
            self._learn()
        else:
            self._take_values(
                {each.name: parameter_value_to_python(each.value) for each in changed}
            )

    def _take_values(self, values: Mapping[str, Any]) -> None:
        new = dict(self.parameters)
        self._newer |= values
        for name, value in values.items():
            gain = name.removeprefix(f"{self.law}.")
            if gain in new and value is not None:
                new[gain] = replace(new[gain], value=plain(value))
        self.parameters = new

    def _on_stopped(self, message: Bool) -> None:
        self.stopped = message.data
        self.stopped_here &= message.data

    def _on_log(self, message: Log) -> None:
        if message.name == self._name.strip("/").replace("/", ".") and message.level >= ERROR:
            self._error = message.msg
