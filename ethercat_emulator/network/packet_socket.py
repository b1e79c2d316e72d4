"""A network interface as the bus's cable: Linux packet sockets, which need CAP_NET_RAW."""

from __future__ import annotations

import errno
import select
import socket
import time
from collections.abc import Callable
from typing import Protocol

from ..bus.frame import ETHERTYPE
from ..bus.line import Line
from .interfaces import set_up

# s between two looks at the clock while no frame comes: drives and watchdogs go on without frames
IDLE = 0.0005

_MAX_FRAME = 1536
_LOST = (errno.ENETDOWN, errno.ENOBUFS, errno.EAGAIN, errno.ENXIO, errno.EMSGSIZE)


class Stop(Protocol):
    """What ends the loop, such as a threading or multiprocessing Event."""

    def is_set(self) -> bool:
        """Whether to end."""


def run(line: Line, interface: str, stop: Stop, between: Callable[[], None] | None = None) -> None:
    """Be the slaves at the end of a network interface, until `stop` is set.

    It goes on when the interface goes down and up again. While the line's link is down, it takes
    the interface down itself (which needs CAP_NET_ADMIN), so that the other end of a veth pair
    loses its carrier.

    Args:
        line: to the emulated bus.
        interface: name of an interface that is up.
        stop: ends the loop within a millisecond.
        between: called between two exchanges, at least once per millisecond: the place to inject
            faults.

    Raises:
        PermissionError: no CAP_NET_RAW.
        OSError: no such interface.
    """
    with socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETHERTYPE)) as wire:
        wire.bind((interface, ETHERTYPE))
        wire.setblocking(False)
        up = True
        while not stop.is_set():
            if between is not None:
                between()
            if line.up != up:
                up = line.up
                set_up(interface, up)
            due = line.due(time.monotonic_ns())
            select.select([wire], [], [], IDLE if due is None else min(IDLE, 1e-9 * due))
            frame = _receive(wire)
            for reply in line.exchange(frame, time.monotonic_ns()):
                _send(wire, reply)


def _receive(wire: socket.socket) -> bytes | None:
    try:
        frame, sender = wire.recvfrom(_MAX_FRAME)
    except OSError as error:
        if error.errno not in _LOST:
            raise
        return None
    return None if sender[2] == socket.PACKET_OUTGOING else frame


def _send(wire: socket.socket, frame: bytes) -> None:
    try:
        wire.send(frame)
    except OSError as error:
        if error.errno not in _LOST:
            raise
