"""A ringing arm: warned of, softened beside its gains, or stopped; and what ends that."""

import warnings

import numpy as np
import pytest
from ringing_samples import ELBOW, RINGING, SPEED, ringing_sample

from evidence.contact import ringing_trials
from evidence.contact.ringing_trials import CELLS, CONTACTS, PRESS, PULL, PUSHED, START
from robot_control_ros import Push, simulate
from robot_control_ros.control.loop import ControlLoop
from robot_control_ros.control.reactions.ringing_reaction import STEP, ringing_settings
from robot_control_ros.core.errors import ConfigError
from robot_control_ros.core.gains import gain_specs
from robot_control_ros.core.types import CommandMode, RobotState, Wrench
from robot_control_ros.laws import law_names
from robot_control_ros.laws.running_law import RunningLaw
from robot_control_ros.laws.softening import describe_softening, softened
from robot_control_ros.robot.configuration import load_robot
from robot_control_ros.robot.model import RobotModel
from robot_control_ros.simulation.imperfect.imperfections import (
    CommandLine,
    Imperfections,
    StateLine,
)
from robot_control_ros.simulation.trouble import GainsWarning

PERIOD = 0.002  # s
UR5 = load_robot("ur5").at_rate(1.0 / PERIOD)
HOME = np.array(UR5.home)
ALARM = 0.35  # s of it, that surely make one alarm and no second one
KIN = RobotModel.of(UR5).at(HOME)
STIFFNESS = np.diag(RunningLaw(UR5, "impedance").gains.target.stiffness)


class RingingLoop:
    """A loop whose samples say that the elbow oscillates by the torque of the motors, or rests."""

    def __init__(self, law="impedance", gains=None, **settings):
        self.loop = ControlLoop(UR5, law, gains)
        self.loop.ringing.settings.set(settings)
        self.time = 0.0

    def tick(self, seconds, rings=False, every_joint=False, speed=SPEED):
        """The last command, and the warnings in their order; `speed` [rad/s] is that
        of the oscillation.
        """
        warnings = []
        joints = slice(None) if every_joint else ELBOW
        for _ in range(round(seconds / PERIOD)):
            v, effort = ringing_sample(KIN, self.time, PERIOD, joints, speed if rings else 0.0)
            command = self.loop.tick(RobotState(self.time, HOME, v, effort))
            warnings += [self.loop.warning] if self.loop.warning not in warnings[-1:] else []
            self.time += PERIOD
        return command, warnings

    @property
    def scale(self):
        return self.loop.report().ringing_scale


# --- what is softened ---


@pytest.mark.parametrize("name", law_names())
def test_springs_lose_the_fraction_dampers_its_root_and_other_gains_nothing(name):
    gains = RunningLaw(UR5, name).gains.target
    other, special = softened(gains, 0.25), getattr(type(gains), "softening", {})
    for spec in gain_specs(type(gains)):
        before, after = getattr(gains, spec.name), getattr(other, spec.name)
        if spec.choices:
            assert after == before
            continue
        spring, damper = (
            spec.unit.startswith(("N/m", "N·m/rad")),
            spec.unit.startswith(("N·s/m", "N·m·s/rad")),
        )
        factor = (
            0.25 ** special[spec.name]
            if spec.name in special
            else 0.25
            if spring
            else 0.5
            if damper
            else 1.0
        )
        assert after == pytest.approx(factor * np.asarray(before), rel=1e-12)
    assert describe_softening(gains, 1.0) == ""
    assert describe_softening(gains, 0.25)


def test_an_admittance_gets_twice_the_damping_and_keeps_its_spring():
    gains = RunningLaw(UR5, "admittance", {"damping": 30.0}).gains.target
    other = softened(gains, 0.25)
    assert other.virtual_damping == pytest.approx(2.0 * gains.virtual_damping)
    assert np.array_equal(other.stiffness, gains.stiffness)
    assert np.array_equal(other.mass, gains.mass)
    assert describe_softening(gains, 0.25) == "damping × 2, damping_ratio × 2"


# --- in the loop ---


def test_warn_says_joint_frequency_and_change_for_a_second_and_changes_no_command():
    warning, other = RingingLoop(reaction="warn"), RingingLoop(floor=1.0)
    command, told = warning.tick(ALARM, rings=True)
    assert command.mode is CommandMode.EFFORT
    assert np.array_equal(command.values, other.tick(ALARM, rings=True)[0].values)
    assert told[0] == ""
    assert f"elbow_joint rings at {RINGING:g} Hz" in told[1]
    assert "impedance: stiffness × 0.25" in told[1]
    assert warning.scale == 1.0
    assert warning.tick(1.5)[1][-1] == ""


