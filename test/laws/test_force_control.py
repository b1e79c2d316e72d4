"""Force control: its axes, contact and loss, its energy, its frame; and the arm that
wipes a wavy surface.
"""

from dataclasses import replace

import numpy as np
import pytest
from arms import random_arm

from evidence.contact.force_trials import positions, rows, rows_of, shaken, torques, withdrawn
from evidence.contact.trial_arm import TrialArm, cycles, trial_robot
from robot_control_ros.control.loop import ControlLoop
from robot_control_ros.core.gains import make_gains
from robot_control_ros.core.spatial import make_pose, rotation_exp
from robot_control_ros.core.types import Reference, SensedState
from robot_control_ros.laws.force.force_control import ForceControl
from robot_control_ros.laws.force.pressing import LEVERS, Pressing, PressingGains
from robot_control_ros.laws.impedance import Impedance
from robot_control_ros.simulation.scene import JointLosses, Scene

DT = 0.002
DOWN = [0.0, 0.0, -10.0, 0.0, 0.0, 0.0]
NORMAL = [0.0, 0.0, 1.0, 0.0, 0.0, 0.0]


def gains(joints=6, **values):
    return make_gains(ForceControl.Gains, {"force": DOWN, "force_axes": NORMAL, **values}, joints)


def pressing_gains(**values):
    return make_gains(PressingGains, {"force": DOWN, "force_axes": NORMAL, **values}, 0)


def touching(measured, **values):
    """Pressing in contact from its first step on."""
    pressing, chosen = Pressing(), pressing_gains(**values)
    pressing.reset(chosen.tank)
    pressing.wrench(chosen.force, measured, np.zeros(6), np.zeros(6), chosen, 1e-9)
    return pressing


# --- one axis ---


def test_before_contact_the_arm_goes_at_the_speed_of_the_approach_whatever_the_bias():
    chosen = pressing_gains()
    for bias in (0.0, -0.9, 0.9, 30.0):  # a force that pulls is no contact either
        pressing, velocity = Pressing(), np.zeros(6)
        pressing.reset(1.0)
        for _ in range(200):
            w = pressing.wrench(
                chosen.force, np.array([0, 0, bias, 0, 0, 0]), velocity, np.zeros(6), chosen, DT
            )
            velocity = velocity + DT * w / 5.0
        assert velocity[2] == pytest.approx(-0.02, rel=1e-3)
        assert not pressing.touched.any()


def test_a_small_force_approaches_more_slowly():
    small = pressing_gains(force=[0.0, 0.0, 2.0, 0.0, 0.0, 0.0])
    w = Pressing().wrench(small.force, np.zeros(6), np.zeros(6), np.zeros(6), small, DT)
    np.testing.assert_allclose(w, [0.0, 0.0, 2.0, 0.0, 0.0, 0.0])


def test_in_contact_it_is_a_proportional_integral_law_of_the_force():
    values = {
        "force_p": 0.3,
        "force_i": 4.0,
        "force_axes": 1.0,
        "force": [10, -8, 6, 0.5, -0.4, 0.3],
        "tank": 10.0,
    }
    chosen = pressing_gains(**values)
    measured = 0.7 * chosen.force
    pressing = touching(measured, **values)
    for k in range(1, 6):
        w = pressing.wrench(chosen.force, measured, np.zeros(6), np.zeros(6), chosen, DT)
        expected = chosen.force + (0.3 + 4.0 * DT * k) * (chosen.force - measured)
        np.testing.assert_allclose(w, expected, rtol=1e-6)
    moving = 1e-3 * np.ones(6)
    w = pressing.wrench(chosen.force, measured, moving, np.zeros(6), chosen, DT)
    expected = (
        chosen.force
        + (0.3 + 4.0 * DT * 6) * (chosen.force - measured)
        - chosen.force_damping * moving
    )
    np.testing.assert_allclose(w, expected, rtol=1e-6)


def test_contact_begins_and_ends_at_its_bounds():
    chosen, pressing = pressing_gains(contact_on=2.0, contact_off=0.5), Pressing()
    seen = []
    for force in (0.0, -1.9, -2.1, -0.6, -0.4, -1.9, -2.1):
        pressing.wrench(
            chosen.force, np.array([0, 0, force, 0, 0, 0]), np.zeros(6), np.zeros(6), chosen, DT
        )
        seen.append(bool(pressing.touched[2]))
    assert seen == [False, False, True, True, False, False, True]


