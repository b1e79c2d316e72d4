"""The compensation of dry friction: its formula, bound and energy, its symmetries, and a UR5e
with stiff friction.
"""

from dataclasses import replace

import numpy as np
import pytest
from arms import planar_arm, random_arm
from friction_trials import CASES, DIRECTIONS, FRICTION, trial
from refusals import refuses

from robot_control_ros.core.gains import make_gains
from robot_control_ros.core.types import JointSpaceReference, Reference, RobotState, SensedState
from robot_control_ros.laws import law_class, law_names
from robot_control_ros.laws.gravity_compensation import GravityCompensation
from robot_control_ros.laws.impedance import Impedance
from robot_control_ros.laws.joint_impedance import JointImpedance
from robot_control_ros.laws.running_law import RunningLaw
from robot_control_ros.robot.configuration import load_robot
from robot_control_ros.robot.model import RobotModel
from robot_control_ros.simulation.in_process import Push, simulate
from robot_control_ros.simulation.scene import JointLosses, Scene

LAWS = (Impedance, JointImpedance, GravityCompensation)
TURN = (0.4, -1.1, 2.0)  # roll, pitch and yaw


def state_of(kin, wrench=None):
    return RobotState(0.0, kin.q, kin.v, np.zeros(kin.model.n), None, wrench)


def reference_for(law, model, rng):
    q = rng.uniform(-1, 1, model.n)
    if getattr(law, "reference", Reference) is JointSpaceReference:
        return JointSpaceReference(
            q=q, v=np.zeros(model.n), a=np.zeros(model.n), path=lambda t: (q, 0 * q, 0 * q)
        )
    return Reference(model.at(q).pose, np.zeros(6))


def terms_of(law, kin, reference, gains, wrench=None):
    made, state = law(), state_of(kin, wrench)
    made.reset(state, kin)
    made.compute(state, kin, reference, make_gains(law.Gains, gains, kin.model.n), 0.002)
    return made.terms


def moving(model, rng):
    return model.at(rng.uniform(-2, 2, model.n), rng.normal(size=model.n))


@pytest.mark.parametrize("law", LAWS)
def test_it_is_the_saturated_residual_of_springs_and_wrench(law, rng):
    model = random_arm(1, 6).model()
    inner = outer = 0
    for _ in range(30):
        kin, reference = moving(model, rng), reference_for(law, model, rng)
        bound, width, wrench = rng.uniform(0.5, 3, 6), rng.uniform(1, 20), rng.normal(size=6) * 5
        gains = {"friction_bound": bound, "friction_width": width}
        terms = terms_of(law, kin, reference, gains, wrench)
        residual = kin.jacobian.T @ wrench + terms.get("stiffness", 0.0)
        expected = [
            c * max(-1.0, min(1.0, s / width)) for c, s in zip(bound, residual, strict=True)
        ]
        np.testing.assert_allclose(terms["friction"], expected, rtol=0, atol=1e-12)
        inner, outer = (
            inner + (np.abs(residual) < width).sum(),
            outer + (np.abs(residual) > width).sum(),
        )
    assert inner
    assert outer


@pytest.mark.parametrize("law", LAWS)
def test_without_a_wrench_the_springs_alone_count(law, rng):
    model = random_arm(2, 7).model()
    kin, reference, wrench = moving(model, rng), reference_for(law, model, rng), rng.normal(size=6)
    gains = {"friction_bound": 2.0, "friction_width": 20.0}
    unmeasured = terms_of(law, kin, reference, gains)
    ignored = terms_of(law, kin, reference, gains | {"friction_by_wrench": False}, wrench)
    np.testing.assert_array_equal(unmeasured["friction"], ignored["friction"])


@pytest.mark.parametrize(
    "name", [name for name in law_names() if hasattr(law_class(name).Gains, "friction_bound")]
)
def test_all_that_moves_an_arm_at_rest_counts(name, rng):
    """Of every law that compensates friction: what it drives the joints with, but for
    gravity, and a push.
    """
    law = law_class(name)
    model = random_arm(9, 7).model()
    pressing = {
        "force": [0.0, 0.0, -10.0, 0.0, 0.0, 0.0],
        "force_axes": [0.0, 0.0, 1.0, 0.0, 0.0, 0.0],
    }
    offered = {"posture_stiffness": 20.0, "posture_damping": 1.0} | pressing
    kin, push = model.at(rng.uniform(-1, 1, 7)), rng.normal(size=6)
    reference = reference_for(law, model, rng)
    gains = {key: value for key, value in offered.items() if hasattr(law.Gains, key)}
    state = SensedState(0.0, kin.q, kin.v, np.zeros(7), None, wrench_on_tip=push)
    made = law()
    made.reset(state, kin)
    chosen = make_gains(law.Gains, gains | {"friction_bound": 1.0, "friction_width": 20.0}, 7)
    made.compute(state, kin, replace(reference, wrench=rng.normal(size=6)), chosen, 0.002)
    drives = [term for key, term in made.terms.items() if key not in ("gravity", "friction")]
    residual = kin.jacobian.T @ push + np.sum(drives, axis=0)
    expected = np.clip(residual / 20.0, -1.0, 1.0)
    np.testing.assert_allclose(made.terms["friction"], expected, rtol=0, atol=1e-12)


