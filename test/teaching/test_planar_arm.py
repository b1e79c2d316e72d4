"""The planar arm that one plays with: the source's figures, its modes, its limits, its wall."""

import math

import numpy as np
import pytest

from evidence.reproduce.planar_case import FINAL, POINTS, TARGET, VARIANTS
from robot_control_ros.core.errors import ConfigError, HardwareFault
from robot_control_ros.teaching.planar_arm import DT, UPRIGHT, PlanarArm
from robot_control_ros.teaching.two_link import TwoLink

SETTLED = {variant.name: variant for variant in VARIANTS}


def driven(target=TARGET, q=UPRIGHT, **settings):
    arm = PlanarArm()
    arm.change(**settings)
    arm.lead_elbow((math.cos(q[0]), math.sin(q[0])))
    arm.set_target_pose(arm.elbow + [math.cos(sum(q)), math.sin(sum(q))])
    arm.drive(True)
    arm.lead_target(target)
    return arm


def errors(arm, seconds):
    """Distance from the tip to the target at each sample."""
    found = [np.linalg.norm(arm.target - arm.tip)]
    for _ in range(round(seconds / DT)):
        arm.step()
        found.append(np.linalg.norm(arm.target - arm.tip))
    return np.array(found)


def settled(found, bound):
    """Time of the sample from which no error is above the bound."""
    return DT * (np.flatnonzero(found > bound)[-1] + 1)


# --- the source ---


def test_it_starts_as_the_source_does():
    arm = PlanarArm()
    np.testing.assert_allclose(arm.elbow, [0.0, 1.0], atol=1e-15)
    np.testing.assert_allclose(arm.tip, [0.0, 2.0], atol=1e-15)
    assert not arm.driven
    assert (arm.settings.stiffness, arm.settings.damping, arm.settings.inertia) == (50.0, 5.0, 0.0)
    assert arm.settings.link_inertia == 1.0 / 48.0


def test_the_torques_at_the_start():
    np.testing.assert_allclose(driven().torque, [-120.0, -60.0], atol=1e-12)


def test_the_trajectory():
    arm = driven()
    for time, x, y in POINTS:
        errors(arm, time - arm.time)
        assert arm.time == pytest.approx(time)
        np.testing.assert_allclose(arm.tip, [x, y], atol=1e-5)
    errors(arm, 15.0)
    np.testing.assert_allclose(arm.q, FINAL, atol=1e-5)


@pytest.mark.parametrize(
    ("name", "changes"),
    [
        ("I = 1/12", {"link_inertia": 1.0 / 12.0}),
        ("from (90, 60) deg", {"q": (math.pi / 2.0, math.pi / 3.0)}),
        ("Kp 200, Kd 20", {"stiffness": 200.0, "damping": 20.0}),
    ],
)
def test_it_settles_as_in_the_table(name, changes):
    arm, reference = driven(**changes), SETTLED[name]
    found = errors(arm, 8.0)
    for bound, time in zip(
        (0.05 * found[0], 0.02 * found[0], 0.001), reference.settled, strict=True
    ):
        assert settled(found, bound) == pytest.approx(time, abs=1.001 * DT)
    np.testing.assert_allclose(arm.q, reference.final, atol=1e-4)


def test_without_damping_it_never_settles():
    assert errors(driven(damping=0.0), 10.0)[-300:].max() > 0.1


def test_the_integrators_first_step():
    """From rest, q moves by a dt² where the velocity comes first, and by half
    of it with a dt² / 2.
    """
    moves = []
    for taylor in (False, True):
        arm = driven(taylor=taylor)
        arm.step()
        moves.append(arm.q - UPRIGHT)
        np.testing.assert_allclose(
            arm.v, TwoLink().forward(UPRIGHT, (0.0, 0.0), (-120.0, -60.0)) * DT, rtol=1e-9
        )
    np.testing.assert_allclose(moves[0], 2.0 * moves[1], rtol=1e-9)


# --- the target ---


@pytest.mark.parametrize("point", [(2.0, 1.0), (-30.0, 0.1), (0.0, -2.5)])
def test_the_target_stays_within_reach(point):
    arm = driven(point)
    np.testing.assert_allclose(
        arm.target, 2.0 * np.array(point) / np.linalg.norm(point), rtol=1e-12
    )


