"""The gate that every command passes."""

import math
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from robot_control_ros.control.following import MIN_TORQUE
from robot_control_ros.control.safety import Safety
from robot_control_ros.core.errors import ConfigError
from robot_control_ros.core.types import Command, CommandMode, RobotState, SensedState
from robot_control_ros.robot.configuration import load_robot
from robot_control_ros.robot.model import JointLimits, RobotModel

EFFORT, POSITION, VELOCITY = CommandMode.EFFORT, CommandMode.POSITION, CommandMode.VELOCITY
LIMITS = JointLimits(
    effort=np.array([50.0, 20.0]),
    velocity=np.array([2.0, 3.0]),
    lower=np.array([-1.0, -np.inf]),
    upper=np.array([1.5, np.inf]),
)
GRAVITY = np.array([8.0, -3.0])
RATE = np.array([1000.0, 100.0])  # N·m/s
DT = 0.002
SPACE = SimpleNamespace(gravity=np.array([0.0, 0.0, -9.81]))


def gate(gravity_by_robot=False, limits=LIMITS, period=DT, damping=(2.0, 1.0)):
    ur5 = load_robot("ur5")
    profile = replace(ur5.profile, gravity_by_robot=gravity_by_robot, rate=1.0 / period)
    joints = ("one", "two")
    robot = replace(
        ur5, joints=joints, effort_rate=tuple(RATE), safe_damping=damping, profile=profile
    )
    return Safety(robot, limits)


def at(q=(0.3, 0.4), v=(0.0, 0.0), effort=(np.nan, np.nan)):
    """A sample of a robot that measures no torques, unless they are given."""
    return RobotState(0.0, np.array(q), np.array(v), np.array(effort))


def kin(gravity=GRAVITY):
    return SimpleNamespace(gravity=np.array(gravity), jacobian=np.zeros((6, 2)), model=SPACE)


def send(safety, mode, values, state=None, dt=DT, gravity=GRAVITY, feedforward=None):
    command = Command(mode, np.array(values, dtype=float), feedforward)
    return safety.apply(command, at() if state is None else state, kin(gravity), dt)


# --- effort ---


def test_a_harmless_effort_passes_unchanged():
    safety = gate()
    sent = send(safety, EFFORT, GRAVITY + np.array([1.0, -0.1]))
    assert sent.mode is EFFORT
    assert np.array_equal(sent.values, GRAVITY + np.array([1.0, -0.1]))
    assert sent.feedforward is None
    assert not safety.saturated.any()
    assert not safety.rate_limited.any()
    assert safety.fault == ""


def test_effort_is_clipped_to_the_limits_of_the_description():
    safety = gate()
    for _ in range(400):
        sent = send(safety, EFFORT, [1e6, -1e6])
    assert np.array_equal(sent.values, [50.0, -20.0])
    assert safety.saturated.tolist() == [True, True]
    assert safety.rate_limited.tolist() == [False, False]


def test_the_first_effort_after_a_reset_is_measured_from_the_holding_torque():
    safety = gate()
    assert send(safety, EFFORT, [50.0, 20.0]).values == pytest.approx(GRAVITY + RATE * DT)
    for _ in range(50):
        send(safety, EFFORT, [50.0, 20.0])
    safety.reset()
    elsewhere = np.array([-4.0, 2.0])
    assert send(safety, EFFORT, [50.0, 20.0], gravity=elsewhere).values == pytest.approx(
        elsewhere + RATE * DT
    )


def test_the_first_effort_of_a_robot_that_compensates_gravity_is_measured_from_zero():
    assert send(gate(gravity_by_robot=True), EFFORT, [50.0, 20.0]).values == pytest.approx(
        RATE * DT
    )


@pytest.mark.parametrize("mode", [CommandMode.POSITION, CommandMode.VELOCITY])
@pytest.mark.parametrize("name", ["ur5e", "gen3"])
def test_efforts_after_positions_begin_with_what_the_drives_press_with(name, mode):
    """The wall pushes the tip back; the drives hold that, and torques go on with it."""
    robot = load_robot(name)
    model = RobotModel.of(robot)
    home = np.array(robot.home)
    wrench = np.array([-30.0, 5.0, 10.0, 1.0, -2.0, 0.5])
    rest = np.zeros(robot.n)
    plain = RobotState(0.0, home, rest, rest)
    pressed = SensedState(0.0, home, rest, rest, None, wrench_on_tip=wrench)
    kin = model.at(home)
    safety = Safety(robot, model.limits)
    safety.take_over(Command(mode, home if mode is CommandMode.POSITION else rest))
    start = safety.start(CommandMode.EFFORT, pressed, kin)
    assert start == pytest.approx(kin.gravity - kin.jacobian.T @ wrench)
    assert safety.start(CommandMode.EFFORT, plain, kin) == pytest.approx(kin.gravity)
    safety.reset()  # nothing was commanded: brakes may hold the arm
    assert safety.start(CommandMode.EFFORT, pressed, kin) == pytest.approx(kin.gravity)


