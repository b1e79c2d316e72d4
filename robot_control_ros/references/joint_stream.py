"""Trajectory of the joints along chunks of timed joint angles; see
:class:`~.chunk_stream.ChunkStream`.
"""

from __future__ import annotations

import numpy as np

from ..core.gains import ParameterSet
from ..core.types import Array, Reference
from ..robot.model import RobotModel
from .chunk import JointChunk
from .chunk_stream import ChunkStream, stream_limits
from .joint import joint_reference

BEHIND = 0.03  # rad or m: a reference further behind is reported


class JointStream(ChunkStream[JointChunk]):
    """Follows chunks of joint angles; see :class:`~.chunk_stream.ChunkStream`.

    All joints are one part: where one of them is at a limit, all keep the direction of their
    motion. The target keeps the position limits of the joints, also between two points.

    Args:
        model: Model of the robot.
        q, v, a: (n,) joint angles, velocities and accelerations at `time` [rad, rad/s, rad/s²].
        time: Time of the start [s].
        speed, acceleration, jerk: (n,) limits of the joints [rad/s, rad/s², rad/s³].
        settings: Values of StreamSettings.
    """

    what = "joint trajectory"
    point = "point"

    def __init__(
        self,
        model: RobotModel,
        q: Array,
        v: Array,
        a: Array,
        time: float,
        speed: Array,
        acceleration: Array,
        jerk: Array,
        settings: ParameterSet,
    ) -> None:
        self._model = model
        self._q = q.copy()
        super().__init__(
            JointChunk(np.array((time,)), q[None].copy()),
            time,
            v[None].copy(),
            a[None].copy(),
            stream_limits((speed, acceleration, jerk), 1),
            settings,
        )

    def _chunk_of(self, times: Array, points: Array) -> JointChunk:
        return JointChunk(times, points)

    @property
    def due(self) -> Array:
        due: Array = self._q + self._way(self._time - self.delay)[0]
        return due

    def _way(self, t: float) -> Array:
        (oldest, _), *newer = self._weighted(t)
        q = oldest.at(t)
        for chunk, weight in newer:
            q = q + weight * (chunk.at(t) - q)
        limits = self._model.limits
        return (np.clip(q, limits.lower, limits.upper) - self._q)[None]

    @staticmethod
    def _lengths(vectors: Array) -> Array:
        return np.abs(vectors)

    def _move(self, dt: float) -> None:
        self._q = self._q + dt * self._rate[0]

    def _told_behind(self, behind: Array) -> str:
        joint = int(behind.argmax())
        most = float(behind[0, joint])
        if most <= BEHIND:
            return ""
        unit = self._model.limits.unit(joint).position
        return (
            f"the joint trajectory is too fast for the joints' limits: the reference of "
            f"{self._model.joints[joint]} is {most:.2f} {unit} behind"
        )

    def _reference(self) -> Reference:
        return joint_reference(self._model, self._q, self._rate[0], self._change[0])
