"""The admittance law against formulae written out here, its energy, limits and
symmetries, and in simulation.
"""

from dataclasses import replace

import numpy as np
import pytest
from arms import gradient, planar_arm, random_arm
from free_postures import FreePostures
from scipy.spatial.transform import Rotation

from robot_control_ros.control.loop import ControlLoop
from robot_control_ros.core.gains import make_gains
from robot_control_ros.core.spatial import make_pose, pose_error
from robot_control_ros.core.types import CommandMode, Reference, RobotState, Wrench
from robot_control_ros.laws.admittance import FEEDBACK, Admittance
from robot_control_ros.laws.spring.bounded_spring import HALVES
from robot_control_ros.laws.spring.virtual_body import (
    APPROACH,
    BODY,
    FOLLOWED,
    VirtualBody,
    bound,
    wait,
)
from robot_control_ros.references import Jog
from robot_control_ros.robot.configuration import load_robot, robot_names
from robot_control_ros.robot.differential_kinematics import FAST, TOP_SPEED, TRACKING
from robot_control_ros.robot.model import RobotModel
from robot_control_ros.simulation.in_process import Push, simulate
from robot_control_ros.simulation.mujoco_plant import MujocoPlant

DT = 0.002
TIGHT = 1e-12
BENT = np.array([0.3, -1.2, 1.4, -1.0, -1.3, 0.5])  # a UR5 far from singularities
POINT = {"mass": [1, 1, 1, 0.1, 0.1, 0.1], "stiffness": [1000, 1000, 1000, 20, 20, 20]}


def turned(rotation_vector):
    return Rotation.from_rotvec(rotation_vector).as_matrix()


def rotation_vector(matrix):
    return Rotation.from_matrix(matrix).as_rotvec()


def body_at(x, twist):
    body = VirtualBody()
    body.place(x[:3], turned(x[3:]), twist)
    return body


def potential(x, stiffness):
    return 0.5 * stiffness @ x**2


class Follower:
    """The law on joints that are where they were commanded."""

    def __init__(self, model, q, v=None, **gains):
        self.law, self.model = Admittance(), model
        self.gains = make_gains(Admittance.Gains, gains, model.n)
        self.q, self.v = q.copy(), np.zeros(model.n) if v is None else v
        self.law.reset(self.state(np.zeros(6)), self.kin)

    @property
    def kin(self):
        return self.model.at(self.q, self.v)

    @property
    def body(self):
        """The law's virtual body, by the names of BODY."""
        return BODY.by_name(Admittance.memory.by_name(self.law.save(), self.model.n)["body"], 0)

    def state(self, wrench):
        return RobotState(
            0.0, self.q, self.v, np.zeros(self.model.n), None, np.asarray(wrench, dtype=float)
        )

    def __call__(self, wrench, reference, dt=DT):
        command = self.law.compute(self.state(wrench), self.kin, reference, self.gains, dt)
        self.q, self.v = command.values, command.velocity
        return command


# --- the virtual body ---


def test_one_step_is_the_implicit_one(rng):
    for _ in range(20):
        mass, damping, stiffness = (
            rng.uniform(0.1, 5, 6),
            rng.uniform(0, 50, 6),
            rng.uniform(0, 1000, 6),
        )
        wrench, x, v, dt = (
            rng.normal(size=6),
            rng.uniform(-0.5, 0.5, 6),
            rng.normal(size=6),
            rng.uniform(1e-4, 0.05),
        )
        body = body_at(x, v)
        body.step(wrench, mass, damping, stiffness, dt)

        def deflection(step, x=x):
            return np.concatenate(
                (x[:3] + step[:3], rotation_vector(turned(step[3:]) @ turned(x[3:])))
            )

        A = gradient(deflection, np.zeros(6))
        left = np.diag(mass) + dt * np.diag(damping) + dt**2 * A.T @ np.diag(stiffness) @ A
        expected = np.linalg.solve(left, mass * v + dt * (wrench - A.T @ (stiffness * x)))
        np.testing.assert_allclose(body.twist, expected, rtol=0, atol=1e-7)
        np.testing.assert_allclose(body.position, x[:3] + dt * body.twist[:3], rtol=0, atol=1e-12)
        np.testing.assert_allclose(
            body.rotation, turned(dt * body.twist[3:]) @ turned(x[3:]), rtol=0, atol=1e-12
        )


def test_with_one_stiffness_the_springs_torque_is_along_the_rotation_vector(rng):
    x = np.concatenate((np.zeros(3), rng.uniform(-1, 1, 3)))
    body = body_at(x, np.zeros(6))
    body.step(np.zeros(6), np.ones(6), np.zeros(6), np.full(6, 7.0), 1e-3)
    np.testing.assert_allclose(body.twist, -1e-3 * 7.0 * x / (1.0 + 7e-6), rtol=0, atol=1e-12)


