"""Contact detection: thresholds, high-pass, isolation, freezing, and the three
quantities that are watched.
"""

import math

import numpy as np
import pytest
from arms import random_arm

from robot_control_ros.core.compiled import compiled
from robot_control_ros.core.cycle import Cycles, cycle_at
from robot_control_ros.core.errors import ConfigError
from robot_control_ros.core.gains import make_gains
from robot_control_ros.core.types import Command, CommandMode, RobotState
from robot_control_ros.laws.compiled_law import write_state
from robot_control_ros.sensing.contact_detector import (
    FOLLOWING,
    FROZEN,
    OTHERS,
    POSITIONS,
    TORQUE,
    VELOCITIES,
    WRENCH,
    ContactDetector,
    detect,
)
from robot_control_ros.sensing.contact_settings import ContactSettings
from robot_control_ros.sensing.contact_thresholds import LONGEST, SHORTEST, ThresholdLearning

PERIOD, N = 0.002, 6
MODEL = random_arm(2, N).model()
LINKS = tuple(f"link {k}" for k in range(N))


def detector(**settings):
    made = ContactDetector(MODEL.joints, LINKS, "tool")
    made.adopt(make_gains(ContactSettings, settings, N))
    return made


def look(made, state, kin, command=None, force=None, motion=None):
    """What a detector finds at a sample, as the loop asks it; the command acted
    since the sample before.
    """
    cycles = Cycles(N)
    write_state(cycles, 0, state, kin)
    commanded = OTHERS
    if command is not None:
        cycles.sent[0] = command.values
        commanded = {CommandMode.POSITION: POSITIONS, CommandMode.VELOCITY: VELOCITIES}.get(
            command.mode, OTHERS
        )
    if force is not None:
        cycles.wrench[0, :3] = force
    watched = made.prepare(state, kin, command, force is not None, motion, PERIOD)
    answer = detect_in(cycles.rows, made.rows, *watched, commanded, PERIOD, N)
    return made.contact(answer, state.time)


@compiled
def detect_in(cycles, rows, watched, gain_times_dt, weight, commanded, dt, n):
    return detect(cycle_at(cycles[0], n), rows, watched, gain_times_dt, weight, commanded, dt, n)


def run(made, external=None, duration=1.0, force=None, command=None, v=None, motion=None):
    """What is found first, on an arm at rest that functions of time push;
    starts frozen at time 0.
    """
    made.freeze(0.0)
    q, zero = np.full(N, 0.3), np.zeros(N)
    for k in range(round(duration / PERIOD)):
        t = k * PERIOD
        kin = MODEL.update(q, zero)
        tau = zero if external is None else external(t)
        state = RobotState(t, q, zero if v is None else v(t), kin.gravity - tau)
        given = None if command is None else command(t, kin)
        found = look(made, state, kin, given, None if force is None else force(t), motion)
        if found is not None:
            return found
    return None


def step(at, torque, joint):
    return lambda t: np.where(np.arange(N) == joint, torque if t >= at else 0.0, 0.0)


# --- thresholds ---


def test_a_step_is_found_when_the_observer_has_risen_to_the_threshold():
    """r = tau (1 - exp(-K t)) passes the threshold after -ln(1 - limit / tau) / K; the
    high-pass takes little yet.
    """
    found = run(detector(collision_torque=4.0), step(0.5, 8.0, 2))
    assert found.detector == TORQUE
    assert not found.clamping
    assert (found.joint, found.link) == (MODEL.joints[2], LINKS[2])
    assert found.start - 0.5 == pytest.approx(math.log(2.0) / 50.0, abs=2.0 * PERIOD)
    assert found.size > found.limit == 4.0


def test_the_last_joint_over_its_threshold_bounds_the_link():
    thresholds = [1.0, 1.0, 1.0, 1.0, 1.0, 0.0]
    found = run(
        detector(collision_torque=thresholds),
        lambda t: np.array([9.0, 9.0, 9.0, 9.0, 0.5, 99.0]) * (t > 0.5),
    )
    assert found.link == LINKS[3]


