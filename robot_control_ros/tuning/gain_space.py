"""The gains that a search varies: their names, ranges and scales, and what a law gets for
the values of a trial.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..core.errors import refused, unknown
from ..core.gains import (
    DAMPING,
    INERTIA,
    JOINT,
    MATRIX,
    SCALAR,
    STIFFNESS,
    TASK,
    GainSpec,
    check_gain,
    plain,
)
from ..core.types import Array
from ..laws.running_law import RunningLaw
from ..robot.configuration import RobotConfig
from ..robot.model import RobotModel
from .arms import friction_scale

LINEAR = "linear"
ANGULAR = "angular"
PARTS = (LINEAR, ANGULAR)
_PLACES = {LINEAR: slice(0, 3), ANGULAR: slice(3, 6), "": slice(None)}
RELATIVE = (0.25, 4.0)  # of the robot's own gains, where nothing is asked for
FRICTION_BOUND = "friction_bound"  # gain, of laws that compensate dry friction at rest
FRICTION = (0.0, 0.02)  # range of that gain, as the friction of arms of which nothing was measured
PERCENT = 0.01
DIGITS = 6
# What stands behind the ends of a range.
NUMBER = ""
FACTOR = "x"
SHARE = "%"
KINDS = (NUMBER, FACTOR, SHARE)
WIDE = 10.0  # ratio of the ends from which on a range has a logarithmic scale
SYNTAX = (
    "NAME=LOWER:UPPER, such as stiffness=200:4000, stiffness.angular=10:100, damping_ratio=0.5x:2x or "
    "friction_bound=0%:2%"
)
_TUNED = (STIFFNESS, DAMPING, INERTIA)  # roles


@dataclass(frozen=True)
class Dimension:
    """One number that a search varies.

    Attributes:
        name: Name of the gain, with its part behind a dot.
        gain: Name of the gain alone.
        part: "linear" or "angular" of a gain along the axes of the tip; "" for all of it.
        lower, upper: Ends of the range, valid themselves: factors, fractions, or in the gain's
            unit.
        relative: True where the number multiplies the robot's own values; False where it takes the
            place of each of them.
        log: True where the scale is logarithmic.
        share: True where the number is a fraction of each joint's effort limit, at most of 150 N·m.
    """

    name: str
    gain: str
    part: str
    lower: float
    upper: float
    relative: bool
    log: bool
    share: bool = False


@dataclass(frozen=True)
class GainSpace:
    """The gains of one law on one robot, as dimensions of a search.

    Attributes:
        robot, law: Names of the robot and the law.
        dimensions: Dimensions in the order of the search.
        own: Name, declaration and the robot's own values of each gain that is varied: 1, n, 3 or 6
            values, or the 36 of a matrix row by row.
        effort: Torques (n,) of which a share is a fraction [N·m].
    """

    robot: str
    law: str
    dimensions: tuple[Dimension, ...]
    own: tuple[tuple[str, GainSpec, tuple[float, ...]], ...]
    effort: tuple[float, ...]

    def gains(self, values: Mapping[str, float]) -> dict[str, Any]:
        """Gains by name, as plain numbers and lists, as :func:`~..simulation.in_process.simulate`
        takes them.

        They have six digits, as people read them: what is measured is what is written.

        Args:
            values: Value of each dimension, by its name.

        Raises:
            ConfigError: a name too many or too few, or a value that the gain can't have.
        """
        names = tuple(each.name for each in self.dimensions)
        for name in values:
            if name not in names:
                raise unknown("dimension", name, names)
        missing = [name for name in names if name not in values]
        if missing:
            raise refused(
                "values", sorted(values), f"must have {', '.join(missing)} as well", names
            )
        gains = {}
        for name, spec, own in self.own:
            changed = np.array(own)
            for each in self.dimensions:
                if each.gain == name:
                    value = float(values[each.name])
                    changed = (
                        value * np.array(self.effort)
                        if each.share
                        else _changed(spec, changed, each, value)
                    )
            gains[name] = plain(
                spec, check_gain(spec, _given(spec, _rounded(changed)), len(self.effort))
            )
        return gains

    def defaults(self) -> dict[str, float] | None:
        """The values that stand for the robot's own gains; None where there are
        none within the ranges.
        """
        found: dict[str, float] = {}
        for each in self.dimensions:
            spec, own = self._own(each.gain)
            varied = _varied(spec, np.array(own), each.part)
            if each.share:
                varied = varied / np.array(self.effort)
            value = 1.0 if each.relative else float(varied[0])
            uniform = each.relative or bool((varied == value).all() and not _mixes(spec, own))
            if not (uniform and each.lower <= value <= each.upper):
                return None
            found[each.name] = value
        return found

    def ranges(self) -> dict[str, tuple[float, float, bool]]:
        """Range of each dimension by name: lower end, upper end, True for a logarithmic scale."""
        return {each.name: (each.lower, each.upper, each.log) for each in self.dimensions}

    def _own(self, gain: str) -> tuple[GainSpec, tuple[float, ...]]:
        return next((spec, own) for name, spec, own in self.own if name == gain)


def gain_space(robot: RobotConfig, law: str, vary: Sequence[str] = ()) -> GainSpace:
    """The gains that a search varies.

    Args:
        robot: Configuration of the robot; the search begins from its own gains of the law.
        law: Name of the law, or ``package.module:Class``.
        vary: Texts ``NAME=LOWER:UPPER``. NAME is a gain, or its part ``NAME.linear`` or
            ``NAME.angular``; the law's name and a dot may stand before it. Numbers take the place
            of all entries. With an x behind both, as in ``0.2x:5x``, they multiply the robot's own
            values. With a % behind both, as in ``0%:2%``, each joint has that share of its effort
            limit, at most of 150 N·m. Without any text, gains of stiffness, damping and inertia
            that aren't 0 are varied from 0.25x to 4x. The compensation of dry friction is then
            varied from 0% to 2% where it is 0.

    Raises:
        ConfigError: the law is refused on the robot; a text, gain, part or range that can't be; a
            gain that is named twice, is no number, or is 0 where it shall be multiplied.
    """
    running = RunningLaw(robot, law)
    specs = {spec.name: spec for spec in running.gains.specs}
    effort = friction_scale(RobotModel.of(robot).limits.effort)
    own = {
        name: np.array(_own_values(spec, running))
        for name, spec in specs.items()
        if _is_number(spec)
    }
    if vary:
        short = (text.strip().removeprefix(f"{law}.") for text in vary)
        found = tuple(_asked(text, robot, specs, own, effort) for text in short)
    else:
        found = tuple(_usual(robot, running, specs, own))
    if not found:
        rule = f"has no gain that is varied by itself; name one: {', '.join(own)}"
        raise refused("law", law, rule, tuple(own))
    _check_different(found)
    names = dict.fromkeys(each.gain for each in found)
    kept = tuple((name, specs[name], tuple(own[name].ravel().tolist())) for name in names)
    return GainSpace(robot.name, law, found, kept, tuple(effort.tolist()))


def _own_values(spec: GainSpec, running: RunningLaw) -> Array:
    return np.atleast_1d(np.asarray(getattr(running.gains.target, spec.name), dtype=float)).ravel()


def _is_number(spec: GainSpec) -> bool:
    return not spec.choices and not spec.switch


def _has_parts(spec: GainSpec) -> bool:
    return spec.size in (TASK, MATRIX)


# --- values ---


def _varied(spec: GainSpec, own: Array, part: str) -> Array:
    """The values that a part of a gain has; of a matrix those of its diagonal."""
    values = own.reshape(6, 6).diagonal() if spec.size == MATRIX else own
    return np.asarray(values[_PLACES[part]])


def _mixes(spec: GainSpec, own: Sequence[float]) -> bool:
    """True where a matrix has entries beside its diagonal that aren't 0."""
    if spec.size != MATRIX:
        return False
    matrix = np.array(own).reshape(6, 6)
    return bool((matrix != np.diag(matrix.diagonal())).any())


