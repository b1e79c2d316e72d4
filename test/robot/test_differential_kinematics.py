"""Joint velocities for a twist, exact where the arm can and bounded where it can't."""

import numpy as np
import pytest
from arms import arm_of_the_package, planar_arm, random_arm, robot_cases

from robot_control_ros.robot.configuration import load_robot
from robot_control_ros.robot.differential_kinematics import (
    DAMPING,
    ROTATION_LENGTH,
    SMALLEST,
    TRACKING,
    DifferentialKinematics,
)

SCALE = np.array([1.0, 1.0, 1.0, ROTATION_LENGTH, ROTATION_LENGTH, ROTATION_LENGTH])
every_robot = pytest.mark.parametrize("name", robot_cases())


def smallest_singular_value(kin, axes):
    return np.linalg.svd((axes * SCALE)[:, None] * kin.jacobian, compute_uv=False)[
        int(min(sum(axes), kin.model.n)) - 1
    ]


@every_robot
def test_away_from_singularities_the_tip_moves_as_wanted(rng, name):
    model, axes, lower, upper = arm_of_the_package(name)
    found = 0
    while found < 50:
        kin = model.at(rng.uniform(lower, upper))
        if smallest_singular_value(kin, axes) < SMALLEST:
            continue
        found += 1
        twist = rng.uniform(-1.0, 1.0, 6)
        v = DifferentialKinematics(axes).velocities(kin, twist)
        assert axes * (kin.jacobian @ v) == pytest.approx(axes * twist, abs=1e-5)


@every_robot
def test_the_velocities_are_the_smallest_that_do(rng, name):
    """The pseudo-inverse, written out, where nothing is damped."""
    model, axes, lower, upper = arm_of_the_package(name)
    found = 0
    while found < 20:
        kin = model.at(rng.uniform(lower, upper))
        if smallest_singular_value(kin, axes) < SMALLEST:
            continue
        found += 1
        twist, weight = rng.uniform(-1.0, 1.0, 6), axes * SCALE
        expected = np.linalg.pinv(weight[:, None] * kin.jacobian) @ (weight * twist)
        assert DifferentialKinematics(axes).velocities(kin, twist) == pytest.approx(
            expected, abs=1e-4
        )


@every_robot
def test_near_singularities_velocities_are_bounded(name):
    """A damped inverse is at most max σ / (σ² + λ²): 1 / ε outside the damped region,
    and 1 / 2λ inside it.
    """
    model, axes, lower, upper = arm_of_the_package(name)
    rng = np.random.default_rng(3)
    home = np.array(load_robot(name).home)
    stretched = np.where(np.arange(model.n) == 0, home, 0.0)
    configurations = [np.zeros(model.n), stretched] + [stretched + 10.0**-k for k in range(1, 12)]
    configurations += list(rng.uniform(lower, upper, (200, model.n)))
    sigma = np.linspace(0.0, SMALLEST, 10001)
    bound = (sigma / (sigma**2 + DAMPING**2 * (1.0 - (sigma / SMALLEST) ** 2) + 1e-16)).max()
    assert bound < 20.0  # rad per m
    for q in configurations:
        for twist in np.vstack((np.eye(6), rng.uniform(-1.0, 1.0, (5, 6)))):
            v = DifferentialKinematics(axes).velocities(model.at(q), twist)
            assert np.linalg.norm(v) <= 1.001 * bound * np.linalg.norm(axes * SCALE * twist)


def test_velocities_are_continuous_through_a_singularity():
    model, axes, _, _ = arm_of_the_package("ur5")
    kinematics, home = DifferentialKinematics(axes), np.array(load_robot("ur5").home)
    wrist = np.array([0.0, 0.0, 0.0, 0.0, 1.0, 0.0])  # wrist_2 = 0 is singular
    twist = np.array([0.1, -0.2, 0.1, 0.3, 0.2, -0.1])
    for step, largest in ((1e-3, 0.1), (1e-4, 0.01), (1e-5, 0.001)):
        angles = np.arange(-300, 301) * step
        path = np.array(
            [kinematics.velocities(model.at(home * (1 - wrist) + a * wrist), twist) for a in angles]
        )
        assert np.abs(np.diff(path, axis=0)).max() < largest