@pytest.mark.parametrize("axis", range(6))
def test_it_comes_to_rest_at_wrench_over_stiffness(axis):
    wrench, stiffness = 5.0 * np.eye(6)[axis], np.array([500, 600, 700, 20, 30, 40])
    body = VirtualBody()
    for _ in range(5000):
        body.step(wrench, np.ones(6), 2.0 * np.sqrt(stiffness), stiffness, DT)
    np.testing.assert_allclose(body.deflection(), wrench / stiffness, rtol=0, atol=1e-9)


@pytest.mark.long
def test_no_step_mass_damping_or_stiffness_makes_it_unstable(rng):
    """It never has more energy than it began with; up to the curvature of
    rotations, step by step.
    """
    for _ in range(300):
        mass, damping, stiffness = (
            10.0 ** rng.uniform(low, high, 6) for low, high in ((-3, 2), (-2, 3), (-1, 4.3))
        )
        dt = 10.0 ** rng.uniform(-4, -1)
        body = body_at(rng.uniform(-0.5, 0.5, 6), np.zeros(6))
        start = before = potential(body.deflection(), stiffness)
        for _ in range(200):
            body.step(np.zeros(6), mass, damping, stiffness, dt)
            energy = 0.5 * mass @ body.twist**2 + potential(body.deflection(), stiffness)
            assert energy <= before + 1e-3 * start
            before = energy
        assert energy <= start


@pytest.mark.parametrize("damping", [0.0, pytest.param(5.0, marks=pytest.mark.long)])
@pytest.mark.parametrize("dt", [pytest.param(1e-3, marks=pytest.mark.long), 1e-2])
def test_it_gives_back_no_more_than_the_wrench_put_in_while_its_gains_change(rng, damping, dt):
    """A damper outside takes out what the wrench put in, and no more. The gains as asked
    for would give more.
    """
    would_give = False
    for _ in range(20):
        body, work, mass, stiffness = VirtualBody(), 0.0, np.ones(6), np.ones(6)
        for k in range(1000):
            if k % 50 == 0:
                mass, stiffness = rng.uniform(0.2, 5, 6), 10.0 ** rng.uniform(0, 2, 6)
                wrench = rng.uniform(-1, 1, 6) * np.array([20, 20, 20, 1, 1, 1])
            if k >= 700:
                wrench = -5.0 * body.twist
            asked = 0.5 * mass @ body.twist**2 + potential(body.deflection(), stiffness)
            would_give |= asked > work + 0.01
            body.step(wrench, mass, np.full(6, damping), stiffness, dt)
            work += dt * float(wrench @ body.twist)
            assert work >= -1e-9
    assert would_give


def test_gains_arrive_when_nothing_moves():
    """From then on it moves as a body that had them from the beginning."""
    body, other, stiffness = VirtualBody(), VirtualBody(), np.full(6, 900.0)
    body.step(np.zeros(6), np.ones(6), np.zeros(6), np.full(6, 100.0), DT)
    for _ in range(50):
        for each in (body, other):
            each.step(np.full(6, 5.0), np.ones(6), np.zeros(6), stiffness, DT)
    np.testing.assert_array_equal(body.deflection(), other.deflection())


# --- the command ---


def test_at_the_reference_without_a_wrench_it_holds(ur5_model):
    follow = Follower(ur5_model, BENT)
    reference = Reference(pose=follow.kin.pose)
    for _ in range(50):
        follow(np.zeros(6), reference)
    np.testing.assert_allclose(follow.q, BENT, rtol=0, atol=1e-12)


def test_without_a_reference_it_holds_where_it_was_reset(ur5_model):
    follow = Follower(ur5_model, BENT)
    np.testing.assert_allclose(follow(np.zeros(6), Reference()).values, BENT, rtol=0, atol=1e-12)


def test_the_joints_are_where_the_virtual_body_is(ur5_model, rng):
    """On joints that follow, the tip is x_ref + x, R_ref turned by the rotation, of a
    body stepped beside.
    """
    follow, body = Follower(ur5_model, BENT, **POINT), VirtualBody()
    start, wrench = follow.kin.pose, np.array([4.0, -3.0, 5.0, 0.3, -0.2, 0.1])
    mass, stiffness = follow.gains.mass.diagonal(), follow.gains.stiffness.diagonal()
    for _ in range(500):
        follow(wrench, Reference(pose=start))
        body.step(wrench, mass, 2.0 * np.sqrt(mass * stiffness), stiffness, DT)
    expected = make_pose(start[:3, 3] + body.position, body.rotation @ start[:3, :3])
    assert np.abs(pose_error(expected, follow.kin.pose)).max() < 1e-5
    np.testing.assert_allclose(body.deflection(), wrench / stiffness, rtol=0, atol=1e-6)


