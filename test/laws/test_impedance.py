"""The impedance law against formulae written out here, its energy, its
symmetries, and in simulation.
"""

import numpy as np
import pytest
from arms import Chain, gradient, planar_arm, random_arm, slope
from refusals import refuses
from scipy.linalg import sqrtm
from scipy.spatial.transform import Rotation

from robot_control_ros.core.gains import make_gains
from robot_control_ros.core.spatial import make_pose, pose_error, rotation_exp
from robot_control_ros.core.types import Reference, RobotState
from robot_control_ros.laws.impedance import DAMPING_PERIOD, MAX_INERTIA, Impedance
from robot_control_ros.laws.running_law import RunningLaw
from robot_control_ros.robot.configuration import load_robot
from robot_control_ros.robot.model import RobotModel, friction_torque
from robot_control_ros.simulation.in_process import Push, simulate

SIZES = range(1, 9)
BENT = np.array([0.3, -1.2, 1.4, -1.0, -1.3, 0.5])  # a UR5 far from singularities
ROTOR = 0.1


def random_gains(rng, **others):
    stiffness = np.concatenate((rng.uniform(50, 1000, 3), rng.uniform(5, 100, 3)))
    return {"stiffness": stiffness, **others}


def near(pose, rng, angle, distance=0.2):
    """A pose `angle` away about a random axis."""
    axis = rng.normal(size=3)
    turn = Rotation.from_rotvec(angle * axis / np.linalg.norm(axis)).as_matrix()
    return make_pose(pose[:3, 3] + rng.uniform(-distance, distance, 3), turn @ pose[:3, :3])


def state_of(kin, wrench=None):
    return RobotState(0.0, kin.q, kin.v, np.zeros(kin.model.n), None, wrench)


def law_at(kin, reference, gains=None, wrench=None):
    """The torque and its terms of a fresh law."""
    law = Impedance()
    state = state_of(kin, wrench)
    law.reset(state, kin)
    checked = make_gains(Impedance.Gains, gains or {}, kin.model.n)
    return law.compute(state, kin, reference, checked, 0.001).values, law.terms


def damping_matrix(kin, gains):
    """D (6, 6), read from the torques: those of a reference with unit twists, for an arm with
    at least six joints.
    """
    rest = kin.model.at(kin.q)
    torques = [law_at(rest, Reference(twist=unit), gains)[1]["damping"] for unit in np.eye(6)]
    D, residual, rank, _ = np.linalg.lstsq(rest.jacobian.T, np.array(torques).T, rcond=None)
    assert rank == 6
    assert np.all(residual < 1e-18)
    return D


def inertia_at_tip(kin):
    """Λ, bounded as the law bounds it."""
    mobility = kin.jacobian @ np.linalg.solve(kin.mass, kin.jacobian.T)
    return np.linalg.inv(mobility + np.eye(6) / MAX_INERTIA)


def six_joints(seed=3, **options):
    return random_arm(seed, 6, **options).model(rotor_inertia=[ROTOR] * 6)


def random_kin(model, rng, speed=1.0):
    """A random state in which the tip can move every way."""
    while True:
        kin = model.at(rng.uniform(-3, 3, model.n), speed * rng.uniform(-1, 1, model.n))
        if np.linalg.svd(kin.jacobian, compute_uv=False)[-1] > 0.05:
            return kin


# --- spring ---


@pytest.mark.few(8)
@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("angle", [0.0, 0.7, 2.5, np.pi - 0.01])
def test_spring_is_the_gradient_of_its_energy(rng, n, angle):
    """RobotDynamics without a library, the rotation vector by scipy, the
    derivative by differences.
    """
    arm = random_arm(n, n, continuous=(0,), mount=((0.1, 0.2, 0.3), (1.0, 0.5, -2.0)))
    chain = Chain(arm.urdf)
    for _ in range(3):
        q = rng.uniform(-3, 3, n)
        kin = arm.model().at(q, rng.uniform(-1, 1, n))
        gains = random_gains(rng)
        reference = near(kin.pose, rng, angle)

        def energy(x, reference=reference, K=gains["stiffness"]):
            pose = chain.relative(arm.base, arm.tip, dict(zip(arm.joints, x, strict=True)))
            turn = Rotation.from_matrix(reference[:3, :3] @ pose[:3, :3].T).as_rotvec()
            e = np.concatenate((reference[:3, 3] - pose[:3, 3], turn))
            return e @ (K * e) / 2

        _, terms = law_at(kin, Reference(reference), gains)
        expected = -gradient(energy, q, 1e-4)
        np.testing.assert_allclose(terms["stiffness"], expected, rtol=0, atol=1e-6)


def test_spring_of_a_small_displacement_is_stiffness_times_displacement(rng):
    kin = random_kin(six_joints(), rng, 0.0)
    gains = random_gains(rng)
    for axis in np.eye(3):
        for order, step in ((0, 1e-3 * axis), (3, 1e-6 * axis)):
            reference = kin.pose.copy()
            if order == 0:
                reference[:3, 3] += step
            else:
                reference[:3, :3] = Rotation.from_rotvec(step).as_matrix() @ reference[:3, :3]
            _, terms = law_at(kin, Reference(reference), gains)
            force = np.linalg.solve(kin.jacobian.T, terms["stiffness"])
            expected = np.zeros(6)
            expected[order : order + 3] = gains["stiffness"][order : order + 3] * step
            np.testing.assert_allclose(force, expected, rtol=0, atol=1e-9)


def test_without_a_reference_pose_there_is_no_spring(rng):
    kin = random_kin(six_joints(), rng)
    torque, terms = law_at(kin, Reference())
    assert not terms["stiffness"].any()
    np.testing.assert_allclose(torque, terms["damping"] + kin.gravity, rtol=0, atol=1e-12)


