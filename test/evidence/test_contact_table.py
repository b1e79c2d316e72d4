"""``python -m evidence contact``: it prints each row, and its exit status is 1 where one fails."""

import numpy as np
import pytest

from evidence import contact
from evidence.__main__ import main
from evidence.row import Row, Verdict, required
from robot_control_ros.core.errors import ConfigError
from robot_control_ros.core.types import RobotState

REQUIRED = required("a page")
pytestmark = pytest.mark.starts("a thread draws the progress")


@pytest.mark.parametrize(("value", "status"), [(0.5, 0), (1.5, 1), (float("nan"), 1)])
def test_a_row_that_fails_is_the_exit_status(monkeypatch, capsys, value, status):
    asked = []

    def rows(robot):
        asked.append(robot)
        return [
            Row.at_most("a force", value, 1.0, "N", REQUIRED),
            Row.at_most("a way", 0.0, 1.0, "mm", REQUIRED),
        ]

    monkeypatch.setattr(contact, "SECTIONS", {"a section": rows})
    monkeypatch.setattr(contact, "IMPERFECT_SECTIONS", {})
    assert main(["contact", "--robot", "ur5e", "--robot", "gen3"]) == status
    printed = capsys.readouterr().out
    assert asked == ["ur5e", "gen3"]
    assert printed.count("a force [N]") == printed.count("a way [mm]") == 2
    assert f"{Verdict.FAILS.value} {2 * status}" in printed or not status
    assert (Verdict.FAILS.value in printed) is bool(status)


def test_without_robots_all_with_figures_are_tried(monkeypatch, capsys):
    asked = []
    monkeypatch.setattr(contact, "SECTIONS", {"a section": lambda robot: asked.append(robot) or []})
    monkeypatch.setattr(contact, "IMPERFECT_SECTIONS", {})
    assert main(["contact"]) == 0
    assert tuple(asked) == contact.ROBOTS
    assert capsys.readouterr().out.count("a section") == len(asked)


def test_rows_of_the_imperfect_arm_are_told_and_are_no_failure(monkeypatch, capsys):
    def rows(robot, arm):
        return [Row.at_most(f"a force of {robot} as {arm}", 2.0, 1.0, "N", REQUIRED)]

    monkeypatch.setattr(contact, "SECTIONS", {})
    monkeypatch.setattr(contact, "IMPERFECT_SECTIONS", {"a section": rows})
    assert main(["contact", "--robot", "gen3"]) == 0
    printed = capsys.readouterr().out
    (line,) = (line for line in printed.splitlines() if "a force of gen3 as like_gen3" in line)
    assert Verdict.EXCUSED.value in line
    assert Verdict.FAILS.value not in printed


@pytest.mark.sim
def test_a_random_move_that_the_loop_refuses_is_drawn_again():
    pytest.importorskip("mujoco")
    from evidence.contact.collision_trials import REACH, hit_loop, hit_robot, move_anywhere

    robot = hit_robot("ur5e")
    home = np.array(robot.home)
    loop = hit_loop(robot, "none")
    loop.tick(RobotState(0.0, home, np.zeros(robot.n), np.zeros(robot.n)))
    seed = 8  # its first goal is below the floor, its second isn't
    goals = home + np.random.default_rng(seed).uniform(-REACH, REACH, (2, robot.n))
    with pytest.raises(ConfigError, match="floor"):
        loop.motion.move_joints_to(goals[0])
    move_anywhere(loop, home, np.random.default_rng(seed))
    assert np.allclose(loop.motion.trajectory.target, goals[1])
