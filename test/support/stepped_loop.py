"""An event loop of asyncio on a clock that only the test moves, with connections inside the
process.

asyncio's own futures and tasks run unchanged over it. A server that listens here is reached by
:meth:`Network.connect`.
"""

from __future__ import annotations

import asyncio
import itertools
import logging
import socket
from asyncio.events import _get_running_loop, _set_running_loop
from collections import deque
from collections.abc import Callable
from contextvars import Context, copy_context
from typing import Any

LATENCY = 50_000  # ns between a write and its arrival
START = 1_000_000_000_000  # ns, what the clock shows at first
EPOCH = 1_700_000_000_000_000_000  # ns, what the system's clock shows then
ADDRESS = "127.0.0.1"


class SteppedLoop(asyncio.AbstractEventLoop):
    """The event loop of one server.

    Args:
        clock: the time: :class:`graph.Graph`, where it has nodes, too.
        network: where its servers listen.

    Attributes:
        main: what :meth:`run_until_complete` has begun.
    """

    def __init__(self, clock: Any, network: Network) -> None:
        self._clock, self._network = clock, network
        self._ready: deque[Callable[[], None]] = deque()
        self._on_exception: Callable[[Any, dict[str, Any]], None] | None = None
        self.main: asyncio.Task[Any] | None = None

    # --- time ---

    def time(self) -> float:
        return float(self._clock.now * 1e-9)

    def call_soon(
        self, callback: Callable[..., Any], *args: Any, context: Any = None
    ) -> asyncio.Handle:
        context = copy_context() if context is None else context
        handle = asyncio.Handle(callback, args, self, context)
        self._ready.append(lambda: self._run(handle, context, callback, args))
        self._clock.after(0, self._run_next)
        return handle

    def call_soon_threadsafe(
        self, callback: Callable[..., Any], *args: Any, context: Any = None
    ) -> asyncio.Handle:
        return self.call_soon(callback, *args, context=context)

    def call_later(
        self, delay: float, callback: Callable[..., Any], *args: Any, context: Any = None
    ) -> asyncio.TimerHandle:
        return self.call_at(self.time() + delay, callback, *args, context=context)

    def call_at(
        self, when: float, callback: Callable[..., Any], *args: Any, context: Any = None
    ) -> asyncio.TimerHandle:
        context = copy_context() if context is None else context
        handle = asyncio.TimerHandle(when, callback, args, self, context)
        delay = max(round(when * 1e9) - self._clock.now, 0)
        self._clock.after(delay, lambda: self._run(handle, context, callback, args))
        return handle

    def run_until_complete(self, future: Any) -> None:
        """Begin a coroutine, as far as it gets at once; it goes on while the clock is stepped."""
        self.main = self.create_task(future)
        while self._ready:
            self._run_next()

    def finish(self, seconds: float) -> None:
        """Step until what :meth:`run_until_complete` has begun is done, or a time has passed."""
        end = self._clock.now + round(seconds * 1e9)
        while self.main is not None and not self.main.done() and self._clock.now < end:
            self._clock.step(end)

    def end(self) -> None:
        """Cancel what is left in it."""
        while tasks := asyncio.all_tasks(self):
            for task in tasks:
                task.cancel()
            while self._ready:
                self._run_next()

    def _run_next(self) -> None:
        if self._ready:
            self._ready.popleft()()

    def _run(
        self, handle: asyncio.Handle, context: Context, callback: Callable[..., Any], args: Any
    ) -> None:
        if not handle.cancelled():
            self.call(context.run, callback, *args)

    def call(self, function: Callable[..., Any], *args: Any) -> Any:
        """Call a function while this is the running loop; an exception goes to the
        handler of exceptions.
        """
        before = _get_running_loop()
        _set_running_loop(self)
        try:
            return function(*args)
        except Exception as error:
            self.call_exception_handler({"message": f"exception in {function}", "exception": error})
        finally:
            _set_running_loop(before)

    def _timer_handle_cancelled(self, handle: asyncio.TimerHandle) -> None:
        """It is skipped when it is due."""

    # --- futures and tasks ---

    def create_future(self) -> asyncio.Future[Any]:
        return asyncio.Future(loop=self)

    def create_task(self, coro: Any, *, name: Any = None, context: Any = None) -> asyncio.Task[Any]:
        return asyncio.Task(coro, loop=self, name=name)

    def run_in_executor(
        self, executor: Any, func: Callable[..., Any], *args: Any
    ) -> asyncio.Future[Any]:
        """Call a function at the next step, not in a thread."""
        future = self.create_future()

        def call() -> None:
            if future.cancelled():
                return
            try:
                future.set_result(func(*args))
            except Exception as error:
                future.set_exception(error)

        self.call_soon(call)
        return future

    # --- its state ---

    def is_running(self) -> bool:
        return True

    def is_closed(self) -> bool:
        return False

    def stop(self) -> None:
        """Goes on: the server's thread stops it after its end, and here that
        thread has only begun it.
        """

    def close(self) -> None:
        """As :meth:`stop`."""

    def get_debug(self) -> bool:
        return False

    def set_exception_handler(self, handler: Any) -> None:
        self._on_exception = handler

    def call_exception_handler(self, context: dict[str, Any]) -> None:
        if self._on_exception is not None:
            self._on_exception(self, context)
        else:
            logging.getLogger("asyncio").error(
                context["message"], exc_info=context.get("exception")
            )

    # --- servers ---

    async def create_server(
        self, protocol_factory: Any, host: Any = None, port: Any = None, **options: Any
    ) -> Any:
        return self._network.listen(self, protocol_factory, port)


