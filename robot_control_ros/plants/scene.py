"""Scenes: what stands around a simulated robot, from config/scenes/<name>.yaml or a file of the user's own.

Everything is placed in the robot's base: its origin, its axes, metres and rotation vectors in radians. Nothing here
knows a physics engine.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..errors import ConfigError
from ..share import config_names, read_config
from ..spatial import make_pose, rotation_exp
from ..types import Array

SHAPES = {
    "sphere": ("radius",),
    "box": ("x", "y", "z"),
    "capsule": ("radius", "length"),
    "cylinder": ("radius", "length"),
    "plane": (),
}
MOTIONS = ("fixed", "free", "slides")


@dataclass(frozen=True, eq=False)
class Shape:
    """A solid.

    Attributes:
        kind: one of SHAPES. Axes of symmetry are z; the solid side of a plane, which has no end, is that below it.
        size: [m] radius; or edges x, y, z; or radius and length (of a capsule: without its ends).
        pose: (4, 4) in the frame it is attached to.
    """

    kind: str
    size: tuple[float, ...]
    pose: Array


@dataclass(frozen=True, eq=False)
class Surface:
    """How a contact gives way and rubs.

    Attributes:
        time_constant: [s] with which a contact comes to rest; small is stiff.
        damping_ratio: 1 doesn't bounce.
        friction: coefficient of sliding friction.
    """

    time_constant: float = 0.02
    damping_ratio: float = 1.0
    friction: float = 1.0


@dataclass(frozen=True, eq=False)
class SceneObject:
    """Something that the robot can touch.

    Attributes:
        name: of it.
        shape: its pose is that of the object at the beginning, in the base.
        motion: ``fixed``; ``free``; or ``slides``: it only translates, on three weightless slides along the base's axes
            whose servos pull it to a target.
        mass: [kg], of what moves.
        stiffness, damping: of the servos [N/m, N·s/m].
        surface: of it; in a contact with the robot it goes for both sides.
    """

    name: str
    shape: Shape
    motion: str
    mass: float
    stiffness: float
    damping: float
    surface: Surface


@dataclass(frozen=True)
class JointLosses:
    """What the joints have besides what description and configuration say, the same for each.

    Attributes:
        damping: [N·m·s/rad].
        friction: dry friction [N·m].
        rotor_inertia: behind the gears [kg·m²].
    """

    damping: float = 0.0
    friction: float = 0.0
    rotor_inertia: float = 0.0


@dataclass(frozen=True, eq=False)
class Scene:
    """What stands around a robot and what it holds.

    Attributes:
        name, description: for people.
        objects: by name.
        tool: a shape without mass on a link, or None.
        tool_link: that link; the robot's tip where None.
        start: pose (4, 4) of the tip at the beginning; the robot's home where None.
        joints: see :class:`JointLosses`.
    """

    name: str
    description: str
    objects: Mapping[str, SceneObject]
    tool: Shape | None = None
    tool_link: str | None = None
    start: Array | None = None
    joints: JointLosses = field(default_factory=JointLosses)


@dataclass(frozen=True, eq=False)
class Contact:
    """Where the robot touches an object.

    Attributes:
        link: of the robot.
        object: its name in the scene.
        point: (3,) in the base [m].
        wrench: (6,) by the object on the robot, in base axes, about the point [N, N·m].
    """

    link: str
    object: str
    point: Array
    wrench: Array


def scene_names() -> list[str]:
    """Names of the scenes that the package brings."""
    return config_names("scenes")


def load_scene(name: str) -> Scene:
    """Read a scene.

    Args:
        name: a scene of the package, or the path of a YAML file.

    Raises:
        ConfigError: unknown scene, a missing, unknown or unusable entry; lists the valid ones.
    """
    path, data = read_config("scene", name)
    return _scene(path.stem, _Entry(str(path), data, (), ("description", "objects", "tool", "start", "joints")))


def _scene(name: str, entry: _Entry) -> Scene:
    tool = entry.inner("tool", ("shape",), ("size", "position", "rotation", "link"))
    start = entry.inner("start", ("position",), ("rotation",))
    joints = entry.inner("joints", (), ("damping", "friction", "rotor_inertia"))
    return Scene(
        name=name,
        description=entry.text("description", ""),
        objects=_objects(entry),
        tool=None if tool is None else _shape(tool, tuple(kind for kind in SHAPES if kind != "plane")),
        tool_link=None if tool is None else tool.text("link", "") or None,
        start=None if start is None else _pose(start),
        joints=JointLosses() if joints is None else _losses(joints),
    )


def _losses(entry: _Entry) -> JointLosses:
    return JointLosses(
        damping=entry.number("damping", 0.0, "0 or more"),
        friction=entry.number("friction", 0.0, "0 or more"),
        rotor_inertia=entry.number("rotor_inertia", 0.0, "0 or more"),
    )


def _objects(entry: _Entry) -> dict[str, SceneObject]:
    given = entry.data.get("objects") or {}
    if not isinstance(given, dict):
        raise ConfigError(f"{entry.where}: objects = {given!r}: must be a mapping of names to objects")
    for name in given:
        if not re.fullmatch("[A-Za-z][A-Za-z0-9_]*", str(name)):
            raise ConfigError(f"{entry.where}: object {name!r}: a name is a letter, then letters, digits and _")
    optional = ("size", "position", "rotation", "motion", "mass", "stiffness", "damping", "surface")
    return {
        str(name): _object(str(name), _Entry(f"{entry.where}: {name}", data, ("shape",), optional))
        for name, data in given.items()
    }


def _object(name: str, entry: _Entry) -> SceneObject:
    motion = entry.choice("motion", MOTIONS, "fixed")
    for key, motions in (("mass", ("free", "slides")), ("stiffness", ("slides",)), ("damping", ("slides",))):
        if (motion in motions) != (key in entry.data):
            word = "is missing" if motion in motions else "has no meaning here"
            raise ConfigError(f"{entry.where}: {key} {word}: it goes with motion {' and '.join(motions)}")
    kinds = tuple(kind for kind in SHAPES if kind != "plane" or motion == "fixed")
    return SceneObject(
        name=name,
        shape=_shape(entry, kinds),
        motion=motion,
        mass=entry.number("mass", 0.0, "above 0"),
        stiffness=entry.number("stiffness", 0.0, "0 or more"),
        damping=entry.number("damping", 0.0, "0 or more"),
        surface=_surface(entry.inner("surface", (), ("time_constant", "damping_ratio", "friction"))),
    )


def _surface(entry: _Entry | None) -> Surface:
    if entry is None:
        return Surface()
    return Surface(
        time_constant=entry.number("time_constant", Surface.time_constant, "above 0"),
        damping_ratio=entry.number("damping_ratio", Surface.damping_ratio, "above 0"),
        friction=entry.number("friction", Surface.friction, "0 or more"),
    )


def _shape(entry: _Entry, kinds: tuple[str, ...]) -> Shape:
    kind = entry.choice("shape", kinds)
    size = entry.numbers("size", len(SHAPES[kind]), f"{kind}: {', '.join(SHAPES[kind]) or 'no size'}")
    if any(edge <= 0.0 for edge in size):
        raise ConfigError(f"{entry.where}: size = {size}: must be above 0 m")
    return Shape(kind, size, _pose(entry))


def _pose(entry: _Entry) -> Array:
    position = np.array(entry.numbers("position", 3, "x, y, z in m"))
    return make_pose(position, rotation_exp(np.array(entry.numbers("rotation", 3, "rotation vector in rad"))))


class _Entry:
    """A mapping of the file, checked key by key, with its place in every error."""

    def __init__(self, where: str, data: Any, required: tuple[str, ...], optional: tuple[str, ...]) -> None:
        valid = ", ".join((*required, *optional))
        if not isinstance(data, dict):
            raise ConfigError(f"{where}: must be a mapping with the entries {valid}")
        unknown = sorted(str(key) for key in data if key not in required + optional)
        missing = [key for key in required if key not in data]
        if unknown or missing:
            problem = f"unknown {unknown}" if unknown else f"missing {missing}"
            raise ConfigError(f"{where}: {problem}; entries: {valid}")
        self.where, self.data = where, data

    def inner(self, key: str, required: tuple[str, ...], optional: tuple[str, ...]) -> _Entry | None:
        if self.data.get(key) is None:
            return None
        return _Entry(f"{self.where}: {key}", self.data[key], required, optional)

    def text(self, key: str, default: str) -> str:
        return str(self.data.get(key) or default)

    def choice(self, key: str, choices: tuple[str, ...], default: str = "") -> str:
        value = self.data.get(key, default)
        if value not in choices:
            raise ConfigError(f"{self.where}: {key} = {value!r}; choices: {', '.join(choices)}")
        return str(value)

    def number(self, key: str, default: float, bound: str) -> float:
        value = self.data.get(key, default)
        if key in self.data and not (_finite(value) and (value > 0.0 or (value == 0.0 and bound == "0 or more"))):
            raise ConfigError(f"{self.where}: {key} = {value!r}: must be a number, {bound}")
        return float(value)

    def numbers(self, key: str, count: int, meaning: str) -> tuple[float, ...]:
        """So many numbers; zeros where the key isn't there. A single one needs no list."""
        raw = self.data.get(key, [0.0] * count)
        values = raw if isinstance(raw, list) else [raw]
        if len(values) != count or not all(_finite(value) for value in values):
            raise ConfigError(f"{self.where}: {key} = {raw!r}: must be {count} finite numbers ({meaning})")
        return tuple(float(value) for value in values)


def _finite(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)
