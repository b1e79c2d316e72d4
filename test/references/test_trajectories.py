"""Trajectories: where they begin and end, that each derivative is the derivative, and that limits
are kept.

Derivatives are compared with central differences; rotations with SciPy's rotation vectors.
"""

import math

import numpy as np
import pytest
from joint_moves import JointMove
from refusals import refuses
from scipy.spatial.transform import Rotation

from robot_control_ros.core.errors import ConfigError
from robot_control_ros.core.types import Reference
from robot_control_ros.references import (
    Circle,
    Hold,
    Jog,
    JointPath,
    OnlineJointTrajectory,
    OnlineTrajectory,
)
from robot_control_ros.robot.configuration import load_robot
from robot_control_ros.robot.model import RobotModel

SPEED, ACCELERATION = (0.25, 1.0), (1.0, 4.0)
H = 1e-4  # s, of the central differences


def pose(position=(0.0, 0.0, 0.0), rotation_vector=(0.0, 0.0, 0.0)):
    result = np.eye(4)
    result[:3, 3] = position
    result[:3, :3] = Rotation.from_rotvec(rotation_vector).as_matrix()
    return result


def random_pose(rng, angle=None):
    axis = rng.normal(size=3)
    turn = rng.uniform(0.1, 3.0) if angle is None else angle
    return pose(rng.uniform(-0.5, 0.5, 3), turn * axis / np.linalg.norm(axis))


def angle_between(a, b):
    return float(np.linalg.norm(Rotation.from_matrix(a[:3, :3] @ b[:3, :3].T).as_rotvec()))


def twist_by_differences(trajectory, t):
    ahead, behind = trajectory.sample(t + H).pose, trajectory.sample(t - H).pose
    turn = Rotation.from_matrix(ahead[:3, :3] @ behind[:3, :3].T).as_rotvec()
    return np.concatenate((ahead[:3, 3] - behind[:3, 3], turn)) / (2.0 * H)


def acceleration_by_differences(trajectory, t):
    return (trajectory.sample(t + H).twist - trajectory.sample(t - H).twist) / (2.0 * H)


def peaks(trajectory, begin, end):
    """Largest linear and angular speed and acceleration, from the pose and the twist alone."""
    times = np.linspace(begin + 2 * H, end - 2 * H, 400)
    twists = np.array([twist_by_differences(trajectory, t) for t in times])
    rates = np.array([acceleration_by_differences(trajectory, t) for t in times])
    return [
        np.linalg.norm(part, axis=1).max()
        for both in (twists, rates)
        for part in (both[:, :3], both[:, 3:])
    ]


def assert_consistent(trajectory, times, acceleration=True):
    for t in times:
        reference = trajectory.sample(t)
        assert np.linalg.det(reference.pose[:3, :3]) == pytest.approx(1.0, abs=1e-9)
        assert twist_by_differences(trajectory, t) == pytest.approx(reference.twist, abs=2e-6)
        if acceleration:
            assert acceleration_by_differences(trajectory, t) == pytest.approx(
                reference.acceleration, abs=2e-5
            )


@pytest.fixture(scope="module")
def ur5():
    return load_robot("ur5")


@pytest.fixture(scope="module")
def model(ur5):
    return RobotModel.of(ur5)


# --- hold ---


def test_hold_rests_at_its_pose_and_posture_for_ever():
    where, q = pose((0.1, 0.2, 0.3), (0.4, 0.5, 0.6)), np.array([1.0, 2.0])
    hold = Hold(where, q)
    for t in (-1.0, 0.0, 1e6):
        reference = hold.sample(t)
        assert np.array_equal(reference.pose, where)
        assert not reference.twist.any()
        assert not reference.acceleration.any()
        assert reference.wrench is None
        assert np.array_equal(reference.q, q)
        assert not reference.v.any()
        assert not reference.a.any()


