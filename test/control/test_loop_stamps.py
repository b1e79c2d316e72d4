"""Stamps that repeat, go back or leave a gap: what the loop makes of each, fed
with samples alone.
"""

import itertools
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from robot_control_ros.control.cycle_times import CycleTimes
from robot_control_ros.control.loop import ControlLoop
from robot_control_ros.control.sample_order import MAX_GAP, STANDSTILL
from robot_control_ros.core.errors import ConfigError
from robot_control_ros.core.types import CommandMode, RobotState, Wrench
from robot_control_ros.laws import law_names
from robot_control_ros.nodes.simulator.lagging_clock import LaggingClock
from robot_control_ros.robot.configuration import load_robot
from robot_control_ros.robot.model import RobotModel

UR5 = load_robot("ur5")
MODEL = RobotModel.of(UR5)
HOME = np.array(UR5.home)
PERIOD = UR5.period
LAWS = law_names(plugins=False)
GOAL = np.array([0.1, -0.05, 0.08])  # m, away from the start


def sample(time, k=0):
    """A robot that swings a little around home, with something pulling at its sensor."""
    phase = 0.02 * k + np.arange(6)
    pull = Wrench(np.array([3.0, 1.0, -2.0]), np.array([0.1, 0.2, -0.1]), "ft_frame")
    q, v = HOME + 0.005 * (np.sin(phase) - np.sin(np.arange(6))), 0.05 * np.cos(phase)
    return RobotState(time, q, v, np.zeros(6), pull)


def followed(command, state, before):
    """The sample of a robot that goes where a command of positions sends it, as fast as it can.

    One that doesn't follow is a fault, and so is one that is faster. `before` is its last sample.
    """
    if command is None or command.mode is not CommandMode.POSITION:
        return state
    most = MODEL.limits.velocity * max(PERIOD, state.time - before.time)
    return replace(state, q=before.q + np.clip(command.values - before.q, -most, most))


def moving_loop(law, time=0.0):
    """A loop that begins a move of the tip at `time`."""
    loop = ControlLoop(UR5, law, model=MODEL)
    loop.tick(sample(time))
    goal = loop.tip().copy()
    goal[:3, 3] += GOAL
    loop.motion.move_to(goal)
    return loop


def max_step(mode, time):
    """How far each part of a command may change (n,) within a time [s]."""
    limits = MODEL.limits
    rate = {
        CommandMode.EFFORT: np.array(UR5.effort_rate),
        CommandMode.POSITION: limits.velocity,
        CommandMode.VELOCITY: 4.0 * limits.velocity,
    }[mode]
    return rate * time * (1.0 + 1e-9) + 1e-12


steps = st.lists(
    st.one_of(
        st.just(0.0),  # repeated
        st.sampled_from([0.001, 0.002, 0.003, 0.004, 0.005]),
        st.floats(0.0005, 0.09),
        st.just(-0.5),  # older than the newest: dropped
        st.just(0.3),  # gap
    ),
    min_size=10,
    max_size=80,
)


@pytest.mark.few(3)
@pytest.mark.parametrize("law", LAWS)
@settings(max_examples=15, deadline=None)
@given(steps=steps)
def test_whatever_the_stamps_reference_and_command_go_on_without_a_jump_but_where_the_loop_starts_anew(
    law, steps
):
    time, loop = 5.0, moving_loop(law, 5.0)
    speed, acceleration = UR5.tip_speed[0], UR5.tip_acceleration[0]
    before, sent, restarts, last_step = loop.reference, None, 0, PERIOD
    for k, step in enumerate(steps):
        if loop.running.mode is CommandMode.EFFORT and 0.02 < step < MAX_GAP:
            step = 0.02  # joint states that are rarer end the motion: test_late_samples.py
        had_stopped = bool(loop.fault)  # as a robot that doesn't follow velocities for long does
        command = loop.tick(followed(sent, sample(time + step, k), loop.state))
        if step > MAX_GAP:
            restarts += 1
            assert loop.pose_error() == pytest.approx(np.zeros(6), abs=1e-9)
            assert "ended" in loop.restart_reason or restarts > 1 or had_stopped
        elif step <= 0.0:
            assert loop.reference is before
            assert sent is None or np.array_equal(command.values, sent.values)
        elif not loop.fault:
            twist = np.zeros(6) if before.twist is None else before.twist
            moved = loop.reference.pose[:3, 3] - before.pose[:3, 3]
            assert np.linalg.norm(moved) <= speed * step + 1e-9
            assert np.linalg.norm(moved - step * twist[:3]) <= acceleration * step**2 + 1e-9
        if sent is not None:
            usual = 2.0 * max(PERIOD, min(last_step, 0.02))
            assert np.all(
                np.abs(command.values - sent.values)
                <= max_step(command.mode, min(max(step, 0.0), usual))
            )
        before, sent = loop.reference, command
        if step > 0.0:
            time += step
            last_step = step
        assert loop.restarts == restarts or loop.fault


@pytest.mark.few(3)
@pytest.mark.parametrize("law", LAWS)
@settings(max_examples=15, deadline=None)
@given(
    steps=st.lists(st.sampled_from([0.001, 0.002, 0.004, 0.005]), min_size=5, max_size=40),
    repeats=st.lists(st.integers(0, 4), min_size=41, max_size=41),
)
def test_samples_without_new_time_change_nothing_that_follows(law, steps, repeats):
    """References, integrators, filters, observers, rates: all are as if these
    samples hadn't come.
    """
    loop, twin = moving_loop(law), moving_loop(law)
    for each in (loop, twin):
        each.wrench.settings.set({"low_pass": 20.0})
    time, cycles = 0.0, 0
    for k, (step, count) in enumerate(zip(steps, repeats, strict=False), start=1):
        time += step
        command, expected = loop.tick(sample(time, k)), twin.tick(sample(time, k))
        cycles += count
        assert np.array_equal(command.values, expected.values)
        assert np.array_equal(loop.reference.pose, twin.reference.pose)
        for again in range(count):
            assert np.array_equal(loop.tick(sample(time, k + again + 1)).values, command.values)
    assert (loop.restarts, loop.times.repeated) == (0, cycles)
    assert loop.times.count == twin.times.count


