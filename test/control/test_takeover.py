"""When a robot is taken over, and by which commands: the times are made up."""

import math
from dataclasses import replace

import numpy as np
import pytest
from arms import planar_arm, random_arm

from robot_control_ros.control.command_watchdog import REST_TIME, STALE, CommandWatchdog
from robot_control_ros.control.safety import LONGEST_STEP
from robot_control_ros.core.timeout import Timeout
from robot_control_ros.core.types import Command, CommandMode, RobotState
from robot_control_ros.robot.profile import HardwareProfile

EFFORT, POSITION, VELOCITY = CommandMode.EFFORT, CommandMode.POSITION, CommandMode.VELOCITY
RATE = 500.0
DT = 1.0 / RATE
TIMEOUT, STATE_TIMEOUT = 0.04, 0.2
LOOKS = 0.02  # s between two
ARM = random_arm(5, 3)
MODEL = ARM.model()
Q, V = np.array([0.3, -0.4, 0.5]), np.array([0.6, -0.2, 0.1])
DAMPING, EFFORT_RATE = np.array([2.0, 3.0, 0.5]), np.array([300.0, 200.0, 100.0])
SPEED = 3.0  # rad/s, the limit in the description of ARM
ACCELERATION = 4.0 * SPEED  # from full speed to rest in a quarter of a second
BAD = [[math.nan, 0.0, 0.0], [0.0, math.inf, 0.0], [1.0, 2.0], [1.0] * 4, []]


def profile(**changes):
    return replace(HardwareProfile(RATE, tuple(CommandMode), gravity_by_robot=False), **changes)


def robot(**changes):
    return ARM.config(
        safe_damping=tuple(DAMPING), effort_rate=tuple(EFFORT_RATE), profile=profile(**changes)
    )


class Course:
    """A takeover, and steady time and stamps that go on with what happens.

    Attributes:
        sent: the takeover's commands, with the time of each.
    """

    def __init__(self, config=None, model=MODEL, simulated=False, timeout=TIMEOUT):
        self.takeover = CommandWatchdog(
            robot() if config is None else config, model, timeout, STATE_TIMEOUT, simulated
        )
        self.now, self.stamp, self.clock = 1000.0, 5.0, 5.0
        self.q, self.v = Q, V
        self.sent = []

    def command(self, mode=EFFORT, values=(0.0, 0.0, 0.0)):
        return self.takeover.on_command(Command(mode, np.array(values, dtype=float)), self.now)

    def state(self, elapsed=DT, stamped=None):
        """A joint state, some time after the last event; by its stamp, too, if
        nothing else is said.
        """
        self.now += elapsed
        self.stamp += elapsed if stamped is None else stamped
        self.clock = self.stamp
        return self._keep(
            self.takeover.on_state(
                RobotState(self.stamp, self.q, self.v, np.zeros(len(self.q))), self.now
            )
        )

    def poll(self, elapsed=LOOKS, simulated=None):
        """A look, some time after the last event."""
        self.now += elapsed
        self.clock += elapsed if simulated is None else simulated
        return self._keep(self.takeover.poll(self.now, self.clock))

    def _keep(self, command):
        if command is not None:
            self.sent.append((self.now, command))
        return command

    def live(self, seconds, mode=EFFORT, values=(0.0, 0.0, 0.0)):
        """A controller answers each joint state."""
        for _ in range(round(seconds / DT)):
            self.state()
            self.now += 0.0003
            self.command(mode, values)

    def until_taken_over(self):
        """Joint states without an answer; returns the silence that it took [s]."""
        begin = self.now
        while self.state() is None:
            assert self.now - begin < 10.0, "it never takes over"
        return self.now - begin


def armed(mode=EFFORT, values=(0.0, 0.0, 0.0), **options):
    course = Course(**options)
    course.live(0.1, mode, values)
    assert course.sent == []
    return course


def gravity_at_rest(silence):
    """Gravity torques (n,) where an arm that went on with V for `silence` seconds then
    comes to rest in 0.2 s.
    """
    return MODEL.at(Q + V * (silence + 0.5 * 0.2)).gravity


def values(course):
    return np.array([command.values for _, command in course.sent])


# --- when ---


def test_nothing_is_sent_before_anybody_has_commanded():
    course = Course()
    for _ in range(1000):
        course.state()
        course.poll(0.0)
    for _ in range(100):
        course.poll()
    assert course.sent == []
    assert not course.takeover.armed


