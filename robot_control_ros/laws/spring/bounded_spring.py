"""A spring between tip and reference whose force and torque have a bound, as the gradient of
a convex potential.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...core.compiled import compiled
from ...core.gains import gain
from ...core.record import Field, Record
from ...core.small_matrices import length, times
from ...core.types import Array, as_row

SYMMETRY = 1e-9  # fraction of the largest entry, by which a matrix may differ from its transpose
ROUNDS = 200  # of the two halves in turn, where they are coupled
NEWTON_STEPS = 50  # 3 to 6 are usual
PRECISION = 1e-12  # relative, of a bounded force
# the two halves of a wrench
FORCE = 0
TORQUE = 1
HALVES = (slice(0, 3), slice(3, 6))

FRAME = Record(
    "Frame",
    (
        Field(
            "kind", (), "", "FIXED, WITH_REFERENCE, WITH_TIP or WITH_LINK, see compliance_frame.py."
        ),
        Field("number", (), "", "Of its name; the same number is the same frame."),
        Field("offset", (4, 4), "m, -", "Its pose in the tip, where it moves with it."),
        Field("link_pose", (4, 4), "m, -", "Its pose in the base, where it is another link."),
    ),
)
FRAME_WIDTH = FRAME.width(0)
frame_at = FRAME.views

SPRING = Record(
    "Spring",
    (
        Field("stiffness", (6, 6), "N/m, N·m/rad", "K, along the axes of the spring's frame."),
        Field(
            "bound",
            (2,),
            "N, N·m",
            "Bounds of force and torque; infinite for none.",
            first=math.inf,
        ),
        Field("symmetric", (), "", "1 where K is its own transpose.", first=1.0),
        Field("coupled", (), "", "1 where translation and rotation are coupled."),
        Field(
            "alike", (2,), "N/m, N·m/rad", "κ of each half that is κ times the identity; else 0."
        ),
        Field(
            "load",
            (),
            "",
            "Larger of force and torque of K e alone, over their bounds, in the last pull.",
        ),
        Field("slip", (2,), "m/N, rad/(N·m)", "s_x and s_y of the last pull."),
        Field("near", (2,), "m/N, rad/(N·m)", "Where the next search for them begins."),
        Field("energy", (), "J", "V of the last pull; of a symmetric K."),
        Field(
            "local_error", (6,), "m, rad", "Error of the last pull, along the axes of the frame."
        ),
        Field("frame", (FRAME_WIDTH,), "", "Its frame; see FRAME."),
    ),
)
WIDTH = SPRING.width(0)
spring_at = SPRING.views


def max_force_gain() -> Any:
    """Gain that bounds the spring's force."""
    doc = "Bound of the spring's force; 0 is none. Damper and feed-forward wrench come on top."
    return gain(0.0, unit="N", upper=2000.0, limit=True, doc=doc)


def max_torque_gain() -> Any:
    """Gain that bounds the spring's torque."""
    return gain(
        0.0, unit="N·m", upper=500.0, limit=True, doc="Bound of the spring's torque; 0 is none."
    )


def governor_gain() -> Any:
    """Switch of the reference governor."""
    doc = "Slow the reference down while the spring is near its bound; see references/governor.py."
    return gain(True, doc=doc)


