"""Joint trajectories as goals: judged without ROS, and the action over DDS where
control_msgs is installed.
"""

import math
from collections import namedtuple
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="needs ROS 2 (rclpy)")

from builtin_interfaces.msg import Duration
from lockstep import LockstepRos
from ros_support import Controller, Ros
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from robot_control_ros.control.loop import ControlLoop
from robot_control_ros.control.sample_order import MAX_GAP
from robot_control_ros.core.errors import ConfigError
from robot_control_ros.core.types import RobotState
from robot_control_ros.nodes.controller.targets.trajectory_goal import (
    GOAL_TOLERANCE_VIOLATED,
    INVALID_GOAL,
    PATH_TOLERANCE_VIOLATED,
    SUCCESSFUL,
    Bounds,
    FollowedGoal,
    Outcome,
    TrajectoryGoal,
    bounds_of,
    tolerance_of,
)
from robot_control_ros.robot.configuration import load_robot
from robot_control_ros.ros.messages import (
    from_stamp,
    numbers,
    read_blocks,
    read_joint_trajectory,
    seconds,
    to_duration,
    to_stamp,
)

JOINTS = ("a", "b", "c")
Tolerance = namedtuple("Tolerance", ("name", "position", "velocity"))
ANY = math.inf
ROBOT = load_robot("ur5")
HOME = np.array(ROBOT.home)
AWAY = HOME + [0.1, -0.1, 0.1, 0.1, -0.1, 0.2]


def loose():
    return Bounds(np.full(3, ANY), np.full(3, ANY))


def tight(position=0.1, velocity=0.2):
    return Bounds(np.full(3, position), np.full(3, velocity))


def make_goal(on_path=None, at_goal=None, goal_time=ANY, cyclic=(False, False, False)):
    times = np.array([0.5, 1.0, 2.0])
    return TrajectoryGoal(
        JOINTS, np.array(cyclic), 10.0, times, on_path or loose(), at_goal or loose(), goal_time
    )


def one(at, value):
    values = np.zeros(3)
    values[at] = value
    return values


# --- tolerances ---


def test_without_tolerances_the_defaults_hold_and_a_default_of_zero_is_none():
    found = bounds_of(JOINTS, [], np.array([0.1, 0.0, 0.3]), np.array([0.0, 0.02, 0.0]))
    np.testing.assert_array_equal(found.position, [0.1, ANY, 0.3])
    np.testing.assert_array_equal(found.velocity, [ANY, 0.02, ANY])


def test_a_tolerance_replaces_the_default_and_zero_leaves_it_and_minus_one_erases_it():
    given = [Tolerance("c", 0.5, 0.0), Tolerance("a", -1.0, 0.7)]
    found = bounds_of(JOINTS, given, np.array([0.1, 0.2, 0.3]), np.array([1.0, 2.0, 3.0]))
    np.testing.assert_array_equal(found.position, [ANY, 0.2, 0.5])
    np.testing.assert_array_equal(found.velocity, [0.7, 2.0, 3.0])


@pytest.mark.parametrize(
    ("tolerance", "name"),
    [
        (Tolerance("finger", 0.1, 0.1), "finger"),
        (Tolerance("b", -0.5, 0.1), "position tolerance of b"),
        (Tolerance("b", 0.1, math.nan), "velocity tolerance of b"),
    ],
)
def test_a_tolerance_that_cannot_be_is_refused(tolerance, name):
    with pytest.raises(ConfigError) as refused:
        bounds_of(JOINTS, [tolerance], np.zeros(3), np.zeros(3))
    assert refused.value.name == name


@pytest.mark.parametrize(
    ("given", "default", "expected"),
    [(0.0, 0.0, ANY), (0.0, 2.0, 2.0), (0.5, 2.0, 0.5), (-1.0, 2.0, ANY)],
)
def test_the_time_for_the_goal(given, default, expected):
    assert tolerance_of("goal_time_tolerance [s]", given, default) == expected


@pytest.mark.parametrize("given", [-0.5, math.nan])
def test_a_time_for_the_goal_that_cannot_be_is_refused(given):
    with pytest.raises(ConfigError, match="goal_time_tolerance"):
        tolerance_of("goal_time_tolerance [s]", given, 0.0)


