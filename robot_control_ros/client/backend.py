"""What stands behind a :class:`~.robot.Robot`: a controller over ROS, or a simulation."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from ..control.payload_input import figures_of
from ..control.requests import Value
from ..core.types import Array
from ..recording.mcap_recording import McapRecording
from ..robot.configuration import RobotConfig
from ..robot.gripper import Fingers
from ..robot.model import RobotModel
from ..robot.payload import Payload
from .snapshot import Snapshot
from .state_feed import StateFeed

PUSH_LASTS = 0.2  # s of simulated time that a push acts without a newer one


@dataclass(frozen=True)
class Diagnosis:
    """Report of a part of the system on itself, as a diagnostic_msgs/DiagnosticStatus has it."""

    level: int  # 0 is fine, 1 a warning, 2 an error, 3 nothing known
    message: str = ""
    values: Mapping[str, str] = field(default_factory=dict)  # by name


def told_payload(parameters: Mapping[str, Any]) -> Payload:
    """Payload that a controller was told, from its parameters by name."""
    return Payload(*(parameters[f"payload.{name}"] for name in figures_of(Payload())))


class RobotBackend(Protocol):
    """A robot under a law. What the controller refuses is a ConfigError with its words.

    Attributes:
        config: Configuration of the robot.
        feed: States and faults of the robot.
        concurrent: True where states come while nobody waits for them.
        simulated: True for a simulation in this process.
    """

    config: RobotConfig
    feed: StateFeed
    concurrent: bool
    simulated: bool

    @property
    def model(self) -> RobotModel:
        """Model of the robot."""

    @property
    def record_topics(self) -> Callable[[McapRecording], None] | None:
        """Function that writes the topics to a record until that is closed; None without topics."""

    @property
    def gripper(self) -> Fingers | None:
        """Fingers on the tip; None where there are none."""

    @property
    def law(self) -> str:
        """Name of the law that runs."""

    @property
    def diagnostics(self) -> Mapping[str, Diagnosis]:
        """Newest report of each part of the system, by name."""

    def parameters(self) -> Mapping[str, Value]:
        """Gains of the law by name, and settings, such as ``wrench.…`` and ``workspace.…``."""

    def clock(self) -> float:
        """Time that time-outs count by [s]."""

    def advance(self, seen: Snapshot | None, limit: float) -> None:
        """Return at another state than `seen`, or at a fault; after `limit` seconds at most."""

    def move_to(self, pose: Array) -> float:
        """Make a pose (4, 4) the target; states later than the returned time [s] are under it."""

    def move_joints_to(self, q: Array) -> float:
        """Make joint angles (n,) the target; see :meth:`move_to`."""

    def follow_joints(self, times: Array, positions: Array, velocities: Array | None) -> float:
        """Follow joint angles (k, n) at times (k,) [s] from now; see :meth:`move_to`."""

    def follow_joint_chunk(self, times: Array, positions: Array, start: float | None) -> float:
        """Follow a chunk of joint angles (k, n) at times (k,) [s] from a start.

        Args:
            times, positions: Times (k,) from the start [s], and joint angles (k, n) [rad].
            start: Start by the robot's clock [s]; None for that of the newest state.

        Returns:
            Time [s], see :meth:`move_to`.
        """

    def follow_tip_chunk(self, times: Array, poses: Array, start: float | None) -> float:
        """Follow a chunk of poses (k, 4, 4); see :meth:`follow_joint_chunk`."""

    def set_posture(self, q: Array) -> float:
        """Make joint angles (n,) the posture of the null space; see :meth:`move_to`."""

    def jog(self, twist: Array) -> None:
        """Move the reference with a twist (6,) for 0.2 s."""

    def push(self, force: Array) -> None:
        """Push the tip of a simulated arm with a force (3,), base axes [N], for 0.2 s."""

    def hold(self) -> None:
        """Hold the robot where it is."""

    def interrupt(self) -> None:
        """Hold, without waiting for an answer, and without an error."""

    def set_parameters(self, values: Mapping[str, Value]) -> None:
        """Change gains and settings, all or none."""

    def set_law(self, name: str) -> None:
        """Go on with another law."""

    def zero_wrench(self) -> str:
        """Make the present wrench zero; returns what was done."""

    def save_cycles(self, path: Path, seconds: float) -> None:
        """Write the last seconds of control cycles to a new MCAP file."""

    def clear_contact(self) -> str:
        """End the reaction to a contact; returns what was cleared."""

    def request(self, service: str) -> str:
        """Request a service of the robot's nodes by its name; returns its answer."""

    def close(self) -> None:
        """Release everything; the robot stays as it is."""
