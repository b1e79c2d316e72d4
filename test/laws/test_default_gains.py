"""Default gains suit the arm: small arms are not too fast for a loop, heavy ones not too slow, and a
rail has forces per metre.
"""

import math
from dataclasses import replace

import numpy as np
import pytest
from descriptions import inertial, joint, link, robot

from robot_control_ros.cli.init_robot import write_robot
from robot_control_ros.core.gains import LENGTH, gain_specs
from robot_control_ros.laws import law_class, law_names
from robot_control_ros.laws.default_gains import (
    DECAY,
    DRAG,
    FASTEST,
    SLOWEST,
    ArmAtHome,
    arm_at_home,
)
from robot_control_ros.laws.running_law import RunningLaw
from robot_control_ros.robot.configuration import load_robot
from robot_control_ros.robot.model import RobotModel
from robot_control_ros.simulation.in_process import Push, simulate

UR5 = load_robot("ur5")
FORCE = 20.0  # N
FITTED = [name for name in law_names(plugins=False) if hasattr(law_class(name), "default_gains")]
ROUNDING = 1.0 + 1e-9


def eigenvalues(mass, gain):
    """Those of M⁻¹ G, by another way than the code's."""
    return np.linalg.eigvals(np.linalg.solve(mass, gain)).real


def random_arm(rng, scale):
    """An arm at home with any inertia, links and kinds of joints; `scale` is that of its mass."""
    n = int(rng.integers(2, 8))
    root = rng.normal(size=(n, n))
    mass = scale * (root @ root.T + 0.05 * np.eye(n))
    return ArmAtHome(
        mass, rng.normal(size=(6, n)), rng.random(n) < 0.3, (rng.random(6) < 0.8) * 1.0, ""
    )


def declared(name):
    return {spec.name: spec.default for spec in gain_specs(law_class(name).Gains)}


@pytest.mark.parametrize("name", ["ur5", "ur5e", "gen3", "planar_two_link"])
@pytest.mark.parametrize("law", FITTED)
def test_robots_of_the_package_have_those_of_their_file_or_the_declared_ones(name, law):
    config = load_robot(name)
    running = RunningLaw(config, law)
    for gain in law_class(law).default_gains(arm_at_home(config)):
        expected = config.law_gains.get(law, {}).get(gain, declared(law)[gain])
        value = getattr(running.gains.current, gain)
        value = value.diagonal() if value.ndim == 2 else value
        np.testing.assert_array_equal(value, np.broadcast_to(expected, value.shape))


@pytest.mark.parametrize("scale", [1e-4, 1e-2, 1.0, 1e2])
@pytest.mark.parametrize("law", ["joint_impedance", "position_domain_pd", "joint_pid_effort"])
def test_joints_are_neither_too_fast_nor_too_slow_and_decay_in_time(law, scale):
    rng = np.random.default_rng(1)
    for _ in range(50):
        arm = random_arm(rng, scale)
        gains = law_class(law).default_gains(arm)
        stiffness = gains["p" if law == "joint_pid_effort" else "stiffness"]
        inertia = arm.mass.diagonal()
        damping = gains.get("d", 2.0 * np.sqrt(stiffness * inertia))
        assert (stiffness > 0.0).all()
        assert eigenvalues(arm.mass, np.diag(stiffness)).max() <= ROUNDING * FASTEST**2
        assert eigenvalues(arm.mass, np.diag(damping)).max() <= ROUNDING * DECAY
        free = 1.0 / np.linalg.inv(arm.mass).diagonal()
        slow = stiffness < SLOWEST**2 * inertia
        fast = eigenvalues(arm.mass, np.diag(stiffness)).max() > 0.99 * FASTEST**2
        decays = eigenvalues(arm.mass, np.diag(2.0 * np.sqrt(stiffness * inertia))).max()
        assert not slow.any() or fast or decays > 0.99 * DECAY or (stiffness > 4999.0).any()
        assert (stiffness <= ROUNDING * FASTEST**2 * free).all()


@pytest.mark.parametrize("scale", [1e-4, 1e-2, 1.0, 1e2])
@pytest.mark.parametrize("law", ["impedance", "force_control", "task_space_pd"])
def test_the_tip_is_never_too_fast_and_never_stiffer_than_declared(law, scale):
    rng = np.random.default_rng(2)
    for _ in range(50):
        arm = random_arm(rng, scale)
        gains = law_class(law).default_gains(arm)
        most = np.broadcast_to(declared(law)["stiffness"], 6)
        assert (gains["stiffness"] <= most).all()
        for group in (slice(0, 3), slice(3, 6)):
            jacobian = arm.axes[group, None] * arm.jacobian[group]
            spring = jacobian.T @ np.diag(gains["stiffness"][group]) @ jacobian
            fastest = eigenvalues(arm.mass, spring).max()
            assert fastest <= ROUNDING * FASTEST**2
            at_most = (gains["stiffness"][group] == (arm.axes * most)[group]).all() or (
                gains["stiffness"][group] == most[group]
            ).all()
            assert at_most or fastest > 0.99 * FASTEST**2
        if law == "task_space_pd":
            damper = arm.jacobian.T @ np.diag(gains["damping"]) @ arm.jacobian
            assert eigenvalues(arm.mass, damper).max() <= ROUNDING * DECAY


