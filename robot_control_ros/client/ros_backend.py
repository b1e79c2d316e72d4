"""A running controller over ROS: its topics, services and parameters."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from diagnostic_msgs.msg import DiagnosticStatus
from geometry_msgs.msg import PoseStamped, TwistStamped
from rclpy.exceptions import InvalidTopicNameException
from rclpy.node import Node
from rclpy.qos import QoSProfile
from rclpy.validate_full_topic_name import validate_full_topic_name
from sensor_msgs.msg import JointState
from std_srvs.srv import Trigger

from ..control.requests import Parameter, RequestResult
from ..core.errors import ConfigError, HardwareFault, RobotControlError, StaleStateError, refused
from ..core.output_paths import writable_file
from ..core.types import Array
from ..recording.cycle_file import copy_last, whole_file
from ..robot.configuration import load_robot
from ..robot.model import RobotModel
from ..robot.workcell import arm_namespace
from ..ros.controller_client import ControllerClient
from ..ros.gripper_commands import RosGripper
from ..ros.messages import fill_pose, fill_twist, numbers
from .backend import Value, told_payload
from .controller_watch import ControllerWatch
from .recording.topic_recording import record_topics
from .ros_thread import RosThread
from .snapshot import Snapshot
from .state_feed import StateFeed

POLL = 0.001  # s between two looks of a call that waits for an answer
CONNECT_POLL = 0.02  # s, while it connects
ATTEMPTS = 5  # of a request whose answer was lost; each may be made twice
RESEND = 0.2  # s after which a target is sent again
UNANSWERED = 10.0  # s
TRIGGERS = ("hold", "zero_wrench", "clear_contact", "save_record")


class RosBackend:
    """See :class:`~.backend.RobotBackend` and :class:`~.robot.Robot`."""

    concurrent = True
    simulated = False
    clock = staticmethod(time.monotonic)

    def __init__(
        self, robot: str, namespace: str, controller: str, domain: int | None, timeout: float, lost_after: float
    ) -> None:
        self.feed = StateFeed()
        self.gripper = None
        feed = self.feed
        parts = namespace.strip("/") or arm_namespace(robot), controller.strip("/")
        self._name = name = _checked("/" + "/".join(filter(None, parts)))
        self._replies: dict[tuple[int, ...], DiagnosticStatus | None] = {}  # by stamp, of targets that wait for one
        self._ros = RosThread(
            domain, name.rpartition("/")[0], lambda error: feed.fail(HardwareFault(f"the client can't go on: {error}"))
        )
        try:
            self.record_topics = partial(record_topics, self._ros, name)
            entities = self._ros.entities
            self._controller = ControllerClient(self._ros.node, entities, name)
            self._watch = ControllerWatch(entities, self._controller, name, feed, lost_after, self._ros.hears)
            self._poses = entities.publisher(PoseStamped, f"{name}/target_pose")
            self._joints = entities.publisher(JointState, f"{name}/target_joint")
            self._twists = entities.publisher(TwistStamped, f"{name}/target_twist")
            self._triggers = {each: entities.client(Trigger, f"{name}/{each}") for each in TRIGGERS}
            entities.subscription(DiagnosticStatus, f"{name}/target_reply", self._on_reply, QoSProfile(depth=20))
            self._ros.start()
            self._connect(timeout)
            known = self._controller
            self.config = config = load_robot(known.robot, known.profile, known.prefix)
            self._model = RobotModel.of(config)
            if (gripper := config.gripper) is not None:
                states = config.profile.joint_states
                self.gripper = self._ros.call(lambda: RosGripper(self._ros.node, entities, gripper, states))
            if robot and load_robot(robot).name != config.name:
                raise refused("robot", robot, f"controller {name} controls {config.name!r}", config.name)
        except BaseException:
            self.close()
            raise

    # --- what others call ---

    @property
    def law(self) -> str:
        return self._controller.law

    @property
    def model(self) -> RobotModel:
        """Of the robot, with the payload that the controller has now."""
        payload = told_payload(self.parameters())
        if not np.array_equal(payload.row, self._model.payload.row):
            self._model.payload = payload
        return self._model

    def parameters(self) -> dict[str, Value]:
        return {name: parameter.value for name, parameter in self._controller.parameters.items()}

    def advance(self, seen: Snapshot | None, limit: float) -> None:
        if not self._ros.runs:
            self._check_alive()
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
        if self._ros.runs and self._triggers["hold"].service_is_ready():
            self._triggers["hold"].call_async(Trigger.Request())

    def set_parameters(self, values: Mapping[str, Value]) -> None:
        result = self._ask(lambda reply: self._controller.set_gains(values, reply))
        if not result.accepted:
            raise _refusal(result.message, values, self._controller.parameters)

    def set_law(self, name: str) -> None:
        result = self._ask(lambda reply: self._controller.set_law(name, reply))
        if not result.accepted:
            raise ConfigError(result.message, name="law", value=name)

    def zero_wrench(self) -> str:
        return self._trigger("zero_wrench")

    def save_cycles(self, path: Path, seconds: float) -> None:
        writable_file(path)
        copy_last(whole_file(Path(self._trigger("save_record"))), path, seconds)

    def clear_contact(self) -> str:
        cleared = self._trigger("clear_contact")
        before = self.feed.newest
        end = time.monotonic() + UNANSWERED
        while (self.feed.contact or self.feed.newest is before) and time.monotonic() < end:
            self._check_alive()  # the end of its fault comes before the next state
            time.sleep(POLL)
        return cleared

    def close(self) -> None:
        self._ros.close()
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
            self._check_alive()
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
        end = time.monotonic() + UNANSWERED
        again = 0.0
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

    def _check_alive(self) -> None:
        if self._watch.lost or not self._ros.runs:
            self.feed.check(self.feed.faults)
        self._ros.check()

    def _on_reply(self, message: DiagnosticStatus) -> None:
        key = tuple(json.loads(next(item.value for item in message.values if item.key == "stamp")))
        if key in self._replies:
            self._replies[key] = message

    # --- the beginning ---

    def _connect(self, timeout: float) -> None:
        end = time.monotonic() + timeout
        takers = (self._poses, self._joints, self._twists)

        def ready() -> bool:
            heard = self.feed.newest and self._watch.fault is not None
            known = self._controller.law and heard and not self._watch.lost
            matched = known and all(each.get_subscription_count() > 0 for each in takers)
            return bool(matched and all(each.service_is_ready() for each in self._triggers.values()))

        while not ready():
            if time.monotonic() > end:
                raise _not_connected(self._controller, self._watch.fault or "", self._name, self._ros.node, timeout)
            time.sleep(CONNECT_POLL)


def _checked(name: str) -> str:
    """A full name of a node; ConfigError where ROS allows no such name."""
    try:
        validate_full_topic_name(name)
    except InvalidTopicNameException as error:
        raise ConfigError(f"controller {name!r}: {error}", name="controller", value=name) from error
    return name


def _not_connected(
    controller: ControllerClient, fault: str, name: str, node: Node, timeout: float
) -> RobotControlError:
    """Why there is no controller of a name, with what it says itself; names the others."""
    if controller.answers and controller.lifecycle != "active":
        reason = fault or "activate it first"
        return ConfigError(f"controller {name} is {controller.lifecycle}: {reason}", name=name)
    if controller.answers:
        return StaleStateError(f"controller {name} sends no state: see robot_control doctor", name=name)
    topics = (topic for topic, _ in node.get_topic_names_and_types())
    all_found = (topic.removesuffix("/target_pose") for topic in topics if topic.endswith("/target_pose"))
    found = tuple(each for each in all_found if each != name)
    others = ", ".join(found) or "none; is it in this ROS_DOMAIN_ID?"
    text = f"no controller {name} within {timeout:g} s; others: {others}"
    return StaleStateError(text, name=name, bound=found)


def _refusal(reason: str, values: Mapping[str, Value], known: Mapping[str, Parameter]) -> ConfigError:
    """The error for refused gains: the controller's words, and the fields by what it has declared."""
    for name, value in values.items():
        declared = known[name]
        if declared.choices and value not in declared.choices:
            return ConfigError(reason, name=name, value=value, bound=declared.choices)
        for index, number in enumerate(np.atleast_1d(value) if not isinstance(value, str) else ()):
            if not declared.lower <= number <= declared.upper:
                several = isinstance(value, tuple) or isinstance(declared.value, tuple)
                shown = f"{name}[{index}]" if several else name
                bound = (declared.lower, declared.upper)
                return ConfigError(reason, name=shown, value=float(number), bound=bound)
    return ConfigError(reason, name=next(iter(values)), value=next(iter(values.values())))
