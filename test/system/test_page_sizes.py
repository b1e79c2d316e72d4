"""The page in Chromium on a phone, a tablet and a desk: the arm in sight, camera, keyboard, dark."""

import json

import numpy as np
import pytest

pytest.importorskip("viser", reason="the page needs viser")

from axe import load_axe, needs_axe, serious
from browser import chromium
from dashboard_support import HOME
from page_sizes import (
    DESK,
    LAPTOP,
    PANELS,
    PHONE,
    PHONE_ASIDE,
    REST,
    RUNNING,
    SHEET,
    SIZES,
    TABLET,
    TABLET_ASIDE,
    in_picture,
    open_all,
    open_sheet,
    opened,
    resize,
    robot,
)

from robot_control_ros.robot.model import RobotModel

pytestmark = [
    pytest.mark.alone,  # a browser draws in software, which takes both processors
    pytest.mark.limit(600),
    pytest.mark.skipif(
        chromium() is None, reason="needs Chromium: apt-get install chromium, or set CHROMIUM"
    ),
]

SMALL = (PHONE, PHONE_ASIDE, TABLET, TABLET_ASIDE)
LARGE = (LAPTOP, DESK)
TAB_STOPS = 10
MAIN = {"stop", "home-view", "speed-value", "Hold here", "Soft", "Force [N]"}
IN_SIGHT = """(each => { const at = each.getBoundingClientRect();
  return at.x >= 0 && at.y >= 0 && at.right <= innerWidth && at.bottom <= innerHeight && at.width > 0
    && each.contains(document.elementFromPoint(at.x + at.width / 2, at.y + at.height / 2)); })(
  document.getElementById("ID"))"""
LINES = """(each => each.getBoundingClientRect().height / parseFloat(getComputedStyle(each).fontSize))(
  document.getElementById("bar-state"))"""
WIDTH = "document.querySelector('canvas[data-engine]').clientWidth / innerWidth"
SCHEME = "document.documentElement.dataset.mantineColorScheme"
# Heights above the floor of the camera, and of what it looks at.
CAMERA = """(({ camera, cameraControl }) => {
  const at = cameraControl.getPosition(camera.position.clone()), aim = cameraControl.getTarget(camera.position.clone());
  return [at.y, aim.y]; })(window.__viserMutable)"""
PREFERS_DARK = [{"name": "prefers-color-scheme", "value": "dark"}]
STOPPED = {"lifecycle": "inactive", "stopped": "stopped by the page"}
FOCUSED = """(each => each.closest("#status-bar") ? each.id : each.ariaLabel || each.innerText)(
  document.activeElement)"""
OUTLINED = "getComputedStyle(document.activeElement).outlineStyle !== 'none'"
COLOURS = "document.documentElement.setAttribute('data-mantine-color-scheme', SCHEME)"
MARK = "addEventListener('focusin', event => { event.target.dataset.reached = ''; })"
# A key that opens what has the focus, where it is closed: a sheet, a folder, a panel, a switch of a panel.
OPENS = """((each, panels) => {
  if (each.nextElementSibling?.inert || each.matches("[role=button][aria-expanded=false]")) return "Enter";
  const row = each.matches("input[type=checkbox]:not(:checked)") && each.closest(":has(label)");
  return row && panels.includes(row.querySelector("label").textContent.trim()) ? " " : "";
})(document.activeElement, PANELS)"""
# What a mouse can press and the focus hasn't been at. One of a group, or of a row of tabs, stands for all.
NOT_REACHED = """(() => {
  const CONTROL = "button, input, select, textarea, a, [role=button], [role=tab], [role=slider]";
  const GROUP = "[role=group], [role=tablist], label, .mantine-Slider-root";
  const seen = each => each.checkVisibility({ visibilityProperty: true }) && each.offsetWidth > 0;
  const pointer = each => getComputedStyle(each).cursor === "pointer";
  const reached = each => each.closest(CONTROL)?.matches("[data-reached]")
    || (each.closest(GROUP) ?? each).querySelector("[data-reached]");
  return [...document.querySelectorAll("#status-bar *, #root *")]
    .filter(each => each.matches(CONTROL) || pointer(each) && !pointer(each.parentElement))
    .filter(each => seen(each) && !each.disabled && !reached(each)).map(each => each.outerHTML.slice(0, 200));
})()"""
MOST_STOPS = 400


