"""The largest stable stiffness: the search and the line against closed forms, the trials
against themselves.
"""

import csv
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import brentq

from evidence.options import FIGURES
from evidence.stability import FIGURE, ROBOTS, half_of_both_row, stability
from evidence.stability.cells import (
    CRITICAL,
    QUANTITIES,
    ROTATION,
    TRANSLATION,
    Cell,
    virtual_damping,
)
from evidence.stability.limits_page import page_text
from robot_control_ros.core.errors import ConfigError
from robot_control_ros.core.types import Command, CommandMode, RobotState
from robot_control_ros.robot.configuration import load_robot
from robot_control_ros.robot.model import RobotModel
from robot_control_ros.simulation.imperfect.delayed import DelayedPlant
from robot_control_ros.stability.stiffness_bound import TOLERANCE, largest_stable

pytestmark = pytest.mark.starts("a thread draws the progress")
SLOW, LATE = 125.0, 0.016  # Hz, s: few samples, and low limits


# --- the search ---


@pytest.mark.parametrize("limit", [1.0, 3.99, 4.0, 77.0, 900.0])
def test_the_result_is_stable_and_a_tenth_above_it_is_not(limit):
    tried = []

    def stable(value):
        tried.append(value)
        return value <= limit

    found = largest_stable(stable, 1.0, 1000.0)
    assert found in tried
    assert found <= limit < (1.0 + TOLERANCE) * found
    assert len(tried) < 14


def test_it_stops_below_the_first_failure_whatever_is_above():
    island = largest_stable(lambda value: value < 10.0 or value > 20.0, 1.0, 1000.0)
    assert island == pytest.approx(10.0, rel=TOLERANCE)
    assert island < 10.0


def test_the_ends_of_the_range_are_told():
    assert largest_stable(lambda value: False, 1.0, 1000.0) == 0.0
    assert largest_stable(lambda value: True, 1.0, 1000.0) == 1000.0


# --- search and line together: a mass held by spring and damper, whose limit is known ---


class Mass:
    """A mass under a force, integrated exactly, 8000 samples per second, pushed
    off at the beginning.
    """

    mass, rate = 3.0, 8000.0

    def __init__(self):
        self.x, self.v, self.force, self.samples = 0.0, 1.0, 0.0, 0

    def open(self):
        pass

    def close(self):
        pass

    def write(self, command):
        self.force = float(command.values[0])

    def read(self):
        if self.samples:
            h, a = 1.0 / self.rate, self.force / self.mass
            self.x, self.v = self.x + h * self.v + 0.5 * h * h * a, self.v + h * a
        self.samples += 1
        return RobotState(
            self.samples / self.rate, np.array([self.x]), np.array([self.v]), np.zeros(1)
        )


def mass_limit(rate, delay):
    """The stiffness that the search finds, with critical damping by design; 200 lags later
    little may be left.
    """
    lag = delay + 0.5 / rate

    def stable(stiffness):
        damping = 2.0 * np.sqrt(stiffness * Mass.mass)
        plant = DelayedPlant(Mass(), Mass.rate, rate=rate, delay=delay)
        speeds = []
        for _ in range(round(200.0 * lag * rate)):
            state = plant.read()
            speeds.append(abs(state.v[0]))
            plant.write(Command(CommandMode.EFFORT, -stiffness * state.q - damping * state.v))
        return max(speeds[-round(20.0 * lag * rate) :]) < 0.1

    slowest = Mass.mass * (0.1 / lag) ** 2
    return largest_stable(stable, slowest, 1e6 * slowest)


def sampled_limit(rate, periods):
    """The stiffness at which a root of the exactly sampled loop, late by whole periods p, leaves
    the unit circle.

    x⁺ = x + T v + T² u / 2, v⁺ = v + T u, u = -ω² x - 2 ω v of p periods ago. With w = ω T:
    z^p (z - 1)² + 2 w (z - 1) + w² (z + 1) / 2 = 0.
    """

    def largest_root(w):
        free = np.concatenate(([1.0, -2.0, 1.0], np.zeros(periods)))
        loop = np.polyadd(free, [2.0 * w + w * w / 2.0, -2.0 * w + w * w / 2.0])
        return np.abs(np.roots(loop)).max() - 1.0

    w = brentq(largest_root, 0.01, 3.0)
    return Mass.mass * (w * rate) ** 2


