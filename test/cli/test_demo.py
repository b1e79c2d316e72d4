"""The command line: what the demonstration refuses, and simulate."""

import csv
import os

import numpy as np
import pytest

from robot_control_ros.cli.main import main

PNG = b"\x89PNG\r\n\x1a\n"


def read_csv(path):
    with path.open(newline="") as file:
        header, *rows = list(csv.reader(file))
    return header, np.array(rows, dtype=float)


def test_without_its_library_the_page_is_refused_with_the_way_out(monkeypatch, capsys):
    pytest.importorskip("rclpy", reason="needs ROS 2 (rclpy)")
    monkeypatch.setattr("robot_control_ros.cli.demo.find_spec", lambda name: None)
    assert main(["demo"]) == 2
    said = capsys.readouterr().err
    assert said.startswith("robot_control: the page (--no-page does without) needs viser: ")
    assert said.endswith("[dashboard]'\n")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--robot", "nonsense"], "robot_control: unknown robot 'nonsense'; robots: "),
        (["--law", "nonsense"], "robot_control: unknown law 'nonsense'; laws: "),
        (["--gains", "nowhere.yaml"], "robot_control: gains = '/"),
        (["--scene", "nonsense"], "robot_control: unknown scene 'nonsense'; scenes: ball, "),
    ],
)
def test_a_demonstration_that_cannot_be_is_refused_in_a_line(capsys, monkeypatch, arguments, words):
    monkeypatch.setattr(os, "environ", os.environ.copy())
    assert main(["demo", *arguments]) == 2
    shown = capsys.readouterr()
    assert shown.err.startswith(words)
    assert shown.err.count("\n") == 1


# --- simulate ---


def simulate(*arguments):
    pytest.importorskip("mujoco", reason="the simulator needs MuJoCo")
    return main(["simulate", *arguments])


@pytest.mark.sim
def test_simulate_takes_gains_and_a_push_and_writes_what_happened(tmp_path, capsys):
    table, picture = tmp_path / "log.csv", tmp_path / "log.png"
    arguments = [
        "--seconds",
        "3",
        "--rate",
        "500",
        "--push",
        "0",
        "0",
        "10",
        "--push-from",
        "0.1",
        "--push-for",
        "5",
    ]
    arguments += [
        "--set",
        "stiffness=1000",
        "--set",
        "damping_ratio=1,1,1,1,1,1",
        "--set",
        "coriolis=true",
    ]
    assert simulate(*arguments, "--csv", str(table), "--plot", str(picture)) == 0
    out = capsys.readouterr().out
    assert "3 s of ur5 under impedance" in out
    assert "last 10.0" in out  # 10 N at 1000 N/m are 10 mm
    assert str(table) in out
    assert str(picture) in out
    assert picture.read_bytes().startswith(PNG)
    header, rows = read_csv(table)
    assert len(rows) == 1500
    np.testing.assert_allclose(rows[-1, header.index("pose_error.z")], -0.010, rtol=0.0, atol=1e-4)
    np.testing.assert_allclose(
        rows[-1, header.index("wrench.z")] - rows[0, header.index("wrench.z")], 10.0, atol=0.05
    )


@pytest.mark.sim
def test_simulate_can_follow_a_circle(capsys):
    assert simulate("--seconds", "1", "--rate", "250", "--circle", "0.05") == 0
    assert "position error rms" in capsys.readouterr().out


@pytest.mark.sim
@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--set", "stiffness"], "stiffness: must be GAIN=VALUE"),
        (
            ["--set", "stiffness=stiff"],
            "stiffness = 'stiff': must be 1, 6 (the diagonal) or 36 numbers",
        ),
        (["--set", "stiffness="], "stiffness = '': must be 1, 6 (the diagonal) or 36 numbers"),
        (
            ["--law", "admittance", "--set", "output=torque"],
            "output = 'torque': must be one of: position, velocity",
        ),
        (["--set", "nonsense=1"], "unknown gain 'nonsense'; gains: stiffness, "),
        (["--set", "stiffness=-1"], "stiffness[0] = -1: must be within [0, 10000] N/m"),
        (
            ["--set", "stiffness=1,2"],
            "stiffness has 2 values [1.0, 2.0]: must have 1, 6 (the diagonal) or 36 numbers",
        ),
        (["--set", "coriolis=0.5"], "coriolis = 0.5: it is a switch, must be true or false"),
        (["--robot", "nonsense"], "unknown robot 'nonsense'; robots: "),
        (["--law", "nonsense"], "unknown law 'nonsense'; laws: "),
        (["--scene", "nonsense"], "unknown scene 'nonsense'; scenes: ball, "),
    ],
)
def test_a_simulation_that_cannot_be_is_refused_in_a_line(capsys, arguments, words):
    assert simulate(*arguments) == 2
    shown = capsys.readouterr()
    assert shown.err.startswith(f"robot_control: {words}")
    assert shown.err.count("\n") == 1
    assert shown.out == ""


@pytest.mark.parametrize("push", [["1", "2"], ["a", "b", "c"], ["1,2,3"], []])
def test_a_push_that_is_not_three_numbers_is_refused(capsys, push):
    with pytest.raises(SystemExit) as error:
        main(["simulate", "--push", *push])
    assert error.value.code == 2
    assert "--push" in capsys.readouterr().err