def test_a_jog_without_a_pose_to_start_from_is_refused():
    with pytest.raises(ConfigError, match="needs a reference pose"):
        Jog(Reference(), np.zeros(6), 0.0, ACCELERATION, 1.0)


# --- joint paths ---


def joint_samples(trajectory, times):
    """Positions, velocities and accelerations (k, n) of the joints."""
    references = [trajectory.sample(t) for t in times]
    return tuple(np.array([getattr(r, name) for r in references]) for name in ("q", "v", "a"))


def test_a_joint_path_without_velocities_begins_and_ends_at_rest_without_a_step(ur5, model):
    q0 = np.array(ur5.home)
    for points in (
        [[0.3] * 6],
        [[0.2] * 6, [0.1] * 6, [0.4] * 6],
        [[0.1] * 6, [0.2] * 6, [0.3] * 6],
    ):
        times = 0.5 * np.arange(1, len(points) + 1)
        path = JointPath(model, q0, times, q0 + np.array(points), None, 3.0, np.full(6, 3.0))
        _, v, _ = joint_samples(path, np.arange(2.9, path.end + 0.1, 0.001))
        assert np.abs(np.diff(v, axis=0)).max() < 0.02
        assert not path.sample(path.end).v.any()


def test_the_path_of_a_joint_path_is_what_it_samples_and_rests_outside_its_time(ur5, model):
    q0 = np.array(ur5.home)
    path = JointPath(
        model,
        q0,
        np.array([0.5, 1.0]),
        q0 + np.array([[0.2] * 6, [0.1] * 6]),
        None,
        3.0,
        np.full(6, 3.0),
    )
    for t in (3.0, 3.2, 3.7, 3.999):
        reference = path.sample(t)
        for found, wanted in zip(
            path.path(t), (reference.q, reference.v, reference.a), strict=True
        ):
            assert np.array_equal(found, wanted)
    for t, q in ((2.0, q0), (4.0, q0 + 0.1), (9.0, q0 + 0.1)):
        found, v, a = path.path(t)
        assert found == pytest.approx(q)
        assert not v.any()
        assert not a.any()


def test_a_joint_path_that_would_stop_with_a_step_is_refused(ur5, model):
    q0, slopes = np.array(ur5.home), np.full((1, 6), 0.1)
    with refuses("velocities at the end", slopes[-1], 0.0):
        JointPath(model, q0, np.array([1.0]), q0[None] + 0.1, slopes, 0.0, np.full(6, 3.0))


def test_a_joint_path_passes_its_points_in_time_and_rests_at_its_end(ur5, model):
    q0 = np.array(ur5.home)
    times, points = np.array([0.5, 1.0, 2.0]), q0 + np.array([[0.2] * 6, [0.1] * 6, [0.4] * 6])
    path = JointPath(model, q0, times, points, None, 3.0, np.full(6, 3.0))
    assert path.end == 5.0
    assert path.sample(3.0).q == pytest.approx(q0)
    for t, point in zip(times, points, strict=True):
        assert path.sample(3.0 + t).q == pytest.approx(point, abs=1e-12)
    assert path.sample(5.0).v == pytest.approx(np.zeros(6))
    between = np.array([path.sample(t).q - q0 for t in np.linspace(3.0, 5.0, 101)])
    assert between.min() >= -1e-12
    assert between.max() <= 0.4 + 1e-12
    assert_consistent(path, [3.2, 3.7, 4.6])


def test_a_joint_path_takes_the_velocities_that_are_given(ur5, model):
    q0 = np.array(ur5.home)
    times, points, slopes = (
        np.array([1.0, 2.0]),
        q0 + np.array([[0.2] * 6, [0.4] * 6]),
        np.array([[0.3] * 6, [0.0] * 6]),
    )
    path = JointPath(model, q0, times, points, slopes, 0.0, np.full(6, 3.0))
    assert path.sample(0.0).v == pytest.approx(np.zeros(6))
    assert path.sample(1.0).v == pytest.approx(np.full(6, 0.3))
    assert path.sample(1.0).q == pytest.approx(points[0])


