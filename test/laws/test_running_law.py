"""A law on a robot: where its gains come from, and which pairings are refused."""

from dataclasses import replace

import numpy as np
import pytest
from refusals import refuses

from evidence.contact.trial_arm import RATE, TrialArm, cycles, trial_robot
from robot_control_ros.control.loop import ControlLoop
from robot_control_ros.core.errors import ConfigError
from robot_control_ros.core.types import CommandMode
from robot_control_ros.laws import law_names
from robot_control_ros.laws.running_law import RunningLaw
from robot_control_ros.robot.configuration import load_robot
from robot_control_ros.robot.profile import HardwareProfile

UR5, GEN3 = load_robot("ur5"), load_robot("gen3")
DT = 0.002


def under(robot, *modes, gravity_by_robot=False, remedy=""):
    """The robot under a profile that takes these modes."""
    profile = HardwareProfile(
        500.0, tuple(CommandMode(mode) for mode in modes), gravity_by_robot, remedy=remedy
    )
    return replace(robot, profile_name="some", profile=profile)


# --- where gains come from ---


def test_gains_begin_with_the_laws_then_the_robots_then_the_given_ones():
    robot = replace(UR5, law_gains={"impedance": {"stiffness": 300.0, "damping_ratio": 0.7}})
    gains = RunningLaw(robot, "impedance", {"stiffness": 400.0}).gains.current
    assert gains.stiffness.diagonal().tolist() == [400.0] * 6
    assert gains.damping_ratio.tolist() == [0.7] * 6
    assert not gains.posture_damping.any()


def test_a_gain_has_a_short_name_and_that_of_its_ros_parameter():
    gains = RunningLaw(UR5, "impedance", {"impedance.stiffness": 400.0, "damping_ratio": 0.7})
    assert gains.gains.current.stiffness.diagonal().tolist() == [400.0] * 6
    assert gains.gains.current.damping_ratio.tolist() == [0.7] * 6


def test_a_gain_that_is_given_by_both_names_is_refused():
    given = {"stiffness": 300.0, "impedance.stiffness": 400.0}
    with refuses("stiffness", 400.0, ("stiffness", "impedance.stiffness")):
        RunningLaw(UR5, "impedance", given)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("joint_impedance.stiffness", "joint_impedance.stiffness"),
        ("impedance.impedance.stiffness", "impedance.impedance.stiffness"),
        ("impedance.stifness", "stifness"),
    ],
)
def test_a_gain_that_the_law_lacks_is_refused_with_those_that_it_has(name, value):
    with pytest.raises(ConfigError) as refusal:
        RunningLaw(UR5, "impedance", {name: 300.0})
    assert (refusal.value.name, refusal.value.value) == ("gain", value)
    assert "stiffness" in refusal.value.bound


def test_given_gains_are_there_at_once():
    running = RunningLaw(UR5, "impedance", {"stiffness": 400.0}, time_constant=10.0)
    assert running.gains.advance(DT) is running.gains.target is running.gains.current


def test_the_axes_that_a_planar_arm_has_are_the_ones_of_its_laws():
    planar = load_robot("planar_two_link")
    for name in ("impedance", "admittance"):
        assert RunningLaw(planar, name).gains.current.axes.tolist() == [1, 1, 0, 0, 0, 0]
        assert RunningLaw(
            planar, name, {"axes": [1, 0, 0, 0, 0, 0]}
        ).gains.current.axes.tolist() == [1, 0, 0, 0, 0, 0]


def test_gravity_is_off_where_the_robot_compensates_it_whatever_its_law_gains_say():
    robot = under(UR5, "effort", gravity_by_robot=True)
    robot = replace(robot, law_gains={"impedance": {"gravity": True}})
    assert RunningLaw(robot, "impedance").gains.current.gravity == 0.0
    assert RunningLaw(UR5, "impedance").gains.current.gravity == 1.0


def test_gravity_may_not_be_switched_on_there():
    robot = under(UR5, "effort", gravity_by_robot=True)
    with refuses("gravity", True, False):
        RunningLaw(robot, "impedance", {"gravity": True})
    running = RunningLaw(robot, "impedance")
    with refuses("gravity", True, False):
        running.gains.set({"gravity": True, "stiffness": 1.0})
    assert running.gains.target.stiffness.diagonal().tolist() != [1.0] * 6


