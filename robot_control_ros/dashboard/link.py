"""What the page knows of a running system and can request from it. The node implements it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from ..core.types import Array
from ..robot.configuration import RobotConfig

SETTINGS = ("wrench.", "workspace.")  # prefixes of parameters that are no gains of the law
Value = bool | float | str | tuple[float, ...]


def split(name: str) -> tuple[str, str]:
    """A parameter's prefix, one of SETTINGS or empty for the law's own, and what follows."""
    prefix = next((each for each in SETTINGS if name.startswith(each)), "")
    return prefix, name.removeprefix(prefix)


@dataclass(frozen=True)
class RequestResult:
    """How a request ended."""

    accepted: bool  # whether it was done
    message: str = ""  # why it was refused, or what came of it


Reply = Callable[[RequestResult], None]


@dataclass(frozen=True)
class Parameter:
    """A gain of the running law, or a setting of the wrench or the workspace, as its node declares it."""

    name: str  # without the law's name; of settings with one of SETTINGS in front
    value: Value  # at the node; a tuple where it is one number per axis or joint
    default: Value  # of this law on this robot; the first value that came where nobody knows
    text: str = ""  # one sentence
    unit: str = ""  # of each value; two, separated by a comma, where the last three of six are of rotations
    lower: float = 0.0  # bound of each number
    upper: float = 1.0  # bound of each number
    choices: tuple[str, ...] = ()  # where it is a word
    axes: tuple[str, ...] = ()  # names of the values, where they are known


@dataclass(frozen=True, eq=False)
class DrawnObject:
    """Something around the robot, or a tool on it."""

    name: str  # unique
    shape: str  # sphere, box or cylinder
    size: Array  # (3,) [m] lengths along its axes
    pose: Array  # (4, 4) in the frame
    colour: tuple[float, float, float]  # (3,) from 0 to 1
    frame: str  # that the pose is in: the base, or a link that it is fixed to
    led: bool = False  # whether it can be given a place to go to


@dataclass(frozen=True, eq=False)
class RobotTelemetry:
    """The newest of everything measured; None where nothing has come yet."""

    q: Array | None = None  # (n,) joint positions [rad]
    reference: Array | None = None  # (4, 4) pose in the base
    wrench: Array | None = None  # (6,) by the environment on the tip, base axes [N, N·m]
    contact: Array | None = None  # (6,) the same, of the simulated contacts alone
    objects: tuple[DrawnObject, ...] = ()  # of the scene
    blocks: Mapping[str, Array] = field(default_factory=dict)  # of ~/state, by name, see docs/controller.md
    samples: int = 0  # how many of these have come; see :meth:`RobotLink.recent`


@dataclass(frozen=True)
class Health:
    """How the controller is."""

    answers: bool = False  # whether it has been heard lately
    silence: float = 0.0  # since it was [s]
    lifecycle: str = ""  # unconfigured, inactive, active, …; empty until it is known
    executing: bool | None = None  # whether the robot carries out commands; None where it doesn't say
    diagnosis: Mapping[str, str] = field(default_factory=dict)  # the controller's values in /diagnostics, by name
    problem: str = ""  # what /diagnostics has to complain of, as the controller says
    drives: str = ""  # state of the EtherCAT drives; empty where there are none

    @property
    def commands(self) -> bool:
        """Whether the controller commands the robot."""
        return self.answers and self.lifecycle == "active"


class RobotLink(Protocol):
    """One robot under one controller. Every method returns at once, from any thread; replies come in another thread.

    Attributes:
        robot: its configuration.
        urdf: text of its description.
    """

    robot: RobotConfig
    urdf: str

    def telemetry(self) -> RobotTelemetry:
        """The newest."""

    def recent(self, after: int) -> Sequence[Mapping[str, Array]]:
        """Blocks of the controller's ~/state since sample number `after`, oldest first, the newest 3000 at most."""

    def health(self) -> Health:
        """At this moment."""

    def law(self) -> str:
        """The running law; empty until it is known."""

    def laws(self) -> Sequence[str]:
        """Laws to choose from."""

    def parameters(self) -> Mapping[str, Parameter]:
        """Gains of the running law, then the wrench's settings, by name; another object after each change."""

    def set_law(self, name: str, reply: Reply) -> None:
        """Go on with another law."""

    def set_gains(self, values: Mapping[str, Value], reply: Reply) -> None:
        """Change gains of the running law and settings of the wrench, all or none."""

    def requests(self) -> frozenset[str]:
        """What can be asked for now: controller/hold, simulator/reset, ethercat/enable, …"""

    def request(self, name: str, reply: Reply) -> None:
        """Ask for it."""

    def pause(self, paused: bool, reply: Reply) -> None:
        """Let the simulation stand still, or go on."""

    def change_state(self, transition: str, reply: Reply) -> None:
        """A lifecycle transition of the controller: configure, activate, deactivate, cleanup."""

    def stop(self, reply: Reply) -> None:
        """Safe output, then no commands; EtherCAT drives are braked."""

    def can_push(self) -> bool:
        """Whether there is a simulation to be pushed in."""

    def set_target_pose(self, pose: Array) -> None:
        """Make (4, 4), in the base, the target of the tip."""

    def set_target_wrench(self, wrench: Array) -> None:
        """Let the tip exert a wrench (6,) [N, N·m], base axes, tip origin, until the next: zeros end it."""

    def push(self, link: str, force: Array) -> None:
        """Push a link at its origin with a force (3,) [N] in its axes, for 0.2 s; zeros end it."""

    def set_object_target(self, name: str, position: Array) -> None:
        """Give an object of the scene a place (3,) [m] in the base to go to."""
