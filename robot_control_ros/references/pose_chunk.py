"""Poses of the tip at given times, joined smoothly, as a policy sends them in advance."""

from __future__ import annotations

import numpy as np

from ..core.errors import refused
from ..core.spatial import rotation_exp, rotation_exp_jacobian, rotation_log
from ..core.types import Array

KEPT = 3  # poses of a chunk that its last velocities depend on
# start [s], length [s], coefficients (4, 2, 3), first rotation (3, 3)
Piece = tuple[float, float, Array, Array]


class PoseChunk:
    """Poses at rising times. Before the first and after the last one it rests there.

    Positions are cubic Hermite splines. Their velocities at the poses are those of a parabola
    through three poses. The rotation between two poses is exp(h(t)) R_i, h (3,) a cubic with the
    angular velocities found in the same way. So velocity and angular velocity are continuous
    inside.

    Args:
        times: (k,) rising times [s], k >= 1.
        poses: (k, 4, 4) poses of the tip in the base.

    Attributes:
        begin, end: First and last time [s].

    Raises:
        ConfigError: sizes that differ, numbers that aren't finite, times that don't rise.
    """

    def __init__(self, times: Array, poses: Array) -> None:
        if poses.shape != (len(times), 4, 4) or not len(times):
            raise refused(
                "poses", poses.shape, f"must be one for each of {len(times)} times", len(times)
            )
        if not (
            np.isfinite(times).all() and np.isfinite(poses).all() and (np.diff(times) > 0.0).all()
        ):
            raise refused(
                "times",
                times,
                "must be finite and rise, poses finite",
                where="tip trajectory: ",
                unit="s",
            )
        self.begin = float(times[0])
        self.end = float(times[-1])
        self._times = times
        self._poses = poses
        self._piece: Piece | None = None
        self._number = -1

    def followed_by(self, later: PoseChunk) -> PoseChunk:
        """A chunk of the last poses of this one, and all poses of one that begins after them."""
        times = self._times[-KEPT:]
        poses = self._poses[-KEPT:]
        return PoseChunk(
            np.concatenate((times, later._times)), np.concatenate((poses, later._poses))
        )

    def at(self, t: float) -> tuple[Array, Array]:
        """Position (3,) [m] and rotation (3, 3) at t [s]."""
        if t <= self.begin or t >= self.end:
            pose = self._poses[0 if t <= self.begin else -1]
            return pose[:3, 3], pose[:3, :3]
        number = int(np.searchsorted(self._times, t, side="right")) - 1
        if self._piece is None or number != self._number:
            self._piece = self._make_piece(number)
            self._number = number
        start, length, coefficients, rotation = self._piece
        u = (t - start) / length
        position, turn = np.tensordot((1.0, u, u**2, u**3), coefficients, 1)
        return position, rotation_exp(turn) @ rotation

    def _make_piece(self, i: int) -> Piece:
        """The cubics from pose i to the next one, by the fraction of the time between them."""
        length = float(self._times[i + 1] - self._times[i])
        first = self._poses[i]
        last = self._poses[i + 1]
        step = np.array((last[:3, 3] - first[:3, 3], rotation_log(last[:3, :3] @ first[:3, :3].T)))
        slope = length * self._velocity(i)
        slope_after = length * self._velocity(i + 1)
        slope_after[1] = np.linalg.solve(rotation_exp_jacobian(step[1]), slope_after[1])
        coefficients = np.array(
            (
                (first[:3, 3], np.zeros(3)),
                slope,
                3.0 * step - 2.0 * slope - slope_after,
                slope + slope_after - 2.0 * step,
            )
        )
        return float(self._times[i]), length, coefficients, first[:3, :3]

    def _velocity(self, i: int) -> Array:
        """Velocity and angular velocity (2, 3) at pose i.

        They are those of a parabola through its neighbours; at an end, those of a line.
        """
        last = len(self._times) - 1
        if i in (0, last):
            return self._rate(min(i, last - 1))
        before, after = np.diff(self._times[i - 1 : i + 2])
        rate_before = self._rate(i - 1)
        rate_after = self._rate(i)
        return np.asarray((after * rate_before + before * rate_after) / (before + after))

    def _rate(self, i: int) -> Array:
        first = self._poses[i]
        last = self._poses[i + 1]
        turn = rotation_log(last[:3, :3] @ first[:3, :3].T)
        return np.array((last[:3, 3] - first[:3, 3], turn)) / float(
            self._times[i + 1] - self._times[i]
        )
