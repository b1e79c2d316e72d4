"""The node of any bus: a wrench that the bus measures, a law in its process, and parameters that
can't be.
"""

import time

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="needs ROS 2 (rclpy)")

from diagnostic_msgs.msg import DiagnosticArray
from geometry_msgs.msg import WrenchStamped
from lockstep import SteppedPeriodic
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

from robot_control_ros.core.types import CommandMode, RobotState, Wrench
from robot_control_ros.fieldbus.process.pacing import TIMING_BYTES, Timing
from robot_control_ros.fieldbus.process.protocol import BusStatus
from robot_control_ros.fieldbus.supervisor import Action
from robot_control_ros.nodes.fieldbus import node as bus_node
from robot_control_ros.robot.configuration import load_robot

pytestmark = pytest.mark.ros
ROBOT = load_robot("ur5", "sim")
PERIOD = 0.002  # s
GIVEN = {
    "robot": "ur5",
    "profile": "sim",
    "bus": "module:Class",
    "address": "127.0.0.1:5000",
    "options": '{"baud": 1000000}',
}


class Bus:
    """What the node has of a bus that measures the wrench: a cycle each 2 ms."""

    in_process = False
    wrench = Wrench(np.array([1.0, 2.0, 3.0]), np.array([4.0, 5.0, 6.0]), "tool0")

    def __init__(self, settings):
        Bus.newest = self
        self.settings = settings
        self.timing = Timing(memoryview(bytearray(TIMING_BYTES)))
        self.commands = []
        self.requests = []
        self.cycle = 0

    def wait_until_ready(self):
        return self.report()

    def check(self):
        pass

    def close(self):
        pass

    def wait(self, timeout):
        self.cycle += 1
        return self.status()

    def status(self):
        n = ROBOT.n
        parts = (np.array(ROBOT.home), np.zeros(n), np.zeros(n), Bus.wrench)
        state = RobotState(time.time(), *parts)
        counters = {"lost packets": 3, "success rate": 0.75}
        return BusStatus(state, self.cycle, True, Action.RUN, Bus.in_process, 2, counters)

    def report(self):
        drive = {"state": "on", "error": "", "failure": "", "values": {"temperature [°C]": 41.0}}
        return {
            "period": PERIOD,
            "measures_wrench": True,
            "warnings": [],
            "events": [],
            "message": "runs",
            "stopped": False,
            "drives": [{**drive, "joint": joint} for joint in ROBOT.joints],
            "facts": {"firmware": "5.9.1"},
        }

    def command(self, command):
        self.commands.append(command)

    def request(self, name, **arguments):
        self.requests.append(name)
        return f"{name} is done"


class Cycles(SteppedPeriodic):
    """The thread that waits for a cycle: each of its steps takes one."""

    def __init__(self, step, name, limit=0.0):
        super().__init__(lambda: max(step(), PERIOD), name, limit)


@pytest.fixture
def start(ros, monkeypatch):
    """A function that starts the node with parameters."""
    monkeypatch.setattr(bus_node, "BusClient", Bus)
    monkeypatch.setattr(bus_node, "Periodic", Cycles)
    monkeypatch.setattr(Bus, "in_process", False)
    return lambda **given: ros.start("fieldbus", {**GIVEN, **given})


def test_parameters_become_the_settings_of_the_process(ros, start):
    start(bad_cycles=5, in_process=True, command_timeout=0.1)
    settings = Bus.newest.settings
    assert (settings.bus, settings.address) == ("module:Class", "127.0.0.1:5000")
    assert settings.options == {"baud": 1000000}
    assert (settings.bad_cycles, settings.in_process) == (5, True)
    assert settings.command_timeout == 0.1


