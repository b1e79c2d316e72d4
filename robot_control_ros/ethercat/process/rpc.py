"""Calls between processes: a name and arguments, then a result or an error. What is shared is pickled."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, wait
from contextlib import suppress
from pickle import dumps, loads
from typing import Any

from ...core.errors import ConfigError, HardwareFault, ModelError, StaleStateError
from .shared_memory import Latest, SharedFile

POLL = 0.0005  # s between two looks for an answer
CYCLE_TIMEOUT = 1.0  # s for the cycle to do an action
_ERRORS = (ConfigError, HardwareFault, ModelError, StaleStateError)


def _error_record(number: int, name: str, error: Exception) -> bytes:
    """An error with its fields; one of another type, or that can't be sent, as a ConfigError that names the call."""
    if type(error) in _ERRORS:
        with suppress(Exception):
            return dumps((number, None, error))
    return dumps((number, None, ConfigError(f"{name}: {type(error).__name__}: {error}")))


class RpcClient:
    """Calls to the other process, one after the other.

    Args:
        memory: shared with it.
        channel: of the memory; one client at a time may use it.
        timeout: longest wait for an answer [s].
        waiting: called again and again meanwhile; may raise an error that ends the wait.
    """

    def __init__(self, memory: SharedFile, channel: str, timeout: float, waiting: Callable[[], None]) -> None:
        self._call, self._answer = (Latest(memory.region(f"{channel}.{each}")) for each in ("call", "answer"))
        self._timeout, self._waiting = timeout, waiting
        self._number = time.monotonic_ns()  # unlike those of a client before

    def call(self, name: str, *arguments: Any, **options: Any) -> Any:
        """Have it done; returns the result.

        Raises:
            RobotControlError: as it was raised there.
            HardwareFault: no answer.
        """
        self._number += 1
        before = self._answer.number
        self._call.put(dumps((self._number, name, arguments, options)))
        until = time.monotonic() + self._timeout
        while time.monotonic() < until:
            if self._answer.number != before:
                before, record = self._answer.get()
                number, result, error = loads(record) if record else (0, None, None)
                if number == self._number:
                    if error is not None:
                        raise error
                    return result
            self._waiting()
            time.sleep(POLL)
        text = f"{name}: the bus's process gave no answer within {self._timeout:g} s"
        raise HardwareFault(text, name=name, bound=self._timeout)


class RpcServer:
    """Answers the calls of a channel.

    Args:
        memory, channel: see :class:`RpcClient`.
        handle: gets the name and the arguments of a call; returns its result. Its errors go to the caller.
    """

    def __init__(self, memory: SharedFile, channel: str, handle: Callable[..., Any]) -> None:
        self._call, self._answer = (Latest(memory.region(f"{channel}.{each}")) for each in ("call", "answer"))
        self._handle, self._taken = handle, 0

    @property
    def pending(self) -> bool:
        """Whether a call waits."""
        return self._call.number != self._taken

    def serve(self) -> None:
        """Answer the call that waits, if any."""
        if not self.pending:
            return
        taken, record = self._call.get()
        if not taken:  # not all of it can be seen yet
            return
        self._taken = taken
        number, name, arguments, options = loads(record)
        try:
            self._answer.put(dumps((number, self._handle(name, *arguments, **options), None)))
        except Exception as error:  # a user's law may raise anything, and the caller shall know
            self._answer.put(_error_record(number, name, error))


class BetweenCycles:
    """Lets another thread change what the cycle uses: between two cycles, in the cycle's own thread."""

    def __init__(self) -> None:
        self._actions: deque[Callable[[], None]] = deque()

    def add(self, action: Callable[[], None]) -> None:
        """Have an action done, from any thread."""
        self._actions.append(action)

    def call(self, action: Callable[[], Any]) -> Any:
        """Have an action done, from another thread than the cycle's; returns its result, or raises its error.

        A HardwareFault says that the cycle doesn't run.
        """
        future: Future[Any] = Future()

        def act() -> None:
            try:
                future.set_result(action())
            except Exception as error:
                future.set_exception(error)

        self.add(act)
        if wait((future,), CYCLE_TIMEOUT).not_done:
            raise HardwareFault(f"the cycle doesn't run: no end within {CYCLE_TIMEOUT:g} s", bound=CYCLE_TIMEOUT)
        return future.result()

    def run(self) -> None:
        """Do them; in the cycle's thread."""
        while self._actions:
            self._actions.popleft()()
