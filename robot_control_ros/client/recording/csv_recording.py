"""A CSV file of states, written as they come; its columns are those of the log."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import IO

from ...recording.file_recording import LARGEST, FileRecording
from ...simulation.log import LogSample, csv_columns, csv_row
from ..snapshot import Snapshot
from ..state_feed import Event


class CsvRecording(FileRecording):
    """Writes states to a CSV file; see FileRecording.

    Args:
        path, simulated, largest: see FileRecording.
        joints: their names.
        start: time that counts as 0 [s].
    """

    def __init__(
        self, path: str | Path, joints: Sequence[str], start: float, *, simulated: bool = False, largest: int = LARGEST
    ) -> None:
        super().__init__(path, simulated=simulated, largest=largest)
        self._header = ",".join(csv_columns(joints))
        self._start = start
        self.start()

    def take(self, event: Event) -> None:
        """A state; what else comes isn't kept."""
        if isinstance(event, Snapshot) and event.time >= self._start:
            self.put_item(LogSample.of(event.time - self._start, event.blocks))

    def begin(self, file: IO[bytes]) -> None:
        self._out = file
        file.write(f"{self._header}\n".encode())

    def add(self, item: LogSample) -> None:
        self._out.write(f"{csv_row(item)}\n".encode())

    def flush(self) -> None:
        """Nothing is kept back."""

    def end(self) -> None:
        """A table has no end of its own."""
