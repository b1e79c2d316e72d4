"""The admittance along the axes of the reference: what a push moves, moving references, and
changes of the frame.
"""

import numpy as np
import pytest

from robot_control_ros.core.errors import ConfigError
from robot_control_ros.core.gains import make_gains
from robot_control_ros.core.rotations import twist_at_into, twist_in_into, wrench_in_into
from robot_control_ros.core.spatial import (
    make_pose,
    pose_error,
    rotation_exp,
    rotation_exp_jacobian,
)
from robot_control_ros.core.types import Reference, SensedState
from robot_control_ros.laws.admittance import Admittance
from robot_control_ros.laws.spring.compliance_frame import ComplianceFrame
from robot_control_ros.laws.spring.virtual_body import (
    BODY,
    TANK,
    VirtualBody,
    change_frame,
    frame_placement_into,
    slope_into,
)
from robot_control_ros.robot.configuration import load_robot
from robot_control_ros.robot.model import RobotModel

DT = 0.002
BENT = np.array([0.3, -1.2, 1.4, -1.0, -1.3, 0.5])  # a UR5e far from singularities
STIFFNESS = np.array([1000.0, 500.0, 250.0, 40.0, 20.0, 10.0])


@pytest.fixture(scope="module")
def model():
    return RobotModel.of(load_robot("ur5e"))


class Follower:
    """The law on joints that are where they were commanded."""

    def __init__(self, model, **gains):
        self.law, self.model, self.q, self.v = Admittance(), model, BENT, np.zeros(6)
        self.set(**gains)
        self.law.reset(self.state(np.zeros(6)), model.at(self.q))

    def set(self, **gains):
        values = {"mass": [1, 1, 1, 0.1, 0.1, 0.1], "stiffness": STIFFNESS, **gains}
        self.gains = make_gains(Admittance.Gains, values, 6)

    def state(self, wrench):
        return SensedState(0.0, self.q, self.v, np.zeros(6), None, wrench_on_tip=wrench)

    def __call__(self, wrench, reference):
        kin = self.model.at(self.q, self.v)
        command = self.law.compute(self.state(wrench), kin, reference, self.gains, DT)
        self.q, self.v = command.values, command.velocity
        return self.model.at(self.q, self.v)


@pytest.mark.parametrize(
    "axis", [0, 5, *(pytest.param(axis, marks=pytest.mark.long) for axis in range(1, 5))]
)
def test_a_push_along_an_axis_of_the_reference_moves_by_its_stiffness(model, axis):
    rest = model.at(BENT).pose
    both = np.kron(np.eye(2), rest[:3, :3])
    size = 0.02 if axis < 3 else 0.05  # m or rad
    arm = Follower(model, frame="reference")
    for _ in range(3000):
        kin = arm(size * STIFFNESS[axis] * both[:, axis], Reference(rest))
    moved = both.T @ pose_error(kin.pose, rest)
    np.testing.assert_allclose(moved, size * np.eye(6)[axis], rtol=0, atol=1e-6)


def test_with_one_stiffness_on_all_axes_the_frame_makes_no_difference(rng, model):
    alike = {"stiffness": [500, 500, 500, 20, 20, 20]}
    arms = [Follower(model, frame=frame, **alike) for frame in ("base", "reference")]
    pose, wrench = model.at(BENT).pose, rng.uniform(-1, 1, 6) * (10, 10, 10, 1, 1, 1)
    for _ in range(500):
        base, reference = (arm(wrench, Reference(pose)) for arm in arms)
        np.testing.assert_allclose(base.q, reference.q, rtol=0, atol=1e-9)


def test_a_body_that_is_pushed_turns_with_a_turning_reference(model):
    """Once at rest along the reference's axes it stays there: its displacement, seen from
    them, doesn't change.
    """
    start, rate = model.at(BENT).pose, np.array([0.0, 0.0, 0.1])
    arm, seen = Follower(model, frame="reference"), []
    for k in range(2500):
        angle = max(k - 1500, 0) * DT
        pose = make_pose(start[:3, 3], rotation_exp(angle * rate) @ start[:3, :3])
        twist = np.concatenate((np.zeros(3), rate * (k > 1500)))
        push = np.concatenate((pose[:3, :3] @ (10.0, 5.0, 0.0), np.zeros(3)))
        kin = arm(push, Reference(pose, twist))
        seen.append(pose[:3, :3].T @ (kin.pose - pose)[:3, 3])
    expected = np.array((10.0, 5.0, 0.0)) / STIFFNESS[:3]
    np.testing.assert_allclose(seen[1499], expected, rtol=0, atol=1e-5)
    np.testing.assert_allclose(seen[-1], expected, rtol=0, atol=1e-3)


