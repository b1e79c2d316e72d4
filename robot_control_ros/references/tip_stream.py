"""Trajectory of the tip along chunks of timed poses; see :class:`~.chunk_stream.ChunkStream`."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..core.gains import ParameterSet
from ..core.spatial import make_pose, rotation_exp, rotation_log
from ..core.types import Array, Reference
from .chunk_stream import ChunkStream, stream_limits
from .pose_chunk import PoseChunk
from .trajectory import beginning

BEHIND = np.array(((0.01,), (0.03,)))  # m, rad: a reference further behind is reported


class TipStream(ChunkStream[PoseChunk]):
    """Follows chunks of poses; see :class:`~.chunk_stream.ChunkStream`.

    Its parts are position and rotation. The norms of their velocity, acceleration and jerk are
    bounded. Rotations go along the rotation vector of R_target Rᵀ.

    Args:
        start: Reference at `time`; its pose must be given, its twist may be None (at rest).
        time: Time of the start [s].
        speed, acceleration, jerk: Limits (linear [m/s], angular [rad/s]), and the same per second
            and per second squared.
        settings: Values of StreamSettings.
    """

    what = "tip trajectory"
    point = "pose"

    def __init__(
        self,
        start: Reference,
        time: float,
        speed: Sequence[float],
        acceleration: Sequence[float],
        jerk: Sequence[float],
        settings: ParameterSet,
    ) -> None:
        pose, twist = beginning(start, "a stream of poses")
        self._q = start.q
        self._position = pose[:3, 3].copy()
        self._rotation = pose[:3, :3]
        change = np.zeros(6) if start.acceleration is None else start.acceleration
        super().__init__(
            PoseChunk(np.array((time,)), pose[None]),
            time,
            twist.reshape(2, 3).copy(),
            change.reshape(2, 3),
            stream_limits((speed, acceleration, jerk), 2),
            settings,
        )

    @property
    def heading(self) -> Array:
        """Way (6,) to the target [m, rad]."""
        return self._way(self._target_time).ravel()

    def _chunk_of(self, times: Array, points: Array) -> PoseChunk:
        return PoseChunk(times, points)

    @property
    def due(self) -> Array:
        due: Array = self._position + self._way(self._time - self.delay)[0]
        return due

    def _way(self, t: float) -> Array:
        (oldest, _), *newer = self._weighted(t)
        position, rotation = oldest.at(t)
        for chunk, weight in newer:
            newer_position, newer_rotation = chunk.at(t)
            position = position + weight * (newer_position - position)
            rotation = rotation_exp(weight * rotation_log(newer_rotation @ rotation.T)) @ rotation
        return np.array((position - self._position, rotation_log(rotation @ self._rotation.T)))

    @staticmethod
    def _lengths(vectors: Array) -> Array:
        return np.asarray(np.sqrt((vectors * vectors).sum(axis=1, keepdims=True)))

    def _move(self, dt: float) -> None:
        self._position = self._position + dt * self._rate[0]
        self._rotation = rotation_exp(dt * self._rate[1]) @ self._rotation

    def _told_behind(self, behind: Array) -> str:
        if (behind <= BEHIND).all():
            return ""
        return (
            f"the tip trajectory is too fast for the tip's limits: the reference is "
            f"{behind[0, 0] * 1000.0:.0f} mm and {behind[1, 0]:.2f} rad behind"
        )

    def _reference(self) -> Reference:
        pose = make_pose(self._position, self._rotation)
        return Reference(pose, self._rate.reshape(6), self._change.reshape(6), None, self._q)
