"""What strangers may send to a page: any bytes on its port, any message on its websockets; very
many in long tests.
"""

import asyncio
import json
import random

import numpy as np
import pytest
from dashboard_support import Browser, connect, until
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from robot_control_ros.dashboard.guarded_server import MAX_RATE
from robot_control_ros.dashboard.typed_numbers import TypedNumber

MANY = pytest.mark.long
# time stands still
STEPPED = {"deadline": None, "suppress_health_check": list(HealthCheck), "derandomize": True}
LABEL = "Stiffness [N/m]"
WORDS = {"stop", "stop all", "activate"}


class Raw(asyncio.Protocol):
    """A connection that sends some bytes and goes."""

    def __init__(self, web, port, sent):
        self._web, self._sent = web, sent
        self.answer = b""
        web.network.connect(port, self)

    def connection_made(self, transport):
        self._transport = transport
        transport.write(self._sent)

    def data_received(self, data):
        self.answer += data

    def connection_lost(self, error):
        pass

    def go(self):
        self._web.wait(0.005)
        self._transport.abort()


def damaged(raw, chance):
    """Bytes with some of them changed, left out, repeated or moved."""
    found = bytearray(raw)
    for _ in range(chance.randrange(1, 6)):
        at, end = sorted((chance.randrange(len(found) + 1), chance.randrange(len(found) + 1)))
        match chance.randrange(4):
            case 0:
                found[at:end] = bytes(chance.randrange(256) for _ in range(chance.randrange(8)))
            case 1:
                found[at:end] = found[at:end] * chance.randrange(4)
            case 2 if found:
                found[at % len(found)] ^= 1 << chance.randrange(8)
            case _:
                found = found[end:] + found[:at]
    return bytes(found)


def still_serves(page, link):
    """Whether somebody who leads is served as before."""
    browser, count = Browser(page), len(link.asked)
    browser.set(LABEL, 700.0 if browser.handle(LABEL).value != 700.0 else 600.0)
    until(lambda: any(isinstance(what, tuple) for what in link.asked[count:]), "a gain that is set")
    browser.socket.close()
    return True


def requests_of(page):
    """What a browser asks a page for, with its token and without."""
    path = page.address.partition(str(page.port))[2]
    host = f"Host: 127.0.0.1:{page.port}\r\n"
    upgrade = "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
    key = "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
    bar = path.replace("/?", "/bar?")
    return [
        f"GET {path} HTTP/1.1\r\n{host}\r\n".encode(),
        f"GET / HTTP/1.1\r\n{host}Cookie: a=b; robot_control_{page.port}=0\r\n\r\n".encode(),
        f"GET {bar} HTTP/1.1\r\n{host}{upgrade}{key}\r\n".encode()
        + b"\x81\x84\x00\x00\x00\x00stop",
        f"GET {path} HTTP/1.1\r\n{host}{upgrade}{key}\r\n".encode()
        + b"\x82\x85\x01\x02\x03\x04abcde",
    ]


@pytest.mark.parametrize("count", [300, pytest.param(30_000, marks=MANY)])
def test_damaged_requests_and_frames_harm_nobody(web, page, link, count, caplog, capfd):
    chance, kinds = random.Random(count), requests_of(page)
    for _ in range(count):
        Raw(web, page.port, damaged(chance.choice(kinds), chance)).go()
    assert still_serves(page, link)
    assert {what for what in link.asked if isinstance(what, str)} <= {"stop"}
    said = caplog.text + "".join(capfd.readouterr())
    assert "Traceback (most recent" not in said
    assert len(said.splitlines()) < 20


def sent_to_bar(page):
    """One message of each kind that the bar takes."""
    browser = Browser(page)
    control = browser.handle(LABEL)._impl.uuid
    browser.socket.close()
    number = json.dumps({"control": control, "index": 0, "text": "300"})
    return [b"stop", b"stop all", b"activate", b"jog 0.1 0 0 0 0 -1", f"number {number}".encode()]


@pytest.mark.parametrize("count", [500, pytest.param(50_000, marks=MANY)])
def test_damaged_messages_to_the_bar_do_nothing_that_was_not_asked_for(
    web, page, link, count, caplog, capfd
):
    chance, kinds = random.Random(count), sent_to_bar(page)
    words = 0
    with connect(page.address.replace("/?", "/bar?")) as bar:
        for _ in range(count):
            raw = damaged(chance.choice(kinds), chance)
            text = raw.decode("utf-8", "replace")
            words += text in WORDS
            bar.send(raw if chance.random() < 0.1 else text)
            web.wait(1.0 / MAX_RATE)
        bar.send("stop")
        until(lambda: link.asked[-1:] == ["stop"], "STOP")
    assert sum(isinstance(what, str) for what in link.asked) <= words + 1
    assert all(np.isfinite(twist).all() for twist, _ in link.twists)
    assert all(
        0.0 <= value <= 1e4
        for what in link.asked
        if what[0] == "gains"
        for value in what[1]["stiffness"]
    )
    assert still_serves(page, link)
    assert "Traceback (most recent" not in caplog.text + "".join(capfd.readouterr())


def bar_takes(page, link, message):
    with connect(page.address.replace("/?", "/bar?")) as bar:
        bar.send(message)
        bar.send("stop")
        count = link.asked.count("stop")
        until(lambda: link.asked.count("stop") > count or bar.close_code is not None, "STOP")


anything = st.one_of(
    st.text(max_size=200),
    st.binary(max_size=200),
    st.text(max_size=100).map("jog {}".format),
    st.lists(st.floats(), min_size=5, max_size=7).map(lambda row: "jog " + " ".join(map(str, row))),
    st.recursive(
        st.none() | st.booleans() | st.floats() | st.text(max_size=20), st.lists, max_leaves=5
    )
    .map(json.dumps)
    .map("number {}".format),
    st.fixed_dictionaries(
        {"control": st.text(max_size=40), "index": st.integers(), "text": st.text(max_size=40)}
    )
    .map(json.dumps)
    .map("number {}".format),
)


@settings(max_examples=100, **STEPPED)
@given(message=anything)
def test_any_message_to_the_bar_leaves_stop_as_it_is(page, link, message):
    bar_takes(page, link, message)


@MANY
@settings(max_examples=5000, **STEPPED)
@given(message=anything)
def test_any_of_very_many_messages_to_the_bar_leaves_stop_as_it_is(page, link, message):
    bar_takes(page, link, message)


@settings(max_examples=300, deadline=None)
@given(st.text(max_size=300))
def test_any_text_is_a_typed_number_or_none(text):
    typed = TypedNumber.read(text)
    assert typed is None or (isinstance(typed.control, str) and isinstance(typed.text, str))
