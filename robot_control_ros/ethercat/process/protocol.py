"""What the bus's process and the ROS nodes tell each other through shared memory."""

from __future__ import annotations

import os
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ...core.types import Array, Command, CommandMode, RobotState
from ..driver.drive_cycle import DriveCycle
from ..driver.supervisor import Action
from .pacing import TIMING_BYTES
from .shared_memory import SharedFile, lock

REGIONS = {
    "status": 1 << 13,  # each cycle: BusStatus
    "report": 1 << 17,  # for people, as JSON, a few times a second
    "timing": TIMING_BYTES,
    "command": 1 << 12,  # CommandRecord, of the node that drives belong to
    "requests": 1 << 16,  # its requests, as JSON
    "answers": 1 << 16,
    "calls": 1 << 21,  # of a controller whose loop runs in the bus's process, pickled; robot descriptions are long
    "returns": 1 << 18,
    "telemetry": 1 << 17,
    "pulse": 1 << 12,  # that it lives, and the last wrench
}

_MODES = tuple(CommandMode)
_ACTIONS = tuple(Action)


def memory_path(interface: str) -> Path:
    """Where the memory shared by the processes of one bus is: of this user, in this network namespace."""
    namespace = os.stat("/proc/self/ns/net").st_ino
    return Path(f"/dev/shm/robot_control_ros.{os.getuid()}.{namespace}.{interface}")


def lock_bus(memory: Path) -> int:
    """The lock of whoever has the bus with this memory, see :func:`lock`."""
    return lock(f"{memory}.lock", "the bus is another process's")


def open_memory(path: Path, *, create: bool = False) -> SharedFile:
    """That memory; see :class:`SharedFile`."""
    return SharedFile(path, REGIONS, create=create)


@dataclass(frozen=True, eq=False)
class BusStatus:
    """One cycle.

    Attributes:
        state: of the joints in the last fresh cycle, stamped with wall time.
        cycle: number.
        fresh: whether the state is this cycle's.
        action: what the drives shall do.
        in_process: whether a loop in the bus's process commands them.
        working_counter, lost_frames, bad_counters, late_frames, missed: of the exchange; counted since the beginning.
        command: number of the last command that was used.
        following_error: (n,) [rad].
        status_words, error_codes, modes: (n,) 0x6041, 0x603F, 0x6061.
    """

    state: RobotState
    cycle: int
    fresh: bool
    action: Action
    in_process: bool
    working_counter: int
    lost_frames: int
    bad_counters: int
    late_frames: int
    missed: int
    command: int
    following_error: Array
    status_words: tuple[int, ...]
    error_codes: tuple[int, ...]
    modes: tuple[int, ...]


class StatusCodec:
    """A BusStatus as bytes, for n joints."""

    def __init__(self, n: int) -> None:
        self._n = n
        self._struct = struct.Struct(f"=dQ??B5qQ{4 * n}d{n}H{n}H{n}b")

    def pack(self, cycle: DriveCycle, time: float, fresh: bool, in_process: bool, missed: int, command: int) -> bytes:
        """The present status; `time` [s] by the wall."""
        supervisor, data = cycle.supervisor, cycle.data
        frames = supervisor.frames
        counters = (
            frames.working_counter,
            frames.lost_frames,
            frames.bad_counters,
            frames.late_frames,
            missed,
        )
        return self._struct.pack(
            time,
            frames.cycles,
            fresh,
            in_process,
            _ACTIONS.index(supervisor.action),
            *counters,
            command,
            *data.q.tolist(),
            *data.v.tolist(),
            *data.effort.tolist(),
            *data.following_error.tolist(),
            *data.status_words,
            *data.error_codes,
            *data.mode_displays,
        )

    def unpack(self, record: bytes) -> BusStatus:
        """The inverse."""
        n, values = self._n, self._struct.unpack(record)
        time, number, fresh, in_process, action, counter, lost, bad, late, missed, command = values[:11]
        numbers = np.array(values[11 : 11 + 4 * n]).reshape(4, n)
        words = values[11 + 4 * n :]
        return BusStatus(
            RobotState(time, numbers[0], numbers[1], numbers[2]),
            *(number, fresh, _ACTIONS[action], in_process, counter, lost, bad, late, missed, command),
            numbers[3],
            words[:n],
            words[n : 2 * n],
            words[2 * n :],
        )


class CommandCodec:
    """A command as bytes, with its time [s] by time.monotonic(), for n joints."""

    def __init__(self, n: int) -> None:
        self._n = n
        self._struct = struct.Struct(f"=dB??{3 * n}d")
        self._nothing = [0.0] * n

    def pack(self, command: Command, time: float) -> bytes:
        """As bytes."""
        velocity, feedforward = command.velocity, command.feedforward
        parts: Sequence[float] = [
            *command.values.tolist(),
            *(self._nothing if velocity is None else velocity.tolist()),
            *(self._nothing if feedforward is None else feedforward.tolist()),
        ]
        mode = _MODES.index(command.mode)
        return self._struct.pack(time, mode, velocity is not None, feedforward is not None, *parts)

    def unpack(self, record: bytes) -> tuple[Command, float]:
        """The inverse."""
        n = self._n
        time, mode, with_velocity, with_feedforward, *parts = self._struct.unpack(record)
        values = np.array(parts)
        feedforward = values[2 * n :] if with_feedforward else None
        return Command(_MODES[mode], values[:n], feedforward, values[n : 2 * n] if with_velocity else None), time
