"""SO(3) and SE(3): what must hold by definition, and by finite differences."""

import math
import os

import numpy as np
import pytest
from arms import gradient, slope
from processes import memory
from refusals import refuses
from scipy.spatial.transform import Rotation

from robot_control_ros.core.rotations import (
    twist_at_into,
    twist_in_into,
    wrench_at_into,
    wrench_in_into,
)
from robot_control_ros.core.spatial import (
    cross,
    make_pose,
    pose_error,
    pose_error_and_map,
    quaternion_to_rotation,
    rotation_exp,
    rotation_exp_jacobian,
    rotation_from_rpy,
    rotation_log,
    rotation_log_jacobian,
    rotation_to_quaternion,
    rotation_to_rpy,
    skew,
    wrap,
    wrench_at,
)

ANGLES = [0.0, 1e-300, 1e-12, 1e-8, 1e-4, 1e-2, 0.5, 1.0, 2.0, 3.0, np.pi - 0.01]
BELOW_PI = [0.0, 1e-15, 1e-12, 1e-10, 1e-9, 1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3]


def directions(rng, count=20):
    """The axes, both ways, and random directions."""
    random = rng.normal(size=(count, 3))
    return np.vstack((np.eye(3), -np.eye(3), random / np.linalg.norm(random, axis=1)[:, None]))


def random_pose(rng):
    return make_pose(rng.uniform(-1, 1, 3), Rotation.from_quat(rng.normal(size=4)).as_matrix())


def test_cross_and_skew_are_the_vector_product(rng):
    for _ in range(10):
        a, b = rng.normal(size=(2, 3))
        np.testing.assert_allclose(cross(a, b), np.cross(a, b), rtol=0, atol=1e-15)
        np.testing.assert_allclose(skew(a) @ b, np.cross(a, b), rtol=0, atol=1e-15)


@pytest.mark.parametrize("angle", ANGLES)
def test_exp_is_the_rotation_about_the_vector_and_log_its_inverse(rng, angle):
    for axis in directions(rng):
        x = angle * axis
        np.testing.assert_allclose(
            rotation_exp(x), Rotation.from_rotvec(x).as_matrix(), rtol=0, atol=1e-15
        )
        np.testing.assert_allclose(rotation_log(rotation_exp(x)), x, rtol=0, atol=1e-9)


@pytest.mark.parametrize("angle", [1e-12, 1e-9, 1e-6, 1e-3])
def test_small_rotations_keep_their_relative_precision(rng, angle):
    for axis in directions(rng):
        np.testing.assert_allclose(
            rotation_log(rotation_exp(angle * axis)), angle * axis, rtol=0, atol=1e-12 * angle
        )


@pytest.mark.parametrize("below", BELOW_PI)
def test_log_near_pi_is_finite_short_enough_and_gives_the_rotation_back(rng, below):
    for axis in directions(rng):
        R = Rotation.from_rotvec((np.pi - below) * axis).as_matrix()
        x = rotation_log(R)
        assert np.linalg.norm(x) <= np.pi + 1e-15
        np.testing.assert_allclose(rotation_exp(x), R, rtol=0, atol=1e-9)


@pytest.mark.parametrize("below", [*BELOW_PI, -1e-12, -1e-3])
def test_log_near_pi_is_deterministic(rng, below):
    for axis in directions(rng):
        R = Rotation.from_rotvec((np.pi - below) * axis).as_matrix()
        first = rotation_log(R)
        rotation_log(rotation_exp(rng.normal(size=3)))  # something else in between
        assert (
            first.tobytes()
            == rotation_log(R.copy()).tobytes()
            == rotation_log(np.asfortranarray(R)).tobytes()
        )


def test_log_at_pi_of_a_slightly_inexact_matrix_stays_near_the_same_axis(rng):
    for axis in directions(rng):
        R = Rotation.from_rotvec(np.pi * axis).as_matrix() + 1e-12 * rng.normal(size=(3, 3))
        x = rotation_log(R)
        assert min(np.linalg.norm(x - np.pi * axis), np.linalg.norm(x + np.pi * axis)) < 1e-9


@pytest.mark.parametrize("angle", ANGLES)
def test_log_jacobian_is_the_derivative_of_log_by_a_turn_on_the_right(rng, angle):
    for axis in directions(rng, 5):
        R = rotation_exp(angle * axis)
        J = gradient(lambda x, R=R: rotation_log(R @ rotation_exp(x)), np.zeros(3), 1e-4)
        np.testing.assert_allclose(rotation_log_jacobian(R), J, rtol=0, atol=1e-6)


