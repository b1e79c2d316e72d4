"""Trajectory along chunks of timed poses, as a learned policy sends them, within limits of jerk."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..core.errors import refused
from ..core.gains import ParameterSet, gain
from ..core.spatial import make_pose, rotation_exp, rotation_log
from ..core.types import Array, Reference
from .pose_chunk import PoseChunk
from .stepped_trajectory import SteppedTrajectory
from .trajectory import beginning

ARRIVED = 1e-7  # m and rad, and the same per second
BEHIND = 0.01, 0.03  # m, rad: a reference further behind is reported
JOINED = 0.5  # s between two chunks, or two single poses, up to which one motion is made of them
WAITING = 500  # chunks, or single poses, that may wait for their time
EARLIER = 1e-6  # s: a chunk that begins earlier than the newest one by more is refused


@dataclass(frozen=True, eq=False)
class StreamSettings:
    """Settings of trajectories along chunks of poses; see :class:`TipStream`."""

    delay: float = gain(
        0.12,
        unit="s",
        upper=2.0,
        doc="The reference is at a pose this long after its time: latency, jitter and blend.",
    )
    blend: float = gain(
        0.1, unit="s", upper=2.0, doc="Time in which a newer chunk takes the older one's place."
    )
    bandwidth: float = gain(
        25.0, unit="rad/s", lower=1.0, upper=100.0, doc="Of the filter that keeps the limits."
    )


class TipStream(SteppedTrajectory):
    """Follows chunks of poses within limits of velocity, acceleration and jerk; a newer chunk may
    come at any time.

    The poses at t - `delay` are due at t. A newer chunk counts from its first pose on. Within
    `blend` it takes the place of the older ones, by the weight x³ (10 - 15 x + 6 x²). A filter of
    third order goes after the poses. With the way e to the target, ω = `bandwidth`, and sat a bound
    on the norm:

        v_d = sat(ω e / 3, min(v_max, sqrt(a_max |e|)))
        a_d = sat(ω (v_d - v), a_max)
        j   = sat(3 ω (a_d - a), j_max)

    It is 3/ω late, so its target is 3/ω ahead in the chunk: a chunk must reach that far, or `delay`
    be longer. A chunk that begins after the last pose of the one before goes on with it: so single
    poses may come one by one. After the last pose the reference comes to rest there. The norms of
    acceleration and jerk are bounds; that of velocity is passed by a few percent. Rotations are
    done in the same way, along the rotation vector of R_target Rᵀ.

    It remembers where it is: sample() must be called with rising times.

    Args:
        start: Reference at `time`; its pose must be given, its twist may be None (at rest).
        time: Time of the start [s].
        speed, acceleration, jerk: Limits (linear [m/s], angular [rad/s]), and the same per second
            and per second squared.
        settings: Values of StreamSettings.
    """

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
        self._limits = np.array((speed, acceleration, jerk))
        self._settings = settings
        self._q = start.q
        self._time = time
        self._newest = -math.inf
        self._position = pose[:3, 3].copy()
        self._rotation = pose[:3, :3]
        change = np.zeros(6) if start.acceleration is None else start.acceleration
        self._rate = twist.reshape(2, 3).copy()
        self._change = _bounded(change.reshape(2, 3), self._limits[1])
        # each with the time it counts from
        self._chunks = [(PoseChunk(np.array((time,)), pose[None]), -math.inf)]
        self._arrived = True
        self._now = self._reference()

    def add(self, now: float, times: Array, poses: Array) -> None:
        """Follow a newer chunk.

        Args:
            now: Present time by the samples' clock [s]. The trajectory's own clock may be behind
                it, where a governor slows it.
            times: (k,) times of the poses after now [s]; they may be before it.
            poses: (k, 4, 4) poses of the tip in the base.

        Raises:
            ConfigError: see :class:`PoseChunk`; or all of its poses are past, or it begins before
                the newest one, or too many wait.
        """
        settings = self._settings.current
        chunk = PoseChunk(times + self._time, poses)
        begin = now + float(times[0])
        left = float(times[-1]) + settings.delay
        if left < 0.0:
            rule = f"must be at least -{settings.delay:g} s from now (stream.delay)"
            raise refused(
                "last pose",
                round(float(times[-1]), 3),
                rule,
                -settings.delay,
                where="tip trajectory: ",
            )
        if begin < self._newest - EARLIER:
            rule = f"must not be before the newest chunk's {self._newest:.3f} s"
            raise refused(
                "begin", round(begin, 3), rule, self._newest, where="tip trajectory: ", unit="s"
            )
        if len(self._chunks) >= WAITING:
            rule = f"must be at most {WAITING}: they wait for times that are still to come"
            raise refused("chunks", len(self._chunks), rule, WAITING, where="tip trajectory: ")
        self._newest = begin
        since = chunk.begin
        last, _ = self._chunks[-1]
        if 0.0 < chunk.begin - last.end <= JOINED:
            since = last.end
            chunk = last.followed_by(chunk)
        self._chunks.append((chunk, max(since, self._target_time)))
        self._arrived = False

    @property
    def arrived(self) -> bool:
        """True where it rests at the last pose."""
        return self._arrived

    @property
    def heading(self) -> Array:
        """Way (6,) to the target [m, rad]."""
        return self._way(self._target_time).ravel()

    @property
    def message(self) -> str:
        """Lag of the reference behind the poses that are due, in words; empty for none."""
        due = self._way(self._time - self._settings.current.delay)
        behind = np.sqrt((due * due).sum(axis=1))
        if self.arrived or (behind <= BEHIND).all():
            return ""
        return (
            f"the tip trajectory is too fast for the tip's limits: the reference is {behind[0] * 1000.0:.0f} mm and "
            f"{behind[1]:.2f} rad behind"
        )

    def _advance(self, dt: float) -> None:
        self._time += dt
        speed, acceleration, jerk = self._limits
        bandwidth = self._settings.current.bandwidth
        way = self._way(self._target_time)
        is_over = len(self._chunks) == 1 and self._chunks[0][0].end <= self._target_time
        if (
            is_over
            and max(np.abs(each).max() for each in (way, self._rate, self._change)) < ARRIVED
        ):
            self._rate = np.zeros((2, 3))
            self._change = np.zeros((2, 3))
            self._arrived = True
            return
        distance = np.sqrt((way * way).sum(axis=1))
        wanted = _bounded(
            bandwidth / 3.0 * way, np.minimum(speed, np.sqrt(acceleration * distance))
        )
        change = _bounded(bandwidth * (wanted - self._rate), acceleration)
        self._change = self._change + dt * _bounded(3.0 * bandwidth * (change - self._change), jerk)
        self._rate = self._rate + dt * self._change
        self._position = self._position + dt * self._rate[0]
        self._rotation = rotation_exp(dt * self._rate[1]) @ self._rotation

    @property
    def _target_time(self) -> float:
        """Time in the chunks that the filter goes after [s].

        The filter is 3/ω late, so this time is 3/ω ahead of that of the pose that is due.
        """
        settings = self._settings.current
        return float(self._time - settings.delay + 3.0 / settings.bandwidth)

    def _way(self, t: float) -> Array:
        """Way (2, 3) to the pose of the chunks at t [s]."""
        position, rotation = self._due(t)
        return np.array((position - self._position, rotation_log(rotation @ self._rotation.T)))

    def _due(self, t: float) -> tuple[Array, Array]:
        """Position and rotation of the blended chunks at t [s]; chunks that others have
        replaced are forgotten.
        """
        blend = self._settings.current.blend
        while len(self._chunks) > 1 and t >= self._chunks[1][1] + blend:
            self._chunks.pop(0)
        position, rotation = self._chunks[0][0].at(t)
        for chunk, since in self._chunks[1:]:
            if t <= since:
                break
            x = (t - since) / blend if blend else 1.0
            weight = min(x, 1.0) ** 3 * (10.0 - 15.0 * min(x, 1.0) + 6.0 * min(x, 1.0) ** 2)
            newer_position, newer_rotation = chunk.at(t)
            position = position + weight * (newer_position - position)
            rotation = rotation_exp(weight * rotation_log(newer_rotation @ rotation.T)) @ rotation
        return position, rotation

    def _reference(self) -> Reference:
        pose = make_pose(self._position, self._rotation)
        return Reference(pose, self._rate.reshape(6), self._change.reshape(6), None, self._q)


def _bounded(vectors: Array, bounds: Array) -> Array:
    """Vectors (m, d), each no longer than its bound (m,)."""
    size = np.sqrt((vectors * vectors).sum(axis=1))
    return np.asarray(vectors * (bounds / np.maximum(size, np.maximum(bounds, 1e-12)))[:, None])
