"""Arms that are drawn: the same each time, within their ranges, and around
the one that is given.
"""

from dataclasses import fields, replace

import numpy as np
import pytest
from refusals import refuses

from robot_control_ros.core.errors import ConfigError
from robot_control_ros.robot.configuration import load_robot
from robot_control_ros.robot.model import RobotModel
from robot_control_ros.simulation.imperfect.imperfections import (
    CommandLine,
    HalfWidths,
    Imperfections,
    LoadedFriction,
    ModelErrors,
    load_imperfections,
)
from robot_control_ros.tuning.arms import KNOWN_ARM, UNKNOWN_ARM, sample_arms

ROBOTS = ("ur5", "gen3", "planar_two_link")
MANY = 40


@pytest.mark.parametrize("base", [None, load_imperfections("like_ur5e")])
def test_an_arm_is_the_same_among_any_number_of_arms(base):
    robot = load_robot("ur5e")
    many = sample_arms(robot, base, 3, 5)
    assert sample_arms(robot, base, 3, 2) == many[:2]
    assert len(set(many)) == 5


@pytest.mark.parametrize("base", [None, load_imperfections("like_ur5e")])
def test_another_seed_and_held_out_arms_are_others(base):
    robot = load_robot("ur5e")
    drawn = [*sample_arms(robot, base, 0, 3), *sample_arms(robot, base, 1, 3)]
    drawn += sample_arms(robot, base, 0, 3, held_out=True)
    assert len(set(drawn)) == 9
    assert len({arm.seed for arm in drawn}) == 9


@pytest.mark.parametrize("name", ROBOTS)
def test_an_arm_of_which_nothing_is_known_lies_within_the_ranges(name):
    robot = load_robot(name)
    scale = np.minimum(RobotModel.of(robot).limits.effort, UNKNOWN_ARM.most_effort)
    rotors = np.array(robot.rotor_inertia)
    rotors = np.where(rotors > 0.0, rotors, UNKNOWN_ARM.rotor)
    arms = sample_arms(robot, None, 0, MANY)
    for arm in arms:
        arm.check(robot)
        assert UNKNOWN_ARM.delay[0] <= arm.commands.delay <= UNKNOWN_ARM.delay[1]
        assert 0.0 <= arm.model.payload_mass <= UNKNOWN_ARM.heaviest
        for values, ends in (
            (arm.friction.coulomb, UNKNOWN_ARM.coulomb),
            (arm.friction.viscous, UNKNOWN_ARM.viscous),
        ):
            shares = np.array(values) / scale
            assert (shares >= ends[0]).all()
            assert (shares <= ends[1]).all()
        factors = np.array(arm.rotor_inertia) / rotors
        assert (factors >= UNKNOWN_ARM.rotors[0]).all()
        assert (factors <= UNKNOWN_ARM.rotors[1]).all()
    delays = [arm.commands.delay for arm in arms]
    assert np.ptp(delays) > 0.8 * (UNKNOWN_ARM.delay[1] - UNKNOWN_ARM.delay[0])


def test_half_widths_are_kept_and_used():
    robot = load_robot("ur5")
    coulomb = np.array([5.0, 6.0, 4.0, 1.0, 0.1, 0.0])
    width = np.array([0.5, 0.2, 0.1, 0.3, 0.4, 0.0])
    base = Imperfections(
        commands=CommandLine(delay=0.005),
        friction=LoadedFriction(coulomb=tuple(coulomb), viscous=(2.0,)),
        model=ModelErrors(payload_mass=0.1),
        half_width=HalfWidths(delay=0.001, coulomb=tuple(width), viscous=(0.2,), payload_mass=0.3),
    )
    arms = sample_arms(robot, base, 0, MANY)
    drawn = np.array([arm.friction.coulomb for arm in arms])
    assert (np.abs(drawn - coulomb) <= width + 1e-12).all()
    assert (drawn >= 0.0).all()
    assert (np.ptp(drawn, axis=0)[:4] > 1.6 * width[:4]).all()
    assert (drawn[:, 5] == 0.0).all()
    assert all(np.abs(np.array(arm.friction.viscous) - 2.0).max() <= 0.2 for arm in arms)
    assert all(abs(arm.commands.delay - 0.005) <= 0.001 for arm in arms)
    masses = [arm.model.payload_mass for arm in arms]
    assert min(masses) == 0.0  # clipped
    assert 0.3 < max(masses) <= 0.4


def test_without_half_widths_the_fractions_count_and_all_else_stays():
    robot = load_robot("ur5")
    base = load_imperfections("like_ur5")
    for arm in sample_arms(robot, base, 0, MANY):
        ratio = np.array(arm.friction.coulomb) / np.array(base.friction.coulomb)
        assert np.abs(ratio - 1.0).max() <= KNOWN_ARM.friction
        for name in ("delay", "position_delay"):
            moved = getattr(arm.commands, name) / getattr(base.commands, name)
            assert abs(moved - 1.0) <= KNOWN_ARM.delay
        drawn = {"name", "seed", "commands", "friction", "model", "rotor_inertia"}
        for field in fields(Imperfections):
            assert field.name in drawn or getattr(arm, field.name) == getattr(base, field.name)
        assert arm.model == base.model
        assert (
            replace(arm.friction, coulomb=base.friction.coulomb, viscous=base.friction.viscous)
            == base.friction
        )


def test_the_delay_of_positions_keeps_apart_from_that_of_torques():
    robot = load_robot("ur5")
    base = Imperfections(
        commands=CommandLine(position_delay=0.01), half_width=HalfWidths(delay=0.02)
    )
    for arm in sample_arms(robot, base, 0, MANY):
        assert arm.commands.delay == 0.0
        assert 0.0 < arm.commands.position_delay <= 0.03


@pytest.mark.parametrize(
    ("seed", "count", "name"),
    [(-1, 1, "seed"), (0.5, 1, "seed"), (0, 0, "arms"), (0, True, "arms")],
)
def test_impossible_numbers_are_refused(seed, count, name):
    with refuses(name, seed if name == "seed" else count):
        sample_arms(load_robot("ur5"), None, seed, count)


def test_imperfections_of_another_robot_are_refused():
    with pytest.raises(ConfigError):
        sample_arms(load_robot("gen3"), load_imperfections("like_ur5"), 0, 1)
