"""The robot: its links, its frames, and rings about joints that come near a limit."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..errors import ConfigError
from ..model import RobotModel
from ..types import Array
from .placing import place, placed, rgb
from .shapes import Description, Shape, along

NEAR = 0.25  # rad or m before a limit from which a joint shows it; at the limit it is red
AMBER, RED = np.array([1.0, 0.72, 0.1]), np.array([0.9, 0.1, 0.1])
UNMOVED = 1e-4  # rad or m


class RobotView:
    """Draws a robot in a viser scene.

    Args:
        scene: of viser.
        model: gives where the links are; its limits are the joints'.
        description: gives what they look like.
        reach: of the arm [m], for the sizes of frames and rings.
    """

    def __init__(self, scene: Any, model: RobotModel, description: Description, reach: float) -> None:
        self._scene, self._model = scene, model
        self._q: Array | None = None
        moving = [joint for joint in description.joints.values() if joint.name in model.joints]
        self._links = {
            link: scene.add_frame(
                f"/robot/{link}",
                show_axes=False,
                axes_length=0.09 * reach,
                axes_radius=0.003 * reach,
                origin_radius=0.006 * reach,
            )
            for link in model.frames()
        }
        for link, shapes in description.shapes.items():
            for number, shape in enumerate(shapes):
                add_shape(scene, f"/robot/{link}/{number}", shape)
        self._moving, self._rings = moving, {}
        for joint in moving:
            name = f"/robot/{joint.link}/limit"
            ring = _ring(scene, name, along(joint.axis), 0.085 * reach, 0.008 * reach)
            self._rings[model.joints.index(joint.name)] = ring

    @property
    def links(self) -> list[str]:
        """The links that move, from the base to the tip."""
        moving = [joint.link for joint in self._moving]
        return [*moving, *([] if self._model.tip in moving else [self._model.tip])]

    def show_frames(self, shown: bool) -> None:
        """The axes of every link."""
        for frame in self._links.values():
            frame.show_axes = shown

    def draw(self, q: Array) -> bool:
        """At joint positions (n,) [rad]; returns whether anything has moved."""
        if self._q is not None and np.abs(q - self._q).max() < UNMOVED:
            return False
        self._q = q
        self._model.update(q, np.zeros(self._model.n))
        for link, frame in self._links.items():
            place(frame, self._model.frame_pose(link))
        self._draw_limits(q)
        return True

    def _draw_limits(self, q: Array) -> None:
        limits = self._model.limits
        left = np.minimum(q - limits.lower, limits.upper - q)
        for index, ring in self._rings.items():
            near = bool(left[index] < NEAR)
            if near:
                share = float(np.clip(left[index] / NEAR, 0.0, 1.0))
                ring.color = rgb(tuple(RED + share * (AMBER - RED)))
            if ring.visible != near:
                ring.visible = near


def add_shape(scene: Any, name: str, shape: Shape) -> Any:
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


def _add_mesh(scene: Any, name: str, shape: Shape) -> Any:
    try:
        import trimesh

        mesh: Any = trimesh.load_mesh(shape.path)
        if isinstance(mesh, trimesh.Scene):
            mesh = mesh.to_geometry()
    except Exception as error:  # whatever a reader of one of the many formats raises
        raise ConfigError(f"the mesh {shape.path} can't be read: {type(error).__name__}: {error}") from error
    if not len(mesh.faces):
        raise ConfigError(f"the mesh {shape.path} can't be read: it has no triangles")
    where = placed(shape.pose)
    if shape.colour is None:
        return scene.add_mesh_trimesh(name, mesh, scale=shape.size, **where)
    return scene.add_mesh_simple(
        name, mesh.vertices, mesh.faces, color=rgb(shape.colour), scale=shape.size, flat_shading=True, **where
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
