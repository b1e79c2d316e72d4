"""Joint states read from their serialised bytes: making Python objects of one costs as much as the control law.

The bytes are CDR (OMG DDSI-RTPS 2.3, 10): 4 bytes of encapsulation, then each number at a multiple of its size from
there on; strings and sequences begin with their length. ROS's own deserialiser reads the first message of a layout,
and whatever isn't exactly as expected. Only messages with the same names and lengths as one of the last are read here.
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
_LAYOUTS = 4  # that are remembered: the driver's, and those of others on its topic
_NONE = np.empty(0)


class WireReader:
    """Makes a RobotState of each serialised JointState; what came before changes nothing in it.

    Args:
        reader: matches joints by name; gets each message whose layout isn't remembered.
    """

    def __init__(self, reader: JointStateReader) -> None:
        self._reader = reader
        self._layouts: deque[_Layout] = deque(maxlen=_LAYOUTS)

    def read(self, data: bytes) -> RobotState | None:
        """The state; None where the message names none of our joints.

        Raises:
            ConfigError: see JointStateReader; or the bytes are no joint state.
        """
        for layout in self._layouts:
            if layout.fits(data):
                return None if layout.index is None else self._reader.arrange(*layout.numbers(data), layout.index)
        message = read_message(data, JointState)
        layout = _Layout(message, len(data), self._reader.match(message))
        if layout.fits(data):
            self._layouts.appendleft(layout)
        return self._reader.read(message)


class _Layout:
    """Where everything is in messages that have the names and lengths of a given one.

    Args:
        message: ROS has read it, and it was not refused.
        size: of its bytes; ROS's serialisers leave some at the end that mean nothing.
        index: where the robot's joints are in it (n,); None where it has none of them.

    Attributes:
        index: as given.
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
        self._size = max(size, self._form.size)  # a string in an unusual form may be shorter than it ought to be
        self._content = tuple(form.content)

    def fits(self, data: bytes) -> bool:
        """Whether a message has this layout; bytes that mean nothing may be anything."""
        if len(data) != self._size or not data.startswith(_LITTLE_ENDIAN_CDR):
            return False
        return self._form.unpack_from(data) == self._content

    def numbers(self, data: bytes) -> tuple[float, Array, Array, Array]:
        """Stamp [s], positions, velocities and efforts in a message of this layout, as they stand there."""
        second, nanosecond = _STAMP.unpack_from(data, _STAMP_AT)
        q, v, effort = (
            np.frombuffer(data, count=count, offset=offset) if count else _NONE for count, offset in self._parts
        )
        return second + nanosecond * 1e-9, q, v, effort


class _Form:
    """The format of a layout for struct, from the stamp's end on; it grows from the front to the end.

    Attributes:
        format: it reads texts and counts; stamp, numbers and what aligns are skipped.
        content: what it reads in a message of the layout.
    """

    def __init__(self) -> None:
        self._size = _STAMP_AT + _STAMP.size
        self.format = f"<{self._size}x"
        self.content: list[bytes | int] = []

    def add_count(self, count: int) -> None:
        """The length of a text or a sequence."""
        self._align(4)
        self._append("I", 4)
        self.content.append(count)

    def add_text(self, text: str) -> None:
        """A string."""
        data = text.encode() + b"\0"
        self.add_count(len(data))
        self._append(f"{len(data)}s", len(data))
        self.content.append(data)

    def add_doubles(self, count: int) -> int:
        """A sequence of numbers; returns where they begin [bytes]."""
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
