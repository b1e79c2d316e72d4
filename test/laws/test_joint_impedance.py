"""The joint impedance law against formulae written out here, its energy, its
symmetries, and in simulation.
"""

from dataclasses import replace

import numpy as np
import pytest
from arms import Chain, gradient, random_arm, slope
from joint_moves import JointMove

from robot_control_ros.core.errors import ConfigError
from robot_control_ros.core.gains import make_gains
from robot_control_ros.core.types import CommandMode, Reference, RobotState
from robot_control_ros.laws.joint_impedance import JointImpedance
from robot_control_ros.references import Hold
from robot_control_ros.robot.configuration import load_robot
from robot_control_ros.robot.model import RobotModel
from robot_control_ros.simulation.in_process import Push, simulate

SIZES = range(1, 9)
ROTOR = 0.1


def law_at(kin, q_ref, v_ref=None, a_ref=None, **gains):
    """The torque and its terms of a fresh law."""
    law, n = JointImpedance(), kin.model.n
    state = RobotState(0.0, kin.q, kin.v, np.zeros(n))
    law.reset(state, kin)
    v_ref, a_ref = (np.zeros(n) if given is None else given for given in (v_ref, a_ref))
    command = law.compute(
        state, kin, Reference(q=q_ref, v=v_ref, a=a_ref), make_gains(law.Gains, gains, n), 0.001
    )
    assert command.mode is CommandMode.EFFORT
    return command.values, law.terms


def arm_of(n, **options):
    return random_arm(n, n, continuous=(0,), **options)


def mechanics(arm, rotor=ROTOR):
    """Mass matrix (n, n) and weight (n,) as functions of q, without a robotics library."""
    chain = Chain(arm.urdf)

    def named(q):
        return dict(zip(arm.joints, q, strict=True))

    def mass(q):
        return chain.mass_matrix(named(q)) + rotor * np.eye(arm.n)

    def weight(q):
        return gradient(lambda x: chain.potential_energy(named(x)), q, 1e-3)

    return mass, weight


def coriolis_matrix(mass, q, v):
    """C(q, v) of the Christoffel symbols, C_ij = Σ_k (∂M_ij/∂q_k + ∂M_ik/∂q_j -
    ∂M_jk/∂q_i) v_k / 2.
    """
    D = gradient(mass, q, 1e-4)  # [i, j, k] = ∂M_ij/∂q_k
    return 0.5 * (D @ v + np.einsum("ikj,k->ij", D, v) - np.einsum("jki,k->ij", D, v))


def random_motion(rng, n, near=0.5):
    q = rng.uniform(-3, 3, n)
    return q, q + rng.uniform(-near, near, n), *rng.uniform(-1.5, 1.5, (3, n))


# --- the formula ---


@pytest.mark.few(3)
@pytest.mark.parametrize("n", SIZES)
def test_torque_is_the_formula_of_the_docstring(rng, n):
    arm = arm_of(n)
    model, (mass, weight) = arm.model(rotor_inertia=[ROTOR] * n), mechanics(arm)
    q, q_ref, v, v_ref, a_ref = random_motion(rng, n)
    K, ratio, D0 = rng.uniform(0, 300, n), rng.uniform(0, 2, n), rng.uniform(0, 20, n)
    M, C = mass(q), coriolis_matrix(mass, q, v)
    D = D0 + 2 * ratio * np.sqrt(K * np.diag(M))
    expected = K * (q_ref - q) + D * (v_ref - v) + M @ a_ref + C @ v_ref + weight(q)
    torque, terms = law_at(
        model.at(q, v), q_ref, v_ref, a_ref, stiffness=K, damping_ratio=ratio, damping=D0
    )
    np.testing.assert_allclose(torque, expected, rtol=0, atol=1e-6)
    np.testing.assert_allclose(sum(terms.values()), torque, rtol=0, atol=1e-9)


