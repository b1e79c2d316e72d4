"""The bar on top of a page: what it tells each browser, and STOP."""

import json
from dataclasses import replace

import pytest
from dashboard_support import connect, until

from robot_control_ros.dashboard.link import Health
from robot_control_ros.dashboard.page import Page

RUNNING = Health(True, 0.0, "active", diagnosis={"rate [Hz]": "499.6"})


@pytest.fixture
def bar(page, link):
    link.state = RUNNING
    with connect(page.look_address.replace("/?", "/bar?")) as made:
        yield made


def told(bar, what):
    """The first state of which something is true."""
    return until(
        lambda: next((state for state in [json.loads(bar.recv())] if what(state)), None), "a state"
    )


def test_a_browser_that_only_looks_on_stops_the_robot_and_ends_a_drag(page, link, bar):
    page.target.drag.held = True
    bar.send("stop")
    until(lambda: link.asked == ["stop"], "STOP")
    until(lambda: not page.target.drag.held, "the end of a drag")
    bar.send("go_home")
    bar.send(b"\x00")
    bar.send("stop")
    until(lambda: len(link.asked) == 2, "another STOP")
    assert link.asked == ["stop", "stop"]


@pytest.mark.parametrize("lost", [{"answers": False}, {"robot_silence": 2.0}])
def test_a_lost_controller_or_robot_is_told_and_ends_a_drag(page, link, bar, lost):
    state = told(bar, lambda state: state["rate"])
    assert (state["state"], state["law"], state["rate"], state["lost"]) == (
        "active",
        "impedance",
        "500 Hz",
        "",
    )
    page.target.drag.held = True
    link.state = replace(RUNNING, **lost)
    state = told(bar, lambda state: state["lost"])
    assert (state["lost"], state["rate"]) == (link.state.lost, "")
    assert not page.target.drag.held
    link.state = RUNNING
    told(bar, lambda state: not state["lost"] and state["rate"] == "500 Hz")


def test_a_page_that_draws_no_more_tells_nothing(page, bar):
    def read():
        for _ in range(20):
            bar.recv(timeout=5.0)

    read()
    page.thread.close()
    with pytest.raises(TimeoutError):
        read()


@pytest.fixture
def leading_bar(page, link):
    """The bar of a browser that may control."""
    link.state = RUNNING
    with connect(page.address.replace("/?", "/bar?")) as made:
        yield made


def test_the_bar_names_the_arm_and_the_others_and_stops_all_of_them(web, link):
    link.arm, link.neighbours, link.state = "left", ("right",), RUNNING
    made = Page(link)
    try:
        with connect(made.look_address.replace("/?", "/bar?")) as bar:
            state = told(bar, lambda state: state["rate"])
            assert state["arm"] == "left · ur5"
            assert state["others"] == ["right"]
            bar.send("stop all")
            until(lambda: link.asked == ["stop all"], "STOP of all arms")
            bar.send("stop")
            until(lambda: link.asked == ["stop all", "stop"], "STOP of this arm")
    finally:
        made.close()


def test_after_stop_the_bar_says_who_pressed_it_and_only_who_controls_activates(
    page, link, bar, leading_bar
):
    link.state = replace(RUNNING, lifecycle="inactive", stopped="stopped by the page")
    looking, leading = (told(each, lambda state: state["activates"]) for each in (bar, leading_bar))
    assert looking["state"].startswith("stopped by the page")
    assert looking["level"] == "warning"
    assert (looking["controls"], leading["controls"]) == (False, True)
    bar.send("activate")
    bar.send("stop")  # which the page takes after it
    until(lambda: link.asked, "STOP")
    leading_bar.send("activate")
    until(lambda: link.asked == ["stop", "activate"], "an activation")


def test_an_active_controller_offers_no_activation(page, link, bar):
    assert not told(bar, lambda state: state["rate"])["activates"]


def test_an_error_of_an_active_controller_is_in_the_bar_as_somebody_else_who_commands(
    page, link, bar
):
    words = "intruder publishes commands on /forward_effort_controller/commands, too"
    link.state = replace(RUNNING, problem=words, alarm=True)
    state = told(bar, lambda state: state["level"] != "good")
    assert state["level"] == "warning"
    assert words in state["state"]


def test_a_flood_of_deflections_is_dropped_and_stop_still_works(page, link, leading_bar):
    for _ in range(5000):
        leading_bar.send("jog 1 0 0 0 0 0")
    leading_bar.send("stop")
    until(lambda: link.asked == ["stop"], "STOP")
