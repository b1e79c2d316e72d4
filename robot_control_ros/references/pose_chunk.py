"""Poses of the tip at given times, joined smoothly, as a policy sends them in advance."""

from __future__ import annotations

import numpy as np

from ..core.spatial import rotation_exp, rotation_exp_jacobian, rotation_log
from ..core.types import Array
from .chunk import Chunk


class PoseChunk(Chunk):
    """Poses at rising times; see :class:`~.chunk.Chunk`.

    The rotation between two poses is exp(h(t)) R_i, h (3,) a cubic with the angular velocities of
    the poses. So velocity and angular velocity are continuous inside.

    Args:
        times: (k,) rising times [s], k >= 1.
        poses: (k, 4, 4) poses of the tip in the base.
    """

    def __init__(self, times: Array, poses: Array) -> None:
        super().__init__(times, poses, (4, 4), "tip trajectory", "poses")

    def at(self, t: float) -> tuple[Array, Array]:
        """Position (3,) [m] and rotation (3, 3) at t [s]."""
        i, way = self._way(t)
        pose = self._points[i]
        if way is None:
            return pose[:3, 3], pose[:3, :3]
        return pose[:3, 3] + way[0], rotation_exp(way[1]) @ pose[:3, :3]

    def _made(self, times: Array, points: Array) -> PoseChunk:
        return PoseChunk(times, points)

    def _step(self, i: int) -> Array:
        first = self._points[i]
        last = self._points[i + 1]
        turn = rotation_log(last[:3, :3] @ first[:3, :3].T)
        return np.array((last[:3, 3] - first[:3, 3], turn))

    def _slope_after(self, step: Array, slope: Array) -> Array:
        turn = np.linalg.solve(rotation_exp_jacobian(step[1]), slope[1])
        return np.array((slope[0], turn))
