"""Switching laws while the robot moves: no step of the command beyond safety's rates, and
the target is reached.
"""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from joint_moves import JointMove
from laws_under_test import LAWS, has_target, outputs

from robot_control_ros.control.loop import ControlLoop
from robot_control_ros.core.errors import ConfigError
from robot_control_ros.core.types import Command, CommandMode, RobotState
from robot_control_ros.laws import law_class
from robot_control_ros.laws.gravity_compensation import GravityCompensation
from robot_control_ros.laws.running_law import RunningLaw
from robot_control_ros.references import Circle
from robot_control_ros.robot.configuration import load_robot
from robot_control_ros.robot.model import RobotModel

pytest.importorskip("mujoco")
from switch_trials import Switches

from evidence.contact.trial_arm import RATE, TrialArm, cycles, trial_robot
from robot_control_ros.simulation.mujoco_plant import MujocoPlant

pytestmark = pytest.mark.sim

ROBOTS = {name: load_robot(name) for name in ("ur5", "gen3")}
LONG = pytest.mark.long
USUAL = ["ur5", pytest.param("gen3", marks=LONG)]  # a second robot where one shows most
EVERY = 50  # cycles from one switch to the next: half of the handover's time constant
SHOWN = ("impedance", "admittance-position", "position_domain_pd-position")


VARIANTS = [(law, word) for law in LAWS for word in outputs(law)]
TARGETS = {law: has_target(law, ROBOTS["ur5"]) for law in LAWS}
TARGETING = [variant for variant in VARIANTS if TARGETS[variant[0]]]


def name(variant):
    return "-".join(filter(None, variant))


def usual(variants):
    """One law of each kind of command, and the others as long tests: each pair of laws is
    tested at any rate.
    """
    return [
        pytest.param(each, id=name(each), marks=() if name(each) in SHOWN else LONG)
        for each in variants
    ]


class Rig:
    """A loop on a simulated robot that checks every command."""

    def __init__(self, robot, variant):
        self.robot = ROBOTS[robot]
        self.plant = MujocoPlant(self.robot)
        self.model = RobotModel.of(self.robot)
        self.laws = {}
        self.loop = ControlLoop(self.robot, self.law(variant), model=self.model)
        self.sent = self.state = None
        self.added = np.zeros(self.robot.n, dtype=bool)  # by soft limits
        self.torque = np.zeros(self.robot.n)  # fed forward, of the last command
        self.modes = set()
        self.home = np.array(self.robot.home)
        self.step()

    def law(self, variant):
        """As a node does: one object per law, used again whenever it runs again."""
        if variant not in self.laws:
            law, word = variant
            values = {} if word is None else {"output": word}
            if word == "position" and hasattr(law_class(law).Gains, "gravity"):
                values["gravity"] = False  # the simulated servos know their load
            self.laws[variant] = RunningLaw(self.robot, law, values)
        return self.laws[variant]

    def switch(self, variant):
        self.loop.switch_law(self.law(variant))

    def step(self):
        state = self.plant.read()
        sent = self.loop.tick(state)
        self._check(sent, state)
        self.plant.write(sent)
        self.sent, self.state = sent, state
        self.modes.add(sent.mode)
        return sent

    def steps(self, count):
        for _ in range(count):
            self.step()

    def holding(self, mode, state):
        """What holds the robot where it is, or lets it go on as fast as it does.

        Drives that were led by positions or velocities hold the wrench at the tip, too.
        """
        kin = self.model.at(state.q)
        torque = kin.gravity
        wrench = self.loop.state.wrench_on_tip
        if self.sent is not None and wrench is not None:
            torque = torque - kin.jacobian.T @ wrench
        return {
            CommandMode.EFFORT: np.clip(
                torque, -self.model.limits.effort, self.model.limits.effort
            ),
            CommandMode.POSITION: state.q,
            CommandMode.VELOCITY: np.clip(
                state.v, -self.model.limits.velocity, self.model.limits.velocity
            ),
        }[mode]

    def _check(self, sent, state):
        limits, dt = self.model.limits, self.robot.period
        assert self.loop.safety.fault == ""
        assert np.isfinite(sent.values).all()
        largest = np.array(self.robot.effort_rate) * dt
        step = {
            CommandMode.EFFORT: largest,
            CommandMode.POSITION: limits.velocity * dt,
            CommandMode.VELOCITY: 4.0 * limits.velocity * dt,
        }[sent.mode]
        same = self.sent is not None and sent.mode is self.sent.mode
        last = self.sent.values if same else self.holding(sent.mode, state)
        added = (sent.mode is CommandMode.EFFORT) & self.loop.soft_limits.active
        # soft limits brake a fast joint at once
        step = np.where(added | self.added, 2.0 * limits.effort, step)
        self.added = added
        assert np.all(np.abs(sent.values - last) <= step * (1.0 + 1e-9) + 1e-12), (sent.mode, same)
        torque = np.zeros(self.robot.n) if sent.feedforward is None else sent.feedforward
        before = self.torque if same else np.zeros(self.robot.n)
        assert np.all(np.abs(torque - before) <= largest * (1.0 + 1e-9) + 1e-12), (
            "torque fed forward"
        )
        self.torque = torque
        if sent.velocity is not None:
            assert np.isfinite(sent.velocity).all()
            assert np.all(np.abs(sent.velocity) <= limits.velocity)


