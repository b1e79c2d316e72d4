"""What stands behind a :class:`~.robot.Robot`: a controller over ROS, or a simulation in this process."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Protocol

from ..control.payload_input import figures_of
from ..core.types import Array
from ..recording.mcap_recording import McapRecording
from ..robot.configuration import RobotConfig
from ..robot.gripper import Fingers
from ..robot.model import RobotModel
from ..robot.payload import Payload
from .snapshot import Snapshot
from .state_feed import StateFeed

Value = bool | float | str | tuple[float, ...]


def told_payload(parameters: Mapping[str, Any]) -> Payload:
    """The payload that a controller was told, from its parameters by name."""
    return Payload(*(parameters[f"payload.{name}"] for name in figures_of(Payload())))


class RobotBackend(Protocol):
    """A robot under a law. Commands raise what the controller refuses, with its words, as ConfigError.

    Attributes:
        config: of the robot.
        feed: its states and faults.
        concurrent: whether states come while nobody waits for them.
        simulated: whether it is a simulation in this process.
    """

    config: RobotConfig
    feed: StateFeed
    concurrent: bool
    simulated: bool

    @property
    def model(self) -> RobotModel:
        """Of the robot."""

    @property
    def record_topics(self) -> Callable[[McapRecording], None] | None:
        """Writes its topics to a record until that is closed; None where it has none."""

    @property
    def gripper(self) -> Fingers | None:
        """On the tip; None where there is none."""

    @property
    def law(self) -> str:
        """The name of the law that runs."""

    def parameters(self) -> Mapping[str, Value]:
        """The gains of the law by name, and the settings, such as ``wrench.…`` and ``workspace.…``."""

    def clock(self) -> float:
        """The time that time-outs count by [s]."""

    def advance(self, seen: Snapshot | None, limit: float) -> None:
        """Return when there is another state than `seen`, or a fault; after `limit` seconds at the latest."""

    def move_to(self, pose: Array) -> float:
        """Make a pose (4, 4) the target; states later than the returned time [s] are under it."""

    def move_joints_to(self, q: Array) -> float:
        """Make joint angles (n,) the target; see :meth:`move_to`."""

    def jog(self, twist: Array) -> None:
        """Move the reference with a twist (6,) for 0.2 s."""

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

    def close(self) -> None:
        """Release everything; the robot stays as it is."""
