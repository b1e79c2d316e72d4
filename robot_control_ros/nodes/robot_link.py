"""A robot as the dashboard's page sees it, made of topics, services and parameters alone."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import takewhile
from typing import Any

import numpy as np
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from geometry_msgs.msg import PointStamped, PoseStamped, WrenchStamped
from rclpy.node import Node
from rclpy.serialization import deserialize_message
from sensor_msgs.msg import JointState
from std_msgs.msg import Bool, Float64MultiArray
from std_srvs.srv import SetBool, Trigger
from visualization_msgs.msg import Marker, MarkerArray

from ..dashboard.link import Answer, Health, Parameter, Reply, SceneObject, Telemetry, Value
from ..laws import law_names
from ..robots import RobotConfig
from ..spatial import make_pose, wrench_at
from ..types import Array
from .controller_client import ControllerClient
from .entities import Entities
from .messages import JointStateReader, fill_pose, fill_wrench, read_blocks, read_pose
from .polled import PolledSubscriptions
from .running import LATCHED_QOS

PERIOD = 1.0 / 30.0  # s between two looks at what has come
GRAPH_PERIOD = 0.5  # s between two looks at what is there
RECENT = 3000  # states that are kept: a minute
SERVICES = (
    *(f"controller/{name}" for name in ("hold", "go_home", "zero_wrench")),
    *(f"ethercat/{name}" for name in ("enable", "disable", "quick_stop", "reset_fault")),
    "simulator/reset",
)
BUS = "ethercat: "  # in front of the names in its diagnostics
_SHAPES = {Marker.SPHERE: "sphere", Marker.CUBE: "box", Marker.CYLINDER: "cylinder"}


class RosLink:
    """See the module and :class:`robot_control_ros.dashboard.link.RobotLink`.

    Args:
        node: whose executor is used.
        robot: its configuration.
        urdf: text of its description.
    """

    def __init__(self, node: Node, robot: RobotConfig, urdf: str) -> None:
        self.robot, self.urdf, self._node = robot, urdf, node
        self._telemetry = Telemetry()
        self._recent: deque[tuple[int, Mapping[str, Array]]] = deque(maxlen=RECENT)  # numbered
        self._leads: dict[str, Any] = {}  # by object, the publisher of its targets; None where nobody takes them
        self._diagnosis: dict[str, str] = {}
        self._problem, self._bus = "", ""
        self._drives: dict[str, str] = {}  # what each says, by joint
        self._executing: bool | None = None
        self._ready: frozenset[str] = frozenset()
        self._simulated = False
        self._entities = Entities(node)
        self._controller = ControllerClient(node, self._entities, robot)
        self._make_inputs()
        self._make_outputs()

    def close(self) -> None:
        """Take the topics back."""
        self._polled.close()
        self._entities.close()

    def _make_inputs(self) -> None:
        entities, profile = self._entities, self.robot.profile
        self._polled = polled = PolledSubscriptions(self._node)
        self._take_states = polled.add(Float64MultiArray, "/controller/state")
        self._take_references = polled.add(PoseStamped, "/controller/reference_pose")
        self._take_joint_states = polled.add(JointState, profile.joint_states)
        self._take_contacts = polled.add(WrenchStamped, "/simulator/contact_wrench")
        self._take_objects = polled.add(MarkerArray, "/simulator/objects")
        self._joint_states = JointStateReader(self.robot.joints)
        entities.subscription(DiagnosticArray, "/diagnostics", self._on_diagnostics, 10)
        if profile.running_topic:
            entities.subscription(Bool, profile.running_topic, self._on_running, LATCHED_QOS)
        entities.timer(PERIOD, self._poll)
        entities.timer(GRAPH_PERIOD, self._look)

    def _make_outputs(self) -> None:
        entities = self._entities
        self._target = entities.publisher(PoseStamped, "/controller/target_pose")
        self._wrenches = entities.publisher(WrenchStamped, "/controller/target_wrench")
        self._pushes = entities.publisher(WrenchStamped, "/simulator/push")
        self._clients: dict[str, Any] = {name: self._node.create_client(Trigger, f"/{name}") for name in SERVICES}
        self._pausing: Any = self._node.create_client(SetBool, "/simulator/pause")

    # --- what comes ---

    def _poll(self) -> None:
        """What has come of the states, and the newest of everything else."""
        new: dict[str, Any] = {}
        if taken := self._take_states():
            states = (read_blocks(deserialize_message(each, Float64MultiArray)) for each in taken)
            self._recent.extend(enumerate(states, self._telemetry.samples + 1))
            samples, blocks = self._recent[-1]
            new = {"blocks": blocks, "q": blocks["position"], "samples": samples}
            new["wrench"] = None if np.isnan(blocks["wrench"]).any() else blocks["wrench"]
            self._controller.telemetry_came()
        taken = self._take_joint_states()
        if taken and self._controller.lifecycle != "active":
            state = self._joint_states.read(deserialize_message(taken[-1], JointState))
            if state is not None:
                new |= {"q": state.q.copy(), "wrench": None, "contact": None}
        if taken := self._take_references():
            new["reference"] = read_pose(deserialize_message(taken[-1], PoseStamped).pose)
        if taken := self._take_contacts():
            new["contact"] = self._in_base(deserialize_message(taken[-1], WrenchStamped))
        if taken := self._take_objects():
            new["objects"] = self._scene(deserialize_message(taken[-1], MarkerArray))
        if new:
            self._telemetry = replace(self._telemetry, **new)

    def _in_base(self, message: WrenchStamped) -> Array | None:
        """A wrench in the tip's axes about its origin, in those of the base."""
        pose = self._telemetry.blocks.get("pose")
        if pose is None:
            return None
        turn = pose.reshape(3, 4)[:, :3]
        force, torque = message.wrench.force, message.wrench.torque
        parts = np.array([[force.x, force.y, force.z], [torque.x, torque.y, torque.z]])
        return np.asarray((parts @ turn.T).ravel())

    def _scene(self, message: MarkerArray) -> tuple[SceneObject, ...]:
        found = []
        for marker in message.markers:
            if marker.type in _SHAPES:
                size, colour = marker.scale, marker.color
                found.append(
                    SceneObject(
                        marker.ns,
                        _SHAPES[marker.type],
                        np.array([size.x, size.y, size.z]),
                        read_pose(marker.pose),
                        (colour.r, colour.g, colour.b),
                        marker.header.frame_id,
                        self._led(marker.ns),
                    )
                )
        return tuple(found)

    def _led(self, name: str) -> bool:
        """Whether somebody takes targets for it."""
        if name not in self._leads:
            topic = f"/simulator/{name}/target"
            taken = self._node.count_subscribers(topic) > 0
            self._leads[name] = self._entities.publisher(PointStamped, topic) if taken else None
        return self._leads[name] is not None

    def _on_diagnostics(self, message: DiagnosticArray) -> None:
        for status in message.status:
            if status.name == "controller: control loop":
                self._diagnosis = {item.key: item.value for item in status.values}
                self._problem = "" if status.level == DiagnosticStatus.OK else status.message
            elif status.name == f"{BUS}bus":
                self._bus = status.message
            elif status.name.startswith(BUS):
                self._drives[status.name.removeprefix(BUS)] = status.message

    def _on_running(self, message: Bool) -> None:
        self._executing = message.data

    def _look(self) -> None:
        self._ready = frozenset(name for name, client in self._clients.items() if client.service_is_ready())
        self._simulated = self._node.count_subscribers("/simulator/push") > 0

    # --- the link ---

    def telemetry(self) -> Telemetry:
        return self._telemetry

    def recent(self, after: int) -> Sequence[Mapping[str, Array]]:
        new = takewhile(lambda numbered: numbered[0] > after, reversed(tuple(self._recent)))
        return [blocks for _, blocks in new][::-1]

    def health(self) -> Health:
        controller = self._controller
        return Health(
            controller.answers,
            controller.silence,
            controller.lifecycle,
            self._executing,
            self._diagnosis,
            self._problem,
            in_words(self._bus, self._drives) if "ethercat/enable" in self._ready else "",
        )

    def law(self) -> str:
        return self._controller.law

    def laws(self) -> Sequence[str]:
        return law_names()

    def parameters(self) -> Mapping[str, Parameter]:
        return self._controller.parameters

    def set_law(self, name: str, reply: Reply) -> None:
        self._controller.set_law(name, reply)

    def set_gains(self, values: Mapping[str, Value], reply: Reply) -> None:
        self._controller.set_gains(values, reply)

    def requests(self) -> frozenset[str]:
        return self._ready

    def request(self, name: str, reply: Reply) -> None:
        self._controller.trigger(self._clients[name], reply)

    def pause(self, paused: bool, reply: Reply) -> None:
        def take(answer: SetBool.Response | None) -> None:
            reply(Answer(answer is not None, "" if answer is not None else "the simulator doesn't answer"))

        self._controller.call(self._pausing, SetBool.Request(data=paused), take)

    def change_state(self, transition: str, reply: Reply) -> None:
        self._controller.change_state(transition, reply)

    def stop(self, reply: Reply) -> None:
        if "ethercat/quick_stop" in self._ready:
            self.request("ethercat/quick_stop", reply)
        self._controller.deactivate(reply)

    def can_push(self) -> bool:
        return self._simulated

    def lead_tip(self, pose: Array) -> None:
        message = PoseStamped()
        message.header.frame_id = self.robot.base
        fill_pose(message.pose, pose)
        self._target.publish(message)

    def lead_wrench(self, wrench: Array) -> None:
        pose = self._telemetry.blocks.get("pose")
        if pose is not None:
            message = WrenchStamped()
            message.header.frame_id = self.robot.base
            fill_wrench(message.wrench, wrench_at(wrench, make_pose(pose.reshape(3, 4)[:, 3])))
            self._wrenches.publish(message)

    def push(self, link: str, force: Array) -> None:
        message = WrenchStamped()
        message.header.frame_id = link
        message.wrench.force.x, message.wrench.force.y, message.wrench.force.z = force.tolist()
        self._pushes.publish(message)

    def lead_object(self, name: str, position: Array) -> None:
        message = PointStamped()
        message.header.frame_id = self.robot.base
        message.point.x, message.point.y, message.point.z = position.tolist()
        self._leads[name].publish(message)


def in_words(bus: str, drives: Mapping[str, str]) -> str:
    """What the bus says, and the drives by joint: those that say the same together."""
    said: dict[str, list[str]] = {}
    for joint, words in drives.items():
        said.setdefault(words, []).append(joint.removesuffix("_joint").replace("_", " "))
    if len(said) == 1:
        return f"{bus} · all: {next(iter(said))}"
    return " · ".join([bus, *(f"{', '.join(joints)}: {words}" for words, joints in said.items())])