def test_each_switch_adds_exactly_its_term(rng):
    model = arm_of(5, friction=True).model()
    q, q_ref, v, v_ref, a_ref = random_motion(rng, 5)
    kin = model.at(q, v)
    plain, _ = law_at(kin, q_ref, v_ref, a_ref)
    without_gravity, terms = law_at(kin, q_ref, v_ref, a_ref, gravity=False)
    np.testing.assert_allclose(plain - without_gravity, kin.gravity, rtol=0, atol=1e-9)
    without_motion, terms = law_at(kin, q_ref, v_ref, a_ref, feedforward=False)
    assert set(terms) == {"stiffness", "damping", "gravity"}
    with_friction, terms = law_at(kin, q_ref, v_ref, a_ref, friction=True)
    friction = model.viscous_friction * v + model.dry_friction * np.tanh(v / 0.01)
    np.testing.assert_allclose(with_friction - plain, friction, rtol=0, atol=1e-9)
    assert abs(terms["feedforward"]).max() > 0.1
    np.testing.assert_allclose(plain - without_motion, terms["feedforward"], rtol=0, atol=1e-9)


def test_a_reference_at_rest_needs_no_feed_forward(rng):
    q, q_ref, v, _, _ = random_motion(rng, 6)
    kin = arm_of(6).model().at(q, v)
    np.testing.assert_array_equal(law_at(kin, q_ref)[0], law_at(kin, q_ref, feedforward=False)[0])


def test_a_steady_reference_is_fed_forward_as_well_as_one_that_speeds_up(rng):
    q, _, v, v_ref, a_ref = random_motion(rng, 6)
    kin = arm_of(6).model().at(q, v)
    both, steady, starting = (
        law_at(kin, q, *motion)[1]["feedforward"]
        for motion in ((v_ref, a_ref), (v_ref,), (None, a_ref))
    )
    assert abs(steady).max() > 0.01
    np.testing.assert_allclose(steady + starting, both, rtol=0, atol=1e-9)


@pytest.mark.parametrize("n", SIZES)
def test_on_its_reference_the_torque_is_that_of_inverse_dynamics(rng, n):
    model = arm_of(n).model(rotor_inertia=[ROTOR] * n)
    q, _, v, _, a = random_motion(rng, n)
    torque, _ = law_at(model.at(q, v), q, v, a)
    np.testing.assert_allclose(torque, model.mass(q) @ a + model.bias(q, v), rtol=0, atol=1e-9)


def test_damping_has_the_ratio_in_each_joint_while_the_others_stand_still(rng):
    model = arm_of(6).model(rotor_inertia=[ROTOR] * 6)
    q = rng.uniform(-3, 3, 6)
    K, inertia = 150.0, np.diag(model.mass(q))
    for ratio in (0.3, 0.7, 1.0):
        for j, unit in enumerate(np.eye(6)):
            torque, _ = law_at(model.at(q, unit), q, stiffness=K, damping_ratio=ratio)
            D = -(torque - model.at(q).gravity)[j]
            poles = np.roots([inertia[j], D, K])
            np.testing.assert_allclose(-poles.real / abs(poles), ratio, rtol=1e-6)


# --- energy ---


@pytest.mark.few(4)
@pytest.mark.parametrize("n", range(2, 9))
@pytest.mark.parametrize("moving", [False, True])
def test_the_energy_about_the_reference_changes_by_damping_and_outer_torques_alone(rng, n, moving):
    """d/dt (ėᵀ M ė / 2 + eᵀ K e / 2) = -ėᵀ D ė - ėᵀ tau_ext, differentiated along the
    motion of an exact arm.
    """
    arm = random_arm(n, n)
    model, (mass, _) = arm.model(rotor_inertia=[ROTOR] * n), mechanics(arm)
    q, q_ref, v, v_ref, a_ref = random_motion(rng, n)
    if not moving:
        v_ref, a_ref = np.zeros((2, n))
    K, ratio, outer = rng.uniform(50, 300, n), rng.uniform(0, 2, n), rng.uniform(-10, 10, n)
    torque, _ = law_at(model.at(q, v), q_ref, v_ref, a_ref, stiffness=K, damping_ratio=ratio)
    a = np.linalg.solve(model.mass(q), torque + outer - model.bias(q, v))

    def energy(t):
        e, slip = q_ref - q + t * (v_ref - v) + t**2 / 2 * (a_ref - a), v_ref - v + t * (a_ref - a)
        inertia = mass(q + t * v + t**2 / 2 * a)
        return slip @ inertia @ slip / 2 + e @ (K * e) / 2

    slip = v_ref - v
    expected = -slip @ (2 * ratio * np.sqrt(K * np.diag(model.mass(q))) * slip) - slip @ outer
    assert slope(energy, 1e-4) == pytest.approx(expected, rel=1e-6, abs=1e-6)


