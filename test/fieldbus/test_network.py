"""One master per interface: the kernel's list of sockets is the lock. Other processes and
users: test/system.
"""

import socket

import pytest

from robot_control_ros.core.errors import ConfigError
from robot_control_ros.fieldbus.ethercat.network import check_free

INTERFACE = "lo"


def may_open_sockets():
    try:
        socket.socket(socket.AF_PACKET, socket.SOCK_RAW).close()
    except PermissionError:
        return False
    return True


pytestmark = pytest.mark.skipif(not may_open_sockets(), reason="needs CAP_NET_RAW")


def test_other_protocols_and_interfaces_are_free():
    with socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(0x0003)) as sniffer:
        sniffer.bind((INTERFACE, 0x0003))
        check_free(INTERFACE)
        check_free("no such interface")


def test_one_s_own_socket_is_not_another_s():
    with socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(0x88A4)) as wire:
        wire.bind((INTERFACE, 0x88A4))
        check_free(INTERFACE, [wire.fileno()])
        with pytest.raises(ConfigError):
            check_free(INTERFACE)
