"""Joint states that come late or seldom: the law softens by what stability needs, and never
throws the arm about.
"""

import re
from collections import deque
from dataclasses import dataclass, replace
from types import SimpleNamespace

import numpy as np
import pytest

pytest.importorskip("mujoco", reason="the simulator needs MuJoCo")

from robot_control_ros.control.loop import ControlLoop
from robot_control_ros.control.reactions.late_samples import LateSamples
from robot_control_ros.core.gains import gain
from robot_control_ros.core.types import CommandMode, RobotState
from robot_control_ros.laws.running_law import RunningLaw
from robot_control_ros.laws.softening import ELSEWHERE, Softening, springs_and_dampers
from robot_control_ros.robot.configuration import load_robot
from robot_control_ros.robot.model import RobotModel
from robot_control_ros.simulation.mujoco_plant import MujocoPlant

pytestmark = pytest.mark.sim

UR5 = load_robot("ur5")
HOME = np.array(UR5.home)
STEP = 0.002  # s of the physics between two looks
EFFORT_LAWS = [
    ("impedance", {}),
    ("task_space_pd", {}),
    ("joint_impedance", {}),
    ("position_domain_pd", {"output": "effort"}),
    ("joint_pid", {"output": "effort"}),
]


def laws_of_effort():
    for name, gains in EFFORT_LAWS:
        try:
            RunningLaw(UR5, name, gains)
        except ValueError:
            gains = {}
        if RunningLaw(UR5, name, gains).mode == "effort":
            yield pytest.param(name, gains, id=name)


def settled(running, kin, interval, age):
    """What softens a law whose samples have come like this for a second."""
    late = LateSamples(UR5)
    state = RobotState(0.0, HOME, np.zeros(6), np.zeros(6), age=age)
    for _ in range(round(1.0 / interval)):
        fraction = late.observe(running, running.gains.current, state, kin, interval)
    return late, Softening().of(running.gains.current, fraction)


@pytest.fixture(scope="module")
def kin():
    return RobotModel.of(UR5).update(HOME, np.zeros(6))


def test_springs_of_the_null_space_do_not_count(kin):
    """They are softened as the others are, but their rates are not those of the tip."""
    plain, posture = (
        RunningLaw(UR5, "impedance", {"posture_stiffness": stiffness, "posture_damping": 1.0})
        for stiffness in (0.0, 500.0)
    )
    for found in springs_and_dampers(type(posture.gains.target)):
        assert {found[name] for name in found if name.startswith("posture")} == {ELSEWHERE}
    fractions = []
    for running in (plain, posture):
        _, gains = settled(running, kin, 0.02, age=0.02)
        fractions.append(gains.stiffness[0, 0] / running.gains.target.stiffness[0, 0])
    assert fractions[0] == fractions[1] < 1.0
    np.testing.assert_allclose(gains.posture_stiffness, fractions[1] * 500.0)


@pytest.mark.parametrize("interval", [0.002, 0.004])
def test_samples_as_often_and_as_fresh_as_usual_change_nothing(kin, interval):
    running = RunningLaw(UR5, "impedance", {"stiffness": [9000.0] * 3 + [2000.0] * 3})
    late, gains = settled(running, kin, interval, age=0.001)
    assert gains is running.gains.current
    assert (late.message, late.fault) == ("", "")


@pytest.mark.parametrize("age", [0.03, 0.06])
def test_the_stiffness_is_what_the_delay_allows_for_the_weakest_axis(kin, age):
    """Half of K = 0.42 Λ / τ², along the axis that bears least: that of the fastest
    oscillation of K on Λ.
    """
    running = RunningLaw(UR5, "impedance")
    late, gains = settled(running, kin, 0.004, age)
    jacobian, mass = kin.jacobian, kin.mass
    inertia = np.linalg.inv(jacobian @ np.linalg.solve(mass, jacobian.T))
    stiffness = running.gains.current.stiffness.diagonal()
    fastest = np.linalg.eigvals(np.linalg.solve(inertia, np.diag(stiffness))).real.max()  # 1/s²
    fraction = 0.21 / (fastest * (age + 0.004 / 2.0) ** 2)
    assert 1.0 / 16.0 < fraction < 1.0
    assert gains.stiffness.diagonal() == pytest.approx(stiffness * fraction, rel=1e-3)
    assert late.fault == ""
    assert f"{fraction:.0%}" in late.message