@pytest.mark.parametrize("dt", [0.0005, 0.001, 0.002, 0.01])
def test_the_rate_of_effort_is_per_second_whatever_the_cycle_time(dt):
    safety, duration = gate(period=dt), 0.03
    for _ in range(round(duration / dt)):
        sent = send(safety, EFFORT, [50.0, 20.0], dt=dt)
    assert sent.values == pytest.approx(GRAVITY + RATE * duration)
    assert safety.rate_limited.all()


def test_no_effort_ever_changes_faster_than_its_rate():
    rng = np.random.default_rng(3)
    safety, last = gate(), GRAVITY
    for _ in range(300):
        dt = rng.uniform(0.0005, 0.01)
        sent = send(safety, EFFORT, rng.normal(scale=40.0, size=2), dt=dt).values
        assert np.all(np.abs(sent - last) <= RATE * dt * (1.0 + 1e-9))
        assert np.all(np.abs(sent) <= LIMITS.effort)
        last = sent


def test_bounds_of_effort_and_rate_are_those_of_the_formula_to_the_last_bit(rng):
    safety, effort, last = gate(), LIMITS.effort, None
    for _ in range(500):
        last = np.clip(GRAVITY, -effort, effort) if last is None else last
        step = RATE * DT
        share = rng.choice([0.0, 0.5, 1.0, 1.0 + 1e-15, 3.0], 2)
        wanted = last + share * step * rng.choice([-1.0, 1.0], 2)
        expected = np.clip(np.clip(wanted, -effort, effort), last - step, last + step)
        last = send(safety, EFFORT, wanted).values
        np.testing.assert_array_equal(last, expected)


def test_a_law_that_uses_its_array_again_keeps_the_rate_of_effort():
    safety, values = gate(), GRAVITY.copy()
    first = safety.apply(Command(EFFORT, values), at(), kin(), DT).values.copy()
    values += 15.0
    second = safety.apply(Command(EFFORT, values), at(), kin(), DT).values
    np.testing.assert_allclose(second - first, np.minimum(15.0, RATE * DT), rtol=0, atol=1e-12)


def test_flags_tell_limits_from_rates_joint_by_joint():
    safety = gate()
    send(safety, EFFORT, GRAVITY + np.array([0.0, 1.0]))
    assert safety.saturated.tolist() == [False, False]
    assert safety.rate_limited.tolist() == [False, True]
    send(safety, EFFORT, [51.0, -3.0])
    assert safety.saturated.tolist() == [True, False]
    assert safety.rate_limited.tolist() == [True, False]
    send(safety, EFFORT, GRAVITY + np.array([2.0, 0.0]))
    assert not safety.saturated.any()
    assert not safety.rate_limited.any()


# --- what a law must not send ---

BAD = [[math.nan, 0.0], [0.0, math.inf], [0.0, -math.inf], [1.0], [1.0, 2.0, 3.0], [], [[1.0, 2.0]]]


@pytest.mark.parametrize("bad", BAD)
@pytest.mark.parametrize(
    ("mode", "safe"), [(EFFORT, GRAVITY), (POSITION, [0.3, 0.4]), (VELOCITY, [0.0, 0.0])]
)
def test_numbers_that_can_not_be_sent_give_the_safe_output_and_a_fault(bad, mode, safe):
    safety = gate()
    sent = send(safety, mode, bad)
    assert sent.mode is mode
    assert np.array_equal(sent.values, safe)
    assert str(np.array(bad).tolist()) in safety.fault
    assert "must be 2 finite numbers" in safety.fault


