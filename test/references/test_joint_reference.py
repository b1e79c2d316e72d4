"""What a reference means for the joints: q, v, a and the path belong together, and the tip is
where it should be.
"""

import numpy as np
import pytest
from joint_moves import JointMove

from robot_control_ros.core.remembered_path import AHEAD, REMEMBERED
from robot_control_ros.core.spatial import make_pose, pose_error, rotation_exp
from robot_control_ros.core.types import Reference
from robot_control_ros.references import Circle, Hold, OnlineTrajectory
from robot_control_ros.references.joint_reference import JointReference
from robot_control_ros.robot.configuration import load_robot
from robot_control_ros.robot.differential_kinematics import ROTATION_LENGTH, TRACKING
from robot_control_ros.robot.model import RobotModel

ROBOTS = {name: load_robot(name) for name in ("ur5", "gen3")}
every_robot = pytest.mark.parametrize("name", ROBOTS)
usual_robot = pytest.mark.parametrize("name", ["ur5", pytest.param("gen3", marks=pytest.mark.long)])


class Follower:
    """A JointReference along a trajectory, from home at rest."""

    def __init__(self, name, rate=500.0, q=None):
        robot = ROBOTS[name]
        self.model, self.dt, self.t = RobotModel.of(robot), 1.0 / rate, 0.0
        self.q0 = np.array(robot.home) if q is None else q
        self.pose = self.model.at(self.q0).pose
        self.joints = JointReference(self.model, np.array(robot.axes), np.array(robot.tip_speed))
        self.joints.reset(self.q0)

    def step(self, trajectory):
        self.t += self.dt
        return self.joints.complete(trajectory.sample(self.t), trajectory, self.t, self.dt)

    def run(self, trajectory, seconds):
        return [self.step(trajectory) for _ in range(round(seconds / self.dt))]

    def tip_error(self, reference):
        return pose_error(reference.pose, self.model.at(reference.q).pose)


def circle(follower, speed=0.25):
    return Circle(follower.pose, 0.1, 2.0 * np.pi * 0.1 / speed)


class Poses:
    """Poses only: no twist."""

    def __init__(self, trajectory):
        self._trajectory = trajectory

    def sample(self, t):
        return Reference(pose=self._trajectory.sample(t).pose)


# --- poses ---


@usual_robot
@pytest.mark.parametrize("rate", [pytest.param(1000.0, marks=pytest.mark.long), 500.0, 125.0])
def test_the_tip_of_the_joints_is_on_the_circle(name, rate):
    follower = Follower(name, rate)
    for reference in follower.run(circle(follower), 4.0):
        error = follower.tip_error(reference)
        assert np.linalg.norm(error[:3]) < 0.0005
        assert np.linalg.norm(error[3:]) < 0.001


@usual_robot
def test_what_is_left_of_the_error_is_that_of_first_order_integration(name):
    """First-order integration of a circle errs by V² dt / 2 r per second, taken back
    with k: dt V² / 2 r k.
    """
    speed, radius = 0.25, 0.1
    for rate in (1000.0, 500.0, 250.0):
        follower = Follower(name, rate)
        references = follower.run(circle(follower, speed), 3.0)
        expected = speed**2 / (2.0 * radius * TRACKING * rate)
        left = max(
            np.linalg.norm(follower.tip_error(r)[:3]) for r in references[-round(rate / 2.0) :]
        )
        assert left == pytest.approx(expected, rel=0.25)


def test_an_error_is_taken_back_at_the_tracking_rate():
    follower = Follower("ur5")
    away = make_pose(follower.pose[:3, 3] + [0.004, -0.003, 0.002], follower.pose[:3, :3])
    rest = np.zeros(6)

    class Away:
        def sample(self, t):
            return Reference(pose=away, twist=rest)

    before = np.linalg.norm(away[:3, 3] - follower.pose[:3, 3])
    follower.step(Poses(Hold(follower.pose, None)))  # it begins where it is
    for reference in follower.run(Away(), 0.3):
        after = np.linalg.norm(follower.tip_error(reference)[:3])
        assert after / before == pytest.approx(1.0 - TRACKING * follower.dt, abs=0.002)
        before = after


def test_poses_without_a_twist_are_followed_a_twentieth_of_a_second_behind():
    follower = Follower("ur5")
    last = follower.run(Poses(circle(follower)), 4.0)[-1]
    assert np.linalg.norm(follower.tip_error(last)[:3]) == pytest.approx(0.25 / TRACKING, rel=0.1)


