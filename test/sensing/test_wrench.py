"""The wrench pipeline: each stage against its formula, the order of the stages,
and what is refused.
"""

import math
from dataclasses import replace
from unittest.mock import ANY

import numpy as np
import pytest
from arms import random_arm
from refusals import refuses
from scipy.spatial.transform import Rotation

from robot_control_ros.control.loop import ControlLoop
from robot_control_ros.core.errors import ConfigError
from robot_control_ros.core.spatial import make_pose
from robot_control_ros.core.types import RobotState, Wrench
from robot_control_ros.robot.configuration import load_robot
from robot_control_ros.robot.payload import Payload
from robot_control_ros.sensing.wrench import (
    ACCELERATION_CORNER,
    MEMORY,
    WrenchPipeline,
    accelerate,
    add_load,
    check_wrench,
)

DT = 0.002
BIAS = np.array([4.0, -2.0, 9.0, 0.3, -0.1, 0.7])
PUSH = np.array([3.0, -20.0, 7.0, 0.4, 0.1, -2.0])
MASS, CENTER = 1.7, np.array([0.02, -0.05, 0.11])
EVERYTHING = {
    "low_pass": 20.0,
    "dead_band_force": 1.0,
    "dead_band_torque": 0.1,
    "saturation_force": 15.0,
    "saturation_torque": 1.0,
}


def in_sensor(model, kin, wrench, frame="ft_frame"):
    """A wrench at the tip, base axes, as a sensor on the robot shows it: own axes,
    about its own origin.
    """
    sensor = model.frame_pose(frame)
    arm = kin.pose[:3, 3] - sensor[:3, 3]
    about_sensor = wrench[3:] + np.cross(arm, wrench[:3])
    return np.concatenate((sensor[:3, :3].T @ wrench[:3], sensor[:3, :3].T @ about_sensor))


def hanging(model, mass=MASS, center=CENTER, frame="ft_frame"):
    """The sensor's share of a payload's weight at the present pose, with gravity
    along the base's -z.
    """
    weight = model.frame_pose(frame)[:3, :3].T @ np.array([0.0, 0.0, -9.81 * mass])
    return np.concatenate((weight, np.cross(center, weight)))


def carry(model, mass=MASS, center=CENTER, frame="ft_frame"):
    """Give the model a payload whose centre is given in the sensor's frame."""
    model.update(np.zeros(model.n), np.zeros(model.n))
    in_tip = np.linalg.inv(model.frame_pose(model.tip)) @ model.frame_pose(frame) @ [*center, 1.0]
    model.payload = Payload(mass, in_tip[:3])


def state(time, q, raw=None, *, v=None, stamp=None, frame="ft_frame", effort=None):
    wrench = (
        None
        if raw is None
        else Wrench(np.array(raw[:3], dtype=float), np.array(raw[3:], dtype=float), frame, stamp)
    )
    n = len(q)
    return RobotState(
        time, q, np.zeros(n) if v is None else v, np.zeros(n) if effort is None else effort, wrench
    )


@pytest.fixture
def q(rng):
    return rng.uniform(-2.0, 2.0, 6)


class Feed:
    """Feeds wrenches at the tip, base axes, to a pipeline on an arm at rest, a sample every DT."""

    def __init__(self, model, q, **settings):
        self.pipeline = WrenchPipeline(settings)
        self.model, self.q = model, q
        self.kin = model.update(q, np.zeros(model.n))
        self.ticks = 0

    def __call__(self, wrench, dt=DT):
        self.ticks += 1
        self.time = self.ticks * dt
        raw = (
            None
            if wrench is None
            else in_sensor(self.model, self.kin, np.asarray(wrench, dtype=float))
        )
        return self.pipeline.on_tip(state(self.time, self.q, raw), self.kin)


# --- frame change ---


