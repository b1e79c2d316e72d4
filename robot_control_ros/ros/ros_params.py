"""Parameters of nodes, and gains as ROS parameters, made from the gains' declarations."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

from rcl_interfaces.msg import FloatingPointRange, ParameterDescriptor, SetParametersResult
from rclpy.exceptions import ParameterException
from rclpy.node import Node
from rclpy.parameter import Parameter

from ..control.requests import SETTINGS
from ..core.bounded import Bounded
from ..core.errors import ConfigError, RobotControlError
from ..core.gains import (
    AXES,
    JOINT,
    MATRIX,
    TASK,
    TENSOR,
    TENSOR_AXES,
    VECTOR,
    GainSpec,
    ParameterSet,
    check_gain,
    gain_specs,
    plain,
    plain_value,
)
from ..robot.ros_parameter_file import ParameterFile
from ..robot.yaml_files import misspelt

PREFIX_TEXT = "In front of the names of joints and frames, as a driver's tf_prefix; empty takes the robot's own."


def declare(
    node: Node,
    parameters: Mapping[str, tuple[Any, str]],
    numbers: Mapping[str, Bounded] | None = None,
    known: Mapping[str, str] | None = None,
    *,
    read_only: bool = True,
) -> dict[str, Any]:
    """Declare parameters by name, and return their values.

    Args:
        node: Node that has the parameters.
        parameters: Default and description of each parameter, by name.
        numbers: Declared numbers, by name. An integer and a float are taken for each other where
            they are the same number. They are read-only.
        known: Texts that fill the descriptions' fields by name, such as a list of robots.
        read_only: True where `parameters` can only be set at start, as numbers are.

    Raises:
        ConfigError: A value of `numbers` is refused by its declaration.
    """
    values = {}
    for name, (default, text) in parameters.items():
        descriptor = ParameterDescriptor(
            description=text.format(**known or {}), read_only=read_only
        )
        values[name] = node.declare_parameter(name, default, descriptor).value
    for name, number in (numbers or {}).items():
        values[name] = _declare_number(node, name, number)
    return values


def _declare_number(node: Node, name: str, number: Bounded) -> int | float:
    """Declare a parameter that is a declared number, and return its checked value."""
    value: Any = node.declare_parameter(
        name, number.default, ParameterDescriptor(dynamic_typing=True)
    ).value
    if number.whole and isinstance(value, float) and value.is_integer():
        value = int(value)
    checked = number.check(name, value)
    descriptor = _described(number, number.text())
    descriptor.read_only = True
    descriptor.additional_constraints = json.dumps(_constraints(number), ensure_ascii=False)
    # only now: rclpy's refusal of a value doesn't name the bounds
    node.set_descriptor(name, descriptor)
    return checked


def check_given_parameters(node: Any, arguments: Sequence[str]) -> None:
    """Check the parameters that the command line and its files give to a node that was just made.

    The log names each parameter that the node doesn't have, and the one that was probably meant.
    Parameters of laws and settings are declared later; unknown ones are refused then.

    Args:
        node: Node whose own parameters are declared.
        arguments: Words of the command line.

    Raises:
        ConfigError: A file has nearly the name of the node, or of ``ros__parameters``, or has a
            parameter twice.
    """
    for word, path in pairwise(arguments):
        if word == "--params-file":
            ParameterFile.read(word, Path(path)).of(
                node.get_name(), node.get_namespace(), needed=False
            )
    for name in _unknown(node):
        meant = misspelt(name, tuple(node.list_parameters([], 0).names))
        hint = f"; did you mean {meant}?" if meant else ""
        node.get_logger().warning(f"parameter {name} is unknown, and has no effect{hint}")


def _unknown(node: Any) -> list[str]:
    """Names of given parameters that are neither declared nor in a group that is declared later."""
    given = (name for name in node._parameter_overrides if not node.has_parameter(name))
    # qos_overrides are declared with a publisher; a law that is a class has a colon in its name
    return [
        name
        for name in given
        if not name.startswith("qos_overrides.")
        and ":" not in name
        and name.partition(".")[0] not in _groups()
    ]


def _groups() -> tuple[str, ...]:
    """First parts of the names of gains and settings, such as a law's name."""
    from ..laws import law_names  # here: a node without a law shall not load what laws need

    return (*law_names(), *(prefix.rstrip(".") for prefix in SETTINGS), "constraints")