def test_a_controller_that_lives_is_left_alone_and_its_longest_silence_known():
    course = Course()
    for _ in range(2000):
        for _ in range(9):
            course.state()
        course.poll(0.0)
        course.command()
    assert course.sent == []
    assert course.takeover.armed
    assert not course.takeover.active
    assert course.takeover.longest_silence == pytest.approx(9 * DT)


def test_the_robot_is_taken_over_by_the_first_joint_state_after_the_timeout():
    course = armed()
    silence = course.until_taken_over()
    assert TIMEOUT < silence <= TIMEOUT + DT + 1e-9
    assert course.takeover.active
    assert course.takeover.silence == pytest.approx(silence)


@pytest.mark.parametrize(
    ("rate", "limit"), [(1000.0, 0.04), (125.0, 0.04), (50.0, 0.06), (20.0, 0.15)]
)
def test_a_slow_robot_gets_three_periods(rate, limit):
    course = Course(robot(rate=rate))
    course.state()
    course.command()
    begin = course.now
    while course.state(1.0 / rate) is None:
        assert course.now - begin < 1.0
    assert limit < course.now - begin + 1e-9 <= limit + 1.0 / rate + 1e-6


def test_silence_is_counted_over_all_modes_together():
    """A law switch changes the topic: the one before falls silent for good."""
    course = armed(EFFORT)
    course.live(0.2, POSITION, Q)
    assert course.sent == []
    assert course.takeover.mode is POSITION
    course.until_taken_over()
    assert course.sent[0][1].mode is POSITION


def test_it_gives_way_at_once_to_whoever_commands_and_takes_over_again_when_that_one_is_silent():
    course = armed()
    for _ in range(3):
        course.until_taken_over()
        course.state()
        count = len(course.sent)
        course.command()
        assert not course.takeover.active
        course.live(0.2)
        assert len(course.sent) == count
        assert course.takeover.longest_silence < TIMEOUT


@pytest.mark.parametrize("bad", BAD)
def test_commands_that_forward_controllers_drop_neither_arm_nor_keep_quiet_nor_make_it_yield(bad):
    course = Course()
    for _ in range(100):
        course.state()
        assert not course.command(EFFORT, bad)
    assert not course.takeover.armed
    course.live(0.1)
    while not course.takeover.active:
        course.state()
        course.command(EFFORT, bad)
        assert course.now < 1010.0
    course.command(EFFORT, bad)
    assert course.state() is not None
    assert np.isfinite(values(course)).all()


@pytest.mark.parametrize("simulated", [False, True])
@pytest.mark.parametrize("pause", [0.05, 0.5, 20.0])
def test_while_no_joint_states_come_no_command_is_due(pause, simulated):
    """A paused simulation, or a driver that hesitates: the controller answers the next joint
    state, a little later.
    """
    course = armed(simulated=simulated)
    for _ in range(5):
        course.state(pause, stamped=DT if simulated else pause)
        course.now += 0.0005
        course.command()
        course.live(0.02)
    assert course.sent == []


def test_a_watchdog_that_was_held_up_itself_first_hears_what_has_come_meanwhile():
    course = armed()
    course.now += 0.1
    for _ in range(5):  # what the queue has kept, all at once
        course.state(0.0)
    course.command()
    course.live(0.1)
    assert course.sent == []


@pytest.mark.parametrize("speed", [0.05, 0.5, 2.0])
def test_in_a_simulation_the_silence_counts_by_both_clocks(speed):
    course = armed(simulated=True)
    begin, stamp = course.now, course.stamp
    while course.state(DT, stamped=speed * DT) is None:
        assert course.now - begin < 10.0
    assert course.now - begin > TIMEOUT - 1e-9
    assert course.stamp - stamp > TIMEOUT - 1e-9
    assert min(course.now - begin, course.stamp - stamp) < TIMEOUT + 2.0 * DT


def test_the_same_joint_state_again_and_again_is_a_simulation_that_waits():
    course = armed(simulated=True)
    for _ in range(1000):
        course.state(0.1, stamped=0.0)
    assert course.sent == []


def test_a_simulation_that_is_set_back_is_no_silence():
    course = armed(simulated=True)
    course.state(stamped=-4.0)
    course.command()
    course.live(0.1)
    assert course.sent == []
    assert TIMEOUT < course.until_taken_over() <= TIMEOUT + DT + 1e-9


@pytest.mark.parametrize("bad", [np.nan, 1e300, 30.0])
def test_states_that_no_joint_can_have_are_passed_over(bad):
    course = armed()
    good = course.q
    course.q = np.full(3, bad)
    for _ in range(100):
        assert course.state() is None
    course.q = good
    course.until_taken_over()
    course.q = np.full(3, bad)
    assert course.state() is None
    assert np.isfinite(values(course)).all()


