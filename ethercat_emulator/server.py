"""A bus at the end of a network interface, until a signal ends it."""

from __future__ import annotations

import contextlib
import ctypes
import gc
import os
import signal
import struct
import threading
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from .bus.chain import Bus
from .bus.line import Line
from .errors import NetworkError
from .faults.channel import FaultChannel, methods_of
from .faults.injection import DriveFaults, Faults
from .faults.witness import Witness
from .network.interfaces import check_interface
from .network.packet_socket import run

# SCHED_FIFO: before a master on the same machine, since real slaves wait for nobody's processor
PRIORITY = 60

_CURRENT_AND_FUTURE = 1 | 2  # MCL_CURRENT | MCL_FUTURE
# the kernel's PM QoS interface: how long processors may take to wake up [µs, int32]
_LATENCY = "/dev/cpu_dma_latency"


def serve(
    bus: Bus,
    interface: str,
    *,
    title: str = "a bus",
    faults: str = "",
    methods: Mapping[str, Callable[..., Any]] | None = None,
    priority: int = PRIORITY,
) -> None:
    """Be the slaves of a bus until SIGINT or SIGTERM; call it in the main thread.

    A line on standard output says when it listens.

    Args:
        bus: the emulated slaves.
        interface: name of a network interface that is up; the master is at its other end.
        title: what that line calls the bus.
        faults: path of a socket for :class:`.faults.channel.FaultChannel`; none by default.
        methods: more methods that a line on the socket can call, by name.
        priority: of SCHED_FIFO, 1 to 99, where it is permitted; 0 leaves the process as it is.

    Raises:
        NetworkError: no such interface, or no right to use it; the message names the ways to get
            it.
        FaultChannelError: no socket can be made.
    """
    check_interface(interface)
    line = Line(bus)
    stop = threading.Event()
    polls: list[Callable[[], None]] = []

    def announce() -> None:
        polls.remove(announce)
        print(
            f"emulating {title} on {interface}{f'; faults on {faults}' if faults else ''}",
            flush=True,
        )

    def between() -> None:
        for poll in tuple(polls):
            poll()

    with contextlib.ExitStack() as stack:
        if faults:
            channel = FaultChannel(faults, {**_methods(line), **(methods or {})})
            stack.callback(channel.close)
            polls.append(channel.poll)
        polls.append(announce)
        stack.enter_context(_stopped_by_signals(stop))
        if priority:
            _go_first(priority)
        _run(line, interface, stop, between)


def _methods(line: Line) -> dict[str, Callable[..., Any]]:
    witness = methods_of(Witness(line.bus)) if line.bus.machine is not None else {}
    return {**methods_of(Faults(line)), **methods_of(DriveFaults(line.bus)), **witness}


def _run(line: Line, interface: str, stop: threading.Event, between: Callable[[], None]) -> None:
    try:
        run(line, interface, stop, between)
    except PermissionError as error:
        raise NetworkError(_no_right(interface)) from error
    except OSError as error:
        raise NetworkError(f"interface {interface}: {error}") from error


def _no_right(interface: str) -> str:
    return (
        f"interface {interface}: no right to send raw frames (CAP_NET_RAW): run this with sudo, with ambient "
        "capabilities (ethercat_emulator/README.md), or in a namespace of your own: unshare --map-root-user --net"
    )


@contextlib.contextmanager
def _stopped_by_signals(stop: threading.Event) -> Iterator[None]:
    before = {
        number: signal.signal(number, lambda *_: stop.set())
        for number in (signal.SIGINT, signal.SIGTERM)
    }
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _go_first(priority: int) -> None:
    """Real-time priority, locked memory and wakeful processors where permitted, and no
    garbage collection.
    """
    gc.collect()
    gc.freeze()
    gc.disable()
    ctypes.CDLL(None).mlockall(_CURRENT_AND_FUTURE)
    with contextlib.suppress(OSError):
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(priority))
        descriptor = os.open(_LATENCY, os.O_WRONLY)  # the request lasts as long as this is open
        os.write(descriptor, struct.pack("=i", 0))
