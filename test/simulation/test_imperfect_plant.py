"""An imperfect arm: each imperfection is measured back from what the plant does."""

from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip("mujoco", reason="the simulator needs MuJoCo")

from robot_control_ros import Imperfections, Push, load_imperfections, simulate
from robot_control_ros.core.errors import ConfigError, HardwareFault
from robot_control_ros.core.spatial import rotation_from_rpy, rotation_to_rpy
from robot_control_ros.core.types import Command, CommandMode
from robot_control_ros.robot.configuration import load_robot
from robot_control_ros.robot.model import RobotModel
from robot_control_ros.simulation.imperfect.imperfect_plant import ImperfectPlant
from robot_control_ros.simulation.imperfect.imperfections import (
    CentreErrors,
    CommandLine,
    LoadedFriction,
    ModelErrors,
    SensorNoise,
    SensorSteps,
    StateLine,
    TripLimits,
    VelocityFilter,
    WrenchErrors,
)
from robot_control_ros.simulation.mujoco_plant import MujocoPlant

pytestmark = pytest.mark.sim

ROBOT = load_robot("ur5e")
MODEL = RobotModel.of(ROBOT)
N, RATE, STEP = ROBOT.n, 500.0, 0.001
PERIOD = 1.0 / RATE
SIGMAS = 5.0  # a true value is beyond them once in 2 million
SIGNALS = ("q", "v", "effort")


def made(physics_step=STEP, **given):
    """Plant and arm."""
    imperfections = Imperfections(**given)
    arm = MujocoPlant(ROBOT, rate=RATE, imperfections=imperfections, physics_step=physics_step)
    return ImperfectPlant(arm, ROBOT, imperfections), arm


def command(mode, values):
    return Command(CommandMode(mode), np.array(values, dtype=float))


def joint(index, value):
    return value * np.eye(N)[index]


def gravity(q):
    return MODEL.update(q, np.zeros(N)).gravity


def samples(plant, count):
    return [plant.read() for _ in range(count)]


def array(states, name):
    return np.array([getattr(state, name) for state in states])


def wrenches(states):
    return np.array([np.concatenate((state.wrench.force, state.wrench.torque)) for state in states])


# --- sensors ---


def test_noise_has_its_standard_deviation_and_no_mean():
    stds = {"position": 2e-5, "velocity": 1e-3, "effort": (0.25, 0.2, 0.15, 0.1, 0.05, 0.02)}
    noise = SensorNoise(
        **{name: tuple(np.atleast_1d(std)) for name, std in stds.items()}, force=0.2, torque=0.005
    )
    count = 2000
    noisy, ideal = (samples(made(noise=each)[0], count) for each in (noise, SensorNoise()))
    found = [array(noisy, name) - array(ideal, name) for name in SIGNALS]
    found += np.split(wrenches(noisy) - wrenches(ideal), 2, axis=1)
    for errors, std in zip(found, (*stds.values(), 0.2, 0.005), strict=True):
        np.testing.assert_allclose(
            errors.std(axis=0) / std, 1.0, rtol=0, atol=SIGMAS / np.sqrt(2 * count)
        )
        np.testing.assert_allclose(
            errors.mean(axis=0) / std, 0.0, rtol=0, atol=SIGMAS / np.sqrt(count)
        )
        following = np.mean(errors[1:] * errors[:-1], axis=0) / np.square(std)
        np.testing.assert_allclose(following, 0.0, rtol=0, atol=SIGMAS / np.sqrt(count))


def test_samples_are_multiples_of_the_steps():
    steps = {"position": 1.2e-5, "velocity": 1e-3, "effort": 0.05}
    noise = SensorNoise((1e-4,), (1e-2,), (0.5,))
    plant, _ = made(
        noise=noise, steps=SensorSteps(**{name: (step,) for name, step in steps.items()})
    )
    exact, _ = made(noise=noise)
    for name, step in zip(SIGNALS, steps.values(), strict=True):
        plant.reset()
        exact.reset()
        rounded, whole = (array(samples(each, 300), name) for each in (plant, exact))
        distances = np.diff(np.unique(rounded[:, 0]))
        assert distances.min() == pytest.approx(step, rel=1e-6)
        np.testing.assert_allclose(distances / step, np.round(distances / step), rtol=0, atol=1e-6)
        assert np.abs(rounded - whole).max() <= step / 2 * (1 + 1e-9)