# --- judging ---


def test_within_the_tolerances_it_goes_on_until_the_end_and_then_succeeds():
    goal = make_goal(tight(), tight(0.01, 0.02))
    for time in (10.0, 11.0, 11.999):
        assert goal.judge(time, one(1, 0.0999), one(2, -0.1999)) is None
    assert goal.judge(12.0, one(1, 0.0099), one(2, -0.0199)) == Outcome(SUCCESSFUL)


@pytest.mark.parametrize(
    ("position", "velocity", "words"),
    [
        (one(1, -0.11), one(0, 0.0), "b is off by 0.11 rad: must be at most 0.1 rad"),
        (one(0, 0.0), one(2, 0.21), "c is off by 0.21 rad/s: must be at most 0.2 rad/s"),
        (one(0, math.nan), one(0, 0.0), "a is off by nan rad"),
    ],
)
def test_an_error_on_the_way_ends_the_goal_and_names_the_joint(position, velocity, words):
    outcome = make_goal(tight()).judge(11.999, position, velocity)
    assert outcome is not None
    assert outcome.code == PATH_TOLERANCE_VIOLATED
    assert words in outcome.text


def test_after_the_end_the_tolerances_on_the_way_count_no_more():
    assert make_goal(tight()).judge(12.0, one(1, 5.0), one(2, 5.0)) == Outcome(SUCCESSFUL)


def test_an_error_at_the_goal_may_last_for_the_time_given():
    goal = make_goal(at_goal=tight(), goal_time=0.5)
    wrong, right = one(1, 0.2), one(1, 0.0)
    assert goal.judge(11.999, wrong, right) is None  # the way is free
    assert goal.judge(12.5, wrong, right) is None
    assert goal.judge(12.5, right, right) == Outcome(SUCCESSFUL)
    outcome = goal.judge(12.51, wrong, right)
    assert outcome is not None
    assert outcome.code == GOAL_TOLERANCE_VIOLATED
    assert "0.510 s after the end b is off by 0.2 rad" in outcome.text
    assert make_goal(at_goal=tight()).judge(1e6, wrong, right) is None  # no time given: for ever


def test_only_joints_that_go_round_take_the_shorter_way():
    desired, actual = np.array([3.0, 3.0, 7.0]), np.array([-3.0, -3.0, 0.5])
    error = make_goal(cyclic=(True, False, True)).error(desired, actual)
    np.testing.assert_allclose(
        error, [6.0 - 2.0 * np.pi, 6.0, 6.5 - 2.0 * np.pi], rtol=0.0, atol=1e-12
    )


def test_the_point_that_is_in_use():
    goal = make_goal()
    assert [goal.point(10.0 + t) for t in (-1.0, 0.0, 0.5, 0.99, 1.0, 1.5, 2.0, 9.0)] == [
        0,
        0,
        0,
        0,
        1,
        1,
        2,
        2,
    ]


# --- the loop that follows ---


class Ideal:
    """A loop whose joints are always where its reference is, halfway along a trajectory of 2 s."""

    def __init__(self):
        self.loop = ControlLoop(ROBOT, "joint_impedance")
        self.time, self.q, self.v = 10.0, HOME, np.zeros(6)
        self.tick(0.002)
        self.loop.motion.follow_joints(np.array([2.0]), AWAY[None], None)
        limits = Bounds(np.full(6, 0.01), np.full(6, 0.1))
        goal = TrajectoryGoal(
            ROBOT.joints, np.zeros(6, dtype=bool), self.time, np.array([2.0]), limits, limits
        )
        self.followed = FollowedGoal(goal, self.loop)
        self.go(1.0)

    def tick(self, dt, offset=0.0):
        self.time += dt
        self.loop.tick(RobotState(self.time, self.q + offset, self.v, np.zeros(6)))
        self.q, self.v = self.loop.reference.q, self.loop.reference.v

    def go(self, duration):
        for _ in range(round(duration / 0.002)):
            self.tick(0.002)
            assert self.followed.lost() is None
            outcome = self.followed.judge()
            if outcome is not None:
                return outcome
        return None


