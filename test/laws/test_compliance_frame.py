"""The compliance frame: its axes and centre, exact forces, changes that make no energy; in
the law and the loop.
"""

from dataclasses import replace

import numpy as np
import pytest
from arms import gradient
from refusals import refuses

from evidence.contact.frame_trials import CHANGES, changed, displaced, loop_work, postures, rows
from evidence.contact.trial_arm import trial_robot
from robot_control_ros.control.loop import ControlLoop
from robot_control_ros.core.errors import ConfigError
from robot_control_ros.core.gains import check_gain, gain_specs, make_gains
from robot_control_ros.core.spatial import make_pose, pose_error, rotation_exp
from robot_control_ros.core.types import Reference, RobotState
from robot_control_ros.laws.impedance import MAX_INERTIA, Impedance
from robot_control_ros.laws.running_law import RunningLaw
from robot_control_ros.laws.spring.bounded_spring import BoundedSpring
from robot_control_ros.laws.spring.compliance_frame import (
    TANK,
    ComplianceFrame,
    PassiveSpring,
    TipSpring,
)
from robot_control_ros.laws.terms import critical_damping
from robot_control_ros.robot.configuration import load_robot
from robot_control_ros.robot.model import RobotModel

UR5E = load_robot("ur5e")
ON_TIP, ELSEWHERE = "wrist_3_link", "forearm_link"
FRAMES = ("base", "reference", "tip", ON_TIP, ELSEWHERE)
DT = 0.002
every_frame = pytest.mark.parametrize("frame", FRAMES)


@pytest.fixture(scope="module")
def model():
    return RobotModel.of(UR5E)


def full(rng):
    root = np.repeat((20.0, 4.0), 3)[:, None] * rng.normal(size=(6, 6))
    return root @ root.T


def near(pose, rng, angle=1.0, distance=0.2):
    turn = rotation_exp(rng.uniform(-angle, angle, 3) / np.sqrt(3.0))
    return make_pose(pose[:3, 3] + rng.uniform(-distance, distance, 3), turn @ pose[:3, :3])


def state_of(kin):
    return RobotState(0.0, kin.q, kin.v, np.zeros(kin.model.n))


def law_at(kin, reference, **gains):
    law = Impedance()
    law.reset(state_of(kin), kin)
    law.compute(state_of(kin), kin, reference, make_gains(Impedance.Gains, gains, kin.model.n), DT)
    return law


def frame_error(name, model, q, pose):
    """[Eᵀd; Eᵀρ] of a frame, from poses alone."""
    tip = model.at(q).pose
    error = pose_error(pose, tip)
    axes = {"base": np.eye(3), "reference": pose[:3, :3], "tip": tip[:3, :3]}.get(name)
    if axes is None:
        link, _ = model.link(name, q)
        axes = link[:3, :3]
        if name == ON_TIP:
            offset = np.linalg.solve(tip, link)
            error[:3] = (pose @ offset - link)[:3, 3]
    return np.concatenate((axes.T @ error[:3], axes.T @ error[3:]))


# --- the spring ---


def the_torque_is_the_gradient(rng, model, frame, bounds):
    for _ in range(5):
        kin, stiffness = model.at(rng.uniform(-1.5, 1.5, 6)), full(rng)
        pose, spring = near(kin.pose, rng), BoundedSpring(stiffness, *bounds)
        gains = {
            "stiffness": stiffness,
            "max_force": bounds[0],
            "max_torque": bounds[1],
            "frame": frame,
        }
        law = law_at(kin, Reference(pose), **gains)
        expected = -gradient(
            lambda q, at=pose, of=spring: of.energy(frame_error(frame, model, q, at)), kin.q, 1e-6
        )
        np.testing.assert_allclose(
            law.terms["stiffness"], expected, rtol=0, atol=1e-6 * np.abs(expected).max()
        )


@every_frame
@pytest.mark.parametrize("bounds", [(0.0, 0.0), (15.0, 1.5)])
def test_the_law_s_torque_is_the_gradient_of_the_energy_along_the_frame_s_axes(
    rng, model, frame, bounds
):
    the_torque_is_the_gradient(rng, model, frame, bounds)


def test_a_frame_of_a_link_on_the_tip_s_body_has_its_centre_at_the_link_s_origin(rng):
    """With a gripper the tip is between the fingers, and the last link's
    origin is at the flange.
    """
    model = RobotModel.of(load_robot("ur5e+robotiq_2f85"))
    home = model.at(np.array(UR5E.home))
    assert np.linalg.norm((model.link(ON_TIP, home.q)[0] - home.pose)[:3, 3]) > 0.1
    the_torque_is_the_gradient(rng, model, ON_TIP, (0.0, 0.0))


