"""Checks of positions: a measured one that is frozen, and a commanded one that jumps."""

from __future__ import annotations

import math
from collections.abc import Sequence

AT_REST = 0.02  # rad/s: a velocity signal's offset and noise at rest, at most


class FrozenPosition:
    """Finds drives whose measured position stays the same to the last count although they must have moved.

    How far a drive must have moved since its position last changed is what its own velocity says, where that is more
    than noise, or how far its target position has gone, whichever is more.

    Args:
        names: of the drives.
        limit: so far without a change is too far [rad].
    """

    def __init__(self, names: Sequence[str], limit: float = 0.05) -> None:
        self._names, self._limit = tuple(names), limit
        self.reset()

    def reset(self) -> None:
        """Begin anew: when drives are enabled."""
        n = len(self._names)
        self._counts: list[int | None] = [None] * n
        self._moved, self._targets = [0.0] * n, [math.nan] * n

    def step(self, dt: float, counts: Sequence[int], v: Sequence[float], targets: Sequence[float] | None = None) -> str:
        """What is wrong; empty where nothing is.

        Args:
            dt: since the last step [s].
            counts: positions as they came from the drives.
            v: velocities [rad/s].
            targets: positions commanded [rad]; None in other modes.
        """
        for i, count in enumerate(counts):
            target = math.nan if targets is None else targets[i]
            if count != self._counts[i]:
                self._counts[i], self._moved[i], self._targets[i] = count, 0.0, target
                continue
            if abs(v[i]) > AT_REST:
                self._moved[i] += v[i] * dt
            moved, commanded = abs(self._moved[i]), abs(target - self._targets[i])
            if moved > self._limit or commanded > self._limit:
                far = moved if math.isnan(commanded) else max(moved, commanded)
                return f"{self._names[i]}: its measured position is frozen at {count} counts, {far:.3g} rad behind"
        return ""


def describe_jump(names: Sequence[str], start: Sequence[float], commanded: Sequence[float], limit: float) -> str:
    """Why position commands [rad] would make an arm jump; empty where all are within the limit [rad]."""
    far = [
        f"{name}: the command jumps from {q:.4g} rad to {target:.4g} rad (limit {limit:g} rad)"
        for name, q, target in zip(names, start, commanded, strict=True)
        if not abs(target - q) <= limit
    ]
    return "; ".join(far)
