"""Nodes in processes of their own: what Linux shows of them, and their end by real signals."""

import os
import signal

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="needs ROS 2 (rclpy)")

from ros_support import Controller, FakeRobot, ended_cleanly, real_time_policy

from robot_control_ros.robot.configuration import load_robot
from robot_control_ros.robot.model import RobotModel

pytestmark = pytest.mark.ros

ROBOT = load_robot("ur5")


def gravity(q):
    return RobotModel.of(ROBOT).at(q).gravity


def controlled(ros, **parameters):
    """A controller that holds a robot."""
    controller, robot = Controller(ros, state_timeout=10.0, **parameters), FakeRobot(ros, ROBOT)
    robot.begin(gravity)
    return controller, robot


def test_all_threads_of_a_controller_have_real_time_priority_where_that_is_permitted(processes):
    controller, _ = controlled(processes, realtime_priority=-1)
    assert controller.child.scheduling() == {real_time_policy()}
    assert "isn't permitted" not in controller.child.err


@pytest.mark.parametrize(("priority", "words"), [(0, ""), (100, "realtime_priority = 100 isn't permitted")])
def test_without_real_time_priority_a_controller_runs_all_the_same(processes, priority, words):
    controller, _ = controlled(processes, realtime_priority=priority)
    assert controller.child.scheduling() == {os.SCHED_OTHER}
    assert words in controller.child.err


@pytest.mark.sim
def test_a_simulator_takes_no_real_time_priority_by_itself(processes):
    """With some it could take a processor from all others."""
    from sensor_msgs.msg import JointState

    child = processes.start("simulator")
    states = processes.subscribe(JointState, "joint_states")
    processes.until(lambda: len(states), "joint states")
    assert child.scheduling() == {os.SCHED_OTHER}


@pytest.mark.parametrize("signals", [(signal.SIGTERM,), (signal.SIGINT, signal.SIGTERM)], ids=["SIGTERM", "both"])
def test_a_controller_that_gets_signals_leaves_the_robot_safe(processes, signals):
    controller, robot = controlled(processes)
    assert controller.child.end(*signals) == 0
    assert ended_cleanly(controller.child)
    held = gravity(robot.q)
    processes.until(lambda: np.abs(np.array(robot.commands.last.data) - held).max() < 1e-6, "the safe output")
