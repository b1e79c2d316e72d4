"""Files that a user names, read within bounds: nothing waits, and nothing fills the memory."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from .errors import ConfigError, refused

LARGEST_TEXT = 16_000_000  # bytes of a robot description
_KINDS = {
    stat.S_IFDIR: "a folder",
    stat.S_IFIFO: "a pipe",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
    stat.S_IFSOCK: "a socket",
}


def read_bytes(kind: str, path: str | Path, largest: int = LARGEST_TEXT) -> bytes:
    """Content of a regular file of at most `largest` bytes.

    Args:
        kind: Kind of the file in words, for errors.
        path: Path of the file; of a symbolic link the target is read.
        largest: Bound of the size [bytes].

    Raises:
        ConfigError: it isn't there, can't be read, is no regular file, or is too large.
    """
    try:
        # O_NONBLOCK: to open a pipe waits for a writer else
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        with open(descriptor, "rb") as file:
            mode = os.fstat(descriptor).st_mode
            if not stat.S_ISREG(mode):
                form = _KINDS.get(stat.S_IFMT(mode), "something else")
                raise refused(kind, str(path), f"is {form}, must be a regular file")
            content = file.read(largest + 1)
    except (OSError, ValueError) as error:  # ValueError: a NUL or a lone surrogate in the path
        if isinstance(error, ConfigError):
            raise
        reason = getattr(error, "strerror", None) or error
        raise refused(kind, str(path), f"can't be read: {reason}") from error
    if len(content) > largest:
        raise refused(kind, str(path), f"must have at most {largest / 1e6:g} MB", largest)
    return content


def read_text(kind: str, path: str | Path, largest: int = LARGEST_TEXT) -> str:
    """The text of a regular file in UTF-8; see :func:`read_bytes`.

    Raises:
        ConfigError: as there, or it is no text in UTF-8.
    """
    content = read_bytes(kind, path, largest)
    try:
        return decode_text(content)
    except ConfigError as error:
        raise refused(kind, str(path), str(error)) from error


def decode_text(content: bytes) -> str:
    """Decode text in UTF-8, with or without a byte order mark.

    Raises:
        ConfigError: other bytes; names the line.
    """
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        byte = content[error.start]
        raise ConfigError(
            f"line {line}: byte 0x{byte:02X} is no UTF-8", name="encoding", value=byte
        ) from error