@pytest.mark.parametrize("below", BELOW_PI)
def test_log_jacobian_near_pi_is_the_closed_form(rng, below):
    """Jr⁻¹(x) = 1 + [x]/2 + (1/θ² - cot(θ/2) / 2θ) [x]², regular at pi."""
    for axis in directions(rng):
        angle = np.pi - below
        R = Rotation.from_rotvec(angle * axis).as_matrix()
        X = skew(rotation_log(R))
        expected = np.eye(3) + X / 2 + (1 / angle**2 - 1 / np.tan(angle / 2) / (2 * angle)) * X @ X
        np.testing.assert_allclose(rotation_log_jacobian(R), expected, rtol=0, atol=1e-7)


@pytest.mark.parametrize("angle", [*ANGLES, np.pi, 4.0, 6.0])
def test_exp_jacobian_maps_the_vectors_rate_to_angular_velocity(rng, angle):
    for axis in directions(rng, 5):
        x = angle * axis
        for rate in rng.normal(size=(3, 3)):
            turn = slope(
                lambda h, x=x, rate=rate: rotation_log(
                    rotation_exp(x + h * rate) @ rotation_exp(x).T
                ),
                1e-4,
            )
            np.testing.assert_allclose(rotation_exp_jacobian(x) @ rate, turn, rtol=0, atol=1e-8)


def test_error_of_a_pose_against_itself_is_exactly_zero(rng):
    pose = make_pose(rng.normal(size=3))
    assert not pose_error(pose, pose).any()
    pose = random_pose(rng)
    np.testing.assert_allclose(pose_error(pose, pose), 0.0, rtol=0, atol=1e-15)


def test_error_is_what_takes_the_pose_to_the_reference_in_base_axes(rng):
    for _ in range(20):
        reference, pose = random_pose(rng), random_pose(rng)
        e = pose_error(reference, pose)
        np.testing.assert_allclose(pose[:3, 3] + e[:3], reference[:3, 3], rtol=0, atol=1e-15)
        turned = Rotation.from_rotvec(e[3:]).as_matrix() @ pose[:3, :3]
        np.testing.assert_allclose(turned, reference[:3, :3], rtol=0, atol=1e-10)


@pytest.mark.parametrize("angle", ANGLES)
def test_error_changes_by_its_map_along_any_twist(rng, angle):
    for axis in directions(rng, 5):
        pose = random_pose(rng)
        reference = make_pose(rng.normal(size=3), rotation_exp(angle * axis) @ pose[:3, :3])
        _, A = pose_error_and_map(reference, pose)
        v, w = rng.normal(size=(2, 3))

        def moved(h, pose=pose, reference=reference, v=v, w=w):
            after = make_pose(
                pose[:3, 3] + h * v, Rotation.from_rotvec(h * w).as_matrix() @ pose[:3, :3]
            )
            return pose_error(reference, after)

        np.testing.assert_allclose(
            -np.concatenate((v, A @ w)), slope(moved, 1e-4), rtol=0, atol=2e-6
        )


def test_wrench_has_the_same_power_in_every_frame(rng):
    for _ in range(20):
        T, wrench = random_pose(rng), rng.normal(size=6)
        R, p = T[:3, :3], T[:3, 3]
        v, w = rng.normal(size=(2, 3))  # of the body at the origin of `from`, in its axes
        w_to = R @ w
        v_to = R @ v + np.cross(w_to, -p)  # the same body at the origin of `to`
        power = wrench_at(wrench, T) @ np.concatenate((v_to, w_to))
        assert power == pytest.approx(wrench @ np.concatenate((v, w)), abs=1e-12)


def test_force_at_a_lever_gives_the_torque_of_the_right_hand():
    up_at_one_metre_in_x = wrench_at(
        np.array([0.0, 0.0, 5.0, 0.0, 0.0, 0.0]), make_pose(np.array([1.0, 0.0, 0.0]))
    )
    np.testing.assert_array_equal(up_at_one_metre_in_x, [0.0, 0.0, 5.0, 0.0, -5.0, 0.0])


def test_wrench_changes_frame_by_composition_and_back_by_the_inverse(rng):
    for _ in range(20):
        b_from_a, c_from_b, wrench = random_pose(rng), random_pose(rng), rng.normal(size=6)
        in_two_steps = wrench_at(wrench_at(wrench, b_from_a), c_from_b)
        np.testing.assert_allclose(
            in_two_steps, wrench_at(wrench, c_from_b @ b_from_a), rtol=0, atol=1e-13
        )
        back = wrench_at(wrench_at(wrench, b_from_a), np.linalg.inv(b_from_a))
        np.testing.assert_allclose(back, wrench, rtol=0, atol=1e-13)


