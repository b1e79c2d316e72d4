"""The bodies of an arm: simple solids, made from the shapes of its description."""

from __future__ import annotations

import math
import xml.etree.ElementTree as ElementTree
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ..core.errors import ModelError
from ..core.spatial import make_pose
from ..core.types import Array
from .description import numbers_of, origin_pose, parse_description
from .mesh_files import mesh_points
from .solids import Shape

ITERATIONS = 200  # in search of the centre of the smallest circle around points


class Solid(NamedTuple):
    """All points within a distance of a cylinder or a box; so also a sphere and a capsule.

    Attributes:
        pose: (4, 4) pose of its middle in a frame.
        half: (3,) half of a box's edges; radius, radius and half of the length of a cylinder, whose
            axis is z [m].
        is_box: True for a box.
        rounding: Distance of the solid's surface from that cylinder or box [m].
    """

    pose: Array
    half: Array
    is_box: bool
    rounding: float

    @property
    def volume(self) -> float:
        """Volume [m³] of a solid that isn't both flat and rounded."""
        if self.is_box:
            return float(8.0 * np.prod(self.half))
        round_ends = 4.0 / 3.0 * math.pi * self.rounding**3
        return float(
            2.0 * self.half[2] * math.pi * (self.half[0] + self.rounding) ** 2 + round_ends
        )

    def placed(self, pose: Array) -> Solid:
        """Solid in the frame in which its own frame has a pose (4, 4)."""
        return self._replace(pose=pose @ self.pose)


class DescribedBodies(NamedTuple):
    """Solids in the frames of their links, by link, and what was left out."""

    solids: dict[str, tuple[Solid, ...]]
    problems: tuple[str, ...]


def sphere(center: Array, radius: float) -> Solid:
    """A sphere about a point (3,) [m]."""
    return Solid(make_pose(center), np.zeros(3), False, radius)


def solid_of(shape: Shape) -> Solid:
    """The solid of a sphere, box, capsule or cylinder in a file."""
    size = np.array(shape.size)
    if shape.kind == "box":
        return Solid(shape.pose, size / 2.0, True, 0.0)
    half = size[1] / 2.0 if len(size) > 1 else 0.0
    flat = size[0] if shape.kind == "cylinder" else 0.0
    return Solid(shape.pose, np.array((flat, flat, half)), False, float(size[0] - flat))


@lru_cache(maxsize=16)
def described_bodies(urdf: str, folder: Path) -> DescribedBodies:
    """Solids of each link of a description that has a shape.

    They are the link's `collision` shapes, else its `visual` ones. In place of a mesh stands the
    smallest of a box, a cylinder and a capsule around it. A link with a shape that can't be read is
    left out.

    Args:
        urdf: Text of the description.
        folder: Folder that relative paths of meshes start from.
    """
    solids = {}
    problems = []
    for link in parse_description(urdf).findall("link"):
        name = link.get("name", "")
        shapes = link.findall("collision") or link.findall("visual")
        try:
            found = tuple(
                solid for shape in shapes if (solid := _read(name, shape, folder)) is not None
            )
        except ModelError as error:
            problems.append(str(error))
            continue
        if found:
            solids[name] = found
    return DescribedBodies(solids, tuple(problems))


def _read(link: str, shape: ElementTree.Element, folder: Path) -> Solid | None:
    """The solid of a `collision` or `visual`, in the link; None where it is nothing."""
    geometry = shape.find("geometry")
    element = None if geometry is None else next(iter(geometry), None)
    if element is None:
        return None
    pose = origin_pose(shape)
    if element.tag == "box":
        return Solid(pose, _size(link, element, "size", 3) / 2.0, True, 0.0)
    if element.tag == "sphere":
        return Solid(pose, np.zeros(3), False, float(_size(link, element, "radius")[0]))
    if element.tag in ("cylinder", "capsule"):
        radius = float(_size(link, element, "radius")[0])
        half = float(_size(link, element, "length")[0]) / 2.0
        flat = radius if element.tag == "cylinder" else 0.0
        return Solid(pose, np.array((flat, flat, half)), False, radius - flat)
    if element.tag == "mesh":
        points = mesh_points(element.get("filename", ""), folder) * numbers_of(
            element, "scale", "1 1 1"
        )
        return enclosing_solid(points).placed(pose)
    raise ModelError(f"link {link}: unknown shape {element.tag!r}", name=element.tag)