def test_other_axes_while_it_is_pushed_make_no_more_energy_than_the_damper_took(rng):
    for _ in range(50):
        body, stiffness, mass = VirtualBody(), 10.0 ** rng.uniform(1, 3, 6), rng.uniform(0.5, 5, 6)
        taken = 0.0
        for k in range(400):
            wrench = rng.uniform(-1, 1) * np.array([20.0, 20.0, 20.0, 1.0, 1.0, 1.0])
            body.step(wrench, mass, np.full(6, 5.0), stiffness, DT)
            taken = min(taken + DT * 5.0 * body.twist @ body.twist, TANK)
            if k % 50 == 49:
                before = energy(body, mass, stiffness)
                rest_along(body, rotation_exp(rng.normal(size=3)))
                made = energy(body, mass, stiffness) - before
                assert made <= taken + 1e-12
                taken = min(taken - made, TANK)


def test_a_moving_body_of_one_mass_takes_other_axes_at_once(rng):
    """Its energy is the same along any axes, so that there is nothing to wait for."""
    body = VirtualBody()
    body.step(
        np.array([10.0, 5.0, -5.0, 0.0, 0.0, 0.0]),
        np.full(6, 2.0),
        np.full(6, 0.1),
        np.zeros(6),
        DT,
    )
    before = energy(body, np.full(6, 2.0), np.zeros(6))
    assert rest_along(body, rotation_exp(rng.normal(size=3)))
    assert energy(body, np.full(6, 2.0), np.zeros(6)) == pytest.approx(before, rel=1e-12)


def rest_along(body, axes):
    """Let a body rest in other axes (3, 3), with the plain frame; whether it could pay for that."""
    return change_frame(body.row, np.eye(3), np.zeros(3), 0.0, axes)


def energy(body, mass, stiffness):
    x = body.deflection()
    return 0.5 * (mass @ body.twist**2 + stiffness @ x**2)


def test_a_frame_changes_without_a_jump_of_the_joints(rng, model):
    arm, pose = Follower(model), model.at(BENT).pose
    wrench, steps, before = np.array([10.0, 5.0, -5.0, 0.5, 0.0, 0.0]), [], BENT
    for k in range(2000):
        if k == 1000:
            arm.set(frame="reference")
        arm(wrench * (1.0 + 0.1 * np.sin(0.02 * k)), Reference(pose))
        steps.append(np.abs(arm.q - before).max())
        before = arm.q
    rotation = pose[:3, :3]
    assert max(steps[1000:]) <= max(steps[:1000])
    moved = rotation.T @ (model.at(arm.q).pose - pose)[:3, 3]
    np.testing.assert_allclose(moved, rotation.T @ wrench[:3] / STIFFNESS[:3], rtol=0.3, atol=1e-3)


# --- frames that turn with the tip, links, and full matrices ---


FULL = np.array(
    [
        [30.0, 4, 0, 0, 1, 0],
        [0, 20, 3, 0, 0, 0],
        [0, 0, 12, 1, 0, 0],
        [0, 0, 0, 4, 0, 1],
        *np.eye(6)[4:] * 3,
    ]
)
FULL = FULL.T @ FULL  # N/m, N·m/rad


def random_body(rng, turns=True):
    """A body away from its rest in a frame that turns with it, at a lever from it;
    or in one that rests.
    """
    body = VirtualBody()
    body.place(rng.uniform(-0.2, 0.2, 3), rotation_exp(rng.uniform(-0.8, 0.8, 3)), np.zeros(6))
    lever = rng.uniform(-0.2, 0.2, 3) if turns else np.zeros(3)
    assert change_frame(body.row, rotation_exp(rng.normal(size=3)), lever, float(turns), np.eye(3))
    return body


def moved_to(body, position, rotation):
    """The same body somewhere else."""
    other = VirtualBody()
    other.row[:] = body.row
    named = BODY.by_name(other.row, 0)
    named["position"] = position
    named["rotation"] = rotation
    return other


def pull_of(body):
    """Wrench (6,) of the spring FULL along the axes of the body's frame, against its deflection."""
    x, slope = body.deflection(), np.empty((6, 6))
    slope_into(body.row, x, slope)
    return slope.T @ FULL @ x


def through_frame(change, body, values):
    """What becomes of a twist or a wrench (6,) through the body's frame."""
    placement, result = np.empty((4, 4)), np.empty(6)
    frame_placement_into(body.row, placement)
    change(values, placement, result)
    return result


