"""Who gets into a page, and what a browser may send."""

import os
import random
import stat
import threading
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy as np
import pytest
import viser
from browser import Browser as Chromium
from browser import chromium
from dashboard_support import Browser, FakeLink, connect, free_port, has_ended, press_stop, until, wire
from viser import _messages as messages
from websockets.exceptions import InvalidStatus

from robot_control_ros.core.errors import ConfigError
from robot_control_ros.dashboard.access import Access, Right, access_of, check_origin, token_of
from robot_control_ros.dashboard.guarded_server import MAX_CONNECTIONS
from robot_control_ros.dashboard.page import Page

SAID = "(document.body?.innerText ?? '')"
NAN = float("nan")


@pytest.fixture
def state(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    return tmp_path / "robot_control_ros" / "page_token"


@pytest.fixture(scope="module")
def link():
    return FakeLink()


@pytest.fixture(scope="module")
def page(link):
    made = Page(link, port=free_port())
    yield made
    made.close()


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
        state.write_bytes({"readable": known.encode(), "short": b"0", "bytes": b"\xff" * 32}[spoilt])
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


@pytest.mark.parametrize("host", ["127.0.0.1:8080", "localhost:8080", "[::1]:8080", "10.1.2.3", "localhost"])
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


def get(page, path="/", **headers):
    connection = HTTPConnection("127.0.0.1", page.port)
    connection.request("GET", path, headers=headers)
    answer = connection.getresponse()
    return answer.status, answer.getheader("Set-Cookie"), answer.read()


def test_the_printed_address_opens_the_page_and_its_cookie_all_that_follows(page):
    path = page.address.partition(str(page.port))[2]
    status, cookie, content = get(page, path)
    assert (status, b"<html" in content.lower()) == (200, True)
    assert {"HttpOnly", "SameSite=Lax"} <= set(cookie.split("; "))
    kept = cookie.partition(";")[0]
    assert get(page, Cookie=kept)[0] == 200
    with connect(f"http://127.0.0.1:{page.port}", Cookie=kept, Origin=f"http://127.0.0.1:{page.port}") as socket:
        assert socket.recv()


@pytest.mark.parametrize("path", ["/", "/?token=", "/?token=wrong", "/index.html", "/assets/"])
def test_without_the_token_nothing_is_served(page, path):
    status, cookie, content = get(page, path)
    assert (status, cookie) == (403, None)
    assert b"<html" not in content.lower()


@pytest.mark.parametrize("headers", [{"Host": "evil.example"}, {"Origin": "http://evil.example"}, {"Origin": "null"}])
def test_another_site_s_page_gets_nothing_even_with_the_token(page, headers):
    assert get(page, page.address.partition(str(page.port))[2], **headers)[0] == 403
    with pytest.raises(InvalidStatus) as refused:
        connect(page.address, **headers)
    assert refused.value.response.status_code == 403


def test_there_are_at_most_so_many_browsers_and_a_new_one_when_one_goes(page):
    sockets = []
    while len(sockets) < 4 * MAX_CONNECTIONS and (socket := _opens(page)):  # a stall loses the browsers of before
        sockets.append(socket)
    assert MAX_CONNECTIONS <= len(sockets) < 4 * MAX_CONNECTIONS
    for socket in sockets:
        socket.close()
    until(lambda: _opens(page), "room for a browser").close()


def _opens(page):
    try:
        return connect(page.address)
    except InvalidStatus:
        return None


@pytest.mark.skipif(chromium() is None, reason="needs Chromium: apt-get install chromium, or set CHROMIUM")
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
        with Chromium(page.address) as browser:
            browser.wait(lambda: browser.shows("STOP"), "the page")  # its cookie is there now
            browser.do("Page.navigate", url=f"http://127.0.0.1:{site.server_port}/")
            browser.wait(lambda: browser.evaluate(f"{SAID}.includes('refused refused')"), "two refusals")
    finally:
        site.shutdown()


# --- messages ---


def settled(page, browser):
    """After this the page has handled all that the browser sent."""
    pose = np.random.default_rng().normal(size=3)
    browser.send(camera(tuple(pose)))
    until(
        lambda: any(np.allclose(each.camera.position, pose) for each in page.server.get_clients().values()),
        "the camera of the browser",
    )


def camera(position):
    return messages.ViewerCameraMessage(
        (1.0, 0.0, 0.0, 0.0), position, 0.8, 0.01, 1000.0, 720, 1280, (0.0, 0.0, 0.0), (0.0, 0.0, 1.0)
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
    """One message of each kind that viser's client has, to this page's own controls where there are some."""
    drag = ("start", "/target", None, (0.0,) * 3, (0.5, 0.5), (0.0,) * 3, (0.5, 0.5), "left", None)
    controls = [each._impl.uuid for each in page.server.gui._gui_input_handle_from_uuid.values()]
    made = [
        camera((1.0, 2.0, 3.0)),
        *(messages.GuiUpdateMessage(each, {"value": value}) for each in controls for value in (1, "x", [1.0], None)),
        messages.TransformControlsDragStartMessage("/target"),
        messages.TransformControlsUpdateMessage("/target", (1.0, 0.0, 0.0, 0.0), (0.0, 0.0, 0.5)),
        messages.TransformControlsDragEndMessage("/target"),
        messages.SceneNodeDragMessage(*drag),
        messages.FileTransferStartUpload("a", "b", "c", "text/plain", 1, 10),
        messages.FileTransferPart("a", "b", 0, b"abc"),
    ]
    return [wire.msgspec.msgpack.encode(each.as_serializable_dict()) for each in made]


@pytest.mark.parametrize("count", [1000, pytest.param(100_000, marks=pytest.mark.long)])
def test_mutated_messages_harm_nobody(page, link, count, capfd):
    chance = random.Random(count)
    kinds, other, hostile = sent(page), Browser(page), Browser(page)
    for _ in range(count):
        raw = mutated(chance.choice(kinds), chance)
        hostile.socket.send(raw if chance.random() < 0.95 else raw.decode("latin-1"))
    settled(page, other)
    other.set("Stiffness [N/m]", 700.0)
    until(lambda: any(what[0] == "gains" for what in link.asked if isinstance(what, tuple)), "a gain that is set")
    hostile.socket.close()
    other.socket.close()
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
            browser.socket.send(wire.msgspec.msgpack.encode(message.as_serializable_dict()))
    settled(page, browser)
    assert {each: control.value for each, control in controls.items()} == before
    browser.socket.close()


def test_an_orientation_that_is_none_reaches_no_handle(page, capfd):
    browser = Browser(page)
    browser.begin_drag("/target")
    browser.send(messages.TransformControlsUpdateMessage("/target", (0.06, 0.0, 0.0, 0.0), (0.0, 0.0, 0.5)))
    browser.end_drag("/target")
    settled(page, browser)
    browser.socket.close()
    assert "Traceback" not in "".join(capfd.readouterr())


def test_of_a_flood_most_is_dropped_and_stop_still_works(page, link):
    flooding = Browser(page)
    raw = wire.msgspec.msgpack.encode(camera((0.0, 0.0, 0.0)).as_serializable_dict())
    for _ in range(5000):
        flooding.socket.send(raw)
    link.asked.clear()
    press_stop(page)
    until(lambda: "stop" in link.asked, "STOP")
    flooding.socket.close()


def test_a_huge_message_ends_the_connection_of_who_sends_it_alone(page):
    other, huge = Browser(page), Browser(page)
    huge.socket.send(b"\x00" * 2**21)
    until(lambda: has_ended(huge.socket), "an end of the connection")
    assert huge.socket.close_code == 1009
    settled(page, other)
    other.socket.close()