def test_without_the_moment_of_the_force_closed_motions_would_make_energy(rng, model):
    assert abs(loop_work(model, "tip", rng)) < 1e-9


def test_a_diagonal_stiffness_is_the_same_as_its_matrix(rng, model):
    kin = model.at(rng.uniform(-1.5, 1.5, 6), rng.normal(size=6))
    pose, values = near(kin.pose, rng), rng.uniform(10, 100, 6)
    for frame in FRAMES:
        one, other = (
            law_at(kin, Reference(pose), stiffness=k, frame=frame)
            for k in (values, np.diag(values))
        )
        for name, term in one.terms.items():
            np.testing.assert_allclose(term, other.terms[name], rtol=0, atol=1e-10)


@every_frame
def test_damping_takes_power_only(rng, model, frame):
    for _ in range(10):
        kin = model.at(rng.uniform(-1.5, 1.5, 6), rng.normal(size=6))
        axes = (rng.uniform(size=6) > 0.3).astype(float)
        law = law_at(
            kin,
            Reference(kin.pose),
            stiffness=full(rng),
            damping=0.1 * full(rng),
            frame=frame,
            axes=axes,
        )
        assert law.terms["damping"] @ kin.v <= 1e-9


def turned_reference(kin):
    """A reference at the tip, whose axes are turned by 0.7 rad from the tip's."""
    turn = rotation_exp(0.7 * np.array([0.6, 0.0, 0.8]))
    return make_pose(kin.pose[:3, 3], turn @ kin.pose[:3, :3])


@pytest.mark.parametrize("robot", ["ur5e", "gen3"])
def test_damping_is_designed_along_the_axes_of_the_reference(rng, robot):
    """The critical one of the stiffness along these axes, and of the inertia that the
    tip has along them.
    """
    model = RobotModel.of(load_robot(robot))
    stiffness = np.diag([2000.0, 200.0, 50.0, 50.0, 20.0, 5.0])
    for _ in range(5):
        kin = model.at(rng.uniform(0.3, 1.2, model.n), 0.1 * rng.normal(size=model.n))
        pose = turned_reference(kin)
        law = law_at(kin, Reference(pose), stiffness=stiffness, frame="reference")
        jacobian = np.kron(np.eye(2), pose[:3, :3].T) @ kin.jacobian
        mobility = jacobian @ np.linalg.solve(kin.mass, jacobian.T) + np.eye(6) / MAX_INERTIA
        damping = critical_damping(stiffness, mobility, np.ones(6))
        np.testing.assert_allclose(
            law.terms["damping"], -jacobian.T @ damping @ jacobian @ kin.v, rtol=0, atol=1e-9
        )


def test_a_free_axis_of_the_reference_is_not_damped(model):
    kin = model.at(np.array(UR5E.home))
    pose = turned_reference(kin)
    along = np.linalg.solve(kin.jacobian, np.concatenate((pose[:3, 2], np.zeros(3))))
    law = law_at(
        model.at(kin.q, along), Reference(pose), frame="reference", axes=[1, 1, 0, 1, 1, 1]
    )
    np.testing.assert_allclose(law.terms["damping"], 0.0, rtol=0, atol=1e-9)


@pytest.mark.parametrize("frame", ["tip", ON_TIP])
def test_a_free_axis_of_the_frame_is_free(rng, model, frame):
    """Neither an error along it nor a velocity makes a force."""
    kin = model.at(rng.uniform(-1.5, 1.5, 6))
    link, jacobian = model.link(ON_TIP, kin.q)
    assert np.allclose(link, kin.pose)  # so both have the same axes and origin
    pose = kin.pose.copy()
    pose[:3, 3] += 0.1 * kin.pose[:3, 2]
    moving = model.at(
        kin.q, np.linalg.solve(jacobian, np.concatenate((kin.pose[:3, 2], np.zeros(3))))
    )
    law = law_at(moving, Reference(pose), frame=frame, axes=[1, 1, 0, 1, 1, 1])
    np.testing.assert_allclose(law.terms["stiffness"], 0.0, rtol=0, atol=1e-9)
    np.testing.assert_allclose(law.terms["damping"], 0.0, rtol=0, atol=1e-9)


