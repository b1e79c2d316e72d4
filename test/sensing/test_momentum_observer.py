"""The momentum observer: its first-order response, and pushes on simulated arms."""

import math
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from arms import planar_arm, random_arm, slope

from robot_control_ros.core.types import Command, CommandMode, RobotState
from robot_control_ros.robot.configuration import load_robot
from robot_control_ros.robot.model import RobotModel
from robot_control_ros.sensing.momentum_observer import (
    MIN_SINGULAR_VALUE,
    MomentumObserver,
    wrench_from_torque,
)

MOUNT = ((0.3, -0.2, 0.7), (0.4, -1.1, 2.3))
ARMS = {
    "seven joints, two continuous": random_arm(1, 7, continuous=[0, 2], mount=MOUNT),
    "six joints": random_arm(2, 6),
    "three joints": random_arm(4, 3),
}


# --- the observer ---


def coriolis_transposed(model, q, v):
    """C(q, v)ᵀ v: the gradient of the kinetic energy by q."""
    return np.array(
        [float(slope(lambda h, u=u: 0.5 * v @ model.mass(q + h * u) @ v)) for u in np.eye(model.n)]
    )


def at_rest(model, q, external, time):
    """An arm held at rest against an external torque."""
    kin = model.update(q, np.zeros(model.n))
    return RobotState(time, q, np.zeros(model.n), kin.gravity - external, None), kin


@pytest.mark.parametrize("gain", [5.0, 50.0, 5000.0])
@pytest.mark.parametrize("dt", [0.001, 0.004])
def test_a_step_is_followed_with_the_time_constant_1_by_k_however_long_the_sample(gain, dt, rng):
    model, q = random_arm(1, 7).model(), rng.uniform(-2.0, 2.0, 7)
    external = rng.uniform(-5.0, 5.0, 7)
    observer = MomentumObserver()
    for k in range(50):
        state, kin = at_rest(model, q, external, k * dt)
        estimate = observer.update(state, kin, gain)
        expected = external * (1.0 - math.exp(-gain * k * dt))
        np.testing.assert_allclose(estimate, expected, rtol=0.0, atol=1e-9)


def motion(model, t):
    """A smooth motion: q, v, a (n,) at time t."""
    w = 1.0 + np.arange(model.n)
    return 0.3 * np.sin(w * t), 0.3 * w * np.cos(w * t), -0.3 * w * w * np.sin(w * t)


@pytest.mark.long
def test_it_is_the_observer_of_the_source(rng):
    """r = K [p - p(0) - ∫ (tau + Cᵀ v - g - friction + r) dt], integrated as written with a
    hundredth of the step.
    """
    model = random_arm(3, 6, friction=True).model()
    gain, dt, fine = 20.0, 0.002, 100

    def torques(t):
        q, v, a = motion(model, t)
        external = np.sin(3.0 * t + np.arange(6))
        dry = model.dry_friction * np.tanh(v / 0.01)
        friction = model.viscous_friction * v + dry
        return q, v, model.inverse_dynamics(q, v, a) + friction - external, friction

    q, v, _, _ = torques(0.0)
    start, integral, r = model.mass(q) @ v, np.zeros(6), np.zeros(6)
    observer, states = MomentumObserver(), []
    for k in range(100):
        effort = np.zeros(6)
        for i in range(fine if k else 0):
            t = ((k - 1) + (i + 0.5) / fine) * dt
            q, v, tau, friction = torques(t)
            effort += tau / fine
            drift = coriolis_transposed(model, q, v) - model.at(q).gravity - friction
            integral += dt / fine * (tau + drift + r)
            r = gain * (model.mass(q) @ v - start - integral)
        q, v, _, _ = torques(k * dt)
        observer.update(RobotState(k * dt, q, v, effort, None), model.update(q, v), gain)
        states.append(np.abs(observer.torque - r).max())
    assert np.abs(r).max() > 0.5
    assert max(states) < 0.01


def test_the_same_sample_twice_changes_nothing_and_a_reset_starts_from_zero(rng):
    model, q = random_arm(1, 6).model(), rng.uniform(-2.0, 2.0, 6)
    observer = MomentumObserver()
    for time in (0.0, 0.01, 0.01):
        estimate = observer.update(*at_rest(model, q, np.ones(6), time), 50.0).copy()
    np.testing.assert_allclose(estimate, 1.0 - math.exp(-0.5), rtol=1e-9)
    observer.reset()
    assert observer.time is None
    assert not any(observer.update(*at_rest(model, q, np.ones(6), 7.0), 50.0))


