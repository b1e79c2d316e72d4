"""The bar's script in Chromium, on a clock, a server and timers that the test plays: what
a slow browser does.
"""

import json
from pathlib import Path

import pytest

pytest.importorskip("viser", reason="the page needs viser")

from browser import Browser, chromium

from robot_control_ros.dashboard.bar.status_bar import FOLDER

pytestmark = pytest.mark.skipif(
    chromium() is None, reason="needs Chromium: apt-get install chromium, or set CHROMIUM"
)

STATE = {
    "state": "active",
    "law": "impedance",
    "rate": "500 Hz",
    "level": "good",
    "lost": "",
    "jogs": False,
}
STATE |= {"arm": "ur5", "others": [], "activates": False, "stops": True, "controls": True}
PLAYED = """
window.clock = 0; window.sockets = [];
performance.now = () => clock;
window.setInterval = action => { window.tick = action; };
window.WebSocket = class {
  constructor(address) { this.readyState = 0; this.sent = []; sockets.push(this); }
  close() { this.readyState = 3; this.closed = true; }
  send(text) { this.sent.push(text); }
};
Object.assign(WebSocket, { CONNECTING: 0, OPEN: 1, CLOSED: 3 });
window.pass = (duration, step) => { for (const end = clock + duration; clock < end;) { clock += step; tick(); } };
window.connect = () => { const socket = sockets.at(-1); socket.readyState = 1; socket.onopen?.(); };
window.tell = state => sockets.at(-1).onmessage?.({ data: JSON.stringify(state) });
window.draws = () => {
  const number = requestAnimationFrame(() => {});
  cancelAnimationFrame(number);
  return number > 0;
};
"""
SLOW = 770  # ms between two drawings of a browser at 1.3 frames a second
LOST = "!document.getElementById('lost').hidden"


@pytest.fixture
def browser():
    html = (FOLDER / "status_bar.html").read_text("utf-8")
    with Browser("about:blank", 800, 300) as made:
        made.evaluate(f"document.body.innerHTML = {json.dumps(html + '<div id=root></div>')}")
        made.evaluate(PLAYED + Path(FOLDER / "status_bar.js").read_text("utf-8") + ";1")
        yield made


def tell(browser, **state):
    browser.evaluate(f"tell({json.dumps(STATE | state)})")


def test_a_connection_that_takes_seconds_is_waited_for(browser):
    browser.evaluate(f"pass(30000, {SLOW})")
    assert browser.evaluate("[sockets.length, Boolean(sockets[0].closed)]") == [1, False]
    browser.evaluate("connect()")
    tell(browser)
    assert not browser.evaluate(LOST)
    assert not browser.evaluate("document.getElementById('stop').disabled")


def test_a_browser_that_stands_still_between_its_drawings_loses_nobody(browser):
    browser.evaluate("connect()")
    for _ in range(50):
        tell(browser)
        browser.evaluate(f"pass({SLOW}, {SLOW})")
        assert not browser.evaluate(LOST)
    assert browser.evaluate("sockets.length") == 1


def test_a_silent_server_is_told_and_asked_again_with_growing_patience(browser):
    browser.evaluate("connect()")
    tell(browser)
    browser.evaluate("pass(1000, 100)")
    assert browser.evaluate(LOST)
    assert "reload" in browser.evaluate("document.getElementById('lost').textContent")
    assert browser.evaluate("document.getElementById('root').inert")
    waits = []
    for _ in range(3):
        before = browser.evaluate("clock")
        while not browser.evaluate("sockets.at(-2)?.closed && sockets.at(-1).readyState === 0"):
            browser.evaluate("pass(100, 100)")
        waits.append(browser.evaluate("clock") - before)
        browser.evaluate("connect()")
    assert waits == sorted(waits)
    assert waits[2] > 1.5 * waits[1]
    tell(browser)
    assert not browser.evaluate(LOST)


def test_a_connection_that_has_ended_is_made_again(browser):
    browser.evaluate("connect()")
    tell(browser)
    browser.evaluate("sockets[0].readyState = 3; sockets[0].onclose()")
    assert browser.evaluate(LOST)
    browser.evaluate("pass(1000, 100)")
    assert browser.evaluate("sockets.length") == 2


def test_the_view_rests_while_there_is_no_link(browser):
    assert not browser.evaluate("draws()")
    browser.evaluate("connect()")
    tell(browser)
    assert browser.evaluate("draws()")
    browser.evaluate("pass(1000, 100)")
    assert not browser.evaluate("draws()")


def test_what_stop_means_stands_on_it_and_what_cannot_act_says_why(browser):
    def shown(name):
        return browser.evaluate(f"document.getElementById('{name}').getClientRects().length > 0")

    def press(name):
        browser.evaluate(f"document.getElementById('{name}').click()")

    browser.evaluate("connect()")
    tell(browser)
    assert [shown(name) for name in ("stop", "stop-one", "activate")] == [True, False, False]
    press("stop")
    tell(browser, others=["right"], arm="left", activates=True)
    assert [shown(name) for name in ("stop", "stop-one", "activate")] == [True, True, True]
    assert browser.evaluate("document.getElementById('stop-text').textContent") == "STOP ALL"
    for name in ("stop", "stop-one", "activate"):
        press(name)
    assert browser.evaluate("sockets[0].sent") == ["stop", "stop all", "stop", "activate"]
    tell(browser, activates=True, controls=False)
    assert browser.evaluate("document.getElementById('activate').disabled")
    assert browser.evaluate("document.getElementById('activate').title")
    press("activate")
    assert len(browser.evaluate("sockets[0].sent")) == 4
