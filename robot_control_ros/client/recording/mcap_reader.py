"""Reads MCAP records of this package, also those that were cut off: as far as they go."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ...core.errors import ConfigError, missing_extra, refused
from ...core.types import Array
from .named_numbers import decode_numbers

LARGEST_RECORD = 64_000_000  # bytes; a chunk of ours has a fraction of them


@dataclass
class McapRecord:
    """What is in a record.

    Attributes:
        metadata: of it, by name.
        messages: by topic, each with the numbers of its fields.
        complete: whether the record was written to its end.
    """

    metadata: dict[str, str] = field(default_factory=dict)
    messages: dict[str, list[dict[str, Array]]] = field(default_factory=dict)
    complete: bool = False


def read_record(path: str | Path, topics: Collection[str]) -> McapRecord:
    """Read the messages of named numbers on some topics.

    A record that was cut off, as by a full disk or a killed process, is read up to there.

    Args:
        path: of the MCAP file.
        topics: that are read.

    Raises:
        ConfigError: mcap isn't installed; the file can't be read, is no MCAP file, or has messages of another form.
    """
    try:
        from mcap.records import Channel, Message, Metadata, Schema
    except ImportError as error:
        raise missing_extra("an MCAP record", "mcap", "learning") from error
    record = McapRecord(messages={topic: [] for topic in topics})
    channels: dict[int, Channel] = {}
    schemas: dict[int, Schema] = {}
    records = _records(path)
    while True:
        try:
            each = next(records)
        except StopIteration:
            record.complete = True
            return record
        except ConfigError:
            raise
        except Exception:  # whatever mcap and zstandard raise for bytes that end, or are damaged
            return record
        if isinstance(each, Metadata):
            record.metadata.update(each.metadata)
        elif isinstance(each, Schema):
            schemas[each.id] = each
        elif isinstance(each, Channel):
            channels[each.id] = each
        elif isinstance(each, Message) and each.channel_id in channels:
            channel = channels[each.channel_id]
            if channel.topic in topics:
                record.messages[channel.topic].append(_decoded(path, channel, schemas, each.data))


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


def _decoded(path: str | Path, channel: Any, schemas: Any, data: bytes) -> dict[str, Array]:
    schema = schemas.get(channel.schema_id)
    if schema is None or (schema.encoding, channel.message_encoding) != ("ros2msg", "cdr"):
        raise refused("record", str(path), f"{channel.topic} has messages of another form")
    try:
        return decode_numbers(schema.data.decode(), data)
    except ValueError as error:  # ConfigError, UnicodeDecodeError
        raise refused("record", str(path), f"{channel.topic}: {error}") from error
