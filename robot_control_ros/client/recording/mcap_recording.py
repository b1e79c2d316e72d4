"""An MCAP file that is written in a thread of its own: the only module that imports mcap."""

from __future__ import annotations

import json
import queue
import threading
import time
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from ...core.errors import HardwareFault, missing_extra
from ...core.output_paths import writable_file

MAX_WAITING = 20_000  # messages that wait for the disk
CHUNK = 1 << 18  # bytes that are compressed together, and are lost where the process is killed
DROPPED = "dropped"  # in the metadata


class McapRecording:
    """Writes messages to a file until :meth:`close`, also at the end of a ``with`` block.

    At most 20,000 messages wait for the disk. A message more is dropped and counted; a simulation waits instead.

    Args:
        path: of the file.
        profile: of MCAP: ``ros2`` where messages of ROS are in it.
        metadata: what the record is of; more may come with :meth:`close`.
        simulated: whether time is that of a simulation, which can wait for the disk.

    Attributes:
        path: of the file.
        messages, dropped: how many were taken and how many were not.
        on_close: what to call, last first, before the file is closed.

    Raises:
        ConfigError: mcap isn't installed, or the file can't be written.
    """

    def __init__(
        self, path: str | Path, *, profile: str = "", metadata: Mapping[str, Any] | None = None, simulated: bool = False
    ) -> None:
        try:
            from mcap.writer import Writer
        except ImportError as error:
            raise missing_extra("an MCAP record", "mcap", "learning") from error
        self.path = writable_file(path)
        self.messages = self.dropped = 0
        self.on_close = ExitStack()
        self._metadata, self._simulated = dict(metadata or {}), simulated
        self._due: queue.Queue[tuple[int, int, bytes, int] | None] = queue.Queue(MAX_WAITING)
        self._file = self.path.open("wb")
        self._writer: Any = Writer(self._file, chunk_size=CHUNK)
        self._writer.start(profile=profile, library="robot_control_ros")
        self._lock, self._closing, self._taking = threading.Lock(), threading.Lock(), threading.Lock()
        self._ended = False
        self._error: OSError | None = None
        self._thread: threading.Thread | None = threading.Thread(target=self._write, name="mcap", daemon=True)
        self._thread.start()

    def __enter__(self) -> McapRecording:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def channel(self, topic: str, kind: str, schema: str, *, schema_encoding: str, message_encoding: str) -> int:
        """A new channel; returns its number.

        Args:
            topic: its name.
            kind: name of the schema, such as ``sensor_msgs/msg/JointState``.
            schema: text of it.
            schema_encoding, message_encoding: ``ros2msg`` and ``cdr``, or ``jsonschema`` and ``json``.
        """
        with self._lock:
            number = self._writer.register_schema(kind, schema_encoding, schema.encode())
            return int(self._writer.register_channel(topic, message_encoding, number))

    def json_channel(self, topic: str) -> int:
        """A new channel for :meth:`put_json`."""
        schema = json.dumps({"type": "object"})
        return self.channel(topic, topic.strip("/"), schema, schema_encoding="jsonschema", message_encoding="json")

    def put(self, channel: int, data: bytes, log_time: int, publish_time: int | None = None) -> None:
        """A message, with its times [ns]; one that comes while the file is closed is too late, and isn't counted."""
        message = channel, log_time, data, log_time if publish_time is None else publish_time
        with self._taking:
            if self._ended:
                return
            try:
                self._due.put(message, block=self._simulated)
                self.messages += 1
            except queue.Full:
                self.dropped += 1

    def put_json(self, channel: int, values: Mapping[str, Any], stamp: float) -> None:
        """An object of plain values, as a message; numbers that aren't finite must be None.

        Args:
            channel: its number.
            values: of the object.
            stamp: by the robot's clock [s]. It is logged by the computer's clock where nothing is simulated.
        """
        published = round(stamp * 1e9)
        log_time = published if self._simulated else time.time_ns()
        self.put(channel, json.dumps(values, allow_nan=False).encode(), log_time, published)

    def close(self, **metadata: Any) -> None:
        """Write what waits, the metadata and the index; once.

        Raises:
            HardwareFault: the file couldn't be written to its end.
        """
        with self._closing:
            thread, self._thread = self._thread, None
        if thread is None:
            return
        try:
            self.on_close.close()
        finally:
            self._metadata.update(metadata)
            with self._taking:
                self._ended = True
                self._due.put(None)
            thread.join()
        if self._error is not None:
            raise HardwareFault(f"{self.path} is incomplete: {self._error}") from self._error

    def _write(self) -> None:
        try:
            while (due := self._due.get()) is not None:
                channel, log_time, data, publish_time = due
                if self._error is None:
                    self._add(channel, log_time, data, publish_time)
        finally:
            self._finish()

    def _add(self, channel: int, log_time: int, data: bytes, publish_time: int) -> None:
        try:
            with self._lock:
                self._writer.add_message(channel, log_time, data, publish_time)
        except OSError as error:  # a full disk: what follows is thrown away, so that nobody waits
            self._error = error

    def _finish(self) -> None:
        given = {**self._metadata, DROPPED: self.dropped}
        text = {name: value if isinstance(value, str) else json.dumps(value) for name, value in given.items()}
        try:
            self._writer.add_metadata("robot_control_ros", text)
            self._writer.finish()
            self._file.close()
        except OSError as error:
            self._error = error
