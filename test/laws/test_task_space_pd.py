"""The task-space PD law against a formula written out in another order, its error vectors,
energy and symmetries.
"""

import numpy as np
import pytest
from arms import Chain, gradient, planar_arm, random_arm, slope
from refusals import refuses
from scipy.spatial.transform import Rotation

from robot_control_ros.core.gains import make_gains
from robot_control_ros.core.spatial import make_pose, rotation_error_euler_xyz, rotation_exp
from robot_control_ros.core.types import Reference, RobotState
from robot_control_ros.laws.task_space_pd import TaskSpacePD
from robot_control_ros.robot.model import RobotModel
from robot_control_ros.simulation.in_process import Push, simulate

SIZES = range(1, 9)
ANGULAR_FIRST = [3, 4, 5, 0, 1, 2]
ERRORS = ("so3_log", "euler_xyz")


def random_rotation(rng):
    return Rotation.from_quat(rng.normal(size=4))


def random_pose(rng):
    return make_pose(rng.normal(size=3), random_rotation(rng).as_matrix())


def positive(rng, size):
    """A full symmetric matrix with eigenvalues up to `size`."""
    root = rng.normal(size=(6, 6))
    return size * root @ root.T / np.linalg.norm(root, 2) ** 2


def lopsided(rng, size):
    """A full matrix with a positive symmetric part and another one that is skew."""
    skew = rng.uniform(-0.2, 0.2, (6, 6))
    return positive(rng, size) + size * (skew - skew.T)


def law_at(kin, reference, **gains):
    """The torque and its terms of a fresh law."""
    law, n = TaskSpacePD(), kin.model.n
    state = RobotState(0.0, kin.q, kin.v, np.zeros(n))
    law.reset(state, kin)
    command = law.compute(state, kin, reference, make_gains(TaskSpacePD.Gains, gains, n), 0.001)
    np.testing.assert_allclose(command.values, sum(law.terms.values()), rtol=0, atol=1e-12)
    return command.values, law.terms


# --- torque ---


@pytest.mark.few(4)
@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("rotation_error", ERRORS)
def test_torque_is_the_formula_with_everything_in_another_order(rng, n, rotation_error):
    """Angular first, joints in another order, kinematics without a library, rotations by
    scipy, gravity by energy.
    """
    arm = random_arm(n, n, continuous=(0,))
    chain, order = Chain(arm.urdf), rng.permutation(n)
    for _ in range(5):
        q, v = rng.uniform(-3, 3, n), rng.uniform(-1, 1, n)
        Kp, Kd, B = lopsided(rng, 500), lopsided(rng, 100), rng.uniform(0, 5, n)
        reference, v_ref = random_pose(rng), rng.normal(size=6)

        shuffled = {arm.joints[i]: q[i] for i in order}
        pose = chain.relative(arm.base, arm.tip, shuffled)
        J = chain.jacobian(arm.tip, shuffled)[ANGULAR_FIRST]
        turn = Rotation.from_matrix(reference[:3, :3]) * Rotation.from_matrix(pose[:3, :3]).inv()
        e_rot = turn.as_rotvec() if rotation_error == "so3_log" else turn.as_euler("XYZ")
        e = np.concatenate((e_rot, reference[:3, 3] - pose[:3, 3]))
        expected = np.empty(n)
        expected[order] = J.T @ (Kp @ e + Kd @ (v_ref - J @ v[order])) - B[order] * v[order]

        to_linear_first = np.ix_(ANGULAR_FIRST, ANGULAR_FIRST)
        kin = arm.model().at(q, v)
        torque, terms = law_at(
            kin,
            Reference(reference, v_ref[ANGULAR_FIRST]),
            stiffness=Kp[to_linear_first],
            damping=Kd[to_linear_first],
            joint_damping=B,
            rotation_error=rotation_error,
        )
        np.testing.assert_allclose(torque - terms["gravity"], expected, rtol=0, atol=1e-10)
        gravity = gradient(
            lambda x: chain.potential_energy(dict(zip(arm.joints, x, strict=True))), q, 1e-3
        )
        np.testing.assert_allclose(terms["gravity"], gravity, rtol=0, atol=1e-8)


