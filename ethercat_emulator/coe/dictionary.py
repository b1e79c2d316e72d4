"""A device's objects: what CoE reads and writes, and process data are made of.

Source: ETG.1000.6, object dictionary, SDO abort codes, complete access.
"""

from __future__ import annotations

import struct
from collections.abc import Container, Iterable
from dataclasses import dataclass
from typing import Any

# Abort codes.
TOGGLE = 0x05030000
COMMAND = 0x05040001
UNSUPPORTED_ACCESS = 0x06010000
WRITE_ONLY = 0x06010001
READ_ONLY = 0x06010002
SUBINDEX_0_FIRST = 0x06010003
NO_COMPLETE_ACCESS = 0x06010004
NO_OBJECT = 0x06020000
NOT_MAPPABLE = 0x06040041
PDO_TOO_LONG = 0x06040042
TOO_LONG = 0x06070012
TOO_SHORT = 0x06070013
NO_SUBINDEX = 0x06090011
OUT_OF_RANGE = 0x06090030
WRONG_STATE = 0x08000022

# object codes
VARIABLE = 7
ARRAY = 8
RECORD = 9


class SdoAbort(Exception):
    """A transfer that the device refuses.

    Attributes:
        code: one of the abort codes.
    """

    def __init__(self, code: int) -> None:
        super().__init__(f"SDO abort {code:#010x}")
        self.code = code


@dataclass(frozen=True)
class DataType:
    """Of an entry: its name and number, its size in bits (0: that of the value), and
    struct's letter for it.
    """

    name: str
    number: int
    bits: int
    format: str = ""


BOOLEAN = DataType("BOOLEAN", 0x01, 1, "B")
INTEGER8 = DataType("INTEGER8", 0x02, 8, "b")
INTEGER16 = DataType("INTEGER16", 0x03, 16, "h")
INTEGER32 = DataType("INTEGER32", 0x04, 32, "i")
UNSIGNED8 = DataType("UNSIGNED8", 0x05, 8, "B")
UNSIGNED16 = DataType("UNSIGNED16", 0x06, 16, "H")
UNSIGNED32 = DataType("UNSIGNED32", 0x07, 32, "I")
VISIBLE_STRING = DataType("VISIBLE_STRING", 0x09, 0)
OCTET_STRING = DataType("OCTET_STRING", 0x0A, 0)


def key(index: int, subindex: int = 0) -> int:
    """What an entry's value is kept under."""
    return index << 8 | subindex


@dataclass(frozen=True)
class Entry:
    """One value of an object.

    Attributes:
        subindex: of it.
        type: of it; a string's size is that of its first value, and shorter ones are filled with
            zeros.
        value: after power-up.
        name: of it.
        writable, readable: by SDO.
        mapped: "rx" or "tx": may be part of such a PDO; "": of none.
        allowed: values that may be written; None: whatever the type holds.
    """

    subindex: int
    type: DataType
    value: int | bytes
    name: str
    writable: bool = False
    readable: bool = True
    mapped: str = ""
    allowed: Container[int] | None = None

    @property
    def bits(self) -> int:
        """Size of the value."""
        return self.type.bits or 8 * len(self.bytes_value)

    @property
    def size(self) -> int:
        """Bytes of the value in an SDO."""
        return (self.bits + 7) // 8

    @property
    def bytes_value(self) -> bytes:
        """The value after power-up, of a string."""
        return self.value if isinstance(self.value, bytes) else b""

    def encode(self, value: int | bytes) -> bytes:
        """The value as it goes over the wire."""
        return value if isinstance(value, bytes) else struct.pack("<" + self.type.format, value)

    def decode(self, data: bytes) -> int | bytes:
        """The value that a master wrote.

        Raises:
            SdoAbort: its length or the value doesn't fit.
        """
        if len(data) > self.size:
            raise SdoAbort(TOO_LONG)
        if not self.type.format:
            return data.ljust(self.size, b"\x00")
        if len(data) < self.size:
            raise SdoAbort(TOO_SHORT)
        value: int = struct.unpack("<" + self.type.format, data)[0]
        if self.allowed is not None and value not in self.allowed:
            raise SdoAbort(OUT_OF_RANGE)
        return value


@dataclass(frozen=True)
class Object:
    """Entries of one index, in the order of their subindices."""

    index: int
    name: str
    code: int
    entries: tuple[Entry, ...]