# --- when joint states fail to come as well ---


def test_without_joint_states_the_safe_output_comes_after_the_state_timeout_and_goes_on():
    course = armed()
    begin = course.now
    while course.poll() is None:
        assert course.now - begin < 1.0
    silence = course.now - begin
    assert STATE_TIMEOUT < silence <= STATE_TIMEOUT + LOOKS + 1e-9
    for _ in range(50):
        assert course.poll() is not None
    assert course.takeover.active
    assert course.sent[-1][1].values == pytest.approx(gravity_at_rest(silence), abs=1e-3)


def test_a_watchdog_that_hears_nothing_at_all_takes_no_robot_over():
    course = armed()
    begin = course.now
    while course.now - begin < 10.0 * STATE_TIMEOUT:
        course.now += LOOKS
        assert course.takeover.poll(course.now, hears=False) is None
    assert not course.takeover.active
    # it hears again: it is the others that are silent
    assert course.takeover.poll(course.now, hears=True) is not None
    # nobody else brakes the robot it has
    assert course.takeover.poll(course.now + LOOKS, hears=False) is not None


def test_a_controller_that_sends_its_safe_output_while_no_joint_states_come_is_left_alone():
    course = armed()
    course.poll(0.1)
    for _ in range(200):
        course.command()
        course.poll()
    assert course.sent == []


def test_a_paused_simulation_is_not_one_without_joint_states():
    course = armed(simulated=True)
    for _ in range(500):
        course.poll(simulated=0.0)
    assert course.sent == []
    while course.poll(simulated=LOOKS) is None:
        assert course.now < 1100.0
    assert course.takeover.active


def test_a_held_up_watchdog_does_not_take_over_before_it_has_looked_again():
    course = armed()
    course.poll(5.0)
    course.state(0.0)
    course.command()
    course.live(0.1)
    assert course.sent == []


@pytest.mark.parametrize("simulated", [False, True])
def test_a_robot_that_was_taken_over_is_not_braked_any_more_soon_after_its_last_joint_state(
    simulated,
):
    """Braking torque that stays would accelerate the joints as soon as they stand."""
    course = armed(simulated=simulated)
    course.until_taken_over()
    for _ in range(300):
        course.state()
    braking = course.sent[-1][1].values
    assert braking == pytest.approx(MODEL.at(Q).gravity - DAMPING * V)
    begin = course.now
    while course.poll(0.005) is None:
        assert course.now - begin < 1.0
    silence = course.now - begin
    assert STALE < silence <= STALE + 0.006
    for _ in range(80):
        course.poll(0.005)
    assert course.sent[-1][1].values == pytest.approx(gravity_at_rest(silence), abs=1e-6)
    for _ in range(300):
        course.state()
    assert course.sent[-1][1].values == pytest.approx(braking)


@pytest.mark.parametrize(
    ("mode", "last", "left"),
    [
        (EFFORT, [9.0, 9.0, 9.0], MODEL.at(Q).gravity),
        (POSITION, Q + 0.01, Q + 0.01),
        (VELOCITY, V, [0.0] * 3),
    ],
)
def test_an_arm_in_motion_is_left_with_a_command_that_may_stay(mode, last, left):
    course = armed(mode, last)
    assert list(course.takeover.final_commands()) == []
    course.until_taken_over()
    before = course.sent[-1][1].values
    ending = list(course.takeover.final_commands())
    assert {command.mode for command in ending} == {mode}
    assert ending[-1].values == pytest.approx(np.array(left))
    steps = np.diff([before, *(command.values for command in ending)], axis=0)
    rate = {EFFORT: EFFORT_RATE, POSITION: np.full(3, SPEED), VELOCITY: np.full(3, ACCELERATION)}[
        mode
    ]
    assert (np.abs(steps) <= rate * DT * (1.0 + 1e-9)).all()
    course.v = np.zeros(3)
    for _ in range(200):
        course.state()
    assert course.takeover.at_rest
    assert list(course.takeover.final_commands()) == []


def test_nothing_is_sent_where_no_joint_state_was_ever_known():
    course = Course()
    course.command()
    for _ in range(100):
        assert course.poll() is None


