"""A virtual mass, spring and damper in six degrees of freedom, which an admittance follows."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...core.compiled import compiled
from ...core.gains import MATRIX, SCALAR, gain
from ...core.record import Field, Record
from ...core.rotations import (
    log_jacobian_into,
    rotation_exp_into,
    rotation_log_into,
    twist_at_into,
    twist_in_into,
)
from ...core.small_matrices import (
    cholesky_into,
    congruence_into,
    length,
    product_into,
    solve_with_factor,
    times,
)
from ...core.types import Array, as_row
from ..energy_tank import fill, pay, pay_whole, unpaid

# J, at most, of dissipated energy that later changes of mass, stiffness and frame may use; empty at
# first
TANK = 1.0
APPROACH = 10.0  # 1/s, of what is left to its largest displacement: its speed there at most
# m, rad: how far the joints may be behind the body before it waits for them
FOLLOWED = (0.005, 0.02)


def mass_gain(doc: str) -> Any:
    """Gain for the mass and inertia of a body; `doc` describes it."""
    default = (2.0, 2.0, 2.0, 0.1, 0.1, 0.1)
    return gain(
        default, size=MATRIX, unit="kg, kg·m²", lower=0.001, upper=100.0, symmetric=True, doc=doc
    )


def max_displacement_gain(doc: str) -> Any:
    """Gain for the largest displacement of body or tip from the reference; `doc` describes it."""
    return gain(0.3, size=SCALAR, unit="m", lower=0.001, upper=2.0, doc=doc)


def max_rotation_gain(doc: str) -> Any:
    """Gain for the largest rotation of a body or a tip from the reference; `doc` describes it."""
    return gain(1.0, size=SCALAR, unit="rad", lower=0.001, upper=3.0, doc=doc)


BODY = Record(
    "VirtualBody",
    (
        Field("position", (3,), "m", "Relative to the reference, along the axes that it rests in."),
        Field("rotation", (3, 3), "", "Relative to the reference, along the same axes."),
        Field("twist", (6,), "m/s, rad/s", "Of its frame's origin, along the frame's axes."),
        Field("axes", (3, 3), "", "Axes of its frame: as it rests, or as it moves with the body."),
        Field("lever", (3,), "m", "Origin of the frame in the body; 0 where the frame rests."),
        Field("turns", (), "", "1 where the frame moves with the body, 0 where it rests."),
        Field("mass", (6, 6), "kg, kg·m²", "M that it has, along the axes of its frame."),
        Field("stiffness", (6, 6), "N/m, N·m/rad", "K that it has."),
        Field("begins", (), "", "1 until it has its first mass and stiffness."),
        Field("tank", (), "J", "Energy that changes may use."),
    ),
)
BODY_WIDTH = BODY.width(0)
body_at = BODY.views


class VirtualBody:
    """A mass, spring and damper in six degrees of freedom, relative to the reference; integrated
    implicitly.

    (M + dt B + dt² AᵀKA) v⁺ = M v + dt (f - AᵀK x),  with ẋ = A v. In a frame that rests, A = 1 and
    x⁺ = x + dt v⁺ for the translation; for the rotation x = log(R_c R_refᵀ) and R_c⁺ = exp(dt w⁺)
    R_c. The spring's wrench is the gradient of xᵀ K x / 2: K x where all three rotational
    stiffnesses are the same. In a frame that turns with the body, v is along the turning axes; so
    vᵀ M v / 2 and the power vᵀ f are exact there as well. Stable for every dt > 0 and M, B, K >= 0,
    M > 0.

    A body at position p and rotation R, seen from the axes that it rests in, deflects along its
    frame's axes E by

        x = [Eᵀp; Eᵀ log R],                               where E rests,
        x = [Eᵀ(p + R r - r); Eᵀ log R],  E = R E_0,       where E and its origin r turn with the body.

    Mass and stiffness that grow while the body moves or is deflected add energy, and so may another
    frame. The energy that the damper has taken out pays for that; it is kept in a tank of at most
    1 J. Changes go as far as it pays for them, and else they wait. So the body stays passive while
    it is being tuned; see laws/energy_tank.py. The tank is empty at first, as no energy has come in
    yet. Another frame can't be had in part, so it waits for the whole of its cost.

    Attributes:
        row: Memory of the body, see BODY; the compiled functions of this module take it.
        position: (3,) position relative to the reference, along the axes that it rests in [m].
        rotation: (3, 3) rotation relative to the reference, along the same axes.
        twist: (6,) twist of the frame's origin, along the frame's axes [m/s, rad/s].
    """

    def __init__(self) -> None:
        self.row, self._named = BODY.single(0)
        self.place(np.zeros(3), np.eye(3), np.zeros(6))

    def place(self, position: Array, rotation: Array, twist: Array) -> None:
        """Put the body somewhere, with an empty tank; see :func:`place`."""
        place(self.row, as_row(position), as_row(rotation), as_row(twist))

    @property
    def position(self) -> Array:
        return np.array(self._named["position"])

    @property
    def rotation(self) -> Array:
        return np.array(self._named["rotation"])

    @property
    def twist(self) -> Array:
        return np.array(self._named["twist"])

    def deflection(self) -> Array:
        """Displacement and rotation vector (6,) [m, rad] of the body along its frame's axes."""
        x = np.empty(6)
        deflection_into(self.row, x)
        return x

    def step(self, wrench: Array, mass: Array, damping: Array, stiffness: Array, dt: float) -> None:
        """Make one step, see :func:`step`; the gains are diagonals (6,), or matrices (6, 6)."""
        mass, damping, stiffness = (
            np.diag(each) if each.ndim == 1 else each for each in (mass, damping, stiffness)
        )
        step(self.row, as_row(wrench), as_row(mass), as_row(damping), as_row(stiffness), dt)


