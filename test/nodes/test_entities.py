"""What a part of a node has created, after that part is closed."""

import time

import pytest

pytest.importorskip("rclpy", reason="needs ROS 2 (rclpy)")

from std_msgs.msg import String

from robot_control_ros.ros.entities import Entities

pytestmark = pytest.mark.ros


def add_timer(ros, entities, callback):
    entities.timer(0.001, lambda: callback())
    return lambda: None


def add_subscription(ros, entities, callback):
    entities.subscription(String, "said", lambda message: callback())
    publisher = ros.node.create_publisher(String, "said", 1)
    return lambda: publisher.publish(String())


@pytest.mark.parametrize("add", [add_timer, add_subscription])
def test_what_is_ready_when_another_callback_closes_its_part_is_not_called(ros, add):
    first, second, called = Entities(ros.node), Entities(ros.node), []

    def close(own, other):
        called.append(own)
        other.close()

    cause = [
        add(ros, first, lambda: close(first, second)),
        add(ros, second, lambda: close(second, first)),
    ][0]
    ros.until(lambda: ros.node.count_subscribers("said") in (0, 2), "both")
    cause()
    time.sleep(0.02)  # both are ready before anything spins
    ros.until(lambda: len(called) > 2, "the open part's callback again", cause)
    assert len(set(called)) == 1
