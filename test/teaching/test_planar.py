"""The planar arm's page over its websocket."""

import numpy as np
import pytest
from dashboard_support import text, until

from robot_control_ros.core.errors import ConfigError
from robot_control_ros.teaching.planar.planar_page import PlanarPage

KINEMATICS, PD = "○ Kinematics", "○ Impedance"  # as they are to be chosen


@pytest.fixture
def page(web):
    made = PlanarPage()
    yield made
    made.close()


def node(page, name):
    return page.server.scene._handle_from_node_name[name]


def drag(browser, name, *points):
    browser.drag_node(name, "start", (*points[0], 0.0))
    for point in points:
        browser.drag_node(name, "update", (*point, 0.0))
    browser.drag_node(name, "end", (*points[-1], 0.0))


def draggable(page):
    return [name for name in ("/B", "/E", "/target") if node(page, name)._impl.drag_cb]


def choose_pd(browser, page):
    browser.set("Mode", PD)
    until(lambda: draggable(page) == ["/target"], "the target to be free")


def at(page, name, point, within=1e-6):
    return np.allclose(node(page, name).position[:2], point, atol=within)


def test_in_kinematics_mode_the_joints_are_dragged_and_the_target_follows(browser, page):
    assert "kinematics: drag the joints B and E" in until(lambda: text(page), "the first drawing")
    drag(browser, "/B", (0.5, 0.9), (2.0, 0.0))
    until(lambda: at(page, "/B", (1.0, 0.0)) and at(page, "/E", (2.0, 0.0)), "B at the right")
    drag(browser, "/E", (1.0, -3.0))
    until(
        lambda: at(page, "/E", (1.0, -1.0)) and at(page, "/target", (1.0, -1.0)),
        "E below, with its target",
    )
    np.testing.assert_allclose(node(page, "/BE").position[:2], [1.0, 0.0], atol=1e-6)
    half = -np.pi / 4.0  # of the second link's angle to x
    np.testing.assert_allclose(
        node(page, "/BE").wxyz, [np.cos(half), 0.0, 0.0, np.sin(half)], atol=1e-6
    )


@pytest.mark.long
def test_in_pd_mode_the_arm_follows_the_dragged_target(browser, page):
    choose_pd(browser, page)
    until(lambda: "Impedance: drag the target" in text(page), "its text")
    drag(browser, "/target", (0.5, 1.5), (1.2, 0.8))
    until(lambda: at(page, "/target", (1.2, 0.8)), "the target there")
    until(lambda: at(page, "/E", (1.2, 0.8), 1e-3), "the tip there, too")
    drag(browser, "/target", (6.0, 8.0))
    until(lambda: at(page, "/target", (1.2, 1.6)), "the target at the rim")


def test_only_what_the_mode_allows_is_dragged(browser, page):
    until(lambda: draggable(page) == ["/B", "/E"], "the joints")
    choose_pd(browser, page)
    browser.set("Mode", KINEMATICS)
    until(lambda: draggable(page) == ["/B", "/E"], "the joints again")


def test_the_torques_have_two_decimals(browser, page):
    browser.set("Pause", True)
    until(lambda: "(paused)" in text(page), "the pause")
    browser.set("Mode", PD)
    until(lambda: not browser.handle("Target [m]").disabled, "a target to type")
    browser.set("Target [m]", (1.2, 0.8))
    until(lambda: "-120.00, -60.00" in text(page), "the source's torques")
    assert "Time [s] 0.00" in text(page)  # time stands still
    browser.set("Pause", False)
    until(lambda: page.arm.time > 0.1, "time to go on")


def test_the_targets_numbers_are_those_in_force_also_where_others_were_typed(browser, page):
    choose_pd(browser, page)
    field = browser.handle("Target [m]")
    browser.set("Target [m]", (1.2, 2.0))
    rim = 2.0 * np.array([1.2, 2.0]) / np.hypot(1.2, 2.0)
    until(lambda: at(page, "/target", rim), "the target at the rim")
    until(lambda: "out of reach" in text(page), "the refusal in words")
    assert field.value == pytest.approx(rim, abs=1e-3)
    browser.set("Target [m]", (1.2, 0.8))
    until(lambda: at(page, "/target", (1.2, 0.8)), "the target there")
    drag(browser, "/target", (-0.25, 0.5))
    until(lambda: field.value == (-0.25, 0.5), "the numbers of where it was dragged")


def test_sliders_and_choices_are_the_settings(browser, page):
    for label, value in (
        ("Kp [N/m]", 300),
        ("Kd [N·s/m]", 30),
        ("M [kg]", 2.5),
        ("Wall", True),
        ("Wall at x [m]", 0.5),
        ("Stiffness [N/m]", 1000),
        ("Inertia [kg·m²]", "1/12"),
        ("Integrator", "with a dt²/2"),
    ):
        browser.set(label, value)
    until(lambda: page.arm.settings.taylor, "the last one")
    settings = page.arm.settings
    assert (settings.stiffness, settings.damping, settings.inertia) == (300.0, 30.0, 2.5)
    assert (settings.wall, settings.wall_x, settings.wall_stiffness) == (True, 0.5, 1000.0)
    assert settings.link_inertia == 1.0 / 12.0


