"""The robot: its links, its frames, and rings about joints that come near a limit."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...core.types import Array
from ...robot.model import RobotModel
from .placing import place, placed, rgb
from .shapes import Description, DrawnShape, along

NEAR = 0.25  # rad or m before a limit from which a joint shows it; at the limit it is red
GREEN, AMBER, RED = np.array([0.3, 0.68, 0.42]), np.array([1.0, 0.72, 0.1]), np.array([0.9, 0.1, 0.1])
UNMOVED = 1e-4  # rad or m


class RobotView:
    """Draws a robot in a viser scene.

    Args:
        scene: of viser.
        model: gives where the links are; its limits are the joints'.
        description: gives what they look like.
        reach: of the arm [m], for the sizes of frames and rings.

    Attributes:
        near: the joints that are near a limit, in words.
    """

    def __init__(self, scene: Any, model: RobotModel, description: Description, reach: float) -> None:
        self._model = model
        self._q: Array | None = None
        self.near: list[str] = []
        self._all_rings = False
        self._moving = [joint for joint in description.joints.values() if joint.name in model.joints]
        sizes = {"axes_length": 0.09 * reach, "axes_radius": 0.003 * reach, "origin_radius": 0.006 * reach}
        self._frames = {}
        carriers = {link: description.carrier(link, model.joints) for link in model.frames()}
        for link, carrier in carriers.items():
            name = f"/robot/{link}" if link == carrier else f"/robot/{carrier}/{link}"
            self._frames[link] = scene.add_frame(name, show_axes=False, **sizes)
            if link != carrier:
                offset: Array = np.asarray(np.linalg.solve(model.frame_pose(carrier), model.frame_pose(link)), float)
                place(self._frames[link], offset)
        self._carriers = sorted(set(carriers.values()))
        for link, shapes in description.shapes.items():
            for number, shape in enumerate(shapes):
                add_shape(scene, f"{self.node(link)}/{number}", shape)
        self._rings = [
            _ring(scene, f"{self.node(joint.link)}/limit", along(joint.axis), 0.085 * reach, 0.008 * reach)
            for joint in self._moving
        ]

    def node(self, link: str) -> str:
        """Name of the node in the scene that moves with a link."""
        return str(self._frames[link].name)

    @property
    def links(self) -> list[str]:
        """The links that move, from the base to the tip."""
        moving = [joint.link for joint in self._moving]
        return [*moving, *([] if self._model.tip in moving else [self._model.tip])]

    def show_frames(self, shown: bool) -> None:
        """The axes of every link."""
        for frame in self._frames.values():
            frame.show_axes = shown

    def show_limits(self, shown: bool) -> None:
        """The rings of all joints, green far from their limits; else of those near one."""
        self._all_rings, self._q = shown, None

    def draw(self, q: Array) -> bool:
        """At joint positions (n,) [rad]; returns whether anything has moved."""
        if self._q is not None and np.abs(q - self._q).max() < UNMOVED:
            return False
        self._q = q
        self._model.update(q, np.zeros(self._model.n))
        for link in self._carriers:
            place(self._frames[link], self._model.frame_pose(link))
        self._draw_limits(q)
        return True

    def _draw_limits(self, q: Array) -> None:
        limits, self.near = self._model.limits, []
        for joint, ring in zip(self._moving, self._rings, strict=True):
            index = self._model.joints.index(joint.name)
            left = float(min(q[index] - limits.lower[index], limits.upper[index] - q[index]))
            near = left < NEAR
            colour = RED + max(left / NEAR, 0.0) * (AMBER - RED) if near else GREEN
            if near:
                self.near.append(f"{joint.name}: {left:.2f} {joint.unit} before its limit")
            for name, value in (("color", rgb(tuple(colour))), ("visible", near or self._all_rings)):
                if getattr(ring, name) != value:
                    setattr(ring, name, value)


def add_shape(scene: Any, name: str, shape: DrawnShape) -> Any:
    """A shape as a node of a viser scene."""
    where: dict[str, Any] = placed(shape.pose)
    if shape.kind == "mesh":
        return _add_mesh(scene, name, shape)
    assert shape.colour is not None
    where["color"] = rgb(shape.colour)
    if shape.kind == "box":
        return scene.add_box(name, dimensions=shape.size, **where)
    if shape.kind == "sphere":
        return scene.add_icosphere(name, shape.size[0], **where)
    radius, length = shape.size
    return scene.add_cylinder(name, radius, length, radial_segments=48, **where)


def _add_mesh(scene: Any, name: str, shape: DrawnShape) -> Any:
    where = placed(shape.pose)
    if shape.colour is None:
        return scene.add_mesh_trimesh(name, shape.mesh, scale=shape.size, **where)
    vertices, faces = shape.mesh.vertices, shape.mesh.faces
    return scene.add_mesh_simple(
        name, vertices, faces, color=rgb(shape.colour), scale=shape.size, flat_shading=True, **where
    )


def _ring(scene: Any, name: str, pose: Array, radius: float, thickness: float) -> Any:
    """A torus in the x-y plane of a pose, hidden."""
    around, across = 40, 10
    a, b = np.meshgrid(
        np.linspace(0.0, 2.0 * np.pi, around, endpoint=False),
        np.linspace(0.0, 2.0 * np.pi, across, endpoint=False),
        indexing="ij",
    )
    r = radius + thickness * np.cos(b)
    vertices = np.stack((r * np.cos(a), r * np.sin(a), thickness * np.sin(b)), axis=-1).reshape(-1, 3)
    i, j = np.divmod(np.arange(around * across), across)
    next_i, next_j = (i + 1) % around, (j + 1) % across
    corners = [i * across + j, next_i * across + j, next_i * across + next_j, i * across + next_j]
    faces = np.concatenate((np.stack(corners[:3], axis=-1), np.stack([corners[0], *corners[2:]], axis=-1)))
    return scene.add_mesh_simple(
        name, vertices, faces, color=rgb(tuple(AMBER)), cast_shadow=False, visible=False, **placed(pose)
    )