def in_sight(browser, name):
    return browser.evaluate(IN_SIGHT.replace("ID", name))


def joints_and_target():
    """Origins of the arm's links at home, its tip and its target among them."""
    link = robot()
    model = RobotModel.of(link.robot)
    model.update(np.array(link.robot.home), np.zeros(link.robot.n))
    names = ("base_link", "upper_arm_link", "forearm_link", "wrist_1_link", "wrist_3_link")
    return [*(model.frame_pose(name)[:3, 3] for name in names), HOME[:3, 3]]


def check_size(browser, link, size):
    """The whole arm and what one needs at once are in sight."""
    resize(browser, size)
    hidden = [point.tolist() for point in joints_and_target() if not in_picture(browser, point)]
    assert hidden == [], f"{size}: not in the picture: {hidden}"
    for name in ("stop", "home-view", "speed-value", "bar-state"):
        assert in_sight(browser, name), f"{size}: {name} isn't in sight"
    assert browser.evaluate(LINES) < 2.0, f"{size}: the state has more than one line"
    assert browser.evaluate(SHEET) == ("closed" if size in SMALL else ""), size


def test_the_whole_arm_stop_and_the_bar_are_in_sight_on_a_phone_that_is_turned():
    link = robot()
    with opened(link, PHONE) as (_, browser):
        for size in (PHONE, PHONE_ASIDE):
            check_size(browser, link, size)
        link.state = replaced(STOPPED)
        browser.wait(lambda: in_sight(browser, "activate"), "Activate in sight")
        link.other_names = ("right",)
        resize(browser, PHONE)
        for name in ("stop", "stop-one", "activate", "home-view"):
            browser.wait(lambda name=name: in_sight(browser, name), f"{name} beside the others")
        browser.click("Activate")
        browser.wait(lambda: "activate" in link.asked, "an activation")


@pytest.mark.long
@pytest.mark.parametrize("size", [TABLET, TABLET_ASIDE, LAPTOP, DESK])
def test_the_whole_arm_stop_and_the_bar_are_in_sight_at_each_further_size(size):
    link = robot()
    with opened(link, size) as (_, browser):
        check_size(browser, link, size)


def replaced(values):
    return type(RUNNING)(**{**vars(RUNNING), **values})


def test_a_desk_keyboard_camera_and_plots():
    """In one test, as it takes long until a browser has drawn the arm."""
    link = robot("force_control")
    with opened(link, LAPTOP) as (_, browser):
        check_keyboard(browser)
        check_camera(browser)
        browser.click("Plots", "input[type=checkbox]")
        browser.wait(lambda: browser.evaluate("document.querySelector('.uplot') !== null"), "plots")
        assert browser.evaluate(WIDTH) >= 0.6
        assert browser.complaints == []


def check_keyboard(browser):
    """The main things are within a few stops of Tab, each seen where it is."""
    reached = []
    for _ in range(TAB_STOPS):
        press(browser, "Tab", 9)
        reached.append(browser.evaluate(FOCUSED))
        assert browser.evaluate(OUTLINED), f"no outline at {reached[-1]}"
    assert set(reached) >= MAIN, reached


@needs_axe
@pytest.mark.parametrize(
    "size", [PHONE, *(pytest.param(size, marks=pytest.mark.long) for size in SIZES[1:])]
)
def test_axe_finds_nothing_serious_with_the_sheet_closed_open_and_with_all_open(size):
    with opened(robot(), size) as (_, browser):
        load_axe(browser)
        assert serious(browser) == []
        open_sheet(browser)  # with its folders closed
        assert serious(browser) == []
        open_all(browser)
        for scheme in ("light", "dark"):
            browser.evaluate(COLOURS.replace("SCHEME", json.dumps(scheme)))
            assert serious(browser) == [], scheme


