"""Network interfaces of this network namespace. Source: netdevice(7)."""

from __future__ import annotations

import fcntl
import socket
import struct

_GET_FLAGS = 0x8913  # SIOCGIFFLAGS
_UP, _RUNNING = 0x1, 0x40  # IFF_UP, IFF_RUNNING
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
    flags = int(struct.unpack(_REQUEST, answer)[1])
    return flags & (_UP | _RUNNING) == _UP | _RUNNING
