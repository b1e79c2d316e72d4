"""Drives: config/ethercat/drives/<name>.yaml, or a file of the user's own.

A drive file says what a family of drives has in common: whose it is, which objects its process data
hold, and the units it counts in. What is behind it, motor and gear, is in the topology.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from ...core.errors import ConfigError
from ...robot.files import config_names, read_config
from ...robot.schema import SOME, entry, read_entries, whole
from . import pdo
from .pdo import TYPES, Entry, Image, Pdo
from .scale import TORQUE_UNITS, VELOCITY_UNITS

MAX_ID = 0xFFFFFFFF

_FOLDER = "ethercat/drives"
_ASSIGN = {"rx": 0x1C12, "tx": 0x1C13}


@dataclass(frozen=True)
class SdoWrite:
    """A value to write into the object dictionary before the drive is operational.

    Raises:
        ConfigError: the value is beyond its type.
    """

    index: int = entry(lower=1, upper=0xFFFF, doc="Of the object.")
    type: str = entry(choices=TYPES, doc="Of the object.")
    value: int = entry(lower=-(1 << 31), upper=MAX_ID, doc="What is written; the type bounds it.")
    sub_index: int = entry(0, lower=0, upper=0xFF, doc="Of the object.")

    def __post_init__(self) -> None:
        whole("value", self.value, *pdo.bounds(self.type))

    def data(self) -> bytes:
        """The value as bytes, little endian."""
        return self.value.to_bytes(
            TYPES[self.type] // 8, "little", signed=self.type.startswith("i")
        )

    def __str__(self) -> str:
        return f"0x{self.index:04X}:{self.sub_index} = {self.value} ({self.type})"


def _pdos(given: Mapping[int, tuple[Entry, ...]]) -> tuple[Pdo, ...]:
    return tuple(Pdo(index, entries) for index, entries in given.items())


@dataclass(frozen=True, kw_only=True)
class DriveConfig:
    """A family of drives, by the name of its file; the images are the layouts of
    all `rx` and all `tx`.
    """

    name: str
    description: str = entry(doc="The drives, for people.")
    rx: tuple[Pdo, ...] = entry(
        of=Mapping[int, tuple[Entry, ...]],
        keys=range(0x1600, 0x1800),
        size=SOME,
        convert=_pdos,
        doc="PDOs from master to drive, by the index of their mapping.",
    )
    tx: tuple[Pdo, ...] = entry(
        of=Mapping[int, tuple[Entry, ...]],
        keys=range(0x1A00, 0x1C00),
        size=SOME,
        convert=_pdos,
        doc="PDOs from drive to master, by the index of their mapping.",
    )
    writable_mapping: bool = entry(doc="Whether the drive lets the master say what is in its PDOs.")
    velocity_unit: str = entry(choices=VELOCITY_UNITS, doc="Unit of 0x606C, 0x60FF and 0x60B1.")
    rated_torque_unit: float = entry(
        of=str, choices=TORQUE_UNITS, convert=TORQUE_UNITS.__getitem__, doc="Unit of 0x6076."
    )
    vendor: int | None = entry(
        None, lower=1, upper=MAX_ID, doc="0x1018:1; left out where anybody's drive may be meant."
    )
    products: Mapping[int, str] = entry(
        {},
        keys=range(MAX_ID + 1),
        doc="Names by product code (0x1018:2); empty where any may be meant.",
    )
    counts_per_revolution: int | None = entry(
        None, lower=1, upper=MAX_ID, doc="Of the encoder; left out where the topology says it."
    )
    sdo: tuple[SdoWrite, ...] = entry((), doc="What is written before the drive is operational.")
    complete_access: bool = entry(
        True, doc="Whether the master may read whole objects, where the EEPROM says so."
    )
    interpolation_time: bool = entry(
        True, doc="Whether the drive takes the cycle's time as object 0x60C2."
    )
    assign_activate: int = entry(
        0,
        lower=0,
        upper=0xFFFF,
        doc="Distributed clocks (registers 0x0980 and 0x0981); 0 for none.",
    )
    error_codes: Mapping[int, str] = entry(
        {}, keys=range(0x10000), doc="The vendor's own meanings of 0x603F."
    )
    notes: tuple[str, ...] = entry((), doc="What a user has to know.")
    rx_image: Image
    tx_image: Image

    def mapping_writes(self) -> list[SdoWrite]:
        """Writes that make the drive's process data those of the file.

        There are none where their layout is fixed.

        First the assignment is emptied, because a mapping in use can't be changed; then mappings
        and it are filled.
        """
        if not self.writable_mapping:
            return []
        writes: list[SdoWrite] = []
        for direction, pdos in (("rx", self.rx), ("tx", self.tx)):
            assign = _ASSIGN[direction]
            writes.append(SdoWrite(assign, "u8", 0))
            for each in pdos:
                writes.append(SdoWrite(each.index, "u8", 0))
                writes += [
                    SdoWrite(each.index, "u32", e.mapping, i) for i, e in enumerate(each.entries, 1)
                ]
                writes.append(SdoWrite(each.index, "u8", len(each.entries)))
            writes += [SdoWrite(assign, "u16", each.index, i) for i, each in enumerate(pdos, 1)]
            writes.append(SdoWrite(assign, "u8", len(pdos)))
        return writes


def interpolation_writes(period: float) -> list[SdoWrite]:
    """Interpolation time (0x60C2) of a cycle: value x 10^index seconds.

    A ConfigError refuses a period [s] that isn't up to 255 of one power of ten.
    """
    for exponent in range(0, -7, -1):
        value = round(period / 10.0**exponent) if math.isfinite(period) else 0
        if 1 <= value <= 255 and math.isclose(value * 10.0**exponent, period, rel_tol=1e-9):
            return [SdoWrite(0x60C2, "u8", value, 1), SdoWrite(0x60C2, "i8", exponent, 2)]
    raise ConfigError(
        f"cycle = {period!r} s: must be a whole number up to 255 of microseconds, tens of them, …, seconds",
        name="cycle",
        value=period,
    )


def drive_names() -> list[str]:
    """Names of the drive files that the package brings."""
    return config_names(_FOLDER)


def load_drive(name: str, beside: Path | None = None) -> DriveConfig:
    """Read a drive file.

    Args:
        name: Name of one of the package's drives, or the path of a YAML file, which starts from the
            folder `beside`.

    Raises:
        ConfigError: unknown drive, or a missing, unknown or unusable entry; lists the valid ones.
    """
    path, data = read_config("drive", name, _FOLDER, beside)
    values = read_entries(DriveConfig, data, str(path))
    images = [_image(path, direction, values[direction]) for direction in ("rx", "tx")]
    return DriveConfig(name=path.stem, rx_image=images[0], tx_image=images[1], **values)


def _image(path: Path, direction: str, pdos: tuple[Pdo, ...]) -> Image:
    image = Image(f"{path}: {direction}", pdos)
    needed = pdo.NEEDED[direction]
    for index in needed:
        if image.place(index) is None:
            valid = ", ".join(f"0x{each:04X}" for each in needed)
            raise ConfigError(
                f"{path}: {direction}: object 0x{index:04X} is missing; needed: {valid}",
                bound=needed,
            )
    if direction == "rx" and not image.modes:
        targets = ", ".join(f"0x{target:04X}" for target in pdo.TARGETS.values())
        raise ConfigError(f"{path}: rx: no target is mapped; one or more of: {targets}")
    return image