def test_the_wrench_is_published_with_the_stamp_of_its_joint_state(ros, start):
    states = ros.subscribe(JointState, "/joint_states")
    wrenches = ros.subscribe(WrenchStamped, "/force_torque_sensor_broadcaster/wrench")
    start()
    ros.until(lambda: len(states) > 5 and len(wrenches) > 5, "states and wrenches")
    message = wrenches.last
    assert message.header.frame_id == "tool0"
    force = message.wrench.force
    torque = message.wrench.torque
    assert [force.x, force.y, force.z] == [1.0, 2.0, 3.0]
    assert [torque.x, torque.y, torque.z] == [4.0, 5.0, 6.0]
    stamps = {(each.header.stamp.sec, each.header.stamp.nanosec) for each in states.messages}
    assert (message.header.stamp.sec, message.header.stamp.nanosec) in stamps


def test_a_sample_without_a_wrench_publishes_none(ros, start, monkeypatch):
    monkeypatch.setattr(Bus, "wrench", None)
    states = ros.subscribe(JointState, "/joint_states")
    wrenches = ros.subscribe(WrenchStamped, "/force_torque_sensor_broadcaster/wrench")
    start()
    ros.until(lambda: len(states) > 5, "joint states")
    assert len(wrenches) == 0


def test_diagnostics_have_the_counters_and_facts_of_the_bus_and_the_values_of_its_drives(
    ros, start
):
    diagnostics = ros.subscribe(DiagnosticArray, "/diagnostics")
    start()
    ros.until(lambda: len(diagnostics) > 0, "diagnostics")
    bus, *drives = diagnostics.last.status
    assert (bus.name, bus.hardware_id, bus.level) == ("fieldbus: bus", "127.0.0.1:5000", b"\0")
    values = {item.key: item.value for item in bus.values}
    assert values["lost packets"] == "3"
    assert values["success rate"] == "0.75000"
    assert values["firmware"] == "5.9.1"
    assert values["cycles left out"] == "2"
    assert [drive.name for drive in drives] == [f"fieldbus: {joint}" for joint in ROBOT.joints]
    assert {item.key: item.value for item in drives[0].values}["temperature [°C]"] == "41.00000"


def test_each_request_is_a_service(ros, start):
    start()
    for name in ("enable", "disable", "quick_stop", "reset_fault"):
        answer = ros.trigger(f"/fieldbus/{name}")
        assert (answer.success, answer.message) == (True, f"{name} is done")
    assert Bus.newest.requests == ["enable", "disable", "quick_stop", "reset_fault"]


def test_while_a_law_runs_in_the_process_commands_of_topics_are_left_alone(ros, start, monkeypatch):
    states = ros.subscribe(JointState, "/joint_states")
    publisher = ros.publisher(
        Float64MultiArray, f"/{ROBOT.profile.controllers[CommandMode.EFFORT]}/commands"
    )
    start()
    ros.until(lambda: len(states) > 5, "joint states")
    publisher.publish(Float64MultiArray(data=[0.1] * ROBOT.n))
    ros.until(lambda: len(Bus.newest.commands) == 1, "a command")
    monkeypatch.setattr(Bus, "in_process", True)
    before = len(states)
    ros.until(lambda: len(states) > before + 5, "later joint states")
    publisher.publish(Float64MultiArray(data=[0.2] * ROBOT.n))
    ros.wait(0.1)
    assert len(Bus.newest.commands) == 1


@pytest.mark.parametrize("rate", [100.0, 250.0])
def test_joint_states_come_at_the_chosen_rate(ros, start, rate):
    states = ros.subscribe(JointState, "/joint_states")
    start(rate=rate)
    ros.until(lambda: len(states) > 2, "joint states")
    before = len(states)
    ros.wait(1.0)
    assert len(states) - before == pytest.approx(rate, abs=2)


@pytest.mark.parametrize(
    "given",
    [{"options": "baud: 5"}, {"options": "[1, 2]"}, {"profile": "none"}, {"robot": "no_robot"}],
)
def test_parameters_that_can_t_be_are_refused(ros, start, given):
    child = start(**given)
    assert child.process.poll() == 1
    assert next(iter(given)) in child.err
