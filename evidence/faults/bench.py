"""A simulated arm, the controller that leads it and the watchdog beside it, and what they say."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from rclpy.qos import DurabilityPolicy, QoSProfile
from sensor_msgs.msg import JointState
from std_msgs.msg import String

from robot_control_ros.core.errors import HardwareFault
from robot_control_ros.core.types import Array
from robot_control_ros.robot.configuration import load_robot

from .arm import SimulatedArm
from .judge import AT_REST
from .observed_arm import ObservedArm

ROBOT = "ur5"
ROOT = Path(__file__).resolve().parents[2]  # of the checkout, which a warning of Python's may name
GOAL = np.array([1.2, 0.3, -0.3, 0.2, 0.2, 0.5])  # rad from home: more than a second away
HOME_WITHIN = 0.005  # m of the tip from its home, where the arm is back there
ON_THE_WAY = 0.5  # rad/s of the fastest joint, where an arm moves when the fault comes
START_LIMIT = 60.0  # s, for anything to happen at all, on a machine that others keep busy
PAGE_PORT = 18080  # or the next free one
LED = 25  # commands in a row of the controller, where it leads the arm
LOG_LINE = re.compile(r"^\[(DEBUG|INFO|WARN|ERROR|FATAL)\] \[[\d.]+\] \[([^\]]+)\]: (.*)$")


class Nodes(Protocol):
    """Runs nodes: as processes, see :class:`..programs.Programs`, or in this process.

    In this process they have a stepped clock.
    """

    node: Any

    def start(
        self, executable: str, parameters: Mapping[str, Any] | None = None, **spec: Any
    ) -> Any:
        """Start a node of the package; returns its process and what it wrote."""

    def create_node(self, name: str) -> Any:
        """A node of ours, beside `node`."""

    def spin(self, seconds: float) -> None:
        """Let one thing happen, or the time pass [s]."""


@dataclass(frozen=True)
class Told:
    """What a user was told.

    Attributes:
        time: Time of the arm [s].
        source: Topic, or log or terminal of a program, that said it.
        text: Words that were said.
        alarms: True where they say that something is wrong.
    """

    time: float
    source: str
    text: str
    alarms: bool = True


class Bench:
    """Starts arm, controller and watchdog, and steps them.

    Args:
        nodes: Object that runs the nodes.
        law: Law of the controller.
        simulator: True where a simulator in a process of its own has the arm.
        load: Mass on the tip of the arm that nobody knows of [kg]; none with a simulator.
        parameters: Further parameters of the controller; the watchdog has its `realtime_priority`,
            too.

    Attributes:
        arm: Simulated arm, or what is heard of the simulator's.
        load: Mass on the tip of the arm that nobody knows of [kg].
        children: Programs that were started, by name.
        fault: Text of the controller on ``~/fault``: why the arm doesn't follow; empty where it
            does.
        told: Messages on topics, oldest first; lines of the log come by :meth:`logged`.
    """

    def __init__(
        self,
        nodes: Nodes,
        law: str = "impedance",
        *,
        simulator: bool = False,
        load: float = 0.0,
        **parameters: Any,
    ) -> None:
        self.nodes = nodes
        self.load = load
        self.robot = load_robot(ROBOT)
        self.arm: Any
        if simulator:
            self.arm = ObservedArm(nodes.node, self.robot, nodes.spin)
        else:
            self.arm = SimulatedArm(nodes.node, self.robot, nodes.spin, load)
        self._simulator = simulator
        self._commands_before = 0  # the start of the controller that was started last
        self._samples_before = 0  # of the simulator that was started last
        self.children: dict[str, Any] = {}
        self.fault = ""
        self.told: list[Told] = []
        self._law = law
        self._parameters = parameters
        self._diagnosed: dict[str, str] = {}  # the last message of each status
        # of each program: its name, itself, and the characters that were read
        self._logs: list[list[Any]] = []
        node = nodes.node
        node.create_subscription(DiagnosticArray, "/diagnostics", self._on_diagnostics, 100)
        latched = QoSProfile(depth=20, durability=DurabilityPolicy.TRANSIENT_LOCAL)
        node.create_subscription(String, "/controller/fault", self._on_fault, latched)
        self._targets = node.create_publisher(JointState, "/controller/target_joint", 10)

    def start(self) -> None:
        """Start the nodes; returns when the controller leads the arm at rest, and the watchdog
        watches.

        Raises:
            HardwareFault: it doesn't come to that within a minute.
        """
        if self._simulator:
            self.start_simulator()
        self.start_watchdog()
        self.start_controller()
        self.until(lambda: self.leads() and self.watches(), "a controlled arm")

    def start_controller(self) -> None:
        """Start the controller, for the first time or again."""
        self._commands_before = len(self.arm.heard)
        given = {"law": self._law, "use_sim_time": True, **self._parameters}
        remappings = {"wrench": "/force_torque_sensor_broadcaster/wrench"}
        self.watch_log("controller", self.nodes.start("controller", given, remappings=remappings))

    def start_watchdog(self) -> None:
        """Start the watchdog, for the first time or again."""
        self._diagnosed.pop("watchdog: commands", None)
        given = {
            name: value for name, value in self._parameters.items() if name == "realtime_priority"
        }
        self.watch_log("watchdog", self.nodes.start("watchdog", {"use_sim_time": True, **given}))

    def start_simulator(self) -> None:
        """Start the simulator, for the first time or again."""
        self._samples_before = len(self.arm.moments)
        self.watch_log("simulator", self.nodes.start("simulator", {"pacing": "lockstep"}))

    def watches(self) -> bool:
        """True where the watchdog says that it watches."""
        return self._diagnosed.get("watchdog: commands") == "watching"

    def ready(self, name: str) -> bool:
        """True where a program that was started does its work."""
        if name == "watchdog":
            return self.watches()
        if name == "page":
            return "dashboard of" in self.children["page"].out
        if name == "simulator":
            return len(self.arm.moments) > self._samples_before + LED and self.leads()
        return self.leads()

    def start_page(self) -> None:
        """Start the page, for the first time or again."""
        self.watch_log("page", self.nodes.start("dashboard", {"port": PAGE_PORT}))

    def watch_log(self, name: str, child: Any) -> None:
        """Read what a program writes from now on."""
        self.children[name] = child
        self._logs.append([name, child, 0])

    def step(self, seconds: float) -> None:
        """Let the arm's time go on [s]."""
        end = self.arm.time + seconds - 1e-9
        while self.arm.time < end:
            self.arm.step()

    def waits(self, condition: Callable[[], Any], seconds: float) -> bool:
        """Step until the condition holds; True where it does within some of the arm's time [s]."""
        end = self.arm.time + seconds
        while not condition():
            if self.arm.time >= end:
                return False
            self.arm.step()
        return True

    def until(self, condition: Callable[[], Any], what: str) -> None:
        """Step until the condition holds.

        Raises:
            HardwareFault: it doesn't, within a minute.
        """
        end = time.monotonic() + START_LIMIT
        while not condition():
            if time.monotonic() > end:
                said = "\n".join(
                    f"--- {name}\n{child.err[-2000:]}" for name, child in self.children.items()
                )
                raise HardwareFault(
                    f"waited {START_LIMIT:g} s for: {what}\n{said}", name=what, bound=START_LIMIT
                )
            self.arm.step()

    def move(self) -> None:
        """Let the controller move the arm; returns when it is well on its way."""
        self._lead_to(np.array(self.robot.home) + GOAL)
        self.until(lambda: self.arm.speed > ON_THE_WAY, "an arm that moves")

    def go_home(self) -> None:
        """Let the controller move the arm back to where it has begun; returns
        when it rests there.
        """
        home = np.array(self.robot.home)
        place = self.arm.model.at(home).pose[:3, 3]
        self._lead_to(home)
        self.until(
            lambda: (
                self.is_at_rest() and np.linalg.norm(self.arm.moments[-1].tip - place) < HOME_WITHIN
            ),
            "its home",
        )

    def _lead_to(self, q: Array) -> None:
        """Send the controller a target of the joints (n,) [rad]."""
        message = JointState(name=list(self.robot.joints), position=q.tolist())
        self.until(
            lambda: self._targets.get_subscription_count(), "a controller that takes targets"
        )
        self._targets.publish(message)

    def leads(self) -> bool:
        """True where the controller leads the arm, without a fault, and nobody else does."""
        latest = self.arm.heard[self._commands_before :][-LED:]
        by_controller = [not each.by_watchdog and not each.by_stranger for each in latest]
        return len(latest) == LED and all(by_controller) and not self.fault

    def is_at_rest(self) -> bool:
        """True where the arm stands still now."""
        return bool(self.arm.speed < AT_REST)

    def logged(self) -> list[Told]:
        """Lines that the programs have written since the last call."""
        found = []
        for log in self._logs:
            name, child, read = log
            written = child.err
            log[2] = len(written)
            for line in written[read:].splitlines():
                if match := LOG_LINE.match(line):
                    alarms = match[1] not in ("DEBUG", "INFO")
                    found.append(Told(self.arm.time, f"log of {match[2]}", match[3], alarms))
                elif line.strip():
                    text = line.strip().replace(f"{ROOT}/", "")
                    found.append(Told(self.arm.time, f"terminal of {name}", text))
        return found

    def _on_diagnostics(self, message: DiagnosticArray) -> None:
        for status in message.status:
            if self._diagnosed.get(status.name) == status.message:
                continue
            self._diagnosed[status.name] = status.message
            if status.level != DiagnosticStatus.OK:
                self.told.append(Told(self.arm.time, "/diagnostics", status.message))

    def _on_fault(self, message: String) -> None:
        self.fault = message.data
        if message.data:
            self.told.append(Told(self.arm.time, "~/fault", message.data))
