"""The doctor: looks at a running system for some seconds, and says what is there, and what is wrong."""

from __future__ import annotations

import importlib.util
import os
import time
from collections.abc import Callable
from dataclasses import replace

import numpy as np
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from geometry_msgs.msg import WrenchStamped
from rclpy.node import Node
from rclpy.qos import QoSProfile, ReliabilityPolicy
from sensor_msgs.msg import JointState

from ..errors import ConfigError
from ..examination import (
    Samples,
    judge_clock,
    judge_force,
    judge_joints,
    judge_rate,
    judge_torques,
    judge_wrench_frame,
)
from ..findings import Finding, error, errors, ok, warning
from ..model import RobotModel
from ..robots import RobotConfig
from ..running_law import RunningLaw
from ..types import RobotState
from .entities import Entities
from .messages import JointStateReader, seconds, vector
from .running import spinning
from .system_check import WATCHDOG, check_system

CONTROLLER = "controller"
DISCOVERY = 1.5  # s that other nodes get to be seen, at least
LISTENING_QOS = QoSProfile(depth=1000, reliability=ReliabilityPolicy.BEST_EFFORT)


class Doctor(Node):
    """Listens to one robot.

    Args:
        robot: under the profile that is in question.
        law: that is to run.
    """

    def __init__(self, robot: RobotConfig, law: RunningLaw) -> None:
        super().__init__("doctor")
        self._robot, self._law, self._model = robot, law, RobotModel.of(robot)
        self._reader = JointStateReader(robot.joints)
        self._states: list[RobotState] = []
        self._state_samples, self._wrench_samples = Samples(), Samples()
        self._forces: list[np.ndarray] = []
        self._frame, self._complaint = "", ""
        self._names: list[str] = []
        self._diagnoses: dict[str, DiagnosticStatus] = {}  # by node
        entities = Entities(self)
        entities.subscription(JointState, robot.profile.joint_states, self._on_joint_state, LISTENING_QOS)
        entities.subscription(DiagnosticArray, "/diagnostics", self._on_diagnostics, LISTENING_QOS)
        if robot.profile.wrench_topic:
            entities.subscription(WrenchStamped, robot.profile.wrench_topic, self._on_wrench, LISTENING_QOS)

    def findings(self) -> list[Finding]:
        """All that was found since it began to listen."""
        profile = self._robot.profile
        surroundings = self._surroundings()
        if errors(surroundings):
            return surroundings
        sensed = profile.wrench_topic if self._law_reads_sensor() else None
        found = surroundings
        found += check_system(self, self._robot, self._law, sensed, profile.joint_states, (CONTROLLER,))
        found += self._joint_states()
        if self._wrench_samples:
            found += self._wrench()
        return found + self._nodes()

    def _law_reads_sensor(self) -> bool:
        profile = self._robot.profile
        return bool(profile.wrench_topic) and profile.wrench.get("source", "sensor") == "sensor"

    def _surroundings(self) -> list[Finding]:
        domain = os.environ.get("ROS_DOMAIN_ID", "0")
        others = [name for name in self.get_node_names() if name != self.get_name() and not name.startswith("_")]
        if not others:
            remedy = f"Start {self._robot.profile.description or 'the system'}: {self._robot.profile.start}".rstrip(
                ": "
            )
            remedy += "; or set ROS_DOMAIN_ID and ROS_AUTOMATIC_DISCOVERY_RANGE as the other terminal has them"
            return [error(f"no other node is seen in ROS domain {domain}", remedy)]
        return [ok(f"{len(others)} other nodes in ROS domain {domain}")]

    def _joint_states(self) -> list[Finding]:
        samples, profile = self._state_samples, self._robot.profile
        if self._complaint:
            return [error(self._complaint)]
        if not self._states:
            return [judge_joints(self._robot, self._names)] if self._names else []
        return [
            judge_joints(self._robot, self._names),
            judge_rate("joint states", samples, profile.rate),
            judge_clock("joint states", samples, profile.simulated_time),
            *judge_torques(self._robot, self._model, self._states),
        ]

    def _wrench(self) -> list[Finding]:
        samples, simulated = self._wrench_samples, self._robot.profile.simulated_time
        zero = f"ros2 service call /{CONTROLLER}/zero_wrench std_srvs/srv/Trigger"
        return [
            judge_rate("wrench", samples, self._robot.profile.rate),
            judge_clock("wrench", samples, simulated),
            judge_wrench_frame(self._robot, self._model, self._frame),
            judge_force(np.mean(self._forces, axis=0), zero),
        ]

    def _nodes(self) -> list[Finding]:
        names, found = set(self.get_node_names()), []
        for name, loss in (
            (CONTROLLER, "nothing commands the robot"),
            (WATCHDOG, "nothing makes the robot safe if the controller dies"),
        ):
            if name in names:
                found.append(self._diagnosis(name))
            else:
                found.append(warning(f"no {name}: {loss}", self._robot.profile.start))
        return found

    def _diagnosis(self, name: str) -> Finding:
        """What a node says of itself on /diagnostics."""
        status = self._diagnoses.get(name)
        if status is None:
            return warning(f"{name} runs, but isn't configured", f"ros2 lifecycle set /{name} configure")
        judge = {DiagnosticStatus.OK: ok, DiagnosticStatus.WARN: warning}.get(status.level, error)
        return judge(f"{name}: {status.message}")

    def _on_joint_state(self, message: JointState) -> None:
        arrival = time.time()
        self._names = list(message.name)
        try:
            state = self._reader.read(message)
        except ConfigError as complaint:
            self._complaint = str(complaint)
            return
        if state is not None:
            state = replace(state, effort=self._robot.profile.effort_sign * state.effort)
            self._states.append(state)
            self._state_samples.add(arrival, state.time)

    def _on_diagnostics(self, message: DiagnosticArray) -> None:
        for status in message.status:
            self._diagnoses[status.name.partition(":")[0]] = status

    def _on_wrench(self, message: WrenchStamped) -> None:
        self._wrench_samples.add(time.time(), seconds(message.header.stamp))
        self._frame = message.header.frame_id
        self._forces.append(vector(message.wrench.force))


def examine(robot: RobotConfig, law: RunningLaw, lasting: float) -> list[Finding]:
    """Look at the running system for `lasting` seconds; 1.5 s at least."""
    with spinning(lambda: Doctor(robot, law)) as (doctor, spin):
        _spin_for(spin, max(lasting, DISCOVERY))
        return [*doctor.findings(), *machine()]


def machine() -> list[Finding]:
    """What this machine lets a controller do."""
    found = []
    if hasattr(os, "sched_get_priority_max"):
        import resource

        allowed = resource.getrlimit(resource.RLIMIT_RTPRIO)[0]
        if os.geteuid() == 0 or allowed != 0:
            found.append(ok("real-time priority is permitted: set the parameter realtime_priority"))
        else:
            remedy = "Add your user to /etc/security/limits.d with rtprio 98, and log in again."
            found.append(warning("real-time priority isn't permitted", remedy))
    for package, loss in (
        ("control_msgs", "the controller has no FollowJointTrajectory action"),
        ("controller_manager_msgs", "the controller manager can't be asked"),
    ):
        if importlib.util.find_spec(package) is None:
            found.append(ok(f"{package} isn't installed: {loss}"))
    return found


def _spin_for(spin: Callable[[float], None], lasting: float) -> None:
    until = time.monotonic() + lasting
    while (left := until - time.monotonic()) > 0.0:
        spin(left)