def test_every_gain_of_a_running_law_may_be_set_without_naming_the_others():
    running = RunningLaw(UR5, "impedance", {"stiffness": 400.0})
    running.gains.set({"damping_ratio": 0.5})
    assert running.gains.target.stiffness.diagonal().tolist() == [400.0] * 6
    # without a base: the defaults
    assert running.gains.check({}).stiffness.diagonal().tolist() != [400.0] * 6


# --- what it commands ---


def test_a_laws_output_is_its_default_where_the_robot_takes_it():
    running = RunningLaw(UR5, "admittance")
    assert running.gains.current.output == "position"
    assert running.mode is CommandMode.POSITION


def test_a_laws_output_is_another_one_where_the_robot_does_not_take_the_default():
    running = RunningLaw(under(UR5, "effort", "velocity"), "admittance")
    assert running.gains.current.output == "velocity"
    assert running.mode is CommandMode.VELOCITY


def test_the_robots_own_choice_of_the_output_goes_before_that():
    robot = replace(UR5, law_gains={"admittance": {"output": "velocity"}})
    assert RunningLaw(robot, "admittance").mode is CommandMode.VELOCITY
    assert RunningLaw(robot, "admittance", {"output": "position"}).mode is CommandMode.POSITION


def test_the_output_may_be_a_command_mode():
    running = RunningLaw(UR5, "admittance", {"output": CommandMode.VELOCITY})
    assert type(running.gains.current.output) is str
    assert running.mode is CommandMode.VELOCITY


def test_the_mode_changes_with_the_output_and_only_once_it_is_taken_over():
    running = RunningLaw(UR5, "admittance")
    running.gains.set({"output": "velocity"})
    assert running.mode is CommandMode.POSITION
    running.gains.advance(DT)
    assert running.mode is CommandMode.VELOCITY


@pytest.mark.parametrize(
    ("law", "values", "modes", "words"),
    [
        (
            "impedance",
            {},
            ("position",),
            ["law impedance commands effort", "takes only: position. Use that."],
        ),
        (
            "joint_pid",
            {},
            ("effort",),
            ["law joint_pid commands velocity", "takes only: effort. Use that."],
        ),
        (
            "admittance",
            {},
            ("effort",),
            ["law admittance commands position", "takes only: effort. Use that."],
        ),
        (
            "admittance",
            {"output": "velocity"},
            ("effort", "position"),
            ["law admittance commands velocity", "takes only: effort, position. Use that."],
        ),
    ],
)
def test_a_mode_that_the_robot_has_not_got_is_refused_with_the_way_out(law, values, modes, words):
    with pytest.raises(ConfigError) as refusal:
        RunningLaw(under(UR5, *modes, remedy="Use that."), law, values)
    for word in words:
        assert word in str(refusal.value)


def test_an_output_that_the_robot_has_not_got_is_refused_while_it_runs_and_nothing_changes():
    running = RunningLaw(under(UR5, "position", remedy="Use that."), "admittance")
    before = running.gains.target
    with pytest.raises(ConfigError, match=r"commands velocity.*takes only: position\. Use that\."):
        running.gains.set({"output": "velocity", "stiffness": 1.0})
    assert running.gains.target is before


# --- what it says of itself ---


def test_what_a_law_needs_is_known():
    found = {name: RunningLaw(GEN3, name) for name in law_names(plugins=False)}
    assert {name for name, running in found.items() if running.needs_wrench} == {
        "admittance",
        "force_control",
    }
    assert {"joint_pid", "joint_pid_effort", "joint_impedance"} <= {
        n for n, r in found.items() if r.joint_space
    }
    assert not found["impedance"].joint_space


def test_each_running_law_has_an_object_of_its_own():
    first, second = RunningLaw(UR5, "impedance"), RunningLaw(UR5, "impedance")
    assert first.law is not second.law
    first.gains.set({"stiffness": 1.0})
    assert second.gains.target.stiffness.diagonal().tolist() != [1.0] * 6


