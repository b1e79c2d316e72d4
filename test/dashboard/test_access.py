"""Who gets into a page, and what a browser may send."""

import asyncio
import os
import random
import stat
from dataclasses import replace

import numpy as np
import pytest
import viser
from dashboard_support import Browser, camera, connect, packed, press_stop, text, until, wire
from viser import _messages as messages
from web import get
from websockets.exceptions import InvalidStatus

from robot_control_ros.core.errors import ConfigError
from robot_control_ros.core.spatial import make_pose
from robot_control_ros.dashboard.access import Access, Right, access_of, check_origin, token_of
from robot_control_ros.dashboard.guarded_server import (
    MAX_ARRIVING,
    MAX_CONNECTIONS,
    MAX_RATE,
    STALL,
)

NAN = float("nan")


@pytest.fixture
def state(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    return tmp_path / "robot_control_ros" / "page_token"


# --- tokens ---


def test_a_user_keeps_the_tokens_in_a_file_of_their_own(state):
    first = Access.of_user()
    assert stat.S_IMODE(state.stat().st_mode) == 0o600
    assert Access.of_user() == first
    assert len({first.control, first.look, ""}) == 3


@pytest.mark.parametrize("spoilt", ["readable", "link", "short", "bytes"])
def test_a_token_file_that_others_could_know_or_made_is_not_believed(state, tmp_path, spoilt):
    state.parent.mkdir()
    known = "0" * 32
    if spoilt == "link":
        (tmp_path / "planted").write_text(known)
        os.chmod(tmp_path / "planted", 0o600)
        state.symlink_to(tmp_path / "planted")
    else:
        state.write_bytes(
            {"readable": known.encode(), "short": b"0", "bytes": b"\xff" * 32}[spoilt]
        )
        os.chmod(state, 0o644 if spoilt == "readable" else 0o600)
    token = Access.of_user().control
    assert len(token) == 32
    assert token != known


def test_a_token_gives_its_right():
    access = Access("control", "look")
    given = ("control", "look", "", "Control", "contro", "\u00e9")
    rights = (Right.CONTROL, Right.LOOK, *[Right.NONE] * 4)
    assert tuple(access.right(token) for token in given) == rights
    assert Access().right("") is Right.CONTROL


@pytest.mark.parametrize("host", ["0.0.0.0", "192.168.1.5", "::", "robot.local"])
def test_without_a_token_only_the_loopback_is_served(host):
    with pytest.raises(ConfigError) as refused:
        access_of(False, host)
    assert refused.value.name == "token"
    for own in ("127.0.0.1", "127.0.1.1", "::1", "localhost"):
        assert access_of(False, own) == Access()


@pytest.mark.parametrize(
    "host", ["127.0.0.1:8080", "localhost:8080", "[::1]:8080", "10.1.2.3", "localhost"]
)
def test_the_machine_s_own_names_and_its_own_pages_are_answered(host):
    assert check_origin({"Host": host}) == ""
    assert check_origin({"Host": host, "Origin": f"http://{host}"}) == ""


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"Host": "evil.example:8080"},
        {"Host": "127.0.0.1.evil.example"},
        {"Host": "localhost:8080", "Origin": "http://evil.example"},
        {"Host": "localhost:8080", "Origin": "http://localhost:9090"},
        {"Host": "localhost:8080", "Origin": "http://127.0.0.1:8080"},
        {"Host": "localhost:8080", "Origin": "null"},
        {"Host": "[::1"},
    ],
)
def test_foreign_hosts_and_origins_are_refused(headers):
    assert check_origin(headers)


def test_the_token_of_the_address_counts_before_the_cookie_s():
    assert token_of("/?token=a&x=1", {"Cookie": "k=b"}, "k") == "a"
    assert token_of("/?x=1", {"Cookie": "other=c; k=b"}, "k") == "b"
    assert token_of("/", {}, "k") == token_of("/", {"Cookie": "\x00;;="}, "k") == ""


# --- requests ---


def test_the_printed_address_opens_the_page_and_its_cookie_all_that_follows(page):
    path = page.address.partition(str(page.port))[2]
    status, cookie, content = get(page.port, path)
    assert (status, b"<html" in content.lower()) == (200, True)
    assert {"HttpOnly", "SameSite=Lax"} <= set(cookie.split("; "))
    kept = cookie.partition(";")[0]
    assert get(page.port, "/", Cookie=kept)[0] == 200
    with connect(
        f"http://127.0.0.1:{page.port}", Cookie=kept, Origin=f"http://127.0.0.1:{page.port}"
    ) as socket:
        assert socket.recv()


