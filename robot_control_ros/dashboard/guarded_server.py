"""viser's server behind :mod:`~.access`: each request and each message of a browser is checked
before viser sees it.
"""

from __future__ import annotations

import asyncio
import dataclasses
import logging
import math
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from http import HTTPStatus
from typing import Any
from urllib.parse import urlsplit

import msgspec
import viser
from viser.infra import Message
from websockets.asyncio import server as asyncio_server
from websockets.datastructures import Headers, MultipleValuesError
from websockets.http11 import Request, Response

from .access import Access, Right, check_origin, token_of
from .bar.status_bar import PATH as BAR
from .bar.status_bar import STOP, STOP_ALL, StatusBar
from .browser_values import is_number, is_rotation, is_value_of

MAX_MESSAGE = 2**20  # bytes
# messages of one browser: per second, and at once
MAX_RATE = 400.0
BURST = 800.0
# of viser, and as many of the bar; who looks on never takes a place of who controls
MAX_CONNECTIONS = 64
MAX_ARRIVING = 128  # connections that haven't asked for anything yet
MAX_DETAIL = 100  # characters of what a browser sent, in the log
PROTOCOL = f"viser-v{viser.__version__}"  # of viser's websocket
# headers that a request may have once
READ_ONCE = ("Host", "Origin", "Cookie", "Upgrade", "Accept-Encoding")
NO_ROTATION = (1.0, 0.0, 0.0, 0.0)  # w, x, y, z
# s between two beats, and after which what browsers have sent is old
BEAT = 0.1
STALL = 0.7

# What viser's client sends, and a page uses.
LOOKING = ("ViewerCameraMessage",)
TOUCHING = (
    "GuiUpdateMessage",
    "TransformControlsUpdateMessage",
    "TransformControlsDragStartMessage",
    "TransformControlsDragEndMessage",
    "SceneNodeClickMessage",
    "SceneNodeDragMessage",
    "ScenePointerMessage",
    "FileTransferStartUpload",
    "FileTransferPart",
)


class Tally:
    """Counts what any browser can cause at will. The log has one line at the first, the tenth, the
    hundredth, …

    Args:
        what: Text behind the number in the log: what was counted.
    """

    def __init__(self, what: str) -> None:
        self._what = what
        self._count = 0
        self._log = logging.getLogger(__name__)

    def add(self, detail: str = "") -> None:
        """Count one more.

        Args:
            detail: Text about this one. It may have come from a stranger, so only its begin is
                shown, without line feeds.
        """
        self._count += 1
        if str(self._count).rstrip("0") == "1":
            shown = f"; the last: {ascii(detail)[1:-1][:MAX_DETAIL]}" if detail else ""
            self._log.warning("%d %s%s", self._count, self._what, shown)


class _QuietLog(logging.Filter):
    """Counts what websockets would log with a traceback of 15 to 20 lines for
    each malformed request.
    """

    def __init__(self) -> None:
        super().__init__()
        self._failures = Tally(
            "connections of browsers failed, as their requests were malformed or ended early"
        )

    def filter(self, record: logging.LogRecord) -> bool:
        error = record.exc_info[1] if record.exc_info else None
        if error is None:
            return True
        cause = error.__cause__ or error
        self._failures.add(f"{type(cause).__name__}: {cause}")
        logging.getLogger(__name__).debug("%s", record.getMessage(), exc_info=error)
        return False


