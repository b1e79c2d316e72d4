"""The doctor looks at a running system for some seconds, and says what is there or wrong."""

from __future__ import annotations

import importlib.util
import os
import resource
import time
from pathlib import Path
from typing import Any

import numpy as np
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from geometry_msgs.msg import WrenchStamped
from rclpy.node import Node
from rclpy.qos import QoSProfile, ReliabilityPolicy
from sensor_msgs.msg import JointState
from std_msgs.msg import Bool

from ...core.errors import ConfigError
from ...core.types import Array
from ...laws.running_law import RunningLaw
from ...references.clearance import Clearance
from ...robot.configuration import RobotConfig
from ...robot.model import RobotModel
from ...robot.workcell import MARK
from ...ros.effort_findings import check_efforts
from ...ros.entities import Entities, in_namespace
from ...ros.findings import Finding, Level, error, errors, ok, warning
from ...ros.messages import seconds, vector
from ...ros.qos import LATCHED_QOS
from ...ros.robot_states import RobotStateReader
from ...ros.running import spinning
from ...ros.system_check import WATCHDOG, check_controllers, check_system, how_to_start
from ...sensing.wrench import WrenchPipeline
from . import examination
from .examination import Samples

CONTROLLER = "controller"
LISTENING_QOS = QoSProfile(depth=1000, reliability=ReliabilityPolicy.BEST_EFFORT)


