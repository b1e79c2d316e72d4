"""Pictures of an arm by rays, with NumPy alone: no OpenGL, no display, the same on each machine."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from robot_control_ros import RobotModel
from robot_control_ros.robot.joint_chain import place_joints

BACKGROUND = (60, 60, 60)
LIGHT = np.array((0.6, -0.6, 0.53))  # towards it
SHADE = 0.4  # brightness of what the light doesn't reach
BASE = 0.06  # m, radius of the first drawn link; they taper towards the tip
TIP = 0.01  # m, radius of the last one
LINK_COLOR = (105, 110, 120)
TIP_COLOR = (60, 140, 80)


@dataclass(frozen=True, eq=False)
class Capsule:
    """A cylinder with round ends; with equal ends it is a ball.

    Attributes:
        start, end: Ends (3,) of its axis [m].
        radius: Radius [m].
        color: Red, green and blue, 0 to 255.
    """

    start: np.ndarray
    end: np.ndarray
    radius: float
    color: tuple[int, int, int]


def arm_capsules(model: RobotModel, q: np.ndarray, tip: np.ndarray) -> list[Capsule]:
    """Capsules of an arm at joint angles q (n,), whose tip is at a position (3,) in the base."""
    chain = model.chain
    poses = np.empty((len(q), 4, 4))
    place_joints(chain, np.ascontiguousarray(q, dtype=float), poses)
    origins = [np.zeros(3), *poses[chain.order, :3, 3], np.asarray(tip)]
    radii = np.linspace(BASE, TIP, len(origins) - 1)
    links = [
        Capsule(start, end, radius, LINK_COLOR)
        for (start, end), radius in zip(pairwise(origins), radii.tolist(), strict=True)
    ]
    return [*links, Capsule(origins[-1], origins[-1], TIP, TIP_COLOR)]


class RayPicture:
    """Draws capsules before a plain background: what moves is all that there is to see.

    Args:
        position: Position (3,) of the camera [m].
        target: Point (3,) in the middle of the picture [m].
        opening: Angle of view over the height [degrees].
        width, height: Size of the picture [pixels].
    """

    def __init__(
        self,
        position: Sequence[float],
        target: Sequence[float],
        opening: float,
        width: int,
        height: int,
    ) -> None:
        self._origin = np.array(position, dtype=float)
        forward = np.array(target, dtype=float) - self._origin
        forward /= np.linalg.norm(forward)
        up = np.array((0.0, 0.0, 1.0)) if abs(forward[2]) < 0.99 else np.array((1.0, 0.0, 0.0))
        right = np.cross(forward, up)
        right /= np.linalg.norm(right)
        down = np.cross(forward, right)
        half = math.tan(math.radians(opening) / 2.0)
        rows = half * (2.0 * (np.arange(height) + 0.5) / height - 1.0)
        columns = half * (2.0 * (np.arange(width) + 0.5) - width) / height
        rays = (forward + rows[:, None, None] * down + columns[None, :, None] * right).reshape(
            -1, 3
        )
        self._rays = rays / np.linalg.norm(rays, axis=1)[:, None]
        self._shape = height, width, 3

    def draw(self, capsules: Sequence[Capsule]) -> np.ndarray:
        """The picture (height, width, 3), red, green and blue as bytes."""
        nearest = np.full(len(self._rays), np.inf)
        colors = np.tile(np.array(BACKGROUND, dtype=float), (len(self._rays), 1))
        for capsule in capsules:
            distance = self._distance(capsule)
            seen = np.flatnonzero(distance < nearest)
            nearest[seen] = distance[seen]
            colors[seen] = self._shaded(capsule, seen, distance[seen])
        picture: np.ndarray = np.clip(colors, 0.0, 255.0).astype(np.uint8)
        return picture.reshape(self._shape)

    def _distance(self, capsule: Capsule) -> np.ndarray:
        """Distance (k,) to a capsule along each ray; infinite beside it."""
        distance: np.ndarray = np.minimum(
            self._to_ball(capsule.start, capsule.radius),
            self._to_ball(capsule.end, capsule.radius),
        )
        axis = capsule.end - capsule.start
        length = float(np.linalg.norm(axis))
        if length < 1e-9:
            return distance
        axis = axis / length
        offset = self._origin - capsule.start
        across = self._rays - np.outer(self._rays @ axis, axis)
        start = offset - axis * offset.dot(axis)
        a = np.einsum("ij,ij->i", across, across)
        b = across @ start
        c = start.dot(start) - capsule.radius**2
        root = b * b - a * c
        with np.errstate(divide="ignore", invalid="ignore"):
            along = (-b - np.sqrt(root)) / a
            place = offset.dot(axis) + along * (self._rays @ axis)
            hit = (root > 0.0) & (along > 0.0) & (place > 0.0) & (place < length)
        return np.asarray(np.where(hit, np.minimum(distance, along), distance))

    def _to_ball(self, center: np.ndarray, radius: float) -> np.ndarray:
        offset = self._origin - center
        b = self._rays @ offset
        root = b * b - (offset.dot(offset) - radius**2)
        along = -b - np.sqrt(np.maximum(root, 0.0))
        return np.asarray(np.where((root > 0.0) & (along > 0.0), along, np.inf))

    def _shaded(self, capsule: Capsule, rays: np.ndarray, distance: np.ndarray) -> np.ndarray:
        """Color (k, 3) of a capsule where the rays with these numbers meet it."""
        points = self._origin + distance[:, None] * self._rays[rays]
        axis = capsule.end - capsule.start
        square = max(float(axis.dot(axis)), 1e-12)
        place = np.clip((points - capsule.start) @ axis / square, 0.0, 1.0)
        normals = (points - capsule.start - np.outer(place, axis)) / capsule.radius
        light = SHADE + (1.0 - SHADE) * np.maximum(normals @ LIGHT, 0.0)
        return np.asarray(light[:, None] * np.array(capsule.color, dtype=float))
