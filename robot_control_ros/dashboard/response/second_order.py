"""Mass, damper and spring: what they do under a force, exactly."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.linalg import expm

from ...core.types import Array

SINGULAR = 1e-6  # times the largest stiffness, below which a direction is free


@dataclass(frozen=True, eq=False)
class SecondOrder:
    """M ẍ + D ẋ + K x = b f(t), y = c x; at rest in 0 before the force begins."""

    inertia: Array  # (n, n) M, regular
    damping: Array  # (n, n) D
    stiffness: Array  # (n, n) K
    input: Array  # (n,) b
    output: Array  # (n,) c

    @classmethod
    def of(cls, mass: float, damping: float, stiffness: float, part: float = 1.0) -> SecondOrder:
        """One mass [kg] on one damper [N·s/m] and one spring [N/m]; takes a part of the force."""
        m, d, k = (np.array([[value]]) for value in (mass, damping, stiffness))
        return cls(m, d, k, np.full(1, part), np.ones(1))

    @property
    def mobility(self) -> float:
        """Acceleration ÿ per newton at the first moment: c M⁻¹ b."""
        return float(self.output @ np.linalg.solve(self.inertia, self.input))

    @property
    def compliance(self) -> float:
        """Displacement y per newton in the end: c K⁻¹ b; infinite without a spring."""
        x, *_ = np.linalg.lstsq(self.stiffness, self.input, rcond=SINGULAR)
        held = np.abs(self.stiffness @ x - self.input).max() < 1e-3 * np.abs(self.input).max()
        return float(self.output @ x) if held else math.inf

    def response(self, times: Array, changes: Array, forces: Array) -> Array:
        """Response to a force that is constant between its changes.

        It has no error of discretisation.

        Args:
            times: (m,) ascending [s].
            changes, forces: (k,) ascending [s], and the force from each of them on [N]; 0 before
                the first.

        Returns:
            (m,) y.
        """
        events = np.union1d(times, changes)
        n = len(self.input)
        matrix = np.zeros((2 * n + 1, 2 * n + 1))
        matrix[:n, n:-1] = np.eye(n)
        matrix[n:-1] = np.linalg.solve(
            self.inertia, np.column_stack((-self.stiffness, -self.damping, self.input))
        )
        held = np.concatenate(([0.0], forces))[np.searchsorted(changes, events, side="right")]
        durations, kinds = np.unique(np.diff(events).round(12), return_inverse=True)
        transitions = expm(matrix * durations[:, None, None])
        state = np.zeros(2 * n + 1)
        found = np.zeros(len(events))
        for index, kind in enumerate(kinds):
            state[-1] = held[index]
            state = transitions[kind] @ state
            found[index + 1] = self.output @ state[:n]
        return found[np.searchsorted(events, times)]

    def step(self, times: Array, force: float = 1.0) -> Array:
        """The response (m,) at `times` (m,) [s] to a force [N] from 0 on."""
        return self.response(times, np.zeros(1), np.array([force]))

    def frequency_response(self, frequencies: Array) -> Array:
        """Complex (m,), y per newton, at frequencies (m,) [Hz] above 0."""
        w = 2.0 * np.pi * np.asarray(frequencies)[:, None, None]
        matrices = self.stiffness + 1j * w * self.damping - w**2 * self.inertia
        right = np.broadcast_to(self.input[:, None], (len(matrices), len(self.input), 1))
        return np.asarray(np.linalg.solve(matrices, right)[:, :, 0] @ self.output)
