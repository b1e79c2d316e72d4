"""Moves of least jerk."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from ..core.spatial import make_pose, rotation_exp, rotation_exp_jacobian, rotation_log, rotation_log_jacobian
from ..core.types import Array, Reference
from .trajectory import beginning

SHORTEST = 0.1  # s, of a move
LONGEST = 600.0  # s, of a move

# Peak speed and acceleration of a minimum-jerk move over distance 1 in time 1.
PEAK_SPEED = 15.0 / 8.0
PEAK_ACCELERATION = 10.0 / math.sqrt(3.0)


class Quintic:
    """The minimum-jerk polynomial from (x0, v0, a0) to rest at x1 in `duration` seconds, any number of dimensions.

    Source: T. Flash, N. Hogan, The coordination of arm movements, J. Neuroscience 5(7), 1985: the path of least squared
    jerk between two boundary conditions is a polynomial of degree five.
    """

    def __init__(self, x0: Array, v0: Array, a0: Array, x1: Array, duration: float) -> None:
        t, h = duration, x1 - x0
        third = (20.0 * h - 12.0 * v0 * t - 3.0 * a0 * t**2) / (2.0 * t**3)
        fourth = (-30.0 * h + 16.0 * v0 * t + 3.0 * a0 * t**2) / (2.0 * t**4)
        fifth = (12.0 * h - 6.0 * v0 * t - a0 * t**2) / (2.0 * t**5)
        self.coefficients = np.array([x0, v0, a0 / 2.0, third, fourth, fifth])
        self.duration = duration

    def at(self, t: float) -> tuple[Array, Array, Array]:
        """Position, velocity and acceleration `t` seconds after the start; at rest before and after."""
        t = min(max(t, 0.0), self.duration)
        t2, t3 = t * t, t * t * t
        basis = np.array(
            [
                [1.0, t, t2, t3, t2 * t2, t2 * t3],
                [0.0, 1.0, 2.0 * t, 3.0 * t2, 4.0 * t3, 5.0 * t2 * t2],
                [0.0, 0.0, 2.0, 6.0 * t, 12.0 * t2, 20.0 * t3],
            ]
        )
        x, v, a = basis.dot(self.coefficients)
        return x, v, a

    def rates(self, times: Array) -> tuple[Array, Array]:
        """Velocities and accelerations (k, d) at times (k,)."""
        powers = np.clip(times, 0.0, self.duration)[:, None] ** np.arange(4.0)
        moving = (times <= self.duration)[:, None]
        first, second = self.coefficients[1:] * _FIRST, self.coefficients[2:] * _SECOND
        velocities = powers @ first[:4] + (powers[:, 3:] * powers[:, 1:2]) @ first[4:]
        return velocities * moving, (powers @ second) * moving


_FIRST = np.arange(1.0, 6.0)[:, None]  # of the derivatives' coefficients
_SECOND = np.array([[2.0], [6.0], [12.0], [20.0]])


class MinimumJerk:
    """A straight move of the tip to a goal, within limits, beginning with the speed that the reference has.

    Two quintics, added: one brakes what moves, whatever the goal; the other goes, from rest, from where that would
    end to the goal. So a change of goal in mid-flight neither jumps nor swings out.

    The rotation goes along the rotation vector phi of R R_goalᵀ:  R(t) = exp(phi(t)) R_goal, w = Jl(phi) phi'. The
    angular acceleration is given as Jl(phi) phi'': exact for a move that begins at rest.

    Args:
        start: the reference at `time`; its pose must be given, twist and acceleration may be None (at rest).
        goal: (4, 4) tip in base.
        time: of the start [s].
        speed, acceleration: limits (linear [m/s], angular [rad/s]) and the same per second.
        q: (n,) posture to name in the reference, or None.
    """

    def __init__(
        self,
        start: Reference,
        goal: Array,
        time: float,
        speed: Sequence[float],
        acceleration: Sequence[float],
        q: Array | None = None,
    ) -> None:
        pose, twist = beginning(start, "a move of the tip")
        self._goal, self._time, self._q = goal, time, q
        acceleration0 = np.zeros(6) if start.acceleration is None else start.acceleration
        offset_rotation = pose[:3, :3] @ goal[:3, :3].T
        to_rates = rotation_log_jacobian(offset_rotation).T  # Jl⁻¹
        x0 = np.concatenate((pose[:3, 3] - goal[:3, 3], rotation_log(offset_rotation)))
        v0, a0 = (np.concatenate((x[:3], to_rates @ x[3:])) for x in (twist, acceleration0))
        self._brake, self._move = _brake_and_move(x0, v0, a0, np.asarray(speed), np.asarray(acceleration))
        self.end = time + max(self._brake.duration, self._move.duration)
        self._rest = Reference(goal, np.zeros(6), np.zeros(6), None, q)

    def sample(self, t: float) -> Reference:
        if t >= self.end:
            return self._rest
        x, v, a = (p + q for p, q in zip(self._brake.at(t - self._time), self._move.at(t - self._time), strict=True))
        to_velocity = rotation_exp_jacobian(x[3:])
        pose = make_pose(self._goal[:3, 3] + x[:3], rotation_exp(x[3:]) @ self._goal[:3, :3])
        v[3:], a[3:] = to_velocity @ v[3:], to_velocity @ a[3:]
        return Reference(pose, v, a, None, self._q)


def _brake_and_move(x0: Array, v0: Array, a0: Array, speed: Array, acceleration: Array) -> tuple[Quintic, Quintic]:
    """From (x0, v0, a0) to rest at 0: see :class:`MinimumJerk`. The move takes as long as the limits need.

    The brake is the quintic of fixed length whose fifth power vanishes: it moves by v0 T / 2 + a0 T² / 12.
    """
    still = np.zeros(6)
    brake_time = max(SHORTEST, float((3.0 * _sizes(v0) / acceleration).max()))
    braked = v0 * brake_time / 2.0 + a0 * brake_time**2 / 12.0
    brake = Quintic(-braked, v0, a0, still, brake_time)
    distance = _sizes(x0 + braked)
    duration = max(
        SHORTEST,
        float((PEAK_SPEED * distance / speed).max()),
        float(np.sqrt(PEAK_ACCELERATION * distance / acceleration).max()),
    )
    while True:
        move = Quintic(x0 + braked, still, still, still, duration)
        times = np.linspace(0.0, max(duration, brake_time), 41)
        sums = [p + q for p, q in zip(brake.rates(times), move.rates(times), strict=True)]
        if duration > LONGEST or (_within(sums[0], speed) and _within(sums[1], acceleration)):
            return brake, move
        duration *= 1.1


def _sizes(x: Array) -> Array:
    """Lengths of the linear and angular halves of (6,)."""
    return np.array([np.linalg.norm(x[:3]), np.linalg.norm(x[3:])])


def _within(samples: Array, limits: Array) -> bool:
    """Whether the linear and angular halves of (k, 6) samples stay within two limits, half a percent over them."""
    squares = samples * samples
    linear, angular = squares[:, :3].sum(axis=1).max(), squares[:, 3:].sum(axis=1).max()
    return bool(linear <= (1.005 * limits[0]) ** 2 and angular <= (1.005 * limits[1]) ** 2)