def test_what_rises_slower_than_the_high_pass_is_no_collision_but_a_clamping():
    def ramp(t):
        return np.full(N, 10.0 * max(t - 0.2, 0.0))

    bound = 10.0 / (2.0 * math.pi)  # of x - x_slow, under a slope of 10 N·m/s
    assert run(detector(collision_torque=1.1 * bound), ramp, 4.0) is None
    assert run(detector(collision_torque=0.9 * bound), ramp, 4.0) is not None
    found = run(detector(collision_torque=1.1 * bound, clamping_torque=20.0), ramp, 4.0)
    assert found.clamping
    assert found.start == pytest.approx(2.2, abs=0.05)


def test_thresholds_grow_with_the_motion_of_the_reference():
    settings = {
        "collision_torque": 1.0,
        "collision_torque_velocity": 2.0,
        "collision_torque_acceleration": 0.5,
    }
    motion = np.full(N, -3.0), np.full(N, 4.0)  # 1 + 2 * 3 + 0.5 * 4 = 9 N·m
    slow, fast = 2.0 * math.pi, 50.0  # 1/s, of high-pass and observer
    peak = (slow / fast) ** (slow / (fast - slow))  # of the high-passed residual of a step of 1
    assert run(detector(**settings), step(0.5, 0.98 * 9.0 / peak, 1), motion=motion) is None
    assert run(
        detector(**settings), step(0.5, 1.03 * 9.0 / peak, 1), motion=motion
    ).limit == pytest.approx(9.0)
    assert (
        run(
            detector(**settings), step(0.5, 0.98 * 9.0 / peak, 1), motion=(np.zeros(N), np.zeros(N))
        )
        is not None
    )


def test_without_thresholds_nothing_is_watched():
    assert run(detector(), step(0.5, 1e3, 1), force=lambda t: np.full(3, 1e3 * t)) is None


def test_after_a_freeze_what_acts_is_normal():
    made = detector(collision_torque=4.0)
    assert run(made, lambda t: np.full(N, 50.0), 0.5) is None
    assert run(detector(collision_torque=4.0), step(FROZEN - 0.06, 50.0, 3), 0.5) is None
    assert run(detector(collision_torque=4.0), step(FROZEN + 0.01, 50.0, 3), 0.5) is not None


def test_load_is_the_deviation_over_its_threshold():
    made = detector(following_error=[0.1, 0.2, 0.4, 0.0, 0.1, 0.1])
    run(
        made,
        command=lambda t, kin: Command(CommandMode.POSITION, kin.q + 0.08 * (t > 0.5)),
        duration=0.5 + 2 * PERIOD,
    )
    np.testing.assert_allclose(
        made.following.load, 0.08 / np.array([0.1, 0.2, 0.4, np.inf, 0.1, 0.1])
    )


# --- the other quantities ---


def test_a_force_at_the_wrist_sensor_is_on_the_tool_in_any_direction(rng):
    direction = rng.normal(size=3)
    direction /= np.linalg.norm(direction)

    def force(t):
        return direction * (31.0 if t > 0.5 else 0.0)

    found = run(
        detector(collision_force=30.0, collision_torque=4.0), step(0.5, 8.0, 1), force=force
    )
    assert (found.detector, found.link, found.joint) == (WRENCH, "tool", "")
    assert run(detector(collision_force=32.0), force=force) is None
    assert run(detector(clamping_force=30.0), force=force).clamping


@pytest.mark.parametrize("mode", [CommandMode.POSITION, CommandMode.VELOCITY])
def test_a_joint_that_stops_while_its_command_goes_on_is_found(mode):
    """At 0.5 rad/s the lag is 0.05 rad after 0.1 s; its high-passed part reaches that
    later, never below.
    """

    def command(t, kin):
        rate = 0.5 if t > 0.5 else 0.0
        lag = rate * max(t - 0.5, 0.0)
        return Command(mode, kin.q + lag if mode is CommandMode.POSITION else np.full(N, rate))

    found = run(detector(following_error=0.05), command=command)
    assert found.detector == FOLLOWING
    slow = 2.0 * math.pi  # lag_high = 0.5 / slow (1 - exp(-slow t))
    assert found.start - 0.5 == pytest.approx(
        -math.log(1.0 - 0.05 * slow / 0.5) / slow, abs=3.0 * PERIOD
    )