def test_wrench_and_twist_along_a_moving_frame_have_the_same_power_and_come_back(rng):
    for _ in range(20):
        pose = make_pose(rng.normal(size=3), Rotation.from_rotvec(rng.normal(size=3)).as_matrix())
        wrench, twist = rng.normal(size=6), rng.normal(size=6)
        wrench_along, twist_along, back = np.empty(6), np.empty(6), np.empty(6)
        wrench_in_into(wrench, pose, wrench_along)
        twist_in_into(twist, pose, twist_along)
        assert wrench_along @ twist_along == pytest.approx(wrench @ twist)
        twist_at_into(twist_along, pose, back)
        np.testing.assert_allclose(back, twist, rtol=0, atol=1e-14)
        wrench_at_into(wrench_along, pose, back)
        np.testing.assert_allclose(back, wrench, rtol=0, atol=1e-14)


def test_quaternions_are_xyzw_and_round_trip(rng):
    for rotation in [Rotation.from_quat(rng.normal(size=4)) for _ in range(20)] + [
        Rotation.from_rotvec(np.pi * u) for u in np.eye(3)
    ]:
        R = rotation.as_matrix()
        q = rotation_to_quaternion(R)
        expected = rotation.as_quat()
        assert min(abs(q - expected).max(), abs(q + expected).max()) < 1e-14
        np.testing.assert_allclose(quaternion_to_rotation(q), R, rtol=0, atol=1e-14)
        np.testing.assert_allclose(quaternion_to_rotation(-q), R, rtol=0, atol=1e-14)


@pytest.mark.few(3)
@pytest.mark.parametrize(
    "convert",
    [rotation_to_quaternion, rotation_to_rpy, rotation_log],
    ids=lambda convert: convert.__name__,
)
@pytest.mark.parametrize(
    "order",
    [np.ascontiguousarray, np.asfortranarray, lambda R: make_pose(np.zeros(3), R)[:3, :3]],
    ids=["rows", "columns", "pose"],
)
def test_rotations_are_converted_without_keeping_memory(convert, order):
    """A copy of 72 bytes that stays would be 7 MB here."""
    R = order(rotation_exp(np.array([0.1, 0.2, 0.3])))
    convert(R)
    before = memory(os.getpid())
    for _ in range(100_000):
        convert(R)
    assert memory(os.getpid()) - before < 2_000_000


def test_a_rounded_quaternion_is_normalised(rng):
    for _ in range(10):
        q = Rotation.from_quat(rng.normal(size=4)).as_quat() * rng.uniform(0.991, 1.009)
        R = quaternion_to_rotation(q)
        np.testing.assert_allclose(R @ R.T, np.eye(3), rtol=0, atol=1e-14)
        np.testing.assert_allclose(R, Rotation.from_quat(q).as_matrix(), rtol=0, atol=1e-14)


@pytest.mark.parametrize(
    "q", [(0, 0, 0, 0), (0, 0, 0, 1.02), (0, 0, 0.5, 0.5), (np.nan, 0, 0, 1), (np.inf, 0, 0, 0)]
)
def test_a_quaternion_that_is_not_of_length_one_is_refused(q):
    with refuses("quaternion", bound=1.0):
        quaternion_to_rotation(np.array(q, dtype=float))


def test_rpy_turns_about_fixed_axes_in_the_order_x_y_z(rng):
    roll, pitch, yaw = rng.uniform(-1.5, 1.5, 3)
    c, s = np.cos, np.sin
    Rx = np.array([[1, 0, 0], [0, c(roll), -s(roll)], [0, s(roll), c(roll)]])
    Ry = np.array([[c(pitch), 0, s(pitch)], [0, 1, 0], [-s(pitch), 0, c(pitch)]])
    Rz = np.array([[c(yaw), -s(yaw), 0], [s(yaw), c(yaw), 0], [0, 0, 1]])
    np.testing.assert_allclose(
        rotation_from_rpy(roll, pitch, yaw), Rz @ Ry @ Rx, rtol=0, atol=1e-15
    )


def test_wrap_takes_cyclic_joints_the_short_way_round_and_leaves_the_others(rng):
    angles = np.concatenate((rng.uniform(-30.0, 30.0, 200), [math.pi, -math.pi, 0.0]))
    cyclic = rng.random(len(angles)) < 0.5
    cyclic[-3:] = True
    wrapped = wrap(angles, cyclic)
    assert np.array_equal(wrapped[~cyclic], angles[~cyclic])
    assert ((wrapped[cyclic] >= -math.pi) & (wrapped[cyclic] <= math.pi)).all()
    assert np.exp(1j * wrapped[cyclic]) == pytest.approx(np.exp(1j * angles[cyclic]), abs=1e-13)
    assert wrapped[-1] == 0.0
