"""The gains of a slower control loop: for an arm whose samples are late, or that rings."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

import numpy as np

from ..core.gains import DAMPING, JOINT, SCALAR, STIFFNESS, GainSpec, changed, gain_specs

TIP = "tip"
JOINTS = "joints"
ELSEWHERE = "elsewhere"


@cache
def springs_and_dampers(kind: Any) -> tuple[dict[str, str], dict[str, str]]:
    """The springs and the dampers of a class of gains, found by their roles.

    Both are dictionaries: from the gain's name to the place where it acts, TIP, JOINTS or
    ELSEWHERE. A gain of the null space is ELSEWHERE, and so is a single number in N·m/rad: where
    that acts isn't known.
    """
    specs = gain_specs(kind)
    springs = {spec.name: _acts_on(spec) for spec in specs if spec.role == STIFFNESS}
    return springs, {spec.name: _acts_on(spec) for spec in specs if spec.role == DAMPING}


def _acts_on(spec: GainSpec) -> str:
    if spec.null_space:
        return ELSEWHERE
    if spec.size == JOINT:
        return JOINTS
    return ELSEWHERE if spec.size == SCALAR and spec.unit not in ("N/m", "N·s/m") else TIP


@cache
def cannot_be_softened(kind: Any) -> bool:
    """Return True where a class has numbers as gains, but none is known to soften the law."""
    known = any(springs_and_dampers(kind)) or hasattr(kind, "softening")
    return not known and any(
        not (spec.choices or spec.switch or spec.role) for spec in gain_specs(kind)
    )


@cache
def _exponents(kind: Any) -> Mapping[str, float]:
    """Exponent of the fraction by which each gain is scaled, by the gain's name."""
    springs, dampers = springs_and_dampers(kind)
    return (
        dict.fromkeys(springs, 1.0) | dict.fromkeys(dampers, 0.5) | getattr(kind, "softening", {})
    )


def softened(gains: Any, fraction: float) -> Any:
    """Gains with a `fraction` of the stiffness, and √fraction of the bandwidth.

    For M ẍ + D ẋ + K x = 0 with critical damping, ω² = K / M and D ~ √K. So springs are scaled by
    `fraction`, and dampers by its root. Less of both takes energy out of the arm. A law that needs
    something else has it in ``Gains.softening``: the power of `fraction`, by the gain's name.
    """
    kind: Any = type(gains)
    scales = {name: fraction**power for name, power in _exponents(kind).items()}
    return changed(gains, {name: getattr(gains, name) * scale for name, scale in scales.items()})


class Softening:
    """Softens the gains of each cycle, and computes them anew only where they change."""

    def __init__(self) -> None:
        self._given: Any = None
        self._softened: Any = None
        self._fraction = 1.0

    def of(self, gains: Any, fraction: float) -> Any:
        """Gains with a `fraction` of the stiffness, see :func:`softened`; for 1 `gains` itself."""
        if fraction == 1.0:
            return gains
        if gains is not self._given or fraction != self._fraction:
            self._given = gains
            self._fraction = fraction
            self._softened = softened(gains, fraction)
        return self._softened


def softening_of(kind: Any, name: str, fraction: float) -> float:
    """Factor by which :func:`softened` scales a gain of a class of gains."""
    return float(fraction ** _exponents(kind).get(name, 0.0))


def describe_softening(gains: Any, fraction: float) -> str:
    """The changes by :func:`softened`, as ``stiffness × 0.25, damping × 0.5``; empty for none."""
    kind: Any = type(gains)
    scales = {name: fraction**power for name, power in _exponents(kind).items() if power}
    changed = (
        f"{name} × {scale:.2g}" for name, scale in scales.items() if np.any(getattr(gains, name))
    )
    return ", ".join(changed) if fraction != 1.0 else ""