# --- damping ---


@pytest.mark.parametrize("ratio", [0.3, 1.0, 2.0])
def test_damping_is_the_ratio_times_the_critical_one(rng, ratio):
    """D = 2 ζ Λ^½ (Λ^-½ K Λ^-½)^½ Λ^½."""
    for _ in range(5):
        kin, gains = random_kin(six_joints(), rng), random_gains(rng, damping_ratio=ratio)
        root = np.real(sqrtm(inertia_at_tip(kin)))
        inverse = np.linalg.inv(root)
        critical = 2 * root @ np.real(sqrtm(inverse @ np.diag(gains["stiffness"]) @ inverse)) @ root
        np.testing.assert_allclose(
            damping_matrix(kin, gains), ratio * critical, rtol=1e-9, atol=1e-8
        )


@pytest.mark.parametrize("ratio", [0.2, 0.7, 0.95])
def test_every_mode_of_the_tip_has_the_damping_ratio(rng, ratio):
    """The poles of Λ x'' + D x' + K x = 0 are ω (-ζ ± i √(1 - ζ²)) with ω² the
    eigenvalues of Λ⁻¹ K.
    """
    for _ in range(5):
        kin, gains = random_kin(six_joints(), rng), random_gains(rng, damping_ratio=ratio)
        K, D, inertia = np.diag(gains["stiffness"]), damping_matrix(kin, gains), inertia_at_tip(kin)
        lower = np.linalg.solve(inertia, np.hstack((-K, -D)))
        poles = np.linalg.eigvals(np.vstack((np.hstack((np.zeros((6, 6)), np.eye(6))), lower)))
        np.testing.assert_allclose(-poles.real / abs(poles), ratio, rtol=0, atol=1e-9)
        frequencies = np.sqrt(np.linalg.eigvals(np.linalg.solve(inertia, K)).real)
        np.testing.assert_allclose(np.sort(abs(poles)), np.sort(np.tile(frequencies, 2)), rtol=1e-9)


def test_ratios_that_differ_scale_the_critical_damping_axis_by_axis(rng):
    """S D S with S = diag(√ζ)."""
    kin, gains, ratio = random_kin(six_joints(), rng), random_gains(rng), rng.uniform(0, 2, 6)
    S, critical = np.diag(np.sqrt(ratio)), damping_matrix(kin, gains)
    assert abs(critical - np.diag(np.diag(critical))).max() > 1.0
    D = damping_matrix(kin, {**gains, "damping_ratio": ratio})
    np.testing.assert_allclose(D, S @ critical @ S, rtol=0, atol=1e-9)


@pytest.mark.parametrize("free", [(), (2,), (0, 4), (3, 4, 5)])
def test_damping_is_symmetric_and_never_negative(rng, free):
    for _ in range(5):
        stiffness = random_gains(rng)["stiffness"] * (rng.uniform(size=6) > 0.3)
        axes = np.ones(6)
        axes[list(free)] = 0.0
        ratio, damping = rng.uniform(0, 2, 6), rng.uniform(0, 20, 6)
        gains = {"stiffness": stiffness, "damping_ratio": ratio, "damping": damping, "axes": axes}
        D = damping_matrix(random_kin(six_joints(), rng), gains)
        np.testing.assert_allclose(D, D.T, rtol=0, atol=1e-9)
        assert np.linalg.eigvalsh((D + D.T) / 2).min() > -1e-9
        np.testing.assert_allclose(D[list(free)], 0.0, rtol=0, atol=1e-9)


def test_damping_outright_is_taken_as_it_is(rng):
    damping = rng.uniform(0, 50, 6)
    for _ in range(5):
        kin, reference = random_kin(six_joints(), rng), Reference(twist=rng.normal(size=6))
        _, terms = law_at(kin, reference, {"damping": damping, "damping_ratio": 0.0})
        expected = kin.jacobian.T @ (damping * (reference.twist - kin.twist))
        np.testing.assert_allclose(terms["damping"], expected, rtol=0, atol=1e-9)


def test_damping_outright_adds_to_the_ratios(rng):
    kin, damping, gains = random_kin(six_joints(), rng), rng.uniform(0, 50, 6), random_gains(rng)
    both = damping_matrix(kin, {**gains, "damping": damping})
    np.testing.assert_allclose(
        both - damping_matrix(kin, gains), np.diag(damping), rtol=0, atol=1e-9
    )


def test_damping_acts_on_the_velocity_relative_to_the_reference(rng):
    kin, gains = random_kin(six_joints(), rng), random_gains(rng)
    D = damping_matrix(kin, gains)
    _, resting = law_at(kin, Reference(kin.pose), gains)
    np.testing.assert_allclose(
        resting["damping"], -kin.jacobian.T @ D @ kin.twist, rtol=0, atol=1e-9
    )
    _, following = law_at(kin, Reference(kin.pose, twist=kin.twist), gains)
    np.testing.assert_allclose(following["damping"], 0.0, rtol=0, atol=1e-12)


def test_near_a_singular_posture_the_damping_follows_a_fast_arm():
    """Else torques are a saw-tooth: its height is that of the law with a design at every sample,
    less the old one's.
    """
    robot = load_robot("ur5")
    model, law = RobotModel.of(robot), Impedance()
    gains = RunningLaw(robot, "impedance").gains.target
    q, v, steps = np.array(robot.home), np.array([0.0, 0.0, 0.0, 2.0, 0.0, -2.0]), []

    def damping(running, kin):
        running.compute(state_of(kin), kin, Reference(pose=kin.pose), gains, 0.002)
        return running.terms["damping"][4]

    q[4] = 0.03
    law.reset(state_of(model.at(q, v)), model.at(q, v))
    for k in range(100):
        kin, anew = model.at(q + 0.002 * k * v, v), Impedance()
        anew.reset(state_of(kin), kin)
        steps.append(damping(law, kin) - damping(anew, kin))
    assert 0.0 < np.max(np.abs(steps)) < 0.1  # N·m; 0.46 with a design every 40 ms


