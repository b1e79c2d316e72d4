"""The benchmark of position-domain PD: its figures are met, and the harness that
measures them is right.
"""

import math

import numpy as np
import pytest

from evidence.reproduce import run_case
from evidence.reproduce.contour_benchmark import DOMAINS, JointPathOf, cases, drive
from robot_control_ros.teaching.two_link import TwoLink

CASES = cases()


@pytest.fixture(scope="module")
def result():
    return run_case("position_domain")


def quintic(u):
    return 10 * u**3 - 15 * u**4 + 6 * u**5


def line_under_pd(duration=2.0, start=(0.6, 0.4), goal=(1.4, 1.0)):
    """Largest and rms distance [mm] to the line under time-domain PD without feed-forward,
    all of it written out.
    """

    def angles(x, y):
        t2 = math.acos((x * x + y * y) / 2.0 - 1.0)
        return math.atan2(y, x) - math.atan2(math.sin(t2), 1.0 + math.cos(t2)), t2

    def wanted(t):
        s = quintic(min(t / duration, 1.0))
        return angles(start[0] + s * (goal[0] - start[0]), start[1] + s * (goal[1] - start[1]))

    (t1, t2), w1, w2 = wanted(0.0), 0.0, 0.0
    length = math.hypot(goal[0] - start[0], goal[1] - start[1])
    errors = []
    for k in range(round((duration + 0.3) / 1e-3)):
        t = k * 1e-3
        x, y = math.cos(t1) + math.cos(t1 + t2), math.sin(t1) + math.sin(t1 + t2)
        along = (
            (x - start[0]) * (goal[0] - start[0]) + (y - start[1]) * (goal[1] - start[1])
        ) / length
        along = min(max(along, 0.0), length)
        nearest = [start[i] + along / length * (goal[i] - start[i]) for i in (0, 1)]
        errors.append(1e3 * math.hypot(x - nearest[0], y - nearest[1]))
        (d1, d2), (ahead1, ahead2), (behind1, behind2) = (
            wanted(t),
            wanted(t + 1e-6),
            wanted(max(t - 1e-6, 0.0)),
        )
        span = 1e-6 + min(t, 1e-6)
        u1 = 1980.0 * (d1 - t1) + 132.0 * ((ahead1 - behind1) / span - w1)
        u2 = 300.0 * (d2 - t2) + 20.0 * ((ahead2 - behind2) / span - w2)
        for _ in range(4):
            c, h = math.cos(t2), math.sin(t2) / 2.0
            mass = [[5.0 / 3.0 + c, 1.0 / 3.0 + c / 2.0], [1.0 / 3.0 + c / 2.0, 1.0 / 3.0]]
            load = [u1 + h * w2 * (2.0 * w1 + w2) - 2.0 * w1, u2 - h * w1 * w1 - 2.0 * w2]
            a1, a2 = np.linalg.solve(mass, load)
            w1, w2 = w1 + 0.25e-3 * a1, w2 + 0.25e-3 * a2
            t1, t2 = t1 + 0.25e-3 * w1, t2 + 0.25e-3 * w2
    return max(errors), math.sqrt(sum(e * e for e in errors) / len(errors))


@pytest.mark.long
def test_every_figure_is_within_its_bounds(result):
    assert [(row.name, row.measured, row.bound) for row in result.failed] == []


@pytest.mark.long
def test_no_experiment_is_left_out(result):
    names = " | ".join(row.name for row in result.rows)
    for case in CASES.values():
        assert f"{case.name}:" in names
    for words in (
        "250.0 mm/s",
        "166.7 mm/s",
        "held fast",
        "torque-limited",
        "pulse",
        "changes of the master",
        "lowest",
    ):
        assert words in names
    assert (
        sum(
            "domain, max" in row.name and row.unit == "mm" and row.low > -math.inf
            for row in result.rows
        )
        >= 16
    )


@pytest.mark.long
def test_figures_and_series_are_written(result, tmp_path):
    files = {
        path.name
        for path in result.write(tmp_path, "position_domain")
        + result.draw(tmp_path, "position_domain")
    }
    pictures = {f"position_domain_{name}.png" for name in ("contour_errors", "ratios", "ur5")}
    series = {f"position_domain_{name}.csv" for name in ("line", "rectangle", "diamond")}
    assert files == {"position_domain.csv"} | pictures | series


def test_the_line_is_what_the_formulae_give():
    run = drive(CASES["line"], "time")
    largest, rms = line_under_pd()
    assert run.max == pytest.approx(largest, rel=1e-5)
    assert run.rms == pytest.approx(rms, rel=1e-5)


@pytest.mark.parametrize("name", ["line", "circle", "diamond"])
def test_the_joints_way_is_the_contour_s(name):
    arm, move = TwoLink(), CASES[name].move
    way = JointPathOf(arm, move)
    for t in np.linspace(0.01, move.duration - 0.01, 40) + 0.3e-3:
        q, v, a = way(t)
        point, velocity, _ = move.at(t)
        assert arm.tip(q) == pytest.approx(point, abs=1e-9)
        assert arm.jacobian(q) @ v == pytest.approx(velocity, abs=1e-5)
        step = 1e-3
        assert a == pytest.approx((way(t + step)[1] - way(t - step)[1]) / (2.0 * step), abs=0.02)


@pytest.mark.long
def test_lag_matching_changes_masters_without_a_step_of_the_torque():
    runs = {domain: drive(CASES["diamond"], domain) for domain in DOMAINS}
    assert {run.switches for run in runs.values()} == {runs["time"].switches}
    assert runs["matched"].torque_step < 0.5
    assert runs["position"].torque_step > 5.0
