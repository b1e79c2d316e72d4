"""A mass, spring and damper in six degrees of freedom, that an admittance lets the arm follow."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
from scipy.linalg import lapack

from ...core.compiled import compiled
from ...core.rotations import log_jacobian_into, rotation_exp_into
from ...core.small_matrices import cholesky_into, length, product_into, solve_with_factor
from ...core.spatial import cross, rotation_log, rotation_log_jacobian, skew
from ...core.types import Array, as_row
from .bounded_spring import HALVES

TANK = 1.0  # J, at most, of dissipated energy that later changes of mass, stiffness and frame may use
APPROACH = 10.0  # 1/s, of what is left to its largest displacement: its speed there at most
FOLLOWED = (0.005, 0.02)  # m, rad: how far the joints may be behind the body before it waits for them
_SAME = np.eye(3)


@dataclass(frozen=True, eq=False)
class BodyFrame:
    """The axes and the origin of a body's gains.

    A body at position p and rotation R, seen from the axes that it rests in, deflects along axes E by

        x = [Eᵀp; Eᵀ log R],                               where E rests,
        x = [Eᵀ(p + R r - r); Eᵀ log R],  E = R `axes`,    where E and its origin r turn with the body.

    Attributes:
        axes: (3, 3).
        lever: r (3,) in the body's axes [m], where they turn with the body; None where they rest.
    """

    axes: Array = field(default_factory=lambda: _SAME)
    lever: Array | None = None

    @property
    def is_plain(self) -> bool:
        """Whether it is that of the axes that the body rests in."""
        return self.lever is None and self.axes is _SAME

    def deflection(self, position: Array, rotation: Array) -> Array:
        """Of the origin, x (6,) [m, rad]."""
        turn = rotation_log(rotation)
        if self.lever is None:
            return np.concatenate((position, turn) if self.is_plain else (position.dot(self.axes), turn.dot(self.axes)))
        away = position + rotation.dot(self.lever) - self.lever
        return np.concatenate((away.dot(rotation).dot(self.axes), turn.dot(self.axes)))

    def slope(self, x: Array, rotation: Array) -> Array:
        """The matrix B (6, 6) of d/dt x = B v, with the twist v along the axes: Bᵀ K x is the exact gradient."""
        result, turning = np.eye(6), rotation_log_jacobian(rotation)
        if self.lever is None:
            turning = turning.T
        else:
            result[:3, 3:] = skew(x[:3])
        result[3:, 3:] = self.axes.T.dot(turning).dot(self.axes)
        return result

    def twist(self, twist: Array, rotation: Array) -> Array:
        """Of the origin along the axes (6,), from that of the body."""
        if self.is_plain:
            return twist
        if self.lever is None:
            return np.asarray(twist.reshape(2, 3).dot(self.axes).ravel())
        velocity = twist[:3] + cross(twist[3:], rotation.dot(self.lever))
        return np.asarray(np.stack((velocity, twist[3:])).dot(rotation).dot(self.axes).ravel())

    def body_twist(self, twist: Array, rotation: Array) -> Array:
        """The other way round."""
        if self.is_plain:
            return twist
        axes = self.axes if self.lever is None else rotation.dot(self.axes)
        result = twist.reshape(2, 3).dot(axes.T).ravel()
        if self.lever is not None:
            result[:3] -= cross(result[3:], rotation.dot(self.lever))
        return np.asarray(result)

    def wrench(self, wrench: Array, rotation: Array) -> Array:
        """About the origin along the axes (6,), from that on the body: its power is the same."""
        if self.is_plain:
            return wrench
        if self.lever is None:
            return np.asarray(wrench.reshape(2, 3).dot(self.axes).ravel())
        torque = wrench[3:] - cross(rotation.dot(self.lever), wrench[:3])
        return np.asarray(np.stack((wrench[:3], torque)).dot(rotation).dot(self.axes).ravel())


PLAIN = BodyFrame()


class VirtualBody:
    """A mass, spring and damper in six degrees of freedom, relative to the reference; integrated implicitly.

    (M + dt B + dt² AᵀKA) v⁺ = M v + dt (f - AᵀK x),  with ẋ = A v. In a frame that rests, A = 1 and x⁺ = x + dt v⁺ for
    the translation; for the rotation x = log(R_c R_refᵀ) and R_c⁺ = exp(dt w⁺) R_c. The spring's wrench is the gradient
    of xᵀ K x / 2: K x where all three rotational stiffnesses are the same. In a frame that turns with the body, v is
    along the turning axes; so vᵀ M v / 2 and the power vᵀ f are exact there as well. Stable for every dt > 0 and
    M, B, K >= 0, M > 0.

    Mass and stiffness that grow while the body moves or is deflected add energy, and so may another frame. They do so
    only as far as what the damper has taken out, kept in a tank of at most 1 J, pays for it; else they wait. So the
    body stays passive while it is being tuned. Source: F. Ferraguti et al., An energy tank-based interactive control
    architecture for autonomous and teleoperated robotic surgery, IEEE Trans. Robotics 31(5), 2015.

    Attributes:
        position: (3,) [m], rotation: (3, 3), relative to the reference, along the axes that it rests in.
        twist: (6,) [m/s, rad/s] along the axes of `frame`, of its origin.
        frame: of its gains.
    """

    def __init__(self) -> None:
        self.place(np.zeros(3), np.eye(3), np.zeros(6))

    def place(self, position: Array, rotation: Array, twist: Array) -> None:
        """Put it somewhere in the plain frame, with an empty tank; it takes the next mass and stiffness as they are."""
        self.position, self.rotation, self.twist = position, rotation, twist
        self.frame = PLAIN
        self._mass: Array | None = None
        self._stiffness = np.zeros(6)
        self._tank = 0.0

    def deflection(self) -> Array:
        """Displacement and rotation vector (6,) [m, rad] along the axes of the frame."""
        return self.frame.deflection(self.position, self.rotation)

    def body_twist(self) -> Array:
        """Its twist (6,) along the axes that it rests in."""
        return self.frame.body_twist(self.twist, self.rotation)

    def step(self, wrench: Array, mass: Array, damping: Array, stiffness: Array, dt: float) -> None:
        """One step under a wrench (6,); mass, damping and stiffness are diagonals (6,), or all three (6, 6)."""
        x = self.deflection()
        mass, stiffness = self._affordable(x, mass, stiffness)
        if mass.ndim == 1 and self.frame.is_plain:
            twist = np.empty(6)
            given = as_row(x), as_row(self.twist), as_row(wrench), as_row(mass), as_row(damping), as_row(stiffness)
            step_of_diagonals(*given, dt, twist)
        else:
            mass, damping, spring = (_matrix(each) for each in (mass, damping, stiffness))
            slope = self.frame.slope(x, self.rotation)
            impulse = mass.dot(self.twist) + dt * (wrench - slope.T.dot(spring.dot(x)))
            left = mass + dt * damping + dt**2 * slope.T.dot(spring).dot(slope)
            _, twist, _ = lapack.dposv(left, impulse)
        self._tank = min(self._tank + dt * _form(damping, twist), TANK)
        self.move(twist, dt)

    def change(self, frame: BodyFrame, axes: Array = _SAME) -> bool:
        """Go on in another frame, resting in other axes (3, 3) given in the present ones; False if it can't pay yet."""
        position, rotation = axes.T.dot(self.position), axes.T.dot(self.rotation).dot(axes)
        twist = frame.twist(self.body_twist().reshape(2, 3).dot(axes).ravel(), rotation)
        cost = _form(self._stiffness, frame.deflection(position, rotation)) - _form(self._stiffness, self.deflection())
        if self._mass is not None:
            cost += _form(self._mass, twist) - _form(self._mass, self.twist)
        if 0.5 * cost > self._tank:
            return False
        self._tank = min(self._tank - 0.5 * cost, TANK)
        self.position, self.rotation, self.twist, self.frame = position, rotation, twist, frame
        return True

    def move(self, twist: Array, dt: float) -> None:
        """Let it move with a twist (6,) for dt."""
        self.twist = twist
        position, rotation = np.empty(3), np.empty((3, 3))
        move_into(as_row(self.position), as_row(self.rotation), as_row(self.body_twist()), dt, position, rotation)
        self.position, self.rotation = position, rotation

    def bound(self, displacement: tuple[float, float], speed: tuple[float, float], dt: float) -> None:
        """Keep its displacement [m, rad] and its speed [m/s, rad/s] within bounds.

        It slows down before the largest displacement, and takes back `dt` seconds of what it was too fast.
        """
        twist = np.array(self.twist)
        if slow_down(twist, as_row(self.deflection()), *displacement, *speed):
            self.move(twist - self.twist, dt)
            self.twist = twist

    def wait(self, lag: Array, slower: Array, dt: float) -> None:
        """Wait for what follows the body.

        It goes back by what the `lag` (6,) [m, rad] is beyond 5 mm or 0.02 rad. From half of that on it gives up, more
        and more, the speed by which the follower is `slower` (6,) [m/s, rad/s].
        """
        for part, tolerance in zip(HALVES, FOLLOWED, strict=True):
            behind = lag[part]
            size = _length(behind)
            if size <= 0.5 * tolerance:
                continue
            direction, twist = behind / size, self.twist.copy()
            if size > tolerance:
                back = np.zeros(6)
                back[part] = (tolerance - size) / dt * direction
                self.move(back, dt)
            faster = min(float(direction.dot(twist[part])), float(direction.dot(slower[part])))
            twist[part] -= min(2.0 * size / tolerance - 1.0, 1.0) * max(faster, 0.0) * direction
            self.twist = twist

    def _affordable(self, x: Array, mass: Array, stiffness: Array) -> tuple[Array, Array]:
        if self._mass is None:
            self._mass, self._stiffness = mass, stiffness
        if mass is self._mass and stiffness is self._stiffness:
            return mass, stiffness
        if mass.ndim != self._mass.ndim:
            self._mass, self._stiffness = _matrix(self._mass), _matrix(self._stiffness)
            mass, stiffness = _matrix(mass), _matrix(stiffness)
        more_mass, more_stiffness = mass - self._mass, stiffness - self._stiffness
        cost = 0.5 * (_form(more_mass, self.twist) + _form(more_stiffness, x))
        if cost > self._tank:
            fraction = self._tank / cost
            mass, stiffness = self._mass + fraction * more_mass, self._stiffness + fraction * more_stiffness
            cost = self._tank
        self._tank = min(self._tank - cost, TANK)
        self._mass, self._stiffness = mass, stiffness
        return mass, stiffness