class BoundedSpring:
    """The potential V(e) of a stiffness in series with a slip of strength F in force and T in
    torque.

        V(e) = min over z = [x; y] of (e - z)ᵀ K (e - z) / 2 + F |x| + T |y|

    It is convex and once differentiable. Its gradient is w = K e where the bounds hold. Elsewhere
    it is w = (1 + K S)⁻¹ K e, S = diag(s_x, s_y) with s_x, s_y >= 0. There |f| = F or s_x = 0, and
    |m| = T or s_y = 0. Each of s_x and s_y is the root of a secular equation, for which Newton's
    method on 1/|f| is monotone from 0 on. Where translation and rotation are coupled, the two are
    solved in turn. An axis without stiffness is no special case.

    A stiffness that isn't symmetric has no potential: then force and torque are scaled down to
    their bounds.

    Source: Moreau's envelope, J. J. Moreau, Proximité et dualité dans un espace hilbertien, Bull.
    SMF 93, 1965; the root: J. Moré, D. Sorensen, Computing a trust region step, SIAM J. Sci. Stat.
    Comput. 4(3), 1983.

    Args:
        stiffness: Stiffness K (6, 6), positive semidefinite [N/m, N·m/rad].
        max_force, max_torque: Bounds F [N] and T [N·m]; 0 is no bound.
    """

    def __init__(self, stiffness: Array, max_force: float, max_torque: float) -> None:
        self.row = new_spring(stiffness, max_force, max_torque)
        self._named = SPRING.by_name(self.row, 0)

    @property
    def stiffness(self) -> Array:
        """Stiffness K (6, 6) [N/m, N·m/rad]."""
        return np.asarray(self._named["stiffness"])

    @property
    def load(self) -> float:
        """The larger of |f| / F and |m| / T, with [f; m] = K e, in the last :meth:`gradient`."""
        return float(self._named["load"])

    def gradient(self, error: Array) -> Array:
        """Wrench w = [f; m] (6,) at an error (6,) [m, rad]."""
        pull = np.empty(6)
        gradient_into(self.row, as_row(error), pull)
        return pull

    def energy(self, error: Array) -> float:
        """Energy V [J] at an error (6,) [m, rad], for a symmetric stiffness."""
        self.gradient(error)
        return float(self._named["energy"])


def new_spring(stiffness: Array, max_force: float, max_torque: float) -> Array:
    """The row of a spring of stiffness K (6, 6), with bounds [N, N·m]; 0 is no bound."""
    row, _ = SPRING.single(0)
    adopt_spring(row, as_row(stiffness), max_force, max_torque)
    return row


@compiled
def adopt_spring(row: Array, stiffness: Array, max_force: float, max_torque: float) -> None:
    """Give a spring another K (6, 6), and other bounds [N, N·m]; 0 is no bound. Its frame stays."""
    spring = spring_at(row, 0)
    spring.stiffness[:] = stiffness
    spring.bound[FORCE] = max_force if max_force > 0.0 else math.inf
    spring.bound[TORQUE] = max_torque if max_torque > 0.0 else math.inf
    largest = 0.0
    skew = 0.0
    coupled = False
    for i in range(6):
        for j in range(6):
            largest = max(largest, abs(stiffness[i, j]))
            skew = max(skew, abs(stiffness[i, j] - stiffness[j, i]))
            if i < 3 and j >= 3 and stiffness[i, j] != 0.0:
                coupled = True
    spring.symmetric[0] = 1.0 if skew <= SYMMETRY * largest else 0.0
    spring.coupled[0] = 1.0 if coupled else 0.0
    for half in range(2):
        spring.alike[half] = _alike(stiffness, 3 * half)
        spring.near[half] = 0.0


@compiled
def _alike(stiffness: Array, first: int) -> float:
    """Return κ where the half of a stiffness (6, 6) from row `first` on is κ times 1; else 0."""
    kappa = stiffness[first, first]
    for i in range(3):
        for j in range(3):
            if stiffness[first + i, first + j] != (kappa if i == j else 0.0):
                return 0.0
    return float(kappa)


@compiled
def gradient_into(row: Array, error: Array, pull: Array) -> None:
    """Write the wrench w = [f; m] (6,) of a spring at an error (6,) [m, rad] into `pull`.

    See :class:`BoundedSpring`.
    """
    spring = spring_at(row, 0)
    times(spring.stiffness, error, pull)
    force = length(pull[:3]) / spring.bound[FORCE]
    torque = length(pull[3:]) / spring.bound[TORQUE]
    spring.load[0] = max(force, torque)
    spring.slip[:] = 0.0
    if spring.load[0] > 1.0:
        if spring.symmetric[0] == 0.0:
            pull[:3] /= max(force, 1.0)
            pull[3:] /= max(torque, 1.0)
        elif spring.coupled[0] == 1.0:
            _coupled_gradient(row, error, pull)
        else:
            if force > 1.0:
                _slide(row, FORCE, pull[:3], force)
            if torque > 1.0:
                _slide(row, TORQUE, pull[3:], torque)
    energy = 0.0
    for axis in range(6):
        energy += 0.5 * pull[axis] * error[axis]
    for half in range(2):
        if spring.slip[half] > 0.0:
            energy += 0.5 * spring.slip[half] * spring.bound[half] ** 2
    spring.energy[0] = energy