@cache
def _gain_names() -> dict[str, str]:
    """Full names of gains, `<law>.<gain>`, by themselves and by the gain's name.

    A name that several laws have stands for the gain of the first one.
    """
    names: dict[str, str] = {}
    from ..laws import law_class, law_names

    for law in law_names(plugins=False):
        for spec in gain_specs(law_class(law).Gains):
            full_name = f"{law}.{spec.name}"
            names[full_name] = full_name
            names.setdefault(spec.name, full_name)
    return names


def _refuse_misspelt_gains(node: Any) -> None:
    """Refuse unknown parameters meant for a gain or a setting, which would keep its default.

    Raises:
        ConfigError: There is one; the message names it, and the one that it resembles.
    """
    for name in _unknown(node):
        group, dot, rest = name.partition(".")
        near = misspelt(group, _groups()) if dot else ""
        meant = (
            f"{near}.{rest}"
            if near
            else _gain_names().get(name) or misspelt(name, tuple(_gain_names()))
        )
        if meant:
            message = f"unknown parameter {name}; did you mean {_gain_names().get(meant, meant)}?"
            raise ConfigError(
                message, name=name, value=node._parameter_overrides[name].value, bound=(meant,)
            )


class TunedParameters:
    """The parameters ``<prefix>.<gain>`` of a node: gains of laws, and settings.

    A set of parameters is taken as a whole or not at all; the reason of a refusal names value and
    bound. An integer is taken as a number, and a single number for all values of an array.

    A node has one object of this class. rclpy gives the parameters as they came to each callback
    that may complete them, and sets what all of these return.

    Args:
        node: Node that has the parameters; its other parameters are declared already.

    Raises:
        ConfigError: The command line or a file gives a parameter whose name is nearly that of a
            gain.
    """

    def __init__(self, node: Node) -> None:
        _refuse_misspelt_gains(node)
        self._node = node
        self._tuned: dict[str, tuple[ParameterSet, GainSpec]] = {}  # by the parameter's name
        node.add_pre_set_parameters_callback(
            lambda parameters: [self._completed(each) for each in parameters]
        )
        node.add_on_set_parameters_callback(self._check)
        node.add_post_set_parameters_callback(self._apply)

    def add(self, prefix: str, tuning: ParameterSet, joints: Sequence[str]) -> None:
        """Declare ``<prefix>.…``, with values of command line and files; take over changes later.

        Raises:
            ConfigError, ParameterException: A value of the command line or a file is refused;
                nothing is declared then.
        """
        specs = {f"{prefix}.{spec.name}": spec for spec in tuning.specs}
        try:
            self._declare(prefix, specs, tuning, joints)
        except (ConfigError, ParameterException):
            self.remove(prefix)
            raise
        self._tuned.update((name, (tuning, spec)) for name, spec in specs.items())

    def remove(self, prefix: str) -> None:
        """Undeclare ``<prefix>.…``."""
        for gain in self._node.get_parameters_by_prefix(prefix):
            self._tuned.pop(f"{prefix}.{gain}", None)
            self._node.undeclare_parameter(f"{prefix}.{gain}")

    def _declare(
        self,
        prefix: str,
        specs: Mapping[str, GainSpec],
        tuning: ParameterSet,
        joints: Sequence[str],
    ) -> None:
        node = self._node
        unknown = [
            name
            for name in node._parameter_overrides
            if name.startswith(f"{prefix}.") and name not in specs
        ]
        if unknown:
            meant = [found for name in unknown if (found := misspelt(name, tuple(specs)))]
            hint = f"; did you mean {', '.join(meant)}?" if meant else ""
            hint = tuning.renamed(unknown[0].removeprefix(f"{prefix}.")) or hint
            message = f"unknown parameters {unknown}{hint}; gains: {', '.join(specs)}"
            raise ConfigError(message, name=unknown[0], bound=tuple(specs))
        given: dict[str, Any] = {}
        for name, spec in specs.items():
            default = plain_value(spec, tuning.target)
            given[spec.name] = node.declare_parameter(
                name, default, gain_descriptor(spec, default, joints)
            ).value
        tuning.set(given)
        tuning.finish()
        complete = {name: plain_value(spec, tuning.target) for name, spec in specs.items()}
        node.set_parameters(
            [
                Parameter(name, value=value)
                for name, value in complete.items()
                if not _is_complete(given[specs[name].name], value)
            ]
        )

    def _completed(self, parameter: Parameter) -> Parameter:
        """A parameter in full form: numbers for integers, as many as the gain has values.

        A value that can't be used stays as it is, and is refused later.
        """
        if parameter.name not in self._tuned:
            return parameter
        tuning, spec = self._tuned[parameter.name]
        value = parameter.value
        if isinstance(value, str) and not spec.choices:
            # `ros2 param set` sends [8, 8, 0.4] as text, because 8 and 0.4 are of two types
            with suppress(ValueError):
                value = [float(each) for each in value.strip("[] ").split(",")]
        length = 1 if spec.choices else spec.lengths(tuning.joints)[-1]
        if length > 1 and isinstance(value, float):
            # also where it is out of bounds: ROS would refuse a single number with another message
            value = spec.spread(value, tuning.joints)
        with suppress(ConfigError):
            value = plain(spec, check_gain(spec, value, tuning.joints))
        return Parameter(parameter.name, value=value)

    def _changes(self, parameters: list[Parameter]) -> list[tuple[ParameterSet, dict[str, Any]]]:
        """Sets of gains that these parameters change, each with its new values by gain."""
        changes: dict[int, tuple[ParameterSet, dict[str, Any]]] = {}
        for parameter in parameters:
            if parameter.name in self._tuned:
                tuning, spec = self._tuned[parameter.name]
                changes.setdefault(id(tuning), (tuning, {}))[1][spec.name] = parameter.value
        return list(changes.values())

    def _check(self, parameters: list[Parameter]) -> SetParametersResult:
        try:
            for tuning, values in self._changes(parameters):
                tuning.check(values, tuning.target)
        except RobotControlError as error:
            return SetParametersResult(successful=False, reason=str(error))
        return SetParametersResult(successful=True)

    def _apply(self, parameters: list[Parameter]) -> None:
        for tuning, values in self._changes(parameters):
            tuning.set(values)


