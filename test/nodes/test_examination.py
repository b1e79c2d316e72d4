"""What samples of a robot's messages tell, with states computed from the model; and
what is said about it.
"""

from dataclasses import replace

import numpy as np
import pytest

from robot_control_ros.nodes.doctor.examination import (
    MAX_AGE,
    Samples,
    judge_clearance,
    judge_clock,
    judge_description,
    judge_force,
    judge_gaps,
    judge_joints,
    judge_rate,
    judge_wrench_frame,
)
from robot_control_ros.references.clearance import Clearance
from robot_control_ros.robot.configuration import load_robot
from robot_control_ros.robot.model import RobotModel
from robot_control_ros.ros.findings import Level, describe, error, errors, ok, warning

OK, WARNING, ERROR = Level.OK, Level.WARNING, Level.ERROR
UR5 = load_robot("ur5")
MODEL = RobotModel.of(UR5)


def samples(rate=500.0, count=500, age=0.001, speed=1.0):
    """Messages whose stamps have this rate, and which arrive `speed` times as fast, the
    first one `age` s old.
    """
    stamps = 100.0 + np.arange(count) / rate
    arrivals = stamps[0] + age + (stamps - stamps[0]) / speed
    return Samples(arrivals.tolist(), stamps.tolist())


def under(profile="sim", **changes):
    """The UR5 with some entries of a profile changed."""
    robot = load_robot("ur5", profile)
    return replace(robot, profile=replace(robot.profile, **changes))


# --- the description ---


def test_a_number_of_the_description_that_can_not_be_is_told_with_what_to_do():
    assert judge_description(UR5, MODEL) == []
    heavy = MODEL.urdf.replace('<mass value="8.393"/>', '<mass value="8393"/>')
    assert heavy != MODEL.urdf
    found = judge_description(UR5, RobotModel.of(UR5, heavy))
    assert found
    assert {each.level for each in found} == {WARNING}
    assert all(each.remedy for each in found)
    assert any("upper_arm_link" in each.text for each in found)


# --- rates ---


def test_the_nominal_rate_is_well_and_told_with_the_longest_gap():
    found = judge_rate("joint states", samples(500.0), 500.0, simulated=False)
    assert (found.level, found.text) == (OK, "joint states: 500 Hz, longest gap 2 ms")
    assert not found.advice


@pytest.mark.parametrize(
    ("rate", "level"),
    [(440.0, WARNING), (460.0, OK), (540.0, OK), (560.0, WARNING), (125.0, WARNING)],
)
def test_a_rate_that_is_a_tenth_off_is_told_with_the_parameter_to_set(rate, level):
    found = judge_rate("joint states", samples(rate), 500.0, simulated=False)
    assert found.level is level
    if level is WARNING:
        assert f"{rate:.0f} Hz" in found.text
        assert "the profile says 500 Hz" in found.text
        assert (
            f"rate: {rate:.0f} in the parameter file of the launch argument gains" in found.advice
        )


def test_one_long_gap_is_seen_even_if_the_rate_is_right():
    late = samples(500.0)
    late.arrivals[200] += 0.08
    found = judge_rate("joint states", late, 500.0, simulated=False)
    assert found.level is OK
    assert "longest gap 82 ms" in found.text


def test_a_slow_simulation_has_the_right_rate_by_its_own_clock():
    slow = samples(500.0, speed=0.4)
    found = judge_rate("joint states", slow, 500.0, simulated=True)
    assert (found.level, found.text) == (
        OK,
        "joint states: 500 Hz, longest gap 2 ms, of a simulation at 0.40 times real time",
    )
    assert judge_rate("joint states", slow, 500.0, simulated=False).level is WARNING


def test_messages_that_a_simulation_lost_lower_its_rate():
    every_other = samples(250.0, speed=0.4)
    assert judge_rate("joint states", every_other, 500.0, simulated=True).level is WARNING


def test_a_gap_longer_than_a_wrench_may_be_old_is_told():
    assert judge_gaps("wrench", samples(100.0), 0.1, simulated=False).level is OK
    sparse = samples(8.0, count=20)
    found = judge_gaps("wrench", sparse, 0.1, simulated=False)
    assert found.level is WARNING
    assert found.text == "wrench: 8 Hz, longest gap 125 ms, but at most 100 ms are allowed"


# --- clocks ---


WHO = "ros2 topic info -v /joint_states"