@pytest.mark.parametrize("path", ["/", "/?token=", "/?token=wrong", "/index.html", "/assets/"])
def test_without_the_token_nothing_is_served(page, path):
    status, cookie, content = get(page.port, path)
    assert (status, cookie) == (403, None)
    assert b"<html" not in content.lower()


@pytest.mark.parametrize(
    "headers", [{"Host": "evil.example"}, {"Origin": "http://evil.example"}, {"Origin": "null"}]
)
def test_another_site_s_page_gets_nothing_even_with_the_token(page, headers):
    assert get(page.port, page.address.partition(str(page.port))[2], **headers)[0] == 403
    with pytest.raises(InvalidStatus) as refused:
        connect(page.address, **headers)
    assert refused.value.response.status_code == 403


def test_there_are_at_most_so_many_browsers_and_a_new_one_when_one_goes(page):
    sockets = [connect(page.address) for _ in range(MAX_CONNECTIONS)]
    with pytest.raises(InvalidStatus) as refused:
        connect(page.address)
    assert refused.value.response.status_code == 403
    with connect(page.address.replace("/?", "/bar?")) as bar:  # these are counted apart
        assert bar.recv()
    sockets[3].close()
    sockets[3] = connect(page.address)
    for socket in sockets:
        socket.close()


def test_those_who_look_on_never_take_a_place_of_one_who_controls(page, link):
    watchers = [connect(page.look_address) for _ in range(MAX_CONNECTIONS)]
    bars = [connect(page.look_address.replace("/?", "/bar?")) for _ in range(MAX_CONNECTIONS)]
    for address in (page.look_address, page.look_address.replace("/?", "/bar?")):
        with pytest.raises(InvalidStatus):
            connect(address)
    with connect(page.address), connect(page.address.replace("/?", "/bar?")) as bar:
        bar.send("stop")
        until(lambda: link.asked == ["stop"], "STOP of the one who controls")
    for each in (*watchers, *bars):
        each.close()


def test_connections_that_ask_for_nothing_keep_nobody_out(web, page):
    silent = [Stranger(web, page.port, b"") for _ in range(MAX_ARRIVING + 20)]
    web.wait(0.1)
    assert [each.ended for each in silent] == [True] * 20 + [False] * MAX_ARRIVING
    with connect(page.address) as socket:
        assert socket.recv()


class Stranger(asyncio.Protocol):
    """A connection that sends some bytes, and nothing else."""

    def __init__(self, web, port, sent):
        self.sent, self.ended, self.answer = sent, False, b""
        web.network.connect(port, self)

    def connection_made(self, transport):
        transport.write(self.sent)

    def data_received(self, data):
        self.answer += data

    def connection_lost(self, error):
        self.ended = True


def malformed(page):
    """Requests that no browser sends: without a token first, then with it."""
    path = page.address.partition(str(page.port))[2]
    head = f"Host: 127.0.0.1:{page.port}\r\nConnection: Upgrade\r\n"
    return [
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n",  # TLS
        b"POST / HTTP/1.1\r\n\r\n",
        b"GET / HTTP/9.9\r\nHost: a\r\n\r\n",
        b"GET / HTTP/1.1\r\nno colon\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: " + b"a" * 20000 + b"\r\n\r\n",
        b"\n\nTraceback\x1b[31m\r\n\r\n",
        f"GET //[ HTTP/1.1\r\n{head}\r\n".encode(),
        f"GET {path} HTTP/1.1\r\n{head}Upgrade: websocket\r\n\r\n".encode(),
        f"GET {path} HTTP/1.1\r\n{head}Upgrade: websocket\r\nUpgrade: websocket\r\n\r\n".encode(),
        f"GET {path} HTTP/1.1\r\n{head}Accept-Encoding: a\r\nAccept-Encoding: b\r\n\r\n".encode(),
        f"GET /{'a' * 3000}?{path.partition('?')[2]} HTTP/1.1\r\n{head}\r\n".encode(),
        f"GET / HTTP/1.1\r\n{head}Cookie: robot_control_{page.port}=\xff\xfe\r\n\r\n".encode(
            "latin-1"
        ),
    ]


