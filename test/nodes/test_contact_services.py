"""Contacts of the controller node, over DDS: the topic, the reaction and its clearing,
and learnt thresholds.
"""

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="needs ROS 2 (rclpy)")

from diagnostic_msgs.msg import DiagnosticStatus
from lockstep import LockstepRos
from ros_support import Controller, FakeRobot

from robot_control_ros.robot.configuration import load_robot
from robot_control_ros.robot.model import RobotModel
from robot_control_ros.sensing.contact_thresholds import LONGEST

pytestmark = pytest.mark.ros

ROBOT = load_robot("ur5")
ELBOW = np.arange(ROBOT.n) == 2


class Touched:
    """A robot at rest that something pushes, under a controller."""

    def __init__(self, ros):
        self.ros, self.model = ros, RobotModel.of(ROBOT)
        self.controller = Controller(ros, state_timeout=10.0)
        self.robot = FakeRobot(ros, ROBOT)
        self.contacts = ros.subscribe(DiagnosticStatus, "/controller/contact", latched=True)

    def begin(self):
        self.robot.q = np.array(ROBOT.home)
        self.robot.begin(lambda q: self.model.at(q).gravity)
        self.ros.trigger("/controller/clear_contact")
        self.push(0.0, 60)

    def push(self, torque, count=1, period=0.0):
        """Exchange states of an arm whose elbow is pushed with a torque [N·m]."""
        for _ in range(count):
            self.robot.time += period
            message = self.robot.message()
            message.effort = (self.model.at(self.robot.q).gravity - torque * ELBOW).tolist()
            self.robot.exchange(message)

    def last(self, *words):
        """The last message on ~/contact, once it has these words."""

        def said():
            return len(self.contacts) and all(word in self.contacts.last.message for word in words)

        self.ros.until(said, f"a contact with {words}")
        message = self.contacts.last
        return message.level, {item.key: item.value for item in message.values}


@pytest.fixture
def new_touched(tmp_path):
    with LockstepRos(tmp_path) as ros:
        yield Touched(ros)


@pytest.fixture
def touched(new_touched):
    new_touched.begin()
    return new_touched


def test_a_contact_is_told_with_link_size_time_and_detector(touched):
    level, values = touched.last("no contact")
    assert (level, values) == (DiagnosticStatus.OK, {})
    touched.push(30.0, 20)
    level, values = touched.last(
        "contact on forearm_link or beyond", "elbow_joint", "momentum observer"
    )
    assert level == DiagnosticStatus.WARN
    assert (values["link"], values["joint"], values["kind"]) == (
        "forearm_link",
        "elbow_joint",
        "collision",
    )
    assert float(values["size [N·m]"]) > float(values["limit [N·m]"]) == 7.8
    assert float(values["start [s]"]) == pytest.approx(touched.robot.time, abs=0.05)
    assert "reaction" not in values
    assert touched.ros.trigger("/controller/hold").success
    touched.push(0.0, 12, period=0.09)
    level, values = touched.last("no contact now; the last: contact on forearm_link")
    assert level == DiagnosticStatus.OK
    assert float(values["last [s]"]) > float(values["start [s]"])


def test_a_reaction_refuses_targets_until_it_is_cleared_and_diagnostics_say_so(touched):
    ros = touched.ros
    assert all(each.successful for each in ros.set("controller", contact__reaction="brake"))
    touched.push(0.0, 60)  # new settings freeze the detection
    touched.push(30.0, 20)
    assert touched.last("forearm_link")[1]["reaction"] == "brake"
    for service in ("hold", "go_home"):
        answer = ros.trigger(f"/controller/{service}")
        assert not answer.success
        assert "~/clear_contact" in answer.message

    def told():
        touched.push(0.0)
        level, message, values = (
            touched.controller.diagnosis() if touched.controller.diagnostics else (0, "", {})
        )
        return (
            level == 1
            and "clear_contact" in message
            and values.get("contact link") == "forearm_link"
        )

    ros.until(told, "the reaction in /diagnostics")
    answer = ros.trigger("/controller/clear_contact")
    assert answer.success
    assert "forearm_link" in answer.message
    touched.push(0.0, 60)
    touched.last("no contact")
    assert ros.trigger("/controller/go_home").success
    assert all(each.successful for each in ros.set("controller", contact__reaction="none"))


def test_diagnostics_say_what_a_blow_would_be_and_a_limited_arm_leaves_what_it_touches(touched):
    ros = touched.ros
    assert all(each.successful for each in ros.set("controller", contact__max_impact=65.0))

    def told():
        touched.push(0.0)
        _, _, values = (
            touched.controller.diagnosis() if touched.controller.diagnostics else (0, "", {})
        )
        return "65 N" in values.get("blow", "")

    ros.until(told, "the blow in /diagnostics")
    touched.push(0.0, 60)
    touched.push(30.0, 20)
    assert touched.last("forearm_link")[1]["reaction"] == "retreat"
    assert ros.trigger("/controller/clear_contact").success
    assert all(each.successful for each in ros.set("controller", contact__max_impact=0.0))


def test_unusable_settings_are_refused_with_the_choices(touched):
    (answer,) = touched.ros.set("controller", contact__reaction="run")
    assert not answer.successful
    assert "none, hold, brake, soft, retreat" in answer.reason
    (answer,) = touched.ros.set("controller", contact__collision_torque=[1.0, 2.0])
    assert not answer.successful


def test_learnt_thresholds_become_parameters(touched):
    ros = touched.ros
    before = ros.get("controller", "contact.collision_torque")
    assert "learning" in ros.trigger("/controller/learn_contact_thresholds").message
    answer = ros.trigger("/controller/learn_contact_thresholds")
    assert not answer.success
    assert "learning time" in answer.message
    for k in range(400):
        touched.push(0.2 * np.sin(k), period=0.09)
    answer = ros.trigger("/controller/learn_contact_thresholds")
    assert answer.success
    assert "contact.collision_torque" in answer.message
    after = ros.get("controller", "contact.collision_torque")
    assert 0.0 < after[2] < before[2]
    assert LONGEST == 600.0