@compiled
def _slide(row: Array, half: int, pull: Array, load: float) -> None:
    """Bound the force or the torque (3,), which is `load` times its bound."""
    spring = spring_at(row, 0)
    if spring.alike[half] > 0.0:
        spring.slip[half] = (load - 1.0) / spring.alike[half]
        pull /= load
        return
    first = 3 * half
    values, vectors = np.linalg.eigh(spring.stiffness[first : first + 3, first : first + 3].copy())
    values = np.maximum(values, 0.0)
    along = np.empty(3)
    for i in range(3):
        along[i] = pull[0] * vectors[0, i] + pull[1] * vectors[1, i] + pull[2] * vectors[2, i]
    slip = slip_of(values, along, spring.bound[half], spring.near[half])
    spring.slip[half] = slip
    spring.near[half] = slip
    for i in range(3):
        pull[i] = 0.0
        for k in range(3):
            pull[i] += vectors[i, k] * along[k] / (1.0 + slip * values[k])


@compiled
def _coupled_gradient(row: Array, error: Array, pull: Array) -> None:
    """Find the slip of each half for that of the other, in turn, and write the wrench into `pull`.

    That is descent by coordinates on the convex dual of V.
    """
    spring = spring_at(row, 0)
    slip = spring.slip
    part = np.empty(3)
    for _ in range(ROUNDS):
        force_slip = slip[FORCE]
        torque_slip = slip[TORQUE]
        for half in range(2):
            first = 3 * half
            slip[half] = 0.0
            softened = _softened(spring.stiffness, slip)
            times(softened[first : first + 3], error, part)
            if length(part) > spring.bound[half]:
                values, vectors = np.linalg.eigh(
                    softened[first : first + 3, first : first + 3].copy()
                )
                along = np.empty(3)
                for i in range(3):
                    along[i] = (
                        part[0] * vectors[0, i] + part[1] * vectors[1, i] + part[2] * vectors[2, i]
                    )
                slip[half] = slip_of(np.maximum(values, 0.0), along, spring.bound[half], 0.0)
        force_settles = abs(slip[FORCE] - force_slip) <= PRECISION * slip[FORCE]
        torque_settles = abs(slip[TORQUE] - torque_slip) <= PRECISION * slip[TORQUE]
        if force_settles and torque_settles:
            break
    times(_softened(spring.stiffness, slip), error, pull)


@compiled
def slip_of(values: Array, along: Array, bound: float, near: float) -> float:
    """The root s > 0 of |h / (1 + κ s)| = F, for h (3,) longer than F and κ (3,) >= 0, h_i = 0
    where κ_i = 0.

    `near` is where the search begins, such as at the root of the last cycle.
    """
    slip = near
    for _ in range(NEWTON_STEPS):
        square = 0.0
        slope = 0.0
        for i in range(3):
            reduced = 1.0 / (1.0 + values[i] * slip)
            part = (along[i] * reduced) ** 2
            square += part
            slope += values[i] * part * reduced
        excess = math.sqrt(square) / bound - 1.0
        if abs(excess) <= PRECISION:
            break
        slip = max(slip + excess * square / slope, 0.0)
    return slip


@compiled
def _softened(stiffness: Array, slip: Array) -> Array:
    """The stiffness (1 + K S)⁻¹ K (6, 6) of a spring with slips S = diag(s_x, s_y)."""
    matrix = np.eye(6)
    for i in range(6):
        for j in range(6):
            matrix[i, j] += stiffness[i, j] * slip[j // 3]
    softened: Any = np.linalg.solve(matrix, stiffness.copy())
    return softened  # type: ignore[no-any-return]