def test_damping_is_the_ratio_of_the_critical_one_and_what_is_given_outright(ur5_model):
    outright = 2.0 * 0.7 * np.sqrt(np.array(POINT["mass"]) * POINT["stiffness"])
    by_ratio = Follower(ur5_model, BENT, **POINT, damping_ratio=0.7)
    given = Follower(ur5_model, BENT, **POINT, damping_ratio=0.0, damping=outright)
    reference = Reference(pose=by_ratio.kin.pose)
    for _ in range(100):
        a, b = (follow([5, 4, 3, 0.3, 0.2, 0.1], reference) for follow in (by_ratio, given))
        np.testing.assert_allclose(a.values, b.values, rtol=0, atol=1e-12)


def test_the_damping_of_mass_and_stiffness_along_turned_axes_is_turned_with_them():
    axes = np.kron(np.eye(2), turned(np.array([0.5, -0.8, 0.3])))
    mass, stiffness = (
        np.array([1.0, 2.0, 4.0, 0.1, 0.2, 0.3]),
        np.array([100.0, 900.0, 400.0, 20.0, 30.0, 10.0]),
    )
    full = {
        name: axes @ np.diag(each) @ axes.T
        for name, each in (("mass", mass), ("stiffness", stiffness))
    }
    gains = make_gains(Admittance.Gains, full | {"damping_ratio": 0.7}, 6)
    expected = axes @ np.diag(2.0 * 0.7 * np.sqrt(mass * stiffness)) @ axes.T
    np.testing.assert_allclose(gains.virtual_damping, expected, rtol=0, atol=1e-9)


def test_a_wrench_to_exert_moves_the_tip_its_way(ur5_model):
    """Held against by the environment with the opposite wrench, nothing moves."""
    follow = Follower(ur5_model, BENT)
    reference = Reference(pose=follow.kin.pose, wrench=np.array([0, 0, -8.0, 0, 0, 0]))
    follow([0, 0, 8.0, 0, 0, 0], reference)
    np.testing.assert_allclose(follow.q, BENT, rtol=0, atol=1e-12)
    for _ in range(1000):
        follow(np.zeros(6), reference)
    assert follow.kin.pose[2, 3] - reference.pose[2, 3] == pytest.approx(-8.0 / 500.0, abs=1e-5)


def test_axes_that_are_not_compliant_are_stiff(ur5_model, rng):
    follow = Follower(ur5_model, BENT, selected_axes=[0, 0, 1, 0, 0, 0])
    reference = Reference(pose=follow.kin.pose)
    for _ in range(500):
        follow(np.array([50, -80, 5, 4, 5, 6]), reference)
    error = -pose_error(reference.pose, follow.kin.pose)
    assert np.abs(error[[0, 1, 3, 4, 5]]).max() < 1e-6
    assert error[2] == pytest.approx(0.01, abs=1e-4)


def test_a_reset_while_moving_goes_on_as_it_moves(ur5_model, rng):
    """The first command is one step further, with the velocity that the body's
    damper and spring leave.
    """
    for _ in range(10):
        v = rng.uniform(-0.2, 0.2, 6)
        follow = Follower(ur5_model, BENT, v, max_velocity=5.0, max_rate=20.0)
        kin, mass, stiffness = (
            follow.kin,
            follow.gains.mass.diagonal(),
            follow.gains.stiffness.diagonal(),
        )
        command = follow(np.zeros(6), Reference(pose=kin.pose))
        rate = 1.0 + DT * 2.0 * np.sqrt(stiffness / mass) + DT**2 * stiffness / mass
        expected = np.linalg.solve(kin.jacobian, kin.twist / rate)
        np.testing.assert_allclose(command.velocity, expected, rtol=0, atol=0.05 * np.abs(v).max())
        np.testing.assert_allclose(command.values, BENT + DT * command.velocity, rtol=0, atol=1e-12)


def test_a_reset_beside_a_turning_reference_keeps_the_tips_own_velocity(ur5_model):
    follow = Follower(ur5_model, BENT, max_rate=20.0, damping_ratio=0.0, stiffness=0.0)
    pose = make_pose(follow.kin.pose[:3, 3], turned([0.5, 0.2, -0.4]) @ follow.kin.pose[:3, :3])
    follow(np.zeros(6), Reference(pose=pose, twist=np.array([0, 0, 0, 0.1, -0.3, 0.5])))
    assert np.abs(follow.kin.twist).max() < 0.03  # of 0.59 rad/s


