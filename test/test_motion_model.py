"""The motion model against M q̈ + C q̇ + g = tau + Jᵀ F, written out; and the model's forward dynamics."""

import numpy as np
import pytest
from arms import random_arm
from scipy.integrate import solve_ivp
from scipy.spatial.transform import Rotation

from robot_control_ros.core.errors import ConfigError, ModelError
from robot_control_ros.core.spatial import make_pose, pose_error
from robot_control_ros.experiments.reproduce.motion_model import TaskSpaceMotionModel
from robot_control_ros.robot.configuration import load_robot
from robot_control_ros.robot.model import RobotModel

SIZES = range(1, 9)
ROTOR = 0.1


def random_pose(rng):
    return make_pose(rng.normal(size=3), Rotation.from_quat(rng.normal(size=4)).as_matrix())


# --- forward dynamics ---


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("shuffled", [False, True])
def test_forward_dynamics_solves_the_equation_of_motion(rng, n, shuffled):
    """With rotor inertia, continuous joints and joints in any order."""
    arm = random_arm(n, n, continuous=(0, n // 2), mount=((0.1, 0.2, 0.3), (1.0, 0.5, -2.0)))
    joints = [arm.joints[i] for i in rng.permutation(n)] if shuffled else arm.joints
    model = arm.model(joints, rotor_inertia=rng.uniform(ROTOR, 1.0, n))
    for _ in range(5):
        q, v, tau = rng.uniform(-3, 3, n), rng.uniform(-2, 2, n), rng.uniform(-20, 20, n)
        expected = np.linalg.solve(model.mass(q), tau - model.bias(q, v))
        np.testing.assert_allclose(model.forward_dynamics(q, v, tau), expected, rtol=0, atol=1e-10)


def test_forward_dynamics_is_the_inverse_of_inverse_dynamics(rng):
    model = random_arm(7, 7, continuous=(1, 4)).model(rotor_inertia=[ROTOR] * 7)
    q, v, a = rng.uniform(-3, 3, 7), rng.uniform(-2, 2, 7), rng.uniform(-5, 5, 7)
    tau = model.inverse_dynamics(q, v, a)
    np.testing.assert_allclose(model.forward_dynamics(q, v, tau), a, rtol=0, atol=1e-10)


def test_forward_dynamics_leaves_the_current_state_alone(rng):
    model = random_arm(6, 6).model()
    kin = model.update(rng.uniform(-3, 3, 6), np.zeros(6))
    frame = model.frame_pose("link_4").copy()
    model.forward_dynamics(rng.uniform(-3, 3, 6), np.ones(6), np.ones(6))
    np.testing.assert_array_equal(model.frame_pose("link_4"), frame)
    assert kin.gravity.shape == (6,)


# --- motion model ---


@pytest.mark.parametrize("n", SIZES)
def test_derivative_is_the_velocity_and_what_law_and_environment_accelerate(rng, n):
    model = random_arm(n, n, continuous=(0,)).model(rotor_inertia=[ROTOR] * n)
    Kp, Kd, B = rng.uniform(0, 500, 6), rng.uniform(0, 100, 6), rng.uniform(0, 5, n)
    arm = TaskSpaceMotionModel(model, Kp, Kd, B)
    q, v = rng.uniform(-3, 3, n), rng.uniform(-1, 1, n)
    reference, v_ref, F = random_pose(rng), rng.normal(size=6), 20 * rng.normal(size=6)
    kin = model.at(q, v)
    J, e = kin.jacobian, pose_error(reference, kin.pose)
    tau = J.T @ (Kp * e + Kd * (v_ref - J @ v)) - B * v + kin.gravity
    state = np.concatenate((q, v))
    for wrench in (None, F):
        pull = tau if wrench is None else tau + J.T @ wrench
        expected = np.concatenate((v, np.linalg.solve(kin.mass, pull - kin.coriolis - kin.gravity)))
        result = arm.derivative(state, reference, v_ref, wrench)
        np.testing.assert_allclose(result, expected, rtol=1e-12, atol=1e-9)
    np.testing.assert_array_equal(state, np.concatenate((q, v)))


def test_at_the_reference_and_at_rest_nothing_moves(rng):
    arm = TaskSpaceMotionModel(random_arm(7, 7).model(rotor_inertia=[ROTOR] * 7))
    q = rng.uniform(-3, 3, 7)
    state = np.concatenate((q, np.zeros(7)))
    np.testing.assert_allclose(arm.derivative(state, arm.model.at(q).pose, np.zeros(6)), 0.0, rtol=0, atol=1e-9)


def test_a_wrench_is_in_balance_where_it_displaced_the_tip_by_its_share_of_the_stiffness(rng):
    arm = TaskSpaceMotionModel(random_arm(3, 6).model(rotor_inertia=[ROTOR] * 6))
    F = np.array([50.0, -30.0, 20.0, 100.0, -50.0, 30.0])
    for _ in range(5):
        q = rng.uniform(-3, 3, 6)
        displaced = arm.model.at(q).pose
        back = Rotation.from_rotvec(-F[3:] / 500).as_matrix()
        reference = make_pose(displaced[:3, 3] - F[:3] / 500, back @ displaced[:3, :3])
        state = np.concatenate((q, np.zeros(6)))
        np.testing.assert_allclose(arm.derivative(state, reference, np.zeros(6), F), 0.0, rtol=0, atol=1e-9)
        assert abs(arm.derivative(state, reference, np.zeros(6))).max() > 1.0


def test_it_is_made_from_a_configuration_with_its_tip_and_its_rotors(ur5):
    arm = TaskSpaceMotionModel(ur5)
    q = np.array(ur5.home)
    np.testing.assert_array_equal(arm.model.mass(q), RobotModel.of(ur5).mass(q))
    np.testing.assert_array_equal(arm.model.at(q).pose, RobotModel.of(ur5).at(q).pose)


def test_an_unknown_tip_is_refused_with_the_frames():
    arm = random_arm(3, 3)
    with pytest.raises(ModelError, match=r"unknown frame 'hand'; frames: .*tip"):
        TaskSpaceMotionModel(RobotModel(arm.urdf, arm.joints, "base", "hand"))


@pytest.mark.parametrize(
    ("gains", "words"),
    [
        ({"stiffness": np.eye(5)}, "stiffness has"),
        ({"damping": -np.eye(6)}, r"damping\[0\] = -1: must be within"),
        ({"joint_damping": [1.0, np.nan, 1.0]}, r"joint_damping\[1\] = nan"),
        ({"rotation_error": "rpy"}, "must be one of: so3_log, euler_xyz"),
    ],
)
def test_wrong_gains_are_refused_with_the_reason(gains, words):
    with pytest.raises(ConfigError, match=words):
        TaskSpaceMotionModel(random_arm(3, 3).model(), **gains)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((np.zeros(5), np.eye(4), np.zeros(6)), r"state has the shape \(5,\): must have \(6,\)"),
        ((np.zeros(6), np.eye(3), np.zeros(6)), r"pose_ref has the shape \(3, 3\): must have \(4, 4\)"),
        ((np.zeros(6), np.eye(4), np.zeros(3)), r"twist_ref has the shape \(3,\): must have \(6,\)"),
        ((np.zeros(6), np.eye(4), np.zeros(6), np.zeros(3)), r"wrench_ext has the shape \(3,\): must have \(6,\)"),
    ],
)
def test_wrong_shapes_are_refused(arguments, words):
    arm = TaskSpaceMotionModel(random_arm(3, 3).model())
    with pytest.raises(ConfigError, match=words):
        arm.derivative(*arguments)


def test_gen3_approaches_as_the_source_says():
    """Its own configuration, with rotor inertia: the tip arrives all the same."""
    arm = TaskSpaceMotionModel(load_robot("gen3"))
    target = make_pose(np.array([0.6, -0.1, 0.5]))
    solution = solve_ivp(lambda t, s: arm.derivative(s, target, np.zeros(6)), (0, 10), np.zeros(14), method="Radau")
    assert abs(pose_error(target, arm.model.at(solution.y[:7, -1]).pose)).max() < 1e-4
