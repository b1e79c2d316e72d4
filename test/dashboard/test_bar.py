"""The bar on top of a page: what it tells each browser, and STOP."""

import json
from dataclasses import replace

import pytest
from dashboard_support import connect, until

from robot_control_ros.dashboard.link import Health

RUNNING = Health(True, 0.0, "active", diagnosis={"rate [Hz]": "499.6"})


@pytest.fixture
def bar(page, link):
    link.state = RUNNING
    with connect(page.look_address.replace("/?", "/bar?")) as made:
        yield made


def told(bar, what):
    """The first state of which something is true."""
    return until(lambda: next((state for state in [json.loads(bar.recv())] if what(state)), None), "a state")


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
    assert (state["state"], state["law"], state["rate"], state["lost"]) == ("active", "impedance", "500 Hz", "")
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
