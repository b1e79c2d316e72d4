"""Scenes: what stands around a simulated robot, from config/scenes/<name>.yaml or a file of the
user's own.

Everything is placed in the robot's base: its origin, its axes, metres and rotation vectors in
radians. Nothing here knows a physics engine.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace

from ..core.errors import refused
from ..core.types import Array
from ..robot.files import config_names, read_config
from ..robot.schema import entry, read_entries
from ..robot.solids import Placement, Shape

MOTIONS = ("fixed", "free", "slides")


@dataclass(frozen=True)
class _Start(Placement):
    position: tuple[float, ...] = entry(size=3, unit="m", doc="x, y, z.")


@dataclass(frozen=True, eq=False)
class Surface:
    """Surface of an object: how a contact gives way and rubs."""

    time_constant: float = entry(
        0.02, above=0.0, unit="s", doc="Time in which a contact comes to rest; small is stiff."
    )
    damping_ratio: float = entry(1.0, above=0.0, doc="1 doesn't bounce.")
    friction: float = entry(1.0, lower=0.0, doc="Coefficient of sliding friction.")
    layer: float = entry(
        0.0,
        lower=0.0,
        unit="m",
        doc="Depth of a soft layer, over which it becomes firm. Without one a tool that slides hops.",
    )


@dataclass(frozen=True, eq=False, kw_only=True)
class SceneObject:
    """Something that the robot can touch; the pose of `shape` is that at the
    beginning, in the base.
    """

    name: str = ""
    shape: Shape = entry(inline=True, doc="The solid.")
    motion: str = entry(
        "fixed",
        choices=MOTIONS,
        doc="An object that `slides` only translates, on three weightless slides along the base's axes whose servos "
        "pull it to a target.",
    )
    mass: float = entry(
        above=0.0, unit="kg", only_with=("motion", ("free", "slides")), doc="Of what moves."
    )
    stiffness: float = entry(
        lower=0.0, unit="N/m", only_with=("motion", ("slides",)), doc="Of the servos."
    )
    damping: float = entry(
        lower=0.0, unit="N·s/m", only_with=("motion", ("slides",)), doc="Of the servos."
    )
    surface: Surface = entry(Surface(), doc="In a contact with the robot it goes for both sides.")

    def __post_init__(self) -> None:
        if self.motion != "fixed":
            self.shape.check_movable()


@dataclass(frozen=True)
class JointLosses:
    """Losses of the joints besides those of description and configuration, alike for each joint."""

    damping: float = entry(0.0, lower=0.0, unit="N·m·s/rad", doc="Viscous friction.")
    friction: float = entry(0.0, lower=0.0, unit="N·m", doc="Dry friction.")
    creep: bool = entry(
        False, doc="Whether a joint creeps that dry friction holds, as MuJoCo lets it by default."
    )
    rotor_inertia: float = entry(0.0, lower=0.0, unit="kg·m²", doc="Inertia behind the gears.")


@dataclass(frozen=True)
class _Tool:
    shape: Shape = entry(inline=True, doc="The solid, without mass.")
    link: str = entry("", doc="The link that carries it; the robot's tip where empty.")

    def __post_init__(self) -> None:
        self.shape.check_movable()


def _named(objects: dict[str, SceneObject]) -> dict[str, SceneObject]:
    for name in objects:
        if not re.fullmatch("[A-Za-z][A-Za-z0-9_]*", name):
            raise refused(
                "name", name, "must be a letter, then letters, digits and _", where="objects: "
            )
    return {name: replace(each, name=name) for name, each in objects.items()}


@dataclass(frozen=True, eq=False)
class Scene:
    """The objects around a robot, and its tool on a link (None: the tip);
    `start` is a pose (4, 4).
    """

    name: str
    description: str = entry("", doc="The scene, for people.")
    objects: Mapping[str, SceneObject] = entry(
        {}, convert=_named, doc="What the robot can touch, by name."
    )
    tool: Shape | None = entry(
        None,
        of=_Tool | None,
        convert=lambda tool: tool and tool.shape,
        doc="A shape without mass on a link.",
    )
    tool_link: str | None = entry(
        None,
        key="tool",
        of=_Tool | None,
        convert=lambda tool: (tool and tool.link) or None,
        doc="The same entry.",
    )
    start: Array | None = entry(
        None,
        of=_Start | None,
        convert=lambda start: start and start.pose(),
        doc="Pose of the tip at the beginning, in the base; the robot's home where it is left out.",
    )
    without: tuple[str, ...] = entry(
        (), doc="Names of what the robot's `cell` has and isn't there in this scene."
    )
    joints: JointLosses = entry(JointLosses(), doc="Losses of the robot's joints, of each.")


@dataclass(frozen=True, eq=False)
class Contact:
    """Contact of the robot with an object, its cell or itself.

    Attributes:
        link: Name of the robot's link.
        object: Name of the object in the scene or in the robot's cell; or another link of the
            robot.
        point: (3,) place of the contact in the base [m].
        wrench: (6,) wrench by the object on the link, in base axes, about the point [N, N·m].
    """

    link: str
    object: str
    point: Array
    wrench: Array


def scene_names() -> list[str]:
    """Names of the scenes of this package."""
    return config_names("scenes")


def load_scene(name: str) -> Scene:
    """Read a scene.

    Args:
        name: Name of a scene of the package, or the path of a YAML file.

    Raises:
        ConfigError: unknown scene, a missing, unknown or unusable entry; lists the valid ones.
    """
    path, data = read_config("scene", name)
    return Scene(path.stem, **read_entries(Scene, data, str(path)))