@pytest.fixture
def ideal():
    made = Ideal()
    assert np.abs(made.q - HOME).max() > 0.05
    return made


def test_a_trajectory_that_is_followed_succeeds_at_its_end(ideal):
    assert ideal.go(1.1) == Outcome(SUCCESSFUL)
    assert ideal.time == pytest.approx(12.002, abs=0.003)


@pytest.mark.parametrize("gap", [MAX_GAP + 0.01, -1.5], ids=["a gap", "back"])
def test_a_gap_of_stamps_loses_the_path(ideal, gap):
    for step in (gap, 0.002, 0.002):
        ideal.tick(step)
    assert ideal.followed.lost() == Outcome(PATH_TOLERANCE_VIOLATED, ideal.loop.restart_reason)


def test_a_gap_that_the_loop_bears_loses_nothing(ideal):
    ideal.tick(MAX_GAP - 0.01)
    assert ideal.followed.lost() is None


def test_a_fault_loses_the_path(ideal):
    while not ideal.loop.fault:
        ideal.tick(0.0)  # stamps that stand still
    assert ideal.followed.lost() == Outcome(PATH_TOLERANCE_VIOLATED, ideal.loop.fault)


def test_another_target_ends_the_goal_as_invalid(ideal):
    ideal.loop.motion.go_home()
    assert ideal.followed.lost().code == INVALID_GOAL
    ideal.tick(0.002)
    assert ideal.followed.lost().code == INVALID_GOAL


def test_an_error_on_the_way_is_judged_by_the_state_of_the_cycle(ideal):
    ideal.tick(0.002, offset=0.02)
    assert ideal.followed.judge().code == PATH_TOLERANCE_VIOLATED


# --- the stamp ---


def test_a_stamp_of_zero_is_now():
    times, positions = np.array([1.0, 2.0]), np.eye(2, 3)
    found = from_stamp(to_stamp(0.0), 50.0, times, positions, None)
    assert found[0] is times
    assert found[1] is positions
    assert found[2] is None


def test_a_stamp_moves_the_times_and_what_is_past_is_dropped():
    times, positions, velocities = np.array([1.0, 2.0, 3.0]), np.eye(3), 2.0 * np.eye(3)
    later = from_stamp(to_stamp(52.0), 50.0, times, positions, velocities)
    np.testing.assert_allclose(later[0], [3.0, 4.0, 5.0])
    np.testing.assert_array_equal(later[1], positions)
    begun = from_stamp(to_stamp(48.5), 50.0, times, positions, velocities)
    np.testing.assert_allclose(begun[0], [0.5, 1.5])
    np.testing.assert_array_equal(begun[1], positions[1:])
    np.testing.assert_array_equal(begun[2], velocities[1:])


def test_what_ended_in_the_past_is_refused():
    with pytest.raises(ConfigError, match=r"starts at 40\.000 s and ended 7\.000 s ago"):
        from_stamp(to_stamp(40.0), 50.0, np.array([1.0, 3.0]), np.eye(2, 3), None)


@pytest.mark.parametrize("time", [0.0, 0.25, 3.0, -1.0, -0.25])
def test_durations_come_back(time):
    assert seconds(to_duration(time)) == time


def trajectory(times, velocities):
    points = [
        JointTrajectoryPoint(
            positions=[0.0] * 3, velocities=numbers(np.array(v)), time_from_start=to_duration(t)
        )
        for t, v in zip(times, velocities, strict=True)
    ]
    return JointTrajectory(joint_names=list(JOINTS), points=points)


def test_velocities_that_rounding_left_at_the_end_are_none():
    left = [1e-8, -1e-8, 1e-3]
    _, _, velocities = read_joint_trajectory(trajectory([1.0, 2.0], [left, left]), JOINTS)
    np.testing.assert_array_equal(velocities, [left, [0.0, 0.0, 1e-3]])


@pytest.mark.parametrize("times", [[1.0, 1.0], [1.0, 0.5]])
def test_times_must_rise(times):
    with pytest.raises(ConfigError, match="must rise"):
        read_joint_trajectory(trajectory(times, [[0.0] * 3] * 2), JOINTS)


