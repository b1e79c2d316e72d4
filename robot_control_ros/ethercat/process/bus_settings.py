"""What the bus's process is started with."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass


@dataclass(frozen=True)
class BusSettings:
    """Options of the bus's process, as they go through its command line.

    Attributes:
        interface: name of the network interface.
        topology: name or path.
        robot, profile: name of the robot, or path of its file, and its profile.
        memory: path of the shared memory, which is there.
        wake: file descriptor of a socket that gets a byte per cycle; its other end's close ends the process.
        priority: of SCHED_FIFO; 0 for none.
        processor: that the process stays on; -1 for any.
        command_timeout: age of a command at which the drives are stopped [s].
        bad_cycles: so many in a row stop them.
        frame_timeout: longest wait for a frame [s]; 0 for half a cycle.
        in_process: whether a controller's loop may run here; its libraries are loaded before the bus starts then.
        watchdog: time after which slaves without process data stop by themselves [s]; 0 for the topology's.
        stop_time: longest wait for stopped drives to come to rest before they are disabled [s].
    """

    interface: str
    topology: str
    robot: str
    profile: str
    memory: str
    wake: int
    priority: int
    processor: int
    command_timeout: float
    bad_cycles: int
    frame_timeout: float
    in_process: bool
    watchdog: float
    stop_time: float

    def to_json(self) -> str:
        """For the command line."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> BusSettings:
        """The inverse."""
        return cls(**json.loads(text))