@pytest.mark.parametrize(
    "line", [{"delay": 0.008}, {"dead_time": 0.008}, {"delay": 0.003, "dead_time": 0.005}]
)
def test_velocities_are_late(line):
    delay, omega = 0.008, 2 * np.pi
    plant, arm = made(velocity=VelocityFilter(**line))
    sent, true = [], []
    for k in range(1000):
        sent.append(plant.read().v[0])
        true.append(arm.sample().v[0])
        plant.write(command("velocity", joint(0, 0.5 * np.sin(omega * k * PERIOD))))
    u, y = np.array(true[200:]), np.array(sent[200:])  # after the transient
    slope = np.gradient(u, PERIOD)
    assert np.sum((u - y) * slope) / np.sum(slope**2) == pytest.approx(delay, rel=0.02)


def test_slow_velocities_are_zero():
    dead, _ = made(noise=SensorNoise(velocity=(1e-3,)), velocity=VelocityFilter(zero_below=2e-3))
    v = array(samples(dead, 500), "v")
    assert (v == 0.0).mean() > 0.9
    assert (v != 0.0).any()
    assert np.abs(v[v != 0.0]).min() >= 2e-3


def test_the_wrist_sensor_has_an_offset_and_drifts():
    offset, drift = np.arange(1.0, 7.0), np.arange(6.0, 0.0, -1.0) / 10.0
    parts = tuple(offset[:3]), tuple(offset[3:]), tuple(drift[:3]), tuple(drift[3:])
    drifting, ideal = (
        samples(made(wrench=each)[0], 200) for each in (WrenchErrors(*parts), WrenchErrors())
    )
    slope, start = np.polyfit(array(drifting, "time"), wrenches(drifting) - wrenches(ideal), 1)
    np.testing.assert_allclose(slope, drift, rtol=1e-9)
    np.testing.assert_allclose(start, offset, rtol=1e-9)


def test_torques_have_an_offset():
    offset = np.arange(1.0, 7.0)
    (shifted,), (ideal,) = (
        samples(made(effort_offset=each)[0], 1) for each in (tuple(offset), (0.0,))
    )
    np.testing.assert_allclose(shifted.effort - ideal.effort, offset, rtol=1e-9)


# --- the line ---


def arrivals(count, **line):
    plant, _ = made(physics_step=1e-4, states=StateLine(**line))
    found = []
    for _ in range(count):
        stamp = plant.read().time
        found.append((stamp, plant.time))
    return np.array(found[1:]).T  # the first is there at once


def test_samples_arrive_late_in_their_order():
    stamps, times = arrivals(300, delay=0.0035)
    np.testing.assert_allclose(times - stamps, 0.0035, rtol=0, atol=1e-9)
    np.testing.assert_allclose(np.diff(stamps), PERIOD, rtol=0, atol=1e-9)


def test_jitter_is_uniform_above_the_delay():
    delay, jitter, count = 0.003, 0.001, 500  # less than a period: no sample waits for another
    stamps, times = arrivals(count, delay=delay, jitter=jitter)
    late = times - stamps
    assert delay - 1e-9 <= late.min() < late.max() <= delay + jitter + 1e-9
    uniform_std = jitter / np.sqrt(12)
    assert late.mean() == pytest.approx(
        delay + jitter / 2, abs=SIGMAS * uniform_std / np.sqrt(count)
    )
    assert late.std() == pytest.approx(uniform_std, rel=0.2)


def test_with_much_jitter_the_order_stays():
    stamps, times = arrivals(300, jitter=0.02)
    np.testing.assert_allclose(np.diff(stamps), PERIOD, rtol=0, atol=1e-9)
    assert (np.diff(times) >= 0.0).all()
    assert (np.diff(times) == 0.0).any()


