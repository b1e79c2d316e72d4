"""The demonstration as its user sees it: its processes, their end, what it prints, and the keys that lead it."""

import csv
import os
import re
import signal
import time
import urllib.request

import numpy as np
import pytest
from processes import alive, children
from ros_support import Child, ended_cleanly, ros_environment
from terminal import Terminal

pytest.importorskip("rclpy", reason="needs ROS 2 (rclpy)")
pytest.importorskip("mujoco", reason="the simulator needs MuJoCo")

pytestmark = [pytest.mark.ros, pytest.mark.sim]
PNG = b"\x89PNG\r\n\x1a\n"


@pytest.fixture
def demo(tmp_path):
    """Starts the demonstration with the given arguments."""
    started = []

    def start(*arguments):
        # unbuffered, so that what is printed can be waited for
        variables = {**ros_environment(), "PYTHONUNBUFFERED": "1"}
        started.append(Child(["robot_control_ros.cli", "demo", *arguments], tmp_path, variables))
        return started[-1]

    yield start
    for child in started:
        child.clear_away()


def until(condition):
    """What a condition returns, once that is true; the runner ends a test that waits in vain."""
    while not (found := condition()):
        time.sleep(0.02)  # between two looks
    return found


def left(pids):
    return [pid for pid in pids if alive(pid)]


def read_csv(path):
    with path.open(newline="") as file:
        header, *rows = list(csv.reader(file))
    return header, np.array(rows, dtype=float)


@pytest.mark.long
def test_the_demonstration_shows_and_records_itself_and_leaves_nothing_behind(demo, tmp_path):
    output = tmp_path / "new" / "folder"
    child = demo("--no-page", "--seconds", "3", "--headless", "--output", str(output))
    nodes = until(lambda: len(found := children(child.process.pid)) >= 2 and found)
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


@pytest.mark.long
def test_the_demonstration_and_its_nodes_end_together(demo, tmp_path):
    """Where a node dies, and where the demonstration is killed."""
    for killed in ("node", "demonstration"):
        child = demo("--no-page", "--seconds", "0", "--output", str(tmp_path))
        until(lambda child=child: "Hz  error" in child.out)
        nodes = children(child.process.pid)
        assert len(nodes) == 3  # simulator, watchdog, controller
        if killed == "node":
            os.kill(nodes[0], signal.SIGKILL)
            assert child.end() == 1
            assert "robot_control: the simulator ended with exit status -9" in child.err
            assert "Traceback" not in child.err
        else:
            assert child.end(signal.SIGKILL) == -signal.SIGKILL
        until(lambda nodes=nodes: not left(nodes))


def test_with_the_page_a_person_does_what_is_to_be_done(demo, tmp_path):
    pytest.importorskip("viser", reason="the page needs viser")
    child = demo("--output", str(tmp_path / "none"))
    address = until(lambda: re.search(r"dashboard of ur5: (http://127\.0\.0\.1:\S+)", child.out)).group(1)
    until(lambda: "Hz  error" in child.out)
    assert "drag the target, push the arm, change its stiffness" in child.out
    with urllib.request.urlopen(address) as answer:
        assert b"<html" in answer.read()
    nodes = children(child.process.pid)
    assert len(nodes) == 4  # simulator, watchdog, controller, dashboard
    assert child.end(signal.SIGINT) == 0, child.err
    assert ended_cleanly(child)
    assert left(nodes) == []
    assert not (tmp_path / "none").exists()


# --- a demonstration in a scene ---


@pytest.fixture
def demo_in_terminal(tmp_path):
    """Starts the demonstration in a scene, in a terminal."""
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
def test_the_keys_lead_the_tip_where_nothing_is_on_slides(demo_in_terminal, tmp_path):
    terminal = demo_in_terminal("table")
    terminal.until("the arrows lead the tip")
    terminal.until("tip to (487, 109, 432) mm")
    nodes = children(terminal.pid)
    terminal.press(10 * b"g")
    terminal.until("tip to (487, 109, 452) mm")
    wait_for_rest(terminal)
    os.kill(terminal.pid, signal.SIGTERM)
    status, modes = terminal.end()
    assert (status, modes) == (0, terminal.before)
    assert "of ur5 under impedance, scene table" in terminal.shown
    assert left(nodes) == []
    assert (tmp_path / "demo.png").read_bytes().startswith(PNG)
    header, rows = read_csv(tmp_path / "demo.csv")
    height = rows[:, header.index("pose.23")]
    assert height[-1] - height[0] == pytest.approx(0.02, abs=1e-3)


@pytest.mark.long
def test_without_a_terminal_a_scene_says_so_and_nothing_is_led(demo, tmp_path):
    child = demo("--no-page", "--scene", "ball", "--seconds", "2", "--headless", "--output", str(tmp_path))
    assert child.end() == 0, child.err
    assert "the ball stays where it is, for there is no terminal to read" in child.out
    header, rows = read_csv(tmp_path / "demo.csv")
    assert abs(rows[:, header.index("wrench.x")]).max() < 0.05