@every_robot
def test_turns_of_the_tip_are_followed(name):
    follower = Follower(name)
    turned = make_pose(
        follower.pose[:3, 3], rotation_exp(np.array([0.5, -0.3, 0.4])) @ follower.pose[:3, :3]
    )
    start, speed = Reference(pose=follower.pose), (0.25, 0.4)  # no joint at its limit
    move = OnlineTrajectory(start, turned, 0.0, speed, (1.0, 4.0))
    for reference in follower.run(move, 5.0):
        error = follower.tip_error(reference)
        assert np.linalg.norm(error[:3]) < 0.0005
        assert np.linalg.norm(error[3:]) < 0.0005
    assert follower.tip_error(reference) == pytest.approx(np.zeros(6), abs=1e-6)
    # the elbow of the gen3 may still be on its way back to its posture, but doesn't move the tip
    assert follower.model.at(reference.q, reference.v).twist == pytest.approx(np.zeros(6), abs=1e-4)


@every_robot
def test_position_velocity_and_acceleration_are_differences_of_each_other(name):
    follower = Follower(name)
    references = follower.run(circle(follower), 3.0)
    q, v, a = (np.array([getattr(r, part) for r in references]) for part in "qva")
    assert np.diff(q, axis=0) / follower.dt == pytest.approx(v[1:], abs=1e-9)
    assert np.diff(v, axis=0) / follower.dt == pytest.approx(a[1:], abs=1e-9)
    assert np.abs(np.diff(v, axis=0)).max() < 0.01  # rad/s: it is no noise that is differentiated


def test_the_first_acceleration_after_a_start_in_mid_motion_is_no_kick():
    """The joints begin to move at once, and nobody knows how fast they were before."""
    follower = Follower("ur5")
    there = circle(follower)
    q = follower.run(there, 2.0)[-1].q
    follower.joints.reset(q)
    first, second = follower.step(there), follower.step(there)
    assert np.abs(first.v).max() > 0.05
    assert not first.a.any()
    assert np.abs(second.a).max() < 2.0  # rad/s²; first.v / dt would be above 25


def test_velocities_and_positions_stay_within_the_limits():
    follower = Follower("ur5")
    limits = follower.model.limits
    limits.velocity[:] = 0.2
    limits.upper[0] = follower.q0[0] + 0.05
    side = make_pose(follower.pose[:3, 3] + [0.0, 0.4, 0.0], follower.pose[:3, :3])
    side[:3, :3] = rotation_exp(np.array([0.0, 0.0, 1.0])) @ side[:3, :3]
    references = follower.run(Poses(Hold(side, follower.q0)), 8.0)
    assert max(np.abs(r.v).max() for r in references) == pytest.approx(0.2, rel=1e-6)
    assert max(r.q[0] for r in references) <= limits.upper[0]
    assert references[-1].q[0] == pytest.approx(limits.upper[0], abs=1e-6)
    assert np.abs(references[-1].v).max() < 1e-3
    check_nearest(follower, references[-1])


def check_nearest(follower, reference, slack=1e-4):
    """At rest the squared error of the tip falls in no direction of the joints but
    beyond their limits.
    """
    weight = np.array([1.0, 1.0, 1.0, ROTATION_LENGTH, ROTATION_LENGTH, ROTATION_LENGTH])
    slope = follower.model.at(reference.q).jacobian.T @ (weight**2 * follower.tip_error(reference))
    limits, q = follower.model.limits, reference.q
    assert np.all((q > limits.upper - 1e-3) | (slope < slack))
    assert np.all((q < limits.lower + 1e-3) | (slope > -slack))
    assert np.linalg.norm(slope) > 50.0 * slack


WAYS = (  # of the tip [m], its turn [rad], and a joint with little room
    ([-0.06, -0.32, -0.32], [0.6, 0.2, -0.3], 3),
    ([-0.05, 0.33, 0.28], [0.4, -0.1, 0.0], 5),
    ([0.21, -0.13, -0.25], [0.2, -0.1, 0.4], 1),
)


