"""Messages of a robot's nodes for the dashboard: telemetry, the scene, diagnostics."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import takewhile
from typing import Any

import numpy as np
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from geometry_msgs.msg import PointStamped, PoseStamped, WrenchStamped
from rclpy.exceptions import NameValidationException
from rclpy.node import Node
from sensor_msgs.msg import JointState
from std_msgs.msg import Bool, Float64MultiArray
from visualization_msgs.msg import Marker, MarkerArray

from ...core.errors import ConfigError
from ...core.types import Array
from ...dashboard.link import DrawnObject, RobotTelemetry
from ...robot.configuration import RobotConfig
from ...ros.bus_services import BUS_NODES
from ...ros.controller_client import ControllerClient
from ...ros.entities import Entities, in_namespace
from ...ros.messages import read_message, read_pose, read_state, vector
from ...ros.polled import PolledSubscriptions
from ...ros.qos import LATCHED_QOS
from ...ros.robot_states import RobotStateReader

PERIOD = 1.0 / 30.0  # s between two looks at what has come
RECENT = 3000  # states that are kept: a minute
LOOP = "controller: control loop"  # name of the loop in diagnostics
_STATE = "controller/state"
_REFERENCE = "controller/reference_pose"
_OBJECTS = "simulator/objects"
_SHAPES = {Marker.SPHERE: "sphere", Marker.CUBE: "box", Marker.CYLINDER: "cylinder"}


class RobotTopics:
    """Subscribes to the topics of a robot's nodes, and polls those whose messages come often.

    Attributes:
        telemetry: Newest values of all topics; replaced as a whole, never changed.
        diagnosis: Values of the control loop in /diagnostics, by name.
        problem: Problem of the control loop, in its own words; empty for none.
        alarm: True where the problem is an error.
        executing: True while the robot executes commands; None where nobody says so.
    """

    def __init__(
        self, node: Node, entities: Entities, robot: RobotConfig, controller: ControllerClient
    ) -> None:
        self._node = node
        self._entities = entities
        self._controller = controller
        self._robot = robot
        self.telemetry = RobotTelemetry()
        self.diagnosis: dict[str, str] = {}
        self.problem = ""
        self.alarm = False
        self.executing: bool | None = None
        # the page's threads read what the executor's thread adds
        self._recent_lock = threading.Lock()
        self._recent: deque[tuple[int, Mapping[str, Array]]] = deque(maxlen=RECENT)  # numbered
        self._object_targets: dict[str, Any] = {}  # by object, the publisher of its targets
        self._bus = ""
        self._robot_at = time.monotonic()  # when it was last heard
        self._drives: dict[str, str] = {}  # what each says, by joint
        self._loop = in_namespace(node, LOOP).lstrip("/")
        # nodes of buses, as the names of what they report begin
        self._bus_nodes = tuple(in_namespace(node, name).lstrip("/") for name in BUS_NODES)
        polled = PolledSubscriptions(node)
        self._polled = polled
        self._take_states = polled.add(Float64MultiArray, _STATE)
        self._take_references = polled.add_newest(PoseStamped, _REFERENCE)
        self._joint_states_topic = robot.profile.joint_states
        self._take_joint_states = polled.add_newest(JointState, self._joint_states_topic)
        self._take_contacts = polled.add_newest(WrenchStamped, "simulator/contact_wrench")
        self._take_objects = polled.add_newest(MarkerArray, _OBJECTS)
        self._joint_states = RobotStateReader(robot)
        entities.subscription(DiagnosticArray, "/diagnostics", self._on_diagnostics, 10)
        if robot.profile.running_topic:
            entities.subscription(Bool, robot.profile.running_topic, self._on_running, LATCHED_QOS)
        entities.timer(PERIOD, self._poll)

    def close(self) -> None:
        self._polled.close()

    @property
    def silence(self) -> float:
        """Time since the last joint states; before the first, time since the start [s]."""
        return time.monotonic() - self._robot_at

    def recent(self, after: int) -> Sequence[Mapping[str, Array]]:
        """The states that came after the one with the number `after`, oldest first."""
        with self._recent_lock:
            kept = tuple(self._recent)
        new = takewhile(lambda numbered: numbered[0] > after, reversed(kept))
        return [blocks for _, blocks in new][::-1]

    def describe_bus(self) -> str:
        """Text of what the bus and each drive report; drives with the same report are one entry."""
        joints_by_message: dict[str, list[str]] = {}
        for joint, message in self._drives.items():
            joints_by_message.setdefault(message, []).append(
                joint.removesuffix("_joint").replace("_", " ")
            )
        if len(joints_by_message) == 1:
            return f"{self._bus} · all: {next(iter(joints_by_message))}"
        drives = (
            f"{', '.join(joints)}: {message}" for message, joints in joints_by_message.items()
        )
        return " · ".join([self._bus, *drives])

    def object_target(self, name: str) -> Any:
        """The publisher of an object's targets."""
        return self._object_targets[name]

    def _poll(self) -> None:
        """Take all states that have come, and the newest message of each other topic."""
        new: dict[str, Any] = {}
        refusals = self._entities.refusals
        states = []
        for data in self._take_states():
            with refusals.told(_STATE):
                states.append(read_state(read_message(data, Float64MultiArray), self._robot.n))
        if states:
            numbered = list(enumerate(states, self.telemetry.samples + 1))
            with self._recent_lock:
                self._recent.extend(numbered)
            samples, blocks = numbered[-1]
            new = {"blocks": blocks, "q": blocks["position"], "samples": samples}
            new["wrench"] = None if np.isnan(blocks["wrench"]).any() else blocks["wrench"]
            self._controller.on_telemetry()
        message = self._take_joint_states()
        if message is not None or states:
            self._robot_at = time.monotonic()
        if message is not None and self._controller.lifecycle != "active":
            with refusals.told(self._joint_states_topic):
                state = self._joint_states.read_message(message)
                if state is not None:
                    new |= {"q": state.q.copy(), "wrench": None, "contact": None}
        if (message := self._take_references()) is not None:
            with refusals.told(_REFERENCE):
                new["reference"] = read_pose(message.pose)
        if (message := self._take_contacts()) is not None:
            new["contact"] = self._in_base(message)
        if (message := self._take_objects()) is not None:
            with refusals.told(_OBJECTS):
                new["objects"] = self._scene(message)
        if new:
            self.telemetry = replace(self.telemetry, **new)

    def _in_base(self, message: WrenchStamped) -> Array | None:
        """A wrench (6,) about the tip, turned to the base's axes; None before the first pose."""
        pose = self.telemetry.blocks.get("pose")
        if pose is None:
            return None
        rotation = pose.reshape(3, 4)[:, :3]
        return np.concatenate(
            (rotation @ vector(message.wrench.force), rotation @ vector(message.wrench.torque))
        )

    def _scene(self, message: MarkerArray) -> tuple[DrawnObject, ...]:
        found = []
        for marker in message.markers:
            if marker.type in _SHAPES:
                colour = marker.color
                found.append(
                    DrawnObject(
                        marker.ns,
                        _SHAPES[marker.type],
                        vector(marker.scale),
                        read_pose(marker.pose),
                        (colour.r, colour.g, colour.b),
                        marker.header.frame_id,
                        self._is_led(marker.ns),
                    )
                )
        return tuple(found)

    def _is_led(self, name: str) -> bool:
        """Return True once somebody has subscribed to the targets of an object.

        Then it makes their publisher.
        """
        topic = f"simulator/{name}/target"
        try:
            newly_led = name not in self._object_targets and self._node.count_subscribers(topic) > 0
        except NameValidationException as error:
            raise ConfigError(
                f"object {name!r}: can't be part of a topic's name", name="ns", value=name
            ) from error
        if newly_led:
            self._object_targets[name] = self._entities.publisher(PointStamped, topic)
        return name in self._object_targets

    def _on_diagnostics(self, message: DiagnosticArray) -> None:
        for status in message.status:
            if status.name == self._loop:
                self.diagnosis = {item.key: item.value for item in status.values}
                self.problem = "" if status.level == DiagnosticStatus.OK else status.message
                self.alarm = status.level == DiagnosticStatus.ERROR
            reporter, _, part = status.name.partition(": ")
            if reporter not in self._bus_nodes:
                continue
            if part == "bus":
                self._bus = status.message
            else:
                self._drives = {**self._drives, part: status.message}

    def _on_running(self, message: Bool) -> None:
        self.executing = message.data