class Network:
    """Servers by port, and connections to them."""

    def __init__(self, clock: Any) -> None:
        self._clock = clock
        self._listeners: dict[int, Listener] = {}
        self._ports = itertools.count(40_000)

    def listen(self, loop: SteppedLoop, factory: Callable[[], Any], port: int) -> Listener:
        """A new server.

        Raises:
            OSError: the port is taken.
        """
        if port in self._listeners:
            raise OSError(f"port {port} is taken")
        self._listeners[port] = Listener(
            loop, factory, port, lambda: self._listeners.pop(port, None)
        )
        return self._listeners[port]

    def connect(self, port: int, protocol: Any) -> Transport:
        """Connect a protocol of asyncio to the server at a port; returns its end.

        Raises:
            ConnectionRefusedError: nobody listens there.
        """
        if port not in self._listeners:
            raise ConnectionRefusedError(f"nobody listens at port {port}")
        listener, own = self._listeners[port], (ADDRESS, next(self._ports))
        near = Transport(self._clock, listener.loop, protocol, own, (ADDRESS, port))
        far = Transport(self._clock, listener.loop, listener.factory(), (ADDRESS, port), own)
        near.peer, far.peer = far, near
        for each in (near, far):
            each.call(each.protocol.connection_made, each)
        return near


class Listener(asyncio.AbstractServer):
    """A server that listens, as asyncio's."""

    family = socket.AF_INET

    def __init__(
        self, loop: SteppedLoop, factory: Callable[[], Any], port: int, forget: Callable[[], Any]
    ) -> None:
        self.loop, self._make, self._port, self._forget = loop, factory, port, forget
        self.sockets = [self]

    def factory(self) -> Any:
        """The protocol of a new connection, made while the loop runs."""
        return self.loop.call(self._make)

    def getsockname(self) -> tuple[str, int]:
        return ADDRESS, self._port

    def close(self) -> None:
        self._forget()

    async def wait_closed(self) -> None:
        """It is closed."""

    def get_loop(self) -> SteppedLoop:
        return self.loop

    def is_serving(self) -> bool:
        return True


class Transport(asyncio.Transport):
    """One end of a connection.

    Args:
        clock: of the connection.
        loop: that is running while the protocol is called.
        protocol: that gets what comes.
        own, other: addresses of this end and the other one.

    Attributes:
        arrived: What has come and the protocol has not taken.
    """

    peer: Transport

    def __init__(self, clock: Any, loop: SteppedLoop, protocol: Any, own: Any, other: Any) -> None:
        super().__init__({"sockname": own, "peername": other})
        self.protocol = protocol
        self._clock, self._loop = clock, loop
        self.arrived: deque[bytes] = deque()
        self._reads, self._closing, self._lost = True, False, False
        self._high, self._low, self._full = 2**16, 2**14, False

    def call(self, method: Callable[..., Any], *arguments: Any) -> None:
        """Call a method of the protocol as the loop would."""
        self._loop.call(method, *arguments)

    def write(self, data: Any) -> None:
        if self._closing:
            return
        piece = bytes(data)
        self._clock.after(LATENCY, lambda: self.peer._arrive(piece))

    def write_eof(self) -> None:
        """The connection is closed after it."""

    def can_write_eof(self) -> bool:
        return False

    def close(self) -> None:
        """Close it; the other end gets first what was written."""
        if not self._closing:
            self._closing = True
            self._clock.after(LATENCY, self.peer._lose)
            self._clock.after(0, self._lose)

    def abort(self) -> None:
        self.close()

    def is_closing(self) -> bool:
        return self._closing

    def pause_reading(self) -> None:
        """Nothing is taken; the writer is told when too much waits."""
        self._reads = False

    def resume_reading(self) -> None:
        self._reads = True
        self._clock.after(0, self._take)

    def is_reading(self) -> bool:
        return self._reads

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        self._high = 2**16 if high is None else high
        self._low = self._high // 4 if low is None else low

    def get_write_buffer_size(self) -> int:
        return sum(map(len, self.peer.arrived))

    def _arrive(self, data: bytes) -> None:
        self.arrived.append(data)
        self._take()

    def _take(self) -> None:
        while self._reads and self.arrived and not self._lost:
            self.call(self.protocol.data_received, self.arrived.popleft())
        self.peer._check_buffer()

    def _check_buffer(self) -> None:
        waits = self.get_write_buffer_size()
        if self._lost:
            return
        if not self._full and waits > self._high:
            self._full = True
            self.call(self.protocol.pause_writing)
        elif self._full and waits <= self._low:
            self._full = False
            self.call(self.protocol.resume_writing)

    def _lose(self) -> None:
        if not self._lost:
            self._lost = self._closing = True
            self.call(self.protocol.connection_lost, None)