def led(follower, way, turn):
    """A move of the tip from home, and what it means for the joints until a
    second after its end.
    """
    goal = make_pose(
        follower.pose[:3, 3] + way, rotation_exp(np.array(turn)) @ follower.pose[:3, :3]
    )
    move = OnlineTrajectory(Reference(pose=follower.pose), goal, 0.0, (0.25, 1.0), (1.0, 4.0))
    references = [follower.step(move)]
    while np.abs(references[-1].twist).max() > 1e-3 or follower.t < 0.1:
        references.append(follower.step(move))
    return move, references + follower.run(move, 1.0)


@pytest.mark.parametrize(("way", "turn", "joint"), WAYS)
def test_a_joint_at_its_limit_leaves_the_way_to_the_others(way, turn, joint):
    follower = Follower("gen3")
    limits = follower.model.limits
    limits.lower[joint], limits.upper[joint] = follower.q0[joint] - 0.1, follower.q0[joint] + 0.1
    move, references = led(follower, way, turn)
    references += follower.run(move, 4.0)
    assert all((limits.lower <= r.q).all() and (r.q <= limits.upper).all() for r in references)
    braking = max(
        abs(r.a[joint]) for r in references if abs(r.q[joint] - follower.q0[joint]) > 0.09
    )
    assert braking < TRACKING * limits.velocity[joint]  # it doesn't stop at once
    check_nearest(follower, references[-1])


@pytest.mark.parametrize(("way", "turn", "joint"), WAYS)
def test_the_joints_of_a_redundant_arm_rest_when_the_tip_does(way, turn, joint):
    follower = Follower("gen3")
    _, references = led(follower, way, turn)
    assert follower.tip_error(references[-1]) == pytest.approx(np.zeros(6), abs=1e-6)
    assert np.abs(references[-1].v).max() < 0.01


class At:
    """A pose, at rest."""

    def __init__(self, pose):
        self._reference = Reference(pose=pose, twist=np.zeros(6))

    def sample(self, t):
        return self._reference


@every_robot
@pytest.mark.parametrize("rate", [125.0, pytest.param(500.0, marks=pytest.mark.long)])
def test_at_a_pose_far_beyond_reach_the_joints_come_to_rest(name, rate):
    follower = Follower(name, rate)
    for target in ([1.0, 0.7, -0.4], [-1.2, -0.6, 0.1], [-0.9, 0.0, 1.2]):
        goal = make_pose(
            np.array(target), rotation_exp(np.array([0.5, -0.4, 0.6])) @ follower.pose[:3, :3]
        )
        far = At(goal)
        follower.run(far, 16.0)  # at the speed of the tip
        assert max(np.abs(r.v).max() for r in follower.run(far, 0.5)) < 0.01


def test_a_pose_out_of_reach_leaves_the_joints_finite_and_calm():
    follower = Follower("ur5")
    far = make_pose(np.array([3.0, 0.0, 0.5]), follower.pose[:3, :3])
    references = follower.run(Poses(Hold(far, follower.q0)), 6.0)
    q = np.array([r.q for r in references])
    assert np.isfinite(q).all()
    assert (
        np.abs(np.diff(q[-500:], axis=0)).max()
        < 2.0 * follower.dt * follower.model.limits.velocity.max()
    )
    reach = np.linalg.norm(follower.model.at(q[-1]).pose[:3, 3])
    assert reach > 0.8


def test_the_elbow_goes_back_to_the_posture_of_the_start():
    """On a circle that is closed, the redundant arm is after each turn where it was
    after the one before.
    """
    follower = Follower("gen3")
    turn = 2.0 * np.pi * 0.1 / 0.25
    there = circle(follower)
    follower.run(there, 2.0 * turn)
    once = follower.run(there, turn)[-1].q
    again = follower.run(there, turn)[-1].q
    assert again == pytest.approx(once, abs=2e-3)


# --- the start ---


@every_robot
def test_it_starts_at_a_pose_that_is_near_and_its_joints_rest_with_it(name):
    """As in contact: the tip is held 30 mm and 0.1 rad away from where it should be."""
    follower = Follower(name)
    turn = rotation_exp(np.array([0.06, 0.0, 0.08]))
    pose = make_pose(follower.pose[:3, 3] + [0.02, -0.02, 0.01], turn @ follower.pose[:3, :3])
    for trajectory in (Hold(pose, None), Poses(Hold(pose, None))):
        follower.joints.reset(follower.q0)
        references = follower.run(trajectory, 0.1)
        assert follower.tip_error(references[0]) == pytest.approx(np.zeros(6), abs=1e-6)
        assert max(np.abs(r.v).max() for r in references) < 1e-3
        assert max(np.abs(r.a).max() for r in references) < 0.5


