"""ROS parameter files: what they have for a node; a misspelt name is told with the
one that was meant.
"""

import pytest

from robot_control_ros.core.errors import ConfigError
from robot_control_ros.robot.ros_parameter_file import ParameterFile


def parameters(text, node="controller", namespace="", **options):
    return ParameterFile.parse(text.encode(), "gains.yaml").of(node, namespace, **options)


def refused(text, **options):
    with pytest.raises(ConfigError) as caught:
        parameters(text, **options)
    return caught.value


@pytest.mark.parametrize(
    "name",
    [
        "controller",
        "/controller",
        "/**",
        "/**/controller",
        "/*/controller",
        "/left/controller",
        "left/controller",
    ],
)
def test_a_section_counts_for_the_nodes_that_its_name_matches(name):
    text = f"{name}: {{ ros__parameters: {{ rate: 250 }} }}"
    for namespace in ("", "left"):
        full_name = f"/{namespace}/controller" if namespace else "/controller"
        matches = {
            "/**": True,
            "/**/controller": True,
            "/*/controller": namespace == "left",
        }.get(name, f"/{name.strip('/')}" == full_name)
        assert parameters(text, namespace=namespace, needed=False) == (
            {"rate": 250} if matches else {}
        )


def test_namespaces_may_nest():
    text = "/left:\n  controller:\n    ros__parameters:\n      impedance: { stiffness: 300.0 }"
    assert parameters(text, namespace="left") == {"impedance.stiffness": 300.0}


def test_the_exact_name_has_priority():
    text = "controller: { ros__parameters: { a: 3 } }\n/**: { ros__parameters: { a: 1, b: 1 } }\n"
    assert parameters(text + "/**/controller: { ros__parameters: { a: 2, c: 2 } }") == {
        "a": 3,
        "b": 1,
        "c": 2,
    }


@pytest.mark.parametrize(
    ("text", "name", "meant", "line"),
    [
        ("contoller: { ros__parameters: { rate: 250 } }", "/contoller", ("controller",), 1),
        (
            "/**: { ros__parameters: {} }\ncontrollers: { ros__parameters: {} }",
            "/controllers",
            ("controller",),
            2,
        ),
        ("controller:\n  ros_parameters: { rate: 250 }", "ros_parameters", ("ros__parameters",), 2),
        ("controller:\n  ros__parameter: { rate: 250 }", "ros__parameter", ("ros__parameters",), 2),
        ("/left:\n  contoller: { ros__parameters: {} }", "/left/contoller", ("controller",), 2),
    ],
)
def test_a_misspelt_name_is_told_with_the_one_that_was_meant(text, name, meant, line):
    error = refused(text)
    assert (error.name, error.bound) == (name, meant)
    assert f"gains.yaml: line {line}: " in str(error)


@pytest.mark.parametrize(
    "other",
    [
        "controller_manager",
        "controller2",
        "controller_left",
        "left_controller",
        "watchdog",
        "dashboard",
    ],
)
def test_another_node_s_section_is_no_misspelt_one(other):
    text = f"controller: {{ ros__parameters: {{ rate: 250 }} }}\n{other}: {{ ros__parameters: {{ rate: 1 }} }}"
    assert parameters(text) == {"rate": 250}
    assert parameters(text, other) == {"rate": 1}


@pytest.mark.parametrize("text", ["", "{}", "watchdog: { ros__parameters: { rate: 1 } }"])
def test_a_file_with_nothing_for_the_node_is_refused_where_it_is_needed(text):
    assert refused(text).value == "/controller"
    assert parameters(text, needed=False) == {}


@pytest.mark.parametrize(
    ("text", "name"),
    [
        (
            "controller: { ros__parameters: { impedance: { stiffness: 1.0 }, impedance.stiffness: 2.0 } }",
            None,
        ),
        (
            "controller: { ros__parameters: { a: 1 } }\n/controller: { ros__parameters: { a: 2 } }",
            "a",
        ),
        (
            "controller: { ros__parameters: { impedance: { stiffness: 1.0, stiffness: 2.0 } } }",
            "stiffness",
        ),
    ],
)
def test_a_gain_that_stands_twice_is_refused_however_it_is_written(text, name):
    error = refused(text)
    assert error.name == (name or "impedance.stiffness")


@pytest.mark.parametrize(
    "text",
    [
        "- a",
        "controller: 5",
        "/**: { ros__parameters: [] }",
        "controller: { rate: 5 }",
        "ros__parameters: {}",
    ],
)
def test_what_is_no_parameter_file_is_refused(text):
    assert refused(text).bound is None
