"""Moves of the joints. The pose, twist and acceleration that they mean for the tip come along."""

from __future__ import annotations

import numpy as np
from scipy.interpolate import CubicHermiteSpline, PchipInterpolator, PPoly

from ..errors import ConfigError
from ..model import RobotModel
from ..types import Array, Reference
from .minimum_jerk import PEAK_SPEED, SHORTEST, Quintic
from .trajectory import Hold


class JointMove:
    """A minimum-jerk move of the joints.

    Args:
        model: of the robot.
        q0, goal: (n,) joint angles [rad].
        time: of the start [s].
        speed: (n,) largest joint speeds [rad/s].
    """

    def __init__(self, model: RobotModel, q0: Array, goal: Array, time: float, speed: Array) -> None:
        duration = max(SHORTEST, float((PEAK_SPEED * np.abs(goal - q0) / speed).max()))
        still = np.zeros_like(q0)
        self._model, self._time = model, time
        self._path = Quintic(q0, still, still, goal, duration)
        self._rest = Hold(model.at(goal).pose, goal)
        self.end = time + duration

    def sample(self, t: float) -> Reference:
        if t >= self.end:
            return self._rest.sample(t)
        q, v, a = self._path.at(t - self._time)
        kin = self._model.at(q, v)
        return Reference(kin.pose, kin.twist, kin.jacobian @ a + kin.jdot_v, None, q, v, a)


class JointPath:
    """Joint positions at given times, joined by cubic splines, from where the robot is; at rest at the end.

    Args:
        model: of the robot.
        q0: (n,) joint angles at `time`.
        times: (k,) [s] after `time`, rising; a first time of 0 is taken as the start itself.
        positions: (k, n) [rad].
        velocities: (k, n) [rad/s], or None: then chosen so that nothing overshoots (Fritsch-Carlson).
        time: of the start [s].
        speed: (n,) largest joint speeds [rad/s].

    Raises:
        ConfigError: times that don't rise, numbers that aren't finite, a joint faster than it can be.
    """

    def __init__(
        self,
        model: RobotModel,
        q0: Array,
        times: Array,
        positions: Array,
        velocities: Array | None,
        time: float,
        speed: Array,
    ) -> None:
        if not (np.isfinite(times).all() and np.isfinite(positions).all() and times[0] >= 0.0):
            raise ConfigError(f"joint path: times {times.tolist()}: must be finite, from 0 s on, positions finite")
        begins_later = times[0] > 0.0
        knots = np.concatenate(([0.0], times if begins_later else times[1:]))
        points = np.vstack((q0, positions if begins_later else positions[1:]))
        if len(knots) < 2 or not (np.diff(knots) > 0.0).all():
            raise ConfigError(f"joint path: times {times.tolist()}: must rise, the last one above 0 s")
        if velocities is None:
            self._position = PchipInterpolator(knots, points)
        else:
            slopes = np.vstack((np.zeros_like(q0), velocities if begins_later else velocities[1:]))
            if not np.isfinite(slopes).all():
                raise ConfigError("joint path: velocities must be finite")
            self._position = CubicHermiteSpline(knots, points, slopes)
        self._velocity, self._acceleration = self._position.derivative(1), self._position.derivative(2)
        fastest = _fastest(self._velocity)
        if (fastest > speed).any():
            joint = int(np.argmax(fastest / speed))
            raise ConfigError(
                f"joint path: {model.joints[joint]} would move at {fastest[joint]:g} rad/s: "
                f"must be at most {speed[joint]:g} rad/s"
            )
        self._model, self._time = model, time
        self._rest = Hold(model.at(points[-1]).pose, points[-1])
        self.end = time + float(knots[-1])

    def sample(self, t: float) -> Reference:
        if t >= self.end:
            return self._rest.sample(t)
        at = max(t - self._time, 0.0)
        q, v, a = self._position(at), self._velocity(at), self._acceleration(at)
        kin = self._model.at(q, v)
        return Reference(kin.pose, kin.twist, kin.jacobian @ a + kin.jdot_v, None, q, v, a)


def _fastest(velocity: PPoly) -> Array:
    """Largest speed (n,) of a piecewise parabola: at the ends or the vertex of a piece."""
    square, slope, constant = velocity.c
    length = np.diff(velocity.x)[:, None]
    with np.errstate(divide="ignore", invalid="ignore"):
        vertex = np.clip(np.nan_to_num(-slope / (2.0 * square)), 0.0, length)
    at = [square * s**2 + slope * s + constant for s in (np.zeros_like(length), vertex, length)]
    return np.asarray(np.abs(at).max(axis=(0, 1)))
