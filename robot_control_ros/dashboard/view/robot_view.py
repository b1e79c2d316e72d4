"""The robot: its links, its frames, and rings about joints that come near a limit."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import trimesh

from ...core.types import Array
from ...robot.model import RobotModel
from ..theme import AT_LIMIT, FREE_JOINT, NEAR_LIMIT
from .placing import place, placed
from .shapes import Description, DrawnShape, along

NEAR = 0.25  # rad or m before a limit from which a joint shows it; at the limit it is red
GREEN, AMBER, RED = np.array([FREE_JOINT, NEAR_LIMIT, AT_LIMIT])  # of rings
UNMOVED = 1e-4  # rad or m


class RobotView:
    """Draws a robot in a viser scene.

    Args:
        scene: Scene of viser.
        model: Model that gives the poses of the links and the limits of the joints.
        description: Description that gives the shapes.
        reach: Reach of the arm [m], for the sizes of frames and rings.
        root: Name of the node that the links are below.

    Attributes:
        near: Warnings, one for each joint near a limit.
        q: (n,) joint positions [rad] that are drawn; None at first.
    """

    def __init__(
        self,
        scene: Any,
        model: RobotModel,
        description: Description,
        reach: float,
        root: str = "/robot",
    ) -> None:
        self._model = model
        self._scene = scene
        self._reach = reach
        self._marks: dict[str, Any] = {}  # by link
        self.q: Array | None = None
        self._changed = False  # what is to be shown
        self.near: list[str] = []
        self._all_rings = False
        self._moving = [
            joint for joint in description.joints.values() if joint.name in model.joints
        ]
        sizes = {
            "axes_length": 0.09 * reach,
            "axes_radius": 0.003 * reach,
            "origin_radius": 0.006 * reach,
        }
        self._frames = {}
        self._offsets = {}
        carriers = {link: description.carrier(link, model.joints) for link in model.frames}
        for link, carrier in carriers.items():
            name = f"{root}/{link}" if link == carrier else f"{root}/{carrier}/{link}"
            self._frames[link] = scene.add_frame(name, show_axes=False, **sizes)
            if link != carrier:
                offset = np.linalg.solve(model.frame_pose(carrier), model.frame_pose(link))
                self._offsets[link] = np.asarray(offset, float)
                place(self._frames[link], self._offsets[link])
        self._carriers = sorted(set(carriers.values()))
        for link, shapes in description.shapes.items():
            for number, shape in enumerate(shapes):
                add_shape(scene, f"{self.node(link)}/{number}", shape)
        self._rings = [
            _ring(
                scene,
                f"{self.node(joint.link)}/limit",
                along(joint.axis),
                0.085 * reach,
                0.008 * reach,
            )
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
        """Show the axes of every link, or hide them."""
        for frame in self._frames.values():
            frame.show_axes = shown

    def show_limits(self, shown: bool) -> None:
        """Show the rings of all joints, green far from their limits; else only those near one."""
        self._all_rings = shown
        self._changed = True

    def show_contact(self, link: str) -> None:
        """Show a mark on the link that is touched; empty for none."""
        for name, mark in self._marks.items():
            mark.visible = name == link
        if link in self._frames and link not in self._marks:
            name = f"{self.node(link)}/contact"
            radius = 0.07 * self._reach
            self._marks[link] = self._scene.add_icosphere(
                name, radius, color=tuple(RED.tolist()), opacity=0.5
            )

    def draw(self, q: Array) -> None:
        """Draw the robot at joint positions (n,) [rad]."""
        if self.q is not None and not self._changed and np.abs(q - self.q).max() < UNMOVED:
            return
        self.q = q
        self._changed = False
        self._model.update(q, np.zeros(self._model.n))
        for link in self._carriers:
            place(self._frames[link], self._model.frame_pose(link))
        self._draw_limits(q)

    def draw_beside(self, root: str, poses: Mapping[str, Array]) -> None:
        """Draw links at poses (4, 4) in a link `root`.

        That link is fixed to the same link of the robot as these.
        """
        for link in self._offsets.keys() & poses.keys() - {root} if root in self._offsets else ():
            place(self._frames[link], self._offsets[root] @ poses[link])

    def _draw_limits(self, q: Array) -> None:
        limits = self._model.limits
        self.near = []
        for joint, ring in zip(self._moving, self._rings, strict=True):
            index = self._model.joints.index(joint.name)
            left = float(min(q[index] - limits.lower[index], limits.upper[index] - q[index]))
            near = left < NEAR
            colour = RED + max(left / NEAR, 0.0) * (AMBER - RED) if near else GREEN
            if near:
                self.near.append(f"{joint.name}: {left:.2f} {joint.unit} before its limit")
            ring.color = tuple(colour.astype(int).tolist())
            ring.visible = near or self._all_rings


def add_shape(scene: Any, name: str, shape: DrawnShape, opacity: float | None = None) -> Any:
    """Add a shape as a node of a viser scene; a box may be transparent."""
    where: dict[str, Any] = placed(shape.pose)
    if shape.colour is None:
        return scene.add_mesh_trimesh(name, shape.mesh, scale=shape.size, **where)
    where["color"] = shape.colour
    if shape.kind == "mesh":
        vertices = shape.mesh.vertices
        faces = shape.mesh.faces
        return scene.add_mesh_simple(
            name, vertices, faces, scale=shape.size, flat_shading=True, **where
        )
    if shape.kind == "box":
        return scene.add_box(name, dimensions=shape.size, opacity=opacity, **where)
    if shape.kind == "sphere":
        return scene.add_icosphere(name, shape.size[0], **where)
    radius, length = shape.size
    return scene.add_cylinder(name, radius, length, radial_segments=48, **where)


def _ring(scene: Any, name: str, pose: Array, radius: float, thickness: float) -> Any:
    """A ring in the x-y plane of a pose, hidden."""
    mesh: Any = trimesh.creation.torus(radius, thickness, major_sections=40, minor_sections=10)
    return scene.add_mesh_simple(
        name,
        mesh.vertices,
        mesh.faces,
        color=AMBER,
        cast_shadow=False,
        visible=False,
        **placed(pose),
    )