def _changed(spec: GainSpec, own: Array, dimension: Dimension, value: float) -> Array:
    """The gain's values with those of a dimension changed; a matrix keeps its axes
    where it is multiplied.
    """
    places = _PLACES[dimension.part]
    if spec.size != MATRIX:
        changed = own.copy()
        changed[places] = value * own[places] if dimension.relative else value
        return changed
    matrix = own.reshape(6, 6).copy()
    if dimension.relative:
        root = np.ones(6)
        root[places] = math.sqrt(value)
        scaled = root[:, None] * matrix * root
        diagonal = matrix.diagonal().copy()
        diagonal[places] = value * diagonal[places]
        np.fill_diagonal(scaled, diagonal)
        return np.asarray(scaled.ravel())
    matrix[places] = 0.0
    matrix[:, places] = 0.0
    diagonal = matrix.diagonal().copy()
    diagonal[places] = value
    np.fill_diagonal(matrix, diagonal)
    return np.asarray(matrix.ravel())


def _rounded(values: Array) -> Array:
    """The values, rounded to DIGITS significant digits."""
    return np.array([float(f"{value:.{DIGITS}g}") for value in values])


def _given(spec: GainSpec, values: Array) -> Any:
    return float(values[0]) if spec.size == SCALAR else values


# --- dimensions that are asked for ---