def continuous_limit(lag):
    """Gain 1 where the phase of (2 ω s + ω²) e^(-s lag) / s² is -pi: ω from the angle,
    frequency from the gain.
    """

    def excess(omega):
        crossing = brentq(
            lambda w: np.hypot(2.0 * omega * w, omega**2) / w**2 - 1.0, 0.1 * omega, 10.0 * omega
        )
        return np.arctan2(2.0 * crossing, omega) - crossing * lag

    return Mass.mass * brentq(excess, 1e-2 / lag, 10.0 / lag) ** 2


@pytest.mark.parametrize("rate", [100.0, 500.0])
def test_without_delay_the_held_command_sets_the_limit_of_a_mass(rate):
    assert sampled_limit(rate, 0) == pytest.approx(Mass.mass * rate**2)  # D T / m = 2
    assert mass_limit(rate, 0.0) == pytest.approx(sampled_limit(rate, 0), rel=TOLERANCE)


@pytest.mark.parametrize(("rate", "periods"), [(500.0, 1), (500.0, 2), (1000.0, 4)])
def test_with_a_delay_of_whole_periods_the_limit_is_where_a_root_leaves_the_circle(rate, periods):
    assert mass_limit(rate, periods / rate) == pytest.approx(
        sampled_limit(rate, periods), rel=TOLERANCE
    )


def test_a_delay_much_longer_than_the_period_acts_as_delay_and_half_a_period():
    lag = 0.008 + 0.5 / 4000.0
    assert mass_limit(4000.0, 0.008) == pytest.approx(continuous_limit(lag), rel=TOLERANCE)
    assert continuous_limit(lag) == pytest.approx(CRITICAL * Mass.mass / lag**2, rel=1e-6)


def test_an_eighth_of_a_period_of_delay_is_better_than_none_for_a_held_command():
    assert mass_limit(500.0, 0.00025) > 1.2 * mass_limit(500.0, 0.0)


# --- arms ---


@pytest.fixture(scope="module")
def home(request):
    robot = load_robot("ur5")
    return robot, np.array(robot.home)


@pytest.fixture(scope="module")
def rotation(home):
    """The largest stable rotational stiffness of the UR5 at home."""
    return largest_stable(lambda k: turns(home, k), ROTATION.lowest, ROTATION.highest)


def turns(home, stiffness, rate=SLOW, delay=LATE):
    from evidence.stability.trials import impedance_is_stable

    return impedance_is_stable(*home, rate, delay, 500.0, stiffness)


@pytest.mark.sim
class TestArm:
    """Of the UR5 at home."""

    @pytest.fixture(autouse=True)
    def _mujoco(self):
        pytest.importorskip("mujoco")

    def test_a_fifth_below_the_limit_is_stable_and_a_fifth_above_is_not(self, home, rotation):
        assert turns(home, 0.8 * rotation)
        assert not turns(home, 1.2 * rotation)

    def test_the_limit_is_that_of_the_lightest_axis_by_the_formula(self, home, rotation):
        robot, q = home
        model = RobotModel.of(robot)
        jacobian = model.at(q).jacobian[3:]
        mobility = jacobian @ np.linalg.inv(model.mass(q)) @ jacobian.T
        rule = continuous_limit(LATE + 0.5 / SLOW) / Mass.mass / np.linalg.eigvalsh(mobility).max()
        assert 0.8 * rule < rotation < 1.1 * rule

    def test_without_rotors_the_same_stiffness_is_not_stable(self, home, rotation):
        robot, q = home
        assert not turns((replace(robot, rotor_inertia=(0.0,) * 6), q), 0.8 * rotation)

    @pytest.mark.long
    def test_from_a_period_on_more_delay_allows_less(self, home, rotation):
        limits = [
            largest_stable(
                lambda k, d=delay: turns(home, k, delay=d), ROTATION.lowest, ROTATION.highest
            )
            for delay in (0.008, 0.012)
        ]
        assert limits[0] > limits[1] > rotation

    @pytest.mark.parametrize(
        ("share", "stable"), [(0.25, True), (0.5, True), (1.0, False), (1.2, False)]
    )
    def test_a_wall_may_be_nearly_as_stiff_as_the_virtual_damping_over_the_delay(
        self, home, share, stable
    ):
        from evidence.stability.trials import contact_is_stable

        assert virtual_damping() == pytest.approx(2.0 * np.sqrt(2.0 * 500.0))
        assert contact_is_stable(*home, SLOW, LATE, share * virtual_damping() / LATE) is stable


