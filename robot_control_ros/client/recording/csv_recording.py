"""A CSV file of samples, written as they come; its columns are those of the log."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import IO

from ...recording.file_recording import LARGEST, FileRecording
from ...simulation.log import LogSample, csv_columns, csv_row


class CsvRecording(FileRecording):
    """Writes samples to a CSV file.

    Args:
        path: Path of the file, which must not be there.
        joints: Names of the joints.
        simulated: True where time is that of a simulation, which can wait for the disk.
        largest: Bytes of one file, after which the next one begins.
    """

    def __init__(
        self,
        path: str | Path,
        joints: Sequence[str],
        *,
        simulated: bool = False,
        largest: int = LARGEST,
    ) -> None:
        super().__init__(path, simulated=simulated, largest=largest)
        self._header = ",".join(csv_columns(joints))
        self.start()

    def begin(self, file: IO[bytes]) -> None:
        self._out = file
        file.write(f"{self._header}\n".encode())

    def add(self, item: LogSample) -> None:
        self._out.write(f"{csv_row(item)}\n".encode())

    def flush(self) -> None:
        """Nothing is kept back."""

    def end(self) -> None:
        """A table has no end of its own."""
