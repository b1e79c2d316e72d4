"""A person's part in an identification: sets law and gains, sends the motion, records, and stops it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from geometry_msgs.msg import WrenchStamped
from rcl_interfaces.srv import GetParameters, SetParametersAtomically
from rclpy.node import Node
from rclpy.parameter import Parameter, parameter_value_to_python
from rclpy.task import Future
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
from std_srvs.srv import Trigger
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from ...core.errors import ConfigError
from ...core.types import Array, CommandMode, RobotState
from ...robot.configuration import RobotConfig
from ...ros.entities import Entities
from ...ros.messages import numbers, seconds, to_duration, to_stamp
from ...ros.robot_states import RobotStateReader
from .topic_recorder import TopicRecorder


class Sent(NamedTuple):
    """A message's content, and when it was sent by the system's clock [s]."""

    at: float
    values: Any


class IdentificationOperator(Node):
    """Over topics, parameters and services alone.

    Args:
        controller: name of the controller, with its namespace where it has one; the robot's topics are in it, too.

    Attributes:
        states: joint states (:class:`RobotState`).
        commands: (n,) each.
        wrenches: (6,) each [N, N·m].
        clocks: simulated times [s].
    """

    def __init__(self, controller: str = "controller") -> None:
        namespace, _, controller = controller.rpartition("/")
        super().__init__("identification", namespace=namespace)
        self.states: list[Sent] = []
        self.commands: list[Sent] = []
        self.wrenches: list[Sent] = []
        self.clocks: list[Sent] = []
        self._entities = entities = Entities(self)
        self._recorder = TopicRecorder(self)
        self._trajectory = entities.publisher(JointTrajectory, f"{controller}/joint_trajectory")
        self._hold = entities.client(Trigger, f"{controller}/hold")
        self._get = entities.client(GetParameters, f"{controller}/get_parameters")
        self._set = entities.client(SetParametersAtomically, f"{controller}/set_parameters_atomically")

    @property
    def ready(self) -> bool:
        """Whether the controller is there."""
        return all(client.service_is_ready() for client in (self._hold, self._get, self._set))

    def get(self, names: Sequence[str]) -> Future:
        """Request parameters of the controller; :meth:`values` reads the reply."""
        return self._get.call_async(GetParameters.Request(names=list(names)))

    @staticmethod
    def values(names: Sequence[str], reply: Future) -> dict[str, Any]:
        """The parameters of a reply to :meth:`get`."""
        response: Any = reply.result()
        return {name: parameter_value_to_python(value) for name, value in zip(names, response.values, strict=False)}

    def set(self, parameters: Mapping[str, Any]) -> Future:
        """Request a change of parameters, all or none; :meth:`check_set` reads the reply."""
        messages = [Parameter(name, value=value).to_parameter_msg() for name, value in parameters.items()]
        return self._set.call_async(SetParametersAtomically.Request(parameters=messages))

    @staticmethod
    def check_set(reply: Future) -> None:
        """Refuse, by ConfigError, a reply to :meth:`set` that is a refusal."""
        response: Any = reply.result()
        if not response.result.successful:
            raise ConfigError(f"controller: {response.result.reason}")

    def hold(self) -> Future:
        """Request that the arm holds where it is."""
        return self._hold.call_async(Trigger.Request())

    def record(self, robot: RobotConfig, mode: CommandMode, simulated_time: bool) -> None:
        """Begin to record a robot's topics, and the commands of a mode."""
        reader = RobotStateReader(robot)
        recorder = self._recorder

        def keep_state(at: float, message: JointState) -> None:
            state = reader.read_message(message)
            if state is not None:
                self.states.append(Sent(at, state))

        def keep_wrench(at: float, message: WrenchStamped) -> None:
            force = message.wrench.force
            torque = message.wrench.torque
            self.wrenches.append(Sent(at, (force.x, force.y, force.z, torque.x, torque.y, torque.z)))

        recorder.add(JointState, robot.profile.joint_states, keep_state)
        kind, part = (JointState, mode.value) if robot.profile.joint_commands else (Float64MultiArray, "data")

        def keep_command(at: float, message: Any) -> None:
            if values := tuple(getattr(message, part)):
                self.commands.append(Sent(at, values))

        recorder.add(kind, robot.profile.command_topic(mode), keep_command)
        if robot.profile.wrench_topic:
            recorder.add(WrenchStamped, robot.profile.wrench_topic, keep_wrench)
        if simulated_time:
            recorder.add(Clock, "/clock", lambda at, message: self.clocks.append(Sent(at, seconds(message.clock))))

    def poll(self) -> None:
        """Take what has come since the last call."""
        self._recorder.poll()

    def forget(self) -> None:
        """Drop what was recorded so far, but the last of each topic."""
        for record in (self.states, self.commands, self.wrenches, self.clocks):
            del record[:-1]

    @property
    def state(self) -> RobotState:
        """The last joint state."""
        last: RobotState = self.states[-1].values
        return last

    def send(self, joints: Sequence[str], start: float, times: Array, positions: Array, velocities: Array) -> None:
        """Send a trajectory (k,), (k, n), (k, n) [s, rad, rad/s] that starts at a stamp [s]."""
        message = JointTrajectory(joint_names=list(joints))
        message.header.stamp = to_stamp(start)
        for t, q, v in zip(times, positions, velocities, strict=True):
            point = JointTrajectoryPoint(positions=numbers(q), velocities=numbers(v))
            point.time_from_start = to_duration(float(t))
            message.points.append(point)
        self._trajectory.publish(message)

    def close(self) -> None:
        """Unsubscribe."""
        self._recorder.close()
        self._entities.close()


def arrays(record: Sequence[Sent]) -> tuple[Array, Array]:
    """When messages were sent (k,) [s], and their values (k, …)."""
    return np.array([each.at for each in record]), np.array([each.values for each in record])
