"""A bounded number: what it takes, what it refuses with which fields, and its texts."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from refusals import refuses

from robot_control_ros.core.bounded import Bounded

NUMBERS = st.floats() | st.integers(-(10**400), 10**400)
PITCH = Bounded(default=0.01, above=0.0, upper=0.1, unit="m", doc="Way of one turn.")
COUNT = Bounded(default=2, lower=1, upper=4, whole=True, doc="Fingers; 1 holds nothing.")


@given(NUMBERS, NUMBERS, NUMBERS)
def test_what_is_within_the_bounds_is_taken_and_nothing_else(value, one, other):
    lower, upper = sorted((one, other), key=lambda each: (each != each, each))
    number = Bounded(lower=lower, upper=upper, doc="")
    finite = isinstance(value, int) or math.isfinite(value)
    assert number.contains(value) == (finite and lower <= value <= upper)
    assert not Bounded(above=value, doc="").contains(value)


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, True, "1", None, [1.0], 1j])
def test_what_is_no_finite_number_is_refused_without_bounds_too(value):
    with refuses("any", value, (-math.inf, math.inf)):
        Bounded(doc="").check("any", value)


@pytest.mark.parametrize(
    ("number", "value", "bound"),
    [
        (PITCH, 0.0, (0.0, 0.1)),
        (PITCH, 0.2, (0.0, 0.1)),
        (COUNT, 0, (1, 4)),
        (COUNT, 5, (1, 4)),
        (COUNT, 2.0, (1, 4)),
        (Bounded(lower=0.0, doc=""), -1.0, (0.0, math.inf)),
    ],
)
def test_a_refusal_has_name_value_and_bound(number, value, bound):
    with refuses("pitch", value, bound):
        number.check("pitch", value)


def test_a_checked_value_has_the_type_of_its_declaration():
    assert isinstance(PITCH.check("pitch", 0.05), float)
    assert isinstance(Bounded(upper=5.0, doc="").check("force", 3), float)
    assert isinstance(COUNT.check("count", 3), int)


@pytest.mark.parametrize(
    ("number", "text", "value"),
    [(PITCH, "5e-2", 0.05), (COUNT, "3", 3), (COUNT, "0x3", 3), (COUNT, " 4 ", 4)],
)
def test_a_text_is_read_as_its_number(number, text, value):
    assert number.parse("any", text) == value


@pytest.mark.parametrize(
    ("number", "text", "value"),
    [(PITCH, "wide", "wide"), (PITCH, "nan", math.nan), (COUNT, "2.0", "2.0"), (COUNT, "9", 9)],
)
def test_a_text_of_no_such_number_is_refused(number, text, value):
    with refuses("any", value, number.bound):
        number.parse("any", text)


@pytest.mark.parametrize(
    ("number", "expected"),
    [
        (PITCH, "a finite number above 0 and up to 0.1 [m]"),
        (COUNT, "a whole number from 1 to 4"),
        (Bounded(doc=""), "a finite number"),
        (Bounded(lower=0.0, unit="s", doc=""), "a finite number, 0 or more [s]"),
        (Bounded(above=0.0, doc=""), "a finite number above 0"),
        (Bounded(lower=-1.0, upper=2.5, doc=""), "a finite number from -1 to 2.5"),
    ],
)
def test_what_is_expected_is_said_in_words(number, expected):
    assert number.expected() == expected


@pytest.mark.parametrize(
    ("doc", "text"),
    [
        ("Joint states per second.", "Joint states per second [Hz]."),
        ("Samples on ~/state; 0 for none.", "Samples on ~/state [Hz]; 0 for none."),
        ("Rate. 0 is none; it costs time.", "Rate [Hz]. 0 is none; it costs time."),
        ("From 0.5 times the rate on.", "From 0.5 times the rate on [Hz]."),
        ("of control", "of control [Hz]"),
    ],
)
def test_the_unit_stands_at_the_end_of_the_first_clause(doc, text):
    assert Bounded(unit="Hz", doc=doc).text() == text
    assert Bounded(doc=doc).text() == doc