def test_damping_is_designed_anew_after_its_period_and_after_other_gains(rng):
    model = six_joints()
    first, second = random_kin(model, rng), random_kin(model, rng)
    soft = make_gains(Impedance.Gains, {"stiffness": 100.0}, 6)
    stiff = make_gains(Impedance.Gains, {"stiffness": 400.0}, 6)
    law, unit = Impedance(), Reference(twist=np.array([1.0, 0, 0, 0, 0, 0]))

    def damping(kin, gains, dt):
        still = model.at(kin.q)
        law.compute(state_of(still), still, unit, gains, dt)
        return np.linalg.solve(still.jacobian.T, law.terms["damping"])

    def fresh(kin, gains):
        return damping_matrix(kin, {"stiffness": gains.stiffness})[:, 0]

    law.reset(state_of(first), first)
    np.testing.assert_allclose(damping(first, soft, 0.001), fresh(first, soft), rtol=0, atol=1e-8)
    np.testing.assert_allclose(damping(second, soft, 0.001), fresh(first, soft), rtol=0, atol=1e-8)
    np.testing.assert_allclose(
        damping(second, soft, DAMPING_PERIOD), fresh(second, soft), rtol=0, atol=1e-8
    )
    np.testing.assert_allclose(damping(first, soft, 0.001), fresh(second, soft), rtol=0, atol=1e-8)
    np.testing.assert_allclose(damping(first, stiff, 0.001), fresh(first, stiff), rtol=0, atol=1e-8)


# --- the sum ---


@pytest.mark.few(3)
@pytest.mark.parametrize("n", SIZES)
def test_at_rest_at_the_reference_there_is_exactly_the_gravity_torque(rng, n):
    arm = random_arm(n, n, continuous=(0,))
    for _ in range(5):
        kin = arm.model().at(rng.uniform(-3, 3, n))
        still = np.zeros(6)
        torque, _ = law_at(
            kin, Reference(kin.pose, still, still, still, kin.q), random_gains(rng, inertia=2.0)
        )
        np.testing.assert_allclose(torque, kin.gravity, rtol=0, atol=1e-9)
        expected = gradient(
            lambda x: Chain(arm.urdf).potential_energy(dict(zip(arm.joints, x, strict=True))),
            kin.q,
            1e-3,
        )
        np.testing.assert_allclose(torque, expected, rtol=0, atol=1e-8)


def test_each_switch_adds_exactly_its_term(rng):
    model = random_arm(5, 7, friction=True).model(rotor_inertia=[ROTOR] * 7)
    kin = random_kin(model, rng)
    reference = Reference(near(kin.pose, rng, 0.5), rng.normal(size=6), rng.normal(size=6))
    with_wrench = Reference(
        reference.pose, reference.twist, reference.acceleration, rng.normal(size=6)
    )
    base, _ = law_at(kin, reference)
    friction = model.viscous_friction * kin.v + model.dry_friction * np.tanh(kin.v / 0.01)
    added = {
        "gravity": (law_at(kin, reference, {"gravity": False}), -kin.gravity),
        "coriolis": (
            law_at(kin, reference, {"coriolis": True}),
            model.bias(kin.q, kin.v) - kin.gravity,
        ),
        "friction": (law_at(kin, reference, {"friction": True}), friction),
        "feedforward": (law_at(kin, with_wrench), kin.jacobian.T @ with_wrench.wrench),
    }
    for name, ((torque, terms), expected) in added.items():
        assert abs(expected).max() > 0.1
        np.testing.assert_allclose(torque - base, expected, rtol=0, atol=1e-9, err_msg=name)
        np.testing.assert_allclose(sum(terms.values()), torque, rtol=0, atol=1e-9, err_msg=name)


def test_the_command_is_the_sum_of_its_terms(rng):
    kin = random_kin(random_arm(5, 7, friction=True).model(), rng)
    reference = Reference(near(kin.pose, rng, 0.5), *rng.normal(size=(3, 6)), q=kin.q + 0.1)
    everything = {
        "coriolis": True,
        "friction": True,
        "inertia": 2.0,
        "axes": [1, 1, 1, 0, 0, 0],
        "posture_stiffness": [10.0, 5.0, 0.0, 2.0, 30.0, 1.0, 4.0],
        "posture_damping": [1.0, 0.0, 0.5, 2.0, 1.0, 0.2, 0.1],
    }
    torque, terms = law_at(kin, reference, everything, wrench=rng.normal(size=6))
    names = {
        "stiffness",
        "damping",
        "gravity",
        "coriolis",
        "friction",
        "feedforward",
        "inertia",
        "posture",
    }
    assert set(terms) == names
    assert all(abs(term).max() > 1e-3 for term in terms.values())
    np.testing.assert_allclose(torque, sum(terms.values()), rtol=0, atol=1e-9)


def test_a_half_faded_switch_adds_half_its_term(rng):
    model = random_arm(5, 6, friction=True).model()
    kin = random_kin(model, rng)
    gains = make_gains(Impedance.Gains, {}, 6)
    half = type(gains)(**{**vars(gains), "coriolis": 0.5, "gravity": 0.5, "friction": 0.5})
    law = Impedance()
    law.reset(state_of(kin), kin)
    law.compute(state_of(kin), kin, Reference(), half, 0.001)
    np.testing.assert_allclose(law.terms["coriolis"], kin.coriolis / 2, rtol=0, atol=1e-12)
    np.testing.assert_allclose(law.terms["gravity"], kin.gravity / 2, rtol=0, atol=1e-12)
    lost = friction_torque(kin.v, model.viscous_friction, model.dry_friction)
    np.testing.assert_allclose(law.terms["friction"], lost / 2, rtol=0, atol=1e-12)


