"""Moves, jogs, streams and paths keep the arm from itself and its cell along the whole way, or
are refused in words.
"""

import math
from contextlib import suppress
from dataclasses import replace

import numpy as np
import pytest
from refusals import refuses

from robot_control_ros.control.loop import ControlLoop
from robot_control_ros.core.errors import ConfigError
from robot_control_ros.core.spatial import make_pose
from robot_control_ros.core.types import Reference, RobotState
from robot_control_ros.references.joint_reference import JointReference
from robot_control_ros.robot.configuration import load_robot

PERIOD = 0.02
MARGIN = 0.01
# m that bodies may come nearer than the margin under inverse kinematics in other steps
TRACKED = 0.002
STREAMED = 0.005  # m: the filter of a stream rounds corners off
DOWN = np.diag((1.0, -1.0, -1.0))
UP = np.eye(3)


class Followed:
    """A loop whose joints follow its reference exactly, without physics; `q` are
    the joints that do.
    """

    def __init__(self, name, law="joint_pid", q=None, **changes):
        robot = replace(load_robot(name), **changes)
        robot = replace(robot, profile=replace(robot.profile, workspace={}))
        self.loop = ControlLoop(robot, law)
        self.model = self.loop.model
        self.robot = robot
        self.q = np.array(robot.home if q is None else q, dtype=float)
        self.time = 0.0
        self.least = math.inf
        self._joints = JointReference(self.model, np.array(robot.axes), np.array(robot.tip_speed))
        self._joints.reset(self.q)
        self.tick()

    def tick(self):
        self.time += PERIOD
        self.loop.tick(
            RobotState(self.time, self.q, np.zeros(self.robot.n), np.zeros(self.robot.n))
        )

    def run(self, seconds):
        """Go on, and note what the pair with least to spare has more than its margin."""
        motion = self.loop.motion
        bodies = self.loop.clearance.bodies
        for _ in range(round(seconds / PERIOD)):
            self.tick()
            reference = motion.reference
            trajectory = motion.trajectory
            if reference.q is not None and reference.v is not None:
                reference = Reference(
                    reference.pose, reference.twist, None, None, reference.q, reference.v
                )
            self.q = self._joints.complete(reference, trajectory, self.time, PERIOD).q
            self.least = min(self.least, (bodies.distances(self.q) - bodies.bodies.margin).min())

    def begin_at(self, q):
        """Hold at joint angles, in a loop that starts anew."""
        self.q = np.array(q)
        self.least = math.inf
        self.loop.reset()
        self._joints.reset(self.q)
        self.tick()

    def follow(self, most=20.0):
        """Go along the present trajectory to its end, without the loop, and note the least room."""
        trajectory = self.loop.motion.trajectory
        bodies = self.loop.clearance.bodies
        for _ in range(round(most / PERIOD)):
            self.time += PERIOD
            reference = trajectory.sample(self.time)
            q = self._joints.complete(reference, trajectory, self.time, PERIOD).q
            self.least = min(self.least, (bodies.distances(q) - bodies.bodies.margin).min())
            if np.abs(q - self.q).max() < 1e-9 and getattr(trajectory, "arrived", True):
                break
            self.q = np.array(q)

    @property
    def room(self):
        bodies = self.loop.clearance.bodies
        return float((bodies.distances(self.q) - bodies.bodies.margin).min())


# --- what the issue saw ---


def test_a_joint_move_that_takes_the_wrist_below_the_floor_on_the_way_is_refused():
    arm = Followed("ur5e", q=(-0.8, -0.8, 1.5, 0.1, -2.0, 1.5))
    goal = np.array((-1.2, 0.2, -0.3, -1.9, 1.1, -2.1))
    assert arm.room > 0.0
    assert arm.loop.clearance.nearest(goal).distance > MARGIN
    with pytest.raises(ConfigError) as caught:
        arm.loop.motion.move_joints_to(goal)
    assert caught.value.name == "wrist_3_link, floor"
    assert caught.value.bound == MARGIN
    assert -0.3 < caught.value.value < -0.2
    assert not arm.loop.motion.is_moving()


