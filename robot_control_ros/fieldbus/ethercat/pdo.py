"""The layout of process data: which object is where. No I/O."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain

from ...core.errors import ConfigError
from ...robot.schema import entry
from .cia402 import Mode

CONTROL_WORD = 0x6040
MODE = 0x6060
TARGET_TORQUE = 0x6071
TARGET_POSITION = 0x607A
TARGET_VELOCITY = 0x60FF
VELOCITY_OFFSET = 0x60B1
TORQUE_OFFSET = 0x60B2
TARGETS = {
    Mode.POSITION: TARGET_POSITION,
    Mode.VELOCITY: TARGET_VELOCITY,
    Mode.TORQUE: TARGET_TORQUE,
}
ERROR_CODE = 0x603F
STATUS_WORD = 0x6041
MODE_DISPLAY = 0x6061
ACTUAL_POSITION = 0x6064
ACTUAL_VELOCITY = 0x606C
ACTUAL_TORQUE = 0x6077
FOLLOWING_ERROR = 0x60F4
RATED_TORQUE = 0x6076
_OBJECTS = {  # names and types (IEC 61800-7-201)
    CONTROL_WORD: ("control word", "u16"),
    MODE: ("mode of operation", "i8"),
    TARGET_POSITION: ("target position", "i32"),
    TARGET_VELOCITY: ("target velocity", "i32"),
    TARGET_TORQUE: ("target torque", "i16"),
    VELOCITY_OFFSET: ("velocity offset", "i32"),
    TORQUE_OFFSET: ("torque offset", "i16"),
    STATUS_WORD: ("status word", "u16"),
    MODE_DISPLAY: ("mode of operation display", "i8"),
    ACTUAL_POSITION: ("actual position", "i32"),
    ACTUAL_VELOCITY: ("actual velocity", "i32"),
    ACTUAL_TORQUE: ("actual torque", "i16"),
    ERROR_CODE: ("error code", "u16"),
    FOLLOWING_ERROR: ("following error", "i32"),
}
OBJECT_NAMES = {index: name for index, (name, _) in _OBJECTS.items()}
OBJECT_TYPES = {index: kind for index, (_, kind) in _OBJECTS.items()}

# Bits. CiA 301's names: BOOLEAN, INTEGER8 … UNSIGNED32.
TYPES = {"i8": 8, "u8": 8, "i16": 16, "u16": 16, "i32": 32, "u32": 32}

# What no drive can do without.
NEEDED = {
    "rx": (CONTROL_WORD, MODE),
    "tx": (STATUS_WORD, MODE_DISPLAY, ACTUAL_POSITION, ACTUAL_VELOCITY),
}


def bounds(kind: str) -> tuple[int, int]:
    """The smallest and the largest number of one of TYPES."""
    bits = TYPES[kind]
    return (-(1 << bits - 1), (1 << bits - 1) - 1) if kind.startswith("i") else (0, (1 << bits) - 1)


@dataclass(frozen=True)
class Entry:
    """One object in a PDO, or a pad, whose index is 0.

    Raises:
        ConfigError: the object's type in CiA 402 is another one.
    """

    index: int = entry(
        lower=1,
        upper=0xFFFF,
        only_with=("type", (*TYPES, "bool")),
        doc="Of the object that is mapped.",
    )
    type: str = entry(choices=(*TYPES, "bool", "pad"), doc="Of the object; `pad` fills bits.")
    bits: int = entry(lower=1, upper=255, only_with=("type", ("pad",)), doc="Length of the pad.")
    sub_index: int = entry(
        0, lower=0, upper=0xFF, only_with=("type", (*TYPES, "bool")), doc="Of the object."
    )

    def __post_init__(self) -> None:
        expected = OBJECT_TYPES.get(self.index, self.type)
        if self.type != expected:
            message = f"type = {self.type!r}: object 0x{self.index:04X} of CiA 402 is {expected}"
            raise ConfigError(message, name="type", value=self.type, bound=expected)
        if self.type != "pad":
            object.__setattr__(self, "bits", TYPES.get(self.type, 1))

    @property
    def mapping(self) -> int:
        """Value for this entry in the PDO's mapping object (0x1600 …, 0x1A00 …)."""
        return self.index << 16 | self.sub_index << 8 | self.bits

    def __str__(self) -> str:
        return (
            f"pad of {self.bits} bits"
            if self.type == "pad"
            else f"0x{self.index:04X}:{self.sub_index} {self.type}"
        )


@dataclass(frozen=True)
class Pdo:
    """A PDO: the index of its mapping object, and the entries in order."""

    index: int
    entries: tuple[Entry, ...]


class Image:
    """Layout of a slave's process data in one direction.

    Bits share bytes; everything else begins at a whole byte.

    Args:
        where: File and direction, for errors.
        pdos: PDOs in the order in which they are assigned (0x1C12, 0x1C13).

    Attributes:
        size: Length of the process data [bytes].

    Raises:
        ConfigError: an entry that isn't at a whole byte, or an object that is there twice.
    """

    def __init__(self, where: str, pdos: Sequence[Pdo]) -> None:
        self._places: dict[tuple[int, int], int] = {}
        known = set()
        bit = 0
        for each in chain.from_iterable(pdo.entries for pdo in pdos):
            key = each.index, each.sub_index
            if each.type != "pad" and key in known:
                raise ConfigError(f"{where}: {each} is there twice")
            known.add(key)
            if each.type in TYPES:
                if bit % 8:
                    raise ConfigError(
                        f"{where}: {each} begins at bit {bit % 8} of a byte: pad the bits before it"
                    )
                self._places[key] = bit // 8
            bit += each.bits
        if bit % 8:
            raise ConfigError(f"{where}: {bit} bits: must be whole bytes; pad the last one")
        self.size = bit // 8

    def place(self, index: int, sub_index: int = 0) -> int | None:
        """Byte at which an object of a byte or more begins; None where it isn't mapped."""
        return self._places.get((index, sub_index))

    @property
    def modes(self) -> tuple[Mode, ...]:
        """Modes of operation whose targets are mapped."""
        return tuple(mode for mode, target in TARGETS.items() if self.place(target) is not None)
