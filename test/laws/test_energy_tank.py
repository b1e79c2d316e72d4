"""The one energy tank: it pays as far as it reaches, and never gives more than it got."""

import numpy as np
import pytest

from robot_control_ros.laws.energy_tank import fill, pay, pay_whole, unpaid

MOST = 2.0


def test_it_pays_a_cost_as_far_as_it_reaches():
    tank = np.array([1.0])
    assert pay(tank, 0.25, MOST) == 1.0
    assert tank[0] == 0.75
    assert pay(tank, 3.0, MOST) == pytest.approx(0.25)
    assert tank[0] == 0.0
    assert pay(tank, 1.0, MOST) == 0.0


def test_what_costs_nothing_is_always_paid_and_what_gives_energy_fills_it():
    tank = np.array([0.0])
    assert pay(tank, 0.0, MOST) == 1.0
    assert pay(tank, -0.5, MOST) == 1.0
    assert tank[0] == 0.5
    pay(tank, -5.0, MOST)
    assert tank[0] == MOST


def test_what_can_not_be_had_in_part_waits_for_the_whole():
    tank = np.array([0.5])
    assert not pay_whole(tank, 0.6, MOST)
    assert tank[0] == 0.5
    fill(tank, 0.2, MOST)
    assert pay_whole(tank, 0.6, MOST)
    assert tank[0] == pytest.approx(0.1)


def test_it_holds_no_more_than_its_most():
    tank = np.array([1.5])
    fill(tank, 1.0, MOST)
    assert tank[0] == MOST


def test_it_never_gives_more_than_it_got(rng):
    for _ in range(100):
        tank, got, given = np.array([0.0]), 0.0, 0.0
        for _ in range(100):
            energy, cost = rng.uniform(0.0, 0.1), rng.normal()
            fill(tank, energy, MOST)
            got += energy
            given += cost * pay(tank, cost, MOST)
            assert 0.0 <= tank[0] <= MOST
            assert given <= got + 1e-12


UNITS = "N/m", "N·m/rad"


def test_a_matrix_that_is_in_force_is_no_word_worth():
    wanted = np.diag([2000.0] * 3 + [50.0] * 3)
    assert unpaid("stiffness", wanted, wanted, UNITS) == ""
    assert unpaid("stiffness", np.zeros((6, 6)), np.zeros((6, 6)), UNITS) == ""


@pytest.mark.parametrize(
    ("axis", "words"), [(1, ("500", "2000 N/m", "along y")), (4, ("10", "50 N·m/rad", "along ry"))]
)
def test_what_is_in_force_of_a_matrix_is_told_of_the_axis_that_is_most_behind(axis, words):
    wanted = np.diag([2000.0] * 3 + [50.0] * 3)
    acts = wanted.copy()
    acts[axis, axis] = float(words[0])
    told = unpaid("stiffness", acts, wanted, UNITS)
    assert all(word in told for word in words)
