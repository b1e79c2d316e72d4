"""EtherCAT drives as a node: joint states out, commands in, as ros2_control does.

The bus is a process of its own.
Topics, services and parameters: docs/ethercat.md.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
from rclpy.node import Node
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

from ...core.errors import ConfigError, RobotControlError
from ...core.types import Command, CommandMode
from ...fieldbus.ethercat.drive_cycle import check_command
from ...fieldbus.ethercat.supervisor import Action
from ...fieldbus.ethercat.topology import load_topology
from ...fieldbus.process.client import BusClient, BusSettings
from ...fieldbus.process.protocol import BusStatus
from ...robot.configuration import load_robot, robot_names
from ...ros.entities import Entities, full_name
from ...ros.messages import fill_joint_state, read_joint_command
from ...ros.periodic import Periodic
from ...ros.refusals import KEY
from ...ros.ros_params import declare
from ...ros.running import run

NO_STATUS = 0.5  # s without a cycle after which the bus's process is looked at
PUMP_LIMIT = 2.0  # s that a look for a cycle may take
DIAGNOSTICS_PERIOD = 1.0  # s
LOG_PERIOD = 0.1  # s
REQUESTS = ("enable", "disable", "quick_stop", "reset_fault")

_PARAMETERS = {
    "robot": ("ur5", "Robot: a name ({robots}) or the path of a YAML file."),
    "profile": ("ethercat", "HardwareProfile of the robot's file."),
    "interface": ("", "Network interface that the bus is on."),
    "topology": (
        "",
        "Which drive is where: a name, or the path of a YAML file; empty takes the robot's name.",
    ),
    "in_process": (False, "Let a controller's law run in the bus's process."),
}
_NUMBERS = {
    "realtime_priority": (40.0, 0.0, 98.0, "SCHED_FIFO priority of the bus's process; 0 for none."),
    "cpu_affinity": (-1.0, -1.0, 1023.0, "Processor that the bus's process stays on; -1 for any."),
    "command_timeout": (
        0.04,
        0.002,
        1.0,
        "Age of the last command at which the drives are stopped [s].",
    ),
    "bad_cycles": (
        3.0,
        1.0,
        100.0,
        "Cycles in a row without a good answer after which the drives are stopped.",
    ),
    "frame_timeout": (0.0, 0.0, 1.0, "Longest wait for a frame [s]; 0 for half a cycle."),
    "watchdog": (
        0.0,
        0.0,
        6.0,
        "Time after which slaves without frames stop by themselves [s]; 0 for the topology's.",
    ),
    "rate": (0.0, 0.0, 4000.0, "Joint states per second, at most [Hz]; 0 for one per cycle."),
}


class EthercatNode(Node):
    """Starts the process of the bus, and passes messages between it and ROS.

    Attributes:
        failed: True where the bus's process has ended; this one then ends with exit status 1.
    """

    def __init__(self) -> None:
        super().__init__("ethercat")
        self.failed = False
        self._closing = False
        chosen = declare(self, _PARAMETERS, _NUMBERS, {"robots": ", ".join(robot_names())})
        self._robot = load_robot(chosen["robot"], chosen["profile"])
        self._interface = chosen["interface"]
        if not self._interface:
            raise ConfigError(
                "interface is empty: must be the network interface that the bus is on, such as eth1"
            )
        topology = chosen["topology"] or self._robot.name
        period = load_topology(topology).cycle
        self._every = max(1, round(1.0 / (period * chosen["rate"]))) if chosen["rate"] else 1
        settings = BusSettings(
            interface=self._interface,
            topology=topology,
            robot=chosen["robot"],
            profile=chosen["profile"],
            priority=round(chosen["realtime_priority"]),
            processor=round(chosen["cpu_affinity"]),
            command_timeout=chosen["command_timeout"],
            bad_cycles=round(chosen["bad_cycles"]),
            frame_timeout=chosen["frame_timeout"],
            in_process=chosen["in_process"],
            watchdog=chosen["watchdog"],
        )
        self._client = BusClient(settings)
        try:
            self._client.wait_until_ready()
        except RobotControlError:
            self._client.close()
            raise
        self._message = ""
        self._logged_until = 0.0
        self._refusal = ""
        self._in_process = False
        self._entities = Entities(self)
        self._make_entities()
        for warning in self._client.report().get("warnings", ()):
            self.get_logger().warning(warning)
        self._joint_state = JointState(name=list(self._robot.joints))
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

    def _make_entities(self) -> None:
        entities = self._entities
        robot = self._robot
        self._joint_states = entities.publisher(JointState, "joint_states")
        self._diagnostics = entities.publisher(DiagnosticArray, "/diagnostics", 10)
        for mode in CommandMode:
            topic = f"{robot.profile.controllers[mode]}/commands"
            entities.subscription(Float64MultiArray, topic, self._forward_callback(mode))
        entities.subscription(
            JointState, robot.profile.joint_commands or "joint_commands", self._on_joint_command
        )
        for name in REQUESTS:
            entities.trigger(f"~/{name}", partial(self._client.request, name))
        entities.timer(DIAGNOSTICS_PERIOD, self._publish_diagnostics)
        entities.timer(LOG_PERIOD, self._log)

    # --- joint states ---

    def _pump(self) -> float:
        """Wait for a cycle, and publish its joint state if it is due; returns a pause [s].

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
            state = status.state
            fill_joint_state(self._joint_state, state.time, state.q, state.v, state.effort)
            self._joint_states.publish(self._joint_state)
        return 0.0

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

    # --- services and diagnostics ---

    def _publish_diagnostics(self) -> None:
        report = self._client.report()
        status = self._client.status()
        if status is None or "drives" not in report:
            return
        array = DiagnosticArray(
            status=[self._bus_status(report, status), *self._drive_statuses(report, status)]
        )
        array.header.stamp = self.get_clock().now().to_msg()
        self._diagnostics.publish(array)

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

    def _bus_status(self, report: dict[str, Any], status: BusStatus) -> DiagnosticStatus:
        level = DiagnosticStatus.OK if status.action is Action.RUN else DiagnosticStatus.WARN
        values = {
            "working counter": f"{status.working_counter} of {report['expected']}",
            "cycles": status.cycle,
            "lost frames": status.lost_frames,
            "wrong working counters": status.bad_counters,
            "late frames": status.late_frames,
            "cycles left out": status.overruns,
            "on time [%]": f"{100.0 * self._client.timing.on_time:.3f}",
            "commanded by": "a loop in the bus's process" if status.in_process else "topics",
            "last refusal": self._refusal,
            KEY: self._entities.refusals.text,
        }
        for name, (p50, p99) in self._client.timing.by_column().items():
            values[f"{name} p50 [us]"] = f"{p50 * 1e6:.0f}"
            values[f"{name} p99 [us]"] = f"{p99 * 1e6:.0f}"
        return self._status(
            "bus", DiagnosticStatus.ERROR if report["stopped"] else level, report["message"], values
        )

    def _drive_statuses(self, report: dict[str, Any], status: BusStatus) -> list[DiagnosticStatus]:
        found = []
        for i, drive in enumerate(report["drives"]):
            problem = drive["failure"] or drive["error"]
            level = DiagnosticStatus.ERROR if problem else DiagnosticStatus.OK
            values = {
                "state": drive["state"],
                "status word": f"0x{status.status_words[i]:04X}",
                "error code": drive["error"] or "none",
                "mode of operation": status.modes[i],
                "waits for": drive["waits_for"],
                "position [rad]": f"{status.state.q[i]:.5f}",
                "following error [rad]": f"{status.following_error[i]:.5f}",
            }
            found.append(self._status(drive["joint"], level, problem or drive["state"], values))
        return found

    def _status(
        self, name: str, level: bytes, message: str, values: dict[str, Any]
    ) -> DiagnosticStatus:
        status = DiagnosticStatus(level=level, name=f"{full_name(self)}: {name}", message=message)
        status.hardware_id = self._interface
        status.values = [KeyValue(key=key, value=str(value)) for key, value in values.items()]
        return status


def main() -> None:
    """Run the node."""
    run(EthercatNode)