# --- refusals ---


def test_an_unknown_law_is_refused_with_the_laws():
    with pytest.raises(ConfigError) as refusal:
        RunningLaw(UR5, "impedence")
    for word in ("unknown law 'impedence'", *law_names(plugins=False)):
        assert word in str(refusal.value)


def test_an_unknown_gain_is_refused_with_the_gains():
    with pytest.raises(
        ConfigError, match=r"unknown gain 'stifness'; gains: stiffness, damping_ratio"
    ):
        RunningLaw(UR5, "impedance", {"stifness": 1.0})


def test_gains_of_the_robot_for_laws_that_do_not_exist_are_refused_whichever_law_runs():
    robot = replace(
        UR5, law_gains={"impedence": {"stiffness": 1.0}, "my.module:Law": {"anything": 1.0}}
    )
    with refuses("law_gains", "impedence"):
        RunningLaw(robot, "gravity_compensation")


def test_a_bad_gain_of_the_robot_is_refused_with_its_bound():
    robot = replace(UR5, law_gains={"impedance": {"stiffness": -1.0}})
    with refuses("stiffness[0]", -1.0, (0.0, 10000.0)):
        RunningLaw(robot, "impedance")


def test_arrays_of_gains_are_read_only():
    gains = RunningLaw(UR5, "task_space_pd").gains.current
    with pytest.raises(ValueError, match="read-only"):
        gains.stiffness[0, 0] = 1.0
    assert np.array_equal(gains.stiffness, np.diag(np.diag(gains.stiffness)))


# --- what is in force of the gains ---

LOAD = 40.0  # N
CHANGED, RELEASED, END = 2.0, 5.0, 8.0  # s
UNDER_LOAD = [
    ("impedance", {}, 500.0),
    ("impedance", {}, 200.0),
    ("force_control", {}, 500.0),
    ("force_control", {"output": "position", "gravity": False}, 500.0),
    ("admittance", {}, 500.0),
    ("admittance", {}, 200.0),
]
# The tank is the same on another robot: one law of each way to the arm is shown on both.
USUAL_UNDER_LOAD = [("gen3", *case) for case in UNDER_LOAD] + [
    ("ur5e", *UNDER_LOAD[0]),
    ("ur5e", *UNDER_LOAD[4]),
]
OTHERS_UNDER_LOAD = [("ur5e", *UNDER_LOAD[k]) for k in (1, 2, 3, 5)]


@pytest.mark.few(3)
@pytest.mark.sim
@pytest.mark.parametrize(
    ("name", "law", "gains", "before"),
    USUAL_UNDER_LOAD + [pytest.param(*case, marks=pytest.mark.long) for case in OTHERS_UNDER_LOAD],
)
def test_a_stiffness_that_is_raised_under_load_is_told_while_it_is_not_paid_and_comes_as_the_load_goes(
    name, law, gains, before
):
    robot = trial_robot(name)
    arm = TrialArm(robot)
    loop = ControlLoop(
        robot, law, gains | {"stiffness": [before] * 3 + [50.0] * 3, "damping_ratio": 1.0}
    )
    start = loaded = None
    for k, (_, kin) in enumerate(cycles(arm, loop, 0.0, END)):
        if k == 0:
            start = kin.pose[1, 3]
            arm.push(robot.tip, np.array([0.0, LOAD, 0.0]), np.zeros(3))
        if k == round(CHANGED * RATE):
            assert loop.running.law.warning == ""
            loop.running.gains.set({"stiffness": [2000.0] * 3 + [50.0] * 3})
        if k == round(RELEASED * RATE):
            loaded = loop.running.law.stiffness_in_force[1, 1]
            assert loop.running.law.warning
            assert loop.running.law.warning in loop.warning
            assert LOAD / (kin.pose[1, 3] - start) == pytest.approx(loaded, rel=0.1)
            arm.push(robot.tip, np.zeros(3), np.zeros(3))
    assert before < loaded < 0.9 * 2000.0
    np.testing.assert_allclose(np.diag(loop.running.law.stiffness_in_force)[:3], 2000.0, rtol=1e-6)
    assert loop.running.law.warning == ""
