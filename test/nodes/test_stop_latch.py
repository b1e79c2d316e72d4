"""STOP of the controller stays until it is released; in lockstep."""

import pytest

pytest.importorskip("rclpy", reason="needs ROS 2 (rclpy)")
pytest.importorskip("mujoco", reason="the simulator needs MuJoCo")

from ros_support import Controller
from std_msgs.msg import Bool

pytestmark = [pytest.mark.ros, pytest.mark.sim]
RATE = 125.0  # Hz: STOP depends on none


@pytest.fixture
def controller(ros):
    """An active controller of a simulated arm."""
    ros.start("simulator", {"rate": RATE})
    made = Controller(ros, "/force_torque_sensor_broadcaster/wrench", rate=RATE, use_sim_time=True)
    ros.until(lambda: made.state == "active", "an active controller")
    return made


def test_after_stop_nobody_activates_the_controller_until_it_is_released(ros, controller):
    assert ros.trigger("/controller/stop").success
    assert controller.state == "inactive"
    for _ in range(3):
        assert not controller.change("activate")
    assert controller.state == "inactive"
    assert "/controller/release_stop" in controller.child.err
    assert ros.trigger("/controller/release_stop").success
    assert controller.state == "inactive"  # it moves nothing by itself
    controller.activate()


def test_stop_outlasts_a_clean_up(ros, controller):
    assert ros.trigger("/controller/stop").success
    assert controller.change("cleanup")
    assert controller.change("configure")
    assert not controller.change("activate")


def test_stop_before_the_first_activation_holds_a_controller_that_starts_by_itself(ros):
    made = Controller(ros, rate=RATE, use_sim_time=True)  # it waits for the simulator
    ros.until(lambda: made.state == "inactive", "a configured controller")
    assert ros.trigger("/controller/stop").success
    ros.start("simulator", {"rate": RATE})
    ros.wait(5.0)
    assert made.state == "inactive"
    assert ros.trigger("/controller/release_stop").success
    ros.wait(2.0)
    assert made.state == "inactive"  # nothing begins by itself
    made.activate()


def test_whoever_comes_later_hears_of_stop_and_of_its_end(ros, controller):
    assert ros.trigger("/controller/stop").success
    told = ros.subscribe(Bool, "/controller/stopped", latched=True)
    ros.until(lambda: len(told) and told.last.data, "STOP")
    assert ros.trigger("/controller/release_stop").success
    ros.until(lambda: not told.last.data, "its end")
