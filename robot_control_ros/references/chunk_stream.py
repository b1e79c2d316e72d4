"""Trajectory along chunks of timed points, as a learned policy sends them, within limits of jerk."""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, Generic, TypeVar

import numpy as np

from ..core.errors import refused
from ..core.gains import ParameterSet, gain
from ..core.types import Array, Reference
from .chunk import Chunk
from .stepped_trajectory import SteppedTrajectory

ARRIVED = 1e-7  # m and rad, and the same per second
JOINED = 0.5  # s between two chunks, or two single points, up to which one motion is made of them
WAITING = 500  # chunks, or single points, that may wait for their time
EARLIER = 1e-6  # s: a chunk that begins earlier than the newest one by more is refused
_Points = TypeVar("_Points", bound=Chunk)


@dataclass(frozen=True, eq=False)
class StreamSettings:
    """Settings of trajectories along chunks; see :class:`ChunkStream`."""

    delay: float = gain(
        0.12,
        unit="s",
        upper=2.0,
        doc="The reference is at a point this long after its time: latency, jitter and blend.",
    )
    blend: float = gain(
        0.1, unit="s", upper=2.0, doc="Time in which a newer chunk takes the older one's place."
    )
    bandwidth: float = gain(
        25.0, unit="rad/s", lower=1.0, upper=100.0, doc="Of the filter that keeps the limits."
    )
    policy_frequency: float = gain(
        0.0,
        unit="Hz",
        upper=1000.0,
        doc="Points per second of chunks of joint angles without times; 0 refuses such chunks.",
    )


