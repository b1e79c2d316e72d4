"""Measurement of the delay from the times of a chunk to the arm's motion."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..core.types import Array, RobotState
from ..references import ChunkStream, TipStream
from ..robot.model import RobotDynamics

PERIOD = 0.01  # s between two looks
SMOOTHING = 0.3  # s of each of two low passes: jumps at seams are gone after them
MEMORY = 1.0  # s with which earlier looks are forgotten
MOVING = 0.01  # of the speed limits: less change of the velocity tells nothing


class MotionDelay:
    """Measures by how much time an arm is late that follows chunks.

    At t the point r(t) is due, `delay` after its time. An arm that is late by T more is behind by e
    = r(t) - r(t - T), about T (r'(t) + r'(t - T)) / 2. So T is the slope of e over the mean
    velocity of points and arm. Both go through the same low passes first, which keep T. It is
    fitted over about the last second by least squares, with a constant for each coordinate: an arm that
    sags isn't late.

    Chunks of poses are measured by the tip's position, chunks of joint angles by the joints.

    Args:
        speed: (n,) speeds of the joints against which their velocities are weighed [rad/s].
        tip_speed: The same for the tip's position [m/s].
    """

    def __init__(self, speed: Array, tip_speed: float) -> None:
        self._joint_scale = 1.0 / speed
        self._tip_scale = np.full(3, 1.0 / tip_speed)
        self._stream: ChunkStream[Any] | None = None
        self._time = 0.0  # of the last look [s]
        # of points and arm: once and twice smoothed, and the velocity of the latter (3, 2, c)
        self._smooth = np.zeros((3, 2, 0))
        self._sums = np.zeros((5, 0))  # of 1, e, v, e v and v v, for each coordinate
        self._delay = math.nan

    def observe(self, stream: ChunkStream[Any], state: RobotState, kin: RobotDynamics) -> float:
        """Delay from the times of the chunks to the motion, after a cycle.

        Returns:
            The delay [s]; NaN where the arm hasn't moved enough to tell.
        """
        dt = state.time - self._time
        if stream is self._stream and dt < PERIOD:
            return self._delay
        self._time = state.time
        if isinstance(stream, TipStream):
            both = self._tip_scale * np.array((stream.due, kin.pose[:3, 3]))
        else:
            both = self._joint_scale * np.array((stream.due, state.q))
        if stream is not self._stream:
            self._stream = stream
            self._smooth = np.array((both, both, np.zeros_like(both)))
            self._sums = np.zeros((5, both.shape[1]))
            self._delay = math.nan
            return self._delay
        self._fit(both, dt)
        return self._delay

    def _fit(self, both: Array, dt: float) -> None:
        """Take in points and arm (2, c) after a time [s]."""
        share = -math.expm1(-dt / SMOOTHING)
        once, twice, _ = self._smooth
        once = once + share * (both - once)
        change = share * (once - twice)
        self._smooth = np.array((once, twice + change, change / dt))
        points, arm = self._smooth[1]
        error = points - arm
        velocity = self._smooth[2].mean(axis=0)
        new = (np.ones_like(error), error, velocity, error * velocity, velocity * velocity)
        self._sums = math.exp(-dt / MEMORY) * self._sums + dt * np.array(new)
        weight, errors, velocities, products, squares = self._sums
        spread = float((squares - velocities**2 / weight).sum())
        self._delay = math.nan
        if spread > MOVING**2 * float(weight[0]):
            lag = float((products - errors * velocities / weight).sum()) / spread
            assert self._stream is not None
            self._delay = self._stream.delay + lag
