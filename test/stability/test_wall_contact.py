"""The bound for gains against a wall: against the sampled loop in closed form, as a
warning, and in simulation.
"""

import math
import warnings
from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from arms import robot_cases
from scipy.linalg import expm
from scipy.optimize import brentq

from evidence.__main__ import main
from evidence.stability.cells import Cell, default_body, least_contact_damping
from evidence.stability.press import DELAYS, LAWS, RATES, UNREACHED, Pressed, press
from robot_control_ros.cli.main import main as robot_control
from robot_control_ros.control.loop import ControlLoop
from robot_control_ros.core.types import RobotState, Wrench
from robot_control_ros.laws.running_law import RunningLaw
from robot_control_ros.robot.configuration import load_robot
from robot_control_ros.robot.model import RobotModel
from robot_control_ros.simulation.in_process import simulate
from robot_control_ros.simulation.mujoco_plant import SERVO_BANDWIDTH
from robot_control_ros.simulation.trouble import GainsWarning
from robot_control_ros.stability.wall_contact import RATIO, WALL, least_damping, usual_lag

LIGHT = {"mass": 2.0, "stiffness": 500.0, "damping_ratio": 1.0}  # B = 63 N·s/m
PARTS = 8  # of a period, in which the arm moves on


def contact_ratio(mass, damping, wall, period, delay, inertia, w=SERVO_BANDWIDTH):
    """The least damping ratio of the sampled loop: a body, its commands under way, and a
    servoed arm at a wall.
    """
    late = round(PARTS * delay / period)
    under_way = math.ceil(late / PARTS) + 1
    arm = np.zeros((4, 4))
    arm[0, 1], arm[1] = 1.0, (-(w**2) - wall / inertia, -2.0 * w, w**2, 2.0 * w)
    part = expm(arm * period / PARTS)[:2]

    def cycle(state):
        moved, (x, v), sent = state[:2], state[2:4], state[4:].reshape(under_way, 2)
        v = (mass * v - period * wall * moved[0]) / (mass + period * damping)
        x = x + period * v
        sent = np.vstack(([x, v], sent))
        for k in range(PARTS):
            moved = part @ np.concatenate((moved, sent[max(0, math.ceil((late - k) / PARTS))]))
        return np.concatenate((moved, (x, v), sent[:under_way].ravel()))

    columns = [cycle(column) for column in np.eye(4 + 2 * under_way)]
    multipliers = np.linalg.eigvals(np.array(columns).T)
    rates = np.log(multipliers[np.abs(multipliers) > 1e-9].astype(complex)) / period
    swinging = rates[np.abs(rates.imag) > 1.0]
    return float((-swinging.real / np.abs(swinging)).min(initial=1.0))


@pytest.mark.few(8)
@pytest.mark.parametrize(("mass", "inertia"), product((2.0, 10.0, 16.0), (1.2, 2.7, 6.1)))
@pytest.mark.parametrize(
    ("rate", "delay"), [(1000, 0.004), (500, 0.004), (125, 0.008), (125, 0.016)]
)
def test_the_bound_is_that_of_the_sampled_loop_or_somewhat_more(mass, inertia, rate, delay):
    arguments = WALL, 1.0 / rate, delay, inertia
    exact = brentq(lambda b: contact_ratio(mass, b, *arguments) - RATIO, 1.0, 3000.0)
    bound = float(least_damping(mass, delay + 0.5 / rate))
    assert 0.85 * exact < bound < 3.0 * exact


def test_a_stiffer_wall_or_more_delay_needs_more_damping():
    assert (
        least_damping(2.0, 0.004)
        < least_damping(2.0, 0.005)
        < least_damping(2.0, 0.005, 2.0 * WALL)
    )
    assert least_damping([2.0, 4.0], 0.004).shape == (2,)


# --- what gains are told ---


@pytest.mark.parametrize("name", robot_cases())
def test_the_defaults_of_every_robot_are_enough(name):
    robot = load_robot(name)
    law = RunningLaw(robot, "admittance")
    assert law.warning == ""
    gains = law.gains.current
    mass, damping = (each.diagonal()[:3] for each in (gains.mass, gains.virtual_damping))
    assert (damping >= least_damping(mass, usual_lag(robot.period))).all()


@pytest.mark.parametrize("name", ["ur5", "ur5e", "gen3"])
def test_the_defaults_have_the_mass_for_a_rigid_wall(name):
    """With the tip's inertia along each axis at home, and 4 ms of delay."""
    robot = load_robot(name)
    kin = RobotModel.of(robot).at(np.array(robot.home))
    mobility = np.diag(kin.jacobian @ np.linalg.solve(kin.mass, kin.jacobian.T))[:3]
    mass, _ = default_body(name)
    assert mass >= 1.75 * 2.0 / mobility.min() * SERVO_BANDWIDTH * 0.005  # M ≥ 1.75 (2 Λ w τ)


def test_gains_that_cannot_hold_are_taken_and_told_with_the_bound():
    law = RunningLaw(load_robot("ur5"), "admittance", LIGHT)
    assert law.gains.target.mass[0, 0] == 2.0
    least = float(least_damping(2.0, usual_lag(0.002)))
    for part in (
        "along x, y, z",
        "damping 63 N·s/m",
        f"at least {least:.0f}",
        "mass of 2 kg at 500 Hz",
    ):
        assert part in law.warning
    law.gains.set({"damping": least})
    assert law.warning == ""


