"""What keeps joints off their limits under effort laws: walls, dampers, and damping
near singular postures.
"""

import math
from dataclasses import dataclass, field, replace
from itertools import pairwise

import numpy as np
import pytest
from arms import robot_cases
from limit_trials import EFFORT_LAWS, PLANT_RATE, STILL, Outcome, trial
from scipy.integrate import fixed_quad

from robot_control_ros.control.loop import ControlLoop
from robot_control_ros.control.motion_commands import JOINT_RAMP
from robot_control_ros.control.safety import Safety
from robot_control_ros.control.singular_damping import SingularDamping
from robot_control_ros.control.soft_limits import (
    DELAY,
    HASTE,
    MARGIN,
    SPEED,
    TIP_SPEED,
    SoftLimits,
    is_clear,
)
from robot_control_ros.core.types import Command, CommandMode, Reference, RobotState
from robot_control_ros.laws.running_law import RunningLaw
from robot_control_ros.robot.configuration import load_robot, robot_names
from robot_control_ros.robot.model import RobotModel
from robot_control_ros.simulation.imperfect.delayed import DelayedPlant
from robot_control_ros.simulation.mujoco_plant import MujocoPlant

STATES = 300  # random ones, of each robot
ROBOTS = [
    name
    for name in robot_names()
    if name != "ur5e" and CommandMode.EFFORT in load_robot(name).profile.commands
]
# of the random trials: the others are long
SHOWN = (("ur5", "joint_pid_effort"), ("gen3", "impedance"))
every_robot = pytest.mark.parametrize("name", robot_cases(ROBOTS))


def add(soft_limits, law, state, kin):
    """An effort law's torques with those of the soft limits, as :class:`Safety` asks for them."""
    soft_limits.remember(state)
    clear = is_clear(
        soft_limits.row, law, state.q, state.v, kin.jacobian, kin.gravity, state.age, len(law)
    )
    return law if clear and not soft_limits.acts else soft_limits.add(law, state, kin)


def put_walls_in_place(soft_limits, robot):
    """As where a loop has begun at home: they begin where the first sample is."""
    home = np.array(robot.home)
    soft_limits.reset()
    soft_limits.remember(RobotState(0.0, home, 0.0 * home, 0.0 * home))


@dataclass
class Arm:
    """A robot and what draws random states of it, up to and a little beyond its limits."""

    name: str
    rate: float = 500.0
    joints: tuple[int, ...] = ()
    rng: np.random.Generator = field(default_factory=lambda: np.random.default_rng(5))

    def __post_init__(self):
        self.robot = load_robot(self.name).at_rate(self.rate)
        self.model = RobotModel.of(self.robot)
        self.limits = self.model.limits
        self.soft = SoftLimits(self.robot, self.model)
        self.soft.set_tip_speed(1e6)  # m/s: none

    def state_at_home(self):
        home = np.array(self.robot.home)
        return RobotState(0.0, home, 0.0 * home, 0.0 * home)

    def put_walls_in_place(self):
        put_walls_in_place(self.soft, self.robot)

    def state(self, v=None, age=0.0):
        lower, upper = (
            np.maximum(self.limits.lower, -math.pi),
            np.minimum(self.limits.upper, math.pi),
        )
        q = self.rng.uniform(lower - 0.05, upper + 0.05)
        speed = 1.3 * self.limits.velocity * self.rng.uniform(-1.0, 1.0, self.robot.n)
        return RobotState(0.0, q, speed if v is None else v, np.zeros(self.robot.n), age=age)

    def law(self, kin):
        return kin.gravity + self.limits.effort * self.rng.uniform(-1.0, 1.0, self.robot.n)

    def added(self, law, state):
        kin = self.model.at(state.q, state.v)
        self.put_walls_in_place()
        return add(self.soft, law, state, kin) - law

    def springs(self, q):
        """-dV/dq of V = Σ k x²/2, by central differences of V."""

        def potential(at):
            lower, upper = (
                self.limits.lower + MARGIN + self.soft.zone,
                self.limits.upper - MARGIN - self.soft.zone,
            )
            into = np.maximum(lower - at, 0.0) + np.maximum(at - upper, 0.0)
            return 0.5 * float(np.sum(self.soft.stiffness * np.where(into > 0.0, into, 0.0) ** 2))

        step = 1e-6
        return np.array(
            [(potential(q - e) - potential(q + e)) / (2.0 * step) for e in step * np.eye(len(q))]
        )


