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

# The default callbacks for QoS events cost the executor a waitable each, in every cycle.
# Best-effort volatile subscriptions and reliable publishers have nothing to complain of.
_QUIET_SUBSCRIPTION = SubscriptionEventCallbacks(use_default_callbacks=False)
_QUIET_PUBLISHER = PublisherEventCallbacks(use_default_callbacks=False)


def full_name(node: Node) -> str:
    """Name of a node with its namespace, as in diagnostics: `controller`, `left/controller`."""
    return node.get_fully_qualified_name().lstrip("/")


def in_namespace(node: Node, name: str) -> str:
    """Full name of a node in the namespace of another one; a name with a slash in front is full."""
    return name if name.startswith("/") else f"{node.get_namespace().rstrip('/')}/{name}"


class Entities:
    """Topics, services, parameters and timers that one part of a node has created.

    :meth:`close` destroys all of them, the last one first; `on_close` adds an action to it. An
    executor may still call the callback of something that was just destroyed. After close() such a
    call does nothing.

    Attributes:
        node: Node that all is created on.
        refusals: Counts of refused messages on the node's topics.
    """

    def __init__(self, node: Node) -> None:
        self.node = node
        self.refusals = Refusals.of(node)
        self._created = ExitStack()
        self._closed = False
        self.on_close = self._created.callback

    def close(self) -> None:
        """Destroy everything that was created, and call the added actions."""
        self._closed = True
        self._created.close()

    def publisher(self, kind: type, topic: str, qos: QoSProfile | int = COMMAND_QOS) -> Any:
        """Make a publisher; by default it is reliable, with depth 1."""
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
        """Make a subscription; by default it is best effort, with depth 1.

        With `raw` the callback gets serialised messages. With `stamped` it also gets the time when
        the message was sent [ns], by the sender's clock. With `newest` only the newest of the
        messages that wait is taken: else a process that stood still would answer old ones first.

        Messages that can't be read, or that the callback refuses by a RobotControlError, are
        counted and logged. For this the subscription of rclpy is always raw: middlewares differ in
        what they do with bytes that can't be read.
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
        made = self.node.create_subscription(
            kind, topic, taken, qos, event_callbacks=_QUIET_SUBSCRIPTION, raw=True
        )
        return self._kept(made, self.node.destroy_subscription)

    def service(self, kind: type, name: str, callback: Any) -> None:
        """Make a service."""
        self._kept(self.node.create_service(kind, name, callback), self.node.destroy_service)

    def client(self, kind: type, name: str) -> Any:
        """Make a client of a service."""
        return self._kept(self.node.create_client(kind, name), self.node.destroy_client)

    def trigger(self, name: str, action: Callable[[], Any], done: str = "") -> None:
        """Make a std_srvs/Trigger service that runs an action.

        The answer is the text that the action returns, or else `done`. A RobotControlError is
        answered as a refusal.
        """

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

    def tuned(
        self, parameters: TunedParameters, prefix: str, tuning: ParameterSet, joints: Sequence[str]
    ) -> None:
        """Declare the parameters ``<prefix>.…`` of gains or settings; `joints` names their axes."""
        parameters.add(prefix, tuning, joints)
        self.on_close(parameters.remove, prefix)

    def timer(self, period: float, callback: Callable[[], Any]) -> Any:
        """Make a timer on the steady clock, with a period [s]."""
        timer = self.node.create_timer(period, self._until_closed(callback), clock=steady_clock())
        return self._kept(timer, self.node.destroy_timer)

    def _until_closed(self, callback: Callable[..., Any]) -> Callable[..., None]:
        @wraps(callback)
        def call(*message: Any) -> None:
            if not self._closed:
                callback(*message)

        # rclpy reads the signature at each call of a timer; it takes 10 times as long where it
        # isn't kept.
        call.__signature__ = inspect.signature(callback)  # type: ignore[attr-defined]
        return call

    def _kept(self, made: Any, destroy: Callable[[Any], object]) -> Any:
        self.on_close(destroy, made)
        return made


def newest_waiting(subscription: Any, kind: type) -> bytes | None:
    """The newest of the messages that wait, serialised; None where none waits."""
    newest = None
    while True:
        with subscription.handle:
            taken = subscription.handle.take_message(kind, True)
        if taken is None:
            return newest
        newest = taken[0]