# --- what is written ---

CELLS = [
    Cell(robot, rate, delay, translation, 81.7, True, 0.0)
    for robot in ("ur5", "gen3")
    for rate in (500.0, 1000.0)
    for delay, translation in ((0.0, 10000.0), (0.016, 1999.0))
]


@pytest.mark.parametrize(
    ("value", "words"),
    [(0.0, "< 500"), (10000.0, "≥ 10000"), (1999.0, "1900"), (683.0, "680"), (700.0, "700")],
)
def test_a_result_is_given_in_two_digits_rounded_down(value, words):
    assert TRANSLATION.text(replace(CELLS[0], translation=value)) == words


def test_the_lag_is_delay_and_half_a_period():
    assert replace(CELLS[0], rate=500.0, delay=0.004).lag == pytest.approx(0.005)


def known_cell(name, rate, delay):
    """In place of the measurement: the cells above."""
    return next(
        cell for cell in CELLS if (cell.robot, cell.rate, cell.delay) == (name, rate, delay)
    )


@pytest.mark.long
def test_the_command_prints_and_writes_every_cell(tmp_path, monkeypatch, capsys):
    pytest.importorskip("matplotlib")
    module = "evidence.stability"
    monkeypatch.setattr(f"{module}.measure", known_cell)
    monkeypatch.setattr(f"{module}.RATES", (500.0, 1000.0))
    monkeypatch.setattr(f"{module}.DELAYS", (0.0, 0.016))
    page = tmp_path / "docs" / "stability.md"
    page.parent.mkdir()
    assert stability(["ur5", "gen3"], tmp_path / "out", page, workers=0) == 0
    printed = capsys.readouterr().out.splitlines()
    with (tmp_path / "out" / "stability.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == len(CELLS)
    for cell, row, line in zip(CELLS, rows, printed[1:], strict=False):
        assert (row["robot"], float(row["rate"]), float(row["delay"])) == (
            cell.robot,
            cell.rate,
            cell.delay,
        )
        assert line.split()[0] == cell.robot
        for quantity in QUANTITIES:
            assert float(row[quantity.name]) == quantity.of(cell)
            assert quantity.text(cell) in line
    text = page.read_text(encoding="utf-8")
    assert "| 500 Hz | ≥ 10000 | 1900 |" in text
    assert f"in {len(CELLS)} of the {len(CELLS)} cells" in text
    assert f"]({FIGURES}/{FIGURE})" in text
    for figure in (page.parent / FIGURES / FIGURE, tmp_path / "out" / FIGURE):
        assert figure.read_bytes()[1:4] == b"PNG"


def test_the_page_in_the_repository_has_the_text_of_today_and_every_robot():
    root = Path(__file__).resolve().parents[2]
    page = root / "evidence" / "stability" / "README.md"
    text = page.read_text(encoding="utf-8")
    before, after = page_text([], Path(FIGURES, FIGURE)).split("0 of the 0 cells")
    assert re.match(re.escape(before) + r"\d+ of the \d+ cells" + re.escape(after), text), (
        "run the command of the page"
    )
    assert re.findall(r"^## (\w+)$", text, re.MULTILINE)[-len(ROBOTS) :] == list(ROBOTS)
    assert f"--page {page.relative_to(root)}\n" in text
    assert (page.parent / FIGURES / FIGURE).is_file()


@pytest.mark.parametrize("stable", [True, False])
def test_half_of_both_stiffnesses_must_be_stable_in_each_cell(stable):
    cells = [*CELLS, replace(CELLS[0], half_of_both=stable)]
    assert half_of_both_row(cells).holds is stable


def test_an_arm_with_fewer_axes_is_refused():
    with pytest.raises(
        ConfigError,
        match="planar_two_link: stability is measured where the tip moves along all six",
    ):
        stability(["planar_two_link"], None)
