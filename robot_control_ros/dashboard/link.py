"""What the page knows of a running system and can request from it. The node implements it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from ..control.requests import CycleReply, Parameter, Reply, Value
from ..core.types import Array
from ..identification.session_thread import IdentificationThread
from ..robot.configuration import RobotConfig
from ..robot.gripper import Fingers

LOST = 0.5  # s without joint states, after which the robot is lost


@dataclass(frozen=True, eq=False)
class DrawnObject:
    """Something around the robot, or a tool on it."""

    name: str  # unique
    shape: str  # sphere, box or cylinder
    size: Array  # (3,) [m] lengths along its axes
    pose: Array  # (4, 4) in the frame
    colour: tuple[float, float, float]  # (3,) from 0 to 1
    frame: str  # of the pose: the base, or the link that carries it
    led: bool = False  # whether it takes a target position


@dataclass(frozen=True, eq=False)
class Neighbour:
    """Another arm in the ROS domain."""

    robot: RobotConfig
    urdf: str  # text of its description
    q: Array | None = None  # (n,) joint positions [rad]; None until they are known


@dataclass(frozen=True, eq=False)
class RobotTelemetry:
    """The newest measurements; None if nothing has come yet."""

    q: Array | None = None  # (n,) joint positions [rad]
    reference: Array | None = None  # (4, 4) pose in the base
    wrench: Array | None = None  # (6,) by the environment on the tip, base axes [N, N·m]
    contact: Array | None = None  # (6,) the same, of the simulated contacts alone
    objects: tuple[DrawnObject, ...] = ()  # of the scene
    # of ~/state, by name, see docs/controller.md
    blocks: Mapping[str, Array] = field(default_factory=dict)
    samples: int = 0  # number of blocks so far; see :meth:`RobotLink.recent`


@dataclass(frozen=True)
class Health:
    """State of the controller."""

    answers: bool = False  # whether messages of it came lately
    silence: float = 0.0  # since the last message [s]
    lifecycle: str = ""  # unconfigured, inactive, active, …; empty if unknown
    executing: bool | None = None  # whether the robot executes commands; None if unknown
    # the controller's values in /diagnostics, by name
    diagnosis: Mapping[str, str] = field(default_factory=dict)
    problem: str = ""  # message of an error or warning in /diagnostics
    # whether the problem is an error, as somebody else who commands the robot is
    alarm: bool = False
    drives: str = ""  # state of the EtherCAT drives; empty if there are none
    robot_silence: float = 0.0  # since the last joint states [s]
    # by whom STOP was pressed, where it holds the controller; empty where it doesn't
    stopped: str = ""
    # whether the controller's node is there, and hasn't answered yet: it compiles the laws
    starting: bool = False

    @property
    def obstacle(self) -> str:
        """Reason why the robot doesn't follow commands; empty if it does."""
        if self.starting:
            return "the controller starts"
        if not self.answers:
            return "the controller doesn't answer" + (
                f" for {self.silence:.0f} s" if self.silence >= 1.0 else ""
            )
        if self.stopped and self.lifecycle != "active":
            return f"{self.stopped}: the robot isn't commanded"
        if self.lifecycle != "active":
            return f"controller {self.lifecycle or 'found'}: the robot isn't commanded"
        return "active, but the robot executes no commands" if self.executing is False else ""

    @property
    def lost(self) -> str:
        """Sentence about what sends nothing any more; empty if all do.

        The page shows old values then.
        """
        if self.starting:
            return "The controller starts."
        if not self.answers:
            return "Controller lost: it doesn't answer."
        return "Robot lost: it sends no joint states." if self.robot_silence > LOST else ""

    @property
    def commands(self) -> bool:
        """True where the controller commands the robot."""
        return self.answers and self.lifecycle == "active"


class RobotLink(Protocol):
    """One robot under one controller. Every method returns at once, from any thread; replies come
    in another thread.

    Attributes:
        robot: Configuration of the robot.
        urdf: Text of the robot's description.
        arm: Name of the arm among several: the namespace; empty where it is the only one.
        identification: Identification of the robot, in a thread of its own.
    """

    robot: RobotConfig
    urdf: str
    arm: str
    identification: IdentificationThread

    def others(self) -> tuple[str, ...]:
        """Names of the other arms in this ROS domain, which :meth:`stop_all` stops, too."""

    def neighbours(self) -> Mapping[str, Neighbour]:
        """The other arms whose robots are known on this machine, by name."""

    @property
    def gripper(self) -> Fingers | None:
        """Fingers of the robot's gripper; None where it has none."""

    def telemetry(self) -> RobotTelemetry:
        """The newest telemetry."""

    def recent(self, after: int) -> Sequence[Mapping[str, Array]]:
        """Blocks of the controller's ~/state since sample number `after`, oldest first, the
        newest 3000 at most.
        """

    def read_cycles(self, first: int, fields: Sequence[str], reply: CycleReply) -> None:
        """Read cycles from the controller's memory of its last minute, a part at a time.

        Args:
            first: Number of the first cycle; a negative one counts from the newest on back. Cycles
                that are no longer kept are left out.
            fields: Names of fields of :data:`~..core.cycle.CYCLE` that recorders keep.
            reply: Function that gets as many cycles as fit in one answer.
        """

    def health(self) -> Health:
        """The state of the controller."""

    def law(self) -> str:
        """Name of the running law; empty until it is known."""

    def parameters(self) -> Mapping[str, Parameter]:
        """Gains of the running law, then the wrench's settings, by name; another
        object after each change.
        """

    def set_law(self, name: str, reply: Reply) -> None:
        """Change to another law."""

    def set_gains(self, values: Mapping[str, Value], reply: Reply) -> None:
        """Change gains of the running law and settings of the wrench, all or none."""

    def requests(self) -> frozenset[str]:
        """Names of requests that are possible now: controller/hold, drives/enable, …

        simulator/push means that :meth:`push` works.
        """

    def request(self, name: str, reply: Reply) -> None:
        """Make a request of :meth:`requests`."""

    def pause(self, paused: bool, reply: Reply) -> None:
        """Pause the simulation, or continue."""

    def change_state(self, transition: str, reply: Reply) -> None:
        """Ask for a lifecycle transition: configure, activate, deactivate, cleanup.

        activate ends STOP.
        """

    def stop(self, reply: Reply) -> None:
        """Safe output, then no commands until STOP is released; EtherCAT drives are braked."""

    def stop_all(self, reply: Reply) -> None:
        """Stop this arm and all others, each as :meth:`stop` does; a reply for each."""

    def set_target_pose(self, pose: Array) -> None:
        """Make (4, 4), in the base, the target of the tip."""

    def set_target_joints(self, q: Array) -> None:
        """Make joint positions (n,) [rad, m] the target."""

    def set_target_posture(self, q: Array) -> None:
        """Make joint positions (n,) [rad, m] the posture of the null space."""

    def set_target_twist(self, twist: Array, frame: str) -> None:
        """Move the tip with a twist (6,) [m/s, rad/s] in the axes of a frame, for
        0.2 s; zeros stop it.
        """

    def set_target_wrench(self, wrench: Array) -> None:
        """Let the tip exert a wrench (6,) [N, N·m], base axes, tip origin, until the
        next; zeros end it.
        """

    def push(self, link: str, force: Array) -> None:
        """Push a link at its origin with a force (3,) [N] in its axes, for 0.2 s; zeros end it."""

    def set_object_target(self, name: str, position: Array) -> None:
        """Move an object of the scene to a position (3,) [m] in the base."""
