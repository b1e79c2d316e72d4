"""A loop that follows chunks of joint angles: what it refuses, and what stands in its record."""

import numpy as np
import pytest
from refusals import refuses

from robot_control_ros.control.loop import ControlLoop
from robot_control_ros.core.types import CommandMode, RobotState
from robot_control_ros.references import JointStream
from robot_control_ros.robot.configuration import load_robot

PERIOD = 0.002  # s
LATE = 5  # cycles after which the arm has the speed of a command
APART = 1.0 / 30.0  # s between two points of a chunk


class LateArm:
    """An arm under velocity commands, which follows each of them some cycles later."""

    def __init__(self, name="ur5", late=LATE):
        self.robot = load_robot(name).at_rate(1.0 / PERIOD)
        self.loop = ControlLoop(self.robot, "joint_pid")
        assert self.loop.running.mode is CommandMode.VELOCITY
        self.home = np.array(self.robot.home)
        self.commands = [np.zeros(self.robot.n)] * (late + 1)
        self.q = self.home
        self.time = 0.0
        self.cycle()

    def cycle(self):
        self.time += PERIOD
        v = self.commands.pop(0)
        self.q = self.q + PERIOD * v
        state = RobotState(self.time, self.q, v, np.full(self.robot.n, np.nan))
        self.commands.append(self.loop.tick(state).values.copy())

    def run(self, seconds):
        for _ in range(round(seconds / PERIOD)):
            self.cycle()


@pytest.fixture
def arm():
    return LateArm()


def waving(arm, times):
    """Joint angles (k, n) of a slow motion of all joints, at times [s]."""
    return arm.home + 0.15 * (1.0 - np.cos(2.5 * times))[:, None] * np.ones(len(arm.home))


def follow(arm, lasting, latency=0.0):
    """Follow a policy of 10 Hz that stamps its chunks, which arrive later by its latency [s]."""
    begin = arm.time
    times = APART * np.arange(16)
    for k in range(round(10.0 * lasting)):
        seen = k / 10.0
        arm.run(begin + seen + latency - arm.time)
        arm.loop.motion.follow_joint_chunk(
            begin + seen - arm.time + times, waving(arm, seen + times)
        )
    return begin


@pytest.mark.parametrize("latency", [0.0, 0.15])
def test_the_record_has_the_delay_from_the_times_of_the_chunks_to_the_motion(arm, latency):
    """Within 2 ms of that which aligns the motion with the policy's path."""
    begin = follow(arm, 6.0, latency)
    rows = arm.loop.recorder.last(2.0)
    path = rows["time"] - begin
    lags = np.arange(0.05, 0.35, 0.0005)
    rests = [np.abs(rows["q"] - waving(arm, path - lag)).mean() for lag in lags]
    true = lags[int(np.argmin(rests))]
    assert true > 0.12 + LATE * PERIOD
    assert rows["chunk_delay"][-1] == pytest.approx(true, abs=0.002)
    assert arm.loop.report().chunk_delay == rows["chunk_delay"][-1]


def test_the_record_has_the_figures_of_the_last_seam(arm):
    times = APART * np.arange(16)
    for _ in range(5):
        arm.loop.motion.follow_joint_chunk(times, arm.home + 0.5 * times[:, None] * np.ones(6))
        arm.run(0.1)
    rows = arm.loop.recorder.last(0.1)
    assert 0.0 < rows["seam_step"][-1] < 0.1
    assert 0.0 < rows["seam_jerk"][-1] <= 1.0 + 1e-9
    arm.loop.motion.hold()
    arm.run(0.1)
    rows = arm.loop.recorder.last(0.01)
    for name in ("chunk_delay", "seam_step", "seam_jerk"):
        assert np.isnan(rows[name][-1])


def test_a_refused_chunk_leaves_what_ran(arm):
    motion = arm.loop.motion
    goal = arm.home + 0.1
    motion.follow_joint_chunk(np.array((0.0, 0.5)), np.array((arm.home, goal)))
    stream = motion.trajectory
    assert isinstance(stream, JointStream)
    beyond = goal.copy()
    beyond[2] = 99.0
    times = np.array((0.2, 0.6))
    with refuses("elbow_joint", 99.0):
        motion.follow_joint_chunk(times, np.array((goal, beyond)))
    with refuses("joint goal"):
        motion.follow_joint_chunk(times, np.array((goal, goal * np.nan)))
    with refuses("times"):
        motion.follow_joint_chunk(times[::-1].copy(), np.array((goal, goal)))
    with refuses("positions"):
        motion.follow_joint_chunk(times, goal[None])
    with refuses("joint goal"):
        motion.follow_joint_chunk(times, np.array((goal, goal))[:, :5])
    with refuses("last point"):
        motion.follow_joint_chunk(times - 2.0, np.array((goal, goal)))
    assert motion.trajectory is stream
    arm.run(3.0)
    assert np.abs(arm.q - goal).max() < 1e-3
    assert not motion.is_moving()


def test_joints_that_turn_without_end_go_the_short_way_from_point_to_point():
    arm = LateArm("gen3")
    turned = arm.home.copy()
    turned[0] = arm.home[0] + 0.2 - 2.0 * np.pi
    arm.loop.motion.follow_joint_chunk(
        np.array((0.0, 1.0, 2.0)),
        np.array((arm.home, turned, arm.home + 4.0 * np.pi * (np.arange(7) == 0))),
    )
    seen = []
    for _ in range(2000):
        arm.cycle()
        seen.append(arm.q[0] - arm.home[0])
    assert min(seen) > -0.02
    assert 0.15 < max(seen) < 0.25
    assert abs(seen[-1]) < 1e-3
