"""The doctor: looks at a running system for some seconds, and says what is there, and what is wrong."""

from __future__ import annotations

import importlib.util
import os
import resource
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from geometry_msgs.msg import WrenchStamped
from rclpy.node import Node
from rclpy.qos import QoSProfile, ReliabilityPolicy
from sensor_msgs.msg import JointState
from std_msgs.msg import Bool

from ...core.errors import ConfigError
from ...core.types import RobotState
from ...laws.running_law import RunningLaw
from ...robot.configuration import RobotConfig
from ...robot.model import RobotModel
from ...sensing.wrench import WrenchPipeline
from ..common.entities import Entities
from ..common.findings import Finding, Level, error, errors, ok, warning
from ..common.messages import JointStateReader, seconds, vector
from ..common.running import LATCHED_QOS, spinning
from ..common.system_check import WATCHDOG, check_controllers, check_system, how_to_start
from . import examination
from .examination import Samples

CONTROLLER = "controller"
LISTENING_QOS = QoSProfile(depth=1000, reliability=ReliabilityPolicy.BEST_EFFORT)


class Doctor(Node):
    """Listens to one robot."""

    def __init__(self, robot: RobotConfig, law: RunningLaw, name: str) -> None:
        super().__init__("doctor")
        self._robot, self._law, self._name, self._model = robot, law, name, RobotModel.of(robot)
        self._reader = JointStateReader(robot.joints)
        self._states: list[RobotState] = []
        self._state_samples, self._wrench_samples = Samples(), Samples()
        self._forces: list[np.ndarray] = []
        self._frame, self._complaint = "", ""
        self._names: set[str] = set()  # of all joints in the messages
        self._diagnoses: dict[str, DiagnosticStatus] = {}  # by node
        self._executing: bool | None = None
        self._wrench_settings = WrenchPipeline(robot.profile.wrench).settings.current
        profile, entities = robot.profile, Entities(self)
        entities.subscription(JointState, profile.joint_states, self._on_joint_state, LISTENING_QOS)
        entities.subscription(DiagnosticArray, "/diagnostics", self._on_diagnostics, LISTENING_QOS)
        entities.subscription(WrenchStamped, self._wrench_topic, self._on_wrench, LISTENING_QOS)
        if profile.running_topic:
            entities.subscription(Bool, profile.running_topic, self._on_running, LATCHED_QOS)

    @property
    def _wrench_topic(self) -> str:
        return self._robot.profile.wrench_topic or "wrench"

    def findings(self) -> list[Finding]:
        """All that was found since it began to listen."""
        profile, sensed = self._robot.profile, self._wrench_settings.source == "sensor"
        surroundings = self._surroundings()
        if errors(surroundings):
            return surroundings
        topic = self._wrench_topic if sensed else None
        return [
            *surroundings,
            *check_system(self, self._robot, self._law, topic, profile.joint_states, (CONTROLLER,)),
            *check_controllers(self, self._robot, self._law.mode),
            *self._running(),
            *self._joint_states(),
            *(self._wrench() if sensed else ()),
            *self._nodes(),
        ]

    def _surroundings(self) -> list[Finding]:
        domain = os.environ.get("ROS_DOMAIN_ID", "0")
        others = [name for name in self.get_node_names() if name != self.get_name() and not name.startswith("_")]
        if not others:
            start, command = how_to_start(self._robot)
            elsewhere = "if it runs already, give this terminal its ROS_DOMAIN_ID and ROS_AUTOMATIC_DISCOVERY_RANGE"
            return [error(f"no other node is seen in ROS domain {domain}", f"{start}; {elsewhere}", command)]
        return [ok(f"ROS domain {domain}: {', '.join(sorted(others))}")]

    def _running(self) -> list[Finding]:
        topic = self._robot.profile.running_topic
        if not topic:
            return []
        if self._executing is None:
            return [warning(f"{topic}: no message, so nobody knows whether the robot executes commands")]
        if not self._executing:
            remedy = "Start its program; see the robot's page in docs"
            return [error(f"{topic}: the robot executes no commands", remedy)]
        return [ok("the robot executes commands")]

    def _joint_states(self) -> list[Finding]:
        samples, profile = self._state_samples, self._robot.profile
        if self._complaint:
            return [error(self._complaint, "Look for another robot, or another publisher", self._who_publishes())]
        if not self._states and self._names:
            return [examination.judge_joints(self._robot, sorted(self._names))]
        if len(samples) < 2:
            return self._silent(profile.joint_states, f"only {len(samples)} joint states have come")
        clock = examination.judge_clock("joint states", samples, profile.simulated_time, self._who_publishes())
        found = [examination.judge_joints(self._robot, sorted(self._names)), clock]
        if clock.level is not Level.ERROR:
            found.append(examination.judge_rate("joint states", samples, profile.rate, profile.simulated_time))
        return found + examination.judge_torques(self._robot, self._model, self._states)

    def _silent(self, topic: str, text: str) -> list[Finding]:
        """Somebody publishes, but nothing comes; where nobody does, check_system has found that."""
        return [error(text, "Is the simulation or the driver paused?")] if self.count_publishers(topic) else []

    def _who_publishes(self) -> str:
        return f"ros2 topic info -v {self.resolve_topic_name(self._robot.profile.joint_states)}"

    def _wrench(self) -> list[Finding]:
        samples, simulated = self._wrench_samples, self._robot.profile.simulated_time
        if len(samples) < 2:
            if not self._law.needs_wrench:
                return []
            text = f"law {self._law.name} needs a wrench, but only {len(samples)} have come"
            return self._silent(self._wrench_topic, text)
        zero = f"ros2 service call /{CONTROLLER}/zero_wrench std_srvs/srv/Trigger"
        clock = examination.judge_clock("wrench", samples, simulated, f"ros2 topic info -v {self._wrench_topic}")
        found = [examination.judge_wrench_frame(self._robot, self._model, self._frame), clock]
        if clock.level is not Level.ERROR:
            found.append(examination.judge_gaps("wrench", samples, self._wrench_settings.max_age, simulated))
        return [*found, examination.judge_force(np.mean(self._forces, axis=0), zero)]

    def _nodes(self) -> list[Finding]:
        profile, names, found = self._robot.profile, set(self.get_node_names()), []
        robot = f"-p robot:={self._name} -p profile:={self._robot.profile_name}"
        if profile.simulated_time:
            robot += " -p use_sim_time:=true"
        if profile.joint_states != "joint_states":
            robot += f" -r joint_states:={profile.joint_states}"
        law = f"-p law:={self._law.name} -r wrench:={self._wrench_topic}"
        for name, loss, rest in (
            (CONTROLLER, "nothing commands the robot", f"{robot} {law}"),
            (WATCHDOG, "nothing makes the robot safe if the controller dies", robot),
        ):
            if name in names:
                found.append(self._diagnosis(name))
            else:
                command = f"ros2 run robot_control_ros {name} --ros-args {rest}"
                found.append(warning(f"no {name}: {loss}", "Start it", command))
        return found

    def _diagnosis(self, name: str) -> Finding:
        """What a node says of itself on /diagnostics, once a second; nothing, where a controller isn't configured."""
        status = self._diagnoses.get(name)
        if status is None:
            remedy = ("Configure it", f"ros2 lifecycle set /{name} configure") if name == CONTROLLER else ()
            return warning(f"{name} says nothing on /diagnostics", *remedy)
        values = {pair.key: pair.value for pair in status.values}
        asked = self._robot.name, self._robot.profile_name
        running = status.hardware_id or asked[0], values.get("profile", asked[1])
        if running != asked:
            text = f"{name} runs for {running[0]} under profile {running[1]}, not for {asked[0]} under {asked[1]}"
            return error(text, "Examine that", f"robot_control doctor --robot {running[0]} --profile {running[1]}")
        judge = {DiagnosticStatus.OK: ok, DiagnosticStatus.WARN: warning}.get(status.level, error)
        return judge(f"{name}: {status.message}")

    def _on_joint_state(self, message: JointState) -> None:
        arrival = time.time()
        self._names.update(message.name)
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

    def _on_running(self, message: Bool) -> None:
        self._executing = message.data


