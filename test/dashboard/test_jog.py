"""Keys and gamepad on the page: the tip moves while something is held, and stops with whatever is lost."""

import numpy as np
import pytest
from browser import Browser, chromium
from dashboard_support import connect, until

SWITCH = "Keys and gamepad"


def bar(page, address=""):
    return connect((address or page.address).replace("/?", "/bar?"))


def held(link, keys, deflection, moves):
    """The first twist for which something is true, with its frame, while a deflection is held; others may come before.

    Browser and bar are two connections: what is switched on may come after the first key.
    """

    def found():
        keys.send(f"jog {deflection}")
        return next((each for each in link.twists if moves(each[0])), None)

    return until(found, "a twist")


def test_a_deflection_moves_the_tip_in_the_chosen_axes_until_it_ends(link, page, browser, monkeypatch):
    robot, taken = link.robot, []
    take = page.bar.on_jog
    monkeypatch.setattr(page.bar, "on_jog", lambda deflection: (take(deflection), taken.append(deflection)))
    with bar(page) as keys:
        for text in ("jog 1 0 0 0 0 0", "jog 0 0 0 0 0 0"):  # not yet switched on
            keys.send(text)
        until(lambda: len(taken) == 2, "a server that has taken both")
        browser.set(SWITCH, True)
        browser.set("Jog speed [%]", 50.0)
        wanted = [0, -0.25 * robot.tip_speed[0], 0, 0, 0, 0.5 * robot.tip_speed[1]]  # a deflection beyond 1 counts as 1
        _, frame = held(link, keys, "0 -0.5 0 0 0 9", lambda twist: np.allclose(twist, wanted))
        assert frame == robot.base
        assert not any(each[0][0] for each in link.twists)
        until(lambda: not link.twists[-1][0].any(), "a stop of its own, as nothing comes any more")
        browser.set("Jog axes", "tip")
        until(lambda: browser.handle("Jog axes").value == "tip", "the other axes")
        _, frame = held(link, keys, "0 0 1 0 0 0", lambda twist: twist[2])
        assert frame == robot.tip
        keys.send("jog 0 0 0 0 0 0")
        until(lambda: not link.twists[-1][0].any(), "a stop")


def test_only_those_who_may_control_move_the_tip_and_nonsense_moves_nothing(link, page, browser):
    browser.set(SWITCH, True)
    with bar(page, page.look_address) as looking, bar(page) as keys:
        looking.send("jog 1 0 0 0 0 0")
        for nonsense in ("jog", "jog 1 2 3", "jog nan 0 0 0 0 0", "jog a b c d e f", b"jog 1 0 0 0 0 0"):
            keys.send(nonsense)
        held(link, keys, "0 1 0 0 0 0", lambda twist: twist[1])
    assert not any(twist[0] for twist, _ in link.twists)


def test_after_stop_a_held_key_must_be_let_go_first(link, page, browser):
    browser.set(SWITCH, True)
    with bar(page) as keys:
        held(link, keys, "1 0 0 0 0 0", lambda twist: twist[0])
        keys.send("stop")
        keys.send("jog 1 0 0 0 0 0")
        until(lambda: not link.twists[-1][0].any(), "a stop")
        link.twists.clear()
        for text in ("jog 0 0 0 0 0 0", "jog 0 1 0 0 0 0"):
            keys.send(text)
        until(lambda: link.twists, "a twist again")
    until(lambda: not link.twists[-1][0].any(), "a stop, as the browser has gone")
    assert not any(twist[0] for twist, _ in link.twists)


# --- in a real browser ---

PAD = """navigator.getGamepads = () => [{ mapping: "standard", axes: [0, -0.5, 0, 0],
  buttons: Array.from({ length: 17 }, (_, i) => ({ pressed: i === 4 && window.shoulder, value: 0 })) }]"""


@pytest.mark.alone
@pytest.mark.long
@pytest.mark.skipif(chromium() is None, reason="needs Chromium: apt-get install chromium, or set CHROMIUM")
def test_keys_and_gamepad_of_a_browser_move_the_tip_while_they_are_held(link, page, tmp_path):
    def key(kind, code, **more):
        window.do("Input.dispatchKeyEvent", type=f"key{kind}", code=code, key=code[-1].lower(), **more)

    def moves(axis, sign=1):
        return lambda: link.twists and sign * link.twists[-1][0][axis] > 0.0

    def stops():
        return not link.twists[-1][0].any()

    with Browser(page.address, 1000, 700) as window:
        window.wait(lambda: window.shows("Move with keys"), "the page")
        window.click("Move with keys")
        key("Down", "KeyW")
        key("Up", "KeyW")
        window.rest(0.3)
        assert not link.twists  # it is off
        window.click(SWITCH, "input")
        window.wait(lambda: window.shows("Hold a key"), "the help")
        window.rest(0.5)
        (tmp_path / "jog.png").write_bytes(window.screenshot())  # to look at
        key("Down", "KeyW")
        window.wait(moves(0), "motion along x")
        window.rest(1.0)
        assert moves(0)()  # longer than what comes once lasts
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