def test_the_wrench_at_the_tip_does_the_same_power_as_at_the_sensor(ur5_model, rng):
    """The twist of the sensor's frame follows from the tip's, rigidly: no lever arm formula
    of wrenches is used.
    """
    for _ in range(10):
        q, twist = rng.uniform(-2.0, 2.0, 6), rng.normal(size=6)
        raw = rng.normal(size=6)
        kin = ur5_model.update(q, np.zeros(6))
        sensor = ur5_model.frame_pose("ft_frame")
        velocity = twist[:3] + np.cross(twist[3:], sensor[:3, 3] - kin.pose[:3, 3])
        in_sensor_axes = np.concatenate((sensor[:3, :3].T @ velocity, sensor[:3, :3].T @ twist[3:]))
        assert WrenchPipeline().on_tip(state(0.0, q, raw), kin) @ twist == pytest.approx(
            raw @ in_sensor_axes, abs=1e-12
        )


@pytest.mark.parametrize("mass", [0.0, MASS], ids=["without payload", "with payload"])
@pytest.mark.parametrize("settings", [{}, EVERYTHING], ids=["plain", "everything"])
def test_the_mount_of_the_base_counts_only_by_the_gravity_in_its_axes(settings, mass, rng):
    turn = (0.4, -1.1, 2.3)
    rotation = Rotation.from_euler("xyz", turn).as_matrix()
    plain = random_arm(7, 6)
    turned = random_arm(7, 6, mount=((0.0, 0.0, 0.0), turn))
    one = plain.model(gravity=rotation.T @ [0.0, 0.0, -9.81])  # the root's axes are the base's here
    other = turned.model()
    np.testing.assert_allclose(one.gravity, other.gravity, atol=1e-12)
    for model in (one, other):
        model.payload = Payload(mass, CENTER)
    pipelines = WrenchPipeline(settings), WrenchPipeline(settings)
    for k in range(5):
        q, raw = rng.uniform(-2.0, 2.0, 6), 10.0 * rng.normal(size=6)
        sample = state(k * DT, q, raw, frame="tip")
        results = [
            p.on_tip(sample, m.update(q, np.zeros(6)))
            for p, m in zip(pipelines, (one, other), strict=True)
        ]
        np.testing.assert_allclose(*results, atol=1e-9)


def test_turning_base_gravity_and_arm_together_turns_the_result(rng):
    """Equivariance: base axes turned by R about the robot turn both halves of the wrench by Rᵀ."""
    turn = Rotation.from_euler("xyz", (0.4, -1.1, 2.3))
    arm = random_arm(7, 6)
    rolled = arm.urdf.replace(
        '<link name="base"/>', '<link name="base"/><link name="rolled"/>'
    ).replace(
        "</robot>",
        '<joint name="roll" type="fixed"><parent link="base"/><child link="rolled"/>'
        '<origin xyz="0.3 0.1 -0.2" rpy="0.4 -1.1 2.3"/></joint></robot>',
    )
    one = arm.model()
    other = type(one)(rolled, arm.joints, "rolled", "tip")
    pipelines = WrenchPipeline(EVERYTHING), WrenchPipeline(EVERYTHING)
    for k in range(5):
        q, raw = rng.uniform(-2.0, 2.0, 6), 10.0 * rng.normal(size=6)
        sample = state(k * DT, q, raw, frame="tip")
        a, b = (
            p.on_tip(sample, m.update(q, np.zeros(6)))
            for p, m in zip(pipelines, (one, other), strict=True)
        )
        assert np.linalg.norm(a) > 1.0
        np.testing.assert_allclose(turn.apply(b.reshape(2, 3)).ravel(), a, atol=1e-9)


def test_the_convention_by_robot_turns_the_sign(ur5_model, q):
    kin = ur5_model.update(q, np.zeros(6))
    one = WrenchPipeline().on_tip(state(0.0, q, BIAS), kin)
    other = WrenchPipeline({"convention": "by_robot"}).on_tip(state(0.0, q, -BIAS), kin)
    np.testing.assert_array_equal(one, other)


# --- tare and payload ---