def examine(robot: RobotConfig, law: RunningLaw, name: str, lasting: float) -> list[Finding]:
    """Look at the running system for `lasting` seconds."""
    with spinning(lambda: Doctor(robot, law, name)) as (doctor, spin):
        spin(lasting)
        return [*doctor.findings(), *machine()]


def real_time_pause(kernel: Path = Path("/proc/sys/kernel")) -> float:
    """The time [s] of each period in which the kernel runs no real-time thread that would use all of it; 0 for none."""
    try:
        period, runtime = (int((kernel / f"sched_rt_{name}_us").read_text()) for name in ("period", "runtime"))
    except (OSError, ValueError):
        return 0.0
    return 0.0 if runtime < 0 else (period - runtime) * 1e-6


def machine() -> list[Finding]:
    """What this machine lets a controller do."""
    if os.geteuid() == 0 or resource.getrlimit(resource.RLIMIT_RTPRIO)[0] != 0:
        found = [ok("real-time priority is permitted: controller and watchdog take it (realtime_priority)")]
        if (pause := real_time_pause()) > 0.0:
            text = f"the kernel pauses real-time threads for {pause * 1e3:g} ms if they take all its time"
            found.append(ok(f"{text} (sched_rt_runtime_us)"))
    else:
        remedy = "Give your user rtprio 98 in /etc/security/limits.d, and log in again"
        found = [warning("real-time priority isn't permitted", remedy)]
    for package, loss in (
        ("control_msgs", "the controller has no FollowJointTrajectory action"),
        ("controller_manager_msgs", "the controller manager can't be asked"),
    ):
        if importlib.util.find_spec(package) is None:
            found.append(ok(f"{package} isn't installed: {loss}"))
    return found