@pytest.mark.long
@pytest.mark.parametrize("robot", ["ur5", "ur5e", "gen3"])
def test_the_storage_never_grows_faster_than_the_ports_feed_it(rng, robot):
    """10^4 random states and gains: dV/dt + spring power = 0 by central differences."""
    model = RobotModel.of(load_robot(robot))
    names, step, worst = ("base", "reference", "tip", model.frames[-1], model.frames[4]), 1e-5, 0.0
    for k in range(10_000):
        kin = model.at(rng.uniform(-3, 3, model.n))
        v, pose = rng.normal(size=model.n), near(kin.pose, rng, 2.0)
        spring = TipSpring(
            BoundedSpring(
                full(rng) if k % 5 else np.diag(rng.uniform(0, 500, 6)), *rng.uniform(5.0, 50.0, 2)
            ),
            ComplianceFrame(names[k % 5], kin),
        )
        wrench, beside = spring.pull(pose, kin)
        torque = kin.jacobian.T @ wrench + (0.0 if beside is None else beside)
        energies = []
        for side in (step, -step):
            spring.pull(pose, model.at(kin.q + side * v))
            energies.append(spring.energy())
        rate = (energies[0] - energies[1]) / (2 * step)
        worst = max(
            worst, abs(rate + torque @ v) / (1.0 + np.linalg.norm(torque) * np.linalg.norm(v))
        )
    assert worst < 1e-6


# --- changes ---


def random_spring(rng, kin, frame):
    bounds = rng.choice((0.0, 20.0)), rng.choice((0.0, 2.0))
    return TipSpring(BoundedSpring(full(rng), *bounds), ComplianceFrame(frame, kin))