def _length(vector: Array) -> float:
    return math.sqrt(vector.dot(vector))


def _matrix(values: Array) -> Array:
    return np.diag(values) if values.ndim == 1 else values


def _form(values: Array, x: Array) -> float:
    """xᵀ A x of a diagonal (6,) or a matrix (6, 6)."""
    return float(values.dot(x * x) if values.ndim == 1 else x.dot(values).dot(x))


@compiled
def step_of_diagonals(
    x: Array, twist: Array, wrench: Array, mass: Array, damping: Array, stiffness: Array, dt: float, result: Array
) -> None:
    """The twist (6,) after a step [s], in the plain frame; see :class:`VirtualBody`.

    Args:
        x, twist, wrench: displacement and rotation vector, twist and wrench (6,).
        mass, damping, stiffness: diagonals (6,).
        dt: the step [s].
        result: the twist (6,).
    """
    slope = np.empty((3, 3))  # Aᵀ
    log_jacobian_into(x[3:], slope)
    impulse = np.empty((3, 1))
    square = np.empty((3, 3))
    for i in range(3):
        pulled = mass[i] * twist[i] + dt * (wrench[i] - stiffness[i] * x[i])
        result[i] = pulled / (mass[i] + dt * damping[i] + dt * dt * stiffness[i])
        pull = 0.0
        for j in range(3):
            pull += slope[i, j] * stiffness[3 + j] * x[3 + j]
            square[i, j] = 0.0
            for k in range(3):
                square[i, j] += dt * dt * slope[i, k] * stiffness[3 + k] * slope[j, k]
        square[i, i] += mass[3 + i] + dt * damping[3 + i]
        impulse[i, 0] = mass[3 + i] * twist[3 + i] + dt * (wrench[3 + i] - pull)
    lower = np.empty((3, 3))
    if cholesky_into(square, lower):
        solve_with_factor(lower, impulse)
        result[3:] = impulse[:, 0]
    else:  # a number that isn't finite
        result[3:] = math.nan


