"""What launch files wait with until the controller is active."""

import signal
import time

import pytest

pytest.importorskip("rclpy", reason="needs ROS 2 (rclpy)")

from ros_support import Controller, FakeRobot, ended_cleanly

from robot_control_ros.robot.configuration import load_robot

pytestmark = pytest.mark.ros


def asks_for(ros, service):
    """Whether the node is there, and has a client of the service."""
    if "wait_active" not in ros.node.get_node_names():
        return False
    return service in {
        name for name, _ in ros.node.get_client_names_and_types_by_node("wait_active", "/")
    }


def test_it_ends_well_when_the_controller_is_active_and_not_before(ros):
    waiting = ros.start("wait_active")
    robot = FakeRobot(ros, load_robot("ur5"))
    controller = Controller(ros, autostart=False, law="gravity_compensation")
    assert controller.change("configure")
    robot.send()
    ros.until(lambda: asks_for(ros, "/controller/get_state"), "its client")
    time_of_five_questions = time.monotonic() + 0.5
    ros.until(lambda: time.monotonic() > time_of_five_questions, "some questions")
    assert controller.state == "inactive"
    assert waiting.process.poll() is None
    controller.activate()
    ros.until(lambda: waiting.process.poll() is not None, "the end of the waiting")
    assert waiting.process.returncode == 0
    assert controller.state == "active"


def test_it_is_told_for_whom_to_wait(ros):
    waiting = ros.start("wait_active", {"node": "/somebody/else"})
    ros.until(lambda: asks_for(ros, "/somebody/else/get_state"), "its client")
    assert waiting.process.poll() is None


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_it_without_success(ros, number):
    waiting = ros.start("wait_active")
    ros.until(lambda: "wait_active" in ros.node.get_node_names(), "the node")
    assert waiting.end(number) == 1
    assert ended_cleanly(waiting)