def test_soften_takes_three_quarters_of_the_stiffness_at_once_beside_the_gains_and_stays():
    ringing = RingingLoop()
    _, told = ringing.tick(ALARM, rings=True)
    assert ringing.scale == STEP
    assert told[-1].count("impedance") == 2
    assert "is softened, stiffness × 0.25" in told[-1]
    _, told = ringing.tick(1.5)
    assert ringing.scale == STEP
    assert "softened" in told[-1]
    assert ringing.loop.fault == ""
    target = ringing.loop.running.gains.target
    assert np.array_equal(np.diag(target.stiffness), STIFFNESS)


def test_what_the_law_gets_is_a_quarter_of_what_was_set_also_after_a_change():
    ringing = RingingLoop()
    ringing.tick(ALARM, rings=True)
    gains = ringing.loop.running.gains
    gains.set({"stiffness": 2.0 * STIFFNESS})
    away = ringing.loop.tip().copy()
    away[2, 3] += 0.01
    ringing.loop.motion.move_to(away)
    ringing.tick(2.0)
    assert ringing.scale == STEP
    force = np.linalg.lstsq(
        ringing.loop.kin.jacobian.T, ringing.loop.report().terms["stiffness"], rcond=None
    )[0]
    assert force[2] == pytest.approx(STEP * 2.0 * STIFFNESS[2] * 0.01, rel=1e-3)


def test_a_second_alarm_softens_once_more_and_what_goes_on_then_is_held_and_told():
    ringing = RingingLoop()
    for scale in (STEP, STEP**2):
        ringing.tick(ALARM, rings=True)
        assert (ringing.scale, ringing.loop.fault) == (scale, "")
        ringing.tick(1.0)
    _, told = ringing.tick(4.0 * ALARM, rings=True)
    assert (ringing.scale, ringing.loop.fault) == (STEP**2, "")
    assert "doesn't grow" in told[-1]


GROWING = SPEED * np.array([1.0, 2.2, 5.0, 10.0])  # rad/s


def test_what_goes_on_growing_where_nothing_more_can_be_softened_gets_the_safe_output():
    ringing = RingingLoop()
    for speed in GROWING:
        ringing.tick(ALARM, rings=True, speed=speed)
        ringing.tick(0.05)
    assert "grows" in ringing.loop.fault
    assert "safe output" in ringing.loop.fault
    command, _ = ringing.tick(2.0)
    assert "safe output" in ringing.loop.fault
    assert command.values == pytest.approx(ringing.loop.kin.gravity)


def test_what_comes_anew_later_does_not_go_on_growing():
    ringing = RingingLoop()
    for speed in GROWING:
        ringing.tick(ALARM, rings=True, speed=speed)
        ringing.tick(1.5)
    assert (ringing.scale, ringing.loop.fault) == (STEP**2, "")


def test_an_arm_that_another_one_shakes_keeps_its_stiffness():
    """The velocity is the same, and the motors brake."""
    loop = ControlLoop(UR5, "impedance")
    damping = np.diag([0.0, 0.0, 10.0, 0.0, 0.0, 0.0])
    for k in range(1000):
        v = np.array([0.0, 0.0, SPEED * np.sin(2.0 * np.pi * RINGING * k * PERIOD), 0.0, 0.0, 0.0])
        loop.tick(RobotState(k * PERIOD, HOME, v, KIN.gravity - damping @ v))
    assert loop.report().ringing_scale == 1.0
    assert loop.report().ringing_margin > 0.0


def test_stop_sends_the_safe_output_at_the_first_alarm():
    ringing = RingingLoop(reaction="stop")
    ringing.tick(ALARM, rings=True)
    assert "safe output" in ringing.loop.fault
    assert ringing.scale == 1.0


def test_an_alarm_while_every_torque_is_at_a_limit_sends_the_safe_output():
    ringing = RingingLoop("joint_impedance", {"damping": 500.0})
    ringing.tick(ALARM, rings=True, every_joint=True)
    assert "every torque is at a limit: safe output" in ringing.loop.fault


