"""The gains of a slower control loop: for an arm whose samples are late, or that rings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np

from ..core.gains import JOINT, gain_specs

SPRING_UNITS, DAMPER_UNITS = ("N/m", "N·m/rad"), ("N·s/m", "N·m·s/rad")


@cache
def springs_and_dampers(kind: Any) -> tuple[dict[str, bool], dict[str, bool]]:
    """The springs and the dampers of a class of gains, by their units: names, and whether they act on the joints."""
    specs = gain_specs(kind)
    springs = {spec.name: spec.size == JOINT for spec in specs if spec.unit.startswith(SPRING_UNITS)}
    return springs, {spec.name: spec.size == JOINT for spec in specs if spec.unit.startswith(DAMPER_UNITS)}


@cache
def _exponents(kind: Any) -> Mapping[str, float]:
    """By gain, the power of the fraction that it is scaled with."""
    springs, dampers = springs_and_dampers(kind)
    return dict.fromkeys(springs, 1.0) | dict.fromkeys(dampers, 0.5) | getattr(kind, "softening", {})


def softened(gains: Any, fraction: float) -> Any:
    """Gains with a `fraction` of the stiffness, and √fraction of the bandwidth.

    Of M ẍ + D ẋ + K x = 0 with critical damping, ω² = K / M and D ~ √K: springs are scaled with `fraction`, dampers
    with its root. Less of both takes energy out of the arm. A law that needs something else has it in
    ``Gains.softening``: by gain, the power of `fraction`.
    """
    kind: Any = type(gains)
    scales = {name: fraction**power for name, power in _exponents(kind).items()}
    return replace(gains, **{name: getattr(gains, name) * scale for name, scale in scales.items()})


def softening_of(kind: Any, name: str, fraction: float) -> float:
    """By how much :func:`softened` scales a gain of a class of gains."""
    return float(fraction ** _exponents(kind).get(name, 0.0))


def describe_softening(gains: Any, fraction: float) -> str:
    """What :func:`softened` changes, as in ``stiffness × 0.25, damping × 0.5``; empty where it changes nothing."""
    kind: Any = type(gains)
    scales = {name: fraction**power for name, power in _exponents(kind).items() if power}
    changed = (f"{name} × {scale:.2g}" for name, scale in scales.items() if np.any(getattr(gains, name)))
    return ", ".join(changed) if fraction != 1.0 else ""