def test_malformed_requests_write_a_few_short_lines_and_serve_nobody(web, page, caplog, capfd):
    requests = malformed(page)
    for request in 10 * requests:
        stranger = Stranger(web, page.port, request)
        until(lambda one=stranger: one.ended or one.answer, "an end")
        assert b"<html" not in stranger.answer.lower()
    said = caplog.text + "".join(capfd.readouterr())
    assert 0 < len(said.splitlines()) <= 4  # at the first, the tenth, the hundredth
    assert all(len(line) < 300 for line in said.splitlines())
    assert "Traceback (most recent" not in said
    with connect(page.address) as socket:
        assert socket.recv()


@pytest.mark.parametrize(
    "encoding", [{}, {"Accept_Encoding": "identity"}, {"Accept_Encoding": "gzip"}]
)
def test_the_page_comes_whether_or_not_a_request_says_which_encodings_it_takes(page, encoding):
    headers = {name.replace("_", "-"): value for name, value in encoding.items()}
    status, _, content = get(page.port, page.address.partition(str(page.port))[2], **headers)
    assert (status, b"<html" in content.lower(), b'id="stop"' in content) == (200, True, True)


# --- messages ---


def settled(page, browser):
    """After this the page has handled all that the browser sent."""
    pose = np.random.default_rng().normal(size=3)
    browser.send(camera(tuple(pose)))
    until(
        lambda: any(
            np.allclose(each.camera.position, pose) for each in page.server.get_clients().values()
        ),
        "the camera of the browser",
    )


def test_a_browser_that_only_looks_moves_nothing(page, link):
    viewer = Browser(page, page.look_address)
    viewer.begin_drag("/target")
    viewer.drag("/target", np.eye(4))
    viewer.end_drag("/target")
    viewer.set("Stiffness [N/m]", 900.0)
    settled(page, viewer)
    assert link.targets == []
    assert link.asked == []
    viewer.socket.close()


def mutated(raw, chance):
    """A message of viser's client with something changed."""
    fields = wire.msgspec.msgpack.decode(raw)
    name = chance.choice(list(fields))
    odd = [
        None,
        True,
        NAN,
        1e308,
        -1,
        2**63,
        "",
        "x" * 5000,
        b"",
        [],
        [1, 2],
        {},
        {"value": []},
        [[[[]]]],
        "GuiModalMessage",
    ]
    kind = chance.randrange(6)
    if kind == 0:
        fields[name] = chance.choice(odd)
    elif kind == 1:
        del fields[name]
    elif kind == 2:
        fields[chance.choice(["removed", "props", "owner", "type"])] = chance.choice(odd)
    raw = wire.msgspec.msgpack.encode(fields)
    if kind == 3:
        return raw[: chance.randrange(len(raw))]
    if kind == 4:
        at = chance.randrange(len(raw))
        return raw[:at] + bytes([chance.randrange(256)]) + raw[at + 1 :]
    return b"\x91" * 3000 if kind == 5 else raw


def sent(page):
    """One message of each kind that viser's client has, to this page's own controls
    where there are some.
    """
    drag = ("start", "/target", None, (0.0,) * 3, (0.5, 0.5), (0.0,) * 3, (0.5, 0.5), "left", None)
    controls = [each._impl.uuid for each in page.server.gui._gui_input_handle_from_uuid.values()]
    made = [
        camera((1.0, 2.0, 3.0)),
        *(
            messages.GuiUpdateMessage(each, {"value": value})
            for each in controls
            for value in (1, "x", [1.0], None)
        ),
        messages.TransformControlsDragStartMessage("/target"),
        messages.TransformControlsUpdateMessage("/target", (1.0, 0.0, 0.0, 0.0), (0.0, 0.0, 0.5)),
        messages.TransformControlsDragEndMessage("/target"),
        messages.SceneNodeDragMessage(*drag),
        messages.FileTransferStartUpload("a", "b", "c", "text/plain", 1, 10),
        messages.FileTransferPart("a", "b", 0, b"abc"),
    ]
    return [packed(each) for each in made]


