"""Stiffness presets: soft, medium, stiff and hand guiding, from the robot's own gains."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from ...control.requests import Parameter, Value
from ...core.errors import ConfigError
from ...core.types import Array

SCALES = {"Soft": 0.2, "Medium": 1.0, "Stiff": 3.0, "Hand guiding": 0.0}
GUIDING_TIME = 0.04  # s: in hand guiding, damping is this times the robot's own stiffness, or
GUIDING_DAMPING = 0.2  # this times the robot's own damping, whichever is more
# of each spring
DAMPER = {"N/m": "N·s/m", "N·m/rad": "N·m·s/rad", "N/m, N·m/rad": "N·s/m, N·m·s/rad"}


def preset(name: str, law: str, parameters: Mapping[str, Parameter]) -> dict[str, Value]:
    """Gains of a preset: springs times its scale, dampers times the root of it.

    So the damping ratio stays.

    Args:
        name: Name of the preset, of SCALES.
        law: Name of the law, for the error.
        parameters: Gains of the law, by name.

    Raises:
        ConfigError: the law has no stiffness.
    """
    scale = SCALES[name]
    springs = {
        each.unit: each for each in reversed(list(parameters.values())) if each.unit in DAMPER
    }
    if not springs:
        message = f"{law} has no stiffness: presets are for laws with gains in N/m or N·m/rad"
        raise ConfigError(message, name="law", value=law)
    values: dict[str, Value] = {}
    for each in parameters.values():
        default = np.asarray(each.default, dtype=float) if each.unit else np.zeros(0)
        spring = next((springs[unit] for unit in springs if DAMPER[unit] == each.unit), None)
        if each.unit in DAMPER:
            new = scale * default
        elif spring is not None:
            new = (
                math.sqrt(scale) * default
                if scale
                else _guiding(default, np.asarray(spring.default, dtype=float))
            )
        else:
            continue
        new = np.clip(new, each.lower, each.upper)
        values[each.name] = tuple(new.tolist()) if isinstance(each.default, tuple) else float(new)
    return values


def preset_in_force(law: str, parameters: Mapping[str, Parameter]) -> str:
    """Name of the preset whose gains are those of the law now; empty where none is."""
    for name in SCALES:
        try:
            values = preset(name, law, parameters)
        except ConfigError:
            return ""
        if values and all(
            np.allclose(parameters[each].value, values[each], rtol=1e-6) for each in values
        ):
            return name
    return ""


def _guiding(damping: Array, stiffness: Array) -> Array:
    if damping.shape != stiffness.shape:
        return GUIDING_DAMPING * damping
    return np.maximum(GUIDING_DAMPING * damping, GUIDING_TIME * stiffness)
