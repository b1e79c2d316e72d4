"""The governor: its clock, its references, and targets that change while the arm is blocked."""

import numpy as np
import pytest

from robot_control_ros.control.loop import ControlLoop
from robot_control_ros.core.spatial import make_pose
from robot_control_ros.core.types import Reference, RobotState
from robot_control_ros.dashboard.link import Health
from robot_control_ros.dashboard.state_panel import details
from robot_control_ros.laws.running_law import RunningLaw
from robot_control_ros.references.governor import ONSET, RECOVERY, Governor
from robot_control_ros.robot.configuration import load_robot

DT = 0.002


class Swing:
    """x = sin t, with exact derivatives."""

    def sample(self, t):
        still = np.zeros(6)
        twist, acceleration = still.copy(), still.copy()
        twist[0], acceleration[0] = np.cos(t), -np.sin(t)
        return Reference(make_pose(np.array([np.sin(t), 0.0, 0.0])), twist, acceleration)


def governed(loads, behind=1.0):
    """References and rates under loads, one for each period; the tip is `behind` the reference."""
    governor, trajectory, found = Governor(), Swing(), []
    for k, load in enumerate(loads):
        reference = governor.sample(trajectory, k * DT)
        pose = make_pose(reference.pose[:3, 3] - (behind, 0.0, 0.0))
        found.append((reference, governor.rate, governor.time))
        governor.observe(load, reference, pose, DT)
    return found


def test_without_a_load_it_is_the_trajectory_itself():
    for k, (reference, rate, time) in enumerate(governed([0.0, 0.3, ONSET] * 20)):
        assert (rate, time) == (1.0, k * DT)
        np.testing.assert_array_equal(reference.twist, Swing().sample(k * DT).twist)


@pytest.mark.parametrize("load", [0.7, 0.9, 1.0, 3.0])
def test_a_load_slows_the_clock_at_once(load):
    wanted = max((1.0 - load) / (1.0 - ONSET), 0.0)
    assert governed([0.0, load, load])[2][1] == pytest.approx(wanted, abs=1e-12)


@pytest.mark.parametrize("most", [0.3, 0.05])
def test_a_trajectory_that_is_faster_than_the_tip_may_be_goes_slower_and_nothing_is_blocked(most):
    governor, trajectory = Governor(), Swing()
    governor.max_speed = most
    for k in range(5000):
        reference = governor.sample(trajectory, k * DT)
        assert abs(reference.twist[0]) <= most + 1e-12
        governor.observe(0.0, reference, reference.pose, DT)
        assert governor.message == ""
    assert 0.0 < governor.time < 4999 * DT


def test_the_clock_recovers_evenly():
    rates = [rate for _, rate, _ in governed([1.0, *[0.0] * 200])]
    np.testing.assert_allclose(
        rates[1:], np.minimum(RECOVERY * DT * np.arange(200), 1.0), rtol=0, atol=1e-12
    )


def test_where_the_reference_comes_nearer_it_is_not_slowed():
    assert {rate for _, rate, _ in governed([2.0] * 50, behind=-1.0)} == {1.0}


def test_pose_and_twist_are_the_trajectory_s_by_the_slow_clock():
    """The twist is the derivative of the pose, the acceleration that of the twist while
    the clock recovers.
    """
    found = governed([1.0, *[0.0] * 200])[2:]
    x = np.array([reference.pose[0, 3] for reference, _, _ in found])
    v = np.array([reference.twist[0] for reference, _, _ in found])
    a = np.array([reference.acceleration[0] for reference, _, _ in found])
    times = np.array([time for _, _, time in found])
    np.testing.assert_allclose(x, np.sin(times), rtol=0, atol=1e-12)
    np.testing.assert_allclose(np.diff(x) / DT, v[:-1], rtol=0, atol=RECOVERY * DT)
    np.testing.assert_allclose(np.diff(v[:100]) / DT, a[:99], rtol=0, atol=2 * RECOVERY * DT)


def test_another_trajectory_begins_by_the_clock_of_the_samples():
    governor, first, second = Governor(), Swing(), Swing()
    for k in range(3):
        reference = governor.sample(first, k * DT)
        governor.observe(5.0, reference, make_pose(-np.ones(3)), DT)
    assert governor.time < 2 * DT
    governor.sample(second, 3 * DT)
    assert (governor.rate, governor.time) == (1.0, 3 * DT)