def test_the_next_good_command_clears_the_fault_and_starts_from_the_safe_output():
    safety = gate()
    for _ in range(50):
        send(safety, EFFORT, [50.0, 20.0])
    send(safety, EFFORT, [math.nan, 0.0])
    stopped = settle(safety, EFFORT, at())
    sent = send(safety, EFFORT, [50.0, 20.0])
    assert safety.fault == ""
    assert sent.values == pytest.approx(stopped.values + RATE * DT)


def test_after_a_fault_no_flag_of_an_older_command_stays():
    safety = gate()
    send(safety, EFFORT, [1e6, 1e6])
    send(safety, EFFORT, [math.nan, 0.0])
    assert not safety.saturated.any()
    assert not safety.rate_limited.any()


@pytest.mark.parametrize("bad", [[math.nan, 0.0], [math.inf, 0.0], [1.0, 2.0, 3.0]])
def test_a_feedforward_that_can_not_be_sent_is_not_sent(bad):
    safety = gate()
    sent = send(safety, POSITION, [0.3, 0.4], feedforward=np.array(bad))
    assert sent.feedforward is None or (
        sent.feedforward.shape == (2,) and np.isfinite(sent.feedforward).all()
    )
    assert "must be 2 finite numbers" in safety.fault


def test_a_feedforward_begins_at_zero_and_keeps_the_effort_rate_and_limits():
    safety, wanted, last = gate(), np.array([-70.0, 5.0]), np.zeros(2)
    for _ in range(round(50.0 / (RATE * DT).min()) + 2):
        sent = send(safety, POSITION, [0.3, 0.4], feedforward=wanted).feedforward
        assert (np.abs(sent - last) <= RATE * DT + 1e-12).all()
        last = sent
    assert np.array_equal(last, [-50.0, 5.0])


# --- position ---


def test_position_stays_within_its_limits():
    safety = gate()
    state = at()
    for target, wanted in (([9.0, 9.0], [1.5, 9.0]), ([-9.0, -9.0], [-1.0, -9.0])):
        for _ in range(5000):
            sent = send(safety, POSITION, target, state)
            state = at(sent.values)
        assert sent.values == pytest.approx(wanted)
        assert safety.saturated.tolist() == [True, False]


@pytest.mark.parametrize("dt", [0.001, 0.008])
def test_position_moves_from_where_the_robot_is_at_most_at_the_velocity_limits(dt):
    safety = gate(period=dt)
    state = at()
    for k in range(1, 20):
        sent = send(safety, POSITION, [1.4, -9.0], state, dt=dt)
        state = at(sent.values)
        assert sent.values == pytest.approx(
            np.array([0.3, 0.4]) + np.array([2.0 * dt * k, -3.0 * dt * k])
        )
    assert safety.rate_limited.all()


def test_the_command_goes_back_to_a_joint_that_stands_and_the_joint_is_named():
    safety, cycles, last = gate(), 0, np.array([0.3, 0.4])
    while not safety.fault:
        sent = send(safety, POSITION, [0.3, -9.0]).values
        assert (np.abs(sent - last) <= np.array([2.0, 3.0]) * DT + 1e-12).all()
        last, cycles = sent, cycles + 1
    assert cycles * DT <= 0.1
    assert "two stands at 0.400 rad" in safety.fault
    for _ in range(cycles + 2):
        sent = send(safety, POSITION, [0.3, 0.4]).values
        assert (np.abs(sent - last) <= np.array([2.0, 3.0]) * DT + 1e-12).all()
        last = sent
    assert sent == pytest.approx([0.3, 0.4], abs=1e-12)
    assert safety.fault == ""


# --- velocity ---


def test_velocity_stays_within_its_limits_and_changes_within_a_quarter_of_a_second():
    safety, q, speeds = gate(), np.zeros(2), []
    for _ in range(round(0.3 / DT)):
        speeds.append(send(safety, VELOCITY, [9.0, -9.0], at(q)).values)
        q = q + DT * speeds[-1]
    speeds = np.array(speeds)
    assert np.abs(speeds).max(axis=0).tolist() == [pytest.approx(2.0), pytest.approx(3.0)]
    quarter = round(0.25 / DT)
    assert np.abs(speeds[quarter - 2] / [2.0, 3.0]).max() < 1.0
    assert np.abs(speeds[quarter - 1]) == pytest.approx([2.0, 3.0])
    assert np.abs(np.diff(speeds, axis=0)).max(axis=0) == pytest.approx(
        np.array([2.0, 3.0]) * 4.0 * DT
    )


