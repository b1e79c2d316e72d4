"""The dynamically consistent projector, by its properties."""

import numpy as np
import pytest
from arms import random_arm

from robot_control_ros.laws.impedance import REGULARISATION, project


def redundant(rng, n=8, rows=5):
    """Jacobian (rows, n) and inertia (n, n) of a random arm where the task's axes can
    be moved every way.
    """
    model = random_arm(n, n).model(rotor_inertia=[0.1] * n)
    while True:
        kin = model.at(rng.uniform(-3, 3, n))
        J = kin.jacobian[:rows]
        if np.linalg.svd(J, compute_uv=False)[-1] > 0.05:
            return J, kin.mass


def metric(torque, M):
    """Length of a torque by M⁻¹, in which the projection is orthogonal."""
    return np.sqrt(torque @ np.linalg.solve(M, torque))


def bound(J, M):
    """What the regularisation lets pass of a torque that should not, as a share of it."""
    return 1.01 * REGULARISATION / np.linalg.eigvalsh(J @ np.linalg.solve(M, J.T))[0]


@pytest.mark.parametrize(("n", "rows"), [(8, 6), (7, 6), (6, 3), (3, 2), (2, 1)])
def test_what_passes_does_not_accelerate_the_task(rng, n, rows):
    for _ in range(5):
        J, M = redundant(rng, n, rows)
        torque = rng.normal(size=n)
        before, after = (J @ np.linalg.solve(M, x) for x in (torque, project(torque, J, M)))
        assert np.linalg.norm(after) <= bound(J, M) * np.linalg.norm(before)


def test_projection_is_the_formula(rng):
    """1 - Jᵀ (J M⁻¹ Jᵀ)⁻¹ J M⁻¹."""
    for _ in range(5):
        J, M = redundant(rng)
        inverse, torque = np.linalg.inv(M), rng.normal(size=8)
        exact = torque - J.T @ np.linalg.inv(J @ inverse @ J.T) @ J @ inverse @ torque
        assert metric(project(torque, J, M) - exact, M) <= bound(J, M) * metric(torque, M)
        assert metric(exact, M) > 0.1 * metric(torque, M)


def test_projecting_twice_is_projecting_once(rng):
    for _ in range(5):
        J, M = redundant(rng)
        torque = rng.normal(size=8)
        once = project(torque, J, M)
        assert metric(project(once, J, M) - once, M) <= bound(J, M) * metric(torque, M)


def test_torque_of_a_force_at_the_task_is_removed(rng):
    for _ in range(5):
        J, M = redundant(rng)
        torque = J.T @ rng.normal(size=5)
        assert metric(project(torque, J, M), M) <= bound(J, M) * metric(torque, M)


def test_what_passes_is_no_larger_than_what_came(rng):
    for _ in range(10):
        J, M = redundant(rng)
        torque = rng.normal(size=8)
        assert metric(project(torque, J, M), M) <= metric(torque, M)


def test_without_a_task_everything_passes(rng):
    torque = rng.normal(size=4)
    np.testing.assert_array_equal(project(torque, np.zeros((0, 4)), np.eye(4)), torque)


def test_a_task_that_takes_all_joints_leaves_nothing(rng):
    J, M = redundant(rng, 6, 6)
    torque = rng.normal(size=6)
    assert metric(project(torque, J, M), M) <= bound(J, M) * metric(torque, M)


@pytest.mark.parametrize("rows", [2, 6])
def test_at_a_singularity_what_passes_stays_finite_and_no_larger(rng, rows):
    J, M = redundant(rng, 8, 6)
    J = J[:rows].copy()
    J[-1] = J[0]
    for off in (0.0, 1e-15, 1e-9, 1e-4):
        J[-1, 2] = J[0, 2] + off
        torque = rng.normal(size=8)
        passed = project(torque, J, M)
        assert metric(passed, M) <= metric(torque, M) * (1 + 1e-9)


def test_arguments_are_left_as_they_were(rng):
    J, M = redundant(rng)
    torque = rng.normal(size=8)
    kept = J.copy(), M.copy(), torque.copy()
    project(torque, J, M)
    for before, after in zip(kept, (J, M, torque), strict=True):
        np.testing.assert_array_equal(before, after)
