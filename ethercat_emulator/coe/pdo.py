"""Process data: which objects a master reads and writes every cycle, and how
they lie in its frames.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass

from .dictionary import (
    ARRAY,
    BOOLEAN,
    NOT_MAPPABLE,
    OUT_OF_RANGE,
    PDO_TOO_LONG,
    SUBINDEX_0_FIRST,
    UNSIGNED8,
    UNSIGNED16,
    UNSIGNED32,
    VARIABLE,
    WRONG_STATE,
    DataType,
    Dictionary,
    Entry,
    Object,
    SdoAbort,
    key,
    record,
)

SYNC_MANAGER_TYPES = 0x1C00
RX_ASSIGNMENT = 0x1C12
TX_ASSIGNMENT = 0x1C13
RX_PDO = 0x1600
TX_PDO = 0x1A00

_SLOTS = 16  # entries of a PDO, and PDOs of an assignment, that a master can fill
_PDO_NUMBERS = 0x200
# types of numbers without a sign, by bits
_NUMBERS = {1: BOOLEAN, 8: UNSIGNED8, 16: UNSIGNED16, 32: UNSIGNED32}
_LONGEST = 512  # bytes of one direction


@dataclass(frozen=True)
class Mapped:
    """An object in a PDO; index 0 is a gap."""

    index: int
    subindex: int
    bits: int

    @property
    def word(self) -> int:
        """As a mapping object holds it."""
        return self.index << 16 | self.subindex << 8 | self.bits


def gap(bits: int) -> Mapped:
    """Bits without a meaning."""
    return Mapped(0, 0, bits)


@dataclass(frozen=True)
class Pdo:
    """Objects that go together.

    Attributes:
        index: of the mapping object, 0x1600 and above for what the master writes, 0x1A00 and above
            for what it reads.
        mapped: in their order.
        fixed: the master can't change it.
    """

    index: int
    mapped: tuple[Mapped, ...]
    fixed: bool = False


def pdo_objects(pdos: Sequence[Pdo], assigned: Sequence[int]) -> list[Object]:
    """The mapping objects, the two assignments and the types of the sync managers.

    Args:
        pdos: of the device.
        assigned: indices of those that are in use after power-up.
    """
    objects = [
        record(
            SYNC_MANAGER_TYPES,
            "Sync manager type",
            *(Entry(n + 1, UNSIGNED8, n + 1, f"Sync manager {n}") for n in range(4)),
            code=ARRAY,
        )
    ]
    for pdo in pdos:
        words = [item.word for item in pdo.mapped]
        objects.append(
            _array(pdo.index, f"PDO {pdo.index:#06x}", UNSIGNED32, words, writable=not pdo.fixed)
        )
    for index, name, first in (
        (RX_ASSIGNMENT, "RxPDO assign", RX_PDO),
        (TX_ASSIGNMENT, "TxPDO assign", TX_PDO),
    ):
        chosen = [pdo for pdo in assigned if first <= pdo < first + _PDO_NUMBERS]
        objects.append(_array(index, name, UNSIGNED16, chosen, writable=True))
    return objects


def plain_objects(pdos: Sequence[Pdo], known: Sequence[Object]) -> list[Object]:
    """Numbers for whatever the PDOs hold beyond the known objects."""
    indices = {item.index for item in known}
    entries: dict[int, dict[int, Entry]] = {}
    for pdo in pdos:
        direction = "rx" if pdo.index < TX_PDO else "tx"
        for item in pdo.mapped:
            if item.index and item.index not in indices:
                entry = Entry(
                    item.subindex,
                    _NUMBERS[item.bits],
                    0,
                    "Number",
                    direction == "rx",
                    mapped=direction,
                )
                entries.setdefault(item.index, {})[item.subindex] = entry
    return [
        Object(index, "Number", VARIABLE, (found[0],))
        if 0 in found
        else record(index, "Numbers", *found.values())
        for index, found in entries.items()
    ]


def _array(index: int, name: str, type_: DataType, values: list[int], *, writable: bool) -> Object:
    filled = values + [0] * (_SLOTS - len(values)) if writable else values
    entries = [
        Entry(n + 1, type_, value, f"SubIndex {n + 1:03d}", writable)
        for n, value in enumerate(filled)
    ]
    count = Entry(
        0, UNSIGNED8, len(values), "SubIndex 000", writable, allowed=range(len(filled) + 1)
    )
    return Object(index, name, ARRAY, (count, *entries))


def is_mapping(index: int) -> bool:
    """Whether an object decides what process data are."""
    return index in (RX_ASSIGNMENT, TX_ASSIGNMENT) or is_pdo(index)


def is_pdo(index: int) -> bool:
    """Whether an object is a PDO's mapping."""
    return RX_PDO <= index < RX_PDO + _PDO_NUMBERS or TX_PDO <= index < TX_PDO + _PDO_NUMBERS


