"""A path that a scripted hand shows to an arm: it is kept, read again, and replayed."""

import math
from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip("mujoco", reason="the simulator needs MuJoCo")

from robot_control_ros import Robot
from robot_control_ros.client.taught_path import TaughtPath
from robot_control_ros.core.errors import ConfigError
from robot_control_ros.core.spatial import pose_error
from robot_control_ros.robot.inverse_kinematics import solve_pose

pytestmark = pytest.mark.sim
HAND = 300.0  # N/m
GRIP = 60.0  # N·s/m
JOINTS = ("a", "b")
STIFFNESS = 200.0  # N/m
GAP = 0.1  # m, from the tool to the wall of the scene
DEPTH = 0.01  # m, of the path's end behind it


def led(robot, seconds, size=0.06):
    """The path of an arm that a hand leads along an oval, by a spring and a damper."""
    start = robot.time
    center = robot.pose[:3, 3]

    def hand(state):
        phase = 2.0 * math.pi * (state.time - start) / seconds
        wanted = center + size * np.array((0.0, math.sin(phase), 1.0 - math.cos(phase)))
        robot.push(HAND * (wanted - state.pose[:3, 3]) - GRIP * state.twist[:3])

    with robot.guide():
        return robot.record_path(seconds, hand)


def tips_of(robot, angles):
    """Positions (k, 3) of the tip at joint angles (k, n)."""
    return np.array([robot.model.at(q).pose[:3, 3] for q in angles])


def farthest(points, others):
    """Largest distance of points (k, 3) from the nearest one of others (m, 3) [m]."""
    distances = np.linalg.norm(points[:, None] - others[None], axis=2)
    return float(distances.min(axis=1).max())


@pytest.mark.parametrize("seconds", [8.0, pytest.param(20.0, marks=pytest.mark.long)])
@pytest.mark.parametrize("name", ["ur5e", "gen3"])
def test_a_led_path_is_replayed(name, seconds):
    """Within 2 mm at 1000 N/m: all of the replay is on the shown line, and all of the line in it."""
    with Robot.simulated(name) as robot:
        law = robot.law
        path = led(robot, seconds)
        assert path.duration == pytest.approx(seconds, abs=0.05)
        shown = tips_of(robot, path.q)
        assert np.ptp(shown, axis=0).max() > 0.08  # the hand has led the arm
        assert robot.law == law
        robot.move_to(q=path.q[0])
        robot.set_gains(stiffness=500.0)
        robot.record()
        end = robot.replay(path, stiffness=1000.0)
        replayed = tips_of(robot, robot.log().q)
        assert farthest(replayed, shown) < 2e-3
        assert farthest(shown, replayed) < 2e-3
        assert end.pose[:3, 3] == pytest.approx(shown[-1], abs=2e-3)
        assert robot.gains["stiffness"] == pytest.approx(500.0)


@pytest.mark.parametrize("name", ["ur5e", "gen3"])
def test_a_replay_into_a_wall_presses_as_its_stiffness_says(name):
    """The wall stands 10 mm before the path's end: 200 N/m press with 2 N."""
    with Robot.simulated(name, scene="wall") as robot:
        begin = robot.pose
        times = np.linspace(0.0, 4.0, 80)
        q = robot.q
        shown = []
        for share in times / times[-1]:
            pose = begin.copy()
            pose[0, 3] += share * (GAP + DEPTH)
            q = solve_pose(robot.model, pose, q)
            shown.append(q)
        robot.replay(TaughtPath(robot.config.joints, times, np.array(shown)), stiffness=STIFFNESS)
        robot.set_gains(stiffness=STIFFNESS)
        robot.wait(3.0)
        assert -robot.wrench[0] == pytest.approx(STIFFNESS * DEPTH, rel=0.05)


def test_a_guided_arm_is_damped_and_stays_where_it_is_left():
    with Robot.simulated("ur5e") as robot:
        with robot.guide(damping=10.0):
            robot.push((0.0, 20.0, 0.0), duration=0.5)
            robot.wait(1.5)
            left = robot.pose
            assert np.abs(robot.v).max() < 0.02
        robot.wait(1.0)
        assert np.linalg.norm(pose_error(left, robot.pose)[:3]) < 2e-3
        assert robot.law == "impedance"


def test_an_error_within_the_block_gives_the_law_back():
    with Robot.simulated("ur5e", "joint_impedance") as robot:
        with pytest.raises(ZeroDivisionError), robot.guide():
            1 / 0  # noqa: B018
        assert robot.law == "joint_impedance"


def test_a_path_is_written_and_read_again(tmp_path):
    times = np.array([0.0, 0.5, 1.25])
    path = TaughtPath(JOINTS, times, np.array([[0.1, 0.2], [0.3, -0.4], [1.0 / 3.0, 0.6]]))
    read = TaughtPath.load(path.save(tmp_path / "shown.csv"))
    assert read.joints == JOINTS
    assert read.times == pytest.approx(times)
    assert read.q == pytest.approx(path.q, abs=1e-9)
    assert read.duration == 1.25


def test_a_thinned_path_has_both_ends():
    path = TaughtPath(JOINTS, np.arange(1001.0), np.random.default_rng(0).normal(size=(1001, 2)))
    thin = path.thinned(100)
    assert len(thin.times) <= 100
    assert np.array_equal(thin.q[[0, -1]], path.q[[0, -1]])
    assert path.thinned(1001) is path


@pytest.mark.parametrize(
    ("times", "q"),
    [
        ([0.0], [[0.0, 0.0]]),
        ([0.0, 0.0], [[0.0, 0.0]] * 2),
        ([0.0, -1.0], [[0.0, 0.0]] * 2),
        ([1.0, 2.0], [[0.0, 0.0]] * 2),
        ([0.0, float("nan")], [[0.0, 0.0]] * 2),
        ([0.0, 1.0], [[0.0, 0.0], [float("inf"), 0.0]]),
        ([0.0, 1.0], [[0.0], [0.0]]),
    ],
)
def test_no_path_is_refused(times, q):
    with pytest.raises(ConfigError):
        TaughtPath(JOINTS, np.array(times), np.array(q))


@pytest.mark.parametrize(
    "text", ["", "x,y\n", "t,a,b\n0,1\n", "t,a,b\n0,1,two\n1,1,1\n", "t,a,b\n0,1,1\n", "\0\xff"]
)
def test_a_file_that_is_no_path_is_refused(tmp_path, text):
    file = tmp_path / "shown.csv"
    file.write_text(text, encoding="latin-1")
    with pytest.raises(ConfigError):
        TaughtPath.load(file)


def test_a_file_that_isnt_there_is_named(tmp_path):
    with pytest.raises(ConfigError) as caught:
        TaughtPath.load(tmp_path / "none.csv")
    assert caught.value.value == str(tmp_path / "none.csv")


def test_another_robots_path_and_a_speed_that_cant_be_are_refused():
    with Robot.simulated("ur5e") as robot:
        points = np.tile(robot.q, (2, 1))
        shown = TaughtPath(robot.config.joints, np.array([0.0, 1.0]), points)
        other = replace(shown, joints=tuple(reversed(shown.joints)))
        with pytest.raises(ConfigError) as caught:
            robot.replay(other)
        assert caught.value.name == "joints"
        for speed in (0.0, 100.0, float("nan")):
            with pytest.raises(ConfigError) as caught:
                robot.replay(shown, speed=speed)
            assert caught.value.name == "speed"
        with pytest.raises(ConfigError):
            robot.record_path(0.0)
