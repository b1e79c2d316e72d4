"""Faults while the emulator runs: lines over a Unix-domain socket, such as ``drive_fault 1
0x7305``.

A line is the name of a method and its arguments, by place or as name=value: numbers (also 0x…),
true or false (also on or off), words, bytes in hexadecimal, an identity as
vendor:product:revision:serial. The answer is the method's text, if it has one, then ``ok`` or
``error: …``. ``help`` lists the methods, one a line. ``when`` is the time [s, by time.monotonic()]
at which the last method was called.
"""

from __future__ import annotations

import contextlib
import inspect
import math
import os
import selectors
import socket
import stat
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from ..errors import FaultChannelError
from ..esc.sii import Identity

PATIENCE = 5.0  # s for an answer

_LONGEST = 4096  # bytes of a line
_SWITCH = {"true": True, "on": True, "false": False, "off": False}


def _switch(text: str) -> bool:
    if text.lower() not in _SWITCH:
        raise ValueError(f"must be one of {', '.join(_SWITCH)}")
    return _SWITCH[text.lower()]


def _whole(text: str) -> int:
    return int(text, 0)


def _identity(text: str) -> Identity:
    return Identity(*map(_whole, text.split(":")))


# How an argument is written, by its type. Methods with others can't be called by a line.
_READERS: dict[Any, Callable[[str], Any]] = {
    int: _whole,
    float: float,
    bool: _switch,
    str: str,
    bytes: bytes.fromhex,
    Identity: _identity,
}


def methods_of(target: object) -> dict[str, Callable[..., Any]]:
    """The public methods of an object that a line can call, by name."""
    found = {name: getattr(target, name) for name in dir(target) if not name.startswith("_")}
    return {
        name: method for name, method in found.items() if callable(method) and _is_writable(method)
    }


def _is_writable(method: Callable[..., Any]) -> bool:
    return all(p.annotation in _READERS for p in _parameters(method).values())


def _parameters(method: Callable[..., Any]) -> Mapping[str, inspect.Parameter]:
    return inspect.signature(method, eval_str=True).parameters


class Methods:
    """Calls methods by lines of text.

    Args:
        methods: by name; their parameters are annotated, with types that a line can hold.
    """

    def __init__(self, methods: Mapping[str, Callable[..., Any]]) -> None:
        self._methods = dict(methods)
        self._called_at = math.nan

    def answer(self, line: str) -> str:
        """Run a line; returns the answer without its last end of line."""
        name, *words = line.split()
        if name == "help":
            return "\n".join([*map(self._usage, self._methods), "ok"])
        if name == "when":
            return f"{self._called_at!r}\nok"
        if name not in self._methods:
            return (
                f"error: unknown method {name!r}; methods: help, {', '.join(self._methods)}, when"
            )
        method = self._methods[name]
        try:
            positional, named = _arguments(_parameters(method), words)
            inspect.signature(method).bind(*positional, **named)
        except (ValueError, TypeError) as error:
            return f"error: {error}; usage: {self._usage(name)}"
        self._called_at = time.monotonic()
        try:
            text = method(*positional, **named)
        except (ValueError, OSError) as error:
            return f"error: {error}"
        return f"{text}\nok" if isinstance(text, str) else "ok"

    def _usage(self, name: str) -> str:
        method = self._methods[name]
        words = [name]
        for parameter in _parameters(method).values():
            kind = getattr(parameter.annotation, "__name__", "")
            default = "" if parameter.default is parameter.empty else f"={_text(parameter.default)}"
            words.append(f"{parameter.name}:{kind}{default}")
        return f"{' '.join(words)} - {(inspect.getdoc(method) or '').partition(chr(10))[0]}"


def _text(value: Any) -> str:
    return (
        value.hex()
        if isinstance(value, bytes)
        else str(value).lower()
        if isinstance(value, bool)
        else str(value)
    )