@pytest.mark.parametrize(
    ("name", "height", "rotation"), [("ur5e", 0.25, UP), ("ur5e", 0.2, DOWN), ("gen3", 0.25, DOWN)]
)
def test_a_pose_inside_the_base_is_refused(name, height, rotation):
    arm = Followed(name)
    with pytest.raises(ConfigError) as caught:
        arm.loop.motion.move_to(make_pose(np.array((0.0, 0.0, height)), rotation))
    assert caught.value.bound == MARGIN
    assert caught.value.value < MARGIN
    assert not arm.loop.motion.is_moving()


def test_an_elbow_that_folds_into_the_upper_arm_is_refused():
    arm = Followed("ur5e")
    goal = np.array(arm.robot.home)
    goal[2] = 3.05
    with pytest.raises(ConfigError) as caught:
        arm.loop.motion.move_joints_to(goal)
    assert caught.value.name == "upper_arm_link, wrist_1_link"
    assert caught.value.value < MARGIN


@pytest.mark.parametrize("name", ["ur5e", "gen3"])
def test_a_move_down_through_the_floor_is_refused_before_anything_moves(name):
    arm = Followed(name)
    below = arm.loop.tip().copy()
    below[2, 3] = -0.1
    with pytest.raises(ConfigError) as caught:
        arm.loop.motion.move_to(below)
    assert caught.value.name.endswith("floor")
    arm.run(0.2)
    np.testing.assert_allclose(arm.q, arm.robot.home, atol=1e-6)


def test_a_path_of_joints_is_checked_between_its_points():
    arm = Followed("ur5e")
    there = np.array(arm.robot.home)
    there[2] = 3.05
    times = np.array((2.0, 6.0, 12.0))
    with pytest.raises(ConfigError):
        arm.loop.motion.follow_joints(
            times, np.array((arm.robot.home, there, arm.robot.home)), None
        )
    assert not arm.loop.motion.is_moving()
    there[2] = 1.8
    arm.loop.motion.follow_joints(times, np.array((arm.robot.home, there, arm.robot.home)), None)
    assert arm.loop.motion.is_moving()


def test_a_stream_of_poses_into_the_floor_ends_above_it():
    arm = Followed("ur5e")
    pose = arm.loop.tip().copy()
    refused = 0
    for _ in range(150):
        pose[2, 3] -= 0.005
        try:
            arm.loop.motion.follow_tip(np.zeros(1), pose[None])
        except ConfigError as error:
            refused += error.name.endswith("floor")
        arm.run(PERIOD)
    arm.run(1.0)
    assert refused > 20
    assert -TRACKED < arm.least < 0.02


def test_a_jog_into_the_floor_comes_to_rest_above_it():
    arm = Followed("ur5e")
    for _ in range(400):
        arm.loop.motion.jog(np.array((0.0, 0.0, -0.25, 0.0, 0.0, 0.0)), 0.2)
        arm.run(PERIOD)
    assert -TRACKED < arm.least < 0.02
    assert not np.abs(arm.loop.motion.reference.twist).max() > 1e-3


def test_the_check_can_be_switched_off_and_its_margin_set():
    arm = Followed("ur5e")
    folded = np.array(arm.robot.home)
    folded[2] = 3.05
    arm.loop.clearance.settings.set({"checked": False})
    arm.loop.motion.move_joints_to(folded)
    assert arm.loop.motion.is_moving()
    near = Followed("ur5e")
    ahead = near.robot.home + np.array((0.3, 0.0, 0.0, 0.0, 0.0, 0.0))
    near.loop.motion.move_joints_to(ahead)
    wide = Followed("ur5e", clearance={"margin": 0.4})
    lower = np.array(wide.robot.home)
    lower[1] += 0.6
    with pytest.raises(ConfigError) as caught:
        wide.loop.motion.move_joints_to(lower)
    assert caught.value.bound == 0.4


def test_a_setting_that_cannot_be_is_refused():
    with refuses("margin", -0.1, (0.0, 0.5)):
        Followed("ur5e", clearance={"margin": -0.1})


