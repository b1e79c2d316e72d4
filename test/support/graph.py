"""A ROS graph inside one process, without DDS, without threads, on a clock that only the test
moves.

rclpy's own Python code runs unchanged: nodes, parameters, lifecycle, actions. What is replaced is
the native layer below it (``rclpy.impl.implementation_singleton``): each class here stands for that
layer's class of the same name. Messages travel as serialised bytes, so what a node gets is a copy,
and malformed bytes can be sent.

A message arrives `LATENCY` after it was published; a timer fires when it is due. Whatever happens,
happens in the order of these times, and takes no time itself. So a test that runs twice sees the
same, on any machine.
"""

from __future__ import annotations

import copy
import itertools
import time
from collections import deque
from collections.abc import Callable, Iterable
from types import SimpleNamespace
from typing import Any

import yaml
from action_msgs.msg import GoalInfo, GoalStatus, GoalStatusArray
from action_msgs.srv import CancelGoal
from lifecycle_msgs.msg import State, Transition, TransitionEvent
from rclpy.impl.implementation_singleton import rclpy_implementation as native
from rclpy.type_support import check_for_type_support
from stepped_time import SteppedTime

LATENCY = 50_000  # ns between a message's publication and its arrival
STEADY_START = 1_000_000_000_000  # ns, what the steady clock shows at first
EPOCH = 1_700_000_000_000_000_000  # ns, what the system's clock shows then

_RELIABLE, _BEST_EFFORT = 1, 2  # rmw_qos_reliability_policy_t
_TRANSIENT_LOCAL = 1  # rmw_qos_durability_policy_t
_KEEP_ALL = 2  # rmw_qos_history_policy_t


class Graph(SteppedTime):
    """All nodes, their entities, and the time.

    Attributes:
        now: the steady clock [ns].
        nodes: those that are there.
        publishers, subscriptions, services, clients: by full name.
        timers: all of them.
        lines: what was logged: name of the logger, severity, text.
        on_message: called with the publisher and the serialised message; what it returns is
            delivered. A list of
            (delay [ns], bytes) stands for loss, delays, duplicates and damage.
        on_latched: how much later [ns] a subscription that has just come gets a message that was
            kept for it; called with the publisher and the number of the message.
        sees: whether a node has discovered a publisher of another one; None where each has at once.
        launch: the command line of the node that is made next.
        process: whose code runs; None for the test's own.
    """

    def __init__(self) -> None:
        super().__init__(STEADY_START)
        self.nodes: list[Node] = []
        self.publishers: dict[str, list[Publisher]] = {}
        self.subscriptions: dict[str, list[Subscription]] = {}
        self.services: dict[str, list[Service]] = {}
        self.clients: dict[str, list[Client]] = {}
        self.action_servers: dict[str, list[ActionServer]] = {}
        self.action_clients: dict[str, list[ActionClient]] = {}
        self.timers: list[Timer] = []
        self.lines: list[tuple[str, int, str]] = []
        self.on_message: Callable[[Publisher, bytes], Iterable[tuple[int, bytes]]] | None = None
        self.on_latched: Callable[[Publisher, int], int] = lambda publisher, number: 0
        self.sees: Callable[[Node, Publisher], bool] | None = None
        self.launch = Launch([])
        self.process: Any = None
        _graphs.append(self)

    def use(self) -> None:
        """What is made from now on is made here, and ``time`` shows the time here."""
        if _graphs[-1] is not self:
            _graphs.remove(self)
            _graphs.append(self)

    def close(self) -> None:
        """Take the graph away."""
        _graphs.remove(self)

    def after(self, delay: int, action: Callable[[], None]) -> None:
        self.use()
        super().after(delay, action)

    def step(self, end: int) -> bool:
        self.use()
        return super().step(end)

    def sleep(self, seconds: float) -> None:
        """``time.sleep``: all of the process that sleeps waits, and the others go on."""
        process = self.process
        if process is None:
            super().sleep(seconds)
            return
        waiting = [handle for handle in process.handles if not handle.held]
        for handle in waiting:
            handle.hold()
        self.process = None
        try:
            self.run_for(round(seconds * 1e9))
        finally:
            self.process = process
        for handle in waiting:
            self.after(0, handle.go_on)

    def _next_thing(self) -> tuple[int | None, Callable[[], None]]:
        due, action = super()._next_thing()
        for timer in self.timers:
            if timer.runs and (due is None or timer.due < due):
                due, action = timer.due, timer.fire
        return due, action