def unpaid_gains(row: Array, mass: Array, stiffness: Array) -> str:
    """The part of a wanted mass and stiffness (6, 6) that a body hasn't got yet, in words.

    It is empty where the body has both. See :func:`..energy_tank.unpaid`.
    """
    body = BODY.by_name(row, 0)
    if body["begins"]:
        return ""
    parts = (
        unpaid("stiffness", body["stiffness"], stiffness, ("N/m", "N·m/rad")),
        unpaid("mass", body["mass"], mass, ("kg", "kg·m²")),
    )
    return "; ".join(part for part in parts if part)


@compiled
def place(row: Array, position: Array, rotation: Array, twist: Array) -> None:
    """Put a body somewhere, with an empty tank; it takes the next mass and stiffness as they are.

    Args:
        row: Row of the body.
        position: (3,) position relative to the reference, along the axes that it rests in [m].
        rotation: (3, 3) rotation relative to the reference, along the same axes.
        twist: (6,) twist along the same axes [m/s, rad/s].
    """
    body = body_at(row, 0)
    for i in range(len(row)):
        row[i] = 0.0
    for i in range(3):
        body.position[i] = position[i]
        body.axes[i, i] = 1.0
        for j in range(3):
            body.rotation[i, j] = rotation[i, j]
    for i in range(6):
        body.twist[i] = twist[i]
    body.begins[0] = 1.0


@compiled
def frame_placement_into(row: Array, placement: Array) -> None:
    """Write the placement (4, 4) of a body's frame about the body's origin.

    It is along the axes that the body rests in.
    """
    body = body_at(row, 0)
    for i in range(3):
        placement[i, 3] = 0.0
        placement[3, i] = 0.0
        for j in range(3):
            placement[i, j] = body.axes[i, j]
    placement[3, 3] = 1.0
    if body.turns[0] == 0.0:
        return
    for i in range(3):
        for j in range(3):
            placement[i, 3] += body.rotation[i, j] * body.lever[j]
            placement[i, j] = 0.0
            for k in range(3):
                placement[i, j] += body.rotation[i, k] * body.axes[k, j]


@compiled
def deflection_into(row: Array, x: Array) -> None:
    """Write displacement and rotation vector (6,) [m, rad] of a body along its frame's axes."""
    body = body_at(row, 0)
    placement = np.empty((4, 4))
    frame_placement_into(row, placement)
    away = np.empty(6)
    for i in range(3):
        away[i] = body.position[i] + placement[i, 3] - body.lever[i]
    rotation_log_into(body.rotation, away[3:])
    for i in range(3):
        x[i] = placement[0, i] * away[0] + placement[1, i] * away[1] + placement[2, i] * away[2]
        x[3 + i] = placement[0, i] * away[3] + placement[1, i] * away[4] + placement[2, i] * away[5]


@compiled
def slope_into(row: Array, x: Array, slope: Array) -> None:
    """Write A (6, 6) of d/dt x = A v into `slope`, at a deflection x (6,).

    The twist v is along the axes of the frame.
    """
    turning = np.empty((3, 3))
    log_jacobian_into(x[3:], turning)
    turns = body_at(row, 0).turns[0] == 1.0
    for i in range(3):
        for j in range(3):
            slope[i, j] = 1.0 if i == j else 0.0
            slope[i, 3 + j] = 0.0
            slope[3 + i, j] = 0.0
            slope[3 + i, 3 + j] = turning[i, j] if turns else turning[j, i]
    if turns:
        slope[0, 4] = -x[2]
        slope[0, 5] = x[1]
        slope[1, 3] = x[2]
        slope[1, 5] = -x[0]
        slope[2, 3] = -x[1]
        slope[2, 4] = x[0]


