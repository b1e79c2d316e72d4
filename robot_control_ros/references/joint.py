"""Moves of the joints, with the pose, twist and acceleration of the tip that go with them."""

from __future__ import annotations

import math

import numpy as np
from scipy.interpolate import CubicHermiteSpline, PchipInterpolator, PPoly

from ..core.errors import refused
from ..core.types import Array, JointSample, Reference
from ..robot.model import RobotModel
from .trajectory import Hold


class JointPath:
    """Joint positions at given times, joined by cubic splines; at rest at the end.

    It begins at the reference's joint angles.

    Args:
        model: Model of the robot.
        q0: (n,) joint angles at `time`.
        times: (k,) rising times after `time` [s]; a first time of 0 is taken as the start itself.
        positions: (k, n) joint angles at these times [rad].
        velocities: (k, n) joint velocities, the last ones 0 [rad/s]; None to choose them so that
            nothing overshoots (Fritsch-Carlson).
        time: Time of the start [s].
        speed: (n,) largest joint speeds [rad/s].
        start_velocity: (n,) joint velocities at `time` [rad/s]; at rest where None.

    Raises:
        ConfigError: times that don't rise, numbers that aren't finite, motion at the end, a joint
            that is too fast.
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
        start_velocity: Array | None = None,
    ) -> None:
        if not (np.isfinite(times).all() and np.isfinite(positions).all() and times[0] >= 0.0):
            raise refused(
                "times",
                times,
                "must be finite, from 0 s on, positions finite",
                where="joint path: ",
            )
        begins_later = times[0] > 0.0
        knots = np.concatenate(([0.0], times if begins_later else times[1:]))
        points = np.vstack((q0, positions if begins_later else positions[1:]))
        if len(knots) < 2 or not (np.diff(knots) > 0.0).all():
            raise refused("times", times, "must rise, the last one above 0 s", where="joint path: ")
        if velocities is None:
            slopes = smooth_velocities(knots, points)
        else:
            slopes = np.vstack((np.zeros_like(q0), velocities if begins_later else velocities[1:]))
        slopes[0] = 0.0 if start_velocity is None else start_velocity
        if not np.isfinite(slopes).all():
            raise refused("velocities", slopes, "must be finite", where="joint path: ")
        if slopes[-1].any():
            raise refused(
                "velocities at the end", slopes[-1], "must be 0", 0.0, where="joint path: "
            )
        self._position = CubicHermiteSpline(knots, points, slopes)
        self._velocity = self._position.derivative(1)
        self._acceleration = self._position.derivative(2)
        fastest = _fastest(self._velocity)
        if (fastest > speed).any():
            joint = int(np.argmax(fastest / speed))
            unit = model.limits.unit(joint).velocity
            rule = f"must be at most {speed[joint]:g} {unit}"
            bound = float(speed[joint])
            name = f"velocity of {model.joints[joint]}"
            value = float(fastest[joint])
            raise refused(name, value, rule, bound, where="joint path: ", unit=unit)
        self._model = model
        self._time = time
        self._rest = Hold(model.at(points[-1]).pose, points[-1])
        self.end = time + float(knots[-1])

    def positions(self, spacing: float) -> Array:
        """Joint angles (k, n) from the beginning to the end, at equal times about
        `spacing` [s] apart.
        """
        length = self.end - self._time
        times = np.linspace(0.0, length, max(math.ceil(length / spacing), 1) + 1)
        return np.asarray(self._position(times))

    def path(self, t: float) -> JointSample:
        """Joint positions, velocities and accelerations, (n,) each, at any time t [s]; at
        rest outside its own.
        """
        at = min(max(t, self._time), self.end) - self._time
        moving = float(self._time <= t < self.end)
        return self._position(at), moving * self._velocity(at), moving * self._acceleration(at)

    def sample(self, t: float) -> Reference:
        return (
            self._rest.sample(t) if t >= self.end else joint_reference(self._model, *self.path(t))
        )


class JointBrake:
    """Brings moving joints to rest, each with its own constant deceleration.

    Args:
        model: Model of the robot.
        q0, v0: (n,) joint angles and velocities at `time` [rad, rad/s].
        time: Time of the start [s].
        deceleration: (n,) decelerations of the joints [rad/s²].
    """

    def __init__(
        self, model: RobotModel, q0: Array, v0: Array, time: float, deceleration: Array
    ) -> None:
        self._model = model
        self._time = time
        self._q0 = q0
        self._v0 = v0
        self._brake = -np.sign(v0) * deceleration
        self._lasting = np.abs(v0) / deceleration
        rest, _, _ = self.path(math.inf)
        self._rest = Hold(model.at(rest).pose, rest)
        self.end = time + float(self._lasting.max())

    def path(self, t: float) -> JointSample:
        """Joint positions, velocities and accelerations, (n,) each, at any time t [s]."""
        since = max(t - self._time, 0.0)
        s = np.minimum(since, self._lasting)
        moving = since < self._lasting
        q = self._q0 + s * self._v0 + s**2 / 2.0 * self._brake
        return q, moving * (self._v0 + s * self._brake), moving * self._brake

    def sample(self, t: float) -> Reference:
        return (
            self._rest.sample(t) if t >= self.end else joint_reference(self._model, *self.path(t))
        )


def joint_reference(model: RobotModel, q: Array, v: Array, a: Array) -> Reference:
    """Reference of joint positions, velocities and accelerations (n,), and of the tip
    that goes with them.
    """
    kin = model.at(q, v)
    return Reference(kin.pose, kin.twist, kin.jacobian @ a + kin.jdot_v, None, q, v, a)


def smooth_velocities(times: Array, positions: Array) -> Array:
    """Velocities (k, n) at joint angles (k, n) [rad] so that cubics between them overshoot nowhere.

    The last ones are 0. Source: F. Fritsch, R. Carlson, Monotone piecewise cubic interpolation,
    SIAM J. Numerical Analysis 17(2), 1980.

    Args:
        times: (k,) rising times [s], k >= 2.
        positions: (k, n) joint angles at these times [rad].
    """
    slopes = np.asarray(PchipInterpolator(times, positions).derivative()(times))
    slopes[-1] = 0.0
    return slopes


def _fastest(velocity: PPoly) -> Array:
    """Largest speed (n,) of a piecewise parabola: at the ends or the vertex of a piece."""
    square, slope, constant = velocity.c
    length = np.diff(velocity.x)[:, None]
    with np.errstate(divide="ignore", invalid="ignore"):
        vertex = np.clip(np.nan_to_num(-slope / (2.0 * square)), 0.0, length)
    at = [square * s**2 + slope * s + constant for s in (np.zeros_like(length), vertex, length)]
    return np.asarray(np.abs(at).max(axis=(0, 1)))
