"""A controller's parameters as what a person tunes: names, values, units, bounds, axes."""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from rcl_interfaces.msg import ParameterDescriptor

from ...core.gains import AXES, JOINT, MATRIX, TASK, VECTOR, GainSpec, ParameterSet, plain_value
from ...dashboard.link import SETTINGS, Parameter, Value
from ...laws.running_law import RunningLaw
from ...references.workspace import WorkspaceSettings
from ...robot.configuration import RobotConfig
from ...sensing.wrench import WrenchSettings

_UNIT = re.compile(r"within \[[^]]*\] (.+)$")
_CHOICES = re.compile(r"must be one of: (.+)$")


def short_name(law: str, name: str) -> str:
    """A parameter's name without the law; settings keep their prefix."""
    return name.removeprefix(f"{law}.")


def full_name(law: str, name: str) -> str:
    """As the controller has it; see :func:`short_name`."""
    return name if name.startswith(SETTINGS) else f"{law}.{name}"


def plain(value: Any) -> Value:
    """A value as it comes from ROS or from a gain: numbers as floats, several as a tuple."""
    if isinstance(value, (bool, str)):
        return value
    return float(value) if isinstance(value, (int, float)) else tuple(float(each) for each in value)


def ros_value(value: Value) -> Any:
    """Numbers as floats, in a list where they are several; everything else as it is: the node judges it."""
    if isinstance(value, tuple):
        return [float(each) for each in value]
    return float(value) if isinstance(value, int) and not isinstance(value, bool) else value


def described(
    robot: RobotConfig, law: str, descriptors: Sequence[ParameterDescriptor], values: Sequence[Value]
) -> dict[str, Parameter]:
    """The gains by name; from the law's own declarations, where it can be imported here, comes what a descriptor lacks.

    Order: that of the declarations, the law's first.
    """
    specs, defaults = _declared(robot, law)
    found = {}
    for descriptor, value in zip(descriptors, values, strict=True):
        name = short_name(law, descriptor.name)
        spec, constraints = specs.get(name), descriptor.additional_constraints
        unit, choices = _UNIT.search(constraints), _CHOICES.search(constraints)
        bounds = descriptor.floating_point_range[0] if descriptor.floating_point_range else None
        lower = spec.lower if spec is not None else 0.0 if bounds is None else bounds.from_value
        found[name] = Parameter(
            name,
            value,
            defaults.get(name, value),
            descriptor.description,
            unit.group(1) if unit else "",
            lower,
            1.0 if bounds is None else bounds.to_value,
            tuple(choices.group(1).split(", ")) if choices else (),
            _axes(robot, spec),
        )
    order = [*(name for name in specs if name in found), *(name for name in found if name not in specs)]
    return {name: found[name] for name in sorted(order, key=lambda name: name.startswith(SETTINGS))}


def _declared(robot: RobotConfig, law: str) -> tuple[dict[str, GainSpec], dict[str, Value]]:
    """Declarations and defaults by name, as far as they are known here."""
    profile = robot.profile
    tunings = {
        "wrench.": ParameterSet(WrenchSettings, robot.n, profile.wrench),
        "workspace.": ParameterSet(WorkspaceSettings, robot.n, profile.workspace),
    }
    with suppress(Exception):  # another's law: only the controller needs it
        tunings = {"": RunningLaw(robot, law).gains, **tunings}
    specs = {f"{prefix}{spec.name}": spec for prefix, tuning in tunings.items() for spec in tuning.specs}
    defaults = {
        f"{prefix}{spec.name}": plain(plain_value(spec, tuning.target))
        for prefix, tuning in tunings.items()
        for spec in tuning.specs
    }
    return specs, defaults


def _axes(robot: RobotConfig, spec: GainSpec | None) -> tuple[str, ...]:
    if spec is None:
        return ()
    joints = tuple(name.removesuffix("_joint").replace("_", " ") for name in robot.joints)
    return {TASK: AXES, MATRIX: AXES, VECTOR: AXES[:3], JOINT: joints}.get(spec.size, ())
