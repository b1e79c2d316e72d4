"""The source's experiments: its figures are met, and the harness that measures them is right."""

import math

import numpy as np
import pytest

from evidence.reproduce import run_case
from evidence.reproduce.joint_pid_case import LINES, STEP, StepRun, T, simulated, step

pytestmark = pytest.mark.sim


@pytest.fixture(scope="module")
def result():
    return run_case("joint_pid")


def script(p, i, d, limit=math.inf, calls=200):
    """The source's script and its ideal servo, written out: angles [deg] (calls + 1,)."""
    q, integral, last, angles = 0.0, 0.0, 0.0, [0.0]
    for k in range(calls):
        e = math.radians(STEP) - q
        u = p * e
        integral = integral + e * T if i != 0 else 0.0
        u += i * integral
        if k > 0:
            u += d * (e - last) / T
        last = e
        q += T * min(max(u / T, -limit), limit)
        angles.append(math.degrees(q))
    return np.array(angles)


def test_every_figure_of_the_source_is_met(result):
    assert [(row.name, row.measured, row.bound) for row in result.failed] == []


def test_no_experiment_is_left_out(result):
    names = " | ".join(row.name for row in result.rows)
    for line in LINES:
        for what in (
            "90 %",
            "95 %",
            "settled to 5 %",
            "settled to 2 %",
            "overshoot",
            "peak command",
        ):
            assert f"{line.name}: {what}" in names
        assert names.count(f"{line.name}: at ") == len(line.samples)
    for words in (
        "anti-windup",
        "0.0045",
        "0.005 s: error",
        "first command",
        "after a reset",
        "I = 0",
        "350",
        "-170",
    ):
        assert words in names
    for words in ("calls per 50 ms", "textbook", "spring_damper", "current, P", "(1 - P)^k"):
        assert words in names
    assert sum(row.name.endswith("10 %") for row in result.rows) == 5
    assert sum(row.name.endswith("largest angle") for row in result.rows) == 1


def test_times_are_held_within_a_sample_and_overshoots_within_0_05_points(result):
    for row in result.rows:
        if math.isfinite(row.figure) and row.unit == "s" and "stable" not in row.name:
            assert row.high - row.low == pytest.approx(2 * T)
        if math.isfinite(row.figure) and row.unit == "%":
            assert row.high - row.low == pytest.approx(0.1)
        if " at " in row.name and row.unit == "deg" and "target" not in row.name:
            assert row.high - row.low == pytest.approx(2e-4)


def test_figures_and_series_are_written(result, tmp_path):
    files = {
        path.name
        for path in result.write(tmp_path, "joint_pid") + result.draw(tmp_path, "joint_pid")
    }
    assert files == {"joint_pid.csv", "joint_pid_steps.csv", "joint_pid_steps.png"}
    written = np.loadtxt(tmp_path / "joint_pid_steps.csv", delimiter=",", skiprows=1)
    assert written.shape == (201, 1 + len(LINES) + 1)
    np.testing.assert_allclose(written[:, 0], T * np.arange(201), atol=1e-12)
    np.testing.assert_allclose(written[:, 1], script(0.1, 2.0, 0.0), rtol=0, atol=1e-9)


@pytest.mark.parametrize("limit", [None, 1.0])
@pytest.mark.parametrize("pid", [(0.1, 2.0, 0.0), (0.3, 0.0, 0.001), (0.2, 5.0, 0.002)])
def test_a_step_is_the_sources_script(pid, limit):
    gains = dict(zip("pid", pid, strict=True))
    if limit is not None:
        gains["velocity_limit"] = limit
    measured = step({"variant": "legacy", **gains})
    expected = script(*pid, math.inf if limit is None else limit)
    np.testing.assert_allclose(measured.angle, expected, rtol=0, atol=1e-9)
    np.testing.assert_allclose(measured.command, np.diff(expected) / T, rtol=0, atol=1e-8)


def test_within_the_plant_it_is_the_same_as_with_an_ideal_servo():
    measured, counts = simulated(LINES[0])
    np.testing.assert_allclose(measured.angle, script(0.1, 2.0, 0.0), rtol=0, atol=1e-6)
    assert counts == [10] * 20


def test_times_are_those_of_samples():
    run = StepRun(0.1 * np.arange(6), np.array([0.0, 1.0, 9.0, 11.0, 10.4, 10.1]), np.zeros(5))
    assert run.reached(10.0) == pytest.approx(0.1)
    assert run.reached(90.0) == pytest.approx(0.2)
    assert run.reached(120.0) == math.inf
    assert run.settled(5.0) == pytest.approx(0.4)
    assert run.settled(2.0) == pytest.approx(0.5)
    assert run.settled(0.5) == math.inf
    assert run.overshoot == pytest.approx(10.0)
    assert run.at(0.3) == 11.0
    assert StepRun(run.time, np.minimum(run.angle, 9.9), run.command).overshoot == 0.0