@pytest.mark.parametrize(
    ("stamp", "simulated", "level"),
    [
        ("repeated", False, ERROR),
        ("repeated", True, OK),  # ros2_control stamps with the time of /clock that it heard last
        ("back", False, ERROR),
        ("back", True, ERROR),
    ],
)
def test_a_stamp_that_goes_back_is_an_error_and_in_wall_time_one_that_repeats(
    stamp, simulated, level
):
    bad = samples()
    bad.stamps[300] = bad.stamps[299] if stamp == "repeated" else bad.stamps[0] - 1.0
    found = judge_clock("joint states", bad, simulated, WHO)
    assert found.level is level
    assert found.command == ("" if level is OK else WHO)


@pytest.mark.parametrize("simulated", [False, True])
def test_stamps_without_a_clock_are_an_error(simulated):
    unstamped = Samples([1.0, 1.1, 1.2], [0.0, 0.0, 0.0])
    assert judge_clock("wrench", unstamped, simulated, "").level is ERROR


@pytest.mark.parametrize(
    ("age", "level"),
    [(0.0, OK), (0.9 * MAX_AGE, OK), (1.1 * MAX_AGE, WARNING), (-1.1 * MAX_AGE, WARNING)],
)
def test_a_clock_of_another_machine_is_told(age, level):
    found = judge_clock("joint states", samples(age=age), False, "")
    assert found.level is level
    if level is WARNING:
        assert f"{age * 1e3:+.0f} ms old" in found.text
        assert "chrony" in found.remedy


def test_stamps_of_simulated_time_are_called_so_where_wall_time_was_asked_for():
    found = judge_clock("joint states", samples(age=1.7e9), False, "")
    assert found.level is WARNING
    assert "simulated time" in found.text
    assert "ms" not in found.text


def test_simulated_time_is_no_wall_time():
    assert judge_clock("joint states", samples(age=1e9), True, "").level is OK


# --- joints ---


def test_joints_in_any_order_and_company_are_well():
    names = ["finger", *sorted(UR5.joints)]
    assert judge_joints(UR5, names).level is OK


def test_missing_joints_are_named_beside_those_that_are_there():
    found = judge_joints(UR5, [f"left_{name}" for name in UR5.joints[:2]] + list(UR5.joints[2:]))
    assert found.level is ERROR
    assert "['shoulder_pan_joint', 'shoulder_lift_joint'] are missing" in found.text
    assert "left_shoulder_pan_joint" in found.text
    assert "prefix" in found.remedy


# --- wrenches ---


def test_a_frame_of_the_description_is_well_and_another_one_lists_them():
    assert judge_wrench_frame(UR5, MODEL, "ft_frame").level is OK
    found = judge_wrench_frame(UR5, MODEL, "sensor_link")
    assert found.level is ERROR
    assert "'sensor_link'" in found.text
    assert "wrench_frames of profile sim" in found.remedy
    assert "tool0" in found.remedy


def test_a_frame_that_the_profile_translates_is_well():
    real = load_robot("ur5", "real")
    found = judge_wrench_frame(real, MODEL, "tool0_controller")
    assert found.level is OK
    assert "tool0" in found.text
    wrong = under("real", wrench_frames={"tool0_controller": "nowhere"})
    assert judge_wrench_frame(wrong, MODEL, "tool0_controller").level is ERROR


@pytest.mark.parametrize(("force", "level"), [((0.0, 3.0, 3.9), OK), ((0.0, 3.0, 4.1), WARNING)])
def test_a_force_in_free_space_asks_for_a_tare(force, level):
    found = judge_force(np.array(force), "zero it")
    assert found.level is level
    assert found.command == ("zero it" if level is WARNING else "")


# --- words ---


def test_findings_make_one_text_and_say_the_same_advice_once():
    start = ("Start it", "ros2 launch all.py")
    found = [error("no states", *start), error("no commands", *start), error("a rival", "Stop it")]
    assert (
        describe(found) == "no states; no commands; a rival. Start it: ros2 launch all.py. Stop it"
    )
    assert describe([warning("odd")]) == "odd"


def test_only_errors_forbid_activation():
    found = [ok("a"), warning("b"), error("c")]
    assert [finding.text for finding in errors(found)] == ["c"]


# --- what the arm keeps from itself and its cell ---


def test_the_nearest_pair_of_bodies_is_told_and_one_that_is_too_near_is_a_warning():
    (found,) = judge_clearance(Clearance(UR5, MODEL), np.array(UR5.home))
    assert found.level is OK
    below = np.array(UR5.home)
    below[1] = 0.2
    (found,) = judge_clearance(Clearance(UR5, MODEL), below)
    assert found.level is WARNING
    assert "floor" in found.text


def test_nothing_is_told_of_an_arm_without_bodies():
    nobody = dict.fromkeys(MODEL.frames, ())
    assert (
        judge_clearance(Clearance(replace(UR5, bodies=nobody, cell={}), MODEL), np.array(UR5.home))
        == []
    )
