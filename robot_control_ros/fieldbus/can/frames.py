"""Layouts of CAN frames as data, and what packs and unpacks numbers by them. No I/O.

A frame is two whole numbers here: the identifier, and the eight bytes of data, the first byte
highest. A field is a number of bits in one of the two.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from ...core.errors import ConfigError
from ...robot.schema import entry

BYTES = 8  # of each frame
PLACES = ("data", "identifier")
# "range" spreads the range of a motor's model over all bits
TYPES = ("unsigned", "signed", "float", "range")
RANGED = ("position", "velocity", "stiffness", "damping", "torque")
FIELDS = (
    *RANGED,
    *("motor", "reply", "state", "errors", "temperature", "driver_temperature"),
    *("register", "value"),
)
_FLOAT_BITS = 32


class CanFrame(NamedTuple):
    """A frame on the bus.

    Attributes:
        identifier: Identifier, of 11 or 29 bits.
        data: Data, up to eight bytes.
        extended: True where the identifier has 29 bits.
        error: True for an error frame of the controller, whose identifier says what happened.
    """

    identifier: int
    data: bytes
    extended: bool = False
    error: bool = False

    def __str__(self) -> str:
        digits = 8 if self.extended else 3
        return f"{self.identifier:0{digits}X}#{self.data.hex().upper()}"


@dataclass(frozen=True)
class FieldLayout:
    """Place and meaning of a number in a frame."""

    bit: int = entry(
        lower=0,
        upper=63,
        doc="Lowest bit; 0 is the lowest one of the last byte, or of the identifier.",
    )
    bits: int = entry(lower=1, upper=32, doc="Number of bits.")
    place: str = entry("data", key="in", choices=PLACES, doc="Part of the frame that it is in.")
    order: str = entry("big", choices=("big", "little"), doc="Order of its bytes.")
    type: str = entry(
        "unsigned",
        choices=TYPES,
        doc="How the bits make a number; `range` spreads the model's range over them.",
    )
    unit: float = entry(1.0, above=0.0, doc="What 1 is in SI units, or in degrees Celsius.")

    def __post_init__(self) -> None:
        if self.type == "float" and self.bits != _FLOAT_BITS:
            raise ConfigError(
                f"bits = {self.bits}: a float has {_FLOAT_BITS}",
                name="bits",
                value=self.bits,
                bound=_FLOAT_BITS,
            )
        if self.order == "little" and self.bits % BYTES:
            raise ConfigError(
                f"bits = {self.bits}: only whole bytes can have their low byte first",
                name="bits",
                value=self.bits,
            )

    @property
    def mask(self) -> int:
        """The field's bits, in the part of the frame that it is in."""
        return ((1 << self.bits) - 1) << self.bit


@dataclass(frozen=True)
class FrameLayout:
    """A frame: what is constant in it, and the places of its fields."""

    identifier: int = entry(lower=0, upper=(1 << 29) - 1, doc="Constant bits of the identifier.")
    data: int = entry(0, lower=0, upper=(1 << 64) - 1, doc="Constant bits of the data.")
    mask: int = entry(
        0, lower=0, upper=(1 << 64) - 1, doc="Bits of the data that tell a reply from others."
    )
    fields: Mapping[str, FieldLayout] = entry({}, keys=FIELDS, doc="Fields, by what they hold.")

    def bits_in(self, place: str, names: Sequence[str] = FIELDS) -> int:
        """All bits of some fields in one part of the frame."""
        bits = 0
        for name, field in self.fields.items():
            if field.place == place and name in names:
                bits |= field.mask
        return bits


class _Packed(NamedTuple):
    """A field, ready to be packed: `steps` of `span`, from `lower` on."""

    in_identifier: bool
    bit: int
    lower: float
    upper: float
    steps: int
    little: int  # bytes to swap, 0 for none


