"""Network interfaces of this network namespace. Source: netdevice(7)."""

from __future__ import annotations

import fcntl
import socket
import struct

from ..errors import UnknownInterfaceError

# SIOCGIFFLAGS, SIOCSIFFLAGS
_GET_FLAGS = 0x8913
_SET_FLAGS = 0x8914
_UP = 0x1  # IFF_UP
_REQUEST = "16sH14x"  # struct ifreq: name, flags


def check_interface(interface: str) -> None:
    """Check that an interface exists.

    Raises:
        UnknownInterfaceError: it doesn't; lists those that do.
    """
    known = sorted(name for _, name in socket.if_nameindex())
    if interface not in known:
        raise UnknownInterfaceError(
            f"no network interface {interface!r}; interfaces: {', '.join(known)}. A pair without hardware: "
            f"ip link add ecm type veth peer name {interface}; ip link set ecm up; ip link set {interface} up"
        )


def set_up(interface: str, up: bool) -> None:
    """Take an interface up or down; this needs CAP_NET_ADMIN."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:

        def call(request: int, flags: int) -> int:
            answer = fcntl.ioctl(control, request, struct.pack(_REQUEST, interface.encode(), flags))
            return int(struct.unpack(_REQUEST, answer)[1])

        flags = call(_GET_FLAGS, 0)
        call(_SET_FLAGS, flags | _UP if up else flags & ~_UP)
