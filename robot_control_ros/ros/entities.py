"""Publishers, subscriptions, services, parameters and timers that come and go together."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from functools import wraps
from typing import Any

from rclpy.event_handler import PublisherEventCallbacks, SubscriptionEventCallbacks
from rclpy.node import Node
from rclpy.qos import QoSProfile
from std_srvs.srv import Trigger

from ..core.errors import RobotControlError
from ..core.gains import ParameterSet
from .messages import read_message
from .qos import COMMAND_QOS, INPUT_QOS
from .refusals import Refusals
from .ros_params import TunedParameters
from .running import steady_clock

# The default callbacks for QoS events cost the executor a waitable each, in every cycle. Best-effort volatile
# subscriptions and reliable publishers have nothing to complain of.
_QUIET_SUBSCRIPTION = SubscriptionEventCallbacks(use_default_callbacks=False)
_QUIET_PUBLISHER = PublisherEventCallbacks(use_default_callbacks=False)


def full_name(node: Node) -> str:
    """Name of a node with its namespace, as in diagnostics: `controller`, `left/controller`."""
    return node.get_fully_qualified_name().lstrip("/")


def in_namespace(node: Node, name: str) -> str:
    """The name with its namespace of a node in the namespace of another; one that begins with a slash has it."""
    return name if name.startswith("/") else f"{node.get_namespace().rstrip('/')}/{name}"


class Entities:
    """What one part of a node has created; close() takes all of it back, last first; on_close() adds an action.

    An executor that works through what is ready still calls what was destroyed meanwhile. After close() that does
    nothing.

    Attributes:
        node: as given.
        refusals: of the node's topics.
    """

    def __init__(self, node: Node) -> None:
        self.node = node
        self.refusals = Refusals.of(node)
        self._created = ExitStack()
        self._closed = False
        self.on_close = self._created.callback

    def close(self) -> None:
        """Take everything back."""
        self._closed = True
        self._created.close()

    def publisher(self, kind: type, topic: str, qos: QoSProfile | int = COMMAND_QOS) -> Any:
        """A publisher: reliable, depth 1."""
        made: Any = self.node.create_publisher(kind, topic, qos, event_callbacks=_QUIET_PUBLISHER)
        return self._kept(made, self.node.destroy_publisher)

    def subscription(
        self,
        kind: type,
        topic: str,
        callback: Any,
        qos: QoSProfile | int = INPUT_QOS,
        raw: bool = False,
        newest: bool = False,
        stamped: bool = False,
    ) -> Any:
        """A subscription: best effort, depth 1; the callback of a raw one gets serialised messages.

        That of a `stamped` one gets, as well, when the message was sent [ns], by the clock of who sent it.

        With `newest`, only the newest of the messages that wait is taken: a process that stood still would else answer
        old ones first.

        Bytes that are no message of the kind, and messages that the callback refuses by one of our errors, are counted
        and told. It is raw below in any case: what a middleware does with bytes that it can't read is its own affair.
        """
        called = self._until_closed(callback)

        def take(data: bytes, *more: int) -> None:
            if newest:
                data = newest_waiting(made, kind) or data
            with self.refusals.told(topic):
                called(data if raw else read_message(data, kind), *more)

        def take_stamped(data: bytes, info: Any) -> None:
            take(data, info["source_timestamp"])

        taken = take_stamped if stamped else take
        made = self.node.create_subscription(kind, topic, taken, qos, event_callbacks=_QUIET_SUBSCRIPTION, raw=True)
        return self._kept(made, self.node.destroy_subscription)

    def service(self, kind: type, name: str, callback: Any) -> None:
        """A service."""
        self._kept(self.node.create_service(kind, name, callback), self.node.destroy_service)

    def client(self, kind: type, name: str) -> Any:
        """A client of a service."""
        return self._kept(self.node.create_client(kind, name), self.node.destroy_client)

    def trigger(self, name: str, action: Callable[[], Any], done: str = "") -> None:
        """A std_srvs/Trigger service around an action; the answer is its text, or else `done`, or one of our errors."""

        def answer(request: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
            try:
                message = action()
                response.success = True
                response.message = message if isinstance(message, str) else done
            except RobotControlError as error:
                response.success = False
                response.message = str(error)
            return response

        self.service(Trigger, name, answer)

    def tuned(self, parameters: TunedParameters, prefix: str, tuning: ParameterSet, joints: Sequence[str]) -> None:
        """Parameters of what is tuned on a robot with these joints."""
        parameters.add(prefix, tuning, joints)
        self.on_close(parameters.remove, prefix)

    def timer(self, period: float, callback: Callable[[], Any]) -> Any:
        """A timer on the steady clock."""
        timer = self.node.create_timer(period, self._until_closed(callback), clock=steady_clock())
        return self._kept(timer, self.node.destroy_timer)

    def _until_closed(self, callback: Callable[..., Any]) -> Callable[..., None]:
        @wraps(callback)
        def call(*message: Any) -> None:
            if not self._closed:
                callback(*message)

        # rclpy reads the signature at each call of a timer; it takes 10 times as long where it isn't kept.
        call.__signature__ = inspect.signature(callback)  # type: ignore[attr-defined]
        return call

    def _kept(self, made: Any, destroy: Callable[[Any], object]) -> Any:
        self.on_close(destroy, made)
        return made


def newest_waiting(subscription: Any, kind: type) -> bytes | None:
    """The newest of the serialised messages that wait; None where none does."""
    newest = None
    while True:
        with subscription.handle:
            taken = subscription.handle.take_message(kind, True)
        if taken is None:
            return newest
        newest = taken[0]