def _size(link: str, element: ElementTree.Element, attribute: str, count: int = 1) -> Array:
    numbers = numbers_of(element, attribute, "")
    if numbers.size != count or not (numbers > 0.0).all():
        message = f"link {link}: {attribute} of its {element.tag} must be {count} numbers above 0"
        raise ModelError(
            f"{message}, not {numbers.tolist()}", name=attribute, value=numbers.tolist()
        )
    return numbers


def enclosing_solid(points: Array) -> Solid:
    """The smallest of some boxes, cylinders and capsules around points (k, 3) [m].

    Their axes are those of the coordinates, or the principal axes of the points.
    """
    centred = points - points.mean(axis=0)
    principal = np.linalg.svd(centred, full_matrices=True)[2]
    if np.linalg.det(principal) < 0.0:
        principal[2] *= -1.0
    candidates = []
    for axes in (np.eye(3), principal):
        candidates.append(_box(points, axes))
        for shift in range(3):
            turned = np.roll(axes, shift, axis=0)
            candidates += [_cylinder(points, turned), _capsule(points, turned)]
    return min(candidates, key=lambda each: each.volume)


def _box(points: Array, axes: Array) -> Solid:
    """The box along axes (3, 3), a row each, around points (k, 3)."""
    inside = points @ axes.T
    low = inside.min(axis=0)
    high = inside.max(axis=0)
    return Solid(make_pose((low + high) / 2.0 @ axes, axes.T), (high - low) / 2.0, True, 0.0)


def _cylinder(points: Array, axes: Array) -> Solid:
    """A cylinder along the last of the axes (3, 3) around points (k, 3)."""
    inside = points @ axes.T
    middle = _circle_centre(inside[:, :2])
    radius = float(np.linalg.norm(inside[:, :2] - middle, axis=1).max())
    low = inside[:, 2].min()
    high = inside[:, 2].max()
    pose = make_pose(np.array((*middle, (low + high) / 2.0)) @ axes, axes.T)
    return Solid(pose, np.array((radius, radius, (high - low) / 2.0)), False, 0.0)


def _capsule(points: Array, axes: Array) -> Solid:
    """A capsule along the last of the axes (3, 3) around points (k, 3)."""
    inside = points @ axes.T
    middle = _circle_centre(inside[:, :2])
    outside = np.linalg.norm(inside[:, :2] - middle, axis=1)
    radius = float(outside.max())
    bulge = np.sqrt(np.maximum(radius**2 - outside**2, 0.0))  # of an end, where the point is
    low = (inside[:, 2] + bulge).min()
    high = max((inside[:, 2] - bulge).max(), low)
    pose = make_pose(np.array((*middle, (low + high) / 2.0)) @ axes, axes.T)
    return Solid(pose, np.array((0.0, 0.0, (high - low) / 2.0)), False, radius)


def _circle_centre(points: Array) -> Array:
    """Centre (2,) of nearly the smallest circle around points (k, 2).

    Source: M. Bădoiu, K. Clarkson, Smaller core-sets for balls, SODA 2003: step towards the
    farthest, ever less.
    """
    centre: Array = (points.min(axis=0) + points.max(axis=0)) / 2.0
    best: Array = centre
    smallest = math.inf
    for step in range(2, ITERATIONS):
        away = points - centre
        distance = np.linalg.norm(away, axis=1)
        farthest = int(np.argmax(distance))
        if distance[farthest] < smallest:
            smallest = float(distance[farthest])
            best = centre
        centre = centre + away[farthest] / step
    return best
