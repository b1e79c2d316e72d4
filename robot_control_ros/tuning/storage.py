"""Storages that keep the trials of a study: memory, a journal file, or a database of machines."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import urlsplit

import optuna
from optuna.storages import BaseStorage, InMemoryStorage, JournalStorage, RDBStorage
from optuna.storages.journal import JournalFileBackend, JournalFileSymlinkLock

from ..core.errors import ConfigError, HardwareFault, missing_extra, refused
from ..core.output_paths import writable_file

JOURNAL = "journal"
DATABASES = ("postgresql", "mysql", "sqlite")
FORMS = (
    "journal:///PATH, postgresql://USER:PASSWORD@HOST:PORT/DATABASE, mysql://… or sqlite:///PATH"
)
CONNECTING = 5  # s, that a database may take to answer
LOCKED = 10  # s, after which the lock of a writer that was killed is taken away
FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
AGAIN = 1.0  # s between two tries
AT_ONCE = 5  # tries to make the tables of a database, beside others that make them

optuna.logging.set_verbosity(optuna.logging.ERROR)

_T = TypeVar("_T")


def open_storage(url: str | None) -> BaseStorage:
    """The storage of an address; None is the memory of this process.

    Args:
        url: ``journal:///tmp/study.journal``, a file that processes and machines may share (also by
            NFS); or the address of a database, such as
            ``postgresql://user:password@host/database``.

    Raises:
        ConfigError: another kind of address; a file that can't be written; a database that doesn't
            answer.
    """
    if url is None:
        return InMemoryStorage()
    kind = urlsplit(url).scheme.partition("+")[0]
    if kind == JOURNAL:
        return _journal(url)
    if kind in DATABASES:
        return _database(url)
    raise refused("storage", without_password(url), f"must be {FORMS}", (JOURNAL, *DATABASES))


def stored(url: str) -> BaseStorage:
    """The storage of an address that is there already; see :func:`open_storage`.

    Raises:
        ConfigError: there is no such file; see :func:`open_storage`.
    """
    path = url.removeprefix(f"{JOURNAL}://")
    if path != url and not Path(path).expanduser().is_file():
        raise refused(
            "storage", url, "is not there: begin a study first, or name the storage of one"
        )
    return open_storage(url)


def without_password(url: str) -> str:
    """The address for people: its password is hidden."""
    password = _password(url)
    return url.replace(f":{password}@", ":***@") if password else url


def _password(url: str) -> str:
    try:
        return urlsplit(url).password or ""
    except ValueError:
        return ""


def _journal(url: str) -> JournalStorage:
    path = url.removeprefix(f"{JOURNAL}://")
    if not path or path == url:
        raise refused("storage", url, "must have a path, as in journal:///tmp/study.journal")
    target = writable_file(Path(path).expanduser().absolute())
    try:
        return JournalStorage(WholeLines(target))
    except (ValueError, KeyError, AssertionError, TypeError, UnicodeDecodeError) as error:
        rule = f"is no journal of Optuna, or is damaged: name another file ({error})"
        raise refused("storage", url, rule) from error


def _database(url: str) -> RDBStorage:
    from sqlalchemy.exc import SQLAlchemyError

    settings: dict[str, Any] = {"pool_pre_ping": True}
    if urlsplit(url).scheme.startswith("postgresql"):
        settings["connect_args"] = {"connect_timeout": CONNECTING}
    try:
        return _with_tables(url, settings)
    except ImportError as error:
        raise missing_extra(
            f"storage {without_password(url)}", "a driver of the database", "tuning"
        ) from error
    except (SQLAlchemyError, RuntimeError) as error:
        reason = str(error).splitlines()[0].replace(_password(url) or "\0", "***")
        raise refused(
            "storage", without_password(url), f"must be a database that answers: {reason}"
        ) from error


def _with_tables(url: str, settings: dict[str, Any]) -> RDBStorage:
    """The database; its tables are made by whoever comes first, and others that
    come then try again.
    """
    from sqlalchemy.exc import IntegrityError, ProgrammingError

    for _ in range(AT_ONCE):
        with contextlib.suppress(IntegrityError, ProgrammingError):
            return RDBStorage(url, engine_kwargs=settings)
        time.sleep(AGAIN)
    return RDBStorage(url, engine_kwargs=settings)


class WholeLines(JournalFileBackend):
    """A journal whose lines are whole: what a full disk has cut off is taken away, and can be
    written again.

    Args:
        path: Path of the file; absolute, since the lock is a link to it.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file_lock = JournalFileSymlinkLock(str(path), grace_period=LOCKED)
        super().__init__(str(path), lock_obj=self._file_lock)

    def append_logs(self, logs: list[dict[str, Any]]) -> None:
        """Append a line for each log, all of them or none.

        Raises:
            OSError: the disk is full; the file is as it was.
        """
        text = "".join(json.dumps(log, separators=(",", ":")) + "\n" for log in logs)
        with self._locked(), open(self._path, "r+b", buffering=0) as file:
            end = _end_of_lines(file)
            try:
                file.seek(end)
                _write_all(file, text.encode())
                os.fsync(file.fileno())
            except OSError:
                file.truncate(end)
                raise

    @contextlib.contextmanager
    def _locked(self) -> Any:
        self._file_lock.acquire()
        try:
            yield
        finally:
            self._file_lock.release()


def _write_all(file: Any, content: bytes) -> None:
    written = 0
    while written < len(content):
        written += file.write(content[written:])


def _end_of_lines(file: Any) -> int:
    """The size of the file's whole lines; a writer that was killed may have left a part
    of one behind them.
    """
    end = int(file.seek(0, os.SEEK_END))
    while end > 0:
        begin = max(end - 4096, 0)
        file.seek(begin)
        newline = file.read(end - begin).rfind(b"\n")
        if newline >= 0:
            return begin + int(newline) + 1
        end = begin
    return 0


def patiently(write: Callable[[], _T], tell: Callable[[str], None]) -> _T:
    """Write to a storage; where its disk is full, tell so once, and try again until there is room.

    Args:
        write: Function that writes all or nothing.
        tell: Function that gets words for people.

    Raises:
        ConfigError, HardwareFault: the storage doesn't answer any more.
    """
    told = False
    while True:
        try:
            return write()
        except OSError as error:
            if error.errno not in FULL:
                raise HardwareFault(
                    f"the storage can't be written: {error}", name="storage"
                ) from error
            if not told:
                tell(
                    f"the disk of the storage is full ({error.strerror}): results wait here until there is room"
                )
            told = True
            time.sleep(AGAIN)
        except ConfigError:
            raise
        except Exception as error:
            if not _is_of_database(error):
                raise
            reason = str(error).splitlines()[0]
            raise HardwareFault(
                f"the storage doesn't answer: {reason}; the same line goes on", name="storage"
            ) from error


def _is_of_database(error: Exception) -> bool:
    modules = (type(error).__module__, type(error.__cause__).__module__)
    return (
        any(module.startswith("sqlalchemy") for module in modules)
        or type(error).__name__ == "StorageInternalError"
    )