def test_permuted_joints_get_permuted_torques(rng):
    arm = random_arm(7, 7, continuous=(1, 4))
    order = np.array([4, 0, 6, 2, 1, 5, 3])
    q, v, B = rng.uniform(-3, 3, 7), rng.uniform(-1, 1, 7), rng.uniform(0, 5, 7)
    reference = Reference(random_pose(rng), rng.normal(size=6))
    torque, _ = law_at(arm.model().at(q, v), reference, joint_damping=B)
    permuted = arm.model([arm.joints[i] for i in order]).at(q[order], v[order])
    np.testing.assert_allclose(
        law_at(permuted, reference, joint_damping=B[order])[0], torque[order], rtol=0, atol=1e-10
    )


def test_the_defaults_are_the_sources():
    gains = make_gains(TaskSpacePD.Gains, {}, 7)
    np.testing.assert_array_equal(gains.stiffness, 500 * np.eye(6))
    np.testing.assert_array_equal(gains.damping, 100 * np.eye(6))
    np.testing.assert_array_equal(gains.joint_damping, np.ones(7))
    assert gains.rotation_error == "so3_log"
    assert gains.gravity == 1.0


@pytest.mark.parametrize("rotation_error", ERRORS)
@pytest.mark.parametrize("n", SIZES)
def test_at_the_reference_and_at_rest_there_is_gravity_alone(rng, n, rotation_error):
    kin = random_arm(n, n).model().at(rng.uniform(-3, 3, n))
    torque, _ = law_at(kin, Reference(kin.pose), rotation_error=rotation_error)
    np.testing.assert_allclose(torque, kin.gravity, rtol=0, atol=1e-10)
    torque, _ = law_at(kin, Reference(kin.pose), rotation_error=rotation_error, gravity=False)
    np.testing.assert_allclose(torque, 0.0, rtol=0, atol=1e-10)


def test_without_a_reference_pose_there_is_no_spring_and_without_a_twist_it_is_zero(rng):
    kin = random_arm(6, 6).model().at(rng.uniform(-3, 3, 6), rng.uniform(-1, 1, 6))
    pose = random_pose(rng)
    assert not law_at(kin, Reference())[1]["stiffness"].any()
    np.testing.assert_array_equal(
        law_at(kin, Reference(pose))[0], law_at(kin, Reference(pose, np.zeros(6)))[0]
    )


def test_a_law_uses_the_gains_of_each_call(rng):
    kin = random_arm(6, 6).model().at(rng.uniform(-3, 3, 6))
    law, state, reference = (
        TaskSpacePD(),
        RobotState(0.0, kin.q, kin.v, np.zeros(6)),
        Reference(random_pose(rng)),
    )
    for error in ("so3_log", "euler_xyz", "so3_log"):
        gains = make_gains(TaskSpacePD.Gains, {"rotation_error": error}, 6)
        command = law.compute(state, kin, reference, gains, 0.001)
        np.testing.assert_array_equal(
            command.values, law_at(kin, reference, rotation_error=error)[0]
        )


# --- symmetries and energy ---