@pytest.mark.few(1)
@pytest.mark.parametrize("stopped", [False, True])
def test_a_reset_leads_the_gains_back_without_a_jump_and_the_law_runs(stopped):
    ringing = RingingLoop()
    ringing.loop.ringing.settings.set({"reaction": "soften"})
    ringing.tick(ALARM, rings=True)
    if stopped:
        ringing.loop.ringing.settings.set({"reaction": "stop"})
        ringing.tick(ALARM, rings=True)
        ringing.loop.ringing.settings.set({"reaction": "soften"})
    assert bool(ringing.loop.fault) is stopped
    ringing.loop.ringing.reset()
    scales = []
    for _ in range(1000):
        _, told = ringing.tick(PERIOD)
        scales.append(ringing.scale)
    assert np.diff(scales).min() >= 0.0
    assert np.diff(scales).max() <= (1.0 - STEP) * PERIOD / 0.2
    assert scales[-1] == 1.0
    assert told == [""]
    assert ringing.loop.fault == ""


@pytest.mark.parametrize(
    "end", [ControlLoop.reset, lambda loop: loop.switch_law(RunningLaw(UR5, "joint_impedance"))]
)
def test_activation_and_another_law_end_it(end):
    ringing = RingingLoop(reaction="stop")
    ringing.tick(ALARM, rings=True)
    assert ringing.loop.fault
    end(ringing.loop)
    ringing.tick(PERIOD)
    assert (ringing.scale, ringing.loop.fault) == (1.0, "")


def test_an_arm_that_executes_no_commands_for_a_while_stays_softened():
    ringing = RingingLoop()
    ringing.tick(ALARM, rings=True)
    ringing.loop.idle(RobotState(ringing.time, HOME, np.zeros(6), np.zeros(6)))
    ringing.time += PERIOD
    ringing.tick(0.1)
    assert ringing.scale == STEP


def test_an_unknown_reaction_is_refused():
    with pytest.raises(ConfigError) as caught:
        ringing_settings().set({"reaction": "panic"})
    assert caught.value.name == "reaction"
    assert caught.value.bound == ("warn", "soften", "stop")


# --- positions and velocities ---

MOVE = np.array([0.5, -0.4, 0.6, 0.3, 0.2, 0.5])  # rad, of the joints


def moved(law, gains, taken, rate=500.0, duration=2.0):
    """The faults, and whether it was warned of ringing, in one move of an arm that is where it is
    commanded.

    Args:
        law, gains: see ControlLoop.
        taken: the number of commands that the arm takes in a cycle; they wait for it in their
            order.
        rate: of the cycles [Hz].
        duration: [s].
    """
    robot = load_robot("ur5", "mock").at_rate(rate)
    loop = ControlLoop(robot, law, gains)
    q, v, waiting, faults, rang = np.array(robot.home), np.zeros(6), [], set(), False
    command = None
    for cycle in range(round(duration * rate)):
        wrench = Wrench(np.zeros(3), np.zeros(3), robot.tip)
        waiting.append(loop.tick(RobotState(100.0 + cycle / rate, q, v, np.zeros(6), wrench)))
        faults |= {loop.fault} - {""}
        rang = rang or "rings at" in loop.warning
        for _ in range(min(taken(cycle), len(waiting))):
            command = waiting.pop(0)
        waiting = waiting[-6:]
        if cycle == 50:
            loop.motion.move_joints_to(np.array(robot.home) + MOVE)
        if command is not None:
            before = q
            q = (
                command.values
                if command.mode is CommandMode.POSITION
                else q + command.values / rate
            )
            v = (q - before) * rate
    return faults, rang


@pytest.mark.parametrize("rate", [125.0, pytest.param(500.0, marks=pytest.mark.long)])
@pytest.mark.parametrize(
    ("law", "gains"),
    [
        ("position_domain_pd", {}),
        ("position_domain_pd", {"domain": "position"}),
        ("position_domain_pd", {"domain": "time"}),
        ("force_control", {"output": "position"}),
        ("force_control", {"output": "velocity"}),
        ("admittance", {"output": "velocity"}),
        ("joint_pid", {}),
    ],
)
def test_an_arm_that_takes_no_command_one_or_two_in_a_cycle_does_not_ring(rng, law, gains, rate):
    assert moved(law, gains, lambda cycle: rng.integers(0, 3), rate) == (set(), False)


