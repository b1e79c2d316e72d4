"""The commands that lead a running robot, on a simulated one in its place."""

import pytest

from robot_control_ros import Robot
from robot_control_ros.cli.main import main

pytestmark = pytest.mark.sim
pytest.importorskip("mujoco")


@pytest.fixture(autouse=True)
def simulated(monkeypatch):
    """Each command gets a simulated UR5 that hasn't moved yet."""
    monkeypatch.setattr("robot_control_ros.client.robot.Robot", lambda **chosen: Robot.simulated("ur5"))


def test_a_move_to_a_point_beyond_reach_has_an_exit_status_and_says_why(capsys):
    assert main(["move", "0.85", "0.3", "0.4"]) == 1
    printed = capsys.readouterr()
    assert printed.out == ""
    assert "must be within reach" in printed.err
    assert printed.err.count("\n") == 1


def test_a_move_that_arrives_ends_with_status_0(capsys):
    assert main(["move", "--by", "0", "0", "0.02"]) == 0
    assert "error 0." in capsys.readouterr().out
