"""Reads joint states from their serialised bytes, as Python objects of one cost as much as the law.

The bytes are CDR (OMG DDSI-RTPS 2.3, 10): 4 bytes of encapsulation, then each number at a multiple
of its size from there on. Strings and sequences begin with their length. ROS's own deserialiser
reads the first message of a layout, and each message that isn't exactly as expected. Only messages
with the names and lengths of a remembered layout are read here.
"""

from __future__ import annotations

import struct
from collections import deque

import numpy as np
from sensor_msgs.msg import JointState

from ..core.types import Array, RobotState
from .messages import JointStateReader, read_message

_LITTLE_ENDIAN_CDR = b"\x00\x01\x00\x00"  # without options
# after the encapsulation
_STAMP = struct.Struct("<iI")
_STAMP_AT = 4
_LAYOUTS = 4  # layouts that are remembered: the driver's, and those of others on its topic
_NONE = np.empty(0)


class WireReader:
    """Makes a RobotState of each serialised JointState; earlier messages don't change it.

    Args:
        reader: Reader that matches joints by name; it gets each message of a new layout.
    """

    def __init__(self, reader: JointStateReader) -> None:
        self._reader = reader
        self._layouts: deque[_Layout] = deque(maxlen=_LAYOUTS)

    def read(self, data: bytes) -> RobotState | None:
        """The state in a message; None where it names none of the robot's joints.

        Raises:
            ConfigError: The bytes are no joint state, or :class:`.JointStateReader` refuses it.
        """
        for layout in self._layouts:
            if layout.fits(data):
                return (
                    None
                    if layout.index is None
                    else self._reader.arrange(*layout.numbers(data), layout.index)
                )
        message = read_message(data, JointState)
        layout = _Layout(message, len(data), self._reader.match(message))
        if layout.fits(data):
            self._layouts.appendleft(layout)
        return self._reader.read(message)


class _Layout:
    """Places of the numbers in messages that have the names and lengths of a given one.

    Args:
        message: Message that ROS has read, and that was not refused.
        size: Number of its bytes; ROS's serialisers leave some at the end that mean nothing.
        index: Index of each of the robot's joints in it (n,); None where it has none of them.

    Attributes:
        index: Index of each of the robot's joints in the messages (n,); None where they have none.
    """

    def __init__(self, message: JointState, size: int, index: Array | None) -> None:
        self.index = index
        form = _Form()
        form.add_text(message.header.frame_id)
        form.add_count(len(message.name))
        for name in message.name:
            form.add_text(name)
        self._parts = [
            (len(values), form.add_doubles(len(values)))
            for values in (message.position, message.velocity, message.effort)
        ]
        self._form = struct.Struct(form.format)
        # a string in an unusual form may be shorter than it ought to be
        self._size = max(size, self._form.size)
        self._content = tuple(form.content)

    def fits(self, data: bytes) -> bool:
        """Return True where a message has this layout; bytes that mean nothing may be anything."""
        if len(data) != self._size or not data.startswith(_LITTLE_ENDIAN_CDR):
            return False
        return self._form.unpack_from(data) == self._content

    def numbers(self, data: bytes) -> tuple[float, Array, Array, Array]:
        """Stamp [s], positions, velocities and efforts of a message, in the message's own order."""
        second, nanosecond = _STAMP.unpack_from(data, _STAMP_AT)
        q, v, effort = (
            np.frombuffer(data, count=count, offset=offset) if count else _NONE
            for count, offset in self._parts
        )
        return second + nanosecond * 1e-9, q, v, effort


class _Form:
    """The format of a layout for struct, which is built field by field from the stamp on.

    Attributes:
        format: Format that reads texts and counts; it skips stamp, numbers and padding.
        content: Texts and counts that the format reads in a message of the layout.
    """

    def __init__(self) -> None:
        self._size = _STAMP_AT + _STAMP.size
        self.format = f"<{self._size}x"
        self.content: list[bytes | int] = []

    def add_count(self, count: int) -> None:
        """Append the length of a text or a sequence."""
        self._align(4)
        self._append("I", 4)
        self.content.append(count)

    def add_text(self, text: str) -> None:
        """Append a string with its length."""
        data = text.encode() + b"\0"
        self.add_count(len(data))
        self._append(f"{len(data)}s", len(data))
        self.content.append(data)

    def add_doubles(self, count: int) -> int:
        """Append a sequence of numbers with its length; returns the numbers' offset [bytes]."""
        self.add_count(count)
        if count > 0:
            self._align(8)
        begin = self._size
        self._append(f"{8 * count}x", 8 * count)
        return begin

    def _align(self, size: int) -> None:
        gap = (_STAMP_AT - self._size) % size
        self._append(f"{gap}x", gap)

    def _append(self, form: str, size: int) -> None:
        self.format += form
        self._size += size
