"""Keys and gamepad on the page: the tip moves while something is held, and stops
with whatever is lost.
"""

import numpy as np
from dashboard_support import connect, until

SWITCH = "Keys and gamepad"


def bar(page, address=""):
    return connect((address or page.address).replace("/?", "/bar?"))


def held(link, keys, deflection, moves):
    """The first twist for which something is true, with its frame, while a deflection is held;
    others may come before.

    Browser and bar are two connections: what is switched on may come after the first key.
    """

    def found():
        keys.send(f"jog {deflection}")
        return next((each for each in link.twists if moves(each[0])), None)

    return until(found, "a twist")


def test_a_deflection_moves_the_tip_in_the_chosen_axes_until_it_ends(
    link, page, browser, monkeypatch
):
    robot, taken = link.robot, []
    take = page.bar.on_jog
    monkeypatch.setattr(
        page.bar, "on_jog", lambda deflection: (take(deflection), taken.append(deflection))
    )
    with bar(page) as keys:
        for text in ("jog 1 0 0 0 0 0", "jog 0 0 0 0 0 0"):  # not yet switched on
            keys.send(text)
        until(lambda: len(taken) == 2, "a server that has taken both")
        browser.set(SWITCH, True)
        browser.set("Jog speed [%]", 50.0)
        # a deflection beyond 1 counts as 1
        wanted = [0, -0.25 * robot.tip_speed[0], 0, 0, 0, 0.5 * robot.tip_speed[1]]
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
        for nonsense in (
            "jog",
            "jog 1 2 3",
            "jog nan 0 0 0 0 0",
            "jog a b c d e f",
            b"jog 1 0 0 0 0 0",
        ):
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