@pytest.mark.few(1)
@pytest.mark.parametrize("n", [7, 8])
def test_the_null_space_does_not_move_the_tip(rng, n):
    found = 0
    for seed in range(200):
        model = random_arm(seed, n).model()
        kin = model.at(rng.uniform(-3.0, 3.0, n))
        if smallest_singular_value(kin, np.ones(6)) < SMALLEST:
            continue
        found += 1
        posture_rate, twist = rng.uniform(-1.0, 1.0, n), rng.uniform(-1.0, 1.0, 6)
        v = DifferentialKinematics().velocities(kin, twist, posture_rate)
        assert kin.jacobian @ v == pytest.approx(twist, abs=1e-4)
        plain = DifferentialKinematics().velocities(kin, twist)
        projector = np.eye(n) - np.linalg.pinv(kin.jacobian) @ kin.jacobian
        # as near as it can to the posture's
        assert projector @ v == pytest.approx(projector @ posture_rate, abs=1e-4)
        assert projector @ plain == pytest.approx(np.zeros(n), abs=1e-4)
    assert found >= 10


def test_no_velocity_jumps_where_a_joint_begins_to_brake_before_its_limit(rng):
    """Motions that are too fast, and lead a joint to its limit: on the way there all joints
    change speed smoothly.
    """
    model, axes, lower, upper = arm_of_the_package("gen3")
    velocities, joint, dt, rooms = (
        DifferentialKinematics(axes),
        5,
        0.002,
        np.linspace(0.2, 0.02, 181),
    )
    others, tried = np.arange(7) != joint, 0
    while tried < 5:
        q, twist, posture = (
            rng.uniform(lower, upper),
            rng.uniform(-0.8, 0.8, 6),
            rng.uniform(-1.0, 1.0, 7),
        )
        kins = [model.at(np.where(others, q, upper[joint] - room), np.zeros(7)) for room in rooms]
        wanted = velocities.velocities(kins[100], twist, posture) / model.limits.velocity
        jacobians = [(SCALE[:, None] * kin.jacobian)[:, others] for kin in kins[::60]]
        if (
            wanted[joint] < 0.8
            or np.abs(wanted).max() < 1.5
            or np.linalg.svd(jacobians)[1][:, 5].min() < SMALLEST
        ):
            continue
        tried += 1
        speeds = np.array([(velocities.step(kin, twist, posture, dt) - kin.q) / dt for kin in kins])
        assert 0.0 < speeds[-1, joint] < TRACKING * rooms[-1] + 1e-9
        assert np.abs(np.diff(speeds, axis=0)).max() < 0.1


def test_a_planar_arm_is_asked_for_two_axes_and_gives_them(rng):
    model = planar_arm((0.5, 0.4)).model()
    axes = np.array([1.0, 1.0, 0.0, 0.0, 0.0, 0.0])
    for q2 in (0.8, -1.2, 2.0):
        kin = model.at(np.array([rng.uniform(-3, 3), q2]))
        twist = rng.uniform(-1.0, 1.0, 6)  # the four others are nobody's
        v = DifferentialKinematics(axes).velocities(kin, twist)
        assert v == pytest.approx(np.linalg.solve(kin.jacobian[:2], twist[:2]), abs=1e-5)


def test_an_arm_with_fewer_joints_than_axes_comes_as_near_as_it_can(rng):
    model = planar_arm((0.5, 0.4)).model()
    kin = model.at(np.array([0.4, 1.1]))
    twist = rng.uniform(-1.0, 1.0, 6)
    v = DifferentialKinematics().velocities(kin, twist)
    expected = np.linalg.pinv(SCALE[:, None] * kin.jacobian) @ (SCALE * twist)
    assert v == pytest.approx(expected, abs=1e-4)


def test_where_no_axis_counts_nothing_but_the_posture_moves():
    model, _, _, _ = arm_of_the_package("gen3")
    kin, rate = model.at(np.array(load_robot("gen3").home)), np.arange(7.0)
    kinematics = DifferentialKinematics(np.zeros(6))
    assert kinematics.velocities(kin, np.ones(6)) == pytest.approx(np.zeros(7))
    assert kinematics.velocities(kin, np.ones(6), rate) == pytest.approx(rate)


@pytest.mark.parametrize("wrong", [np.nan, np.inf])
def test_a_twist_that_is_not_finite_gives_no_angles(wrong):
    model, axes, *_ = arm_of_the_package("ur5")
    kin = model.at(np.array(load_robot("ur5").home))
    twist = np.array([0.1, wrong, 0.0, 0.0, 0.0, 0.0])
    for before in (None, np.zeros(model.n)):
        q = DifferentialKinematics(axes).step(kin, twist, np.zeros(model.n), 0.002, before=before)
        assert np.isnan(q).all()