def test_a_reference_that_turns_carries_the_deflection_with_it(ur5_model):
    """R_c = R_b R_ref, at rest in R_b: the tip's angular velocity is R_b
    w_ref, and nothing lags.
    """
    follow, rate = Follower(ur5_model, BENT, **POINT), np.array([0.2, -0.1, 0.3])
    start, torque = follow.kin.pose, np.array([0.0, 0, 0, 3.0, 2.0, -2.0])
    for k in range(1, 1001):
        turning = max(k - 500, 0) * DT
        pose = make_pose(start[:3, 3], turned(turning * rate) @ start[:3, :3])
        follow(
            torque, Reference(pose=pose, twist=np.concatenate((np.zeros(3), rate * (turning > 0))))
        )
    expected = make_pose(start[:3, 3], turned(torque[3:] / 20.0) @ pose[:3, :3])
    assert np.abs(pose_error(expected, follow.kin.pose)).max() < 2e-3
    assert np.abs(follow.kin.twist[3:] - turned(torque[3:] / 20.0) @ rate).max() < 2e-3


def test_turning_the_base_changes_no_command(rng):
    """Wrench, pose and twist given in other axes; the gains are the same in all directions."""
    mount = ((0.3, -0.2, 0.5), (0.4, -0.7, 1.1))
    arm = random_arm(7, 6, mount=mount)
    inner, outer = arm.model(), replace(arm, base="world").model()
    R = Rotation.from_euler("xyz", mount[1]).as_matrix()
    into, both = make_pose(mount[0], R), np.kron(np.eye(2), R)
    q = rng.uniform(-1, 1, 6)
    here, there = Follower(inner, q), Follower(outer, q)
    pose, twist = inner.at(q).pose, 0.05 * rng.normal(size=6)
    for _ in range(100):
        wrench = rng.normal(size=6) * np.array([10, 10, 10, 1, 1, 1])
        a = here(wrench, Reference(pose=pose, twist=twist))
        b = there(both @ wrench, Reference(pose=into @ pose, twist=both @ twist))
        np.testing.assert_allclose(a.values, b.values, rtol=0, atol=1e-8)


# --- limits ---


def test_the_body_stays_within_its_distance_angle_and_speeds(ur5_model):
    bounds = {"max_displacement": 0.02, "max_velocity": 0.1, "max_rotation": 0.1, "max_rate": 0.3}
    follow = Follower(ur5_model, BENT, **bounds)
    reference = Reference(pose=follow.kin.pose)
    fastest, farthest = np.zeros(2), np.zeros(2)
    for _ in range(1000):
        follow([200, -100, 300, 20, 30, -40], reference)
        error, twist = pose_error(reference.pose, follow.kin.pose), follow.kin.twist
        farthest = np.maximum(farthest, [np.linalg.norm(error[:3]), np.linalg.norm(error[3:])])
        fastest = np.maximum(fastest, [np.linalg.norm(twist[:3]), np.linalg.norm(twist[3:])])
    assert np.all(farthest <= [0.02, 0.1])
    assert np.all(farthest >= [0.019, 0.095])
    np.testing.assert_allclose(fastest, [0.1, 0.3], rtol=0.05)


def test_pushed_out_to_where_it_may_go_it_is_back_at_once(ur5_model):
    follow = Follower(ur5_model, BENT, **POINT, max_displacement=0.02)
    reference = Reference(pose=follow.kin.pose)
    for _ in range(1000):
        follow([300, 0, 0, 0, 0, 0], reference)
    for _ in range(100):
        follow(np.zeros(6), reference)
    assert np.linalg.norm(pose_error(reference.pose, follow.kin.pose)[:3]) < 0.001


def test_before_its_largest_displacement_the_body_slows_down_without_a_jump():
    body, speeds, dt = body_at(np.zeros(6), np.zeros(6)), [0.0], 0.002
    for _ in range(1000):
        body.step(
            np.array([0.0, 40.0, 30.0, 0.0, 0.0, 0.0]),
            np.full(6, 10.0),
            np.zeros(6),
            np.zeros(6),
            dt,
        )
        bound(body.row, 0.3, 1.0, 0.5, 2.0, dt)
        speeds.append(np.linalg.norm(body.twist[:3]))
    assert np.linalg.norm(body.position) == pytest.approx(0.3, abs=1e-3)
    assert max(speeds) == pytest.approx(0.5)
    push = 50.0 / 10.0
    assert np.abs(np.diff(speeds)).max() < (push + APPROACH * 0.5) * dt * 1.02