def test_a_single_gap_is_not_told_as_the_rate(kin):
    running = RunningLaw(UR5, "impedance")
    late, _ = settled(running, kin, 0.002, age=0.06)
    state = RobotState(0.0, HOME, np.zeros(6), np.zeros(6), age=0.06)
    late.observe(running, running.gains.current, state, kin, 0.024)
    rate = float(re.search(r"\((\d+) Hz", late.message).group(1))
    assert 100.0 < rate < 500.0  # 42 Hz by the last gap alone


@pytest.mark.parametrize("age", [0.03, 0.06])
def test_the_damping_is_what_the_delay_allows_for_the_lightest_joints(kin, age):
    """D = 0.92 M / τ along what bears least, where the damper is too strong by half and
    the spring is soft.
    """
    allowed = (
        2.0 * 0.21**0.5 / ((age + 0.004 / 2.0) * np.linalg.eigvalsh(np.linalg.inv(kin.mass)).max())
    )
    running = RunningLaw(
        UR5, "joint_impedance", {"stiffness": 0.1, "damping_ratio": 0.0, "damping": 1.5 * allowed}
    )
    late, gains = settled(running, kin, 0.004, age)
    assert gains.damping == pytest.approx(np.full(6, allowed), rel=1e-3)
    assert f"{1.0 / 1.5**2:.0%}" in late.message


def test_what_no_stiffness_bears_is_a_fault(kin):
    late, _ = settled(RunningLaw(UR5, "impedance"), kin, 1.0 / 75.0, age=0.3)
    assert late.fault


def test_a_clock_that_jumps_for_some_samples_stops_nothing(kin):
    """A simulation that is reset sends joint states before its new time on /clock is known."""
    running, late = RunningLaw(UR5, "impedance"), LateSamples(UR5)
    for age in (0.001, 0.001, 11.0, 11.0, 0.001):
        state = RobotState(0.0, HOME, np.zeros(6), np.zeros(6), age=age)
        fraction = late.observe(running, running.gains.current, state, kin, 0.002)
        assert late.fault == ""
    assert fraction > 0.5


def test_position_laws_are_left_alone(kin):
    running = RunningLaw(load_robot("ur5", "mock"), "position_domain_pd")
    assert settled(running, kin, 1.0 / 75.0, age=0.3)[1] is running.gains.current


def starved(name, gains, interval, age, aware):
    """What becomes of an arm that is pushed: how far the tip goes [m], the fastest joint, and that
    after 4 s [rad/s].

    Args:
        name, gains: of the law.
        interval, age: of the samples [s].
        aware: whether the age is told with the samples.
    """
    plant = MujocoPlant(UR5, rate=1.0 / STEP)
    loop = ControlLoop(UR5, name, gains, model=RobotModel.of(UR5))
    late = deque([plant.read()], maxlen=round(age / STEP) + 1)
    home, due, furthest, fastest = loop.model.at(HOME).pose[:3, 3], 0.0, 0.0, 0.0
    for k in range(round(4.0 / STEP)):
        if plant.time >= due:
            sample = late[0]
            plant.write(
                loop.tick(replace(sample, time=plant.time - age, age=age if aware else 0.0))
            )
            due += interval
        pushed = 0.2 <= k * STEP < 0.3
        plant.push("tool0", np.array([0.0, 20.0 * pushed, 0.0]), np.zeros(3))
        late.append(plant.read())
        furthest = max(furthest, np.linalg.norm(loop.model.at(late[-1].q).pose[:3, 3] - home))
        fastest = max(fastest, np.abs(late[-1].v).max())
    return furthest, fastest, np.abs(late[-1].v).max()


@pytest.fixture(scope="module")
def weightless():
    """The same push on an arm of which only the weight is borne."""
    return starved("gravity_compensation", {}, 0.002, 0.0, aware=True)


