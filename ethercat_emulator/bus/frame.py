"""Datagrams in an Ethernet frame: walked in place, as a slave sees them pass."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from enum import IntEnum
from typing import NamedTuple

ETHERTYPE = 0x88A4
TYPE_DATAGRAMS = 1  # of the EtherCAT header; others are network variables and mailbox gateways
LOCALLY_ADMINISTERED = 0x02  # bit of the source address that the first slave sets

_START = 14 + 2  # Ethernet header, EtherCAT header
_HEADER = struct.Struct("<BBHHHH")  # command, index, address, offset, length and flags, interrupt
_WKC = struct.Struct("<H")
_ADDRESS = struct.Struct("<H")


class Command(IntEnum):
    """What a datagram asks for: AP by position, FP by station address, B of all, L
    by logical address.
    """

    NOP = 0
    APRD = 1
    APWR = 2
    APRW = 3
    FPRD = 4
    FPWR = 5
    FPRW = 6
    BRD = 7
    BWR = 8
    BRW = 9
    LRD = 10
    LWR = 11
    LRW = 12
    ARMW = 13
    FRMW = 14


class Datagram(NamedTuple):
    """Where a datagram lies in its frame.

    Attributes:
        command: a Command, or a number that is none.
        address: position or station address; the low half of a logical address.
        offset: in the slave's memory; the high half of a logical address.
        at: of its header in the frame.
        start, end: of its data in the frame.
    """

    command: int
    address: int
    offset: int
    at: int
    start: int
    end: int


def is_ethercat(frame: bytes | bytearray) -> bool:
    """Whether slaves process the frame; they pass on all others."""
    return len(frame) > _START and frame[12:14] == b"\x88\xa4" and frame[15] >> 4 == TYPE_DATAGRAMS


def walk(frame: bytes | bytearray) -> Iterator[Datagram]:
    """Every datagram of an EtherCAT frame, in order.

    Raises:
        ValueError: a datagram goes beyond the frame's length, or the frame's beyond its end.
    """
    at = _START
    limit = _START + (int.from_bytes(frame[14:16], "little") & 0x07FF)
    if limit > len(frame):
        raise ValueError(
            f"EtherCAT length {limit - _START}: the frame has {len(frame) - _START} bytes"
        )
    more = True
    while more:
        if at + 12 > limit:
            raise ValueError(f"datagram at byte {at}: the EtherCAT length ends at {limit}")
        command, _, address, offset, length, _ = _HEADER.unpack_from(frame, at)
        start = at + 10
        end = start + (length & 0x07FF)
        if end + 2 > limit:
            raise ValueError(
                f"datagram at byte {at} ends at {end + 2}: the EtherCAT length ends at {limit}"
            )
        yield Datagram(command, address, offset, at, start, end)
        more = bool(length & 0x8000)
        at = end + 2


def add_working_counter(frame: bytearray, datagram: Datagram, increment: int) -> None:
    """Count what slaves did with a datagram; it wraps at 16 bits."""
    counted = _WKC.unpack_from(frame, datagram.end)[0] + increment
    _WKC.pack_into(frame, datagram.end, counted & 0xFFFF)


def set_address(frame: bytearray, datagram: Datagram, address: int) -> None:
    """Write the position that the datagram leaves with."""
    _ADDRESS.pack_into(frame, datagram.at + 2, address & 0xFFFF)