def test_what_the_follower_lags_takes_no_more_speed_than_it_is_slower(rng):
    """The body goes back to within the tolerance, and never faster outward or beyond the
    follower's own speed.
    """
    for _ in range(1000):
        twist, lag, slower = rng.normal(size=(3, 6)) * np.array([0.1, 0.01, 0.1])[:, None]
        body = body_at(np.zeros(6), twist)
        wait(body.row, lag, slower, 0.004)
        for part, tolerance in zip(HALVES, FOLLOWED, strict=True):
            size = np.linalg.norm(lag[part])
            direction = lag[part] / size
            lost = (twist - body.twist)[part]
            assert np.linalg.norm(np.cross(lost, direction)) < TIGHT
            most = max(min(slower[part] @ direction, twist[part] @ direction), 0.0)
            assert -TIGHT <= lost @ direction <= most + TIGHT
            if size >= tolerance:
                assert lost @ direction == pytest.approx(most, abs=TIGHT)
            if size <= 0.5 * tolerance:
                assert not lost.any()
        back = np.linalg.norm(lag[:3]) - np.linalg.norm(body.position)
        assert back == pytest.approx(min(np.linalg.norm(lag[:3]), FOLLOWED[0]), abs=1e-12)


def test_no_joint_is_faster_than_its_limit_and_the_direction_is_kept(ur5_model, rng):
    follow = Follower(ur5_model, BENT, max_velocity=5.0, max_rate=20.0, mass=0.01)
    reference, limit = Reference(pose=follow.kin.pose), ur5_model.limits.velocity
    met = 0
    for cycle in range(500):
        if cycle % 50 == 0:
            wrench = rng.normal(size=6) * np.array([100, 100, 100, 10, 10, 10])
        command = follow(wrench, reference)
        assert np.all(np.abs(command.velocity) <= TOP_SPEED * limit * (1 + 1e-9))
        met += bool(np.any(np.abs(command.velocity) > FAST * limit))
    assert met > 10


class FalseSensor:
    """A simulated arm whose sensor reads what the test says."""

    def __init__(self, name, law, gains):
        self.robot, self.law, self.gains = load_robot(name), law, gains
        self.plant = MujocoPlant(self.robot, rate=self.robot.profile.rate)
        self.limits = RobotModel.of(self.robot).limits
        self._postures = FreePostures(self.robot)

    def posture(self, rng):
        limits = self.limits
        lower, upper = np.maximum(limits.lower, -np.pi), np.minimum(limits.upper, np.pi)
        return self._postures.draw(rng, lower, upper)

    def fastest(self, q, wrench, cycles=300):
        """Largest joint speeds over their limits, commanded and simulated: pushed, pushed
        back, and pushed again.
        """
        loop, velocity = ControlLoop(self.robot, self.law, self.gains), self.limits.velocity
        loop.wrench.settings.set({"range_force": 0.0, "range_torque": 0.0})
        self.plant.reset(q)
        self.plant.open()
        commanded, moved, last = 0.0, 0.0, None
        for cycle in range(cycles):
            state = self.plant.read()
            sign = 1.0 if cycle % 150 < 100 else -1.0
            read = Wrench(sign * wrench[:3], sign * wrench[3:], state.wrench.frame)
            command = loop.tick(replace(state, wrench=read))
            self.plant.write(command)
            if command.mode is CommandMode.VELOCITY:
                commanded = max(commanded, float((np.abs(command.values) / velocity).max()))
            elif last is not None and command.mode is CommandMode.POSITION and not loop.fault:
                speed = np.abs(command.values - last) / self.robot.period
                commanded = max(commanded, float((speed / velocity).max()))
            moved = max(moved, float((np.abs(state.v) / velocity).max()))
            last = command.values
        return commanded, moved


SENSED = [
    ("admittance", {}),
    ("admittance", {"stiffness": 0.0}),
    ("admittance", {"output": "velocity"}),
    ("force_control", {"output": "position", "force_axes": [0, 0, 1, 0, 0, 0]}),
]


def check_speeds(name, law, gains, rng, count, most):
    pytest.importorskip("mujoco")
    arm = FalseSensor(name, law, gains)
    for _ in range(count):
        direction = rng.normal(size=6) * np.array([1.0, 1.0, 1.0, 0.2, 0.2, 0.2])
        wrench = 10.0 ** rng.uniform(1.0, 6.0) * direction / np.linalg.norm(direction)
        q = arm.posture(rng)
        commanded, moved = arm.fastest(q, wrench)
        assert commanded <= 1.0 + 1e-9, (q, wrench)
        assert moved <= most, (q, wrench)


