"""The recorder of a loop: which cycles it keeps, and what belongs to them."""

import numpy as np
import pytest

from robot_control_ros import ConfigError
from robot_control_ros.control.loop import ControlLoop
from robot_control_ros.control.recorder import MOST_SETTINGS, CycleRecorder
from robot_control_ros.core.cycle import CYCLE
from robot_control_ros.core.types import Command, RobotState
from robot_control_ros.robot.configuration import load_robot

UR5 = load_robot("ur5")
PERIOD = UR5.period
HOME = np.array(UR5.home)


class FailsForAWhile:
    """A law that gives no numbers in its sixth and seventh cycle."""

    def __init__(self, law):
        self.law, self.mode, self.terms, self.cycle = law, law.mode, {}, 0

    def reset(self, state, kin):
        self.law.reset(state, kin)

    def compute(self, *arguments):
        command = self.law.compute(*arguments)
        self.cycle += 1
        return Command(command.mode, command.values + (np.nan if 6 <= self.cycle <= 7 else 0.0))


def run(loop, cycles, start=0, q=HOME, each=lambda k: None):
    """Tick with a resting arm; returns the commands."""
    commands = []
    for k in range(start, start + cycles):
        each(k)
        commands.append(loop.tick(RobotState(k * PERIOD, q, np.zeros(6), np.zeros(6))))
    return commands


def test_each_cycle_is_kept_with_its_sample_its_target_and_its_command():
    loop = ControlLoop(UR5, "impedance")
    commands = run(loop, 50)
    record = loop.recorder.last()
    assert len(record) == 50
    np.testing.assert_array_equal(record["number"], np.arange(50))
    np.testing.assert_allclose(record["time"], np.arange(50) * PERIOD, atol=1e-12)
    np.testing.assert_array_equal(record["q"], np.tile(HOME, (50, 1)))
    np.testing.assert_array_equal(record["sent"], [command.values for command in commands])
    np.testing.assert_array_equal(record["pose"][-1], loop.tip())
    np.testing.assert_array_equal(record["target_pose"][-1], loop.reference.pose)
    assert record["begins"].tolist() == [1.0] + 49 * [0.0]
    assert np.isnan(record["wrench"]).all()


def test_a_twist_is_the_jacobian_times_the_velocities():
    loop = ControlLoop(UR5, "gravity_compensation")
    v = 0.1 * np.arange(6.0)
    loop.tick(RobotState(0.0, HOME, v, np.zeros(6)))
    np.testing.assert_allclose(loop.recorder.last()["twist"][0], loop.kin.jacobian @ v, atol=1e-14)


def test_chosen_numbers_of_the_kept_cycles_are_read_across_the_end_of_the_ring():
    loop = ControlLoop(UR5, "impedance", recorded=100 * PERIOD)
    run(loop, 1000)
    recorder = loop.recorder
    columns = [CYCLE.place("number", 6), CYCLE.place("sent", 6) + 2]
    record = recorder.since(950, 30)
    first, numbers = recorder.numbers(950, 30, columns)
    assert first == 950
    np.testing.assert_array_equal(
        numbers, np.column_stack((record["number"], record["sent"][:, 2]))
    )
    first, numbers = recorder.numbers(0, 10_000, columns)
    np.testing.assert_array_equal(numbers[:, 0], np.arange(900, 1000))
    assert first == 900
    for begin in (1000, 2000):
        first, numbers = recorder.numbers(begin, 10, columns)
        assert (first, numbers.shape) == (1000, (0, 2))


def test_the_oldest_cycles_make_room_for_new_ones():
    loop = ControlLoop(UR5, "impedance", recorded=100 * PERIOD)
    run(loop, 1000)
    record = loop.recorder.last()
    assert loop.recorder.count == 1000
    np.testing.assert_array_equal(record["number"], np.arange(900, 1000))
    assert len(record.settings) == 1  # the gains of before are still known


def test_the_memory_of_a_minute_at_one_kilohertz_is_bounded():
    """A record has at most 100 MB / 60,000 bytes; so has the ring of seven joints."""
    assert 8 * CYCLE.kept_width(7) * 61_000 < 100e6


def test_the_last_seconds_begin_with_a_memory_of_the_law():
    loop = ControlLoop(UR5, "impedance")
    run(loop, 1800)
    record = loop.recorder.last(1.7)
    first = int(record["number"][0])
    assert first in {memory.cycle for memory in record.memories}
    assert 1.7 <= len(record) * PERIOD <= 2.7


def test_every_gain_that_a_cycle_had_is_in_the_record_while_gains_fade():
    loop = ControlLoop(UR5, "impedance")
    run(loop, 20)
    loop.running.gains.set({"stiffness": 200.0})
    seen = []
    run(loop, 60, 20, each=lambda k: seen.append(loop.running.gains.current))
    record = loop.recorder.last()
    numbers = {setting.number: setting for setting in record.settings}
    assert set(record["setting"]) <= set(numbers)
    last = numbers[int(record["setting"][-1])].gains
    np.testing.assert_array_equal(last.stiffness, loop.running.gains.current.stiffness)
    assert 200.0 < last.stiffness[0, 0] < 500.0
    assert len(record.settings) <= MOST_SETTINGS


def test_a_fault_is_kept_in_words_from_its_cycle_to_its_end():
    loop = ControlLoop(UR5, "gravity_compensation")
    loop.running.law = FailsForAWhile(loop.running.law)
    faults = []
    for k in range(20):
        loop.tick(RobotState(k * PERIOD, HOME, np.zeros(6), np.zeros(6)))
        faults.append(loop.fault)
    record = loop.recorder.last()
    assert record.faults() == faults
    assert record["fault"].tolist() == [float(bool(fault)) for fault in faults]
    assert any(faults)
    assert faults[-1] == ""


def test_braking_and_stopping_are_cycles_in_which_no_law_was_asked():
    loop = ControlLoop(UR5, "impedance")
    run(loop, 10)
    braked = loop.brake(RobotState(10 * PERIOD, HOME, np.full(6, 0.1), np.zeros(6)))
    stopped = loop.stop(0.01)
    record = loop.recorder.last()
    assert np.isnan(record["asked"][-2:]).all()
    np.testing.assert_array_equal(record["sent"][-2], braked.values)
    np.testing.assert_array_equal(record["sent"][-1], stopped.values)
    assert record["fault"][-2:].tolist() == [1.0, 1.0]


def test_limits_that_change_a_command_are_kept_as_safety_reports_them():
    loop = ControlLoop(UR5, "impedance", {"stiffness": 4000.0})
    run(loop, 5)
    limits = []
    for k in range(5, 60):
        loop.tick(RobotState(k * PERIOD, HOME + 0.004 * (k - 5), np.full(6, 2.0), np.zeros(6)))
        report = loop.report()
        limits.append(report.saturated + 2.0 * report.rate_limited + 4.0 * report.soft_limited)
    np.testing.assert_array_equal(loop.recorder.last()["limited"][-55:], limits)
    assert np.any(limits)


@pytest.mark.parametrize("seconds", [0.0, -1.0, np.nan, np.inf])
def test_seconds_that_cannot_be_kept_are_refused(seconds):
    with pytest.raises(ConfigError) as refusal:
        CycleRecorder(6, PERIOD, seconds)
    assert refusal.value.name == "seconds"


def test_more_seconds_than_the_memory_can_keep_are_refused():
    with pytest.raises(ConfigError) as refusal:
        CycleRecorder(6, 0.001, 1e12)
    assert refusal.value.name == "seconds"
