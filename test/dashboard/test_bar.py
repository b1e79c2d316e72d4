"""STOP and the state on top of the page, at every size, and words across the picture where something is lost."""

import os
import signal
import subprocess
import sys
import time
from contextlib import contextmanager
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
from browser import Browser, chromium
from dashboard_support import FakeLink, connect, free_port, has_ended, until, wire
from viser import _messages as messages

from robot_control_ros.dashboard.access import Access
from robot_control_ros.dashboard.joint.joint_page import JointPage
from robot_control_ros.dashboard.link import Health
from robot_control_ros.dashboard.page import Page
from robot_control_ros.dashboard.planar.planar_page import PlanarPage

pytestmark = pytest.mark.alone  # it draws in software, which takes both processors
in_browser = pytest.mark.skipif(chromium() is None, reason="needs Chromium: apt-get install chromium, or set CHROMIUM")
AXE = os.environ.get("AXE_CORE") or find_spec("axe_core_python")  # path of axe.min.js, or the package that has it

SIZES = [(320, 568), (844, 390), (1920, 1080)]
MORE_SIZES = [pytest.param(*size, marks=pytest.mark.long) for size in ((390, 844), (640, 480), (1280, 720))]
RUNNING = Health(True, 0.0, "active", diagnosis={"rate [Hz]": "499.6"})
KEYS = {"Tab": 9, "Escape": 27}
READY = "document.querySelector('canvas[data-engine]') && !document.querySelector('.mantine-Loader-root')"
IN_SIGHT = """(at => at.x >= 0 && at.y >= 0 && at.right <= innerWidth && at.bottom <= innerHeight && at.width > 0
  && document.elementFromPoint(at.x + at.width / 2, at.y + at.height / 2).closest(SELECTOR) !== null)(
  document.querySelector(SELECTOR).getBoundingClientRect())"""
TEXT = "document.querySelector('#bar-text').innerText"
LOST = "document.querySelector('#lost').innerText"
STALE = "document.body.classList.contains('stale')"
INERT = "document.querySelector('#root').inert"
PROMPT = """new Promise(done => { const began = performance.now();
  setTimeout(() => done(performance.now() - began < 50), 0); })"""
NAMED = """[...document.querySelectorAll('#root button, #root [role=slider]')]
  .every(each => each.ariaLabel || each.innerText)"""
FOCUSED = "document.activeElement.id"
PLOT = "document.querySelector('.uplot')"
FIELD = "document.querySelector('#root input:not([type=checkbox])')"
STOP_BOX = "(at => [at.x, at.y, at.width, at.height])(document.querySelector('#stop').getBoundingClientRect())"
SERIOUS = """axe.run().then(found => found.violations.filter(each => ["serious", "critical"].includes(each.impact))
  .flatMap(each => each.nodes.map(node => each.id + ": " + node.html.slice(0, 200))))"""


@pytest.fixture(scope="module")
def link():
    return FakeLink()


@pytest.fixture(scope="module")
def page(link):
    made = Page(link, port=free_port())
    yield made
    made.close()


@pytest.fixture(scope="module")
def window(page):
    with opened(page.address) as browser:
        yield browser


@pytest.fixture
def browser(window, link):
    link.state = RUNNING
    link.asked.clear()
    window.wait(lambda: "500 Hz" in window.evaluate(TEXT), "the rate")
    yield window
    link.state = RUNNING


@contextmanager
def opened(address, width=400, height=300):
    """A browser with the page; a small one draws several times faster."""
    with Browser(address, width, height) as made:
        made.wait(lambda: made.evaluate(READY), "the page")
        made.wait(lambda: made.evaluate(PROMPT), "a browser that has drawn")
        yield made