# --- in the loop ---


class HeldArm:
    """A UR5e whose joints don't move, whatever they are commanded."""

    def __init__(self, **gains):
        robot = load_robot("ur5e").at_rate(1.0 / DT)
        self.q, self.time, self.effort = np.array(robot.home), 0.0, np.zeros(robot.n)
        self.loop = ControlLoop(
            robot, "impedance", {"stiffness": 1000.0, "max_force": 20.0, **gains}
        )
        self.run(1)
        self.start = self.loop.tip()

    def run(self, count):
        for _ in range(count):
            self.time += DT
            self.effort = self.loop.tick(
                RobotState(self.time, self.q, np.zeros(len(self.q)), self.effort)
            ).values

    def way(self):
        return self.loop.motion.reference.pose[:3, 3] - self.start[:3, 3]

    def go(self, *way):
        goal = self.start.copy()
        goal[:3, 3] += way
        self.loop.motion.move_to(goal)


@pytest.mark.few(1)
@pytest.mark.parametrize("direction", np.eye(3))
def test_the_reference_waits_where_the_spring_has_its_bound(direction):
    arm = HeldArm()
    arm.go(*(0.2 * direction))
    arm.run(1500)
    np.testing.assert_allclose(arm.way(), 20.0 / 1000.0 * direction, rtol=0, atol=5e-4)
    assert np.linalg.norm(arm.loop.motion.reference.twist) < 1e-2
    assert arm.loop.motion.is_moving()
    assert arm.loop.warning == arm.loop.motion.governor.message != ""
    assert arm.loop.report().spring_load == pytest.approx(1.0, abs=0.02)


def test_a_target_behind_frees_a_blocked_reference_at_once():
    arm = HeldArm()
    arm.go(0.2, 0.0, 0.0)
    arm.run(1000)
    arm.go(-0.01, 0.0, 0.0)
    arm.run(1000)
    np.testing.assert_allclose(arm.way(), (-0.01, 0.0, 0.0), rtol=0, atol=1e-3)


def test_a_jog_back_frees_a_blocked_reference_at_once():
    arm = HeldArm()
    for twist in (0.2, -0.2):
        arm.loop.motion.jog(np.array([twist, 0.0, 0.0, 0.0, 0.0, 0.0]), 0.5)
        arm.run(1000)
    assert arm.way()[0] < -0.015


def test_a_stream_of_targets_does_not_creep_beyond_the_bound():
    arm = HeldArm()
    for k in range(200):
        arm.go(0.1 + 0.001 * k, 0.0, 0.0)
        arm.run(10)
    assert arm.way()[0] <= 1.1 * 20.0 / 1000.0


@pytest.mark.parametrize("gains", [{"governor": False}, {"max_force": 0.0}])
def test_without_governor_or_bound_the_reference_goes_on(gains):
    arm = HeldArm(**gains)
    arm.go(0.1, 0.0, 0.0)
    arm.run(1500)
    np.testing.assert_allclose(arm.way(), (0.1, 0.0, 0.0), rtol=0, atol=1e-4)


@pytest.mark.few(2)
@pytest.mark.parametrize(
    "gains", [{"max_force": 0.0}, {"max_force": 5.0}, {"frame": "tip"}, {"frame": "forearm_link"}]
)
def test_bound_and_frame_change_under_load_within_the_torque_rate(gains):
    arm = HeldArm(governor=False)
    arm.go(0.1, 0.05, 0.0)
    arm.run(1000)
    before = arm.effort
    arm.loop.running.gains.set(gains)
    for _ in range(500):
        arm.run(1)
        assert np.all(
            np.abs(arm.effort - before) <= np.array(arm.loop.robot.effort_rate) * DT * (1 + 1e-9)
        )
        before = arm.effort


def test_another_law_takes_the_clock_back():
    arm = HeldArm()
    arm.go(0.2, 0.0, 0.0)
    arm.run(1000)
    blocked = arm.loop.motion.governor.rate
    arm.loop.switch_law(RunningLaw(arm.loop.robot, "joint_impedance"))
    arm.run(1000)
    assert blocked < 0.1
    assert arm.loop.motion.governor.rate == 1.0


def test_the_page_shows_how_near_the_bound_is():
    without, near = (details(Health(diagnosis=values)) for values in ({}, {"spring load": "45%"}))
    (line,) = set(near) - set(without)
    assert "45%" in line
