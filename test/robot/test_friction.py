"""Joint friction: the formula, its signs, and that the simulated joints have the same."""

import numpy as np
import pytest
from arms import planar_arm, slope

from robot_control_ros.robot.model import SMOOTHING, friction_torque
from robot_control_ros.simulation.in_process import Push, simulate


def test_friction_is_viscous_plus_dry():
    viscous, dry = np.array([0.5, 2.0, 0.0]), np.array([0.0, 1.0, 3.0])
    fast = np.array([2.0, -1.5, 1.0])  # tanh is 1 to the last bit
    np.testing.assert_allclose(friction_torque(fast, viscous, dry), [1.0, -4.0, 3.0], rtol=1e-15)


def test_friction_takes_power_at_any_speed(rng):
    speeds = np.concatenate((rng.normal(size=50), 1e-3 * rng.normal(size=50), [1e-12, -1e-12]))
    torque = friction_torque(speeds, rng.uniform(0.1, 2, 102), rng.uniform(0.1, 2, 102))
    assert (torque * speeds > 0.0).all()


def test_friction_changes_sign_with_the_velocity_and_is_zero_at_rest(rng):
    v, viscous, dry = rng.normal(size=6), rng.uniform(0, 2, 6), rng.uniform(0, 2, 6)
    np.testing.assert_array_equal(
        friction_torque(-v, viscous, dry), -friction_torque(v, viscous, dry)
    )
    assert not friction_torque(np.zeros(6), viscous, dry).any()


def test_dry_friction_passes_zero_with_a_finite_slope():
    rate = slope(lambda h: friction_torque(np.array([h]), np.array([0.5]), np.array([1.5])), 1e-6)
    np.testing.assert_allclose(rate, 0.5 + 1.5 / SMOOTHING, rtol=1e-9)


def with_damping(urdf, damping):
    return urdf.replace('<dynamics damping="0.0"', f'<dynamics damping="{damping}"')


def turn_freely(damping, compensate):
    """Speed of one bar about a vertical axis, 0.3 s and 0.8 s after the start, once
    pushed; rotor inertia 0.1.
    """
    arm = planar_arm((0.5,))
    gains = {"damping": 0.0, "friction": compensate}
    push = Push((0.0, 10.0, 0.0), duration=0.2)
    config, urdf = arm.config(home=(0.0,)), with_damping(arm.urdf, damping)
    log = simulate(config, "gravity_compensation", gains, duration=1.0, push=push, urdf=urdf)
    return log.v[300, 0], log.v[800, 0]


@pytest.mark.sim
def test_simulated_damping_is_the_descriptions():
    inertia = 0.1 + 0.02 + 2.0 * 0.25**2
    early, late = turn_freely(0.3, False)
    assert late == pytest.approx(early * np.exp(-0.3 / inertia * 0.5), rel=1e-3)


@pytest.mark.sim
def test_compensated_damping_leaves_the_joint_turning_as_one_without():
    early, late = turn_freely(0.3, True)
    assert early > 1.0
    assert late == pytest.approx(early, rel=1e-3)
