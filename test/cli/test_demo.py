"""The command line: the demonstration as its user sees it, and simulate."""

import csv
import os
import re
import signal
import time
import urllib.request

import numpy as np
import pytest
from processes import alive, children
from ros_support import LIMIT, Child, ended_cleanly, ros_environment
from terminal import Terminal

from robot_control_ros.cli.main import main

PNG = b"\x89PNG\r\n\x1a\n"


@pytest.fixture
def demo(tmp_path):
    """Starts the demonstration with the given arguments."""
    pytest.importorskip("rclpy", reason="needs ROS 2 (rclpy)")
    pytest.importorskip("mujoco", reason="the simulator needs MuJoCo")
    started = []

    def start(*arguments):
        # unbuffered, so that what is printed can be waited for
        variables = {**ros_environment(), "PYTHONUNBUFFERED": "1"}
        started.append(Child(["robot_control_ros.cli", "demo", *arguments], tmp_path, variables))
        return started[-1]

    yield start
    for child in started:
        child.clear_away()


def until(condition, what):
    deadline = time.monotonic() + LIMIT
    while not (found := condition()):
        assert time.monotonic() < deadline, what
        time.sleep(0.02)  # between two looks
    return found


def left(pids):
    return [pid for pid in pids if alive(pid)]


def read_csv(path):
    with path.open(newline="") as file:
        header, *rows = list(csv.reader(file))
    return header, np.array(rows, dtype=float)


@pytest.mark.long
@pytest.mark.ros
@pytest.mark.sim
def test_the_demonstration_shows_and_records_itself_and_leaves_nothing_behind(demo, tmp_path):
    output = tmp_path / "new" / "folder"
    child = demo("--no-page", "--seconds", "3", "--headless", "--output", str(output))
    nodes = until(lambda: len(found := children(child.process.pid)) >= 2 and found, "simulator and controller")
    assert child.end() == 0, child.err
    assert ended_cleanly(child)
    assert left(nodes) == []
    assert "UR5 (CB3) under impedance" in child.out
    assert re.search(r"export ROS_AUTOMATIC_DISCOVERY_RANGE=\w+ ROS_DOMAIN_ID=\d+", child.out)
    assert " s of ur5 under impedance: " in child.out
    assert "late or lost joint states" in child.out
    assert "error free    rms" in child.out
    assert f"{output / 'demo.png'}  {output / 'demo.csv'}" in child.out
    assert (output / "demo.png").read_bytes().startswith(PNG)
    header, rows = read_csv(output / "demo.csv")
    t, error = rows[:, 0], rows[:, [header.index(f"pose_error.{axis}") for axis in "xyz"]]
    assert header[0] == "t"
    assert t[0] == 0.0
    assert t[-1] >= 3.0
    assert np.linalg.norm(error, axis=1).max() < 0.01
    way = rows[:, [header.index(f"pose.{row}3") for row in range(3)]]
    assert np.ptp(way[:, :2], axis=0).max() > 0.02  # the circle has begun


@pytest.mark.ros
@pytest.mark.sim
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=["SIGINT", "SIGTERM"])
@pytest.mark.long
def test_a_demonstration_that_is_stopped_ends_with_its_summary(demo, tmp_path, number):
    child = demo("--no-page", "--seconds", "0", "--output", str(tmp_path))
    until(lambda: "Hz  error" in child.out, "the live line")
    nodes = children(child.process.pid)
    assert len(nodes) == 3  # simulator, watchdog, controller
    assert child.end(number) == 0, child.err
    assert ended_cleanly(child)
    assert "s of ur5 under impedance" in child.out
    assert left(nodes) == []
    assert (tmp_path / "demo.png").read_bytes().startswith(PNG)


@pytest.mark.long
@pytest.mark.ros
@pytest.mark.sim
def test_the_nodes_of_a_demonstration_that_is_killed_end_too(demo, tmp_path):
    child = demo("--no-page", "--seconds", "0", "--output", str(tmp_path))
    until(lambda: "Hz  error" in child.out, "the live line")
    nodes = children(child.process.pid)
    assert len(nodes) == 3  # simulator, watchdog, controller
    assert child.end(signal.SIGKILL) == -signal.SIGKILL
    until(lambda: not left(nodes), "the end of the nodes")


