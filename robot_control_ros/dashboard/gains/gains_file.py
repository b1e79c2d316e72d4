"""Gains as a ROS parameter file, which the controller can start with (``gains:=FILE``)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...control.requests import SETTINGS, Parameter, Value, split
from ...core.errors import ConfigError, refused, unknown
from ...laws import law_names
from ...robot.ros_parameter_file import ParameterFile
from ...robot.yaml_files import misspelt, yaml_text
from .saved_view import NODE, SECTION, check_view

CONTROLLER = "controller"
WHERE = "the file"


def write(
    law: str, parameters: Mapping[str, Parameter], view: Mapping[str, Any] | None = None
) -> str:
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
    return head + yaml_text(file, flow=None)


def read(content: bytes, law: str) -> dict[str, Value]:
    """The gains of a law, and the settings of wrench and workspace, in the content of a file.

    Raises:
        ConfigError: not a ROS parameter file, nothing for the controller, or no gains of the law;
            names the laws that it has.
    """
    given = ParameterFile.parse(content, WHERE).of(CONTROLLER)
    for group in dict.fromkeys(name.partition(".")[0] for name in given):
        if group not in law_names() and misspelt(group, (law,)) not in ("", group):
            raise unknown("law", group, (law,), hint=f"; did you mean {law}?")
    gains = {
        name.removeprefix(f"{law}."): value
        for name, value in given.items()
        if name.startswith(f"{law}.")
    }
    if not gains:
        others = sorted(
            {name.rpartition(".")[0] or name for name in given if not name.startswith(SETTINGS)}
        )
        message = f"no gains of {law} in the file; it has: {', '.join(others) or 'nothing'}"
        raise ConfigError(message, name="law", value=law, bound=tuple(others))
    gains.update((name, value) for name, value in given.items() if name.startswith(SETTINGS))
    return {
        name: tuple(value) if isinstance(value, list) else value for name, value in gains.items()
    }


def read_view(content: bytes) -> Mapping[str, Any]:
    """The view in the content of a file; empty if there is none.

    Raises:
        ConfigError: not a ROS parameter file, or no camera can have the view.
    """
    parameters = ParameterFile.parse(content, WHERE).section(NODE)
    prefix = f"{SECTION}."
    if SECTION in parameters:
        raise refused(SECTION, parameters[SECTION], "must be a mapping")
    view = {
        name.removeprefix(prefix): value
        for name, value in parameters.items()
        if name.startswith(prefix)
    }
    return check_view(view) if view else {}