class Doctor(Node):
    """Listens to one robot, whose nodes are in a namespace."""

    def __init__(self, robot: RobotConfig, law: RunningLaw, name: str, namespace: str) -> None:
        super().__init__("doctor", namespace=namespace)
        self._robot = robot
        self._law = law
        self._name = name
        self._model = RobotModel.of(robot)
        self._wrench_settings = WrenchPipeline(robot.profile.wrench_settings).settings.current
        self._entities = Entities(self)
        self._joint_messages = self._listen(JointState, robot.profile.joint_states)
        self._wrench_messages = self._listen(WrenchStamped, self._wrench_topic)
        self._diagnostics = self._listen(DiagnosticArray, "/diagnostics")
        running = robot.profile.running_topic
        self._running_messages = self._listen(Bool, running, LATCHED_QOS) if running else []

    def _listen(
        self, kind: type, topic: str, qos: QoSProfile = LISTENING_QOS
    ) -> list[tuple[float, Any]]:
        """List that gets the messages of a topic from now on: pairs of arrival and message.

        The arrival is by the wall clock [s].
        """
        heard: list[tuple[float, Any]] = []
        self._entities.subscription(
            kind, topic, lambda message: heard.append((time.time(), message)), qos
        )
        return heard

    @property
    def _wrench_topic(self) -> str:
        return self._robot.profile.wrench_topic or "wrench"

    def findings(self) -> list[Finding]:
        """All findings on the messages since it began to listen."""
        profile = self._robot.profile
        sensed = self._wrench_settings.source == "sensor"
        description = examination.judge_description(self._robot, self._model)
        surroundings = [*description, *self._surroundings()]
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
        others = [
            name.lstrip("/")
            for name in self._all_nodes()
            if name != self.get_fully_qualified_name()
        ]
        if not others:
            start, command = how_to_start(self._robot)
            elsewhere = "if it runs already, give this terminal its ROS_DOMAIN_ID and ROS_AUTOMATIC_DISCOVERY_RANGE"
            return [
                error(
                    f"no other node is seen in ROS domain {domain}",
                    f"{start}; {elsewhere}",
                    command,
                )
            ]
        return [ok(f"ROS domain {domain}: {', '.join(sorted(others))}")]

    def _all_nodes(self) -> list[str]:
        """Full names of all nodes but hidden ones."""
        seen = self.get_node_names_and_namespaces()
        return [
            f"{namespace.rstrip('/')}/{name}"
            for name, namespace in seen
            if not name.startswith("_")
        ]

    def _running(self) -> list[Finding]:
        topic = self._robot.profile.running_topic and self.resolve_topic_name(
            self._robot.profile.running_topic
        )
        if not topic:
            return []
        if not self._running_messages:
            return [
                warning(f"{topic}: no message, so nobody knows whether the robot executes commands")
            ]
        if not self._running_messages[-1][1].data:
            remedy = "Start its program; see the robot's page in docs"
            return [error(f"{topic}: the robot executes no commands", remedy)]
        return [ok("the robot executes commands")]

    def _joint_states(self) -> list[Finding]:
        robot = self._robot
        profile = self._robot.profile
        reader = RobotStateReader(self._robot)
        try:
            found = [
                (arrival, reader.read_message(message)) for arrival, message in self._joint_messages
            ]
        except ConfigError as complaint:
            return [
                error(
                    str(complaint),
                    "Look for another robot, or another publisher",
                    self._who_publishes(),
                )
            ]
        heard = [(arrival, state) for arrival, state in found if state is not None]
        names = sorted({name for _, message in self._joint_messages for name in message.name})
        if not heard and names:
            return [examination.judge_joints(robot, names)]
        if len(heard) < 2:
            return self._silent(profile.joint_states, f"only {len(heard)} joint states have come")
        samples = Samples([arrival for arrival, _ in heard], [state.time for _, state in heard])
        clock = examination.judge_clock(
            "joint states", samples, profile.simulated_time, self._who_publishes()
        )
        findings = [examination.judge_joints(robot, names), clock]
        if clock.level is not Level.ERROR:
            findings.append(
                examination.judge_rate(
                    "joint states", samples, profile.rate, profile.simulated_time
                )
            )
        states = [state for _, state in heard]
        contact = self._contact(states[-1].q)
        findings += check_efforts(
            robot, self._model, states, alone=contact is None, contact=contact
        )
        return findings + examination.judge_clearance(Clearance(robot, self._model), heard[-1][1].q)

    def _silent(self, topic: str, text: str) -> list[Finding]:
        """An error where somebody publishes a topic but nothing comes; else an empty list.

        Where nobody publishes it, check_system says so.
        """
        return (
            [error(text, "Is the simulation or the driver paused?")]
            if self.count_publishers(topic)
            else []
        )

    def _contact(self, q: Array) -> Array | None:
        """Torques (n,) of a contact at joint angles q (n,); None where the wrench shows none."""
        if not self._wrench_messages:
            return None
        wrenches = [
            (*vector(message.wrench.force), *vector(message.wrench.torque))
            for _, message in self._wrench_messages
        ]
        frame = self._wrench_messages[-1][1].header.frame_id
        wrench = np.mean(wrenches, axis=0)
        return examination.contact_torque(self._robot, self._model, wrench, frame, q)

    def _who_publishes(self) -> str:
        return f"ros2 topic info -v {self.resolve_topic_name(self._robot.profile.joint_states)}"

    def _wrench(self) -> list[Finding]:
        heard = self._wrench_messages
        simulated = self._robot.profile.simulated_time
        if len(heard) < 2:
            if not self._law.needs_wrench:
                return []
            text = f"law {self._law.name} needs a wrench, but only {len(heard)} have come"
            return self._silent(self._wrench_topic, text)
        samples = Samples(
            [arrival for arrival, _ in heard],
            [seconds(message.header.stamp) for _, message in heard],
        )
        force = np.mean([vector(message.wrench.force) for _, message in heard], axis=0)
        zero = (
            f"ros2 service call {in_namespace(self, CONTROLLER)}/zero_wrench std_srvs/srv/Trigger"
        )
        publishers = f"ros2 topic info -v {self.resolve_topic_name(self._wrench_topic)}"
        clock = examination.judge_clock("wrench", samples, simulated, publishers)
        found = [
            examination.judge_wrench_frame(self._robot, self._model, heard[-1][1].header.frame_id),
            clock,
        ]
        if clock.level is not Level.ERROR:
            found.append(
                examination.judge_gaps("wrench", samples, self._wrench_settings.max_age, simulated)
            )
        return [*found, examination.judge_force(force, zero)]

    def _nodes(self) -> list[Finding]:
        profile = self._robot.profile
        names = self._all_nodes()
        found = []
        robot = f"-p robot:={self._name} -p profile:={self._robot.profile_name}"
        if self._robot.prefix and MARK not in self._name:
            robot += f" -p prefix:={self._robot.prefix}"
        if self.get_namespace() != "/":
            robot = f"-r __ns:={self.get_namespace()} {robot}"
        if profile.simulated_time:
            robot += " -p use_sim_time:=true"
        if profile.joint_states != "joint_states":
            robot += f" -r joint_states:={profile.joint_states}"
        law = f"-p law:={self._law.name} -r wrench:={self._wrench_topic}"
        for name, loss, rest in (
            (CONTROLLER, "nothing commands the robot", f"{robot} {law}"),
            (WATCHDOG, "nothing makes the robot safe if the controller dies", robot),
        ):
            if in_namespace(self, name) in names:
                found.append(self._diagnosis(name))
            else:
                command = f"ros2 run robot_control_ros {name} --ros-args {rest}"
                found.append(warning(f"no {name}: {loss}", "Start it", command))
        return found

    def _options(self) -> str:
        """Options of this command where it looks below a namespace."""
        return "" if self.get_namespace() == "/" else f" --namespace {self.get_namespace()}"

    def _diagnosis(self, name: str) -> Finding:
        """Finding on a node from its own /diagnostics, which it publishes once a second.

        A controller that isn't configured publishes none.
        """
        heard = [status for _, message in self._diagnostics for status in message.status]
        full = in_namespace(self, name)
        own = [status for status in heard if status.name.partition(":")[0] == full.lstrip("/")]
        if not own:
            remedy = (
                ("Configure it", f"ros2 lifecycle set {full} configure")
                if name == CONTROLLER
                else ()
            )
            return warning(f"{name} says nothing on /diagnostics", *remedy)
        status = own[-1]
        values = {pair.key: pair.value for pair in status.values}
        asked = self._robot.name, self._robot.profile_name
        running = status.hardware_id or asked[0], values.get("profile", asked[1])
        if running != asked:
            text = f"{name} runs for {running[0]} under profile {running[1]}, not for {asked[0]} under {asked[1]}"
            command = (
                f"robot_control doctor --robot {running[0]} --profile {running[1]}{self._options()}"
            )
            return error(text, "Examine that", command)
        judge = {DiagnosticStatus.OK: ok, DiagnosticStatus.WARN: warning}.get(status.level, error)
        return judge(f"{name}: {status.message}")


def examine(
    robot: RobotConfig, law: RunningLaw, name: str, lasting: float, namespace: str = ""
) -> list[Finding]:
    """Look at the running system for `lasting` seconds."""
    with spinning(lambda: Doctor(robot, law, name, namespace)) as (doctor, spin):
        spin(lasting)
        return [*doctor.findings(), *machine()]


def real_time_pause(kernel: Path = Path("/proc/sys/kernel")) -> float:
    """Time of each period in which the kernel pauses busy real-time threads [s]; 0 for none."""
    try:
        period, runtime = (
            int((kernel / f"sched_rt_{name}_us").read_text()) for name in ("period", "runtime")
        )
    except (OSError, ValueError):
        return 0.0
    return 0.0 if runtime < 0 else (period - runtime) * 1e-6


def machine() -> list[Finding]:
    """Findings on this machine: real-time priority, and packages that are installed."""
    if os.geteuid() == 0 or resource.getrlimit(resource.RLIMIT_RTPRIO)[0] != 0:
        found = [
            ok(
                "real-time priority is permitted: controller and watchdog take it (realtime_priority)"
            )
        ]
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
