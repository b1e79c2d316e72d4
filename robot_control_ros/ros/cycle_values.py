"""Conversion of recorded cycles to values of rcl_interfaces, and back.

A request has the number of the first cycle, and then names of fields of the cycle's record. The
first value of the answer has two numbers: that of the first cycle in it, and that of the next cycle
to come. Then each field has an array, cycle after cycle. A refusal is one text.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from rcl_interfaces.msg import ParameterType, ParameterValue

from ..control.recorder import CycleRecorder
from ..control.requests import CycleAnswer
from ..core.cycle import CYCLE
from ..core.errors import refused, unknown
from .messages import numbers

STRANGE = "the controller's answer has other fields: it has another robot, or is of another version"
MOST = 2000  # numbers in an answer: to make it is short work, between two joint states
FIELDS = {field.name: field for field in CYCLE.kept}


def answer_request(recorder: CycleRecorder, names: Sequence[str]) -> list[ParameterValue]:
    """The values for a request: as many cycles as have 2000 numbers together, at least one.

    Args:
        recorder: Recorder that has the cycles.
        names: Number of the first cycle, as text, and names of fields. A negative number counts
            from the newest back.

    Raises:
        ConfigError: The first name is no number, or a field isn't known or stands twice.
    """
    if not names or not _is_integer(names[0]):
        raise refused(
            "names", list(names), "must begin with the number of a cycle", where="get_cycles: "
        )
    fields = names[1:]
    for name in fields:
        if name not in FIELDS:
            raise unknown("field", name, FIELDS)
        if fields.count(name) > 1:
            raise refused("names", name, "must stand once", where="get_cycles: ")
    n = recorder.joints
    widths = [_width(name, n) for name in fields]
    begins = [CYCLE.place(name, n) for name in fields]
    columns = [
        begin + place for begin, width in zip(begins, widths, strict=True) for place in range(width)
    ]
    first = int(names[0])
    if first < 0:
        first = max(recorder.count + first, 0)
    first, rows = recorder.numbers(first, max(1, MOST // max(1, len(columns))), columns)
    values = [
        ParameterValue(
            type=ParameterType.PARAMETER_INTEGER_ARRAY, integer_array_value=[first, recorder.count]
        )
    ]
    begin = 0
    for width in widths:
        part = numbers(rows[:, begin : begin + width])
        begin += width
        values.append(
            ParameterValue(type=ParameterType.PARAMETER_DOUBLE_ARRAY, double_array_value=part)
        )
    return values


def refusal(text: str) -> list[ParameterValue]:
    """The values of an answer without cycles; `text` says why there are none."""
    return [ParameterValue(type=ParameterType.PARAMETER_STRING, string_value=text)]


def read_answer(values: Sequence[ParameterValue], fields: Sequence[str], n: int) -> CycleAnswer:
    """The cycles in an answer to a request of fields of a robot with n joints.

    An answer with other fields becomes a refusal: the controller has another robot or version.
    """
    kinds = [each.type for each in values]
    if kinds == [ParameterType.PARAMETER_STRING]:
        return CycleAnswer(values[0].string_value)
    expected = [ParameterType.PARAMETER_INTEGER_ARRAY] + [
        ParameterType.PARAMETER_DOUBLE_ARRAY
    ] * len(fields)
    if kinds != expected or len(values[0].integer_array_value) != 2:
        return CycleAnswer(STRANGE)
    arrays = {
        name: np.array(value.double_array_value)
        for name, value in zip(fields, values[1:], strict=True)
    }
    widths = {name: _width(name, n) for name in fields}
    counts = {len(values) / widths[name] for name, values in arrays.items()}
    if len(counts) > 1 or not all(count.is_integer() for count in counts):
        return CycleAnswer(STRANGE)
    first, end = map(int, values[0].integer_array_value)
    return CycleAnswer(
        "", first, end, {name: each.reshape(-1, widths[name]) for name, each in arrays.items()}
    )


def _width(name: str, n: int) -> int:
    """Number of values that a field has in one cycle, for n joints."""
    return int(np.prod(FIELDS[name].sizes(n)))


def _is_integer(text: str) -> bool:
    """Return True where a text is a whole number of at most 18 characters."""
    return text.removeprefix("-").isdecimal() and len(text) <= 18
