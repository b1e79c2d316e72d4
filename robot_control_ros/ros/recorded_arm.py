"""A running arm over ROS: who leads it by a trajectory, and records what is sent meanwhile."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from geometry_msgs.msg import WrenchStamped
from rcl_interfaces.srv import GetParameters, SetParametersAtomically
from rclpy.node import Node
from rclpy.parameter import Parameter, parameter_value_to_python
from rclpy.task import Future
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
from std_srvs.srv import Trigger
from trajectory_msgs.msg import JointTrajectory

from ..core.errors import ConfigError
from ..core.types import Array, CommandMode, RobotState
from ..robot.configuration import RobotConfig
from .entities import Entities
from .messages import seconds, to_stamp
from .robot_states import RobotStateReader
from .target_messages import path_message
from .topic_recorder import RecordedMessage, TopicRecorder


class Sent(NamedTuple):
    """A message's content, and when it was sent by the system's clock [s]."""

    at: float
    values: Any


class RecordedArm:
    """Requests to a controller, and the record of its robot's topics. Nothing here waits.

    Args:
        node: Node in the namespace of the robot; somebody spins it.
        entities: Entities of the node.
        controller: Full name of the controller.

    Attributes:
        states: Joint states (:class:`RobotState`).
        commands: Commands, (n,) each.
        wrenches: Wrenches, (6,) each [N, N·m].
        clocks: Simulated times [s].
    """

    def __init__(self, node: Node, entities: Entities, controller: str) -> None:
        self.states: list[Sent] = []
        self.commands: list[Sent] = []
        self.wrenches: list[Sent] = []
        self.clocks: list[Sent] = []
        self._recorder = TopicRecorder(node)
        self._trajectory = entities.publisher(JointTrajectory, f"{controller}/joint_trajectory")
        self._hold = entities.client(Trigger, f"{controller}/hold")
        self._get = entities.client(GetParameters, f"{controller}/get_parameters")
        self._set = entities.client(
            SetParametersAtomically, f"{controller}/set_parameters_atomically"
        )

    @property
    def ready(self) -> bool:
        """True where the controller offers its services."""
        return all(client.service_is_ready() for client in (self._hold, self._get, self._set))

    def get(self, names: Sequence[str]) -> Future:
        """Request parameters of the controller; :meth:`values` reads the reply."""
        return self._get.call_async(GetParameters.Request(names=list(names)))

    @staticmethod
    def values(names: Sequence[str], reply: Future) -> dict[str, Any]:
        """Parameters by name, of a reply to :meth:`get`."""
        response: Any = reply.result()
        return {
            name: parameter_value_to_python(value)
            for name, value in zip(names, response.values, strict=False)
        }

    def set(self, parameters: Mapping[str, Any]) -> Future:
        """Request a change of parameters, all or none; :meth:`check_set` reads the reply."""
        messages = [
            Parameter(name, value=value).to_parameter_msg() for name, value in parameters.items()
        ]
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
        """Begin to record a robot's topics.

        Args:
            robot: Configuration of the robot.
            mode: Mode of the commands that are recorded.
            simulated_time: True records the simulated clock, too.
        """
        profile = robot.profile
        reader = RobotStateReader(robot)

        def keep_state(recorded: RecordedMessage) -> None:
            state = reader.read_message(recorded.read())
            if state is not None:
                self.states.append(Sent(recorded.sent_at, state))

        def keep_wrench(recorded: RecordedMessage) -> None:
            wrench = recorded.read().wrench
            values = (*_components(wrench.force), *_components(wrench.torque))
            self.wrenches.append(Sent(recorded.sent_at, values))

        def keep_command(recorded: RecordedMessage) -> None:
            values = getattr(recorded.read(), mode.value if profile.joint_commands else "data")
            if len(values) > 0:
                self.commands.append(Sent(recorded.sent_at, tuple(values)))

        def keep_clock(recorded: RecordedMessage) -> None:
            self.clocks.append(Sent(recorded.sent_at, seconds(recorded.read().clock)))

        recorder = self._recorder
        recorder.add(JointState, profile.joint_states, keep_state)
        command_kind = JointState if profile.joint_commands else Float64MultiArray
        recorder.add(command_kind, profile.command_topic(mode), keep_command)
        if profile.wrench_topic:
            recorder.add(WrenchStamped, profile.wrench_topic, keep_wrench)
        if simulated_time:
            recorder.add(Clock, "/clock", keep_clock)

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

    def send(
        self, joints: Sequence[str], start: float, times: Array, positions: Array, velocities: Array
    ) -> None:
        """Send a trajectory.

        Args:
            joints: Names of the n joints.
            start: Stamp of its start [s].
            times: (k,) Times of its points after the start [s].
            positions: (k, n) Joint angles [rad].
            velocities: (k, n) Joint velocities [rad/s].
        """
        message = path_message(joints, times, positions, velocities)
        message.header.stamp = to_stamp(start)
        self._trajectory.publish(message)

    def close(self) -> None:
        """End the record; the requests end with the entities of the node."""
        self._recorder.close()


def _components(vector: Any) -> tuple[float, float, float]:
    """The components of a geometry_msgs Vector3."""
    return vector.x, vector.y, vector.z