def variable(
    index: int,
    type_: DataType,
    value: int | bytes,
    name: str,
    *,
    writable: bool = False,
    mapped: str = "",
    allowed: Container[int] | None = None,
) -> Object:
    """An object of one value; what goes into an RxPDO can be written."""
    entry = Entry(0, type_, value, name, writable or mapped == "rx", mapped=mapped, allowed=allowed)
    return Object(index, name, VARIABLE, (entry,))


def record(
    index: int, name: str, *entries: Entry, code: int = RECORD, resizable: bool = False
) -> Object:
    """An object of several values; subindex 0 is their number; of a resizable
    one, the number in use.
    """
    count = Entry(
        0,
        UNSIGNED8,
        len(entries),
        "Number of entries",
        writable=resizable,
        allowed=range(len(entries) + 1),
    )
    return Object(index, name, code, (count, *entries))


class Dictionary:
    """Objects and their values.

    Args:
        objects: in any order.
        complete_access: whether they can be read and written as a whole.

    Attributes:
        objects: by index.
        values: by :func:`key`; numbers, or bytes of strings. The device computes with them.
    """

    def __init__(self, objects: Iterable[Object], *, complete_access: bool = True) -> None:
        self._complete_access = complete_access
        self.objects = {item.index: item for item in sorted(objects, key=lambda item: item.index)}
        self.entries = {
            key(o.index, e.subindex): e for o in self.objects.values() for e in o.entries
        }
        self.values: dict[int, Any] = {}
        self.reset()

    def reset(self) -> None:
        """Back to the values after power-up."""
        self.values.clear()
        self.values.update({name: entry.value for name, entry in self.entries.items()})

    def number(self, index: int, subindex: int = 0) -> int:
        """A value that is a number."""
        return int(self.values[key(index, subindex)])

    def entry(self, index: int, subindex: int) -> Entry:
        """One entry.

        Raises:
            SdoAbort: there is none.
        """
        if index not in self.objects:
            raise SdoAbort(NO_OBJECT)
        found = self.entries.get(key(index, subindex))
        if found is None:
            raise SdoAbort(NO_SUBINDEX)
        return found

    def read(self, index: int, subindex: int) -> bytes:
        """One value.

        Raises:
            SdoAbort: there is none, or it can't be read.
        """
        entry = self.entry(index, subindex)
        if not entry.readable:
            raise SdoAbort(WRITE_ONLY)
        return entry.encode(self.values[key(index, subindex)])

    def write(self, index: int, subindex: int, data: bytes) -> None:
        """One value.

        Raises:
            SdoAbort: there is none, or it can't be written, or not with this.
        """
        entry = self.entry(index, subindex)
        if not entry.writable:
            raise SdoAbort(READ_ONLY)
        self.values[key(index, subindex)] = entry.decode(data)

    def complete_size(self, index: int, first: int) -> int:
        """Most bytes that a complete download has, from subindex 0 or 1.

        Raises:
            SdoAbort: as below.
        """
        return sum(entry.size for entry in self._complete(index, first)) + (2 if first == 0 else 0)

    def read_complete(self, index: int, first: int) -> bytes:
        """All values in use, from subindex 0 (which takes two bytes then) or 1.

        Raises:
            SdoAbort: there is no such object, it has one value only, or one of them can't be read.
        """
        entries = self._complete(index, first)
        head = [self.read(index, 0) + b"\x00"] if first == 0 else []
        used = entries[: self.number(index)]
        return b"".join(head + [self.read(index, entry.subindex) for entry in used])

    def split_complete(self, index: int, first: int, data: bytes) -> list[tuple[int, bytes]]:
        """The value that a complete download has for each subindex, 0 included, in order.

        Raises:
            SdoAbort: as above, or it is too short or too long.
        """
        entries = self._complete(index, first)
        if first == 0:
            count = data[0] if data else 0
            rest = data[2:]
        else:
            count = -1
            rest = data
        parts = []
        for entry in entries if count < 0 else entries[:count]:
            if not rest and count < 0:
                break
            if len(rest) < entry.size:
                raise SdoAbort(TOO_SHORT)
            parts.append((entry.subindex, rest[: entry.size]))
            rest = rest[entry.size :]
        if rest or count > len(entries):
            raise SdoAbort(TOO_LONG)
        return [(0, bytes((len(parts) if count < 0 else count,))), *parts]

    def _complete(self, index: int, first: int) -> tuple[Entry, ...]:
        if index not in self.objects:
            raise SdoAbort(NO_OBJECT)
        item = self.objects[index]
        if item.code == VARIABLE or not self._complete_access:
            raise SdoAbort(NO_COMPLETE_ACCESS)
        if first > 1:
            raise SdoAbort(UNSUPPORTED_ACCESS)
        return item.entries[1:]
