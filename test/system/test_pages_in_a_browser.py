"""The pages in Chromium: STOP and the state at every size, what is lost, keys, screen
readers, and other sites.
"""

import signal
import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("viser", reason="the page needs viser")

from axe import load_axe, needs_axe, serious
from browser import Browser, chromium
from dashboard_support import FakeLink, packed
from served_pages import connect, free_port, has_ended, until
from viser import _messages as messages

from robot_control_ros.dashboard.access import Access
from robot_control_ros.dashboard.guarded_server import STALL
from robot_control_ros.dashboard.link import Health
from robot_control_ros.dashboard.page import Page
from robot_control_ros.teaching.joint.joint_page import JointPage
from robot_control_ros.teaching.planar.planar_page import PlanarPage

pytestmark = pytest.mark.alone  # a browser draws in software, which takes both processors
in_browser = pytest.mark.skipif(
    chromium() is None, reason="needs Chromium: apt-get install chromium, or set CHROMIUM"
)
SIZES = [(320, 568), (844, 390), (1920, 1080)]  # px
MORE_SIZES = [(390, 844), (640, 480), (1280, 720)]
RUNNING = Health(True, 0.0, "active", diagnosis={"rate [Hz]": "499.6"})
KEYS = {"Tab": 9, "Backspace": 8, "Enter": 13, "Escape": 27}
SLIDER = "Stiffness [N/m]"
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
  .every(each => each.ariaLabel || each.textContent.trim())"""
FOCUSED = "document.activeElement.id"
SAID = "(document.body?.innerText ?? '')"
SWITCH = "Keys and gamepad"
PLOT = "document.querySelector('.uplot')"
FIELD = "document.querySelector('#root input:not([type=checkbox])')"
STOP_BOX = "(at => [at.x, at.y, at.width, at.height])(document.querySelector('#stop').getBoundingClientRect())"


@pytest.fixture
def link():
    made = FakeLink()
    made.state = RUNNING
    return made


@pytest.fixture
def page(link):
    made = Page(link, port=free_port())
    yield made
    made.close()


@pytest.fixture
def browser(page):
    with opened(page.address) as made:
        made.wait(lambda: "500 Hz" in made.evaluate(TEXT), "the rate")
        yield made


@contextmanager
def opened(address, width=400, height=300):
    """A browser with the page; a small one draws several times faster."""
    with Browser(address, width, height) as made:
        made.wait(lambda: made.evaluate(READY), "the page")
        made.wait(lambda: made.evaluate(PROMPT), "a browser that has drawn")
        yield made


def resize(browser, width, height):
    browser.do(
        "Emulation.setDeviceMetricsOverride",
        width=width,
        height=height,
        deviceScaleFactor=1,
        mobile=False,
    )
    browser.wait(
        lambda: browser.evaluate("[innerWidth, innerHeight]") == [width, height], "the new size"
    )
    browser.wait(lambda: browser.evaluate(READY), "the page")


def press(browser, key):
    for kind in ("keyDown", "keyUp"):
        browser.do(
            "Input.dispatchKeyEvent", type=kind, key=key, code=key, windowsVirtualKeyCode=KEYS[key]
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
@pytest.mark.long
def test_stop_and_the_state_are_in_sight_at_every_further_size(browser, link):
    check_sizes(browser, link, MORE_SIZES)


@in_browser
def test_stop_is_in_sight_at_every_size_and_pressed_by_keys_and_what_is_lost_is_told(browser, link):
    """In one test, as a browser takes longer to draw its first picture than for all of these."""
    check_losses(browser, link)
    check_keys(browser, link)
    browser.click("UR5 (CB3)")  # unfolds the panel
    link.asked.clear()
    check_sizes(browser, link, SIZES)


def check_sizes(browser, link, sizes):
    """STOP and the state are in sight, and STOP is pressed by a click and by a key."""
    shown = ("#stop", "#bar-state", "#bar-details")
    for count, size in enumerate(sizes):
        resize(browser, *size)
        browser.wait(
            lambda: all(in_sight(browser, each) for each in shown),
            f"STOP and the state in sight at {size}",
        )
        assert {"active", "impedance", "500 Hz"} <= set(
            browser.evaluate(TEXT).replace(" · ", "\n").split("\n")
        )
        click_stop(browser)
        until(lambda wanted=2 * count + 1: stops(link) == wanted, "STOP by a click")
        press(browser, "Escape")
        until(lambda wanted=2 * count + 2: stops(link) == wanted, "STOP by a key")


def check_keys(browser, link):
    """STOP is pressed by keys from everywhere, and with the panel folded."""
    press(browser, "Tab")
    assert browser.evaluate(FOCUSED) == "stop"  # the first that Tab comes to
    browser.do(
        "Input.dispatchKeyEvent", type="keyDown", key="Enter", text="\r", windowsVirtualKeyCode=13
    )
    until(lambda: stops(link) == 1, "STOP by Enter")
    resize(browser, 1100, 500)
    browser.wait(lambda: browser.evaluate(f"{FIELD} !== null"), "a field")
    browser.evaluate(f"{FIELD}.focus()")
    press(browser, "Escape")
    until(lambda: stops(link) == 2, "STOP from within a field")
    browser.do("Input.dispatchKeyEvent", type="keyDown", key="Escape", autoRepeat=True)
    press(browser, "Escape")
    until(lambda: stops(link) == 3, "STOP of the second press, once while it is held")
    resize(browser, 390, 800)
    browser.wait(lambda: browser.box("UR5 (CB3)"), "the panel")
    assert browser.box("UR5 (CB3)").y >= 56  # below the bar
    browser.click("UR5 (CB3)")
    assert in_sight(browser, "#stop")
    click_stop(browser)
    until(lambda: stops(link) == 4, "STOP with the panel folded")


# --- what is lost ---


def check_losses(browser, link):
    """A lost controller or robot is told across the picture."""
    for lost in ({"answers": False}, {"robot_silence": 2.0}):
        assert not browser.evaluate(STALE)
        link.state = replace(RUNNING, **lost)
        browser.wait(lambda: browser.evaluate(STALE), "grey")
        assert browser.evaluate(LOST).startswith(link.state.lost)
        assert "Hz" not in browser.evaluate(TEXT)
        assert in_sight(browser, "#stop")
        link.state = RUNNING
        browser.wait(
            lambda: not browser.evaluate(STALE) and "500 Hz" in browser.evaluate(TEXT),
            "the page as before",
        )


@contextmanager
def process(port):
    """A page in a process of its own."""
    program = Path(__file__).parents[1] / "support" / "page_process.py"
    child = subprocess.Popen(
        [sys.executable, str(program), str(port)], stdout=subprocess.PIPE, text=True
    )
    try:
        assert child.stdout.readline() == "open\n"
        yield child
    finally:
        child.kill()
        child.wait()
        child.stdout.close()


@pytest.mark.long
@in_browser
def test_a_killed_server_is_told_and_a_new_one_found():
    port = free_port()
    address = Access.of_user().address("127.0.0.1", port)
    with process(port) as child, opened(address) as browser:
        browser.wait(lambda: "active" in browser.evaluate(TEXT), "the state")
        child.kill()
        browser.wait(lambda: browser.evaluate(INERT), "a page that nobody can use")
        assert browser.evaluate(STALE)
        assert browser.evaluate("document.querySelector('#stop').disabled")
        assert "active" not in browser.evaluate(TEXT)
        child.wait()
        press(browser, "Escape")  # goes nowhere, now and later
        with process(port) as again:
            browser.wait(
                lambda: not browser.evaluate(STALE) and not browser.evaluate(INERT),
                "the page as before",
            )
            click_stop(browser)
            assert again.stdout.readline() == "stop\n"
            again.kill()
            assert again.stdout.read() == ""  # one STOP alone


def test_what_a_browser_sent_while_the_server_stood_still_is_no_command():
    port = free_port()
    address = Access.of_user().address("127.0.0.1", port)
    with (
        process(port) as child,
        connect(address) as viewer,
        connect(address.replace("/?", "/bar?")) as bar,
    ):
        drag(viewer, 0.1)
        while child.stdout.readline() != "target 0.1\n":
            pass
        child.send_signal(signal.SIGSTOP)
        for x in np.linspace(0.2, 0.9, 20):
            drag(viewer, float(x), begin=False)
        bar.send("stop")
        time.sleep(2.0 * STALL)  # the length of the stall is what is tested
        child.send_signal(signal.SIGCONT)
        until(lambda: has_ended(viewer), "an end of the connection")
        lines = iter(child.stdout.readline, "stop\n")
        assert {*lines} <= {"target 0.1\n"}
        child.kill()
        assert {*child.stdout} <= {"target 0.1\n"}


def drag(viewer, x, begin=True):
    sent = [messages.TransformControlsUpdateMessage("/target", (1.0, 0.0, 0.0, 0.0), (x, 0.0, 0.5))]
    if begin:
        sent.insert(0, messages.TransformControlsDragStartMessage("/target"))
    for message in sent:
        viewer.send(packed(message))


# --- numbers ---


@in_browser
def test_a_number_counts_when_its_field_is_left_or_at_enter_and_what_is_refused_is_replaced(
    link, page
):
    def shown():
        return window.find(SLIDER, "input.mantine-NumberInput-input", "found.value")

    def type_in(text, key="Enter"):
        window.click(SLIDER, "input.mantine-NumberInput-input")
        window.evaluate("document.activeElement.select()")
        for sign in text:
            window.do("Input.dispatchKeyEvent", type="char", text=sign)
        if not text:
            press(window, "Backspace")
        assert shown() == text
        press(window, key)

    def gains():
        return [what[1]["stiffness"][0] for what in link.asked if what[0] == "gains"]

    def is_in_force(text):
        """Whether the page has told the browser so: until then it would replace
        what is typed next.
        """
        return (
            window.find(SLIDER, "input.mantine-NumberInput-input", "found._valueTracker.getValue()")
            == text
        )

    with opened(page.address, 1100, 700) as window:
        type_in("300")
        until(lambda: gains() == [300.0], "one gain, not one of each keystroke")
        window.wait(lambda: is_in_force("300"), "the value in force")
        type_in("1e3", "Tab")
        until(lambda: gains() == [300.0, 1000.0], "a number when its field is left")
        window.wait(lambda: is_in_force("1000"), "the value in force")
        for refused in ("", "abc", "99999"):
            type_in(refused)
            window.wait(lambda: "refused" in window.evaluate(TEXT), "the refusal in words")
            assert shown() == "1000"
        type_in("700", "Escape")
        until(lambda: stops(link) == 1, "STOP, and nothing else")
        assert shown() == "1000"
        assert gains() == [300.0, 1000.0]
        assert window.complaints == []


# --- keyboard and screen reader ---


@in_browser
@needs_axe
@pytest.mark.parametrize("kind", [JointPage, pytest.param(PlanarPage, marks=pytest.mark.long)])
def test_axe_finds_nothing_serious_on_the_pages_of_teaching(kind):
    made = kind(port=free_port())
    try:
        with opened(made.address, 390, 800) as browser:
            load_axe(browser)
            for width, scheme in ((390, "light"), (1280, "light"), (1280, "dark")):
                resize(browser, width, 800)
                browser.wait(lambda: browser.evaluate(NAMED), "names")
                browser.evaluate(
                    f"document.documentElement.setAttribute('data-mantine-color-scheme', '{scheme}')"
                )
                found = serious(browser)
                assert found == [], "\n".join([f"{width} {scheme}", *found])
    finally:
        made.close()


@in_browser
@pytest.mark.long
def test_the_joint_page_shows_its_plots_in_a_small_window():
    made = JointPage(port=free_port())
    try:
        with opened(made.address, 390, 844) as browser:
            browser.wait(
                lambda: browser.evaluate(f"{PLOT} !== null") and in_sight(browser, ".uplot"),
                "a plot in sight",
            )
            assert in_sight(browser, "#bar-state")
    finally:
        made.close()


PAD = """navigator.getGamepads = () => [{ mapping: "standard", axes: [0, -0.5, 0, 0],
  buttons: Array.from({ length: 17 }, (_, i) => ({ pressed: i === 4 && window.shoulder, value: 0 })) }]"""


@in_browser
@pytest.mark.long
def test_keys_and_gamepad_of_a_browser_move_the_tip_while_they_are_held(link, page):
    def key(kind, code, **more):
        window.do(
            "Input.dispatchKeyEvent", type=f"key{kind}", code=code, key=code[-1].lower(), **more
        )

    def moves(axis, sign=1):
        return lambda: link.twists and sign * link.twists[-1][0][axis] > 0.0

    def stops():
        return not link.twists[-1][0].any()

    controls = page.server.gui._gui_input_handle_from_uuid.values()
    switch = next(each for each in controls if getattr(each, "label", "") == SWITCH)
    with opened(page.address, 1100, 700) as window:
        window.click("Move with keys")
        window.wait(lambda: window.shows("Hold a key"), "the help")
        window.rest(0.5)  # until the folder is open
        key("Down", "KeyW")
        key("Up", "KeyW")
        window.rest(0.3)
        assert not link.twists  # it is off
        window.click(SWITCH, "input")
        until(lambda: switch.value, "the switch")
        window.evaluate(
            "document.addEventListener('bar-state', told => { window.jogs = told.detail.jogs })"
        )
        window.wait(lambda: window.evaluate("window.jogs"), "a browser that knows of it")
        key("Down", "KeyW")
        window.wait(moves(0), "motion along x")
        window.rest(1.0)
        window.wait(moves(0), "motion for longer than what comes once lasts")
        key("Down", "KeyE")
        window.wait(moves(2), "motion along z besides")
        key("Up", "KeyW")
        key("Up", "KeyE")
        window.wait(stops, "a stop")
        key("Down", "KeyA")
        window.wait(moves(1), "motion along y")
        window.evaluate("dispatchEvent(new Event('blur'))")
        window.wait(stops, "a stop, as the window has lost its focus")
        window.evaluate(PAD)
        window.rest(0.3)
        assert stops()  # the shoulder isn't held
        window.evaluate("window.shoulder = true")
        window.wait(moves(0), "motion with the stick")
        assert link.twists[-1][0][0] == pytest.approx(0.5 * 0.2 * link.robot.tip_speed[0])
        window.kill()
        until(stops, "a stop, as the browser has gone")
        assert window.complaints == []


# --- other sites ---


@in_browser
def test_a_hostile_site_in_the_same_browser_has_no_way_to_the_page(page):
    attack = f"""<body><script>
      const say = text => document.body.append(text);
      for (const host of ["127.0.0.1", "localhost"]) {{
        const socket = new WebSocket(`ws://${{host}}:{page.port}/`, ["viser-v1.1.0"]);
        socket.onopen = () => say("OPEN ");
        socket.onerror = () => say("refused ");
      }}
    </script></body>"""

    class Site(BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            self.wfile.write(attack.encode())

        def log_message(self, *arguments):
            pass

    site = ThreadingHTTPServer(("127.0.0.1", 0), Site)
    threading.Thread(target=site.serve_forever, daemon=True).start()
    try:
        with Browser(page.address) as browser:
            browser.wait(lambda: browser.shows("STOP"), "the page")  # its cookie is there now
            browser.do("Page.navigate", url=f"http://127.0.0.1:{site.server_port}/")
            browser.wait(
                lambda: browser.evaluate(f"{SAID}.includes('refused refused')"), "two refusals"
            )
    finally:
        site.shutdown()
