"""Network interfaces of this network namespace, and the raw socket that SOEM opens on one.

That socket is also the lock of the bus. The kernel lists it for all users of the namespace
(/proc/net/packet), only who has CAP_NET_RAW there can open one, and nothing is left behind. Source:
netdevice(7), packet(7).
"""

from __future__ import annotations

import fcntl
import os
import socket
import struct
import time
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from ...core.errors import ConfigError

_GET_FLAGS = 0x8913  # SIOCGIFFLAGS
_LINKED = 0x1 | 0x40  # IFF_UP | IFF_RUNNING
_REQUEST = "16sH14x"  # struct ifreq: name, flags
_ETHERCAT = 0x88A4  # EtherType
_MAX_COMMAND = 160  # letters


def interface_names() -> list[str]:
    """Names of all network interfaces, in alphabetical order."""
    return sorted(name for _, name in socket.if_nameindex())


def check_interface(interface: str) -> None:
    """Check that an interface exists; a ConfigError lists those that do."""
    known = interface_names()
    if interface not in known:
        message = f"no network interface {interface!r}; interfaces: {', '.join(known)}"
        raise ConfigError(message, name="interface", value=interface, bound=tuple(known))


def has_carrier(interface: str) -> bool:
    """True where an interface is up, and linked to another."""
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
    """Make SOEM's socket among file descriptors not block; returns it, or -1 where it isn't found
    or still blocks.

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


def check_free(interface: str, ours: Iterable[int] = ()) -> None:
    """Refuse an interface that another master has open, whoever runs it.

    Args:
        interface: Name of the interface; one that isn't there is free.
        ours: File descriptors of this master's sockets.

    Raises:
        ConfigError: names the other process, where that can be read, and its user.
    """
    if interface not in interface_names():
        return
    index = socket.if_nametoindex(interface)
    own = {os.fstat(descriptor).st_ino for descriptor in ours}
    for line in Path("/proc/thread-self/net/packet").read_text(encoding="ascii").splitlines()[1:]:
        _, _, _, protocol, at, _, _, user, inode = line.split()
        if (int(protocol, 16), int(at)) == (_ETHERCAT, index) and int(inode) not in own:
            message = (
                f"interface {interface}: another master has the bus: "
                f"{_process_with(inode)}user {user}; end it first"
            )
            raise ConfigError(message, name="interface", value=interface, bound=int(user))


def _process_with(inode: str) -> str:
    """Number and command of the process that has a socket; empty where this user can't read it."""
    for entry in Path("/proc").glob("[0-9]*/fd/*"):
        with suppress(OSError):
            if os.readlink(entry) == f"socket:[{inode}]":
                process = entry.parents[1]
                command = (
                    (process / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
                )
                return f"process {process.name} ({' '.join(command.split())[:_MAX_COMMAND]}), "
    return ""