def test_turning_the_whole_scene_turns_nothing_else(rng):
    """Joint torques don't depend on the axes of the base: so3_log, gains that know no
    direction, no gravity.
    """
    for _ in range(5):
        Q = random_rotation(rng)
        mount = ((0.0, 0.0, 0.0), tuple(Q.as_euler("xyz")))
        plain, turned = random_arm(5, 6), random_arm(5, 6, mount=mount)
        q, v = rng.uniform(-3, 3, 6), rng.uniform(-1, 1, 6)
        pose, twist = random_pose(rng), rng.normal(size=6)
        scene = make_pose(np.zeros(3), Q.as_matrix())
        there = Reference(scene @ pose, np.concatenate((Q.apply(twist[:3]), Q.apply(twist[3:]))))
        gains = {
            "stiffness": [400.0] * 3 + [40.0] * 3,
            "damping": [60.0] * 3 + [6.0] * 3,
            "gravity": False,
        }
        here = law_at(plain.model().at(q, v), Reference(pose, twist), **gains)[0]
        in_world = RobotModel(turned.urdf, turned.joints, "world", "tip").at(q, v)
        np.testing.assert_allclose(law_at(in_world, there, **gains)[0], here, rtol=0, atol=1e-9)


def energy_of_spring(arm, reference, translation, rotation):
    chain = Chain(arm.urdf)

    def energy(x):
        pose = chain.relative(arm.base, arm.tip, dict(zip(arm.joints, x, strict=True)))
        e = reference[:3, 3] - pose[:3, 3]
        turn = Rotation.from_matrix(reference[:3, :3] @ pose[:3, :3].T).as_rotvec()
        return (e @ translation @ e + turn @ rotation @ turn) / 2

    return energy


def at_angle(kin, rng, angle):
    axis = rng.normal(size=3)
    turn = Rotation.from_rotvec(angle * axis / np.linalg.norm(axis)).as_matrix()
    return make_pose(kin.pose[:3, 3] + rng.normal(size=3), turn @ kin.pose[:3, :3])


@pytest.mark.parametrize("angle", [0.0, 0.7, 2.5, np.pi - 0.01])
def test_spring_is_a_gradient_where_its_rotational_part_knows_no_direction(rng, angle):
    arm = random_arm(4, 6)
    K, k = positive(rng, 500)[:3, :3], 80.0
    for _ in range(3):
        q = rng.uniform(-3, 3, 6)
        kin = arm.model().at(q)
        reference = at_angle(kin, rng, angle)
        stiffness = np.block([[K, np.zeros((3, 3))], [np.zeros((3, 3)), k * np.eye(3)]])
        _, terms = law_at(kin, Reference(reference), stiffness=stiffness)
        expected = -gradient(energy_of_spring(arm, reference, K, k * np.eye(3)), q, 1e-4)
        np.testing.assert_allclose(terms["stiffness"], expected, rtol=0, atol=1e-6)


def test_spring_with_directions_is_a_gradient_to_second_order_only(rng):
    arm = random_arm(4, 6)
    rotation = np.diag([100.0, 20.0, 50.0])
    stiffness = np.diag([0.0, 0.0, 0.0, 100.0, 20.0, 50.0])

    def deviation(angle):
        worst = 0.0
        for seed in range(5):
            local = np.random.default_rng(seed)
            q = local.uniform(-3, 3, 6)
            kin = arm.model().at(q)
            reference = at_angle(kin, local, angle)
            _, terms = law_at(kin, Reference(reference), stiffness=stiffness)
            exact = -gradient(energy_of_spring(arm, reference, np.zeros((3, 3)), rotation), q, 1e-4)
            worst = max(worst, abs(terms["stiffness"] - exact).max())
        return worst

    assert deviation(1.0) > 1.0
    assert deviation(0.1) / deviation(0.05) == pytest.approx(4.0, rel=0.15)


