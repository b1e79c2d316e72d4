"""Other arms in the picture of a page."""

from dataclasses import replace

import numpy as np
import pytest
from dashboard_support import FakeLink, until

from robot_control_ros.dashboard.link import Neighbour
from robot_control_ros.dashboard.page import Page
from robot_control_ros.dashboard.view.placing import pose_of
from robot_control_ros.robot.configuration import load_robot
from robot_control_ros.robot.model import RobotModel

RIGHT = load_robot("two_ur5e#right")


@pytest.fixture
def left(web):
    """A page of the left arm, and its link."""
    link = FakeLink()
    link.robot = load_robot("two_ur5e#left")
    link.urdf = link.robot.urdf()
    link.arm = "left"
    made = Page(link)
    yield made, link
    made.close()


def node(page, name):
    return page.server.scene._handle_from_node_name[name]


def is_drawn(page, name):
    return name in page.server.scene._handle_from_node_name and node(page, name).visible


def test_another_arm_stands_where_the_world_has_it_and_moves_with_its_name_above(left):
    page, link = left
    assert not is_drawn(page, "/own_name")
    q = np.array(RIGHT.home) + 0.2
    link.others_drawn = {"right": Neighbour(RIGHT, RIGHT.urdf(), q)}
    until(lambda: is_drawn(page, "/arms/right"), "the other arm")
    base = pose_of(node(page, "/arms/right"))
    np.testing.assert_allclose(base[:3, 3], [0.0, -0.8, 0.0], atol=1e-9)  # as the file says
    assert node(page, "/arms/right/name").text == "right"
    until(lambda: is_drawn(page, "/own_name"), "the own name")
    assert node(page, "/own_name").text.startswith("left")
    model = RobotModel.of(RIGHT)
    model.update(q, np.zeros(RIGHT.n))
    link_name = "right_forearm_link"
    drawn = pose_of(node(page, f"/arms/right/{link_name}"))
    np.testing.assert_allclose(drawn, model.frame_pose(link_name), atol=1e-6)


def test_an_arm_that_has_gone_is_hidden_and_drawn_again(left):
    page, link = left
    arm = Neighbour(RIGHT, RIGHT.urdf(), np.array(RIGHT.home))
    for _ in range(2):
        link.others_drawn = {"right": arm}
        until(lambda: is_drawn(page, "/arms/right"), "the other arm")
        link.others_drawn = {}
        until(lambda: not is_drawn(page, "/arms/right"), "none")
        until(lambda: not is_drawn(page, "/own_name"), "no name")


def test_arms_at_the_same_place_are_not_drawn_into_each_other(left):
    """As two arms that no file places: both say that they stand at the world's origin."""
    page, link = left
    link.others_drawn = {"other": Neighbour(link.robot, link.urdf, np.array(link.robot.home))}
    until(lambda: "/arms/other" in page.server.scene._handle_from_node_name, "its nodes")
    assert not is_drawn(page, "/arms/other")


def test_an_arm_that_cannot_be_read_disturbs_nobody(left):
    page, link = left
    link.others_drawn = {"broken": Neighbour(RIGHT, "<robot name='none'/>", None)}
    link.state = replace(link.state, lifecycle="inactive")
    until(lambda: not node(page, "/target").visible, "a page that goes on")
    assert not is_drawn(page, "/arms/broken")
