"""What a page in the browser says where it is started, and how it ends."""

import signal
import stat
import time
from pathlib import Path

import pytest

pytest.importorskip("viser")

from robot_control_ros.dashboard.web_page import WebPage
from robot_control_ros.teaching.joint.joint_page import JointPage


class Page(WebPage):
    """A page without a server, whose first port is taken."""

    def __init__(self):
        self._title, self._first_port, self.port, self._redirect = "page", 8080, 8081, None
        self.address, self.look_address = (
            "http://127.0.0.1:8081/?token=abc",
            "http://127.0.0.1:8081/?token=def",
        )

    def draw(self):
        pass

    def refuse(self, message):
        pass

    def close(self):
        print("closed")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_page_says_a_taken_port_and_ends_by_a_signal(monkeypatch, capsys, number):
    before = {each: signal.getsignal(each) for each in (signal.SIGINT, signal.SIGTERM)}
    monkeypatch.setattr(time, "sleep", lambda seconds: signal.raise_signal(number))
    try:
        assert Page().serve() == 0
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)
    taken, address, look, closed = capsys.readouterr().out.splitlines()
    assert taken == "port 8080 is taken: 8081 is used"
    assert address.startswith(f"page: {Page().address} ")
    assert look.endswith(Page().look_address)
    assert closed == "closed"


@pytest.fixture
def state(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    return tmp_path / "robot_control_ros"


@pytest.mark.parametrize("found", [True, False])
def test_open_gives_the_browser_a_file_of_the_user_s_alone_that_leads_to_the_address(
    monkeypatch, capsys, state, found
):
    opened = []
    monkeypatch.setattr("webbrowser.open", lambda address: opened.append(address) or found)
    Page().show_in_browser()
    (address,) = opened
    assert "abc" not in address.removeprefix(state.as_uri())  # the token is on no command line
    path = Path(address.removeprefix("file://"))
    assert Page().address in path.read_text()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(state.stat().st_mode) == 0o700
    assert ("open the address yourself" in capsys.readouterr().out) != found


def test_the_file_that_led_a_browser_goes_with_the_page(monkeypatch, state, web):
    opened = []
    monkeypatch.setattr("webbrowser.open", lambda address: opened.append(address) or True)
    page = JointPage()
    page.show_in_browser()
    path = Path(opened[0].removeprefix("file://"))
    assert path.exists()
    page.close()
    assert not path.exists()


def test_a_link_in_the_place_of_that_file_is_not_followed(monkeypatch, state):
    monkeypatch.setattr("webbrowser.open", lambda address: True)
    other = state.parent / "other"
    other.write_text("mine")
    state.mkdir(mode=0o700)
    (state / "open_8081.html").symlink_to(other)
    Page().show_in_browser()
    assert other.read_text() == "mine"


def test_where_no_such_file_can_be_written_the_user_is_told_and_no_browser_opened(
    monkeypatch, capsys, tmp_path
):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "file"))
    monkeypatch.setattr("webbrowser.open", lambda address: pytest.fail("a browser was opened"))
    Page().show_in_browser()
    assert "open the address yourself" in capsys.readouterr().out