def test_the_bound_counts_the_rate_and_the_axes_that_give_way():
    robot = load_robot("ur5")
    assert RunningLaw(robot.at_rate(2000.0), "admittance", LIGHT).warning == ""
    assert (
        "along y:"
        in RunningLaw(robot, "admittance", {**LIGHT, "selected_axes": [0, 1, 0, 1, 1, 1]}).warning
    )
    assert (
        RunningLaw(robot, "admittance", {**LIGHT, "selected_axes": [0, 0, 0, 1, 1, 1]}).warning
        == ""
    )
    assert RunningLaw(robot, "impedance").warning == ""


def test_the_loop_warns():
    robot = load_robot("ur5")
    for gains, warned in (({}, False), (LIGHT, True)):
        loop = ControlLoop(robot, "admittance", gains)
        wrench = Wrench(np.zeros(3), np.zeros(3), "tool0")
        loop.tick(RobotState(0.0, np.array(robot.home), np.zeros(6), np.zeros(6), wrench))
        assert bool(loop.warning) is warned


def test_stability_has_the_bound_for_the_robot_s_own_mass():
    cell = Cell("ur5", 500.0, 0.004, 0.0, 0.0, True, 0.0)
    mass, damping = default_body("ur5")
    assert least_contact_damping(cell) == pytest.approx(float(least_damping(mass, 0.005)))
    assert least_contact_damping(cell) < damping < least_contact_damping(replace(cell, delay=0.05))


@pytest.mark.sim
def test_a_simulation_warns_of_gains(capsys):
    pytest.importorskip("mujoco")
    with pytest.warns(GainsWarning, match="against a wall"):
        simulate("ur5", "admittance", LIGHT, duration=0.01, rate=500.0)
    with warnings.catch_warnings():
        warnings.simplefilter("error", GainsWarning)
        simulate("ur5", "admittance", duration=0.01, rate=500.0)
    settings = [f"--set={name}={value}" for name, value in LIGHT.items()]
    assert (
        robot_control(
            ["simulate", "--law", "admittance", "--seconds", "0.01", "--rate", "500", *settings]
        )
        == 0
    )
    assert "robot_control: warning: admittance: against a wall" in capsys.readouterr().err


# --- in simulation: 20 mm into a wall, at 0.1 m/s ---

LEAST_FORCE = 5.0  # N
CONDITIONS = list(product(RATES, DELAYS))
GENTLE = [law for law in LAWS if law != "joint_pid"]  # joint_pid has no compliance: safety stops it


def presses(pressed):
    return pressed.holds and pressed.rest > LEAST_FORCE


@pytest.mark.sim
def test_the_defaults_stay_in_contact_with_a_rigid_wall_where_light_gains_hammer():
    pytest.importorskip("mujoco")
    assert presses(press("ur5", "admittance", 500.0, 0.004))
    pressed = press("ur5", "admittance", 500.0, 0.004, gains=LIGHT)
    assert not pressed.holds
    assert pressed.losses > 10
    assert pressed.warning


@pytest.mark.few(1)
@pytest.mark.sim
@pytest.mark.parametrize(
    ("name", "law"),
    [
        ("ur5", "impedance"),
        ("gen3", "task_space_pd"),
        pytest.param("planar_two_link", "task_space_pd", marks=pytest.mark.long),
    ],
)
def test_laws_of_torque_stay_in_contact_with_late_commands(name, law):
    pytest.importorskip("mujoco")
    assert presses(press(name, law, 500.0, 0.004))


@pytest.mark.sim
def test_too_much_damping_for_late_commands_shakes_at_the_wall():
    pytest.importorskip("mujoco")
    pressed = press(
        "gen3", "task_space_pd", 500.0, 0.004, gains={"damping": [100.0] * 3 + [50.0] * 3}
    )
    assert not pressed.holds


@pytest.mark.sim
def test_a_law_that_does_not_give_way_is_stopped_and_says_why():
    pytest.importorskip("mujoco")
    assert "stands at" in press("ur5", "joint_pid", 500.0, 0.0).fault


@pytest.mark.parametrize(("failing", "status"), [("", 0), ("impedance", 1)])
def test_the_table_has_a_line_for_each_law_and_fails_where_nothing_was_said(
    failing, status, monkeypatch, capsys
):
    def pressed(name, law, rate, delay):
        return Pressed(name, law, rate, delay, 9 if law == failing else 0, 10.0, 0.0, "", "")

    monkeypatch.setattr("evidence.stability.press.press", pressed)
    assert main(["stability", "--wall", "--robot", "gen3"]) == status
    lines = capsys.readouterr().out.splitlines()[1:-1]
    assert [line.split()[:2] for line in lines] == [
        ["gen3", f"{law},"] for law in LAWS for _ in CONDITIONS for _ in ("losses", "force")
    ]


@pytest.mark.long
@pytest.mark.sim
@pytest.mark.parametrize(("rate", "delay"), CONDITIONS)
@pytest.mark.parametrize("name", robot_cases())
def test_every_law_of_every_robot_stays_in_contact(name, rate, delay):
    pytest.importorskip("mujoco")
    trials = [press(name, law, rate, delay) for law in GENTLE]
    if all(trial.fault == UNREACHED for trial in trials):
        pytest.skip(f"{name}: {UNREACHED} of config/scenes/wall.yaml")
    assert [trial for trial in trials if not trial.holds or trial.fault] == []
    assert press(name, "joint_pid", rate, delay).fault


@pytest.mark.long
@pytest.mark.sim
@pytest.mark.parametrize(("rate", "delay"), CONDITIONS)
@pytest.mark.parametrize("name", robot_cases())
def test_the_defaults_stay_in_contact_with_a_spring(name, rate, delay):
    pytest.importorskip("mujoco")
    assert presses(press(name, "admittance", rate, delay, wall=WALL))