def test_a_fraction_of_the_samples_is_lost():
    lost, count = 0.1, 1500
    plant, _ = made(states=StateLine(lost=lost))
    stamps = array(samples(plant, count), "time")
    sent = round((stamps[-1] - stamps[0]) / PERIOD)
    spread = np.sqrt(lost * (1 - lost) / sent)
    assert (sent - (count - 1)) / sent == pytest.approx(lost, abs=SIGMAS * spread)


def answered(plant, rng, count):
    """Torques that were sent after each sample, and measured with it, of a joint that
    nothing else moves.
    """
    hold, sent, measured = gravity(np.array(ROBOT.home)), [], []
    for _ in range(count):
        measured.append(plant.read().effort[5])
        sent.append(rng.uniform(-1.0, 1.0))
        plant.write(command("effort", hold + joint(5, sent[-1])))
    return np.array(sent), np.array(measured)


@pytest.mark.parametrize("periods", [0, 1, 3])
def test_commands_act_late(periods, rng):
    sent, measured = answered(made(commands=CommandLine(delay=periods * PERIOD))[0], rng, 100)
    products = [np.corrcoef(sent[: 100 - shift], measured[shift:])[0, 1] for shift in range(1, 8)]
    # what is sent after a sample is seen with the next
    assert 1 + np.argmax(products) == 1 + periods


def test_a_fraction_of_the_commands_is_lost(rng):
    lost, count = 0.2, 1000
    _, measured = answered(made(commands=CommandLine(lost=lost))[0], rng, count)
    spread = np.sqrt(lost * (1 - lost) / count)
    assert np.mean(np.diff(measured) == 0.0) == pytest.approx(lost, abs=SIGMAS * spread + 2 / count)


@pytest.mark.parametrize(
    ("mode", "late"), [("position", 0.02), ("velocity", 0.02), ("effort", 0.004)]
)
def test_positions_and_velocities_have_a_delay_of_their_own(mode, late):
    plant, arm = made(commands=CommandLine(delay=0.004, position_delay=0.02))
    start = plant.read()
    base = {"position": start.q, "velocity": np.zeros(N), "effort": start.effort}[mode]
    plant.write(command(mode, base + joint(0, 0.1)))
    while np.abs(arm.sample().v[0]) < 1e-9:
        plant.read()
    assert late < plant.time <= late + PERIOD + 1e-9


def test_a_wrong_command_is_refused_at_once_and_the_last_one_stays(rng):
    plant, _ = made(commands=CommandLine(delay=0.01))
    plant.read()
    with pytest.raises(ConfigError):
        plant.write(command("effort", np.full(N, np.nan)))
    samples(plant, 20)


# --- the arm ---


