"""The page's panel of a gripper: buttons and sliders make commands, and the fingers are
drawn where they are.
"""

import math

import numpy as np
import pytest
from dashboard_support import FakeLink, until

from robot_control_ros.core.errors import ConfigError
from robot_control_ros.robot.configuration import load_robot
from robot_control_ros.robot.gripper import Grip

EQUIPPED = load_robot("ur5+robotiq_2f85")
OPEN, CLOSED = EQUIPPED.gripper.positions
PAD = 0.0253  # m, from the finger tip's frame to its pad


class FakeFingers:
    """Fingers that go where they are sent; `refused` is what they say to that."""

    config, ready, refusal = EQUIPPED.gripper, True, ""

    def __init__(self):
        self.commands, self.refused = [], ""
        self.grip = Grip(0.085, math.nan, True, False)

    def command(self, position, force):
        if self.refused:
            raise ConfigError(self.refused)
        self.commands.append((position, force))


@pytest.fixture
def link():
    made = FakeLink()
    made.robot, made.urdf, made.gripper = EQUIPPED, EQUIPPED.urdf(), FakeFingers()
    return made


def test_buttons_and_sliders_make_commands_and_the_fingers_are_drawn(browser, page, link):
    fingers = link.gripper

    def drawn():
        nodes = page.server.scene._handle_from_node_name
        left, right = (
            nodes[page.robot.node(f"robotiq_85_{side}_finger_tip_link")]
            for side in ("left", "right")
        )
        return np.linalg.norm(np.subtract(left.position, right.position)) - 2.0 * PAD

    until(lambda: drawn() == pytest.approx(0.085, abs=5e-4), "open fingers")
    assert browser.sees(b"85.0 mm, at rest")
    fingers.grip = Grip(0.05, 40.0, True, True)
    until(lambda: drawn() == pytest.approx(0.05, abs=5e-4), "fingers at 50 mm")
    assert browser.sees(b"50.0 mm, 40 N, holds something")
    browser.set("Gripper", "Close")
    until(
        lambda: fingers.commands == [(CLOSED, EQUIPPED.gripper.default_force)],
        "the command to close",
    )
    assert browser.handle("Width [mm]").value == 0.0
    browser.set("Force [N]", 100.0)
    until(lambda: browser.handle("Force [N]").value == 100.0, "another force")
    browser.set("Width [mm]", 45.0)
    until(lambda: len(fingers.commands) == 2, "the command to a width")
    assert fingers.commands[-1] == (pytest.approx(EQUIPPED.gripper.position(0.045)), 100.0)
    fingers.refused = "stiff fingers"
    browser.set("Gripper", "Open")
    assert browser.sees(b"stiff fingers")
