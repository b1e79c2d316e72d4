"""The workspace: targets outside are refused in words, and a jog comes to rest at the
wall, not behind it.
"""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from refusals import refuses

from robot_control_ros.control.loop import ControlLoop
from robot_control_ros.core.errors import ConfigError
from robot_control_ros.core.types import Reference, RobotState
from robot_control_ros.references import Jog
from robot_control_ros.references.workspace import Workspace
from robot_control_ros.robot.configuration import load_robot
from robot_control_ros.robot.model import RobotModel

UR5 = load_robot("ur5")
HOME = np.array(UR5.home)
BOX = {"lower": [-0.3, -0.4, 0.1], "upper": [0.5, 0.4, 0.9]}
LOWER, UPPER = np.array(BOX["lower"]), np.array(BOX["upper"])
ACCELERATION = (1.0, 4.0)


def pose(position):
    result = np.eye(4)
    result[:3, 3] = position
    return result


@pytest.mark.parametrize(
    ("position", "axis", "bound"),
    [
        ([0.6, 0.0, 0.5], "x", (-0.3, 0.5)),
        ([0.0, -0.41, 0.5], "y", (-0.4, 0.4)),
        ([0.0, 0.0, 0.09], "z", (0.1, 0.9)),
        ([0.0, math.nan, 0.5], "y", (-0.4, 0.4)),
    ],
)
def test_a_target_outside_is_refused_by_coordinate_value_and_bounds(position, axis, bound):
    with refuses(axis, position["xyz".index(axis)], bound):
        Workspace(BOX).check(np.array(position))


@pytest.mark.parametrize("position", [LOWER, UPPER, (LOWER + UPPER) / 2.0])
def test_a_target_inside_or_on_a_wall_is_none_of_its_business(position):
    Workspace(BOX).check(position)
    Workspace().check(position)
    assert Workspace(BOX).bounded
    assert not Workspace().bounded


def test_without_a_box_a_target_may_be_twice_as_far_as_the_arm_reaches():
    wide = Workspace(reach=10.0)
    wide.check(np.array([0.0, -19.0, 0.0]))
    with refuses("distance from the base", 21.0, 20.0):
        wide.check(np.array([0.0, -21.0, 0.0]))
    assert not wide.bounded


@pytest.mark.parametrize("name", ["ur5", "gen3", "planar_two_link"])
def test_no_posture_takes_the_tip_beyond_the_reach(name):
    model = RobotModel.of(load_robot(name))
    rng = np.random.default_rng(7)
    distances = [
        np.linalg.norm(model.at(q).pose[:3, 3]) for q in rng.uniform(-3.0, 3.0, (200, model.n))
    ]
    assert max(distances) <= model.reach
    assert model.reach < 2.0 * max(distances)


def test_a_loop_bounds_targets_by_its_arms_reach():
    robot = replace(UR5, profile=replace(UR5.profile, workspace={}))
    loop = ControlLoop(robot, "impedance", model=RobotModel.of(robot))
    state = RobotState(0.0, HOME, np.zeros(6), np.zeros(6))
    loop.tick(state)
    reach = loop.model.reach
    with refuses("distance from the base", bound=2.0 * reach):
        loop.motion.move_to(pose([3.0 * reach, 0.0, 0.0]))
    jogged_to = loop.workspace.slowed(
        np.array([1.0, 0, 0, 0, 0, 0]),
        np.zeros(6),
        np.array([2.0 * reach, 0.0, 0.0]),
        ACCELERATION,
        0.2,
    )
    assert jogged_to[0] == pytest.approx(0.0, abs=1e-3)


@pytest.mark.parametrize(
    ("box", "name", "value", "bound"),
    [
        (
            {"lower": [0.0, 0.5, 0.0], "upper": [1.0, 0.5, 1.0]},
            "workspace.lower y",
            0.5,
            (-20.0, 0.5),
        ),
        ({"lower": [-21.0, 0.0, 0.0]}, "lower[0]", -21.0, (-20.0, 20.0)),
        ({"middle": [0.0, 0.0, 0.0]}, "gain", "middle", ("lower", "upper")),
    ],
)
def test_a_box_that_is_none_is_refused(box, name, value, bound):
    with refuses(name, value, bound):
        Workspace(box)


def jogged(workspace, start, commands, lasting):
    """References along a stream of (twist, seconds until the next one), the last one
    lasting until rest.
    """
    reference, time, seen = Reference(start, np.zeros(6)), 0.0, []
    for number, (wanted, until_next) in enumerate(commands):
        before = reference.twist
        twist = workspace.slowed(wanted, before, reference.pose[:3, 3], ACCELERATION, lasting)
        jog = Jog(reference, twist, time, ACCELERATION, lasting)
        end = 3.0 if number == len(commands) - 1 else until_next
        seen += [jog.sample(time + t).pose[:3, 3] for t in np.linspace(0.0, end, 20)]
        time += end
        reference = jog.sample(time)
    return np.array(seen)


def within(speed):
    return lambda v: v * min(1.0, speed / max(np.linalg.norm(v), 1e-12))


speeds = arrays(float, 3, elements=st.floats(-0.3, 0.3)).map(within(0.25))
turns = arrays(float, 3, elements=st.floats(-1.2, 1.2)).map(within(1.0))
twists = st.builds(
    lambda linear, angular: np.concatenate((linear, angular)), speeds, turns | st.just(np.zeros(3))
)
streams = st.lists(st.tuples(twists, st.floats(0.005, 0.2)), min_size=1, max_size=60)


