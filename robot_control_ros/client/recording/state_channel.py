"""A robot's states in an MCAP record, as objects of named numbers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ...core.errors import RobotControlError
from ...core.gains import AXES
from ...core.types import Array
from ..backend import RobotBackend
from ..snapshot import Snapshot
from ..state_feed import Event, StateFeed
from .mcap_recording import McapRecording

STATE_TOPIC, EVENT_TOPIC = "/state", "/event"
OF_TIP = ("pose_error", "twist", "wrench", "target_wrench")  # blocks with linear and angular axes


def record_robot(backend: RobotBackend, path: str | Path) -> McapRecording:
    """Record a robot's states, and its topics where it has some, until the record is closed; see McapRecording."""
    robot, topics = backend.config, backend.record_topics
    about = {"robot": robot.name, "joints": robot.joints}
    recording = McapRecording(path, profile="ros2" if topics else "", metadata=about, simulated=backend.simulated)
    try:
        StateChannel(recording, backend.feed, robot.joints)
        if topics is not None:
            topics(recording)
    except BaseException:
        recording.close()
        raise
    return recording


class StateChannel:
    """Writes each state, fault and contact of a feed until the record is closed.

    Args:
        recording: to write to.
        feed: of the states.
        joints: their names.
    """

    def __init__(self, recording: McapRecording, feed: StateFeed, joints: Sequence[str]) -> None:
        self._recording, self._feed, self._joints = recording, feed, tuple(joints)
        self._states, self._events = recording.json_channel(STATE_TOPIC), recording.json_channel(EVENT_TOPIC)
        feed.listeners.append(self._take)
        recording.on_close.callback(feed.listeners.remove, self._take)

    def _take(self, event: Event) -> None:
        if isinstance(event, Snapshot):
            self._recording.put_json(self._states, named_numbers(event, self._joints), event.time)
        else:
            newest, kind = self._feed.newest, "fault" if isinstance(event, RobotControlError) else "contact"
            self._recording.put_json(self._events, {kind: str(event)}, 0.0 if newest is None else newest.time)


def named_numbers(state: Snapshot, joints: tuple[str, ...]) -> dict[str, Any]:
    """The blocks of a state: single numbers, objects by joint or axis, or lists; null where there is no number."""
    return {name: _named(name, values, joints) for name, values in state.blocks.items()}


def _named(name: str, values: Array, joints: tuple[str, ...]) -> Any:
    numbers = [value if math.isfinite(value) else None for value in values.tolist()]
    if len(numbers) == 1:
        return numbers[0]
    labels = AXES if name in OF_TIP else joints
    return dict(zip(labels, numbers, strict=True)) if len(labels) == len(numbers) else numbers
