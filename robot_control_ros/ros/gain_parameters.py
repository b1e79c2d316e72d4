"""A controller's parameters as a person tunes them: names, values, units, bounds, axes."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from typing import Any

from rcl_interfaces.msg import ParameterDescriptor

from ..control.requests import SETTINGS, Parameter, Value


def plain(value: Any) -> Value:
    """A value from ROS or of a gain in plain form: a number as float, several as a tuple."""
    if isinstance(value, (bool, str)):
        return value
    return float(value) if isinstance(value, (int, float)) else tuple(float(each) for each in value)


def ros_value(value: Value) -> Any:
    """A value for a ROS parameter: a number as float, several as a list of floats.

    Everything else stays as it is; the node judges it.
    """
    if isinstance(value, tuple):
        return [float(each) for each in value]
    return float(value) if isinstance(value, int) and not isinstance(value, bool) else value


def read_parameters(
    law: str, descriptors: Sequence[ParameterDescriptor], values: Sequence[Value]
) -> dict[str, Parameter]:
    """The gains of a law, then the settings, by name.

    Units, bounds and so on are read from the descriptors of
    :func:`~.ros_params.gain_descriptor`.
    """
    found = {}
    for descriptor, value in zip(descriptors, values, strict=True):
        name = descriptor.name.removeprefix(f"{law}.")
        data = json.loads(descriptor.additional_constraints)
        found[name] = Parameter(
            name,
            value,
            plain(data["default"]),
            descriptor.description,
            data["unit"],
            -math.inf if data["lower"] is None else data["lower"],
            math.inf if data["upper"] is None else data["upper"],
            tuple(data["choices"]),
            tuple(axis.removesuffix("_joint").replace("_", " ") for axis in data["axes"]),
        )
    return {name: found[name] for name in sorted(found, key=lambda name: name.startswith(SETTINGS))}