@pytest.mark.few(2)
@pytest.mark.sim
@pytest.mark.parametrize(("law", "gains"), SENSED)
@pytest.mark.parametrize("name", ["ur5", pytest.param("gen3", marks=pytest.mark.long)])
def test_no_wrench_drives_a_joint_above_its_limit_speed(name, law, gains, rng):
    check_speeds(name, law, gains, rng, 3, 1.01)


@pytest.mark.long
@pytest.mark.sim
@pytest.mark.parametrize(("law", "gains"), SENSED)
@pytest.mark.parametrize("name", robot_names())
def test_no_wrench_at_any_posture_drives_a_joint_above_its_limit_speed(name, law, gains, rng):
    check_speeds(name, law, gains, rng, 20, 1.06)  # a servo short of effort overshoots


@pytest.mark.sim
def test_a_false_torque_that_turns_the_wrists_moves_none_above_its_limit_speed():
    pytest.importorskip("mujoco")
    arm = FalseSensor("gen3", "admittance", {})
    commanded, moved = arm.fastest(
        np.array(arm.robot.home), np.array([0.0, 0.0, 0.0, 300.0, 0.0, 0.0])
    )
    assert commanded > 0.5
    assert moved <= 1.0


@pytest.fixture
def limited_model(ur5):
    """A UR5 whose elbow turns no further than 1.5 rad."""
    whole = 'lower="-3.141592653589793" upper="3.141592653589793" effort="150.0"'
    assert ur5.urdf().count(whole) == 1
    return RobotModel.of(
        ur5, ur5.urdf().replace(whole, 'lower="-3.141592653589793" upper="1.6" effort="150.0"')
    )


def test_against_a_joint_limit_nothing_winds_up(limited_model):
    """Pushed towards the base for 2 s, 30 mm further than the elbow allows; then
    pushed back as hard.
    """
    follow = Follower(limited_model, BENT, **{**POINT, "stiffness": [100, 100, 100, 20, 20, 20]})
    start = follow.kin.pose
    inward = -start[:3, 3] / np.linalg.norm(start[:3, 3])
    push, outside = np.concatenate((20.0 * inward, np.zeros(3))), []
    for _ in range(1000):
        follow(push, Reference(pose=start))
        outside.append(
            np.linalg.norm(start[:3, 3] + follow.body["position"] - follow.kin.pose[:3, 3])
        )
    assert follow.q[2] == pytest.approx(1.6, abs=1e-12)
    assert max(outside) < FOLLOWED[0] + 0.002
    assert follow.body["twist"][:3] @ inward < 0.01
    stuck = follow.kin.pose[:3, 3] @ inward
    assert (start[:3, 3] + push[:3] / 100.0) @ inward > stuck + 0.02
    for _ in range(50):
        follow(-push, Reference(pose=start))
    assert follow.kin.pose[:3, 3] @ inward < stuck - 0.01
    for _ in range(2000):
        follow(np.zeros(6), Reference(pose=start))
    assert np.abs(pose_error(start, follow.kin.pose)).max() < 1e-3


def test_through_the_singular_stretch_rates_stay_bounded_and_it_comes_back(ur5_model):
    stretched = np.array([0.0, -0.6, 0.3, -1.5, -1.57, 0.0])
    follow = Follower(ur5_model, stretched, **{**POINT, "stiffness": [100, 100, 100, 20, 20, 20]})
    reference = Reference(pose=follow.kin.pose)
    for force in (20.0, 0.0):
        for _ in range(1500):
            command = follow([force, 0, 0, 0, 0, 0], reference)
            assert np.all(np.abs(command.velocity) <= ur5_model.limits.velocity)
            # the spring alone would let it go 0.2 m
            assert np.linalg.norm(follow.body["position"]) < 0.1
    assert np.linalg.norm(pose_error(reference.pose, follow.kin.pose)[:3]) < 1e-3


def test_an_arm_in_a_plane_gives_way_in_it(rng):
    model = planar_arm().model()
    follow = Follower(model, np.array([0.4, 0.7, 0.5]), axes=[1, 1, 0, 0, 0, 1])
    # out of the plane, where the arm can't go
    beside = make_pose(np.array([0.0, 0.0, 0.1])) @ follow.kin.pose
    reference = Reference(pose=beside)
    for _ in range(1500):
        follow([5, -3, 100, 10, 10, 0.5], reference)
    error = -pose_error(reference.pose, follow.kin.pose)
    np.testing.assert_allclose(error, [0.01, -0.006, -0.1, 0, 0, 0.025], rtol=0, atol=5e-5)


