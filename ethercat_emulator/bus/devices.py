"""Slaves ready to be put on a bus: a drive, digital terminals, a coupler."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

from ..coe.dictionary import (
    BOOLEAN,
    OCTET_STRING,
    UNSIGNED8,
    UNSIGNED32,
    VISIBLE_STRING,
    Dictionary,
    Entry,
    Object,
    record,
    variable,
)
from ..coe.pdo import (
    RX_ASSIGNMENT,
    RX_PDO,
    TX_ASSIGNMENT,
    TX_PDO,
    Mapped,
    Pdo,
    ProcessData,
    gap,
    pdo_objects,
    plain_objects,
)
from ..drive.drive import Drive
from ..drive.objects import DriveSettings, drive_objects
from ..esc.sii import (
    INPUTS,
    MAILBOX_IN,
    MAILBOX_OUT,
    OUTPUTS,
    Identity,
    PdoCategory,
    PdoEntry,
    Sii,
    Window,
)
from .slave import Slave

MAILBOX = 128  # bytes each way
NOTES = 0x2000  # object: a string of the user's, long enough for transfers in segments
NOTES_LENGTH = 600

_DRIVE_TYPE = 0x00020192  # CiA 402, servo drive
_MAILBOX_OUT_AT = 0x1000
_MAILBOX_IN_AT = 0x1400
_OUTPUTS_AT = 0x1800
_INPUTS_AT = 0x2000

IDENTITY = Identity(vendor=0x00000E5E, product=0x00000402)

# The process data of a drive where nothing else is asked for.
RX = Pdo(
    RX_PDO,
    (
        Mapped(0x6040, 0, 16),
        Mapped(0x6060, 0, 8),
        gap(8),
        Mapped(0x607A, 0, 32),
        Mapped(0x60B1, 0, 32),
        Mapped(0x60B2, 0, 16),
        Mapped(0x6071, 0, 16),
    ),
)
TX = Pdo(
    TX_PDO,
    (
        Mapped(0x6041, 0, 16),
        Mapped(0x6061, 0, 8),
        gap(8),
        Mapped(0x6064, 0, 32),
        Mapped(0x606C, 0, 32),
        Mapped(0x6077, 0, 16),
        Mapped(0x603F, 0, 16),
        Mapped(0x60F4, 0, 32),
    ),
)


def drive_slave(
    settings: DriveSettings | None = None,
    *,
    name: str = "Emulated CiA 402 drive",
    identity: Identity = IDENTITY,
    alias: int = 0,
    pdos: Sequence[Pdo] = (RX, TX),
    assigned: Sequence[int] = (RX_PDO, TX_PDO),
    mailbox: int = MAILBOX,
    clock_start: int | None = 0,
    complete_access: bool = True,
    eeprom_8_bytes: bool = True,
) -> tuple[Slave, Drive]:
    """A drive on the bus.

    Args:
        settings: of the drive.
        name, identity, alias: in its EEPROM and its objects.
        pdos: all its PDOs. Objects in them that the drive doesn't know have no effect.
        assigned: indices of those in use after power-up.
        mailbox: bytes each way.
        clock_start: of its distributed clock [ns]; None for none.
        complete_access: whether objects can be read and written as a whole.
        eeprom_8_bytes: whether its EEPROM gives 8 bytes at a time.
    """
    settings = DriveSettings() if settings is None else settings
    objects = [*_general(_DRIVE_TYPE, name, identity), *drive_objects(settings)]
    objects += [*plain_objects(pdos, objects), *pdo_objects(pdos, assigned)]
    dictionary = Dictionary(objects, complete_access=complete_access)
    drive = Drive(settings, dictionary)
    windows = [
        Window(MAILBOX_OUT, _MAILBOX_OUT_AT, mailbox),
        Window(MAILBOX_IN, _MAILBOX_IN_AT, mailbox),
    ]
    windows += [Window(OUTPUTS, _OUTPUTS_AT, ProcessData(dictionary, RX_ASSIGNMENT).size)]
    windows += [Window(INPUTS, _INPUTS_AT, ProcessData(dictionary, TX_ASSIGNMENT).size)]
    sii = Sii(
        identity,
        name,
        windows,
        rx=[
            _category(dictionary, pdo, 2 if pdo.index in assigned else 0xFF)
            for pdo in pdos
            if pdo.index < TX_PDO
        ],
        tx=[
            _category(dictionary, pdo, 3 if pdo.index in assigned else 0xFF)
            for pdo in pdos
            if pdo.index >= TX_PDO
        ],
        alias=alias,
        complete_access=complete_access,
    )
    slave = Slave(sii, dictionary, drive, clock_start=clock_start, eeprom_8_bytes=eeprom_8_bytes)
    return slave, drive


class Terminal:
    """A device whose inputs and outputs are nothing but the values of its objects."""

    def __init__(self) -> None:
        self.emergencies: deque[tuple[int, int]] = deque()

    def reset(self) -> None:
        """Nothing but the objects changes."""

    def disconnect(self) -> None:
        """Outputs stay as they are."""


def terminal(
    inputs: int, outputs: int, *, name: str = "Emulated terminal", identity: Identity = IDENTITY
) -> Slave:
    """A digital terminal without mailbox and clock, whose process data are single bits.

    Outputs are the values of 0x7000, inputs those of 0x6000, from subindex 1 on. With neither it is
    a coupler.
    """
    bits = {
        (RX_PDO, OUTPUTS): [Mapped(0x7000, n + 1, 1) for n in range(outputs)],
        (TX_PDO, INPUTS): [Mapped(0x6000, n + 1, 1) for n in range(inputs)],
    }
    objects: list[Object] = []
    pdos: list[tuple[Pdo, int]] = []
    windows: list[Window] = []
    for (index, kind), items in bits.items():
        if not items:
            continue
        direction = "rx" if kind == OUTPUTS else "tx"
        entries = [
            Entry(item.subindex, BOOLEAN, 0, f"Channel {item.subindex}", mapped=direction)
            for item in items
        ]
        objects.append(record(items[0].index, "Outputs" if kind == OUTPUTS else "Inputs", *entries))
        pdos.append((Pdo(index, tuple(items), fixed=True), len(windows)))
        windows.append(Window(kind, 0x1000 + 0x100 * len(windows), (len(items) + 7) // 8))
    chosen = [pdo for pdo, _ in pdos]
    dictionary = Dictionary([*objects, *pdo_objects(chosen, [pdo.index for pdo in chosen])])
    sii = Sii(
        identity,
        name,
        windows,
        rx=[_category(dictionary, pdo, manager) for pdo, manager in pdos if pdo.index == RX_PDO],
        tx=[_category(dictionary, pdo, manager) for pdo, manager in pdos if pdo.index == TX_PDO],
    )
    return Slave(sii, dictionary, Terminal(), eeprom_8_bytes=False)


def _general(device_type: int, name: str, identity: Identity) -> list[Object]:
    return [
        variable(0x1000, UNSIGNED32, device_type, "Device type"),
        variable(0x1001, UNSIGNED8, 0, "Error register", mapped="tx"),
        variable(0x1008, VISIBLE_STRING, name.encode(), "Device name"),
        variable(0x1009, VISIBLE_STRING, b"1.0", "Hardware version"),
        variable(0x100A, VISIBLE_STRING, b"1.0", "Software version"),
        record(
            0x1018,
            "Identity",
            Entry(1, UNSIGNED32, identity.vendor, "Vendor ID"),
            Entry(2, UNSIGNED32, identity.product, "Product code"),
            Entry(3, UNSIGNED32, identity.revision, "Revision"),
            Entry(4, UNSIGNED32, identity.serial, "Serial number"),
        ),
        variable(NOTES, OCTET_STRING, bytes(NOTES_LENGTH), "Notes", writable=True),
    ]


def _category(dictionary: Dictionary, pdo: Pdo, manager: int) -> PdoCategory:
    entries = []
    for item in pdo.mapped:
        kind = dictionary.entry(item.index, item.subindex).type.number if item.index else 0
        entries.append(PdoEntry(item.index, item.subindex, kind, item.bits))
    return PdoCategory(pdo.index, manager, tuple(entries))