def test_energy_falls_by_what_the_dampers_take(rng):
    """d/dt (q̇ᵀ M q̇ / 2 + V_p) = -q̇ᵀ B q̇ - vᵀ Kd v along the motion that the model gives."""
    arm = random_arm(4, 6)
    model = arm.model(rotor_inertia=[0.1] * 6)
    K, k = positive(rng, 500)[:3, :3], 80.0
    stiffness = np.block([[K, np.zeros((3, 3))], [np.zeros((3, 3)), k * np.eye(3)]])
    Kd, B = positive(rng, 100), rng.uniform(0, 5, 6)
    for angle in (0.5, 1.5, 2.8):
        q, v = rng.uniform(-3, 3, 6), rng.uniform(-1, 1, 6)
        kin = model.at(q, v)
        reference = at_angle(kin, rng, angle)
        torque, _ = law_at(
            kin, Reference(reference), stiffness=stiffness, damping=Kd, joint_damping=B
        )
        a = np.linalg.solve(kin.mass, torque - kin.coriolis - kin.gravity)
        spring = energy_of_spring(arm, reference, K, k * np.eye(3))

        def energy(h, q=q, v=v, a=a, spring=spring):
            x, w = q + h * v + h * h / 2 * a, v + h * a
            return w @ model.at(x).mass @ w / 2 + spring(x)

        power = -v @ (B * v) - kin.twist @ Kd @ kin.twist
        assert power < 0
        assert slope(energy, 1e-4) == pytest.approx(power, abs=1e-5)


# --- error vectors ---


def test_euler_angles_give_the_rotation_back(rng):
    for _ in range(50):
        R = random_rotation(rng).as_matrix()
        a, b, c = rotation_error_euler_xyz(R)
        x, y, z = np.eye(3)
        np.testing.assert_allclose(
            rotation_exp(a * x) @ rotation_exp(b * y) @ rotation_exp(c * z), R, atol=1e-14
        )
        assert abs(b) <= np.pi / 2


@pytest.mark.parametrize(("axis", "reach"), [(0, 179), (1, 90), (2, 179)])
def test_euler_angles_are_the_rotation_vector_about_x_and_z_and_about_y_up_to_a_right_angle(
    axis, reach
):
    for degrees in range(-reach, reach + 1):
        x = np.radians(degrees) * np.eye(3)[axis]
        e = rotation_error_euler_xyz(Rotation.from_rotvec(x).as_matrix())
        np.testing.assert_allclose(e, x, rtol=0, atol=1e-6)


@pytest.mark.parametrize("zero", [0.0, -0.0])
def test_euler_angles_beyond_a_right_angle_about_y_are_the_sources_whatever_the_sign_of_zero(zero):
    R = Rotation.from_rotvec([0, np.radians(120), 0]).as_matrix()
    R[0, 1] = R[1, 2] = zero
    np.testing.assert_allclose(
        np.degrees(rotation_error_euler_xyz(R)), [-180, 60, 180], rtol=0, atol=1e-6
    )


@pytest.mark.parametrize("sign", [1, -1])
def test_euler_angles_at_the_pole_give_the_rotation_back_without_turning_about_z(rng, sign):
    for angle in rng.uniform(-3, 3, 10):
        R = Rotation.from_euler("XY", [angle, sign * np.pi / 2]).as_matrix()
        R[0, :2] = 0.0
        a, b, c = rotation_error_euler_xyz(R)
        assert c == 0.0
        np.testing.assert_allclose([a, b], [angle, sign * np.pi / 2], rtol=0, atol=1e-7)


def test_the_two_errors_agree_to_first_order(rng):
    for _ in range(10):
        x = 1e-4 * rng.normal(size=3)
        np.testing.assert_allclose(rotation_error_euler_xyz(rotation_exp(x)), x, rtol=0, atol=1e-6)


@pytest.mark.parametrize("axis", [*np.eye(3), *-np.eye(3), np.ones(3) / np.sqrt(3.0)])
def test_half_a_turn_always_gives_the_same_torque(rng, axis):
    kin = random_arm(6, 6).model().at(np.zeros(6))
    reference = make_pose(
        kin.pose[:3, 3], Rotation.from_rotvec(np.pi * axis).as_matrix() @ kin.pose[:3, :3]
    )
    first, terms = law_at(kin, Reference(reference))
    law_at(kin, Reference(random_pose(rng)))  # something else in between
    assert first.tobytes() == law_at(kin, Reference(reference.copy()))[0].tobytes()
    force = np.linalg.solve(kin.jacobian.T, terms["stiffness"])
    assert np.linalg.norm(force[3:]) == pytest.approx(500 * np.pi, rel=1e-6)