@pytest.mark.few(2)
@pytest.mark.parametrize("age", [pytest.param(0.03, marks=pytest.mark.long), 0.08])
@pytest.mark.parametrize(("name", "gains"), laws_of_effort())
def test_a_starved_law_moves_the_arm_little_more_than_the_push_does(name, gains, age, weightless):
    """75 Hz where 500 Hz are nominal."""
    furthest, fastest, last = starved(name, gains, 1.0 / 75.0, age, aware=True)
    assert furthest < weightless[0]
    assert fastest < 1.5 * weightless[1]
    assert last < 0.1


def test_a_law_that_does_not_know_it_would_throw_the_arm_about():
    assert starved("impedance", {}, 1.0 / 75.0, 0.08, aware=False)[1] > 2.0


def test_the_delay_of_derived_velocities_counts(kin):
    filtered = replace(UR5, profile=replace(UR5.profile, velocity_filter=0.02))
    running = RunningLaw(UR5, "impedance")
    delays = []
    for robot in (UR5, filtered):
        late = LateSamples(robot)
        state = RobotState(0.0, HOME, np.zeros(6), np.zeros(6), age=0.001)
        for _ in range(500):
            late.observe(running, running.gains.current, state, kin, 0.002)
        delays.append(late.delay)
    assert delays[1] - delays[0] == pytest.approx(filtered.profile.velocity_delay, rel=1e-3)


# --- which gains are softened ---


def test_gains_of_a_user_are_softened_by_their_roles(kin):
    """They have no unit by which the package knows a spring."""
    named, known = (RunningLaw(UR5, law) for law in ("unitless_law:WithRoles", "joint_impedance"))
    known.gains.set({"stiffness": 400.0, "damping": 20.0, "damping_ratio": 0.0})
    named.gains.set({"p": 400.0, "d": 20.0})
    for running in (named, known):
        running.gains.finish()
    late, gains = settled(named, kin, 0.004, age=0.03)
    _, expected = settled(known, kin, 0.004, age=0.03)
    assert late.message
    assert gains.p == pytest.approx(expected.stiffness)
    assert gains.d == pytest.approx(expected.damping)
    assert gains.p.max() < 400.0
    assert named.warning == ""


def test_that_a_law_has_no_role_is_told_and_other_is_one(kin):
    nameless, other = (
        RunningLaw(UR5, f"unitless_law:{law}") for law in ("WithoutRoles", "WithNothingToSoften")
    )
    for running in (nameless, other):
        assert settled(running, kin, 0.004, age=0.06)[1] is running.gains.current
    assert "stiffness" in nameless.warning
    assert other.warning == ""


def test_a_single_stiffness_in_newtons_per_metre_acts_on_the_translations_of_the_tip(kin):
    springs = {"stiffness": [4000.0] * 3 + [0.0] * 3, "damping_ratio": 0.0}
    translations = RunningLaw(UR5, "impedance", springs)
    single = SimpleNamespace(
        name="mine", mode=CommandMode.EFFORT, gains=SimpleNamespace(current=_SingleSpring(4000.0))
    )
    fractions = [LateSamples(UR5), LateSamples(UR5)]
    state = RobotState(0.0, HOME, np.zeros(6), np.zeros(6), age=0.04)
    for _ in range(250):
        left = [
            late.observe(running, running.gains.current, state, kin, 0.004)
            for late, running in zip(fractions, (translations, single), strict=True)
        ]
    assert left[1] == pytest.approx(left[0])
    assert left[0] < 1.0


@dataclass(frozen=True, eq=False)
class _SingleSpring:
    spring: float = gain(100.0, unit="N/m", upper=1e4, doc="K.")


@pytest.mark.parametrize("scale", [0.25, 1.0])
def test_an_arm_that_rings_and_is_late_has_what_the_stricter_of_both_leaves(scale):
    loop = ControlLoop(UR5, "impedance")
    for cycle in range(300):
        loop.tick(RobotState(0.004 * cycle, HOME, np.zeros(6), np.zeros(6), age=0.03))
        loop.ringing.scale = scale
    own = loop.running.gains.current.stiffness
    given = loop.recorder.last().settings[-1].gains
    left = given.stiffness[0, 0] / own[0, 0]
    assert given.stiffness == pytest.approx(left * own)
    if scale < 1.0:
        assert left == pytest.approx(scale)
    else:
        assert 0.25 < left < 1.0
