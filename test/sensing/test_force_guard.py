"""The guard of motions, sample by sample."""

import numpy as np
import pytest

from robot_control_ros.core.types import SensedState
from robot_control_ros.sensing.contact_detector import GUARD
from robot_control_ros.sensing.force_guard import LASTS, ForceGuard

DT = 0.002
ZERO = np.zeros(1)
OFFSET = np.array([3.0, -20.0, 8.0])


def sample(time, force):
    wrench = np.concatenate((force, np.zeros(3)))
    return SensedState(time, ZERO, ZERO, ZERO, None, wrench_on_tip=wrench, age=0.0)


def looked(guard, forces, moving, limit=5.0, begin=0.0):
    """Contacts of samples with forces (k, 3)."""
    answers = [
        guard.look(limit, moving, sample(begin + DT * i, force), DT)
        for i, force in enumerate(forces)
    ]
    return [(i, answer) for i, answer in enumerate(answers) if answer is not None]


def ramp(slope, count):
    """Forces (count, 3) that grow by a slope (3,) [N/s] from the offset on."""
    return OFFSET + DT * np.arange(count)[:, None] * np.asarray(slope, dtype=float)


@pytest.fixture
def guard():
    """A guard that has seen an arm at rest for half a second, with an offset of its sensor."""
    made = ForceGuard("tool0")
    assert looked(made, np.tile(OFFSET, (250, 1)), moving=False) == []
    return made


def test_the_first_sample_beyond_the_limit_is_the_contact(guard):
    """The change counts, in any direction: not the sensor's offset."""
    ((index, contact),) = looked(guard, ramp((0.0, 60.0, 80.0), 200), moving=True)
    assert index == 25  # 100 N/s
    assert contact.detector == GUARD
    assert contact.link == "tool0"
    assert contact.size == pytest.approx(5.0)
    assert contact.limit == 5.0
    assert contact.start == contact.last == pytest.approx(DT * 25)
    assert "\n" not in str(contact)


def test_a_slow_rise_is_found_as_well(guard):
    """5 N within 10 s: a high-passed force would never see it."""
    ((index, _),) = looked(guard, ramp((0.5, 0.0, 0.0), 6000), moving=True)
    assert index == 5000


def test_an_arm_at_rest_is_not_guarded(guard):
    assert looked(guard, ramp((100.0, 0.0, 0.0), 500), moving=False) == []


def test_a_force_before_the_motion_is_its_beginning(guard):
    """An arm that leans on something moves on: the force counts from there."""
    leaning = np.tile(OFFSET + (0.0, 0.0, 40.0), (500, 1))
    assert looked(guard, leaning, moving=False) == []
    assert looked(guard, leaning, moving=True) == []
    ((_, contact),) = looked(guard, leaning[:3] + (6.0, 0.0, 0.0), moving=True)
    assert contact.size == pytest.approx(6.0, abs=0.01)


def test_what_is_met_as_the_motion_ends_counts(guard):
    """The arm is behind its reference, which rests already."""
    looked(guard, np.tile(OFFSET, (50, 1)), moving=True)
    ((_, contact),) = looked(guard, ramp((20.0, 0.0, 0.0), 400), moving=False)
    assert contact.size == pytest.approx(5.0, abs=0.05)


def test_a_second_after_the_motion_nothing_counts(guard):
    looked(guard, np.tile(OFFSET, (50, 1)), moving=True)
    looked(guard, np.tile(OFFSET, (int(LASTS / DT) + 2, 1)), moving=False)
    assert looked(guard, ramp((20.0, 0.0, 0.0), 400), moving=False) == []


def test_each_motion_has_one_contact(guard):
    pressing = OFFSET + np.array([9.0, 0.0, 0.0])
    assert len(looked(guard, np.tile(pressing, (300, 1)), moving=True)) == 1
    looked(guard, np.tile(OFFSET, (700, 1)), moving=False)
    assert len(looked(guard, np.tile(pressing, (300, 1)), moving=True)) == 1


def test_after_a_restart_the_force_is_learnt_anew(guard):
    guard.restart()
    other = np.tile(OFFSET + (50.0, 0.0, 0.0), (100, 1))
    assert looked(guard, other, moving=True) == []
