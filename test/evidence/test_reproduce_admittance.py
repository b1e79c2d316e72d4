"""The source's figures are met, and what measures them is right."""

import math

import numpy as np
import pytest

from evidence.reproduce import run_case
from evidence.reproduce.admittance_case import (
    CRITICAL,
    DAMPINGS,
    DT,
    FORCE,
    SERVOS,
    STEP_AT,
    arm,
    moved,
    translation,
    virtual_step,
)
from evidence.reproduce.literal_admittance import (
    MASS,
    STIFFNESS,
    TOOL,
    LiteralAdmittance,
    StiffJoints,
)
from robot_control_ros.core.gains import make_gains
from robot_control_ros.core.types import Reference, RobotState
from robot_control_ros.laws import law_names
from robot_control_ros.robot.configuration import load_robot
from robot_control_ros.robot.model import RobotModel
from robot_control_ros.simulation.in_process import Push

pytestmark = pytest.mark.sim

BENT = np.array([0.3, -1.2, 1.4, -1.0, -1.3, 0.5])


@pytest.fixture(scope="module")
def result():
    return run_case("admittance")


@pytest.fixture(scope="module")
def model():
    return RobotModel.of(load_robot("ur5"))


def test_a_push_along_x_moves_the_tip_by_force_over_stiffness():
    """One of the experiments, shorter: with critical damping 99 % are reached after 0.21 s."""
    log = arm(
        "admittance", translation(), "ideal servo", Push((FORCE, 0.0, 0.0), start=STEP_AT), 0.5
    )
    assert moved(log)[-1, 0] == pytest.approx(1000.0 * FORCE / STIFFNESS, rel=0.03)


@pytest.mark.long
def test_every_figure_of_the_source_is_met(result):
    assert [(row.name, row.measured, row.bound) for row in result.failed] == []


@pytest.mark.long
def test_no_experiment_is_left_out(result):
    names = " | ".join(row.name for row in result.rows)
    for servo in SERVOS:
        for axis in "xyz":
            for what in ("way", "peak to peak in the last second", "off-axis"):
                assert f"UR5, {servo}, 10 N along {axis}: {what}" in names
        assert f"UR5, {servo}: left of the way after a pulse of 1 s" in names
        assert f"UR5, {servo}: drift without a wrench in 6 s" in names
        for damping in DAMPINGS:
            for what in ("force", "tip", "force, peak to peak in the last second", "contact lost"):
                assert f"ball at x = 0.815 m, B = {damping:g}, {servo}: {what}" in names
    for words in (
        "95 % after",
        "overshoot",
        "tool first",
        "tool second",
        "J̇ q̇",
        "torque of 1 N·m",
        "stretch",
    ):
        assert words in names
    for words in (
        "B = 0: first peak",
        "B = 30: strays",
        "B = 63.2: strays",
        "B = 63.2, from the commanded state: way",
    ):
        assert f"literal form, {words}" in names


@pytest.mark.long
def test_figures_and_series_are_written(result, tmp_path):
    files = {
        path.name
        for path in result.write(tmp_path, "admittance") + result.draw(tmp_path, "admittance")
    }
    assert files == {
        "admittance.csv",
        "admittance_step.csv",
        "admittance_ball.csv",
        "admittance_step.png",
        "admittance_ball.png",
    }
    for columns in result.series.values():
        assert len({len(values) for values in columns.values()}) == 1
        assert all(np.isfinite(values).all() for values in columns.values())


def test_the_literal_form_can_not_be_picked_by_accident():
    assert not any("literal" in name.lower() for name in law_names())


def test_the_virtual_body_alone_is_the_critically_damped_oscillator():
    omega, fine = math.sqrt(STIFFNESS / MASS), 1e-5
    time, way = virtual_step(CRITICAL, fine, 0.3)
    exact = FORCE / STIFFNESS * (1.0 - (1.0 + omega * time) * np.exp(-omega * time))
    np.testing.assert_allclose(way, exact, rtol=0, atol=2e-3 * FORCE / STIFFNESS)
    assert time[np.argmax(way >= 0.95 * FORCE / STIFFNESS)] == pytest.approx(
        4.744 / omega, rel=2e-3
    )


def literal_step(model, feedback, damping, calls=400):
    """The literal form on joints that are at once where they are commanded: the tool's way
    along x [mm] (calls,).
    """
    law, q, v, x = LiteralAdmittance(), BENT, np.zeros(6), []
    gains = make_gains(LiteralAdmittance.Gains, {"feedback": feedback, "damping": damping}, 6)
    force = np.array([FORCE, 0, 0, 0, 0, 0])
    for k in range(calls):
        kin = model.at(q, v)
        state = RobotState(k * DT, q, v, np.zeros(6), None, force)
        if k == 0:
            law.reset(state, kin)
        x.append((kin.pose @ [*TOOL, 1.0])[0])
        command = law.compute(state, kin, Reference(), gains, DT)
        q, v = command.values, command.velocity
    return 1000.0 * (np.array(x) - x[0])


@pytest.mark.parametrize("feedback", ["measured", "commanded"])
@pytest.mark.parametrize("damping", [0.0, 63.2])
def test_the_literal_form_is_the_sources_on_ideal_joints(model, feedback, damping):
    """v += dt (f - B v - K x) / M, x += dt v, in one dimension: the tool accelerates
    as the formula says.
    """
    x, v, expected = 0.0, 0.0, []
    for _ in range(400):
        expected.append(1000.0 * x)
        v += DT * (FORCE - damping * v - STIFFNESS * x) / MASS
        x += DT * v
    np.testing.assert_allclose(literal_step(model, feedback, damping), expected, rtol=0, atol=0.1)


def test_the_stiff_joints_are_the_sources_pd(model, rng):
    q, v, q_c, v_c = rng.uniform(-1, 1, (4, 6))
    kin, gains = model.at(q, v), make_gains(StiffJoints.Gains, {}, 6)
    state = RobotState(0.0, q, v, np.zeros(6))
    torque = (
        StiffJoints().compute(state, kin, Reference(q=q_c, v=v_c, a=np.zeros(6)), gains, DT).values
    )
    kp, kd = np.array([1e5, 1e5, 1e5, 1e3, 1e3, 10]), np.array([50, 50, 50, 1, 1, 0.01])
    np.testing.assert_allclose(
        torque, kp * (q_c - q) + kd * (v_c - v) + model.bias(q, np.zeros(6)), rtol=0, atol=1e-8
    )