@pytest.mark.parametrize("mass", [0.0, MASS], ids=["without payload", "with payload"])
@pytest.mark.parametrize("convention", ["on_robot", "by_robot"])
def test_the_tare_stays_right_however_the_arm_turns(ur5_model, rng, mass, convention):
    pipeline = WrenchPipeline({"convention": convention})
    carry(ur5_model, mass)
    sign = 1.0 if convention == "on_robot" else -1.0

    def wrench(q, pushed):
        kin = ur5_model.update(q, np.zeros(6))
        raw = in_sensor(ur5_model, kin, pushed) + BIAS + hanging(ur5_model, mass)
        return pipeline.on_tip(state(0.0, q, sign * raw), kin)

    poses = rng.uniform(-2.0, 2.0, (6, 6))
    assert np.linalg.norm(wrench(poses[0], np.zeros(6))) > 5.0
    np.testing.assert_allclose(pipeline.zero(), BIAS, atol=1e-9)
    for q in poses:
        np.testing.assert_allclose(wrench(q, np.zeros(6)), np.zeros(6), atol=1e-9)
        np.testing.assert_allclose(wrench(q, PUSH), PUSH, atol=1e-9)


def test_an_unknown_payload_is_felt_as_its_weight_when_the_arm_turns(ur5_model, rng):
    """Only the payload's mass makes the tare right elsewhere: what the test above would miss
    if both were ignored.
    """
    pipeline = WrenchPipeline()
    first, second = rng.uniform(-2.0, 2.0, (2, 6))
    kin = ur5_model.update(first, np.zeros(6))
    pipeline.on_tip(state(0.0, first, hanging(ur5_model)), kin)
    pipeline.zero()
    kin = ur5_model.update(second, np.zeros(6))
    assert np.linalg.norm(pipeline.on_tip(state(0.0, second, hanging(ur5_model)), kin)[:3]) > 1.0


def test_changing_the_convention_keeps_the_sensors_tare(ur5_model, q):
    pipeline, kin = WrenchPipeline(), ur5_model.update(q, np.zeros(6))
    pipeline.on_tip(state(0.0, q, BIAS), kin)
    pipeline.zero()
    pipeline.settings.set({"convention": "by_robot"})
    raw = BIAS - in_sensor(ur5_model, kin, PUSH)
    np.testing.assert_allclose(pipeline.on_tip(state(0.0, q, raw), kin), PUSH, atol=1e-9)


def test_zero_restarts_the_filter_so_that_the_next_wrench_is_zero(ur5_model, q):
    feed = Feed(ur5_model, q, low_pass=1.0)
    for _ in range(10):
        feed(PUSH)
    feed.pipeline.zero()
    np.testing.assert_allclose(feed(PUSH), np.zeros(6), atol=1e-9)


def test_zero_without_a_fresh_wrench_is_refused_and_keeps_the_tare(ur5_model, q):
    feed = Feed(ur5_model, q)
    with pytest.raises(ConfigError, match="no wrench has arrived: nothing to zero"):
        feed.pipeline.zero()
    feed(PUSH)
    tare = feed.pipeline.zero().copy()
    feed(None)
    with refuses("wrench"):
        feed.pipeline.zero()
    np.testing.assert_array_equal(feed.pipeline.tare, tare)
    feed.pipeline.on_tip(state(9.0, q, PUSH, stamp=1.0), feed.kin)
    with refuses("wrench"):
        feed.pipeline.zero()


# --- low-pass ---


@pytest.mark.parametrize("frequency", [0.1, 1.0, 20.0, 400.0])
@pytest.mark.parametrize("dt", [0.001, 0.008])
def test_a_step_passes_as_1_minus_exp(ur5_model, q, frequency, dt):
    feed = Feed(ur5_model, q, low_pass=frequency)
    assert not feed(np.zeros(6), dt).any()
    for k in range(1, 30):
        expected = PUSH * (1.0 - math.exp(-2.0 * math.pi * frequency * k * dt))
        np.testing.assert_allclose(feed(PUSH, dt), expected, atol=1e-9)


def test_a_sine_at_the_corner_frequency_loses_3_db_and_45_degrees(ur5_model, q):
    frequency, dt = 5.0, 1e-4
    feed = Feed(ur5_model, q, low_pass=frequency)
    w = 2.0 * math.pi * frequency
    for k in range(1, 12000):
        out = feed(PUSH * math.sin(w * k * dt), dt)
        if k > 10000:
            np.testing.assert_allclose(
                out, PUSH / math.sqrt(2.0) * math.sin(w * k * dt - math.pi / 4), atol=0.05
            )