class ChunkStream(SteppedTrajectory, Generic[_Points]):
    """Follows chunks within limits of velocity, acceleration and jerk; a newer chunk may come at
    any time.

    The points at t - `delay` are due at t. A newer chunk counts from its first point on. Within
    `blend` it takes the place of the older ones, by the weight x³ (10 - 15 x + 6 x²). A filter of
    third order goes after the points. With the way e to the target, ω = `bandwidth`, and sat a
    bound on the size:

        v_d = sat(ω e / 3, min(v_max, sqrt(a_max |e|)))
        a_d = sat(ω (v_d - v), a_max)
        j   = sat(3 ω (a_d - a), j_max)

    It is 3/ω late, so its target is 3/ω ahead in the chunk: a chunk must reach that far, or `delay`
    be longer. A chunk that begins after the last point of the one before goes on with it: so single
    points may come one by one. Where it begins more than half a second later, the motion to its
    first point takes all the time until then. After the last point the reference comes to rest
    there. Acceleration and jerk keep their bounds; the velocity passes its bound by a few percent.

    A motion has m parts of d coordinates each. Each part keeps its direction where it is bounded.

    It remembers where it is: sample() must be called with rising times.

    Args:
        chunk: Chunk of the one point where it begins.
        time: Time of the start [s].
        rate, change: (m, d) velocities and accelerations at the start.
        limits: (3, m, k) limits of velocity, acceleration and jerk, for each of k lengths of a
            part; see `_lengths`.
        settings: Values of StreamSettings.

    Attributes:
        what, point: Names of the trajectory and of its points, for errors.
        seam_step: Largest step of the velocity from one sample to the next at the last seam, over
            its limit. A seam is where a newer chunk takes the older one's place.
        seam_jerk: Largest jerk there, over its limit.
    """

    what: ClassVar[str]
    point: ClassVar[str]

    def __init__(
        self,
        chunk: _Points,
        time: float,
        rate: Array,
        change: Array,
        limits: Array,
        settings: ParameterSet,
    ) -> None:
        self.seam_step = 0.0
        self.seam_jerk = 0.0
        self._limits = limits
        self._settings = settings
        self._time = time
        self._newest = -math.inf
        self._rate = rate
        self._change = self._bounded(change, limits[1])
        # each with the time it counts from
        self._chunks: list[tuple[_Points, float]] = [(chunk, -math.inf)]
        self._seam = -math.inf  # time from which on the newest chunk counts that is followed
        self._arrived = True
        self._now = self._reference()

    def add(self, now: float, times: Array, points: Array) -> None:
        """Follow a newer chunk.

        Args:
            now: Present time by the samples' clock [s]. The trajectory's own clock may be behind
                it, where a governor slows it.
            times: (k,) times of the points after now [s]; they may be before it.
            points: (k, …) points.

        Raises:
            ConfigError: see :class:`~.chunk.Chunk`; or all of its points are past, or it begins
                before the newest one, or too many wait. What ran goes on.
        """
        settings = self._settings.current
        chunk = self._chunk_of(times + self._time, points)
        begin = now + float(times[0])
        if float(times[-1]) + settings.delay < 0.0:
            rule = f"must be at least -{settings.delay:g} s from now (stream.delay)"
            raise refused(
                f"last {self.point}",
                round(float(times[-1]), 3),
                rule,
                -settings.delay,
                where=f"{self.what}: ",
            )
        if begin < self._newest - EARLIER:
            rule = f"must not be before the newest chunk's {self._newest:.3f} s"
            raise refused(
                "begin", round(begin, 3), rule, self._newest, where=f"{self.what}: ", unit="s"
            )
        if len(self._chunks) >= WAITING:
            rule = f"must be at most {WAITING}: they wait for times that are still to come"
            raise refused("chunks", len(self._chunks), rule, WAITING, where=f"{self.what}: ")
        self._newest = begin
        since = chunk.begin
        last, _ = self._chunks[-1]
        if chunk.begin - last.end > JOINED:
            last = last.resting(max(last.end, self._target_time))
        if chunk.begin > last.end:
            since = last.end
            chunk = last.followed_by(chunk)
        self._chunks.append((chunk, max(since, self._target_time)))
        self._arrived = False

    def sample(self, t: float) -> Reference:
        before = self._rate
        reference = super().sample(t)
        if self._rate is not before and self._is_at_seam:
            step = float(self._sizes(self._rate - before, self._limits[0]).max())
            self.seam_step = max(self.seam_step, step)
        return reference

    @property
    def delay(self) -> float:
        """Time after which a point is due [s]; see StreamSettings."""
        return float(self._settings.current.delay)

    @property
    def arrived(self) -> bool:
        """True where it rests at the last point."""
        return self._arrived

    @property
    def message(self) -> str:
        """Lag of the reference behind the points that are due, in words; empty for none."""
        if self.arrived:
            return ""
        behind = self._lengths(self._way(self._time - self.delay))
        return self._told_behind(behind)

    @abstractmethod
    def _chunk_of(self, times: Array, points: Array) -> _Points:
        """The chunk of points at times [s] by the trajectory's clock; ConfigError for bad ones."""

    @property
    @abstractmethod
    def due(self) -> Array:
        """Coordinates of the point that is due: of joints (n,), or the tip's position (3,)."""

    @abstractmethod
    def _way(self, t: float) -> Array:
        """Way (m, d) to the point that is wanted at t [s]."""

    @staticmethod
    @abstractmethod
    def _lengths(vectors: Array) -> Array:
        """Lengths (m, k) of vectors (m, d) that are bounded."""

    @abstractmethod
    def _move(self, dt: float) -> None:
        """Move by the velocities for a time [s]."""

    @abstractmethod
    def _told_behind(self, behind: Array) -> str:
        """Text for lengths (m, k) that are too long; empty where they aren't."""

    def _advance(self, dt: float) -> None:
        self._time += dt
        speed, acceleration, jerk = self._limits
        bandwidth = self._settings.current.bandwidth
        way = self._way(self._target_time)
        newest, since = self._chunks[-1]
        is_over = self._target_time >= max(newest.end, since + self._settings.current.blend)
        if (
            is_over
            and max(np.abs(each).max() for each in (way, self._rate, self._change)) < ARRIVED
        ):
            self._rate = np.zeros_like(self._rate)
            self._change = np.zeros_like(self._change)
            self._arrived = True
            return
        most = np.minimum(speed, np.sqrt(acceleration * self._lengths(way)))
        wanted = self._bounded(bandwidth / 3.0 * way, most)
        change = self._bounded(bandwidth * (wanted - self._rate), acceleration)
        applied = self._bounded(3.0 * bandwidth * (change - self._change), jerk)
        self._change = self._change + dt * applied
        self._rate = self._rate + dt * self._change
        self._move(dt)
        self._watch_seam(applied)

    def _watch_seam(self, jerk: Array) -> None:
        """Keep the largest jerk (m, d) of the last seam."""
        seam = max(since for _, since in self._chunks if since <= self._target_time)
        if seam > self._seam:
            self._seam = seam
            self.seam_step = 0.0
            self.seam_jerk = 0.0
        if self._is_at_seam:
            size = float(self._sizes(jerk, self._limits[2]).max())
            self.seam_jerk = max(self.seam_jerk, size)

    @property
    def _is_at_seam(self) -> bool:
        """True while a newer chunk takes the older one's place, and the filter goes after it."""
        settings = self._settings.current
        lasting = float(settings.blend + 3.0 / settings.bandwidth)
        return self._target_time <= self._seam + lasting

    @property
    def _target_time(self) -> float:
        """Time in the chunks that the filter goes after [s].

        The filter is 3/ω late, so this time is 3/ω ahead of that of the point that is due.
        """
        settings = self._settings.current
        return float(self._time - settings.delay + 3.0 / settings.bandwidth)

    def _weighted(self, t: float) -> list[tuple[_Points, float]]:
        """Chunks that count at t [s], oldest first, each with its weight over those before it.

        Chunks that others have replaced at the points that are due are forgotten.
        """
        blend = self._settings.current.blend
        due = self._time - self.delay
        while len(self._chunks) > 1 and due >= self._chunks[1][1] + blend:
            self._chunks.pop(0)
        weighted = [(self._chunks[0][0], 1.0)]
        for chunk, since in self._chunks[1:]:
            if t <= since:
                break
            if t >= since + blend:
                weighted = [(chunk, 1.0)]
                continue
            x = (t - since) / blend
            weighted.append((chunk, x**3 * (10.0 - 15.0 * x + 6.0 * x**2)))
        return weighted

    def _sizes(self, vectors: Array, bounds: Array) -> Array:
        """Sizes (m,) of vectors (m, d), over their bounds (m, k)."""
        return np.asarray((self._lengths(vectors) / np.maximum(bounds, 1e-12)).max(axis=1))

    def _bounded(self, vectors: Array, bounds: Array) -> Array:
        """Vectors (m, d), each made shorter where it is longer than its bounds (m, k)."""
        return vectors / np.maximum(self._sizes(vectors, bounds), 1.0)[:, None]


def stream_limits(limits: Any, parts: int) -> Array:
    """Limits (3, m, k) of velocity, acceleration and jerk, for a number m of parts."""
    return np.array(limits, dtype=float).reshape(3, parts, -1)