# --- energy ---


@pytest.mark.parametrize("angle", [0.1, 1.0, 2.0, 3.0, np.pi - 0.01])
def test_power_of_the_law_is_what_the_spring_gives_less_what_the_damper_takes(rng, angle):
    """v·(tau - g) + d/dt (½ eᵀ K e) = -twistᵀ D twist ≤ 0, with the reference at rest."""
    model = six_joints()
    for _ in range(10):
        kin = random_kin(model, rng)
        gains = random_gains(
            rng, damping_ratio=rng.uniform(0.1, 2, 6), damping=rng.uniform(0, 10, 6)
        )
        pose = near(kin.pose, rng, angle)

        def energy(h, kin=kin, pose=pose, K=gains["stiffness"]):
            after = model.at(kin.q + h * kin.v).pose
            turn = Rotation.from_matrix(pose[:3, :3] @ after[:3, :3].T).as_rotvec()
            e = np.concatenate((pose[:3, 3] - after[:3, 3], turn))
            return e @ (K * e) / 2

        torque, _ = law_at(kin, Reference(pose), gains)
        power = kin.v @ (torque - kin.gravity) + slope(energy, 2e-4)
        assert power < 0
        assert power == pytest.approx(-kin.twist @ damping_matrix(kin, gains) @ kin.twist, abs=1e-6)


def energy_along(model, q, pose, gains, seconds, step=0.001):
    """Kinetic energy plus the spring's at each step, the arm under the law integrated by RK4."""
    law, checked = Impedance(), make_gains(Impedance.Gains, gains, model.n)
    K, reference = checked.axes**2 * checked.stiffness.diagonal(), Reference(pose)

    def rate(x, dt):
        q, v = x[: model.n], x[model.n :]
        kin = model.update(q, v)
        torque = law.compute(state_of(kin), kin, reference, checked, dt).values
        return np.concatenate((v, np.linalg.solve(kin.mass, torque - model.bias(q, v))))

    def total(x):
        kin = model.at(x[: model.n], x[model.n :])
        e = pose_error(pose, kin.pose)
        assert np.linalg.norm(e[3:]) < np.pi - 0.02  # where its logarithm is smooth
        return kin.v @ kin.mass @ kin.v / 2 + e @ (K * e) / 2

    law.reset(state_of(model.at(q)), model.at(q))
    x, energies = np.concatenate((q, np.zeros(model.n))), []
    for _ in range(round(seconds / step)):
        energies.append(total(x))
        a = rate(x, step)
        b = rate(x + step / 2 * a, 0.0)
        c = rate(x + step / 2 * b, 0.0)
        d = rate(x + step * c, 0.0)
        x = x + step / 6 * (a + 2 * b + 2 * c + d)
    return np.array(energies)


@pytest.mark.few(3)
@pytest.mark.parametrize("n", [3, 6, 7])
@pytest.mark.parametrize("angle", [0.5, 1.5, 2.9])
def test_energy_never_grows_while_the_reference_rests(rng, n, angle):
    model = random_arm(n, n).model(rotor_inertia=[ROTOR] * n)
    for _ in range(2):
        kin = model.at(rng.uniform(-3, 3, n))
        gains = {
            "stiffness": np.repeat([rng.uniform(100, 600), rng.uniform(10, 60)], 3),
            "damping_ratio": rng.uniform(0.1, 1, 6),
        }
        energies = energy_along(model, kin.q, near(kin.pose, rng, angle), gains, 0.5)
        assert np.diff(energies).max() < 1e-8 * energies[0]
        assert energies[-1] < 0.99 * energies[0]  # three joints can't get rid of much


# --- symmetries ---


def test_permuted_joints_give_permuted_torques(rng):
    arm = random_arm(7, 7, continuous=(2,), friction=True)
    order = np.array([4, 0, 6, 2, 1, 5, 3])
    rotor = rng.uniform(0.05, 0.3, 7)
    model = arm.model(rotor_inertia=rotor)
    permuted = arm.model([arm.joints[i] for i in order], rotor_inertia=rotor[order])
    kin = random_kin(model, rng)
    pose, posture = near(kin.pose, rng, 0.8), kin.q + 0.1
    gains = {
        "coriolis": True,
        "friction": True,
        "inertia": 1.0,
        "axes": [1, 1, 1, 0, 1, 1],
    }
    spring = rng.uniform(0.0, 30.0, 7)
    damper = rng.uniform(0.0, 3.0, 7)
    own = {"posture_stiffness": spring, "posture_damping": damper}
    torque, _ = law_at(kin, Reference(pose, q=posture), gains | own)
    turned = {"posture_stiffness": spring[order], "posture_damping": damper[order]}
    other, _ = law_at(
        permuted.at(kin.q[order], kin.v[order]), Reference(pose, q=posture[order]), gains | turned
    )
    np.testing.assert_allclose(other, torque[order], rtol=0, atol=1e-9)