@pytest.mark.long
def test_the_two_laws_are_switched_with_their_gains_and_words(browser, page):
    choose_pd(browser, page)
    until(
        lambda: browser.handle("Kp [N/m]").visible and not browser.handle("Kp [N/m]").disabled,
        "the tip's gains",
    )
    browser.set("Target [m]", (1.2, 0.8))
    browser.set("Mode", "○ Joint PD")
    until(lambda: browser.handle("Kq [N·m/rad]").visible, "the joints' gains")
    assert not browser.handle("Kp [N/m]").visible
    browser.set("Dq [N·m·s/rad]", 20)
    until(lambda: "Dq 20 N·m·s/rad" in text(page), "the gain in the equation")
    until(lambda: at(page, "/E", (1.2, 0.8), 2e-3), "the tip at the target")
    browser.set("Mode", KINEMATICS)
    until(lambda: browser.handle("Kq [N·m/rad]").disabled, "no gain in force")


def test_the_wall_can_be_set_only_if_it_is_there(browser, page):
    until(lambda: browser.handle("Wall at x [m]").disabled, "no wall")
    browser.set("Wall", True)
    until(lambda: not browser.handle("Wall at x [m]").disabled, "the wall")


@pytest.mark.parametrize(
    ("label", "lower", "upper", "step", "start"),
    [("Kp [N/m]", 0, 300, 5, 50), ("Kd [N·s/m]", 0, 30, 1, 5)],
)
def test_ranges_are_the_sources(browser, label, lower, upper, step, start):
    slider = browser.handle(label)
    assert (slider.min, slider.max, slider.step, slider.value) == (lower, upper, step, start)


@pytest.mark.long
def test_the_wall_shows_and_its_force_is_an_arrow(browser, page):
    browser.set("Wall", True)
    until(lambda: node(page, "/wall").visible, "the wall")
    browser.set("Wall at x [m]", 0.5)
    until(lambda: node(page, "/wall").position[0] == 0.7, "its left side there")
    choose_pd(browser, page)
    drag(browser, "/target", (1.05, 0.8))
    until(lambda: "Contact force [N] 25.0" in text(page), "50 * 0.55 / 1.1 N")
    start, end = node(page, "/contact").points[0]
    np.testing.assert_allclose(end - start, [-0.5, 0.0, 0.0], atol=0.01)  # 1 m for 50 N
    assert node(page, "/contact/label").text == "contact 25 N"


def test_the_trajectory_is_drawn_and_cleared(browser, page):
    def pieces():
        return [
            name
            for name in list(page.server.scene._handle_from_node_name)
            if name.startswith("/trail/")
        ]

    browser.set("Show trajectory", True)
    until(lambda: browser.handle("Show trajectory").value, "the trail")
    choose_pd(browser, page)
    drag(browser, "/target", (1.2, 0.8))
    until(lambda: len(pieces()) > 1, "two pieces of it")
    browser.set("Show trajectory", False)
    until(lambda: not browser.handle("Show trajectory").value, "its end")
    browser.set("Trajectory", "Clear")
    until(lambda: not pieces(), "none")


def test_reset_brings_the_arm_upright_and_keeps_the_target(browser, page):
    choose_pd(browser, page)
    drag(browser, "/target", (1.2, 0.8))
    until(lambda: page.arm.tip[1] < 1.5, "some motion")
    browser.set("Pause", True)
    browser.set("Arm", "Reset")
    until(lambda: at(page, "/E", (0.0, 2.0)), "the arm upright")
    assert at(page, "/target", (1.2, 0.8))


def test_an_arm_that_got_too_fast_is_reported(browser, page):
    page.thread.post(lambda: page.arm.change(wall=True, wall_x=-1.5, wall_stiffness=1e6))
    browser.set("Mode", PD)
    until(lambda: "10 ms are too long a step" in text(page), "the message")
    page.thread.post(lambda: page.arm.change(wall=False))
    browser.set("Arm", "Reset")
    until(lambda: "Impedance: drag the target" in text(page), "all well again")


# --- the server ---


@pytest.mark.parametrize(
    ("host", "port", "name", "value"),
    [("127.0.0.1", 70000, "port", 70000), ("192.0.2.1", 8080, "host", "192.0.2.1")],
)
def test_where_nobody_can_listen_is_refused(host, port, name, value):
    with pytest.raises(ConfigError) as refused:
        PlanarPage(host, port)
    assert (refused.value.name, refused.value.value) == (name, value)
