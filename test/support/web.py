"""Pages of viser and their browsers inside one process: no threads, no sockets, no clock but a
stepped one.

The Python code of viser and websockets runs unchanged, from a page's handles down to the bytes of
its websocket.
So does ``dashboard/guarded_server.py``. Replaced are the event loop, the sockets, viser's threads,
and the page's own thread. The test steps the clock, and whatever happens is stepped with it.
"""

from __future__ import annotations

import asyncio
import io
import threading
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from http.client import HTTPResponse
from types import SimpleNamespace
from typing import Any

import pytest
import viser
from stepped_loop import EPOCH, START, Network, SteppedLoop, Transport
from stepped_time import SteppedTime
from viser import _viser
from viser.infra import _infra
from websockets.client import ClientProtocol
from websockets.exceptions import ConnectionClosed
from websockets.frames import Frame, Opcode
from websockets.protocol import State
from websockets.uri import parse_uri

from robot_control_ros.dashboard import web_page
from robot_control_ros.dashboard.page_thread import PERIOD, PageThread

LIMIT = 60.0  # s of the stepped clock
POLL = 0.005  # s between two looks whether something holds

_webs: list[Web] = []


def current() -> Web:
    """The one that the test runs in."""
    assert _webs, "the test needs the fixture `web`"
    return _webs[-1]


class Web:
    """The world of a test with pages: a clock, a network, and nothing below.

    Args:
        clock: that of a :class:`graph.Graph`, or None for one of its own; its time is then that of
            ``time``, too.

    Attributes:
        clock: what the test steps.
        network: where pages listen.
    """

    def __init__(self, clock: Any = None) -> None:
        self.clock = SteppedTime(START) if clock is None else clock
        self.network = Network(self.clock)
        self._loops: list[SteppedLoop] = []
        self._patch = pytest.MonkeyPatch()
        if clock is None:
            self._replace_time()
        self._replace_what_viser_starts()
        self._patch.setattr(
            web_page, "PageThread", lambda *given: SteppedPageThread(self.clock, *given)
        )

    def __enter__(self) -> Web:
        _webs.append(self)
        return self

    def __exit__(self, *error: object) -> None:
        for loop in self._loops:
            loop.end()
        _webs.pop()
        self._patch.undo()

    def until(self, condition: Callable[[], Any], what: str) -> Any:
        """Step until a condition holds; returns what it returns."""
        end = self.clock.now + round(LIMIT * 1e9)
        while not (found := condition()):
            assert self.clock.now < end, f"waited for: {what}"
            self.clock.run_for(round(POLL * 1e9))
        return found

    def wait(self, seconds: float) -> None:
        """Let a time pass, and what happens in it."""
        self.clock.run_for(round(seconds * 1e9))

    def stall(self, seconds: float) -> None:
        """The machine stands still: a time passes, and what should have
        happened in it comes late.
        """
        self.clock.now += round(seconds * 1e9)

    def _replace_time(self) -> None:
        clock, patch = self.clock, self._patch
        patch.setattr(time, "monotonic", lambda: clock.now * 1e-9)
        patch.setattr(time, "perf_counter", lambda: clock.now * 1e-9)
        patch.setattr(time, "time", lambda: (EPOCH + clock.now) * 1e-9)
        patch.setattr(time, "sleep", clock.sleep)

    def _replace_what_viser_starts(self) -> None:
        loops = self._loops

        def new_event_loop() -> SteppedLoop:
            loops.append(SteppedLoop(self.clock, self.network))
            return loops[-1]

        class Thread:
            """The thread of a server, without the thread."""

            def __init__(self, target: Callable[[], None], daemon: bool) -> None:
                self._target = target

            def start(self) -> None:
                self._target()
                self._loop = loops[-1]

            def join(self, timeout: float) -> None:
                self._loop.finish(timeout)

        never = SimpleNamespace(register=lambda action: None, unregister=lambda action: None)
        for module in (_infra, _viser):
            self._patch.setattr(module, "atexit", never)
        own_asyncio = {"new_event_loop": new_event_loop, "set_event_loop": lambda loop: None}
        self._patch.setattr(_infra, "asyncio", SimpleNamespace(**{**vars(asyncio), **own_asyncio}))
        self._patch.setattr(
            _infra, "threading", SimpleNamespace(**{**vars(threading), "Thread": Thread})
        )
        self._patch.setattr(
            _viser, "ThreadPoolExecutor", lambda max_workers: SteppedExecutor(self.clock)
        )


class SteppedExecutor:
    """What viser gives its callbacks to: they run at the next step."""

    def __init__(self, clock: Any) -> None:
        self._clock = clock

    def submit(self, function: Callable[..., Any], *arguments: Any) -> Future[Any]:
        future: Future[Any] = Future()

        def call() -> None:
            try:
                future.set_result(function(*arguments))
            except Exception as error:
                future.set_exception(error)

        self._clock.after(0, call)
        return future

    def shutdown(self, wait: bool = True) -> None:
        """Nothing of it goes on."""