def test_the_null_space_goes_back_to_the_posture_and_the_tip_stays():
    robot = load_robot("gen3")
    model = RobotModel.of(robot)
    follow = Follower(model, np.array(robot.home))
    reference = Reference(
        pose=follow.kin.pose, q=np.array(robot.home) + [0.3, 0.0, -0.3, 0.0, 0.0, 0.0, 0.0]
    )
    for _ in range(200):
        before = follow.kin.pose
        follow(np.zeros(6), reference)
        assert np.abs(pose_error(before, follow.kin.pose)).max() < 1e-4
    assert np.linalg.norm(follow.q - robot.home) > 0.02
    assert np.abs(pose_error(reference.pose, follow.kin.pose)).max() < 1e-3


# --- in the loop ---


def sample(time, q, force=None, stamp=None):
    wrench = None
    if force is not None:
        wrench = Wrench(np.array(force, dtype=float), np.zeros(3), "tool0", stamp)
    return RobotState(time, q, np.zeros(6), np.zeros(6), wrench)


def test_it_does_not_run_without_a_wrench(ur5):
    loop = ControlLoop(ur5, "admittance")
    command = loop.tick(sample(0.0, BENT))
    assert command.mode is CommandMode.POSITION
    np.testing.assert_array_equal(command.values, BENT)
    assert loop.safety.fault.startswith(
        "law admittance: no wrench has arrived; it needs one on the topic wrench"
    )


def test_with_a_stale_wrench_the_position_is_held_and_stays(ur5):
    """A robot that sags meanwhile isn't followed; when wrenches come back, it goes on
    from what was held.
    """
    loop = ControlLoop(ur5, "admittance")
    q = BENT
    for k in range(50):
        command = loop.tick(sample(k * DT, q, [30, 0, 0], k * DT))
        q = command.values
        assert loop.safety.fault == ""
    assert np.abs(command.values - BENT).max() > 1e-3
    held = None
    for k in range(50, 200):
        sagged = q + 1e-5 * k
        command = loop.tick(sample(k * DT, sagged, [30, 0, 0], 49 * DT))
        if loop.safety.fault:
            if k >= 150:  # after it has braked
                held = command.values if held is None else held
                np.testing.assert_array_equal(command.values, held)
            assert "law admittance: the last wrench is" in loop.safety.fault
            assert "must be at most max_age = 0.08 s" in loop.safety.fault
    assert held is not None
    command = loop.tick(sample(200 * DT, sagged, [0, 0, 0], 200 * DT))
    assert loop.safety.fault == ""
    np.testing.assert_allclose(command.values, held, rtol=0, atol=1e-9)
    for k in range(201, 3500):
        command = loop.tick(sample(k * DT, command.values, [0, 0, 0], k * DT))
    np.testing.assert_allclose(
        loop.reference.pose, RobotModel.of(ur5).at(BENT).pose, rtol=0, atol=1e-9
    )
    # no new rest: the old reference counts
    np.testing.assert_allclose(command.values, BENT, rtol=0, atol=1e-4)


def test_a_motion_ends_where_it_is_when_no_wrench_comes(ur5):
    """Else the reference would go on without the arm, and the law begin far from it."""
    loop, ended = ControlLoop(ur5, "admittance"), None
    command = loop.tick(sample(0.0, BENT, np.zeros(3), 0.0))
    goal = loop.tip().copy()
    goal[2, 3] += 0.1
    loop.motion.move_to(goal)
    for k in range(1, 1500):
        command = loop.tick(sample(k * DT, command.values, np.zeros(3), min(k, 100) * DT))
        if loop.safety.fault and ended is None:
            ended = loop.reference.pose
    assert 0.01 < ended[2, 3] - goal[2, 3] + 0.1 < 0.09
    np.testing.assert_allclose(loop.reference.pose, ended, rtol=0, atol=1e-9)
    assert not loop.motion.is_moving()


# --- in simulation ---


def droop(log, robot, wrench, bandwidth):
    """What the simulator's servo gives way (6,) under a wrench: M bandwidth (q - q_c) = Jᵀ w."""
    kin = RobotModel.of(load_robot(robot)).at(log.q[-1])
    return kin.jacobian @ np.linalg.solve(kin.mass, kin.jacobian.T @ wrench) / bandwidth


