"""The cycles of a control loop in an MCAP file: for every tool that reads messages of ROS,
and to be replayed.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from ..control.recorder import CycleRecord, LawMemory, LawSetting, Note, replayable_begin
from ..core.cycle import CYCLE
from ..core.errors import ConfigError, refused
from ..core.gains import changed, gain_specs, make_gains
from ..core.types import Array
from ..core.version import VERSION
from ..laws.law import law_class
from ..robot.configuration import RobotConfig
from ..robot.model import RobotModel
from .mcap_reader import McapMessages, is_whole
from .mcap_recording import McapRecording
from .named_numbers import NumbersMessage, decode_numbers, decode_row, decode_text

KIND = "robot_control_ros/msg/Cycle"
CYCLE_TOPIC = "/cycle"
SETTING_TOPIC = "/setting"
MEMORY_TOPIC = "/law_memory"
NOTE_TOPIC = "/note"
MODEL = "model"  # in the metadata: what the model is made of
LIMITS = ("effort", "velocity", "lower", "upper")
NEEDED = ("number", "time", "q", "v", "interval", "setting", "begins", "asked")  # for a replay
WRITTEN_WITHIN = 60.0  # s in which a controller writes its last minute
LOOKS = 0.1  # s between two looks at such a file
BLOCK = 2000  # cycles that are read at once


def metadata_of(robot: RobotConfig, model: RobotModel) -> dict[str, Any]:
    """Metadata of a record about its robot: all that is needed to make the model again."""
    limits = {name: getattr(model.limits, name).tolist() for name in LIMITS}
    inertia = None if model.rotor_inertia is None else list(model.rotor_inertia)
    made_of = {
        "joints": model.joints,
        "base": model.base,
        "tip": model.tip,
        "rotor_inertia": inertia,
    }
    return {
        "version": VERSION,
        "robot": robot.name,
        "profile": robot.profile_name,
        "joints": robot.joints,
        "description": model.urdf,
        MODEL: made_of | {"limits": limits},
    }


class CycleWriter:
    """Writes cycles to an MCAP file.

    Each is a message of numbers on ``/cycle``. The file has the type's definition, with unit and
    meaning of each field. Laws with their gains are texts (JSON) on ``/setting``. What laws
    remember is on ``/law_memory``, and the words of faults are on ``/note``.

    Args:
        recording: Recording to write to.
        n: Number of joints.
        metadata: Metadata of the record, see :func:`metadata_of`.
    """

    def __init__(self, recording: McapRecording, n: int, metadata: Mapping[str, Any]) -> None:
        recording.describe(**metadata)
        self._recording = recording
        self._cycles = recording.numbers_channel(CYCLE_TOPIC, cycle_message(n))
        self._settings = recording.text_channel(SETTING_TOPIC)
        self._memories = recording.text_channel(MEMORY_TOPIC)
        self._notes = recording.text_channel(NOTE_TOPIC)
        self._last_setting = -1
        self._fault = ""

    def put(self, record: CycleRecord) -> None:
        """Write the next cycles."""
        if not len(record):
            return
        times = record["time"]
        begin = times[0]
        for setting in record.settings:
            if setting.number > self._last_setting:
                self._last_setting = setting.number
                self._recording.put_text(self._settings, _setting_text(setting), begin)
        for memory in record.memories:
            self._recording.put_text(
                self._memories, json.dumps(memory._asdict() | {"row": memory.row.tolist()}), begin
            )
        for note in record.notes:
            if note.fault != self._fault:
                self._fault = note.fault
                self._recording.put_text(self._notes, json.dumps(note._asdict()), begin)
        for row, stamp in zip(record.rows, times, strict=True):
            self._recording.put_row(self._cycles, row, stamp)


def cycle_message(n: int) -> NumbersMessage:
    """The type of the messages on ``/cycle``, for n joints."""
    sizes = {field.name: int(np.prod(field.sizes(n))) for field in CYCLE.kept}
    texts = {
        field.name: [", ".join(filter(None, (field.unit, field.meaning, field.frame)))]
        for field in CYCLE.kept
    }
    return NumbersMessage(KIND, sizes, texts)


@lru_cache
def _definition(n: int) -> str:
    """Text of the type of the messages on ``/cycle``, for n joints."""
    return cycle_message(n).definition()


def _setting_text(setting: LawSetting) -> str:
    gains = {name: _plain(getattr(setting.gains, name)) for name in _names(setting.gains)}
    return json.dumps(
        {"number": setting.number, "cycle": setting.cycle, "law": setting.law, "gains": gains}
    )


def _names(gains: Any) -> list[str]:
    return [spec.name for spec in gain_specs(type(gains))]


def _plain(value: Any) -> Any:
    return value.tolist() if isinstance(value, np.ndarray) else value


_Item = TypeVar("_Item", LawSetting, LawMemory, Note)


class CycleFile:
    """Reads a file of :class:`CycleWriter`, also one that was cut off: to its end.

    Args:
        path: Path of the file.

    Attributes:
        metadata: Metadata of the record, by name.
        complete: True where the record was written to its end; known once :meth:`blocks` has ended.

    Raises:
        ConfigError: it can't be read, is no MCAP file, or has no cycles.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self.metadata: dict[str, str] = {}
        self.complete = False
        for _ in self._messages():
            break
        if MODEL not in self.metadata:
            raise refused("record", str(path), f"has no cycles of a control loop on {CYCLE_TOPIC}")

    def model(self) -> RobotModel:
        """The model of the robot that was recorded.

        Raises:
            ModelError: its description can't be read.
        """
        made_of = json.loads(self.metadata[MODEL])
        parts = made_of["joints"], made_of["base"], made_of["tip"], made_of["rotor_inertia"]
        model = RobotModel(self.metadata["description"], *parts)
        limits: dict[str, Any] = {
            name: np.array(values) for name, values in made_of["limits"].items()
        }
        model.limits = replace(model.limits, **limits)
        return model

    def blocks(self, size: int = BLOCK) -> Iterator[CycleRecord]:
        """The cycles in order, so many at once.

        Raises:
            ConfigError: the record is of a version whose cycles, laws or gains this one doesn't
                know.
        """
        n = len(json.loads(self.metadata["joints"]))
        gathered = _Gathered(n)
        for topic, definition, data in self._messages():
            if topic == CYCLE_TOPIC:
                gathered.rows.append(self._row(definition, data, n))
                if len(gathered.rows) == size:
                    yield gathered.record()
            elif topic == SETTING_TOPIC:
                gathered.settings.append(self._setting(json.loads(decode_text(data)), n))
            elif topic == MEMORY_TOPIC:
                memory = json.loads(decode_text(data))
                gathered.memories.append(
                    LawMemory(memory["cycle"], memory["setting"], np.array(memory["row"]))
                )
            elif topic == NOTE_TOPIC:
                gathered.notes.append(Note(**json.loads(decode_text(data))))
        if gathered.rows:
            yield gathered.record()

    def _messages(self) -> Iterator[tuple[str, str, bytes]]:
        messages = McapMessages(self.path, (CYCLE_TOPIC, SETTING_TOPIC, MEMORY_TOPIC, NOTE_TOPIC))
        self.metadata = messages.metadata
        yield from messages
        self.complete = messages.complete

    def _row(self, definition: str, data: bytes, n: int) -> Array:
        """A cycle (width,), with NaN for what its version didn't keep."""
        if definition == _definition(n):
            return decode_row(data)
        values = decode_numbers(definition, data)
        row = np.full(CYCLE.kept_width(n), np.nan)
        named = row.view(CYCLE.kept_dtype(n))[0]
        for field in CYCLE.kept:
            value = values.get(field.name)
            if value is not None and value.size == int(np.prod(field.sizes(n))):
                named[field.name] = value.reshape(field.sizes(n))
            elif field.name in NEEDED:
                raise refused(
                    "record",
                    str(self.path),
                    f"its cycles have no {field.name} of this version's size",
                )
        return row

    def _setting(self, given: Mapping[str, Any], n: int) -> LawSetting:
        kind = law_class(given["law"]).Gains
        gains = make_gains(kind, {}, n)
        specs = {spec.name: spec for spec in gain_specs(kind)}
        values = {}
        for name, value in given["gains"].items():
            if name not in specs:
                raise refused(
                    "record",
                    str(self.path),
                    f"law {given['law']} had a gain {name}, which it hasn't now",
                )
            values[name] = np.array(value) if isinstance(value, list) else value
        return LawSetting(given["number"], given["cycle"], given["law"], changed(gains, values))


