"""Network interfaces of this network namespace, and the raw socket that SOEM opens on one. Source: netdevice(7)."""

from __future__ import annotations

import fcntl
import os
import socket
import struct
import time
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

_GET_FLAGS = 0x8913  # SIOCGIFFLAGS
_LINKED = 0x1 | 0x40  # IFF_UP | IFF_RUNNING
_REQUEST = "16sH14x"  # struct ifreq: name, flags


def interface_names() -> list[str]:
    """All there are, in alphabetical order."""
    return sorted(name for _, name in socket.if_nameindex())


def has_carrier(interface: str) -> bool:
    """Whether one is up, and linked to another."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
        try:
            answer = fcntl.ioctl(control, _GET_FLAGS, struct.pack(_REQUEST, interface.encode(), 0))
        except OSError:  # it is gone
            return False
    return int(struct.unpack(_REQUEST, answer)[1]) & _LINKED == _LINKED


def open_sockets() -> set[int]:
    """File descriptors of this process that are sockets."""
    found = set()
    for entry in Path("/proc/self/fd").iterdir():
        with suppress(OSError):  # the folder's own
            if os.readlink(entry).startswith("socket:"):
                found.add(int(entry.name))
    return found


def unblock(opened: Iterable[int]) -> int:
    """Make SOEM's socket among file descriptors not block; returns it, or -1 where it isn't found or still blocks.

    SOEM waits for frames by SO_RCVTIMEO, which the kernel rounds up to its tick: 4 to 10 ms.
    """
    found = -1
    for descriptor in opened:
        with socket.socket(fileno=os.dup(descriptor)) as wire:
            if wire.family != socket.AF_PACKET:
                continue
            wire.setblocking(False)  # of the open file, so SOEM's too
            began = time.perf_counter()
            try:
                wire.recv(2048)
            except BlockingIOError:
                found = descriptor
            if time.perf_counter() - began > 0.001:
                found = -1
    return found
