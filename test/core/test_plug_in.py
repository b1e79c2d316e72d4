"""Classes of users are loaded by their places, and errors say what is wrong with one."""

import pytest

from robot_control_ros.core.errors import ConfigError
from robot_control_ros.core.plug_in import load_plug_in

PLACE = "fractions:Fraction"


def test_a_class_is_loaded_with_its_parts():
    assert load_plug_in("number", "half", PLACE, ("numerator",)).__name__ == "Fraction"
    assert load_plug_in("number", "half", PLACE, ("numerator",), makes=True) == 0


@pytest.mark.parametrize(
    "place",
    ["no_such_module:Class", "fractions:NoSuchClass", "fractions:", "fractions:Fraction.no_part"],
)
def test_a_class_that_cannot_be_loaded_is_refused(place):
    with pytest.raises(ConfigError) as caught:
        load_plug_in("number", "half", place, ())
    assert caught.value.name == "number"
    assert caught.value.value == "half"
    assert caught.value.__cause__ is not None


@pytest.mark.parametrize(("place", "part"), [(PLACE, "no_part"), ("math:pi", "real")])
def test_what_lacks_a_part_or_is_no_class_is_refused(place, part):
    with pytest.raises(ConfigError) as caught:
        load_plug_in("number", "half", place, (part,), key="numbers")
    assert caught.value.name == "numbers"
    assert caught.value.__cause__ is None


def test_an_object_that_cannot_be_made_is_refused():
    with pytest.raises(ConfigError):
        load_plug_in("number", "one", "enum:Enum", (), makes=True)
