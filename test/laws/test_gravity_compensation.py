"""Gravity compensation: the formula, its energy, and an arm that floats in simulation."""

import numpy as np
import pytest
from arms import Chain, gradient, random_arm

from robot_control_ros.core.gains import make_gains
from robot_control_ros.core.types import CommandMode, Reference, RobotState
from robot_control_ros.laws.gravity_compensation import GravityCompensation
from robot_control_ros.simulation.in_process import Push, simulate


def law_at(kin, gains):
    law, n = GravityCompensation(), kin.model.n
    state = RobotState(0.0, kin.q, kin.v, np.zeros(n))
    law.reset(state, kin)
    command = law.compute(
        state, kin, Reference(), make_gains(GravityCompensation.Gains, gains, n), 0.001
    )
    assert command.mode is CommandMode.EFFORT
    return command.values, law.terms


@pytest.mark.parametrize("n", range(2, 9))
def test_torque_is_gravity_less_damping(rng, n):
    arm = random_arm(n, n, continuous=(0,))
    chain, damping = Chain(arm.urdf), rng.uniform(0, 50, n)
    kin = arm.model().at(rng.uniform(-3, 3, n), rng.uniform(-2, 2, n))
    weight = gradient(
        lambda x: chain.potential_energy(dict(zip(arm.joints, x, strict=True))), kin.q, 1e-3
    )
    torque, _ = law_at(kin, {"damping": damping})
    np.testing.assert_allclose(torque, weight - damping * kin.v, rtol=0, atol=1e-8)


def test_each_switch_adds_exactly_its_term(rng):
    model = random_arm(4, 5, friction=True).model()
    kin = model.at(rng.uniform(-3, 3, 5), rng.uniform(-2, 2, 5))
    plain, _ = law_at(kin, {})
    without_gravity, _ = law_at(kin, {"gravity": False})
    with_friction, terms = law_at(kin, {"friction": True})
    np.testing.assert_allclose(plain - without_gravity, kin.gravity, rtol=0, atol=1e-12)
    friction = model.viscous_friction * kin.v + model.dry_friction * np.tanh(kin.v / 0.01)
    np.testing.assert_allclose(with_friction - plain, friction, rtol=0, atol=1e-12)
    assert set(terms) == {"gravity", "damping", "friction"}
    np.testing.assert_allclose(sum(terms.values()), with_friction, rtol=0, atol=1e-12)


def test_the_models_own_gravity_torque_is_left_as_it_was(rng):
    kin = random_arm(4, 5).model().at(rng.uniform(-3, 3, 5), rng.uniform(-2, 2, 5))
    gravity = kin.gravity.copy()
    law_at(kin, {"friction": True, "damping": 3.0})
    np.testing.assert_array_equal(kin.gravity, gravity)


@pytest.mark.sim
def test_the_arm_floats_where_it_is_put(rng):
    for _ in range(3):
        q = rng.uniform(-3, 3, 6)
        log = simulate("ur5", "gravity_compensation", {"damping": 0.0}, q0=q, duration=0.5)
        np.testing.assert_allclose(log.q[-1], q, rtol=0, atol=1e-6)


@pytest.mark.sim
def test_the_arm_follows_the_hand_and_comes_to_rest_where_it_is_let_go():
    push = Push((10.0, 5.0, 10.0), duration=0.5)
    log = simulate(
        "ur5", "gravity_compensation", {"damping": 10.0}, push=push, duration=4.0, rate=500.0
    )
    moved = log.pose[:, :3, 3] - log.pose[0, :3, 3]
    assert moved[500] @ push.force > 0.1  # J: the hand did work
    assert np.linalg.norm(moved[-1]) > 0.02
    assert abs(log.v[-1]).max() < 1e-2
    assert abs(log.v[-1]).max() < 0.05 * abs(log.v).max()


@pytest.mark.sim
def test_kinetic_energy_only_falls_once_nothing_pushes(ur5_model):
    log = simulate(
        "ur5", "gravity_compensation", {"damping": 1.0}, push=Push((20.0, 10.0, 20.0), duration=0.2)
    )
    after = log.t > 0.21
    energies = np.array(
        [v @ ur5_model.mass(q) @ v / 2 for q, v in zip(log.q[after], log.v[after], strict=True)]
    )
    assert energies[0] > 0.1
    assert np.diff(energies).max() < 0.0
