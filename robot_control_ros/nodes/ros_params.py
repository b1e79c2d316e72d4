"""Gains as ROS parameters, from their one declaration."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from typing import Any

from rcl_interfaces.msg import FloatingPointRange, ParameterDescriptor, SetParametersResult
from rclpy.exceptions import ParameterException
from rclpy.node import Node
from rclpy.parameter import Parameter

from ..errors import ConfigError, RobotControlError
from ..gains import MATRIX, GainSpec, Tuning, check_gain, plain, plain_value


def declare_number(node: Node, name: str, default: float, lower: float, upper: float, text: str) -> float:
    """Declare a number that is chosen at start, and return its value; an integer will do.

    Raises:
        ConfigError: not a number, or out of bounds.
    """
    descriptor = ParameterDescriptor(description=text, dynamic_typing=True, read_only=True)
    descriptor.additional_constraints = f"a number within [{lower:g}, {upper:g}], chosen at start"
    value: Any = node.declare_parameter(name, default, descriptor).value
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not lower <= value <= upper:
        raise ConfigError(f"{name} = {value!r}: must be a number within [{lower:g}, {upper:g}]")
    return float(value)


class GainParameters:
    """The parameters ``<prefix>.<gain>`` of a node.

    A set of parameters is taken as a whole or not at all; the reason of a refusal names value and bound.
    Integers and, for arrays, single numbers are taken as what they mean.

    Args:
        node: that owns the parameters.
        prefix: name of the law, or of what else is tuned.
        tuning: what the parameters go to.

    Raises:
        ConfigError, ParameterException: a value from the command line or a file is refused.
    """

    def __init__(self, node: Node, prefix: str, tuning: Tuning) -> None:
        self._node, self._tuning = node, tuning
        self._prefix = f"{prefix}."
        self._specs = {self._prefix + spec.name: spec for spec in tuning.specs}
        self._following = False
        try:
            self._declare()
        except (ConfigError, ParameterException):
            self.close()
            raise

    def _declare(self) -> None:
        """Declare them all, take over what the command line and files say, and keep following changes."""
        node, tuning = self._node, self._tuning
        self._refuse_unknown(node._parameter_overrides)
        given: dict[str, Any] = {}
        for name, spec in self._specs.items():
            default = plain_value(spec, tuning.target)
            given[spec.name] = node.declare_parameter(name, default, _descriptor(spec, tuning.joints)).value
        tuning.set(given)
        tuning.finish()
        node.set_parameters([Parameter(name, value=plain_value(s, tuning.target)) for name, s in self._specs.items()])
        node.add_pre_set_parameters_callback(self._complete)
        node.add_on_set_parameters_callback(self._check)
        node.add_post_set_parameters_callback(self._apply)
        self._following = True

    def close(self) -> None:
        """Undeclare them all."""
        if self._following:
            self._node.remove_pre_set_parameters_callback(self._complete)
            self._node.remove_on_set_parameters_callback(self._check)
            self._node.remove_post_set_parameters_callback(self._apply)
            self._following = False
        for name in self._specs:
            if self._node.has_parameter(name):
                self._node.undeclare_parameter(name)

    def _refuse_unknown(self, given: Iterable[str]) -> None:
        unknown = [name for name in given if name.startswith(self._prefix) and name not in self._specs]
        if unknown:
            raise ConfigError(f"unknown parameters {unknown}; gains: {', '.join(self._specs)}")

    def _complete(self, parameters: list[Parameter]) -> list[Parameter]:
        return [self._completed(parameter) for parameter in parameters]

    def _completed(self, parameter: Parameter) -> Parameter:
        """In full form: one number for all axes, integers for numbers. What can't be used stays, and is refused."""
        spec, value = self._specs.get(parameter.name), parameter.value
        if spec is None:
            return parameter
        joints = self._tuning.joints
        length = 1 if spec.choices else spec.lengths(joints)[-1]
        if length > 1 and spec.size != MATRIX and isinstance(value, float):
            value = [value] * length  # also where it is out of bounds: ROS would judge a single number in its own words
        with suppress(ConfigError):
            value = plain(spec, check_gain(spec, value, joints))
        return Parameter(parameter.name, value=value)

    def _ours(self, parameters: list[Parameter]) -> dict[str, Any]:
        return {self._specs[p.name].name: p.value for p in parameters if p.name in self._specs}

    def _check(self, parameters: list[Parameter]) -> SetParametersResult:
        values = self._ours(parameters)
        try:
            self._tuning.check(values, self._tuning.target)
        except RobotControlError as error:
            return SetParametersResult(successful=False, reason=str(error))
        return SetParametersResult(successful=True)

    def _apply(self, parameters: list[Parameter]) -> None:
        values = self._ours(parameters)
        if values:
            self._tuning.set(values)


def _descriptor(spec: GainSpec, joints: int) -> ParameterDescriptor:
    """Text, unit, size and range. The typing is dynamic so that 500 and [500, 500] are understood as numbers, too."""
    descriptor = ParameterDescriptor(description=spec.doc, dynamic_typing=True)
    if spec.switch:
        descriptor.additional_constraints = "true or false"
        return descriptor
    if spec.choices:
        descriptor.additional_constraints = spec.bounds()
        return descriptor
    *_, length = lengths = spec.lengths(joints)
    size = "one number" if length == 1 else f"{' or '.join(map(str, lengths[1:]))} numbers or one for all"
    descriptor.additional_constraints = f"{size}, each {spec.bounds().removeprefix('must be ')}"
    lowest = -spec.upper if spec.size == MATRIX else spec.lower  # a matrix has more than its diagonal
    descriptor.floating_point_range = [FloatingPointRange(from_value=lowest, to_value=spec.upper)]
    return descriptor
