"""Joint velocities for a twist, exact where the arm can and bounded where it can't; joint angles for a pose."""

import numpy as np
import pytest
from arms import planar_arm, random_arm

from robot_control_ros.core.errors import ConfigError
from robot_control_ros.core.spatial import make_pose, pose_error, rotation_exp
from robot_control_ros.robot.configuration import load_robot, robot_names
from robot_control_ros.robot.inverse_kinematics import (
    DAMPING,
    ROTATION_LENGTH,
    SMALLEST,
    TRACKING,
    DifferentialKinematics,
    check_reach,
    solve_pose,
)
from robot_control_ros.robot.model import RobotModel

ROBOTS = {name: load_robot(name) for name in robot_names()}
SCALE = np.array([1.0, 1.0, 1.0, ROTATION_LENGTH, ROTATION_LENGTH, ROTATION_LENGTH])
every_robot = pytest.mark.parametrize("name", ROBOTS)


def arm(name):
    robot = ROBOTS[name]
    model = RobotModel.of(robot)
    lower, upper = np.maximum(model.limits.lower, -3.0), np.minimum(model.limits.upper, 3.0)
    return model, np.array(robot.axes), lower, upper


def smallest_singular_value(kin, axes):
    return np.linalg.svd((axes * SCALE)[:, None] * kin.jacobian, compute_uv=False)[int(min(sum(axes), kin.model.n)) - 1]


# --- velocities ---


@every_robot
def test_away_from_singularities_the_tip_moves_as_wanted(rng, name):
    model, axes, lower, upper = arm(name)
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
    model, axes, lower, upper = arm(name)
    found = 0
    while found < 20:
        kin = model.at(rng.uniform(lower, upper))
        if smallest_singular_value(kin, axes) < SMALLEST:
            continue
        found += 1
        twist, weight = rng.uniform(-1.0, 1.0, 6), axes * SCALE
        expected = np.linalg.pinv(weight[:, None] * kin.jacobian) @ (weight * twist)
        assert DifferentialKinematics(axes).velocities(kin, twist) == pytest.approx(expected, abs=1e-4)


@every_robot
def test_near_singularities_velocities_are_bounded(name):
    """A damped inverse is at most max σ / (σ² + λ²): 1 / ε outside the damped region, and 1 / 2λ inside it."""
    model, axes, lower, upper = arm(name)
    rng = np.random.default_rng(3)
    home = np.array(ROBOTS[name].home)
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
    model, axes, _, _ = arm("ur5")
    kinematics, home = DifferentialKinematics(axes), np.array(ROBOTS["ur5"].home)
    wrist = np.array([0.0, 0.0, 0.0, 0.0, 1.0, 0.0])  # wrist_2 = 0 is singular
    twist = np.array([0.1, -0.2, 0.1, 0.3, 0.2, -0.1])
    for step, largest in ((1e-3, 0.1), (1e-4, 0.01), (1e-5, 0.001)):
        angles = np.arange(-300, 301) * step
        path = np.array([kinematics.velocities(model.at(home * (1 - wrist) + a * wrist), twist) for a in angles])
        assert np.abs(np.diff(path, axis=0)).max() < largest


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
        assert projector @ v == pytest.approx(projector @ posture_rate, abs=1e-4)  # as near as it can to the posture's
        assert projector @ plain == pytest.approx(np.zeros(n), abs=1e-4)
    assert found >= 10


def test_no_velocity_jumps_where_a_joint_begins_to_brake_before_its_limit(rng):
    """Motions that are too fast, and lead a joint to its limit: on the way there all joints change speed smoothly."""
    model, axes, lower, upper = arm("gen3")
    velocities, joint, dt, rooms = DifferentialKinematics(axes), 5, 0.002, np.linspace(0.2, 0.02, 181)
    others, tried = np.arange(7) != joint, 0
    while tried < 5:
        q, twist, posture = rng.uniform(lower, upper), rng.uniform(-0.8, 0.8, 6), rng.uniform(-1.0, 1.0, 7)
        kins = [model.at(np.where(others, q, upper[joint] - room), np.zeros(7)) for room in rooms]
        wanted = velocities.velocities(kins[100], twist, posture) / model.limits.velocity
        jacobians = [(SCALE[:, None] * kin.jacobian)[:, others] for kin in kins[::60]]
        if wanted[joint] < 0.8 or np.abs(wanted).max() < 1.5 or np.linalg.svd(jacobians)[1][:, 5].min() < SMALLEST:
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
    model, _, _, _ = arm("gen3")
    kin, rate = model.at(np.array(ROBOTS["gen3"].home)), np.arange(7.0)
    kinematics = DifferentialKinematics(np.zeros(6))
    assert kinematics.velocities(kin, np.ones(6)) == pytest.approx(np.zeros(7))
    assert kinematics.velocities(kin, np.ones(6), rate) == pytest.approx(rate)


# --- joint angles for a pose ---


