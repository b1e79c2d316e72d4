"""Network interfaces of this network namespace. Source: netdevice(7)."""

from __future__ import annotations

import fcntl
import socket
import struct

_GET_FLAGS, _SET_FLAGS = 0x8913, 0x8914  # SIOCGIFFLAGS, SIOCSIFFLAGS
_UP, _RUNNING = 0x1, 0x40  # IFF_UP, IFF_RUNNING
_REQUEST = "16sH14x"  # struct ifreq: name, flags


def interface_names() -> list[str]:
    """All there are, in alphabetical order."""
    return sorted(name for _, name in socket.if_nameindex())


def has_carrier(interface: str) -> bool:
    """Whether one is up, and linked to another."""
    try:
        return _flags(interface) & (_UP | _RUNNING) == _UP | _RUNNING
    except OSError:  # it is gone
        return False


def set_up(interface: str, up: bool) -> None:
    """Take one up or down, which needs CAP_NET_ADMIN."""
    flags = _flags(interface)
    _control(_SET_FLAGS, interface, flags | _UP if up else flags & ~_UP)


def _flags(interface: str) -> int:
    return int(struct.unpack(_REQUEST, _control(_GET_FLAGS, interface, 0))[1])


def _control(request: int, interface: str, flags: int) -> bytes:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
        return fcntl.ioctl(control, request, struct.pack(_REQUEST, interface.encode(), flags))
