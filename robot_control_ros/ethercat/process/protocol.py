"""What the bus's process and its clients write into the memory that they share, and where it is."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ...core.types import Array, RobotState
from ..driver.drive_cycle import DriveCycle
from ..driver.supervisor import Action
from .pacing import TIMING_BYTES
from .shared_memory import SharedFile, lock

OWNER, CONTROLLER = "owner", "controller"  # channels: of the process that drives belong to, and of one whose law runs
REGIONS = {
    "status": 1 << 13,  # each cycle: BusStatus
    "report": 1 << 17,  # for people, a few times a second
    "timing": TIMING_BYTES,
    "command": 1 << 12,  # of the owner: a command and its time
    f"{OWNER}.call": 1 << 16,
    f"{OWNER}.answer": 1 << 16,
    f"{CONTROLLER}.call": 1 << 22,  # robot descriptions are long
    f"{CONTROLLER}.answer": 1 << 18,
    "telemetry": 1 << 17,
    "pulse": 1 << 12,  # of the controller: it lives, and its last wrench
}


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
        time: by the wall [s].
        joints: (4, n) in the last fresh cycle: angles [rad], velocities [rad/s], torques [N·m], following errors [rad].
        cycle: number.
        fresh: whether they are this cycle's.
        action: what the drives shall do.
        in_process: whether a loop in the bus's process commands them.
        working_counter, lost_frames, bad_counters, late_frames, overruns: of the exchange; counted since the beginning.
        status_words, modes: (n,) 0x6041, 0x6061.
    """

    time: float
    joints: Array
    cycle: int
    fresh: bool
    action: Action
    in_process: bool
    working_counter: int
    lost_frames: int
    bad_counters: int
    late_frames: int
    overruns: int
    status_words: list[int]
    modes: list[int]

    @classmethod
    def of(cls, drives: DriveCycle, time: float, fresh: bool, in_process: bool, overruns: int) -> BusStatus:
        """The present one; `time` [s] by the wall."""
        frames, data = drives.supervisor.frames, drives.data
        return cls(
            time=time,
            joints=np.array((data.q, data.v, data.effort, data.following_error)),
            cycle=frames.cycles,
            fresh=fresh,
            action=drives.supervisor.action,
            in_process=in_process,
            working_counter=frames.working_counter,
            lost_frames=frames.lost_frames,
            bad_counters=frames.bad_counters,
            late_frames=frames.late_frames,
            overruns=overruns,
            status_words=data.status_words,
            modes=data.mode_displays,
        )

    @property
    def state(self) -> RobotState:
        """Of the joints, stamped with wall time."""
        return RobotState(self.time, *self.joints[:3])

    @property
    def following_error(self) -> Array:
        """(n,) [rad]; 0 where the drives don't report it."""
        return np.asarray(self.joints[3])
