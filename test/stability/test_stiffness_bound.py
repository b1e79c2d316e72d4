"""The bound of the stiffness: against textbook limits, and against a simulation that
knows nothing of it.
"""

import math
from bisect import bisect_left
from dataclasses import replace

import numpy as np
import pytest
from arms import random_arm

from robot_control_ros.core.types import JointSpaceReference, Reference, RobotState
from robot_control_ros.laws.running_law import RunningLaw
from robot_control_ros.stability.stiffness_bound import (
    STIFFEST,
    SampledArm,
    running_delay,
    stiffness_bound,
)

LAWS = ("impedance", "joint_impedance", "task_space_pd")
STEP = 5e-4  # s of the simulation
ARMS = 20
# light arms
GAINS = {
    "task_space_pd": {"stiffness": [500.0] * 3 + [50.0] * 3, "damping": [50.0] * 3 + [2.0] * 3}
}


def one_inertia(mass, period, delay, friction=0.0):
    return SampledArm(np.array([[mass]]), np.array([friction]), period, delay)


def is_stable(arm, stiffness, damping):
    return arm.growth(np.array([[stiffness]]), np.array([[damping]])) <= 1.0 + 1e-9


# --- one inertia ---


@pytest.mark.parametrize("whole", range(6))
def test_pure_damping_has_the_limit_of_the_textbook(whole, rng):
    mass, period = rng.uniform(0.1, 5.0), rng.uniform(1e-3, 8e-3)
    arm = one_inertia(mass, period, whole * period)
    limit = 2.0 * math.sin(math.pi / (2.0 * (2.0 * whole + 1.0))) * mass / period
    assert is_stable(arm, 0.0, 0.999 * limit)
    assert not is_stable(arm, 0.0, 1.001 * limit)


@pytest.mark.parametrize("whole", range(4))
def test_a_spring_needs_damping_against_its_own_delay(whole, rng):
    """D > K T (d + 1/2), for springs that are soft beside the limit."""
    mass, period = rng.uniform(0.1, 5.0), rng.uniform(1e-3, 8e-3)
    stiffness = 1e-4 * mass / period**2
    least = stiffness * period * (whole + 0.5)
    arm = one_inertia(mass, period, whole * period)
    assert is_stable(arm, stiffness, 1.01 * least)
    assert not is_stable(arm, stiffness, 0.99 * least)


def test_without_delay_the_spring_s_condition_is_exact(rng):
    mass, period = rng.uniform(0.1, 5.0), rng.uniform(1e-3, 8e-3)
    arm, stiffness = one_inertia(mass, period, 0.0), 0.5 * mass / period**2
    assert is_stable(arm, stiffness, 0.5001 * stiffness * period)
    assert not is_stable(arm, stiffness, 0.4999 * stiffness * period)


def test_a_fraction_of_a_period_lies_between_whole_ones(rng):
    period, damping = 0.002, 1.0
    inertias = np.geomspace(1e-4, 1e-1, 400)

    def least(delay):
        """The number of the smallest inertia that is stable."""
        return bisect_left(
            inertias,
            True,
            key=lambda value: is_stable(one_inertia(value, period, delay), 0.0, damping),
        )

    limits = [least(delay) for delay in np.linspace(0.5, 4.0, 15) * period]
    assert 0 < limits[0] < limits[-1] < len(inertias)
    assert (np.diff(limits) >= 0).all()


def test_friction_lets_a_spring_have_less_damping(rng):
    mass, period = 1.0, 0.002
    stiffness = 0.1 * mass / period**2
    assert not is_stable(one_inertia(mass, period, 0.0), stiffness, 0.0)
    assert is_stable(one_inertia(mass, period, 0.0, friction=stiffness * period), stiffness, 0.0)


