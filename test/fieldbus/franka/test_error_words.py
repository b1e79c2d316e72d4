"""Each error of the robot has words: what happened and the way out."""

import pytest

from robot_control_ros.fieldbus.franka.error_words import describe_errors, error_names


def test_all_41_errors_of_the_robot_have_words():
    names = error_names()
    assert len(names) == len(set(names)) == 41
    for name in names:
        text = describe_errors([name])
        assert text.startswith(f"{name}: ")
        assert "~/reset_fault" in text
        assert text.count(";") >= 1


def test_several_errors_are_told_one_after_the_other():
    text = describe_errors(["joint_reflex", "communication_constraints_violation"])
    assert text.index("joint_reflex") < text.index("communication_constraints_violation")


def test_without_errors_there_is_nothing_to_tell():
    assert describe_errors([]) == ""


def test_an_error_of_a_newer_robot_is_told_by_its_name():
    assert describe_errors(["warp_core_breach"]).startswith("warp_core_breach: ")


def test_the_names_are_those_of_the_makers_library():
    pylibfranka = pytest.importorskip("pylibfranka")
    known = {name for name in dir(pylibfranka.Errors) if not name.startswith("_")}
    assert set(error_names()) == known