class Packer:
    """Makes frames of one layout.

    A number beyond its range becomes the range's end. Fractions of a step are cut off, as in the
    makers' own programs.

    Args:
        layout: Layout of the frame.
        names: Names of the fields that :meth:`pack` takes, in their order.
        ranges: Range of each field of the type `range`, by name.
        constants: Numbers of the other fields, by name.
        extended: True where the identifier has 29 bits.
    """

    def __init__(
        self,
        layout: FrameLayout,
        names: Sequence[str],
        ranges: Mapping[str, tuple[float, float]],
        constants: Mapping[str, int],
        extended: bool,
    ) -> None:
        self._extended = extended
        self._identifier = layout.identifier
        self._data = layout.data
        for name, number in constants.items():
            if name in layout.fields:
                field = layout.fields[name]
                placed = _swapped(number, field) << field.bit & field.mask
                if field.place == "identifier":
                    self._identifier |= placed
                else:
                    self._data |= placed
        self._numbers = [self._packed(layout.fields[name], name, ranges) for name in names]

    @staticmethod
    def _packed(
        field: FieldLayout, name: str, ranges: Mapping[str, tuple[float, float]]
    ) -> _Packed:
        steps = (1 << field.bits) - 1
        lower, upper = ranges[name] if field.type == "range" else (0.0, float(steps))
        little = field.bits // BYTES if field.order == "little" else 0
        return _Packed(field.place == "identifier", field.bit, lower, upper, steps, little)

    def pack(self, *values: float) -> CanFrame:
        """A frame with these numbers, in the order of the names."""
        identifier = self._identifier
        data = self._data
        for value, field in zip(values, self._numbers, strict=True):
            lower = field.lower
            upper = field.upper
            within = min(max(value, lower), upper)
            number = int((within - lower) * field.steps / (upper - lower))
            if field.little:
                number = int.from_bytes(number.to_bytes(field.little, "little"), "big")
            if field.in_identifier:
                identifier |= number << field.bit
            else:
                data |= number << field.bit
        return CanFrame(identifier, data.to_bytes(BYTES, "big"), self._extended)


class _Unpacked(NamedTuple):
    """A field, ready to be read."""

    name: str
    in_identifier: bool
    bit: int
    mask: int  # of the number itself
    field: FieldLayout
    lower: float
    step: float


class Unpacker:
    """Reads the numbers of frames of one layout.

    Args:
        layout: Layout of the frame.
        ranges: Range of each field of the type `range`, by name.
    """

    def __init__(self, layout: FrameLayout, ranges: Mapping[str, tuple[float, float]]) -> None:
        self._numbers: list[_Unpacked] = []
        for name, field in layout.fields.items():
            steps = (1 << field.bits) - 1
            lower, upper = ranges[name] if field.type == "range" else (0.0, 0.0)
            step = (upper - lower) / steps if field.type == "range" else field.unit
            in_identifier = field.place == "identifier"
            self._numbers.append(
                _Unpacked(name, in_identifier, field.bit, steps, field, lower, step)
            )

    def unpack(self, identifier: int, data: int) -> dict[str, float]:
        """The numbers of a frame by name, in SI units."""
        numbers = {}
        for name, in_identifier, bit, mask, field, lower, step in self._numbers:
            number = (identifier if in_identifier else data) >> bit & mask
            if field.type != "range" and (field.order != "big" or field.type != "unsigned"):
                numbers[name] = typed_number(_swapped(number, field), field.type, field.bits) * step
            else:
                numbers[name] = number * step + lower
        return numbers


def typed_number(number: int, kind: str, bits: int) -> float:
    """The number that some bits stand for, by its type."""
    if kind == "float":
        return float(struct.unpack(">f", number.to_bytes(4, "big"))[0])
    if kind == "signed" and number >> (bits - 1):
        return number - (1 << bits)
    return number


def _swapped(number: int, field: FieldLayout) -> int:
    """The number with its bytes in the other order, where its low byte comes first."""
    if field.order == "big":
        return number
    count = field.bits // BYTES
    return int.from_bytes((number & ((1 << field.bits) - 1)).to_bytes(count, "little"), "big")
