"""Joint angles for a pose, exact where the arm can reach it and refused where it can't."""

import numpy as np
import pytest
from arms import arm_of_the_package, planar_arm, robot_cases

from robot_control_ros.core.errors import ConfigError
from robot_control_ros.core.spatial import make_pose, pose_error, rotation_exp
from robot_control_ros.robot.configuration import load_robot
from robot_control_ros.robot.inverse_kinematics import check_reach, solve_pose
from robot_control_ros.robot.model import RobotModel

every_robot = pytest.mark.parametrize("name", robot_cases())


@every_robot
def test_random_poses_are_reached_from_near_them(rng, name):
    model, axes, lower, upper = arm_of_the_package(name)
    for _ in range(50):
        goal = rng.uniform(lower, upper)
        pose = model.at(goal).pose
        q0 = np.clip(goal + rng.uniform(-0.1, 0.1, model.n), lower, upper)
        q = solve_pose(model, pose, q0, axes)
        assert axes * pose_error(pose, model.at(q).pose) == pytest.approx(np.zeros(6), abs=1e-10)
        assert np.all((model.limits.lower <= q) & (q <= model.limits.upper))


def test_the_start_itself_is_a_solution():
    model, axes, _, _ = arm_of_the_package("ur5")
    home = np.array(load_robot("ur5").home)
    assert np.array_equal(solve_pose(model, model.at(home).pose, home, axes), home)


def test_a_pose_in_a_singularity_is_reached():
    model, _, _, _ = arm_of_the_package("ur5")
    home = np.array(load_robot("ur5").home)
    singular = home * np.array([1.0, 1.0, 1.0, 1.0, 0.0, 1.0])
    pose = model.at(singular).pose
    q = solve_pose(model, pose, singular + 0.05, tolerance=1e-8)
    assert pose_error(pose, model.at(q).pose) == pytest.approx(np.zeros(6), abs=1e-8)


def test_a_tolerance_is_kept_and_not_undercut_for_long():
    model, axes, _, _ = arm_of_the_package("ur5")
    home = np.array(load_robot("ur5").home)
    pose = model.at(home + 0.2).pose
    rough, fine = (
        np.linalg.norm(
            pose_error(pose, model.at(solve_pose(model, pose, home, axes, tolerance)).pose)
        )
        for tolerance in (1e-3, 1e-10)
    )
    assert fine < 1e-10 < rough < 1e-3


@every_robot
def test_a_pose_out_of_reach_is_refused_with_where_it_is_and_what_is_left(name):
    model, axes, _, _ = arm_of_the_package(name)
    home = np.array(load_robot(name).home)
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
    assert solve_pose(model, pose, np.array([0.3, 0.4]), axes) == pytest.approx(
        [0.3, 1.0], abs=1e-8
    )
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