@pytest.mark.parametrize(
    "times", [[0.5, 0.5], [1.0, 0.5], [-0.1, 1.0], [0.5, math.nan], [0.5, math.inf]]
)
def test_a_joint_path_whose_times_do_not_rise_is_refused(ur5, model, times):
    q0 = np.array(ur5.home)
    with refuses("times", times):
        JointPath(model, q0, np.array(times), np.array([q0, q0]), None, 0.0, np.full(6, 3.0))


@pytest.mark.parametrize("begin", [0.0, 1.0, 5.0])
def test_a_joint_path_with_one_segment_that_is_too_fast_is_refused_with_the_joint(
    ur5, model, begin
):
    """0.3 rad in 0.01 s is 30 rad/s at least, however long the rest of the path takes."""
    q0 = np.array(ur5.home)
    far = q0 + np.array([0.0, 0.0, 0.3, 0.0, 0.0, 0.0])
    times, points = np.array([begin, begin + 0.01, 10.0]), np.array([q0, far, far])
    with refuses("velocity of elbow_joint", bound=3.0):
        JointPath(model, q0, times, points, np.zeros((3, 6)), 0.0, np.full(6, 3.0))


# --- circle ---

TILTED = pose((0.4, -0.1, 0.5), (0.3, 2.0, -0.4))


def circle(**changes):
    return Circle(
        **{"start": TILTED, "radius": 0.08, "period": 3.0, "time": 2.0, "fade": 0.7, **changes}
    )


def test_a_circle_begins_at_rest_at_its_start_pose():
    for t in (0.0, 2.0):
        reference = circle().sample(t)
        assert reference.pose == pytest.approx(TILTED, abs=1e-15)
        assert not reference.twist.any()
        assert reference.acceleration == pytest.approx(np.zeros(6), abs=1e-15)


@pytest.mark.parametrize("normal", [(1.0, 0.0, 0.0), (0.0, 0.0, 2.0), (1.0, -2.0, 0.5)])
def test_a_circle_keeps_its_distance_its_plane_and_its_orientation(normal):
    path = circle(normal=normal)
    # half a turn: the fade costs half its length
    opposite = path.sample(2.0 + 0.35 + 1.5).pose[:3, 3]
    centre = (opposite + TILTED[:3, 3]) / 2.0
    for t in np.linspace(2.0, 7.0, 23):
        now = path.sample(t).pose
        assert np.linalg.norm(now[:3, 3] - centre) == pytest.approx(0.08)
        assert (now[:3, 3] - centre) @ np.array(normal) == pytest.approx(0.0, abs=1e-12)
        assert np.array_equal(now[:3, :3], TILTED[:3, :3])


def test_a_circle_goes_round_once_per_period_after_its_fade():
    path = circle()
    for t in (2.7, 3.3, 4.9):
        assert path.sample(t + 3.0).pose == pytest.approx(path.sample(t).pose, abs=1e-12)
        assert np.linalg.norm(path.sample(t).twist) == pytest.approx(2.0 * math.pi * 0.08 / 3.0)


def test_a_circle_turns_about_its_normal_by_the_right_hand():
    path = circle(normal=(0.0, 0.0, 1.0))
    now = path.sample(4.0)
    centre = now.pose[:3, 3] + now.acceleration[:3] / (2.0 * math.pi / 3.0) ** 2
    assert np.cross(now.pose[:3, 3] - centre, now.twist[:3])[2] > 0.0


def test_twist_and_acceleration_of_a_circle_are_derivatives():
    assert_consistent(circle(normal=(1.0, -2.0, 0.5)), [2.01, 2.2, 2.5, 2.69, 2.71, 3.0, 6.0])


