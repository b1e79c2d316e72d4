"""The runs behind the objectives, against formulae: springs in series, lags, delays and noise."""

from dataclasses import replace

import numpy as np
import pytest
from refusals import refuses

pytest.importorskip("mujoco")

from robot_control_ros.laws.running_law import RunningLaw
from robot_control_ros.robot.model import RobotModel
from robot_control_ros.simulation.imperfect.imperfections import (
    CommandLine,
    Imperfections,
    LoadedFriction,
    ModelErrors,
    SensorNoise,
    TripLimits,
    load_imperfections,
)
from robot_control_ros.stability.stiffness_bound import stiffness_bound
from robot_control_ros.tuning.objectives import (
    BOUND,
    CONTOUR,
    PRESS,
    REST,
    STEP,
    objectives,
    objectives_of,
)
from robot_control_ros.tuning.runs import (
    DEPTH,
    IDEAL,
    RADIUS,
    STEP_SIZE,
    check_measurable,
    run_curve,
    run_figures,
    simulated_robot,
)

UR5 = simulated_robot("ur5")
PLANAR = simulated_robot("planar_two_link")
FREE = {"max_force": 0.0}  # the spring isn't bounded


def figures(robot, law, gains, arm, run, wall=0.0):
    found = run_figures(robot, law, gains, arm, run, wall)
    assert found.reason == ""
    return found.figures


@pytest.mark.sim
@pytest.mark.parametrize("wall", [1e3, 1e4, 1e5])
@pytest.mark.parametrize("stiffness", [500.0, 2000.0])
def test_a_wall_and_the_laws_spring_share_the_depth(stiffness, wall):
    pressed = figures(PLANAR, "impedance", {"stiffness": stiffness} | FREE, IDEAL, PRESS, wall)
    assert pressed["rest_force"] == pytest.approx(
        DEPTH * stiffness * wall / (stiffness + wall), rel=0.01
    )
    assert pressed["contact"] >= pressed["rest_force"]
    assert pressed["ripple"] < 0.01 * pressed["rest_force"]


@pytest.mark.sim
def test_a_stiffer_wall_takes_the_same_energy_and_none_is_made():
    """½ Λ v² = ½ F² / k: a soft law without damping comes to the wall at the same
    speed, whatever that is.
    """
    gains = {"stiffness": 50.0, "damping_ratio": 0.0} | FREE
    peaks = [
        figures(PLANAR, "impedance", gains, IDEAL, PRESS, wall)["contact"]
        for wall in (1e4, 1e5, 1e6)
    ]
    np.testing.assert_allclose(np.divide(peaks[1:], peaks[:-1]), np.sqrt(10.0), rtol=0.05)


@pytest.mark.sim
def test_a_stiff_law_follows_closer_than_a_soft_one_and_strikes_harder():
    soft, stiff = ({"stiffness": [value] * 3 + [50.0] * 3} for value in (200.0, 2000.0))
    arm = Imperfections(friction=LoadedFriction(coulomb=(1.0,)))
    tracks = [figures(UR5, "impedance", each, arm, CONTOUR)["track"] for each in (soft, stiff)]
    forces = [
        figures(UR5, "impedance", each, IDEAL, PRESS, 1e4)["contact"] for each in (soft, stiff)
    ]
    assert tracks[0] > 2.0 * tracks[1]
    assert forces[0] < forces[1]


@pytest.mark.sim
def test_an_unknown_payload_pulls_the_spring_down_by_its_weight():
    mass = 0.5
    stiffness = 1000.0
    gains = {"stiffness": [stiffness] * 3 + [100.0] * 3}
    arms = (IDEAL, Imperfections(model=ModelErrors(payload_mass=mass)))
    bare, loaded = (figures(UR5, "impedance", gains, arm, CONTOUR)["track"] for arm in arms)
    sag = 1e3 * 9.81 * mass / stiffness  # mm
    assert np.hypot(bare, 0.8 * sag) < loaded < bare + 1.2 * sag


@pytest.mark.sim
def test_an_underdamped_step_overshoots_by_the_formula_and_settles_later():
    """Of one mass: exp(-π ζ / √(1 - ζ²))."""
    ratio = 0.3
    gains = {"stiffness": 2000.0, "damping_ratio": ratio} | FREE
    low = figures(PLANAR, "impedance", gains, IDEAL, STEP)
    critical = figures(PLANAR, "impedance", gains | {"damping_ratio": 1.0}, IDEAL, STEP)
    expected = 100.0 * np.exp(-np.pi * ratio / np.sqrt(1.0 - ratio**2))
    assert low["overshoot"] == pytest.approx(expected, rel=0.15)
    assert critical["overshoot"] < 1.0
    assert critical["settling"] < low["settling"]


@pytest.mark.sim
def test_an_arm_that_friction_holds_does_not_settle():
    stuck = Imperfections(friction=LoadedFriction(coulomb=(200.0 * 2.0 * STEP_SIZE,)))
    assert figures(PLANAR, "impedance", {"stiffness": 200.0}, stuck, STEP)["settling"] == np.inf


@pytest.mark.sim
def test_noise_of_velocities_comes_through_the_damping_and_grows_with_it():
    """In joint space tau = -D q̇: the command has D times the noise, and 0 without any."""
    sigma = 1e-3
    arm = Imperfections(noise=SensorNoise(velocity=(sigma,)))
    gains = {"stiffness": 50.0, "damping_ratio": 0.0}
    for damping in (5.0, 10.0):
        noise = figures(UR5, "joint_impedance", gains | {"damping": damping}, arm, REST)["noise"]
        assert noise == pytest.approx(damping * sigma, rel=0.1)
    assert figures(UR5, "joint_impedance", gains, IDEAL, REST)["noise"] < 1e-9


