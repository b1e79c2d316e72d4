"""The slave information interface: what is in the EEPROM.

Source: ETG.1000.6, slave information interface; ETG.2010.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass

# categories
STRINGS = 10
GENERAL = 30
FMMUS = 40
SYNC_MANAGERS = 41
TX_PDO = 50
RX_PDO = 51
END = 0xFFFF

PROTOCOL_COE = 0x04
COE_DETAILS = 0x01 | 0x02 | 0x04 | 0x08  # SDO, SDO information, PDO assignment, PDO configuration
COE_COMPLETE_ACCESS = 0x20
MAILBOX_OUT = 1  # types of sync managers; of FMMUs: outputs 1, inputs 2
MAILBOX_IN = 2  # types of sync managers; of FMMUs: outputs 1, inputs 2
OUTPUTS = 3  # types of sync managers; of FMMUs: outputs 1, inputs 2
INPUTS = 4  # types of sync managers; of FMMUs: outputs 1, inputs 2
CONTROL = {MAILBOX_OUT: 0x26, MAILBOX_IN: 0x22, OUTPUTS: 0x64, INPUTS: 0x20}
FMMU_MAILBOX_STATE = 3

_WORDS = 0x40  # before the categories
_KIBIBITS = 16  # size of the EEPROM
_BUS_CURRENT = 0  # mA


@dataclass(frozen=True)
class Identity:
    """A slave's identity: vendor, product, revision and serial number."""

    vendor: int
    product: int
    revision: int = 1
    serial: int = 0


@dataclass(frozen=True)
class Window:
    """A sync manager as the EEPROM proposes it: its type, where it starts, how many bytes; 0
    for the usual control.
    """

    type: int
    start: int
    length: int
    control: int = 0


@dataclass(frozen=True)
class PdoEntry:
    """An object in a PDO; index 0 and type 0 are a gap."""

    index: int
    subindex: int
    type: int
    bits: int


@dataclass(frozen=True)
class PdoCategory:
    """A PDO: its index, the sync manager it goes through (0xFF: none), its entries."""

    index: int
    sync_manager: int
    entries: tuple[PdoEntry, ...]


@dataclass(frozen=True)
class Sii:
    """The content of the EEPROM.

    Attributes:
        identity: who the slave is.
        name: of the device.
        windows: sync managers by number; mailboxes have their types among them.
        rx, tx: PDOs.
        alias: station alias, 0 for none.
        complete_access: whether CoE objects can be read and written as a whole.
    """

    identity: Identity
    name: str
    windows: Sequence[Window]
    rx: Sequence[PdoCategory] = ()
    tx: Sequence[PdoCategory] = ()
    alias: int = 0
    complete_access: bool = True

    @property
    def has_mailbox(self) -> bool:
        """Whether the device speaks CoE."""
        return any(window.type == MAILBOX_OUT for window in self.windows)


def checksum(words: bytes) -> int:
    """CRC-8 of the first seven words: polynomial x^8 + x^2 + x + 1, from 0xFF."""
    crc = 0xFF
    for byte in words:
        crc ^= byte
        for _ in range(8):
            crc = (crc << 1 ^ (0x07 if crc & 0x80 else 0)) & 0xFF
    return crc


def build(sii: Sii) -> bytearray:
    """The EEPROM's bytes."""
    content = bytearray(2 * _WORDS)
    # PDI: SPI, as register 0x0140
    struct.pack_into("<5H", content, 0, 0x0005, 0x0000, 0x0000, 0x0000, sii.alias)
    content[14] = checksum(bytes(content[:14]))
    who = sii.identity
    struct.pack_into("<4I", content, 2 * 0x08, who.vendor, who.product, who.revision, who.serial)
    if sii.has_mailbox:
        mailboxes = [window for window in sii.windows if window.type in (MAILBOX_OUT, MAILBOX_IN)]
        words = [word for window in mailboxes for word in (window.start, window.length)]
        # no boot mailbox: no state BOOT
        struct.pack_into("<5H", content, 2 * 0x18, *words, PROTOCOL_COE)
    struct.pack_into("<2H", content, 2 * 0x3E, _KIBIBITS - 1, 1)
    for number, data in _categories(sii):
        padded = data + bytes(len(data) % 2)
        content += struct.pack("<2H", number, len(padded) // 2) + padded
    return content + struct.pack("<H", END)


def _categories(sii: Sii) -> list[tuple[int, bytes]]:
    name = sii.name.encode()
    categories = [(STRINGS, bytes((1, len(name))) + name), (GENERAL, _general(sii))]
    if sii.windows:
        categories += [
            (FMMUS, _fmmus(sii)),
            (SYNC_MANAGERS, b"".join(_window(item) for item in sii.windows)),
        ]
    categories += [(TX_PDO, _pdo(pdo)) for pdo in sii.tx]
    categories += [(RX_PDO, _pdo(pdo)) for pdo in sii.rx]
    return categories


def _general(sii: Sii) -> bytes:
    coe = (
        (COE_DETAILS | (COE_COMPLETE_ACCESS if sii.complete_access else 0))
        if sii.has_mailbox
        else 0
    )
    general = bytearray(32)
    general[0:4] = bytes((0, 0, 1, 1))  # strings: group, image, order, name
    general[5] = coe
    struct.pack_into("<h", general, 12, _BUS_CURRENT)
    general[16:18] = b"\x11\x00"  # ports 0 and 1 are MII
    return bytes(general)


def _fmmus(sii: Sii) -> bytes:
    kinds = {window.type for window in sii.windows}
    uses = [OUTPUTS - 2] if OUTPUTS in kinds else []
    uses += [INPUTS - 2] if INPUTS in kinds else []
    uses += [FMMU_MAILBOX_STATE] if sii.has_mailbox else []
    return bytes(uses)


def _window(window: Window) -> bytes:
    control = window.control or CONTROL[window.type]
    return struct.pack("<HHBBBB", window.start, window.length, control, 0, 1, window.type)


def _pdo(pdo: PdoCategory) -> bytes:
    entries = b"".join(
        struct.pack("<HBBBBH", e.index, e.subindex, 0, e.type, e.bits, 0) for e in pdo.entries
    )
    return struct.pack("<HBBBBH", pdo.index, len(pdo.entries), pdo.sync_manager, 0, 0, 0) + entries
