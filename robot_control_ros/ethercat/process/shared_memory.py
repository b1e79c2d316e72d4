"""Memory that processes share, so that none waits for another: the newest record of a kind.

Each record has a checksum, so that a reader never takes one that is half written, on any processor, also
where the writer was killed in the middle.
"""

from __future__ import annotations

import fcntl
import mmap
import os
import struct
import zlib
from collections.abc import Mapping
from pathlib import Path

from ...core.errors import ConfigError

_HEAD = struct.Struct("=QII")  # number, length, checksum
_WORD = 8
_TRIES = 5


def lock(path: str, held: str) -> int:
    """The file descriptor of a lock that is held as long as this process, or one that inherits it, lives.

    A ConfigError says `held` where another process holds it.
    """
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        raise ConfigError(f"{held}: {path} is locked; end that process first") from None
    return descriptor


class Latest:
    """The newest record. One process writes, any number read; nobody waits.

    The memory has a multiple of 8 bytes, zeros at first; `capacity` is the longest record's bytes.
    """

    def __init__(self, memory: memoryview) -> None:
        self._newest = memory[:_WORD].cast("Q")
        half = (len(memory) - _WORD) // 2
        self._slots = memory[_WORD : _WORD + half], memory[_WORD + half : _WORD + 2 * half]
        self.capacity = half - _HEAD.size

    def put(self, record: bytes) -> None:
        """Make it the newest; a ConfigError where it is too long."""
        if len(record) > self.capacity:
            message = f"a record of {len(record)} bytes: must be at most {self.capacity}"
            raise ConfigError(message, name="record", value=len(record), bound=self.capacity)
        number = self._newest[0] + 1
        slot = self._slots[number % 2]
        slot[_HEAD.size : _HEAD.size + len(record)] = record
        _HEAD.pack_into(slot, 0, number, len(record), _checksum(number, record))
        self._newest[0] = number

    @property
    def number(self) -> int:
        """How many records there have been."""
        return self._newest[0]

    def get(self) -> tuple[int, bytes]:
        """Number and content of the newest record; 0 where there is none, or none that could be read undisturbed."""
        for _ in range(_TRIES):
            number = self._newest[0]
            slot = self._slots[number % 2]
            written, length, checksum = _HEAD.unpack_from(slot)
            if written != number or number == 0 or length > self.capacity:
                continue
            record = bytes(slot[_HEAD.size : _HEAD.size + length])
            if _checksum(number, record) == checksum:
                return number, record
        return 0, b""


def _checksum(number: int, record: bytes) -> int:
    """Of both: a head, too, may be read half from one record and half from the next."""
    return zlib.crc32(record, number & 0xFFFFFFFF)


class SharedFile:
    """A file in memory that processes map, in named regions.

    Args:
        path: where, in a file system that is in memory.
        regions: sizes by name [bytes].
        create: make it anew, of zeros; else it must be there.

    Raises:
        ConfigError: it isn't there, belongs to somebody else, or has another size.
    """

    def __init__(self, path: Path, regions: Mapping[str, int], *, create: bool) -> None:
        self.path, self._size = path, sum(regions.values())
        try:
            if create:
                path.unlink(missing_ok=True)  # who has mapped the old one keeps it
            flags = os.O_RDWR | (os.O_CREAT | os.O_EXCL if create else 0)
            self.descriptor = os.open(path, flags, 0o600)
        except OSError as error:
            raise ConfigError(f"shared memory {path}: {error.strerror}; does the bus's process run?") from error
        if create:
            os.ftruncate(self.descriptor, self._size)
        elif (size := os.fstat(self.descriptor).st_size) != self._size:
            os.close(self.descriptor)
            message = f"shared memory {path} has {size} bytes: must have {self._size}; of another version?"
            raise ConfigError(message, name=str(path), value=size, bound=self._size)
        self._map = mmap.mmap(self.descriptor, self._size)
        self._begin, at = {}, 0
        for name, size in regions.items():
            self._begin[name] = at, at + size
            at += size

    def region(self, name: str) -> memoryview:
        """A part by name."""
        begin, end = self._begin[name]
        return memoryview(self._map)[begin:end]

    def close(self, *, remove: bool = False) -> None:
        """Let go of it; views stay valid as long as they are used."""
        if remove:
            self.path.unlink(missing_ok=True)
        os.close(self.descriptor)