def test_the_filter_does_not_depend_on_how_often_it_is_asked(ur5_model, q):
    seldom, often = Feed(ur5_model, q, low_pass=10.0), Feed(ur5_model, q, low_pass=10.0)
    seldom(np.zeros(6), 0.01)
    for _ in range(10):
        often(np.zeros(6), 0.001)
    for _ in range(10):
        last = often(PUSH, 0.001)
    np.testing.assert_allclose(seldom(PUSH, 0.01), last, atol=1e-12)


def test_looking_at_the_same_sample_twice_gives_the_same_wrench(ur5_model, q):
    pipeline, kin = WrenchPipeline(EVERYTHING), ur5_model.update(q, np.zeros(6))
    pipeline.on_tip(state(0.0, q, np.zeros(6)), kin)
    sample = state(0.01, q, PUSH)
    np.testing.assert_array_equal(pipeline.on_tip(sample, kin), pipeline.on_tip(sample, kin))


def test_changed_settings_make_the_filter_go_on_from_where_it_is(ur5_model, q):
    feed = Feed(ur5_model, q, low_pass=1.0)
    feed(np.zeros(6))
    before = feed(PUSH)
    feed.pipeline.settings.set({"low_pass": 3.0, "max_age": 0.5, "observer_gain": 10.0})
    share = 1.0 - math.exp(-2.0 * math.pi * 3.0 * DT)
    np.testing.assert_allclose(feed(PUSH), before + share * (PUSH - before), atol=1e-12)


def test_a_changed_payload_jumps_by_no_more_than_its_weight(ur5_model, q):
    feed = Feed(ur5_model, q)
    before = feed(PUSH)
    ur5_model.payload = Payload(0.1)
    np.testing.assert_allclose(feed(PUSH)[:3] - before[:3], [0.0, 0.0, 0.981], atol=1e-9)


# --- a body that moves ---

TENSOR = np.array([[0.02, 0.003, -0.002], [0.003, 0.015, 0.001], [-0.002, 0.001, 0.01]])


def test_a_moving_body_takes_what_newton_and_euler_say(rng):
    """At a known acceleration; the rates of momentum and angular momentum by differences of
    positions in the base.
    """
    row, memory = MEMORY.single(0)
    memory["mass"], memory["center"], memory["inertia"] = MASS, CENTER, TENSOR
    for _ in range(10):
        gravity, twist, acceleration = rng.normal(size=3), rng.normal(size=6), rng.normal(size=6)
        memory["acceleration"] = acceleration
        turn = Rotation.random(random_state=rng)
        sensor = make_pose(0.2 * rng.normal(size=3), turn.as_matrix())

        def moved(time, turn=turn, sensor=sensor, twist=twist, acceleration=acceleration):
            """Centre of the body and its angular momentum about it, after a short time."""
            spin = Rotation.from_rotvec(time * (twist[3:] + 0.5 * time * acceleration[3:]))
            axes = (spin * turn).as_matrix()
            tip = time * (twist[:3] + 0.5 * time * acceleration[:3])
            omega = twist[3:] + time * acceleration[3:]
            return tip + spin.apply(sensor[:3, 3]) + axes @ CENTER, axes @ TENSOR @ axes.T @ omega

        step = 1e-4
        (before, momentum_before), (now, _), (after, momentum_after) = (
            moved(each) for each in (-step, 0.0, step)
        )
        force = MASS * (gravity - (after - 2.0 * now + before) / step**2)
        moment = np.cross(now - sensor[:3, 3], force) - (momentum_after - momentum_before) / (
            2.0 * step
        )
        load = np.zeros(6)
        add_load(row, sensor, twist[3:], gravity, load)
        expected = np.concatenate((turn.inv().apply(force), turn.inv().apply(moment)))
        np.testing.assert_allclose(load, expected, atol=1e-5)


