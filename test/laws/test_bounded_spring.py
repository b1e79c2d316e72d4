"""The bounded spring: its potential, bounds and work; in the laws of the tip; and at a wall."""

import numpy as np
import pytest
from arms import gradient, random_arm
from scipy.integrate import quad
from scipy.optimize import minimize

from evidence.contact.spring_trials import rows, rows_of
from robot_control_ros.control.loop import ControlLoop
from robot_control_ros.core.gain_rows import Fade
from robot_control_ros.core.gains import make_gains
from robot_control_ros.core.spatial import make_pose, pose_error, pose_error_and_map, rotation_exp
from robot_control_ros.core.types import Reference, RobotState
from robot_control_ros.laws.impedance import Impedance
from robot_control_ros.laws.spring.bounded_spring import BoundedSpring
from robot_control_ros.laws.task_space_pd import TaskSpacePD
from robot_control_ros.robot.configuration import load_robot
from robot_control_ros.robot.model import RobotModel

LAWS = (Impedance, TaskSpacePD)


def diagonal(rng):
    return np.diag(rng.uniform(0.0, 1.0, 6) * (2000.0, 2000.0, 2000.0, 100.0, 100.0, 100.0))


def halves(rng):
    matrix = coupled(rng)
    matrix[:3, 3:] = matrix[3:, :3] = 0.0
    return matrix


def coupled(rng):
    root = np.repeat((30.0, 6.0), 3)[:, None] * rng.normal(size=(6, 6))
    return root @ root.T


def with_free_axes(rng):
    matrix = coupled(rng)
    free = rng.choice(6, 2, replace=False)
    matrix[free] = matrix[:, free] = 0.0
    return matrix


every_stiffness = pytest.mark.parametrize("stiffness", [diagonal, halves, coupled, with_free_axes])


def random_spring(rng, stiffness):
    bounds = rng.uniform(5.0, 50.0), rng.uniform(0.5, 5.0)
    return BoundedSpring(stiffness(rng), *bounds), bounds


def random_error(rng, size=0.5):
    return rng.uniform(-size, size, 6)


# --- the potential ---


@every_stiffness
def test_the_force_is_the_gradient_of_the_energy_and_within_its_bounds(rng, stiffness):
    for _ in range(40):
        spring, (force, torque) = random_spring(rng, stiffness)
        error = random_error(rng)
        pull = spring.gradient(error)
        np.testing.assert_allclose(
            pull, gradient(spring.energy, error, 1e-6), rtol=0, atol=1e-6 * np.abs(pull).max()
        )
        assert np.linalg.norm(pull[:3]) <= force * (1 + 1e-9)
        assert np.linalg.norm(pull[3:]) <= torque * (1 + 1e-9)


@every_stiffness
def test_the_energy_is_the_least_of_spring_and_slip(rng, stiffness):
    for _ in range(5):
        spring, (force, torque) = random_spring(rng, stiffness)
        error = random_error(rng, 0.2)

        def both(z, e=error, K=spring.stiffness, F=force, T=torque):
            return (e - z) @ K @ (e - z) / 2 + F * np.linalg.norm(z[:3]) + T * np.linalg.norm(z[3:])

        found = min(minimize(both, start, tol=1e-12).fun for start in (0.5 * error, 0.9 * error))
        assert spring.energy(error) == pytest.approx(found, rel=1e-5)


@every_stiffness
def test_within_the_bounds_it_is_stiffness_times_error(rng, stiffness):
    matrix = stiffness(rng)
    error = random_error(rng)
    pull = matrix @ error
    spring = BoundedSpring(
        matrix, 1.001 * np.linalg.norm(pull[:3]), 1.001 * np.linalg.norm(pull[3:])
    )
    np.testing.assert_allclose(spring.gradient(error), matrix.dot(error), rtol=0, atol=1e-11)
    assert 0.99 < spring.load < 1.0
    far = 1e3 * error
    np.testing.assert_allclose(
        BoundedSpring(matrix, 0.0, 0.0).gradient(far), matrix.dot(far), rtol=0, atol=1e-8
    )


@pytest.mark.parametrize(
    "stiffness", [diagonal, halves, pytest.param(coupled, marks=pytest.mark.long), with_free_axes]
)
def test_around_closed_loops_it_does_no_work(rng, stiffness):
    spring, _ = random_spring(rng, stiffness)
    sizes, phases = random_error(rng, 0.1), rng.uniform(0, 2 * np.pi, 6)

    def power(s):
        return spring.gradient(sizes * np.sin(s + phases)) @ (sizes * np.cos(s + phases))

    work, _ = quad(power, 0.0, 2 * np.pi, epsabs=2e-10, epsrel=0.0, limit=200)
    assert abs(work) < 1e-9


def test_without_a_potential_force_and_torque_are_scaled_to_their_bounds(rng):
    matrix, error = coupled(rng) + np.diag([100.0], 5), random_error(rng)
    pull, free = BoundedSpring(matrix, 10.0, 1.0).gradient(error), matrix @ error
    np.testing.assert_allclose(pull[:3], 10.0 * free[:3] / np.linalg.norm(free[:3]), rtol=1e-12)
    np.testing.assert_allclose(pull[3:], free[3:] / np.linalg.norm(free[3:]), rtol=1e-12)


