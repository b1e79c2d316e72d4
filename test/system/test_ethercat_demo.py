"""The demonstration on EtherCAT: contour errors over an emulated bus, against those of the
same law in process.
"""

import csv
import os
import signal
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from processes import alive, descendants
from ros_support import Child, ros_environment

from ethercat_emulator.network.veth import why_no_namespace
from evidence.reproduce.contour_benchmark import ur5_rectangle
from robot_control_ros.references.contours import ContourMove
from robot_control_ros.references.time_scaling import Chain, Trapezoid
from robot_control_ros.robot.configuration import load_robot
from robot_control_ros.simulation.in_process import simulate
from robot_control_ros.simulation.mujoco_plant import MujocoPlant

SIDES = np.array([0.2, 0.1])  # m, in x and -z
FEED, ACCELERATION = 0.25, 2.0  # m/s, m/s²
STIFFNESS = 1000.0
WITHIN = 0.1  # of the figures in process: the requirement
STALLED = 0.03  # share of cycles left out from which the machine, not the bus, is measured
CYCLES = 4200  # of the bus along the contour, with the rests about it
BUS, IN_PROCESS, WITH_DRIVES = "on the bus", "in process", "in process, with drives"


pytestmark = [pytest.mark.long, pytest.mark.ros, pytest.mark.sim, pytest.mark.limit(300)]


@pytest.fixture(autouse=True)
def check_needs() -> None:
    pytest.importorskip("rclpy", reason="needs ROS 2 (rclpy)")
    pytest.importorskip("mujoco", reason="the emulated arm needs MuJoCo")
    pytest.importorskip("pysoem", reason="needs pysoem: pip install pysoem")
    if reason := why_no_namespace():
        pytest.skip(f"needs a network namespace of its own; {reason}")


def demo(folder: Path, *arguments: str) -> Child:
    return Child(["evidence", "contour", "--output", str(folder), *arguments], folder, variables())


def variables() -> dict[str, str]:
    environment = ros_environment()
    root = str(Path(__file__).resolve().parents[2])
    environment["PYTHONPATH"] = os.pathsep.join(
        [root, *filter(None, [environment.get("PYTHONPATH")])]
    )
    return environment


@dataclass
class Result:
    """What a demonstration in the domain matched says, and its tables."""

    said: str
    folder: Path
    samples: list[dict[str, str]]
    table: list[dict[str, str]]

    def figures(self, feedforward: float, where: str) -> tuple[float, float]:
        """Largest and rms distance [mm] to the rectangle, from joint angles: the poses of
        the tip are MuJoCo's.
        """
        rows = [
            row
            for row in self.samples
            if float(row["feedforward"]) == feedforward and row["where"] == where
        ]
        robot = load_robot("ur5", "ethercat")
        t = np.array([float(row["t"]) for row in rows])
        q = np.array([[float(row[f"q.{name}"]) for name in robot.joints] for row in rows])
        plant = MujocoPlant(robot)

        def tip(angles):
            return plant.dynamics(angles, np.zeros(6))[2][:3, 3]

        error = 1e3 * distance(np.array([tip(angles) for angles in q]) - tip(np.array(robot.home)))
        rms = np.sqrt(
            np.sum(0.5 * (error[1:] ** 2 + error[:-1] ** 2) * np.diff(t)) / (t[-1] - t[0])
        )
        return float(error.max()), float(rms)

    def check_machine(self, feedforward: float) -> None:
        """Whether the bus was measured, or a machine that stalls."""
        rows = [
            row
            for row in self.table
            if row["where"] == BUS and float(row["feedforward"]) == feedforward
        ]
        left_out = int(rows[0]["cycles_left_out"])
        if left_out > STALLED * CYCLES:
            pytest.skip(
                f"the machine stalled: {left_out} of {CYCLES} cycles were left out along the contour"
            )


def rows_of(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="ascii") as file:
        return list(csv.DictReader(file))


@pytest.fixture
def result(tmp_path) -> Result:
    child = demo(tmp_path, "--domains", "matched")
    status = child.process.wait()
    if status == 1 and "this machine is too slow" in child.err:
        pytest.skip(child.err.splitlines()[-1])
    assert status == 0, child.out + child.err
    return Result(
        child.out, tmp_path, rows_of(tmp_path / "samples.csv"), rows_of(tmp_path / "figures.csv")
    )


def distance(offset):
    """Of points (k, 3) to the outline of the rectangle: outside of it in its plane, or to the
    nearest side within.
    """
    across = np.column_stack((offset[:, 0], -offset[:, 2])) - SIDES / 2.0
    beyond = np.abs(across) - SIDES / 2.0
    outside = np.linalg.norm(np.maximum(beyond, 0.0), axis=1)
    in_plane = np.where((beyond <= 0.0).all(axis=1), -beyond.max(axis=1), outside)
    return np.hypot(in_plane, offset[:, 1])


def in_process(feedforward: float) -> tuple[float, float]:
    """The same contour by another way: the reference is the tip's, and the loop finds the
    joints that go with it.
    """

    def start(pose):
        contour = ur5_rectangle(pose)
        timing = Chain([Trapezoid(float(length), FEED, ACCELERATION) for length in contour.lengths])
        return ContourMove(contour, timing, pose, 0.0)

    gains = {"domain": "matched", "stiffness": STIFFNESS, "feedforward": feedforward}
    log = simulate("ur5", "position_domain_pd", gains, start, 3.2, rate=1000.0)
    error = 1e3 * distance(log.pose[:, :3, 3] - log.pose[0, :3, 3])
    return float(error.max()), float(np.sqrt(np.mean(error**2)))


def test_the_contour_errors_on_the_bus_are_those_in_process_and_are_told_and_drawn(result):
    assert "matched, feed-forward 0 %" in result.said
    assert "working counter: 18 of 18; wrong working counters: " in result.said
    for name in ("contours.png", "errors.png", "timing.png"):
        assert (result.folder / name).read_bytes().startswith(b"\x89PNG")
    assert len(result.table) == 6
    for row in (row for row in result.table if row["where"] == BUS):
        told = float(row["max_mm"]), float(row["rms_mm"])
        np.testing.assert_allclose(
            told, result.figures(float(row["feedforward"]), row["where"]), rtol=2e-3
        )
    result.check_machine(0.0)
    np.testing.assert_allclose(result.figures(0.0, BUS), in_process(0.0), rtol=WITHIN)
    result.check_machine(1.0)
    on_the_bus = result.figures(1.0, BUS)
    # or better: which way jitter falls at the reference's steps decides
    for where in (IN_PROCESS, WITH_DRIVES):
        assert np.all(np.array(on_the_bus) <= (1.0 + WITHIN) * np.array(result.figures(1.0, where)))
    assert max(on_the_bus) < 0.1 * result.figures(0.0, BUS)[0]


def test_a_demonstration_that_is_interrupted_leaves_no_process(tmp_path):
    child = demo(tmp_path, "--domains", "time")
    while "drives: running" not in child.err:
        assert child.process.poll() is None, child.err
        time.sleep(0.05)  # between two looks
    started = descendants(child.process.pid)
    assert len(started) >= 4  # emulator, node, the bus's process, controller
    assert child.end(signal.SIGINT) == 130
    assert "Traceback" not in child.err
    while any(map(alive, started)):  # the bus's process stops its drives before it ends
        time.sleep(0.05)