# --- the action, over DDS ---

SUCCEEDED, CANCELED, ABORTED = 4, 5, 6  # action_msgs/GoalStatus


@dataclass
class Follower:
    """A simulated arm under joint impedance, and a client of its action."""

    ros: Ros
    controller: Controller
    client: Any
    action: Any
    states: Any
    targets: Any

    def position(self):
        return read_blocks(self.states.last)["position"]

    def now(self):
        return read_blocks(self.states.last)["time"][0]

    def fresh(self):
        """Wait for telemetry that is newer than all that was asked for before."""
        self.ros.next(self.states, "telemetry")
        self.ros.next(self.states, "telemetry")

    def request(self, points=((0.4, AWAY),), names=ROBOT.joints, stamp=0.0, **fields):
        order = [ROBOT.joints.index(name) for name in names if name in ROBOT.joints]
        made = [
            JointTrajectoryPoint(
                positions=numbers(np.asarray(q)[order]), time_from_start=to_duration(t)
            )
            for t, q in points
        ]
        request = self.action.Goal(
            trajectory=JointTrajectory(joint_names=list(names), points=made), **fields
        )
        request.trajectory.header.stamp = to_stamp(stamp)
        return request

    def send(self, request, feedback=None):
        """The handle of a goal."""
        on_feedback = (
            None if feedback is None else lambda message: feedback.append(message.feedback)
        )
        future = self.client.send_goal_async(request, feedback_callback=on_feedback)
        self.ros.until(future.done, "an answer to the goal")
        return future.result()

    def result(self, handle):
        """(status, error code, error string)."""
        future = handle.get_result_async()
        self.ros.until(future.done, "the result")
        found = future.result()
        return found.status, found.result.error_code, found.result.error_string

    def tolerance(self, name, **values):
        from control_msgs.msg import JointTolerance

        return JointTolerance(name=name, **values)


@pytest.fixture(scope="module")
def shared_follower(tmp_path_factory):
    pytest.importorskip("mujoco", reason="the simulator needs MuJoCo")
    actions = pytest.importorskip("control_msgs.action", reason="needs control_msgs")
    from rclpy.action import ActionClient

    with LockstepRos(tmp_path_factory.mktemp("follower")) as ros:
        ros.start("simulator")
        controller = Controller(ros, use_sim_time=True, law="joint_impedance", state_timeout=5.0)
        client = ActionClient(
            ros.node, actions.FollowJointTrajectory, "/controller/follow_joint_trajectory"
        )
        states = ros.subscribe(Float64MultiArray, "/controller/state")
        targets = ros.publisher(JointState, "/controller/target_joint")
        ros.until(client.server_is_ready, "the action server")
        ros.until(lambda: len(states) and targets.get_subscription_count(), "telemetry")
        yield Follower(ros, controller, client, actions.FollowJointTrajectory, states, targets)
        client.destroy()


@pytest.fixture
def follower(shared_follower):
    """At home, at rest."""
    assert shared_follower.ros.trigger("/simulator/reset").success

    def at_home():
        blocks = read_blocks(shared_follower.states.last)
        return (
            np.abs(blocks["position"] - HOME).max() < 5e-3
            and np.abs(blocks["velocity"]).max() < 0.01
        )

    shared_follower.states.messages.clear()
    shared_follower.ros.until(lambda: len(shared_follower.states) > 3 and at_home(), "home")
    return shared_follower


def ros(test):
    return pytest.mark.ros(pytest.mark.sim(test))