def twist_of(x=0.0, y=0.0, z=0.0, about_x=0.0):
    return np.array([x, y, z, about_x, 0.0, 0.0])


@settings(max_examples=300, deadline=None)
@given(
    start=arrays(float, 3, elements=st.floats(0.0, 1.0) | st.sampled_from([0.0, 1e-3, 1e-2, 1.0])),
    commands=streams,
    lasting=st.floats(0.02, 0.3),
)
# the change to a fast motion along a wall takes so long that the slow one towards it goes on
@example(
    start=np.zeros(3),
    commands=[
        (twist_of(), 0.1),
        (twist_of(0.03), 0.12),
        (twist_of(-0.06), 0.19),
        (twist_of(y=0.25), 0.1),
    ],
    lasting=0.2,
)
@example(  # and so does the stop from there
    start=np.array([0.5, 0.5, 0.016]),
    commands=[(twist_of(z=-0.0625), 0.19), (twist_of(0.25), 0.125), (twist_of(), 0.1)],
    lasting=0.25,
)
@example(  # or a turn
    start=np.full(3, 0.008),
    commands=[(twist_of(-0.03), 0.12), (twist_of(about_x=1.0), 0.12)],
    lasting=0.22,
)
def test_a_stream_of_jogs_never_leaves_the_box(start, commands, lasting):
    inside = pose(LOWER + start * (UPPER - LOWER))
    seen = jogged(Workspace(BOX), inside, commands, lasting)
    assert (seen > LOWER - 1e-9).all()
    assert (seen < UPPER + 1e-9).all()


def test_a_jog_towards_a_wall_gets_there_and_along_it_goes_on():
    commands = [(np.array([0.2, 0.05, 0.0, 0.0, 0.0, 0.5]), 0.02)] * 200
    seen = jogged(Workspace(BOX), pose([0.2, -0.2, 0.5]), commands, 0.2)
    assert UPPER[0] - 2e-3 < seen[-1, 0] < UPPER[0] + 1e-9
    assert seen[-1, 1] == pytest.approx(-0.2 + 0.05 * 4.0, abs=0.02)


def test_far_from_the_walls_a_jog_is_as_it_was():
    twist = np.array([0.1, -0.1, 0.1, 0.3, 0.2, 0.1])
    np.testing.assert_array_equal(
        Workspace(BOX).slowed(twist, twist, np.array([0.1, 0.0, 0.5]), ACCELERATION, 0.2), twist
    )


def test_from_outside_a_jog_leads_only_back():
    outside, box = np.array([0.7, 0.0, 0.5]), Workspace(BOX)
    still = np.zeros(6)
    out, back = np.array([0.1, 0.0, 0.0, 0.0, 0.0, 0.0]), np.array([-0.1, 0.0, 0.0, 0.0, 0.0, 0.0])
    np.testing.assert_array_equal(box.slowed(out, still, outside, ACCELERATION, 0.2), still)
    np.testing.assert_array_equal(box.slowed(back, still, outside, ACCELERATION, 0.2), back)


# --- in the loop ---


@pytest.fixture
def loop():
    made = ControlLoop(UR5, "impedance", model=RobotModel.of(UR5))
    tip = RobotModel.of(UR5).at(HOME).pose[:3, 3]
    made.workspace.settings.set({"lower": (tip - 0.1).tolist(), "upper": (tip + 0.1).tolist()})
    tick(made, 5)
    return made


def tick(loop, cycles):
    begin = 0.0 if loop.state is None else loop.state.time
    for k in range(1, cycles + 1):
        loop.tick(RobotState(begin + 0.002 * k, HOME.copy(), np.zeros(6), np.zeros(6), None))


def test_no_target_leads_the_reference_out_of_the_box(loop):
    out = loop.tip()
    out[2, 3] += 0.2
    far = HOME.copy()
    far[0] += 0.5
    before = loop.reference.pose
    for lead in (
        lambda: loop.motion.move_to(out),
        lambda: loop.motion.move_joints_to(far),
        lambda: loop.motion.follow_joints(np.array([1.0, 2.0]), np.array([far, HOME]), None),
    ):
        with pytest.raises(ConfigError, match="the workspace"):
            lead()
        tick(loop, 20)
        np.testing.assert_array_equal(loop.reference.pose, before)


def test_a_stream_of_twists_stops_at_the_wall(loop):
    start = loop.tip()[:3, 3].copy()
    for _ in range(400):
        loop.motion.jog(np.array([0.0, 0.2, 0.0, 0.0, 0.0, 0.0]), 0.2)
        tick(loop, 5)
    moved = loop.reference.pose[:3, 3] - start
    np.testing.assert_allclose(moved, [0.0, 0.1, 0.0], atol=2e-3)
    assert moved[1] < 0.1 + 1e-9


def test_a_target_inside_and_home_are_gone_to(loop):
    goal = loop.tip()
    goal[0, 3] += 0.05
    loop.motion.move_to(goal)
    tick(loop, 1000)
    np.testing.assert_allclose(loop.reference.pose, goal, atol=1e-6)
    loop.motion.go_home()


def test_the_profile_may_bound_it(tmp_path):
    assert (
        ControlLoop(
            load_robot("ur5", "real"), "admittance"
        ).workspace.settings.target.lower.tolist()
        == [-20.0] * 3
    )
    simulated = ControlLoop(UR5, "impedance").workspace.settings.target
    assert simulated.lower.tolist() == [-0.9, -0.9, 0.0]
    assert simulated.upper.tolist() == [0.9, 0.9, 1.2]
