"""A running controller over ROS, by a node, a context and a thread of the client's own."""

from __future__ import annotations

import itertools
import json
import os
import threading
import time
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import rclpy
from diagnostic_msgs.msg import DiagnosticStatus
from geometry_msgs.msg import PoseStamped, TwistStamped
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, QoSProfile
from rclpy.signals import SignalHandlerOptions
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray, String
from std_srvs.srv import Trigger

from ..core.errors import ConfigError, HardwareFault, RobotControlError, StaleStateError, refused
from ..core.types import Array
from ..dashboard.link import RequestResult
from ..nodes.common.controller_client import ControllerClient
from ..nodes.common.entities import Entities
from ..nodes.common.messages import fill_pose, fill_twist, numbers, read_blocks
from ..nodes.common.transport import leave_shared_memory
from ..robot.configuration import load_robot
from ..robot.model import RobotModel
from .backend import Value
from .snapshot import Snapshot
from .state_feed import StateFeed

CHECK_PERIOD = 0.04  # s between two looks at that
STALLED = 0.1  # s that such a look is late where this process was held up
POLL = 0.001  # s between two looks of a call that waits for an answer
ATTEMPTS = 5  # of a request whose answer was lost; each may be made twice
RESEND = 0.2  # s after which a target is sent again
UNANSWERED = 10.0  # s
_TOPIC_QOS = QoSProfile(depth=20)
_LATCHED = QoSProfile(depth=20, durability=DurabilityPolicy.TRANSIENT_LOCAL)
_numbers = itertools.count()


