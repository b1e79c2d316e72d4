"""RobotModel against formulae written out in `arms.Chain`, which uses no robotics library, and
finite differences.
"""

import numpy as np
import pytest
from arms import GRAVITY, Arm, Chain, gradient, planar_arm, random_arm, slope
from scipy.spatial.transform import Rotation

from robot_control_ros.core.errors import ModelError
from robot_control_ros.robot.configuration import load_robot
from robot_control_ros.robot.model import RobotModel

MOUNT = ((0.3, -0.2, 0.7), (0.4, -1.1, 2.3))
SIZES = range(1, 9)


def random_state(rng, n):
    return rng.uniform(-3, 3, n), rng.uniform(-2, 2, n)


def angles(arm, q):
    return dict(zip(arm.joints, q, strict=True))


def seventh(arm_seed=7, **options):
    """Seven joints, two of them continuous."""
    return random_arm(arm_seed, 7, continuous=(1, 4), **options)


def energy_and_model(arm, rotor_inertia=None):
    model = arm.model(rotor_inertia=rotor_inertia)
    return model, lambda q, v: float(v @ model.at(q).mass @ v / 2)


# --- kinematics ---


@pytest.mark.parametrize("n", SIZES)
def test_pose_is_the_product_of_the_joints_transforms(rng, n):
    arm = random_arm(n, n, continuous=(0, n - 1), mount=MOUNT)
    for _ in range(5):
        q, v = random_state(rng, n)
        expected = Chain(arm.urdf).relative(arm.base, arm.tip, angles(arm, q))
        np.testing.assert_allclose(arm.model().update(q, v).pose, expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("n", SIZES)
def test_jacobian_is_the_derivative_of_the_pose_in_base_axes_at_the_tip(rng, n):
    arm = random_arm(n, n, continuous=(n // 2,), mount=MOUNT)
    model = arm.model()
    q, _ = random_state(rng, n)
    pose = model.at(q).pose

    def moved(x):
        after = model.at(x).pose
        turn = Rotation.from_matrix(after[:3, :3] @ pose[:3, :3].T).as_rotvec()
        return np.concatenate((after[:3, 3], turn))

    np.testing.assert_allclose(model.at(q).jacobian, gradient(moved, q, 1e-4), rtol=0, atol=1e-9)


def test_jacobian_is_the_geometric_one(rng):
    arm = seventh()
    q, v = random_state(rng, 7)
    expected = Chain(arm.urdf).jacobian(arm.tip, angles(arm, q))
    np.testing.assert_allclose(arm.model().update(q, v).jacobian, expected, rtol=0, atol=1e-12)


def test_twist_is_the_jacobian_times_the_joint_velocities_and_moves_the_pose(rng):
    arm = seventh(mount=MOUNT)
    model = arm.model()
    q, v = random_state(rng, 7)
    kin = model.update(q, v)
    np.testing.assert_allclose(kin.twist, kin.jacobian @ v, rtol=0, atol=1e-14)
    np.testing.assert_allclose(
        kin.twist[:3], slope(lambda h: model.at(q + h * v).pose[:3, 3]), rtol=0, atol=1e-9
    )


@pytest.mark.parametrize("n", SIZES)
def test_jdot_v_is_the_derivative_of_the_jacobian_times_the_velocities(rng, n):
    arm = random_arm(n, n, continuous=(0,), mount=MOUNT)
    model = arm.model()
    q, v = random_state(rng, n)
    Jdot = slope(lambda h: model.at(q + h * v).jacobian)
    np.testing.assert_allclose(model.update(q, v).jdot_v, Jdot @ v, rtol=0, atol=1e-8)


def test_a_continuous_joint_may_turn_on_and_on(rng):
    arm = seventh()
    model = arm.model()
    q, v = random_state(rng, 7)
    turned = q.copy()
    turned[[1, 4]] += [6 * np.pi, -4 * np.pi]
    here, there = model.at(q, v), model.at(turned, v)
    for name in ("pose", "jacobian", "gravity", "mass", "coriolis", "jdot_v"):
        np.testing.assert_allclose(getattr(here, name), getattr(there, name), rtol=0, atol=1e-11)
    assert there.q[1] == turned[1]
    assert np.isinf(model.limits.upper[[1, 4]]).all()
    assert np.isinf(model.limits.lower[[1, 4]]).all()


def test_frame_pose_is_the_links_pose_in_base(rng):
    arm = seventh(mount=MOUNT, gripper=True)
    model, chain = arm.model(), Chain(arm.urdf)
    q, v = random_state(rng, 7)
    model.update(q, v)
    for frame in ("world", "base", "link_1", "link_4", "tip", "palm", "left_finger"):
        expected = chain.relative(arm.base, frame, angles(arm, q))
        np.testing.assert_allclose(model.frame_pose(frame), expected, rtol=0, atol=1e-12)


def test_questions_about_other_states_leave_the_current_one_alone(rng):
    arm = seventh()
    model = arm.model()
    q, v = random_state(rng, 7)
    kin = model.update(q, v)
    frame = model.frame_pose("link_4").copy()
    kept = {name: np.array(getattr(kin, name)) for name in ("pose", "jacobian", "gravity", "twist")}
    other = model.at(*random_state(rng, 7))
    assert abs(other.coriolis).max() > 0
    assert abs(other.jdot_v).max() > 0
    assert other.mass.shape == (7, 7)
    np.testing.assert_array_equal(model.frame_pose("link_4"), frame)
    for name, value in kept.items():
        np.testing.assert_array_equal(getattr(kin, name), value)


def test_an_older_sample_keeps_its_own_numbers(rng):
    model = seventh().model()
    q, v = random_state(rng, 7)
    fresh = seventh().model().update(q, v)
    old = model.update(q, v)
    model.update(*random_state(rng, 7))
    for name in ("pose", "jacobian", "gravity", "mass", "coriolis", "jdot_v", "twist"):
        np.testing.assert_array_equal(getattr(old, name), getattr(fresh, name))


# --- dynamics ---


@pytest.mark.parametrize("n", SIZES)
def test_gravity_is_the_gradient_of_the_potential_energy(rng, n):
    arm = random_arm(n, n, continuous=(0,), mount=MOUNT)
    chain = Chain(arm.urdf)
    q, v = random_state(rng, n)
    expected = gradient(lambda x: chain.potential_energy(angles(arm, x)), q, 1e-3)
    np.testing.assert_allclose(arm.model().update(q, v).gravity, expected, rtol=0, atol=1e-8)


@pytest.mark.parametrize("n", SIZES)
def test_mass_is_the_sum_over_the_links(rng, n):
    arm = random_arm(n, n, continuous=(n // 2,), mount=MOUNT)
    q, v = random_state(rng, n)
    mass = arm.model().update(q, v).mass
    np.testing.assert_allclose(
        mass, Chain(arm.urdf).mass_matrix(angles(arm, q)), rtol=0, atol=1e-12
    )
    np.testing.assert_allclose(mass, mass.T, rtol=0, atol=1e-14)
    assert np.linalg.eigvalsh(mass).min() > 0


@pytest.mark.parametrize("n", SIZES)
def test_coriolis_is_what_lagranges_equation_says(rng, n):
    """d/dt (M v) - d/dq (½ vᵀ M v) at zero joint acceleration."""
    arm = random_arm(n, n, continuous=(n // 2,))
    model, energy = energy_and_model(arm)
    q, v = random_state(rng, n)
    expected = slope(lambda h: model.at(q + h * v).mass) @ v - gradient(lambda x: energy(x, v), q)
    np.testing.assert_allclose(model.update(q, v).coriolis, expected, rtol=0, atol=1e-7)


@pytest.mark.parametrize("n", SIZES)
def test_coriolis_does_no_work_beyond_the_change_of_the_kinetic_energy(rng, n):
    """vᵀ (Ṁ - 2 C) v = 0."""
    model, energy = energy_and_model(random_arm(n, n))
    q, v = random_state(rng, n)
    power = slope(lambda h: energy(q + h * v, v))
    assert v @ model.update(q, v).coriolis == pytest.approx(power, abs=1e-8)


def test_coriolis_is_zero_at_rest(rng):
    q, _ = random_state(rng, 7)
    np.testing.assert_allclose(seventh().model().at(q).coriolis, 0.0, rtol=0, atol=1e-13)


def test_bias_is_coriolis_and_gravity(rng):
    model = seventh().model()
    q, v = random_state(rng, 7)
    kin = model.update(q, v)
    np.testing.assert_allclose(model.bias(q, v), kin.coriolis + kin.gravity, rtol=0, atol=1e-12)


@pytest.mark.parametrize("order", [None, (4, 0, 6, 2, 1, 5, 3)])
def test_rotor_inertia_adds_to_the_diagonal_and_to_nothing_else(rng, order):
    arm = seventh()
    rotor = np.array([0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7])
    joints = arm.joints if order is None else [arm.joints[i] for i in order]
    q, v = random_state(rng, 7)
    without, with_it = arm.model(joints).at(q, v), arm.model(joints, rotor_inertia=rotor).at(q, v)
    np.testing.assert_allclose(with_it.mass - without.mass, np.diag(rotor), rtol=0, atol=1e-13)
    np.testing.assert_array_equal(with_it.gravity, without.gravity)
    np.testing.assert_array_equal(with_it.coriolis, without.coriolis)


@pytest.mark.parametrize("n", SIZES)
def test_inverse_dynamics_is_the_equation_of_motion(rng, n):
    """M a + C v + g, with continuous joints, a turned base and rotors."""
    arm = random_arm(n, n, continuous=(0, n - 1), mount=MOUNT, friction=True)
    model = arm.model(rotor_inertia=rng.uniform(0.05, 0.5, n))
    for _ in range(5):
        q, v = random_state(rng, n)
        a = rng.uniform(-5.0, 5.0, n)
        expected = model.mass(q) @ a + model.bias(q, v)
        np.testing.assert_allclose(model.inverse_dynamics(q, v, a), expected, rtol=0, atol=1e-10)
        without_weight = expected - model.at(q).gravity
        np.testing.assert_allclose(model.motion_torque(q, v, a), without_weight, rtol=0, atol=1e-10)


def test_a_motion_at_rest_takes_no_torque(rng):
    model = random_arm(5, 5, mount=MOUNT).model()
    q, rest = rng.uniform(-3.0, 3.0, 5), np.zeros(5)
    np.testing.assert_array_equal(model.motion_torque(q, rest, rest), rest)


def test_inverse_dynamics_is_lagranges_equation(rng):
    """d/dt (M v) - d/dq (½ vᵀ M v) + dU/dq, with masses from `arms.Chain` alone."""
    arm = random_arm(3, 4, continuous=(2,))
    chain, n = Chain(arm.urdf), 4
    q, v = random_state(rng, n)
    a = rng.uniform(-5.0, 5.0, n)

    def mass(x):
        return chain.mass_matrix(angles(arm, x))

    momentum_rate = mass(q) @ a + slope(lambda h: mass(q + h * v), 1e-3) @ v
    expected = momentum_rate - gradient(lambda x: v @ mass(x) @ v / 2.0, q, 1e-3)
    expected += gradient(lambda x: chain.potential_energy(angles(arm, x)), q, 1e-3)
    np.testing.assert_allclose(arm.model().inverse_dynamics(q, v, a), expected, rtol=0, atol=1e-7)


def test_inverse_and_forward_dynamics_undo_each_other_in_any_order_of_joints(rng):
    arm, order = seventh(), np.array([4, 0, 6, 2, 1, 5, 3])
    rotor = rng.uniform(0.1, 1.0, 7)
    model = arm.model(rotor_inertia=rotor)
    permuted = arm.model([arm.joints[i] for i in order], rotor_inertia=rotor[order])
    q, v = random_state(rng, 7)
    a = rng.uniform(-5.0, 5.0, 7)
    tau = model.inverse_dynamics(q, v, a)
    np.testing.assert_allclose(
        permuted.inverse_dynamics(q[order], v[order], a[order]), tau[order], rtol=0, atol=1e-11
    )
    np.testing.assert_allclose(model.forward_dynamics(q, v, tau), a, rtol=0, atol=1e-9)
    np.testing.assert_allclose(
        permuted.forward_dynamics(q[order], v[order], tau[order]), a[order], rtol=0, atol=1e-9
    )


# --- which joints ---


def test_the_cyclic_joints_are_known_in_the_order_of_the_joints():
    arm = random_arm(3, 4, continuous=(1, 3))
    slide = Arm(arm.urdf.replace('"revolute"', '"prismatic"', 1), arm.joints)  # joint_1 slides
    model = slide.model()
    assert model.cyclic.tolist() == [False, True, False, True]
    mixed = slide.model(["joint_4", "joint_1", "joint_3", "joint_2"])
    assert mixed.cyclic.tolist() == [True, False, False, True]


@pytest.mark.parametrize(
    ("name", "cyclic"), [("gen3", [True, False] * 3 + [True]), ("ur5", [False] * 6)]
)
def test_the_joints_of_the_robots_are_of_the_kind_their_makers_say(name, cyclic):
    model = RobotModel.of(load_robot(name))
    assert model.cyclic.tolist() == cyclic
    assert np.array_equal(np.isinf(model.limits.upper), model.cyclic)


def test_a_continuous_joint_is_cyclic_about_any_axis_of_the_description():
    """Pinocchio has types of their own for joints along x, y and z, and for others."""
    for axis in ("1.0 0.0 0.0", "0.0 1.0 0.0", "0.0 0.0 1.0", "0.6 0.0 0.8"):
        urdf = planar_arm((0.5, 0.4)).urdf.replace('axis xyz="0.0 0.0 1.0"', f'axis xyz="{axis}"')
        for kind, cyclic in (("revolute", False), ("prismatic", False), ("continuous", True)):
            model = Arm(urdf.replace('"revolute"', f'"{kind}"'), ("joint_1", "joint_2")).model()
            assert model.cyclic.tolist() == [cyclic] * 2, (axis, kind)


def test_permuted_joints_give_permuted_results(rng):
    arm = seventh(friction=True)
    order = np.array([4, 0, 6, 2, 1, 5, 3])
    rotor = rng.uniform(0.1, 1, 7)
    model = arm.model(rotor_inertia=rotor)
    permuted = arm.model([arm.joints[i] for i in order], rotor_inertia=rotor[order])
    q, v = random_state(rng, 7)
    a, b = model.update(q, v), permuted.update(q[order], v[order])
    np.testing.assert_allclose(b.pose, a.pose, rtol=0, atol=1e-14)
    np.testing.assert_allclose(b.twist, a.twist, rtol=0, atol=1e-13)
    np.testing.assert_allclose(b.jdot_v, a.jdot_v, rtol=0, atol=1e-13)
    np.testing.assert_array_equal(b.jacobian, a.jacobian[:, order])
    np.testing.assert_array_equal(b.mass, a.mass[np.ix_(order, order)])
    np.testing.assert_array_equal(b.gravity, a.gravity[order])
    np.testing.assert_array_equal(b.coriolis, a.coriolis[order])
    np.testing.assert_array_equal(permuted.viscous_friction, model.viscous_friction[order])
    np.testing.assert_array_equal(permuted.dry_friction, model.dry_friction[order])
    for name in ("effort", "velocity", "lower", "upper"):
        np.testing.assert_array_equal(
            getattr(permuted.limits, name), getattr(model.limits, name)[order]
        )


def test_limits_and_friction_are_the_descriptions():
    urdf = planar_arm((0.5, 0.4)).urdf
    urdf = urdf.replace('effort="200.0"', 'effort="70.0"', 1).replace(
        'velocity="3.0"', 'velocity="2.5"', 1
    )
    urdf = urdf.replace('lower="-6.0" upper="6.0"', 'lower="-1.0" upper="2.0"', 1)
    urdf = urdf.replace('damping="0.0" friction="0.0"', 'damping="0.5" friction="1.5"', 1)
    model = Arm(urdf, ("joint_1", "joint_2")).model()
    assert model.limits.effort.tolist() == [70.0, 200.0]
    assert model.limits.velocity.tolist() == [2.5, 3.0]
    assert model.limits.lower.tolist() == [-1.0, -6.0]
    assert model.limits.upper.tolist() == [2.0, 6.0]
    assert model.viscous_friction.tolist() == [0.5, 0.0]
    assert model.dry_friction.tolist() == [1.5, 0.0]


def test_joints_that_are_not_chosen_are_locked_at_zero_with_their_mass(rng):
    arm, bare = seventh(gripper=True), seventh()
    chain = Chain(arm.urdf)
    q, v = random_state(rng, 7)
    kin = arm.model().update(q, v)
    np.testing.assert_allclose(kin.mass, chain.mass_matrix(angles(arm, q)), rtol=0, atol=1e-12)
    expected = gradient(lambda x: chain.potential_energy(angles(arm, x)), q, 1e-3)
    np.testing.assert_allclose(kin.gravity, expected, rtol=0, atol=1e-8)
    # the gripper weighs something
    assert abs(kin.gravity - bare.model().update(q, v).gravity).max() > 1.0


def test_a_joint_in_the_middle_can_be_locked(rng):
    arm = seventh()
    chosen = [joint for joint in arm.joints if joint not in ("joint_2", "joint_5")]
    q, v = random_state(rng, 5)
    kin, chain = arm.model(chosen).update(q, v), Chain(arm.urdf)
    named = dict(zip(chosen, q, strict=True))
    np.testing.assert_allclose(
        kin.pose, chain.relative(arm.base, arm.tip, named), rtol=0, atol=1e-12
    )
    np.testing.assert_allclose(kin.jacobian, chain.jacobian(arm.tip, named), rtol=0, atol=1e-12)


def test_a_prismatic_joint_is_a_joint(rng):
    arm = planar_arm((0.5, 0.4))
    slide = Arm(arm.urdf.replace("revolute", "prismatic", 1), arm.joints)  # joint_1 slides along z
    kin = slide.model().update(np.array([0.3, 0.7]), np.array([0.2, 0.0]))
    np.testing.assert_allclose(
        kin.pose[:3, 3], [0.5 + 0.4 * np.cos(0.7), 0.4 * np.sin(0.7), 0.3], rtol=0, atol=1e-14
    )
    np.testing.assert_allclose(kin.twist, [0, 0, 0.2, 0, 0, 0], rtol=0, atol=1e-15)
    np.testing.assert_allclose(kin.gravity, [4.0 * 9.81, 0.0], rtol=0, atol=1e-12)


# --- mounting ---


def test_kinematics_in_base_do_not_depend_on_the_mounting(rng):
    q, v = random_state(rng, 7)
    floor, wall = seventh().model().update(q, v), seventh(mount=MOUNT).model().update(q, v)
    for name in ("pose", "jacobian", "mass", "coriolis", "jdot_v"):
        np.testing.assert_allclose(getattr(wall, name), getattr(floor, name), rtol=0, atol=1e-12)


def test_gravity_on_the_wall_is_that_of_a_turned_gravity_vector(rng):
    q, v = random_state(rng, 7)
    turned = Rotation.from_euler("xyz", MOUNT[1]).inv().apply(GRAVITY)
    floor = seventh().model().update(q, v).gravity
    wall = seventh(mount=MOUNT).model().update(q, v).gravity
    np.testing.assert_allclose(
        wall, seventh().model(gravity=turned).update(q, v).gravity, rtol=0, atol=1e-11
    )
    assert abs(wall - floor).max() > 1.0


def test_the_root_may_be_the_base_itself(rng):
    arm = planar_arm()
    q, v = random_state(rng, 3)
    kin = arm.model().update(q, v)
    a, b, c = np.cumsum(q)
    x = 0.5 * np.cos(a) + 0.4 * np.cos(b) + 0.3 * np.cos(c)
    y = 0.5 * np.sin(a) + 0.4 * np.sin(b) + 0.3 * np.sin(c)
    np.testing.assert_allclose(kin.pose[:3, 3], [x, y, 0.0], rtol=0, atol=1e-14)
    np.testing.assert_allclose(kin.gravity, 0.0, rtol=0, atol=1e-13)


# --- refusals ---


def refused(match, *, urdf=None, joints=None, base="base", tip="tip"):
    arm = random_arm(3, 3)
    with pytest.raises(ModelError, match=match):
        RobotModel(
            arm.urdf if urdf is None else urdf, arm.joints if joints is None else joints, base, tip
        )


def test_an_unknown_joint_is_refused_with_the_joints_listed():
    refused(r"\['elbow'\].*joints: joint_1, joint_2, joint_3", joints=["joint_1", "elbow"])


def test_a_fixed_joint_is_no_joint_to_control():
    refused(r"\['tip_joint'\].*joints: joint_1, joint_2, joint_3", joints=["joint_1", "tip_joint"])


@pytest.mark.parametrize("place", ["base", "tip"])
def test_an_unknown_frame_is_refused_with_the_frames_listed(place):
    refused(r"unknown frame 'hand'; frames: .*base.*link_1.*link_3.*tip", **{place: "hand"})


def test_an_unknown_frame_is_refused_when_asked_for_later():
    model = random_arm(3, 3).model()
    model.update(np.zeros(3), np.zeros(3))
    assert "link_2" in model.frames
    assert "hand" not in model.frames
    with pytest.raises(ModelError, match=r"unknown frame 'hand'; frames: .*link_2"):
        model.frame_pose("hand")


@pytest.mark.parametrize(
    "urdf", ["", "not xml", "<robot name='a'>", "<robot name='a'></robot>", "<html/>"]
)
def test_a_broken_description_is_refused(urdf):
    refused("can't be read", urdf=urdf)


def test_a_base_that_moves_is_refused():
    refused(r"base frame 'link_1' moves with joint 'joint_1'", base="link_1")


def test_a_joint_with_more_than_one_angle_is_refused():
    floating = random_arm(3, 3).urdf.replace('type="revolute"', 'type="floating"', 1)
    refused(r"the 3 joints .* have 8 degrees of freedom", urdf=floating)


def test_model_of_a_configuration_takes_its_joints_frames_and_rotor_inertia(rng):
    robot = load_robot("ur5")
    q, v = random_state(rng, 6)
    model = RobotModel.of(robot)
    plain = RobotModel(robot.urdf(), robot.joints, robot.base, robot.tip)
    assert (model.joints, model.base, model.tip) == (robot.joints, robot.base, robot.tip)
    np.testing.assert_allclose(
        model.at(q, v).mass - plain.at(q, v).mass, np.diag(robot.rotor_inertia), rtol=0, atol=1e-14
    )


def test_two_models_of_one_description_share_no_rotors_and_no_gravity(ur5):
    """The description is read once: what one model changes must not be seen in the other."""
    arguments = (ur5.urdf(), ur5.joints, ur5.base, ur5.tip)
    q = np.array(ur5.home)
    first = RobotModel(*arguments)
    mass, gravity = first.mass(q), first.at(q).gravity
    other = RobotModel(*arguments, rotor_inertia=[1.0] * ur5.n, gravity=(0.0, 0.0, 0.0))
    np.testing.assert_allclose(np.diag(other.mass(q) - mass), 1.0, rtol=0, atol=1e-9)
    np.testing.assert_allclose(other.at(q).gravity, 0.0, rtol=0, atol=1e-9)
    again = RobotModel(*arguments)
    np.testing.assert_array_equal(again.mass(q), mass)
    np.testing.assert_array_equal(again.at(q).gravity, gravity)