def test_turning_everything_about_the_vertical_turns_the_tip_force(ur5_model, rng):
    gains = {"stiffness": [300, 300, 700, 20, 20, 50], "damping": [5, 5, 9, 1, 1, 2]}
    for angle in (0.4, 2.0, -1.3):
        q, v = BENT, rng.uniform(-1, 1, 6)
        turned_q = q + np.array([angle, 0, 0, 0, 0, 0])
        Rz = Rotation.from_rotvec([0, 0, angle]).as_matrix()
        here, there = ur5_model.at(q, v), ur5_model.at(turned_q, v)
        pose = near(here.pose, rng, 1.0)
        torque, terms = law_at(here, Reference(pose), gains)
        turned, turned_terms = law_at(there, Reference(make_pose(np.zeros(3), Rz) @ pose), gains)
        np.testing.assert_allclose(turned, torque, rtol=0, atol=1e-9)
        force = np.linalg.solve(here.jacobian.T, terms["stiffness"] + terms["damping"])
        turned_force = np.linalg.solve(
            there.jacobian.T, turned_terms["stiffness"] + turned_terms["damping"]
        )
        expected = np.concatenate((Rz @ force[:3], Rz @ force[3:]))
        np.testing.assert_allclose(turned_force, expected, rtol=0, atol=1e-8)


@pytest.mark.sim
def test_an_arm_on_the_wall_moves_in_base_axes_as_one_on_the_floor(ur5):
    upright = '<child link="base_link"/>\n    <origin xyz="0 0 0" rpy="0 0 0"/>'
    assert ur5.urdf().count(upright) == 1
    on_the_wall = ur5.urdf().replace(
        upright, upright.replace('0 0 0" rpy="0 0 0', '1 2 3" rpy="0.3 1.4 -0.8')
    )
    push = Push((20.0, -10.0, 15.0), (1.0, 0.0, -1.0), start=0.05, duration=0.3)
    floor, wall = (
        simulate(ur5, duration=1.0, push=push, urdf=urdf) for urdf in (ur5.urdf(), on_the_wall)
    )
    assert abs(floor.pose_error).max() > 0.02
    assert abs(wall.command - floor.command).max() > 10.0
    for name in ("q", "pose", "pose_error", "twist"):
        np.testing.assert_allclose(
            getattr(wall, name), getattr(floor, name), rtol=0, atol=1e-9, err_msg=name
        )


# --- free axes ---


@pytest.mark.parametrize("free", [(0,), (2,), (0, 1), (3, 4, 5), (1, 3, 4, 5), (0, 1, 2)])
def test_a_free_axis_gets_no_force(rng, free):
    axes = np.ones(6)
    axes[list(free)] = 0.0
    for _ in range(5):
        kin = random_kin(six_joints(), rng)
        gains = random_gains(rng, axes=axes, inertia=2.0, damping=3.0)
        reference = Reference(near(kin.pose, rng, 1.5), *rng.normal(size=(2, 6)))
        torque, _ = law_at(kin, reference, gains)
        force = np.linalg.solve(kin.jacobian.T, torque - kin.gravity)
        np.testing.assert_allclose(force[list(free)], 0.0, rtol=0, atol=1e-9)
        assert abs(force).max() > 0.1


@pytest.mark.parametrize("free", [3, 4, 5])
def test_a_free_turn_gets_no_torque_at_small_errors(rng, free):
    """At large ones it gets some: the gradient of a spring on the other two turns has a
    share about the third.
    """
    axes = np.ones(6)
    axes[free] = 0.0
    for angle in (1e-6, 1e-4, 1e-2):
        kin = random_kin(six_joints(), rng, 0.0)
        torque, _ = law_at(
            kin, Reference(near(kin.pose, rng, angle, 0.0)), {"axes": axes, "stiffness": 50.0}
        )
        force = np.linalg.solve(kin.jacobian.T, torque - kin.gravity)
        assert np.linalg.norm(force[3:]) > angle
        assert abs(force[free]) < 25.1 * angle**2  # ½ e × K e and less


def test_a_planar_arm_is_held_in_its_plane_alone(rng):
    arm = planar_arm((0.5, 0.4))
    model = arm.model(rotor_inertia=[ROTOR] * 2)
    for _ in range(5):
        kin = model.at(rng.uniform(0.3, 2.5, 2))
        pose = near(kin.pose, rng, 1.0)
        torque, _ = law_at(kin, Reference(pose), {"axes": [1, 1, 0, 0, 0, 0], "stiffness": 200.0})
        expected = kin.jacobian[:2].T @ (200.0 * (pose[:2, 3] - kin.pose[:2, 3]))
        np.testing.assert_allclose(torque, expected, rtol=0, atol=1e-9)


def test_the_plane_of_a_planar_arm_is_damped_critically(rng):
    """2 √(K Λ) of the plane's own (2, 2) inertia, with the four free axes left out."""
    model = planar_arm((0.5, 0.4)).model(rotor_inertia=[ROTOR] * 2)
    for _ in range(5):
        kin = model.at(rng.uniform(0.3, 2.5, 2), rng.uniform(-1, 1, 2))
        J = kin.jacobian[:2]
        root = np.real(
            sqrtm(np.linalg.inv(J @ np.linalg.solve(kin.mass, J.T) + np.eye(2) / MAX_INERTIA))
        )
        inverse = np.linalg.inv(root)
        D = 2 * root @ np.real(sqrtm(inverse @ np.diag([200.0, 300.0]) @ inverse)) @ root
        gains = {"axes": [1, 1, 0, 0, 0, 0], "stiffness": [200, 300, 0, 0, 0, 0]}
        _, terms = law_at(kin, Reference(kin.pose), gains)
        np.testing.assert_allclose(terms["damping"], -J.T @ D @ kin.twist[:2], rtol=1e-8, atol=1e-8)


@pytest.mark.sim
def test_a_planar_arm_reaches_its_reference():
    arm = planar_arm((0.5, 0.4))
    # of which x and y can be had
    goal = make_pose([0.5, 0.5, 0.3], rotation_exp(np.array([0.5, 0.5, 0.5])))

    class Goal:
        def sample(self, t):
            return Reference(goal)

    gains = {"axes": [1, 1, 0, 0, 0, 0], "stiffness": 200.0}
    log = simulate(arm.config(), gains=gains, reference=Goal(), duration=3.0, urdf=arm.urdf)
    np.testing.assert_allclose(log.pose[-1, :2, 3], [0.5, 0.5], rtol=0, atol=1e-4)


