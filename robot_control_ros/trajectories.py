"""References over time. Every trajectory starts where the reference is, and rests at its end."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Protocol

import numpy as np
from scipy.interpolate import CubicHermiteSpline, PchipInterpolator, PPoly

from .errors import ConfigError
from .model import RobotModel
from .spatial import (
    cross,
    make_pose,
    rotation_exp,
    rotation_exp_jacobian,
    rotation_log,
    rotation_log_jacobian,
)
from .types import Array, Reference

SHORTEST = 0.1  # s, of a move: a target that is dragged arrives as many short moves
LONGEST = 600.0  # s, of a move

# Peak speed and acceleration of a minimum-jerk move over distance 1 in time 1.
_PEAK_SPEED = 15.0 / 8.0
_PEAK_ACCELERATION = 10.0 / math.sqrt(3.0)


class Trajectory(Protocol):
    """A reference for every time."""

    def sample(self, t: float) -> Reference:
        """The reference at time t [s], the clock of RobotState.time."""


class Hold:
    """Rest at one pose and one posture.

    Args:
        pose: (4, 4) tip in base.
        q: (n,) joint angles that go with it.
    """

    def __init__(self, pose: Array, q: Array) -> None:
        still = np.zeros(6)
        self._reference = Reference(pose, still, still, None, q, np.zeros_like(q), np.zeros_like(q))

    def sample(self, t: float) -> Reference:
        return self._reference


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
        if start.pose is None:
            raise ConfigError("a move of the tip needs a reference pose to start from")
        self._goal, self._time, self._q = goal, time, q
        x0, v0, a0 = np.zeros(6), np.zeros(6), np.zeros(6)
        offset_rotation = start.pose[:3, :3] @ goal[:3, :3].T
        x0[:3], x0[3:] = start.pose[:3, 3] - goal[:3, 3], rotation_log(offset_rotation)
        to_rates = rotation_log_jacobian(offset_rotation).T  # Jl⁻¹
        for given, out in ((start.twist, v0), (start.acceleration, a0)):
            if given is not None:
                out[:3], out[3:] = given[:3], to_rates @ given[3:]
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
        float((_PEAK_SPEED * distance / speed).max()),
        float(np.sqrt(_PEAK_ACCELERATION * distance / acceleration).max()),
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


class JointMove:
    """A minimum-jerk move of the joints; the pose, twist and acceleration that it means for the tip come along.

    Args:
        model: of the robot.
        q0, goal: (n,) joint angles [rad].
        time: of the start [s].
        speed: (n,) largest joint speeds [rad/s].
    """

    def __init__(self, model: RobotModel, q0: Array, goal: Array, time: float, speed: Array) -> None:
        duration = max(SHORTEST, float((_PEAK_SPEED * np.abs(goal - q0) / speed).max()))
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


class Circle:
    """A circle of the tip through the start pose, orientation kept, faded in so that it begins at rest.

    Args:
        start: (4, 4) pose to begin at.
        radius: [m].
        period: of one turn [s].
        time: of the start [s].
        normal: (3,) axis of the circle in the base.
        fade: time to reach full speed [s].
        q: (n,) posture to name in the reference, or None.
    """

    def __init__(
        self,
        start: Array,
        radius: float,
        period: float,
        time: float = 0.0,
        normal: Sequence[float] = (1.0, 0.0, 0.0),
        fade: float = 1.0,
        q: Array | None = None,
    ) -> None:
        for name, value in (("radius", radius), ("period", period), ("fade", fade)):
            if not (math.isfinite(value) and value > 0.0):
                raise ConfigError(f"circle: {name} = {value}: must be above 0")
        axis = np.asarray(normal, dtype=float)
        if axis.shape != (3,) or not 0.0 < np.linalg.norm(axis) < math.inf:
            raise ConfigError(f"circle: normal = {axis.tolist()}: must be 3 finite numbers, not all 0")
        axis = axis / np.linalg.norm(axis)
        helper = np.eye(3)[int(np.argmin(np.abs(axis)))]
        first = helper - axis * (axis @ helper)
        self._first = first / np.linalg.norm(first)
        self._second = cross(axis, self._first)
        self._start, self._radius, self._time, self._q = start, radius, time, q
        self._rate, self._fade = 2.0 * math.pi / period, fade

    def sample(self, t: float) -> Reference:
        angle, rate, change = self._phase(t - self._time)
        cosine, sine = math.cos(angle), math.sin(angle)
        along = self._radius * (-sine * self._first + cosine * self._second)
        inward = -self._radius * (cosine * self._first + sine * self._second)
        pose = self._start.copy()
        pose[:3, 3] += -self._radius * self._first - inward
        twist, acceleration = np.zeros(6), np.zeros(6)
        twist[:3] = rate * along
        acceleration[:3] = change * along + rate**2 * inward
        return Reference(pose, twist, acceleration, None, self._q)

    def _phase(self, t: float) -> tuple[float, float, float]:
        """Angle, angular rate and its derivative: the rate rises as 3 s² - 2 s³ over the fade."""
        if t <= 0.0:
            return 0.0, 0.0, 0.0
        if t >= self._fade:
            return self._rate * (t - self._fade / 2.0), self._rate, 0.0
        s = t / self._fade
        angle = self._rate * self._fade * (s**3 - s**4 / 2.0)
        return angle, self._rate * (3.0 - 2.0 * s) * s**2, self._rate * 6.0 * s * (1.0 - s) / self._fade


class Jog:
    """Move the tip with a given twist until `lasting` seconds are over, then brake; speed changes are limited.

    Args:
        start: the reference at `time`; its pose must be given.
        twist: (6,) wanted [m/s, rad/s].
        time: of the start [s].
        acceleration: (linear [m/s²], angular [rad/s²]).
        lasting: [s] without a newer command before it brakes.
    """

    def __init__(
        self, start: Reference, twist: Array, time: float, acceleration: Sequence[float], lasting: float
    ) -> None:
        if start.pose is None:
            raise ConfigError("jogging needs a reference pose to start from")
        self._pose, self._time, self._twist, self._lasting = start.pose, time, twist, lasting
        self._before = np.zeros(6) if start.twist is None else start.twist
        self._rise = _ramp_time(twist - self._before, acceleration)
        self._brake = _ramp_time(twist, acceleration)

    def sample(self, t: float) -> Reference:
        t = max(t - self._time, 0.0)
        rise, last = min(t, self._rise), max(self._lasting, self._rise)
        steady = min(max(t - self._rise, 0.0), last - self._rise)
        brake = min(max(t - last, 0.0), self._brake)
        change = (self._twist - self._before) / self._rise
        twist = self._before + change * rise - self._twist * (brake / self._brake)
        ramp = self._before * rise + change * (rise**2 / 2.0)
        if t < self._rise:
            twist[3:], ramp[3:] = self._turning(rise, twist[3:], ramp[3:])
        else:
            _, ramp[3:] = self._turning(self._rise, self._twist[3:], ramp[3:])
        after = self._twist * (steady + brake - brake**2 / (2.0 * self._brake))
        rotation = rotation_exp(after[3:]) @ rotation_exp(ramp[3:]) @ self._pose[:3, :3]
        pose = make_pose(self._pose[:3, 3] + ramp[:3] + after[:3], rotation)
        return Reference(pose, twist, self._acceleration(t, last, change))

    def _turning(self, t: float, rate: Array, turned: Array) -> tuple[Array, Array]:
        """Angular velocity and rotation vector t seconds into the ramp, whose axis turns (Magnus, two terms)."""
        curl = cross(self._twist[3:] - self._before[3:], self._before[3:]) / self._rise
        turned = turned + t**3 / 12.0 * curl
        return rotation_exp_jacobian(turned) @ (rate + t**2 / 4.0 * curl), turned

    def _acceleration(self, t: float, last: float, change: Array) -> Array:
        if t < self._rise:
            return change
        return -self._twist / self._brake if last < t < last + self._brake else np.zeros(6)


def _ramp_time(change: Array, acceleration: Sequence[float]) -> float:
    linear, angular = float(np.linalg.norm(change[:3])), float(np.linalg.norm(change[3:]))
    return max(linear / acceleration[0], angular / acceleration[1], 1e-3)
