"""Guarded moves and the speed of moves, as a script types them."""

import numpy as np
import pytest

pytest.importorskip("mujoco", reason="the simulator needs MuJoCo")

from robot_control_ros import Robot
from robot_control_ros.client.robot import GUARD_ENDS
from robot_control_ros.core.errors import ConfigError, HardwareFault, NotReached
from robot_control_ros.sensing.contact_detector import GUARD

pytestmark = pytest.mark.sim
DOWN = (0.0, 0.0, -1.0)
GUARDED = ("contact.guard_force", "contact.guard_reaction", "limits.speed")


def settings(robot):
    return [robot.settings[name] for name in GUARDED]


@pytest.fixture
def robot():
    """A UR5 whose tip is 3 cm above a table."""
    with Robot.simulated("ur5", scene="table") as made:
        made.move_to((0.5, 0.0, 0.33))
        yield made


@pytest.fixture(scope="module")
def standing():
    """A UR5 that stands still: for calls that are refused, which leave it as it is."""
    with Robot.simulated("ur5") as made:
        yield made


def test_the_move_ends_at_the_table_and_the_arm_takes_the_next_target(robot):
    before = settings(robot)
    contact = robot.move_until(force=5.0, direction=DOWN)
    assert contact.detector == GUARD
    assert contact.size >= contact.limit == 5.0
    assert robot.fault == ""
    assert settings(robot) == before
    height = robot.pose[2, 3]
    robot.wait(0.5)
    assert robot.pose[2, 3] == pytest.approx(height, abs=1e-3)
    robot.move_to((0.5, 0.0, 0.35))


def test_a_contact_that_was_found_before_the_force_does_not_hide_the_guard(robot):
    """A threshold below the guard's limit, which only reports."""
    robot.set_gains({"contact.collision_force": 1.0, "contact.clamping_force": 1.0})
    robot.move_to((0.5, 0.0, 0.31))
    contact = robot.move_until(force=30.0, direction=DOWN, speed=0.005)
    assert contact.detector == GUARD
    assert contact.size >= 30.0
    assert robot.fault == ""


def test_a_retreat_leaves_the_table(robot):
    assert robot.move_until(force=5.0, direction=DOWN, end="retreat") is not None
    robot.wait(0.5)
    assert np.abs(robot.wrench[:3]).max() < 2.0


def test_an_arm_that_goes_on_gets_to_its_goal_and_returns_the_contact(robot):
    goal = robot.state.reference_pose[:3, 3] + 0.035 * np.array(DOWN)
    contact = robot.move_until(goal, force=2.0, end="go on")
    assert contact.detector == GUARD
    assert robot.state.reference_pose[:3, 3] == pytest.approx(goal, abs=1e-4)


def test_nothing_met_is_none_and_the_tip_is_at_its_goal(robot):
    begin = robot.pose[:3, 3]
    up = -np.array(DOWN)
    assert robot.move_until(force=5.0, direction=up, distance=0.03, speed=0.1) is None
    assert robot.pose[:3, 3] == pytest.approx(begin + 0.03 * up, abs=2e-3)


def test_without_a_direction_it_goes_along_the_tips_z_axis():
    with Robot.simulated("ur5") as robot:
        begin = robot.pose
        robot.move_until(force=5.0, distance=0.02, speed=0.1)
        assert robot.pose[:3, 3] == pytest.approx(begin[:3, 3] + 0.02 * begin[:3, 2], abs=2e-3)


def test_another_reaction_to_the_contact_is_not_cleared(robot):
    """The user's own detection ends the move first, with the user's own reaction."""
    robot.set_gains({"contact.collision_force": 2.0, "contact.reaction": "hold"})
    with pytest.raises(HardwareFault):
        robot.move_until(force=500.0, direction=DOWN)
    assert robot.fault
    robot.clear_contact()


def test_a_move_keeps_its_speed_and_the_next_one_is_as_fast_as_before(robot):
    before = settings(robot)
    begin = robot.time
    robot.move_to((0.5, 0.0, 0.43), speed=0.05)
    slow = robot.time - begin
    assert slow > 0.1 / 0.05
    assert settings(robot) == before
    robot.move_to((0.5, 0.0, 0.33))
    assert robot.time - begin - slow < 0.7 * slow


def test_a_goal_that_is_refused_leaves_the_settings(standing):
    before = settings(standing)
    with pytest.raises(ConfigError):
        standing.move_to((0.5, 0.0, 0.1 * float("nan")), speed=0.05)
    assert settings(standing) == before


@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        ({"force": 0.0}, "force"),
        ({"force": -1.0}, "force"),
        ({"force": float("nan")}, "force"),
        ({"force": 5.0, "speed": 0.0}, "speed"),
        ({"force": 5.0, "speed": 10.0}, "speed"),
        ({"force": 5.0, "speed": float("nan")}, "speed"),
        ({"force": 5.0, "direction": (0.0, 0.0, 0.0)}, "direction"),
        ({"force": 5.0, "direction": (0.0, 1.0)}, "direction"),
        ({"force": 5.0, "distance": float("inf")}, "distance"),
        ({"force": 5.0, "distance": -0.1}, "distance"),
        ({"force": 5.0, "end": "stop"}, "end"),
        ({"force": 5.0, "pose": (0.4, 0.0, 0.3), "direction": DOWN}, "pose, direction"),
    ],
)
def test_what_cant_be_is_refused_before_the_arm_moves(standing, arguments, name):
    begin = standing.pose
    with pytest.raises(ConfigError) as caught:
        standing.move_until(**arguments)
    assert caught.value.name == name
    assert np.array_equal(standing.pose, begin)


def test_the_choices_of_an_end_are_named(standing):
    with pytest.raises(ConfigError) as caught:
        standing.move_until(force=5.0, end="stop")
    assert set(caught.value.bound) == set(GUARD_ENDS)


def test_a_speed_of_joints_and_of_a_move_that_isnt_waited_for_is_refused(standing):
    for arguments in ({"q": standing.q}, {"pose": (0.5, 0.0, 0.4), "wait": False}):
        with pytest.raises(ConfigError) as caught:
            standing.move_to(speed=0.05, **arguments)
        assert caught.value.name == "speed"


def test_an_arm_that_measures_no_force_is_refused(standing, monkeypatch):
    monkeypatch.setattr(Robot, "wrench", np.full(6, np.nan))
    with pytest.raises(ConfigError) as caught:
        standing.move_until(force=5.0)
    assert caught.value.name == "force"


def test_a_blocked_way_without_the_force_is_not_reached(robot):
    """The table stops the arm before the limit is met: the call ends as move_to does."""
    robot.set_gains({"max_force": 20.0})
    with pytest.raises(NotReached):
        robot.move_until(force=500.0, direction=DOWN, distance=0.2)
