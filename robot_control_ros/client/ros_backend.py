"""A running controller over ROS: its topics, services and parameters."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from geometry_msgs.msg import PoseStamped, TwistStamped, WrenchStamped
from rclpy.exceptions import InvalidTopicNameException
from rclpy.node import Node
from rclpy.qos import QoSProfile
from rclpy.validate_full_topic_name import validate_full_topic_name
from sensor_msgs.msg import JointState
from std_srvs.srv import Trigger
from trajectory_msgs.msg import JointTrajectory, MultiDOFJointTrajectory

from ..control.requests import Parameter, RequestResult, Value
from ..core.errors import ConfigError, HardwareFault, RobotControlError, StaleStateError, refused
from ..core.output_paths import writable_file
from ..core.types import Array
from ..recording.cycle_file import copy_last, whole_file
from ..references.joint import smooth_velocities
from ..robot.configuration import load_robot
from ..robot.model import RobotModel
from ..robot.workcell import arm_namespace
from ..ros.controller_client import ControllerClient
from ..ros.gripper_commands import RosGripper
from ..ros.messages import MAX_POSES, check_count, to_stamp
from ..ros.target_messages import (
    joints_message,
    path_message,
    pose_message,
    poses_message,
    push_message,
    twist_message,
)
from .backend import Diagnosis, told_payload
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
FOUND_WITHIN = 2.0  # s for a service or a simulator that nobody has asked for before
PATH_BEGINS = 0.1  # s after the newest state, so that the controller has a path before it begins
TRIGGERS = ("hold", "zero_wrench", "clear_contact", "save_record")


class RosBackend:
    """A controller over ROS; see :class:`~.backend.RobotBackend` and :class:`~.robot.Robot`.

    Args:
        robot, namespace, controller, domain, timeout, lost_after: See :class:`~.robot.Robot`.
        while_connecting: Function that is called again and again until the controller is found. An
            error of it ends the search.
    """

    concurrent = True
    simulated = False
    clock = staticmethod(time.monotonic)

    def __init__(
        self,
        robot: str,
        namespace: str,
        controller: str,
        domain: int | None,
        timeout: float,
        lost_after: float,
        while_connecting: Callable[[], object] = lambda: None,
    ) -> None:
        self.feed = StateFeed()
        self.gripper = None
        self.diagnostics: Mapping[str, Diagnosis] = {}  # replaced, never changed
        feed = self.feed
        parts = namespace.strip("/") or arm_namespace(robot), controller.strip("/")
        name = _checked("/" + "/".join(filter(None, parts)))
        self._name = name
        # Replies by the stamp of the target; None while a target waits for its reply.
        self._replies: dict[tuple[int, ...], DiagnosticStatus | None] = {}
        self._ros = RosThread(
            domain,
            name.rpartition("/")[0],
            lambda error: feed.fail(HardwareFault(f"the client can't go on: {error}")),
        )
        try:
            self.record_topics = partial(record_topics, self._ros, name)
            entities = self._ros.entities
            self._controller = ControllerClient(self._ros.node, entities, name)
            self._watch = ControllerWatch(
                entities, self._controller, name, feed, lost_after, self._ros.hears
            )
            self._poses = entities.publisher(PoseStamped, f"{name}/target_pose")
            self._joints = entities.publisher(JointState, f"{name}/target_joint")
            self._paths = entities.publisher(JointTrajectory, f"{name}/joint_trajectory")
            self._postures = entities.publisher(JointState, f"{name}/target_posture")
            self._tip_paths = entities.publisher(MultiDOFJointTrajectory, f"{name}/tip_trajectory")
            self._twists = entities.publisher(TwistStamped, f"{name}/target_twist")
            self._pushes = entities.publisher(WrenchStamped, "simulator/push")
            self._triggers = {each: entities.client(Trigger, f"{name}/{each}") for each in TRIGGERS}
            entities.subscription(
                DiagnosticStatus, f"{name}/target_reply", self._on_reply, QoSProfile(depth=20)
            )
            entities.subscription(
                DiagnosticArray, "/diagnostics", self._on_diagnostics, QoSProfile(depth=20)
            )
            self._ros.start()
            self._connect(timeout, while_connecting)
            known = self._controller
            config = load_robot(known.robot, known.profile, known.prefix)
            self.config = config
            self._model = RobotModel.of(config)
            if (gripper := config.gripper) is not None:
                states = config.profile.joint_states
                self.gripper = self._ros.call(
                    lambda: RosGripper(self._ros.node, entities, gripper, states)
                )
            if robot and load_robot(robot).name != config.name:
                raise refused(
                    "robot", robot, f"controller {name} controls {config.name!r}", config.name
                )
        except BaseException:
            self.close()
            raise

    # --- what others call ---

    @property
    def law(self) -> str:
        return self._controller.law

    @property
    def model(self) -> RobotModel:
        """Model of the robot, with the payload that the controller has now."""
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
        return self._send(self._poses, pose_message(self.config.base, pose))

    def move_joints_to(self, q: Array) -> float:
        return self._send(self._joints, joints_message(self.config.joints, q))

    def follow_joints(self, times: Array, positions: Array, velocities: Array | None) -> float:
        check_count("joint trajectory", times.tolist())
        newest = self.feed.newest
        assert newest is not None
        if velocities is None:  # positions alone would be a chunk
            knots = np.concatenate(([-PATH_BEGINS], times))
            if not (np.diff(knots) > 0.0).all():
                raise refused("times", times, "must rise", where="joint trajectory: ", unit="s")
            velocities = smooth_velocities(knots, np.vstack((newest.q, positions)))[1:]
        message = path_message(self.config.joints, times, positions, velocities)
        message.header.stamp = to_stamp(newest.time + PATH_BEGINS)
        return self._send(self._paths, message)

    def follow_joint_chunk(self, times: Array, positions: Array, start: float | None) -> float:
        check_count("joint trajectory", times.tolist())
        message = path_message(self.config.joints, times, positions, None)
        message.header.stamp = to_stamp(self._start(start))
        return self._send(self._paths, message)

    def follow_tip_chunk(self, times: Array, poses: Array, start: float | None) -> float:
        check_count("tip trajectory", times.tolist(), MAX_POSES)
        message = poses_message(self.config.base, self.config.tip, times, poses)
        message.header.stamp = to_stamp(self._start(start))
        return self._send(self._tip_paths, message)

    def _start(self, start: float | None) -> float:
        """Start of a chunk by the robot's clock [s]; that of the newest state for None."""
        assert self.feed.newest is not None
        return self.feed.newest.time if start is None else start

    def set_posture(self, q: Array) -> float:
        return self._send(self._postures, joints_message(self.config.joints, q))

    def jog(self, twist: Array) -> None:
        self._check_alive()
        self._twists.publish(twist_message(self.config.base, twist))

    def push(self, force: Array) -> None:
        self._check_alive()
        publisher = self._pushes
        taken = self._until(lambda: publisher.get_subscription_count() > 0, FOUND_WITHIN)
        if not taken:
            raise ConfigError(f"nobody simulates this robot: {publisher.topic_name}", name="push")
        assert self.feed.newest is not None
        rotation = self.feed.newest.pose[:3, :3]
        publisher.publish(push_message(self.config.tip, rotation.T @ force))

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
        # The end of its fault comes before the next state.
        self._until(
            lambda: self.feed.contact is None and self.feed.newest is not before, UNANSWERED
        )
        return cleared

    def request(self, service: str) -> str:
        if service not in self._triggers:
            self._triggers[service] = self._ros.call(
                lambda: self._ros.entities.client(Trigger, service)
            )
        if not self._until(self._triggers[service].service_is_ready, FOUND_WITHIN):
            raise ConfigError(f"nobody offers the service {service}", name=service)
        return self._trigger(service)

    def close(self) -> None:
        self._ros.close()
        self.feed.fail(HardwareFault("the robot was closed"))

    # --- requests, and their answers ---

    def _trigger(self, name: str) -> str:
        result = self._ask(
            lambda reply: self._controller.call(self._triggers[name], Trigger.Request(), reply)
        )
        if not result.accepted:
            raise ConfigError(result.message, name=name)
        return result.message

    def _until(self, condition: Callable[[], bool], limit: float) -> bool:
        """Wait until a condition holds, for so many seconds at most; returns whether it does."""
        end = time.monotonic() + limit
        while not condition():
            if time.monotonic() > end:
                return False
            self._check_alive()
            time.sleep(POLL)
        return True

    def _ask(self, request: Callable[[Callable[[RequestResult], None]], None]) -> RequestResult:
        """Result of a request to a service.

        Raises:
            StaleStateError: There is no answer.
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
        """Send a target until it is answered; states later than the returned
        time [s] are under it.
        """
        stamp = message.header.stamp
        if stamp.sec == 0:
            stamp.sec, stamp.nanosec = divmod(time.time_ns(), 1_000_000_000)
        key = (stamp.sec, stamp.nanosec)
        end = time.monotonic() + UNANSWERED
        send_at = 0.0
        self._replies[key] = None
        try:
            while (reply := self._replies[key]) is None:
                self._check_alive()
                now = time.monotonic()
                if now > end:
                    text = f"{publisher.topic_name}: no answer within {UNANSWERED:g} s"
                    raise StaleStateError(text, name=publisher.topic_name, bound=UNANSWERED)
                if now >= send_at:
                    publisher.publish(message)
                    send_at = now + RESEND
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

    def _on_diagnostics(self, message: DiagnosticArray) -> None:
        new = {}
        for status in message.status:
            level = status.level if isinstance(status.level, int) else status.level[0]
            values = {item.key: item.value for item in status.values}
            new[status.name] = Diagnosis(level, status.message, values)
        self.diagnostics = {**self.diagnostics, **new}

    # --- the beginning ---

    def _connect(self, timeout: float, while_connecting: Callable[[], object]) -> None:
        """Wait until the controller is heard, and takes targets and requests.

        A controller is heard once its state and its fault have come; the fault is empty where there
        is none.

        Raises:
            ConfigError, StaleStateError: It isn't so within the time-out; says what is missing.
        """
        end = time.monotonic() + timeout
        takers = (
            self._poses,
            self._joints,
            self._postures,
            self._paths,
            self._tip_paths,
            self._twists,
        )

        def ready() -> bool:
            heard = self.feed.newest and self._watch.fault is not None
            known = self._controller.law and heard and not self._watch.lost
            matched = known and all(each.get_subscription_count() > 0 for each in takers)
            return bool(
                matched and all(each.service_is_ready() for each in self._triggers.values())
            )

        while not ready():
            while_connecting()
            if time.monotonic() > end:
                raise _not_connected(
                    self._controller, self._watch.fault or "", self._name, self._ros.node, timeout
                )
            time.sleep(CONNECT_POLL)


def _checked(name: str) -> str:
    """Full name of a node; ConfigError where ROS allows no such name."""
    try:
        validate_full_topic_name(name)
    except InvalidTopicNameException as error:
        raise ConfigError(f"controller {name!r}: {error}", name="controller", value=name) from error
    return name


def _not_connected(
    controller: ControllerClient, fault: str, name: str, node: Node, timeout: float
) -> RobotControlError:
    """Error for a controller that isn't found, with what it says itself; it names the others."""
    if controller.answers and controller.lifecycle != "active":
        reason = fault or "activate it first"
        return ConfigError(f"controller {name} is {controller.lifecycle}: {reason}", name=name)
    if controller.answers:
        return StaleStateError(
            f"controller {name} sends no state: see robot_control doctor", name=name
        )
    suffix = "/target_pose"
    topics = [topic for topic, _ in node.get_topic_names_and_types() if topic.endswith(suffix)]
    controllers = [topic.removesuffix(suffix) for topic in topics]
    others = tuple(each for each in controllers if each != name)
    text = f"no controller {name} answers within {timeout:g} s; "
    if others:
        text += f"there are: {', '.join(others)}"
    else:
        text += "start one, as by robot_control demo; if it runs, take its ROS_DOMAIN_ID"
    return StaleStateError(text, name=name, bound=others)


def _refusal(
    reason: str, values: Mapping[str, Value], known: Mapping[str, Parameter]
) -> ConfigError:
    """Error for refused gains: the controller's words, and the fields by what it has declared."""
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