def test_efforts_that_are_no_numbers_give_none_and_change_nothing(rng):
    model, q = random_arm(1, 6).model(), rng.uniform(-2.0, 2.0, 6)
    observer, other = MomentumObserver(), MomentumObserver()
    for time in (0.0, 0.01, 0.02):
        state, kin = at_rest(model, q, np.ones(6), time)
        if time != 0.01:
            other.update(state, kin, 50.0)
            observer.update(state, kin, 50.0)
        else:
            assert observer.update(replace(state, effort=np.full(6, math.nan)), kin, 50.0) is None
    np.testing.assert_array_equal(observer.torque, other.torque)


def test_changing_the_gain_does_not_make_the_estimate_jump(rng):
    model, q = random_arm(1, 6).model(), rng.uniform(-2.0, 2.0, 6)
    observer = MomentumObserver()
    for k in range(2000):
        before = observer.torque
        observer.update(*at_rest(model, q, np.ones(6), 0.001 * k), 50.0 if k < 1000 else 500.0)
        if k > 990:
            assert np.abs(observer.torque - before).max() < 1e-6


# --- from torques to the wrench ---


def test_away_from_singularities_the_wrench_is_exact(ur5_model, rng):
    checked = 0
    for model in (ur5_model, ARMS["seven joints, two continuous"].model()):
        for _ in range(50):
            jacobian = model.at(rng.uniform(-2.0, 2.0, model.n)).jacobian
            lengths = jacobian * np.array([1.0, 1.0, 1.0, 0.3, 0.3, 0.3])[:, None]
            if np.linalg.svd(lengths)[1][-1] > MIN_SINGULAR_VALUE:
                wrench = rng.uniform(-10.0, 10.0, 6)
                np.testing.assert_allclose(
                    wrench_from_torque(jacobian, jacobian.T @ wrench), wrench, atol=1e-9
                )
                checked += 1
    assert checked > 30


def test_with_few_joints_the_torques_are_explained_by_the_smallest_wrench():
    model = planar_arm().model()
    kin = model.at(np.array([0.3, 0.7, -0.9]))
    wrench = np.array([5.0, -3.0, 0.0, 0.0, 0.0, 0.8])
    np.testing.assert_allclose(
        wrench_from_torque(kin.jacobian, kin.jacobian.T @ wrench), wrench, rtol=0.0, atol=1e-9
    )
    out_of_plane = np.array([0.0, 0.0, 9.0, 2.0, 1.0, 0.0])
    assert np.abs(kin.jacobian.T @ out_of_plane).max() < 1e-12


def stretched(bend):
    """Jacobian (6, 6) whose weakest singular value, lengths compared, is `bend`."""
    left = np.linalg.qr(np.random.default_rng(3).normal(size=(6, 6)))[0]
    right = np.linalg.qr(np.random.default_rng(4).normal(size=(6, 6)))[0]
    scaled = left @ np.diag([1.0, 0.8, 0.6, 0.5, 0.4, bend]) @ right.T
    return scaled / np.array([1.0, 1.0, 1.0, 0.3, 0.3, 0.3])[:, None], left[:, -1] * np.array(
        [1, 1, 1, 0.3, 0.3, 0.3]
    )


@pytest.mark.parametrize("bend", [0.0, 0.003, 0.01, 0.02, 0.03, 0.05])
def test_near_a_singularity_the_weakest_direction_is_damped_as_documented(bend):
    jacobian, weakest = stretched(bend)
    left = min(1.0, (bend / MIN_SINGULAR_VALUE) ** 2)
    estimate = wrench_from_torque(jacobian, jacobian.T @ weakest)
    np.testing.assert_allclose(estimate, left * weakest, rtol=0.0, atol=1e-9)


def test_through_a_singularity_the_wrench_is_continuous_and_bounded():
    torque = np.random.default_rng(5).normal(size=6)
    path = [wrench_from_torque(stretched(bend)[0], torque) for bend in np.linspace(-0.1, 0.1, 2001)]
    assert np.abs(np.diff(path, axis=0)).max() < 0.5
    assert np.abs(path).max() <= np.linalg.norm(torque) * (1.0 / MIN_SINGULAR_VALUE + 1.0)
    assert np.linalg.norm(wrench_from_torque(np.zeros((6, 6)), torque)) == 0.0