@every_robot
def test_at_rest_only_the_springs_act_and_they_have_a_potential(name):
    arm = Arm(name)
    for _ in range(STATES // 10):
        state = arm.state(v=np.zeros(arm.robot.n))
        law = arm.law(arm.model.at(state.q))
        np.testing.assert_allclose(
            arm.added(law, state), arm.springs(state.q), rtol=1e-4, atol=1e-3
        )


@every_robot
def test_the_springs_do_no_work_around_closed_paths(name):
    """Triangles through the range and its walls; the integral is split where a joint
    enters or leaves a wall.
    """
    arm = Arm(name)
    edges = [arm.limits.lower + MARGIN + arm.soft.zone, arm.limits.upper - MARGIN - arm.soft.zone]
    for _ in range(3):
        corners = [arm.state().q for _ in range(3)]
        work = 0.0
        for start, goal in zip(corners, corners[1:] + corners[:1], strict=True):
            way = goal - start

            def power(s, start=start, way=way):
                at = start + s * way
                return float(
                    arm.added(arm.model.at(at).gravity, RobotState(0.0, at, 0.0 * at, 0.0 * at))
                    @ way
                )

            crossings = np.concatenate([(edge - start) / way for edge in edges])
            parts = sorted({0.0, 1.0, *crossings[(crossings > 0.0) & (crossings < 1.0)].tolist()})
            work += sum(fixed_quad(np.vectorize(power), a, b, n=4)[0] for a, b in pairwise(parts))
        assert abs(work) <= 1e-9


@every_robot
@pytest.mark.parametrize("age", [0.0, 0.03])
def test_dampers_only_take_power_and_no_more_than_the_rate_and_the_delay_bear(name, age):
    """-d v with 0 ≤ d ≤ r / (M⁻¹)_ii + τ_max / 0.65 v_max and, in a wall,
    half of the first more.
    """
    arm = Arm(name)
    rate = HASTE / (2.5 / arm.rate + max(age, DELAY))
    for _ in range(STATES):
        state = arm.state(age=age)
        kin = arm.model.at(state.q, state.v)
        damping = arm.added(arm.law(kin), state) - arm.springs(state.q)
        assert np.all(damping * state.v <= 1e-3 * np.abs(state.v))
        whole = arm.limits.effort / (SPEED * arm.limits.velocity)
        most = whole + 1.5 * rate / np.diag(np.linalg.inv(arm.model.mass(state.q)))
        assert np.all(np.abs(damping) <= most * np.abs(state.v) + 1e-3)


@every_robot
def test_far_from_all_limits_the_torque_is_the_laws_to_the_last_bit(name):
    arm, seen = Arm(name), 0
    for _ in range(STATES):
        home = np.array(arm.robot.home)
        v = 0.15 * arm.limits.velocity * arm.rng.uniform(-1.0, 1.0, arm.robot.n)
        kin = arm.model.at(home, v)
        law = kin.gravity + 0.05 * arm.limits.effort * arm.rng.uniform(-1.0, 1.0, arm.robot.n)
        for age in (0.0, 0.003):  # an old sample takes the long way
            sent = add(arm.soft, law, RobotState(0.0, home, v, 0.0 * v, age=age), kin)
            seen += sent is law and not arm.soft.active.any()
    assert seen == 2 * STATES


@pytest.mark.parametrize("name", ["ur5", "gen3"])
def test_the_order_of_the_joints_does_not_matter(name):
    arm = Arm(name)
    order = np.random.default_rng(2).permutation(arm.robot.n)
    names = ("joints", "home", "rotor_inertia", "effort_rate", "safe_damping")
    changed = {key: tuple(getattr(arm.robot, key)[i] for i in order) for key in names}
    robot = replace(arm.robot, **changed)
    model = RobotModel.of(robot)
    other = SoftLimits(robot, model)
    other.set_tip_speed(1e6)
    np.testing.assert_allclose(other.zone, arm.soft.zone[order], rtol=1e-9)
    np.testing.assert_allclose(other.stiffness, arm.soft.stiffness[order], rtol=1e-9)
    for joint in range(arm.robot.n):  # one that is fast, so that the turns don't matter
        state = arm.state(v=1.1 * arm.limits.velocity * (np.arange(arm.robot.n) == joint))
        law = arm.law(arm.model.at(state.q, state.v))
        moved = RobotState(0.0, state.q[order], state.v[order], state.effort[order])
        put_walls_in_place(other, robot)
        theirs = add(other, law[order], moved, model.at(moved.q, moved.v)) - law[order]
        np.testing.assert_allclose(theirs, arm.added(law, state)[order], rtol=1e-6, atol=1e-6)


def test_a_joint_that_the_law_drives_too_fast_stops_gaining_speed_and_is_named():
    arm = Arm("ur5")
    v = np.zeros(6)
    v[2] = 0.85 * arm.limits.velocity[2]
    state = RobotState(7.0, np.array(arm.robot.home), v, np.zeros(6))
    kin = arm.model.at(state.q, v)
    law = kin.gravity + np.array([0.0, 0.0, 20.0, 0.0, 0.0, 0.0])
    sent = add(arm.soft, law, state, kin)
    assert arm.model.forward_dynamics(state.q, v, law)[2] > 0.0
    assert arm.model.forward_dynamics(state.q, v, sent)[2] < 0.0
    assert arm.soft.active.tolist() == [False, False, True, False, False, False]
    assert arm.robot.joints[2] in arm.soft.warning(7.5)
    assert arm.soft.warning(8.5) == ""


def test_a_joint_in_its_wall_is_named_with_the_limit():
    arm = Arm("gen3")
    q = np.array(arm.robot.home)
    q[3] = arm.limits.lower[3] + 0.01
    state = RobotState(7.0, q, np.zeros(7), np.zeros(7))
    kin = arm.model.at(q)
    arm.put_walls_in_place()
    add(arm.soft, kin.gravity, state, kin)
    assert arm.robot.joints[3] in arm.soft.warning(7.0)
    assert f"{arm.limits.lower[3]:.3g}" in arm.soft.warning(7.0)


@pytest.mark.parametrize("name", ["ur5", "gen3"])
def test_position_commands_brake_before_a_limit_and_reach_it(name):
    robot = load_robot(name)
    model = RobotModel.of(robot)
    limits, dt = model.limits, robot.period
    safety, q = Safety(robot, limits), np.array(robot.home)
    joint = int(np.flatnonzero(np.isfinite(limits.upper))[0])
    wanted = q.copy()
    wanted[joint] = limits.upper[joint] + 1.0
    last, stopping = q, 4.0 * limits.velocity[joint]
    for _ in range(round(10.0 / dt)):
        state = RobotState(0.0, last, 0.0 * q, np.full(robot.n, np.nan))
        sent = safety.apply(Command(CommandMode.POSITION, wanted), state, model.at(last), dt).values
        speed, room = (sent[joint] - last[joint]) / dt, limits.upper[joint] - last[joint]
        assert speed <= math.sqrt(2.0 * stopping * room) + stopping * dt
        last = sent
    assert last[joint] == limits.upper[joint]


def test_a_single_wrong_sample_changes_nothing():
    arm = Arm("ur5")
    still = RobotState(0.0, np.array(arm.robot.home), np.zeros(6), np.zeros(6))
    wild = RobotState(
        0.0, np.array([9.0, -9.0, 9.0, 9.0, -9.0, 9.0]), np.full(6, 50.0), np.zeros(6)
    )
    law = arm.model.at(still.q).gravity
    for state in (still, still, wild, still, still):
        assert add(arm.soft, law, state, arm.model.at(state.q, state.v)) is law


# --- the tip ---


def tip_acceleration(arm, state, torque):
    """Of the tip along its velocity [m/s²], by differences of its velocity on the way that
    the torque leads to.
    """
    step = 1e-6
    a = arm.model.forward_dynamics(state.q, state.v, torque)

    def velocity(s):
        q = state.q + s * state.v + 0.5 * s * s * a
        v = state.v + s * a
        return (arm.model.at(q, v).jacobian @ v)[:3]

    along = velocity(0.0) / np.linalg.norm(velocity(0.0))
    return float((velocity(step) - velocity(-step)) @ along) / (2.0 * step)


def moving_at(arm, speed):
    """A state at home whose tip has a speed [m/s] in a random direction, with slow joints."""
    q = np.array(arm.robot.home)
    twist = np.concatenate((arm.rng.normal(size=3), np.zeros(3)))
    v = np.linalg.pinv(arm.model.at(q).jacobian) @ (speed * twist / np.linalg.norm(twist))
    return RobotState(0.0, q, v, 0.0 * q)


@every_robot
def test_the_tips_damper_lets_it_gain_speed_by_a_rate_and_only_takes_power(name):
    if name == "planar_two_link":
        pytest.skip("its tip moves in a plane")
    arm, seen = Arm(name), 0
    limit = 0.5
    rate = HASTE / (2.5 / arm.rate + DELAY)
    arm.soft.set_tip_speed(limit)
    for share in np.linspace(0.5, 1.1, STATES // 10):
        state = moving_at(arm, share * limit)
        kin = arm.model.at(state.q, state.v)
        law = kin.gravity + kin.jacobian[:3].T @ (100.0 * arm.rng.normal(size=3))
        added = arm.added(law, state)
        assert added @ state.v <= 1e-9
        allowed = rate * (TIP_SPEED - share) * limit
        slack = 0.02 * abs(allowed) + 0.02
        gained = tip_acceleration(arm, state, law + added)
        assert gained <= allowed + slack
        seen += bool(added.any()) and gained >= allowed - slack
    assert seen > 0


# --- near singular postures ---


def added(damping, running, state, model, pull=(0.0, 0.0, 0.0)):
    """The torque (n,) that a damping adds to a law's, whose target is `pull` [m] from the tip."""
    kin, pose = model.at(state.q, state.v), np.eye(4)
    pose[:3, :3], pose[:3, 3] = kin.pose[:3, :3], kin.pose[:3, 3] + pull
    law = Command(CommandMode.EFFORT, np.zeros(model.n))
    return damping.add(law, running, Reference(pose=pose), state, kin, 1.0).values


@every_robot
def test_singular_damping_only_takes_power_and_is_none_away_from_singular_postures(name):
    arm = Arm(name)
    damping, running = SingularDamping(arm.robot), RunningLaw(arm.robot, "impedance")
    seen = 0
    for _ in range(STATES):
        state = arm.state()
        if arm.rng.random() < 0.3:
            # the elbow, nearly straight
            state.q[min(2 + (name == "gen3"), arm.robot.n - 1)] = arm.rng.normal() * 0.02
        torque = added(damping, running, state, arm.model, arm.rng.normal(size=3))
        seen += torque.any()
        assert torque @ state.v <= 1e-9
    assert 0 < seen < STATES
    home = RobotState(0.0, np.array(arm.robot.home), arm.limits.velocity, np.zeros(arm.robot.n))
    assert not added(damping, running, home, arm.model).any()


@pytest.mark.parametrize("pull", [-0.05, 0.0, 0.05, 0.1])
def test_singular_damping_is_critical_for_the_pendulum_that_a_stretched_arm_is(pull):
    """By an independent formula: V = -f p(q) along the null vector of J, p by differences of the
    tip's position.

    Drawn inwards the arm stands on a saddle, and is damped least. What moves the tip is left alone.
    """
    arm = Arm("ur5")
    q = np.array(arm.robot.home)
    q[2] = 0.0
    kin, step = arm.model.at(q), 1e-3
    *_, rows = np.linalg.svd(kin.jacobian)
    null = rows[5] / math.sqrt(rows[5] @ kin.mass @ rows[5])
    places = [arm.model.at(q + k * step * null).pose[:3, 3] for k in (-1, 0, 1)]
    bend = (places[0] - 2.0 * places[1] + places[2]) / step**2
    outwards = -bend / np.linalg.norm(bend)
    running = RunningLaw(
        arm.robot, "impedance", {"stiffness": [500.0] * 3 + [50.0] * 3, "max_force": 0.0}
    )
    curvature = 500.0 * pull * outwards @ -bend
    rate = min(max(2.0 * math.sqrt(max(curvature, 0.0)), 2.5), 10.0)
    moving = np.linalg.solve(kin.mass, kin.jacobian.T @ np.ones(6))
    for v, wanted in ((null, rate), (moving, 0.0)):
        state = RobotState(0.0, q, v, 0.0 * v)
        torque = added(SingularDamping(arm.robot), running, state, arm.model, pull * outwards)
        slack = 2e-3 * max(1.0, np.abs(v).max() * wanted)
        np.testing.assert_allclose(np.linalg.solve(kin.mass, torque), -wanted * v, atol=slack)


@pytest.mark.parametrize("law", ["joint_impedance", "gravity_compensation"])
def test_laws_without_a_spring_at_the_tip_get_no_singular_damping(law):
    arm = Arm("ur5")
    state = RobotState(0.0, np.zeros(6), np.ones(6), np.zeros(6))
    assert not added(SingularDamping(arm.robot), RunningLaw(arm.robot, law), state, arm.model).any()


# --- the safe output ---


def pushed_while_stopped(arm, joint, before, limited=True, step=0.0005):
    """How far past its upper limit a joint gets [rad], from `before` it, under 60 % of what its
    effort limit leaves.

    The others stand, and give way: what turns is the joint's own inertia. Torques act 2 ms late.
    """
    q, v = np.array(arm.robot.home), np.zeros(arm.robot.n)
    q[joint] = arm.limits.upper[joint] - before
    kin = arm.model.at(q)
    inverse = np.linalg.inv(kin.mass)[joint, joint]
    push = 0.6 * max(arm.limits.effort[joint] - abs(kin.gravity[joint]), 0.0)
    safety = Safety(arm.robot, arm.limits, arm.soft if limited else None)
    every, torques = round(arm.robot.period / step), [0.0] * round(DELAY / step)
    for k in range(round(0.5 / step)):
        if k % every == 0:
            state = RobotState(k * step, q.copy(), v.copy(), np.full(arm.robot.n, np.nan))
            sent = safety.safe_output(
                CommandMode.EFFORT, state, arm.model.at(q, v), arm.robot.period
            )
        torques.append(sent.values[joint] - kin.gravity[joint])
        v[joint] += step * (torques[k] + push) * inverse
        q[joint] += step * v[joint]
        if v[joint] <= 0.0:
            break
    return q[joint] - arm.limits.upper[joint]


@every_robot
@pytest.mark.parametrize("rate", [500.0, 1000.0])
def test_a_stopped_arm_that_is_pushed_does_not_pass_a_position_limit(name, rate):
    arm = Arm(name, rate)
    bounded = np.flatnonzero(np.isfinite(arm.limits.upper))
    assert all(
        pushed_while_stopped(arm, joint, before) <= 0.0
        for joint in bounded
        for before in (0.05, 0.1)
    )
    assert all(pushed_while_stopped(arm, joint, 0.1, limited=False) > 0.0 for joint in bounded)


@every_robot
def test_the_safe_efforts_have_the_torques_of_the_soft_limits(name):
    arm, seen = Arm(name), 0
    bound = Safety(arm.robot, arm.limits, arm.soft)
    plain = Safety(arm.robot, arm.limits)
    for _ in range(STATES // 10):
        state = arm.state()
        kin = arm.model.at(state.q, state.v)
        home = arm.state_at_home()
        for each in (bound, plain):
            each.reset()
            each.safe_output(CommandMode.EFFORT, home, arm.model.at(home.q), arm.robot.period)
        sent, without = (
            each.safe_output(CommandMode.EFFORT, state, kin, arm.robot.period).values
            for each in (bound, plain)
        )
        added = arm.added(without, state)
        seen += added.any()
        np.testing.assert_array_equal(
            sent, np.clip(without + added, -arm.limits.effort, arm.limits.effort)
        )
    assert seen > 0


def test_samples_from_before_a_change_of_mode_do_not_count():
    """The median of three samples: two old ones outvote a new one."""
    arm = Arm("ur5")
    safety, home = Safety(arm.robot, arm.limits, arm.soft), np.array(arm.robot.home)
    fast = RobotState(0.0, home, 1.2 * arm.limits.velocity, np.zeros(6))
    kin = arm.model.at(home, fast.v)
    still = replace(fast, v=np.zeros(6))
    for _ in range(3):
        safety.apply(Command(CommandMode.EFFORT, kin.gravity), still, kin, 0.002)
    safety.apply(Command(CommandMode.POSITION, home), still, kin, 0.002)
    assert arm.soft.active.tolist() == [False] * 6
    safety.apply(Command(CommandMode.EFFORT, kin.gravity), fast, kin, 0.002)
    assert arm.soft.active.tolist() == [True] * 6


# --- in the loop ---


def test_the_report_has_torques_and_flags_that_make_up_the_command():
    arm = Arm("ur5")
    loop = ControlLoop(arm.robot, "impedance", model=arm.model)
    q, v = np.array(arm.robot.home), np.zeros(6)
    q[2] = arm.limits.upper[2] - 0.8 * arm.soft.zone[2]
    for k in range(100):
        sent = loop.tick(RobotState(k * arm.robot.period, q, v, np.full(6, np.nan)))
    report = loop.report()
    assert report.soft_limited[2]
    assert report.soft_limited.tolist() == (report.terms["soft_limits"] != 0.0).tolist()
    np.testing.assert_allclose(sum(report.terms.values()), sent.values, atol=1e-9)
    assert arm.robot.joints[2] in loop.warning


@pytest.mark.sim
def test_a_target_beyond_reach_is_told_when_the_arm_stands():
    pytest.importorskip("mujoco")
    outcome = trial("ur5", "impedance", targets=[(1.25, 0.0, 0.3)], pushes=0.0)
    assert outcome.warning
    assert outcome.distance > 0.19  # m: the governor lets the reference wait at 100 N / (500 N/m)


# --- the arm in MuJoCo ---


@pytest.mark.few(1)
@pytest.mark.sim
@pytest.mark.parametrize(
    ("rate", "delay"), [pytest.param(500.0, 0.0, marks=pytest.mark.long), (500.0, 0.002)]
)
@pytest.mark.parametrize("name", ["ur5", "gen3"])
def test_a_target_that_is_drawn_out_beyond_reach_keeps_the_limits_and_the_arm_comes_to_rest(
    name, rate, delay
):
    pytest.importorskip("mujoco")
    outcome = trial(
        name, "impedance", targets=[(1.25, 0.0, 0.3)], pushes=0.0, rate=rate, delay=delay, speed=0.4
    )
    assert outcome.speed <= 1.0
    assert outcome.beyond <= 0.0
    assert outcome.rest <= 0.01


@pytest.mark.few(1)
@pytest.mark.sim
@pytest.mark.parametrize("law", ["joint_impedance", "joint_pid_effort"])
def test_a_joint_target_of_a_gen3_arrives_within_a_second_of_its_way_over_its_speed(law):
    """It moves at `joint_speed` of the limits, which it reaches in half a second."""
    pytest.importorskip("mujoco")
    robot = load_robot("gen3").at_rate(500.0)
    loop, plant = ControlLoop(robot, law), MujocoPlant(robot, rate=PLANT_RATE)
    way = np.array([0.3, 0.4, -0.3, -0.4, 0.5, 0.3, -0.6])
    plant.reset(None)
    line = DelayedPlant(plant, PLANT_RATE, rate=500.0, delay=0.0)
    line.open()
    line.write(loop.tick(line.read()))
    goal = loop.state.q + way
    loop.motion.move_joints_to(goal)
    nominal = (
        float((np.abs(way) / loop.model.limits.velocity).max()) / robot.joint_speed + JOINT_RAMP
    )
    moved = 0.0
    while loop.state.time < nominal + 2.0:
        line.write(loop.tick(line.read()))
        if np.abs(loop.state.v).max() > STILL:
            moved = loop.state.time
    assert nominal - 0.5 < moved < nominal + 1.0
    np.testing.assert_allclose(loop.state.q, goal, rtol=0, atol=1e-3)


@pytest.mark.few(1)
@pytest.mark.sim
@pytest.mark.parametrize(
    ("name", "law"),
    [
        pytest.param(name, law, marks=() if (name, law) in SHOWN else pytest.mark.long)
        for name in ("ur5", "gen3")
        for law in EFFORT_LAWS
    ],
)
def test_random_targets_and_pushes_keep_the_limits(name, law):
    pytest.importorskip("mujoco")
    _check(trial(name, law, count=3, rate=500.0, delay=0.002, seed=1))


@pytest.mark.long
@pytest.mark.sim
@pytest.mark.parametrize("delay", [0.0, 0.002])
@pytest.mark.parametrize("rate", [500.0, 1000.0])
@pytest.mark.parametrize("law", EFFORT_LAWS)
@pytest.mark.parametrize("name", ["ur5", "ur5e", "gen3"])
def test_random_targets_and_pushes_keep_the_limits_for_long(name, law, rate, delay):
    pytest.importorskip("mujoco")
    _check(trial(name, law, count=30, rate=rate, delay=delay))


def _check(outcome: Outcome) -> None:
    assert outcome.beyond <= 0.0
    assert outcome.speed <= 1.05
    assert outcome.faults == ()


def test_a_reference_without_pose_has_no_distance_to_tell():
    arm = Arm("ur5")
    loop = ControlLoop(arm.robot, "impedance", model=arm.model)
    loop.tick(RobotState(0.0, np.zeros(6), np.zeros(6), np.full(6, np.nan)))
    loop.motion.reference = Reference()
    assert loop.warning == ""
