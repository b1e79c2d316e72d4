"""Messages of named numbers or texts, as ROS defines and encodes them: any decoder of ROS reads
them, without ROS here.

The definition is in the file. So the messages need no package that is installed.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ..core.errors import ConfigError
from ..core.types import Array

_HEADER = b"\x00\x01\x00\x00"  # CDR, little endian
_FIELD = re.compile(r"float64(?:\[(\d+)\])? (\w+)(?:  # .*)?")


@dataclass(frozen=True)
class NumbersMessage:
    """Type of messages whose fields are numbers.

    Attributes:
        kind: Name of the type, such as ``robot_control_ros/msg/State``.
        sizes: Number of numbers in each field, by its name; a dot in a name becomes an underscore.
        labels: Labels of a field's numbers, by the field's name, where there are some.
    """

    kind: str
    sizes: Mapping[str, int]
    labels: Mapping[str, Sequence[str]]

    def definition(self) -> str:
        """The text of the type's .msg file."""
        lines = []
        for name, size in self.sizes.items():
            array = "" if size == 1 else f"[{size}]"
            labels = f"  # {' '.join(self.labels[name])}" if name in self.labels else ""
            lines.append(f"float64{array} {name.replace('.', '_')}{labels}")
        return "\n".join(lines) + "\n"

    @staticmethod
    def encode(values: Mapping[str, Array]) -> bytes:
        """A message; all its numbers are float64, so that no padding is between them."""
        numbers = [np.ravel(each) for each in values.values()]
        return _HEADER + np.concatenate(numbers).astype("<f8").tobytes()


def decode_numbers(definition: str, data: bytes) -> dict[str, Array]:
    """The numbers (size,) by the names of the fields, from a definition of :class:`NumbersMessage`
    and a message.

    Raises:
        ConfigError: the definition has other fields, or the message another length.
    """
    fields = [_FIELD.fullmatch(line) for line in definition.splitlines()]
    if any(field is None for field in fields):
        raise ConfigError(
            "the definition of a message has other fields than float64", name="definition"
        )
    sizes = {field[2]: int(field[1] or 1) for field in fields if field is not None}
    expected = len(_HEADER) + 8 * sum(sizes.values())
    if len(data) != expected or data[:4] != _HEADER:
        raise ConfigError(
            f"a message has {len(data)} bytes: must have {expected}",
            value=len(data),
            bound=expected,
        )
    numbers = np.frombuffer(data, "<f8", offset=len(_HEADER))
    ends = np.cumsum(list(sizes.values()))
    return dict(zip(sizes, np.split(numbers, ends[:-1]), strict=True))


def encode_text(text: str) -> bytes:
    """A message with one field, a string."""
    content = text.encode("utf-8", "replace") + b"\0"
    return _HEADER + struct.pack("<I", len(content)) + content


def decode_text(data: bytes) -> str:
    """The text of a message with one field, a string; a message that is cut off
    gives what is there.
    """
    return data[len(_HEADER) + 4 : -1].decode("utf-8", "replace")


def encode_row(row: Array) -> bytes:
    """A message whose fields are the numbers (width,) of a row, in their order."""
    return _HEADER + row.astype("<f8", copy=False).tobytes()


def decode_row(data: bytes) -> Array:
    """The numbers (width,) of a message of numbers, as they follow each other."""
    return np.frombuffer(data, "<f8", offset=len(_HEADER))
