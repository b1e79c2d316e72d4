"""Drives: config/ethercat/drives/<name>.yaml, or a file of the user's own.

A drive file says what a family of drives has in common: whose it is, which objects its process data hold, and the units
it counts in. What is behind it, motor and gear, is in the topology.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ...errors import ConfigError
from ...profiles import mapping
from ...share import config_names, read_config
from . import pdo
from .cia402 import Mode
from .pdo import TYPES, Entry, Image, Pdo
from .scale import TORQUE_UNITS, VELOCITY_UNITS

_FOLDER = "ethercat/drives"
_ASSIGN = {"rx": 0x1C12, "tx": 0x1C13}
_PDOS = {"rx": range(0x1600, 0x1800), "tx": range(0x1A00, 0x1C00)}
_LARGEST_ID = 0xFFFFFFFF


@dataclass(frozen=True)
class SdoWrite:
    """A value to write into the object dictionary before the drive is operational."""

    index: int
    sub_index: int
    type: str
    value: int

    def data(self) -> bytes:
        """As bytes, little endian."""
        return self.value.to_bytes(TYPES[self.type] // 8, "little", signed=self.type.startswith("i"))

    def __str__(self) -> str:
        return f"0x{self.index:04X}:{self.sub_index} = {self.value} ({self.type})"


@dataclass(frozen=True)
class DriveConfig:
    """A family of drives.

    Attributes:
        name: of the file.
        description: for people.
        vendor: 0x1018:1; None where anybody's drive may be meant.
        products: names by product code (0x1018:2); empty where any may be meant.
        rx, tx: PDOs from master to drive, and back.
        writable_mapping: whether the drive lets the master say what is in its PDOs.
        velocity_unit: of 0x606C, 0x60FF and 0x60B1, one of VELOCITY_UNITS.
        rated_torque_unit: what 0x6076 counts in [N·m].
        counts_per_revolution: of its encoder; 0 where that depends on the motor and the topology says it.
        sdo: what is written before the drive is operational.
        interpolation_time: whether it takes the cycle's time as object 0x60C2.
        assign_activate: distributed clocks (registers 0x0980 and 0x0981); 0 for none.
        error_codes: the vendor's own meanings of 0x603F.
        notes: what a user has to know.
    """

    name: str
    description: str
    vendor: int | None
    products: Mapping[int, str]
    rx: tuple[Pdo, ...]
    tx: tuple[Pdo, ...]
    rx_image: Image
    tx_image: Image
    writable_mapping: bool
    velocity_unit: str
    rated_torque_unit: float
    counts_per_revolution: float = 0.0
    sdo: tuple[SdoWrite, ...] = ()
    interpolation_time: bool = True
    assign_activate: int = 0
    error_codes: Mapping[int, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    @property
    def modes(self) -> tuple[Mode, ...]:
        """Modes of operation whose targets are mapped."""
        return self.rx_image.modes

    def mapping_writes(self) -> list[SdoWrite]:
        """What makes the drive's process data those of the file; nothing where their layout is fixed.

        First the assignment is emptied, because a mapping in use can't be changed; then mappings and it are filled.
        """
        if not self.writable_mapping:
            return []
        writes: list[SdoWrite] = []
        for direction, pdos in (("rx", self.rx), ("tx", self.tx)):
            assign = _ASSIGN[direction]
            writes.append(SdoWrite(assign, 0, "u8", 0))
            for each in pdos:
                writes.append(SdoWrite(each.index, 0, "u8", 0))
                writes += [SdoWrite(each.index, i, "u32", e.mapping) for i, e in enumerate(each.entries, 1)]
                writes.append(SdoWrite(each.index, 0, "u8", len(each.entries)))
            writes += [SdoWrite(assign, i, "u16", each.index) for i, each in enumerate(pdos, 1)]
            writes.append(SdoWrite(assign, 0, "u8", len(pdos)))
        return writes

    def cycle_writes(self, period: float) -> list[SdoWrite]:
        """What tells the drive the time between two exchanges [s]; see :func:`interpolation_writes`."""
        return interpolation_writes(period) if self.interpolation_time else []


def interpolation_writes(period: float) -> list[SdoWrite]:
    """Interpolation time (0x60C2) of a cycle: value x 10^index seconds.

    Raises:
        ConfigError: the period [s] isn't up to 255 of one power of ten.
    """
    for exponent in range(0, -7, -1):
        value = round(period / 10.0**exponent) if math.isfinite(period) else 0
        if 1 <= value <= 255 and math.isclose(value * 10.0**exponent, period, rel_tol=1e-9):
            return [SdoWrite(0x60C2, 1, "u8", value), SdoWrite(0x60C2, 2, "i8", exponent)]
    raise ConfigError(
        f"cycle = {period!r} s: must be a whole number up to 255 of microseconds, tens of them, …, seconds"
    )


def drive_names() -> list[str]:
    """Names of the drive files that the package brings."""
    return config_names(_FOLDER)


def load_drive(name: str, beside: Path | None = None) -> DriveConfig:
    """Read a drive file.

    Args:
        name: one of the package's, or the path of a YAML file.
        beside: folder that relative paths start from.

    Raises:
        ConfigError: unknown drive, or a missing, unknown or unusable entry; lists the valid ones.
    """
    if beside is not None and name.endswith((".yaml", ".yml")):
        name = str(beside / Path(name).expanduser())
    path, data = read_config(_FOLDER.removesuffix("s"), name)
    return _Reader(path, data).drive()


_REQUIRED = ("description", "rx", "tx", "writable_mapping", "velocity_unit", "rated_torque_unit")
_OPTIONAL: dict[str, Any] = {
    "vendor": None,
    "products": {},
    "counts_per_revolution": None,
    "sdo": [],
    "interpolation_time": True,
    "assign_activate": 0,
    "error_codes": {},
    "notes": [],
}


class _Reader:
    def __init__(self, path: Path, data: Any) -> None:
        self.path = path
        check_keys(str(path), data, _REQUIRED, tuple(_OPTIONAL))
        self.data = {**_OPTIONAL, **data}

    def drive(self) -> DriveConfig:
        data, path = self.data, self.path
        rx, tx = self._pdos("rx"), self._pdos("tx")
        return DriveConfig(
            name=path.stem,
            description=str(data["description"]),
            vendor=None if data["vendor"] is None else whole(f"{path}: vendor", data["vendor"], 1, _LARGEST_ID),
            products=self._meanings("products", _LARGEST_ID),
            rx=rx,
            tx=tx,
            rx_image=self._image("rx", rx),
            tx_image=self._image("tx", tx),
            writable_mapping=self._switch("writable_mapping"),
            velocity_unit=choice(f"{path}: velocity_unit", data["velocity_unit"], VELOCITY_UNITS),
            rated_torque_unit=TORQUE_UNITS[
                choice(f"{path}: rated_torque_unit", data["rated_torque_unit"], TORQUE_UNITS)
            ],
            counts_per_revolution=self._counts(),
            sdo=tuple(self._sdo(f"{path}: sdo {i}", each) for i, each in enumerate(self._list("sdo"))),
            interpolation_time=self._switch("interpolation_time"),
            assign_activate=whole(f"{path}: assign_activate", data["assign_activate"], 0, 0xFFFF),
            error_codes=self._meanings("error_codes", 0xFFFF),
            notes=tuple(str(note) for note in self._list("notes")),
        )

    def _list(self, key: str) -> list[Any]:
        if not isinstance(self.data[key], list):
            raise ConfigError(f"{self.path}: {key} = {self.data[key]!r}: must be a list")
        return list(self.data[key])

    def _switch(self, key: str) -> bool:
        if not isinstance(self.data[key], bool):
            raise ConfigError(f"{self.path}: {key} = {self.data[key]!r}: must be true or false")
        return bool(self.data[key])

    def _counts(self) -> float:
        value = self.data["counts_per_revolution"]
        if value is None:
            return 0.0
        return float(whole(f"{self.path}: counts_per_revolution", value, 1, _LARGEST_ID))

    def _meanings(self, key: str, largest: int) -> dict[int, str]:
        what = f"{self.path}: {key}"
        return {whole(what, code, 0, largest): str(text) for code, text in mapping(what, self.data[key]).items()}

    def _pdos(self, direction: str) -> tuple[Pdo, ...]:
        what, valid = f"{self.path}: {direction}", _PDOS[direction]
        pdos = []
        for key, entries in mapping(what, self.data[direction]).items():
            index = whole(f"{what}: PDO", key, valid.start, valid.stop - 1)
            where = f"{what}: PDO 0x{index:04X}"
            if not isinstance(entries, list) or not entries:
                raise ConfigError(f"{where} = {entries!r}: must be a list of entries")
            pdos.append(Pdo(index, tuple(self._entry(f"{where}: entry {i}", e) for i, e in enumerate(entries))))
        return tuple(pdos)

    def _entry(self, where: str, entry: Any) -> Entry:
        kinds = (*TYPES, "bool", "pad")
        kind = choice(f"{where}: type", mapping(where, entry).get("type"), kinds)
        if kind == "pad":
            check_keys(where, entry, ("type", "bits"), ())
            return Entry(0, 0, "pad", whole(f"{where}: bits", entry["bits"], 1, 255))
        check_keys(where, entry, ("index", "type"), ("sub_index",))
        index = whole(f"{where}: index", entry["index"], 1, 0xFFFF)
        expected = pdo.OBJECT_TYPES.get(index, kind)
        if kind != expected:
            raise ConfigError(f"{where}: type = {kind!r}: object 0x{index:04X} of CiA 402 is {expected}")
        sub_index = whole(f"{where}: sub_index", entry.get("sub_index", 0), 0, 0xFF)
        return Entry(index, sub_index, kind, 1 if kind == "bool" else TYPES[kind])

    def _image(self, direction: str, pdos: Sequence[Pdo]) -> Image:
        image = Image(f"{self.path}: {direction}", pdos)
        for index in pdo.NEEDED[direction]:
            if image.place(index) is None:
                needed = ", ".join(f"0x{each:04X}" for each in pdo.NEEDED[direction])
                raise ConfigError(f"{self.path}: {direction}: object 0x{index:04X} is missing; needed: {needed}")
        if direction == "rx" and not image.modes:
            targets = ", ".join(f"0x{target:04X}" for target in pdo.TARGETS.values())
            raise ConfigError(f"{self.path}: rx: no target is mapped; one or more of: {targets}")
        return image

    def _sdo(self, where: str, entry: Any) -> SdoWrite:
        check_keys(where, entry, ("index", "type", "value"), ("sub_index",))
        kind = choice(f"{where}: type", entry["type"], TYPES)
        return SdoWrite(
            whole(f"{where}: index", entry["index"], 1, 0xFFFF),
            whole(f"{where}: sub_index", entry.get("sub_index", 0), 0, 0xFF),
            kind,
            whole(f"{where}: value", entry["value"], *pdo.bounds(kind)),
        )


def check_keys(where: str, data: Any, required: Sequence[str], optional: Sequence[str]) -> None:
    """Refuse what isn't a mapping of just these keys.

    Raises:
        ConfigError: names what is unknown or missing, and the valid ones.
    """
    keys = mapping(where, data)
    unknown = [key for key in keys if key not in (*required, *optional)]
    missing = [key for key in required if key not in keys]
    if unknown or missing:
        problem = f"unknown {unknown}" if unknown else f"missing {missing}"
        raise ConfigError(f"{where}: {problem}; entries: {', '.join([*required, *optional])}")


def whole(what: str, value: Any, low: int, high: int) -> int:
    """A whole number within bounds, or ConfigError."""
    if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
        raise ConfigError(f"{what} = {_shown(value)}: must be a whole number from {_shown(low)} to {_shown(high)}")
    return value


def _shown(value: Any) -> str:
    """Large whole numbers as people write them for buses."""
    large = isinstance(value, int) and not isinstance(value, bool) and value > 999
    return f"0x{value:04X}" if large else repr(value)


def choice(what: str, value: Any, choices: Sequence[str] | Mapping[str, Any]) -> str:
    """One of some words, or ConfigError."""
    if value not in choices:
        raise ConfigError(f"{what} = {value!r}; choices: {', '.join(choices)}")
    return str(value)