def test_a_feed_forward_wrench_counts_as_the_spring_does(rng):
    """Where spring, feed-forward and push balance, there is nothing to compensate."""
    model = random_arm(3, 6).model()
    kin, wrench = model.at(rng.uniform(-1, 1, 6)), rng.normal(size=6)
    terms = terms_of(
        Impedance, kin, Reference(kin.pose, wrench=wrench), {"friction_bound": 2.0}, -wrench
    )
    np.testing.assert_allclose(terms["friction"], 0.0, atol=1e-12)


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("friction", [False, True])
def test_friction_and_compensation_together_never_give_energy(law, friction, rng):
    """For any state, wrench and history; with the switch `friction`, for the
    description's friction or more.
    """
    model = random_arm(4, 6, friction=True).model()
    made, bound = law(), rng.uniform(0.1, 5, 6)
    gains = make_gains(law.Gains, {"friction_bound": bound, "friction": friction}, 6)
    dry = np.maximum(bound, friction * model.dry_friction)
    for k in range(200):
        kin = moving(model, rng)
        state = state_of(kin, 50.0 * rng.normal(size=6) if k % 3 else None)
        if k % 50 == 0:
            made.reset(state, kin)
        made.compute(state, kin, reference_for(law, model, rng), gains, 0.002)
        taken = friction * model.viscous_friction * kin.v**2 + dry * np.abs(kin.v)
        assert (made.terms["friction"] * kin.v <= taken * (1 + 1e-12)).all()
        if not friction:  # whatever the velocity is when a delayed command acts
            assert (np.abs(made.terms["friction"]) <= bound).all()


@pytest.mark.parametrize("law", LAWS)
def test_a_bound_of_zero_leaves_the_command_as_it_is(law, rng):
    model = random_arm(5, 6, friction=True).model()
    kin, reference = moving(model, rng), reference_for(law, model, rng)
    off = terms_of(law, kin, reference, {}, rng.normal(size=6))
    assert "friction" not in off
    by_velocity = terms_of(law, kin, reference, {"friction": True}, rng.normal(size=6))
    np.testing.assert_array_equal(by_velocity["friction"], kin.friction)


@pytest.mark.parametrize("friction", [False, True])
def test_joints_without_a_bound_get_what_the_switch_gives_them(friction, rng):
    model = random_arm(6, 6, friction=True).model()
    kin, reference = moving(model, rng), reference_for(Impedance, model, rng)
    gains = {"friction_bound": [0.0, 0.0, 0.0, 2.0, 2.0, 2.0], "friction": friction}
    found = terms_of(Impedance, kin, reference, gains)["friction"]
    np.testing.assert_allclose(found[:3], friction * kin.friction[:3], rtol=0, atol=1e-13)


def test_it_does_not_depend_on_the_axes_of_the_base(rng):
    """The same arm seen from two frames that are turned to each other; stiffness the
    same along all axes.
    """
    arm = random_arm(7, 6, mount=((0.0, 0.0, 0.0), TURN))
    near = arm.model()
    far = RobotModel(arm.urdf, arm.joints, "world", arm.tip)
    gains = {
        "stiffness": [300.0] * 3 + [20.0] * 3,
        "friction_bound": rng.uniform(1, 5, 6),
        "friction_width": 20.0,
    }
    (q, v, target), wrench = rng.uniform(-1, 1, (3, 6)), rng.normal(size=6)
    found = []
    for model in (near, far):
        kin, there = model.at(q, v), model.at(target)
        turned = kin.pose[:3, :3] @ near.at(q).pose[:3, :3].T
        seen = np.concatenate((turned @ wrench[:3], turned @ wrench[3:]))
        found.append(
            terms_of(Impedance, kin, Reference(there.pose, np.zeros(6)), gains, seen)["friction"]
        )
    np.testing.assert_allclose(found[0], found[1], rtol=0, atol=1e-10)