@pytest.mark.long
@pytest.mark.parametrize("size", [PHONE, LAPTOP])
def test_all_that_a_mouse_can_press_is_reached_and_opened_by_keys(size):
    with opened(robot(), size) as (_, browser):
        browser.evaluate(f"{REST}; {MARK}")
        walk(browser, opens=True)
        browser.rest(1.0)
        walk(browser, opens=False)
        assert browser.evaluate(NOT_REACHED) == []
        assert browser.evaluate(SHEET) == ("open" if size in SMALL else "")
        assert browser.complaints == []


def walk(browser, opens):
    """Press Tab until the focus is at STOP again, where it begins."""
    script = OPENS.replace("PANELS", json.dumps(PANELS))
    for stop in range(MOST_STOPS):
        press(browser, "Tab", 9)
        if browser.evaluate("document.activeElement.id") == "stop" and stop > TAB_STOPS:
            return
        if browser.evaluate("document.activeElement === document.body"):
            continue  # the end of the page
        assert browser.evaluate(OUTLINED), browser.evaluate(FOCUSED)
        key = browser.evaluate(script) if opens else ""
        if key:
            press(browser, key, {"Enter": 13, " ": 32}[key])
            browser.rest(0.5)
    raise AssertionError(f"Tab doesn't come back to STOP in {MOST_STOPS} presses")


@pytest.mark.long
def test_a_gain_the_speed_stop_and_activate_by_keys():
    link = robot()
    with opened(link, LAPTOP) as (_, browser):
        browser.evaluate(REST)
        to(browser, "speed-value")
        press(browser, "ArrowLeft", 37)
        browser.wait(lambda: ("gains", {"limits.speed": 0.99}) in link.asked, "another speed")
        to(browser, "Soft")
        press(browser, "ArrowRight", 39)
        assert browser.evaluate(FOCUSED).endswith("Medium")
        press(browser, "ArrowRight", 39)
        press(browser, "Enter", 13)
        browser.wait(lambda: "stiffness" in link.asked[-1][1], "a stiffer arm")
        press(browser, "Escape", 27)
        browser.wait(lambda: link.asked[-1] == "stop", "STOP")
        link.state = replaced(STOPPED)
        browser.wait(lambda: in_sight(browser, "activate"), "Activate")
        to(browser, "activate")
        press(browser, "Enter", 13)
        browser.wait(lambda: link.asked[-1] == "activate", "an activation")


def to(browser, name):
    """Press Tab until what has this name has the focus."""
    for _ in range(MOST_STOPS):
        press(browser, "Tab", 9)
        if browser.evaluate(FOCUSED) == name:
            return
    raise AssertionError(f"Tab doesn't come to {name}")


def check_camera(browser):
    """A pointer that misses an arrow and goes far up leaves the camera above the floor."""
    x, y = 150.0, 400.0
    before = browser.evaluate(CAMERA)
    for _ in range(3):
        with browser.holding(x, y) as move:
            for height in range(0, 320, 40):
                move(x, y - height)
    browser.wait(lambda: browser.evaluate(CAMERA) != before, "another view")
    at, aim = browser.evaluate(CAMERA)
    assert aim >= 0.0
    assert at >= aim - 1e-6
    browser.click("Home view")
    browser.wait(
        lambda: np.allclose(browser.evaluate(CAMERA), before, atol=1e-3), "the view of before"
    )


def press(browser, key, code):
    text = {"text": {"Enter": "\r", " ": " "}[key]} if key in ("Enter", " ") else {}
    values = {"key": key, "code": "Space" if key == " " else key, "windowsVirtualKeyCode": code}
    browser.do("Input.dispatchKeyEvent", type="keyDown", **values, **text)
    browser.do("Input.dispatchKeyEvent", type="keyUp", **values)


@pytest.mark.long
def test_a_browser_that_prefers_a_dark_page_gets_one():
    with opened(robot(), PHONE) as (page, browser):
        assert browser.evaluate(SCHEME) == "light"
        browser.do("Emulation.setEmulatedMedia", features=PREFERS_DARK)
        browser.do("Page.navigate", url=page.address)
        browser.wait(lambda: browser.evaluate(SCHEME) == "dark", "a dark page")