def _asked(
    text: str,
    robot: RobotConfig,
    specs: Mapping[str, GainSpec],
    own: Mapping[str, Array],
    effort: Array,
) -> Dimension:
    name, _, ends = text.partition("=")
    name = name.strip()
    first, colon, last = ends.partition(":")
    if not (name and colon):
        raise refused("vary", text, f"must be {SYNTAX}")
    lower, kind = _end(text, first)
    upper, other_kind = _end(text, last)
    if kind != other_kind:
        raise refused("vary", text, "must have the same behind both ends: nothing, an x or a %")
    gain, _, part = name.partition(".")
    spec = _spec(gain, specs, own)
    _check_part(name, part, spec, robot)
    if not lower < upper:
        raise refused(name, ends, f"must begin below its end: {SYNTAX}", where="range of ")
    if kind == SHARE:
        _check_shares(name, ends, spec, effort, lower, upper)
    elif kind == FACTOR:
        _check_factors(name, _varied(spec, own[gain], part), spec, lower, upper)
    elif not spec.lower <= lower < upper <= spec.upper:
        raise refused(name, ends, spec.rule(), (spec.lower, spec.upper), where="range of ")
    log = kind == FACTOR or (lower > 0.0 and upper >= WIDE * lower)
    return Dimension(name, gain, part, lower, upper, kind == FACTOR, log, kind == SHARE)


def _end(text: str, end: str) -> tuple[float, str]:
    """The number, and what stands behind it; a percentage as a fraction."""
    shown = end.strip()
    kind = next((each for each in (FACTOR, SHARE) if shown.endswith(each)), NUMBER)
    try:
        number = float(shown.removesuffix(kind))
    except ValueError:
        raise refused("vary", text, f"must be {SYNTAX}") from None
    if not math.isfinite(number):
        raise refused("vary", text, f"must have finite numbers: {SYNTAX}")
    return number * PERCENT if kind == SHARE else number, kind


def _spec(gain: str, specs: Mapping[str, GainSpec], own: Mapping[str, Array]) -> GainSpec:
    if gain not in specs:
        raise unknown("gain", gain, own)
    if gain not in own:
        kind = "a switch" if specs[gain].switch else "one of a few words"
        raise refused("vary", gain, f"is {kind}, must be a number: {', '.join(own)}", tuple(own))
    return specs[gain]