class Launch:
    """What a node's command line says: its name, namespace, parameters and remappings.

    Args:
        arguments: as for a ROS executable.
    """

    def __init__(self, arguments: list[str]) -> None:
        self.name = self.namespace = ""
        self.remappings: dict[str, str] = {}
        self.parameters: dict[str, Any] = {}
        self.files: list[str] = []
        words = iter(arguments)
        for word in words:
            if word == "-r":
                old, _, new = next(words).partition(":=")
                self._remap(old, new)
            elif word == "-p":
                name, _, text = next(words).partition(":=")
                self.parameters[name] = yaml.safe_load(text)
            elif word == "--params-file":
                self.files.append(next(words))

    def _remap(self, old: str, new: str) -> None:
        if old == "__node":
            self.name = new
        elif old == "__ns":
            self.namespace = new
        else:
            self.remappings[old] = new

    def values(self, name: str, namespace: str) -> dict[str, Any]:
        """The parameters of a node: those of the files that are for it, then those
        of the command line.
        """
        full = f"{namespace.rstrip('/')}/{name}"
        values: dict[str, Any] = {}
        for path in self.files:
            with open(path, encoding="utf-8") as file:
                content = yaml.safe_load(file) or {}
            for pattern, entry in content.items():
                if pattern in ("/**", name, full, f"/**/{name}"):
                    values |= _flat(entry.get("ros__parameters") or {})
        return values | self.parameters


