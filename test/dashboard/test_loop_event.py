"""What wakes a page's server may be set by any thread: waiting tasks are touched by
their own loop alone.
"""

import asyncio

import pytest
import viser
from dashboard_support import Browser
from stepped_loop import SteppedLoop

from robot_control_ros.dashboard.loop_event import LoopEvent, LoopMessageBuffer


@pytest.fixture
def loop(web):
    made = SteppedLoop(web.clock, web.network)
    yield made
    made.end()


@pytest.fixture
def event(loop):
    return loop.call(LoopEvent, loop)


def test_an_event_that_another_thread_sets_is_set_by_the_loop(web, loop, event):
    waiting = loop.create_task(event.wait())
    web.wait(0.01)
    event.set()  # outside of the loop, as every other thread is
    assert not event.is_set()
    web.wait(0.01)
    assert event.is_set()
    assert waiting.done()


def test_an_event_that_its_own_loop_sets_is_set_at_once(loop, event):
    seen = []

    async def act():
        event.set()
        seen.append(event.is_set())

    loop.run_until_complete(act())
    assert seen == [True]


def test_an_event_of_a_closed_loop_wakes_nobody_and_harms_nobody():
    loop = asyncio.new_event_loop()
    event = LoopEvent(loop)
    loop.close()
    event.set()
    assert not event.is_set()


def test_all_that_a_page_sends_to_browsers_waits_in_such_buffers(page, browser, monkeypatch):
    kinds = set()
    push = LoopMessageBuffer.push

    def noting(buffer, message):
        kinds.add(type(buffer.message_event))
        return push(buffer, message)

    monkeypatch.setattr(LoopMessageBuffer, "push", noting)
    other = Browser(page)
    page.server.gui.add_html("to all")
    client = next(iter(page.server.get_clients().values()))
    client.gui.add_html("to one")
    assert kinds == {LoopEvent}
    assert isinstance(page.server, viser.ViserServer)
    other.socket.close()