class _Gathered:
    """Items that have been read, until there are enough cycles."""

    def __init__(self, n: int) -> None:
        self._n = n
        self.rows: list[Array] = []
        self.settings: list[LawSetting] = []
        self.memories: list[LawMemory] = []
        self.notes: list[Note] = []

    def record(self) -> CycleRecord:
        """The record of what was read; then the next one begins."""
        rows = np.array(self.rows)
        last = int(rows[-1, CYCLE.place("number", self._n)])
        settings, later_settings = _parted(self.settings, last)
        memories, later_memories = _parted(self.memories, last)
        notes, later_notes = _parted(self.notes, last)
        self.rows = []
        self.settings = settings[-1:] + later_settings  # the last one goes on
        self.memories = later_memories
        self.notes = notes[-1:] + later_notes
        return CycleRecord(rows, tuple(settings), tuple(memories), tuple(notes), self._n)


def _parted(items: list[_Item], last: int) -> tuple[list[_Item], list[_Item]]:
    """Items that belong to cycles up to a number, and the later ones."""
    return [each for each in items if each.cycle <= last], [
        each for each in items if each.cycle > last
    ]


def whole_file(path: Path) -> CycleFile:
    """A file that another process writes on this machine, once it is whole.

    Raises:
        ConfigError: it isn't there, or isn't whole after a minute.
    """
    until = time.monotonic() + WRITTEN_WITHIN
    if not path.exists():
        raise refused(
            "record", str(path), "is on the machine of the controller: copy it from there"
        )
    while time.monotonic() < until:
        if is_whole(path):
            return CycleFile(path)
        time.sleep(LOOKS)
    raise ConfigError(
        f"{path} isn't whole after {WRITTEN_WITHIN:g} s: the disk of the controller may be full"
    )


def copy_last(file: CycleFile, path: Path, seconds: float) -> None:
    """Write the last seconds of a file to a new one.

    They may be up to a second more, so that they begin where the law began anew, or with its
    memory, and can be computed again.

    Raises:
        ConfigError: see :class:`CycleFile` and :class:`~.mcap_recording.McapRecording`.
    """
    blocks = list(file.blocks())
    times, numbers, begins = (
        np.concatenate([block[name] for block in blocks]) for name in ("time", "number", "begins")
    )
    memories = [memory for block in blocks for memory in block.memories]
    wanted = int(numbers[np.argmax(times >= times[-1] - seconds)])
    oldest = wanted - round(len(times) / (times[-1] - times[0]))
    first = replayable_begin(memories, numbers[begins == 1.0].astype(int).tolist(), oldest, wanted)
    with McapRecording(path, simulated=True) as recording:
        writer = CycleWriter(recording, blocks[0].joints, file.metadata)
        for block in blocks:
            writer.put(block.since(first))
