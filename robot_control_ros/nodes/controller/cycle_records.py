"""Files of the control cycles: the last minute on request or at a fault, or all from now on."""

from __future__ import annotations

import time
from pathlib import Path

from std_srvs.srv import SetBool

from ...control.controller import Controller
from ...control.recorder import CycleRecorder
from ...core.errors import ConfigError, RobotControlError, refused
from ...core.output_paths import state_folder, writable_folder
from ...recording.loop_recording import LoopRecording
from ...ros.entities import Entities

AFTER = 2.0  # s after a fault that are in its file, too
FAULTS_APART = 60.0  # s between two files of faults
KEPT_FAULTS = 20  # files of faults that are kept in the folder
FOLDER = "records"  # in the user's folder for what the package keeps


class CycleRecords:
    """Writes the cycles of the loop's recorder to MCAP files.

    See :class:`~...recording.loop_recording.LoopRecording`.

    Args:
        entities: Entities of the node, which the services are made with.
        loop: Control loop whose recorder is written.
        folder: Folder for the files; empty takes the package's own in the user's home.
        saves_faults: True where a file is written by itself when a fault begins.
    """

    def __init__(
        self, entities: Entities, loop: Controller, folder: str, saves_faults: bool
    ) -> None:
        self._logger = entities.node.get_logger()
        self._name = entities.node.get_name()
        self._loop = loop
        self._folder = folder
        self._saves_faults = saves_faults
        self._fault = ""
        self._due: float | None = None  # steady time at which the file of a fault is begun [s]
        self._last_fault = -FAULTS_APART
        self._saving: LoopRecording | None = None
        self._continuous: LoopRecording | None = None
        entities.trigger("~/save_record", self.save)
        entities.service(SetBool, "~/record_cycles", self._on_record)
        entities.on_close(self.close)

    def save(self, reason: str = "saved") -> str:
        """Begin to write the last minute to a file; returns its path.

        Raises:
            ConfigError: The file can't be written, the one before is still being written, or
                there has been no cycle yet.
        """
        recorder = recorder_of(self._loop)
        if self._saving is not None:
            raise ConfigError(
                f"{self._saving.path} is still being written: try again in a few seconds"
            )
        if recorder.count == 0:
            raise ConfigError("there has been no cycle yet: activate the controller")
        self._saving = self._begin(reason, recorder.begin_of(), recorder.count)
        return str(self._saving.path)

    def note_fault(self, fault: str) -> None:
        """Take the present fault: why the robot doesn't follow its law; empty where it does.

        It may be called in each cycle. A fault that begins makes a file due, 2 s later.
        """
        if fault == self._fault:
            return
        begins = bool(fault) and not self._fault
        self._fault = fault
        now = time.monotonic()
        if (
            begins
            and self._saves_faults
            and self._due is None
            and now - self._last_fault >= FAULTS_APART
        ):
            self._due = now + AFTER

    def look(self, now: float) -> None:
        """Begin the file of a fault where it is due, at a steady time [s]; log the end of files."""
        saving = self._saving
        if saving is not None and saving.ended:
            self._saving = None
            if saving.error is not None:
                self._logger.warning(f"the record of the last cycles is incomplete: {saving.error}")
        if self._due is None or now < self._due:
            return
        self._due = None
        self._last_fault = now
        try:
            self._logger.info(f"the last minute before this fault is kept in {self.save('fault')}")
            self._forget_old_faults()
        except RobotControlError as error:
            self._logger.warning(f"the last minute before this fault is not kept: {error}")

    def close(self) -> None:
        """End all files."""
        for recording in (self._saving, self._continuous):
            if recording is not None:
                recording.close()
        self._saving = None
        self._continuous = None

    def _on_record(self, request: SetBool.Request, response: SetBool.Response) -> SetBool.Response:
        """Begin to write all cycles to a file, or end that file."""
        try:
            response.message = self._start() if request.data else self._stop()
            response.success = True
        except RobotControlError as error:
            response.message = str(error)
            response.success = False
        return response

    def _start(self) -> str:
        if self._continuous is not None:
            raise ConfigError(f"{self._continuous.path} is being written: end it first")
        self._continuous = self._begin("cycles", recorder_of(self._loop).count, None)
        return str(self._continuous.path)

    def _stop(self) -> str:
        if self._continuous is None:
            raise ConfigError("no file is being written")
        recording = self._continuous
        self._continuous = None
        recording.close()
        if recording.error is not None:
            raise recording.error
        return str(recording.path)

    def _begin(self, reason: str, first: int, end: int | None) -> LoopRecording:
        loop = self._loop
        return LoopRecording(
            self._new_file(reason), recorder_of(self._loop), loop.robot, loop.model, first, end
        )

    def _new_file(self, reason: str) -> Path:
        folder = self._path()
        writable_folder(folder)
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise refused("folder", str(folder), f"can't be made: {error.strerror}") from error
        stamp = time.strftime("%Y-%m-%d_%H-%M-%S")
        stem = f"{reason}_{self._name}_{stamp}"
        path = folder / f"{stem}.mcap"
        number = 1
        while path.exists():
            number += 1
            path = folder / f"{stem}_{number}.mcap"
        return path

    def _path(self) -> Path:
        if self._folder:
            return Path(self._folder).expanduser()
        try:
            return state_folder() / FOLDER
        except RuntimeError as error:
            raise refused("record_folder", "", "must be given, as the user has no home") from error

    def _forget_old_faults(self) -> None:
        """Delete the oldest files of faults, so that a fault that comes again and again
        doesn't fill the disk.
        """
        files = sorted(self._path().glob("fault_*.mcap"), key=lambda each: each.stat().st_mtime)
        for path in files[:-KEPT_FAULTS]:
            path.unlink(missing_ok=True)


def recorder_of(loop: Controller) -> CycleRecorder:
    """The recorder of a loop.

    Raises:
        ConfigError: The loop has none, as its law runs in the process of the bus.
    """
    if loop.recorder is None:
        raise refused(
            "bus", loop.robot.name, "its law runs in the process of the bus, which keeps no cycles"
        )
    return loop.recorder
