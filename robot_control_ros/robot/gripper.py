"""Grippers with parallel fingers: config/grippers/<name>.yaml, or a file of the user's own.

One joint is driven; the fingers' other joints follow it by ``<mimic>`` of the description. None of
them is a joint of the robot's: a law never sees them. Commands are a position of the driven joint
and a force between the fingers.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple, Protocol
from xml.etree import ElementTree

import numpy as np

from ..core.errors import ConfigError, ModelError, refused, unknown
from ..core.input_files import read_text
from ..core.types import Array
from .description import parse_description, place_description, prefixed, root_link
from .files import found_urdf, read_config
from .schema import SOME, entry, errors_at, read_entries

ACTIONS = ("ParallelGripperCommand", "GripperCommand")
MOVED = 0.0005  # m of the width; less is no motion
REST_TIME = 0.3  # s without motion after which the fingers rest
# s in which fingers away from their target may still begin to move: a command takes its time
START_TIME = 1.0


class FingerJoint(NamedTuple):
    """A joint of the fingers, at `offset + multiplier * position` of the driven joint."""

    name: str
    multiplier: float
    offset: float


def _falling(widths: tuple[float, ...]) -> tuple[float, ...]:
    if len(widths) < 2 or not all(a > b for a, b in pairwise(widths)):
        raise refused("widths", list(widths), "must be two or more, falling from open to closed")
    return widths


@dataclass(frozen=True, kw_only=True)
class GripperConfig:
    """A gripper; `robot_control docs --entries gripper` lists all entries."""

    name: str = entry(doc="Name of the gripper.")
    description: str = entry("", doc="The gripper, for people.")
    urdf_path: Path = entry(
        key="urdf",
        of=str,
        convert=Path,
        doc="Its description, in this file's folder or in the package's urdf/.",
    )
    joint: str = entry(doc="The driven joint; the fingers' other joints follow it by `<mimic>`.")
    tip: str = entry(doc="Frame between the fingers, which becomes the robot's tip.")
    mount: tuple[float, ...] = entry(
        (0.0,) * 6,
        size=6,
        unit="m, rad",
        doc="x, y, z, roll, pitch, yaw of its root link in the robot's own tip.",
    )
    positions: tuple[float, float] = entry(
        size=2, unit="rad or m", doc="Positions of the driven joint: fingers open, fingers closed."
    )
    widths: tuple[float, ...] = entry(
        size=SOME,
        lower=0.0,
        unit="m",
        convert=_falling,
        doc="Widths between the fingers at equally spaced positions, from open to closed; two or more.",
    )
    force: tuple[float, float] = entry(
        size=2, lower=0.0, unit="N", doc="Least and largest force of a finger."
    )
    default_force: float = entry(
        above=0.0, unit="N", doc="Force of a finger where a command names none."
    )
    speed: float = entry(above=0.0, unit="m/s", doc="Largest speed of the width.")
    tolerance: float = entry(
        above=0.0, unit="m", doc="Difference of the width up to which a target counts as reached."
    )
    controller: str = entry(
        doc="Takes the commands: its action `gripper_cmd`, or its topic `commands`."
    )
    action: str = entry(ACTIONS[0], choices=ACTIONS, doc="Type of the action, of control_msgs.")
    file: str = ""
    text: str = field(default="", repr=False)

    def __post_init__(self) -> None:
        names = [joint.name for joint in self.joints]
        if self.joint not in names:
            raise unknown("joint", self.joint, names)
        if self.tip not in (link.get("name") for link in self._tree.iter("link")):
            raise unknown(
                "tip", self.tip, [link.get("name", "") for link in self._tree.iter("link")]
            )

    # --- width and force ---

    def width(self, position: float) -> float:
        """Width between the fingers [m] at a position of the driven joint."""
        return float(np.interp(self._closed(position), self._grid, self.widths))

    def position(self, width: float) -> float:
        """Position of the driven joint at a width [m].

        Raises:
            ConfigError: the width is beyond the fingers' range.
        """
        bound = (self.widths[-1], self.widths[0])
        if not bound[0] <= width <= bound[1]:
            raise refused(
                "width", width, f"must be within [{bound[0]:g}, {bound[1]:g}]", bound, unit="m"
            )
        closed = float(np.interp(width, self.widths[::-1], self._grid[::-1]))
        return self.positions[0] + closed * (self.positions[1] - self.positions[0])

    def lever(self, position: float) -> float:
        """Effort of the driven joint per force of a finger [m, or 1]: the change of the
        width per position.
        """
        return float(np.interp(self._closed(position), self._grid, self._levers))

    def check_force(self, force: float | None) -> float:
        """The force of a command [N]; the default for None.

        Raises:
            ConfigError: it is out of range.
        """
        force = self.default_force if force is None else float(force)
        if not self.force[0] <= force <= self.force[1]:
            low, high = self.force
            raise refused(
                "force", force, f"must be within [{low:g}, {high:g}]", self.force, unit="N"
            )
        return force

    def check_position(self, position: float) -> float:
        """A position of the driven joint; ConfigError where it is beyond the range."""
        low, high = sorted(self.positions)
        if not low <= position <= high:
            raise refused(self.joint, position, f"must be within [{low:g}, {high:g}]", (low, high))
        return position

    def _closed(self, position: float) -> float:
        """Part of the way from open to closed at which the fingers are, from 0 to 1."""
        return (position - self.positions[0]) / (self.positions[1] - self.positions[0])

    @cached_property
    def _grid(self) -> Array:
        return np.linspace(0.0, 1.0, len(self.widths))

    @cached_property
    def _levers(self) -> Array:
        return np.asarray(
            np.abs(np.gradient(self.widths, self._grid) / (self.positions[1] - self.positions[0]))
        )

    # --- description ---

    @cached_property
    def joints(self) -> tuple[FingerJoint, ...]:
        """All joints of the fingers, the driven one first."""
        found = []
        for joint in self._tree.iter("joint"):
            mimic = joint.find("mimic")
            name = joint.get("name", "")
            if mimic is not None and mimic.get("joint") == self.joint:
                numbers = (
                    float(mimic.get(key, default))
                    for key, default in (("multiplier", "1"), ("offset", "0"))
                )
                found.append(FingerJoint(name, *numbers))
            elif name == self.joint:
                found.insert(0, FingerJoint(name, 1.0, 0.0))
            elif joint.get("type") != "fixed":
                raise ModelError(
                    f"gripper {self.name}: joint {name} follows no joint {self.joint}", name=name
                )
        return tuple(found)

    @cached_property
    def root(self) -> str:
        """The link that is mounted on the robot."""
        return root_link(self._tree)

    def with_prefix(self, prefix: str) -> GripperConfig:
        """Gripper on a robot whose joints and frames have a prefix.

        The gripper's controller has none.
        """
        text = place_description(self.text, prefix, ())
        return replace(
            self, joint=prefixed(self.joint, prefix), tip=prefixed(self.tip, prefix), text=text
        )

    def mounted(self, urdf: str, flange: str) -> str:
        """A robot description (its text) with the gripper on the link `flange`."""
        at = urdf.rfind("</robot>")
        inner = self.text[self.text.index(">", self.text.index("<robot")) + 1 :]
        origin = 'xyz="{:.17g} {:.17g} {:.17g}" rpy="{:.17g} {:.17g} {:.17g}"'.format(*self.mount)
        joint = (
            f'<joint name="{flange}-{self.root}" type="fixed"><parent link="{flange}"/><child link="{self.root}"/>'
            f"<origin {origin}/></joint>"
        )
        return f"{urdf[:at]}{joint}{inner[: inner.rfind('</robot>')]}{urdf[at:]}"

    @cached_property
    def _tree(self) -> ElementTree.Element:
        return parse_description(self.text)


class Grip(NamedTuple):
    """State of the fingers.

    Attributes:
        width: Width between the fingers [m].
        force: Force with which each finger presses, positive where they close [N]; NaN where nobody
            measures it.
        rests: True where the fingers don't move.
        holding: True where the fingers hold something.
    """

    width: float
    force: float
    rests: bool
    holding: bool


def describe_grip(grip: Grip | None) -> str:
    """Text about the state of the fingers, for people."""
    if grip is None:
        return "no joint state yet"
    force = "" if math.isnan(grip.force) else f", {max(grip.force, 0.0):.0f} N"
    what = "at rest" if grip.rests else "moves"
    if grip.holding:
        what = "holds something"
    return f"{1e3 * grip.width:.1f} mm{force}, {what}"


class GripMonitor:
    """Makes a :class:`Grip` of each state of the driven joint.

    Fingers rest that have not moved for 0.3 s: some drivers report no velocity. After a command
    they have 1 s to begin, unless they are at their target. Resting fingers hold something where
    they press with more than half of the least force. Where nobody measures the effort, they do so
    short of their target.

    Attributes:
        grip: Last grip; None before the first state after a command.
        begins: True where the fingers are away from their target and have still to begin.
    """

    def __init__(self, gripper: GripperConfig) -> None:
        self._gripper = gripper
        self._target: float | None = None  # of the driven joint
        self._place = math.nan  # width from which the fingers haven't moved since [m]
        self._since = math.nan  # time since which they haven't moved [s]
        self._begun = False  # whether they have moved since the last command
        self.grip: Grip | None = None
        self.begins = False

    def command(self, position: float) -> None:
        """Note that the driven joint was sent to a position.

        The fingers don't count as at rest until a joint state has come after this.
        """
        self._target = position
        self._place = math.nan
        self._begun = False
        self.grip = None

    def update(self, time: float, position: float, effort: float) -> Grip:
        """Take the driven joint's position and effort at a time [s]; returns the grip.

        The effort is NaN where nobody measures it.
        """
        gripper = self._gripper
        width = self._gripper.width(position)
        if not abs(width - self._place) <= MOVED or time < self._since:
            self._begun = not math.isnan(self._place)
            self._place = width
            self._since = time
        away = 0.0 if self._target is None else abs(width - gripper.width(self._target))
        begins = away > gripper.tolerance and not self._begun
        rests = time - self._since >= (START_TIME if begins else REST_TIME)
        force = (
            math.copysign(1.0, gripper.positions[1] - gripper.positions[0])
            * effort
            / gripper.lever(position)
        )
        if not math.isnan(effort):
            presses = force > 0.5 * gripper.force[0]
        else:
            presses = (
                self._target is not None and width - gripper.width(self._target) > gripper.tolerance
            )
        self.grip = Grip(width, force, rests, rests and presses)
        self.begins = begins and not rests
        return self.grip


class Fingers(Protocol):
    """Interface that leads the fingers of a gripper: in a simulation, or over ROS.

    Attributes:
        config: Configuration of the gripper.
        ready: True where somebody takes commands.
        grip: State of the fingers; None before the first joint state.
        refusal: Reason why the last command was refused; empty where it was not.
    """

    config: GripperConfig

    @property
    def ready(self) -> bool: ...

    @property
    def grip(self) -> Grip | None: ...

    @property
    def refusal(self) -> str: ...

    def command(self, position: float, force: float) -> None:
        """Send the driven joint to a position, with a force of each finger [N];
        ConfigError out of range.
        """


def load_gripper(name: str, beside: Path | None = None) -> GripperConfig:
    """Read a gripper.

    Args:
        name: Name of a gripper of the package, or the path of a YAML file.
        beside: Folder that relative paths start from; the current one where None.

    Raises:
        ConfigError, ModelError: unknown gripper, a missing, unknown or unusable entry; lists the
            valid ones.
    """
    path, data = read_config("gripper", name, beside=beside)
    values = read_entries(GripperConfig, data, str(path))
    with errors_at(str(path)):
        values["urdf_path"] = found_urdf(values["urdf_path"], [path.parent])
        text = read_text("urdf", values["urdf_path"])
        try:
            parse_description(text)
        except ModelError as error:
            raise ConfigError(
                f"can't read urdf {values['urdf_path']}: {error}", name="urdf"
            ) from error
        return GripperConfig(**values, file=str(path), text=text)
