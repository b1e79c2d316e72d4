"""Gains as a ROS parameter file, which the controller can start with (``gains:=FILE``)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import yaml

from ..errors import ConfigError
from .link import Parameter, Value

SECTIONS = ("/**", "controller", "/controller")  # later ones prevail


def write(law: str, parameters: Mapping[str, Parameter]) -> str:
    """The text of the file."""
    gains = {name: list(p.value) if isinstance(p.value, tuple) else p.value for name, p in parameters.items()}
    head = f"# Gains of {law}, as a ROS parameter file: gains:=FILE (launch) or --gains FILE (robot_control demo).\n"
    content = {"/**": {"ros__parameters": {law: gains}}}
    return head + yaml.safe_dump(content, sort_keys=False, allow_unicode=True, default_flow_style=None, width=120)


def read(text: str, law: str) -> dict[str, Value]:
    """The gains of a law in the text of a file.

    Raises:
        ConfigError: not a ROS parameter file, or nothing for the law; names the laws that it is for.
    """
    try:
        content = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise ConfigError(f"not valid YAML: {error}") from error
    found: dict[str, Any] = {}
    laws: set[str] = set()
    for section in SECTIONS:
        parameters = _mapping(_mapping(content, "the file").get(section, {}), section).get("ros__parameters", {})
        for name, value in _mapping(parameters, "ros__parameters").items():
            prefix, dot, gain = name.rpartition(".")
            laws.add(prefix if dot else name)
            if name == law:
                found.update(_mapping(value, law))
            elif prefix == law:
                found[gain] = value
    if not found:
        raise ConfigError(f"no gains of {law} in the file; it has: {', '.join(sorted(laws)) or 'nothing'}")
    return {name: tuple(value) if isinstance(value, list) else value for name, value in found.items()}


def _mapping(value: Any, what: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise ConfigError(f"{what} = {value!r}: must be a mapping: node, then ros__parameters, then law")
    return value