def test_the_integral_is_bounded_and_goes_without_contact():
    chosen = pressing_gains(force_i=50.0, integral_limit=7.0, force_p=0.0, tank=10.0)
    light = np.array([0.0, 0.0, -2.0, 0.0, 0.0, 0.0])
    pressing = touching(light, force_i=50.0, integral_limit=7.0, force_p=0.0, tank=10.0)
    for _ in range(1000):
        w = pressing.wrench(chosen.force, light, np.zeros(6), np.zeros(6), chosen, DT)
    assert w[2] == pytest.approx(-17.0)
    for _ in range(50):
        pressing.wrench(chosen.force, np.zeros(6), np.zeros(6), np.zeros(6), chosen, DT)
    w = pressing.wrench(chosen.force, light, np.zeros(6), np.zeros(6), chosen, 1e-9)
    assert w[2] == pytest.approx(-10.0 - 7.0 * np.exp(-1.0), rel=1e-2)


def test_torques_count_by_a_lever():
    chosen = pressing_gains(
        force=[0, 0, 0, 0, 0, 1.0], force_axes=[0, 0, 0, 0, 0, 1.0], contact_on=2.0
    )
    pressing = Pressing()
    for torque, touched in ((0.19, False), (0.21, True)):
        pressing.wrench(
            chosen.force, np.array([0, 0, 0, 0, 0, torque]), np.zeros(6), np.zeros(6), chosen, DT
        )
        assert bool(pressing.touched[5]) is touched
    np.testing.assert_allclose(LEVERS, [1, 1, 1, 0.1, 0.1, 0.1])


def test_without_a_wanted_force_the_axis_is_damped_alone(rng):
    chosen = pressing_gains(force=0.0, force_axes=1.0)
    for _ in range(20):
        velocity = rng.normal(size=6)
        w = Pressing().wrench(
            chosen.force, 50.0 * rng.normal(size=6), velocity, np.zeros(6), chosen, DT
        )
        np.testing.assert_allclose(w, -chosen.force_damping * velocity)


def test_beyond_the_largest_displacement_nothing_drives_outward():
    outside, inside = np.array([0, 0, -1.0, 0, 0, 0]), np.array([0, 0, 1.0, 0, 0, 0])
    chosen, velocity = pressing_gains(), np.array([0, 0, -0.1, 0, 0, 0])
    pressing = Pressing()
    w = pressing.wrench(chosen.force, np.zeros(6), velocity, outside, chosen, DT)
    np.testing.assert_allclose(w, -chosen.force_axes * chosen.force_damping * velocity)
    assert pressing.wrench(chosen.force, np.zeros(6), np.zeros(6), inside, chosen, DT)[2] < 0.0


# --- energy ---


def test_feedback_gives_no_more_energy_than_tank_and_damper_pay_for(rng):
    """Whatever force is measured and however the tip moves: the worst of both is a sensor that
    answers the motion.
    """
    for _ in range(30):
        chosen = pressing_gains(
            force=[0, 0, -rng.uniform(2.0, 50.0), 0, 0, 0],
            force_p=rng.uniform(0.0, 2.0),
            force_i=rng.uniform(0.0, 50.0),
            force_damping=rng.uniform(1.0, 300.0),
            tank=rng.uniform(0.1, 2.0),
        )
        pressing, given, taken = Pressing(), 0.0, 0.0
        pressing.reset(chosen.tank)
        frequency, speed = rng.uniform(0.5, 20.0), rng.uniform(0.01, 0.3)
        for k in range(1500):
            v = -speed * np.cos(2.0 * np.pi * frequency * k * DT)
            # less where it moves into the surface
            measured = -max(float(-chosen.force[2]) - 40.0 * np.sign(-v), 1.1)
            velocity = np.array([0, 0, v, 0, 0, 0])
            w = pressing.wrench(
                chosen.force, np.array([0, 0, measured, 0, 0, 0]), velocity, np.zeros(6), chosen, DT
            )
            damper = float(chosen.force_damping[2] * v * v)
            taken += DT * damper
            given += DT * (float(w[2] * v) + damper - float(chosen.force[2] * v))
        assert given <= chosen.tank + taken + 1e-9


