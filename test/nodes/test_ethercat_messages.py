"""Damaged and foreign messages on each topic of the EtherCAT node: none ends it, and no bad
command reaches the bus.
"""

import math
import time
from random import Random

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="needs ROS 2 (rclpy)")

from damage import damaged
from diagnostic_msgs.msg import DiagnosticArray
from documented_topics import differences
from lockstep import SteppedPeriodic
from rclpy.serialization import serialize_message
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

from robot_control_ros.core.types import CommandMode, RobotState
from robot_control_ros.fieldbus.process.pacing import TIMING_BYTES, Timing
from robot_control_ros.fieldbus.process.protocol import BusStatus
from robot_control_ros.fieldbus.supervisor import Action
from robot_control_ros.nodes.fieldbus import node as bus_node
from robot_control_ros.robot.configuration import load_robot

pytestmark = pytest.mark.ros
ROBOT = load_robot("ur5", "ethercat")
CYCLE = 0.001  # s
GARBAGE = (b"\0", b"\0\1\0\0", b"\xff" * 64, b"\0\1\0\0" + b"\xff" * 64)


class Bus:
    """What the node has of its bus: a cycle each millisecond, six drives that run, and the
    commands that came.
    """

    def __init__(self, settings):
        self.timing = Timing(memoryview(bytearray(TIMING_BYTES)))
        self.commands = []
        self.cycle = 0
        Bus.newest = self

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
        state = RobotState(time.time(), np.array(ROBOT.home), np.zeros(n), np.zeros(n))
        return BusStatus(state, self.cycle, True, Action.RUN, False, 0, {"lost frames": 0})

    def report(self):
        drive = {"failure": "", "error": "", "state": "operation enabled", "values": {"mode": 8}}
        drives = [{**drive, "joint": joint} for joint in ROBOT.joints]
        return {
            "period": CYCLE,
            "measures_wrench": False,
            "warnings": [],
            "events": [],
            "message": "runs",
            "stopped": False,
            "drives": drives,
            "facts": {},
        }

    def command(self, command):
        self.commands.append(command)

    def request(self, name, **arguments):
        return name


class Cycles(SteppedPeriodic):
    """The thread that waits for a cycle: each of its steps takes one."""

    def __init__(self, step, name, limit=0.0):
        super().__init__(lambda: max(step(), CYCLE), name, limit)


@pytest.fixture
def node(ros, monkeypatch):
    """A running EtherCAT node, and its bus."""
    monkeypatch.setattr(bus_node, "BusClient", Bus)
    monkeypatch.setattr(bus_node, "Periodic", Cycles)
    started = ros.start("ethercat", {"robot": "ur5", "interface": "none"})
    states = ros.subscribe(JointState, "/joint_states")
    ros.until(lambda: len(states) > 5, "joint states")
    return started


def test_it_has_the_topics_of_its_page_and_no_others(ros, node):
    assert differences(ros, ["ethercat"]) == []


def send_damaged(ros, count, random):
    """Damaged copies of good commands, to all subscriptions of the node."""
    good = {
        Float64MultiArray: Float64MultiArray(data=[0.1] * ROBOT.n),
        JointState: JointState(name=list(ROBOT.joints), position=[0.1] * ROBOT.n),
    }
    readers = [
        each
        for name, found in ros.graph.subscriptions.items()
        for each in found
        if "command" in name
    ]
    assert len(readers) >= len(CommandMode)
    for number in range(count):
        reader = random.choice(readers)
        data = bytes(serialize_message(good[reader.kind]))
        reader.receive(
            random.choice(GARBAGE) if number % 10 == 0 else damaged(data, random), ros.graph.now
        )
        if number % 10 == 9:
            ros.wait(0.01)


@pytest.mark.parametrize("count", [600, pytest.param(100_000, marks=pytest.mark.long)])
def test_damaged_commands_are_counted_and_none_that_is_no_command_reaches_the_bus(ros, node, count):
    diagnostics = ros.subscribe(DiagnosticArray, "/diagnostics")
    send_damaged(ros, count, Random(1))
    ros.wait(1.5)
    assert node.process.poll() is None
    assert "Traceback" not in node.err
    assert Bus.newest.commands
    for command in Bus.newest.commands:
        assert command.values.shape == (ROBOT.n,)
        assert np.isfinite(command.values).all()
    (bus,) = (status for status in diagnostics.messages[-1].status if status.name.endswith(": bus"))
    values = {item.key: item.value for item in bus.values}
    assert values["refused messages"]


@pytest.mark.parametrize(
    "data",
    [[], [0.0], [0.0] * 7, [math.nan] * 6, [math.inf] + [0.0] * 5, [1e300] * 6],
    ids=lambda data: str(data)[:20],
)
@pytest.mark.parametrize("mode", list(CommandMode))
def test_a_command_of_a_wrong_size_or_without_finite_numbers_is_refused(ros, node, mode, data):
    publisher = ros.publisher(Float64MultiArray, f"/{ROBOT.profile.controllers[mode]}/commands")
    before = len(Bus.newest.commands)
    publisher.publish(Float64MultiArray(data=data))
    ros.wait(0.05)
    assert len(Bus.newest.commands) == before
    publisher.publish(Float64MultiArray(data=[0.1] * ROBOT.n))
    ros.until(lambda: len(Bus.newest.commands) == before + 1, "the command after it")
    assert node.process.poll() is None


def test_joint_commands_that_name_a_joint_twice_or_not_at_all_are_refused(ros, node):
    publisher = ros.publisher(JointState, ROBOT.profile.joint_commands or "/joint_commands")
    names = list(ROBOT.joints)
    for wrong in ([names[0]] * 6, names[:5], [*names[:5], "other"], names + names):
        publisher.publish(JointState(name=wrong, position=[0.1] * len(wrong)))
    ros.wait(0.05)
    assert Bus.newest.commands == []
    publisher.publish(JointState(name=names, position=[0.1] * 6))
    ros.until(lambda: len(Bus.newest.commands) == 1, "the command after them")
    assert node.process.poll() is None