def begin_circle(rig):
    rig.loop.motion.trajectory = Circle(rig.loop.tip(), 0.06, 2.5, time=rig.state.time, fade=0.5)


def begin_joint_move(rig):
    rig.loop.motion.move_joints_to(rig.home + 0.3 * np.cos(np.arange(rig.robot.n)))


def begin_push(rig):
    rig.plant.push(rig.robot.tip, np.array([15.0, -10.0, 8.0]), np.zeros(3))


MOTIONS = {"circle": begin_circle, "joint move": begin_joint_move, "push": begin_push}


def settle_on(rig, pose):
    """Error (m, rad) 4 s after the tip was sent to a pose, and the fastest joint 1 s later; a null
    space takes 6 s.

    The slowest law, admittance, takes its error back at 1/s.
    """
    rig.plant.push(rig.robot.tip, np.zeros(3), np.zeros(3))
    rig.loop.motion.move_to(pose)
    rig.steps(round(4.0 / rig.robot.period))
    error = np.abs(rig.loop.pose_error()).max()
    rig.steps(round((6.0 if rig.robot.n > 6 else 1.0) / rig.robot.period))
    return error, np.abs(rig.state.v).max()


# --- many switches ---


@pytest.mark.parametrize("robot", USUAL)
@pytest.mark.parametrize("motion", MOTIONS)
@pytest.mark.long
def test_twenty_switches_while_moving_neither_jerk_nor_lose_the_target(robot, motion):
    rng = np.random.default_rng(7)
    rig = Rig(robot, VARIANTS[0])
    start = rig.loop.tip()
    MOTIONS[motion](rig)
    rig.steps(100)
    last = None
    for _ in range(20):
        others = [variant for variant in VARIANTS if variant != last]
        last = others[rng.integers(len(others))]
        rig.switch(last)
        rig.steps(EVERY)
    assert rig.modes == set(CommandMode)
    rig.switch(TARGETING[rng.integers(len(TARGETING))])
    error, speed = settle_on(rig, start)
    assert error < 1e-3
    assert speed < 1e-2


def every_pair(count):
    """Numbers 0 … count - 1 in an order in which each of them follows each
    other one exactly once.
    """
    order = [number for i in range(count) for j in range(i + 1, count) for number in (i, j)]
    return [*order, 0]


def test_the_order_of_switches_holds_every_pair_once():
    order = every_pair(len(VARIANTS))
    pairs = list(pairwise(order))
    assert len(pairs) == len(set(pairs)) == len(VARIANTS) * (len(VARIANTS) - 1)
    assert all(a != b for a, b in pairs)