def test_velocity_commands_that_oscillate_with_the_arm_ring():
    """Commands act six cycles late: P / T_u is 200/s, and 130/s is stable."""
    _, rang = moved("joint_pid", {"p": 1.0}, lambda cycle: 1 if cycle > 5 else 0)
    assert rang


# --- in simulation ---

QUICK = (("ur5e", "rotation", 0.016), ("ur5", "rotation", 0.008))
EVERY_CELL = [(name, *cell) for name, cells in CELLS.items() for cell in cells]


def check_rung(got):
    assert got.alarm <= 0.45
    assert got.peak <= 1.7
    assert got.last <= 0.13


@pytest.mark.sim
@pytest.mark.parametrize(("name", "kind", "delay"), QUICK)
def test_an_arm_beyond_its_largest_stable_stiffness_is_told_in_time_and_brought_to_rest(
    name, kind, delay
):
    check_rung(ringing_trials.pushed(name, kind, delay, 1.5))


@pytest.mark.sim
def test_one_at_half_of_it_is_not_told():
    got = ringing_trials.pushed("ur5e", "rotation", 0.016, 0.5)
    assert got.alarm == np.inf
    assert got.fault == ""


@pytest.mark.sim
def test_an_admittance_at_a_wall_too_stiff_for_its_damping_is_damped():
    delay = CONTACTS["ur5"]
    got = ringing_trials.rung(ringing_trials.pressed("ur5", delay, 1.5), 0.0, PULL, PRESS)
    check_rung(got)
    assert got.fault == ""


@pytest.mark.sim
@pytest.mark.parametrize(
    "line", [{"states": StateLine(jitter=0.02)}, {"commands": CommandLine(jitter=0.02)}]
)
def test_an_admittance_whose_samples_or_commands_come_irregularly_does_not_ring(line):
    """The arm goes in steps. No gain of the law changes that."""
    push = Push((30.0, 0.0, 0.0), start=0.2, duration=1.5)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        log = simulate(
            "ur5",
            "admittance",
            push=push,
            rate=125.0,
            imperfections=Imperfections(**line),
            duration=1.5,
        )
    assert not any(log.fault)
    assert not [str(each.message) for each in told if "rings at" in str(each.message)]
    assert np.abs(np.diff(log.v[50:, 2])).max() > 0.02, "the elbow goes in steps"


@pytest.mark.sim
@pytest.mark.filterwarnings("ignore::robot_control_ros.simulation.trouble.TroubleWarning")
def test_simulate_softens_says_so_and_only_warns_where_it_is_told_to():
    robot, late = load_robot("ur5e"), Imperfections(name="late", commands=CommandLine(delay=0.016))
    gains, push = (
        {"stiffness": [500.0] * 3 + [350.0] * 3},
        Push(torque=(0.0, 0.0, 4.0), start=START, duration=PUSHED),
    )
    arguments = {"duration": 0.8, "push": push, "rate": 500.0, "imperfections": late}
    last = {}
    for reaction, words in (("soften", "reset_ringing"), ("warn", "rings at")):
        with pytest.warns(GainsWarning, match=words):
            log = simulate(robot, "impedance", gains, ringing_reaction=reaction, **arguments)
        last[reaction] = np.abs(log.v[-50:]).max()
    assert last["soften"] < 0.1 * last["warn"]


@pytest.mark.sim
@pytest.mark.long
@pytest.mark.parametrize(("name", "kind", "delay"), EVERY_CELL)
def test_every_cell_is_told_in_time_and_brought_to_rest_and_nothing_else_is_told_in_a_minute(
    name, kind, delay
):
    check_rung(ringing_trials.pushed(name, kind, delay, 1.5))
    assert ringing_trials.false_alarms(name, kind, delay, 60.0) == (0, 0, 0)


@pytest.mark.sim
@pytest.mark.long
@pytest.mark.parametrize("name", CONTACTS)
def test_contact_that_rings_is_damped_and_contact_that_does_not_is_not_told(name):
    delay = CONTACTS[name]
    check_rung(
        ringing_trials.rung(
            ringing_trials.pressed(name, delay, 1.5), 0.0, PULL + PUSHED + 1.6, PRESS
        )
    )
    got = ringing_trials.rung(
        ringing_trials.pressed(name, delay, 0.5), 0.0, PULL + PUSHED + 1.6, PRESS
    )
    assert got.alarm == np.inf
