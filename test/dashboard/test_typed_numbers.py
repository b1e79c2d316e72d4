"""Numbers that are typed into fields: taken over as a whole, or refused, and the value
in force shown again.
"""

import json

import pytest
from dashboard_support import Browser, connect, text, until

from robot_control_ros.core.errors import ConfigError
from robot_control_ros.dashboard.link import Health
from robot_control_ros.dashboard.typed_numbers import TypedNumber, checked_number
from robot_control_ros.teaching.planar.planar_page import PlanarPage

LABEL = "Stiffness [N/m]"


class Field:
    """A field of a page, as the page's own script sees it."""

    def __init__(self, page, label, index=0, address=""):
        self.browser = Browser(page)
        self.handle, self.index = self.browser.handle(label), index
        self.bar = connect((address or page.address).replace("/?", "/bar?"))

    def type(self, typed):
        """What the script sends at Enter."""
        message = {"control": self.handle._impl.uuid, "index": self.index, "text": typed}
        self.bar.send(f"number {json.dumps(message)}")

    def close(self):
        self.bar.close()
        self.browser.socket.close()


@pytest.fixture
def field(page):
    made = Field(page, LABEL)
    yield made
    made.close()


@pytest.mark.parametrize(
    ("typed", "number"), [("300", 300.0), ("1e3", 1000.0), (" 7 ", 7.0), ("0", 0.0)]
)
def test_a_number_is_taken_over_once_and_as_a_whole(field, link, typed, number):
    field.type(typed)
    until(lambda: link.asked, "the gain")
    assert link.asked == [("gains", {"stiffness": (number,) * 3 + (50.0,) * 3})]
    assert field.handle.value == number


@pytest.mark.parametrize(
    "typed", ["", " ", "abc", "1e", "nan", "inf", "-1", "2001", "1e300", "0.5", "1_0", "3,5"]
)
def test_what_is_no_possible_number_is_refused_in_words_and_changes_nothing(
    field, page, link, typed
):
    field.type(typed)
    until(lambda: f"refused: {LABEL}" in text(page), "the refusal")
    assert link.asked == []
    assert field.handle.value == 500.0


def test_what_the_node_refuses_is_replaced_by_the_value_in_force(field, page, link):
    link.refusal = "no such stiffness"
    field.type("300")
    until(lambda: "no such stiffness" in text(page), "the refusal")
    until(lambda: field.handle.value == 500.0, "the value in force")


def test_every_browser_sees_a_typed_number(field, page, link):
    other = Browser(page)
    field.type("321")
    until(lambda: link.asked, "the gain")
    assert other.sees(b"321") or other.handle(LABEL).value == 321.0
    other.socket.close()


def test_a_field_of_a_control_that_cannot_act_takes_nothing(field, page, link):
    link.state = Health(answers=False, silence=1.0)
    until(lambda: field.handle.disabled, "a disabled control")
    field.type("300")
    until(lambda: f"refused: {LABEL}" in text(page), "the refusal")
    assert link.asked == []


def test_who_only_looks_on_types_nothing(page, link):
    looking, leading = Field(page, LABEL, address=page.look_address), Field(page, LABEL)
    looking.type("300")
    looking.bar.send("stop")
    until(lambda: link.asked == ["stop"], "STOP, which came later")
    leading.type("400")
    until(lambda: len(link.asked) == 2, "the gain of one who controls")
    assert link.asked[1][1]["stiffness"][0] == 400.0
    for each in (looking, leading):
        each.close()


def test_a_field_without_a_slider_takes_numbers_within_its_bounds_and_no_other_text(page, web):
    level = Field(page, "Level")
    level.type("-1e3")
    until(lambda: level.handle.value == -1000.0, "the number")
    for typed in ("nan", "inf", "x", "0.00001", "1e7", "-1e7"):
        level.type(typed)
        web.wait(0.5)
        assert "refused: Level" in text(page)
        assert level.handle.value == -1000.0
    level.browser.set("Level", 0.5)  # its buttons send numbers
    until(lambda: level.handle.value == 0.5, "a step")
    for value in (float("nan"), "7", True, None, 1e7):
        level.browser.set("Level", value)
    web.wait(0.5)
    assert level.handle.value == 0.5
    level.close()


def test_each_number_of_a_vector_has_its_field_and_its_bounds(web):
    page = PlanarPage()
    try:
        x, y = Field(page, "Target [m]"), Field(page, "Target [m]", 1)
        x.browser.set("Mode", "○ Joint PD")
        until(lambda: not x.handle.disabled, "a target to type")
        y.type("0.8")
        until(lambda: x.handle.value == (0.0, 0.8), "the second number")
        for field, typed in ((x, "9"), (x, ""), (Field(page, "Target [m]", 7), "0.1")):
            field.type(typed)
            web.wait(0.5)
            assert "Target [m] = " in text(page)  # the refusal
            assert x.handle.value == (0.0, 0.8)
    finally:
        page.close()


@pytest.mark.parametrize(
    "message",
    [
        "",
        "null",
        "[]",
        "{",
        "{}",
        '{"control": 1, "index": 0, "text": "1"}',
        '{"control": "a", "index": true, "text": "1"}',
        '{"control": "a", "index": 0, "text": "1", "more": 1}',
        json.dumps({"control": "a", "index": 0, "text": "1" * 2000}),
        "[" * 100_000,
    ],
)
def test_messages_of_other_kinds_are_no_typed_numbers(message):
    assert TypedNumber.read(message) is None


def test_a_refused_number_names_the_field_the_value_and_the_bound():
    with pytest.raises(ConfigError) as refused:
        checked_number(LABEL, "9", 0.0, 5.0, 1)
    assert (refused.value.name, refused.value.value, refused.value.bound) == (
        LABEL,
        9.0,
        (0.0, 5.0),
    )
    with pytest.raises(ConfigError) as refused:
        checked_number(LABEL, "0.25", 0.0, 5.0, 1)
    assert refused.value.bound == pytest.approx(0.1)
