"""Trouble in a run: faults, joints beyond their limits, commands that stay at a limit."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..core.types import Array
from ..robot.configuration import RobotConfig
from ..robot.implausible import doubts_of
from ..robot.model import JointLimits, RobotModel

POSITION_TOLERANCE = 0.01  # rad by which a simulated joint stop gives way
VELOCITY_TOLERANCE = 1.05  # of a joint's velocity limit
END = 0.1  # of the run, at its end
MOSTLY = 0.5  # of the samples there, in which a command is at its limit


class TroubleWarning(UserWarning):
    """A simulation went wrong; its log is there all the same."""


class GainsWarning(UserWarning):
    """The gains are taken, but can't do what is said, with the bound."""


class DescriptionWarning(UserWarning):
    """The description of the robot holds a number that can't be, or that is hardly meant."""


@dataclass(frozen=True)
class Trouble:
    """One kind of trouble in a run.

    Attributes:
        kind: ``fault``, ``position``, ``velocity`` or ``saturated``.
        time: Time when it began [s].
        joint: Name of the first joint, or of the one that is longest at its limit; empty for a
            fault.
        value, bound: Worst value, and the limit that it broke; NaN where there are none.
        message: Sentence that says all this.
    """

    kind: str
    time: float
    message: str
    joint: str = ""
    value: float = float("nan")
    bound: float = float("nan")


def find_trouble(
    joints: Sequence[str],
    t: Array,
    q: Array,
    v: Array,
    saturated: NDArray[np.bool_],
    fault: Sequence[str],
    limits: JointLimits | None = None,
) -> tuple[Trouble, ...]:
    """Trouble in N samples of n joints: each kind once, of the joint that was first.

    - ``fault``: the safe output was sent; the first reason counts.
    - ``position``, ``velocity``: a joint left its `limits`. An unstable arm breaks its velocity
      limits.
    - ``saturated``: a command was at its limit in most samples of the last tenth.
    """
    found = [*_faults(t, fault), *_at_limits(joints, t, saturated)]
    if limits is not None:
        found += _beyond(joints, t, q, v, limits)
    return tuple(sorted(found, key=lambda trouble: trouble.time))


def warn_of(trouble: Sequence[Trouble], gains: str = "", stacklevel: int = 2) -> None:
    """Give one TroubleWarning where there is trouble.

    Give one GainsWarning, too, where there is a text of the gains.
    """
    if gains:
        warnings.warn(gains, GainsWarning, stacklevel=stacklevel + 1)
    if trouble:
        warnings.warn(
            "; ".join(each.message for each in trouble), TroubleWarning, stacklevel=stacklevel + 1
        )


def warn_of_description(model: RobotModel, robot: RobotConfig, stacklevel: int = 2) -> None:
    """Give one DescriptionWarning where a description holds numbers that can't be.

    Args:
        model: Model of the robot.
        robot: Configuration of the robot.
        stacklevel: Number of callers up to the one that the warning points at.
    """
    texts = [str(each) for each in doubts_of(robot, model)]
    if texts:
        message = f"{robot.name}: {'. '.join(texts)}"
        warnings.warn(message, DescriptionWarning, stacklevel=stacklevel + 1)


def _faults(t: Array, fault: Sequence[str]) -> Iterator[Trouble]:
    where = [k for k, reason in enumerate(fault) if reason]
    if where:
        first = float(t[where[0]])
        text = (
            f"fault from {first:.3f} s on, in {len(where)} of {len(t)} samples: {fault[where[0]]}"
        )
        yield Trouble("fault", first, text)


def _at_limits(joints: Sequence[str], t: Array, saturated: NDArray[np.bool_]) -> Iterator[Trouble]:
    begin = len(t) - max(1, round(END * len(t)))
    share = saturated[begin:].mean(axis=0)
    k = int(share.argmax())
    if share[k] > MOSTLY:
        text = f"{joints[k]}: its command is at a limit in {share[k]:.0%} of the samples from {t[begin]:.3f} s on"
        text += _others(share > MOSTLY)
        yield Trouble("saturated", float(t[begin]), text, joints[k], float(share[k]), MOSTLY)


def _beyond(
    joints: Sequence[str], t: Array, q: Array, v: Array, limits: JointLimits
) -> Iterator[Trouble]:
    bounds = (
        ("position", q, limits.lower, limits.upper, POSITION_TOLERANCE),
        (
            "velocity",
            v,
            -limits.velocity,
            limits.velocity,
            (VELOCITY_TOLERANCE - 1.0) * limits.velocity,
        ),
    )
    for kind, values, lower, upper, tolerance in bounds:
        beyond = np.maximum(values - upper, lower - values)
        broken = beyond > tolerance
        if not broken.any():
            continue
        row = int(broken.any(axis=1).argmax())
        k = int(broken[row].argmax())
        worst = float(values[beyond[:, k].argmax(), k])
        bound = float(upper[k] if worst > upper[k] else lower[k])
        unit = getattr(limits.unit(k), kind)
        text = f"{joints[k]} left its {kind} limit at {t[row]:.3f} s: {worst:.3g} {unit} at worst, limit {bound:.3g}"
        yield Trouble(
            kind, float(t[row]), text + _others(broken.any(axis=0)), joints[k], worst, bound
        )


def _others(which: Any) -> str:
    """Text about the joints besides the one that is named; `which` (n,) bool are all of them."""
    others = int(which.sum()) - 1
    return f"; {others} more as well" if others else ""
