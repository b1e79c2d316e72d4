"""Ends a process, even where its middleware has failed.

rclpy holds the interpreter's lock while it makes and destroys publishers, subscriptions and
services. Where Fast DDS has failed, these calls wait for ever. Then no Python runs any more: no
thread, and no handler of a signal. So the C library ends the process: with a timer that exits, and
with a read of signals' numbers that starts an alarm.
"""

from __future__ import annotations

import atexit
import ctypes
import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from typing import Any

DEAF = 3  # exit status of a process whose middleware has failed
FAULT = 4  # exit status where an error left a callback, or a thread died or hangs
LATEST = 2  # s from a signal to the end of a process in which no Python runs

# of <time.h>; SIGEV_THREAD of <signal.h>
_CLOCK_MONOTONIC = 1
_CALL_IN_THREAD = 2


class _Event(ctypes.Structure):
    """struct sigevent of the GNU C library."""

    _fields_ = (
        ("value", ctypes.c_void_p),
        ("signal", ctypes.c_int),
        ("notify", ctypes.c_int),
        ("function", ctypes.c_void_p),
        ("attributes", ctypes.c_void_p),
        ("unused", ctypes.c_char * 32),
    )


class _Times(ctypes.Structure):
    """struct itimerspec: the period, and the time of the first expiry."""

    _fields_ = (
        ("period", ctypes.c_long),
        ("period_ns", ctypes.c_long),
        ("first", ctypes.c_long),
        ("first_ns", ctypes.c_long),
    )


class _Read(ctypes.Structure):
    """struct aiocb of the GNU C library: a read that ends by calling a function."""

    _fields_ = (
        ("file", ctypes.c_int),
        ("code", ctypes.c_int),
        ("priority", ctypes.c_int),
        ("buffer", ctypes.c_void_p),
        ("size", ctypes.c_size_t),
        ("event", _Event),
        ("unused", ctypes.c_char * 72),
    )


def _function(name: str) -> Any:
    """A function of the C library, or of librt in older versions; None where there is none."""
    for library in (None, "librt.so.1"):
        with suppress(OSError, AttributeError):
            return getattr(ctypes.CDLL(library), name)
    return None


def _calls(name: str, argument: int) -> _Event:
    """Event that calls a function of the C library with a number, in a thread without Python."""
    function = ctypes.cast(_function(name), ctypes.c_void_p).value
    return _Event(value=argument, notify=_CALL_IN_THREAD, function=function)


def exit_after(seconds: float, status: int) -> Callable[[], object]:
    """End the process with this status after this time [s], without Python.

    Returns the function that prevents it. Nothing is done without GNU's C library.
    """
    timer = ctypes.c_void_p()
    event = _Event()
    if sys.platform == "linux" and _function("timer_create") is not None:
        event = _calls("_exit", status)
    if not event.function or _function("timer_create")(
        _CLOCK_MONOTONIC, ctypes.byref(event), ctypes.byref(timer)
    ):
        return lambda: None
    times = _Times(first=int(seconds), first_ns=int(seconds % 1.0 * 1e9))
    _function("timer_settime")(timer, 0, ctypes.byref(times), None)
    return lambda: _function("timer_delete")(timer)


@contextmanager
def exits_within(seconds: float, status: int) -> Iterator[None]:
    """End the process with this status where the block takes longer than `seconds` [s].

    It uses :func:`exit_after`.
    """
    prevent = exit_after(seconds, status)
    try:
        yield
    finally:
        prevent()


class SignalBound:
    """Ends a process that has got a signal and in which no Python runs any more.

    SIGALRM ends it, :data:`LATEST` seconds after the signal. Python's own handler writes a signal's
    number into a pipe, without the interpreter's lock. The C library reads it and starts an alarm.
    A process in which Python still runs stops that alarm: it calls :meth:`alive` again and again.
    """

    def __init__(self) -> None:
        self._read: _Read | None = None
        if sys.platform != "linux" or _function("aio_read") is None:
            return
        reading, self._writing = os.pipe()
        os.set_blocking(self._writing, False)
        self._number = ctypes.create_string_buffer(1)
        buffer = ctypes.cast(self._number, ctypes.c_void_p).value
        self._read = _Read(file=reading, buffer=buffer, size=1, event=_calls("alarm", LATEST))
        _function("aio_read")(ctypes.byref(self._read))

    def begin(self) -> None:
        """Begin to watch for signals; to be called in the main thread."""
        if self._read is not None:
            signal.set_wakeup_fd(self._writing, warn_on_full_buffer=False)

    def alive(self) -> None:
        """Stop an alarm, as Python runs; to be called more often than once in :data:`LATEST`."""
        if self._read is not None and signal.alarm(0) > 0:
            _function("aio_read")(ctypes.byref(self._read))

    def end(self) -> None:
        """Watch for signals no more."""
        if self._read is not None:
            signal.set_wakeup_fd(-1)
            self.alive()


@cache
def signal_bound() -> SignalBound:
    """The SignalBound of this process."""
    return SignalBound()


def leave(status: int, within: float = 1.0) -> None:
    """End this process at once: call the functions registered with atexit, and destroy nothing.

    Args:
        status: Exit status of the process.
        within: Time that the registered functions have [s].
    """
    with exits_within(within, status):
        atexit.unregister(leave)
        with suppress(Exception):
            atexit._run_exitfuncs()
        for stream in (sys.stdout, sys.stderr):
            with suppress(Exception):
                stream.flush()
        os._exit(status)
