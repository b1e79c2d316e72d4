"""The planar two-link arm against its closed forms, with m = 1 kg, l = 1 m, l_c =
0.5 m, I = 1/48 kg·m².
"""

import numpy as np

from robot_control_ros.robot.configuration import load_robot
from robot_control_ros.robot.model import RobotModel

ARM = load_robot("planar_two_link")
G = 9.81


def angles(rng):
    return rng.uniform(-np.pi, np.pi, (200, 2)), rng.uniform(-10.0, 10.0, (200, 2))


def test_the_tip_is_in_the_x_y_plane_of_the_base(rng):
    model = RobotModel.of(ARM)
    for t1, t2 in angles(rng)[0]:
        pose = model.at(np.array([t1, t2])).pose
        expected = [np.cos(t1) + np.cos(t1 + t2), np.sin(t1) + np.sin(t1 + t2), 0.0]
        np.testing.assert_allclose(pose[:3, 3], expected, rtol=0, atol=1e-12)


def test_inertia_is_the_closed_form(rng):
    model = RobotModel.of(ARM)
    for t1, t2 in angles(rng)[0]:
        coupling = np.cos(t2) / 2 + 13 / 48
        expected = [[np.cos(t2) + 37 / 24, coupling], [coupling, 13 / 48]]
        np.testing.assert_allclose(model.mass(np.array([t1, t2])), expected, rtol=0, atol=1e-12)


def test_gravity_and_coriolis_are_the_closed_form(rng):
    model = RobotModel.of(ARM)
    for (t1, t2), (w1, w2) in zip(*angles(rng), strict=True):
        kin = model.at(np.array([t1, t2]), np.array([w1, w2]))
        gravity = [G / 2 * (3 * np.cos(t1) + np.cos(t1 + t2)), G / 2 * np.cos(t1 + t2)]
        h = np.sin(t2) / 2
        np.testing.assert_allclose(kin.gravity, gravity, rtol=0, atol=1e-11)
        np.testing.assert_allclose(
            kin.coriolis, [-h * (2 * w1 * w2 + w2**2), h * w1**2], rtol=0, atol=1e-11
        )


def test_neither_stops_nor_the_torque_of_a_stiff_spring_meet_a_limit():
    limits = RobotModel.of(ARM).limits
    assert np.isinf(limits.upper).all()
    stiffness, reach = 300.0, 2.0  # N/m, m: tip and target are both within reach of the base
    assert (limits.effort > stiffness * reach * reach).all()
    assert (limits.velocity > 20.0).all()
    # from nothing to the limit within one cycle
    assert (np.array(ARM.effort_rate) * 0.001 >= limits.effort).all()
