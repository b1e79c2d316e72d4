"""From one law to the next: how the old command fades, the energy of a torque that does, and
where positions begin.
"""

from dataclasses import replace

import numpy as np
import pytest

from robot_control_ros.control.safety import Safety
from robot_control_ros.control.transition import BUDGET, FADED, LOAD_FADE, BumplessTransition
from robot_control_ros.core.types import Command, CommandMode, RobotState
from robot_control_ros.robot.configuration import load_robot
from robot_control_ros.robot.model import RobotModel

ROBOTS = {name: load_robot(name) for name in ("ur5e", "gen3")}
DT, T = 0.002, 0.2  # s: period, and time constant
every_robot = pytest.mark.parametrize("name", ROBOTS)


class Handover:
    """A transition from a command to a law's; the arm moves as a test says.

    Args:
        name: of the robot.
        before: the last command of the old law.
        delay, time_constant: see BumplessTransition.
    """

    def __init__(self, name, before, delay=0.0, time_constant=T):
        self.robot = ROBOTS[name]
        self.model = RobotModel.of(self.robot)
        self.q = np.array(self.robot.home)
        self.safety = Safety(self.robot, self.model.limits)
        self.safety.take_over(before)
        self.transition = BumplessTransition(time_constant, delay)
        self.transition.reset("old")

    def blended(self, command, v=0.0, age=0.0, dt=DT, law="new"):
        """What is sent of the new law's command at a velocity (n,) [rad/s] and an
        age [s] of the sample.
        """
        v = np.zeros(self.robot.n) + v
        zeros = np.zeros(self.robot.n)
        state = RobotState(0.0, self.q, v, zeros, age=age)
        sent = self.transition.blend(command, law, self.safety, state, self.model.at(self.q, v), dt)
        self.safety.take_over(sent)
        return sent


def effort(values):
    return Command(CommandMode.EFFORT, values)


# --- how the old command fades ---

OLD, NEW = np.linspace(-0.4, 0.6, 6), np.linspace(0.5, 0.1, 6)  # rad/s


def velocity(values):
    return Command(CommandMode.VELOCITY, np.array(values))


def begun(time_constant=T):
    return Handover("ur5e", velocity(OLD), time_constant=time_constant)


def test_the_first_command_is_the_old_one_and_the_rest_fade_to_the_new_ones():
    handover = begun()
    for k in range(500):
        expected = NEW + np.exp(-k * DT / T) * (OLD - NEW)
        assert handover.blended(velocity(NEW)).values == pytest.approx(expected, abs=1e-12)


def test_the_fade_rides_on_a_command_that_moves():
    handover = begun()
    for k in range(100):
        moving = NEW + np.sin(0.3 * k)
        expected = np.exp(-k * DT / T) * (OLD - NEW)
        assert handover.blended(velocity(moving)).values - moving == pytest.approx(
            expected, abs=1e-12
        )


def test_the_fade_depends_on_the_time_and_not_on_the_number_of_steps():
    fine, coarse = begun(), begun()
    for _ in range(10):
        for _ in range(10):
            fine.blended(velocity(NEW))
        coarse.blended(velocity(NEW), dt=10 * DT)
        both = [each.blended(velocity(NEW), dt=0.0).values for each in (fine, coarse)]
        assert both[0] == pytest.approx(both[1], abs=1e-12)


def test_what_is_left_below_the_threshold_is_dropped_and_commands_pass_untouched():
    handover = begun()
    steps = int(np.ceil(-np.log(FADED) * T / DT)) + 1
    for _ in range(steps):
        sent = handover.blended(velocity(NEW))
    assert 0.0 < np.abs(sent.values - NEW).max() < 2.0 * FADED
    command = velocity(NEW)
    assert handover.blended(command) is command


def test_without_a_change_and_after_a_reset_commands_pass_untouched():
    command = velocity(NEW)
    assert begun().blended(command, law="old") is command
    handover = begun()
    handover.blended(command)
    handover.transition.reset("new")
    assert handover.blended(command) is command


def test_a_second_change_begins_at_the_last_command():
    handover = begun()
    for _ in range(20):
        last = handover.blended(velocity(NEW)).values
    other = velocity(NEW + 0.3)
    assert handover.blended(other, law="third").values == pytest.approx(last, abs=1e-12)
    expected = other.values + np.exp(-DT / T) * (last - other.values)
    assert handover.blended(other, law="third").values == pytest.approx(expected, abs=1e-12)


def test_a_time_constant_of_zero_hands_over_at_once():
    command = velocity(NEW)
    assert begun(0.0).blended(command) is command


def test_the_command_of_the_law_is_not_written_into():
    command = velocity(NEW)
    begun().blended(command)
    assert np.array_equal(command.values, NEW)


# --- torques ---


@every_robot
@pytest.mark.parametrize("kind", ["driven", "swinging", "random"])
def test_a_torque_that_fades_does_no_more_work_than_its_budget(name, kind):
    rng = np.random.default_rng(3)
    n = ROBOTS[name].n
    old, new = 30.0 * rng.normal(size=(2, n))
    handover = Handover(name, effort(old))
    handover.blended(effort(new), np.zeros(n))  # the old law's last command once more
    work = largest = 0.0
    along = (old - new) / np.linalg.norm(old - new)
    for k in range(1500):
        v = {
            "driven": 0.2 * along,
            "swinging": 0.2 * np.sin(0.05 * k) * along,
            "random": 0.3 * rng.normal(size=n),
        }[kind]
        faded = handover.blended(effort(new), v).values - new
        work += DT * float(faded @ v)
        largest = max(largest, work)
    assert largest <= BUDGET * (1.0 + 1e-9)
    assert np.abs(handover.blended(effort(new), np.zeros(n)).values - new).max() < 1e-3


