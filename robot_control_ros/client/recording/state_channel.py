"""A robot's states and events in a record."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np

from ...control.requests import Value
from ...core.errors import RobotControlError
from ...core.gains import AXES
from ...recording.file_recording import LARGEST, FileRecording
from ...recording.mcap_recording import McapRecording
from ...recording.named_numbers import NumbersMessage
from ..backend import RobotBackend
from ..snapshot import Snapshot
from ..state_feed import Event, StateFeed
from ..state_recording import StateRecording
from .csv_recording import CsvRecording

STATE_TOPIC = "/state"
EVENT_TOPIC = "/event"
STIFFNESS_TOPIC = "/stiffness"
STATE = "robot_control_ros/msg/State"
STIFFNESS = "robot_control_ros/msg/Stiffness"
OF_TIP = ("pose_error", "twist", "wrench", "target_wrench")  # blocks with linear and angular axes


def record_robot(backend: RobotBackend, path: str | Path, largest: int = LARGEST) -> FileRecording:
    """Record a robot's states until the record is closed; see Robot.record."""
    robot = backend.config
    if Path(path).suffix.lower() == ".csv":
        newest = backend.feed.newest
        start = 0.0 if newest is None else newest.time
        table = CsvRecording(path, robot.joints, simulated=backend.simulated, largest=largest)
        _listen(backend.feed, table, StateRecording(table.put_item, start).take)
        return table
    about = {"robot": robot.name, "joints": robot.joints}
    recording = McapRecording(path, metadata=about, simulated=backend.simulated, largest=largest)
    try:
        channel = StateChannel(recording, backend.feed, robot.joints, backend.parameters)
        _listen(backend.feed, recording, channel.take)
        if backend.record_topics is not None:
            backend.record_topics(recording)
    except BaseException:
        recording.close()
        raise
    return recording


def stiffness_message(size: int) -> NumbersMessage:
    """The type of messages of the stiffness, with its time [s]."""
    return NumbersMessage(STIFFNESS, {"time": 1, "stiffness": size}, {})


class StateChannel:
    """Writes states, faults and contacts to a record, and the law's stiffness when it changes.

    Args:
        recording: Record that is written.
        feed: Feed whose newest state has the time of an event.
        joints: Names of the joints.
        parameters: Function that returns the present gains.
    """

    def __init__(
        self,
        recording: McapRecording,
        feed: StateFeed,
        joints: Sequence[str],
        parameters: Callable[[], Mapping[str, Value]],
    ) -> None:
        self._recording = recording
        self._feed = feed
        self._joints = tuple(joints)
        self._parameters = parameters
        self._stiffness: Value | None = None  # the last one that was written
        self._stiffnesses: dict[int, int] = {}  # the channel for so many numbers
        # the channel for states of these sizes
        self._states: dict[tuple[tuple[str, int], ...], int] = {}
        self._events = recording.text_channel(EVENT_TOPIC)

    def take(self, event: Event) -> None:
        """A state goes to ``/state``, what else comes to ``/event``."""
        if isinstance(event, Snapshot):
            self._recording.put_numbers(self._channel(event), event.blocks, event.time)
            self._put_stiffness(event.time)
            return
        newest = self._feed.newest
        kind = "fault" if isinstance(event, RobotControlError) else "contact"
        self._recording.put_text(
            self._events, f"{kind}: {event}", 0.0 if newest is None else newest.time
        )

    def _put_stiffness(self, time: float) -> None:
        """Write the law's stiffness where it is another one than before."""
        stiffness = self._parameters().get("stiffness")
        if stiffness is None or stiffness == self._stiffness:
            return
        self._stiffness = stiffness
        values = np.atleast_1d(np.asarray(stiffness, dtype=float))
        size = values.size
        if size not in self._stiffnesses:
            channel = self._recording.numbers_channel(STIFFNESS_TOPIC, stiffness_message(size))
            self._stiffnesses[size] = channel
        message = {"time": np.array([time]), "stiffness": values}
        self._recording.put_numbers(self._stiffnesses[size], message, time)

    def _channel(self, state: Snapshot) -> int:
        """The number of the channel; a law with other terms needs another one."""
        sizes = tuple((name, values.size) for name, values in state.blocks.items())
        if sizes not in self._states:
            message = NumbersMessage(
                STATE, dict(sizes), {name: self._labels(name, size) for name, size in sizes}
            )
            self._states[sizes] = self._recording.numbers_channel(STATE_TOPIC, message)
        return self._states[sizes]

    def _labels(self, name: str, size: int) -> Sequence[str]:
        labels = AXES if name in OF_TIP else self._joints
        return labels if len(labels) == size else ()


def _listen(feed: StateFeed, recording: FileRecording, take: Callable[[Event], None]) -> None:
    feed.listeners.append(take)
    recording.on_close.callback(feed.listeners.remove, take)
