"""FMMUs: which bits of a slave's memory lie where in the logical memory of the bus."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import NamedTuple

from .registers import FMMU, FMMU_SIZE, FMMUS, RAM
from .sync_manager import SyncManager

_REGISTERS = struct.Struct("<IHBBHBBB")  # logical address, length, first, last bit; address, bit; direction, active
READ, WRITE = 1, 2


class Fmmu(NamedTuple):
    """A range of bits.

    Attributes:
        logical: address of its first byte in the logical memory.
        logical_bit: its first bit there.
        bits: how many.
        physical, physical_bit: the same in the slave's memory.
        direction: READ, WRITE or both, seen from the master.
    """

    logical: int
    logical_bit: int
    bits: int
    physical: int
    physical_bit: int
    direction: int

    @property
    def whole_bytes(self) -> bool:
        """Whether it needs no masks."""
        return not (self.logical_bit or self.physical_bit or self.bits % 8)


class Copy(NamedTuple):
    """Whole bytes between a datagram's data and the slave's memory."""

    data: slice
    memory: slice


# Single bits between them: (byte in the data, mask there, byte in memory, mask there).
Bits = tuple[tuple[int, int, int, int], ...]


class Plan(NamedTuple):
    """What a slave does with a logical datagram.

    Attributes:
        reads, writes: whole bytes.
        bit_reads, bit_writes: single bits.
        completes: sync managers whose last byte is written.
        readable, writable: whether there is anything of the kind.
    """

    reads: tuple[Copy, ...]
    writes: tuple[Copy, ...]
    bit_reads: tuple[Bits, ...]
    bit_writes: tuple[Bits, ...]
    completes: tuple[SyncManager, ...]
    readable: bool
    writable: bool


def active(memory: bytearray) -> list[Fmmu]:
    """The FMMUs that the registers make active."""
    found = []
    for number in range(FMMUS):
        logical, length, first, last, physical, physical_bit, direction, enabled = _REGISTERS.unpack_from(
            memory, FMMU + FMMU_SIZE * number
        )
        bits = 8 * (length - 1) + (last & 7) - (first & 7) + 1
        end = physical + ((physical_bit & 7) + bits + 7) // 8
        if enabled & 1 and direction & 3 and length and bits > 0 and end <= len(memory):
            found.append(Fmmu(logical, first & 7, bits, physical, physical_bit & 7, direction & 3))
    return found


def plan(fmmus: Sequence[Fmmu], managers: Sequence[SyncManager], logical: int, length: int) -> Plan:
    """What a datagram of `length` bytes at `logical` touches; parts that no sync manager admits are left out."""
    copies: dict[int, list[Copy]] = {READ: [], WRITE: []}
    bits: dict[int, list[Bits]] = {READ: [], WRITE: []}
    completes: list[SyncManager] = []
    for fmmu in fmmus:
        first = max(0, fmmu.logical - logical)
        last = min(length, fmmu.logical - logical + (fmmu.logical_bit + fmmu.bits + 7) // 8)
        if first >= last:
            continue
        at = fmmu.physical + first - (fmmu.logical - logical)
        end = at + last - first
        inside = [sm for sm in managers if sm.active and at < sm.end and end > sm.start]
        for direction in (READ, WRITE):
            write = direction == WRITE
            if not fmmu.direction & direction or (write and at < RAM):
                continue
            if any(sm.is_mailbox or not sm.admits(at, end, write) for sm in inside):
                continue
            if fmmu.whole_bytes:
                copies[direction].append(Copy(slice(first, last), slice(at, end)))
            else:
                bits[direction].append(_bits(fmmu, logical, length))
            if write:
                completes += [sm for sm in inside if end == sm.end]
    return Plan(
        tuple(copies[READ]),
        tuple(copies[WRITE]),
        tuple(bits[READ]),
        tuple(bits[WRITE]),
        tuple(completes),
        bool(copies[READ] or bits[READ]),
        bool(copies[WRITE] or bits[WRITE]),
    )


def _bits(fmmu: Fmmu, logical: int, length: int) -> Bits:
    found = []
    for bit in range(fmmu.bits):
        byte, logical_bit = divmod(8 * (fmmu.logical - logical) + fmmu.logical_bit + bit, 8)
        physical, physical_bit = divmod(8 * fmmu.physical + fmmu.physical_bit + bit, 8)
        if 0 <= byte < length:
            found.append((byte, 1 << logical_bit, physical, 1 << physical_bit))
    return tuple(found)


def read_bits(bits: Bits, memory: bytearray, data: memoryview) -> None:
    """Put single bits of the memory into a datagram; its other bits stay."""
    for byte, mask, physical, physical_mask in bits:
        data[byte] = data[byte] | mask if memory[physical] & physical_mask else data[byte] & ~mask


def write_bits(bits: Bits, data: bytes | memoryview, memory: bytearray) -> None:
    """Put single bits of a datagram into the memory; its other bits stay."""
    for byte, mask, physical, physical_mask in bits:
        old = memory[physical]
        memory[physical] = old | physical_mask if data[byte] & mask else old & ~physical_mask