def test_the_acceleration_is_that_of_the_twist_late_by_the_low_pass():
    row, memory = MEMORY.single(0)
    rate = np.array([1.0, -2.0, 0.5, 0.3, -0.1, 0.7])
    for k in range(200):
        accelerate(row, 3.0 + rate * k * DT, k * DT)
        accelerate(row, 3.0 + rate * k * DT, k * DT)  # looked at twice
        late = 1.0 - math.exp(-ACCELERATION_CORNER * k * DT)
        np.testing.assert_allclose(memory["acceleration"], late * rate, atol=1e-9)
    accelerate(row, 9.0 * rate, 0.0)  # the clock was set back
    assert not memory["acceleration"].any()


@pytest.mark.sim
@pytest.mark.parametrize("name", ["ur5e", "gen3"])
def test_an_arm_that_moves_with_its_payload_feels_no_wrench_in_simulation(name):
    pytest.importorskip("mujoco")
    from robot_control_ros.simulation.mujoco_plant import MujocoPlant

    robot = replace(load_robot(name), payload=Payload(2.0, (0.02, 0.0, 0.1), 0.01))
    loop = ControlLoop(robot, "joint_impedance")
    plant = MujocoPlant(robot)
    plant.write(loop.tick(plant.read()))
    there = np.array(robot.home)
    there[[1, 3]] += 0.3
    loop.motion.follow_joints(np.array([0.5, 1.0]), np.array([there, robot.home]), None)
    alone = WrenchPipeline({"payload_in_wrench": False})
    felt, inertial = [], []
    for _ in range(int(1.2 / robot.period)):
        sample = plant.read()
        plant.write(loop.tick(sample))
        kin = loop.model.update(sample.q, sample.v)
        weight = 2.0 * kin.model.gravity
        felt.append(np.linalg.norm(loop.state.wrench_on_tip[:3]))
        inertial.append(np.linalg.norm(alone.on_tip(sample, kin)[:3] - weight))
    assert np.linalg.norm(inertial) > 3.0 * math.sqrt(len(inertial))
    assert np.linalg.norm(felt) < 0.2 * np.linalg.norm(inertial)


# --- saturation and dead-band ---


def test_saturation_cuts_lengths_and_keeps_directions(ur5_model, q, rng):
    feed = Feed(ur5_model, q, saturation_force=15.0, saturation_torque=1.0)
    for scale in (0.1, 0.5, 1.0, 10.0, 1e6):
        wrench = scale * rng.normal(size=6) * [10, 10, 10, 1, 1, 1]
        out = feed(wrench)
        for half, bound in ((slice(0, 3), 15.0), (slice(3, 6), 1.0)):
            size = np.linalg.norm(wrench[half])
            np.testing.assert_allclose(
                out[half], wrench[half] * min(1.0, bound / size), rtol=1e-9, atol=1e-9
            )


def test_a_spike_leaves_the_filter_no_more_than_the_saturation(ur5_model, q):
    feed = Feed(ur5_model, q, low_pass=5.0, saturation_force=20.0)
    feed(np.zeros(6))
    share = 1.0 - math.exp(-2.0 * math.pi * 5.0 * DT)
    out = feed([1e6, 0.0, 0.0, 0.0, 0.0, 0.0])
    np.testing.assert_allclose(out[:3], [20.0 * share, 0.0, 0.0], atol=1e-9)


def test_the_dead_band_is_exactly_zero_inside_and_continuous_at_its_edge(ur5_model, q):
    feed = Feed(ur5_model, q, dead_band_force=2.0, dead_band_torque=0.5)
    direction = np.array([2.0, -1.0, 2.0]) / 3.0
    for size in np.linspace(0.0, 6.0, 61):
        out = feed(np.concatenate((size * direction, 0.25 * size * direction)))
        np.testing.assert_allclose(out[:3], max(0.0, size - 2.0) * direction, atol=1e-9)
        np.testing.assert_allclose(out[3:], max(0.0, 0.25 * size - 0.5) * direction, atol=1e-9)
        if size < 1.99:
            assert not out.any()


