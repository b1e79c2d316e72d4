"""The mechanism of all YAML files: one line declares an entry, and everything
else follows from it.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import pytest

from robot_control_ros.core.errors import ConfigError
from robot_control_ros.core.gains import JOINT
from robot_control_ros.robot.files import merge
from robot_control_ros.robot.json_schema import json_schema
from robot_control_ros.robot.schema import SOME, entry, read


@dataclass(frozen=True)
class Screw:
    pitch: float = entry(above=0.0, upper=0.1, unit="m", doc="Way of one turn.")


@dataclass(frozen=True, kw_only=True)
class Gripper:
    fingers: tuple[str, ...] = entry(size=SOME, doc="Names.")
    force: float = entry(20.0, lower=0.0, upper=50.0, unit="N", doc="Force when closed.")
    count: int = entry(2, lower=1, upper=4, doc="Number of fingers.")
    kind: str = entry("parallel", choices=("parallel", "vacuum"), doc="How it holds.")
    hose: float = entry(
        above=0.0, unit="m", only_with=("kind", ("vacuum",)), doc="Length of the hose."
    )
    screw: Screw | None = entry(None, doc="What drives it.")
    friction: tuple[float, ...] = entry(0.0, size=JOINT, lower=0.0, doc="Of each joint.")
    names: Mapping[str, str] = entry({}, keys=("left", "right"), doc="By side.")


def gripper(joints=2, **entries):
    return read(Gripper, {"fingers": ["a", "b"], **entries}, "mine.yaml", joints)


def test_what_is_left_out_has_its_default():
    one = gripper()
    assert (one.fingers, one.force, one.count, one.kind) == (("a", "b"), 20.0, 2, "parallel")
    assert (one.hose, one.screw, one.friction, one.names) == (0.0, None, (0.0, 0.0), {})


def test_what_is_given_has_its_type():
    one = gripper(
        force=5, kind="vacuum", hose=1, screw={"pitch": 0.01}, friction=[1, 2], names={"left": "l"}
    )
    assert (one.force, one.hose, one.screw, one.friction) == (5.0, 1.0, Screw(0.01), (1.0, 2.0))
    assert isinstance(one.force, float)


@pytest.mark.parametrize(
    ("entries", "words"),
    [
        ({"forc": 1}, "mine.yaml: unknown ['forc']; entries: " + ", ".join(vars(gripper()))),
        ({"fingers": []}, "mine.yaml: fingers = []: must be a list of one or more, each a text"),
        ({"fingers": ["a", 1]}, "mine.yaml: fingers[1] = 1: must be a text"),
        ({"force": 51.0}, "mine.yaml: force = 51.0: must be a finite number from 0 to 50 [N]"),
        ({"force": "much"}, "mine.yaml: force = 'much': must be a finite number from 0 to 50 [N]"),
        ({"count": 2.0}, "mine.yaml: count = 2.0: must be a whole number from 1 to 4"),
        ({"kind": "magnet"}, "mine.yaml: kind = 'magnet': must be one of: parallel, vacuum"),
        ({"hose": 1.0}, "mine.yaml: hose has no meaning here: it goes with kind vacuum"),
        ({"kind": "vacuum"}, "mine.yaml: hose is missing: it goes with kind vacuum"),
        ({"screw": {}}, "mine.yaml: screw: missing ['pitch']; entries: pitch"),
        (
            {"screw": {"pitch": 0}},
            "mine.yaml: screw: pitch = 0: must be a finite number above 0 and up to 0.1 [m]",
        ),
        ({"friction": [1.0]}, "mine.yaml: friction has 1 values [1.0]: must have 2"),
        (
            {"friction": [1.0, -1.0]},
            "mine.yaml: friction[1] = -1.0: must be a finite number, 0 or more",
        ),
        ({"names": {"top": "t"}}, "mine.yaml: names: unknown 'top'; entries: left, right"),
    ],
)
def test_an_error_names_file_key_value_and_what_is_valid(entries, words):
    with pytest.raises(ConfigError) as error:
        gripper(**entries)
    assert str(error.value) == words


@pytest.mark.parametrize(
    ("entries", "name", "value", "bound"),
    [
        ({"force": 51.0}, "force", 51.0, (0.0, 50.0)),
        ({"count": 2.0}, "count", 2.0, (1, 4)),
        ({"kind": "magnet"}, "kind", "magnet", ("parallel", "vacuum")),
        ({"hose": 1.0}, "hose", None, None),
        ({"screw": {"pitch": 0}}, "pitch", 0, (0.0, 0.1)),
        ({"friction": [1.0]}, "friction", [1.0], 2),
        ({"names": {"top": "t"}}, "names", "top", ("left", "right")),
    ],
)
def test_an_error_has_key_value_and_bound(entries, name, value, bound):
    with pytest.raises(ConfigError) as error:
        gripper(**entries)
    assert (error.value.name, error.value.value, error.value.bound) == (name, value, bound)


def test_the_schema_of_a_file_has_types_bounds_defaults_and_texts():
    schema = json_schema(Gripper, "gripper")
    assert schema["required"] == ["fingers"]
    assert schema["additionalProperties"] is False
    assert schema["properties"]["force"] == {
        "description": "Force when closed [N].",
        "type": "number",
        "minimum": 0.0,
        "maximum": 50.0,
        "default": 20.0,
    }
    assert schema["properties"]["kind"]["enum"] == ["parallel", "vacuum"]
    assert schema["properties"]["names"]["propertyNames"] == {"enum": ["left", "right"]}
    assert schema["definitions"]["Screw"]["properties"]["pitch"]["exclusiveMinimum"] == 0.0


def test_changes_merge_mappings_replace_the_rest_and_null_takes_away():
    base = {"a": {"b": 1, "c": [1, 2]}, "d": 4}
    assert merge(base, {"a": {"c": [3]}, "d": None, "e": None, "f": 5}) == {
        "a": {"b": 1, "c": [3]},
        "f": 5,
    }
    assert base == {"a": {"b": 1, "c": [1, 2]}, "d": 4}