def _check_part(name: str, part: str, spec: GainSpec, robot: RobotConfig) -> None:
    if not part:
        return
    if part not in PARTS:
        raise unknown("part", part, PARTS)
    if not _has_parts(spec):
        raise refused(
            "vary", name, f"must be {spec.name} alone: it has no values along the axes of the tip"
        )
    if not np.any(np.array(robot.axes)[_PLACES[part]]):
        raise refused(
            "vary",
            name,
            f"must be another part: {robot.name} moves its tip along none of these axes",
        )


def _check_shares(
    name: str, ends: str, spec: GainSpec, effort: Array, lower: float, upper: float
) -> None:
    if spec.size != JOINT or spec.unit != "N·m":
        rule = "must be numbers, or factors with an x: a share in % is for torques of the joints"
        raise refused(name, ends, rule, where="range of ")
    most = float(spec.upper / effort.max())
    if not 0.0 <= lower < upper <= most:
        rule = f"must be within [0, {most / PERCENT:.3g}] %: {spec.name} {spec.rule()}"
        raise refused(name, ends, rule, (0.0, most), where="range of ")


def _check_factors(name: str, values: Array, spec: GainSpec, lower: float, upper: float) -> None:
    if not values.any():
        rule = f"must be numbers without an x: the robot's own {name} is 0, and stays so whatever multiplies it"
        raise refused(name, f"{lower:g}x:{upper:g}x", rule, where="range of ")
    least, most = _factors(values, spec)
    if not (lower > 0.0 and least <= lower and upper <= most):
        rule = f"must be factors above 0 within [{least:g}, {most:g}]: {spec.name} {spec.rule()}"
        raise refused(name, f"{lower:g}x:{upper:g}x", rule, (least, most), where="range of ")


def _factors(values: Array, spec: GainSpec) -> tuple[float, float]:
    """The least and the largest factor on values that leave them within the gain's bounds."""
    positive = values[values > 0.0]
    negative = values[values < 0.0]
    least = max([0.0, *(spec.lower / positive), *(spec.upper / negative)])
    most = min([math.inf, *(spec.upper / positive), *(spec.lower / negative)])
    return float(least), float(most)


def _check_different(found: Sequence[Dimension]) -> None:
    for index, each in enumerate(found):
        for other in found[:index]:
            if other.gain == each.gain and (
                other.part == each.part or "" in (other.part, each.part)
            ):
                raise refused(
                    "vary", each.name, f"must be another gain: {other.name} varies the same numbers"
                )


# --- dimensions where none are asked for ---


def _usual(
    robot: RobotConfig, running: RunningLaw, specs: Mapping[str, GainSpec], own: Mapping[str, Array]
) -> Iterator[Dimension]:
    """Dimensions of stiffness, damping, inertia, compensated friction, and what the law softens.

    A part of a gain is left out where the robot moves its tip along none of its axes.
    """
    kind: Any = type(running.gains.target)
    named = {"damping_ratio", *getattr(kind, "softening", ())}
    axes = np.array(robot.axes)
    for name, values in own.items():
        spec = specs[name]
        if name == FRICTION_BOUND and not values.any() and not robot.profile.friction_by_robot:
            yield Dimension(name, name, "", *FRICTION, relative=False, log=False, share=True)
        if spec.role not in _TUNED and name not in named:
            continue
        for part in PARTS if _has_parts(spec) else ("",):
            varied = _varied(spec, values, part)
            moves = not part or bool(axes[_PLACES[part]].any())
            dimension = _around_own(name, part, varied, spec) if moves and varied.any() else None
            if dimension is not None:
                yield dimension


def _around_own(gain: str, part: str, varied: Array, spec: GainSpec) -> Dimension | None:
    """Dimension from 0.25x to 4x of the robot's own values, as far as the gain's bounds allow.

    None where the bounds leave nothing.
    """
    least, most = _factors(varied, spec)
    lower = max(RELATIVE[0], least)
    upper = min(RELATIVE[1], most)
    if not lower < upper:
        return None
    return Dimension(f"{gain}.{part}" if part else gain, gain, part, lower, upper, True, True)