@compiled
def move_into(
    position: Array, rotation: Array, twist: Array, dt: float, next_position: Array, next_rotation: Array
) -> None:
    """Position (3,) and rotation (3, 3) after dt [s] of a twist (6,), into the last two."""
    turn = np.empty((3, 3))
    rotation_exp_into(dt * twist[3:], turn)
    for i in range(3):
        next_position[i] = position[i] + dt * twist[i]
    product_into(turn, rotation, next_rotation)


@compiled
def slow_down(twist: Array, deflection: Array, farthest: float, widest: float, fastest: float, quickest: float) -> bool:
    """Slow a body down, as it may not go faster, nor farther; see :meth:`VirtualBody.bound`.

    Args:
        twist: (6,), which is changed.
        deflection: (6,) along the same axes.
        farthest, widest: largest displacement [m] and rotation [rad].
        fastest, quickest: largest speeds [m/s, rad/s].

    Returns:
        Whether it was too fast.
    """
    slowed = False
    for first in (0, 3):
        speed = fastest if first == 0 else quickest
        size = length(twist[first : first + 3])
        if size > speed:
            slowed = True
            for i in range(first, first + 3):
                twist[i] *= speed / size
        distance = length(deflection[first : first + 3])
        if distance == 0.0:
            continue
        outward = 0.0
        for i in range(first, first + 3):
            outward += deflection[i] / distance * twist[i]
        excess = outward - max(APPROACH * ((farthest if first == 0 else widest) - distance), 0.0)
        if excess > 0.0:
            slowed = True
            for i in range(first, first + 3):
                twist[i] -= excess * deflection[i] / distance
    return slowed