def test_the_spring_is_the_gradient_of_its_energy_in_every_frame(rng):
    """By finite differences along a random twist, to 1e-6: the moment that the
    lever makes included.
    """
    for _ in range(200):
        body, twist = random_body(rng, rng.random() < 0.7), rng.normal(size=6)
        energies = []
        for step in (1e-6, -1e-6):
            motion = step * through_frame(twist_at_into, body, twist)
            there = moved_to(
                body, body.position + motion[:3], rotation_exp(motion[3:]) @ body.rotation
            ).deflection()
            energies.append(0.5 * there @ FULL @ there)
        expected = pytest.approx(pull_of(body) @ twist, rel=1e-6, abs=1e-6 * energies[0])
        assert (energies[0] - energies[1]) / 2e-6 == expected


def test_around_a_closed_motion_the_spring_works_nothing(rng):
    for _ in range(5):
        body, count, work = random_body(rng), 400, 0.0
        sizes, phases = rng.uniform(0.0, 0.2, 6), rng.uniform(0.0, 2.0 * np.pi, 6)
        for s in 2.0 * np.pi * np.arange(count) / count:
            way, rate = sizes * np.sin(s + phases), sizes * np.cos(s + phases)
            there = moved_to(body, body.position + way[:3], rotation_exp(way[3:]) @ body.rotation)
            motion = np.concatenate((rate[:3], rotation_exp_jacobian(way[3:]) @ rate[3:]))
            work += (
                pull_of(there) @ through_frame(twist_in_into, there, motion) * 2.0 * np.pi / count
            )
        assert abs(work) < 1e-9


def test_wrench_and_twist_have_the_same_power_in_every_frame(rng):
    for turns in (True, False):
        for _ in range(50):
            body, wrench, twist = random_body(rng, turns), rng.normal(size=6), rng.normal(size=6)
            along = through_frame(twist_in_into, body, twist)
            assert through_frame(wrench_in_into, body, wrench) @ along == pytest.approx(
                wrench @ twist
            )
            np.testing.assert_allclose(through_frame(twist_at_into, body, along), twist, atol=1e-12)


def test_a_body_in_a_turning_frame_gains_no_energy(rng):
    """Without a wrench, and without a damper, its energy only falls: the
    implicit step takes some.
    """
    for _ in range(10):
        body, mass = random_body(rng), np.diag([2.0, 1.0, 3.0, 0.1, 0.2, 0.15])
        last = np.inf
        for _ in range(300):
            body.step(np.zeros(6), mass, np.zeros((6, 6)), FULL, DT)
            x = body.deflection()
            now = 0.5 * (x @ FULL @ x + body.twist @ mass @ body.twist)
            assert now <= last * (1.0 + 1e-6)
            last = now


@pytest.mark.parametrize("frame", ["tip", "wrist_2_link", "wrist_3_link"])
def test_a_small_push_moves_by_the_stiffness_matrix_along_the_frame(model, frame):
    full = FULL / 50.0 + np.diag([500.0, 400, 300, 20, 20, 20])
    arm = Follower(model, frame=frame, stiffness=full.ravel(), damping_ratio=1.0)
    rest = model.at(BENT)
    to_frame = ComplianceFrame(frame, rest).map(rest, rest.pose)
    along = np.array([0.5, -0.3, 0.4, 0.02, 0.01, -0.02])
    for _ in range(2500):
        kin = arm(to_frame.T @ along, Reference(rest.pose))
    moved = to_frame @ -pose_error(rest.pose, kin.pose)
    np.testing.assert_allclose(moved, np.linalg.solve(full, along), rtol=0.02, atol=2e-5)


@pytest.mark.parametrize("frame", ["tip", "wrist_1_link", "wrist_3_link"])
def test_any_frame_is_entered_and_left_without_a_jump_of_the_joints(model, frame):
    """Their speed changes as little from sample to sample as under the first touch of the push."""
    arm, pose = Follower(model), model.at(BENT).pose
    wrench, speeds = np.array([10.0, 5.0, -5.0, 0.5, 0.0, 0.0]), [np.zeros(6)]
    for k in range(1600):
        if k in (600, 1100):
            arm.set(frame=frame if k == 600 else "base")
        arm(wrench, Reference(pose))
        speeds.append(arm.v)
    changes = np.abs(np.diff(speeds, axis=0)).max(axis=1)
    assert changes[600:].max() <= 2.0 * changes[:600].max()


def test_a_mass_that_could_vanish_along_a_direction_is_refused():
    mass = np.diag([2.0, 2, 2, 0.1, 0.1, 0.1])
    mass[0, 1] = mass[1, 0] = 2.0
    with pytest.raises(ConfigError) as refusal:
        make_gains(Admittance.Gains, {"mass": mass.ravel()}, 6)
    assert refusal.value.bound == (0.001, np.inf)
