"""What a page in the browser says where it is started, and how it ends."""

import signal
import time

import pytest

pytest.importorskip("viser")

from robot_control_ros.dashboard.web_page import WebPage


class Page(WebPage):
    """A page without a server, whose first port is taken."""

    def __init__(self):
        self._title, self._first_port, self.port = "page", 8080, 8081
        self.address, self.look_address = "http://127.0.0.1:8081/?token=abc", "http://127.0.0.1:8081/?token=def"

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


@pytest.mark.parametrize("found", [True, False])
def test_open_gives_the_browser_the_address_with_its_token(monkeypatch, capsys, found):
    opened = []
    monkeypatch.setattr("webbrowser.open", lambda address: opened.append(address) or found)
    Page().show_in_browser()
    assert opened == [Page().address]
    assert ("open the address yourself" in capsys.readouterr().out) != found
