"""Nodes in processes of their own: what Linux shows of them, and their end by real signals."""

import os
import signal
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="needs ROS 2 (rclpy)")

from ros_support import Child, Controller, FakeRobot, Inbox, ended_cleanly, real_time_policy
from sensor_msgs.msg import JointState

from robot_control_ros.robot.configuration import load_robot
from robot_control_ros.robot.model import RobotModel

pytestmark = pytest.mark.ros

RANGE = "ROS_AUTOMATIC_DISCOVERY_RANGE"
ROBOT = load_robot("ur5")


def gravity(q):
    return RobotModel.of(ROBOT).at(q).gravity


def controlled(ros, **parameters):
    """A controller that holds a robot."""
    controller, robot = Controller(ros, state_timeout=10.0, **parameters), FakeRobot(ros, ROBOT)
    robot.begin(gravity)
    return controller, robot


def test_all_threads_of_a_controller_have_real_time_priority_where_that_is_permitted(ros):
    controller, _ = controlled(ros, realtime_priority=-1)
    assert controller.child.scheduling() == {real_time_policy()}
    assert "isn't permitted" not in controller.child.err


@pytest.mark.parametrize(
    ("priority", "words"), [(0, ""), (100, "realtime_priority = 100 isn't permitted")]
)
def test_without_real_time_priority_a_controller_runs_all_the_same(ros, priority, words):
    controller, _ = controlled(ros, realtime_priority=priority)
    assert controller.child.scheduling() == {os.SCHED_OTHER}
    assert words in controller.child.err


@pytest.mark.sim
def test_a_simulator_takes_no_real_time_priority_by_itself(ros):
    """With some it could take a processor from all others."""
    child = ros.start("simulator")
    states = ros.subscribe(JointState, "joint_states")
    ros.until(lambda: len(states), "joint states")
    assert child.scheduling() == {os.SCHED_OTHER}


@pytest.mark.parametrize(
    "signals", [(signal.SIGTERM,), (signal.SIGINT, signal.SIGTERM)], ids=["SIGTERM", "both"]
)
def test_a_controller_that_gets_signals_leaves_the_robot_safe(ros, signals):
    controller, robot = controlled(ros)
    assert controller.child.end(*signals) == 0
    assert ended_cleanly(controller.child)
    held = gravity(robot.q)
    ros.until(
        lambda: np.abs(np.array(robot.commands.last.data) - held).max() < 1e-6, "the safe output"
    )


def shared_memory(child: Child) -> list[str]:
    """The lines of its memory map that are Fast DDS's shared memory."""
    lines = Path(f"/proc/{child.process.pid}/maps").read_text().splitlines()
    return [line for line in lines if "/dev/shm/fastdds" in line or "/dev/shm/fastrtps" in line]


def heard(ros) -> Inbox:
    states = ros.subscribe(JointState, "joint_states")
    ros.until(lambda: len(states) > 100, "joint states of the simulator")
    return states


@pytest.mark.sim
@pytest.mark.parametrize("usual", [False, True], ids=["as the tests", "as a user on one machine"])
def test_a_node_maps_no_shared_memory(ros, usual):
    pytest.importorskip("mujoco", reason="the simulator needs MuJoCo")
    if usual:
        fast_dds = [name for name in ros.environment if name.startswith("FAST")]
        for name in fast_dds:
            del ros.environment[name]
        ros.environment[RANGE] = "LOCALHOST"
    simulator = ros.start("simulator")
    heard(ros)
    assert shared_memory(simulator) == []