@pytest.mark.parametrize("robot", USUAL)
@pytest.mark.parametrize("motion", ["circle", pytest.param("push", marks=LONG)])
def test_every_law_takes_over_from_every_other_one(robot, motion):
    rig = Rig(robot, VARIANTS[0])
    start = rig.loop.tip()
    MOTIONS[motion](rig)
    for number in every_pair(len(VARIANTS)):
        rig.switch(VARIANTS[number])
        rig.steps(EVERY)
        assert rig.loop.running is rig.law(VARIANTS[number])
        assert rig.sent.mode is rig.loop.running.mode
    rig.switch(TARGETING[0])
    error, speed = settle_on(rig, start)
    assert error < 1e-3
    assert speed < 1e-2


@pytest.mark.few(1)
@pytest.mark.parametrize("robot", USUAL)
@pytest.mark.parametrize("variant", usual(TARGETING))
def test_a_law_that_takes_over_in_mid_motion_keeps_to_the_path(robot, variant):
    """As near to the path as an arm whose law isn't switched, and half a centimetre for
    servos that start at 0.
    """
    rig, twin = (Rig(robot, ("impedance", None)) for _ in range(2))
    start = rig.loop.tip()
    for each in (rig, twin):
        begin_circle(each)
        each.steps(400)
    rig.switch(variant)
    for _ in range(150):
        rig.step()
        twin.step()
        lag = np.linalg.norm(twin.loop.pose_error()[:3])
        assert np.linalg.norm(rig.loop.tip()[:3, 3] - twin.loop.tip()[:3, 3]) < lag + 0.005
    error, speed = settle_on(rig, start)
    assert error < 1e-3
    assert speed < 1e-2


@pytest.mark.long
def test_switches_in_every_cycle_are_no_harder():
    rng = np.random.default_rng(8)
    rig = Rig("gen3", VARIANTS[0])
    start = rig.loop.tip()
    begin_circle(rig)
    for _ in range(300):
        rig.switch(VARIANTS[rng.integers(len(VARIANTS))])
        rig.step()
    rig.switch(("joint_impedance", None))
    error, _ = settle_on(rig, start)
    assert error < 1e-3


# --- under load, in contact, and late ---

SWITCHED = 1.5  # s, at which the law is switched
# gravity_compensation has no target: it leaves a circle by v² t² / 2 r. joint_pid lags by v T / P,
# which is 7 mm on this circle; two others lag by what their springs give way to.
LAGGING = {  # m
    "gravity_compensation": 0.017,
    "joint_pid": 0.0075,
    "joint_pid_effort": 0.005,
    "task_space_pd": 0.0055,
}
BEYOND = pytest.mark.xfail(strict=True, reason="impedance lags on Gen3: 3.7 mm to joint_impedance")
MOVING = [
    pytest.param(
        robot,
        delay,
        each,
        id=f"{robot}-{delay}-{name(each)}",
        marks=[LONG, BEYOND] if (robot, each[0]) == ("gen3", "impedance") else [],
    )
    for robot, delay in (("ur5e", 0.002), ("ur5e", 0.004), ("gen3", 0.004))
    for each in VARIANTS
    if name(each) in SHOWN
]


@pytest.mark.few(2)
@pytest.mark.parametrize("name", ["ur5e", "gen3"])
@pytest.mark.parametrize("delay", [0.0, 0.004])
def test_a_law_without_a_spring_that_takes_over_as_a_push_ends_does_not_drive_on(name, delay):
    """45 N over 500 N/m have 2 J in the spring. None of them go on with an arm that
    isn't held any more.
    """
    robot = trial_robot(name)
    arm = TrialArm(robot)
    loop = ControlLoop(robot, "impedance")
    switched = round(SWITCHED * RATE)
    ways, energies = [], []
    for k, (_, kin) in enumerate(cycles(arm, loop, delay, SWITCHED + 0.4)):
        if k == 0:
            arm.push(robot.tip, np.array([0.0, 45.0, 0.0]), np.zeros(3))
        if k == switched:
            arm.push(robot.tip, np.zeros(3), np.zeros(3))
            loop.switch_law(RunningLaw(robot, "gravity_compensation"))
        if k >= switched:
            ways.append(kin.pose[:3, 3])
            energies.append(0.5 * kin.v @ kin.mass @ kin.v)
    assert max(energies) < 0.12  # J
    assert np.linalg.norm(ways[-1] - ways[0]) < 0.1  # m