@pytest.mark.parametrize(("speed", "within"), [(0.0, 0.0), (0.5, 0.45)])
def test_a_robot_whose_states_end_counts_as_at_rest_once_it_has_come_to_rest(speed, within):
    course = armed()
    course.v = np.array([speed, 0.0, 0.0])
    course.live(0.5)
    while course.poll(DT) is None:
        assert not course.takeover.at_rest
    begin = course.now
    while not course.takeover.at_rest:
        course.poll(DT)
    assert course.now - begin <= within
    assert list(course.takeover.final_commands()) == []


# --- what ---


@pytest.mark.parametrize(("gravity_by_robot", "share"), [(False, 1.0), (True, 0.0)])
def test_effort_goes_from_the_last_command_to_the_safe_one_within_the_effort_rate(
    gravity_by_robot, share
):
    last = np.array([40.0, -30.0, 20.0])
    course = armed(EFFORT, last, config=robot(gravity_by_robot=gravity_by_robot))
    course.until_taken_over()
    for _ in range(300):
        course.state()
    wanted = share * MODEL.at(Q).gravity - DAMPING * V
    steps = np.diff(np.vstack((last, values(course))), axis=0)
    assert (np.abs(steps) <= EFFORT_RATE * DT * (1.0 + 1e-9)).all()
    assert (np.abs(steps[0]) == pytest.approx(EFFORT_RATE * DT)) or not share
    longest = (np.abs(last - wanted) / EFFORT_RATE).max()
    assert values(course)[math.ceil(longest / DT) + 1] == pytest.approx(wanted)
    assert values(course)[-1] == pytest.approx(wanted)


def test_effort_follows_the_motion_of_the_arm():
    course = armed()
    course.until_taken_over()
    for k in range(400):
        course.q, course.v = Q + 0.0005 * k, V * (1.0 - k / 400.0)
        course.state()
    course.v = np.zeros(3)
    for _ in range(30):
        course.state()
    assert course.sent[-1][1].values == pytest.approx(MODEL.at(course.q).gravity)


@pytest.mark.parametrize("elapsed", [0.002, 0.008, 0.05])
def test_the_rate_is_per_second_but_a_gap_gives_no_long_step(elapsed):
    last = np.array([100.0, 100.0, -100.0])
    course = armed(EFFORT, last)
    course.until_taken_over()
    before = course.sent[-1][1].values
    step = np.abs(course.state(elapsed).values - before)
    assert step == pytest.approx(EFFORT_RATE * min(elapsed, LONGEST_STEP * DT))


def test_a_position_is_held_where_the_last_command_was_while_the_arm_still_comes_there():
    course = Course()
    commanded = Q
    for _ in range(100):
        course.state()
        commanded = commanded + V * DT
        course.q = commanded - 0.02 * V  # as servos lag
        course.command(POSITION, commanded)
    course.until_taken_over()
    for _ in range(200):
        course.q = course.q + 0.1 * (commanded - course.q)
        course.state()
    assert (values(course) == commanded).all()
    course.poll(0.1)
    for _ in range(20):
        course.poll()
    assert (values(course) == commanded).all()


def test_where_a_joint_does_not_follow_the_position_goes_back_to_it_at_most_at_the_velocity_limits():
    far = Q + np.array([0.5, 0.0, 0.0])
    course = armed(POSITION, far)
    course.v = np.zeros(3)
    course.until_taken_over()
    for _ in range(300):
        course.state()
    way = np.vstack((far, values(course)))
    assert (np.abs(np.diff(way, axis=0)) <= SPEED * DT * (1.0 + 1e-9)).all()
    assert way[-1, 0] == pytest.approx(Q[0], abs=0.005)
    assert (way[-1] == way[-50]).all()


def test_positions_of_joints_that_turn_without_end_are_held_whatever_turn_is_reported():
    arm = random_arm(5, 3, continuous=(1,))
    turned = Q + np.array([0.0, 4.0 * np.pi, 0.0])
    course = armed(POSITION, turned, config=arm.config(profile=profile()), model=arm.model())
    course.until_taken_over()
    for _ in range(100):
        course.state()
    assert (values(course) == turned).all()


def test_velocity_goes_to_zero_within_a_quarter_of_a_second_from_full_speed():
    last = np.array([SPEED, -0.5 * SPEED, 0.0])
    course = armed(VELOCITY, last)
    course.until_taken_over()
    for _ in range(150):
        course.state()
    way = np.vstack((last, values(course)))
    assert np.diff(way, axis=0)[:50, 0] == pytest.approx(-ACCELERATION * DT)
    assert (np.diff(way[:, 1]) <= ACCELERATION * DT * (1.0 + 1e-9)).all()
    assert way[round(0.25 / DT)] == pytest.approx(np.zeros(3), abs=1e-9)
    assert way[-1].tolist() == [0.0, 0.0, 0.0]


