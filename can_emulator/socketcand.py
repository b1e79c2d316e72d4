"""A server of one bus by socketcand's protocol, over TCP: doc/protocol.md of linux-can/socketcand.

Of its modes it has NO_BUS, BCM (send, subscribe, unsubscribe, echo) and RAW (send, echo). A frame
that one client sends reaches the motors, and the other clients. There is no beacon: nothing is sent
that nobody asked for.
"""

from __future__ import annotations

import contextlib
import re
import selectors
import socket
import time
from collections.abc import Callable

from .errors import NetworkError
from .frame import Frame

HOST = "127.0.0.1"
PORT = 29536  # socketcand's own

_LONGEST = 4096  # bytes of a client's commands that aren't complete
_COMMAND = re.compile(rb"<([^<>]*)>")
_NO_BUS, _BCM, _RAW = "no bus", "bcm", "raw"


class _Client:
    """A connection, and its mode."""

    def __init__(self, connection: socket.socket) -> None:
        self.connection = connection
        self.mode = _NO_BUS
        self.received = b""
        self.subscribed: set[int] = set()


class SocketcandServer:
    """Serves a bus until it is closed; :meth:`poll` does what has to be done.

    Args:
        interface: name of the bus, as clients open it.
        process: takes a frame of a client; returns the answers.
        port: of TCP; 0 for any that is free.
        host: address to listen at.

    Attributes:
        port: where it listens.

    Raises:
        NetworkError: the port is taken, or not permitted.
    """

    def __init__(
        self,
        interface: str,
        process: Callable[[Frame], list[Frame]],
        port: int = PORT,
        host: str = HOST,
    ) -> None:
        self._interface = interface
        self._process = process
        self._clients: list[_Client] = []
        try:
            self._listener = socket.create_server((host, port))
        except OSError as error:
            raise NetworkError(
                f"port {port} at {host}: {error}; give another one with --port, or 0 for any"
            ) from error
        self.port: int = self._listener.getsockname()[1]
        self._listener.setblocking(False)
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._listener, selectors.EVENT_READ)

    def poll(self, timeout: float = 0.0) -> None:
        """Wait for clients so long [s], and do what they say."""
        for ready, _ in self._selector.select(timeout):
            if ready.fileobj is self._listener:
                self._accept()
            else:
                self._serve(ready.data)

    def publish(self, frames: list[Frame], sender: object = None) -> None:
        """Send frames to the clients, but for the one that they are from."""
        for client in list(self._clients):
            wanted = [
                frame
                for frame in frames
                if client is not sender
                and (
                    client.mode == _RAW
                    or (client.mode == _BCM and frame.identifier in client.subscribed)
                )
            ]
            if wanted:
                self._send(client, "".join(map(text_of, wanted)))

    def close(self) -> None:
        """Hang up."""
        for client in list(self._clients):
            self._drop(client)
        self._selector.close()
        self._listener.close()

    def _accept(self) -> None:
        connection, _ = self._listener.accept()
        connection.setblocking(False)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        client = _Client(connection)
        self._clients.append(client)
        self._selector.register(connection, selectors.EVENT_READ, client)
        self._send(client, "< hi >")

    def _serve(self, client: _Client) -> None:
        try:
            data = client.connection.recv(_LONGEST)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            self._drop(client)
            return
        client.received += data
        end = 0
        for command in _COMMAND.finditer(client.received):
            end = command.end()
            self._do(client, command.group(1).decode("ascii", "replace").split())
            if client not in self._clients:
                return
        client.received = client.received[end:]
        if len(client.received) > _LONGEST:
            self._drop(client)

    def _do(self, client: _Client, words: list[str]) -> None:
        name = words[0] if words else ""
        if name == "echo":
            self._send(client, "< echo >")
        elif client.mode == _NO_BUS:
            self._open(client, words)
        elif name == "rawmode" or name == "bcmmode":
            client.mode = _RAW if name == "rawmode" else _BCM
            self._send(client, "< ok >")
        elif name == "send":
            self._take_frame(client, words[1:])
        elif client.mode == _BCM and name in ("subscribe", "unsubscribe"):
            self._subscribe(client, words)
        else:
            self._send(client, "< error unknown command >")

    def _open(self, client: _Client, words: list[str]) -> None:
        if words == ["open", self._interface]:
            client.mode = _BCM
            self._send(client, "< ok >")
            return
        opened = words[:1] == ["open"]
        self._send(
            client, "< error could not open bus >" if opened else "< error unknown command >"
        )
        self._drop(client)

    def _subscribe(self, client: _Client, words: list[str]) -> None:
        try:
            identifier = int(words[-1], 16)
        except ValueError:
            self._send(client, "< error syntax error >")
            return
        if words[0] == "subscribe":
            client.subscribed.add(identifier)
        else:
            client.subscribed.discard(identifier)

    def _take_frame(self, client: _Client, words: list[str]) -> None:
        try:
            frame = frame_of(words)
        except (ValueError, IndexError):
            self._send(client, "< error syntax error >")
            return
        self.publish([frame], sender=client)
        self.publish(self._process(frame))

    def _send(self, client: _Client, text: str) -> None:
        try:
            client.connection.sendall(text.encode("ascii"))
        except OSError:  # it is gone, or doesn't read
            self._drop(client)

    def _drop(self, client: _Client) -> None:
        if client in self._clients:
            self._clients.remove(client)
            with contextlib.suppress(KeyError):
                self._selector.unregister(client.connection)
            client.connection.close()


def frame_of(words: list[str]) -> Frame:
    """The frame of ``can_id can_dlc [data]*``; a ValueError or IndexError where it is none.

    An identifier of three digits is a standard one, one of eight an extended one.
    """
    identifier = int(words[0], 16)
    length = int(words[1], 16)
    data = bytes(int(word, 16) for word in words[2 : 2 + length])
    if len(data) != length:
        raise ValueError(f"{len(data)} bytes of {length}")
    return Frame(identifier, data, len(words[0]) > 3).check()


def text_of(frame: Frame, now: float | None = None) -> str:
    """A frame as the server sends it, with the wall time."""
    stamp = f"{time.time() if now is None else now:.6f}"
    if frame.error:
        return f"< error {frame.identifier:03X} {stamp} >"
    digits = 8 if frame.extended else 3
    return f"< frame {frame.identifier:0{digits}X} {stamp} {frame.data.hex().upper()} >"