@ros
def test_a_goal_is_followed_with_feedback_and_succeeds(follower):
    feedback: list[Any] = []
    names = ROBOT.joints[::-1]
    middle = 0.5 * (HOME + AWAY)
    handle = follower.send(follower.request(((0.4, middle), (0.8, AWAY)), names), feedback)
    assert handle.accepted
    assert follower.result(handle) == (SUCCEEDED, SUCCESSFUL, "")
    follower.fresh()
    np.testing.assert_allclose(follower.position(), AWAY, rtol=0.0, atol=0.02)
    assert len(feedback) > 8  # every 50 ms
    times = [seconds(sample.desired.time_from_start) for sample in feedback]
    assert (np.diff(times) > 0.0).all()
    for sample, time in zip(feedback, times, strict=True):
        assert tuple(sample.joint_names) == ROBOT.joints
        assert (
            seconds(sample.actual.time_from_start) == seconds(sample.error.time_from_start) == time
        )
        for part in ("positions", "velocities"):
            points = (sample.desired, sample.actual, sample.error)
            desired, actual, error = (np.array(getattr(point, part)) for point in points)
            np.testing.assert_allclose(error, desired - actual, rtol=0.0, atol=1e-12)
        assert len(sample.desired.accelerations) == ROBOT.n
        if hasattr(sample, "index"):
            assert sample.index == (1 if time >= 0.8 else 0)
    half = next(sample for sample, time in zip(feedback, times, strict=True) if time > 0.4)
    np.testing.assert_allclose(half.desired.positions, middle, rtol=0.0, atol=0.05)


@ros
@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"names": ("finger", *ROBOT.joints[1:])}, "finger"),
        ({"names": ROBOT.joints[:5]}, "must be shoulder_pan_joint"),
        ({"points": ()}, "points = 0"),
        ({"points": ((0.5, AWAY), (0.5, HOME))}, "must rise"),
        ({"stamp": 0.001, "points": ((1e-3, AWAY),)}, "s ago"),
        ({"goal_time_tolerance": Duration(sec=-2)}, "goal_time_tolerance"),
    ],
    ids=["other joints", "some joints", "no points", "times", "past", "goal time"],
)
def test_a_goal_that_cannot_be_is_rejected_in_words(follower, change, words):
    follower.ros.until(lambda: follower.now() > 0.1, "a time after the beginning")
    follower.controller.diagnostics.messages.clear()
    assert not follower.send(follower.request(**change)).accepted
    follower.controller.says("goal of follow_joint_trajectory rejected", words)


@ros
def test_a_goal_beyond_a_limit_is_aborted_with_the_reason(follower):
    beyond = AWAY + [0.0, 0.0, 90.0, 0.0, 0.0, 0.0]
    status, code, text = follower.result(follower.send(follower.request(((5.0, beyond),))))
    assert (status, code) == (ABORTED, INVALID_GOAL)
    assert "elbow_joint = 9" in text
    status, code, text = follower.result(follower.send(follower.request(((0.01, AWAY),))))
    assert (status, code) == (ABORTED, INVALID_GOAL)
    assert "must be at most" in text


@ros
def test_a_tolerance_on_the_way_that_is_not_kept_aborts_and_holds(follower):
    strict = [follower.tolerance("elbow_joint", position=1e-7)]
    handle = follower.send(follower.request(((1.0, AWAY),), path_tolerance=strict))
    status, code, text = follower.result(handle)
    assert (status, code) == (ABORTED, PATH_TOLERANCE_VIOLATED)
    assert "elbow_joint" in text
    start = follower.now()
    follower.ros.until(
        lambda: follower.now() > start + 1.5, "the time that the move would have taken"
    )
    assert np.abs(follower.position() - AWAY).max() > 0.15


@ros
def test_a_goal_that_is_not_reached_in_time_aborts_and_holds(follower):
    strict = [follower.tolerance("wrist_1_joint", position=1e-9)]
    request = follower.request(goal_tolerance=strict, goal_time_tolerance=to_duration(0.2))
    status, code, text = follower.result(follower.send(request))
    assert (status, code) == (ABORTED, GOAL_TOLERANCE_VIOLATED)
    assert "wrist_1_joint" in text


@ros
def test_default_tolerances_are_parameters(follower):
    assert follower.ros.set_atomically(
        "controller", constraints__goal=1e-9, constraints__goal_time=0.1
    ).successful
    try:
        status, code, _ = follower.result(follower.send(follower.request()))
        assert (status, code) == (ABORTED, GOAL_TOLERANCE_VIOLATED)
        free = [follower.tolerance(name, position=-1.0, velocity=-1.0) for name in ROBOT.joints]
        status, code, _ = follower.result(
            follower.send(follower.request(((0.4, HOME),), goal_tolerance=free))
        )
        assert (status, code) == (SUCCEEDED, SUCCESSFUL)
    finally:
        assert follower.ros.set_atomically(
            "controller", constraints__goal=0.0, constraints__goal_time=0.0
        ).successful


