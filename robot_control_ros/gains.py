"""Gains, declared once.

A law's gains are a frozen dataclass whose fields are declared by :func:`gain`:

    @dataclass(frozen=True, eq=False)
    class Gains:
        stiffness: Array = gain(500.0, size=TASK, unit="N/m, N·m/rad", lower=0.0, upper=1e4, doc="…")
        coriolis: float = gain(False, doc="…")

From that one declaration come the validation (:func:`make_gains`), the bumpless change
(:class:`GainSchedule`), the ROS parameters with their ranges, the sliders of the page and the tables of the
documentation. A switch is a number between 0 (off) and 1 (on), so that it, too, can be faded.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np

from .errors import ConfigError
from .types import Array

SCALAR = "scalar"
TASK = "task"  # six values: x y z [m or N] then rx ry rz [rad or N·m]
JOINT = "joint"  # one value per joint
AXES = ("x", "y", "z", "rx", "ry", "rz")

_KEY = "robot_control_gain"


@dataclass(frozen=True)
class GainSpec:
    """What one gain is: its name, default, size, unit, bounds and text."""

    name: str
    default: float | bool | tuple[float, ...]
    doc: str
    unit: str
    size: str
    lower: float
    upper: float

    @property
    def switch(self) -> bool:
        """True where the gain is an on/off switch."""
        return isinstance(self.default, bool)

    def length(self, joints: int) -> int:
        """Number of values for a robot with `joints` joints."""
        return {SCALAR: 1, TASK: 6, JOINT: joints}[self.size]

    def label(self, index: int | None) -> str:
        """`stiffness` or, for one of several values, `stiffness[2]`."""
        return self.name if index is None else f"{self.name}[{index}]"

    def bounds(self) -> str:
        """The valid range in words."""
        unit = f" {self.unit}" if self.unit else ""
        return f"must be within [{self.lower:g}, {self.upper:g}]{unit}"


def gain(
    default: float | bool | Sequence[float],
    *,
    doc: str,
    unit: str = "",
    size: str = SCALAR,
    lower: float = 0.0,
    upper: float = 1.0,
) -> Any:
    """Declare a field of a Gains dataclass.

    Args:
        default: a number, a bool (the gain is then a switch), or as many values as `size` says; one number
            stands for all values.
        doc: one sentence: what it does, and what a zero does.
        unit: SI unit in words.
        size: SCALAR, TASK (six values) or JOINT (one per joint).
        lower, upper: bounds, inclusive.
    """
    value = default if isinstance(default, (bool, int, float)) else tuple(float(x) for x in default)
    spec = GainSpec("", value, doc, unit, size, float(lower), float(upper))
    return field(default=value, metadata={_KEY: spec})


def gain_specs(gains_type: type) -> tuple[GainSpec, ...]:
    """The declarations of a Gains dataclass, in their order."""
    found = []
    for item in fields(gains_type):
        spec: GainSpec = item.metadata[_KEY]
        found.append(GainSpec(item.name, spec.default, spec.doc, spec.unit, spec.size, spec.lower, spec.upper))
    return tuple(found)


def check_gain(spec: GainSpec, value: Any, joints: int) -> float | Array:
    """The value in the form a law wants: a float, or a read-only (6,) or (n,) array.

    Raises:
        ConfigError: wrong type, wrong size, not finite or out of bounds; names value, bound and choices.
    """
    if spec.switch and not (
        isinstance(value, (bool, np.bool_)) or (isinstance(value, (int, float)) and value in (0, 1))
    ):
        raise ConfigError(f"{spec.name} = {value!r}: it is a switch, must be true or false")
    wanted = spec.length(joints)
    try:
        raw = np.atleast_1d(np.array(value))
        values = raw.astype(float)
    except (TypeError, ValueError):
        raw = np.array("not numbers")
    if raw.dtype.kind not in ("iuf" if not spec.switch else "iufb"):
        raise ConfigError(f"{spec.name} = {value!r}: must be {_shape_words(spec, wanted)}")
    if values.ndim != 1 or values.size not in (1, wanted):
        raise ConfigError(
            f"{spec.name} has {values.size} values {values.tolist()}: must have {_shape_words(spec, wanted)}"
        )
    for index, number in enumerate(values):
        if not (math.isfinite(number) and spec.lower <= number <= spec.upper):
            label = spec.label(index if values.size > 1 else None)
            raise ConfigError(f"{label} = {number:g}: {spec.bounds()}")
    if spec.size == SCALAR:
        return float(values[0])
    result = np.full(wanted, values[0]) if values.size == 1 else values
    result.flags.writeable = False
    return result


def _shape_words(spec: GainSpec, wanted: int) -> str:
    if spec.size == SCALAR:
        return "one number"
    what = "x, y, z, rx, ry, rz" if spec.size == TASK else "one per joint"
    return f"1 or {wanted} numbers ({what})"


def make_gains(gains_type: type, values: Mapping[str, Any], joints: int, base: Any = None) -> Any:
    """A new, validated Gains object.

    Args:
        gains_type: the law's Gains dataclass.
        values: the gains to set by name; an array gain may be given as one number.
        joints: number of joints n.
        base: the Gains to take the rest from; None takes the defaults.

    Raises:
        ConfigError: an unknown name (lists the valid ones), or a value refused by :func:`check_gain`; nothing
            is changed then.
    """
    specs = {spec.name: spec for spec in gain_specs(gains_type)}
    for name in values:
        if name not in specs:
            raise ConfigError(f"unknown gain {name!r}; gains: {', '.join(specs)}")
    checked = {}
    for name, spec in specs.items():
        if name in values:
            checked[name] = check_gain(spec, values[name], joints)
        elif base is not None:
            checked[name] = getattr(base, name)
        else:
            checked[name] = check_gain(spec, spec.default, joints)
    return gains_type(**checked)


def plain_value(spec: GainSpec, gains: Any) -> bool | float | list[float]:
    """The gain as a plain Python value, as ROS parameters and YAML files hold it."""
    return plain(spec, getattr(gains, spec.name))


def plain(spec: GainSpec, value: float | Array) -> bool | float | list[float]:
    """A checked value (see :func:`check_gain`) as a plain Python value."""
    if isinstance(value, np.ndarray):
        return [float(x) for x in value]
    return value > 0.5 if spec.switch else float(value)


def interpolate(old: Any, new: Any, share: float) -> Any:
    """Gains at `share` (0 old, 1 new) of the way; linear in each value."""
    mixed = {}
    for item in fields(old):
        a, b = getattr(old, item.name), getattr(new, item.name)
        mixed[item.name] = a + share * (b - a)
    return type(old)(**mixed)


class GainSchedule:
    """Moves from one set of gains to the next without a bump.

    After :meth:`change` the gains approach the new ones as 1 - exp(-t/time_constant), and are exactly the new ones
    once less than 1e-4 of the way is left.
    """

    def __init__(self, gains: Any, time_constant: float) -> None:
        """
        Args:
            gains: the gains to begin with.
            time_constant: [s]; 0 changes at once.
        """
        if not (math.isfinite(time_constant) and time_constant >= 0.0):
            raise ConfigError(f"gain_time_constant = {time_constant!r}: must be 0 s or more")
        self.time_constant = time_constant
        self.current = gains
        self.target = gains
        self._left = 0.0
        self._start = gains

    def change(self, gains: Any) -> None:
        """Begin to move to `gains`: one assignment, whatever moved before."""
        self._start, self.target, self._left = self.current, gains, 1.0

    def advance(self, dt: float) -> Any:
        """The gains `dt` seconds later."""
        if self._left > 0.0:
            self._left *= math.exp(-dt / self.time_constant) if self.time_constant > 0.0 else 0.0
            if self._left < 1e-4:
                self._left, self.current = 0.0, self.target
            else:
                self.current = interpolate(self._start, self.target, 1.0 - self._left)
        return self.current

    def finish(self) -> None:
        """Be at the target at once: for a robot that is not being commanded."""
        self._left, self.current = 0.0, self.target