def test_the_power_into_the_environment_is_bounded():
    chosen = pressing_gains(force=[0, 0, -200.0, 0, 0, 0])
    fast = np.array([0, 0, -0.5, 0, 0, 0])
    there = np.array([0, 0, -100.0, 0, 0, 0])
    w = Pressing().wrench(chosen.force, there, fast, np.zeros(6), chosen, DT)
    assert (w + chosen.force_axes * chosen.force_damping * fast).dot(fast) == pytest.approx(5.0)


# --- the law ---


def situation(rng):
    n = int(rng.integers(6, 8))
    model = random_arm(int(rng.integers(100)), n).model()
    q, v = rng.uniform(-2.0, 2.0, n), 0.3 * rng.normal(size=n)
    kin = model.at(q, v)
    state = SensedState(0.0, q, v, np.zeros_like(q), None, wrench_on_tip=20.0 * rng.normal(size=6))
    pose = make_pose(
        kin.pose[:3, 3] + 0.05 * rng.normal(size=3),
        rotation_exp(0.2 * rng.normal(size=3)) @ kin.pose[:3, :3],
    )
    return (
        model,
        state,
        kin,
        Reference(pose, 0.1 * rng.normal(size=6), None, 5.0 * rng.normal(size=6)),
    )


def torque(state, kin, reference, chosen, law=None):
    law = law or ForceControl()
    law.reset(state, kin)
    return law.compute(state, kin, reference, chosen, DT).values


def test_without_force_axes_it_is_the_impedance_bit_for_bit(rng):
    for _ in range(20):
        model, state, kin, reference = situation(rng)
        law = Impedance()
        law.reset(state, kin)
        chosen = make_gains(Impedance.Gains, {}, model.n)
        expected = law.compute(state, kin, reference, chosen, DT).values
        got = torque(state, kin, reference, gains(model.n, force_axes=0.0))
        assert np.array_equal(got, expected)


@pytest.mark.parametrize("frame", ["base", "tip", "reference"])
def test_the_force_acts_along_the_axes_of_the_frame(rng, frame):
    """With the other axes' springs and dampers off, what remains is Jᵀ E w, written out here
    for a first contact.
    """
    for _ in range(20):
        model, state, kin, reference = situation(rng)
        axes = {"base": np.eye(3), "tip": kin.pose[:3, :3], "reference": reference.pose[:3, :3]}[
            frame
        ]
        wanted = np.array([12.0, -7.0, 9.0, 0.0, 0.0, 0.0])
        free = {
            "stiffness": 0.0,
            "damping_ratio": 0.0,
            "gravity": False,
            "force_i": 0.0,
            "tank": 10.0,
            "max_force": 0.0,
        }
        chosen = gains(
            model.n,
            frame=frame,
            force=wanted,
            force_axes=[1, 1, 1, 0, 0, 0],
            force_p=0.5,
            force_damping=30.0,
            **free,
        )
        state = replace(
            state,
            v=np.zeros(model.n),
            wrench_on_tip=np.concatenate((axes @ (-0.8 * wanted[:3]), np.zeros(3))),
        )
        still = model.at(state.q, state.v)
        got = torque(state, still, replace(reference, wrench=None, twist=None), chosen)
        expected = still.jacobian[:3].T @ axes @ (wanted[:3] + 0.5 * 0.2 * wanted[:3])
        np.testing.assert_allclose(got, expected, atol=1e-9)


def test_a_target_wrench_adds_to_the_force_and_is_fed_forward_on_the_other_axes(rng):
    for _ in range(20):
        model, state, kin, reference = situation(rng)
        state = replace(state, wrench_on_tip=np.array([0.0, 0.0, 8.0, 0.0, 0.0, 0.0]))
        target = np.array([3.0, 0.0, -5.0, 0.0, 0.0, 0.2])
        both = torque(state, kin, replace(reference, wrench=target), gains(model.n))
        by_gain = torque(
            state,
            kin,
            replace(reference, wrench=target * (1, 1, 0, 1, 1, 1)),
            gains(model.n, force=np.array(DOWN) + target * (0, 0, 1, 0, 0, 0)),
        )
        np.testing.assert_allclose(both, by_gain, atol=1e-9)


