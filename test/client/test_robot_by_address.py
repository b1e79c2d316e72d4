"""A robot by its address: what is refused before anything starts."""

import pytest

from robot_control_ros import Robot
from robot_control_ros.core.errors import ConfigError


def test_a_robot_that_no_library_reaches_is_refused():
    with pytest.raises(ConfigError) as error:
        Robot("ur5e", ip="192.0.2.1")
    assert (error.value.name, error.value.value) == ("profile", "franka")


def test_an_unknown_law_is_refused_before_a_process_starts():
    with pytest.raises(ConfigError) as error:
        Robot("fr3", ip="192.0.2.1", law="impedence")
    assert (error.value.name, error.value.value) == ("law", "impedence")


@pytest.mark.parametrize("given", [{"law": "impedance"}, {"gains": {"stiffness": 300.0}}])
def test_a_controller_over_ros_has_its_own_law(given):
    with pytest.raises(ConfigError) as error:
        Robot("ur5e", **given)
    assert error.value.name == "law"