def _flat(entries: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    values: dict[str, Any] = {}
    for name, value in entries.items():
        if isinstance(value, dict):
            values |= _flat(value, f"{prefix}{name}.")
        else:
            values[prefix + name] = value
    return values


class Entity:
    """What rclpy holds as a handle; a destroyed one can't be used any more."""

    def __init__(self) -> None:
        self.alive = True

    def __enter__(self) -> Entity:
        if not self.alive:
            raise native.InvalidHandle("the entity was destroyed")
        return self

    def __exit__(self, *error: object) -> None:
        pass

    @property
    def pointer(self) -> int:
        """A number of its own."""
        return id(self)

    def destroy_when_not_in_use(self) -> None:
        """Destroy it now."""
        self.alive = False


class Node(Entity):
    """The native node.

    Attributes:
        owner: rclpy's node, once it is spun; what comes for one that nobody spins waits in its
            subscriptions.
        entities: what was created on it.
        launch: its command line.
        process: that it is in; None for the test's own.
        held: its process is stopped: nothing of it runs.
    """

    def __init__(self, name: str, namespace: str, *arguments: Any) -> None:
        super().__init__()
        use_global_arguments = arguments[2]
        self.graph = current()
        self.launch = self.graph.launch if use_global_arguments else Launch([])
        self.name = self.launch.name or name
        self.namespace = self.launch.namespace or namespace or "/"
        if not self.namespace.startswith("/"):
            self.namespace = f"/{self.namespace}"
        if native.rclpy_get_validation_error_for_node_name(self.name) is not None:
            raise ValueError(f"node name {self.name!r}")
        self.owner: Any = None
        self.held = False
        self.entities: list[Entity] = []
        self.waiting: list[Callable[[], None]] = []  # while it is held
        self.graph.nodes.append(self)
        self.process = self.graph.process
        if self.process is not None:
            self.process.adopt(self)

    def get_node_name(self) -> str:
        return self.name

    def get_namespace(self) -> str:
        return self.namespace

    def get_fully_qualified_name(self) -> str:
        return f"{self.namespace.rstrip('/')}/{self.name}"

    def logger_name(self) -> str:
        return self.get_fully_qualified_name().strip("/").replace("/", ".")

    def get_parameters(self, kind: Any) -> dict[str, Any]:
        values = self.launch.values(self.name, self.namespace) | {
            "start_type_description_service": False
        }
        return {name: kind(name, value=value) for name, value in values.items()}

    def resolve(self, name: str, only_expand: bool = False) -> str:
        """The full name of a topic or service, remapped."""
        full: str = native.rclpy_expand_topic_name(name, self.name, self.namespace)
        if only_expand:
            return full
        for old, new in self.launch.remappings.items():
            if full == native.rclpy_expand_topic_name(old, self.name, self.namespace):
                return str(native.rclpy_expand_topic_name(new, self.name, self.namespace))
        return full

    def get_count_publishers(self, topic: str) -> int:
        return len(_discovered(self, topic))

    def get_count_subscribers(self, topic: str) -> int:
        return len(self.graph.subscriptions.get(topic, ()))

    def get_count_services(self, name: str) -> int:
        return len(self.graph.services.get(name, ()))

    def get_count_clients(self, name: str) -> int:
        return len(self.graph.clients.get(name, ()))

    def get_node_names_and_namespaces(self) -> list[tuple[str, str]]:
        return [(each.name, each.namespace) for each in self.graph.nodes]

    def get_node_names_and_namespaces_with_enclaves(self) -> list[tuple[str, str, str]]:
        return [(each.name, each.namespace, "/") for each in self.graph.nodes]

    def get_action_names_and_types(self) -> list[tuple[str, list[str]]]:
        return [
            (name, [_type_name(each[0].kind)])
            for name, each in self.graph.action_servers.items()
            if each
        ]

    def run(self, action: Callable[[], None]) -> None:
        """Let its process do something: at once, or when it is no longer held."""
        if not self.alive:
            return
        if self.held:
            self.waiting.append(action)
        else:
            action()

    def hold(self) -> None:
        """As SIGSTOP does."""
        self.held = True

    def go_on(self) -> None:
        """As SIGCONT does: what came meanwhile is handled first."""
        self.held = False
        waiting, self.waiting = self.waiting, []
        for action in waiting:
            if self.alive:
                action()

    def vanish(self) -> None:
        """As the end of its process: nothing of it is left."""
        for entity in list(self.entities):
            entity.destroy_when_not_in_use()
        self.destroy_when_not_in_use()

    def destroy_when_not_in_use(self) -> None:
        super().destroy_when_not_in_use()
        if self in self.graph.nodes:
            self.graph.nodes.remove(self)


class Named(Entity):
    """An entity with a name, kept in one of the graph's lists.

    Attributes:
        node: that has it.
        kind: of its messages.
        name: in full.
        qos: rmw's profile, as a dictionary.
    """

    def __init__(
        self, node: Node, kind: Any, name: str, qos: Any, among: dict[str, list[Any]]
    ) -> None:
        super().__init__()
        self.node, self.kind, self.name = node, kind, node.resolve(name)
        self.qos: dict[str, Any] = qos.to_dict()
        self.graph, self._among = node.graph, among
        self.gid = next(_gids)
        among.setdefault(self.name, []).append(self)
        node.entities.append(self)

    def destroy_when_not_in_use(self) -> None:
        if self.alive:
            super().destroy_when_not_in_use()
            self._among[self.name].remove(self)
            self.node.entities.remove(self)

    def get_logger_name(self) -> str:
        return self.node.logger_name()

    def get_topic_name(self) -> str:
        return self.name


class Publisher(Named):
    """The native publisher; it keeps the last messages where its durability is transient local."""

    def __init__(self, node: Node, kind: Any, topic: str, qos: Any) -> None:
        super().__init__(node, kind, topic, qos, node.graph.publishers)
        self._kept: deque[tuple[bytes, int]] = deque(maxlen=max(1, self.qos["depth"]))

    def publish(self, message: Any) -> None:
        self.publish_raw(native.rclpy_serialize(message, self.kind))

    def publish_raw(self, data: bytes) -> None:
        if self.qos["durability"] == _TRANSIENT_LOCAL:
            self._kept.append((data, self.graph.now))
        changed, sent = self.graph.on_message, self.graph.now
        for delay, content in [(0, data)] if changed is None else changed(self, data):
            for reader in self.graph.subscriptions.get(self.name, ()):
                if matches(self, reader):
                    self._deliver(reader, content, sent, delay)

    def _deliver(self, reader: Subscription, data: bytes, sent: int, delay: int = 0) -> None:
        self.graph.after(LATENCY + delay, lambda: reader.receive(data, sent))

    def latched_for(self, reader: Subscription) -> None:
        """Hand what was kept to a subscription that has just come."""
        if reader.qos["durability"] == _TRANSIENT_LOCAL and matches(self, reader):
            for number, (data, sent) in enumerate(self._kept):
                self._deliver(reader, data, sent, self.graph.on_latched(self, number))

    def get_subscription_count(self) -> int:
        return sum(matches(self, reader) for reader in self.graph.subscriptions.get(self.name, ()))

    def wait_for_all_acked(self, limit: Any) -> bool:
        return True


class Subscription(Named):
    """The native subscription, with the messages that wait in it."""

    def __init__(self, node: Node, kind: Any, topic: str, qos: Any, *content_filter: Any) -> None:
        super().__init__(node, kind, topic, qos, node.graph.subscriptions)
        depth = None if self.qos["history"] == _KEEP_ALL else max(1, self.qos["depth"])
        self._queue: deque[tuple[bytes, int]] = deque(maxlen=depth)
        for writer in self.graph.publishers.get(self.name, ()):
            writer.latched_for(self)

    def receive(self, data: bytes, sent: int) -> None:
        """A message arrives that was sent at that time [ns]."""
        if not self.alive:
            return
        self._queue.append((data, sent))
        if self.node.owner is not None:
            self.node.run(self._handle)

    def _handle(self) -> None:
        found = next((each for each in self.node.owner.subscriptions if each.handle is self), None)
        if found is None or not self.alive:
            return
        taken = self.take_message(found.msg_type, found.raw)
        if taken is not None:
            with_info = getattr(found, "_callback_type", None) == found.CallbackType.WithMessageInfo
            call(self.node, found.callback, *(taken if with_info else taken[:1]))

    def take_message(self, kind: Any, raw: bool) -> tuple[Any, dict[str, Any]] | None:
        if not self._queue:
            return None
        data, sent = self._queue.popleft()
        info = {"source_timestamp": EPOCH + sent, "received_timestamp": EPOCH + self.graph.now}
        if raw:
            return data, info
        try:
            return native.rclpy_deserialize(data, kind), info
        except native.RMWError:  # Fast DDS drops it without a word
            return None

    def get_publisher_count(self) -> int:
        return sum(matches(writer, self) for writer in self.graph.publishers.get(self.name, ()))


def matches(writer: Publisher, reader: Subscription) -> bool:
    """Whether kinds and qualities of service let a subscription get what a publisher sends."""
    return (
        writer.kind is reader.kind
        and not (
            writer.qos["reliability"] == _BEST_EFFORT and reader.qos["reliability"] == _RELIABLE
        )
        and not (
            reader.qos["durability"] == _TRANSIENT_LOCAL
            and writer.qos["durability"] != _TRANSIENT_LOCAL
        )
    )


class RequestId:
    """Whose request it was, and which."""

    def __init__(self, client: Any, number: int) -> None:
        self.client, self.sequence_number = client, number


class Service(Named):
    """The native server of a service."""

    def __init__(self, node: Node, kind: Any, name: str, qos: Any) -> None:
        super().__init__(node, kind, name, qos, node.graph.services)

    def receive(self, request: Any, header: RequestId) -> None:
        """A request arrives."""
        if self.alive and self.node.owner is not None:
            self.node.run(lambda: self._handle(request, header))

    def _handle(self, request: Any, header: RequestId) -> None:
        found = next((each for each in self.node.owner.services if each.handle is self), None)
        if found is None or not self.alive:
            return

        def answer(response: Any) -> None:
            if response is not None and self.node.alive:
                self.service_send_response(response, header)

        call(self.node, found.callback, request, self.kind.Response(), then=answer)

    def service_send_response(self, response: Any, header: RequestId) -> None:
        answer = copy.deepcopy(response)
        self.graph.after(LATENCY, lambda: header.client.receive(answer, header.sequence_number))


class Client(Named):
    """The native client of a service."""

    def __init__(self, node: Node, kind: Any, name: str, qos: Any) -> None:
        super().__init__(node, kind, name, qos, node.graph.clients)
        self._numbers = itertools.count(1)

    @property
    def service_name(self) -> str:
        return self.name

    def service_server_is_available(self) -> bool:
        return bool(self.graph.services.get(self.name))

    def send_request(self, request: Any) -> int:
        number, content = next(self._numbers), copy.deepcopy(request)
        servers = self.graph.services.get(self.name)
        if servers:
            server = servers[0]
            self.graph.after(LATENCY, lambda: server.receive(content, RequestId(self, number)))
        return number

    def receive(self, response: Any, number: int) -> None:
        """An answer arrives."""
        if self.alive and self.node.owner is not None:
            self.node.run(lambda: self._handle(response, number))

    def _handle(self, response: Any, number: int) -> None:
        found = next((each for each in self.node.owner.clients if each.handle is self), None)
        if found is None:
            return
        try:
            future = found.get_pending_request(number)
        except KeyError:  # who asked waits no longer
            return
        call(self.node, future.set_result, response)


class Clock(Entity):
    """The native clock: steady, of the system, or ROS's, which follows /clock
    where it is told to.
    """

    def __init__(self, kind: int) -> None:
        super().__init__()
        self._graph, self._kind = current(), int(kind)
        self._followed = 0
        self._follows = False
        self._jumps: dict[Any, Any] = {}

    @property
    def stepped(self) -> bool:
        """Whether it shows the graph's time, not that of /clock."""
        return not self._follows

    def nanoseconds(self) -> int:
        """The time."""
        if self._follows:
            return self._followed
        return (
            self._graph.now
            if self._kind == native.ClockType.STEADY_TIME
            else EPOCH + self._graph.now
        )

    def get_now(self) -> SimpleNamespace:
        return SimpleNamespace(nanoseconds=self.nanoseconds())

    def get_ros_time_override_is_enabled(self) -> bool:
        return self._follows

    def set_ros_time_override_is_enabled(self, enabled: bool) -> None:
        self._follows = enabled

    def set_ros_time_override(self, point: Any) -> None:
        self._followed = point.nanoseconds

    def add_clock_callback(self, handle: Any, *threshold: Any) -> None:
        self._jumps[handle] = threshold

    def remove_clock_callback(self, handle: Any) -> None:
        self._jumps.pop(handle, None)


class Timer(Entity):
    """The native timer.

    Attributes:
        due: when it fires next, by the graph's time [ns].
        node: that spins it, once that is known.
    """

    def __init__(self, clock: Clock, context: Any, period: int, autostart: bool = True) -> None:
        super().__init__()
        self._graph, self._clock, self._period = current(), clock, period
        self._cancelled = not autostart
        self._last = clock.nanoseconds()
        self._graph.timers.append(self)
        self.found: Any = None
        self.node: Node | None = None

    @property
    def runs(self) -> bool:
        """Whether it can fire: somebody spins it, and it isn't cancelled."""
        if self._cancelled or (self.found is None and not self._find()):
            return False
        assert self.node is not None
        if self.node.held or not self.node.alive:
            return False
        return self._clock.stepped or self._clock.nanoseconds() >= self._last + self._period

    @property
    def due(self) -> int:
        if not self._clock.stepped:
            return self._graph.now
        return self._graph.now + max(0, self._last + self._period - self._clock.nanoseconds())

    def fire(self) -> None:
        """Call its callback."""
        now = self._clock.nanoseconds()
        behind = max(0, now - self._last) // self._period if self._period else 0
        self._last = self._last + behind * self._period if behind else now
        assert self.node is not None
        call(self.node, self.found.callback)

    def _find(self) -> bool:
        for node in self._graph.nodes:
            if node.owner is None:
                continue
            self.found = next((each for each in node.owner.timers if each.handle is self), None)
            if self.found is not None:
                self.node = node
                return True
        return False

    def destroy_when_not_in_use(self) -> None:
        if self.alive:
            super().destroy_when_not_in_use()
            self._graph.timers.remove(self)

    def get_timer_period(self) -> int:
        return self._period

    def change_timer_period(self, period: int) -> None:
        self._period = period

    def is_timer_ready(self) -> bool:
        return not self._cancelled and self._clock.nanoseconds() >= self._last + self._period

    def is_timer_canceled(self) -> bool:
        return self._cancelled

    def cancel_timer(self) -> None:
        self._cancelled = True

    def reset_timer(self) -> None:
        self._cancelled, self._last = False, self._clock.nanoseconds()

    def time_since_last_call(self) -> int:
        return self._clock.nanoseconds() - self._last

    def time_until_next_call(self) -> int | None:
        return None if self._cancelled else self._last + self._period - self._clock.nanoseconds()


class EventHandle(Entity):
    """Events of qualities of service: none happen here."""

    def __init__(self, parent: Any, kind: Any) -> None:
        super().__init__()

    def take_event(self) -> None:
        return None


class LifecycleStateMachine(Entity):
    """The native state machine of a lifecycle node, as in
    design.ros2.org/articles/node_lifecycle.html.
    """

    def __init__(self, node: Node, communicates: bool) -> None:
        super().__init__()
        self._state = State.PRIMARY_STATE_UNCONFIGURED
        self.initialized = True
        self._events: Publisher | None = None
        if not communicates:
            return
        check_for_type_support(TransitionEvent)
        self._events = Publisher(
            node,
            TransitionEvent,
            "~/transition_event",
            native.rmw_qos_profile_t.predefined("qos_profile_default"),
        )
        from lifecycle_msgs.srv import (
            ChangeState,
            GetAvailableStates,
            GetAvailableTransitions,
            GetState,
        )

        for name, kind in (
            ("change_state", ChangeState),
            ("get_state", GetState),
            ("get_available_states", GetAvailableStates),
            ("get_available_transitions", GetAvailableTransitions),
            ("get_transition_graph", GetAvailableTransitions),
        ):
            qos = native.rmw_qos_profile_t.predefined("qos_profile_services_default")
            setattr(self, f"service_{name}", Service(node, kind, f"~/{name}", qos))

    @property
    def current_state(self) -> tuple[int, str]:
        return self._state, _STATES[self._state]

    @property
    def available_states(self) -> list[tuple[int, str]]:
        return list(_STATES.items())

    @property
    def available_transitions(self) -> list[tuple[int, str, int, str, int, str]]:
        return [each for each in self.transition_graph if each[2] == self._state]

    @property
    def transition_graph(self) -> list[tuple[int, str, int, str, int, str]]:
        return [
            (number, label, start, _STATES[start], end, _STATES[end])
            for number, label, start, end in _TRANSITIONS
        ]

    def get_transition_by_label(self, label: str) -> int:
        for number, name, start, _ in _TRANSITIONS:
            if name == label and start == self._state:
                return number
        raise native.RCLError(f"no transition {label!r} from here")

    def trigger_transition_by_id(self, number: int, publish: bool) -> None:
        for each, label, start, end in _TRANSITIONS:
            if each == number and start == self._state:
                self._state = end
                if publish and self._events is not None:
                    event = TransitionEvent(transition=Transition(id=number, label=label))
                    event.start_state, event.goal_state = (
                        State(id=one, label=_STATES[one]) for one in (start, end)
                    )
                    self._events.publish(event)
                return
        raise native.RCLError(f"no transition {number} from {_STATES[self._state]}")

    def trigger_transition_by_label(self, label: str, publish: bool) -> None:
        self.trigger_transition_by_id(self.get_transition_by_label(label), publish)


_STATES = {
    State.PRIMARY_STATE_UNKNOWN: "unknown",
    State.PRIMARY_STATE_UNCONFIGURED: "unconfigured",
    State.PRIMARY_STATE_INACTIVE: "inactive",
    State.PRIMARY_STATE_ACTIVE: "active",
    State.PRIMARY_STATE_FINALIZED: "finalized",
    State.TRANSITION_STATE_CONFIGURING: "configuring",
    State.TRANSITION_STATE_CLEANINGUP: "cleaningup",
    State.TRANSITION_STATE_SHUTTINGDOWN: "shuttingdown",
    State.TRANSITION_STATE_ACTIVATING: "activating",
    State.TRANSITION_STATE_DEACTIVATING: "deactivating",
    State.TRANSITION_STATE_ERRORPROCESSING: "errorprocessing",
}
_ERROR = State.TRANSITION_STATE_ERRORPROCESSING
_FINALIZED = State.PRIMARY_STATE_FINALIZED
_BEGIN = [  # number, label, from, through, to after success, to after failure
    ("CONFIGURE", "UNCONFIGURED", "CONFIGURING", "INACTIVE", "UNCONFIGURED"),
    ("CLEANUP", "INACTIVE", "CLEANINGUP", "UNCONFIGURED", "INACTIVE"),
    ("ACTIVATE", "INACTIVE", "ACTIVATING", "ACTIVE", "INACTIVE"),
    ("DEACTIVATE", "ACTIVE", "DEACTIVATING", "INACTIVE", "ACTIVE"),
    ("UNCONFIGURED_SHUTDOWN", "UNCONFIGURED", "SHUTTINGDOWN", "FINALIZED", "FINALIZED"),
    ("INACTIVE_SHUTDOWN", "INACTIVE", "SHUTTINGDOWN", "FINALIZED", "FINALIZED"),
    ("ACTIVE_SHUTDOWN", "ACTIVE", "SHUTTINGDOWN", "FINALIZED", "FINALIZED"),
]


def _transitions() -> list[tuple[int, str, int, int]]:
    """Number, label, from, to; those through a state get a number of their own for
    each of their ends.
    """
    found: list[tuple[int, str, int, int]] = []
    ends: dict[tuple[int, str], int] = {}
    for name, start, through, success, failure in _BEGIN:
        number = getattr(Transition, f"TRANSITION_{name}")
        middle = getattr(State, f"TRANSITION_STATE_{through}")
        label = "shutdown" if name.endswith("SHUTDOWN") else name.lower()
        found.append((number, label, getattr(State, f"PRIMARY_STATE_{start}"), middle))
        for result, end in (("success", success), ("failure", failure)):
            ends[middle, f"transition_{result}"] = getattr(State, f"PRIMARY_STATE_{end}")
        ends[middle, "transition_error"] = _ERROR
    ends[_ERROR, "transition_success"] = State.PRIMARY_STATE_UNCONFIGURED
    ends[_ERROR, "transition_failure"] = _FINALIZED
    ends[_ERROR, "transition_error"] = _FINALIZED
    found += [
        (100 + count, label, start, end) for count, ((start, label), end) in enumerate(ends.items())
    ]
    return found


_TRANSITIONS = _transitions()


# --- actions ---

_NEXT_STATUS = {
    native.GoalEvent.EXECUTE: GoalStatus.STATUS_EXECUTING,
    native.GoalEvent.CANCEL_GOAL: GoalStatus.STATUS_CANCELING,
    native.GoalEvent.SUCCEED: GoalStatus.STATUS_SUCCEEDED,
    native.GoalEvent.ABORT: GoalStatus.STATUS_ABORTED,
    native.GoalEvent.CANCELED: GoalStatus.STATUS_CANCELED,
}
_ACTIVE = (GoalStatus.STATUS_ACCEPTED, GoalStatus.STATUS_EXECUTING, GoalStatus.STATUS_CANCELING)


class Inboxes:
    """What has arrived for an action's server or client, by what it is."""

    def __init__(self, names: tuple[str, ...]) -> None:
        self._queues: dict[str, deque[Any]] = {name: deque() for name in names}

    def put(self, name: str, content: Any) -> None:
        self._queues[name].append(content)

    def take(self, name: str, nothing: Any) -> Any:
        queue = self._queues[name]
        return queue.popleft() if queue else nothing

    def ready(self) -> tuple[bool, ...]:
        return tuple(bool(queue) for queue in self._queues.values())


class ActionEnd(Named):
    """A server or a client of an action: a waitable of its node."""

    inbox: Inboxes

    def receive(self, name: str, content: Any) -> None:
        """Something arrives."""
        if self.alive and self.node.owner is not None:
            self.inbox.put(name, content)
            self.node.run(self._handle)

    def is_ready(self, wait_set: Any) -> tuple[bool, ...]:
        return self.inbox.ready()

    def _handle(self) -> None:
        found = next(
            (each for each in self.node.owner.waitables if self in vars(each).values()), None
        )
        if found is not None and found.is_ready(None):
            call(self.node, found.execute, found.take_data())

    def send(self, other: ActionEnd, name: str, content: Any) -> None:
        copied = copy.deepcopy(content)
        self.graph.after(LATENCY, lambda: other.receive(name, copied))


class GoalHeader:
    """Whose request it was, and which; it isn't copied."""

    def __init__(self, client: ActionClient, number: int) -> None:
        self.client, self.number = client, number

    def __deepcopy__(self, memory: Any) -> GoalHeader:
        return self


class ActionServer(ActionEnd):
    """The native server of an action; results are kept for ever."""

    def __init__(
        self, node: Node, clock: Any, kind: Any, name: str, qos: Any, *others: Any
    ) -> None:
        super().__init__(node, kind, name, qos, node.graph.action_servers)
        self.inbox = Inboxes(("goal", "cancel", "result", "expired"))
        self.goals: list[ActionGoalHandle] = []

    def take_goal_request(self, kind: Any) -> tuple[Any, Any]:
        return self.inbox.take("goal", (None, None))

    def take_cancel_request(self, kind: Any) -> tuple[Any, Any]:
        return self.inbox.take("cancel", (None, None))

    def take_result_request(self, kind: Any) -> tuple[Any, Any]:
        return self.inbox.take("result", (None, None))

    def send_goal_response(self, header: GoalHeader, response: Any) -> None:
        self.send(header.client, "goal", (header.number, response))

    def send_cancel_response(self, header: GoalHeader, response: Any) -> None:
        self.send(header.client, "cancel", (header.number, response))

    def send_result_response(self, header: GoalHeader, response: Any) -> None:
        self.send(header.client, "result", (header.number, response))

    def publish_feedback(self, message: Any) -> None:
        for client in self.graph.action_clients.get(self.name, ()):
            self.send(client, "feedback", message)

    def publish_status(self) -> None:
        message = GoalStatusArray()
        for goal in self.goals:
            message.status_list.append(GoalStatus(goal_info=goal.info, status=goal.status))
        for client in self.graph.action_clients.get(self.name, ()):
            self.send(client, "status", message)

    def notify_goal_done(self) -> None:
        pass

    def goal_exists(self, info: GoalInfo) -> bool:
        return any(_same(goal.info, info) for goal in self.goals)

    def process_cancel_request(self, request: CancelGoal.Request, kind: Any) -> Any:
        response = kind()
        anyone = not any(request.goal_info.goal_id.uuid)
        chosen = [goal for goal in self.goals if anyone or _same(goal.info, request.goal_info)]
        response.goals_canceling = [goal.info for goal in chosen if goal.is_active()]
        if not chosen:
            response.return_code = CancelGoal.Response.ERROR_UNKNOWN_GOAL_ID
        elif not response.goals_canceling:
            response.return_code = CancelGoal.Response.ERROR_GOAL_TERMINATED
        return response

    def expire_goals(self, most: int) -> tuple[Any, ...]:
        return ()


class ActionGoalHandle(Entity):
    """The native goal of a server: its status."""

    def __init__(self, server: ActionServer, info: GoalInfo) -> None:
        super().__init__()
        self.info, self.status = info, GoalStatus.STATUS_ACCEPTED
        server.goals.append(self)

    def get_status(self) -> int:
        return self.status

    def is_active(self) -> bool:
        return self.status in _ACTIVE

    def update_goal_state(self, event: Any) -> None:
        allowed = self.is_active()
        if event == native.GoalEvent.CANCELED:
            allowed = self.status == GoalStatus.STATUS_CANCELING
        if not allowed:
            raise native.RCLError(f"goal with status {self.status}: no {event}")
        self.status = _NEXT_STATUS[event]


class ActionClient(ActionEnd):
    """The native client of an action."""

    def __init__(self, node: Node, kind: Any, name: str, qos: Any, *others: Any) -> None:
        super().__init__(node, kind, name, qos, node.graph.action_clients)
        self.inbox = Inboxes(("feedback", "status", "goal", "cancel", "result"))
        self._numbers = itertools.count(1)

    def is_action_server_available(self) -> bool:
        return bool(self.graph.action_servers.get(self.name))

    def send_goal_request(self, request: Any) -> int:
        return self._ask("goal", request)

    def send_cancel_request(self, request: Any) -> int:
        return self._ask("cancel", request)

    def send_result_request(self, request: Any) -> int:
        return self._ask("result", request)

    def take_goal_response(self, kind: Any) -> tuple[Any, Any]:
        return self.inbox.take("goal", (None, None))

    def take_cancel_response(self, kind: Any) -> tuple[Any, Any]:
        return self.inbox.take("cancel", (None, None))

    def take_result_response(self, kind: Any) -> tuple[Any, Any]:
        return self.inbox.take("result", (None, None))

    def take_feedback(self, kind: Any) -> Any:
        return self.inbox.take("feedback", None)

    def take_status(self, kind: Any) -> Any:
        return self.inbox.take("status", None)

    def _ask(self, name: str, request: Any) -> int:
        number = next(self._numbers)
        for server in self.graph.action_servers.get(self.name, ())[:1]:
            self.send(server, name, (GoalHeader(self, number), request))
        return number


def _same(one: GoalInfo, other: GoalInfo) -> bool:
    return bytes(one.goal_id.uuid) == bytes(other.goal_id.uuid)


# --- functions of the native layer ---


def _type_name(kind: Any) -> str:
    package, folder = kind.__module__.split(".")[:2]
    return f"{package}/{folder}/{kind.__name__}"


def _names_and_types(
    lists: dict[str, list[Any]], *more: dict[str, list[Any]]
) -> list[tuple[str, list[str]]]:
    kinds: dict[str, set[str]] = {}
    for each in (lists, *more):
        for name, entities in each.items():
            kinds.setdefault(name, set()).update(_type_name(entity.kind) for entity in entities)
    return sorted((name, sorted(found)) for name, found in kinds.items() if found)


def _of_node(lists: dict[str, list[Any]], name: str, namespace: str) -> dict[str, list[Any]]:
    return {
        topic: [
            each for each in entities if (each.node.name, each.node.namespace) == (name, namespace)
        ]
        for topic, entities in lists.items()
    }


def _discovered(node: Any, topic: str) -> list[Any]:
    """The publishers of a topic that a node has discovered."""
    found, sees = node.graph.publishers.get(topic, []), node.graph.sees
    return (
        found if sees is None else [each for each in found if each.node is node or sees(node, each)]
    )


def _infos(entities: list[Named], kind: int) -> list[dict[str, Any]]:
    return [
        {
            "node_name": each.node.name,
            "node_namespace": each.node.namespace,
            "topic_type": _type_name(each.kind),
            "topic_type_hash": {"version": 1, "value": bytes(32)},
            "endpoint_type": kind,
            "endpoint_gid": [*each.gid.to_bytes(8, "little"), *bytes(8)],
            "qos_profile": dict(each.qos),
        }
        for each in entities
    ]


def _log(severity: int, name: str, message: str, *place: Any) -> None:
    current().lines.append((name, int(severity), message))


_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "rclpy_resolve_name": lambda node, name, only_expand, is_service: node.resolve(
        name, only_expand
    ),
    "rclpy_remap_topic_name": lambda node, name: node.resolve(name),
    "rclpy_get_topic_names_and_types": lambda node, plain: _names_and_types(
        node.graph.publishers, node.graph.subscriptions
    ),
    # a client alone makes its name known, too
    "rclpy_get_service_names_and_types": lambda node: _names_and_types(
        node.graph.services, node.graph.clients
    ),
    "rclpy_get_publisher_names_and_types_by_node": lambda node, plain, name, space: (
        _names_and_types(_of_node(node.graph.publishers, name, space))
    ),
    "rclpy_get_subscriber_names_and_types_by_node": lambda node, plain, name, space: (
        _names_and_types(_of_node(node.graph.subscriptions, name, space))
    ),
    "rclpy_get_service_names_and_types_by_node": lambda node, name, space: _names_and_types(
        _of_node(node.graph.services, name, space)
    ),
    "rclpy_get_client_names_and_types_by_node": lambda node, name, space: _names_and_types(
        _of_node(node.graph.clients, name, space)
    ),
    "rclpy_get_publishers_info_by_topic": lambda node, topic, plain: _infos(
        _discovered(node, topic), 1
    ),
    "rclpy_get_subscriptions_info_by_topic": lambda node, topic, plain: _infos(
        node.graph.subscriptions.get(topic, []), 2
    ),
    "rclpy_logging_rcutils_log": _log,
    "rclpy_logging_rosout_add_sublogger": lambda *names: False,
}
_CLASSES = (
    ActionClient,
    ActionGoalHandle,
    ActionServer,
    Client,
    Clock,
    EventHandle,
    LifecycleStateMachine,
    Node,
    Publisher,
    Service,
    Subscription,
    Timer,
)

_graphs: list[Graph] = []  # the one that was used last is the last
_gids = itertools.count(1)


def current() -> Graph:
    """The graph of the test that runs: the one in which something happened last."""
    return _graphs[-1]


def call(
    node: Node,
    function: Callable[..., Any],
    *arguments: Any,
    then: Callable[[Any], None] | None = None,
) -> None:
    """Let a node's executor call something, a coroutine as well."""
    node.owner.executor.call(node, function, *arguments, then=then)


def replace_native_layer(patch: Any) -> None:
    """Put graphs below rclpy, and their time below ``time``, until pytest's `patch` is undone."""
    for kind in _CLASSES:
        patch.setattr(native, kind.__name__, kind)
    for name, function in _FUNCTIONS.items():
        patch.setattr(native, name, function)
    patch.setattr(time, "monotonic", lambda: current().now * 1e-9)
    patch.setattr(time, "monotonic_ns", lambda: current().now)
    patch.setattr(time, "perf_counter", lambda: current().now * 1e-9)
    patch.setattr(time, "time", lambda: (EPOCH + current().now) * 1e-9)
    patch.setattr(time, "time_ns", lambda: EPOCH + current().now)
    patch.setattr(time, "sleep", lambda seconds: current().sleep(seconds))