def test_the_dead_band_never_stretches_a_difference(ur5_model, q, rng):
    """Shrinking lengths is a projection's remainder, so it is Lipschitz with 1: no jump
    anywhere, in any direction.
    """
    feed = Feed(ur5_model, q, dead_band_force=2.0, dead_band_torque=0.5)
    for _ in range(100):
        a = rng.normal(size=6) * [2, 2, 2, 0.5, 0.5, 0.5]
        b = a + 0.1 * rng.normal(size=6)
        out = feed(b) - feed(a)
        assert np.linalg.norm(out[:3]) <= np.linalg.norm((b - a)[:3]) + 1e-12
        assert np.linalg.norm(out[3:]) <= np.linalg.norm((b - a)[3:]) + 1e-12


# --- what is refused ---


BAD = {
    "nan": (np.array([1.0, math.nan, 0.0, 0.0, 0.0, 0.0]), "ft_frame", None, "force"),
    "infinite": (np.array([1.0, 0.0, 0.0, 0.0, -math.inf, 0.0]), "ft_frame", None, "torque"),
    "overflowing": (np.full(6, 1e200), "ft_frame", None, "force"),
    "frame": (PUSH, "nowhere", None, "frame"),
    "stamp": (PUSH, "ft_frame", math.nan, "time"),
}


@pytest.mark.filterwarnings("ignore:overflow")
@pytest.mark.parametrize("name", BAD)
def test_a_bad_sample_is_refused_by_its_name_and_the_last_good_one_stays(ur5_model, q, name):
    raw, frame, stamp, part = BAD[name]
    pipeline, kin = WrenchPipeline(), ur5_model.update(q, np.zeros(6))
    bad = state(0.0, q, raw, frame=frame, stamp=stamp)
    with refuses(part, error=ValueError):
        check_wrench(bad.wrench, ur5_model)
    assert pipeline.on_tip(bad, kin) is None
    good = pipeline.on_tip(state(0.0, q, PUSH), kin)
    assert pipeline.reason == ""
    bad = replace(bad, time=0.05)
    np.testing.assert_array_equal(pipeline.on_tip(bad, kin), good)
    assert "must be" in pipeline.reason or "unknown frame" in pipeline.reason
    bad = replace(bad, time=0.11)
    assert pipeline.on_tip(bad, kin) is None
    assert "0.110 s old: must be at most max_age = 0.08 s" in pipeline.reason
    np.testing.assert_array_equal(pipeline.on_tip(state(0.12, q, PUSH), kin), good)
    assert pipeline.reason == ""


def test_a_stale_sample_is_none_never_zero_and_says_why(ur5_model, q):
    pipeline, kin = WrenchPipeline({"max_age": 0.03}), ur5_model.update(q, np.zeros(6))
    assert pipeline.on_tip(state(5.029, q, PUSH, stamp=5.0), kin) is not None
    assert pipeline.on_tip(state(5.031, q, PUSH, stamp=5.0), kin) is None
    assert pipeline.reason == "the last wrench is 0.031 s old: must be at most max_age = 0.03 s"
    assert pipeline.on_tip(state(5.031, q, PUSH, stamp=5.1), kin) is None, (
        "a stamp of another clock"
    )
    assert pipeline.on_tip(state(9.0, q, PUSH), kin) is not None, (
        "without a stamp it is as old as the state"
    )
    assert pipeline.reason == ""
    assert pipeline.on_tip(state(9.0, q), kin) is None
    assert pipeline.reason == "no wrench has arrived"


def test_when_samples_come_back_the_filter_begins_with_the_first(ur5_model, q):
    feed = Feed(ur5_model, q, low_pass=1.0)
    feed(np.zeros(6))
    assert np.abs(feed(PUSH)).max() < 1.0
    assert feed(None) is None
    np.testing.assert_allclose(feed(PUSH), PUSH, atol=1e-9)


def test_a_clock_that_jumps_back_begins_anew(ur5_model, q):
    pipeline, kin = WrenchPipeline({"low_pass": 1.0}), ur5_model.update(q, np.zeros(6))
    pipeline.on_tip(state(9.0, q, np.zeros(6)), kin)
    expected = WrenchPipeline().on_tip(state(1.0, q, PUSH), kin)
    np.testing.assert_array_equal(pipeline.on_tip(state(1.0, q, PUSH), kin), expected)


