"""Files of imperfections: what is read, what is refused, and the presets."""

from dataclasses import replace

import pytest
from refusals import refuses

from robot_control_ros.cli.main import main
from robot_control_ros.core.errors import ConfigError
from robot_control_ros.robot.configuration import load_robot
from robot_control_ros.simulation.imperfect.imperfections import (
    CentreErrors,
    Imperfections,
    LoadedFriction,
    ModelErrors,
    SensorNoise,
    VelocityFilter,
    imperfection_names,
    load_imperfections,
    per_joint,
)

FITTING = {"like_ur5": "ur5", "like_ur5e": "ur5e", "like_gen3": "gen3"}
WHOLE = """
description: everything
seed: 7
states: { delay: 0.001, jitter: 0.002, lost: 0.1 }
commands: { delay: 0.003, jitter: 0.004, lost: 0.2, position_delay: 0.03 }
noise: { position: 1.0e-5, velocity: [1.0e-4, 2.0e-4], effort: 0.1, force: 0.2, torque: 0.3 }
steps: { position: 1.0e-6, velocity: 1.0e-5, effort: 0.01 }
velocity: { delay: 0.005, dead_time: 0.004, zero_below: 0.006 }
friction: { coulomb: [5, 1], viscous: 2, load: 0.1, stiction: [2, 3], stribeck_velocity: 0.03 }
model: { mass: -0.05, payload_mass: 0.5, payload_centre: [0, 0, 0.1], centre: { x: 0.01, y: [0.02, -0.03] } }
rotor_inertia: 0.5
stiffness: [1.0e+4, 5000]
backlash: [5.0e-4, 0]
wrench: { force_offset: [1, 2, 3], torque_offset: [4, 5, 6], force_drift: [7, 8, 9], torque_drift: [10, 11, 12] }
effort_offset: 0.7
torque_offset: [0.8, -0.9]
trips: { joint_velocity: [3, 4], tip_velocity: 1.5, force: 150, power: 300, momentum: 25, following_error: 0.1 }
"""


@pytest.fixture
def load(tmp_path):
    def load(text):
        path = tmp_path / "mine.yaml"
        path.write_text(text, encoding="utf-8")
        return load_imperfections(str(path))

    return load


def test_everything_in_a_file_is_read(load):
    read = load(WHOLE)
    assert (read.name, read.description, read.seed) == ("mine", "everything", 7)
    assert (read.states.delay, read.states.jitter, read.states.lost) == (0.001, 0.002, 0.1)
    line = read.commands
    assert (line.delay, line.jitter, line.lost, line.position_delay) == (0.003, 0.004, 0.2, 0.03)
    assert read.noise == SensorNoise((1e-5,), (1e-4, 2e-4), (0.1,), 0.2, 0.3)
    assert (read.steps.position, read.steps.velocity, read.steps.effort) == (
        (1e-6,),
        (1e-5,),
        (0.01,),
    )
    assert read.velocity == VelocityFilter(0.005, 0.004, 0.006)
    assert read.friction == LoadedFriction((5.0, 1.0), (2.0,), 0.1, (2.0, 3.0), 0.03)
    assert read.model == ModelErrors(
        (-0.05,), 0.5, (0.0, 0.0, 0.1), CentreErrors((0.01,), (0.02, -0.03))
    )
    assert (read.backlash, read.torque_offset) == ((5e-4, 0.0), (0.8, -0.9))
    assert (read.rotor_inertia, read.stiffness, read.effort_offset) == ((0.5,), (1e4, 5e3), (0.7,))
    assert (read.wrench.force_offset, read.wrench.torque_drift) == (
        (1.0, 2.0, 3.0),
        (10.0, 11.0, 12.0),
    )
    trips = read.trips
    assert (trips.joint_velocity, trips.following_error) == ((3.0, 4.0), (0.1,))
    assert (trips.tip_velocity, trips.force, trips.power, trips.momentum) == (
        1.5,
        150.0,
        300.0,
        25.0,
    )


def test_an_empty_file_is_the_ideal_arm(load):
    assert replace(load("{}"), name="") == Imperfections()