def test_joints_in_another_order_get_the_same_torques(rng):
    arm, order = random_arm(8, 6), rng.permutation(6)
    gains = {"friction_width": 20.0}
    bound, q, v, target = rng.uniform(0.5, 2, (4, 6))
    model, mixed = arm.model(), arm.model(joints=tuple(arm.joints[i] for i in order))
    reference = Reference(model.at(target).pose, np.zeros(6))
    expected = terms_of(Impedance, model.at(q, v), reference, gains | {"friction_bound": bound})[
        "friction"
    ]
    found = terms_of(
        Impedance, mixed.at(q[order], v[order]), reference, gains | {"friction_bound": bound[order]}
    )
    np.testing.assert_allclose(found["friction"], expected[order], rtol=0, atol=1e-10)


def test_it_is_left_to_a_robot_that_compensates_friction_itself():
    ur5 = load_robot("ur5")
    given = replace(ur5, law_gains={"impedance": {"friction_bound": 3.0}})
    robot = replace(given, profile=replace(ur5.profile, friction_by_robot=True))
    assert RunningLaw(given, "impedance").gains.current.friction_bound.all()
    assert not RunningLaw(robot, "impedance").gains.current.friction_bound.any()
    with refuses("friction_bound", np.full(6, 2.0), 0.0):
        RunningLaw(robot, "impedance", {"friction_bound": 2.0})


@pytest.mark.parametrize("source", ["sensor", "joint_effort"])
def test_a_wrench_from_joint_efforts_does_not_count_by_itself(source):
    ur5 = load_robot("ur5")
    robot = replace(ur5, profile=replace(ur5.profile, wrench={"source": source}))
    assert RunningLaw(robot, "impedance").gains.current.friction_by_wrench == (source == "sensor")


@pytest.mark.sim
@pytest.mark.parametrize("fraction", [0.3, 0.9])
def test_a_joint_that_friction_holds_creeps_by_micrometres(fraction):
    """A bar of 0.5 m about a vertical axis, pushed by less than its friction."""
    arm = planar_arm((0.5,))
    scene = Scene("friction", joints=JointLosses(friction=FRICTION))
    push = Push((0.0, fraction * FRICTION / 0.5, 0.0))
    gains = {"damping": 0.0, "gravity": False}
    log = simulate(
        arm.config(home=(0.0,)),
        "gravity_compensation",
        gains,
        None,
        2.0,
        push,
        urdf=arm.urdf,
        scene=scene,
    )
    # m in 1 s; MuJoCo's default friction creeps by mm
    assert 0.5 * abs(log.q[-1, 0] - log.q[1000, 0]) < 10e-6


def check(name, direction, delay=0.002, *, back=False):
    """The compensated UR5e comes near, stands still, and yields to a push; bounds of the
    reference, section 3.
    """
    found = trial(direction, CASES[name], delay, back=back)
    above = name == "6 N·m, with sensor"
    assert found.error <= 0.02
    assert found.motion <= (3e-3 if above else 1e-4)
    assert found.speed <= 0.01
    assert name == "4.5 N·m, without sensor" or found.pushed >= 0.06
    return found


@pytest.mark.sim
def test_the_error_of_stiction_shrinks_and_a_push_still_moves_the_arm():
    direction = DIRECTIONS[0]
    bare = trial(direction, CASES["off"])
    with_sensor = check("4.5 N·m, with sensor", direction)
    without = check("4.5 N·m, without sensor", direction)
    assert bare.error > 4.0 * with_sensor.error
    assert without.error == pytest.approx(with_sensor.error, rel=0.2)
    assert without.pushed < 0.5 * with_sensor.pushed


@pytest.mark.long
@pytest.mark.sim
def test_a_push_back_moves_the_arm_by_what_two_errors_leave():
    """Friction's rest holds on one side, then on the other: 20 N over 200 N/m, less twice the
    error; without, nothing.

    The reference has 77 mm with sensor, and 6 mm without compensation.
    """
    direction = DIRECTIONS[0]
    found = check("4.5 N·m, with sensor", direction, back=True)
    assert found.pushed == pytest.approx(0.1 - 2.0 * found.error, abs=0.01)
    assert trial(direction, CASES["off"], back=True).pushed <= 0.01


@pytest.mark.sim
@pytest.mark.long
@pytest.mark.parametrize("delay", [0.0, 0.002, 0.004])
@pytest.mark.parametrize(
    "name", ["4.5 N·m, with sensor", "4.5 N·m, without sensor", "6 N·m, with sensor"]
)
@pytest.mark.parametrize("back", [False, True])
def test_in_every_direction_and_with_delay(name, delay, back):
    for direction in DIRECTIONS:
        check(name, direction, delay, back=back)