@pytest.mark.parametrize("count", [1000, pytest.param(100_000, marks=pytest.mark.long)])
def test_mutated_messages_harm_nobody(web, page, link, count, capfd):
    chance = random.Random(count)
    kinds, other, hostile = sent(page), Browser(page), Browser(page)
    for _ in range(count):
        raw = mutated(chance.choice(kinds), chance)
        hostile.socket.send(raw if chance.random() < 0.95 else raw.decode("latin-1"))
        web.wait(1.0 / MAX_RATE)
    settled(page, other)
    other.set("Stiffness [N/m]", 700.0)
    until(
        lambda: any(what[0] == "gains" for what in link.asked if isinstance(what, tuple)),
        "a gain that is set",
    )
    assert "Traceback" not in "".join(capfd.readouterr())


def test_a_value_that_is_not_finite_never_reaches_the_robot(page, link):
    browser = Browser(page)
    count = len(link.targets)
    browser.begin_drag("/target")
    pose = np.eye(4)
    pose[0, 3] = NAN
    browser.drag("/target", pose)
    browser.end_drag("/target")
    settled(page, browser)
    assert all(np.isfinite(target).all() for target in link.targets[count:])
    browser.socket.close()


@pytest.mark.parametrize("value", [None, "no such choice", [1.0], {}, -1e12])
def test_a_control_takes_no_value_that_it_does_not_offer(page, value):
    browser, controls = Browser(page), dict(page.server.gui._gui_input_handle_from_uuid)
    before = {each: control.value for each, control in controls.items()}
    for each, control in controls.items():
        if not (isinstance(control, viser.GuiTextHandle) and isinstance(value, str)):
            message = messages.GuiUpdateMessage(each, {"value": value})
            browser.send(message)
    settled(page, browser)
    assert {each: control.value for each, control in controls.items()} == before
    browser.socket.close()


def test_an_orientation_that_is_none_reaches_no_handle(page, capfd):
    browser = Browser(page)
    browser.begin_drag("/target")
    browser.send(
        messages.TransformControlsUpdateMessage("/target", (0.06, 0.0, 0.0, 0.0), (0.0, 0.0, 0.5))
    )
    browser.end_drag("/target")
    settled(page, browser)
    browser.socket.close()
    assert "Traceback" not in "".join(capfd.readouterr())


def test_of_a_flood_most_is_dropped_and_stop_still_works(page, link, caplog):
    flooding = Browser(page)
    raw = packed(camera((0.0, 0.0, 0.0)))
    for _ in range(5000):
        flooding.socket.send(raw)
    press_stop(page)
    until(lambda: "stop" in link.asked, "STOP")
    assert "1000 messages of browsers were dropped" in caplog.text


def test_a_huge_message_ends_the_connection_of_who_sends_it_alone(page):
    other, huge = Browser(page), Browser(page)
    huge.socket.send(b"\x00" * 2**21)
    until(lambda: huge.socket.close_code is not None, "an end of the connection")
    assert huge.socket.close_code == 1009
    settled(page, other)


def test_a_browser_that_takes_nothing_holds_up_nobody_and_loses_its_connection(web, page, link):
    stalled, other = Browser(page), Browser(page)
    stalled.socket.stop_reading()
    link.state = replace(link.state, problem="x" * 100_000)  # more than a connection takes at once
    assert other.sees(b"xxxxx")
    link.state = replace(link.state, problem="")
    until(lambda: "xxxxx" not in text(page), "a drawing")
    settled(page, other)
    until(
        lambda: len(page.server.get_clients()) == 1, "the end of a connection that answers no ping"
    )


def test_what_a_browser_sent_while_the_machine_stood_still_is_no_command(web, page, link):
    browser = Browser(page)
    browser.begin_drag("/target")
    browser.drag("/target", make_pose(np.array([0.1, 0.0, 0.5])))
    until(lambda: len(link.targets) and link.targets[-1][0, 3] == pytest.approx(0.1), "a target")
    bar = connect(page.address.replace("/?", "/bar?"))
    web.stall(0.5 * STALL)
    for x in np.linspace(0.2, 0.9, 20):
        browser.drag("/target", make_pose(np.array([x, 0.0, 0.5])))
    bar.send("stop")
    web.stall(STALL)
    until(lambda: browser.socket.close_code is not None, "an end of the connection")
    until(lambda: "stop" in link.asked, "STOP, which is never too old")
    assert max(target[0, 3] for target in link.targets) == pytest.approx(0.1)