def check_mapping_write(
    dictionary: Dictionary, index: int, subindex: int, data: bytes, *, preop: bool
) -> None:
    """Whether a master may write this part of the mapping now: only in PREOP, with subindex 0 at 0
    until the end.

    Raises:
        SdoAbort: it may not.
    """
    if not preop:
        raise SdoAbort(WRONG_STATE)
    if subindex:
        if dictionary.entry(index, subindex).writable and dictionary.number(index):
            raise SdoAbort(SUBINDEX_0_FIRST)
        return
    count = data[0] if data else 0
    values = [
        dictionary.number(index, n)
        for n in range(1, count + 1)
        if key(index, n) in dictionary.entries
    ]
    if is_pdo(index):
        direction = "rx" if index < TX_PDO else "tx"
        bits = sum(_check_mapped(dictionary, word, direction) for word in values)
    else:
        bits = sum(
            _pdo_bits(dictionary, pdo, RX_PDO if index == RX_ASSIGNMENT else TX_PDO)
            for pdo in values
        )
    if bits > 8 * _LONGEST:
        raise SdoAbort(PDO_TOO_LONG)


def _check_mapped(dictionary: Dictionary, word: int, direction: str) -> int:
    index = word >> 16
    subindex = word >> 8 & 0xFF
    bits = word & 0xFF
    if index:
        entry = dictionary.entry(index, subindex)
        if entry.mapped != direction or entry.bits != bits:
            raise SdoAbort(NOT_MAPPABLE)
    return bits


def _pdo_bits(dictionary: Dictionary, index: int, first: int) -> int:
    if index not in dictionary.objects or not first <= index < first + _PDO_NUMBERS:
        raise SdoAbort(OUT_OF_RANGE)
    return sum(item.bits for item in mapped(dictionary, index))


def mapped(dictionary: Dictionary, index: int) -> list[Mapped]:
    """The objects of a PDO, as its mapping object lists them now."""
    words = [dictionary.number(index, n + 1) for n in range(dictionary.number(index))]
    return [Mapped(word >> 16, word >> 8 & 0xFF, word & 0xFF) for word in words]


class ProcessData:
    """One direction's process data, made from the mapping as it is now.

    Args:
        dictionary: whose values they are.
        assignment: RX_ASSIGNMENT or TX_ASSIGNMENT.
    """

    def __init__(self, dictionary: Dictionary, assignment: int) -> None:
        self._values = dictionary.values
        pdos = [dictionary.number(assignment, n + 1) for n in range(dictionary.number(assignment))]
        items = [item for pdo in pdos for item in mapped(dictionary, pdo)]
        self.size = (sum(item.bits for item in items) + 7) // 8
        self._keys = [key(item.index, item.subindex) for item in items if item.index]
        self._struct: struct.Struct | None = None
        # (key, first bit, bits, signed) where bytes aren't enough
        self._bits: list[tuple[int, int, int, bool]] = []
        if any(item.bits % 8 for item in items):
            at = 0
            for item in items:
                if item.index:
                    # struct's letters of signed integers
                    signed = _format(dictionary, item).islower()
                    self._bits.append((key(item.index, item.subindex), at, item.bits, signed))
                at += item.bits
        else:
            formats = [_format(dictionary, item) for item in items]
            self._struct = struct.Struct("<" + "".join(formats))

    def unpack(self, data: bytes | bytearray) -> None:
        """Take the master's values over."""
        if self._struct is not None:
            self._values.update(zip(self._keys, self._struct.unpack(data), strict=True))
            return
        image = int.from_bytes(data, "little")
        for name, first, bits, signed in self._bits:
            value = image >> first & (1 << bits) - 1
            self._values[name] = value - (1 << bits) if signed and value >> (bits - 1) else value

    def pack(self) -> bytes:
        """The values for the master."""
        if self._struct is not None:
            return self._struct.pack(*map(self._values.__getitem__, self._keys))
        image = 0
        for name, first, bits, _ in self._bits:
            image |= (self._values[name] & (1 << bits) - 1) << first
        return image.to_bytes(self.size, "little")


def _format(dictionary: Dictionary, item: Mapped) -> str:
    return (
        dictionary.entry(item.index, item.subindex).type.format
        if item.index
        else f"{item.bits // 8}x"
    )
