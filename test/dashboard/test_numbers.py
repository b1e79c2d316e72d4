"""Numbers on the page: their units, what is copied, and goals that are typed."""

import re
from dataclasses import replace

import numpy as np
import pytest
from dashboard_support import HOME, ROBOT, children, text, until

from robot_control_ros.core.errors import ConfigError
from robot_control_ros.core.spatial import make_pose, rotation_from_rpy, rotation_to_rpy
from robot_control_ros.dashboard.link import DrawnObject, Health
from robot_control_ros.dashboard.numbers.readings import Readings
from robot_control_ros.dashboard.numbers.units import Units, read_row, write_row
from robot_control_ros.robot.model import RobotModel

POSE = make_pose(np.array([0.4, -0.1, 0.3]), rotation_from_rpy(0.1, -0.2, 0.3))
RADIANS = ("rad",) * 6


@pytest.fixture
def model():
    return RobotModel.of(ROBOT)


# --- units ---


@pytest.mark.parametrize("length", ["m", "mm"])
@pytest.mark.parametrize("angle", ["rad", "deg"])
@pytest.mark.parametrize("quaternion", [False, True])
def test_a_pose_is_the_same_after_it_was_written_and_read(length, angle, quaternion):
    units = Units(length, angle, quaternion)
    row = read_row("goal", write_row(units.row(POSE)), (6, 7))
    assert row.size == (7 if quaternion else 6)
    np.testing.assert_allclose(units.pose(row), POSE, atol=1e-5)


def test_millimetres_and_degrees():
    np.testing.assert_allclose(
        Units("mm", "deg").row(POSE), [400.0, -100.0, 300.0, *np.degrees([0.1, -0.2, 0.3])]
    )
    assert [Units("mm", "deg").unit(si) for si in ("m", "m/s", "rad/s", "N")] == [
        "mm",
        "mm/s",
        "deg/s",
        "N",
    ]


def test_roll_pitch_yaw_are_those_of_the_rotation(rng):
    for rpy in rng.uniform(-1.5, 1.5, (20, 3)):
        np.testing.assert_allclose(rotation_to_rpy(rotation_from_rpy(*rpy)), rpy, atol=1e-9)


@pytest.mark.parametrize("typed", ["1, 2, 3", "[1.0 2.0 3.0]", "(1;2;3)", " 1,2,\t3 "])
def test_a_line_of_numbers_may_be_pasted_from_anywhere(typed):
    np.testing.assert_array_equal(read_row("goal", typed, (3,)), [1.0, 2.0, 3.0])


@pytest.mark.parametrize("typed", ["", "1, 2", "1, 2, 3, 4", "1, 2, x", "1, 2, nan", "1, 2, 1e999"])
def test_what_is_no_row_of_numbers_is_refused(typed):
    with pytest.raises(ConfigError) as refused:
        read_row("goal", typed, (3,))
    assert (refused.value.name, refused.value.value, refused.value.bound) == ("goal", typed, (3,))


# --- readings ---


def test_joint_angles_stand_beside_their_limits(link, model):
    found = Readings.of(link.now, model, RADIANS, Units(angle="deg"), fresh=True)
    np.testing.assert_allclose(found.angles, np.degrees(ROBOT.home))
    np.testing.assert_allclose(found.upper, np.degrees(model.limits.upper))
    np.testing.assert_allclose(found.pose[:3], HOME[:3, 3], atol=1e-9)


def test_what_the_controller_no_longer_sends_is_not_shown(link, model):
    link.come(velocity=np.ones(6), effort=np.ones(6), twist=np.ones(6))
    link.now = replace(link.now, wrench=np.ones(6))
    assert Readings.of(link.now, model, RADIANS, Units("mm"), fresh=True).twist[0] == 1000.0
    old = Readings.of(link.now, model, RADIANS, Units("mm"), fresh=False)
    assert (old.speeds, old.torques, old.twist, old.wrench) == (None, None, None, None)
    assert old.lines()["Wrench"] == ""


# --- on the page ---


def copied(page, name):
    """What the browser copies."""
    contents = " ".join(child.content for child in children(page) if hasattr(child, "content"))
    found = re.search(rf'id="copy-{name}" hidden>\[([^]]*)\]', contents)
    return None if found is None else np.array([float(number) for number in found[1].split(", ")])


def test_the_line_to_copy_has_the_chosen_units(browser, page, link):
    until(lambda: copied(page, "pose") is not None, "the pose")
    np.testing.assert_allclose(copied(page, "pose")[:3], HOME[:3, 3], atol=1e-6)
    browser.set("Length", "mm")
    until(
        lambda: np.allclose(copied(page, "pose")[:3], 1e3 * HOME[:3, 3], atol=1e-3), "millimetres"
    )
    browser.set("Angle", "deg")
    until(lambda: np.allclose(copied(page, "joints"), np.degrees(ROBOT.home), atol=1e-4), "degrees")
    browser.set("Orientation", "quaternion")
    until(lambda: copied(page, "pose").size == 7, "a quaternion")


def test_a_typed_pose_is_sent_in_the_base(browser, link):
    browser.set("Length", "mm")
    browser.set("Pose goal", "400, -100, 300, 0.1, -0.2, 0.3")
    browser.set("Go to", "Pose")
    until(lambda: link.targets, "the target")
    np.testing.assert_allclose(link.targets[-1], POSE, atol=1e-9)


def test_typed_joint_angles_are_sent_in_radians(browser, link):
    browser.set("Angle", "deg")
    browser.set("Joint goal", "[0, -90, 90, -90, -90, 10]")
    browser.set("Go to", "Joints")
    until(lambda: link.joint_targets, "the target")
    np.testing.assert_allclose(link.joint_targets[-1], np.radians([0, -90, 90, -90, -90, 10]))


