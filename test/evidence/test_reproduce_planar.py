"""The page's experiments: its figures are met, and the harness that measures them is right."""

import math

import numpy as np
import pytest

from evidence.reproduce import run_case
from evidence.reproduce.planar_case import POINTS, TARGET, UPRIGHT, VARIANTS, PlanarRun, drive
from robot_control_ros.teaching.two_link import TwoLink


@pytest.fixture(scope="module")
def result():
    return run_case("planar")


def page_trajectory(
    steps, inertia=1.0 / 48.0, stiffness=50.0, damping=5.0, start=UPRIGHT, push=(0.0, 0.0)
):
    """The page's loop, written out from its formulae: the tip (steps + 1, 2)."""
    dt, offset = 0.01, 2.0 * (inertia - 1.0 / 48.0)
    (t1, t2), w1, w2 = start, 0.0, 0.0
    tips = []
    for _ in range(steps + 1):
        x, y = math.cos(t1) + math.cos(t1 + t2), math.sin(t1) + math.sin(t1 + t2)
        tips.append((x, y))
        jacobian = np.array([[-y, -math.sin(t1 + t2)], [x, math.cos(t1 + t2)]])
        vx, vy = jacobian @ (w1, w2)
        force = np.array(
            [stiffness * (TARGET[0] - x) - damping * vx, stiffness * (TARGET[1] - y) - damping * vy]
        )
        h11 = math.cos(t2) + 37.0 / 24.0 + offset
        h12, h22 = math.cos(t2) / 2.0 + 13.0 / 48.0 + offset / 2.0, 13.0 / 48.0 + offset / 2.0
        h = math.sin(t2) / 2.0
        # gravity and its compensation cancel
        coriolis = np.array([-h * (2.0 * w1 * w2 + w2 * w2), h * w1 * w1])
        a1, a2 = np.linalg.solve([[h11, h12], [h12, h22]], jacobian.T @ (force + push) - coriolis)
        w1, w2 = w1 + a1 * dt, w2 + a2 * dt
        t1, t2 = t1 + w1 * dt, t2 + w2 * dt
    return np.array(tips)


@pytest.mark.long
def test_every_figure_of_the_page_is_met(result):
    assert [(row.name, row.measured, row.bound) for row in result.failed] == []


@pytest.mark.long
def test_no_experiment_is_left_out(result):
    names = " | ".join(row.name for row in result.rows)
    for variant in VARIANTS:
        assert names.count(f"{variant.name}: settled to") == 3
    for words in (
        "T1 at 0 s",
        "T2 at 0 s",
        "Kd 0",
        "(2, 1)",
        "constant force",
        "M = 1 kg",
        "dt²/2",
        "closed form",
    ):
        assert words in names
    assert sum(row.name[:4] in ("x at", "y at") for row in result.rows) == 2 * len(POINTS)


@pytest.mark.long
def test_figures_and_series_are_written(result, tmp_path):
    files = {
        path.name for path in result.write(tmp_path, "planar") + result.draw(tmp_path, "planar")
    }
    assert files == {
        "planar.csv",
        "planar_trajectory.csv",
        "planar_errors.csv",
        "planar_tip_paths.png",
        "planar_errors.png",
    }
    written = np.genfromtxt(tmp_path / "planar_trajectory.csv", delimiter=",", names=True)
    assert written.dtype.names == ("t", "x", "y", "t1", "t2", "T1", "T2")
    assert written["t"][-1] == pytest.approx(20.0)


@pytest.mark.parametrize(
    "changes",
    [{}, {"stiffness": 200.0, "damping": 20.0}, {"start": (1.0, 0.7)}, {"push": (10.0, -5.0)}],
    ids=["default", "stiff", "bent", "pushed"],
)
def test_drive_is_the_pages_loop(changes):
    """Through law and model as without them: what differs is rounding, which
    the motion makes grow.
    """
    measured = drive(duration=2.0, **changes)
    np.testing.assert_allclose(measured.tip, page_trajectory(200, **changes), atol=1e-9)


def test_another_inertia_is_seen_in_both():
    arm = TwoLink(inertia=1.0 / 12.0)
    measured = drive(arm, duration=1.0)
    np.testing.assert_allclose(measured.tip, page_trajectory(100, inertia=1.0 / 12.0), atol=1e-9)
    assert np.abs(measured.tip - page_trajectory(100)).max() > 1e-2


def test_settled_is_the_first_sample_from_which_the_error_stays_small():
    def settled(errors, bound):
        count = len(errors)
        tip = np.column_stack((errors, np.zeros(count)))
        return PlanarRun(0.1 * np.arange(count), tip, tip, tip, np.zeros(2)).settled(bound)

    assert settled([1.0, 0.1, 0.3, -0.2, 0.1], 0.25) == pytest.approx(0.3)
    assert settled([0.1, 0.1], 0.25) == 0.0
    assert settled([1.0, 0.1, 0.3], 0.25) == math.inf


def test_the_law_alone_gives_what_the_page_computes_at_the_start():
    run = drive(duration=0.0)
    np.testing.assert_allclose(run.torque, [[-120.0, -60.0]], atol=1e-12)
    assert run.error[0] == pytest.approx(math.hypot(1.2, 1.2))