def _is_complete(given: Any, complete: bool | float | str | list[float]) -> bool:
    """Return True where a given value is the complete one: of its type, and as many numbers."""
    if isinstance(complete, list):
        numbers = [] if isinstance(given, (bool, int, float, str)) else list(given)
        return numbers == complete and all(type(number) is float for number in numbers)
    return type(given) is type(complete) and given == complete


def gain_descriptor(
    spec: GainSpec, default: bool | float | str | list[float], joints: Sequence[str]
) -> ParameterDescriptor:
    """Descriptor of a gain's parameter: its sentence, its range, and JSON for who tunes it.

    The JSON object in `additional_constraints` has ``unit``, ``axes`` (a name per value, empty for
    one value), ``default``, ``lower``, ``upper`` (null: no bound) and ``choices``. The typing is
    dynamic so that 500 and [500, 500] are understood as numbers, too.
    """
    data = {
        **_constraints(spec),
        "axes": _axes(spec.size, joints),
        "default": default,
        "choices": spec.choices,
    }
    # Of a matrix the range is that of the diagonal. ROS checks single numbers only, and they stand
    # for a diagonal.
    descriptor = _described(spec, spec.doc, ranged=not (spec.switch or spec.choices))
    descriptor.additional_constraints = json.dumps(data, ensure_ascii=False)
    return descriptor


def _described(number: Bounded, text: str, *, ranged: bool = True) -> ParameterDescriptor:
    """Descriptor of a declared number, with its range where it has one."""
    descriptor = ParameterDescriptor(description=text, dynamic_typing=True)
    if ranged:
        lower, upper = map(float, number.bound)
        descriptor.floating_point_range = [FloatingPointRange(from_value=lower, to_value=upper)]
    return descriptor


def _constraints(number: Bounded) -> dict[str, Any]:
    """Unit and bounds of a declared number as JSON has them; an infinite bound is null."""
    lower, upper = number.bound
    return {"unit": number.unit, "lower": _finite(lower), "upper": _finite(upper)}


def _axes(size: str, joints: Sequence[str]) -> tuple[str, ...]:
    """Names of the values of a gain of this size; empty for a single value."""
    names = {TASK: AXES, MATRIX: AXES, VECTOR: AXES[:3], TENSOR: TENSOR_AXES, JOINT: tuple(joints)}
    return names.get(size, ())


def _finite(bound: float) -> float | None:
    return bound if math.isfinite(bound) else None