@pytest.mark.parametrize("name", ["radius", "period", "fade"])
@pytest.mark.parametrize("bad", [0.0, -1.0, math.nan, math.inf])
def test_a_circle_refuses_what_is_not_above_zero(name, bad):
    with refuses(name, bad, (0.0, math.inf)):
        circle(**{name: bad})


@pytest.mark.parametrize("bad", [(0.0, 0.0, 0.0), (math.nan, 0.0, 1.0)])
def test_a_circle_refuses_an_axis_without_a_direction(bad):
    with pytest.raises(ConfigError, match="circle: normal"):
        circle(normal=bad)


# --- jog ---

FORWARD = np.array([0.1, 0.0, 0.0, 0.0, 0.0, 0.0])
TURN = np.array([0.0, 0.0, 0.0, 0.0, 0.5, 0.0])


def test_a_jog_rises_to_its_twist_and_stops_by_itself():
    jog = Jog(Reference(TILTED), FORWARD, 1.0, ACCELERATION, 0.5)
    ramp = 0.1 / ACCELERATION[0]
    assert not jog.sample(1.0).twist.any()
    assert jog.sample(1.0 + ramp / 2.0).twist == pytest.approx(FORWARD / 2.0)
    assert jog.sample(1.0 + ramp).twist == pytest.approx(FORWARD)
    assert jog.sample(1.5).twist == pytest.approx(FORWARD)
    assert jog.sample(1.5 + ramp / 2.0).twist == pytest.approx(FORWARD / 2.0)
    for t in (1.5 + ramp, 2.0, 100.0):
        assert jog.sample(t).twist == pytest.approx(np.zeros(6), abs=1e-12)
        moved = jog.sample(t).pose[:3, 3] - TILTED[:3, 3]
        # ramps up and down are equally long
        assert moved == pytest.approx([0.1 * 0.5, 0.0, 0.0], abs=1e-12)


@pytest.mark.parametrize(
    "twist", [FORWARD, TURN, FORWARD + TURN, np.array([0.1, -0.2, 0.1, 0.3, 0.6, -0.5])]
)
def test_the_pose_of_a_jog_is_the_integral_of_its_twist(twist):
    jog = Jog(Reference(TILTED), twist, 0.0, ACCELERATION, 0.5)
    assert_consistent(jog, np.linspace(0.003, 1.0, 40), acceleration=False)


@pytest.mark.parametrize("twist", [FORWARD, TURN, 2.0 * FORWARD + 2.0 * TURN])
def test_the_speed_of_a_jog_changes_within_the_acceleration_limit(twist):
    jog = Jog(Reference(TILTED), twist, 0.0, ACCELERATION, 0.4)
    change = np.diff([jog.sample(t).twist for t in np.arange(0.0, 1.0, 0.001)], axis=0) / 0.001
    assert np.linalg.norm(change[:, :3], axis=1).max() <= ACCELERATION[0] * (1 + 1e-9)
    assert np.linalg.norm(change[:, 3:], axis=1).max() <= ACCELERATION[1] * (1 + 1e-9)


@pytest.mark.parametrize("t", [0.02, 0.3, 0.55, 0.9])
def test_a_new_jog_in_mid_flight_makes_no_step(t):
    first = Jog(Reference(TILTED), FORWARD + TURN, 0.0, ACCELERATION, 0.5)
    there = first.sample(t)
    second = Jog(there, -2.0 * FORWARD, t, ACCELERATION, 0.5)
    assert second.sample(t).pose == pytest.approx(there.pose, abs=1e-12)
    assert second.sample(t).twist == pytest.approx(there.twist, abs=1e-12)
    change = np.diff([second.sample(s).twist for s in np.arange(t, t + 1.5, 0.001)], axis=0) / 0.001
    assert np.linalg.norm(change[:, :3], axis=1).max() <= ACCELERATION[0] * (1 + 1e-9)
    assert np.linalg.norm(change[:, 3:], axis=1).max() <= ACCELERATION[1] * (1 + 1e-9)
    assert second.sample(t + 1.5).twist == pytest.approx(np.zeros(6), abs=1e-12)