def resize(browser, width, height):
    browser.do("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
    browser.wait(lambda: browser.evaluate("[innerWidth, innerHeight]") == [width, height], "the new size")
    browser.wait(lambda: browser.evaluate(READY), "the page")


def press(browser, key):
    for kind in ("keyDown", "keyUp"):
        browser.do(
            "Input.dispatchKeyEvent", type=kind, key=key, code=key, windowsVirtualKeyCode={"Tab": 9}.get(key, 27)
        )


def in_sight(browser, selector):
    return browser.evaluate(IN_SIGHT.replace("SELECTOR", repr(selector)))


def click_stop(browser):
    x, y, width, height = browser.evaluate(STOP_BOX)
    assert min(width, height) >= 44
    for kind, held in (("Moved", False), ("Pressed", True), ("Released", False)):
        browser.mouse(kind, x + width / 2, y + height / 2, held=held)


def stops(link):
    return link.asked.count("stop")


# --- STOP ---


@in_browser
@pytest.mark.parametrize(("width", "height"), [*SIZES, *MORE_SIZES])
def test_stop_and_the_state_are_in_sight_at_every_size(browser, link, width, height):
    resize(browser, width, height)
    shown = ("#stop", "#bar-state", "#bar-details")
    browser.wait(lambda: all(in_sight(browser, each) for each in shown), "STOP and the state in sight")
    assert {"active", "impedance", "500 Hz"} <= set(browser.evaluate(TEXT).replace(" · ", "\n").split("\n"))
    click_stop(browser)
    until(lambda: stops(link) == 1, "STOP by a click")
    press(browser, "Escape")
    until(lambda: stops(link) == 2, "STOP by a key")


@in_browser
@pytest.mark.parametrize("width", [390, pytest.param(1280, marks=pytest.mark.long)])
def test_stop_is_in_sight_with_the_panel_folded_and_the_panel_keeps_its_place(browser, link, width):
    resize(browser, width, 800)
    browser.wait(lambda: browser.box("UR5 (CB3)"), "the panel")
    assert browser.box("UR5 (CB3)").y >= 56  # below the bar
    browser.click("UR5 (CB3)")
    assert in_sight(browser, "#stop")
    click_stop(browser)
    until(lambda: stops(link) == 1, "STOP")
    browser.click("UR5 (CB3)")


@in_browser
def test_the_key_stops_from_within_a_field_and_once_while_it_is_held(browser, link):
    resize(browser, 640, 360)
    browser.wait(lambda: browser.evaluate(f"{FIELD} !== null"), "a field")
    browser.evaluate(f"{FIELD}.focus()")
    press(browser, "Escape")
    until(lambda: stops(link) == 1, "STOP")
    browser.do("Input.dispatchKeyEvent", type="keyDown", key="Escape", autoRepeat=True)
    press(browser, "Escape")
    until(lambda: stops(link) == 2, "STOP of the second press")


@in_browser
def test_stop_is_the_first_that_tab_comes_to_and_enter_presses_it(page, link):
    link.asked.clear()
    with opened(page.address) as fresh:
        press(fresh, "Tab")
        assert fresh.evaluate(FOCUSED) == "stop"
        fresh.do("Input.dispatchKeyEvent", type="keyDown", key="Enter", text="\r", windowsVirtualKeyCode=13)
        until(lambda: stops(link) == 1, "STOP")


def test_a_browser_that_only_looks_on_stops_the_robot_and_ends_a_drag(page, link):
    link.asked.clear()
    page.target.drag.held = True
    with connect(page.look_address.replace("/?", "/bar?")) as viewer:
        viewer.send("stop")
        until(lambda: stops(link) == 1, "STOP")
        until(lambda: not page.target.drag.held, "the end of a drag")
        viewer.send("go_home")
        viewer.send(b"\x00")
        viewer.send("stop")
        until(lambda: stops(link) == 2, "another STOP")
    assert link.asked == ["stop", "stop"]


@pytest.mark.long
@in_browser
def test_the_joint_page_shows_its_plots_in_a_small_window():
    made = JointPage(port=free_port())
    try:
        with opened(made.address, 390, 844) as browser:
            browser.wait(
                lambda: browser.evaluate(f"{PLOT} !== null") and in_sight(browser, ".uplot"), "a plot in sight"
            )
            assert in_sight(browser, "#bar-state")
    finally:
        made.close()


# --- what is lost ---


@in_browser
@pytest.mark.parametrize("lost", [{"answers": False}, {"robot_silence": 2.0}])
def test_a_lost_controller_or_robot_is_told_across_the_picture_within_a_second(browser, page, link, lost):
    assert not browser.evaluate(STALE)
    page.target.drag.held = True
    began = time.monotonic()
    link.state = replace(RUNNING, **lost)
    browser.wait(lambda: browser.evaluate(STALE), "grey")
    assert time.monotonic() - began < 1.0
    assert browser.evaluate(LOST) == link.state.lost
    assert "Hz" not in browser.evaluate(TEXT)
    assert in_sight(browser, "#stop")
    until(lambda: not page.target.drag.held, "the end of a drag")
    link.state = RUNNING
    browser.wait(lambda: not browser.evaluate(STALE) and "500 Hz" in browser.evaluate(TEXT), "the page as before")


@contextmanager
def process(port):
    """A page in a process of its own."""
    program = Path(__file__).parents[1] / "support" / "page_process.py"
    child = subprocess.Popen([sys.executable, str(program), str(port)], stdout=subprocess.PIPE, text=True)
    try:
        assert child.stdout.readline() == "open\n"
        yield child
    finally:
        child.kill()
        child.wait()
        child.stdout.close()


@pytest.mark.long
@in_browser
def test_a_killed_server_is_told_within_a_second_and_a_new_one_found(tmp_path):
    port = free_port()
    address = Access.of_user().address("127.0.0.1", port)
    with process(port) as child, opened(address) as browser:
        browser.wait(lambda: "active" in browser.evaluate(TEXT), "the state")
        browser.wait(lambda: is_loaded(browser), "a page that answers at once")
        began = time.monotonic()
        child.kill()
        browser.wait(lambda: browser.evaluate(INERT), "a page that nobody can use")
        assert time.monotonic() - began < 1.0
        assert browser.evaluate(STALE)
        assert browser.evaluate("document.querySelector('#stop').disabled")
        assert "active" not in browser.evaluate(TEXT)
        child.wait()
        press(browser, "Escape")  # goes nowhere, now and later
        with process(port) as again:
            browser.wait(lambda: not browser.evaluate(STALE) and not browser.evaluate(INERT), "the page as before")
            click_stop(browser)
            assert again.stdout.readline() == "stop\n"
            again.kill()
            assert again.stdout.read() == ""  # one STOP alone


@pytest.mark.long
def test_what_a_browser_sent_while_the_server_stood_still_is_no_command():
    port = free_port()
    address = Access.of_user().address("127.0.0.1", port)
    with process(port) as child, connect(address) as viewer, connect(address.replace("/?", "/bar?")) as bar:
        drag(viewer, 0.1)
        while child.stdout.readline() != "target 0.1\n":
            pass
        child.send_signal(signal.SIGSTOP)
        for x in np.linspace(0.2, 0.9, 20):
            drag(viewer, float(x), begin=False)
        bar.send("stop")
        time.sleep(1.0)  # the length of the stall is what is tested
        child.send_signal(signal.SIGCONT)
        until(lambda: has_ended(viewer), "an end of the connection")
        lines = iter(child.stdout.readline, "stop\n")
        assert {*lines} <= {"target 0.1\n"}
        child.kill()
        assert {*child.stdout} <= {"target 0.1\n"}


def is_loaded(browser) -> bool:
    """Whether the page answers at once, twenty times: while it makes its first picture it answers nobody."""
    began = time.monotonic()
    return (
        all(browser.evaluate("!!document.querySelector('canvas')") for _ in range(20))
        and time.monotonic() - began < 0.5
    )


def drag(viewer, x, begin=True):
    sent = [messages.TransformControlsUpdateMessage("/target", (1.0, 0.0, 0.0, 0.0), (x, 0.0, 0.5))]
    if begin:
        sent.insert(0, messages.TransformControlsDragStartMessage("/target"))
    for message in sent:
        viewer.send(wire.msgspec.msgpack.encode(message.as_serializable_dict()))


# --- keyboard and screen reader ---


@in_browser
@pytest.mark.skipif(AXE is None, reason="needs axe-core: the extra `test`, or AXE_CORE=…/axe.min.js of the npm package")
@pytest.mark.parametrize(
    "kind", [JointPage, *(pytest.param(each, marks=pytest.mark.long) for each in (Page, PlanarPage))]
)
def test_axe_finds_nothing_serious(kind):
    made = kind(*([FakeLink()] if kind is Page else []), port=free_port())
    try:
        with opened(made.address, 390, 800) as browser:
            script = Path(AXE if isinstance(AXE, str) else AXE.origin).with_name("axe.min.js")
            browser.evaluate(script.read_text("utf-8") + ";1")
            for width, scheme in ((390, "light"), (1280, "light"), (1280, "dark")):
                resize(browser, width, 800)
                browser.wait(lambda: browser.evaluate(NAMED), "names")
                browser.evaluate(f"document.documentElement.setAttribute('data-mantine-color-scheme', '{scheme}')")
                found = browser.evaluate(SERIOUS)
                assert found == [], "\n".join([f"{width} {scheme}", *found])
    finally:
        made.close()