def test_one_value_stands_for_all_joints():
    assert per_joint((2.0,), 3).tolist() == [2.0, 2.0, 2.0]
    assert per_joint((1.0, 2.0), 2).tolist() == [1.0, 2.0]


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("state: { delay: 1 }", "state"),
        ("states: { late: 1 }", "late"),
        ("states: { delay: -0.001 }", "delay"),
        ("states: { lost: 1.0 }", "lost"),
        ("commands: { position_delay: 2 }", "position_delay"),
        ("noise: { position: [] }", "position"),
        ("noise: { force: [1, 1, 1] }", "force"),
        ("friction: { coulomb: -1 }", "coulomb"),
        ("friction: { load: 1 }", "load"),
        ("model: { mass: -1 }", "mass"),
        ("model: { payload_centre: [0, 0] }", "payload_centre"),
        ("friction: { stiction: -1 }", "stiction"),
        ("friction: { stribeck_velocity: 0 }", "stribeck_velocity"),
        ("model: { centre: { w: 0.01 } }", "w"),
        ("velocity: { dead_time: -0.001 }", "dead_time"),
        ("stiffness: 0", "stiffness"),
        ("backlash: -0.001", "backlash"),
        ("torque_offset: [a]", "torque_offset"),
        ("wrench: { force_drift: [0, 0] }", "force_drift"),
        ("trips: { power: .inf }", "power"),
        ("seed: 1.5", "seed"),
    ],
)
def test_an_unusable_entry_is_refused(text, name, load):
    with pytest.raises(ConfigError) as raised:
        load(text)
    assert raised.value.name == name


def test_an_unknown_name_lists_the_presets():
    with refuses("preset", "like_ur6", tuple(imperfection_names())):
        load_imperfections("like_ur6")


def test_there_is_a_preset_for_each_of_these_arms():
    assert imperfection_names() == sorted([*FITTING, "worst"])


@pytest.mark.parametrize("name", FITTING)
def test_a_preset_goes_with_robots_of_as_many_joints(name):
    preset = load_imperfections(name)
    assert preset.description
    preset.check(load_robot(FITTING[name]))
    for other in ("ur5", "ur5e", "gen3", "planar_two_link"):
        robot = load_robot(other)
        if robot.n != load_robot(FITTING[name]).n:
            with pytest.raises(ConfigError) as raised:
                preset.check(robot)
            assert raised.value.bound == robot.n
            assert all(
                word in str(raised.value)
                for word in (name, raised.value.name, other, *robot.joints)
            )


@pytest.mark.parametrize("name", ["ur5", "ur5e", "gen3"])
def test_the_worst_preset_goes_with_each_robot_that_has_rotors(name):
    load_imperfections("worst").check(load_robot(name))


@pytest.mark.parametrize("name", ["like_ur5e", "worst"])
def test_the_preset_has_what_real_joints_and_sensors_have(name):
    preset = load_imperfections(name)
    centre = preset.model.centre
    parts = (
        preset.backlash,
        preset.friction.stiction,
        preset.torque_offset,
        centre.x,
        centre.y,
        centre.z,
    )
    assert all(min(map(abs, each)) > 0.0 for each in parts)
    assert max(preset.wrench.force_drift) > 0.0
    assert preset.velocity.delay + preset.velocity.dead_time > 0.0
    assert min(preset.noise.velocity) > 0.0


def test_the_command_refuses_a_preset_of_another_arm(capsys):
    assert (
        main(["simulate", "--robot", "ur5e", "--imperfections", "like_gen3", "--seconds", "0.1"])
        == 2
    )
    assert "like_gen3" in capsys.readouterr().err


@pytest.mark.parametrize("gears", [{"stiffness": (1e4,)}, {"backlash": (5e-4,)}])
def test_a_gear_that_gives_way_needs_a_rotor(gears):
    robot = load_robot("ur5e")
    given = Imperfections(**gears, rotor_inertia=(1.0, 1.0, 1.0, 1.0, 1.0, 0.0))
    with pytest.raises(ConfigError) as raised:
        given.check(robot)
    assert raised.value.name == "rotor_inertia"