@pytest.mark.few(2)
@pytest.mark.parametrize("rate", [pytest.param(1000.0, marks=pytest.mark.long), 500.0, 125.0])
@pytest.mark.parametrize("towards", [1.0, -1.0])
def test_velocity_ends_before_a_position_limit_is_passed(rate, towards):
    """The commands integrated by a robot that follows them exactly, from many distances."""
    for start in np.linspace(-0.3, 0.4, 11):
        safety, q, fastest = gate(), np.array([start, 0.0]), 0.0
        for _ in range(int(2.0 * rate)):
            sent = send(safety, VELOCITY, [towards * 2.0, 1.0], at(q), dt=1.0 / rate)
            q = q + sent.values / rate
            fastest = max(fastest, abs(sent.values[0]))
            assert -1.0 - 1e-9 <= q[0] <= 1.5 + 1e-9
        assert fastest > 1.0
        edge = 1.5 if towards > 0.0 else -1.0
        assert q[0] == pytest.approx(edge, abs=0.01)
        assert abs(sent.values[0]) < 0.05


def test_a_joint_at_its_limit_may_still_move_away():
    sent = send(gate(), VELOCITY, [-1.0, 0.0], at((1.5, 0.0)))
    assert sent.values[0] == pytest.approx(-2.0 * 4.0 * DT)


# --- joints that don't follow ---


def followed(safety, mode, values, executes, seconds=0.5, start=(0.3, 0.4)):
    """The longest time that the arm stood under commands [s], and the greatest distance
    of a position [rad].
    """
    q, stood, far = np.array(start), 0.0, 0.0
    for _ in range(round(seconds / DT)):
        sent = send(safety, mode, values(q), at(q)).values
        if safety.fault:
            return stood, far
        stood += DT
        if mode is POSITION:
            far = max(far, np.abs(sent - q).max())
        if executes:
            q = sent if mode is POSITION else q + DT * sent
    return None, far


@pytest.mark.parametrize("speed", [0.4, 1.0, 2.0])
@pytest.mark.parametrize("mode", [POSITION, VELOCITY])
def test_a_joint_that_stands_under_commands_that_move_is_noticed_within_a_tenth_of_a_second(
    mode, speed
):
    """Once its command has left it by 0.02 rad, which takes a while at a low speed."""
    commands = iter(np.arange(1, 1000) * DT * speed)

    def moving(q):
        return np.array([0.3 + next(commands), 0.4]) if mode is POSITION else np.array([speed, 0.0])

    stood, far = followed(gate(), mode, moving, executes=False)
    # s: from 0 to the speed at 4 times the limit of 2 rad/s per second
    ramp = 0.0 if mode is POSITION else speed / 8.0
    assert stood <= 0.1 + 0.02 / speed + ramp
    assert far <= 0.1 * speed + 0.02 + 1e-9


@pytest.mark.parametrize("mode", [POSITION, VELOCITY])
def test_a_joint_that_moves_with_its_commands_follows(mode):
    commands = iter(np.arange(1, 1000) * DT * 1.5)
    moving = (
        (lambda q: np.array([0.3 + next(commands), 0.4]))
        if mode is POSITION
        else (lambda q: np.array([1.5, 0.0]))
    )
    assert followed(gate(), mode, moving, executes=True)[0] is None


def test_a_joint_that_is_late_by_less_than_a_tenth_of_a_second_follows():
    safety, path = gate(), [np.array([0.3, 0.4])] * 40  # 80 ms behind
    for k in range(300):
        path.append(send(safety, POSITION, [0.3 + 1.9 * DT * k, 0.4], at(path[-40])).values)
        assert safety.fault == ""


@pytest.mark.parametrize(("measured", "follows"), [(30.0, True), (8.0, False), (np.nan, True)])
def test_a_strong_torque_on_a_joint_that_stands_must_be_measured(measured, follows):
    """In contact it is; where another controller has the joint it isn't. The torque that holds
    the joint is 8 N·m.
    """
    safety, faults, torques = gate(), 0, []
    for _ in range(200):
        torques.append(send(safety, EFFORT, [30.0, -3.0], at(effort=(measured, -3.0))).values[0])
        faults += "one stands" in safety.fault
    if follows:
        assert (faults, torques[-1]) == (0, 30.0)
    else:
        assert faults > 0
        assert max(torques) <= 8.0 + MIN_TORQUE * 50.0 + 0.1 * RATE[0]


# --- a command that comes late ---