@every_robot
def test_a_torque_that_brakes_or_holds_fades_with_the_time_constant(name):
    n = ROBOTS[name].n
    old, new = np.full(n, 20.0), np.zeros(n)
    for speed in (0.0, -0.3):
        handover = Handover(name, effort(old))
        for k in range(200):
            faded = handover.blended(effort(new), np.full(n, speed)).values
            assert faded == pytest.approx(old * np.exp(-k * DT / T), rel=1e-9)


# --- positions ---


@every_robot
@pytest.mark.parametrize(("age", "delay"), [(0.0, 0.008), (0.003, 0.004), (0.003, 0.0)])
def test_positions_begin_where_the_arm_is_when_they_take_effect(name, age, delay):
    """A delay that isn't known counts as a period."""
    n = ROBOTS[name].n
    handover = Handover(name, effort(np.zeros(n)), delay)
    v = 0.3 * np.cos(np.arange(n))
    command = Command(CommandMode.POSITION, handover.q - 0.05)
    first = handover.blended(command, v, age)
    assert first.values == pytest.approx(handover.q + (age + (delay or DT)) * v, abs=1e-12)


@every_robot
def test_positions_after_positions_begin_at_the_last_one(name):
    n = ROBOTS[name].n
    last = np.array(ROBOTS[name].home) + 0.01
    handover = Handover(name, Command(CommandMode.POSITION, last), 0.008)
    first = handover.blended(Command(CommandMode.POSITION, last - 0.05), np.full(n, 0.3))
    assert first.values == pytest.approx(last, abs=1e-12)


@every_robot
def test_velocities_that_go_with_positions_begin_with_the_arm_s_and_are_those_of_the_positions(
    name,
):
    n = ROBOTS[name].n
    handover = Handover(name, effort(np.zeros(n)))
    speed = 0.2 * np.sin(1.0 + np.arange(n))
    arm = speed + 0.1 * np.cos(np.arange(n))
    sent = []
    for k in range(300):
        path = handover.q + 0.03 + k * DT * speed
        sent.append(handover.blended(Command(CommandMode.POSITION, path, velocity=speed), arm))
    assert sent[0].velocity == pytest.approx(arm, abs=1e-12)
    values, velocities = (
        np.array([getattr(each, part) for each in sent]) for part in ("values", "velocity")
    )
    middle = (velocities[1:] + velocities[:-1]) / 2.0
    np.testing.assert_allclose(np.diff(values, axis=0) / DT, middle, rtol=0, atol=1e-4)


def test_a_command_without_velocities_gets_none():
    handover = Handover("ur5e", effort(np.zeros(6)))
    command = Command(CommandMode.POSITION, handover.q - 0.05)
    assert handover.blended(command, np.zeros(6)).velocity is None
    assert (
        handover.blended(replace(command, velocity=np.zeros(6)), np.zeros(6)).velocity is not None
    )


@every_robot
def test_velocities_that_a_drive_damps_against_do_not_jump_where_positions_follow_positions(name):
    """One law of two gives velocities; the drive's torque is w² (q_c - q) + 2 w (v_c - v)."""
    n = ROBOTS[name].n
    v = 0.2 * np.cos(np.arange(n))
    here = np.array(ROBOTS[name].home)
    bare = Command(CommandMode.POSITION, here - 0.01)
    led = replace(bare, velocity=v)
    handover = Handover(name, led)
    for k in range(200):
        sent = handover.blended(bare, v)
        assert sent.velocity == pytest.approx(np.exp(-k * DT / T) * v, abs=1e-12)
    handover = Handover(name, bare)
    sent = [handover.blended(led, v).velocity for _ in range(1000)]
    assert sent[0] == pytest.approx(np.zeros(n), abs=1e-12)
    assert np.abs(np.diff(sent, axis=0)).max() <= 1.1 * DT / T * np.abs(v).max()
    assert sent[-1] == pytest.approx(v, abs=1e-4)


@every_robot
def test_positions_without_velocities_do_not_stop_an_arm_that_comes_from_torques(name):
    n = ROBOTS[name].n
    v = np.full(n, 0.3)
    handover = Handover(name, effort(np.zeros(n)))
    sent = handover.blended(Command(CommandMode.POSITION, handover.q - 0.05), v)
    assert sent.velocity == pytest.approx(v, abs=1e-12)


# --- a load ---


@every_robot
def test_a_load_is_held_after_a_restart_and_drives_an_arm_without_it_by_its_budget_alone(name):
    n = ROBOTS[name].n
    held = np.linspace(5.0, -15.0, n)
    handover = Handover(name, effort(held))
    handover.transition.hold(held)
    for k in range(300):
        sent = handover.blended(effort(np.zeros(n)), law="old").values
        assert sent == pytest.approx(np.exp(-k * DT / LOAD_FADE) * held, rel=1e-9)
    handover.transition.hold(held)
    work = 0.0
    v = 0.1 * held / np.linalg.norm(held)
    for _ in range(1500):
        work += DT * float(handover.blended(effort(np.zeros(n)), v, law="old").values @ v)
    assert 0.5 * BUDGET < work <= BUDGET * (1.0 + 1e-9)