@pytest.mark.few(1)
@pytest.mark.parametrize("name", [pytest.param("ur5e", marks=pytest.mark.long), "gen3"])
@pytest.mark.parametrize("law", ["joint_impedance", "joint_pid_effort", "position_domain_pd"])
def test_a_law_of_the_joints_that_takes_over_in_contact_neither_leaps_off_nor_strikes(name, law):
    """The tip is pressed on a wall with 40 N. The new law may press harder, as its stiffness
    wants, but only slowly.
    """
    robot = trial_robot(name)
    arm = TrialArm(robot, "wall")
    loop = ControlLoop(robot, "impedance", {"stiffness": [1000.0] * 3 + [50.0] * 3})
    switched = round(2.0 * RATE)
    depths = []
    for k, (_, kin) in enumerate(cycles(arm, loop, 0.002, 3.5)):
        if k == 1:
            goal = loop.tip().copy()
            goal[0, 3] = 0.64  # m: 40 mm behind where the wall holds the tip
            loop.motion.move_to(goal)
        if k == switched:
            pressed = len(arm.forces)
            loop.switch_law(RunningLaw(robot, law))
        depths.append(kin.pose[0, 3])
    forces = -np.array(arm.forces)[:, 0]
    assert forces[pressed - 1] == pytest.approx(40.0, abs=1.0)
    assert depths[switched] - min(depths[switched:]) < 0.5e-3
    assert forces[pressed:].max() < 1.1 * max(forces[pressed - 1], forces[-1])


@pytest.mark.few(2)
@pytest.mark.parametrize("name", ["ur5e", "gen3"])
@pytest.mark.parametrize("law", [("joint_pid", None), ("position_domain_pd", "position")])
def test_a_law_that_does_not_give_way_holds_where_the_tip_is_pressed(name, law):
    """Its drives would go to the target behind the wall, with hundreds of newtons. A target that
    comes later is gone to.
    """
    robot = trial_robot(name)
    arm = TrialArm(robot, "wall")
    loop = ControlLoop(robot, "impedance", {"stiffness": [1000.0] * 3 + [50.0] * 3})
    switched = round(2.0 * RATE)
    back = round(3.0 * RATE)
    for k, _ in enumerate(cycles(arm, loop, 0.002, 5.0)):
        if k == 1:
            start = loop.tip().copy()
            goal = start.copy()
            goal[0, 3] = 0.64  # m: 40 mm behind where the wall holds the tip
            loop.motion.move_to(goal)
        if k == switched:
            pressed = len(arm.forces)
            gains = {} if law[1] is None else {"output": law[1], "gravity": False}
            loop.switch_law(RunningLaw(robot, law[0], gains))
        if k == back:
            loop.motion.move_to(start)
    forces = np.linalg.norm(np.array(arm.forces), axis=1)
    assert forces[pressed - 1] == pytest.approx(40.0, abs=1.0)
    assert forces[pressed:].max() < 1.1 * forces[pressed - 1]
    assert loop.fault == ""
    assert loop.tip()[:3, 3] == pytest.approx(start[:3, 3], abs=2e-3)


@pytest.mark.starts("each switch goes on in a fork of the arm that was led to it")
@pytest.mark.few(1)
@pytest.mark.parametrize(("name", "delay", "first"), MOVING)
def test_motors_and_tip_go_on_where_a_law_takes_over_in_motion(name, delay, first):
    """From one law to all others: see LAGGING for those that can't be where the old law would be.
    What an old law lags behind its reference the new one takes back.
    """
    switches = Switches(name, "motion", delay, first)
    twin = switches.way()
    for law in VARIANTS:
        if law == first:
            continue
        got = switches.switched(law, twin)
        assert got.fault == ""
        assert got.step <= 1.5, law
        lags = [LAGGING.get(each, 0.0) for each in (first[0], law[0])]
        assert got.away <= max(3e-3, got.lag, *lags), law


