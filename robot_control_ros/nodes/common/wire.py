"""Joint states and commands as serialised bytes: what the control cycle reads and writes.

Making Python objects of a JointState costs as much as the control law. A publisher's joint states differ only in stamp
and numbers, so their layout is learnt from the first one, by way of the ordinary deserialisation, and checked against
it; from then on the numbers are read in place. Whatever looks different is deserialised again.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from rclpy.serialization import deserialize_message, serialize_message
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray, MultiArrayDimension, MultiArrayLayout

from ...core.types import Array, Command, CommandMode, RobotState
from .messages import JointStateReader, joint_state_message, numbers

_LITTLE_ENDIAN_CDR = b"\x00\x01"
_STAMP = struct.Struct("<iI")
_COUNT = struct.Struct("<I")
_STAMP_AT, _STAMP_END = 4, 12  # bytes
_DOUBLE = 8
_PLAIN = 16  # bytes of an array without dimensions up to its numbers: encapsulation, 0 dimensions, offset, count


class _Span(NamedTuple):
    """Where doubles are in the message, and how many."""

    at: int
    size: int

    def read(self, data: bytes) -> Array:
        """The doubles (size,)."""
        return np.frombuffer(data, count=self.size, offset=self.at)


class _Layout(NamedTuple):
    """Where the numbers of a serialised JointState are.

    Attributes:
        length: of the message.
        fixed: place and content of all that is the same in each: not of the stamp, nor of the numbers, nor of the bytes
            between, which are whatever the sender's memory held.
        position, velocity, effort: the numbers.
    """

    length: int
    fixed: tuple[tuple[int, bytes], ...]
    position: _Span
    velocity: _Span
    effort: _Span

    def fits(self, data: bytes) -> bool:
        """Whether a message has this layout."""
        return len(data) == self.length and all(data.startswith(part, at) for at, part in self.fixed)


class WireReader:
    """Makes a RobotState of each serialised JointState, by way of a JointStateReader.

    Args:
        reader: that matches joints by name.
    """

    def __init__(self, reader: JointStateReader) -> None:
        self._reader = reader
        self._layout: _Layout | None = None

    def read(self, data: bytes) -> RobotState | None:
        """The state; None where the message names none of our joints.

        Raises:
            ConfigError: see JointStateReader.
        """
        layout = self._layout
        if layout is None or not layout.fits(data):
            return self._learn(data)
        second, nanosecond = _STAMP.unpack_from(data, _STAMP_AT)
        return self._reader.arrange(
            second + nanosecond * 1e-9,
            layout.position.read(data),
            layout.velocity.read(data),
            layout.effort.read(data),
        )

    def _learn(self, data: bytes) -> RobotState | None:
        message = deserialize_message(data, JointState)
        state = self._reader.read(message)
        self._layout = None if state is None else _layout(data, message)
        return state


class WireWriter:
    """Serialises commands of n values.

    The message is the same each time but for the values, which are its last bytes; checked once, here.

    Args:
        n: number of values.
        label: of the message's one dimension; none where empty.
    """

    def __init__(self, n: int, label: str = "") -> None:
        dimensions = [MultiArrayDimension(label=label, size=n, stride=n)] if label else []
        self._message = Float64MultiArray(layout=MultiArrayLayout(dim=dimensions))
        probe = np.linspace(1.0, 2.0, n)
        self._message.data = numbers(probe)
        whole = serialize_message(self._message)
        self.head = whole[: -n * _DOUBLE]
        self._as_expected = self.head + probe.tobytes() == whole

    def write(self, values: Array) -> bytes | Float64MultiArray:
        """The message for values (n,)."""
        if self._as_expected:
            return self.head + values.tobytes()
        self._message.data = numbers(values)
        return self._message


class JointStateWriter:
    """Serialises joint states, and commands in their form, some parts of which may be missing.

    For each combination of parts the message is the same but for stamp and numbers, whose places are learnt once.

    Args:
        joints: the robot's.
    """

    def __init__(self, joints: Sequence[str]) -> None:
        self._joints = list(joints)
        self._known: dict[tuple[bool, ...], tuple[bytearray, _Layout] | None] = {}

    def write(
        self, time: float, position: Array | None, velocity: Array | None, effort: Array | None
    ) -> bytes | JointState:
        """The message, stamped [s], with parts (n,) each."""
        parts = position, velocity, effort
        key = tuple(part is not None for part in parts)
        if key not in self._known:
            message = joint_state_message(self._joints, time, *parts)
            serialised = serialize_message(message)
            layout = _layout(serialised, message)
            self._known[key] = None if layout is None else (bytearray(serialised), layout)
        known = self._known[key]
        if known is None:
            return joint_state_message(self._joints, time, *parts)
        data, layout = known
        _STAMP.pack_into(data, _STAMP_AT, *divmod(round(time * 1e9), 1_000_000_000))
        for values, span in zip(parts, (layout.position, layout.velocity, layout.effort), strict=True):
            if values is not None:
                data[span.at : span.at + span.size * _DOUBLE] = values.tobytes()
        return bytes(data)


class CommandReader:
    """Makes a Command of each serialised one of n values.

    Args:
        mode: of the commands.
        n: number of values.
        passed_over: label of the commands that aren't read, see :class:`WireWriter`; None where all are.
    """

    def __init__(self, mode: CommandMode, n: int, passed_over: str | None = None) -> None:
        head = WireWriter(n).head
        self._mode, self._passed_over = mode, passed_over
        self._plain, self._numbers, self._length = head[:_PLAIN], len(head), len(head) + n * _DOUBLE

    def read(self, data: bytes) -> Command | None:
        """The command, of whatever size; None where it has the label."""
        if len(data) == self._length and data.startswith(self._plain):
            return Command(self._mode, np.frombuffer(data, offset=self._numbers))
        message = deserialize_message(data, Float64MultiArray)
        if any(dimension.label == self._passed_over for dimension in message.layout.dim):
            return None
        return Command(self._mode, np.array(message.data))


def _layout(data: bytes, message: JointState) -> _Layout | None:
    """The layout, or None where it isn't the one that is known here."""
    if data[:2] != _LITTLE_ENDIAN_CDR:
        return None
    fixed, spans, at = [(0, _LITTLE_ENDIAN_CDR)], [], _STAMP_END
    for text in (message.header.frame_id, None, *message.name):  # None: the number of names
        at += -at % 4
        size = 4 + (0 if text is None else len(text.encode()) + 1)
        fixed.append((at, data[at : at + size]))
        at += size
    for values in (message.position, message.velocity, message.effort):
        at += -at % 4
        count = _COUNT.pack(len(values))
        fixed.append((at, count))
        start = at + 4
        start -= 0 if len(values) == 0 else (start - _STAMP_AT) % -_DOUBLE
        end = start + len(values) * _DOUBLE
        if data[at : at + 4] != count or data[start:end] != values.tobytes():
            return None
        spans.append(_Span(start, len(values)))
        at = end
    return _Layout(len(data), tuple(fixed), *spans)