@every_robot
def test_it_starts_beside_a_moving_pose_with_the_velocity_of_that(name):
    follower, twin = Follower(name), Follower(name)
    there = circle(follower)
    follower.run(there, 0.8)
    q = twin.run(there, 0.8)[-1].q
    follower.joints.reset(q + 0.02 * np.cos(np.arange(q.size)))
    for _ in range(50):
        reference = follower.step(there)
        assert reference.v == pytest.approx(twin.step(there).v, abs=0.03)
        assert follower.tip_error(reference) == pytest.approx(np.zeros(6), abs=1e-4)
        assert reference.path(follower.t - 0.1)[1] == pytest.approx(reference.v, abs=0.2)


@every_robot
def test_a_pose_that_is_far_is_approached_within_the_limits_from_where_the_joints_are(name):
    follower = Follower(name)
    pose = make_pose(follower.pose[:3, 3] + [0.0, 0.15, 0.0], follower.pose[:3, :3])
    first = follower.step(Hold(pose, None))
    assert np.abs(
        first.q - follower.q0
    ).max() <= follower.dt * follower.model.limits.velocity.max() * (1.0 + 1e-9)


def test_a_near_pose_that_is_out_of_reach_leaves_the_start_near_and_calm():
    follower = Follower("ur5")
    stretched = follower.model.at(np.array([0.3, -0.9, 0.02, 0.4, 0.5, 0.0]))
    out = stretched.pose[:3, 3] / np.linalg.norm(stretched.pose[:3, 3])
    pose = make_pose(stretched.pose[:3, 3] + 0.04 * out, stretched.pose[:3, :3])
    follower.joints.reset(stretched.q)
    references = follower.run(Hold(pose, None), 1.0)
    assert np.abs(references[0].q - stretched.q).max() < 0.5
    assert np.abs(references[-1].v).max() < 0.01


# --- joints ---


@every_robot
def test_a_reference_of_joints_is_taken_as_it_is(name):
    follower = Follower(name)
    goal = follower.q0 + 0.3 * np.cos(np.arange(follower.model.n))
    move = JointMove(follower.model, follower.q0, goal, 0.0, follower.model.limits.velocity / 4.0)
    for _ in range(300):
        reference = follower.step(move)
        q, v, a = move.path(follower.t)
        for found, expected in zip((reference.q, reference.v, reference.a), (q, v, a), strict=True):
            assert np.array_equal(found, expected)
        assert reference.path == move.path


def test_a_hold_is_rest_at_its_joints():
    follower = Follower("ur5")
    reference = follower.step(Hold(follower.pose, follower.q0))
    assert np.array_equal(reference.q, follower.q0)
    assert not reference.v.any()
    assert not reference.a.any()


def test_from_joints_to_poses_the_joints_go_on_where_they_are():
    follower = Follower("ur5")
    goal = follower.q0 + 0.2
    move = JointMove(follower.model, follower.q0, goal, 0.0, follower.model.limits.velocity)
    last = follower.run(move, move.end + 0.1)[-1]
    pose = follower.model.at(goal).pose
    first = follower.step(Circle(pose, 0.05, 3.0, time=follower.t))
    assert first.q == pytest.approx(last.q, abs=1e-4)
    assert first.v == pytest.approx(np.zeros(6), abs=1e-3)


def test_a_reference_of_nothing_rests_where_it_was():
    class Nothing:
        def sample(self, t):
            return Reference()

    follower = Follower("ur5")
    follower.run(circle(follower), 1.0)
    before = follower.step(circle(follower)).q
    reference = follower.step(Nothing())
    assert np.array_equal(reference.q, before)
    assert not reference.v.any()
    assert not reference.a.any()


# --- the path looked up ---


@every_robot
def test_what_was_given_is_recalled_at_its_own_times(name):
    follower = Follower(name)
    given = {}
    there = circle(follower)
    for _ in range(1000):
        reference = follower.step(there)
        given[follower.t] = (reference.q, reference.v, reference.a)
    recent = {t: point for t, point in given.items() if t > follower.t - 0.99 * REMEMBERED}
    assert len(recent) > 100
    for t, point in recent.items():
        for found, expected in zip(reference.path(t), point, strict=True):
            assert found == pytest.approx(expected, abs=1e-12)


