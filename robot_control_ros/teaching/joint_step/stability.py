"""Stability of a joint under PID by its difference equation: roots, and the largest stable D."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ...core.types import Array
from ...laws.joint_pid import SERVO_PERIOD


@dataclass(frozen=True)
class Loop:
    """P, I and D with an ideal velocity servo within its limit, at steps of dt [s].

    The error follows, with s = 1 in the variant `legacy` and dt / 5 ms in `current`,

        z³ - (2 - s P - s I dt - s D / dt) z² + (1 - s P - 2 s D / dt) z + s D / dt = 0,

    without the root z = 1 where I is 0, and the root z = 0 where D is. A servo that has its
    velocity within the step makes the same of D on the error's change and of D on the velocity, but
    for the first call.
    """

    p: float
    i: float
    d: float
    dt: float
    variant: str = "legacy"

    @property
    def roots(self) -> Array:
        """Roots of the equation, (1,) to (3,), complex, the largest first."""
        p, i, d, _ = self._scaled
        polynomial = np.array([1.0, p + i + d - 2.0, 1.0 - p - 2.0 * d, d])
        if i == 0.0:
            polynomial = np.array([1.0, p + d - 1.0, -d])
        roots = np.roots(polynomial[:-1] if d == 0.0 else polynomial)
        return np.asarray(roots[np.argsort(-np.abs(roots), kind="stable")])

    @property
    def growth(self) -> float:
        """Factor by which the error is multiplied per step, in the long run."""
        return float(np.abs(self.roots[0]))

    @property
    def d_limit(self) -> float:
        """D [s] with a root z = -1; above it the error flips and grows. In `legacy` with I = 0
        it is dt (2 - P) / 2.
        """
        p, i, _, scale = self._scaled
        return self.dt * (4.0 - 2.0 * p - i) / 4.0 / scale

    @property
    def _scaled(self) -> tuple[float, float, float, float]:
        """S P, s I dt, s D / dt, and s."""
        scale = 1.0 if self.variant == "legacy" else self.dt / SERVO_PERIOD
        return scale * self.p, scale * self.i * self.dt, scale * self.d / self.dt, scale

    @property
    def stable(self) -> bool:
        """True where the error dies away."""
        return self.growth < 1.0 - 1e-9

    def verdict(self) -> str:
        """Text that says how the error goes on."""
        growth = self.growth
        turn = abs(float(np.angle(self.roots[0])))
        if self.p == self.i == 0.0:
            return "P = I = 0: nothing pulls towards the target"
        if growth > 1.0 + 1e-9:
            found = f"unstable: the error grows {growth:.4g}-fold per step"
        elif not self.stable:
            found = "at the limit of stability: the error stays"
        elif growth < 1e-6:
            return "stable: there in one step"
        else:
            found = f"stable: the error falls to 1/e in {-1e3 * self.dt / math.log(growth):.3g} ms"
        return found + (
            f", oscillating at {turn / (2.0 * math.pi * self.dt):.3g} Hz" if turn > 1e-6 else ""
        )

    def notes(self) -> list[str]:
        """Roots, and the limit of D, as text."""
        shown = ", ".join(dict.fromkeys(_root(each) for each in self.roots))
        textbook = " = T (2 - P) / 2" if self.variant == "legacy" and self.i == 0.0 else ""
        bound = (
            f"D must stay below {self.d_limit:.4g} s{textbook}"
            if self.d_limit > 0.0
            else "no D makes it stable"
        )
        return [f"roots z = {shown}; |z| ≤ {self.growth:.4g}", bound]


def _root(root: complex) -> str:
    if abs(root.imag) < 1e-9:
        return f"{root.real:.4g}"
    return f"{root.real:.4g} ± {abs(root.imag):.4g} i"