@pytest.mark.sim
def test_the_energy_of_a_pushed_arm_only_falls_once_nothing_pushes(ur5, ur5_model):
    gains = {"stiffness": 50.0, "damping_ratio": 0.5}
    log = simulate(
        ur5, "joint_impedance", gains, push=Push((30.0, 20.0, 30.0), duration=0.3), duration=4.0
    )
    after, home = log.t > 0.31, np.array(ur5.home)
    energies = np.array(
        [
            v @ ur5_model.mass(q) @ v / 2 + (q - home) @ (50.0 * (q - home)) / 2
            for q, v in zip(log.q[after], log.v[after], strict=True)
        ]
    )
    assert energies[0] > 0.1
    assert np.diff(energies).max() < 1e-6 * energies[0]
    assert energies[-1] < 1e-3 * energies[0]


# --- properties ---


def test_at_rest_on_its_reference_it_only_carries_the_weight(rng):
    for n in SIZES:
        kin = arm_of(n).model().at(rng.uniform(-3, 3, n))
        np.testing.assert_allclose(law_at(kin, kin.q)[0], kin.gravity, rtol=0, atol=1e-12)
        np.testing.assert_allclose(law_at(kin, kin.q, gravity=False)[0], 0.0, rtol=0, atol=1e-12)


def test_cyclic_joints_take_the_short_way_and_the_others_the_way_that_is_there(rng):
    model = arm_of(4).model()  # the first joint turns without end
    q = rng.uniform(-1, 1, 4)
    for turns in (-2, 1, 3):
        _, terms = law_at(model.at(q), q + 0.1 + 2 * np.pi * turns, stiffness=10.0)
        expected = np.array([1.0, *[1.0 + 20 * np.pi * turns] * 3])
        np.testing.assert_allclose(terms["stiffness"], expected, rtol=0, atol=1e-9)


def test_the_order_of_the_joints_does_not_matter(rng):
    arm, order = arm_of(5), [3, 0, 4, 2, 1]
    plain, other = arm.model(), arm.model([arm.joints[j] for j in order])
    q, q_ref, v, v_ref, a_ref = random_motion(rng, 5)
    K = rng.uniform(10, 300, 5)
    expected, _ = law_at(plain.at(q, v), q_ref, v_ref, a_ref, stiffness=K)
    torque, _ = law_at(
        other.at(q[order], v[order]), q_ref[order], v_ref[order], a_ref[order], stiffness=K[order]
    )
    np.testing.assert_allclose(torque, expected[order], rtol=0, atol=1e-9)


@pytest.mark.parametrize("n", SIZES)
def test_every_torque_is_finite(rng, n):
    model = arm_of(n).model()
    for scale in (0.0, 1e-9, 1.0, 1e3):
        for gains in (
            {},
            {"stiffness": 0.0},
            {"stiffness": 5000.0, "damping_ratio": 2.0, "friction": True},
        ):
            q, q_ref, v, v_ref, a_ref = scale * rng.uniform(-1, 1, (5, n))
            assert np.isfinite(law_at(model.at(q, v), q_ref, v_ref, a_ref, **gains)[0]).all()


