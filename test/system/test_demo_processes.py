"""The demonstration as its user sees it: its processes, their end, and what it prints."""

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
    assert t[0] == pytest.approx(0.0, abs=0.1)  # telemetry comes 50 times a second
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
    address = until(
        lambda: re.search(r"dashboard of ur5: (http://127\.0\.0\.1:\S+)", child.out)
    ).group(1)
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


@pytest.mark.long
def test_in_a_scene_without_the_page_the_arm_is_pushed_alone(demo, tmp_path):
    child = demo(
        "--no-page", "--scene", "ball", "--seconds", "10", "--headless", "--output", str(tmp_path)
    )
    until(lambda: "a push of 20 N" in child.out)
    assert child.end() == 0, child.err
    assert "circle" not in child.out
    assert "of ur5 under impedance, scene ball" in child.out
    assert "error pushed  rms" in child.out
    header, rows = read_csv(tmp_path / "demo.csv")
    force, height, error = (
        rows[:, header.index(name)] for name in ("wrench.z", "pose.23", "pose_error.z")
    )
    assert force.max() == pytest.approx(20.0, abs=0.5)
    # At 500 N/m; where this machine stalls, the controller holds the arm where it has been pushed
    # to by then.
    deepest = np.argmin(error)
    assert -error[deepest] == pytest.approx(force[deepest] / 500.0, abs=5e-3)
    reference = height + error
    assert np.ptp(reference[rows[:, 0] < 8.0]) < 1e-3


@pytest.mark.long
def test_a_demonstration_that_is_told_to_end_reports_what_it_has(demo, tmp_path):
    child = demo("--no-page", "--seconds", "0", "--output", str(tmp_path))
    until(lambda: child.out.count("Hz  error") >= 3)
    nodes = children(child.process.pid)
    assert child.end(signal.SIGTERM) == 0, child.err
    assert left(nodes) == []
    assert "s of ur5 under impedance: " in child.out
    assert (tmp_path / "demo.png").read_bytes().startswith(PNG)