def test_on_force_axes_nothing_pulls_to_the_reference(rng):
    for _ in range(20):
        model, state, kin, reference = situation(rng)
        lower = reference.pose.copy()
        lower[2, 3] -= 0.01
        loose = {"max_force": 0.0, "max_torque": 0.0}
        a = torque(state, kin, reference, gains(model.n, **loose))
        b = torque(state, kin, replace(reference, pose=lower), gains(model.n, **loose))
        np.testing.assert_allclose(a, b, atol=1e-9)


# --- friction ---


def test_the_compensation_of_friction_counts_the_force_as_a_spring_and_leaves_out_its_damper(rng):
    """Written out here for a first approach along tip axes, with the other axes free,
    of an arm that moves.
    """
    free = {"stiffness": 0.0, "damping_ratio": 0.0, "gravity": False, "axes": 0.0, "frame": "tip"}
    for _ in range(20):
        model, state, kin, reference = situation(rng)
        push = 0.5 * rng.normal(size=6)
        bound, width = rng.uniform(0.5, 3.0, model.n), rng.uniform(1.0, 20.0)
        friction = {"friction_bound": bound, "friction_width": width, "contact_on": 50.0}
        chosen = gains(model.n, force_damping=100.0, approach_speed=0.03, **free, **friction)
        law = ForceControl()
        torque(
            replace(state, wrench_on_tip=push), kin, replace(reference, wrench=None), chosen, law
        )
        drive = kin.jacobian[:3].T @ kin.pose[:3, :3] @ (0.0, 0.0, -3.0)  # N: 100 N·s/m at 0.03 m/s
        expected = bound * np.clip((drive + kin.jacobian.T @ push) / width, -1.0, 1.0)
        np.testing.assert_allclose(law.terms["friction"], expected, rtol=0, atol=1e-9)


@pytest.mark.few(1)
@pytest.mark.sim
@pytest.mark.parametrize("name", ["ur5e", "gen3"])
def test_an_approach_that_is_weaker_than_the_friction_of_the_joints_moves_with_its_compensation(
    name,
):
    """4 N drive the tip; 2 N·m of friction in each joint hold it, and 1.8 N·m of
    them are compensated.
    """
    robot = trial_robot(name)
    friction = Scene("friction", joints=JointLosses(friction=2.0))
    sunk = []
    for bound in (0.0, 1.8):
        arm = TrialArm(robot, friction)
        loop = ControlLoop(
            robot, "force_control", {"force": DOWN, "force_axes": NORMAL, "friction_bound": bound}
        )
        heights = [kin.pose[2, 3] for _, kin in cycles(arm, loop, 0.002, 1.0)]
        assert loop.fault == ""
        sunk.append(heights[0] - heights[-1])
    assert abs(sunk[0]) < 1e-4
    assert 0.004 < sunk[1] < 0.02  # in 1 s; at 20 mm/s at most


# --- on a surface ---


def test_a_ur5e_wipes_a_stiff_wavy_surface_with_10_newtons():
    assert [row for row in rows_of("ur5e", torques(1e5, 0.004)) if not row.holds] == []


@pytest.mark.long
def test_a_ur5_with_positions_at_125_hz_wipes_a_wavy_surface_with_10_newtons():
    assert [row for row in rows_of("ur5", positions(1e4, 0.004)) if not row.holds] == []


@pytest.mark.long
@pytest.mark.parametrize(
    "how", [torques(1e4, 0.004), positions(1e4, 0.004)], ids=["torques", "positions"]
)
def test_a_surface_that_goes_away_leaves_a_slow_tip_and_one_that_comes_back_is_met_gently(how):
    gone = withdrawn("ur5e", how)
    assert gone.speed <= 1.5 * how.approach
    assert 10.0 <= gone.peak <= 20.0


@pytest.mark.long
@pytest.mark.parametrize(
    "how", [torques(1e4, 0.004), positions(1e4, 0.004)], ids=["torques", "positions"]
)
def test_a_surface_that_shakes_the_arm_gets_no_energy_from_it(how):
    given, taken = shaken("ur5e", how)
    assert given <= 1.0 + taken


@pytest.mark.long
@pytest.mark.parametrize("robot", ["ur5", "ur5e", "gen3"])
def test_every_row_of_the_table_holds(robot):
    assert [row for row in rows(robot) if not row.holds] == []
