"""The gains that a search varies: what a law gets for its numbers, and what is refused
before anything runs.
"""

import pickle
from dataclasses import replace

import numpy as np
import pytest
from refusals import refuses

from robot_control_ros.core.errors import ConfigError
from robot_control_ros.core.gains import gain_specs, make_gains
from robot_control_ros.laws import law_class, law_names
from robot_control_ros.laws.running_law import RunningLaw
from robot_control_ros.robot.configuration import load_robot
from robot_control_ros.robot.model import RobotModel
from robot_control_ros.tuning.gain_space import gain_space

UR5 = load_robot("ur5")
OWN = np.array([500.0] * 3 + [50.0] * 3)


@pytest.mark.parametrize("name", ["ur5", "gen3", "planar_two_link"])
@pytest.mark.parametrize("law", law_names(plugins=False))
def test_the_usual_space_has_the_robots_own_gains_and_only_valid_ones(name, law):
    robot = load_robot(name)
    space = gain_space(robot, law)
    assert pickle.loads(pickle.dumps(space)) == space
    own = RunningLaw(robot, law).gains.target
    defaults = space.defaults()
    assert set(defaults) == set(space.ranges()) == {each.name for each in space.dimensions}
    for gain, value in space.gains(defaults).items():
        made = make_gains(law_class(law).Gains, {gain: value}, robot.n)
        np.testing.assert_allclose(getattr(made, gain), getattr(own, gain), rtol=1e-12)
    for corner in (0, 1):
        RunningLaw(
            robot, law, space.gains({key: ends[corner] for key, ends in space.ranges().items()})
        )


def test_the_usual_space_leaves_out_zeros_switches_and_axes_that_the_arm_lacks():
    assert {each.name for each in gain_space(UR5, "impedance").dimensions} == {
        "stiffness.linear",
        "stiffness.angular",
        "damping_ratio.linear",
        "damping_ratio.angular",
        "friction_bound",
    }
    planar = gain_space(load_robot("planar_two_link"), "impedance")
    assert not any(each.part == "angular" for each in planar.dimensions)
    compensated = replace(UR5, profile=replace(UR5.profile, friction_by_robot=True))
    assert "friction_bound" not in gain_space(compensated, "impedance").ranges()


def test_the_usual_factors_keep_within_the_bounds_of_the_gain():
    for law in law_names(plugins=False):
        specs = {spec.name: spec for spec in gain_specs(law_class(law).Gains)}
        own = RunningLaw(UR5, law).gains.target
        for each in gain_space(UR5, law).dimensions:
            if each.relative:
                values = np.abs(np.asarray(getattr(own, each.gain)))
                assert 0.25 <= each.lower < each.upper <= 4.0
                assert each.upper * values[values > 0.0].min() <= specs[each.gain].upper
                assert each.log


@pytest.mark.parametrize(
    ("text", "number", "expected"),
    [
        ("stiffness=200:4000", 300.0, [300.0] * 6),
        ("stiffness.linear=200:4000", 300.0, [300.0] * 3 + [50.0] * 3),
        ("stiffness.angular=10:100", 20.0, [500.0] * 3 + [20.0] * 3),
        ("stiffness=0.2x:5x", 0.5, 0.5 * OWN),
        ("stiffness.angular=0.2x:5x", 3.0, [500.0] * 3 + [150.0] * 3),
    ],
)
def test_numbers_take_the_place_of_entries_and_factors_multiply_them(text, number, expected):
    space = gain_space(UR5, "impedance", [text])
    (each,) = space.dimensions
    np.testing.assert_allclose(space.gains({each.name: number})["stiffness"], expected)
    assert each.relative == ("x" in text)


def test_a_share_is_one_of_each_joints_effort_limit():
    space = gain_space(UR5, "impedance", ["friction_bound=0%:2%"])
    assert space.ranges() == {"friction_bound": (0.0, 0.02, False)}
    np.testing.assert_allclose(
        space.gains({"friction_bound": 0.01})["friction_bound"],
        0.01 * RobotModel.of(UR5).limits.effort,
    )
    assert space.defaults() == {"friction_bound": 0.0}