class RosBackend:
    """See :class:`~.backend.RobotBackend` and :class:`~.robot.Robot`."""

    concurrent = True
    clock = staticmethod(time.monotonic)

    def __init__(
        self, robot: str, namespace: str, controller: str, domain: int | None, timeout: float, lost_after: float
    ) -> None:
        self.feed, self._lost_after = StateFeed(), lost_after
        self._name = "/" + "/".join(part for part in (namespace.strip("/"), controller.strip("/")) if part)
        self._fault, self._lost = "", False
        self._replies: dict[tuple[int, int], DiagnosticStatus | None] = {}  # by stamp, of targets that wait for one
        self._looked_at = self._stalled_at = time.monotonic()
        leave_shared_memory()
        self._context = rclpy.Context()
        rclpy.init(context=self._context, domain_id=domain, signal_handler_options=SignalHandlerOptions.NO)
        self._node = Node(
            f"robot_client_{os.getpid()}_{next(_numbers)}",
            context=self._context,
            use_global_arguments=False,
            start_parameter_services=False,
            enable_rosout=False,
        )
        self._make_entities()
        self._executor = SingleThreadedExecutor(context=self._context)
        self._executor.add_node(self._node)
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._spin, name="robot client", daemon=True)
        self._thread.start()
        try:
            self._connect(timeout)
            self.config = config = load_robot(self._controller.robot, self._controller.profile)
            self.model = RobotModel.of(config)
            if robot and load_robot(robot).name != config.name:
                raise refused("robot", robot, f"controller {self._name} controls {config.name!r}", config.name)
        except BaseException:
            self.close()
            raise

    def _make_entities(self) -> None:
        self._entities = entities = Entities(self._node)
        self._controller = ControllerClient(self._node, entities, self._name)
        self._poses = entities.publisher(PoseStamped, f"{self._name}/target_pose")
        self._joints = entities.publisher(JointState, f"{self._name}/target_joint")
        self._twists = entities.publisher(TwistStamped, f"{self._name}/target_twist")
        self._triggers = {name: entities.client(Trigger, f"{self._name}/{name}") for name in ("hold", "zero_wrench")}
        entities.subscription(Float64MultiArray, f"{self._name}/state", self._on_state)
        entities.subscription(DiagnosticStatus, f"{self._name}/target_reply", self._on_reply, _TOPIC_QOS)
        entities.subscription(String, f"{self._name}/fault", self._on_fault, _LATCHED)
        entities.timer(CHECK_PERIOD, self._look)

    # --- what others call ---

    @property
    def law(self) -> str:
        return self._controller.law

    def parameters(self) -> dict[str, Value]:
        return {name: parameter.value for name, parameter in self._controller.parameters.items()}

    def advance(self, seen: Snapshot | None, limit: float) -> None:
        self.feed.wait(seen, limit)

    def move_to(self, pose: Array) -> float:
        message = PoseStamped()
        message.header.frame_id = self.config.base
        fill_pose(message.pose, pose)
        return self._send(self._poses, message)

    def move_joints_to(self, q: Array) -> float:
        return self._send(self._joints, JointState(name=list(self.config.joints), position=numbers(q)))

    def jog(self, twist: Array) -> None:
        self._check_alive()
        message = TwistStamped()
        message.header.frame_id = self.config.base
        fill_twist(message.twist, twist)
        self._twists.publish(message)

    def hold(self) -> None:
        self._trigger("hold")

    def interrupt(self) -> None:
        if self._triggers["hold"].service_is_ready():
            self._triggers["hold"].call_async(Trigger.Request())

    def set_parameters(self, values: Mapping[str, Value]) -> None:
        result = self._ask(lambda reply: self._controller.set_gains(values, reply))
        if not result.accepted:
            raise self._refusal(result.message, values)

    def set_law(self, name: str) -> None:
        result = self._ask(lambda reply: self._controller.set_law(name, reply))
        if not result.accepted:
            raise ConfigError(result.message, name="law", value=name)

    def zero_wrench(self) -> str:
        return self._trigger("zero_wrench")

    def close(self) -> None:
        if self._stop.is_set():
            return
        self._stop.set()
        if threading.current_thread() is not self._thread:
            self._thread.join()
        self._executor.shutdown()
        self._entities.close()
        self._node.destroy_node()
        self._context.try_shutdown()
        self.feed.fail(HardwareFault("the robot was closed"))

    # --- requests, and their answers ---

    def _trigger(self, name: str) -> str:
        result = self._ask(lambda reply: self._controller.call(self._triggers[name], Trigger.Request(), reply))
        if not result.accepted:
            raise ConfigError(result.message, name=name)
        return result.message

    def _ask(self, request: Callable[[Callable[[RequestResult], None]], None]) -> RequestResult:
        """The result of a request to a service.

        Raises:
            StaleStateError: there is no answer.
        """
        for _ in range(ATTEMPTS):
            results: list[RequestResult] = []
            request(results.append)
            while not results:
                self._check_alive()
                time.sleep(POLL)
            if results[0].answered:
                return results[0]
        raise StaleStateError(results[0].message, name=self._name)

    def _send(self, publisher: Any, message: Any) -> float:
        """Send a target until it is answered; returns the time [s] after which states are under it."""
        stamp = message.header.stamp
        stamp.sec, stamp.nanosec = key = divmod(time.time_ns(), 1_000_000_000)
        end, again = time.monotonic() + UNANSWERED, 0.0
        self._replies[key] = None
        try:
            while (reply := self._replies[key]) is None:
                self._check_alive()
                if (now := time.monotonic()) > end:
                    message = f"{publisher.topic_name}: no answer within {UNANSWERED:g} s"
                    raise StaleStateError(message, name=publisher.topic_name, bound=UNANSWERED)
                if now >= again:
                    publisher.publish(message)
                    again = now + RESEND
                time.sleep(POLL)
        finally:
            del self._replies[key]
        data = {item.key: json.loads(item.value) for item in reply.values}
        if reply.level != DiagnosticStatus.OK:
            bound = data["bound"]
            bound = tuple(bound) if isinstance(bound, list) else bound
            raise ConfigError(reply.message, name=data["name"], value=data["value"], bound=bound)
        return float(data["time"])

    def _refusal(self, reason: str, values: Mapping[str, Value]) -> ConfigError:
        """The error for refused gains: the controller's words, and the fields by what it has declared."""
        for name, value in values.items():
            declared, several = self._controller.parameters[name], isinstance(value, tuple)
            if declared.choices and value not in declared.choices:
                return ConfigError(reason, name=name, value=value, bound=declared.choices)
            for index, number in enumerate(np.atleast_1d(value) if not isinstance(value, str) else ()):
                if not declared.lower <= number <= declared.upper:
                    bound, one = (declared.lower, declared.upper), isinstance(declared.value, tuple)
                    shown = f"{name}[{index}]" if several or one else name
                    return ConfigError(reason, name=shown, value=float(number), bound=bound)
        return ConfigError(reason, name=next(iter(values)), value=next(iter(values.values())))

    def _check_alive(self) -> None:
        if self._lost or self._stop.is_set():
            self.feed.check(self.feed.faults)

    # --- the thread of the executor ---

    def _spin(self) -> None:
        try:
            while not self._stop.is_set():
                self._executor.spin_once(timeout_sec=0.1)
        except Exception as error:
            self.feed.fail(HardwareFault(f"the client can't go on: {error}"))
            raise

    def _on_state(self, message: Float64MultiArray) -> None:
        self._controller.on_telemetry()
        self.feed.put(Snapshot.of(read_blocks(message)))

    def _on_reply(self, message: DiagnosticStatus) -> None:
        key = tuple(json.loads(next(item.value for item in message.values if item.key == "stamp")))
        if key in self._replies:
            self._replies[key] = message

    def _on_fault(self, message: String) -> None:
        self._fault = message.data
        if not self._lost:
            self._report_fault()

    def _look(self) -> None:
        """Whether the controller is still there; a time in which this process was held up doesn't count."""
        now, before = time.monotonic(), self._looked_at
        self._looked_at = now
        if now - before > CHECK_PERIOD + STALLED:
            self._stalled_at = now
        silence = min(self._controller.silence, now - self._stalled_at)
        if silence > self._lost_after and not self._lost:
            self._lost = True
            text = f"controller {self._name} doesn't answer for {silence:.2f} s: does it still run?"
            self.feed.fail(StaleStateError(text, name=self._name, value=silence, bound=self._lost_after))
        elif silence < self._lost_after and self._lost:
            self._lost = False
            self._report_fault()

    def _report_fault(self) -> None:
        self.feed.fail(HardwareFault(self._fault) if self._fault else None)

    # --- the beginning ---

    def _connect(self, timeout: float) -> None:
        end = time.monotonic() + timeout
        while not (self._controller.law and self.feed.newest and self._ready()) or self._lost:
            if time.monotonic() > end:
                raise self._not_connected(timeout)
            time.sleep(CHECK_PERIOD)

    def _ready(self) -> bool:
        takers = (self._poses, self._joints, self._twists)
        matched = all(each.get_subscription_count() > 0 for each in takers)
        return matched and all(each.service_is_ready() for each in self._triggers.values())

    def _not_connected(self, timeout: float) -> RobotControlError:
        controller, name = self._controller, self._name
        if controller.answers and controller.lifecycle != "active":
            return ConfigError(f"controller {name} is {controller.lifecycle}: activate it first", name=name)
        if controller.answers:
            return StaleStateError(f"controller {name} sends no state: see robot_control doctor", name=name)
        topics = (topic for topic, _ in self._node.get_topic_names_and_types())
        all_found = (topic.removesuffix("/target_pose") for topic in topics if topic.endswith("/target_pose"))
        found = tuple(each for each in all_found if each != name)
        others = ", ".join(found) or "none; is it in this ROS_DOMAIN_ID?"
        text = f"no controller {name} within {timeout:g} s; others: {others}"
        return StaleStateError(text, name=name, bound=found)