def test_a_payload_at_run_time_is_a_body():
    arm = Followed("ur5e")
    folded = np.array(arm.robot.home)
    folded[2] = 2.5
    names = arm.loop.clearance.bodies.names
    assert "payload" not in names
    arm.loop.model.payload = replace(arm.loop.model.payload, mass=5.0)
    assert "payload" in arm.loop.clearance.bodies.names


# --- random ones ---

MANY = [60, pytest.param(10_000, marks=pytest.mark.long)]
JOGS = [200, pytest.param(10_000, marks=pytest.mark.long)]


def free_postures(arm, count, seed):
    """Random postures in which all pairs have some room."""
    random = np.random.default_rng(seed)
    limits, bodies = arm.model.limits, arm.loop.clearance.bodies
    lower, upper = np.maximum(limits.lower, -math.pi), np.minimum(limits.upper, math.pi)
    while count:
        q = random.uniform(lower, upper)
        if (bodies.distances(q) - bodies.bodies.margin).min() > 0.005:
            count -= 1
            yield q


@pytest.mark.few(1)
@pytest.mark.parametrize("count", MANY)
@pytest.mark.parametrize("name", ["ur5e", "gen3"])
def test_random_joint_moves_keep_the_margin_and_are_hardly_ever_refused_without_need(name, count):
    arm = Followed(name)
    postures = list(free_postures(arm, 2 * count, seed=1))
    taken = needless = 0
    for start, goal in zip(postures[::2], postures[1::2], strict=True):
        arm.begin_at(start)
        try:
            arm.loop.motion.move_joints_to(goal)
        except ConfigError as error:
            # it may come nearer between two postures by 1.25 mm
            needless += error.value > MARGIN + 1e-4
            continue
        taken += 1
        arm.follow()
        assert arm.least > -1e-4
        assert np.abs(arm.model.wrap(arm.q - goal)).max() < 1e-3
    assert taken > 0.3 * count
    assert needless <= 0.01 * count


@pytest.mark.few(1)
@pytest.mark.parametrize("count", MANY)
@pytest.mark.parametrize("name", ["ur5e", "gen3"])
def test_random_moves_of_the_tip_keep_the_margin(name, count):
    arm = Followed(name)
    postures = list(free_postures(arm, 2 * count, seed=2))
    taken = 0
    for start, goal in zip(postures[::2], postures[1::2], strict=True):
        arm.begin_at(start)
        try:
            arm.loop.motion.move_to(arm.model.at(goal).pose)
        except ConfigError:
            continue
        taken += 1
        arm.follow()
        assert arm.least > -TRACKED
    assert taken > 0.3 * count


@pytest.mark.few(1)
@pytest.mark.parametrize("count", JOGS)
@pytest.mark.parametrize("name", ["ur5e", "gen3"])
def test_random_jogs_one_after_the_other_keep_the_margin(name, count):
    arm = Followed(name)
    random = np.random.default_rng(3)
    for start in free_postures(arm, count // 20, seed=3):
        arm.begin_at(start)
        for _ in range(20):
            twist = random.normal(size=6) * (0.2, 0.2, 0.2, 0.6, 0.6, 0.6)
            arm.loop.motion.jog(twist, 0.2)
            arm.run(random.choice((0.02, 0.1, 0.3)))
        arm.run(0.6)
        assert arm.least > -TRACKED


@pytest.mark.few(1)
@pytest.mark.parametrize("count", MANY)
@pytest.mark.parametrize("name", ["ur5e", "gen3"])
def test_random_chunks_of_poses_keep_the_margin(name, count):
    arm = Followed(name)
    random = np.random.default_rng(4)
    for start in free_postures(arm, count // 10, seed=4):
        arm.begin_at(start)
        for _ in range(10):
            pose = arm.loop.tip()
            way = np.cumsum(0.03 * random.normal(size=(5, 3)), axis=0)
            poses = np.array([make_pose(pose[:3, 3] + each, pose[:3, :3]) for each in way])
            with suppress(ConfigError):
                arm.loop.motion.follow_tip(0.2 + 0.2 * np.arange(5.0), poses)
            arm.run(0.3)
        arm.run(1.5)
        assert arm.least > -STREAMED