def speed_of_tip(plant, torque, seconds):
    """Fastest coordinate of the tip in the last half [m/s]."""
    q = plant.read().q
    plant.write(command("effort", gravity(q) + torque))
    count = round(seconds * RATE)
    states = samples(plant, count)[count // 2 :]
    positions = np.array(
        [MODEL.update(state.q, state.v).pose[:3, 3] for state in (states[0], states[-1])]
    )
    return np.abs(np.diff(positions, axis=0)).max() / (states[-1].time - states[0].time)


@pytest.mark.parametrize("index", [0, 1, 3])
def test_a_joint_breaks_away_at_its_coulomb_friction(index):
    coulomb = (5.0, 6.0, 5.0, 1.2, 1.0, 1.4)
    for factor, moves in ((0.95, False), (1.05, True)):
        plant, _ = made(friction=LoadedFriction(coulomb))
        speed = speed_of_tip(plant, joint(index, factor * coulomb[index]), 0.5)
        assert (speed > 1e-3) if moves else (speed < 1e-5)


def steady_torque(speed, **friction):
    """Of the first joint, whose axis is vertical, at a constant speed: velocity and torque."""
    plant, _ = made(friction=LoadedFriction(**friction))
    for _ in range(250):
        plant.write(command("velocity", joint(0, speed)))
        state = plant.read()
    return state.v[0], state.effort[0]


@pytest.mark.parametrize("load", [0.0, 0.2])
def test_friction_at_speed_is_coulomb_plus_viscous_plus_load(load):
    coulomb, viscous = 5.0, 7.0
    for speed in (0.2, -0.5, 0.8):
        v, torque = steady_torque(speed, coulomb=(coulomb,), viscous=(viscous,), load=load)
        friction = coulomb + load * abs(torque) + viscous * abs(v)
        assert torque == pytest.approx(np.sign(v) * friction, rel=2e-3)


@pytest.mark.parametrize("index", [0, 3])
def test_a_joint_that_stands_breaks_away_later_than_it_slides(index):
    coulomb = (3.0, 4.0, 3.0, 0.8, 0.7, 0.9)
    stiction = (2.0, 2.0, 2.0, 0.4, 0.3, 0.5)
    breaks_away = coulomb[index] + stiction[index]
    for factor, moves in ((0.95, False), (1.05, True)):
        plant, _ = made(friction=LoadedFriction(coulomb, stiction=stiction))
        speed = speed_of_tip(plant, joint(index, factor * breaks_away), 0.5)
        assert (speed > 1e-3) if moves else (speed < 1e-5)


@pytest.mark.parametrize("share", [0.5, 1.0, 2.0, 5.0])
def test_stiction_fades_with_the_stribeck_velocity(share):
    coulomb, stiction, stribeck = 5.0, 2.0, 0.05
    v, torque = steady_torque(
        share * stribeck, coulomb=(coulomb,), stiction=(stiction,), stribeck_velocity=stribeck
    )
    friction = coulomb + stiction * np.exp(-((v / stribeck) ** 2))
    assert torque == pytest.approx(friction, rel=5e-3)


def test_masses_are_wrong_by_their_relative_error():
    (state,) = samples(made(model=ModelErrors(mass=(0.07,)))[0], 1)
    np.testing.assert_allclose(state.effort, 1.07 * gravity(state.q), rtol=1e-6, atol=1e-6)
    by_joint = (0.0, 0.0, 0.0, 0.0, 0.0, 0.5)
    (ideal,), (single,) = (
        samples(made(model=ModelErrors(mass))[0], 1) for mass in ((0.0,), by_joint)
    )
    assert np.abs(single.effort - ideal.effort).max() > 0.1
    assert np.linalg.norm(single.effort - ideal.effort) < np.linalg.norm(0.5 * ideal.effort)


@pytest.mark.parametrize("name", ["ur5e", "gen3"])
@pytest.mark.parametrize("number", [2, 3])
def test_a_wrong_centre_of_mass_changes_what_holds_the_arm(name, number):
    """The torques are the derivatives of the energy of the link, whose mass is further
    along its own axes.
    """
    robot = load_robot(name)
    q = np.array(robot.home) + np.array([0.1, 0.3, -0.4, 0.6, -0.5, 0.4, 0.2])[: robot.n]
    still = np.zeros(robot.n)
    ideal = MujocoPlant(robot).dynamics(q, still)[1]
    largest = 0.0
    for shift in 0.03 * np.eye(3):
        torque, found = torques_of_a_wrong_centre(robot, number, q, shift)
        largest = max(largest, np.abs(torque).max())
        np.testing.assert_allclose(found - ideal, torque, rtol=0, atol=1e-5)
    assert largest > 0.1


def torques_of_a_wrong_centre(robot, number, q, shift):
    """By the energy of a link of an arm at rest, and by the simulation."""
    centre = CentreErrors(*(tuple(each) for each in np.outer(shift, np.eye(robot.n)[number])))
    wrong = MujocoPlant(robot, imperfections=Imperfections(model=ModelErrors(centre=centre)))
    link = wrong.model.body(int(wrong.model.joint(robot.joints[number]).bodyid[0]))

    def energy(angles):
        wrong.reset(angles)
        return 9.81 * link.mass[0] * (wrong.link_rotation(link.name) @ shift)[2]

    step = 1e-4
    torque = [
        (energy(q + step * each) - energy(q - step * each)) / (2.0 * step)
        for each in np.eye(robot.n)
    ]
    return np.array(torque), wrong.dynamics(q, np.zeros(robot.n))[1]


@pytest.mark.parametrize("mount", [(0.0,) * 6, (0.0, 0.0, 0.3, 0.0, 1.2, 0.4)])
def test_a_tilted_base_is_held_as_one_that_is_mounted_so(mount):
    robot = replace(ROBOT, mount=mount)
    q = np.array(ROBOT.home)
    tilt = (0.1, -0.2)
    tilted = MujocoPlant(robot, imperfections=Imperfections(model=ModelErrors(base_tilt=tilt)))
    turned = rotation_from_rpy(*tilt, 0.0) @ rotation_from_rpy(*mount[3:])
    mounted = replace(robot, mount=(*mount[:3], *rotation_to_rpy(turned)))
    found = tilted.dynamics(q, np.zeros(N))[1]
    np.testing.assert_allclose(found, RobotModel.of(mounted).at(q).gravity, atol=1e-6)
    assert np.abs(found - RobotModel.of(robot).at(q).gravity).max() > 1.0


def test_inertia_is_wrong_by_the_same():
    q = np.array(ROBOT.home)
    mass, ideal = (
        made(model=ModelErrors(each))[1].dynamics(q, np.zeros(N))[0] for each in ((0.1,), (0.0,))
    )
    rotors = np.diag(ROBOT.rotor_inertia)
    np.testing.assert_allclose(mass - rotors, 1.1 * (ideal - rotors), rtol=1e-9, atol=1e-9)


def test_an_unknown_payload_pulls_at_its_centre():
    mass, centre = 1.5, np.array([0.05, -0.02, 0.1])
    (loaded,) = samples(made(model=ModelErrors((0.0,), mass, tuple(centre)))[0], 1)
    kin = MODEL.update(loaded.q, np.zeros(N))
    weight = np.array([0.0, 0.0, -9.81 * mass])
    wrench = np.concatenate((weight, np.cross(kin.pose[:3, :3] @ centre, weight)))
    np.testing.assert_allclose(
        loaded.effort, kin.gravity - kin.jacobian.T @ wrench, rtol=1e-4, atol=1e-4
    )


def test_rotors_have_the_inertia_that_is_given():
    inertia = (1.9, 1.8, 1.7, 0.3, 0.2, 0.1)
    q = np.array(ROBOT.home)
    given, ideal = (
        made(rotor_inertia=each)[1].dynamics(q, np.zeros(N))[0] for each in (inertia, ())
    )
    np.testing.assert_allclose(
        given - ideal, np.diag(np.array(inertia) - ROBOT.rotor_inertia), rtol=0, atol=1e-9
    )


HEAVY_ROTORS = (1.9, 1.9, 1.9, 0.2, 0.2, 0.2)


def test_elastic_joints_give_way_behind_their_sensors():
    stiffness = np.array([3e4, 2e4, 1e4, 5e3, 4e3, 3e3])
    force = np.array([20.0, 15.0, -10.0])
    plant, arm = made(stiffness=tuple(stiffness), rotor_inertia=HEAVY_ROTORS)
    places, states = [], []
    for push in (np.zeros(3), force):
        arm.push(ROBOT.tip, push, np.zeros(3))
        states.append(samples(plant, 2000)[-1])
        places.append(arm.data.body(ROBOT.tip).xpos - arm.data.body(ROBOT.base).xpos)
        places[-1] = places[-1] @ arm.data.body(ROBOT.base).xmat.reshape(3, 3)
    jacobian = MODEL.update(states[0].q, np.zeros(N)).jacobian[:3]
    seen = jacobian @ (states[1].q - states[0].q)
    unseen = jacobian @ (jacobian.T @ force / stiffness)
    np.testing.assert_allclose(
        places[1] - places[0] - seen, unseen, rtol=0, atol=0.02 * np.linalg.norm(unseen)
    )


@pytest.mark.few(3)
@pytest.mark.parametrize("stiffness", [(), (1e4,)])
@pytest.mark.parametrize("robot", ["ur5e", "gen3"])
@pytest.mark.parametrize("torque", [2.0, 6.0])
def test_backlash_leaves_the_link_its_way_behind_a_standing_motor(robot, torque, stiffness):
    """A vertical axis: only the push turns the link from one end of the gap to the other,
    and twists the gear.
    """
    gap = 5e-4
    config = load_robot(robot)
    first = (gap, *[0.0] * (config.n - 1))
    springs = (*stiffness, *[1e6] * (config.n - 1)) if stiffness else ()
    imperfections = Imperfections(backlash=first, stiffness=springs)
    arm = MujocoPlant(config, imperfections=imperfections)
    plant = ImperfectPlant(arm, config, imperfections)
    turns = []
    for sign in (1.0, -1.0):
        arm.push(config.tip, np.zeros(3), np.array([0.0, 0.0, sign * torque]))
        state = samples(plant, 1000)[-1]
        turns.append(float(arm.data.joint(f"gear/{config.joints[0]}").qpos[0]))
        np.testing.assert_allclose(state.v, 0.0, rtol=0, atol=1e-4)
    assert abs(turns[0] - turns[1]) == pytest.approx(
        gap + 2.0 * torque / (stiffness or (1e6,))[0], rel=0.02
    )


def test_within_the_gap_no_torque_reaches_the_link():
    plant, arm = made(backlash=(0.5, *[0.0] * (N - 1)), rotor_inertia=HEAVY_ROTORS)
    inertia = arm.dynamics(np.array(ROBOT.home), np.zeros(N))[0][0, 0] - HEAVY_ROTORS[0]
    torque, seconds = 2.0, 0.2
    arm.push(ROBOT.tip, np.zeros(3), np.array([0.0, 0.0, torque]))
    samples(plant, 1 + round(seconds * RATE))
    turned = float(arm.data.joint(f"gear/{ROBOT.joints[0]}").qpos[0])
    assert turned == pytest.approx(0.5 * torque / inertia * seconds**2, rel=0.03)


def test_a_motor_gives_its_offset_beside_the_command_and_a_held_arm_none():
    offset = np.array([2.0, 1.0, -1.0, 0.3, -0.2, 0.1])
    plant, arm = made(torque_offset=tuple(offset))
    held = samples(plant, 100)[-1]
    np.testing.assert_allclose(held.v, 0.0, rtol=0, atol=1e-6)
    mass = arm.dynamics(held.q, np.zeros(N))[0]
    plant.write(command("effort", gravity(held.q)))
    state = plant.read()
    np.testing.assert_allclose(state.effort, gravity(held.q) + offset, rtol=0, atol=1e-3)
    np.testing.assert_allclose(
        state.v, PERIOD * np.linalg.solve(mass, offset), rtol=0.02, atol=1e-5
    )


@pytest.mark.parametrize("backlash", [0.0, 5e-4])
@pytest.mark.parametrize("rotors", [(), HEAVY_ROTORS])
def test_an_elastic_arm_starts_at_rest(rotors, backlash):
    plant, _ = made(stiffness=(1e4,), backlash=(backlash,), rotor_inertia=rotors)
    v = array(samples(plant, 200), "v")
    assert np.abs(v).max() < 1e-3


# --- seeds, and nothing ---


def logs_are_equal(one, other):
    names = ("t", "q", "v", "effort", "pose", "wrench", "command")
    return all(
        np.array_equal(getattr(one, name), getattr(other, name), equal_nan=True) for name in names
    )


PUSH = Push(force=(20.0, 10.0, 0.0), start=0.1)


def test_the_same_seed_gives_the_same_run_to_the_bit():
    preset = load_imperfections("like_ur5e")
    first, again, other = (
        simulate(
            "ur5e", duration=0.4, push=PUSH, rate=RATE, imperfections=replace(preset, seed=seed)
        )
        for seed in (3, 3, 4)
    )
    assert logs_are_equal(first, again)
    assert not np.array_equal(first.q[:100], other.q[:100])


def test_a_reset_begins_the_same_run_anew():
    plant, _ = made(noise=SensorNoise((1e-4,)), states=StateLine(0.003, 0.002, 0.1))
    first = samples(plant, 50)
    plant.reset()
    again = samples(plant, 50)
    assert np.array_equal(array(first, "q"), array(again, "q"))
    assert np.array_equal(array(first, "time"), array(again, "time"))


@pytest.mark.parametrize("law", ["impedance", "admittance"])
@pytest.mark.parametrize("robot", ["ur5", "gen3"])
def test_no_imperfections_are_the_ideal_arm_to_the_bit(law, robot):
    given = {"law": law, "duration": 0.3, "push": PUSH, "rate": RATE}
    assert logs_are_equal(
        simulate(robot, **given), simulate(robot, **given, imperfections=Imperfections())
    )


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("robot", "law"), [("ur5e", "impedance"), ("ur5", "admittance"), ("gen3", "impedance")]
)
def test_a_law_holds_an_arm_like_the_preset(robot, law):
    log = simulate(robot, law, duration=1.0, rate=RATE, imperfections=f"like_{robot}")
    assert np.linalg.norm(log.pose_error[:, :3], axis=1).max() < 0.05
    assert not log.trouble