@pytest.mark.parametrize("new", [-TURN, 2.0 * TURN, np.array([0.0, 0.0, 0.0, 0.8, 0.0, 0.4])])
def test_the_pose_stays_the_integral_when_a_new_jog_turns_about_another_axis(new):
    there = Jog(Reference(TILTED), TURN, 0.0, ACCELERATION, 0.5).sample(0.3)
    second = Jog(there, new, 0.3, ACCELERATION, 0.5)
    assert_consistent(second, np.linspace(0.303, 1.2, 30), acceleration=False)


def test_a_jog_of_zero_brakes_what_moves():
    there = Jog(Reference(TILTED), FORWARD, 0.0, ACCELERATION, 0.5).sample(0.3)
    stop = Jog(there, np.zeros(6), 0.3, ACCELERATION, 0.5)
    assert stop.sample(0.3).twist == pytest.approx(FORWARD)
    assert stop.sample(0.4).twist == pytest.approx(np.zeros(6), abs=1e-12)
    moved = stop.sample(2.0).pose[:3, 3] - there.pose[:3, 3]
    assert moved == pytest.approx([0.1**2 / (2.0 * ACCELERATION[0]), 0.0, 0.0], abs=1e-12)


def pursued(pursuit, times, target=None):
    """Poses, twists and accelerations; `target(t)` is given to it every 20 ms."""
    references = []
    for index, t in enumerate(times):
        if target is not None and index % 10 == 0:
            pursuit.target = target(t)
        references.append(pursuit.sample(t))
    return (
        np.array([r.pose for r in references]),
        np.array([r.twist for r in references]),
        np.array([r.acceleration for r in references]),
    )


@pytest.mark.parametrize("distance", [0.002, 0.05, 0.5, 2.0])
@pytest.mark.parametrize("angle", [0.02, 1.0, math.pi])
def test_a_pursuit_arrives_within_its_limits_and_without_overshoot(distance, angle):
    goal = pose((distance, 0.0, 0.0), (0.0, angle, 0.0))
    pursuit = OnlineTrajectory(Reference(np.eye(4)), goal, 0.0, SPEED, ACCELERATION)
    poses, twists, accelerations = pursued(pursuit, np.arange(0.0, 15.0, 0.002))
    assert np.array_equal(poses[-1], goal)
    assert not twists[-1].any()
    assert poses[:, 0, 3].max() <= distance + 1e-7
    turned = np.arccos(
        np.clip((np.trace(poses[:, :3, :3], axis1=1, axis2=2) - 1.0) / 2.0, -1.0, 1.0)
    )
    assert turned.max() <= angle + 1e-6
    for half, speed, acceleration in ((slice(0, 3), *pair(0)), (slice(3, 6), *pair(1))):
        assert np.linalg.norm(twists[:, half], axis=1).max() <= speed * (1.0 + 1e-9)
        assert np.linalg.norm(accelerations[:, half], axis=1).max() <= acceleration * (1.0 + 1e-9)


def pair(half):
    return SPEED[half], ACCELERATION[half]


def test_a_pursuit_of_a_target_streamed_at_50_hz_is_smooth_and_close_behind():
    circle = Circle(np.eye(4), 0.08, 5.0, fade=1.0, normal=(0.0, 0.0, 1.0))
    pursuit = OnlineTrajectory(Reference(np.eye(4)), np.eye(4), 0.0, SPEED, ACCELERATION)
    times = np.arange(0.0, 8.0, 0.002)
    poses, twists, _ = pursued(pursuit, times, lambda t: circle.sample(t).pose)
    speed, steady = 0.08 * 2.0 * math.pi / 5.0, times > 3.0
    speeds = np.linalg.norm(twists[steady, :3], axis=1)
    assert speeds.min() > 0.97 * speed
    assert speeds.max() < 1.01 * speed
    behind = [
        np.linalg.norm(circle.sample(t).pose[:3, 3] - p[:3, 3])
        for t, p in zip(times, poses, strict=True)
    ]
    assert np.array(behind)[steady].max() < 0.15 * speed  # 1/8 s and one interval of the stream


