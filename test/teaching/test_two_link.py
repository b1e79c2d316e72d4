"""The closed form of the planar arm against its energies, Lagrange's equations, Pinocchio, and
its own description.
"""

import math
import xml.etree.ElementTree as ElementTree

import numpy as np
import pinocchio as pin
import pytest
from arms import Chain, gradient, slope
from refusals import refuses

from robot_control_ros.control.loop import ControlLoop
from robot_control_ros.core.types import RobotState
from robot_control_ros.teaching.two_link import BASE, JOINTS, TIP, TwoLink

ARMS = {
    "page": TwoLink(),
    "horizontal": TwoLink(inertia=1.0 / 12.0, gravity=0.0, viscous=2.0, coulomb=(3.0, 1.0)),
    "uneven": TwoLink(inertia=0.07, gravity=3.7, mass=1.6, length=0.8, center=0.3),
}


@pytest.fixture(params=ARMS.values(), ids=ARMS)
def arm(request):
    return request.param


def states(count, seed=1):
    rng = np.random.default_rng(seed)
    return zip(
        rng.uniform(-math.pi, math.pi, (count, 2)), rng.uniform(-3.0, 3.0, (count, 2)), strict=True
    )


def centres(arm, q):
    """Centres of mass (2, 2) of the two links."""
    first, second = np.array([(math.cos(t), math.sin(t)) for t in (q[0], q[0] + q[1])])
    return np.array([arm.center * first, arm.length * first + arm.center * second])


def potential(arm, q):
    return arm.mass * arm.gravity * centres(arm, q)[:, 1].sum()


def kinetic(arm, q, v):
    turning = np.array([v[0], v[0] + v[1]])
    first, second = (
        np.array([(-math.sin(t), math.cos(t)) for t in (q[0], q[0] + q[1])]) * turning[:, None]
    )
    speeds = np.array([arm.center * first, arm.length * first + arm.center * second])
    np.testing.assert_allclose(speeds, slope(lambda h: centres(arm, q + h * v)), atol=1e-7)
    return 0.5 * arm.mass * (speeds**2).sum() + 0.5 * arm.inertia * (turning**2).sum()


def test_mass_matrix_is_that_of_the_kinetic_energy(arm):
    for q, v in states(20):
        assert 0.5 * v @ arm.mass_matrix(q) @ v == pytest.approx(kinetic(arm, q, v), abs=1e-8)
        H = arm.mass_matrix(q)
        np.testing.assert_array_equal(H, H.T)
        assert np.linalg.eigvalsh(H)[0] > 0.0


def test_gravity_torque_is_the_gradient_of_the_potential(arm):
    for q, _ in states(20):
        np.testing.assert_allclose(
            arm.gravity_torque(q), gradient(lambda at: potential(arm, at), q), atol=1e-8
        )


def test_the_motion_obeys_lagrange(arm):
    """d/dt ∂L/∂v - ∂L/∂q = tau - friction, with L from the links' energies."""
    rng = np.random.default_rng(3)
    for q, v in states(20):
        tau = rng.uniform(-20.0, 20.0, 2)
        a = arm.forward(q, v, tau)

        def momentum(h, q=q, v=v, a=a):
            at, rate = q + h * v + 0.5 * h * h * a, v + h * a
            return gradient(lambda w: kinetic(arm, at, w), rate, 1.0)  # a quadratic: exact

        lagrangian_slope = gradient(
            lambda at, v=v: kinetic(arm, at, v) - potential(arm, at), q, 1e-3
        )
        np.testing.assert_allclose(
            slope(momentum, 2e-4) - lagrangian_slope, tau - arm.friction(v), atol=1e-7
        )


def test_friction_is_viscous_and_dry():
    v = np.array([0.5, -0.004])
    expected = [2.0 * 0.5 + 3.0 * math.tanh(50.0), -2.0 * 0.004 - math.tanh(0.4)]
    np.testing.assert_allclose(ARMS["horizontal"].friction(v), expected, rtol=1e-14)
    np.testing.assert_array_equal(ARMS["page"].friction(v), 0.0)


@pytest.mark.parametrize("taylor", [False, True], ids=["euler", "taylor"])
@pytest.mark.parametrize("name", ["page", "uneven"])
def test_free_motion_conserves_energy_as_the_step_shrinks(name, taylor):
    arm = ARMS[name]

    def drift(dt):
        q, v = np.array([0.4, 0.9]), np.array([1.0, -2.0])
        worst, fastest, begin = 0.0, 0.0, kinetic(arm, q, v) + potential(arm, q)
        for _ in range(10):
            q, v = arm.advance(q, v, (0.0, 0.0), dt, round(0.1 / dt), taylor=taylor)
            worst = max(worst, abs(kinetic(arm, q, v) + potential(arm, q) - begin))
            fastest = max(fastest, kinetic(arm, q, v))
        return worst / fastest

    coarse, fine = drift(1e-4), drift(1e-5)
    assert fine < 1e-3
    assert fine == pytest.approx(coarse / 10.0, rel=0.1)  # first order