def test_the_growth_is_that_of_a_recursion_written_out(rng):
    """Three joints, two and a half periods late: the loop is iterated sample by sample,
    in small exact steps.
    """
    n, period, parts, late = 3, 0.002, 4, 10
    root = rng.normal(size=(n, n))
    mass = root @ root.T + np.eye(n)
    stiffness, damping = np.diag(rng.uniform(5e4, 2e5, n)), np.diag(rng.uniform(10.0, 50.0, n))
    q, v, sent, sizes = rng.normal(size=n), np.zeros(n), [np.zeros(n)] * 20, []
    dt = period / parts
    for k in range(parts * 600):
        if k % parts == 0:
            sent.append(-stiffness @ q - damping @ v)
            sizes.append(math.log(np.linalg.norm(np.concatenate((q * 300.0, v)))))
        acting = sent[-1 - (late // parts) - (1 if k % parts < late % parts else 0)]
        a = np.linalg.solve(mass, acting)
        q, v = q + dt * v + 0.5 * dt * dt * a, v + dt * a
    growth = SampledArm(mass, np.zeros(n), period, late * dt).growth(stiffness, damping)
    assert growth > 1.0
    assert math.exp(np.polyfit(range(200), sizes[-200:], 1)[0]) == pytest.approx(growth, rel=2e-3)


# --- laws ---


def running_of(arm, law, rng, rate, delay):
    config = arm.config()
    profile = replace(config.profile, rate=rate, delay=delay)
    rotors = tuple(rng.uniform(0.05, 0.5, arm.n))
    return RunningLaw(replace(config, profile=profile, rotor_inertia=rotors), law, GAINS.get(law))


def reference_at(law, q, pose):
    rest = np.zeros(len(q))
    return (
        JointSpaceReference(q=q, v=rest, a=rest)
        if law == "joint_impedance"
        else Reference(pose=pose)
    )


@pytest.mark.parametrize("law", LAWS)
def test_a_law_s_joint_gains_are_the_derivatives_of_its_torque(law, rng):
    arm = random_arm(3, 7)
    running = running_of(arm, law, rng, 500.0, 0.0)
    values = {
        "impedance": {
            "inertia": [2.0] * 3 + [0.1] * 3,
            "posture_stiffness": [5.0, 0.0, 20.0, 3.0, 0.0, 8.0, 1.0],
            "posture_damping": [2.0, 1.0, 0.0, 0.5, 3.0, 0.2, 0.1],
        }
    }
    running = RunningLaw(running.robot, law, values.get(law))
    model, q, h = (
        arm.model(rotor_inertia=running.robot.rotor_inertia),
        rng.uniform(-1.5, 1.5, 7),
        1e-6,
    )
    kin = model.at(q)
    stiffness, damping = running.law.joint_gains(running.gains.target, kin.mass, kin.jacobian)
    reference = reference_at(law, q, kin.pose)
    running.law.reset(RobotState(0.0, q, np.zeros(7), np.zeros(7)), kin)

    def torque(dq, dv):
        there = model.at(q + dq, dv)
        state = RobotState(0.0, q + dq, dv, np.zeros(7))
        return (
            running.law.compute(state, there, reference, running.gains.target, 1e-9).values
            - there.gravity
        )

    rest = np.zeros(7)
    for found, wanted in (
        (np.transpose([torque(u, rest) - torque(-u, rest) for u in h * np.eye(7)]), stiffness),
        (np.transpose([torque(rest, u) - torque(rest, -u) for u in h * np.eye(7)]), damping),
    ):
        np.testing.assert_allclose(
            -found / (2.0 * h), wanted, rtol=0.0, atol=2e-4 * np.abs(wanted).max()
        )


def test_a_law_without_joint_gains_has_no_bound(rng):
    arm = random_arm(1, 6)
    running = running_of(arm, "gravity_compensation", rng, 500.0, 0.0)
    assert stiffness_bound(running, arm.model().at(np.zeros(6))) is None


def test_the_delay_is_the_profile_s_or_two_periods(rng):
    assert running_delay(running_of(random_arm(1, 6), "impedance", rng, 500.0, 0.005)) == 0.005
    assert running_delay(running_of(random_arm(1, 6), "impedance", rng, 500.0, 0.0)) == 0.004


@pytest.mark.parametrize("by_robot", [False, True])
def test_friction_that_the_robot_compensates_itself_does_not_help_a_spring(rng, by_robot):
    arm = random_arm(5, 6, friction=True)
    robot = running_of(arm, "impedance", rng, 500.0, 0.004).robot
    running = RunningLaw(
        replace(robot, profile=replace(robot.profile, friction_by_robot=by_robot)), "impedance"
    )
    kin = arm.model(rotor_inertia=robot.rotor_inertia).at(rng.uniform(-1.5, 1.5, 6))
    spring = 100.0 * np.eye(6), np.zeros((6, 6))
    felt, none = (
        stiffness_bound(running, kin, friction=share * kin.model.viscous_friction)
        for share in (1.0, 0.0)
    )
    assert felt.arm.growth(*spring) < none.arm.growth(*spring)
    assert stiffness_bound(running, kin).arm.growth(*spring) == (
        none if by_robot else felt
    ).arm.growth(*spring)


@pytest.mark.parametrize("law", LAWS)
def test_each_direction_s_bound_is_the_edge(law, rng):
    arm = random_arm(5, 6)
    running = running_of(arm, law, rng, 500.0, 0.004)
    model = arm.model(rotor_inertia=running.robot.rotor_inertia)
    bound = stiffness_bound(running, model.at(rng.uniform(-1.5, 1.5, 6)))
    gains, upper = running.gains.target, bound.values
    assert upper.shape == (6,)
    for index in range(6):
        edge = []
        for value in (0.95 * upper[index], 1.2 * upper[index]):
            stiffness = gains.stiffness.copy()
            stiffness[(index, index) if stiffness.ndim == 2 else index] = value
            joints = bound.law.joint_gains(
                replace(gains, stiffness=stiffness), bound.mass, bound.jacobian
            )
            edge.append(bound.arm.growth(*joints) <= 1.0 + 1e-4)
        assert edge[0] or upper[index] == 0.0
        (spec,) = (each for each in running.gains.specs if each.name == "stiffness")
        assert not edge[1] or upper[index] == spec.upper


# --- the null space ---


def posture_bound(rng, posture_stiffness, posture_damping=2.0):
    """Bound of an impedance with seven joints, and its running law."""
    arm = random_arm(3, 7)
    running = running_of(arm, "impedance", rng, 500.0, 0.02)
    values = {
        "stiffness": [200.0] * 3 + [10.0] * 3,
        "posture_stiffness": posture_stiffness,
        "posture_damping": posture_damping,
    }
    running = RunningLaw(running.robot, "impedance", values)
    model = arm.model(rotor_inertia=running.robot.rotor_inertia)
    return stiffness_bound(running, model.at(rng.uniform(-1.5, 1.5, 7))), running


def growth_with(bound, **values):
    gains = replace(bound.gains, **values)
    return bound.arm.growth(*bound.law.joint_gains(gains, bound.mass, bound.jacobian))


def test_each_joint_s_bound_in_the_null_space_is_the_edge(rng):
    present = np.array([5.0, 0.0, 20.0, 3.0, 0.0, 8.0, 1.0])
    bound, running = posture_bound(rng, present.tolist())
    (spec,) = (each for each in running.gains.specs if each.name == "posture_stiffness")
    assert bound.null_space.name == spec.name
    upper = bound.null_space_values
    assert upper.shape == (7,)
    assert (upper < spec.upper).any()
    for joint in range(7):
        below = present.copy()
        below[joint] = 0.95 * upper[joint]
        assert growth_with(bound, posture_stiffness=below) <= 1.0 + 1e-4
        if upper[joint] < spec.upper:
            above = present.copy()
            above[joint] = 1.2 * upper[joint]
            assert growth_with(bound, posture_stiffness=above) > 1.0 + 1e-5


def test_the_factor_on_the_null_space_is_the_edge_and_leaves_the_tip_s_stiffness(rng):
    present = np.array([5.0, 0.0, 20.0, 3.0, 0.0, 8.0, 1.0])
    bound, _ = posture_bound(rng, present.tolist())
    factor = bound.null_space_factor
    assert 1.0 < factor < STIFFEST
    assert growth_with(bound, posture_stiffness=0.95 * factor * present) <= 1.0 + 1e-4
    assert growth_with(bound, posture_stiffness=1.2 * factor * present) > 1.0 + 1e-5


def test_an_arm_whose_axes_are_all_controlled_has_no_null_space(rng):
    arm = random_arm(5, 6)
    running = running_of(arm, "impedance", rng, 500.0, 0.004)
    model = arm.model(rotor_inertia=running.robot.rotor_inertia)
    kin = model.at(rng.uniform(-1.5, 1.5, 6))
    bound = stiffness_bound(running, kin)
    assert bound.null_space is None
    assert bound.null_space_values.size == 0
    free = RunningLaw(running.robot, "impedance", {"axes": [1, 1, 0, 1, 1, 1]})
    assert stiffness_bound(free, kin).null_space.name == "posture_stiffness"


# --- the simulation ---


def rings(running, model, q, factor, delay):
    """Whether a nudged arm, with its full dynamics and the law's own code,
    moves faster and faster.
    """
    gains = running.gains.target
    gains = replace(gains, stiffness=factor * gains.stiffness)
    every = round(running.robot.period / STEP)
    late, law = round(delay / STEP), running.law
    start = model.at(q)
    reference = reference_at(running.name, q, start.pose)
    law.reset(RobotState(0.0, q, np.zeros(len(q)), np.zeros(len(q))), start)
    v = 1e-4 * np.sin(1.0 + np.arange(len(q)))
    due, acting, speeds = [], start.gravity, []
    for k in range(round(1.2 / STEP)):
        if k % every == 0:
            state = RobotState(k * STEP, q, v, np.zeros(len(q)))
            kin = model.update(q, v)
            due.append(
                (k + late, law.compute(state, kin, reference, gains, running.robot.period).values)
            )
            # a redundant arm's drift is no ringing
            moving = v if running.name == "joint_impedance" else kin.twist
            speeds.append(float(np.abs(moving).max()))
            if speeds[-1] > 1.0:
                return True
        while due and due[0][0] <= k:
            acting = due.pop(0)[1]
        a = model.forward_dynamics(q, v, acting)
        q, v = q + STEP * v + 0.5 * STEP**2 * a, v + STEP * a
    quarter = len(speeds) // 4
    first, second, last = (max(speeds[at:][:quarter]) for at in (0, quarter, len(speeds) - quarter))
    return last > max(second, 0.01 * first)


@pytest.mark.parametrize(
    "law", [LAWS[0], *(pytest.param(law, marks=pytest.mark.long) for law in LAWS[1:])]
)
def test_below_the_bound_random_arms_come_to_rest_and_beyond_they_ring(law):
    rang = 0
    for seed in range(ARMS):
        rng, delay = np.random.default_rng(seed), (0.0, 0.001, 0.003, 0.005)[seed % 4]
        arm = random_arm(seed, 6 + seed % 2)
        running = running_of(arm, law, rng, (500.0, 1000.0)[seed // 4 % 2], delay or 1e-9)
        model = arm.model(rotor_inertia=running.robot.rotor_inertia)
        q = rng.uniform(-1.5, 1.5, arm.n)
        factor = stiffness_bound(running, model.at(q)).factor
        assert 0.0 < factor < STIFFEST, seed
        assert not rings(running, model, q, 0.8 * factor, delay), seed
        rang += rings(running, model, q, 1.5 * factor, delay)
    assert rang >= 18