@pytest.mark.parametrize("taken", [0.0, pytest.param(0.001, marks=pytest.mark.long)])
def test_changes_while_it_is_stretched_make_no_more_than_the_tank(rng, model, taken):
    """Work on the arm is at most what was stored at first, a full tank, and what a damper
    took; but for the steps.
    """
    q, rate, count = rng.uniform(-1.5, 1.5, 6), 0.05 * rng.normal(size=6), 3000
    pose, first = near(model.at(q).pose, rng), random_spring(rng, model.at(q), "base")
    first.pull(pose, model.at(q))
    stored = first.energy()
    spring, torques, states = PassiveSpring(first, model.n), [], []
    for k in range(count):
        states.append(q + rate * np.sin(2 * np.pi * k / count))
        kin = model.at(states[-1])
        if k % 150 == 100:
            spring.change(random_spring(rng, kin, FRAMES[k // 150 % 5]))
        wrench, beside = spring.pull(pose, kin, taken, DT)
        torques.append(kin.jacobian.T @ wrench + (0.0 if beside is None else beside))
    given = np.sum(0.5 * (np.array(torques[1:]) + torques[:-1]) * np.diff(states, axis=0))
    assert given <= stored + TANK + taken * count + 0.05


def torque(kin, pulled):
    wrench, beside = pulled
    return kin.jacobian.T @ wrench + (0.0 if beside is None else beside)


@pytest.mark.parametrize(
    "frames", [("base", "tip"), ("base", ELSEWHERE), (ELSEWHERE, "upper_arm_link")]
)
def test_a_frame_changes_without_a_jump(rng, model, frames):
    kin = model.at(rng.uniform(-1.5, 1.5, 6))
    pose = near(kin.pose, rng, 0.2, 0.02)
    springs = [
        TipSpring(BoundedSpring(full(rng), 0.0, 0.0), ComplianceFrame(name, kin)) for name in frames
    ]
    first, last = (torque(kin, spring.pull(pose, kin)) for spring in springs)
    spring = PassiveSpring(springs[0], model.n)
    torques = [torque(kin, spring.pull(pose, kin, 1.0, DT))]
    spring.change(springs[1])
    while spring.changes:
        torques.append(torque(kin, spring.pull(pose, kin, 1.0, DT)))
    np.testing.assert_array_equal(torques[0], first)
    np.testing.assert_allclose(torques[-1], last, rtol=0, atol=1e-9)
    assert np.abs(np.diff(torques, axis=0)).max() <= 1.01 * np.abs(last - first).max() / (
        len(torques) - 1
    )


def test_with_an_empty_tank_a_stiffer_spring_waits_for_what_the_damper_takes(rng, model):
    kin = model.at(rng.uniform(-1.5, 1.5, 6))
    pose = kin.pose.copy()
    pose[0, 3] += 0.2
    soft, stiff = (
        TipSpring(BoundedSpring(k * np.eye(6), 0.0, 0.0), ComplianceFrame("base", kin))
        for k in (100.0, 500.0)
    )
    spring = PassiveSpring(soft, model.n)
    spring.change(stiff)
    for _ in range(1000):
        pull = spring.pull(pose, kin, 0.0, DT)[0][0]
    paid = 100.0 * 0.2**2 / 2 + TANK
    assert pull == pytest.approx(2 * paid / 0.2, rel=1e-9)
    assert spring.changes
    spring.pull(pose, kin, 1.0, DT)
    for _ in range(1000):
        pull = spring.pull(pose, kin, 0.05, DT)[0][0]
    assert pull == pytest.approx(500.0 * 0.2, rel=1e-9)
    assert not spring.changes


# --- gains ---


STIFFNESS = next(spec for spec in gain_specs(Impedance.Gains) if spec.name == "stiffness")


def test_a_stiffness_that_is_not_symmetric_is_refused():
    matrix = 100.0 * np.eye(6)
    matrix[0, 1] = 1.0
    with refuses("stiffness", 1.0, 0.0):
        check_gain(STIFFNESS, matrix, 6)


def test_a_stiffness_with_a_negative_eigenvalue_is_refused_with_it():
    matrix = 100.0 * np.eye(6)
    matrix[0, 1] = matrix[1, 0] = 150.0
    with pytest.raises(ConfigError) as caught:
        check_gain(STIFFNESS, matrix, 6)
    assert caught.value.name == "stiffness"
    assert caught.value.value == pytest.approx(np.linalg.eigvalsh(matrix)[0])


def test_an_unknown_link_is_refused_with_the_links():
    with pytest.raises(ConfigError) as caught:
        RunningLaw(UR5E, "impedance", {"frame": "no_link"})
    assert (caught.value.name, caught.value.value) == ("frame", "no_link")
    assert {"base", "reference", "tip", ELSEWHERE} <= set(caught.value.bound)
    assert RunningLaw(UR5E, "impedance", {"frame": ELSEWHERE}).gains.current.frame == ELSEWHERE


def test_gains_of_the_frame_s_own_axes_bound_the_stiffness_along_them(rng):
    """A stiffness along the axes of a tip that is turned bears what it does in base
    axes, seen from the tip.
    """
    from robot_control_ros.stability.stiffness_bound import stiffness_bound

    kin = RobotModel.of(UR5E).at(np.array(UR5E.home))
    matrix = np.diag([800.0, 300.0, 100.0, 40.0, 20.0, 10.0])
    turn = np.kron(np.eye(2), kin.pose[:3, :3])
    along = stiffness_bound(
        RunningLaw(UR5E, "impedance", {"stiffness": matrix, "frame": "tip"}), kin
    )
    turned = turn @ matrix @ turn.T
    base = stiffness_bound(
        RunningLaw(UR5E, "impedance", {"stiffness": (turned + turned.T) / 2}), kin
    )
    assert along.factor == pytest.approx(base.factor, rel=0.11)


# --- in the loop ---


@pytest.mark.few(1)
@pytest.mark.parametrize(
    "change",
    [
        change
        if change in (CHANGES[0], CHANGES[2])
        else pytest.param(change, marks=pytest.mark.long)
        for change in CHANGES
    ],
)
def test_a_spring_that_changes_under_a_push_makes_no_step(change):
    step, made = changed(trial_robot("ur5e"), 0.002, *change)
    assert step <= 1.0
    assert made <= TANK


def test_a_push_along_a_tool_axis_moves_by_its_stiffness():
    robot = trial_robot("ur5e")
    assert displaced(robot, postures(robot)[0], 0, 0.002) < 0.01


def test_a_change_of_frame_is_no_other_variant_of_the_law():
    loop = ControlLoop(UR5E, "impedance")
    variant = loop.running.variant
    loop.running.gains.set({"frame": "tip"})
    assert loop.running.variant == variant


@pytest.mark.long
@pytest.mark.parametrize("robot", ["ur5", "ur5e", "gen3"])
def test_every_trial_of_the_frame_holds(robot):
    assert [row for row in rows(robot) if not row.holds] == []


def test_the_trials_keep_the_rotors_that_their_figures_belong_to():
    robot = trial_robot("gen3")
    assert replace(robot, rotor_inertia=(0.1,) * 7) == robot