@pytest.mark.few(1)
@pytest.mark.sim
@pytest.mark.parametrize(
    ("output", "bandwidth"), [("position", 150.0**2), ("velocity", 150.0 * FEEDBACK)]
)
@pytest.mark.parametrize(
    "robot",
    ["ur5", *(pytest.param(name, marks=pytest.mark.long) for name in ("gen3", "planar_two_link"))],
)
def test_a_pushed_arm_gives_way_by_force_over_stiffness_and_its_servo_besides(
    robot, output, bandwidth
):
    force = np.array([10.0, -6.0, 0.0 if robot == "planar_two_link" else 8.0])
    log = simulate(
        robot, "admittance", {"output": output}, duration=6.0, push=Push(force), rate=500.0
    )
    assert log.mode is CommandMode(output)
    expected = (
        force / 500.0 + droop(log, robot, np.concatenate((force, np.zeros(3))), bandwidth)[:3]
    )
    np.testing.assert_allclose(-log.pose_error[-1, :3], expected, rtol=0.01, atol=5e-5)
    assert np.ptp(log.pose_error[-200:, :3], axis=0).max() < 5e-5


@pytest.mark.long
@pytest.mark.sim
def test_a_gen3_without_a_sensor_gives_way_to_what_its_joint_torques_tell():
    robot = load_robot("gen3")
    robot = replace(robot, profile=replace(robot.profile, wrench={"source": "joint_effort"}))
    push = Push((10.0, 0.0, 0.0), start=0.5, duration=3.0)
    log = simulate(robot, "admittance", duration=6.5, push=push)
    before, pushed = log.t < push.start, (log.t > 3.0) & (log.t < 3.5)
    assert np.abs(log.pose_error[before]).max() < 1e-4
    np.testing.assert_allclose(-log.pose_error[pushed, 0], 10.0 / 500.0, rtol=0.1)
    assert np.ptp(log.pose_error[pushed, :3], axis=0).max() < 2e-4
    assert np.abs(log.pose_error[-1, :3]).max() < 2e-4


@pytest.mark.sim
def test_without_stiffness_it_is_led_by_hand_and_stays_where_it_is_left():
    gains = {
        "mass": 2.0,
        "stiffness": 0.0,
        "damping": [30, 30, 30, 3, 3, 3],
        "selected_axes": [1, 1, 1, 0, 0, 0],
    }
    push = Push((0.0, 3.0, 0.0), start=0.2, duration=1.0)
    log = simulate("ur5", "admittance", gains, duration=3.0, push=push)
    way = -log.pose_error[:, :3]
    assert way[-1, 1] == pytest.approx(3.0 / 30.0 * push.duration, rel=0.03)
    assert np.ptp(way[-500:], axis=0).max() < 1e-5
    during = (log.t > 0.8) & (log.t < 1.1)
    np.testing.assert_allclose(log.twist[during, 1], 0.1, rtol=0.03)


@pytest.mark.few(1)
@pytest.mark.sim
@pytest.mark.parametrize(
    ("robot", "force", "reach", "rate"),
    [
        ("ur5", (60, 20, 40), 0.9, 125.0),
        pytest.param("ur5", (60, 20, 40), 0.9, 500.0, marks=pytest.mark.long),
        pytest.param("gen3", (24, 8, 16), 0.78, 125.0, marks=pytest.mark.long),
        ("gen3", (24, 8, 16), 0.78, 500.0),
    ],
)
def test_led_by_hand_to_the_end_of_its_reach_it_stops_there_smoothly(robot, force, reach, rate):
    """The arm had rung at half its rate: each time the joints were 5 mm behind, all
    speed was taken at once.
    """
    gains = {"stiffness": [0, 0, 0, 50, 50, 50], "max_displacement": 1.0}
    log = simulate(
        robot,
        "admittance",
        gains,
        duration=5.0,
        rate=rate,
        push=Push(force, start=0.5, duration=4.0),
    )
    assert not any(log.fault)
    assert np.linalg.norm(log.pose[-1, :3, 3]) > reach
    accelerations = np.abs(np.diff(log.command, n=2, axis=0)) * rate**2
    limit = RobotModel.of(load_robot(robot)).limits.velocity
    assert (accelerations / limit).max() < 1.1 * TRACKING
    assert (accelerations[log.t[2:] > 4.0] / limit).max() < TRACKING / 2.0


@pytest.mark.sim
def test_a_reference_that_moves_is_followed():
    twist = np.array([0.05, -0.03, 0.04, 0.1, -0.2, 0.1])

    def jog(start):
        return Jog(Reference(pose=start), twist, 0.0, (1.0, 4.0), 1.5)

    log = simulate("ur5", "admittance", reference=jog, duration=2.5, rate=500.0)
    assert np.linalg.norm(log.pose[-1, :3, 3] - log.pose[0, :3, 3]) > 0.08
    assert np.abs(log.pose_error[:, :3]).max() < 1e-3
    assert np.abs(log.pose_error[:, 3:]).max() < 5e-3
    assert np.abs(log.pose_error[-1]).max() < 1e-5
