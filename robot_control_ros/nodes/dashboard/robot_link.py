"""The dashboard's link to a robot, made of topics, services and parameters alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from geometry_msgs.msg import PointStamped, PoseStamped, TwistStamped, WrenchStamped
from rclpy.node import Node
from sensor_msgs.msg import JointState
from std_srvs.srv import SetBool, Trigger

from ...control.requests import CycleReply, Parameter, Reply, RequestResult
from ...core.spatial import make_pose, wrench_at
from ...core.types import Array
from ...dashboard.link import Health, Neighbour, RobotTelemetry
from ...identification.dialog import Dialog
from ...identification.session_thread import IdentificationThread
from ...robot.configuration import RobotConfig
from ...ros.bus_services import REQUESTS, BusServices
from ...ros.controller_client import ControllerClient
from ...ros.entities import Entities, in_namespace
from ...ros.gripper_commands import RosGripper
from ...ros.messages import fill_vector
from ...ros.target_messages import (
    joints_message,
    pose_message,
    push_message,
    twist_message,
    wrench_message,
)
from .other_arms import OtherArms
from .robot_topics import RobotTopics

SERVICES = (
    *(
        f"controller/{name}"
        for name in ("hold", "go_home", "zero_wrench", "clear_contact", "reset_ringing")
    ),
    "controller/save_record",
    "simulator/reset",
)
DRIVES = "drives/"  # beginning of the names of requests to the bus's node, whichever bus it is
# s, at most, in which a page that closes lets the arm hold, under its law of before
IDENTIFICATION_ENDS = 1.0


class RosLink:
    """Link of the page to a running robot over ROS.

    Its methods are those of :class:`robot_control_ros.dashboard.link.RobotLink`.
    """

    def __init__(self, node: Node, robot: RobotConfig, urdf: str) -> None:
        self.robot = robot
        self.urdf = urdf
        self.arm = node.get_namespace().strip("/")
        self._node = node
        entities = Entities(node)
        self._entities = entities
        self._controller = ControllerClient(node, entities)
        self._other_arms = OtherArms(node, entities, self._controller.call)
        self._topics = RobotTopics(node, entities, robot, self._controller)
        states = robot.profile.joint_states
        gripper = robot.gripper
        self.gripper = None if gripper is None else RosGripper(node, entities, gripper, states)
        self._poses = entities.publisher(PoseStamped, "controller/target_pose")
        self._joints = entities.publisher(JointState, "controller/target_joint")
        self._postures = entities.publisher(JointState, "controller/target_posture")
        self._twists = entities.publisher(TwistStamped, "controller/target_twist")
        self._wrenches = entities.publisher(WrenchStamped, "controller/target_wrench")
        self._pushes = entities.publisher(WrenchStamped, "simulator/push")
        self._triggers: dict[str, Any] = {name: entities.client(Trigger, name) for name in SERVICES}
        self._bus = BusServices(entities)
        self.identification = IdentificationThread(
            partial(_identify, in_namespace(node, "controller"), robot.name)
        )
        self._pause: Any = entities.client(SetBool, "simulator/pause")
        self.recent = self._topics.recent
        self.set_law = self._controller.set_law
        self.set_gains = self._controller.set_gains
        self.change_state = self._controller.change_state

    def close(self) -> None:
        """End an identification, so that the arm holds; then destroy all topics and services."""
        self.identification.close(IDENTIFICATION_ENDS)
        self._topics.close()
        self._other_arms.close()
        self._entities.close()

    def telemetry(self) -> RobotTelemetry:
        return self._topics.telemetry

    def health(self) -> Health:
        controller = self._controller
        topics = self._topics
        stopped = (
            "stopped by the page"
            if controller.stopped_here
            else "stopped by another page or program"
        )
        return Health(
            answers=controller.answers,
            silence=controller.silence,
            lifecycle=controller.lifecycle,
            executing=topics.executing,
            diagnosis=topics.diagnosis,
            problem=topics.problem,
            alarm=topics.alarm,
            drives=topics.describe_bus() if self._bus.ready("enable") else "",
            robot_silence=topics.silence,
            stopped=stopped if controller.stopped else "",
            starting=controller.starting,
        )

    def law(self) -> str:
        return self._controller.law

    def parameters(self) -> Mapping[str, Parameter]:
        return self._controller.parameters

    def requests(self) -> frozenset[str]:
        takes_pushes = self._node.count_subscribers("simulator/push") > 0
        ready = [name for name, client in self._triggers.items() if client.service_is_ready()]
        ready += [f"{DRIVES}{name}" for name in REQUESTS if self._bus.ready(name)]
        return frozenset((*ready, "simulator/push") if takes_pushes else ready)

    def request(self, name: str, reply: Reply) -> None:
        client = self._triggers.get(name) or self._bus.ready(name.removeprefix(DRIVES))
        if client is None:
            reply(RequestResult(False, f"{name}: no node drives a bus", answered=False))
            return
        self._controller.call(client, Trigger.Request(), reply)

    def read_cycles(self, first: int, fields: Sequence[str], reply: CycleReply) -> None:
        self._controller.read_cycles(first, fields, self.robot.n, reply)

    def pause(self, paused: bool, reply: Reply) -> None:
        self._controller.call(self._pause, SetBool.Request(data=paused), reply)

    def stop(self, reply: Reply) -> None:
        if self._bus.ready("quick_stop"):
            self.request(f"{DRIVES}quick_stop", reply)
        self._controller.stop(reply)

    def stop_all(self, reply: Reply) -> None:
        self.stop(reply)
        self._other_arms.stop(reply)

    def others(self) -> tuple[str, ...]:
        return self._other_arms.names

    def neighbours(self) -> Mapping[str, Neighbour]:
        return self._other_arms.neighbours

    def set_target_pose(self, pose: Array) -> None:
        self._poses.publish(pose_message(self.robot.base, pose))

    def set_target_joints(self, q: Array) -> None:
        self._joints.publish(joints_message(self.robot.joints, q))

    def set_target_posture(self, q: Array) -> None:
        self._postures.publish(joints_message(self.robot.joints, q))

    def set_target_twist(self, twist: Array, frame: str) -> None:
        self._twists.publish(twist_message(frame, twist))

    def set_target_wrench(self, wrench: Array) -> None:
        pose = self._topics.telemetry.blocks.get("pose")
        if pose is not None:
            in_base = wrench_at(wrench, make_pose(pose.reshape(3, 4)[:, 3]))
            self._wrenches.publish(wrench_message(self.robot.base, in_base))

    def push(self, link: str, force: Array) -> None:
        self._pushes.publish(push_message(link, force))

    def set_object_target(self, name: str, position: Array) -> None:
        message = PointStamped()
        message.header.frame_id = self.robot.base
        fill_vector(message.point, position)
        self._topics.object_target(name).publish(message)


def _identify(controller: str, robot: str, dialog: Dialog) -> None:
    """Identify all joints of the arm of a controller; files go to the user's state folder.

    Modules are imported here, the laws among them, so that the page starts sooner.
    """
    from ...identification.over_ros import identify_running
    from ...identification.session import request_with_files

    identify_running(controller, request_with_files(robot), dialog)
