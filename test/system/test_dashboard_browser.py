"""The page in a real browser, in front of a simulated arm under a real controller."""

import signal
from itertools import cycle
from urllib.parse import urlsplit

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="needs ROS 2 (rclpy)")
pytest.importorskip("mujoco", reason="the simulator needs MuJoCo")
pytest.importorskip("viser", reason="the page needs viser")

from browser import chromium
from camera import Camera
from dashboard_support import HOME
from dashboard_system import ACTIVE, GONE, SLIDER, STOPPED, System

from robot_control_ros.ros.messages import read_pose

pytestmark = [
    pytest.mark.ros,
    pytest.mark.sim,
    pytest.mark.limit(240),
    pytest.mark.alone,  # it draws in software, which takes both processors
    pytest.mark.skipif(
        chromium() is None, reason="needs Chromium: apt-get install chromium, or set CHROMIUM"
    ),
]

SIDE = Camera((0.0, -2.0, 0.25), (0.0, 0.0, 0.25))  # x to the right, z up
STIFFNESS = [500.0] * 3 + [50.0] * 3
MOTION = 8.0  # s; a motion of these tests takes less
CONNECTING = "document.querySelector('.mantine-Loader-root') !== null"


def shown(browser):
    """The stiffness, as it is written on the page."""
    return browser.find(SLIDER, "input", "found.value")


@pytest.fixture
def opened(ros):
    """The system with the arm at rest at home, and a browser with its page."""
    system = System(ros, SIDE, 1030, 490)
    with system.open() as browser:
        browser.wait(lambda: not browser.evaluate(CONNECTING), "a page that is connected")
        bring_home(system, lambda: system.ros.trigger("/controller/go_home"))
        yield system, browser


def bring_home(system, ask):
    """Ask for home, and again where a machine that stalled for 0.1 s has ended the motion."""

    def at_home():
        return all(
            np.abs(system.pose(topic) - HOME).max() < 0.005 for topic in ("reference_pose", "pose")
        )

    system.ros.until(at_home, "reference and arm at home", ask, period=MOTION)


def test_a_drag_a_slider_and_stop_reach_the_controller_and_nothing_is_asked_of_elsewhere(opened):
    """In one test, as it takes long until a browser has drawn the arm."""
    system, browser = opened
    addresses = [urlsplit(each) for each in browser.requests]
    assert {each.scheme for each in addresses} >= {"http", "ws"}
    assert {each.hostname for each in addresses if each.scheme not in ("data", "blob")} == {
        "127.0.0.1"
    }
    assert browser.complaints == []
    goal = HOME[:3, 3] + [0.0, 0.0, 0.1]

    def drag():
        """From where the reference is. A stall of the machine ends a drag: so again, if the arm
        doesn't come there.
        """
        way = goal - system.pose("reference_pose")[:3, 3]
        places = [system.grip(browser, share * way) for share in (0.0, 0.3, 0.6, 1.0)]
        with browser.holding(*places[0]) as move:
            for place in places[1:]:
                move(*place)
            browser.rest(0.3)  # a target is sent with each drawing

    system.targets.messages.clear()
    system.ros.until(
        lambda: np.abs(system.tip() - goal).max() < 0.008, f"the arm at {goal}", drag, period=MOTION
    )
    assert last_target(system) == pytest.approx(goal, abs=0.005)

    def slide():
        """The page drops what a browser sent before a stall of the machine: so again, if
        nothing comes of it.
        """
        thumb, track = (
            browser.box(SLIDER, "[role=slider]"),
            browser.box(SLIDER, ".mantine-Slider-track"),
        )
        with browser.holding(*thumb.centre) as move:
            move(track.x + 0.75 * track.width, track.centre[1])

    system.ros.until(
        lambda: system.stiffness()[0] != 500.0, "another stiffness", slide, period=MOTION
    )
    system.ros.until(lambda: system.stiffness()[0] == float(shown(browser)), "the one shown")
    assert system.stiffness()[3:] == STIFFNESS[3:]
    assert system.stiffness()[:3] == pytest.approx([1500.0] * 3, abs=30.0)
    browser.click("STOP")
    system.ros.until(lambda: system.lifecycle() == "inactive", "an inactive controller")
    system.ros.until(lambda: browser.shows(STOPPED), "a page that says so")
    browser.click("Activate")
    system.ros.until(lambda: system.lifecycle() == "active", "an active controller")
    system.ros.until(lambda: browser.shows(ACTIVE), "a page that says so")
    page = system.children["dashboard"]
    assert page.end(signal.SIGTERM) == 0
    assert "Traceback" not in page.err


def last_target(system):
    return read_pose(system.targets.last.pose)[:3, 3]


@pytest.mark.long
def test_a_killed_controller_shows_and_a_new_one_and_a_page_started_again_are_found(opened):
    system, browser = opened
    browser.click("Soft")
    system.ros.until(lambda: system.stiffness()[0] == 100.0, "a soft arm")
    system.ros.until(lambda: shown(browser) == "100", "a page that says so")
    system.children["controller"].process.send_signal(signal.SIGKILL)
    browser.wait(lambda: browser.shows(GONE), "a page that says so")
    system.start_missing()
    system.ros.until(lambda: browser.shows(ACTIVE), "a page that has found it")
    system.ros.until(lambda: shown(browser) == "500", "the new one's stiffness")
    system.wait_for_answers()
    assert system.children["dashboard"].end(signal.SIGTERM) == 0
    browser.wait(lambda: browser.evaluate(CONNECTING), "a page that looks for its server")
    system.start_missing()
    browser.wait(
        lambda: not browser.evaluate(CONNECTING) and browser.shows(ACTIVE),
        "a page that has found it",
    )
    browser.click("Soft")
    system.ros.until(lambda: system.stiffness()[0] == 100.0, "a soft arm")


@pytest.mark.long
def test_a_second_browser_sees_what_the_first_does_and_dies_while_dragging(opened):
    system, first = opened
    with system.open() as second:
        first.click("Stiff")
        system.ros.until(lambda: shown(second) == "1500", "the second to tell of it")
        system.targets.messages.clear()
        start, end = system.grip(second), system.grip(second, (0.0, 0.0, 0.05))
        second.mouse("Moved", *start)
        second.mouse("Pressed", *start, held=True)
        second.mouse("Moved", *end, held=True)
        goal = HOME[:3, 3] + [0.0, 0.0, 0.05]
        system.ros.until(lambda: system.targets.messages, "a target")
        system.ros.until(
            lambda: np.abs(last_target(system) - goal).max() < 0.005, f"a target at {goal}"
        )
        ends = cycle([(end[0] + 1, end[1]), end])
        drag = lambda: second.mouse("Moved", *next(ends), held=True)  # noqa: E731  an arm that was held up waits for it
        system.ros.until(
            lambda: np.abs(system.tip() - goal).max() < 0.008, f"the arm at {goal}", drag
        )
    # where targets that went on would not let it stay
    bring_home(system, lambda: first.click("Go home"))
    assert system.lifecycle() == "active"
