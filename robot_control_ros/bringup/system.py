"""Parts of a running system: nodes, other programs, and launch files of other packages."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from ..core.bounded import Bounded
from ..core.errors import ConfigError, refused, unknown
from ..robot.description import place_description

PACKAGE = "robot_control_ros"
LONG_ENOUGH = 5.0  # s that a node has run, so that it is worth another start after a failure

Value = bool | int | float | str | list[float]
Given = Mapping[str, str]  # values of a setup's arguments by name


@dataclass(frozen=True)
class Argument:
    """An argument of a launch file.

    Attributes:
        name: Name of the argument.
        default: Value that holds where none is given; None where one must be.
        text: Sentence about the argument, for people.
        choices: Values that are valid; empty where others are, too.
        number: Declaration of the number that the argument is; None of any other text.
    """

    name: str
    default: str | None
    text: str
    choices: tuple[str, ...] = ()
    number: Bounded | None = None

    @classmethod
    def of_number(cls, name: str, number: Bounded) -> Argument:
        """The argument that takes a declared number."""
        return cls(name, str(number.default), number.text(), number=number)

    def value(self, given: Given) -> str:
        """The given value, or the default.

        Raises:
            ConfigError: neither is there, the value isn't one of the choices, or its declaration
                refuses the number.
        """
        value = given.get(self.name, self.default)
        if value is None:
            raise refused(self.name, None, "must be given")
        if self.choices and value not in self.choices:
            raise refused(
                self.name, value, f"must be one of: {', '.join(self.choices)}", self.choices
            )
        if self.number is not None:
            self.number.parse(self.name, value)
        return value


@dataclass(frozen=True)
class Xacro:
    """A robot description that xacro makes of a file at the start.

    Attributes:
        path: Path of the .urdf.xacro file.
        arguments: Values of its ``xacro:arg`` by name.
        prefix, mount: Prefix of names, and place of the root in the world, see
            :func:`~..robot.description.place_description`.
    """

    path: Path
    arguments: Mapping[str, str]
    prefix: str = ""
    mount: tuple[float, ...] = ()

    def text(self) -> str:
        """Text of the description.

        Raises:
            ConfigError: xacro refuses the file, or an argument.
        """
        arguments = (f"{name}:={value}" for name, value in self.arguments.items())
        done = subprocess.run(
            ["xacro", str(self.path), *arguments], capture_output=True, text=True, check=False
        )
        if done.returncode != 0:
            raise ConfigError(
                f"xacro can't make the description of {self.path}: {done.stderr.strip()}"
            )
        return place_description(done.stdout, self.prefix, self.mount)


@dataclass(frozen=True)
class NodeSpec:
    """One node to start.

    Attributes:
        executable: Program in ``lib/<package>``; of this package also a folder of
            ``robot_control_ros.nodes``.
        name: Name of the node; one of another package keeps the name that it gives itself, and this
            is a label only.
        parameters: Parameters by name; they win over the files.
        parameter_files: Paths of ROS parameter files.
        remappings: New topics by old ones.
        package: Name of the package that has the executable.
        arguments: Arguments of the command line, before those of ROS.
        namespace: Namespace that the node is in; empty for the root.
        respawn: True where the others go on without the node, and it is started again after a
            failure, see :func:`worth_another_start`.
    """

    executable: str
    name: str
    parameters: Mapping[str, Value | Xacro] = field(default_factory=dict)
    parameter_files: tuple[str, ...] = ()
    remappings: Mapping[str, str] = field(default_factory=dict)
    package: str = PACKAGE
    arguments: tuple[str, ...] = ()
    namespace: str = ""
    respawn: bool = False

    @property
    def full_name(self) -> str:
        """The name behind its namespace."""
        return "/".join(filter(None, (self.namespace, self.name)))

    def respawns(self, status: int, lifetime: float) -> bool:
        """True where the node is started again.

        Args:
            status: Exit status of the node.
            lifetime: Lifetime of its process [s].
        """
        return self.respawn and worth_another_start(status, lifetime)

    def ros_arguments(self) -> list[str]:
        """The command line after the executable."""
        arguments = [*self.arguments, "--ros-args", "-r", f"__node:={self.name}"]
        if self.namespace:
            arguments += ["-r", f"__ns:=/{self.namespace}"]
        for path in self.parameter_files:
            arguments += ["--params-file", path]
        for name, value in self.parameters.items():
            # JSON is YAML; quoted, nothing in a string is YAML
            arguments += ["-p", f"{name}:={json.dumps(value)}"]
        for old, new in self.remappings.items():
            arguments += ["-r", f"{old}:={new}"]
        return arguments


def worth_another_start(status: int, lifetime: float) -> bool:
    """True where a process failed after it had run for :data:`LONG_ENOUGH`.

    Args:
        status: Exit status of the process.
        lifetime: Lifetime of the process [s].
    """
    return status != 0 and lifetime >= LONG_ENOUGH


@dataclass(frozen=True)
class Program:
    """A program that isn't a ROS node.

    Attributes:
        command: Command line of the program.
        name: Name of the process.
        package: ROS package that brings the program.
        environment: Environment variables that it gets besides those of this process.
    """

    command: tuple[str, ...]
    name: str
    package: str
    environment: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class LaunchFile:
    """A launch file of another package.

    Attributes:
        package: Name of the package that has it.
        path: Path below the package's share folder.
        arguments: Values of its arguments, by name.
    """

    package: str
    path: str
    arguments: Mapping[str, str]


Part = NodeSpec | Program | LaunchFile


@dataclass(frozen=True)
class System:
    """Parts that run together. Which part waits for which is the launch file's.

    Attributes:
        parts: Parts, in the order of the start.
        plugins: ROS packages that its processes load plug-ins of.
        checks: Functions that check that it can start here and now; each raises ConfigError where
            it can't.
        forward: Name of the forward controller that takes the law's commands; empty where no part
            of the system spawns it.
    """

    parts: tuple[Part, ...]
    plugins: tuple[str, ...] = ()
    checks: tuple[Callable[[], None], ...] = ()
    forward: str = ""

    def nodes(self) -> list[NodeSpec]:
        """All nodes, in the order of their start."""
        return [part for part in self.parts if isinstance(part, NodeSpec)]

    def node(self, name: str) -> NodeSpec:
        """The node with a name, or with namespace and name."""
        return next(node for node in self.nodes() if name in (node.name, node.full_name))


@dataclass(frozen=True)
class Setup:
    """A kind of system.

    Attributes:
        arguments: Arguments of its launch file.
        build: Function that makes the system of the values of all arguments; raises ConfigError
            where it can't.
    """

    arguments: tuple[Argument, ...]
    build: Callable[[Given], System]

    def make(self, **given: str) -> System:
        """The system of some arguments, and the defaults of the others.

        Raises:
            ConfigError: an argument is unknown, missing or none of its choices, or there is no such
                system.
        """
        names = [argument.name for argument in self.arguments]
        for name in given:
            if name not in names:
                raise unknown("argument", name, names)
        return self.build({argument.name: argument.value(given) for argument in self.arguments})