# --- where it gets difficult ---


def largest_spring(kin, error, gains):
    """Of Jᵀ diag(1, A)ᵀ K e: Jr⁻¹ is at most π/2 in norm up to pi."""
    return np.linalg.norm(kin.jacobian, 2) * np.pi / 2 * np.linalg.norm(gains["stiffness"] * error)


@pytest.mark.parametrize("below", [0.0, 1e-15, 1e-12, 1e-9, 1e-6, 1e-3])
def test_torque_is_bounded_and_reproducible_near_half_a_turn(ur5_model, rng, below):
    gains = random_gains(rng)
    for _ in range(10):
        kin = ur5_model.at(BENT, rng.uniform(-1, 1, 6))
        pose = near(kin.pose, rng, np.pi - below)
        torque, terms = law_at(kin, Reference(pose), gains)
        error = pose_error(pose, kin.pose)
        assert np.linalg.norm(terms["stiffness"]) <= largest_spring(kin, error, gains) * (1 + 1e-9)
        assert np.isfinite(torque).all()
        assert torque.tobytes() == law_at(kin, Reference(pose.copy()), gains)[0].tobytes()


SINGULAR = {
    "stretched up": [0, -np.pi / 2, 0, -np.pi / 2, -np.pi / 2, 0],
    "stretched out": [0, 0, 0, 0, 0, 0],
    "elbow straight": [0.3, -1.0, 0.0, -0.7, -1.2, 0.4],
    "wrist straight": [0.3, -1.2, 1.4, -1.0, 0.0, 0.5],
    "wrist at pi": [0.3, -1.2, 1.4, -1.0, np.pi, 0.5],
}


@pytest.mark.parametrize("posture", SINGULAR.values(), ids=SINGULAR)
@pytest.mark.parametrize("off", [0.0, 1e-12, 1e-8, 1e-4])
def test_torque_is_bounded_near_singularities(ur5_model, rng, posture, off):
    """D ≤ 2 ζ √(|K| |Λ|), with |Λ| bounded by MAX_INERTIA."""
    gains = random_gains(
        rng, inertia=5.0, axes=[1, 1, 1, 1, 1, 1], posture_stiffness=20.0, coriolis=True
    )
    for _ in range(5):
        kin = ur5_model.at(np.array(posture) + off * rng.normal(size=6), rng.uniform(-1, 1, 6))
        reference = Reference(near(kin.pose, rng, 0.5), *rng.normal(size=(2, 6)), q=kin.q + 0.1)
        torque, terms = law_at(kin, reference, gains, wrench=rng.normal(size=6))
        error, norm = pose_error(reference.pose, kin.pose), np.linalg.norm(kin.jacobian, 2)
        assert np.linalg.norm(terms["stiffness"]) <= largest_spring(kin, error, gains)
        slip = np.linalg.norm(reference.twist - kin.twist)
        assert np.linalg.norm(terms["damping"]) <= norm * 2 * np.sqrt(1000.0 * MAX_INERTIA) * slip
        assert np.isfinite(torque).all()
        assert abs(torque).max() < 1e5


@pytest.mark.few(1)
@pytest.mark.sim
@pytest.mark.parametrize(
    "posture",
    [
        pytest.param(
            posture,
            id=name,
            marks=() if name in ("elbow straight", "wrist straight") else pytest.mark.long,
        )
        for name, posture in SINGULAR.items()
    ],
)
def test_an_arm_at_a_singularity_gives_way_and_comes_back(posture):
    log = simulate(
        "ur5", duration=3.0, q0=posture, push=Push((10.0, 10.0, 10.0), start=0.1, duration=0.5)
    )
    assert np.linalg.norm(log.pose_error[:, :3], axis=1).max() < 0.1
    assert abs(log.v).max() < np.pi
    assert np.linalg.norm(log.pose_error[-1, :3]) < 2e-3


# --- inertia ---


@pytest.mark.parametrize("coriolis", [False, True])
@pytest.mark.parametrize("n", [6, 7])
def test_inertia_closes_the_loop_that_was_asked_for(rng, n, coriolis):
    """The arm's own equation of motion with this torque:

    tau = Jᵀ [K-part + D (v_ref - v) + w_ref + M (a_ref - a)] + g + s_c C, with the a that comes of
    it.
    """
    model = random_arm(n + 20, n).model(rotor_inertia=[ROTOR] * n)
    for _ in range(5):
        kin, wrench = random_kin(model, rng), rng.normal(size=6) * 10
        reference = Reference(near(kin.pose, rng, 0.5), *rng.normal(size=(3, 6)))
        M = rng.uniform(0, 10, 6)
        gains = random_gains(rng, inertia=M, coriolis=coriolis)
        torque, terms = law_at(kin, reference, gains, wrench)
        joint_acceleration = np.linalg.solve(
            kin.mass, torque + kin.jacobian.T @ wrench - model.bias(kin.q, kin.v)
        )
        jdot_v = slope(lambda h, kin=kin: model.at(kin.q + h * kin.v).jacobian) @ kin.v
        a = kin.jacobian @ joint_acceleration + jdot_v

        stiffness = np.linalg.lstsq(kin.jacobian.T, terms["stiffness"], rcond=None)[0]
        slip = reference.twist - kin.twist
        force = (
            stiffness
            + damping_matrix(kin, gains) @ slip
            + reference.wrench
            + M * (reference.acceleration - a)
        )
        expected = kin.jacobian.T @ force + kin.gravity + coriolis * kin.coriolis
        np.testing.assert_allclose(torque, expected, rtol=0, atol=1e-6)

        mobility = kin.jacobian @ np.linalg.solve(kin.mass, kin.jacobian.T)
        drift = jdot_v - (1 - coriolis) * kin.jacobian @ np.linalg.solve(kin.mass, kin.coriolis)
        # Λ (a - …) = f + w
        np.testing.assert_allclose(mobility @ (force + wrench), a - drift, rtol=0, atol=1e-6)