@pytest.mark.few(2)
@pytest.mark.parametrize("law", ["impedance", "admittance"])
@pytest.mark.parametrize("robot", ["ur5e", "gen3"])
def test_a_law_holds_the_worst_arm(robot, law):
    log = simulate(robot, law, duration=1.0, rate=RATE, imperfections="worst")
    assert not log.trouble
    assert np.linalg.norm(log.pose_error[:, :3], axis=1).max() < 0.05


# --- trips ---


def swing(**limits):
    """Swing the arm by positions; the largest of each quantity that trips, by
    formulae of their own.
    """
    plant, arm = made(trips=TripLimits(**limits), model=ModelErrors(payload_mass=2.0))
    start, first = np.array(ROBOT.home), int(arm.model.joint(ROBOT.joints[0]).bodyid[0])
    mass, found, centres = arm.model.body_subtreemass[first], [], []
    wanted = start
    for k in range(600):
        state = plant.read()
        true = arm.sample()
        centres.append(arm.data.subtree_com[first].copy())
        twist = MODEL.update(true.q, true.v).twist
        power = abs(sum(torque * v for torque, v in zip(true.effort, true.v, strict=True)))
        force = np.linalg.norm(true.wrench.force)
        lag = np.abs(wanted - true.q).max() if k else 0.0
        found.append((np.abs(true.v).max(), np.linalg.norm(twist[:3]), force, power, lag))
        wanted = start + 0.3 * (1.0 - np.cos(4.0 * k * PERIOD)) * np.array(
            [1.0, -0.3, 0.5, 0.0, 0.0, 0.0]
        )
        plant.write(command("position", wanted))
    assert state.time == pytest.approx(599 * PERIOD)
    names = ("joint_velocity", "tip_velocity", "force", "power", "following_error")
    largest = dict(zip(names, np.max(found, axis=0), strict=True))
    momentum = mass * np.linalg.norm(np.gradient(np.array(centres), PERIOD, axis=0), axis=1)
    return largest | {"momentum": momentum.max()}


