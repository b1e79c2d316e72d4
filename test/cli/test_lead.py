"""The commands that lead a running robot, on a simulated one in its place."""

import json
import re

import numpy as np
import pytest

from robot_control_ros import Robot
from robot_control_ros.cli.main import main

pytestmark = pytest.mark.sim
pytest.importorskip("mujoco")


@pytest.fixture(autouse=True)
def simulated(monkeypatch, request):
    """Each command gets a simulated UR5 that hasn't moved yet; by the marks' parameter,
    one with a gripper.
    """
    name = getattr(request, "param", "ur5")
    monkeypatch.setattr(
        "robot_control_ros.client.robot.Robot", lambda **chosen: Robot.simulated(name)
    )


def test_a_move_to_a_point_beyond_reach_has_an_exit_status_and_says_why(capsys):
    assert main(["move", "0.85", "0.3", "0.4"]) == 1
    printed = capsys.readouterr()
    assert printed.out == ""
    assert "must be within reach" in printed.err
    assert printed.err.count("\n") == 1


def test_a_move_that_arrives_ends_with_status_0(capsys):
    assert main(["move", "--by", "0", "0", "0.02"]) == 0
    assert "error 0." in capsys.readouterr().out


def test_a_gain_is_printed_by_either_of_its_names(capsys):
    assert main(["get", "damping_ratio"]) == 0
    printed = capsys.readouterr().out
    assert printed.startswith("damping_ratio = ")
    assert main(["get", "impedance.damping_ratio"]) == 0
    assert capsys.readouterr().out == printed


def test_a_gain_of_another_law_is_refused_in_one_line(capsys):
    assert main(["get", "admittance.virtual_mass"]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert "'admittance.virtual_mass'" in printed.err
    assert printed.err.count("\n") == 1


gripping = pytest.mark.parametrize("simulated", ["ur5+robotiq_2f85"], indirect=True)


@gripping
@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["close"], "0.0 mm"),
        (["open"], "85.0 mm"),
        (["0.04", "--force", "30"], "at rest"),
        ([], "85.0 mm"),
    ],
)
def test_the_fingers_close_open_go_to_a_width_and_are_told(arguments, words, capsys):
    assert main(["gripper", *arguments]) == 0
    assert words in capsys.readouterr().out


@gripping
@pytest.mark.parametrize(
    ("target", "words"),
    [
        ("0.2", "width = 0.2 m: must be within [0, 0.085]"),
        ("wide", "must be open, close"),
    ],
)
def test_a_width_that_the_gripper_has_not_is_refused_with_those_that_it_has(target, words, capsys):
    assert main(["gripper", target]) == 2
    assert words in capsys.readouterr().err


def test_the_status_has_decimals_and_no_powers_of_ten(capsys):
    assert main(["status"]) == 0
    lines = dict(line.split(maxsplit=1) for line in capsys.readouterr().out.splitlines())
    assert lines["robot"] == "ur5, profile sim, law impedance"
    for name in ("tip", "error", "joints"):
        numbers = re.findall(r"-?\d[\d.e+-]*", lines[name].replace("rpy", ""))
        assert len(numbers) >= 3
        for number in numbers:
            assert re.fullmatch(r"-?\d+\.\d{3}", number), lines[name]
            assert number != "-0.000"
    assert lines["error"] == "0.000 0.000 0.000 mm"


def test_the_status_for_programs_is_json_with_all_digits(capsys, tmp_path):
    assert main(["status", "--json"]) == 0
    status = json.loads(capsys.readouterr().out)
    robot = Robot.simulated("ur5")
    assert (status["robot"], status["law"], status["fault"]) == ("ur5", "impedance", None)
    assert list(status["joints"]) == list(robot.config.joints)
    np.testing.assert_allclose(status["position"], robot.pose[:3, 3], atol=1e-4)
    file = tmp_path / "status.json"
    assert main(["status", "--json", str(file)]) == 0
    assert capsys.readouterr().out == ""
    assert json.loads(file.read_text()).keys() == status.keys()


def test_gains_for_programs_are_json(capsys):
    assert main(["get", "stiffness", "--json"]) == 0
    gains = json.loads(capsys.readouterr().out)
    assert list(gains) == ["stiffness"]
    assert main(["get", "stifness"]) == 2
    assert "did you mean stiffness?" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "bound"),
    [
        (["0.3", "0.2"], "three numbers"),
        (["--by", "0.01"], "three numbers"),  # and not this on each axis
        (["--joints", "0", "0"], "6 numbers in rad"),
        (["--joints", "--by", "0.1"], "6 numbers in rad"),
    ],
)
def test_a_target_of_another_size_is_refused_in_its_own_words(words, bound, capsys):
    assert main(["move", *words]) == 2
    said = capsys.readouterr().err
    assert bound in said
    assert "shape" not in said
    assert said.count("\n") == 1
