"""Shapes of a robot from its description (URDF): visuals, else collision shapes, else bars
between its joints.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import trimesh

from ...core.spatial import make_pose
from ...core.types import Array
from ...robot.description import end_link, origin_pose
from ...robot.mesh_files import mesh_path
from ..theme import HOUSING, SHELL

# radius of a link without shapes, as a fraction of the arm's length
MAX_RADIUS = 0.055
MIN_RADIUS = 0.032
SIZES = {  # attributes that give the size of a solid, with their defaults
    "box": {"size": "0 0 0"},
    "sphere": {"radius": "0"},
    "cylinder": {"radius": "0", "length": "0"},
    "mesh": {"scale": "1 1 1"},
}


@dataclass(frozen=True, eq=False)
class DrawnShape:
    """One solid of a link."""

    kind: str  # box, cylinder, sphere or mesh
    size: tuple[float, ...]  # [m] edges; radius and length; radius; scale of a mesh along its axes
    pose: Array  # (4, 4) in the link
    colour: tuple[float, float, float] | None  # (3,) from 0 to 1; None if a mesh has its own
    mesh: Any = None  # of trimesh


@dataclass(frozen=True, eq=False)
class Joint:
    """A joint that moves: its child link, its axis (3,) there, and its unit."""

    name: str
    link: str
    axis: Array
    unit: str


class Description:
    """The shapes and joints of a robot description.

    Args:
        urdf: Text of the description.
        folder: Folder of its file, for relative names of meshes.

    Attributes:
        shapes: Shapes by link; only links that have some.
        joints: Joints that move, by name.
        problems: Messages about meshes that can't be read; the link's other shapes are drawn.
    """

    def __init__(self, urdf: str, folder: Path) -> None:
        self._root = ElementTree.fromstring(urdf)
        self._folder = folder
        self._colours = {
            material.get("name", ""): colour
            for material in self._root.iter("material")
            if (colour := _colour(material)) is not None
        }
        self.problems: list[str] = []
        self._tree = list(self._root.findall("joint"))
        self._parents = {end_link(joint, "child"): joint for joint in self._tree}
        self.joints = {joint.name: joint for joint in self._moving()}
        links = self._root.findall("link")
        drawn = {link.get("name", ""): self._drawn(link) for link in links}
        self.shapes = {name: shapes for name, shapes in drawn.items() if shapes} or dict(
            self._suggested()
        )

    def _moving(self) -> Iterator[Joint]:
        for joint in self._tree:
            if joint.get("type") in ("revolute", "continuous", "prismatic"):
                axis = joint.find("axis")
                xyz = _numbers("1 0 0" if axis is None else axis.get("xyz", "1 0 0"))
                unit = "m" if joint.get("type") == "prismatic" else "rad"
                yield Joint(
                    joint.get("name", ""), end_link(joint, "child"), xyz / np.linalg.norm(xyz), unit
                )

    def _drawn(self, link: ElementTree.Element) -> list[DrawnShape]:
        """The visuals of a link, else its collision shapes."""
        for kind in ("visual", "collision"):
            if shapes := [
                shape for part in link.findall(kind) if (shape := self._shape(part)) is not None
            ]:
                return shapes
        return []

    def _shape(self, part: ElementTree.Element) -> DrawnShape | None:
        solid = part.find("geometry/*")
        material = part.find("material")
        if solid is None or solid.tag not in SIZES:
            return None
        colour = (
            None
            if material is None
            else _colour(material) or self._colours.get(material.get("name", ""))
        )
        size = tuple(
            _numbers(" ".join(solid.get(key, unset) for key, unset in SIZES[solid.tag].items()))
        )
        if solid.tag != "mesh":
            return DrawnShape(solid.tag, size, origin_pose(part), colour or SHELL)
        mesh = self._mesh(solid.get("filename", ""))
        return None if mesh is None else DrawnShape("mesh", size, origin_pose(part), colour, mesh)

    def _mesh(self, name: str) -> Any:
        """A mesh of trimesh; None if there is none, and also a problem if it can't be read."""
        if (path := mesh_path(name, self._folder)) is None:
            return None
        try:
            mesh: Any = trimesh.load_mesh(path)
            mesh = mesh.to_geometry() if isinstance(mesh, trimesh.Scene) else mesh
            problem = "" if len(mesh.faces) else "it has no triangles"
        except Exception as error:  # each format has its own errors
            problem = f"{type(error).__name__}: {error}"
        if not problem:
            return mesh
        self.problems.append(f"the mesh {path} can't be read: {problem}")
        return None

    def _suggested(self) -> Iterator[tuple[str, list[DrawnShape]]]:
        """Housings about the joints, and round links between them, thinner towards the tip."""
        length = sum(float(np.linalg.norm(origin_pose(joint)[:3, 3])) for joint in self._tree)
        links = (link.get("name", "") for link in self._root.findall("link"))
        depths = {
            link: sum(joint.get("name") in self.joints for joint in self._above(link))
            for link in links
        }
        for link, depth in depths.items():
            fraction = depth / max(1, *depths.values())
            radius = length * (MAX_RADIUS + fraction * (MIN_RADIUS - MAX_RADIUS))
            shapes = [
                DrawnShape("cylinder", (1.15 * radius, 2.5 * radius), along(joint.axis), HOUSING)
                for joint in self.joints.values()
                if joint.link == link
            ]
            ends = [
                origin_pose(joint)[:3, 3]
                for joint in self._tree
                if end_link(joint, "parent") == link
            ]
            shapes += [
                shape
                for end in ends
                if np.linalg.norm(end) > radius
                for shape in _capsule(end, 0.8 * radius)
            ]
            if shapes:
                yield link, shapes

    def carrier(self, link: str, moving: Collection[str]) -> str:
        """The nearest link, from this one towards the root, whose joint moves; else the root.

        Args:
            link: Link to begin with.
            moving: Names of the joints that move.
        """
        for joint in self._above(link):
            if joint.get("name") in moving:
                break
            link = end_link(joint, "parent")
        return link

    def _above(self, link: str) -> Iterator[ElementTree.Element]:
        """The joints from a link to the root."""
        while (joint := self._parents.get(link)) is not None:
            yield joint
            link = end_link(joint, "parent")


def _capsule(end: Array, radius: float) -> list[DrawnShape]:
    """A round bar from the origin to `end`."""
    length = float(np.linalg.norm(end))
    middle = along(end / length)
    middle[:3, 3] = 0.5 * end
    return [
        DrawnShape("cylinder", (radius, length), middle, SHELL),
        DrawnShape("sphere", (radius,), make_pose(end), SHELL),
    ]


def along(axis: Array) -> Array:
    """A pose (4, 4) at the origin whose z is along a unit vector."""
    return np.asarray(trimesh.geometry.align_vectors((0.0, 0.0, 1.0), axis))


def _colour(material: ElementTree.Element) -> tuple[float, float, float] | None:
    element = material.find("color")
    if element is None:
        return None
    red, green, blue = _numbers(element.get("rgba", "1 1 1 1"))[:3]
    return float(red), float(green), float(blue)


def _numbers(text: str) -> Array:
    return np.array([float(word) for word in text.split()])