def _arguments(
    parameters: Mapping[str, inspect.Parameter], words: list[str]
) -> tuple[list[Any], dict[str, Any]]:
    """Values by place, and by name; parameters that Python takes by name only may be
    given by place, too.
    """
    positional: list[Any] = []
    named: dict[str, Any] = {}
    places = iter(parameters.values())
    for word in words:
        name, equals, text = word.partition("=")
        if equals:
            if name not in parameters:
                raise ValueError(f"unknown argument {name!r}")
            parameter = parameters[name]
        else:
            found = next(places, None)
            if found is None:
                raise ValueError(f"{len(words)} arguments are too many")
            parameter = found
            text = word
        try:
            value = _READERS[parameter.annotation](text)
        except (ValueError, TypeError) as error:
            raise ValueError(f"{parameter.name} = {text!r}: {error}") from error
        if equals or parameter.kind is parameter.KEYWORD_ONLY:
            named[parameter.name] = value
        else:
            positional.append(value)
    return positional, named


class FaultChannel:
    """A Unix-domain socket that is looked at between two exchanges; it never waits for a client.

    Args:
        path: of the socket, which only this user may use. A socket that nobody listens at any more
            is replaced.
        methods: that lines call.

    Raises:
        FaultChannelError: something else is there, or somebody listens there; or no socket can be
            made.
    """

    def __init__(self, path: str, methods: Mapping[str, Callable[..., Any]]) -> None:
        self.path = path
        self._methods = Methods(methods)
        self._received: dict[socket.socket, bytes] = {}
        self._listener = _listen(path)
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._listener, selectors.EVENT_READ)

    def poll(self) -> None:
        """Run the lines that have arrived."""
        for ready, _ in self._selector.select(0):
            if ready.fileobj is self._listener:
                self._accept()
            elif isinstance(ready.fileobj, socket.socket):
                self._serve(ready.fileobj)

    def close(self) -> None:
        """Hang up, and remove the socket."""
        for client in list(self._received):
            self._drop(client)
        self._selector.close()
        self._listener.close()
        Path(self.path).unlink(missing_ok=True)

    def _accept(self) -> None:
        client, _ = self._listener.accept()
        client.setblocking(False)
        self._received[client] = b""
        self._selector.register(client, selectors.EVENT_READ)

    def _serve(self, client: socket.socket) -> None:
        try:
            data = client.recv(_LONGEST)
            *lines, rest = (self._received[client] + data).split(b"\n")
            for line in lines:
                text = line.decode("utf-8", "replace").strip()
                if text:
                    client.sendall(f"{self._methods.answer(text)}\n".encode())
        except OSError:  # it is gone, or doesn't read its answers
            self._drop(client)
            return
        self._received[client] = rest
        if not data or len(rest) > _LONGEST:
            self._drop(client)

    def _drop(self, client: socket.socket) -> None:
        self._selector.unregister(client)
        del self._received[client]
        client.close()


def inject(path: str, line: str) -> str:
    """Send a line to the emulator that listens at a path; returns its answer without the last
    ``ok``.

    Raises:
        FaultChannelError: nobody listens there, or the answer is an error.
    """
    try:
        *text, end = _exchange(path, line)
    except OSError as error:
        raise FaultChannelError(f"no emulator answers at {path}: {error}") from error
    if end.startswith("error: "):
        raise FaultChannelError(end.removeprefix("error: ").rstrip())
    return "".join(text)


def _exchange(path: str, line: str) -> list[str]:
    """Lines of the answer, up to its end.

    Raises:
        OSError: there is none.
    """
    with socket.socket(socket.AF_UNIX) as client:
        client.settimeout(PATIENCE)
        client.connect(path)
        client.sendall(f"{line}\n".encode())
        with client.makefile(encoding="utf-8") as answers:
            received: list[str] = []
            for each in answers:
                received.append(each)
                if each == "ok\n" or each.startswith("error: "):
                    return received
    raise ConnectionResetError("it hung up")


def _listen(path: str) -> socket.socket:
    listener = socket.socket(socket.AF_UNIX)
    try:
        _clear(path)
        mask = os.umask(0o177)
        try:
            listener.bind(path)
        finally:
            os.umask(mask)
        listener.listen()
        listener.setblocking(False)
    except OSError as error:
        listener.close()
        raise FaultChannelError(f"faults = {path!r}: can't make a socket there: {error}") from error
    return listener


def _clear(path: str) -> None:
    """Remove a socket that was left over."""
    with contextlib.suppress(FileNotFoundError):
        if not stat.S_ISSOCK(os.stat(path).st_mode):
            raise FileExistsError("there is something else")
        with socket.socket(socket.AF_UNIX) as probe:
            try:
                probe.connect(path)
            except ConnectionRefusedError:
                os.unlink(path)
                return
        raise FileExistsError("another emulator listens there")
