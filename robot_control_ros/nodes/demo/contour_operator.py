"""A person's part in the demonstration on EtherCAT: enables the drives, sets gains, sends trajectories, records."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from typing import Any

import numpy as np
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from rcl_interfaces.msg import Log
from rcl_interfaces.srv import SetParametersAtomically
from rclpy.node import Node
from rclpy.parameter import Parameter
from rclpy.qos import QoSProfile, ReliabilityPolicy
from rclpy.task import Future
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
from std_srvs.srv import Trigger
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from ...core.errors import ConfigError
from ...core.types import Array
from ...robot.configuration import RobotConfig
from ...ros.entities import Entities
from ...ros.messages import numbers, to_duration
from ...ros.robot_states import RobotStateReader

# levels of log messages
WARN = 30
ERROR = 40
_TRIGGERS = ("ethercat/enable", "ethercat/reset_fault", "controller/go_home")
# Deep enough for a second in which this process is held up.
RECORD_QOS = QoSProfile(depth=1000, reliability=ReliabilityPolicy.BEST_EFFORT)


class ContourOperator(Node):
    """Over topics and services alone.

    Attributes:
        has_telemetry: telemetry has come.
        bus: values of the bus's last diagnostics, by name; empty before the first.
        message: theirs, about the drives.
        running: whether the drives do what is commanded, as they report.
        stopped: whether the drives were stopped, as they report.
        last_error, last_warning: that a node has logged since the last trajectory was sent; empty for none. An error is
            a warning, too.
        home_distance: of the joint farthest from home [rad]; infinite before the first joint state.
        diagnosed_at: when the last diagnostics came, by time.monotonic() [s].
    """

    def __init__(self, robot: RobotConfig) -> None:
        super().__init__("operator")
        self.has_telemetry = self.running = self.stopped = False
        self.bus: Mapping[str, str] = {}
        self.message = self.last_error = self.last_warning = ""
        self.home_distance = math.inf
        self.diagnosed_at = 0.0
        self._robot = robot
        self._reader = RobotStateReader(robot)
        self._samples: list[tuple[float, Array]] | None = None
        entities = Entities(self)
        self._trajectory = entities.publisher(JointTrajectory, "controller/joint_trajectory")
        self._triggers = {name: entities.client(Trigger, name) for name in _TRIGGERS}
        self._set = entities.client(SetParametersAtomically, "controller/set_parameters_atomically")
        entities.subscription(JointState, "joint_states", self._on_joint_state, RECORD_QOS)
        entities.subscription(Float64MultiArray, "controller/state", self._on_state)
        entities.subscription(DiagnosticArray, "/diagnostics", self._on_diagnostics, 10)
        entities.subscription(Log, "/rosout", self._on_log, 20)

    @property
    def ready(self) -> bool:
        """Whether everything that is used is there."""
        services = all(client.service_is_ready() for client in (*self._triggers.values(), self._set))
        return self.has_telemetry and services and self._trajectory.get_subscription_count() > 0

    def request(self, service: str) -> Future:
        """Request one of the services of the bus or the controller."""
        return self._triggers[service].call_async(Trigger.Request())

    def set_gains(self, law: str, gains: Mapping[str, Any]) -> Future:
        """Set gains by name, all or none; see :meth:`check_set`."""
        parameters = [Parameter(f"{law}.{name}", value=value).to_parameter_msg() for name, value in gains.items()]
        return self._set.call_async(SetParametersAtomically.Request(parameters=parameters))

    @staticmethod
    def check_set(answer: Future) -> None:
        """Refuse, by ConfigError, an answer to :meth:`set_gains` that is a refusal."""
        response: Any = answer.result()
        if not response.result.successful:
            raise ConfigError(f"gains refused: {response.result.reason}")

    def send(self, times: Array, positions: Array, velocities: Array) -> None:
        """Send a trajectory (k,), (k, n), (k, n) [s, rad, rad/s] that starts now, and begin to record."""
        message = JointTrajectory(joint_names=list(self._robot.joints))
        for t, q, v in zip(times, positions, velocities, strict=True):
            point = JointTrajectoryPoint(positions=numbers(q), velocities=numbers(v))
            point.time_from_start = to_duration(float(t))
            message.points.append(point)
        # the record begins
        self._samples = []
        self.last_error = ""
        self.last_warning = ""
        self._trajectory.publish(message)

    @property
    def recorded(self) -> float:
        """Length of what is recorded, by the robot's clock [s]."""
        return self._samples[-1][0] - self._samples[0][0] if self._samples else 0.0

    def samples(self) -> tuple[Array, Array]:
        """Times (k,) [s] and joint angles (k, n) [rad] since the trajectory was sent; the record is closed then."""
        samples = self._samples or []
        self._samples = None
        times = np.array([t for t, _ in samples])
        return times, np.array([q for _, q in samples]).reshape(len(samples), self._robot.n)

    def _on_joint_state(self, message: JointState) -> None:
        state = self._reader.read_message(message)
        if state is None:
            return
        self.home_distance = float(np.abs(state.q - self._robot.home).max())
        if self._samples is not None:
            self._samples.append((state.time, state.q))

    def _on_state(self, message: Float64MultiArray) -> None:
        self.has_telemetry = True

    def _on_log(self, message: Log) -> None:
        if message.level >= WARN:
            self.last_warning = f"{message.name}: {message.msg}"
        if message.level >= ERROR:
            self.last_error = self.last_warning

    def _on_diagnostics(self, message: DiagnosticArray) -> None:
        for status in message.status:
            if status.name == "ethercat: bus":
                self.bus = {item.key: item.value for item in status.values}
                self.message = status.message
                self.diagnosed_at = time.monotonic()
                self.running = status.level == DiagnosticStatus.OK
                self.stopped = status.level == DiagnosticStatus.ERROR