# --- in the laws ---


def law_at(law, kin, reference, **gains):
    made, state = law(), RobotState(0.0, kin.q, kin.v, np.zeros(kin.model.n))
    made.reset(state, kin)
    made.compute(state, kin, reference, make_gains(law.Gains, gains, kin.model.n), 0.002)
    return made


@pytest.mark.parametrize("law", LAWS)
def test_the_spring_s_torque_is_the_gradient_by_the_joints(rng, law):
    model = random_arm(4, 6).model()
    gains = {
        "stiffness": [900.0, 400.0, 100.0, 40.0, 40.0, 40.0],
        "max_force": 20.0,
        "max_torque": 2.0,
    }
    spring = BoundedSpring(np.diag(gains["stiffness"]), 20.0, 2.0)
    for _ in range(5):
        kin = model.at(rng.uniform(-2, 2, 6))
        reference = make_pose(
            kin.pose[:3, 3] + rng.normal(size=3),
            rotation_exp(rng.normal(size=3)) @ kin.pose[:3, :3],
        )
        made = law_at(law, kin, Reference(reference), **gains)
        expected = -gradient(
            lambda q, goal=reference: spring.energy(pose_error(goal, model.at(q).pose)), kin.q, 1e-6
        )
        np.testing.assert_allclose(
            made.terms["stiffness"], expected, rtol=0, atol=1e-6 * np.abs(expected).max()
        )
        spring.gradient(pose_error(reference, kin.pose))
        assert made.spring_load == pytest.approx(spring.load, rel=1e-12)
        assert made.spring_load > 1.0


def test_the_load_that_is_told_ends_at_the_bound():
    robot = load_robot("ur5")
    loop = ControlLoop(robot, "impedance", {"max_force": 1.0})
    q = np.array(robot.home)
    for k in range(11):
        loop.tick(RobotState(0.002 * k, q + 0.02 * k, np.zeros(6), np.zeros(6)))
    assert loop.running.law.spring_load > 30.0
    assert loop.report().spring_load == 1.0


@pytest.mark.parametrize("law", LAWS)
def test_without_bounds_there_is_no_load(rng, law):
    kin = random_arm(4, 6).model().at(rng.uniform(-2, 2, 6))
    assert law_at(law, kin, Reference(np.eye(4))).spring_load == 0.0


@pytest.mark.parametrize("robot", ["ur5", "ur5e", "gen3"])
@pytest.mark.parametrize("law", LAWS)
def test_without_bounds_the_spring_is_the_plain_one(rng, law, robot):
    """Jᵀ [K d; Aᵀ K ρ], and of task_space_pd Jᵀ K e, as the laws had it before there
    were bounds and frames.
    """
    model = RobotModel.of(load_robot(robot))
    stiffness = rng.uniform(10.0, 900.0, 6)
    for _ in range(20):
        kin = model.at(rng.uniform(-2, 2, model.n))
        pose = make_pose(
            kin.pose[:3, 3] + rng.normal(size=3),
            rotation_exp(rng.normal(size=3)) @ kin.pose[:3, :3],
        )
        made = law_at(law, kin, Reference(pose), stiffness=stiffness, max_force=0.0, max_torque=0.0)
        error, turning = pose_error_and_map(pose, kin.pose)
        pull = stiffness * error if law is Impedance else np.diag(stiffness).dot(error)
        if law is Impedance:
            pull[3:] = turning.T.dot(pull[3:])
        np.testing.assert_allclose(
            made.terms["stiffness"], kin.jacobian.T.dot(pull), rtol=0, atol=1e-10
        )


@pytest.mark.parametrize(("old", "new"), [(30.0, 0.0), (0.0, 30.0), (30.0, 60.0), (0.0, 0.0)])
def test_a_bound_fades_by_its_inverse(old, new):
    start, end = (make_gains(Impedance.Gains, {"max_force": each}, 6) for each in (old, new))
    bounds = [Fade(start, end).at(fraction).max_force for fraction in np.linspace(0.0, 1.0, 11)]
    inverses = [1.0 / each if each else 0.0 for each in bounds]
    ends = [1.0 / each if each else 0.0 for each in (old, new)]
    np.testing.assert_allclose(inverses, np.linspace(*ends, 11), rtol=0, atol=1e-12)


# --- at a wall ---


@pytest.mark.few(1)
@pytest.mark.parametrize("governor", [True, False])
def test_a_blocked_arm_presses_with_the_bound_and_is_released_slowly(governor):
    assert [row for row in rows_of("ur5e", 0.25, 0.002, governor) if not row.holds] == []


@pytest.mark.long
@pytest.mark.parametrize("robot", ["ur5", "ur5e", "gen3"])
def test_every_trial_at_the_wall_holds(robot):
    assert [row for row in rows(robot) if not row.holds] == []
