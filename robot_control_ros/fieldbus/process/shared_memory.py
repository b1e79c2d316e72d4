"""Memory that processes share, so that none waits for another: the newest record of a kind.

Each record has a checksum, so that a reader never takes one that is half written, on any processor,
also where the writer was killed in the middle.
"""

from __future__ import annotations

import fcntl
import mmap
import os
import stat
import struct
import zlib
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from ...core.errors import ConfigError, refused

_FILE_HEAD = struct.Struct("=8sII")  # magic, version, checksum of the layout
_MAGIC = b"rcr-bus\0"
_VERSION = 1
_OTHERS_MAY_WRITE = stat.S_IWGRP | stat.S_IWOTH
_LOCK = struct.Struct("hhqqi4x")  # struct flock of fcntl(2)
_HEAD = struct.Struct("=QII")  # number, length, checksum
_WORD = 8
_TRIES = 5


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
        """Make a record the newest; a ConfigError where it is too long."""
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
        """Number of records that there have been."""
        return self._newest[0]

    def get(self) -> tuple[int, bytes]:
        """Number and content of the newest record; 0 where there is none, or none that could
        be read undisturbed.
        """
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
    """Checksum of number and record.

    A head, too, may be read half from one record and half from the next.
    """
    return zlib.crc32(record, number & 0xFFFFFFFF)


class SharedFile:
    """A file in memory that processes of one user map, in named regions.

    Nothing in a file is believed that another user could have made or written; its head names the
    layout.

    Args:
        path: Path of the file, in a file system that is in memory.
        regions: Sizes of the regions by name [bytes].
        create: True to make the file anew, of zeros, and lock OWNED; else it must be there.

    Raises:
        ConfigError: it isn't there, isn't this user's alone, is another process's, or has another
            layout.
    """

    # locks: of who made the file, of a controller whose loop runs in the bus process
    OWNED, LED = range(2)

    def __init__(self, path: Path, regions: Mapping[str, int], *, create: bool) -> None:
        self.path = path
        size = _FILE_HEAD.size + sum(regions.values())
        head = _FILE_HEAD.pack(_MAGIC, _VERSION, zlib.crc32(repr(list(regions.items())).encode()))
        if create and os.path.lexists(path):
            self.descriptor = _open(path)
            self._own()
            self.close(remove=True)  # a process left it that was killed
        self.descriptor = _open(path, os.O_CREAT | os.O_EXCL if create else 0)
        try:
            if create:
                self._own()
                os.truncate(self.descriptor, size)
                os.pwrite(self.descriptor, head, 0)
            else:
                self._check(head, size)
        except ConfigError:
            os.close(self.descriptor)
            raise
        # a map keeps its descriptor, and locks with it
        mapped = os.open(f"/proc/self/fd/{self.descriptor}", os.O_RDWR)
        self._map = mmap.mmap(mapped, size)
        os.close(mapped)
        self._begin = {}
        at = len(head)
        for name, length in regions.items():
            self._begin[name] = at, at + length
            at += length

    def _check(self, head: bytes, size: int) -> None:
        found = os.pread(self.descriptor, len(head), 0)
        length = os.fstat(self.descriptor).st_size
        if found != head or length != size:
            rule = f"must be {head.hex()}, and {size} bytes instead of {length}: another version or program made it"
            raise refused(
                "head", found.hex(), rule, head.hex(), where=f"shared memory {self.path}: "
            )

    def _own(self) -> None:
        if not self.lock(self.OWNED):
            raise ConfigError(
                f"another process has the shared memory {self.path}: end that process first"
            )

    def lock(self, which: int) -> bool:
        """Take a lock, OWNED or LED, unless somebody has it; it is held until this file and
        its copies are closed.
        """
        try:
            fcntl.fcntl(self.descriptor, fcntl.F_OFD_SETLK, _lock_record(which))
        except BlockingIOError:
            return False
        return True

    @property
    def owned(self) -> bool:
        """True where another process, or another object, has the lock OWNED."""
        kind, *_ = _LOCK.unpack(
            fcntl.fcntl(self.descriptor, fcntl.F_OFD_GETLK, _lock_record(self.OWNED))
        )
        return bool(kind != fcntl.F_UNLCK)

    def region(self, name: str) -> memoryview:
        """Memory of a region, by its name."""
        begin, end = self._begin[name]
        return memoryview(self._map)[begin:end]

    def close(self, *, remove: bool = False) -> None:
        """Let go of it; views stay valid as long as they are used."""
        if remove:
            self.path.unlink(missing_ok=True)
        os.close(self.descriptor)


def _lock_record(which: int) -> bytes:
    """A lock for fcntl(2): for writing, of one byte."""
    return _LOCK.pack(fcntl.F_WRLCK, os.SEEK_SET, which, 1, 0)


def _open(path: Path, flags: int = 0) -> int:
    """A descriptor of a file that only this user or root could have made and written."""
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_NOFOLLOW | flags, 0o600)
    except FileNotFoundError as error:
        message = f"shared memory {path}: {error.strerror}; does the bus process of user {os.geteuid()} run?"
        raise ConfigError(message, name=str(path)) from error
    except OSError as error:
        with suppress(FileNotFoundError):
            raise _not_ours(path, os.lstat(path)) from error
        raise ConfigError(f"shared memory {path}: {error.strerror}") from error
    found = os.fstat(descriptor)
    if (
        stat.S_ISREG(found.st_mode)
        and found.st_uid in (os.geteuid(), 0)
        and not found.st_mode & _OTHERS_MAY_WRITE
    ):
        return descriptor
    os.close(descriptor)
    raise _not_ours(path, found)


def _not_ours(path: Path, found: os.stat_result) -> ConfigError:
    rule = (
        f"must be a file that only user {os.geteuid()} or root can write; ask that user or root to remove it, "
        "and why it was made"
    )
    owner = f"{stat.filemode(found.st_mode)}, owner {found.st_uid}"
    return ConfigError(
        f"shared memory {path} ({owner}): {rule}",
        name=str(path),
        value=found.st_uid,
        bound=os.geteuid(),
    )
