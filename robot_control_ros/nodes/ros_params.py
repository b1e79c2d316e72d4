"""Gains as ROS parameters, from their one declaration."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from typing import Any

from rcl_interfaces.msg import FloatingPointRange, ParameterDescriptor, SetParametersResult
from rclpy.node import Node
from rclpy.parameter import Parameter

from ..errors import ConfigError, RobotControlError
from ..gains import GainSpec, check_gain, gain_specs, plain, plain_value
from ..loop import ControlLoop


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
    """The parameters ``<law>.<gain>`` of a node.

    A set of parameters is taken as a whole or not at all; the reason of a refusal names value and bound.
    Integers and, for arrays, single numbers are taken as what they mean.

    Args:
        node: that owns the parameters.
        law: name of the law.
        gains_type: its Gains.
    """

    def __init__(self, node: Node, law: str, gains_type: type) -> None:
        self._node = node
        self._prefix = f"{law}."
        self._specs = {self._prefix + spec.name: spec for spec in gain_specs(gains_type)}
        self._loop: ControlLoop | None = None

    def connect(self, loop: ControlLoop) -> None:
        """Declare them all, bring what the command line and files say into the loop, and keep following changes.

        Raises:
            ConfigError, ParameterException: such a value is refused.
        """
        node = self._node
        self._refuse_unknown(node._parameter_overrides)
        given: dict[str, Any] = {}
        for name, spec in self._specs.items():
            default = plain_value(spec, loop.gains.target)
            given[spec.name] = node.declare_parameter(name, default, _descriptor(spec, loop.robot.n)).value
        loop.gains.change(loop.check_gains(given))
        loop.gains.finish()
        complete = [Parameter(name, value=plain_value(spec, loop.gains.target)) for name, spec in self._specs.items()]
        node.set_parameters(complete)
        self._loop = loop
        node.add_pre_set_parameters_callback(self._complete)
        node.add_on_set_parameters_callback(self._check)
        node.add_post_set_parameters_callback(self._apply)

    def remove(self) -> None:
        """Undeclare them all."""
        if self._loop is not None:
            self._node.remove_pre_set_parameters_callback(self._complete)
            self._node.remove_on_set_parameters_callback(self._check)
            self._node.remove_post_set_parameters_callback(self._apply)
            self._loop = None
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
        if spec is None or self._loop is None:
            return parameter
        length = spec.length(self._loop.robot.n)
        if length > 1 and isinstance(value, float):
            value = [value] * length  # also where it is out of bounds: ROS would judge a single number in its own words
        with suppress(ConfigError):
            value = plain(spec, check_gain(spec, value, self._loop.robot.n))
        return Parameter(parameter.name, value=value)

    def _ours(self, parameters: list[Parameter]) -> dict[str, Any]:
        return {self._specs[p.name].name: p.value for p in parameters if p.name in self._specs}

    def _check(self, parameters: list[Parameter]) -> SetParametersResult:
        values = self._ours(parameters)
        assert self._loop is not None
        try:
            self._loop.check_gains(values, self._loop.gains.target)
        except RobotControlError as error:
            return SetParametersResult(successful=False, reason=str(error))
        return SetParametersResult(successful=True)

    def _apply(self, parameters: list[Parameter]) -> None:
        values = self._ours(parameters)
        if values and self._loop is not None:
            self._loop.set_gains(values)


def _descriptor(spec: GainSpec, joints: int) -> ParameterDescriptor:
    """Text, unit, size and range. The typing is dynamic so that 500 and [500, 500] are understood as numbers, too."""
    descriptor = ParameterDescriptor(description=spec.doc, dynamic_typing=True)
    if spec.switch:
        descriptor.additional_constraints = "true or false"
        return descriptor
    length = spec.length(joints)
    size = "one number" if length == 1 else f"{length} numbers or one for all"
    descriptor.additional_constraints = f"{size}, each {spec.bounds().removeprefix('must be ')}"
    descriptor.floating_point_range = [FloatingPointRange(from_value=spec.lower, to_value=spec.upper)]
    return descriptor