def test_with_added_inertia_the_tip_accelerates_as_the_heavier_body(rng):
    """(Λ + M) a = w_ext, from rest at the reference."""
    M = np.array([3.0, 5.0, 7.0, 0.5, 0.3, 0.2])
    model = six_joints()
    for _ in range(5):
        kin, wrench = random_kin(model, rng, 0.0), rng.normal(size=6) * 10
        torque, _ = law_at(kin, Reference(kin.pose), {"inertia": M}, wrench)
        a = kin.jacobian @ np.linalg.solve(kin.mass, torque + kin.jacobian.T @ wrench - kin.gravity)
        own = np.linalg.inv(kin.jacobian @ np.linalg.solve(kin.mass, kin.jacobian.T))
        np.testing.assert_allclose((own + np.diag(M)) @ a, wrench, rtol=0, atol=1e-8)


def test_no_inertia_means_that_the_measured_wrench_does_not_matter(rng):
    kin = random_kin(six_joints(), rng)
    without, terms = law_at(kin, Reference(kin.pose))
    pushed, _ = law_at(kin, Reference(kin.pose), wrench=rng.normal(size=6))
    np.testing.assert_array_equal(without, pushed)
    assert "inertia" not in terms


# --- null space ---


def test_posture_does_not_accelerate_the_tip(rng):
    """What is left is what the regularisation 1e-6 kg⁻¹ leaves: at most 1e-6 /
    λ_min(J M⁻¹ Jᵀ) of it.
    """
    model = random_arm(11, 7).model(rotor_inertia=[ROTOR] * 7)
    gains, largest = {"posture_stiffness": 30.0, "posture_damping": 3.0}, 0.0
    for _ in range(10):
        kin = random_kin(model, rng)
        posture = kin.q + rng.uniform(-0.5, 0.5, 7)
        _, terms = law_at(kin, Reference(kin.pose, q=posture), gains)
        plain = 30.0 * (posture - kin.q) - 3.0 * kin.v
        mobility = kin.jacobian @ np.linalg.solve(kin.mass, kin.jacobian.T)
        before = kin.jacobian @ np.linalg.solve(kin.mass, plain)
        left = kin.jacobian @ np.linalg.solve(kin.mass, terms["posture"])
        assert np.linalg.norm(left) <= 1.01e-6 / np.linalg.eigvalsh(mobility)[0] * np.linalg.norm(
            before
        )
        largest = max(largest, np.linalg.norm(terms["posture"]))
    assert largest > 1.0


@pytest.mark.parametrize("joint", range(7))
def test_each_joint_of_gen3_has_its_own_stiffness_beside_the_tip_s(joint, rng):
    """The torque is Nᵀ k (q_n - q), with Nᵀ written out; what is left at the tip is regularisation."""
    robot = load_robot("gen3")
    model = RobotModel.of(robot)
    kin = model.at(np.array(robot.home) + rng.uniform(-0.2, 0.2, 7), rng.uniform(-0.5, 0.5, 7))
    posture = kin.q + rng.uniform(0.1, 0.4, 7)
    spring = np.zeros(7)
    spring[joint] = 40.0
    damper = np.zeros(7)
    damper[joint] = 3.0
    gains = {"posture_stiffness": spring, "posture_damping": damper}
    _, terms = law_at(kin, Reference(kin.pose, q=posture), gains)
    plain = spring * (posture - kin.q) - damper * kin.v
    inverse = np.linalg.inv(kin.mass)
    inertia = np.linalg.inv(kin.jacobian @ inverse @ kin.jacobian.T)
    projector = np.eye(7) - kin.jacobian.T @ inertia @ kin.jacobian @ inverse
    expected = projector @ plain
    np.testing.assert_allclose(terms["posture"], expected, rtol=0, atol=1e-3 * np.abs(plain).max())
    tip = kin.jacobian @ inverse
    assert np.linalg.norm(tip @ terms["posture"]) < 1e-3 * np.linalg.norm(tip @ plain)


def test_a_joint_without_stiffness_of_its_own_adds_none(rng):
    """The torque of all joints is the sum of each joint's, and that of a joint with 0 is 0."""
    kin = random_kin(random_arm(11, 7).model(rotor_inertia=[ROTOR] * 7), rng, 0.0)
    reference = Reference(kin.pose, q=kin.q + rng.uniform(0.1, 0.5, 7))
    stiffness = np.array([30.0, 0.0, 10.0, 0.0, 5.0, 0.0, 2.0])
    _, together = law_at(kin, reference, {"posture_stiffness": stiffness})
    added = np.zeros(7)
    for single in np.diag(stiffness):
        _, terms = law_at(kin, reference, {"posture_stiffness": single})
        added += terms.get("posture", np.zeros(7))
    np.testing.assert_allclose(together["posture"], added, rtol=0, atol=1e-9)
    assert np.abs(added).max() > 0.1


def test_posture_uses_a_free_axis_and_leaves_the_others(rng):
    for _ in range(5):
        kin = random_kin(six_joints(), rng)
        gains = {"posture_stiffness": 30.0, "axes": [1, 1, 0, 1, 1, 1]}
        _, terms = law_at(kin, Reference(kin.pose, q=kin.q + rng.uniform(-0.5, 0.5, 6)), gains)
        acceleration = kin.jacobian @ np.linalg.solve(kin.mass, terms["posture"])
        assert abs(acceleration[2]) > 1e-2
        np.testing.assert_allclose(
            np.delete(acceleration, 2), 0.0, rtol=0, atol=1e-3 * abs(acceleration[2])
        )


