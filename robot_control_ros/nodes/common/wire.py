"""Joint states read from their serialised bytes: making Python objects of one costs as much as the control law.

The bytes are CDR (OMG DDSI-RTPS 2.3, 10): 4 bytes of encapsulation, then each number at a multiple of its size from
there on; strings and sequences begin with their length.
"""

from __future__ import annotations

import struct

import numpy as np
from rclpy.serialization import deserialize_message
from sensor_msgs.msg import JointState

from ...core.types import Array, RobotState
from .messages import JointStateReader

_LITTLE_ENDIAN_CDR = b"\x00\x01"
_STAMP, _LENGTH = struct.Struct("<iI"), struct.Struct("<I")
_STAMP_AT, _FRAME_AT = 4, 12  # bytes


class WireReader:
    """Makes a RobotState of each serialised JointState.

    Args:
        reader: matches joints by name; gets the first message, and each whose names or lengths are others.
    """

    def __init__(self, reader: JointStateReader) -> None:
        self._reader = reader
        self._names: list[bytes] | None = None

    def read(self, data: bytes) -> RobotState | None:
        """The state; None where the message names none of our joints.

        Raises:
            ConfigError: see JointStateReader.
        """
        if not data.startswith(_LITTLE_ENDIAN_CDR):
            return self._reader.read(deserialize_message(data, JointState))
        names, at = _read_names(data)
        q, at = _read_doubles(data, at)
        v, at = _read_doubles(data, at)
        effort, _ = _read_doubles(data, at)
        if names != self._names or not len(q) == len(v) == len(names):
            state = self._reader.read(deserialize_message(data, JointState))
            self._names = None if state is None else names
            return state
        second, nanosecond = _STAMP.unpack_from(data, _STAMP_AT)
        return self._reader.arrange(second + nanosecond * 1e-9, q, v, effort)


def _read_names(data: bytes) -> tuple[list[bytes], int]:
    """The joints' names, and where they end."""
    at = _FRAME_AT + 4 + _LENGTH.unpack_from(data, _FRAME_AT)[0]
    at += -at % 4
    (count,) = _LENGTH.unpack_from(data, at)
    at += 4
    names = []
    for _ in range(count):
        at += -at % 4
        (length,) = _LENGTH.unpack_from(data, at)
        at += 4
        names.append(data[at : at + length])
        at += length
    return names, at


def _read_doubles(data: bytes, at: int) -> tuple[Array, int]:
    """A sequence of doubles, and where it ends."""
    at += -at % 4
    (count,) = _LENGTH.unpack_from(data, at)
    at += 4
    if count == 0:
        return np.empty(0), at
    at += (_STAMP_AT - at) % 8
    return np.frombuffer(data, count=count, offset=at), at + 8 * count