def test_reset_forgets_samples_and_keeps_the_tare(ur5_model, q):
    feed = Feed(ur5_model, q, low_pass=1.0)
    feed(PUSH)
    feed.pipeline.zero()
    feed.pipeline.reset()
    with refuses("wrench"):
        feed.pipeline.zero()
    np.testing.assert_allclose(feed(2.0 * PUSH), PUSH, atol=1e-9)


@pytest.mark.parametrize(
    ("values", "name", "value", "bound"),
    [
        ({"source": "camera"}, "source", "camera", ("sensor", "joint_effort")),
        ({"convention": "either"}, "convention", "either", ("on_robot", "by_robot")),
        ({"low_pass": -1.0}, "low_pass", -1.0, (0.0, 1000.0)),
        ({"payload_in_wrench": 2.0}, "payload_in_wrench", 2.0, (False, True)),
        ({"payload_center": [0.0, 1.0]}, "gain", "payload_center", ANY),
        ({"max_age": 0.0}, "max_age", 0.0, (0.001, 10.0)),
        ({"lowpass": 1.0}, "gain", "lowpass", ANY),
    ],
)
def test_wrong_settings_are_refused_and_change_nothing(values, name, value, bound):
    with refuses(name, value, bound):
        WrenchPipeline(values)
    pipeline = WrenchPipeline()
    before = pipeline.settings.target
    with refuses(name, value, bound):
        pipeline.settings.set({"dead_band_force": 1.0, **values})
    assert pipeline.settings.target is before


# --- from joint torques ---


def held(model, kin, q, wrench, time):
    """An arm held at rest against a wrench at its tip."""
    return state(time, q, effort=kin.gravity - kin.jacobian.T @ wrench)


@pytest.fixture
def posture(ur5):
    return np.array(ur5.home)


def test_joint_torques_give_the_wrench_at_the_tip_as_a_first_order_lag(ur5_model, posture):
    pipeline = WrenchPipeline(
        {"source": "joint_effort", "observer_gain": 20.0, "convention": "by_robot"}
    )
    kin = ur5_model.update(posture, np.zeros(6))
    for k in range(100):
        out = pipeline.on_tip(held(ur5_model, kin, posture, PUSH, k * DT), kin)
        np.testing.assert_allclose(out, PUSH * (1.0 - math.exp(-20.0 * k * DT)), atol=1e-8)


def test_the_tare_of_joint_torques_is_taken_at_the_tip(ur5_model, posture):
    pipeline, kin = (
        WrenchPipeline({"source": "joint_effort"}),
        ur5_model.update(posture, np.zeros(6)),
    )
    for k in range(1000):
        pipeline.on_tip(held(ur5_model, kin, posture, PUSH, k * DT), kin)
    np.testing.assert_allclose(pipeline.zero(), PUSH, atol=1e-6)
    np.testing.assert_allclose(
        pipeline.on_tip(held(ur5_model, kin, posture, PUSH, 2.0), kin), np.zeros(6), atol=1e-6
    )


def test_torques_that_are_not_finite_are_refused_and_the_last_estimate_stays(ur5_model, posture):
    pipeline, kin = (
        WrenchPipeline({"source": "joint_effort"}),
        ur5_model.update(posture, np.zeros(6)),
    )
    broken = replace(held(ur5_model, kin, posture, PUSH, 0.0), effort=np.full(6, math.nan))
    assert pipeline.on_tip(broken, kin) is None
    assert "joint effort" in pipeline.reason
    for k in range(200):
        good = pipeline.on_tip(held(ur5_model, kin, posture, PUSH, k * DT), kin)
    assert pipeline.reason == ""
    np.testing.assert_array_equal(pipeline.on_tip(replace(broken, time=200 * DT), kin), good)
    assert pipeline.on_tip(replace(broken, time=200 * DT + 0.1), kin) is None
    assert "joint effort" in pipeline.reason
    assert "max_age" in pipeline.reason


