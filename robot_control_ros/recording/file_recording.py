"""A record that a thread of its own writes to one file, or to several of bounded size."""

from __future__ import annotations

import os
import queue
import threading
import time
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import IO, Any

from ..core.errors import HardwareFault, refused
from ..core.output_paths import writable_file

MAX_WAITING = 20_000  # items that wait for the disk
LARGEST = 1_000_000_000  # bytes of one file
LOST = 1.0  # s, at most, that are lost where the process is killed


class RecordingWarning(UserWarning):
    """A record can't go on; it ends here."""


class FileRecording(ABC):
    """Writes items to a new file until :meth:`close`, also at the end of a ``with`` block.

    At most 20,000 items wait for the disk. An item more is dropped and counted; a simulation waits
    instead. A file that has its size is ended, and another one begins: run.mcap, run_1.mcap,
    run_2.mcap. No file is ever overwritten.

    Where the disk is full, or fails, a RecordingWarning says so at once. What was written before
    can be read.

    Args:
        path: Path of the file, which must not be there.
        simulated: True where time is that of a simulation, which can wait for the disk.
        largest: Size of one file, after which the next one begins [bytes].

    Attributes:
        path: Path of the first file.
        paths: Paths of all files so far.
        messages, dropped: Numbers of items that were taken and of those that were not.
        error: Reason why the record has ended before it was closed; None where it hasn't.
        on_close: Stack of functions that are called, last first, before the file is closed.

    Raises:
        ConfigError: the file is there, or can't be written.
    """

    def __init__(
        self, path: str | Path, *, simulated: bool = False, largest: int = LARGEST
    ) -> None:
        self.path = writable_file(path)
        self.paths: list[Path] = []
        self.messages = 0
        self.dropped = 0
        self.error: HardwareFault | None = None
        self.on_close = ExitStack()
        self._simulated = simulated
        self._largest = largest
        self._due: queue.Queue[Any] = queue.Queue(MAX_WAITING)
        self._lock = threading.Lock()
        self._closing = threading.Lock()
        self._taking = threading.Lock()
        self._ended = False
        self._failed = threading.Event()
        self._thread: threading.Thread | None = None
        self._file: IO[bytes]
        self._flushed = 0.0  # steady time [s]

    def start(self) -> None:
        """Begin the file, and the thread that writes it; the last thing that a subclass does when
        it is made.

        Raises:
            ConfigError: the file is there, or can't be written.
        """
        try:
            self._begin_file(self.path)
        except FileExistsError as error:
            rule = "is there: a record is never overwritten, choose another name"
            raise refused("file", str(self.path), rule) from error
        except OSError as error:
            raise refused("file", str(self.path), f"can't be written: {error.strerror}") from error
        self._thread = threading.Thread(target=self._write, name="recording", daemon=True)
        self._thread.start()

    def __enter__(self) -> Any:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def wait(self, seconds: float | None) -> None:
        """Wait some seconds, or for ever.

        Raises:
            HardwareFault: as soon as the disk is full, or fails.
        """
        if self._failed.wait(seconds) and self.error is not None:
            raise self.error

    def put_item(self, item: Any) -> None:
        """Take an item for :meth:`add`.

        One that comes while the file is closed is too late, and isn't counted.
        """
        with self._taking:
            if self._ended:
                return
            if self.error is not None:
                self.dropped += 1
                return
            try:
                self._due.put(item, block=self._simulated)
                self.messages += 1
            except queue.Full:
                self.dropped += 1

    def close(self) -> None:
        """Write what waits, and the end; once.

        Raises:
            HardwareFault: the file couldn't be written to its end.
        """
        with self._closing:
            thread = self._thread
            self._thread = None
        if thread is None:
            return
        try:
            self.on_close.close()
        finally:
            with self._taking:
                self._ended = True
                self._due.put(None)
            thread.join()
        if self.error is not None:
            raise self.error

    # --- of the subclass; each is called with a lock, in one thread at a time ---

    @abstractmethod
    def begin(self, file: IO[bytes]) -> None:
        """Write the beginning of a file."""

    @abstractmethod
    def add(self, item: Any) -> None:
        """Write an item."""

    @abstractmethod
    def flush(self) -> None:
        """Hand what is kept back to the file."""

    @abstractmethod
    def end(self) -> None:
        """Write the end of the file."""

    def guarded(self, action: Callable[..., object], *arguments: Any) -> None:
        """Do something with the file.

        Where that fails the record has ended, and what comes is dropped.
        """
        try:
            with self._lock:
                if self.error is None:
                    action(*arguments)
        except OSError as error:
            reason = error.strerror or error
            self.error = HardwareFault(f"{self.paths[-1]} ends here, can't be written: {reason}")
            self._failed.set()
            warnings.warn(str(self.error), RecordingWarning, stacklevel=2)

    # --- the thread ---

    def _begin_file(self, path: Path) -> None:
        self._file = path.open("xb")
        self.paths.append(path)
        self.begin(self._file)
        self._flush()

    def _write(self) -> None:
        while True:
            try:
                item = self._due.get(timeout=LOST)
            except queue.Empty:
                self.guarded(self._flush)
                continue
            if item is None:
                break
            self.guarded(self._write_item, item)
        self.guarded(self._end_file)
        with suppress(OSError):  # it has ended before
            self._file.close()

    def _write_item(self, item: Any) -> None:
        self.add(item)
        if self._file.tell() >= self._largest:
            self._end_file()
            self._file.close()
            number = len(self.paths)
            self._begin_file(self.path.with_name(f"{self.path.stem}_{number}{self.path.suffix}"))
        elif time.monotonic() - self._flushed > LOST:
            self._flush()

    def _flush(self) -> None:
        self.flush()
        self._file.flush()
        self._flushed = time.monotonic()

    def _end_file(self) -> None:
        self.end()
        self._file.flush()
        os.fsync(self._file.fileno())