@pytest.mark.parametrize("late", [0.006, 0.05, 5.0])
def test_a_command_that_comes_late_changes_no_more_than_one_after_two_periods(late):
    safety, wanted = gate(), GRAVITY + 15.0
    for mode, target, most in ((EFFORT, wanted, RATE), (POSITION, [1.4, 3.0], LIMITS.velocity)):
        before = send(safety, mode, target, at())
        sent = send(safety, mode, target, at(), dt=late)
        assert sent.values - before.values == pytest.approx(most * 2.0 * DT)


def test_a_robot_that_is_slower_than_its_profile_says_has_its_rates_after_the_first_command():
    safety = gate()
    sent = [send(safety, EFFORT, [50.0, 20.0], dt=0.008).values for _ in range(4)]
    assert np.diff(sent, axis=0)[1:] == pytest.approx(np.tile(RATE * 0.008, (2, 1)))


# --- safe output ---


def settle(safety, mode, state, torque=GRAVITY, fresh=True, count=200):
    """The safe output after some cycles."""
    for _ in range(count):
        sent = safety.safe_output(mode, state, kin(torque), DT, fresh)
    return sent


@pytest.mark.parametrize(
    ("mode", "gravity_by_robot", "wanted"),
    [
        (EFFORT, False, GRAVITY),
        (EFFORT, True, [0.0, 0.0]),
        (POSITION, False, [0.3, 0.4]),
        (POSITION, True, [0.3, 0.4]),
        (VELOCITY, False, [0.0, 0.0]),
        (VELOCITY, True, [0.0, 0.0]),
    ],
)
def test_safe_output_holds_the_robot_in_each_mode(mode, gravity_by_robot, wanted):
    safe = settle(gate(gravity_by_robot), mode, at(v=(0.5, -0.5)), fresh=False)
    assert safe.mode is mode
    assert np.array_equal(safe.values, wanted)
    assert safe.feedforward is None


@pytest.mark.parametrize(
    ("gravity_by_robot", "wanted"), [(False, GRAVITY + [-1.0, 0.5]), (True, [-1.0, 0.5])]
)
def test_at_a_fresh_state_safe_effort_brakes_whoever_compensates_gravity(gravity_by_robot, wanted):
    safe = settle(gate(gravity_by_robot), EFFORT, at(v=(0.5, -0.5)))
    assert safe.values == pytest.approx(np.array(wanted), abs=1e-12)


def test_safe_effort_stays_within_the_effort_limits():
    assert np.array_equal(settle(gate(), EFFORT, at(), [80.0, -30.0]).values, [50.0, -20.0])
    assert np.array_equal(
        settle(gate(), EFFORT, at(v=(1e3, -1e3)), count=500).values, [-50.0, 20.0]
    )


def test_without_safe_damping_a_late_state_gets_the_torques_that_hold_the_arm():
    safety = gate(damping=(0.0, 0.0))
    late = replace(at(v=(0.5, 0.5)), age=0.05)
    sent = safety.safe_output(EFFORT, late, kin(), DT)
    np.testing.assert_allclose(sent.values, GRAVITY)


def test_the_next_command_starts_from_the_safe_output():
    safety = gate()
    settle(safety, EFFORT, at(), [4.0, 4.0])
    sent = send(safety, EFFORT, [50.0, 20.0], gravity=[0.0, 0.0])
    assert sent.values == pytest.approx(np.array([4.0, 4.0]) + RATE * DT)


@pytest.mark.parametrize("by_another", [False, True])
def test_the_safe_output_is_approached_from_the_last_command_within_the_effort_rate(by_another):
    safety, last = gate(), np.array([40.0, -15.0])
    if by_another:
        safety.take_over(Command(EFFORT, last))
    else:
        for _ in range(200):
            send(safety, EFFORT, last)
    wanted = GRAVITY - np.array([2.0, 1.0]) * [0.5, -0.5]
    for _ in range(40):
        sent = safety.stop(EFFORT, at(v=(0.5, -0.5)), kin(), "a reason", DT).values
        assert (np.abs(sent - last) <= RATE * DT * (1.0 + 1e-9)).all()
        last = sent
    assert safety.fault == "a reason"
    assert safety.rate_limited.tolist() == [False, True]
    assert sent[0] == pytest.approx(wanted[0])
    assert settle(safety, EFFORT, at(v=(0.5, -0.5)), count=40).values == pytest.approx(wanted)