def test_the_present_numbers_are_a_goal_that_changes_nothing(browser, page, link):
    until(lambda: copied(page, "pose") is not None, "the numbers")
    browser.set("Goals", "Fill in present")
    until(lambda: browser.handle("Joint goal").value, "the lines")
    browser.set("Go to", "Joints")
    browser.set("Go to", "Pose")
    until(lambda: link.targets, "the targets")
    np.testing.assert_allclose(link.joint_targets[-1], ROBOT.home, atol=1e-6)
    np.testing.assert_allclose(link.targets[-1], HOME, atol=1e-5)


def test_numbers_that_cant_be_a_goal_are_refused_and_not_sent(browser, page, link):
    browser.set("Joint goal", "1, 2")
    browser.set("Go to", "Joints")
    until(lambda: "refused: joint goal = '1, 2'" in text(page), "the refusal")
    browser.set("Pose goal", "0, 0, 0, 0, 0, 0, 0")
    browser.set("Go to", "Pose")
    until(lambda: "length of quaternion" in text(page), "the refusal")
    assert link.targets + link.joint_targets == []


def test_a_pose_that_the_arm_does_not_reach_is_refused_and_not_sent(browser, page, link):
    browser.set("Pose goal", "1.2, 0, 0.3, 0, 0, 0")
    browser.set("Go to", "Pose")
    until(lambda: "refused: pose goal = [1.2, 0.0, 0.3] m" in text(page), "the refusal")
    assert link.targets == []


def test_the_controllers_refusal_of_a_goal_is_shown(browser, page, link):
    link.state = Health(
        answers=True, lifecycle="active", diagnosis={"refusals": "3", "last refusal": "an old one"}
    )
    browser.set("Joint goal", "9, 9, 9, 9, 9, 9")
    browser.set("Go to", "Joints")
    until(lambda: link.joint_targets, "the goal")
    assert "an old one" not in text(page)
    link.state = replace(
        link.state, diagnosis={"refusals": "4", "last refusal": "shoulder_pan_joint = 9 rad: no"}
    )
    until(lambda: "refused: shoulder_pan_joint = 9 rad: no" in text(page), "the refusal")


def test_no_goal_goes_to_a_controller_that_isnt_active(browser, page, link):
    link.state = Health(answers=True, lifecycle="inactive")
    browser.set("Joint goal", "0, 0, 0, 0, 0, 0")
    browser.set("Go to", "Joints")
    until(lambda: "refused: controller inactive" in text(page), "the refusal")
    assert link.joint_targets == []


# --- the picture and the title ---


def node(page, name):
    return page.server.scene._handle_from_node_name.get(name)


def test_the_axes_of_base_and_tip_are_named_and_can_be_hidden(browser, page, link):
    assert node(page, "/axes_base/name").text == f"base: {ROBOT.base}"
    assert node(page, "/axes_tip/name").text == f"tip: {ROBOT.tip}"
    until(lambda: np.allclose(node(page, "/axes_tip").position, HOME[:3, 3], atol=1e-6), "the tip")
    browser.set("Base and tip axes", False)
    until(lambda: not node(page, "/axes_tip").visible, "none")


def test_the_tab_bears_the_robot_and_the_law(page, link):
    def titled(law):
        return any(
            f"{ROBOT.name}: {law}" in child.content
            for child in children(page)
            if hasattr(child, "content")
        )

    until(lambda: titled("impedance"), "the law")
    link.running = "joint_pid"
    until(lambda: titled("joint_pid"), "the other law")


def test_one_handle_at_a_time_is_shown(browser, page, link):
    ball = DrawnObject(
        "ball", "sphere", np.full(3, 0.05), HOME, (1.0, 0.0, 0.0), ROBOT.base, led=True
    )
    link.now = replace(link.now, objects=(ball,))
    until(
        lambda: node(page, "/lead/ball") and not node(page, "/lead/ball").visible,
        "the ball without its handle",
    )
    assert node(page, "/target").visible
    browser.set("Drag", "ball")
    until(
        lambda: node(page, "/lead/ball").visible and not node(page, "/target").visible,
        "the ball's handle",
    )
    link.now = replace(link.now, objects=())
    until(lambda: node(page, "/target").visible, "the tip's handle again")


def test_a_large_object_does_not_hide_the_arm(page, link):
    wall = DrawnObject("wall", "box", np.array([0.05, 1.6, 1.2]), HOME, (0.5, 0.5, 0.5), ROBOT.base)
    block = DrawnObject("block", "box", np.full(3, 0.08), HOME, (0.5, 0.5, 0.5), ROBOT.base)
    link.now = replace(link.now, objects=(wall, block))
    until(lambda: node(page, "/objects/block"), "both")
    assert node(page, "/objects/wall").opacity < 0.5
    assert node(page, "/objects/block").opacity is None


def test_the_scale_of_the_arrows_is_chosen(browser, page, link):
    link.now = replace(link.now, wrench=np.array([0.0, 0.0, -10.0, 0.0, 0.0, 0.0]))

    def length():
        start, end = node(page, "/wrench").points[0]
        return np.linalg.norm(end - start)

    until(lambda: length() == pytest.approx(page.reach / 12.0, rel=1e-3), "a sixth of the longest")
    browser.set("Longest arrow [N]", "20")
    until(lambda: length() == pytest.approx(page.reach / 4.0, rel=1e-3), "half of the longest")