def test_the_sequence_of_the_report_from_gazebo():
    """Stamps 0, 2, 2, 6, 6, 8 ms, back, a gap, equal for 0.08 s of samples."""
    loop = moving_loop("impedance")
    for k, ms in enumerate([2, 2, 6, 6, 8]):
        loop.tick(sample(1e-3 * ms, k))
    assert loop.restarts == 0
    assert loop.times.repeated == 2
    loop.tick(sample(0.004))
    assert loop.restarts == 0
    assert loop.late_samples == 1
    loop.tick(sample(0.504))
    assert loop.restarts == 1
    for _ in range(round(STANDSTILL / PERIOD)):
        loop.tick(sample(0.504))
        assert not loop.fault
    loop.tick(sample(0.506))
    assert loop.restarts == 1


@pytest.mark.parametrize("law", LAWS)
def test_stamps_that_stand_still_for_longer_are_a_fault_that_ends_with_the_next_one(law):
    loop = moving_loop(law)
    for k in range(1, round(STANDSTILL / PERIOD) + 1):
        loop.tick(sample(0.0, k))
    assert loop.fault == ""
    for k in range(5):
        command = loop.tick(sample(0.0, k))
        assert "same stamp" in loop.fault
        holding = loop.safety.holding(
            command.mode, sample(0.0, k), MODEL.update(sample(0.0, k).q, np.zeros(6))
        )
        brake = 1.5 * np.abs(np.array(UR5.safe_damping) * sample(0.0, k).v).max()
        near = {CommandMode.EFFORT: brake, CommandMode.POSITION: 0.02, CommandMode.VELOCITY: 1e-9}[
            command.mode
        ]
        # it brakes, too, and positions stay where they were
        assert command.values == pytest.approx(holding, abs=near)
        with pytest.raises(ConfigError, match="same stamp"):
            loop.motion.hold()
    loop.tick(sample(PERIOD))
    loop.tick(sample(2 * PERIOD))
    assert loop.fault == ""
    assert loop.restarts == 0  # the fault has told it already


def test_a_move_that_a_gap_ends_is_told_and_a_rest_is_not_called_a_move():
    loop = ControlLoop(UR5, "impedance", model=MODEL)
    loop.tick(sample(0.0))
    loop.tick(sample(1.0))
    assert "ended" not in loop.restart_reason
    loop.motion.move_to(moving_loop("impedance").motion.trajectory.target)
    loop.tick(sample(2.0))  # no sample of the move has been taken yet
    assert "ended" in loop.restart_reason
    assert loop.report().restarts == 2
    assert loop.report().restart_reason == loop.restart_reason


# --- deadlines ---


def lost(gaps):
    times = CycleTimes(PERIOD)
    for gap in gaps:
        times.add(0.0, gap) if gap > 0.0 else times.repeat()
    return times.missed


@pytest.mark.parametrize("fraction", [0.0, 0.05, 0.2])
def test_unsteady_stamps_miss_no_deadline(fraction):
    clock = LaggingClock(PERIOD, fraction)
    stamps = [clock.stamp(k * PERIOD) for k in range(5000)]
    # until the largest lag has been seen
    assert lost(later - earlier for earlier, later in pairwise(stamps)) <= 1


@pytest.mark.parametrize("fraction", [0.0, 0.05, 0.2])
def test_samples_that_do_not_come_are_missed_deadlines(fraction):
    clock, rng = LaggingClock(PERIOD, fraction), np.random.default_rng(3)
    dropped = set((10 + 20 * np.arange(200) + rng.integers(0, 5, 200)).tolist())
    stamps = [
        stamp
        for k, stamp in ((k, clock.stamp(k * PERIOD)) for k in range(4100))
        if k not in dropped
    ]
    missed = lost(later - earlier for earlier, later in pairwise(stamps))
    assert missed == pytest.approx(len(dropped), rel=0.02 if fraction == 0.0 else 0.25)


@pytest.mark.parametrize("rate", [0.99, 0.999, 1.0, 1.01])
def test_a_rate_that_is_a_little_off_misses_nothing(rate):
    assert lost(itertools.repeat(PERIOD / rate, 3000)) == 0


def test_a_rate_far_below_misses_as_many_as_do_not_come():
    assert lost(itertools.repeat(PERIOD / 0.5, 1000)) == 1000


# --- the clock that ros2_control stamps with ---


@pytest.mark.parametrize("fraction", [0.01, 0.08, 0.2, 0.5])
def test_the_lagging_clock_repeats_as_many_stamps_as_asked_for(fraction):
    clock = LaggingClock(PERIOD, fraction)
    times = PERIOD * np.arange(20_000)
    stamps = np.array([clock.stamp(time) for time in times])
    gaps = np.diff(stamps)
    assert (gaps == 0.0).mean() == pytest.approx(fraction, rel=0.1)
    assert gaps.min() >= 0.0
    assert gaps.max() <= 2.5 * PERIOD + 1e-12
    assert (stamps <= times).all()


def test_the_lagging_clock_goes_back_with_the_simulation():
    clock = LaggingClock(PERIOD, 0.2)
    for k in range(100):
        clock.stamp(k * PERIOD)
    assert clock.stamp(0.0) <= 0.0
