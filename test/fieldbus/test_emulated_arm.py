"""The arm that hangs on the emulated bus: its clock, its brakes, and its motion
against Pinocchio's.
"""

import itertools

import numpy as np
import pytest

from robot_control_ros.core.errors import ConfigError, ModelError
from robot_control_ros.fieldbus.emulation.arm import MAX_STEP, MujocoArm
from robot_control_ros.simulation.mujoco_plant import MujocoPlant
from robot_control_ros.simulation.scene import load_scene

DT = 0.001
N = 6
FREE, BRAKED = [False] * N, [True] * N
ZERO = np.zeros(N)


@pytest.fixture
def arm(ur5) -> MujocoArm:
    return MujocoArm(ur5)


def run(arm: MujocoArm, seconds: float, torque=ZERO, braked=FREE) -> None:
    for _ in range(round(seconds / DT)):
        arm.advance(torque, braked, DT)


def acceleration(arm: MujocoArm, torque, braked=FREE, dt: float = 1e-6) -> np.ndarray:
    """(n,) at present."""
    before = np.array(arm.velocity)
    arm.advance(torque, braked, dt)
    return (np.array(arm.velocity) - before) / dt


# --- beginning and clock ---


def test_it_begins_at_home_at_rest(arm, ur5):
    assert arm.joints == ur5.joints
    assert arm.position == list(ur5.home)
    assert arm.velocity == [0.0] * N
    assert arm.time == 0.0


def test_a_scene_says_where_it_begins(ur5):
    scene = load_scene("ball")
    start = MujocoPlant(ur5, scene=scene).start.tolist()
    assert MujocoArm(ur5, scene).position == start != list(ur5.home)


def test_its_inertia_is_the_models(arm, ur5, ur5_model):
    np.testing.assert_allclose(
        arm.inertia, ur5_model.mass(np.array(ur5.home)).diagonal(), rtol=1e-5
    )


def test_its_clock_is_the_callers(arm, rng):
    steps = rng.uniform(0.0005, 0.0015, 1000)
    for dt in steps:
        arm.advance(ZERO, BRAKED, dt)
    assert arm.time == pytest.approx(steps.sum(), abs=1e-12)


def test_a_long_step_is_cut_and_loses_no_time(arm, ur5):
    """Falling for as long, it is where short steps bring it."""
    arm.advance(ZERO, FREE, 10 * MAX_STEP)
    other = MujocoArm(ur5)
    for _ in range(10):
        other.advance(ZERO, FREE, MAX_STEP)
    assert arm.time == pytest.approx(other.time, abs=1e-15)
    np.testing.assert_allclose(arm.position, other.position, rtol=0, atol=1e-12)


# --- motion ---


def test_free_joints_move_as_the_model_says(arm, ur5_model, rng):
    for _ in range(5):
        run(arm, 0.02, rng.uniform(-1.0, 1.0, N) * [100, 100, 100, 5, 5, 5])
        torque = rng.uniform(-20.0, 20.0, N)
        expected = ur5_model.forward_dynamics(
            np.array(arm.position), np.array(arm.velocity), torque
        )
        np.testing.assert_allclose(acceleration(arm, torque), expected, rtol=1e-4, atol=1e-3)


def test_with_the_torque_of_gravity_it_stays(arm, ur5, ur5_model):
    run(arm, 0.2, ur5_model.at(np.array(ur5.home)).gravity)
    np.testing.assert_allclose(arm.position, ur5.home, atol=1e-4)


def test_without_torque_it_falls(arm, ur5):
    run(arm, 0.3)
    assert np.abs(np.subtract(arm.position, ur5.home)).max() > 0.1


def test_torques_beyond_the_descriptions_limits_act(arm, ur5_model):
    """What a drive can do, its own limits say."""
    torque = np.array([2.0 * ur5_model.limits.effort[0], 0, 0, 0, 0, 0])
    expected = ur5_model.forward_dynamics(np.array(arm.position), ZERO, torque)
    np.testing.assert_allclose(acceleration(arm, torque), expected, rtol=1e-4)