@every_robot
def test_between_samples_the_recalled_path_lies_between_them_and_is_smooth(name):
    follower, rng = Follower(name), np.random.default_rng(1)
    reference = follower.run(circle(follower), 3.0)[-1]
    dt, h = follower.dt, 1e-6
    for s in rng.uniform(follower.t - 0.2, follower.t - dt, 100):
        q, v, a = reference.path(s)
        ahead, behind = reference.path(s + h), reference.path(s - h)
        # v belongs to the step that ends with its sample, so half a period of acceleration is
        # between both
        slack = 0.5 * dt * np.abs(a).max() + 1e-4
        assert (ahead[0] - behind[0]) / (2.0 * h) == pytest.approx(v, abs=3.0 * slack)
        low, high = reference.path(s - dt)[0], reference.path(s + dt)[0]
        assert np.all(np.minimum(low, high) - 1e-5 <= q)
        assert np.all(q <= np.maximum(low, high) + 1e-5)


def test_between_samples_far_apart_the_path_is_recalled_with_the_curvature_of_its_velocities():
    """A sine, given at 25 Hz: a cubic errs by h⁴ / 384 of the fourth derivative, a line by
    h² / 8 of the second.
    """
    amplitude, rate, period = 0.3, 3.0, 0.04

    class Sine:
        def sample(self, t):
            return Reference(None, None, None, None, *self.at(t))

        @staticmethod
        def at(t):
            x = rate * t + np.arange(6)
            return (
                amplitude * np.sin(x),
                amplitude * rate * np.cos(x),
                -amplitude * rate**2 * np.sin(x),
            )

    follower, rng = Follower("ur5", 1.0 / period), np.random.default_rng(2)
    reference = follower.run(Sine(), 2.0)[-1]
    h = rate * period
    for s in rng.uniform(follower.t - 0.2, follower.t, 100):
        bounds = amplitude * h**4 / 384, amplitude * rate * h**2 / 8, amplitude * rate**2 * h**2 / 8
        for found, expected, bound in zip(reference.path(s), Sine.at(s), bounds, strict=True):
            assert found == pytest.approx(expected, rel=0, abs=1.01 * bound)


def test_recall_is_continuous_everywhere():
    follower = Follower("ur5")
    reference = follower.run(circle(follower), 2.0)[-1]
    times = np.linspace(follower.t - 1.2 * REMEMBERED, follower.t + 2.0 * AHEAD, 4001)
    q = np.array([reference.path(s)[0] for s in times])
    fastest = max(np.abs(reference.path(s)[1]).max() for s in times)
    assert np.abs(np.diff(q, axis=0)).max() < 1.5 * fastest * (times[1] - times[0])


def test_ahead_the_path_goes_on_as_a_parabola_for_a_while_and_then_stays():
    follower = Follower("ur5")
    reference = follower.run(circle(follower), 2.0)[-1]
    q, v, a = reference.q, reference.v, reference.a
    for ahead in (0.001, 0.02, AHEAD):
        found = reference.path(follower.t + ahead)
        assert found[0] == pytest.approx(q + ahead * v + ahead**2 * a / 2.0, abs=1e-12)
        assert found[1] == pytest.approx(v + ahead * a, abs=1e-12)
    assert reference.path(follower.t + 5.0)[0] == pytest.approx(
        reference.path(follower.t + AHEAD)[0], abs=1e-12
    )


def test_before_what_is_remembered_the_oldest_point_is_given():
    follower = Follower("ur5")
    references = follower.run(circle(follower), 2.0)
    oldest = references[-1].path(-10.0)[0]
    index = len(references) - 1 - round(REMEMBERED / follower.dt)
    assert min(np.abs(oldest - references[i].q).max() for i in (index, index + 1)) < 1e-12


def test_a_reset_forgets_the_path():
    follower = Follower("ur5")
    follower.run(circle(follower), 1.0)
    elsewhere = follower.q0 + 0.5
    follower.joints.reset(elsewhere)
    reference = follower.step(Hold(follower.model.at(elsewhere).pose, elsewhere))
    assert np.array_equal(reference.path(follower.t - 0.1)[0], elsewhere)