@pytest.mark.parametrize("point", [(0.0, 0.0), (1.2, 0.8), (-1.0, 1.7)])
def test_within_reach_it_is_where_it_was_put(point):
    np.testing.assert_allclose(driven(point).target, point, atol=1e-12)


def test_a_place_out_of_reach_is_missed_by_what_is_out_of_reach():
    """The stretched arm still swings through its elbow, which the tip hardly feels: its
    amplitude falls with 1 / t.
    """
    arm = driven((2.0, 1.0))
    early, late = errors(arm, 50.0)[-500:].max(), errors(arm, 50.0)[-500:].max()
    assert late / early == pytest.approx(0.5, abs=0.1)
    assert np.linalg.norm(arm.tip - [2.0, 1.0]) == pytest.approx(math.sqrt(5.0) - 2.0, abs=late)


# --- modes ---


def test_in_kinematics_mode_the_target_is_glued_to_the_tip_and_nothing_moves():
    arm = PlanarArm()
    arm.lead_elbow((3.0, 3.0))
    np.testing.assert_allclose(arm.elbow, [math.sqrt(0.5), math.sqrt(0.5)])
    np.testing.assert_allclose(
        arm.tip, 2.0 * arm.elbow, err_msg="the second link turns along with the first"
    )
    arm.set_target_pose((arm.elbow[0] + 0.3, arm.elbow[1]))
    np.testing.assert_allclose(arm.tip, arm.elbow + [1.0, 0.0])
    np.testing.assert_allclose(arm.elbow, [math.sqrt(0.5), math.sqrt(0.5)])
    arm.lead_target((0.1, 0.1))
    arm.step()
    np.testing.assert_array_equal(arm.target, arm.tip)
    np.testing.assert_array_equal(arm.torque, np.zeros(2))
    np.testing.assert_allclose(arm.tip, arm.elbow + [1.0, 0.0])


def test_a_joint_that_is_led_onto_its_centre_stays():
    arm = PlanarArm()
    arm.lead_elbow((0.0, 0.0))
    arm.set_target_pose(arm.elbow)
    np.testing.assert_allclose(arm.q, UPRIGHT)


def test_the_law_begins_with_the_drawn_posture_at_rest():
    arm = driven(q=(0.3, -2.0))
    np.testing.assert_allclose(arm.q, [0.3, -2.0])
    np.testing.assert_array_equal(arm.v, np.zeros(2))
    errors(arm, 0.2)
    q = arm.q
    arm.drive(True)  # again: nothing happens
    assert arm.time == pytest.approx(0.2)
    assert arm.v.any()
    arm.drive(False)
    np.testing.assert_array_equal(arm.target, arm.tip)
    np.testing.assert_array_equal(arm.q, q)
    arm.drive(True)
    np.testing.assert_array_equal(arm.v, np.zeros(2))
    assert arm.time == 0.0
    np.testing.assert_allclose(arm.target, arm.tip)


def test_a_driven_arm_is_not_led_by_hand():
    arm = driven()
    arm.lead_elbow((1.0, 0.0))
    arm.set_target_pose((1.0, 0.0))
    np.testing.assert_allclose(arm.q, UPRIGHT)


def test_reset_repeats_the_same_motion():
    arm = driven(stiffness=100.0)
    first = errors(arm, 0.5)
    arm.reset()
    np.testing.assert_array_equal(errors(arm, 0.5), first)


# --- the wall ---


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("stiffness", "wall", "inertia"), [(50.0, 500.0, 0.0), (300.0, 1000.0, 0.0), (50.0, 500.0, 1.0)]
)
def test_the_wall_and_the_law_are_two_springs_in_series(stiffness, wall, inertia):
    arm = driven(
        wall=True,
        wall_x=0.7,
        wall_stiffness=wall,
        stiffness=stiffness,
        damping=10.0,
        inertia=inertia,
    )
    errors(arm, 20.0)
    x = (wall * 0.7 + stiffness * 1.2) / (wall + stiffness)
    np.testing.assert_allclose(arm.tip, [x, 0.8], atol=1e-6)
    np.testing.assert_allclose(arm.contact, [-wall * (x - 0.7), 0.0], atol=1e-3)
    np.testing.assert_allclose(arm.target - arm.tip, -arm.contact / stiffness, atol=1e-6)  # F / Kp
    arm_alone = TwoLink()
    holding = arm_alone.gravity_torque(arm.q) - arm_alone.jacobian(arm.q).T @ arm.contact
    np.testing.assert_allclose(arm.torque, holding, atol=1e-3)


