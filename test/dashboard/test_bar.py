"""The bar on top of a page: what it tells each browser, and STOP."""

import json
from dataclasses import replace

import numpy as np
import pytest
from dashboard_support import HOME, connect, until

from robot_control_ros.control.requests import Parameter
from robot_control_ros.dashboard.link import Health
from robot_control_ros.dashboard.page import Page
from robot_control_ros.robot.model import RobotModel

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
    what, next_step = state["lost"].split("\n")
    assert (what, state["rate"]) == (link.state.lost, "")
    assert link.robot.profile.start in next_step
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
    link.arm, link.other_names, link.state = "left", ("right",), RUNNING
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


# --- speed, and what a browser looks at ---


def speeds(link):
    return [what[1]["limits.speed"] for what in link.asked if what[0] == "gains"]


def test_the_speed_of_moves_is_shown_and_set_by_who_controls_alone(page, link, bar, leading_bar):
    assert told(bar, lambda state: state["rate"])["speed"] is None  # the controller has none
    link.gains = link.gains | {
        "limits.speed": Parameter("limits.speed", 0.5, 1.0, "Speed.", "", 0.001, 1.0)
    }
    told(bar, lambda state: state["speed"] == 0.5)
    bar.send("speed 0.9")
    for refused in ("speed", "speed x", "speed nan", "speed -1", "speed 0", "speed 2", "speed 1 1"):
        leading_bar.send(refused)
    leading_bar.send("speed 0.2")
    told(bar, lambda state: state["speed"] == 0.2)
    assert speeds(link) == [0.2]


def test_of_many_speeds_the_last_one_counts(page, link, leading_bar):
    link.gains = link.gains | {
        "limits.speed": Parameter("limits.speed", 1.0, 1.0, "Speed.", "", 0.001, 1.0)
    }
    for percent in range(99, 9, -1):
        leading_bar.send(f"speed {percent / 100}")
    until(lambda: link.gains["limits.speed"].value == 0.1, "the last speed")


def test_a_browser_is_told_of_a_ball_around_the_whole_arm_and_its_target(page, link, bar):
    far = HOME.copy()
    far[:3, 3] += [0.5, 0.0, 0.0]
    balls = []
    for reference in (HOME, far):
        link.now = replace(link.now, reference=reference)
        view = told(
            bar,
            lambda state, place=reference: (
                state["view"] and is_in_ball(state["view"], place) and state["view"]
            ),
        )["view"]
        balls.append(view)
        model = RobotModel.of(link.robot)
        model.update(link.now.q, np.zeros(6))
        for name in (link.robot.base, "forearm_link", link.robot.tip):
            assert is_in_ball(view, model.frame_pose(name))
    assert balls[1]["radius"] > balls[0]["radius"]
    assert np.linalg.norm(balls[0]["towards"]) == pytest.approx(1.0, abs=1e-3)
    assert balls[0]["towards"][2] > 0.0  # from above


def is_in_ball(view, pose):
    return np.linalg.norm(pose[:3, 3] - view["centre"]) < view["radius"]