def test_posture_fades_as_an_axis_is_set_free(rng):
    """Gains are changed by fading; nothing may jump on the way."""
    kin = random_kin(random_arm(11, 7).model(rotor_inertia=[ROTOR] * 7), rng, 0.0)
    full = make_gains(Impedance.Gains, {"posture_stiffness": 50.0}, 7)
    law, reference = Impedance(), Reference(kin.pose, q=kin.q + 0.2)

    def steps(shares):
        torques = []
        for share in shares:
            gains = type(full)(**{**vars(full), "axes": np.array([1, 1, share, 1, 1, 1])})
            law.compute(state_of(kin), kin, reference, gains, 0.001)
            torques.append(law.terms["posture"])
        return abs(np.diff(torques, axis=0)).max(axis=1)

    shares = np.linspace(0.0, 1.0, 101)
    coarse = steps(shares)
    largest = int(coarse.argmax())
    assert coarse[largest] > 0.01
    assert (
        steps(np.linspace(shares[largest], shares[largest + 1], 101)).max() < 0.1 * coarse[largest]
    )


def test_posture_of_an_arm_without_freedom_gives_no_torque(rng):
    kin = random_kin(six_joints(), rng)
    for stiffness in (30.0, [30.0, 5.0, 0.0, 8.0, 1.0, 20.0]):
        gains = {"posture_stiffness": stiffness}
        _, terms = law_at(kin, Reference(kin.pose, q=kin.q + 0.5), gains)
        np.testing.assert_allclose(terms["posture"], 0.0, rtol=0, atol=1e-3)


def test_a_posture_stiffness_for_other_joints_is_refused():
    with refuses("posture_stiffness"):
        make_gains(Impedance.Gains, {"posture_stiffness": [10.0] * 7}, 6)
    with refuses("posture_stiffness[2]", 600.0, (0.0, 500.0)):
        make_gains(Impedance.Gains, {"posture_stiffness": [1.0, 2.0, 600.0, 4.0, 5.0, 6.0]}, 6)


def test_posture_is_the_one_of_the_last_reset_where_the_reference_names_none(rng):
    model = random_arm(11, 7).model(rotor_inertia=[ROTOR] * 7)
    kin, other = random_kin(model, rng), random_kin(model, rng)
    gains = make_gains(Impedance.Gains, {"posture_stiffness": 30.0}, 7)
    law = Impedance()
    law.reset(state_of(other), other)
    law.compute(state_of(kin), kin, Reference(kin.pose), gains, 0.001)
    _, named = law_at(kin, Reference(kin.pose, q=other.q), {"posture_stiffness": 30.0})
    assert abs(named["posture"]).max() > 0.1
    np.testing.assert_array_equal(law.terms["posture"], named["posture"])


@pytest.mark.sim
def test_posture_moves_the_elbow_and_leaves_the_tip():
    arm = random_arm(11, 7)
    config = arm.config()
    start = np.array(config.home)
    kin = arm.model().at(start)
    freedom = np.linalg.svd(kin.jacobian)[2][-1]

    class Elsewhere:
        def sample(self, t):
            return Reference(kin.pose, q=start + 0.3 * freedom)

    gains = {
        "stiffness": [2000, 2000, 2000, 200, 200, 200],
        "posture_stiffness": 20.0,
        "posture_damping": 5.0,
    }
    log = simulate(
        config, gains=gains, reference=Elsewhere(), duration=4.0, urdf=arm.urdf, rate=500.0
    )
    before, after = (np.linalg.norm(q - start - 0.3 * freedom) for q in (log.q[0], log.q[-1]))
    assert after < 0.3 * before
    assert np.linalg.norm(log.pose_error[-1]) < 1e-3


# --- in simulation ---


@pytest.mark.sim
@pytest.mark.parametrize(
    "axis", [0, *(pytest.param(axis, marks=pytest.mark.long) for axis in (1, 2))]
)
def test_twenty_newtons_against_500_newtons_per_metre_are_forty_millimetres(axis):
    force = 20.0 * np.eye(3)[axis]
    gains, push = {"stiffness": [500, 500, 500, 50, 50, 50]}, Push(force, duration=2.0)
    log = simulate("ur5", gains=gains, duration=4.0, push=push, rate=500.0)
    pushed, released = (
        1000.0 * log.pose_error[np.searchsorted(log.t, t), :3] for t in (1.99, 3.99)
    )
    np.testing.assert_allclose(pushed, -40.0 * np.eye(3)[axis], rtol=0, atol=0.5)
    assert np.linalg.norm(released) < 0.5


@pytest.mark.sim
def test_two_runs_are_equal_to_the_last_bit():
    push = Push((5.0, -20.0, 10.0), (1.0, 2.0, -1.0), start=0.1, duration=0.3)
    runs = [
        simulate("ur5", gains={"coriolis": True, "inertia": 1.0}, duration=0.6, push=push)
        for _ in range(2)
    ]
    assert abs(runs[0].pose_error).max() > 1e-3
    for name in ("t", "q", "v", "effort", "pose", "pose_error", "twist", "wrench", "command"):
        assert getattr(runs[0], name).tobytes() == getattr(runs[1], name).tobytes(), name


def test_the_law_of_a_robot_configuration_holds_it_at_home(ur5):
    model = RobotModel.of(ur5)
    kin = model.at(np.array(ur5.home))
    torque, _ = law_at(kin, Reference(kin.pose))
    np.testing.assert_allclose(torque, kin.gravity, rtol=0, atol=1e-9)
    assert (abs(torque) < model.limits.effort).all()
