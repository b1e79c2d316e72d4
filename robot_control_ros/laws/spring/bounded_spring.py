"""A spring between tip and reference whose force and torque have a bound, as the gradient of a convex potential."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy.linalg import lapack

from ...core.gains import gain
from ...core.types import Array

HALVES = (slice(0, 3), slice(3, 6))
SYMMETRY = 1e-9  # fraction of the largest entry, by which a matrix may differ from its transpose
ROUNDS = 200  # of the two halves in turn, where they are coupled
NEWTON_STEPS = 50  # 3 to 6 are usual
PRECISION = 1e-12  # relative, of a bounded force


def max_force_gain() -> Any:
    """Bound of the spring's force."""
    doc = "Bound of the spring's force; 0 is none. Damper and feed-forward wrench come on top."
    return gain(0.0, unit="N", upper=2000.0, limit=True, doc=doc)


def max_torque_gain() -> Any:
    """Bound of the spring's torque."""
    return gain(0.0, unit="N·m", upper=500.0, limit=True, doc="Bound of the spring's torque; 0 is none.")


def governor_gain() -> Any:
    """Switch of the reference governor."""
    doc = "Slow the reference down while the spring is near its bound; see references/governor.py."
    return gain(True, doc=doc)


def bounded(stiffness: Array, gains: Any) -> BoundedSpring | None:
    """The spring of a stiffness (6, 6) with the bounds of gains; None where there is no bound."""
    if gains.max_force == 0.0 and gains.max_torque == 0.0:
        return None
    return BoundedSpring(stiffness, gains.max_force, gains.max_torque)


class BoundedSpring:
    """The potential V(e) of a stiffness in series with a slip of strength F in force and T in torque.

        V(e) = min over z = [x; y] of (e - z)ᵀ K (e - z) / 2 + F |x| + T |y|

    It is convex and once differentiable. Its gradient is w = K e where the bounds hold. Elsewhere it is
    w = (1 + K S)⁻¹ K e, S = diag(s_x, s_y) with s_x, s_y >= 0 so that |f| = F or s_x = 0, and |m| = T or s_y = 0. Each
    is the root of a secular equation, for which Newton's method on 1/|f| is monotone from 0 on. Where translation and
    rotation are coupled, the two are solved in turn. An axis without stiffness is no special case.

    A stiffness that isn't symmetric has no potential: then force and torque are scaled down to their bounds.

    Source: Moreau's envelope, J. J. Moreau, Proximité et dualité dans un espace hilbertien, Bull. SMF 93, 1965; the
    root: J. Moré, D. Sorensen, Computing a trust region step, SIAM J. Sci. Stat. Comput. 4(3), 1983.

    Args:
        stiffness: K (6, 6), positive semidefinite [N/m, N·m/rad].
        max_force, max_torque: F [N] and T [N·m]; 0 is no bound.

    Attributes:
        stiffness: as given.
        load: the larger of |f| / F and |m| / T that K e alone has had in the last :meth:`gradient`.
    """

    def __init__(self, stiffness: Array, max_force: float, max_torque: float) -> None:
        self.stiffness, self.load = stiffness, 0.0
        self._bounds = max_force or math.inf, max_torque or math.inf
        largest = float(np.abs(stiffness).max())
        self._symmetric = float(np.abs(stiffness - stiffness.T).max()) <= SYMMETRY * largest
        self._coupled = bool(stiffness[:3, 3:].any())
        self._slips = [0.0, 0.0]  # s_x, s_y of the last gradient
        self._near = [0.0, 0.0]  # where the next search for them begins
        self._alike = [_alike(stiffness[half, half]) for half in HALVES]
        self._modes: list[tuple[Array, Array] | None] = [None, None]

    def gradient(self, error: Array) -> Array:
        """W = [f; m] (6,) at an error (6,) [m, rad]."""
        pull: Array = self.stiffness.dot(error)
        x, y, z, rx, ry, rz = pull.tolist()  # plain numbers: numpy takes longer for so few
        force = math.sqrt(x * x + y * y + z * z) / self._bounds[0]
        torque = math.sqrt(rx * rx + ry * ry + rz * rz) / self._bounds[1]
        self.load, self._slips = max(force, torque), [0.0, 0.0]
        if self.load <= 1.0:
            return pull
        if not self._symmetric:
            pull[:3] /= max(force, 1.0)
            pull[3:] /= max(torque, 1.0)
            return pull
        if self._coupled:
            return self._coupled_gradient(error)
        if force > 1.0:
            self._slide(0, pull[:3], force)
        if torque > 1.0:
            self._slide(1, pull[3:], torque)
        return pull

    def energy(self, error: Array) -> float:
        """V [J] at an error (6,); of a symmetric stiffness."""
        pull = self.gradient(error)
        slid = sum(slip * bound**2 for slip, bound in zip(self._slips, self._bounds, strict=True) if slip > 0.0)
        return 0.5 * (float(pull.dot(error)) + slid)

    def _slide(self, index: int, pull: Array, load: float) -> None:
        """Bound the force of one half (3,), which is `load` times the bound."""
        stiffness = self._alike[index]
        if stiffness:
            self._slips[index] = (load - 1.0) / stiffness
            pull /= load
            return
        modes = self._modes[index]
        if modes is None:
            values, vectors = np.linalg.eigh(self.stiffness[HALVES[index], HALVES[index]])
            modes = self._modes[index] = np.maximum(values, 0.0), vectors
        values, vectors = modes
        along = pull.dot(vectors)
        slip = slip_of(values, along, self._bounds[index], self._near[index])
        self._slips[index] = self._near[index] = slip
        pull[:] = vectors.dot(along / (1.0 + slip * values))

    def _coupled_gradient(self, error: Array) -> Array:
        """Each half's slip for the other's, in turn: descent by coordinates on the convex dual of V."""
        slips, stiffness = self._slips, self.stiffness
        for _ in range(ROUNDS):
            before = list(slips)
            for index, half in enumerate(HALVES):
                slips[index] = 0.0
                softened = _softened(stiffness, slips)
                pull = softened[half].dot(error)
                if math.sqrt(pull.dot(pull)) > self._bounds[index]:
                    values, vectors = np.linalg.eigh(softened[half, half])
                    slips[index] = slip_of(np.maximum(values, 0.0), vectors.T.dot(pull), self._bounds[index])
            if all(abs(new - old) <= PRECISION * new for new, old in zip(slips, before, strict=True)):
                break
        return np.asarray(_softened(stiffness, slips).dot(error))


