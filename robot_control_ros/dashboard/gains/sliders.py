"""The controls of a gain on the page: their labels, ranges, and the values that they set."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from ...control.requests import Parameter, Value, split
from ...core.gains import AXES

RANGE = 4.0  # times the default: the range of a slider if the bound is further
RANGE_FROM_ZERO = 0.1  # times the bound: the range if the default is 0
STEPS = 200  # of a slider, about
POSITION = 3  # values of a position, whose axes are never set together
MAX_VALUES = 12  # that have controls; a full 6x6 matrix has 36


@dataclass(frozen=True)
class Control:
    """One control for one or more values of a gain."""

    label: str  # with the unit
    unit: str  # of the values
    indices: tuple[int, ...] | None  # of the values; None if the gain is a scalar
    lower: float = 0.0  # of a slider
    upper: float = 1.0  # of a slider
    step: float = 0.01  # of a slider


def controls(parameter: Parameter, per_axis: bool) -> list[Control]:
    """The controls of a gain: one per group of axes, or per axis if asked for or if the
    values of a group differ.
    """
    value = parameter.value
    label = split(parameter.name)[1].replace("_", " ").capitalize()
    if not isinstance(value, tuple):
        return [_control(parameter, label, None, parameter.unit)]
    if len(value) > MAX_VALUES:
        return []
    found = []
    for group, unit, suffix in _groups(parameter):
        alike = len({value[index] for index in group}) == 1
        if alike and not per_axis and len(value) != POSITION:
            found.append(_control(parameter, f"{label}{suffix}", group, unit))
        else:
            names = parameter.axes or tuple(str(number + 1) for number in range(len(value)))
            found += [_control(parameter, f"{label} {names[i]}", (i,), unit) for i in group]
    return found


def describe_axes(parameter: Parameter) -> str:
    """Axes that the values are along, in a sentence; empty if the declaration names no axes."""
    if parameter.axes == AXES:
        return "Axes of the base at the tip, or of the gain `frame`."
    if parameter.axes == AXES[:POSITION]:
        return "Axes of the tip." if parameter.name.startswith("payload.") else "Axes of the base."
    return "One value per joint." if parameter.axes else ""


def shown(parameter: Parameter, control: Control) -> bool | float | str:
    """The value that a control shows."""
    value = parameter.value
    return value[(control.indices or (0,))[0]] if isinstance(value, tuple) else value


def changed(value: Value, control: Control, new: bool | float | str) -> Value:
    """A gain's value after its control was set to `new`."""
    if control.indices is None or not isinstance(value, tuple):
        return new
    assert not isinstance(new, str)
    return tuple(
        float(new) if index in control.indices else each for index, each in enumerate(value)
    )


def _groups(parameter: Parameter) -> Iterator[tuple[tuple[int, ...], str, str]]:
    """Indices, unit and label suffix of each group of values that are set together."""
    assert isinstance(parameter.value, tuple)
    units = parameter.unit.split(", ")
    count = len(parameter.value)
    if count == 6 and (len(units) == 2 or parameter.axes[3:] == ("rx", "ry", "rz")):
        yield (0, 1, 2), units[0], ""
        yield (3, 4, 5), units[-1], " (rot.)"
    else:
        yield tuple(range(count)), parameter.unit, ""


def _control(
    parameter: Parameter, label: str, indices: tuple[int, ...] | None, unit: str
) -> Control:
    label = f"{label} [{unit}]" if unit else label
    if isinstance(parameter.value, (bool, str)):
        return Control(label, unit, indices)

    def largest(value: Value) -> float:
        values = value if isinstance(value, tuple) else (value,)
        return max(abs(float(values[i])) for i in (indices or (0,)))

    lower = parameter.lower
    upper = parameter.upper
    usual = RANGE * largest(parameter.default) or RANGE_FROM_ZERO * upper
    if upper > RANGE * usual:
        upper = min(upper, nice(max(usual, largest(parameter.value))))
        lower = max(lower, -upper)
    return Control(label, unit, indices, lower, upper, nice(max(upper - lower, 1e-6) / STEPS))


def nice(value: float) -> float:
    """The next of 1, 2, 5, 10, … times a power of ten."""
    power = 10.0 ** math.floor(math.log10(value))
    return next(
        float(f"{factor * power:.6g}")
        for factor in (1, 2, 5, 10)
        if factor * power >= value * (1 - 1e-9)
    )