def test_a_matrix_keeps_its_axes_where_it_is_multiplied():
    turn = np.linalg.qr(np.random.default_rng(0).normal(size=(3, 3)))[0]
    matrix = np.diag(OWN)
    matrix[:3, :3] = turn @ np.diag([100.0, 500.0, 900.0]) @ turn.T
    robot = replace(UR5, law_gains={"impedance": {"stiffness": matrix.tolist()}})
    space = gain_space(robot, "impedance", ["stiffness.linear=0.2x:4x"])
    made = np.array(space.gains({"stiffness.linear": 2.0})["stiffness"]).reshape(6, 6)
    expected = matrix.copy()
    expected[:3, :3] *= 2.0
    np.testing.assert_allclose(made, expected, rtol=5e-6)  # gains have six digits
    assert gain_space(robot, "impedance", ["stiffness.linear=10:1000"]).defaults() is None


@pytest.mark.parametrize(
    ("vary", "defaults"),
    [
        (["stiffness.linear=200:4000"], {"stiffness.linear": 500.0}),
        (["stiffness.linear=600:4000"], None),
        (["stiffness=20:4000"], None),
        (["damping_ratio=0.3:1.5", "stiffness=0.5x:2x"], {"damping_ratio": 1.0, "stiffness": 1.0}),
        (["stiffness=2x:4x"], None),
    ],
)
def test_the_robots_own_gains_are_values_where_there_are_such(vary, defaults):
    assert gain_space(UR5, "impedance", vary).defaults() == defaults


@pytest.mark.parametrize(
    ("text", "log"),
    [
        ("stiffness=200:4000", True),
        ("damping_ratio=0.3:1.5", False),
        ("damping=0:100", False),
        ("inertia=1:2", False),
    ],
)
def test_wide_ranges_are_logarithmic(text, log):
    (ends,) = gain_space(UR5, "impedance", [text]).ranges().values()
    assert ends[2] is log


@pytest.mark.parametrize(
    ("vary", "name"),
    [
        (["hardness=1:2"], "gain"),
        (["stiffness"], "vary"),
        (["stiffness=200"], "vary"),
        (["stiffness=a:b"], "vary"),
        (["stiffness=1:inf"], "vary"),
        (["stiffness=1x:2"], "vary"),
        (["stiffness=200:20000"], "stiffness"),
        (["stiffness=-1:20"], "stiffness"),
        (["stiffness=5:5"], "stiffness"),
        (["stiffness=0.1x:100x"], "stiffness"),
        (["stiffness=0x:2x"], "stiffness"),
        (["damping=1x:2x"], "damping"),
        (["gravity=0:1"], "vary"),
        (["frame=0:1"], "vary"),
        (["stiffness.radial=1:2"], "part"),
        (["max_force.linear=1:2"], "vary"),
        (["stiffness=1%:2%"], "stiffness"),
        (["friction_bound=0%:200%"], "friction_bound"),
        (["stiffness=200:300", "stiffness=2x:3x"], "vary"),
        (["stiffness=200:300", "stiffness.linear=2:3"], "vary"),
        (["stiffness.linear=200:300", "stiffness=2:3"], "vary"),
        (["stiffness=200:300", "impedance.stiffness=2x:3x"], "vary"),
        (["admittance.stiffness=200:300"], "gain"),
    ],
)
def test_what_cannot_be_varied_is_refused(vary, name):
    with refuses(name):
        gain_space(UR5, "impedance", vary)


@pytest.mark.parametrize("vary", ["stiffness=200:4000", "stiffness.linear=0.5x:2x"])
def test_the_name_of_the_ros_parameter_names_the_same_gain(vary):
    assert gain_space(UR5, "impedance", [f"impedance.{vary}"]) == gain_space(
        UR5, "impedance", [vary]
    )


def test_an_unknown_gain_is_told_the_valid_ones():
    with pytest.raises(ConfigError) as caught:
        gain_space(UR5, "impedance", ["gravity=0:1"])
    assert "stiffness" in caught.value.bound
    assert "gravity" not in caught.value.bound


def test_axes_that_the_arm_lacks_are_refused():
    with refuses("vary", "stiffness.angular"):
        gain_space(load_robot("planar_two_link"), "impedance", ["stiffness.angular=1:2"])


@pytest.mark.parametrize(
    "values", [{}, {"stiffness": 300.0, "damping": 1.0}, {"stiffness": 20000.0}]
)
def test_values_that_do_not_fit_are_refused(values):
    space = gain_space(UR5, "impedance", ["stiffness=200:4000"])
    with pytest.raises(ConfigError):
        space.gains(values)
