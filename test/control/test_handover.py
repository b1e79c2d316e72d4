"""What is left of an old law's command fades as exp(-t / T)."""

import numpy as np
import pytest

from robot_control_ros.control.transition import FADED, BumplessTransition

T, DT = 0.2, 0.002
OLD, NEW = np.array([1.0, -20.0, 3.0]), np.array([5.0, 4.0, 3.0])


def begun(time_constant=T):
    handover = BumplessTransition(time_constant)
    handover.begin(OLD - NEW)
    return handover


def test_the_first_command_is_the_old_one_and_the_rest_fade_to_the_new_ones():
    handover = begun()
    for k in range(500):
        expected = NEW + np.exp(-k * DT / T) * (OLD - NEW)
        assert handover.add_to(NEW, DT) == pytest.approx(expected, abs=1e-12)


def test_the_fade_rides_on_a_command_that_moves():
    handover = begun()
    for k in range(100):
        moving = NEW + np.sin(0.3 * k)
        assert handover.add_to(moving, DT) - moving == pytest.approx(np.exp(-k * DT / T) * (OLD - NEW), abs=1e-12)


def test_the_fade_depends_on_the_time_and_not_on_the_number_of_steps():
    fine, coarse = begun(), begun()
    for _ in range(10):
        for _ in range(10):
            fine.add_to(NEW, DT)
        coarse.add_to(NEW, 10 * DT)
        assert fine.add_to(NEW, 0.0) == pytest.approx(coarse.add_to(NEW, 0.0), abs=1e-12)


def test_what_is_left_below_the_threshold_is_dropped_and_commands_pass_untouched():
    handover = begun()
    steps = int(np.ceil(-np.log(FADED) * T / DT))
    for _ in range(steps):
        assert handover.add_to(NEW, DT) is not NEW
    assert handover.add_to(NEW, DT) is NEW
    assert np.abs(OLD - NEW).max() * FADED < 3e-3  # N·m: the last step of the fade


def test_without_a_beginning_and_after_a_reset_commands_pass_untouched():
    assert BumplessTransition(T).add_to(NEW, DT) is NEW
    handover = begun()
    handover.add_to(NEW, DT)
    handover.reset()
    assert handover.add_to(NEW, DT) is NEW


def test_a_second_beginning_replaces_the_first():
    handover = begun()
    for _ in range(20):
        handover.add_to(NEW, DT)
    other = np.array([7.0, 7.0, 7.0])
    handover.begin(other)
    assert handover.add_to(NEW, DT) == pytest.approx(NEW + other)
    assert handover.add_to(NEW, DT) == pytest.approx(NEW + np.exp(-DT / T) * other)


def test_a_time_constant_of_zero_hands_over_at_once():
    assert begun(0.0).add_to(NEW, DT) is NEW


def test_the_given_command_is_not_written_into():
    handover, mine = begun(), NEW.copy()
    handover.add_to(mine, DT)
    assert np.array_equal(mine, NEW)