def test_a_pursuit_is_continuous_in_pose_and_twist_when_its_target_jumps():
    rng = np.random.default_rng(5)
    pursuit = OnlineTrajectory(Reference(np.eye(4)), np.eye(4), 0.0, SPEED, ACCELERATION)

    def jumping(t):
        return pose(rng.normal(size=3), rng.normal(size=3))

    times = np.arange(0.0, 2.0, 0.002)
    poses, twists, _ = pursued(pursuit, times, jumping)
    assert np.abs(np.diff(poses[:, :3, 3], axis=0)).max() <= SPEED[0] * 0.002 * (1.0 + 1e-9)
    assert np.linalg.norm(np.diff(twists[:, :3], axis=0), axis=1).max() <= ACCELERATION[
        0
    ] * 0.002 * (1.0 + 1e-9)
    assert np.linalg.norm(np.diff(twists[:, 3:], axis=0), axis=1).max() <= ACCELERATION[
        1
    ] * 0.002 * (1.0 + 1e-9)


def test_a_pursuit_begins_with_the_speed_that_the_reference_has():
    twist = np.array([0.2, 0.0, 0.0, 0.0, 0.0, 0.5])
    pursuit = OnlineTrajectory(Reference(np.eye(4), twist), np.eye(4), 1.0, SPEED, ACCELERATION)
    assert np.array_equal(pursuit.sample(1.0).twist, twist)
    assert np.abs(pursuit.sample(1.002).twist - twist).max() <= 0.002 * ACCELERATION[1] * (
        1.0 + 1e-9
    )


def test_a_pursuit_needs_a_pose_to_start_from():
    with pytest.raises(ConfigError, match="pose"):
        OnlineTrajectory(Reference(), np.eye(4), 0.0, SPEED, ACCELERATION)


@pytest.mark.few(1)
@pytest.mark.parametrize("reach", [1e-3, 1.0, 1e3])
@pytest.mark.parametrize(
    "seed", [0, *(pytest.param(seed, marks=pytest.mark.long) for seed in range(1, 6))]
)
def test_a_pursuit_keeps_its_limits_whatever_target_is_streamed_and_however_late_it_is_asked(
    seed, reach
):
    """Targets at random, near and far, half turns among them, at random times;
    sampled at uneven times.
    """
    rng = np.random.default_rng(seed)
    speed, acceleration = 10.0 ** rng.uniform(-2.0, 1.0, 2), 10.0 ** rng.uniform(-1.0, 2.0, 2)
    pursuit, t = OnlineTrajectory(Reference(np.eye(4)), np.eye(4), 0.0, speed, acceleration), 0.0
    before = pursuit.sample(0.0)
    for _ in range(1500):
        if rng.random() < 0.1:
            turn = rng.choice([0.0, rng.uniform(0.0, math.pi), math.pi])
            pursuit.target = random_pose(rng, turn)
            pursuit.target[:3, 3] *= reach
        dt = rng.choice([0.001, 0.002, 0.005, rng.uniform(1e-4, 0.1)])
        t += dt
        now = pursuit.sample(t)
        turned = Rotation.from_matrix(now.pose[:3, :3] @ before.pose[:3, :3].T).magnitude()
        moved = np.linalg.norm(now.pose[:3, 3] - before.pose[:3, 3])
        for half, way in enumerate((moved, turned)):
            part = slice(3 * half, 3 * half + 3)
            assert way <= speed[half] * dt * (1.0 + 1e-6) + 1e-9
            assert np.linalg.norm(now.twist[part]) <= speed[half] * (1.0 + 1e-9)
            assert np.linalg.norm(now.acceleration[part]) <= acceleration[half] * (1.0 + 1e-9)
            assert (
                np.linalg.norm(now.twist[part] - before.twist[part])
                <= acceleration[half] * dt * (1.0 + 1e-6) + 1e-7
            )
        before = now


