"""Drives on a field bus as a node: joint states out, commands in, as ros2_control does.

The bus is a process of its own.
Topics, services and parameters: docs/fieldbus.md.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
from geometry_msgs.msg import WrenchStamped
from rclpy.node import Node
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

from ...core.bounded import Bounded
from ...core.errors import RobotControlError, refused
from ...core.types import Command, CommandMode, RobotState
from ...fieldbus.command_checks import check_command
from ...fieldbus.driver_class import driver_names
from ...fieldbus.process.client import BusClient, BusSettings
from ...fieldbus.process.diagnosis import BusDiagnosis, diagnose
from ...fieldbus.process.scheduling import PRIORITY, PROCESSOR
from ...robot.configuration import load_robot, robot_names
from ...robot.profile import JOINT_STATE_RATE
from ...ros.bus_services import REQUESTS as REQUESTS
from ...ros.entities import Entities, full_name
from ...ros.messages import fill_joint_state, fill_wrench, read_joint_command
from ...ros.periodic import Periodic
from ...ros.refusals import KEY
from ...ros.ros_params import declare
from ...ros.running import run

NO_STATUS = 0.5  # s without a cycle after which the bus's process is looked at
PUMP_LIMIT = 2.0  # s that a look for a cycle may take
DIAGNOSTICS_PERIOD = 1.0  # s
LOG_PERIOD = 0.1  # s
WRENCH_TOPIC = "force_torque_sensor_broadcaster/wrench"  # where the profile names none

NUMBERS = {
    "realtime_priority": PRIORITY,
    "cpu_affinity": PROCESSOR,
    "command_timeout": Bounded(
        default=0.04,
        lower=0.002,
        upper=1.0,
        unit="s",
        doc="Age of the last command at which the drives are stopped.",
    ),
    "bad_cycles": Bounded(
        default=3,
        lower=1,
        upper=100,
        whole=True,
        doc="Cycles in a row without a good answer after which the drives are stopped.",
    ),
    "rate": replace(JOINT_STATE_RATE, doc="Joint states per second, at most; 0 for one per cycle."),
}


class BusPlace(NamedTuple):
    """Kind of bus, address and options; see :class:`~...fieldbus.process.client.BusSettings`."""

    bus: str
    address: str
    options: dict[str, Any]


class BusNode(Node):
    """Starts the process of a bus, and passes messages between it and ROS.

    Args:
        name: Name of the node.
        robot, profile: Defaults of the parameters of these names.
        parameters, numbers: Parameters of this kind of bus, as :func:`~...ros.ros_params.declare`
            takes them.
        place: Function that makes the bus's place of the values of all parameters, by name.
        requests: Requests of the driver that are services, each without arguments.

    Attributes:
        failed: True where the bus's process has ended; this one then ends with exit status 1.
    """

    def __init__(
        self,
        name: str,
        robot: str,
        profile: str,
        parameters: Mapping[str, tuple[Any, str]],
        numbers: Mapping[str, Bounded],
        place: Callable[[Mapping[str, Any]], BusPlace],
        requests: tuple[str, ...] = REQUESTS,
    ) -> None:
        super().__init__(name)
        self.failed = False
        self._closing = False
        all_parameters = {
            "robot": (robot, "Robot: a name ({robots}) or the path of a YAML file."),
            "profile": (profile, "HardwareProfile of the robot's file."),
            **parameters,
            "in_process": (False, "Let a controller's law run in the bus's process."),
        }
        known = {"robots": ", ".join(robot_names())}
        chosen = declare(self, all_parameters, {**NUMBERS, **numbers}, known)
        self._robot = load_robot(chosen["robot"], chosen["profile"])
        bus = place(chosen)
        self._address = bus.address
        settings = BusSettings(
            **bus._asdict(),
            robot=chosen["robot"],
            profile=chosen["profile"],
            priority=chosen["realtime_priority"],
            processor=chosen["cpu_affinity"],
            command_timeout=chosen["command_timeout"],
            bad_cycles=chosen["bad_cycles"],
            in_process=chosen["in_process"],
        )
        self._client = BusClient(settings)
        try:
            report = self._client.wait_until_ready()
        except RobotControlError:
            self._client.close()
            raise
        rate = chosen["rate"]
        self._every = max(1, round(1.0 / (report["period"] * rate))) if rate else 1
        self._message = ""
        self._logged_until = 0.0
        self._refusal = ""
        self._in_process = False
        self._entities = Entities(self)
        self._make_entities(requests, report["measures_wrench"])
        for warning in report["warnings"]:
            self.get_logger().warning(warning)
        self._joint_state = JointState(name=list(self._robot.joints))
        self._wrench = WrenchStamped()
        self._published = 0  # number of the cycle whose joint state was published last
        self._cycle_at = time.monotonic()  # when the last cycle was heard of
        self._pumping = Periodic(self._pump, "joint states", PUMP_LIMIT)
        self._pumping.start()

    def close(self) -> None:
        """Stop the drives, and let the bus go."""
        self._closing = True
        self._pumping.stop()
        self._client.close()
        self._entities.close()

    def _make_entities(self, requests: tuple[str, ...], measures_wrench: bool) -> None:
        entities = self._entities
        profile = self._robot.profile
        self._joint_states = entities.publisher(JointState, "joint_states")
        self._wrenches = (
            entities.publisher(WrenchStamped, profile.wrench_topic or WRENCH_TOPIC)
            if measures_wrench
            else None
        )
        self._diagnostics = entities.publisher(DiagnosticArray, "/diagnostics", 10)
        for mode in CommandMode:
            topic = f"{profile.controllers[mode]}/commands"
            entities.subscription(Float64MultiArray, topic, self._forward_callback(mode))
        entities.subscription(
            JointState, profile.joint_commands or "joint_commands", self._on_joint_command
        )
        for name in requests:
            entities.trigger(f"~/{name}", partial(self._client.request, name))
        entities.timer(DIAGNOSTICS_PERIOD, self._publish_diagnostics)
        entities.timer(LOG_PERIOD, self._log)

    # --- joint states ---

    def _pump(self) -> float:
        """Wait for a cycle, and publish its sample if it is due; returns a pause [s].

        A thread calls it again and again.
        """
        status = self._client.wait(NO_STATUS / 5)
        now = time.monotonic()
        if status is None:
            return 0.0 if now - self._cycle_at <= NO_STATUS or self._lives() else NO_STATUS
        self._cycle_at = now
        self._in_process = status.in_process
        if status.fresh and status.cycle >= self._published + self._every:
            self._published = status.cycle
            self._publish(status.state)
        return 0.0

    def _publish(self, state: RobotState) -> None:
        """Publish a sample; the wrench first, so that it is there when the joint states come."""
        fill_joint_state(self._joint_state, state.time, state.q, state.v, state.effort)
        if self._wrenches is not None and state.wrench is not None:
            message = self._wrench
            message.header.stamp = self._joint_state.header.stamp
            message.header.frame_id = state.wrench.frame
            fill_wrench(message.wrench, np.concatenate((state.wrench.force, state.wrench.torque)))
            self._wrenches.publish(message)
        self._joint_states.publish(self._joint_state)

    def _lives(self) -> bool:
        try:
            self._client.check()
        except RobotControlError as error:
            if not self._closing:
                self.get_logger().fatal(str(error))
                self.failed = True
            return False
        return True

    # --- commands ---

    def _forward_callback(self, mode: CommandMode) -> Callable[[Float64MultiArray], None]:
        return lambda message: self._take(lambda: Command(mode, np.array(message.data)))

    def _on_joint_command(self, message: JointState) -> None:
        self._take(lambda: read_joint_command(message, self._robot.joints))

    def _take(self, read: Callable[[], Command | None]) -> None:
        if self._in_process:
            # the loop in the bus's process commands; what it commanded is published for others
            return
        try:
            command = read()
            if command is None:
                return
            check_command(command, self._robot.n)
        except RobotControlError as error:
            self._refusal = str(error)
            self.get_logger().error(f"refused: {error}", throttle_duration_sec=1.0)
            return
        self._client.command(command)

    # --- diagnostics ---

    def _publish_diagnostics(self) -> None:
        report = self._client.report()
        status = self._client.status()
        if status is None or "drives" not in report:
            return
        bus, *drives = diagnose(report, status, self._client.timing)
        bus.values["last refusal"] = self._refusal
        bus.values[KEY] = self._entities.refusals.text
        array = DiagnosticArray(status=[self._message_of(each) for each in (bus, *drives)])
        array.header.stamp = self.get_clock().now().to_msg()
        self._diagnostics.publish(array)

    def _message_of(self, diagnosis: BusDiagnosis) -> DiagnosticStatus:
        status = DiagnosticStatus(
            level=bytes([diagnosis.level]),
            name=f"{full_name(self)}: {diagnosis.name}",
            message=diagnosis.message,
            hardware_id=self._address,
        )
        status.values = [KeyValue(key=key, value=text) for key, text in diagnosis.values.items()]
        return status

    def _log(self) -> None:
        """Log events and a new state of the drives since the last call."""
        report = self._client.report()
        if "events" not in report:
            return
        for at, message in report["events"]:
            if at > self._logged_until:
                self._logged_until = at
                self.get_logger().warning(message)
        if report["message"] != self._message:
            self._message = report["message"]
            if report["stopped"]:
                self.get_logger().error(f"drives: {self._message}")
            else:
                self.get_logger().info(f"drives: {self._message}")


class FieldbusNode(BusNode):
    """The node of any bus, also by a driver of the user's own."""

    def __init__(self) -> None:
        buses = ", ".join(driver_names())
        parameters = {
            "bus": ("", f"Kind of bus: {buses}, or a driver of your own, package.module:Class."),
            "address": ("", "Where the bus is, such as a network interface or an IP address."),
            "options": ("{}", "Settings of this kind of bus by name, in JSON."),
        }
        super().__init__("fieldbus", "", "", parameters, {}, _place)


def _place(chosen: Mapping[str, Any]) -> BusPlace:
    return BusPlace(chosen["bus"], chosen["address"], _read_options(chosen["options"]))


def _read_options(text: str) -> dict[str, Any]:
    try:
        options = json.loads(text)
    except json.JSONDecodeError as error:
        raise refused("options", text, f"must be a JSON object: {error}") from error
    if not isinstance(options, dict):
        raise refused("options", text, "must be a JSON object")
    return options


def main() -> None:
    """Run the node."""
    run(FieldbusNode)
