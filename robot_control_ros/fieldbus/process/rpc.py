"""Messages between processes as plain data, and calls made of them: a name and arguments, then a
result or an error.
"""

from __future__ import annotations

import json
import struct
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, wait
from dataclasses import fields, is_dataclass
from enum import Enum
from typing import Any

import numpy as np

from ...core.errors import (
    ConfigError,
    HardwareFault,
    ModelError,
    RobotControlError,
    StaleStateError,
)
from .shared_memory import Latest, SharedFile

POLL = 0.0005  # s between two looks for an answer
CYCLE_TIMEOUT = 1.0  # s for the cycle to do an action
_HEAD = struct.Struct("=I")  # length of the JSON text
_ARRAY = "ndarray"  # key of a placeholder in the JSON text: type and shape of an array
_ERRORS = {
    error.__name__: error for error in (ConfigError, HardwareFault, ModelError, StaleStateError)
}


def encode(message: Any) -> bytes:
    """A message as bytes: JSON, and behind it the numbers of its arrays.

    Args:
        message: Message of what JSON has, arrays, enumerations (become their values) and
            dataclasses (become dictionaries).

    Raises:
        TypeError: it holds something else.
    """
    arrays: list[bytes] = []

    def plain(value: Any) -> Any:
        if isinstance(value, np.ndarray):
            arrays.append(value.tobytes())
            return {_ARRAY: (value.dtype.str, value.shape)}
        if is_dataclass(value) and not isinstance(value, type):
            return {each.name: getattr(value, each.name) for each in fields(value)}
        if isinstance(value, Enum):
            return value.value
        if isinstance(value, np.generic):
            return value.item()
        raise TypeError(f"{type(value).__name__} can't be sent to another process")

    text = json.dumps(message, default=plain).encode()
    return b"".join((_HEAD.pack(len(text)), text, *arrays))


def decode(data: bytes) -> Any:
    """The inverse of :func:`encode`, but for enumerations and dataclasses, which the
    reader has to make again.
    """
    at = _HEAD.size + _HEAD.unpack_from(data)[0]
    text = data[_HEAD.size : at]

    def filled(value: dict[str, Any]) -> Any:
        nonlocal at
        if _ARRAY not in value:
            return value
        kind, shape = value[_ARRAY]
        array = np.ndarray(shape, kind, data, at)
        at += array.nbytes
        return array.copy()

    return json.loads(text, object_hook=filled)


def plain_error(error: Exception, name: str) -> dict[str, Any]:
    """An error with its fields; one that isn't of this package as a ConfigError
    that names the call.
    """
    if not isinstance(error, RobotControlError):
        return {"type": "ConfigError", "message": f"{name}: {type(error).__name__}: {error}"}
    fields = {"value": error.value, "bound": error.bound}
    try:
        encode(fields)
    except TypeError:
        fields = {key: str(field) for key, field in fields.items()}
    return {"type": type(error).__name__, "message": str(error), "name": error.name, **fields}


def made_error(given: dict[str, Any]) -> RobotControlError:
    """Error that :func:`plain_error` described."""
    bound = given.get("bound")
    return _ERRORS.get(given["type"], ConfigError)(
        given["message"],
        name=given.get("name", ""),
        value=given.get("value"),
        bound=tuple(bound) if isinstance(bound, list) else bound,
    )


class RpcClient:
    """Calls to the other process, one after the other.

    Args:
        memory: Memory that is shared with the other process.
        channel: Channel of the memory; one client at a time may use it.
        timeout: Longest wait for an answer [s].
        waiting: Function that is called again and again meanwhile; it may raise an error that ends
            the wait.
    """

    def __init__(
        self, memory: SharedFile, channel: str, timeout: float, waiting: Callable[[], None]
    ) -> None:
        self._call, self._answer = (
            Latest(memory.region(f"{channel}.{each}")) for each in ("call", "answer")
        )
        self._timeout = timeout
        self._waiting = waiting
        self._number = time.monotonic_ns()  # unlike those of a client before

    def call(self, name: str, *arguments: Any, **options: Any) -> Any:
        """Have a call done by the other process; returns its result.

        Raises:
            RobotControlError: as it was raised there.
            HardwareFault: no answer.
        """
        self._number += 1
        before = self._answer.number
        self._call.put(encode((self._number, name, arguments, options)))
        until = time.monotonic() + self._timeout
        while time.monotonic() < until:
            if self._answer.number != before:
                before, record = self._answer.get()
                number, result, error = decode(record) if record else (0, None, None)
                if number == self._number:
                    if error is not None:
                        raise made_error(error)
                    return result
            self._waiting()
            time.sleep(POLL)
        text = f"{name}: the bus's process gave no answer within {self._timeout:g} s"
        raise HardwareFault(text, name=name, bound=self._timeout)


class RpcServer:
    """Answers the calls of a channel.

    Args:
        memory, channel: Shared memory and its channel, see :class:`RpcClient`.
        handle: Function that gets the name and the arguments of a call and returns its result. Its
            errors go to the caller.
    """

    def __init__(self, memory: SharedFile, channel: str, handle: Callable[..., Any]) -> None:
        self._call, self._answer = (
            Latest(memory.region(f"{channel}.{each}")) for each in ("call", "answer")
        )
        self._handle = handle
        self._taken = 0

    @property
    def pending(self) -> bool:
        """True where a call waits."""
        return self._call.number != self._taken

    def serve(self) -> None:
        """Answer the call that waits, if any."""
        if not self.pending:
            return
        taken, record = self._call.get()
        if not taken:  # not all of it can be seen yet
            return
        self._taken = taken
        number, name, arguments, options = decode(record)
        try:
            self._answer.put(encode((number, self._handle(name, *arguments, **options), None)))
        except Exception as error:  # a user's law may raise anything, and the caller shall know
            self._answer.put(encode((number, None, plain_error(error, name))))


class BetweenCycles:
    """Lets another thread change what the cycle uses: between two cycles, in the
    cycle's own thread.
    """

    def __init__(self) -> None:
        self._actions: deque[Callable[[], None]] = deque()

    def add(self, action: Callable[[], None]) -> None:
        """Have an action done, from any thread."""
        self._actions.append(action)

    def call(self, action: Callable[[], Any]) -> Any:
        """Have an action done, from another thread than the cycle's; returns its result, or raises
        its error.

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
            raise HardwareFault(
                f"the cycle doesn't run: no end within {CYCLE_TIMEOUT:g} s", bound=CYCLE_TIMEOUT
            )
        return future.result()

    def run(self) -> None:
        """Do the actions that were added; called in the cycle's thread."""
        while self._actions:
            self._actions.popleft()()