class Guard:
    """Checks what browsers send to one server.

    Attributes:
        bar: Status bar in each page.
        controls: Handles of viser for the page's controls, by their identifier.
    """

    def __init__(self, access: Access) -> None:
        self._access = access
        self.bar = StatusBar()
        self.controls: Mapping[str, Any] = {}
        self._dropped = Tally(
            "messages of browsers were dropped: malformed, too many, or without the right"
        )
        self._outdated = Tally("browsers have a page of another version: reload it there")
        self._kinds = {kind.__name__: kind for kind in Message.get_subclasses()}
        self._arriving: dict[_Connection, None] = {}  # the oldest first
        self._open: set[_Connection] = set()
        self._beaten_at: float | None = None  # None: the server answers nobody yet
        self._log = logging.getLogger(__name__)
        # of its own: viser adds a filter to it
        self._connection_log = logging.Logger(f"{__name__}.connections")
        self._connection_log.parent = self._log
        self._connection_log.addFilter(_QuietLog())

    @contextmanager
    def installed(self) -> Iterator[None]:
        """A server that viser opens within this is guarded; viser has no option for that."""
        module: Any = asyncio_server
        serve = module.serve

        def guarded(
            handler: Any, host: str, port: int, *, process_request: Any, **options: Any
        ) -> Any:
            def check(connection: Any, request: Request) -> Response | None:
                return self._check_request(connection, request, process_request)

            async def route(connection: Any) -> None:
                if connection.of_bar:
                    await self.bar.serve(connection)
                elif connection.subprotocol == PROTOCOL:
                    await handler(connection)
                else:  # viser would print two lines for each
                    self._outdated.add()
                    await connection.close(
                        1002, f"Version mismatch. Server: {viser.__version__}. Reload the page."
                    )

            asyncio.get_running_loop().set_exception_handler(self._on_exception)
            options |= {
                "max_size": MAX_MESSAGE,
                "create_connection": lambda *a, **k: _Connection(self, *a, **k),
            }
            return serve(
                route, host, port, process_request=check, logger=self._connection_log, **options
            )

        module.serve = guarded
        try:
            yield
        finally:
            module.serve = serve

    def drop(self) -> None:
        """Count a message that wasn't passed on."""
        self._dropped.add()

    def message_of(self, raw: str | bytes) -> Message | None:
        """Message that a browser sent; None where no page's client sends it."""
        if not isinstance(raw, bytes):
            return None
        try:
            fields = msgspec.msgpack.decode(raw)
            name = fields.pop("type")
            if name not in LOOKING + TOUCHING or not _finite(fields):
                return None
            kind: Any = self._kinds[name]
            if not {each.name for each in dataclasses.fields(kind)} >= set(fields):
                return None
            message: Message = msgspec.convert(fields, kind)
        except (ValueError, TypeError, LookupError, AttributeError, RecursionError):
            return None
        if name == "GuiUpdateMessage":
            return message if self._is_update(**fields) else None
        return message if is_rotation(fields.get("wxyz", NO_ROTATION)) else None

    def _is_update(self, uuid: str, updates: dict[str, Any]) -> bool:
        """True where an update gives a control a value that this can have.

        One that is gone takes none.
        """
        control = self.controls.get(uuid)
        return (
            set(updates) == {"value"}
            and control is not None
            and is_value_of(control, updates["value"])
        )

    def permits(self, right: Right, message: Message) -> bool:
        """True where a browser with a right may send a message."""
        return right is Right.CONTROL or type(message).__name__ in LOOKING

    def _check_request(
        self, connection: Any, request: Request, answer: Callable[[Any, Request], Response | None]
    ) -> Response | None:
        """The answer to a request, None for a websocket that is accepted."""
        if self._beaten_at is None:
            self._beat()
        cookie = f"robot_control_{connection.local_address[1]}"
        try:
            headers = {name: request.headers[name] for name in READ_ONCE if name in request.headers}
            of_bar = urlsplit(request.path).path == BAR
        except MultipleValuesError as error:
            return _refuse(f"twice: {error}")
        except ValueError as error:
            return _refuse(f"Address {request.path!r:.100}: {error}")
        if reason := check_origin(headers):
            return _refuse(reason)
        token = token_of(request.path, headers, cookie)
        right = self._access.right(token)
        if right is Right.NONE:
            return _refuse(
                "The token is missing or wrong: open the whole address that the program printed"
            )
        if headers.get("Upgrade", "").lower() != "websocket":
            if "Accept-Encoding" in headers:
                del request.headers["Accept-Encoding"]  # so that the bar can be added
            response = answer(connection, request)
            if response is not None:  # the cookie has the token for what the page asks for later
                response.headers["Set-Cookie"] = f"{cookie}={token}; HttpOnly; SameSite=Lax; Path=/"
                response.headers["Content-Security-Policy"] = "frame-ancestors 'self'"
                if response.headers.get("Content-Type", "").startswith("text/html"):
                    self.bar.add_to(response)
            return response
        if (
            sum((each.of_bar, each.right) == (of_bar, right) for each in self._open)
            >= MAX_CONNECTIONS
        ):
            kind = "control the robot" if right is Right.CONTROL else "look on"
            return _refuse(f"{MAX_CONNECTIONS} browsers {kind}: must be at most {MAX_CONNECTIONS}")
        connection.right = right
        connection.of_bar = of_bar
        self._arriving.pop(connection, None)
        self._open.add(connection)
        return answer(connection, request)

    def opened(self, connection: _Connection) -> None:
        """Note a new connection, of whomever; of too many that ask for nothing, end the oldest."""
        self._arriving[connection] = None
        if len(self._arriving) > MAX_ARRIVING:
            oldest = next(iter(self._arriving))
            del self._arriving[oldest]
            oldest.transport.abort()

    def closed(self, connection: _Connection) -> None:
        """Forget a connection that has ended."""
        self._arriving.pop(connection, None)
        self._open.discard(connection)

    def _beat(self) -> None:
        """End all connections after a stall of the program: their messages are old commands."""
        loop = asyncio.get_running_loop()
        now = time.monotonic()
        if self._beaten_at is not None and now - self._beaten_at > STALL:
            for each in self._open:
                each.end_if_old()
        self._beaten_at = now
        loop.call_later(BEAT, self._beat)

    def _on_exception(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        """Drop a message that viser can't use, such as a value that its control doesn't take."""
        self._log.debug("%s", context.get("exception") or context["message"])
        self.drop()


class _Connection(asyncio_server.ServerConnection):
    """Connection of one browser; what it receives is checked."""

    def __init__(self, guard: Guard, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.right = Right.NONE
        self.of_bar = False
        self._old = False
        self._guard = guard
        self._left = BURST
        self._since = time.monotonic()

    async def recv(self, decode: bool | None = None) -> Any:
        """The next message that is passed on."""
        while True:
            raw: Any = await super().recv(decode)
            if self.of_bar:
                if raw in (STOP, STOP_ALL) or self._in_time():
                    return raw
                self._guard.drop()
                continue
            message = None if self._old else self._guard.message_of(raw)
            if message is not None and self._guard.permits(self.right, message) and self._in_time():
                return raw
            self._guard.drop()

    def end_if_old(self) -> None:
        """Drop what has come and not been passed on; the bar's STOP is never too old."""
        if not self.of_bar:
            self._old = True
            self.transport.abort()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        self._guard.opened(self)

    def connection_lost(self, exc: Exception | None) -> None:
        self._guard.closed(self)
        super().connection_lost(exc)

    def _in_time(self) -> bool:
        """True where this browser sends no more than it may."""
        now = time.monotonic()
        self._left = min(BURST, self._left + MAX_RATE * (now - self._since))
        self._since = now
        if self._left < 1.0:
            return False
        self._left -= 1.0
        return True


def _finite(value: Any) -> bool:
    """True where all numbers in nested lists and mappings are finite."""
    if is_number(value):
        return math.isfinite(value)
    if isinstance(value, dict):
        return all(_finite(each) for each in value.values())
    return not isinstance(value, list) or all(_finite(each) for each in value)


def _refuse(reason: str) -> Response:
    body = f"{reason}.\n".encode()
    headers = Headers(
        {"Content-Type": "text/plain; charset=utf-8", "Content-Length": str(len(body))}
    )
    return Response(HTTPStatus.FORBIDDEN, "Forbidden", headers, body)
