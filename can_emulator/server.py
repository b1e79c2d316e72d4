"""A bus of motors that programs can reach, until a signal ends it."""

from __future__ import annotations

import contextlib
import signal
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from ethercat_emulator.faults.channel import FaultChannel, methods_of

from .bus import STEP, Bus
from .faults import Faults
from .frame import Frame
from .interface import InterfaceServer
from .socketcand import HOST, PORT, SocketcandServer


def serve(
    bus: Bus,
    interface: str = "can0",
    *,
    port: int = PORT,
    vcan: bool = False,
    title: str = "a bus",
    faults: str = "",
    methods: Mapping[str, Callable[..., Any]] | None = None,
) -> None:
    """Be the motors of a bus until SIGINT or SIGTERM; call it in the main thread.

    A line on standard output says where it is.

    Args:
        bus: the emulated motors.
        interface: name of the bus; a CAN interface that is up where `vcan` is true.
        port: of TCP on 127.0.0.1, where socketcand's protocol is spoken; 0 for any that is free.
        vcan: whether the bus is at a CAN interface of Linux, and not at a port.
        title: what that line calls the bus.
        faults: path of a socket for :class:`ethercat_emulator.faults.channel.FaultChannel`; none by
            default.
        methods: more methods that a line on the socket can call, by name.

    Raises:
        NetworkError: the port is taken; no CAN in the kernel; no such interface.
        FaultChannelError: no socket can be made.
    """
    stop = threading.Event()

    def process(frame: Frame) -> list[Frame]:
        return bus.process(frame, time.monotonic())

    with contextlib.ExitStack() as stack:
        server: InterfaceServer | SocketcandServer
        if vcan:
            server = InterfaceServer(interface, process)
            place = interface
        else:
            server = SocketcandServer(interface, process, port)
            place = f"socketcand://{HOST}:{server.port}/{interface}"
        stack.callback(server.close)
        poll_faults: Callable[[], None] = _nothing
        if faults:
            channel = FaultChannel(faults, {**methods_of(Faults(bus)), **(methods or {})})
            stack.callback(channel.close)
            poll_faults = channel.poll
        stack.enter_context(_stopped_by_signals(stop))
        print(
            f"emulating {title} on {place}{f'; faults on {faults}' if faults else ''}", flush=True
        )
        while not stop.is_set():
            server.poll(STEP)
            bus.advance(time.monotonic())
            poll_faults()


def _nothing() -> None:
    """Do nothing."""


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
