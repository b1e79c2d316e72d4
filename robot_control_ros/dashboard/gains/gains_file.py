"""Gains as a ROS parameter file, which the controller can start with (``gains:=FILE``)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import yaml

from ...core.errors import ConfigError, refused
from ...robot.files import by_full_name
from ..link import SETTINGS, Parameter, Value, split
from .saved_view import NODE, SECTION, check_view

SECTIONS = ("/**", "controller", "/controller")  # a later one has priority


def write(law: str, parameters: Mapping[str, Parameter], view: Mapping[str, Any] | None = None) -> str:
    """The text of the file; the view, if there is one, is in a section of its own."""
    content: dict[str, dict[str, Any]] = {law: {}}
    for name, each in parameters.items():
        prefix, gain = split(name)
        section = content.setdefault(prefix.rstrip(".") or law, {})
        section[gain] = list(each.value) if isinstance(each.value, tuple) else each.value
    head = f"# Gains of {law}, as a ROS parameter file: gains:=FILE (launch) or --gains FILE (robot_control demo).\n"
    file: dict[str, Any] = {"/**": {"ros__parameters": content}}
    if view:
        file[NODE] = {"ros__parameters": {SECTION: dict(view)}}
    return head + yaml.safe_dump(file, sort_keys=False, allow_unicode=True, default_flow_style=None, width=120)


def read(text: str, law: str) -> dict[str, Value]:
    """The gains of a law, and the settings of wrench and workspace, in the text of a file.

    Raises:
        ConfigError: not a ROS parameter file, or no gains of the law; names the laws that it has.
    """
    content = _parse(text)
    given: dict[str, Any] = {}
    for section in SECTIONS:
        given |= by_full_name(_parameters(content, section))
    gains = {name.removeprefix(f"{law}."): value for name, value in given.items() if name.startswith(f"{law}.")}
    if not gains:
        others = sorted({name.rpartition(".")[0] or name for name in given if not name.startswith(SETTINGS)})
        message = f"no gains of {law} in the file; it has: {', '.join(others) or 'nothing'}"
        raise ConfigError(message, name="law", value=law, bound=tuple(others))
    gains.update((name, value) for name, value in given.items() if name.startswith(SETTINGS))
    return {name: tuple(value) if isinstance(value, list) else value for name, value in gains.items()}


def read_view(text: str) -> Mapping[str, Any]:
    """The view in the text of a file; empty if there is none.

    Raises:
        ConfigError: not a ROS parameter file, or no camera can have the view.
    """
    view = _parameters(_parse(text), NODE).get(SECTION)
    return check_view(_mapping(view, SECTION)) if view is not None else {}


def _parse(text: str) -> Any:
    try:
        return yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise ConfigError(f"not valid YAML: {error}", name="file") from error


def _parameters(content: Any, node: str) -> dict[str, Any]:
    section = _mapping(_mapping(content, "the file").get(node, {}), node)
    return _mapping(section.get("ros__parameters", {}), "ros__parameters")


def _mapping(value: Any, name: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise refused(name, value, "must be a mapping: node, then ros__parameters, then law")
    return value