class SteppedPageThread(PageThread):
    """A page's thread, without the thread: it goes on while the test steps, and draws whether
    it is watched or not.
    """

    def __init__(
        self,
        clock: Any,
        draw: Callable[[], None],
        refuse: Callable[[str], None],
        watched: Callable[[], bool],
    ) -> None:
        super().__init__(draw, refuse, watched)
        self._clock = clock
        self._runs = False

    def start(self) -> None:
        self._runs = True
        self._clock.after(0, self._turn)

    def close(self) -> None:
        self._runs = False
        self._run_what_waits()

    def post(self, action: Callable[[], Any]) -> None:
        super().post(action)
        self._clock.after(0, self._go_on)

    def _turn(self) -> None:
        if self._runs:
            self.draw()
            self._run_what_waits()
            self._clock.after(round(PERIOD * 1e9), self._turn)

    def _go_on(self) -> None:
        if self._runs:
            self._run_what_waits()

    def _run_what_waits(self) -> None:
        while self.run_next(0.0):
            pass


# --- browsers ---


class WebSocket(asyncio.Protocol):
    """A browser's end of a websocket; used as one of ``websockets.sync`` is.

    Args:
        web: where it is.
        address: of the page.
        headers: of the request, besides the usual ones.
        reads: whether it takes what comes.

    Raises:
        InvalidStatus: it was refused.
    """

    def __init__(self, web: Web, address: str, headers: dict[str, str], reads: bool = True) -> None:
        self._web = web
        self._received: deque[str | bytes] = deque()
        self._transport: Transport
        self._lost = False
        uri = parse_uri(address.replace("http://", "ws://"))
        self._protocol = ClientProtocol(
            uri, subprotocols=[f"viser-v{viser.__version__}"], max_size=None
        )  # type: ignore[list-item]
        request = self._protocol.connect()
        request.headers.update(headers)
        self._protocol.send_request(request)
        web.network.connect(uri.port, self)
        web.until(
            lambda: self._protocol.state is not State.CONNECTING or self._lost,
            "an answer of the page",
        )
        if self._protocol.handshake_exc is not None:
            raise self._protocol.handshake_exc

    def __enter__(self) -> WebSocket:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    @property
    def close_code(self) -> int | None:
        """With which it was closed; None while it is open."""
        return self._protocol.close_code if self._lost else None

    def send(self, message: str | bytes) -> None:
        if self._lost or self._protocol.state is not State.OPEN:
            raise self._closed()
        if isinstance(message, str):
            self._protocol.send_text(message.encode())
        else:
            self._protocol.send_binary(message)
        self._flush()

    def recv(self, timeout: float = LIMIT) -> str | bytes:
        """The next message.

        Raises:
            TimeoutError: none comes.
            ConnectionClosed: it is closed.
        """
        end = self._web.clock.now + round(timeout * 1e9)
        while not self._received and not self._lost and self._web.clock.now < end:
            self._web.clock.step(end)
        if self._received:
            return self._received.popleft()
        if self._lost:
            raise self._closed()
        raise TimeoutError

    def close(self) -> None:
        """Say farewell, and wait for its end."""
        if not self._lost:
            if self._protocol.state is State.OPEN:
                self._protocol.send_close(1000)
                self._flush()
            self._web.until(lambda: self._lost, "the end of a connection")

    def cut(self) -> None:
        """End it without a farewell, as a machine that dies does."""
        self._transport.abort()

    def stop_reading(self) -> None:
        """Take nothing more of what comes."""
        self._transport.pause_reading()

    def _closed(self) -> ConnectionClosed:
        return self._protocol.close_exc

    def _flush(self) -> None:
        for data in self._protocol.data_to_send():
            if data:
                self._transport.write(data)
            else:
                self._transport.close()

    # --- of asyncio ---

    def connection_made(self, transport: Any) -> None:
        self._transport = transport
        self._flush()

    def data_received(self, data: bytes) -> None:
        self._protocol.receive_data(data)
        for event in self._protocol.events_received():
            if isinstance(event, Frame) and event.opcode in (Opcode.TEXT, Opcode.BINARY):
                assert event.fin
                self._received.append(
                    str(event.data, "utf-8") if event.opcode is Opcode.TEXT else bytes(event.data)
                )
        self._flush()

    def connection_lost(self, exc: Exception | None) -> None:
        self._protocol.receive_eof()
        self._protocol.events_received()
        self._lost = True


class _Request(asyncio.Protocol):
    """A request of HTTP, and the bytes of its answer."""

    def __init__(self, request: bytes) -> None:
        self._request = request
        self.answer, self.ended = b"", False

    def connection_made(self, transport: Any) -> None:
        transport.write(self._request)

    def data_received(self, data: bytes) -> None:
        self.answer += data

    def connection_lost(self, exc: Exception | None) -> None:
        self.ended = True


def get(port: int, path: str, **headers: str) -> tuple[int, str | None, bytes]:
    """Status, cookie and content that a page answers to a request."""
    web = current()
    lines = [
        f"{name}: {value}" for name, value in ({"Host": f"127.0.0.1:{port}"} | headers).items()
    ]
    asked = _Request("\r\n".join([f"GET {path} HTTP/1.1", *lines, "", ""]).encode())
    web.network.connect(port, asked)
    web.until(lambda: asked.ended, "an answer of the page")
    found = HTTPResponse(SimpleNamespace(makefile=lambda mode: io.BytesIO(asked.answer)))  # type: ignore[arg-type]
    found.begin()
    return found.status, found.getheader("Set-Cookie"), found.read()
