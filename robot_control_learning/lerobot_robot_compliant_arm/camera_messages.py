"""Pictures as messages of ROS, sensor_msgs/Image: read and written without ROS."""

from __future__ import annotations

import struct
from typing import Any

import numpy as np

from robot_control_ros.core.errors import ConfigError, refused, unknown

IMAGE = "sensor_msgs/msg/Image"
_LINE = "=" * 80
DEFINITION = f"""std_msgs/Header header
uint32 height
uint32 width
string encoding
uint8 is_bigendian
uint32 step
uint8[] data
{_LINE}
MSG: std_msgs/Header
builtin_interfaces/Time stamp
string frame_id
{_LINE}
MSG: builtin_interfaces/Time
int32 sec
uint32 nanosec
"""
ENCODINGS = ("rgb8", "bgr8")
_HEADER = b"\x00\x01\x00\x00"  # CDR, little endian


class _Reader:
    """Reads the fields of a message one after the other."""

    def __init__(self, data: bytes) -> None:
        self._data = data[len(_HEADER) :]
        self._at = 0

    def number(self, kind: str) -> int:
        size = struct.calcsize(kind)
        self._at += -self._at % size
        (value,) = struct.unpack_from(f"<{kind}", self._data, self._at)
        self._at += size
        return int(value)

    def block(self) -> bytes:
        size = self.number("I")
        block = self._data[self._at : self._at + size]
        if len(block) != size:
            raise struct.error("the message ends early")
        self._at += size
        return block


def read_image(data: bytes) -> tuple[float, np.ndarray]:
    """Stamp [s] and picture (height, width, 3), red, green, blue, of a message.

    Raises:
        ConfigError: The message ends early, or has another encoding than rgb8 and bgr8.
    """
    if data[:4] != _HEADER:
        raise refused("image", data[:4], "must be little endian CDR", _HEADER)
    reader = _Reader(data)
    try:
        seconds = reader.number("i")
        stamp = seconds + 1e-9 * reader.number("I")
        reader.block()  # the frame
        height = reader.number("I")
        width = reader.number("I")
        encoding = reader.block().rstrip(b"\0").decode("utf-8", "replace")
        reader.number("B")
        step = reader.number("I")
        pixels = np.frombuffer(reader.block(), np.uint8)
    except struct.error as error:
        raise ConfigError(f"an image ends early: {error}", name="image") from error
    if encoding not in ENCODINGS:
        raise unknown("encoding of an image", encoding, ENCODINGS)
    if step < 3 * width or pixels.size < step * height:
        raise refused("image", pixels.size, f"must have {height} rows of {step} bytes")
    rows = pixels[: step * height].reshape(height, step)[:, : 3 * width]
    picture = rows.reshape(height, width, 3)
    return stamp, picture if encoding == "rgb8" else picture[..., ::-1]


def write_image(picture: Any, stamp: float) -> bytes:
    """The message of a picture (height, width, 3) of bytes, red, green, blue.

    Args:
        picture: Picture to write.
        stamp: Time of the picture [s].
    """
    pixels = np.ascontiguousarray(picture, dtype=np.uint8)
    height, width, _ = pixels.shape
    nanoseconds = round(stamp * 1e9)
    fields = struct.pack("<iI", nanoseconds // 10**9, nanoseconds % 10**9)
    fields += _text("", len(fields))
    fields += b"\0" * (-len(fields) % 4) + struct.pack("<II", height, width)
    fields += _text("rgb8", len(fields)) + b"\0"
    fields += b"\0" * (-len(fields) % 4) + struct.pack("<II", 3 * width, pixels.size)
    return _HEADER + fields + pixels.tobytes()


def _text(text: str, at: int) -> bytes:
    content = text.encode() + b"\0"
    return b"\0" * (-at % 4) + struct.pack("<I", len(content)) + content
