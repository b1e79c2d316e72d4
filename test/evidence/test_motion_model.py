"""The motion model against M q̈ + C q̇ + g = tau, written out; and the model's forward dynamics."""

import numpy as np
import pytest
from arms import random_arm
from scipy.integrate import solve_ivp
from scipy.spatial.transform import Rotation

from evidence.reproduce.motion_model import TaskSpaceMotionModel
from robot_control_ros.core.errors import ConfigError
from robot_control_ros.core.spatial import make_pose, pose_error
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
def test_derivative_is_the_velocity_and_what_the_law_accelerates(rng, n):
    model = random_arm(n, n, continuous=(0,)).model(rotor_inertia=[ROTOR] * n)
    Kp, Kd, B = rng.uniform(0, 500, 6), rng.uniform(0, 100, 6), rng.uniform(0, 5, n)
    arm = TaskSpaceMotionModel(model, Kp, Kd, joint_damping=B)
    q, v = rng.uniform(-3, 3, n), rng.uniform(-1, 1, n)
    reference, v_ref = random_pose(rng), rng.normal(size=6)
    kin = model.at(q, v)
    J, e = kin.jacobian, pose_error(reference, kin.pose)
    tau = J.T @ (Kp * e + Kd * (v_ref - J @ v)) - B * v + kin.gravity
    state = np.concatenate((q, v))
    expected = np.concatenate((v, np.linalg.solve(kin.mass, tau - kin.coriolis - kin.gravity)))
    np.testing.assert_allclose(
        arm.derivative(state, reference, v_ref), expected, rtol=1e-12, atol=1e-9
    )
    np.testing.assert_array_equal(state, np.concatenate((q, v)))


def test_at_the_reference_and_at_rest_nothing_moves(rng):
    arm = TaskSpaceMotionModel(random_arm(7, 7).model(rotor_inertia=[ROTOR] * 7))
    q = rng.uniform(-3, 3, 7)
    state = np.concatenate((q, np.zeros(7)))
    np.testing.assert_allclose(
        arm.derivative(state, arm.model.at(q).pose, np.zeros(6)), 0.0, rtol=0, atol=1e-9
    )


@pytest.mark.parametrize(
    "gains",
    [
        {"stiffness": np.eye(5)},
        {"damping": -np.eye(6)},
        {"joint_damping": [1.0, np.nan, 1.0]},
        {"rotation_error": "rpy"},
    ],
)
def test_wrong_gains_are_refused(gains):
    with pytest.raises(ConfigError):
        TaskSpaceMotionModel(random_arm(3, 3).model(), **gains)


def test_gen3_approaches_as_the_source_says():
    """Its own configuration, with rotor inertia: the tip arrives all the same."""
    arm = TaskSpaceMotionModel(RobotModel.of(load_robot("gen3")))
    target = make_pose(np.array([0.6, -0.1, 0.5]))
    solution = solve_ivp(
        lambda t, s: arm.derivative(s, target, np.zeros(6)), (0, 10), np.zeros(14), method="Radau"
    )
    assert abs(pose_error(target, arm.model.at(solution.y[:7, -1]).pose)).max() < 1e-4
