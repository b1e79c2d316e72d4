"""FMMUs: which bits of a slave's memory lie where in the logical memory of the bus."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import NamedTuple

from .registers import FMMU, FMMU_SIZE, FMMUS, RAM
from .sync_manager import SyncManager

# logical address, length, first, last bit; address, bit; direction, active
_REGISTERS = struct.Struct("<IHBBHBBB")
READ = 1
WRITE = 2


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


class Bits(NamedTuple):
    """Single bits between them, and the bytes that hold those.

    Attributes:
        data, memory: bytes.
        data_bit, memory_bit: the first bit in the first of them.
        mask: as many ones as bits.
    """

    data: slice
    memory: slice
    data_bit: int
    memory_bit: int
    mask: int

    def read(self, memory: bytearray, data: memoryview) -> bytes:
        """The datagram's bytes with the memory's bits; other bits stay."""
        return _replaced(
            data[self.data], self.data_bit, memory[self.memory], self.memory_bit, self.mask
        )

    def write(self, data: bytes | memoryview, memory: bytearray) -> bytes:
        """The memory's bytes with the datagram's bits; other bits stay."""
        return _replaced(
            memory[self.memory], self.memory_bit, data[self.data], self.data_bit, self.mask
        )


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
        logical, length, first, last, physical, physical_bit, direction, enabled = (
            _REGISTERS.unpack_from(memory, FMMU + FMMU_SIZE * number)
        )
        bits = 8 * (length - 1) + (last & 7) - (first & 7) + 1
        end = physical + ((physical_bit & 7) + bits + 7) // 8
        if enabled & 1 and direction & 3 and length and bits > 0 and end <= len(memory):
            found.append(Fmmu(logical, first & 7, bits, physical, physical_bit & 7, direction & 3))
    return found


def plan(fmmus: Sequence[Fmmu], managers: Sequence[SyncManager], logical: int, length: int) -> Plan:
    """What a datagram of `length` bytes at `logical` touches; parts that no sync manager
    admits are left out.
    """
    copies: dict[int, list[Copy]] = {READ: [], WRITE: []}
    bits: dict[int, list[Bits]] = {READ: [], WRITE: []}
    completes: list[SyncManager] = []
    for fmmu in fmmus:
        # of its bits, counted from the datagram's first
        begin = 8 * (fmmu.logical - logical) + fmmu.logical_bit
        first = max(0, begin)
        last = min(8 * length, begin + fmmu.bits)
        if first >= last:
            continue
        memory_bit = 8 * fmmu.physical + fmmu.physical_bit + first - begin
        data = _bytes(first, last)
        memory = _bytes(memory_bit, memory_bit + last - first)
        at = memory.start
        end = memory.stop
        inside = [sm for sm in managers if sm.active and at < sm.end and end > sm.start]
        for direction in (READ, WRITE):
            write = direction == WRITE
            if not fmmu.direction & direction or (write and at < RAM):
                continue
            if any(sm.is_mailbox or not sm.admits(at, end, write) for sm in inside):
                continue
            if fmmu.whole_bytes:
                copies[direction].append(Copy(data, memory))
            else:
                mask = (1 << last - first) - 1
                bits[direction].append(Bits(data, memory, first % 8, memory_bit % 8, mask))
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


def _bytes(first: int, end: int) -> slice:
    """The bytes that hold these bits."""
    return slice(first // 8, (end + 7) // 8)


def _replaced(
    target: bytes | bytearray | memoryview,
    at: int,
    source: bytes | bytearray | memoryview,
    source_at: int,
    mask: int,
) -> bytes:
    bits = int.from_bytes(source, "little") >> source_at & mask
    kept = int.from_bytes(target, "little") & ~(mask << at)
    return (kept | bits << at).to_bytes(len(target), "little")