def test_a_steady_lag_is_none_and_efforts_have_none():
    def lagging(t, kin):
        return Command(CommandMode.POSITION, kin.q + 0.2)

    assert run(detector(following_error=0.05), command=lagging) is None
    assert (
        run(
            detector(following_error=0.05),
            command=lambda t, kin: Command(CommandMode.EFFORT, kin.q + t),
        )
        is None
    )


def test_efforts_that_are_not_numbers_are_not_watched():
    made, q = detector(collision_torque=1.0), np.zeros(N)
    for k in range(100):
        kin = MODEL.update(q, q)
        assert look(made, RobotState(k * PERIOD, q, q, np.full(N, math.nan)), kin) is None


# --- learning ---


def learnt(rng, seconds=40.0, spikes=0.0):
    """Thresholds of noisy values 1 + 2 |v| + 0.5 |a| and everything that was seen."""
    learning, seen, t = ThresholdLearning(), [], 0.0
    while t < seconds:
        v, a = rng.uniform(-2.0, 2.0, N), rng.uniform(-4.0, 4.0, N)
        values = rng.uniform(-1.0, 1.0, N) * (1.0 + 2.0 * np.abs(v) + 0.5 * np.abs(a))
        values += spikes * (rng.uniform(size=N) < 1e-3)
        learning.add({TORQUE: values}, (v, a), 0.01)
        seen.append((values, v, a))
        t += 0.01
    return learning, seen


@pytest.mark.parametrize("spikes", [0.0, 30.0])
def test_learnt_thresholds_are_above_everything_seen_by_half(rng, spikes):
    learning, seen = learnt(rng, spikes=spikes)
    base, velocity, acceleration = learning.thresholds()[TORQUE]
    assert min(velocity.min(), acceleration.min()) >= 0.0
    limits = [base + velocity * np.abs(v) + acceleration * np.abs(a) for _, v, a in seen]
    ratios = np.abs([values for values, _, _ in seen]) / np.array(limits)
    np.testing.assert_array_less(ratios, 1.0 / 1.5 + 1e-9)
    assert ratios.max() > 0.3


def test_learnt_thresholds_follow_the_motion(rng):
    learning, _ = learnt(rng)
    _, velocity, acceleration = learning.thresholds()[TORQUE]
    assert (velocity > 1.0).all()  # of 2 x 2.5 at most, as values scatter between 0 and their bound
    assert (acceleration < velocity).all()


def test_a_joint_that_never_moved_gets_a_plain_threshold(rng):
    learning, still = ThresholdLearning(), (np.zeros(N), np.zeros(N))
    for _ in range(2000):
        learning.add({TORQUE: rng.uniform(-1.0, 1.0, N)}, still, 0.02)
    base, velocity, acceleration = learning.thresholds()[TORQUE]
    assert not velocity.any()
    assert not acceleration.any()
    assert (base >= 1.5 * 0.99).all()
    assert (base <= 2.5).all()


def test_a_short_time_is_refused_and_after_the_longest_nothing_is_added(rng):
    learning, still = ThresholdLearning(), (np.zeros(N), np.zeros(N))
    learning.add({TORQUE: np.ones(N)}, still, 0.5 * SHORTEST)
    with pytest.raises(ConfigError, match="learning time") as refusal:
        learning.thresholds()
    assert refusal.value.bound == SHORTEST
    learning.add({TORQUE: np.ones(N)}, still, LONGEST)
    learning.add({TORQUE: np.full(N, 9.0)}, still, 1.0)
    assert learning.thresholds()[TORQUE].max() < 4.0
