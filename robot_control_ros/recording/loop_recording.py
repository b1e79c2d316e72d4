"""The cycles of a running control loop in a file, written by a thread that
hardly holds up the loop.
"""

from __future__ import annotations

import threading
from pathlib import Path

from ..control.recorder import CycleRecorder
from ..core.errors import RobotControlError
from ..robot.configuration import RobotConfig
from ..robot.model import RobotModel
from .cycle_file import CycleWriter, metadata_of
from .mcap_recording import McapRecording

# cycles that are encoded in one go: the loop waits for the interpreter meanwhile, for some 0.1 ms
SLICE = 16
PAUSE = 0.002  # s between two of them


class LoopRecording:
    """Writes the cycles that a recorder has, and those that come, until :meth:`close`.

    Args:
        path: Path of the MCAP file, which must not be there.
        recorder, robot, model: Recorder, robot and model of the loop.
        first: Number of the first cycle that is written.
        end: Number of the cycle before which the file ends by itself; None for none.

    Attributes:
        path: Path of the MCAP file.
        ended: True where the file has ended.
        error: Reason why the file isn't whole; None where it is.

    Raises:
        ConfigError: the file can't be written, or mcap isn't installed.
    """

    def __init__(
        self,
        path: Path,
        recorder: CycleRecorder,
        robot: RobotConfig,
        model: RobotModel,
        first: int,
        end: int | None = None,
    ) -> None:
        self.path = path
        self.ended = False
        self.error: RobotControlError | None = None
        self._recording = McapRecording(path)
        self._writer = CycleWriter(self._recording, model.n, metadata_of(robot, model))
        self._recorder = recorder
        self._next = first
        self._end = end
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._run, name="cycles", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Write what has come until now, and end the file."""
        self._closing.set()
        self._thread.join()

    def _run(self) -> None:
        try:
            while not self._has_ended():
                self._write_slice()
                self._closing.wait(PAUSE)
            while self._write_slice():
                pass
        except RobotControlError as error:
            self.error = error
        try:
            self._recording.close()
        except RobotControlError as error:
            self.error = error
        self.ended = True

    def _has_ended(self) -> bool:
        return self._closing.is_set() or (self._end is not None and self._next >= self._end)

    def _write_slice(self) -> bool:
        """Write the next cycles, if there are some; returns True where there were."""
        most = SLICE if self._end is None else min(SLICE, self._end - self._next)
        record = self._recorder.since(self._next, max(most, 0))
        if not len(record):
            return False
        self._writer.put(record)
        self._next = int(record["number"][-1]) + 1
        return True