@ros
def test_a_cancelled_goal_holds_where_the_robot_is(follower):
    handle = follower.send(follower.request(((2.0, AWAY),)))
    follower.ros.until(lambda: np.abs(follower.position() - HOME).max() > 0.02, "it moves")
    future = handle.cancel_goal_async()
    follower.ros.until(future.done, "an answer to the cancellation")
    assert len(future.result().goals_canceling) == 1
    assert follower.result(handle)[0] == CANCELED
    start = follower.now()
    follower.ros.until(
        lambda: follower.now() > start + 2.0, "the time that the move would have taken"
    )
    assert np.abs(follower.position() - AWAY).max() > 0.1


@ros
def test_a_newer_goal_takes_over(follower):
    first = follower.send(follower.request(((2.0, AWAY),)))
    # is aborted itself, and disturbs nothing
    beyond = follower.send(follower.request(((5.0, AWAY + 90.0),)))
    assert follower.result(beyond)[:2] == (ABORTED, INVALID_GOAL)
    second = follower.send(follower.request(((0.5, HOME),)))
    assert follower.result(first) == (ABORTED, INVALID_GOAL, "a newer goal took its place")
    assert follower.result(second)[0] == SUCCEEDED


@ros
def test_another_target_takes_over(follower):
    handle = follower.send(follower.request(((2.0, AWAY),)))
    follower.targets.publish(JointState(name=list(ROBOT.joints), position=HOME.tolist()))
    assert follower.result(handle) == (ABORTED, INVALID_GOAL, "another target took its place")


@ros
def test_a_reset_of_the_simulation_ends_the_goal(follower):
    handle = follower.send(follower.request(((2.0, AWAY),)))
    follower.ros.until(lambda: np.abs(follower.position() - HOME).max() > 0.02, "it moves")
    assert follower.ros.trigger("/simulator/reset").success
    assert follower.result(handle)[:2] == (ABORTED, PATH_TOLERANCE_VIOLATED)


@ros
def test_a_trajectory_may_start_later_or_have_begun(follower):
    start = follower.now() + 0.5
    status, code, _ = follower.result(
        follower.send(follower.request(((0.0, HOME), (0.4, AWAY)), stamp=start))
    )
    assert (status, code) == (SUCCEEDED, SUCCESSFUL)
    assert follower.now() > start + 0.3
    start = follower.now() - 1.0
    points = ((0.1, AWAY + 90.0), (2.0, HOME))  # what is past isn't looked at
    assert follower.result(follower.send(follower.request(points, stamp=start)))[0] == SUCCEEDED
    follower.fresh()
    np.testing.assert_allclose(follower.position(), HOME, rtol=0.0, atol=0.02)


@ros
def test_an_inactive_controller_aborts_and_rejects_and_goes_on_after_a_new_configuration(follower):
    controller = follower.controller
    handle = follower.send(follower.request(((2.0, AWAY),)))
    assert controller.change("deactivate")
    assert follower.result(handle) == (ABORTED, INVALID_GOAL, "the controller was deactivated")
    assert not follower.send(follower.request()).accepted
    assert controller.change("cleanup")
    follower.ros.until(lambda: not follower.client.server_is_ready(), "the action server is gone")
    assert controller.change("configure")
    controller.activate()
    follower.ros.until(follower.client.server_is_ready, "the action server")
    follower.fresh()
    assert follower.result(follower.send(follower.request()))[0] == SUCCEEDED


@ros
def test_a_shutdown_with_a_goal_on_its_way_is_clean(follower):
    follower.send(follower.request(((2.0, AWAY),)))
    assert follower.controller.change("active_shutdown")
    assert follower.controller.state == "finalized"
    assert "Traceback" not in follower.controller.child.err