def test_steps_are_those_of_the_two_integrators(arm):
    q, v, tau, dt = np.array([0.3, -1.1]), np.array([0.7, 1.9]), np.array([3.0, -2.0]), 0.01
    a = arm.forward(q, v, tau)
    euler, taylor = arm.advance(q, v, tau, dt), arm.advance(q, v, tau, dt, taylor=True)
    np.testing.assert_allclose(euler[0], q + dt * (v + dt * a), rtol=1e-14)
    np.testing.assert_allclose(taylor[0], q + dt * v + 0.5 * dt * dt * a, rtol=1e-14)
    for _, rate in (euler, taylor):
        np.testing.assert_allclose(rate, v + dt * a, rtol=1e-14)
    np.testing.assert_array_equal(arm.advance(*euler, tau, dt), arm.advance(q, v, tau, dt, 2))


def test_tip_and_jacobian(arm):
    for q, v in states(20):
        first, both = q[0], q[0] + q[1]
        expected = arm.length * np.array(
            [math.cos(first) + math.cos(both), math.sin(first) + math.sin(both)]
        )
        np.testing.assert_allclose(arm.tip(q), expected, atol=1e-14)
        np.testing.assert_allclose(arm.jacobian(q), gradient(arm.tip, q), atol=1e-9)
        np.testing.assert_allclose(
            arm.jdot_v(q, v), slope(lambda h, q=q, v=v: arm.jacobian(q + h * v) @ v), atol=1e-8
        )


def test_joint_angles_lead_to_the_point_with_the_elbow_on_one_side(arm):
    rng = np.random.default_rng(2)
    for radius, angle in zip(
        rng.uniform(0.01, 1.99, 50) * arm.length, rng.uniform(-math.pi, math.pi, 50), strict=True
    ):
        point = radius * np.array([math.cos(angle), math.sin(angle)])
        q = arm.joint_angles(point)
        np.testing.assert_allclose(arm.tip(q), point, atol=1e-12)
        assert 0.0 <= q[1] <= math.pi
    np.testing.assert_allclose(
        arm.joint_angles((0.0, 2.0 * arm.length)), [math.pi / 2.0, 0.0], atol=1e-12
    )


def test_points_out_of_reach_are_refused():
    with refuses("point", math.hypot(2.0, 1.0), 2.0):
        TwoLink().joint_angles((2.0, 1.0))


def test_description_is_the_same_arm(arm):
    """By the tests' own reading of the XML, in the axes of its root, in which
    gravity is along -z.
    """
    chain = Chain(arm.urdf())
    for q, _ in states(10):
        angles = dict(zip(JOINTS, q, strict=True))
        np.testing.assert_allclose(chain.mass_matrix(angles), arm.mass_matrix(q), atol=1e-12)
        np.testing.assert_allclose(chain.relative(BASE, TIP, angles)[:2, 3], arm.tip(q), atol=1e-12)
        energy = chain.potential_energy(angles, np.array([0.0, 0.0, -arm.gravity]))
        assert energy == pytest.approx(potential(arm, q), abs=1e-12)


def test_description_holds_limits_and_friction():
    arm = ARMS["horizontal"]
    model = arm.model(effort=40.0, velocity=7.0)
    np.testing.assert_array_equal(model.limits.effort, 40.0)
    np.testing.assert_array_equal(model.limits.velocity, 7.0)
    np.testing.assert_array_equal(model.viscous_friction, 2.0)
    np.testing.assert_array_equal(model.dry_friction, [3.0, 1.0])
    for link in ElementTree.fromstring(arm.urdf()).iter("inertia"):
        x, y, z = (float(link.get(key)) for key in ("ixx", "iyy", "izz"))
        assert x <= y + z
        assert y <= x + z
        assert z <= x + y


def test_forward_dynamics_are_those_of_pinocchio(arm):
    """The articulated-body algorithm on 2000 states; rounding is relative to the acceleration."""
    inner = pin.buildModelFromXML(arm.urdf())
    inner.gravity.linear = np.array([0.0, 0.0, -arm.gravity])
    data = inner.createData()
    rng = np.random.default_rng(4)
    for q, v in states(2000):
        tau = rng.uniform(-50.0, 50.0, 2)
        expected = pin.aba(inner, data, q, v, tau - arm.friction(v))
        np.testing.assert_array_less(
            np.abs(arm.forward(q, v, tau) - expected), 1e-12 * max(1.0, np.abs(expected).max())
        )


def test_the_packages_model_and_laws_run_on_it(arm):
    model, config = arm.model(), arm.config(rate=500.0)
    assert config.period == 0.002
    for q, v in states(10):
        kin = model.update(q, v)
        np.testing.assert_allclose(kin.gravity, arm.gravity_torque(q), atol=1e-12)
        np.testing.assert_allclose(kin.mass, arm.mass_matrix(q), atol=1e-12)
        coriolis = (
            -arm.mass_matrix(q) @ arm.forward(q, v, (0.0, 0.0))
            - arm.gravity_torque(q)
            - arm.friction(v)
        )
        np.testing.assert_allclose(kin.coriolis, coriolis, atol=1e-11)
        np.testing.assert_allclose(kin.jacobian[:2], arm.jacobian(q), atol=1e-12)
        loop = ControlLoop(config, "gravity_compensation", {"damping": 0.0}, model=model)
        command = loop.tick(RobotState(0.0, q, np.zeros(2), np.zeros(2)))
        np.testing.assert_allclose(command.values, arm.gravity_torque(q), atol=1e-12)