@pytest.mark.parametrize("time", [5.0, -1.0], ids=["gap", "back"])
def test_after_a_gap_or_a_clock_that_jumps_back_the_observer_begins_anew(ur5_model, posture, time):
    pipeline, kin = (
        WrenchPipeline({"source": "joint_effort"}),
        ur5_model.update(posture, np.zeros(6)),
    )
    for k in range(100):
        out = pipeline.on_tip(held(ur5_model, kin, posture, PUSH, k * DT), kin)
    assert np.linalg.norm(out) > 20.0
    for k in range(3):
        out = pipeline.on_tip(held(ur5_model, kin, posture, PUSH, time + k * DT), kin)
        np.testing.assert_allclose(out, PUSH * (1.0 - math.exp(-50.0 * k * DT)), atol=1e-8)


def test_changing_the_source_begins_anew_without_a_tare(ur5_model, posture):
    pipeline, kin = WrenchPipeline({"low_pass": 1.0}), ur5_model.update(posture, np.zeros(6))
    wrench = Wrench(BIAS[:3], BIAS[3:], "ft_frame")
    sample = replace(held(ur5_model, kin, posture, PUSH, 0.0), wrench=wrench)
    pipeline.on_tip(sample, kin)
    pipeline.zero()
    pipeline.settings.set({"source": "joint_effort"})
    assert not pipeline.on_tip(sample, kin).any()
    assert not pipeline.tare.any()
    pipeline.settings.set({"source": "sensor"})
    assert np.linalg.norm(pipeline.on_tip(sample, kin)) > 5.0


@pytest.mark.sim
@pytest.mark.parametrize("force", [[10.0, 0.0, 0.0], [0.0, -6.0, 8.0]])
def test_sensor_and_joint_torques_agree_on_a_push_in_simulation(ur5, ur5_model, force):
    pytest.importorskip("mujoco")
    from robot_control_ros.simulation.mujoco_plant import MujocoPlant

    plant = MujocoPlant(ur5)
    plant.push(ur5.tip, np.array(force), np.zeros(3))
    for source in ("sensor", "joint_effort"):
        pipeline = WrenchPipeline({"source": source})
        for _ in range(200):
            sample = plant.read()
            out = pipeline.on_tip(sample, ur5_model.update(sample.q, sample.v))
        np.testing.assert_allclose(out, [*force, 0.0, 0.0, 0.0], atol=0.02)


def test_joint_torques_are_refused_where_the_robot_has_none():
    pipeline = WrenchPipeline(joint_torques=False)
    for attempt in (
        lambda: WrenchPipeline({"source": "joint_effort"}, joint_torques=False),
        lambda: pipeline.settings.set({"source": "joint_effort"}),
        lambda: ControlLoop(load_robot("ur5", "real"), "admittance").wrench.settings.set(
            {"source": "joint_effort"}
        ),
    ):
        with refuses("source", "joint_effort", ("sensor",)):
            attempt()
    assert pipeline.settings.target.source == "sensor"


def test_reversed_joint_torques_are_torques():
    assert (
        ControlLoop(load_robot("gen3", "real"), "admittance").wrench.settings.target.source
        == "joint_effort"
    )


@pytest.mark.parametrize(
    ("part", "setting"), [("force", "range_force"), ("torque", "range_torque")]
)
def test_a_sample_beyond_the_sensors_range_is_no_wrench(ur5_model, part, setting):
    pipeline = WrenchPipeline({setting: 20.0, "max_age": 0.1})
    q = np.zeros(ur5_model.n)
    kin = ur5_model.update(q, q)

    def felt(time, size):
        parts = {"force": np.zeros(3), "torque": np.zeros(3)} | {part: np.array([0.0, size, 0.0])}
        return pipeline.on_tip(
            RobotState(time, q, q, q, Wrench(parts["force"], parts["torque"], "tool0")), kin
        )

    assert felt(0.0, 19.9) is not None
    np.testing.assert_array_equal(felt(0.05, 20.1), felt(0.05, 1e100))
    assert setting in pipeline.reason
    assert felt(0.11, 20.1) is None
    assert setting in pipeline.reason
    assert felt(0.12, -19.9) is not None
    assert pipeline.reason == ""
