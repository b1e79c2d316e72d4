"""viser's server with what all pages have in common."""

from __future__ import annotations

import contextlib
import io
import signal
import socket
import time
from typing import Any

import viser

from ..core.errors import ConfigError

BRAND = (33, 110, 190)
WIDTH = 345  # px, of the control panel
LOOK = 0.1  # s between two looks whether it shall end


def open_server(title: str, host: str, port: int) -> viser.ViserServer:
    """A server whose control panel is at the right.

    Args:
        title: of the browser's tab.
        host: address to listen on.
        port: the first to try; where it is taken, the next free one is.

    Raises:
        ConfigError: nobody can listen there.
    """
    if not 1 <= port <= 65535:
        raise ConfigError(f"port = {port}: must be within [1, 65535]")
    try:
        socket.create_server((host, 0)).close()
    except OSError as error:
        raise ConfigError(f"host = {host}: must be an address of this machine") from error
    with contextlib.redirect_stdout(io.StringIO()):  # viser greets in a frame of its own
        server = viser.ViserServer(host, port, label=title, verbose=False)
    server.gui.configure_theme(show_logo=False, show_share_button=False, brand_color=BRAND, control_width="medium")
    server.gui.main_panel.dock_right()
    server.gui.main_panel.set_width(WIDTH)
    return server


def until_interrupted(page: Any, title: str, host: str, port: int) -> int:
    """Print where the page is, and leave it open until Ctrl-C or SIGTERM. To be called in the main thread.

    Args:
        page: with `port` and `close()`.
        title: of it.
        host, port: that were asked for.

    Returns:
        The exit status.
    """
    ended: list[int] = []  # an exception instead may be lost where it strikes a finaliser
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda number, frame: ended.append(number))
    if page.port != port:
        print(f"port {port} is taken: {page.port} it is")
    print(f"{title}: http://{host}:{page.port} (Ctrl-C ends it)", flush=True)
    while not ended:
        time.sleep(LOOK)
    page.close()
    return 0
