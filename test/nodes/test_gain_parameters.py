"""What the controller writes into a parameter's descriptor is what the dashboard reads from it."""

import json
import math
from dataclasses import dataclass

import pytest

pytest.importorskip("rclpy", reason="needs ROS 2 (rclpy)")

from lockstep import LockstepRos
from rclpy.parameter import Parameter, get_parameter_value, parameter_value_to_python

from robot_control_ros.core.gains import (
    AXES,
    JOINT,
    MATRIX,
    TASK,
    VECTOR,
    ParameterSet,
    choice,
    gain,
    plain_value,
)
from robot_control_ros.core.types import Array
from robot_control_ros.laws import law_class, law_names
from robot_control_ros.references.workspace import WorkspaceSettings
from robot_control_ros.robot.configuration import load_robot
from robot_control_ros.ros.gain_parameters import plain, read_parameters
from robot_control_ros.ros.ros_params import TunedParameters
from robot_control_ros.sensing.wrench import WrenchSettings

pytestmark = pytest.mark.ros

ROBOT = load_robot("ur5")
JOINTS = ("shoulder pan", "shoulder lift", "elbow", "wrist 1", "wrist 2", "wrist 3")
LABELS = {TASK: AXES, MATRIX: AXES, VECTOR: ("x", "y", "z"), JOINT: JOINTS}


@dataclass(frozen=True, eq=False)
class AwkwardGains:
    """Units, sentences, words and bounds that no pattern would find its way through."""

    ratio: float = gain(
        0.1 + 0.2,
        unit="within [0, 1] N·m/√s, must be",
        upper=math.inf,
        doc='Says "[1, 2]"; {braces}.',
    )
    offset: Array = gain(
        (1e-300, -2.5, 3.0), size=VECTOR, lower=-math.inf, upper=math.inf, doc="Both\nlines: é, ½."
    )
    coupling: Array = gain(1.0, size=MATRIX, unit="N/m, N·m/rad", upper=1e9, doc="")
    output: str = choice(
        "a, b", ("a, b", 'must be one of: "c"', "\\"), doc="Commas within the words."
    )
    enabled: float = gain(True, doc="On, or off.")


@pytest.fixture(scope="module")
def tuned(tmp_path_factory):
    with LockstepRos(tmp_path_factory.mktemp("gains")) as ros:
        yield ros.node, TunedParameters(ros.node)


@pytest.mark.parametrize(
    ("prefix", "gains_type"),
    [
        *((name, law_class(name).Gains) for name in law_names()),
        ("wrench", WrenchSettings),
        ("workspace", WorkspaceSettings),
        ("awkward", AwkwardGains),
    ],
    ids=str,
)
def test_each_gain_is_read_back_without_loss(tuned, prefix, gains_type):
    node, parameters = tuned
    gains = ParameterSet(gains_type, ROBOT.n, {})
    parameters.add(prefix, gains, ROBOT.joints)
    names = [f"{prefix}.{spec.name}" for spec in gains.specs]
    descriptors = node.describe_parameters(names)
    law = "impedance" if prefix in ("wrench", "workspace") else prefix
    found = read_parameters(
        law, descriptors, [plain(node.get_parameter(name).value) for name in names]
    )
    parameters.remove(prefix)
    for spec, name, descriptor, (label, parameter) in zip(
        gains.specs, names, descriptors, found.items(), strict=True
    ):
        assert label == parameter.name == (name if prefix in ("wrench", "workspace") else spec.name)
        assert parameter.value == parameter.default == plain(plain_value(spec, gains.target))
        assert descriptor.description == parameter.text == spec.doc
        assert (parameter.unit, parameter.choices) == (spec.unit, spec.choices)
        assert (parameter.lower, parameter.upper) == (spec.lower, spec.upper)
        assert parameter.axes == LABELS.get(spec.size, ())
        # no Infinity: it is strict JSON
        json.loads(descriptor.additional_constraints, parse_constant=pytest.fail)


def test_the_default_is_that_of_the_robot(tuned):
    node, parameters = tuned
    gains = ParameterSet(AwkwardGains, ROBOT.n, {"offset": 7.0})
    parameters.add("awkward", gains, ROBOT.joints)
    gains.set({"offset": 8.0})
    descriptors = node.describe_parameters(["awkward.offset"])
    parameters.remove("awkward")
    (found,) = read_parameters("awkward", descriptors, [(8.0, 8.0, 8.0)]).values()
    assert (found.value, found.default) == ((8.0, 8.0, 8.0), (7.0, 7.0, 7.0))


@pytest.mark.parametrize("text", ["[8, 9, 0.4]", "[8.0, 9.0, 0.4]"])
def test_a_list_is_taken_as_the_shell_writes_it(tuned, text):
    """`ros2 param set` makes a text of a list with whole and broken numbers."""
    node, parameters = tuned
    gains = ParameterSet(AwkwardGains, ROBOT.n, {})
    parameters.add("awkward", gains, ROBOT.joints)
    value = parameter_value_to_python(get_parameter_value(text))
    (result,) = node.set_parameters([Parameter("awkward.offset", value=value)])
    parameters.remove("awkward")
    assert result.successful, result.reason
    assert gains.target.offset.tolist() == [8.0, 9.0, 0.4]


@pytest.mark.parametrize("text", ["stiff", "[8, 9, x]", ""])
def test_a_text_that_is_no_list_is_refused(tuned, text):
    node, parameters = tuned
    gains = ParameterSet(AwkwardGains, ROBOT.n, {})
    parameters.add("awkward", gains, ROBOT.joints)
    (result,) = node.set_parameters([Parameter("awkward.offset", value=text)])
    parameters.remove("awkward")
    assert not result.successful
    assert "offset" in result.reason