def test_a_damper_without_a_spring_takes_a_velocity_by_its_bound_at_most():
    rng = np.random.default_rng(3)
    for scale in (1e-4, 1.0):
        arm = random_arm(rng, scale)
        damping = law_class("gravity_compensation").default_gains(arm)["damping"]
        assert (damping <= ROUNDING * DRAG / np.linalg.inv(arm.mass).diagonal()).all()
        assert (damping <= np.where(arm.slides, 1.0 / LENGTH**2, 1.0)).all()


def test_a_robots_own_gains_come_first():
    robot = replace(UR5, law_gains={"joint_impedance": {"stiffness": 7.0}})
    assert RunningLaw(robot, "joint_impedance").gains.current.stiffness.tolist() == [7.0] * 6


@pytest.mark.parametrize("law", FITTED)
def test_rotors_that_the_published_description_holds_count(law):
    gains = RunningLaw(load_robot("ur5", "gz"), law).gains.current
    simulated = RunningLaw(UR5, law).gains.current
    for spec in gain_specs(type(gains)):
        if not spec.choices:
            np.testing.assert_array_equal(getattr(gains, spec.name), getattr(simulated, spec.name))


# --- arms of other kinds ---


def rail(mass):
    """A rail that carries a link with one more joint."""
    ends = 'lower="-2" upper="2"'
    slide = joint("rail", "base", "carriage", "prismatic", axis="1 0 0", origin="0 0 0.2")
    size = mass * 0.01
    return robot(
        link("base"),
        slide.replace(ends, 'lower="-5" upper="5"').replace('effort="50"', 'effort="2000"'),
        link("carriage", inertial(mass, (size, size, size), center="0 0 0")),
        joint("turn", "carriage", "arm", axis="0 0 1"),
        link("arm", inertial(2.0, (0.02, 0.03, 0.04))),
    )


def small_arm():
    """An arm of four joints and some hundred grams, as the kits that are printed."""
    parts = [link("base")]
    carrier = "base"
    for number, (mass, axis) in enumerate(
        zip((0.15, 0.12, 0.1, 0.08), ("0 0 1", "0 1 0", "0 1 0", "0 1 0"), strict=True)
    ):
        size = mass * 0.03**2
        name = f"link{number}"
        parts += [
            joint(f"joint{number}", carrier, name, axis=axis, origin="0 0 0.1").replace(
                'effort="50"', 'effort="5"'
            ),
            link(name, inertial(mass, (size, size, 0.8 * size), center="0.01 0 0.03")),
        ]
        carrier = name
    return robot(*parts, joint("flange", carrier, "tip", "fixed", origin="0 0 0.06"), link("tip"))


@pytest.fixture
def written(tmp_path):
    """A function that makes the configuration of a description's text."""

    def write(text):
        path = tmp_path / "arm.urdf"
        path.write_text(text, encoding="utf-8")
        return write_robot(path, path.with_suffix(".yaml"))

    return write


@pytest.mark.parametrize("mass", [5.0, 200.0])
def test_a_rail_has_newtons_per_metre(written, mass):
    stiffness = RunningLaw(written(rail(mass)), "joint_impedance").gains.current.stiffness
    assert stiffness[0] == pytest.approx(max(50.0 / LENGTH**2, SLOWEST**2 * (mass + 2.0)))


@pytest.mark.sim
@pytest.mark.parametrize(
    ("law", "gain"), [("joint_impedance", "stiffness"), ("joint_pid_effort", "p")]
)
def test_a_rail_yields_by_force_over_stiffness(written, law, gain):
    pytest.importorskip("mujoco")
    config = written(rail(5.0))
    stiffness = getattr(RunningLaw(config, law).gains.current, gain)[0]
    log = simulate(
        config, law, push=Push((FORCE, 0.0, 0.0), start=0.1, link="carriage"), duration=4.0
    )
    assert not log.trouble
    assert log.q[-1, 0] - log.q[0, 0] == pytest.approx(FORCE / stiffness, rel=0.02)
    assert FORCE / stiffness < 0.04


@pytest.mark.sim
@pytest.mark.few(2)
@pytest.mark.parametrize(
    "law",
    [
        law if law in ("impedance", "task_space_pd") else pytest.param(law, marks=pytest.mark.long)
        for law in FITTED
        if law != "gravity_compensation"
    ],
)
def test_a_small_arm_comes_to_rest_under_every_law_with_a_spring(written, law):
    pytest.importorskip("mujoco")
    push = Push((0.0, 0.2, 0.0), start=0.2, duration=0.5)
    log = simulate(written(small_arm()), law, push=push, duration=3.0, rate=500.0)
    assert not log.trouble
    last = log.t > log.t[-1] - 0.5
    assert np.abs(log.v[last]).max() < 0.02
    assert math.isfinite(float(np.abs(log.q).max()))


@pytest.mark.long
@pytest.mark.sim
def test_a_small_arm_that_floats_is_slowed_down_and_does_not_shake(written):
    pytest.importorskip("mujoco")
    push = Push((0.0, 0.2, 0.0), start=0.2, duration=0.5)
    config = written(small_arm())
    log = simulate(config, "gravity_compensation", push=push, duration=3.0, rate=500.0)
    assert not log.trouble
    model = RobotModel.of(config)
    after = slice(int(log.t.searchsorted(0.8)), None, 50)
    energy = [v @ model.mass(q) @ v for q, v in zip(log.q[after], log.v[after], strict=True)]
    assert (np.diff(energy) < 0.0).all()
    assert energy[-1] < 0.25 * energy[0]
