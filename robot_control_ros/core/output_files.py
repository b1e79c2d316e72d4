"""Writes files so that an old one is there, whole, until the new one is complete: the only
way to write a result.
"""

from __future__ import annotations

import csv
import io
import os
import secrets
import stat
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

from .errors import HardwareFault
from .output_paths import writable_file


@contextmanager
def replaced_file(path: str | Path, *endings: str) -> Iterator[IO[bytes]]:
    """A file to write to, which takes the place of the old one at the end of the ``with`` block.

    It is written beside the old one, flushed to the disk, and renamed. Where the block raises, the
    old one stays.
    Mode and owner stay as they were; of a symbolic link the target is replaced. A device or pipe is
    written to as it comes.

    Args:
        path: Path of the file.
        endings: Endings of files that may be overwritten, see :func:`~.output_paths.writable_file`.

    Raises:
        ConfigError: see :func:`~.output_paths.writable_file`.
        HardwareFault: the disk is full, or fails; names the file.
    """
    target = Path(os.path.realpath(writable_file(path, *endings)))
    try:
        if target.exists() and not target.is_file():
            with open(os.open(target, os.O_WRONLY | os.O_NONBLOCK | os.O_CLOEXEC), "wb") as file:
                yield file
        else:
            yield from _beside(target)
    except OSError as error:
        reason = error.strerror or error
        raise HardwareFault(
            f"{path} can't be written: {reason}; an old file is as it was"
        ) from error


def write_text(path: str | Path, text: str, *endings: str) -> Path:
    """Write a text as UTF-8; returns the path. See :func:`replaced_file`."""
    with replaced_file(path, *endings) as file:
        file.write(text.encode())
    return Path(path)


def write_rows(path: str | Path, rows: Iterable[Sequence[Any]]) -> Path:
    """Write rows as CSV; returns the path. See :func:`replaced_file`."""
    with replaced_file(path, ".csv") as file:
        text = io.TextIOWrapper(file, encoding="utf-8", newline="")
        csv.writer(text).writerows(rows)
        text.flush()
        text.detach()
    return Path(path)


def _beside(target: Path) -> Iterator[IO[bytes]]:
    new = target.with_name(f".{secrets.token_hex(8)}.tmp")
    try:
        descriptor = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
        with open(descriptor, "wb") as file:
            with suppress(FileNotFoundError):
                _take_over(descriptor, target.stat())
            yield file
            file.flush()
            os.fsync(descriptor)
        os.replace(new, target)
    except BaseException:
        new.unlink(missing_ok=True)
        raise
    folder = os.open(target.parent, os.O_RDONLY | os.O_CLOEXEC)
    with suppress(OSError):  # some file systems can't
        os.fsync(folder)
    os.close(folder)


def _take_over(descriptor: int, old: os.stat_result) -> None:
    """Give a file the mode of an old one, and its owner where that is permitted."""
    with suppress(PermissionError):
        os.fchown(descriptor, old.st_uid, old.st_gid)
    os.fchmod(descriptor, stat.S_IMODE(old.st_mode))