def test_there_is_no_contact_beside_the_wall_nor_in_kinematics_mode():
    arm = driven(wall=True, wall_x=0.5)
    assert not arm.contact.any()
    errors(arm, 1.0)
    assert arm.contact[0] < 0.0
    arm.drive(False)
    assert arm.tip[0] > 0.5
    assert not arm.contact.any()


def test_with_inertia_the_law_is_the_general_form():
    """T = Jᵀ [-M a - Kd v + Kp (x_d - x)] + G, where a is what that torque and the
    wall's force bring about.
    """
    arm = driven(inertia=2.0, wall=True, wall_x=0.6)
    deepest = 0.0
    for _ in range(60):
        arm.step()
        plant, q, v = TwoLink(), arm.q, arm.v
        jacobian, total = plant.jacobian(q), arm.torque + plant.jacobian(q).T @ arm.contact
        small = 1e-6
        drift = (plant.jacobian(q + small * v) - plant.jacobian(q - small * v)) @ v / (2.0 * small)
        acceleration = jacobian @ plant.forward(q, v, total) + drift
        force = -2.0 * acceleration - 5.0 * jacobian @ v + 50.0 * (TARGET - plant.tip(q))
        np.testing.assert_allclose(
            arm.torque, jacobian.T @ force + plant.gravity_torque(q), atol=1e-5
        )
        deepest = max(deepest, -arm.contact[0])
    assert deepest > 10.0  # the wall had a part in it


# --- what can't be ---


def test_a_step_that_is_too_long_is_told_and_the_arm_is_reset():
    arm = driven(wall=True, wall_x=-1.5, wall_stiffness=1e6)
    with pytest.raises(
        HardwareFault, match=r"rad/s: 10 ms are too long a step .* the arm was reset"
    ):
        errors(arm, 5.0)
    np.testing.assert_array_equal(arm.q, UPRIGHT)
    assert arm.time == 0.0


def test_a_refused_gain_changes_nothing():
    arm = PlanarArm()
    before = arm.settings
    with pytest.raises(ConfigError, match=r"stiffness\[0\] = -1"):
        arm.change(stiffness=-1.0)
    assert arm.settings is before


# --- the joint PD ---


def test_the_joint_pd_is_a_spring_and_a_damper_in_each_joint():
    arm = driven(q=(0.5, 1.0), joint_pd=True, joint_stiffness=40.0, joint_damping=3.0)
    errors(arm, 0.1)
    goal = TwoLink().joint_angles(TARGET)
    expected = 40.0 * (goal - arm.q) - 3.0 * arm.v + TwoLink().gravity_torque(arm.q)
    np.testing.assert_allclose(arm.torque, expected, atol=1e-9)


@pytest.mark.parametrize("elbow", [1.0, -1.0])
def test_the_joint_pd_reaches_the_target_with_the_elbow_on_its_side(elbow):
    arm = driven(q=(0.5, elbow), joint_pd=True, joint_damping=20.0)
    assert errors(arm, 8.0)[-1] < 1e-3
    assert arm.q[1] * elbow > 0.0


def test_the_tip_is_equally_stiff_under_impedance_and_not_under_joint_pd():
    assert driven(q=(0.5, 1.0), stiffness=70.0).tip_stiffness == (70.0, 70.0)
    arm = driven(q=(0.5, 1.0), joint_pd=True)
    jacobian = np.linalg.inv(TwoLink().jacobian(arm.q))
    np.testing.assert_allclose(
        arm.tip_stiffness, np.linalg.eigvalsh(jacobian.T @ jacobian * 50.0), rtol=1e-9
    )
    least, largest = driven(joint_pd=True).tip_stiffness  # upright: nothing gives way along the arm
    assert 0.0 < least < largest == math.inf