@pytest.mark.parametrize("late", [1.0, 4.0, 25.0])
def test_after_another_s_command_a_late_one_changes_by_one_period_s_worth(late):
    """The other one's command was executed until now, whatever the time since our own."""
    safety = gate()
    settle(safety, EFFORT, at(), [4.0, 4.0])
    safety.take_over(Command(EFFORT, np.array([-10.0, 10.0])))
    sent = safety.apply(Command(EFFORT, np.array([50.0, -20.0])), at(), kin(), late * DT)
    assert sent.values == pytest.approx(np.array([-10.0, 10.0]) + [1.0, -1.0] * RATE * DT)


def test_the_safe_output_is_approached_with_velocities_that_keep_the_acceleration():
    safety = gate()
    safety.take_over(Command(VELOCITY, np.array([2.0, -1.5])))
    sent = [
        safety.safe_output(VELOCITY, at(v=(2.0, -1.5)), kin(), DT).values
        for _ in range(round(0.25 / DT))
    ]
    assert np.diff([[2.0, -1.5], *sent], axis=0)[:60] == pytest.approx(
        np.array([[-8.0, 12.0]] * 60) * DT
    )
    assert sent[-1] == pytest.approx(np.zeros(2), abs=1e-9)


def test_positions_in_motion_brake_and_then_stay_whatever_the_robot_does():
    safety, step = gate(), np.array([0.003, -0.004])
    sent = [send(safety, POSITION, (k + 1) * step, at(k * step)).values for k in range(50)]
    path = sent[-2:]
    for _ in range(200):
        path.append(safety.safe_output(POSITION, at(path[-1]), kin(), DT).values)
    speeds = np.diff(path, axis=0) / DT
    assert (np.abs(np.diff(speeds, axis=0)) <= 4.0 * LIMITS.velocity * DT * (1.0 + 1e-6)).all()
    assert np.array_equal(path[-1], path[-50])
    assert (np.sign(speeds[2]) == [1.0, -1.0]).all()  # it didn't stop at once
    assert np.array_equal(
        safety.safe_output(POSITION, at(path[-1] + 0.01), kin(), DT).values, path[-1]
    )


def test_a_position_that_somebody_else_commanded_is_held_and_not_where_the_robot_is():
    safety, commanded = gate(), np.array([0.35, 0.45])
    safety.take_over(Command(POSITION, commanded))
    for q in ((0.3, 0.4), (0.32, 0.5), (0.36, 0.4)):
        assert np.array_equal(safety.safe_output(POSITION, at(q), kin(), DT).values, commanded)
    assert safety.fault == ""


def test_holding_a_position_does_not_share_the_state_s_array():
    state = at()
    values = gate().safe_output(POSITION, state, kin(), DT).values
    values[0] = 9.0
    assert state.q[0] == 0.3


# --- descriptions without limits ---


@pytest.mark.parametrize("name", ["effort", "velocity"])
@pytest.mark.parametrize("bad", [0.0, -1.0, math.inf, math.nan])
def test_a_description_without_usable_limits_is_refused(name, bad):
    limits = replace(LIMITS, **{name: np.array([1.0, bad])})
    with pytest.raises(ConfigError) as error:
        gate(limits=limits)
    assert "ur5" in str(error.value)
    assert f"{name} limits are [1.0, {bad}]" in str(error.value)
    assert "above 0" in str(error.value)


def test_a_feedforward_that_is_no_longer_wanted_is_led_back_to_zero():
    safety, last = gate(), None
    for _ in range(5):
        last = send(safety, POSITION, [0.3, 0.4], feedforward=np.array([10.0, 5.0])).feedforward
    steps = 0
    while (sent := send(safety, POSITION, [0.3, 0.4])).feedforward is not None:
        assert (np.abs(sent.feedforward - last) <= RATE * DT + 1e-12).all()
        last, steps = sent.feedforward, steps + 1
    assert steps == 5
    assert not (np.abs(last) > RATE * DT).any()


def test_a_feedforward_begins_at_zero_where_something_else_is_commanded():
    safety = gate()
    for _ in range(50):
        send(safety, POSITION, [0.3, 0.4], feedforward=np.array([10.0, 5.0]))
    send(safety, EFFORT, GRAVITY)
    sent = send(safety, POSITION, [0.3, 0.4], feedforward=np.array([10.0, 5.0]))
    assert np.array_equal(sent.feedforward, RATE * DT)