@pytest.mark.few(2)
@pytest.mark.parametrize("name", ["ur5e", "gen3"])
@pytest.mark.parametrize("law", ["admittance", "force_control", "position_domain_pd"])
def test_positions_that_take_over_in_motion_do_not_brake_the_tip(name, law):
    """Over a line that is a period late; the drives would go back to where the last sample was."""
    robot = trial_robot(name)
    arm = TrialArm(robot)
    loop = ControlLoop(robot, "impedance")
    gains = {"output": "position"} | ({} if law == "admittance" else {"gravity": False})
    switched = round(SWITCHED * RATE)
    speeds = []
    for k, (state, kin) in enumerate(cycles(arm, loop, 0.002, SWITCHED + 0.3)):
        if k == 0:
            loop.motion.trajectory = Circle(loop.tip(), 0.06, 2.5, time=state.time, fade=0.5)
        if k == switched:
            loop.switch_law(RunningLaw(robot, law, gains))
        speeds.append(np.linalg.norm(kin.twist[:3]))
    assert speeds[switched] > 0.14
    assert np.abs(np.array(speeds[switched:]) - speeds[switched]).max() < 0.02  # m/s


# --- to itself ---


@pytest.mark.long
@pytest.mark.parametrize("robot", USUAL)
@pytest.mark.parametrize("variant", usual(VARIANTS))
def test_a_law_that_takes_over_from_itself_gives_no_bump(robot, variant):
    rig, twin = Rig(robot, variant), Rig(robot, variant)
    for each in (rig, twin):
        goal = each.home + 0.3 * np.cos(np.arange(each.robot.n))
        speed = 0.3 * each.model.limits.velocity
        each.loop.motion.trajectory = JointMove(
            each.model, each.state.q, goal, each.state.time, speed
        )
        each.steps(150)
    before = rig.sent.values
    pace = np.abs(twin.step().values - before).max()
    rig.loop.switch_law(rig.loop.running)
    assert np.abs(rig.step().values - before).max() <= pace + 1e-9
    for each in (rig, twin):
        each.steps(2500)
    # what floats, or leaves the elbow of the gen3 free, may come to rest somewhere else: so without
    # what holds it there
    beyond = [each.sent.values - each.holding(each.sent.mode, each.state) for each in (rig, twin)]
    assert np.abs(beyond[0] - beyond[1]).max() < 1e-6 * max(1.0, np.abs(twin.sent.values).max())
    assert rig.loop.tip() == pytest.approx(twin.loop.tip(), abs=1e-5)


# --- modes ---


@pytest.mark.parametrize("robot", USUAL)
def test_each_mode_starts_from_what_holds_the_robot(robot):
    """Effort, position, velocity, each from each: the rig compares the first command with it."""
    rig = Rig(robot, ("impedance", None))
    start = rig.loop.tip()
    begin_circle(rig)
    rig.steps(300)
    order = [("admittance", "position"), ("joint_pid", None), ("joint_impedance", None)]
    order += [("admittance", "velocity"), ("admittance", "position"), ("task_space_pd", None)]
    for variant in order:
        before = rig.sent.mode
        rig.switch(variant)
        rig.step()
        assert rig.sent.mode is not before
        rig.steps(100)
    assert settle_on(rig, start)[0] < 1e-3


@pytest.mark.long
@pytest.mark.parametrize("robot", USUAL)
@pytest.mark.parametrize("law", sorted({law for law, word in VARIANTS if word is not None}))
def test_what_a_law_commands_may_be_changed_while_it_runs(robot, law):
    words = [word for found, word in VARIANTS if found == law]
    rig = Rig(robot, (law, words[0]))
    if hasattr(law_class(law).Gains, "gravity"):
        rig.loop.running.gains.set({"gravity": False} if words[0] == "position" else {})
    start = rig.loop.tip()
    begin_circle(rig)
    rig.steps(300)
    for word in (*words[1:], words[0], *words[1:]):
        rig.loop.running.gains.set({"output": word})
        assert rig.step().mode is CommandMode(word)
        rig.steps(100)
    rig.loop.running.gains.set({"output": words[0]})
    error, speed = settle_on(rig, start)
    assert error < 1e-3
    assert speed < 1e-2