@pytest.mark.ros
@pytest.mark.sim
@pytest.mark.long
def test_a_demonstration_whose_node_dies_says_so_and_ends(demo, tmp_path):
    child = demo("--no-page", "--seconds", "0", "--output", str(tmp_path))
    until(lambda: "Hz  error" in child.out, "the live line")
    nodes = children(child.process.pid)
    os.kill(nodes[0], signal.SIGKILL)
    assert child.end() == 1
    assert "robot_control: the simulator ended with exit status -9" in child.err
    assert "Traceback" not in child.err
    assert left(nodes) == []


@pytest.mark.ros
@pytest.mark.sim
def test_with_the_page_a_person_does_what_is_to_be_done(demo, tmp_path):
    pytest.importorskip("viser", reason="the page needs viser")
    child = demo("--output", str(tmp_path / "none"))
    address = until(lambda: re.search(r"dashboard of ur5: (http://127\.0\.0\.1:\S+)", child.out), "the page").group(1)
    until(lambda: "Hz  error" in child.out, "the live line")
    assert "drag the target, push the arm, change its stiffness" in child.out
    with urllib.request.urlopen(address) as answer:
        assert b"<html" in answer.read()
    nodes = children(child.process.pid)
    assert len(nodes) == 4  # simulator, watchdog, controller, dashboard
    assert child.end(signal.SIGINT) == 0, child.err
    assert ended_cleanly(child)
    assert left(nodes) == []
    assert not (tmp_path / "none").exists()


def test_without_its_library_the_page_is_refused_with_the_way_out(monkeypatch, capsys):
    pytest.importorskip("rclpy", reason="needs ROS 2 (rclpy)")
    monkeypatch.setattr("robot_control_ros.experiments.demo.find_spec", lambda name: None)
    assert main(["demo"]) == 2
    assert capsys.readouterr().err == (
        "robot_control: the page (--no-page does without) needs viser: pip install '.[dashboard]' in the repository\n"
    )


# --- a demonstration in a scene ---


@pytest.fixture
def demo_in_terminal(tmp_path):
    """Starts the demonstration in a scene, in a terminal."""
    pytest.importorskip("rclpy", reason="needs ROS 2 (rclpy)")
    pytest.importorskip("mujoco", reason="the simulator needs MuJoCo")
    started = []

    def start(scene):
        arguments = [
            "-m",
            "robot_control_ros.cli",
            "demo",
            "--no-page",
            "--scene",
            scene,
            "--output",
            str(tmp_path),
        ]
        started.append(Terminal(*arguments, environment=ros_environment()))
        return started[-1]

    yield start
    for terminal in started:
        terminal.close()


def wait_for_rest(terminal):
    """Until error and force on the live line have stayed the same for two seconds of the robot's time."""

    def line():
        return re.findall(r"([0-9.]+) s [^\r]* error +([0-9.]+) mm [^\r]* force +([0-9.]+) N", terminal.shown)[-1]

    began, *shown = line()

    def at_rest():
        nonlocal began, shown
        now, *latest = line()
        if any(abs(float(a) - float(b)) > 0.15 for a, b in zip(latest, shown, strict=True)):
            began, shown = now, latest
        return float(now) - float(began) >= 2.0

    terminal.until(at_rest)