def test_the_models_own_gravity_torque_is_left_as_it_was(rng):
    q, q_ref, v, v_ref, a_ref = random_motion(rng, 5)
    kin = arm_of(5).model().at(q, v)
    gravity = kin.gravity.copy()
    law_at(kin, q_ref, v_ref, a_ref, friction=True)
    np.testing.assert_array_equal(kin.gravity, gravity)


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"stiffness": -1.0}, r"stiffness = -1: must be within \[0, 5000\] N·m/rad"),
        ({"stiffness": [1, 2, 3, 4, 5001, 6]}, r"stiffness\[4\] = 5001: must be within"),
        ({"damping_ratio": 2.5}, r"damping_ratio = 2\.5: must be within \[0, 2\]"),
        ({"damping": np.inf}, r"damping = inf: must be within \[0, 500\] N·m·s/rad"),
        ({"feedforward": 0.5}, r"feedforward = 0\.5: it is a switch"),
    ],
)
def test_gains_out_of_bounds_are_refused(values, words):
    with pytest.raises(ConfigError, match=words):
        make_gains(JointImpedance.Gains, values, 6)


def test_gravity_is_left_to_a_robot_that_compensates_it():
    with pytest.raises(ConfigError, match="compensates gravity itself"):
        simulate(by_robot(), "joint_impedance", {"gravity": True}, duration=0.01)


def by_robot():
    ur5 = load_robot("ur5")
    return replace(ur5, profile=replace(ur5.profile, gravity_by_robot=True))


# --- in simulation ---


@pytest.mark.sim
@pytest.mark.parametrize("rate", [500.0, pytest.param(1000.0, marks=pytest.mark.long)])
@pytest.mark.parametrize("name", [pytest.param("ur5", marks=pytest.mark.long), "gen3"])
def test_with_an_exact_model_a_move_is_followed_exactly(name, rate):
    robot = load_robot(name)
    model, home = RobotModel.of(robot), np.array(robot.home)
    goal = home + np.array([0.8, -0.4, 0.6, -0.7, 0.5, 1.0, -0.6])[: robot.n]
    move = JointMove(model, home, goal, 0.0, 0.5 * model.limits.velocity)
    error = {}
    for feedforward in (True, False):
        log = simulate(
            robot,
            "joint_impedance",
            {"feedforward": feedforward},
            move,
            duration=move.end + 0.5,
            rate=rate,
        )
        error[feedforward] = abs(np.array([move.sample(t).q for t in log.t]) - log.q).max()
    assert error[True] < 1e-3
    assert error[True] < 0.2 * error[False]


@pytest.mark.sim
def test_a_constant_push_deflects_each_joint_by_its_torque_over_its_stiffness(ur5):
    K, force = np.array([300.0, 300.0, 200.0, 100.0, 80.0, 50.0]), np.array([20.0, -10.0, 15.0])
    log = simulate(
        ur5, "joint_impedance", {"stiffness": K}, push=Push(force), duration=4.0, rate=500.0
    )
    kin = RobotModel.of(ur5).at(log.q[-1])
    np.testing.assert_allclose(
        K * (log.q[-1] - ur5.home), kin.jacobian[:3].T @ force, rtol=0, atol=1e-3
    )


@pytest.mark.sim
@pytest.mark.parametrize("rate", [500.0, pytest.param(1000.0, marks=pytest.mark.long)])
def test_with_its_defaults_a_ur5_stays_bounded_when_the_target_jumps_and_when_it_is_pushed(
    ur5, ur5_model, rate
):
    home = np.array(ur5.home)
    goal = home + 0.5 * np.array([1.0, -1.0, 1.0, 1.0, 1.0, 1.0])
    jump, push = Hold(ur5_model.at(goal).pose, goal), Push((30.0, 20.0, -30.0), duration=0.5)
    log = simulate(ur5, "joint_impedance", reference=jump, push=push, duration=5.0, rate=rate)
    assert abs(log.q - home).max() < 1.0
    np.testing.assert_allclose(log.q[-1], goal, rtol=0, atol=1e-3)