@pytest.fixture(scope="module")
def largest():
    return swing()


@pytest.mark.few(2)
@pytest.mark.parametrize(
    "name", ["joint_velocity", "tip_velocity", "force", "power", "momentum", "following_error"]
)
def test_the_arm_trips_above_a_limit_and_not_below_and_says_at_which(name, largest):
    per_joint = name in ("joint_velocity", "following_error")
    below, above = (
        (factor * largest[name],) if per_joint else factor * largest[name]
        for factor in (0.97, 1.03)
    )
    swing(**{name: above})
    with pytest.raises(HardwareFault) as raised:
        swing(**{name: below})
    assert raised.value.name == name
    assert raised.value.value > raised.value.bound == pytest.approx(0.97 * largest[name])


def test_a_trip_names_the_joint_and_holds_the_arm(largest):
    plant, arm = made(trips=TripLimits(joint_velocity=(0.2,)))
    plant.read()
    plant.write(command("velocity", joint(2, 1.0)))
    with pytest.raises(HardwareFault, match=ROBOT.joints[2]):
        samples(plant, 1000)
    for _ in range(200):
        arm.advance()
    assert np.abs(arm.sample().v).max() < 1e-3


def test_simulate_ends_with_the_trip():
    with pytest.raises(HardwareFault) as raised:
        simulate(
            "ur5e", duration=1.0, push=Push(force=(200.0, 0.0, 0.0)), imperfections="like_ur5e"
        )
    assert raised.value.name in ("force", "power", "tip_velocity", "joint_velocity", "momentum")
