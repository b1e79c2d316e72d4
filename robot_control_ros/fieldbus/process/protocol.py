"""Content and place of the memory that the bus's process shares with its clients."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...core.types import Command, CommandMode, RobotState, Wrench
from ..supervisor import Action
from .pacing import TIMING_BYTES
from .rpc import decode, encode
from .shared_memory import SharedFile

# channels: of the process that drives belong to, and of one whose law runs
OWNER = "owner"
CONTROLLER = "controller"
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


def memory_path(address: str) -> Path:
    """Path of the memory shared by the processes of the bus at an address.

    It is this user's, in this network namespace.
    """
    namespace = os.stat("/proc/self/ns/net").st_ino
    name = address.replace("/", "_")
    return Path(f"/dev/shm/robot_control_ros.{os.geteuid()}.{namespace}.{name}")


def open_memory(path: Path, *, create: bool = False) -> SharedFile:
    """Open the memory that the processes of a bus share; see :class:`SharedFile`."""
    return SharedFile(path, REGIONS, create=create)


@dataclass(frozen=True, eq=False)
class BusStatus:
    """Status of one cycle.

    Attributes:
        state: State of the joints in the last fresh cycle, stamped with wall time.
        cycle: Number of the cycle.
        fresh: True where the state is this cycle's.
        action: Action that the drives shall do.
        in_process: True where a loop in the bus's process commands them.
        overruns: Number of cycles that were left out since the beginning.
        counters: Numbers of the bus for the diagnostics, see :meth:`~..driver.Driver.counters`.
    """

    state: RobotState
    cycle: int
    fresh: bool
    action: Action
    in_process: bool
    overruns: int
    counters: Mapping[str, float]

    @classmethod
    def decode(cls, record: bytes) -> BusStatus:
        """Status of a record that :func:`.rpc.encode` made."""
        given = decode(record)
        given |= {"state": read_state(given["state"]), "action": Action(given["action"])}
        return cls(**given)


def encode_command(command: Command, time: float) -> bytes:
    """Encode a command and when it was given [s, by time.monotonic()]."""
    return encode((command, time))


def decode_command(record: bytes) -> tuple[Command, float]:
    """The command and its time [s] that :func:`encode_command` encoded."""
    command, time = decode(record)
    return read_command(command), time


def read_command(given: dict[str, Any]) -> Command:
    """A command that was decoded."""
    return Command(**{**given, "mode": CommandMode(given["mode"])})


def read_wrench(given: dict[str, Any] | None) -> Wrench | None:
    """A sensor's sample that was decoded."""
    return None if given is None else Wrench(**given)


def read_state(given: dict[str, Any]) -> RobotState:
    """A state that was decoded."""
    return RobotState(**{**given, "wrench": read_wrench(given["wrench"])})
