"""ROS parameter files: what they have for a node.

Nodes and namespaces nest as in rcl: ``/left: {controller: {ros__parameters: …}}`` is
``/left/controller``. ``*`` stands for one name, ``**`` for any number of them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from ..core.errors import ConfigError, short
from ..core.input_files import read_bytes
from .yaml_files import LARGEST, YamlDocument, misspelt, parse_yaml

PARAMETERS = "ros__parameters"
_DIGITS = "0123456789"
_FORM = f"node, then {PARAMETERS}, then law or parameter"


class ParameterFile:
    """Parameters of a parameter file, by nodes.

    Args:
        document: Content of the file.
        where: Path of the file, for errors.

    Attributes:
        nodes: Parameters by full names, for each name of a node. Such a name is absolute and may
            have wildcards.

    Raises:
        ConfigError: no parameter file; names line and key.
    """

    def __init__(self, document: YamlDocument, where: str) -> None:
        self._document = document
        self._where = where
        self.nodes: dict[str, dict[str, Any]] = {}
        for keys, parameters in self._sections(document.data, ()):
            name = _full_name(keys)
            self.nodes.setdefault(name, {})
            for parameter, value in _by_full_name(parameters):
                if parameter in self.nodes[name]:
                    place = document.place(*keys)
                    raise ConfigError(
                        f"{where}: {place}{parameter} stands twice", name=parameter, value=value
                    )
                self.nodes[name][parameter] = value
        self._lines = {_full_name(keys): line for keys, line in document.lines.items()}
        self._parameter_lines = {
            ".".join(map(str, keys[keys.index(PARAMETERS) + 1 :])): line
            for keys, line in document.lines.items()
            if PARAMETERS in keys
        }

    @classmethod
    def read(cls, argument: str, path: Path) -> ParameterFile:
        """The content of a file; `argument` is what named it, for errors."""
        return cls.parse(read_bytes(argument, path, LARGEST), f"{argument} = {str(path)!r}")

    @classmethod
    def parse(cls, content: bytes, where: str) -> ParameterFile:
        """The content of a text; `where` is its origin, for errors."""
        return cls(parse_yaml(content, where), where)

    def of(self, node: str, namespace: str = "", *, needed: bool = True) -> dict[str, Any]:
        """The parameters of a node by full names, such as impedance.stiffness; its own name has
        priority.

        Args:
            node: Name of the node.
            namespace: Namespace that the node is in; empty for the root.
            needed: True where the file must have something for the node.

        Raises:
            ConfigError: the file has nothing for the node, or the name of a node that looks like a
                misspelt one.
        """
        full_name = f"/{namespace.strip('/')}/{node}" if namespace.strip("/") else f"/{node}"
        matching = sorted((name for name in self.nodes if _matches(name, full_name)), key=_rank)
        for name in self.nodes:
            if name not in matching and _misspelt_node(name, node):
                raise self._unknown_node(name, node)
        if needed and not matching:
            listed = ", ".join(self.nodes) or "none"
            message = (
                f"{self._where}: nothing for the node {full_name}; nodes of the file: {listed}"
            )
            raise ConfigError(message, name="file", value=full_name, bound=tuple(self.nodes))
        parameters: dict[str, Any] = {}
        for name in matching:
            parameters |= self.nodes[name]
        return parameters

    def error_at(self, parameter: str, error: ConfigError) -> ConfigError:
        """The error of a parameter's value, with file and line before it.

        Args:
            parameter: Full name of the parameter.
            error: Error of the parameter's value, which doesn't know the file.
        """
        line = self._parameter_lines.get(parameter)
        place = f"{self._where}: " if line is None else f"{self._where}: line {line}: "
        return ConfigError(f"{place}{error}", name=error.name, value=error.value, bound=error.bound)

    def section(self, node: str) -> Mapping[str, Any]:
        """The parameters under exactly this name of a node in the root; empty
        where there are none.
        """
        return self.nodes.get(f"/{node}", {})

    def _sections(
        self, content: Any, keys: tuple[Any, ...]
    ) -> Iterator[tuple[tuple[Any, ...], Mapping[str, Any]]]:
        """The keys that lead to each section of parameters, and its parameters."""
        if content is None:
            return
        if not isinstance(content, dict):
            raise self._no_mapping(content, keys)
        for key, inner in content.items():
            if key == PARAMETERS:
                if not keys:
                    place = self._document.place(key)
                    raise ConfigError(
                        f"{self._where}: {place}must stand below the name of a node",
                        name=PARAMETERS,
                    )
                if not isinstance(inner, dict | None):
                    raise self._no_mapping(inner, (*keys, key))
                yield keys, inner or {}
                continue
            if misspelt(str(key), (PARAMETERS,)):
                place = self._document.place(*keys, key)
                message = f"{self._where}: {place}unknown; did you mean {PARAMETERS}?"
                raise ConfigError(message, name=str(key), value=key, bound=(PARAMETERS,))
            yield from self._sections(inner, (*keys, key))

    def _no_mapping(self, value: Any, keys: tuple[Any, ...]) -> ConfigError:
        message = f"{self._where}: {self._document.place(*keys)}{short(value)}: must be a mapping: {_FORM}"
        return ConfigError(message, name=str(keys[-1]) if keys else "the file", value=value)

    def _unknown_node(self, name: str, node: str) -> ConfigError:
        line = f"line {self._lines[name]}: " if name in self._lines else ""
        message = f"{self._where}: {line}unknown node {name}; did you mean {node}?"
        return ConfigError(message, name=name, value=name, bound=(node,))


def _full_name(keys: tuple[Any, ...]) -> str:
    """The absolute name of a node below namespaces."""
    return "/" + "/".join(str(key).strip("/") for key in keys)


def _by_full_name(parameters: Mapping[Any, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Names with dots, as ROS names parameters, and values, of nested mappings."""
    for name, value in parameters.items():
        if isinstance(value, dict):
            yield from _by_full_name(value, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", value


def _matches(name: str, full_name: str) -> bool:
    parts = {"**": r"(/[^/]+)*", "*": r"/[^/]+"}
    pattern = "".join(parts.get(part, f"/{re.escape(part)}") for part in name.strip("/").split("/"))
    return re.fullmatch(pattern, full_name) is not None


def _rank(name: str) -> int:
    """The priority of a name: that without wildcards is the highest."""
    if name == "/**":
        return 0
    if "**" in name:
        return 1
    return 2 if "*" in name else 3


def _misspelt_node(name: str, node: str) -> bool:
    """True where a name is nearly that of the node.

    controller2, controller_left and right_controller are other nodes.
    """
    last = name.rpartition("/")[2]
    if last.rstrip(_DIGITS) == node.rstrip(_DIGITS):
        return False
    words = last.split("_")
    meant = node.split("_")
    if len(words) != len(meant):
        return "".join(words) == "".join(meant)
    return all(
        word == other or misspelt(word, (other,)) for word, other in zip(words, meant, strict=True)
    )