@every_robot
def test_random_poses_are_reached_from_near_them(rng, name):
    model, axes, lower, upper = arm(name)
    for _ in range(50):
        goal = rng.uniform(lower, upper)
        pose = model.at(goal).pose
        q0 = np.clip(goal + rng.uniform(-0.1, 0.1, model.n), lower, upper)
        q = solve_pose(model, pose, q0, axes)
        assert axes * pose_error(pose, model.at(q).pose) == pytest.approx(np.zeros(6), abs=1e-10)
        assert np.all((model.limits.lower <= q) & (q <= model.limits.upper))


def test_the_start_itself_is_a_solution():
    model, axes, _, _ = arm("ur5")
    home = np.array(ROBOTS["ur5"].home)
    assert np.array_equal(solve_pose(model, model.at(home).pose, home, axes), home)


def test_a_pose_in_a_singularity_is_reached():
    model, _, _, _ = arm("ur5")
    home = np.array(ROBOTS["ur5"].home)
    singular = home * np.array([1.0, 1.0, 1.0, 1.0, 0.0, 1.0])
    pose = model.at(singular).pose
    q = solve_pose(model, pose, singular + 0.05, tolerance=1e-8)
    assert pose_error(pose, model.at(q).pose) == pytest.approx(np.zeros(6), abs=1e-8)


def test_a_tolerance_is_kept_and_not_undercut_for_long():
    model, axes, _, _ = arm("ur5")
    home = np.array(ROBOTS["ur5"].home)
    pose = model.at(home + 0.2).pose
    rough, fine = (
        np.linalg.norm(pose_error(pose, model.at(solve_pose(model, pose, home, axes, tolerance)).pose))
        for tolerance in (1e-3, 1e-10)
    )
    assert fine < 1e-10 < rough < 1e-3


@every_robot
def test_a_pose_out_of_reach_is_refused_with_where_it_is_and_what_is_left(name):
    model, axes, _, _ = arm(name)
    home = np.array(ROBOTS[name].home)
    far = make_pose(np.array([5.0, 0.0, 0.0]), model.at(home).pose[:3, :3])
    with pytest.raises(ConfigError) as refusal:
        solve_pose(model, far, home, axes)
    for part in ("pose at [5.0, 0.0, 0.0] m can't be reached from", "rad: ", "(m, rad) are left"):
        assert part in str(refusal.value)
    left = float(str(refusal.value).split("rad: ")[1].split(" ")[0])
    assert 2.5 < left < 5.0  # the longest arm has two metres, and the others one


def test_a_pose_behind_a_joint_limit_is_refused_and_no_limit_is_passed():
    model = planar_arm((0.5, 0.4)).model()
    model.limits.upper[1] = 0.5
    axes = np.array([1.0, 1.0, 0.0, 0.0, 0.0, 0.0])
    inside = model.at(np.array([0.3, 0.45])).pose
    q = solve_pose(model, inside, np.array([0.0, 0.2]), axes)
    assert q == pytest.approx([0.3, 0.45], abs=1e-8)
    turned = make_pose(inside[:3, 3], rotation_exp(np.array([0.0, 0.0, 3.0])) @ inside[:3, :3])
    with pytest.raises(ConfigError, match="can't be reached"):
        solve_pose(model, turned, np.array([0.0, 0.2]), np.array([1.0, 1.0, 0.0, 0.0, 0.0, 1.0]))


def test_a_solution_beyond_a_limit_is_none_and_the_one_within_is_found_from_its_side():
    model = planar_arm((0.5, 0.4)).model()
    axes = np.array([1.0, 1.0, 0.0, 0.0, 0.0, 0.0])
    pose = model.at(np.array([0.3, 1.0])).pose
    assert solve_pose(model, pose, np.array([0.3, 0.4]), axes) == pytest.approx([0.3, 1.0], abs=1e-8)
    model.limits.upper[1] = 0.5
    with pytest.raises(ConfigError, match="can't be reached"):
        solve_pose(model, pose, np.array([0.3, 0.4]), axes)
    q = solve_pose(model, pose, np.array([0.3, -0.4]), axes)
    assert q[1] == pytest.approx(-1.0, abs=1e-8)  # the elbow on the other side
    assert model.at(q).pose[:2, 3] == pytest.approx(pose[:2, 3], abs=1e-9)


@pytest.mark.parametrize("name", ["ur5", "gen3"])
def test_a_pose_counts_as_within_reach_from_wherever_the_arm_is(rng, name):
    robot = load_robot(name)
    model = RobotModel.of(robot)
    for _ in range(5):
        lower, upper = np.maximum(model.limits.lower, -np.pi), np.minimum(model.limits.upper, np.pi)
        start, goal = rng.uniform(lower, upper), rng.uniform(lower, upper)
        check_reach("goal", model, model.at(goal).pose, start, np.array(robot.axes))


def test_a_pose_out_of_reach_is_refused_by_its_name_with_what_is_left():
    robot = load_robot("ur5")
    model = RobotModel.of(robot)
    pose = make_pose((2.0, 0.0, 0.3), np.eye(3))
    with pytest.raises(ConfigError) as refused:
        check_reach("goal", model, pose, np.array(robot.home))
    assert refused.value.name == "goal"
    assert refused.value.value == [2.0, 0.0, 0.3]