# --- on simulated arms ---


def estimates(
    robot,
    urdf=None,
    *,
    force=(0.0, 0.0, 0.0),
    gain=50.0,
    mode=CommandMode.EFFORT,
    start=0.5,
    lasting=0.5,
):
    """Moves an arm on sines, pushes its tip from `start` on; the estimates (k, 6) with times
    and joint velocities.
    """
    plants = pytest.importorskip("robot_control_ros.simulation.mujoco_plant", reason="needs MuJoCo")
    pytest.importorskip("mujoco")
    plant, model = plants.MujocoPlant(robot, urdf=urdf, rate=1000.0), RobotModel.of(robot, urdf)
    observer, home = MomentumObserver(), np.array(robot.home)
    w = 1.0 + np.arange(1, robot.n + 1) / robot.n
    times, wrenches, speeds = [], [], []
    for k in range(round((start + lasting) * 1000.0)):
        state = plant.read()
        if k == round(start * 1000.0):
            plant.push(robot.tip, np.array(force), np.zeros(3))
        kin = model.update(state.q, state.v)
        wrenches.append(wrench_from_torque(kin.jacobian, observer.update(state, kin, gain)))
        times.append(state.time)
        speeds.append(state.v)
        t = state.time
        q, v, a = (
            home + 0.3 * (1.0 - np.cos(w * t)),
            0.3 * w * np.sin(w * t),
            0.3 * w * w * np.cos(w * t),
        )
        if mode is CommandMode.EFFORT:
            wanted = a + 20.0 * (v - state.v) + 100.0 * (q - state.q)
            plant.write(Command(mode, model.inverse_dynamics(state.q, state.v, wanted)))
        else:
            plant.write(Command(mode, q))
    return SimpleNamespace(time=np.array(times), wrench=np.array(wrenches), v=np.array(speeds))


def robots():
    for name in ("ur5", "gen3"):
        yield pytest.param(name, marks=pytest.mark.sim)
    for name in ("seven joints, two continuous", "six joints"):
        yield pytest.param(name, marks=pytest.mark.sim)


def robot_of(name):
    if name in ARMS:
        arm = ARMS[name]
        return arm.config(), arm.urdf
    return load_robot(name), None


@pytest.mark.few(2)
@pytest.mark.parametrize("name", robots())
def test_a_moving_arm_that_nothing_touches_feels_nothing(name):
    log = estimates(*robot_of(name), lasting=1.0)
    assert np.abs(log.v).max() > 0.3
    assert np.linalg.norm(log.wrench[:, :3], axis=1).max() < 0.1
    assert np.linalg.norm(log.wrench[:, 3:], axis=1).max() < 0.02


@pytest.mark.few(3)
@pytest.mark.parametrize("name", robots())
@pytest.mark.parametrize("mode", [CommandMode.EFFORT, CommandMode.POSITION])
def test_a_push_on_a_moving_arm_is_estimated_within_5_percent_after_five_time_constants(name, mode):
    for force in 10.0 * np.eye(3):
        log = estimates(*robot_of(name), force=force, mode=mode, lasting=0.3)
        settled = log.wrench[log.time > 0.5 + 5.0 / 50.0]
        assert np.linalg.norm(settled[:, :3] - force, axis=1).max() < 0.5


@pytest.mark.sim
def test_the_push_rises_with_the_time_constant():
    for gain in (20.0, 100.0):
        log = estimates(load_robot("ur5"), force=(0.0, 0.0, 10.0), gain=gain, lasting=3.0 / gain)
        pushed = log.time > 0.5
        expected = 10.0 * (1.0 - np.exp(-gain * (log.time[pushed] - 0.5)))
        assert np.abs(log.wrench[pushed, 2] - expected).max() < 0.05


@pytest.mark.sim
def test_modelled_friction_is_not_taken_for_a_push_while_the_joints_turn():
    arm = random_arm(3, 6, friction=True)
    log = estimates(arm.config(), arm.urdf, mode=CommandMode.POSITION, start=1.2)
    settled = (log.time > 0.5) & (log.time < 1.2)
    assert np.abs(log.v[settled]).min() > 0.1
    assert np.linalg.norm(log.wrench[settled, :3], axis=1).max() < 0.1