@pytest.mark.parametrize("seed", range(3))
def test_twist_and_acceleration_of_a_pursuit_are_those_of_its_last_step(seed):
    rng = np.random.default_rng(seed)
    pursuit, dt = (
        OnlineTrajectory(Reference(np.eye(4)), random_pose(rng), 0.0, SPEED, ACCELERATION),
        0.002,
    )
    before = pursuit.sample(0.0)
    for index in range(1, 500):
        if index % 100 == 0:
            pursuit.target = random_pose(rng)
        now = pursuit.sample(index * dt)
        turn = Rotation.from_matrix(now.pose[:3, :3] @ before.pose[:3, :3].T).as_rotvec()
        moved = np.concatenate((now.pose[:3, 3] - before.pose[:3, 3], turn))
        assert moved / dt == pytest.approx(now.twist, abs=1e-9)
        assert (now.twist - before.twist) / dt == pytest.approx(now.acceleration, abs=1e-9)
        before = now


# --- pursuit of joint targets ---

JOINT_SPEED, JOINT_ACCELERATION = (
    np.array([0.9, 0.5, 1.2, 2.0, 0.3, 3.0]),
    np.array([2.0, 1.0, 5.0, 8.0, 0.5, 20.0]),
)


def joint_pursuit(model, q0, goal, v0=None, time=0.0):
    return OnlineJointTrajectory(
        model, Reference(q=q0, v=v0), goal, time, JOINT_SPEED, JOINT_ACCELERATION
    )


@pytest.mark.parametrize("size", [0.001, 0.1, 2.0])
def test_a_joint_pursuit_arrives_within_its_limits_and_without_overshoot(ur5, model, size):
    q0 = np.array(ur5.home)
    way = size * np.array([1.0, -0.3, 0.5, 0.0, -0.2, 1.0])
    pursuit = joint_pursuit(model, q0, q0 + way)
    q, v, a = joint_samples(pursuit, np.arange(0.0, 8.0, 0.002))
    assert np.array_equal(q[-1], q0 + way)
    assert not v[-1].any()
    assert not a[-1].any()
    assert (np.abs(v) <= JOINT_SPEED * (1.0 + 1e-9)).all()
    assert (np.abs(a) <= JOINT_ACCELERATION * (1.0 + 1e-9)).all()
    assert (np.minimum(0.0, way) - 1e-6 <= q - q0).all()
    assert (q - q0 <= np.maximum(0.0, way) + 1e-6).all()
    if size == 2.0:  # far enough to reach the first joint's speed
        assert np.abs(v[:, 0]).max() == pytest.approx(JOINT_SPEED[0], rel=1e-3)


@pytest.mark.few(2)
@pytest.mark.parametrize("seed", range(6))
def test_a_joint_pursuit_keeps_its_limits_and_stays_between_its_targets_whatever_is_streamed(
    ur5, model, seed
):
    """So a target within the position limits never leads beyond them, however it jumps."""
    rng = np.random.default_rng(seed)
    q0, t, dt = np.array(ur5.home), 0.0, 0.0
    pursuit = joint_pursuit(model, q0, q0)
    low = high = q0
    q, v = q0, np.zeros(6)
    for _ in range(1500):
        if rng.random() < 0.03:
            pursuit.target = q0 + rng.choice([0.01, 1.0, 6.0]) * rng.uniform(-1.0, 1.0, 6)
            low, high = np.minimum(low, pursuit.target), np.maximum(high, pursuit.target)
        dt = rng.choice([0.001, 0.002, 0.005, rng.uniform(1e-4, 0.1)])
        t += dt
        now = pursuit.sample(t)
        assert (np.abs(now.q - q) <= JOINT_SPEED * dt * (1.0 + 1e-9)).all()
        assert (np.abs(now.v) <= JOINT_SPEED * (1.0 + 1e-9)).all()
        assert (np.abs(now.a) <= JOINT_ACCELERATION * (1.0 + 1e-9)).all()
        assert (np.abs(now.v - v) <= JOINT_ACCELERATION * dt * (1.0 + 1e-9) + 1e-7).all()
        assert (now.q >= low - 1e-9).all()
        assert (now.q <= high + 1e-9).all()
        q, v = now.q, now.v


