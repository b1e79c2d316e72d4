"""The raw socket that SOEM opens: found again, and made not to block."""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Iterable
from pathlib import Path


def open_sockets() -> set[int]:
    """File descriptors of this process that are sockets."""
    found = set()
    for entry in Path("/proc/self/fd").iterdir():
        try:
            if os.readlink(entry).startswith("socket:"):
                found.add(int(entry.name))
        except OSError:  # the folder's own
            continue
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