def test_a_push_acts_at_the_links_origin_in_base_axes(arm, ur5_model):
    force, torque = np.array([10.0, -20.0, 5.0]), np.array([1.0, 2.0, -3.0])
    arm.push("tool0", force, torque)
    kin = ur5_model.at(np.array(arm.position))
    expected = ur5_model.forward_dynamics(
        kin.q, ZERO, kin.jacobian.T @ np.concatenate((force, torque))
    )
    np.testing.assert_allclose(acceleration(arm, ZERO), expected, rtol=1e-4, atol=1e-3)
    arm.push("tool0", np.zeros(3), np.zeros(3))
    kin = ur5_model.at(np.array(arm.position))
    expected = ur5_model.forward_dynamics(kin.q, np.array(arm.velocity), ZERO)
    np.testing.assert_allclose(acceleration(arm, ZERO), expected, rtol=1e-4, atol=1e-3)


def test_a_push_at_an_unknown_link_or_of_no_number_is_refused(arm):
    with pytest.raises(ModelError, match="tool0"):
        arm.push("hand", np.zeros(3), np.zeros(3))
    with pytest.raises(ConfigError, match="finite"):
        arm.push("tool0", np.array([np.nan, 0, 0]), np.zeros(3))


def test_it_comes_to_lie_on_the_table(ur5, ur5_model):
    """The elbow's brake alone is open, so that the tool sinks; the table ends that, where
    without one it goes on.
    """
    braked = [True, True, False, True, True, True]
    heights = []
    for scene in (load_scene("table"), None):
        arm = MujocoArm(ur5, scene)
        run(arm, 1.0, braked=braked)
        heights.append(ur5_model.at(np.array(arm.position)).pose[2, 3])
    assert heights[0] > 0.25 > heights[1]


# --- brakes ---


def test_brakes_hold_it_against_gravity_and_pushes(arm, ur5):
    arm.push("tool0", np.array([0.0, 0.0, -500.0]), np.zeros(3))
    run(arm, 1.0, braked=BRAKED)
    np.testing.assert_allclose(arm.position, ur5.home, rtol=0, atol=1e-5)


@pytest.mark.few(8)
@pytest.mark.parametrize("braked", itertools.product((False, True), repeat=N))
def test_braked_joints_stay_and_the_others_move_by_what_is_left(ur5, ur5_model, braked):
    """a_f = M_ff^-1 (tau_f - g_f), for every choice of brakes."""
    arm, free = MujocoArm(ur5), np.logical_not(braked)
    torque = np.array([10.0, 30.0, -20.0, 4.0, 3.0, 2.0])
    kin = ur5_model.at(np.array(arm.position))
    expected = np.zeros(N)
    left = (torque - kin.gravity)[free]
    expected[free] = np.linalg.solve(kin.mass[np.ix_(free, free)], left)
    found = acceleration(arm, torque, list(braked), dt=1e-4)
    np.testing.assert_allclose(found, expected, rtol=1e-3, atol=1e-2)
    run(arm, 0.05, torque, list(braked))
    np.testing.assert_allclose(
        np.array(arm.position)[~free], np.array(ur5.home)[~free], rtol=0, atol=1e-5
    )


def test_a_brake_stops_a_joint_that_moves_and_keeps_it_there(arm):
    run(arm, 0.1, np.array([100.0, 0, 0, 0, 0, 0]))
    assert arm.velocity[0] > 1.0
    closed_at = np.array(arm.position)
    run(arm, 0.02, braked=BRAKED)
    assert np.abs(arm.velocity).max() < 1e-2
    run(arm, 0.5, braked=BRAKED)
    np.testing.assert_allclose(arm.position, closed_at, rtol=0, atol=1e-4)


def test_a_brake_that_opens_lets_go(arm, ur5_model):
    run(arm, 0.1, braked=BRAKED)
    expected = ur5_model.forward_dynamics(np.array(arm.position), ZERO, ZERO)
    np.testing.assert_allclose(acceleration(arm, ZERO), expected, rtol=1e-3, atol=1e-2)


def test_a_brake_holds_where_it_closed_last(arm):
    for _ in range(3):
        before = np.array(arm.position)
        run(arm, 0.1)
        closed_at = np.array(arm.position)
        assert np.abs(closed_at - before).max() > 0.01
        run(arm, 0.1, braked=BRAKED)
        np.testing.assert_allclose(arm.position, closed_at, rtol=0, atol=1e-3)


def test_a_driven_step_leaves_the_plants_period_as_it_is(ur5):
    plant = MujocoPlant(ur5)
    plant.drive(ZERO, FREE, 0.0003)
    plant.advance()
    assert plant.time == pytest.approx(0.0003 + 1.0 / ur5.profile.rate, abs=1e-15)
