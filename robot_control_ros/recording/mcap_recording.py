"""An MCAP file, written as messages come."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any

from ..core.errors import missing_extra
from ..core.types import Array
from .file_recording import LARGEST, FileRecording
from .named_numbers import NumbersMessage, encode_row, encode_text

CHUNK = 1 << 18  # bytes that are compressed together
ABOUT = "robot_control_ros"  # name of the metadata
DROPPED = "dropped"  # in them
TEXT = "std_msgs/msg/String"


class McapRecording(FileRecording):
    """Writes messages to an MCAP file; see FileRecording.

    The metadata stand at the beginning of each file, and with what came later again at its end.

    Args:
        path, simulated, largest: Path of the file, kind of time and size of a file, see
            FileRecording.
        metadata: Metadata about what the record is of; more may come with :meth:`describe`.

    Raises:
        ConfigError: mcap isn't installed, or see FileRecording.
    """

    def __init__(
        self,
        path: str | Path,
        *,
        metadata: Mapping[str, Any] | None = None,
        simulated: bool = False,
        largest: int = LARGEST,
    ) -> None:
        try:
            from mcap.writer import Writer
        except ImportError as error:
            raise missing_extra("an MCAP record", "mcap", "records") from error
        super().__init__(path, simulated=simulated, largest=largest)
        self._make_writer = Writer
        self._metadata = dict(metadata or {})
        self._channels: list[tuple[str, str, str]] = []
        self._writer: Any = None
        self.start()

    def channel(self, topic: str, kind: str, definition: str) -> int:
        """Add a channel for messages of ROS; returns its number, which is the same in each file.

        Args:
            topic: Name of the topic.
            kind: Name of the type, such as ``sensor_msgs/msg/JointState``.
            definition: Text of the type's .msg file.
        """
        self._channels.append((topic, kind, definition))
        number = len(self._channels)
        self.guarded(self._register, topic, kind, definition)
        return number

    def numbers_channel(self, topic: str, message: NumbersMessage) -> int:
        """Add a channel for :meth:`put_numbers`; returns its number."""
        return self.channel(topic, message.kind, message.definition())

    def text_channel(self, topic: str) -> int:
        """Add a channel for :meth:`put_text`; returns its number."""
        return self.channel(topic, TEXT, "string data\n")

    def put(
        self, channel: int, data: bytes, log_time: int, publish_time: int | None = None
    ) -> None:
        """Take a message, with its times [ns].

        One that comes while the file is closed is too late, and isn't counted.
        """
        self.put_item((channel, log_time, data, log_time if publish_time is None else publish_time))

    def put_numbers(self, channel: int, values: Mapping[str, Array], stamp: float) -> None:
        """Take named numbers, as a message.

        Args:
            channel: Number of the channel.
            values: Numbers of each field, in the order of the channel's definition.
            stamp: Time by the robot's clock [s]. The message is logged by the computer's clock
                where nothing is simulated.
        """
        self._put_stamped(channel, NumbersMessage.encode(values), stamp)

    def put_row(self, channel: int, row: Array, stamp: float) -> None:
        """Take the numbers (width,) of all fields of a message; it is logged by its stamp [s]."""
        time_of_row = round(stamp * 1e9)
        self.put(channel, encode_row(row), time_of_row, time_of_row)

    def put_text(self, channel: int, text: str, stamp: float) -> None:
        """Take a text, as a message; see :meth:`put_numbers`."""
        self._put_stamped(channel, encode_text(text), stamp)

    def describe(self, **metadata: Any) -> None:
        """Add metadata, which are in the file from now on."""
        self._metadata.update(metadata)
        self.guarded(self._write_metadata, {})

    def _put_stamped(self, channel: int, data: bytes, stamp: float) -> None:
        published = round(stamp * 1e9)
        self.put(channel, data, published if self._simulated else time.time_ns(), published)

    def begin(self, file: IO[bytes]) -> None:
        self._writer = self._make_writer(file, chunk_size=CHUNK)
        self._writer.start(profile="ros2", library="robot_control_ros")
        self._write_metadata({})
        for channel in self._channels:
            self._register(*channel)

    def add(self, item: Any) -> None:
        self._writer.add_message(*item)

    def flush(self) -> None:
        self._writer.flush()

    def end(self) -> None:
        self._write_metadata({DROPPED: self.dropped})
        self._writer.finish()

    def _register(self, topic: str, kind: str, definition: str) -> None:
        """Register a channel in the present file.

        Mcap numbers the channels of each file from 1 on.
        """
        schema = self._writer.register_schema(kind, "ros2msg", definition.encode())
        self._writer.register_channel(topic, "cdr", schema)

    def _write_metadata(self, more: Mapping[str, Any]) -> None:
        given = {**self._metadata, **more}
        text = {
            name: value if isinstance(value, str) else json.dumps(value)
            for name, value in given.items()
        }
        self._writer.add_metadata(ABOUT, text)