@pytest.mark.sim
def test_a_sinking_arm_makes_no_noise():
    loaded = Imperfections(model=ModelErrors(payload_mass=0.5))
    noise = figures(UR5, "joint_impedance", {"stiffness": 20.0}, loaded, REST)["noise"]
    assert noise < 0.05 * 0.5 * 9.81


@pytest.mark.sim
def test_effort_grows_with_friction():
    arms = (IDEAL, Imperfections(friction=LoadedFriction(coulomb=(4.0,))))
    free, rubbed = (figures(UR5, "position_domain_pd", {}, arm, CONTOUR)["effort"] for arm in arms)
    assert rubbed > free


def test_the_margin_is_that_of_the_bound_and_falls_with_delay():
    late = Imperfections(commands=CommandLine(delay=0.004))
    later = Imperfections(commands=CommandLine(delay=0.008))
    margins = [figures(UR5, "impedance", {}, arm, BOUND)["margin"] for arm in (late, later)]
    running = RunningLaw(UR5, "impedance")
    kin = RobotModel.of(UR5).at(np.array(UR5.home))
    assert margins[0] == stiffness_bound(running, kin, 0.004, np.zeros(UR5.n)).factor
    assert margins[1] < margins[0]


@pytest.mark.sim
def test_a_trip_and_a_wall_that_is_not_reached_are_told():
    tripped = run_figures(
        UR5, "impedance", {}, Imperfections(trips=TripLimits(tip_velocity=0.05)), CONTOUR
    )
    assert tripped.reason
    assert not tripped.figures
    stuck = Imperfections(friction=LoadedFriction(coulomb=(100.0,)))
    away = run_figures(UR5, "impedance", {}, stuck, PRESS, 1e4)
    assert away.reason
    assert not away.figures


@pytest.mark.sim
@pytest.mark.parametrize("law", ["joint_pid", "admittance", "position_domain_pd"])
def test_other_commands_are_measured_too(law):
    for run, wall in ((STEP, 0.0), (CONTOUR, 0.0), (REST, 0.0)):
        assert all(
            np.isfinite(value) for value in figures(PLANAR, law, {}, IDEAL, run, wall).values()
        )


@pytest.mark.sim
def test_elastic_joints_press_on_a_wall():
    arm = replace(load_imperfections("like_ur5e"), trips=TripLimits())
    pressed = figures(UR5, "impedance", {"stiffness": [1000.0] * 3 + [50.0] * 3}, arm, PRESS, 1e4)
    assert 0.0 < pressed["rest_force"] < 1000.0 * DEPTH


@pytest.mark.sim
@pytest.mark.parametrize("name", ["ur5", "gen3", "planar_two_link"])
def test_impedance_is_measured_in_all_respects(name):
    check_measurable(simulated_robot(name), "impedance", objectives())


@pytest.mark.sim
@pytest.mark.parametrize(
    ("law", "objective"),
    [
        ("gravity_compensation", "track"),
        ("gravity_compensation", "margin"),
        ("joint_pid", "margin"),
    ],
)
def test_what_a_law_cannot_show_is_refused(law, objective):
    with refuses("objective", objective):
        check_measurable(UR5, law, objectives_of(f"noise,{objective}"))


@pytest.mark.sim
def test_what_an_arm_cannot_show_is_refused():
    line = replace(PLANAR, axes=(1, 0, 0, 0, 0, 0))
    check_measurable(line, "impedance", objectives_of("contact,settling"))
    with refuses("objective", "track"):
        check_measurable(line, "impedance", objectives_of("track"))
    turning = replace(UR5, axes=(0, 0, 0, 1, 1, 1))
    with refuses("objective", "contact"):
        check_measurable(turning, "impedance", objectives_of("contact"))
    stretched = replace(UR5, home=(0.0, -1.5708, 0.0, -1.5708, -1.5708, 0.0))
    with refuses("objective", "track"):
        check_measurable(stretched, "joint_impedance", objectives_of("track"))


@pytest.mark.sim
def test_curves_show_what_the_figures_measure():
    gains = {"stiffness": 500.0}
    wall = run_curve(PLANAR, "impedance", gains, IDEAL, PRESS, 1e4)
    assert wall.y.max() == figures(PLANAR, "impedance", gains, IDEAL, PRESS, 1e4)["contact"]
    assert wall.target is None
    circle = run_curve(PLANAR, "impedance", gains, IDEAL, CONTOUR)
    assert len(circle.x) == len(circle.y)
    np.testing.assert_allclose(np.hypot(*circle.target), 1e3 * RADIUS)
    track = figures(PLANAR, "impedance", gains, IDEAL, CONTOUR)["track"]
    away = np.abs(np.hypot(circle.x, circle.y) - 1e3 * RADIUS)
    assert np.sqrt((away**2).mean()) < track  # which has the lag as well
    step = run_curve(PLANAR, "impedance", gains, IDEAL, STEP)
    assert step.y[-1] == pytest.approx(1e3 * STEP_SIZE, rel=0.01)
    assert step.target[1][-1] == pytest.approx(1e3 * STEP_SIZE)
    with refuses("run", REST, ("step", "contour", "wall")):
        run_curve(PLANAR, "impedance", gains, IDEAL, REST)
