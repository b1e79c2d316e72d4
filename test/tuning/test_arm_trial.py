"""A trial of gains on several arms: the same bits everywhere, means over arms, and what
ended counts the worst.
"""

import pickle
import warnings
from dataclasses import replace

import pytest
from refusals import refuses

pytest.importorskip("mujoco")

from robot_control_ros.core.errors import ConfigError
from robot_control_ros.robot.configuration import load_robot
from robot_control_ros.simulation.imperfect.imperfections import (
    Imperfections,
    TripLimits,
    load_imperfections,
)
from robot_control_ros.tuning.arm_trial import ArmTrial
from robot_control_ros.tuning.arms import sample_arms
from robot_control_ros.tuning.gain_space import gain_space
from robot_control_ros.tuning.objectives import objectives_of
from robot_control_ros.tuning.runs import IDEAL

pytestmark = pytest.mark.sim

ROBOT = load_robot("planar_two_link")
ARMS = sample_arms(ROBOT, None, 0, 2)
SPACE = gain_space(ROBOT, "impedance", ["stiffness=200:4000", "damping_ratio=0.3:1.5"])
STIFF = {"stiffness": 1000.0, "damping_ratio": 1.0}


def made(names="track,contact", arms=ARMS, **changes):
    return ArmTrial("planar_two_link", "impedance", SPACE, objectives_of(names), arms, **changes)


def test_values_are_the_means_of_the_arms():
    names = "track,contact,contact@1e5,static_force,noise,margin"
    found = made(names)(STIFF)
    per_arm = found.details["arms"]
    assert ",".join(per_arm) == names.replace("@1e5", "@100000")
    assert found.reason == ""
    for value, numbers in zip(found.values, per_arm.values(), strict=True):
        assert len(numbers) == len(ARMS)
        assert value == pytest.approx(sum(numbers) / len(numbers))
    assert [made("track", (arm,))(STIFF).values[0] for arm in ARMS] == per_arm["track"]


def test_a_trial_does_not_depend_on_what_ran_before():
    first = made()(STIFF)
    made("noise,track", ARMS[1:])({"stiffness": 3000.0, "damping_ratio": 0.5})
    assert made()(STIFF) == first
    assert pickle.loads(pickle.dumps(made()))(STIFF) == first


def test_the_force_at_rest_of_an_ideal_arm_has_no_error():
    found = made("static_force", (IDEAL, *ARMS))(STIFF).details["arms"]["static_force"]
    assert found[0] == pytest.approx(0.0, abs=1e-3)
    assert min(found[1:]) > 10.0 * found[0]


def test_a_run_that_ended_counts_the_worst_and_is_told():
    tripped = Imperfections(trips=TripLimits(tip_velocity=0.05))
    trial = made("track,settling", (IDEAL, tripped))
    found = trial(STIFF)
    track = trial.objectives[0]
    ideal, ended = found.details["arms"]["track"]
    assert ended == track.worst
    assert ideal < 0.1 * track.worst
    assert found.values[0] >= 0.5 * track.worst
    assert "arm 1" in found.reason
    assert "arm 0" not in found.reason


def test_warnings_of_gains_are_kept_quiet():
    space = gain_space(ROBOT, "admittance", ["damping_ratio=0:2"])
    trial = ArmTrial("planar_two_link", "admittance", space, objectives_of("noise"), ARMS[:1])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        trial.check()
        trial({"damping_ratio": 0.1})


def test_gains_that_do_not_go_together_are_refused_by_the_call():
    robot = replace(load_robot("ur5", "real"))
    space = gain_space(robot, "admittance", ["stiffness=200:4000"])
    refused = ArmTrial("ur5", "impedance", space, objectives_of("noise"), (IDEAL,), profile="real")
    with pytest.raises(ConfigError):
        refused.check()
    with pytest.raises(ConfigError):
        refused({"stiffness": 300.0})
    with pytest.raises(ConfigError):
        made()({"stiffness": 300.0})


def test_what_cannot_be_measured_is_refused_before_the_first_trial():
    made("track,contact,margin,noise").check()
    with pytest.raises(ConfigError):
        made("track", (load_imperfections("like_ur5"),)).check()
    space = gain_space(ROBOT, "joint_pid")
    with refuses("objective", "margin"):
        ArmTrial("planar_two_link", "joint_pid", space, objectives_of("margin"), ARMS).check()