def test_velocity_goes_to_zero_without_joint_states_too():
    course = armed(VELOCITY, [SPEED, 0.0, 0.0])
    for _ in range(300):
        course.poll(DT)
    assert (np.abs(np.diff(values(course), axis=0)) <= ACCELERATION * DT * (1.0 + 1e-9)).all()
    assert course.sent[-1][1].values.tolist() == [0.0, 0.0, 0.0]


@pytest.mark.parametrize("mode", CommandMode)
def test_commands_never_leave_the_limits_whatever_was_commanded_last(mode):
    course = armed(mode, [1e5, -1e5, 1e5])
    course.until_taken_over()
    before = np.inf
    for _ in range(2000):
        sent = np.abs(course.state(0.01).values)
        assert (sent <= before).all()  # from beyond them the rates lead back
        before = np.maximum(sent, {EFFORT: 200.0, POSITION: 6.0, VELOCITY: SPEED}[mode])
    assert np.isfinite(values(course)).all()


def test_a_takeover_begins_with_the_last_command_that_was_heard_not_with_its_own():
    course = armed(EFFORT, [40.0, 40.0, 40.0])
    course.until_taken_over()
    for _ in range(200):
        course.state()
    course.live(0.1, EFFORT, [-40.0, -40.0, -40.0])
    count = len(course.sent)
    course.until_taken_over()
    assert course.sent[count][1].values == pytest.approx(-40.0 + EFFORT_RATE * DT)


# --- rest ---


def test_the_robot_is_at_rest_once_its_joints_have_stood_still_for_a_while():
    course = armed()
    course.until_taken_over()
    course.v = np.array([0.0, 0.021, 0.0])
    for _ in range(200):
        course.state()
        assert not course.takeover.at_rest
    course.v = np.array([0.0, -0.019, 0.0])
    begin = course.now
    while not course.takeover.at_rest:
        course.state()
    assert course.now - begin == pytest.approx(REST_TIME, abs=2.0 * DT)
    assert course.state() is not None  # and it goes on
    course.command()
    assert not course.takeover.at_rest


@pytest.mark.parametrize("mode", [EFFORT, VELOCITY])
def test_an_arm_in_motion_comes_to_rest(mode):
    """Bars in the plane, their mechanics integrated by the model's own forward dynamics;
    gravity across the plane.
    """
    arm = planar_arm((0.5, 0.4))
    model = arm.model(rotor_inertia=(0.1, 0.1))
    config = arm.config(safe_damping=(4.0, 2.0), effort_rate=(1000.0, 1000.0), profile=profile())
    course = Course(config, model)
    course.q, course.v = np.array([0.3, 0.8]), np.array([1.0, -1.0])
    command = model.at(course.q).gravity if mode is EFFORT else course.v
    course.live(0.01, mode, command)
    for _ in range(round(1.5 / DT)):
        if mode is EFFORT:
            for _ in range(4):
                course.v = course.v + 0.25 * DT * model.forward_dynamics(
                    course.q, course.v, command
                )
                course.q = course.q + 0.25 * DT * course.v
        else:
            course.v = command
            course.q = course.q + DT * course.v
        sent = course.state()
        command = command if sent is None else sent.values
    assert np.abs(course.v).max() < 0.02
    assert course.takeover.at_rest


# --- silence ---


def test_silence_is_the_shortest_of_all_clocks_and_counts_no_more_than_half_the_limit_at_once():
    silence = Timeout(0.1)
    silence.restart(10.0, 0.0)
    assert silence.poll(10.02, 0.03) == pytest.approx(0.02)
    assert silence.poll(10.04, 0.03) == pytest.approx(0.03)
    assert silence.poll(99.0, 99.0) == pytest.approx(0.08)
    silence.restart(200.0, 100.0)
    assert silence.poll(200.0, 50.0) == 0.0
    assert silence.poll(200.01, 50.02) == pytest.approx(0.01)


def test_once_disarmed_it_waits_for_the_next_command():
    course = armed()
    course.until_taken_over()
    course.takeover.disarm()
    assert not course.takeover.armed
    assert not course.takeover.active
    sent = len(course.sent)
    for _ in range(100):
        course.state()
    course.poll(elapsed=10.0)
    assert len(course.sent) == sent
    course.live(0.1)
    assert course.until_taken_over() > TIMEOUT
