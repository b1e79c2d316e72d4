"""Real connections to a page that listens on a real port; for tests of the system."""

import socket
import time

import viser
from websockets.exceptions import ConnectionClosed
from websockets.sync import client

LIMIT = 60.0  # s


def until(condition, what):
    """Wait until a condition holds; returns what it returns."""
    deadline = time.monotonic() + LIMIT
    while not (found := condition()):
        assert time.monotonic() < deadline, f"waited for: {what}"
        time.sleep(0.005)
    return found


def connect(address, **headers):
    """A websocket to the page of an address, with these headers besides."""
    return client.connect(
        address.replace("http://", "ws://"),
        subprotocols=[f"viser-v{viser.__version__}"],
        additional_headers=headers,
        max_size=None,
        max_queue=None,
    )


def has_ended(connection):
    """Whether a websocket was closed from the other end; takes a message where there is one."""
    try:
        connection.recv(timeout=0.0)
    except TimeoutError:
        return False
    except ConnectionClosed:
        return True
    return False


def free_port():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]
