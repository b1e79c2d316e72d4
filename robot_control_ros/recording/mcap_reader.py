"""Reads MCAP records of this package, also those that were cut off: as far as they go."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from ..core.errors import ConfigError, missing_extra, refused
from ..core.types import Array
from .named_numbers import decode_numbers

MAGIC = b"\x89MCAP0\r\n"  # at the beginning and at the end of a file
LARGEST_RECORD = 64_000_000  # bytes; a chunk of ours has a fraction of them


@dataclass
class McapRecord:
    """Content of a record.

    Attributes:
        metadata: Metadata of the record, by name.
        messages: Messages by topic, each with the numbers of its fields.
        complete: True where the record was written to its end.
    """

    metadata: dict[str, str] = field(default_factory=dict)
    messages: dict[str, list[dict[str, Array]]] = field(default_factory=dict)
    complete: bool = False


class McapMessages:
    """The messages of a record on some topics, in the order of the file: (topic, definition of its
    type, bytes).

    A record that was cut off, as by a full disk or a killed process, is read up to there.

    Args:
        path: Path of the MCAP file.
        topics: Topics that are read.

    Attributes:
        metadata: Metadata that have come so far, by name.
        complete: True where the record was written to its end; known at the end of the iteration.

    Raises:
        ConfigError: mcap isn't installed; while it is read: the file can't be read, is no MCAP
            file, or has messages of another form.
    """

    def __init__(self, path: str | Path, topics: Collection[str]) -> None:
        if find_spec("mcap") is None:
            raise missing_extra("an MCAP record", "mcap", "records")
        self._path = path
        self._topics = topics
        self.metadata: dict[str, str] = {}
        self.complete = False

    def __iter__(self) -> Iterator[tuple[str, str, bytes]]:
        from mcap.records import Channel, Message, Metadata, Schema

        definitions: dict[int, str] = {}
        channels: dict[int, Channel] = {}
        records = _records(self._path)
        while True:
            try:
                each = next(records)
            except StopIteration:
                self.complete = True
                return
            except ConfigError:
                raise
            except (
                Exception
            ):  # whatever mcap and zstandard raise for bytes that end, or are damaged
                return
            if isinstance(each, Metadata):
                self.metadata.update(each.metadata)
            elif isinstance(each, Schema):
                definitions[each.id] = _definition(each)
            elif isinstance(each, Channel):
                channels[each.id] = each
            elif isinstance(each, Message) and each.channel_id in channels:
                channel = channels[each.channel_id]
                if channel.topic in self._topics:
                    yield channel.topic, self._definition_of(channel, definitions), each.data

    def _definition_of(self, channel: Any, definitions: Mapping[int, str]) -> str:
        definition = definitions.get(channel.schema_id, "")
        if not definition or channel.message_encoding != "cdr":
            raise refused(
                "record", str(self._path), f"{channel.topic} has messages of another form"
            )
        return definition


def _definition(schema: Any) -> str:
    """The text of a type of ROS; empty where it is another one, or can't be read."""
    try:
        return str(schema.data.decode()) if schema.encoding == "ros2msg" else ""
    except UnicodeDecodeError:
        return ""


def is_whole(path: Path) -> bool:
    """True where a file ends as MCAP files end: it was written to its end."""
    with path.open("rb") as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(max(0, size - len(MAGIC)))
        return size > len(MAGIC) and file.read() == MAGIC


def read_record(path: str | Path, topics: Collection[str]) -> McapRecord:
    """Read the messages of named numbers on some topics; see :class:`McapMessages`.

    Raises:
        ConfigError: see there; or a message that has other fields.
    """
    messages = McapMessages(path, topics)
    record = McapRecord(messages.metadata, {topic: [] for topic in topics})
    for topic, definition, data in messages:
        try:
            record.messages[topic].append(decode_numbers(definition, data))
        except ConfigError as error:
            raise refused("record", str(path), f"{topic}: {error}") from error
    record.complete = messages.complete
    return record


def _records(path: str | Path) -> Iterator[Any]:
    """The records of the file, those in chunks as well."""
    from mcap.records import Chunk
    from mcap.stream_reader import MAGIC_SIZE, StreamReader, breakup_chunk

    target = Path(path)
    if not target.is_file():
        raise refused("record", str(path), "must be a regular file")
    try:
        file = target.open("rb")
    except OSError as error:
        raise refused("record", str(path), f"can't be read: {error.strerror}") from error
    with file:
        if not file.read(MAGIC_SIZE).startswith(b"\x89MCAP"):
            raise refused("record", str(path), "is no MCAP file")
        file.seek(0)
        reader = StreamReader(file, emit_chunks=True, record_size_limit=LARGEST_RECORD)
        for each in reader.records:
            if not isinstance(each, Chunk):
                yield each
            elif each.uncompressed_size <= LARGEST_RECORD:
                yield from breakup_chunk(each, validate_crc=True)