# --- refused ---


SIZES, STIFFNESS, DAMPING = (1, 6, 36), (0.0, 10000.0), (0.0, 2000.0)


@pytest.mark.parametrize(
    ("gains", "name", "value", "bound"),
    [
        ({"stiffness": [500.0] * 5}, "stiffness", [500.0] * 5, SIZES),
        ({"stiffness": np.eye(3)}, "stiffness", np.eye(3), SIZES),
        ({"damping": np.eye(7)}, "damping", np.eye(7), SIZES),
        ({"stiffness": np.nan}, "stiffness[0]", np.nan, STIFFNESS),
        ({"damping": np.full((6, 6), np.inf)}, "damping[0]", np.inf, DAMPING),
        (
            {"stiffness": np.where(np.eye(6, k=2) > 0, np.nan, 500 * np.eye(6))},
            *("stiffness[0, 2]", np.nan, (-10000.0, 10000.0)),
        ),
        ({"stiffness": "stiff"}, "stiffness", "stiff", SIZES),
        ({"stiffness": 1j}, "stiffness", 1j, SIZES),
        ({"damping": -1.0}, "damping[0]", -1.0, DAMPING),
        ({"damping": [100.0] * 5 + [-1.0]}, "damping[5]", -1.0, DAMPING),
        ({"joint_damping": [1.0] * 6}, "joint_damping", [1.0] * 6, (1, 7)),
        ({"joint_damping": [1.0] * 6 + [-0.1]}, "joint_damping[6]", -0.1, (0.0, 200.0)),
        ({"joint_damping": np.nan}, "joint_damping", np.nan, (0.0, 200.0)),
        (
            {"rotation_error": "quaternion"},
            "rotation_error",
            "quaternion",
            ("so3_log", "euler_xyz"),
        ),
    ],
)
def test_wrong_gains_are_refused_with_the_reason(gains, name, value, bound):
    with refuses(name, value, bound):
        make_gains(TaskSpacePD.Gains, gains, 7)


def test_a_damping_that_could_drive_the_arm_is_refused_with_its_eigenvalue():
    coupled = np.eye(6) + 3 * (np.eye(6, k=1) + np.eye(6, k=-1))
    with refuses("damping", bound=(0.0, np.inf)) as error:
        make_gains(TaskSpacePD.Gains, {"damping": coupled}, 7)
    assert error.value.value == pytest.approx(np.linalg.eigvalsh(coupled)[0])


# --- in simulation ---


SOFT = {"stiffness": [500.0] * 3 + [100.0] * 3, "damping": [150.0] * 3 + [20.0] * 3}


@pytest.mark.few(1)
@pytest.mark.parametrize("rotation_error", ERRORS)
def test_the_arm_returns_after_a_push(rotation_error):
    push = Push(force=(20.0, 10.0, 0.0), torque=(2.0, 2.0, 2.0), start=0.2, duration=0.3)
    log = simulate(
        "ur5",
        "task_space_pd",
        {**SOFT, "rotation_error": rotation_error},
        duration=6.0,
        push=push,
        rate=500,
    )
    assert abs(log.pose_error).max() > 0.01
    assert abs(log.pose_error[-1]).max() < 1e-5
    assert abs(log.v[-1]).max() < 1e-5


def test_a_planar_arm_is_controlled_where_it_can_move():
    arm = planar_arm((0.5, 0.4))
    push = Push(force=(20.0, -10.0, 0.0), duration=0.3)
    log = simulate(
        arm.config(),
        "task_space_pd",
        duration=4.0,
        push=push,
        q0=[0.4, 1.2],
        urdf=arm.urdf,
        rate=500.0,
    )
    assert abs(log.pose_error).max() > 0.01
    assert abs(log.pose_error[-1]).max() < 1e-4