@pytest.mark.long
@pytest.mark.ros
@pytest.mark.sim
def test_the_keys_of_the_terminal_press_the_ball_against_the_tool(demo_in_terminal, tmp_path):
    terminal = demo_in_terminal("ball")
    terminal.until("the arrows lead the ball along x (up, down) and y (left, right)")
    terminal.until("ball to (900, 0, 100) mm")
    nodes = children(terminal.pid)
    assert len(nodes) == 3  # simulator, watchdog, controller
    assert terminal.modes() != terminal.before
    terminal.press(b"g\x1b[D" + 45 * b"\x1b[B" + b"b\x1b[C")  # up and left, 90 mm back, down and right
    terminal.until("ball to (810, 0, 100) mm")
    wait_for_rest(terminal)
    terminal.press(b"\x1b")
    assert terminal.end() == (0, terminal.before)
    assert left(nodes) == []
    assert "of ur5 under impedance, scene ball" in terminal.shown
    assert "error pushed  rms" in terminal.shown
    header, rows = read_csv(tmp_path / "demo.csv")
    force, way, error = (rows[:, header.index(name)] for name in ("wrench.x", "pose.03", "pose_error.x"))
    assert -error[-1] == pytest.approx(force[-1] / 500.0, abs=2e-4)
    # where the machine stalled for 0.1 s the controller holds the arm where it had been pushed to by then
    held = way + error
    # 15 mm, shared by the slides' 1000 N/m and the law's 500 N/m: 5 N, less what the skin gives way
    assert force[-1] == pytest.approx(-4.8 * (0.015 + held[-1] - held[0]) / 0.015, abs=0.2)


@pytest.mark.long
@pytest.mark.ros
@pytest.mark.sim
def test_the_keys_lead_the_tip_where_nothing_is_on_slides(demo_in_terminal, tmp_path):
    terminal = demo_in_terminal("table")
    terminal.until("the arrows lead the tip")
    terminal.until("tip to (487, 109, 432) mm")
    terminal.press(10 * b"g")
    terminal.until("tip to (487, 109, 452) mm")
    wait_for_rest(terminal)
    os.kill(terminal.pid, signal.SIGTERM)
    status, modes = terminal.end()
    assert (status, modes) == (0, terminal.before)
    header, rows = read_csv(tmp_path / "demo.csv")
    height = rows[:, header.index("pose.23")]
    assert height[-1] - height[0] == pytest.approx(0.02, abs=1e-3)


@pytest.mark.long
@pytest.mark.ros
@pytest.mark.sim
def test_without_a_terminal_a_scene_says_so_and_nothing_is_led(demo, tmp_path):
    child = demo("--no-page", "--scene", "ball", "--seconds", "2", "--headless", "--output", str(tmp_path))
    assert child.end() == 0, child.err
    assert "the ball stays where it is, for there is no terminal to read" in child.out
    header, rows = read_csv(tmp_path / "demo.csv")
    assert abs(rows[:, header.index("wrench.x")]).max() < 0.05


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
    arguments = ["--seconds", "3", "--rate", "500", "--push", "0", "0", "10", "--push-from", "0.1", "--push-for", "5"]
    arguments += ["--set", "stiffness=1000", "--set", "damping_ratio=1,1,1,1,1,1", "--set", "coriolis=true"]
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
    np.testing.assert_allclose(rows[-1, header.index("wrench.z")] - rows[0, header.index("wrench.z")], 10.0, atol=0.05)


@pytest.mark.sim
def test_simulate_can_follow_a_circle(capsys):
    assert simulate("--seconds", "1", "--rate", "250", "--circle", "0.05") == 0
    assert "position error rms" in capsys.readouterr().out


@pytest.mark.sim
@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--set", "stiffness"], "stiffness: must be GAIN=VALUE"),
        (["--set", "stiffness=stiff"], "stiffness = 'stiff': must be 1, 6 (the diagonal) or 36 numbers"),
        (["--set", "stiffness="], "stiffness = '': must be 1, 6 (the diagonal) or 36 numbers"),
        (["--law", "admittance", "--set", "output=torque"], "output = 'torque': must be one of: position, velocity"),
        (["--set", "nonsense=1"], "unknown gain 'nonsense'; gains: stiffness, "),
        (["--set", "stiffness=-1"], "stiffness[0] = -1: must be within [0, 10000] N/m"),
        (["--set", "stiffness=1,2"], "stiffness has 2 values [1.0, 2.0]: must have 1, 6 (the diagonal) or 36 numbers"),
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