def _alike(stiffness: Array) -> float:
    """κ where a stiffness (3, 3) is κ times the identity, else 0."""
    first = float(stiffness[0, 0])
    return first if np.array_equal(stiffness, first * np.eye(3)) else 0.0


def slip_of(values: Array, along: Array, bound: float, near: float = 0.0) -> float:
    """The root s > 0 of |h / (1 + κ s)| = F, for h (3,) longer than F and κ (3,) >= 0, h_i = 0 where κ_i = 0.

    `near` is where the search begins, such as at the root of the last cycle.
    """
    (k1, k2, k3), (h1, h2, h3), slip = values.tolist(), along.tolist(), near
    h1, h2, h3 = h1 * h1, h2 * h2, h3 * h3
    for _ in range(NEWTON_STEPS):
        r1, r2, r3 = 1.0 / (1.0 + k1 * slip), 1.0 / (1.0 + k2 * slip), 1.0 / (1.0 + k3 * slip)
        p1, p2, p3 = h1 * r1 * r1, h2 * r2 * r2, h3 * r3 * r3
        square = p1 + p2 + p3
        excess = math.sqrt(square) / bound - 1.0
        if abs(excess) <= PRECISION:
            break
        slip = max(slip + excess * square / (k1 * p1 * r1 + k2 * p2 * r2 + k3 * p3 * r3), 0.0)
    return slip


def _softened(stiffness: Array, slips: list[float]) -> Array:
    """(1 + K S)⁻¹ K (6, 6), S = diag(s_x, s_y)."""
    _, _, softened, _ = lapack.dgesv(np.eye(6) + stiffness * np.repeat(slips, 3), stiffness)
    return np.asarray(softened)