@compiled
def body_twist_into(row: Array, twist: Array) -> None:
    """Write the twist (6,) of a body along the axes that it rests in."""
    placement = np.empty((4, 4))
    frame_placement_into(row, placement)
    twist_at_into(body_at(row, 0).twist, placement, twist)


@compiled
def step(
    row: Array, wrench: Array, mass: Array, damping: Array, stiffness: Array, dt: float
) -> None:
    """Make one step of a body; see :class:`VirtualBody`.

    Args:
        row: Row of the body.
        wrench: Wrench f (6,) about its frame's origin, along the frame's axes [N, N·m].
        mass, damping, stiffness: Wanted M, B and K (6, 6), along the same axes.
        dt: Duration of the step [s].
    """
    body = body_at(row, 0)
    x = np.empty(6)
    deflection_into(row, x)
    _change_gains(row, x, mass, stiffness)
    slope = np.empty((6, 6))
    slope_into(row, x, slope)
    left = np.empty((6, 6))
    congruence_into(body.stiffness, slope, left)
    pull = np.empty(6)
    times(body.stiffness, x, pull)
    impulse = np.empty((6, 1))
    for i in range(6):
        impulse[i, 0] = dt * wrench[i]
        for j in range(6):
            left[i, j] = body.mass[i, j] + dt * damping[i, j] + dt * dt * left[i, j]
            impulse[i, 0] += body.mass[i, j] * body.twist[j] - dt * slope[j, i] * pull[j]
    lower = np.empty((6, 6))
    if not cholesky_into(left, lower):  # a number that isn't finite
        for i in range(6):
            body.twist[i] = math.nan
        return
    solve_with_factor(lower, impulse)
    twist = np.empty(6)
    for i in range(6):
        twist[i] = impulse[i, 0]
    fill(body.tank, dt * _form(damping, twist), TANK)
    move(row, twist, dt)


@compiled
def _change_gains(row: Array, x: Array, mass: Array, stiffness: Array) -> None:
    """Give a body another mass and stiffness (6, 6) as far as its tank pays for them at
    a deflection x (6,).
    """
    body = body_at(row, 0)
    share = 1.0
    if body.begins[0] == 0.0:
        cost = 0.0
        for i in range(6):
            for j in range(6):
                cost += 0.5 * body.twist[i] * (mass[i, j] - body.mass[i, j]) * body.twist[j]
                cost += 0.5 * x[i] * (stiffness[i, j] - body.stiffness[i, j]) * x[j]
        share = pay(body.tank, cost, TANK)
    body.begins[0] = 0.0
    for i in range(6):
        for j in range(6):
            if share == 1.0:
                body.mass[i, j] = mass[i, j]
                body.stiffness[i, j] = stiffness[i, j]
            else:
                body.mass[i, j] += share * (mass[i, j] - body.mass[i, j])
                body.stiffness[i, j] += share * (stiffness[i, j] - body.stiffness[i, j])


@compiled
def _form(matrix: Array, x: Array) -> float:
    """Quadratic form xᵀ A x of a matrix A (6, 6)."""
    total = 0.0
    for i in range(6):
        for j in range(6):
            total += x[i] * matrix[i, j] * x[j]
    return total


@compiled
def move(row: Array, twist: Array, dt: float) -> None:
    """Let a body move with a twist (6,) along its frame's axes for dt [s]."""
    body = body_at(row, 0)
    motion = np.empty(6)
    step_turn = np.empty(3)
    turn = np.empty((3, 3))
    rotation = np.empty((3, 3))
    for i in range(6):
        body.twist[i] = twist[i]
    body_twist_into(row, motion)
    for i in range(3):
        step_turn[i] = dt * motion[3 + i]
    rotation_exp_into(step_turn, turn)
    product_into(turn, body.rotation, rotation)
    for i in range(3):
        body.position[i] += dt * motion[i]
        for j in range(3):
            body.rotation[i, j] = rotation[i, j]