def test_a_joint_pursuit_begins_with_the_angles_and_speeds_that_the_reference_has(ur5, model):
    q0, v0 = np.array(ur5.home), np.array([0.2, -0.1, 0.3, 0.0, 0.1, -0.4])
    pursuit = joint_pursuit(model, q0, q0, v0, time=3.0)
    first = pursuit.sample(3.0)
    assert np.array_equal(first.q, q0)
    assert np.array_equal(first.v, v0)
    after = pursuit.sample(3.002)
    assert (np.abs(after.v - v0) <= 0.002 * JOINT_ACCELERATION * (1.0 + 1e-9)).all()
    assert (np.sign(after.v - v0) == -np.sign(v0)).all()


def test_a_joint_pursuit_takes_over_from_a_joint_move_in_mid_flight(ur5, model):
    q0 = np.array(ur5.home)
    move = JointMove(model, q0, q0 + 0.5, 0.0, 0.8 * JOINT_SPEED)
    there = move.sample(move.end / 2.0)
    pursuit = OnlineJointTrajectory(
        model, there, q0, move.end / 2.0, JOINT_SPEED, JOINT_ACCELERATION
    )
    assert pursuit.sample(move.end / 2.0).pose == pytest.approx(there.pose, abs=1e-12)
    assert pursuit.sample(move.end / 2.0).twist == pytest.approx(there.twist, abs=1e-12)
    assert np.array_equal(pursuit.sample(move.end / 2.0 + 10.0).q, q0)


def test_the_fields_of_a_joint_pursuit_belong_together(ur5, model):
    """Steps: q' = v and v' = a by differences over the step; the tip by differences over
    a much shorter one.
    """
    rng = np.random.default_rng(7)
    q0, t = np.array(ur5.home), 0.0
    pursuit = joint_pursuit(model, q0, q0 + rng.uniform(-1.0, 1.0, 6))
    for index in range(1, 300):
        if index % 60 == 0:
            pursuit.target = q0 + rng.uniform(-1.0, 1.0, 6)
        before = pursuit.sample(t)
        h = 1e-5 if index % 2 else 0.004
        t += h
        now = pursuit.sample(t)
        assert (now.q - before.q) / h == pytest.approx(now.v, abs=1e-9)
        assert (now.v - before.v) / h == pytest.approx(now.a, abs=1e-7)
        assert np.array_equal(now.pose, model.at(now.q).pose)
        if index % 2:
            turn = Rotation.from_matrix(now.pose[:3, :3] @ before.pose[:3, :3].T).as_rotvec()
            moved = np.concatenate((now.pose[:3, 3] - before.pose[:3, 3], turn))
            assert moved / h == pytest.approx(now.twist, abs=1e-4)
            assert (now.twist - before.twist) / h == pytest.approx(now.acceleration, abs=1e-2)


def test_a_joint_pursuit_needs_joint_angles_to_start_from(model):
    with pytest.raises(ConfigError, match="needs reference joint angles"):
        OnlineJointTrajectory(
            model, Reference(np.eye(4)), np.zeros(6), 0.0, JOINT_SPEED, JOINT_ACCELERATION
        )
