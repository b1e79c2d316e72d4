"""Base of all pages: viser's server, and a thread that draws."""

from __future__ import annotations

import contextlib
import io
import signal
import time
import webbrowser
from abc import ABC, abstractmethod
from pathlib import Path

import viser

from ..core.errors import refused
from .access import Right, access_of, check_host, write_redirect
from .guarded_server import Guard
from .loop_event import install
from .page_thread import PageThread
from .theme import BRAND
from .typed_numbers import TypedNumbers

WIDTH = 345  # px, of the control panel
PORTS = (1, 65535)
POLL_PERIOD = 0.1  # s between two checks for a signal


class WebPage(ABC):
    """A page in the browser, until it is closed. Its class adds controls, and starts the thread.

    Args:
        title: Title of the browser's tab.
        host: Address to listen on.
        port: First port to try; if it is taken, the next free one.
        token: True where only browsers with the address that is printed get in; see
            :mod:`~.access`.

    Attributes:
        port: Port that the page listens on.
        address, look_address: Addresses for those who control the robot, and for those who look on.
        bar: Status bar on top of the page; `draw` shows the state in it.
        server: Server of viser.
        thread: Thread that draws; not yet started.

    Raises:
        ConfigError: the port or the host is not possible, or not without a token.
    """

    def __init__(self, title: str, host: str, port: int, token: bool = True) -> None:
        self._title = title
        self._host = host
        self._first_port = port
        self._redirect: Path | None = None  # the file that a browser was opened with
        access = access_of(token, host)
        guard = Guard(access)
        self.bar = guard.bar
        with guard.installed():
            self.server = _open_server(title, host, port)
        guard.controls = self.server.gui._gui_input_handle_from_uuid  # no public way there
        self.port = self.server.get_port()
        self.address = access.address(host, self.port)
        self.look_address = access.address(host, self.port, Right.LOOK)
        self.thread = PageThread(self.draw, self.refuse, lambda: bool(self.server.get_clients()))
        self.bar.on_number = TypedNumbers(lambda: guard.controls, self.thread).take

    @abstractmethod
    def draw(self) -> None:
        """Show the present state; the thread calls it."""

    @abstractmethod
    def refuse(self, message: str) -> None:
        """Show why something was refused."""

    def close(self) -> None:
        self.thread.close()
        self.server.stop()
        if self._redirect is not None:
            self._redirect.unlink(missing_ok=True)

    def show_in_browser(self) -> None:
        """Open the page in the browser of this machine; say so where there is none.

        The browser gets a file of the user's that leads there: everybody can read its command line.
        """
        try:
            self._redirect = write_redirect(self.address, self.port)
        except (OSError, RuntimeError) as error:
            print(
                f"no file for the browser can be written ({error}): open the address yourself",
                flush=True,
            )
            return
        if not webbrowser.open(self._redirect.as_uri()):
            print("no browser was found on this machine: open the address yourself", flush=True)

    def serve(self, open_browser: bool = False) -> int:
        """Print the address, and wait for Ctrl-C or SIGTERM; returns the exit status. Call it in
        the main thread.

        With `open_browser` this machine's browser opens the address.
        """
        ended: list[int] = []  # an exception instead may be lost in a finaliser
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, lambda number, frame: ended.append(number))
        if self.port != self._first_port:
            print(f"port {self._first_port} is taken: {self.port} is used")
        print(f"{self._title}: {self.address} (Ctrl-C ends it)", flush=True)
        print(f"to look on only: {self.look_address}", flush=True)
        if open_browser:
            self.show_in_browser()
        while not ended:
            time.sleep(POLL_PERIOD)
        self.close()
        return 0


def _open_server(title: str, host: str, port: int) -> viser.ViserServer:
    """A server whose control panel is at the right."""
    if not PORTS[0] <= port <= PORTS[1]:
        raise refused("port", port, f"must be within {list(PORTS)}", PORTS)
    check_host(host)
    install()
    with contextlib.redirect_stdout(io.StringIO()):  # viser prints a frame of its own
        server = viser.ViserServer(host, port, label=title, verbose=False)
    server.gui.configure_theme(
        show_logo=False, show_share_button=False, brand_color=BRAND, control_width="medium"
    )
    server.gui.main_panel.dock_right()
    server.gui.main_panel.set_width(WIDTH)
    return server