@compiled
def change_frame(row: Array, axes: Array, lever: Array, turns: float, rest: Array) -> bool:
    """Let a body go on in another frame; False where its tank can't pay for that yet, and nothing
    changes.

    Args:
        row: Row of the body.
        axes, lever, turns: Axes, lever and motion of the new frame, see BODY.
        rest: Axes (3, 3) that the body rests in from now on, expressed in the present ones.
    """
    body = body_at(row, 0)
    next_row = row.copy()
    new = body_at(next_row, 0)
    turned = np.empty((3, 3))
    at_rest = np.zeros((4, 4))
    for i in range(3):
        new.lever[i] = lever[i]
        new.position[i] = 0.0
        for j in range(3):
            new.axes[i, j] = axes[i, j]
            at_rest[i, j] = rest[i, j]
            new.position[i] += rest[j, i] * body.position[j]
            turned[i, j] = 0.0
            for k in range(3):
                turned[i, j] += rest[k, i] * body.rotation[k, j]
    new.turns[0] = turns
    product_into(turned, rest, new.rotation)
    twist = np.empty(6)
    along_rest = np.empty(6)
    placement = np.empty((4, 4))
    body_twist_into(row, twist)
    twist_in_into(twist, at_rest, along_rest)
    frame_placement_into(next_row, placement)
    twist_in_into(along_rest, placement, new.twist)
    if not pay_whole(new.tank, _energy(next_row) - _energy(row), TANK):
        return False
    for i in range(len(row)):
        row[i] = next_row[i]
    return True


@compiled
def _energy(row: Array) -> float:
    """Energy of a body [J]."""
    body = body_at(row, 0)
    x = np.empty(6)
    deflection_into(row, x)
    return 0.5 * (_form(body.mass, body.twist) + _form(body.stiffness, x))


@compiled
def bound(
    row: Array, farthest: float, widest: float, fastest: float, quickest: float, dt: float
) -> None:
    """Keep a body's displacement [m, rad] and its speed [m/s, rad/s] within bounds.

    The body slows down before the largest displacement. It goes back by the way that it went too
    fast for `dt` seconds.

    Args:
        row: Row of the body.
        farthest, widest: Largest displacement [m] and rotation [rad].
        fastest, quickest: Largest speeds [m/s, rad/s].
        dt: Time since the cycle before [s].
    """
    body = body_at(row, 0)
    twist = np.empty(6)
    excess = np.empty(6)
    x = np.empty(6)
    for i in range(6):
        twist[i] = body.twist[i]
    deflection_into(row, x)
    if not _slow_down(twist, x, farthest, widest, fastest, quickest):
        return
    for i in range(6):
        excess[i] = twist[i] - body.twist[i]
    move(row, excess, dt)
    for i in range(6):
        body.twist[i] = twist[i]


@compiled
def _slow_down(
    twist: Array, x: Array, farthest: float, widest: float, fastest: float, quickest: float
) -> bool:
    """Slow a twist (6,) down, in place, as a body at a deflection x (6,) may not go faster, nor
    farther.

    Returns:
        True where the twist was too fast.
    """
    slowed = False
    for first in (0, 3):
        speed = fastest if first == 0 else quickest
        size = length(twist[first : first + 3])
        if size > speed:
            slowed = True
            for i in range(first, first + 3):
                twist[i] *= speed / size
        distance = length(x[first : first + 3])
        if distance == 0.0:
            continue
        outward = 0.0
        for i in range(first, first + 3):
            outward += x[i] / distance * twist[i]
        excess = outward - max(APPROACH * ((farthest if first == 0 else widest) - distance), 0.0)
        if excess > 0.0:
            slowed = True
            for i in range(first, first + 3):
                twist[i] -= excess * x[i] / distance
    return slowed


@compiled
def wait(row: Array, lag: Array, slower: Array, dt: float) -> None:
    """Let a body wait for the joints that follow it.

    It goes back by the part of the lag beyond 5 mm or 0.02 rad. From half of that on it gives up,
    more and more, the speed by which the joints are slower.

    Args:
        row: Row of the body.
        lag: (6,) lag of the joints behind the body, along its frame's axes [m, rad].
        slower: (6,) speed by which the joints are slower, along the same axes [m/s, rad/s].
        dt: Time since the cycle before [s].
    """
    body = body_at(row, 0)
    for half in range(2):
        first = 3 * half
        tolerance = FOLLOWED[half]
        size = length(lag[first : first + 3])
        if size <= 0.5 * tolerance:
            continue
        twist = np.empty(6)
        back = np.zeros(6)
        for i in range(6):
            twist[i] = body.twist[i]
        if size > tolerance:
            for i in range(first, first + 3):
                back[i] = (tolerance - size) / dt * lag[i] / size
            move(row, back, dt)
        speed = 0.0
        slower_by = 0.0
        for i in range(first, first + 3):
            speed += lag[i] / size * twist[i]
            slower_by += lag[i] / size * slower[i]
        given_up = min(2.0 * size / tolerance - 1.0, 1.0) * max(min(speed, slower_by), 0.0)
        for i in range(first, first + 3):
            twist[i] -= given_up * lag[i] / size
        for i in range(6):
            body.twist[i] = twist[i]