# --- refusals ---


def test_a_mode_that_the_hardware_has_not_got_is_refused_with_the_way_out_and_the_law_goes_on():
    robot = replace(load_robot("gen3", "real"), law_gains={})
    loop, twin = (ControlLoop(robot, "position_domain_pd") for _ in range(2))
    assert loop.running.mode is CommandMode.POSITION  # the output that the arm takes

    def both(k):
        q = np.array(robot.home) + 0.001 * np.sin(0.1 * k)
        samples = [RobotState(k * robot.period, q, np.zeros(7), np.zeros(7)) for _ in range(2)]
        return loop.tick(samples[0]), twin.tick(samples[1])

    both(0)
    for k, ask in enumerate(
        (
            lambda: loop.switch_law(RunningLaw(robot, "impedance")),
            lambda: loop.switch_law(RunningLaw(robot, "admittance", {"output": "velocity"})),
            lambda: loop.running.gains.set({"output": "effort"}),
        )
    ):
        with pytest.raises(ConfigError) as refusal:
            ask()
        for part in (
            "takes only: position",
            "use admittance or position_domain_pd",
            "profile real",
        ):
            assert part in str(refusal.value)
        one, other = both(k + 1)
        assert loop.running.name == "position_domain_pd"
        assert one.mode is CommandMode.POSITION
        assert np.array_equal(one.values, other.values)


@pytest.mark.parametrize("without", ["sensor", "freshness"])
def test_a_law_that_needs_a_wrench_holds_without_one_and_says_so(without):
    robot = load_robot("ur5")
    rig = Rig("ur5", ("impedance", None))
    begin_circle(rig)
    rig.steps(300)
    loop = rig.loop
    loop.switch_law(RunningLaw(robot, "admittance"))
    state = rig.plant.read()
    if without == "sensor":
        state = replace(state, wrench=None)
        loop.wrench.reset()
    else:
        state = replace(state, wrench=replace(state.wrench, time=state.time - 1.0))
    sent = loop.tick(state)
    assert sent.mode is CommandMode.POSITION
    assert sent.values == pytest.approx(state.q, abs=1e-12)
    assert "law admittance: " in loop.safety.fault


class WithoutNumbers(GravityCompensation):
    def compute(self, state, kin, reference, gains, dt):
        return Command(CommandMode.EFFORT, np.full(kin.model.n, np.nan))


class TooShort(GravityCompensation):
    def compute(self, state, kin, reference, gains, dt):
        return Command(CommandMode.EFFORT, np.zeros(kin.model.n - 1))


@pytest.mark.parametrize("law", ["WithoutNumbers", "TooShort"])
def test_a_law_that_takes_over_and_gives_nothing_usable_is_replaced_by_what_holds_and_brakes(law):
    rig = Rig("ur5", ("impedance", None))
    begin_circle(rig)
    rig.steps(300)
    rig.loop.switch_law(RunningLaw(rig.robot, f"{__name__}:{law}"))
    before = rig.sent.values
    for _ in range(20):  # it gets there within the effort rate
        state = rig.plant.read()
        sent = rig.loop.tick(state)
        steps = np.abs(sent.values - before)
        assert (steps <= np.array(rig.robot.effort_rate) * rig.robot.period * (1.0 + 1e-9)).all()
        before = sent.values
    braking = np.array(rig.robot.safe_damping) * state.v
    assert np.abs(braking).max() > 1.0
    assert sent.values == pytest.approx(rig.holding(CommandMode.EFFORT, state) - braking, abs=1e-9)
    assert "6 finite numbers" in rig.loop.safety.fault
    rig.switch(("impedance", None))
    rig.sent = sent  # from which it goes on without a jump
    rig.steps(200)
    assert np.abs(rig.state.v).max() < 0.05
