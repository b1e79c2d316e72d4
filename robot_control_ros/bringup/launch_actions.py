"""Values and event handlers for the files in launch/.

A launch file lists its actions by itself. The values of their parameters are those of the system
that the bringup makes and checks.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from launch import LaunchContext
from launch.actions import DeclareLaunchArgument, LogInfo, Shutdown, TimerAction
from launch.substitutions import LaunchConfiguration
from launch_ros.actions import Node
from launch_ros.parameter_descriptions import ParameterValue

from ..core.errors import ConfigError
from ..robot.yaml_files import misspelt
from . import SETUPS
from .requirements import check_requirements
from .system import (
    Given,
    LaunchFile,
    NodeSpec,
    Program,
    Setup,
    System,
    Value,
    Xacro,
    worth_another_start,
)

# s between the end of a node and that of the others, for the watchdog to bring the arm to rest
GRACE = 2.0
# ends a program with all that it has started
SESSION = Path(__file__).with_name("program_session.py")

OnExit = Callable[[Any, LaunchContext], list[Any]]  # takes launch's event ProcessExited


def declare_arguments(name: str) -> list[DeclareLaunchArgument]:
    """Declarations of the arguments of a setup."""
    return [
        DeclareLaunchArgument(
            argument.name,
            default_value=argument.default,
            description=argument.text,
            choices=list(argument.choices) or None,
        )
        for argument in SETUPS[name].arguments
    ]


def prepare(name: str, context: LaunchContext) -> LaunchValues:
    """Values for the launch file of a setup, checked before anything starts.

    Raises:
        ConfigError: An argument is refused or misspelt, or something isn't installed.
    """
    setup = SETUPS[name]
    given = {
        argument.name: LaunchConfiguration(argument.name).perform(context)
        for argument in setup.arguments
    }
    check_names(setup, context.launch_configurations)
    system = setup.make(**given)
    check_requirements(system)
    return LaunchValues(system, given)


def check_names(setup: Setup, given: Iterable[str]) -> None:
    """Refuse a misspelt launch argument. What is like none of ours may be for a launch file that
    this one includes.

    Raises:
        ConfigError: names the argument, the one that it resembles, and all that there are.
    """
    known = [argument.name for argument in setup.arguments]
    for name in given:
        near = "" if name in known else misspelt(name, known)
        if near:
            raise ConfigError(
                f"unknown launch argument {name!r}: did you mean {near!r}? Arguments: {', '.join(known)}",
                name=name,
                bound=tuple(known),
            )


class LaunchValues:
    """Values of a checked system, as launch's actions take them.

    ``values["law"]`` is the text of the launch argument law. It is the same after the launch
    configurations of a group have gone, when a process ends.

    A launch file lists the names, so that its reader sees them. A name that the system has no value
    for is left out. A value that the file doesn't list is refused.

    A system may lack a node, such as the watchdog. Then launch doesn't start that node either, and
    its values are empty.

    Attributes:
        system: System that is started.
    """

    def __init__(self, system: System, given: Given) -> None:
        self.system = system
        self._given = given

    def __getitem__(self, argument: str) -> str:
        return self._given[argument]

    @property
    def forward(self) -> str:
        """Name of the forward controller that takes the law's commands."""
        return self.system.forward

    @property
    def namespaces(self) -> list[str]:
        """Namespaces of the nodes, each once."""
        return list(dict.fromkeys(node.namespace for node in self.system.nodes()))

    def process(self, node: str) -> str:
        """Name of a node's process: its namespace and name."""
        spec = self._node(node)
        return spec.full_name.replace("/", "_") if spec is not None else node

    def parameters(self, node: str, *names: str) -> list[Any]:
        """Parameters for launch's Node: files, and values by name.

        Args:
            node: Name of the node, or namespace and name.
            names: Names of its parameters.

        Raises:
            ConfigError: The node has a parameter that isn't among the names.
        """
        spec = self._node(node)
        if spec is None:
            return []
        values = _listed(node, spec.parameters, names)
        typed = {name: _parameter(value) for name, value in values.items()}
        return [*spec.parameter_files, *([typed] if typed else [])]

    def remappings(self, node: str) -> list[tuple[str, str]]:
        """Names in the code and new names of topics, for launch's Node."""
        spec = self._node(node)
        return list(spec.remappings.items()) if spec is not None else []

    def arguments(self, node: str) -> list[str]:
        """Command line of a node without its ROS arguments, for launch's Node."""
        spec = self._node(node)
        return list(spec.arguments) if spec is not None else []

    def launch_arguments(self, package: str, *names: str) -> list[tuple[str, str]]:
        """Arguments for launch's IncludeLaunchDescription.

        Args:
            package: Package that has the launch file.
            names: Names of its arguments.

        Raises:
            ConfigError: The launch file gets an argument that isn't among the names.
        """
        for part in self.system.parts:
            if isinstance(part, LaunchFile) and part.package == package:
                return list(_listed(package, part.arguments, names).items())
        return []

    def program(self, name: str) -> Program:
        """The program with a name."""
        return next(
            part for part in self.system.parts if isinstance(part, Program) and part.name == name
        )

    def _node(self, name: str) -> NodeSpec | None:
        """The node with a name, or with namespace and name; None where the system has none."""
        return next(
            (node for node in self.system.nodes() if name in (node.name, node.full_name)), None
        )


def _listed(owner: str, values: Any, names: Iterable[str]) -> dict[str, Any]:
    """Values in the order of the names.

    Raises:
        ConfigError: A value isn't listed.
    """
    listed = tuple(names)
    for name in values:
        if name not in listed:
            raise ConfigError(
                f"the launch file doesn't list {name} among the values of {owner}: add it there",
                name=name,
                bound=listed,
            )
    return {name: values[name] for name in listed if name in values}


def _parameter(value: Value | Xacro) -> Any:
    """The value; a text as it is, where launch would read it as YAML."""
    if isinstance(value, Xacro):
        value = value.text()
    return ParameterValue(value, value_type=str) if isinstance(value, str) else value


def in_session(program: Program) -> list[str]:
    """Command line that runs a program in a session: all that it starts ends with it."""
    return [sys.executable, str(SESSION), *program.command]


# --- what follows the end of a process ---


def end_all(event: Any, context: LaunchContext) -> list[Any]:
    """End everything else, after :data:`GRACE`."""
    if context.is_shutdown:
        return []
    if event.returncode != 0:
        _fail(context)
    reason = f"{_label(event)} has ended"
    return [
        LogInfo(msg=f"{reason}: everything else ends in {GRACE:g} s"),
        TimerAction(period=GRACE, actions=[Shutdown(reason=reason)]),
    ]


def others_go_on(event: Any, context: LaunchContext) -> list[Any]:
    """Say that the process has ended. What is left keeps the robot safe."""
    if context.is_shutdown:
        return []
    if event.returncode != 0:
        _fail(context)
    text = f"{_label(event)} has ended; the others keep the robot safe until you press Ctrl-C"
    return [LogInfo(msg=text)]


def restart(make: Callable[[], Node]) -> OnExit:
    """Start a node again after a failure, if it is :func:`worth_another_start`.

    Args:
        make: Function that makes the action of the node: launch runs an action only once.
    """
    started = time.monotonic()

    def on_exit(event: Any, context: LaunchContext) -> list[Any]:
        lifetime = time.monotonic() - started
        if context.is_shutdown or not worth_another_start(event.returncode, lifetime):
            return others_go_on(event, context)
        text = f"{_label(event)} has ended with exit status {event.returncode}: it is started again"
        return [LogInfo(msg=text), make()]

    return on_exit


def after_success(*actions: Any, failure_ends_all: bool = True) -> OnExit:
    """Start actions when a process has ended well.

    Args:
        actions: Actions that start then; after a failure they never do.
        failure_ends_all: True where a failure ends everything; else the others go on.
    """

    def on_exit(event: Any, context: LaunchContext) -> list[Any]:
        if context.is_shutdown:
            return []
        if event.returncode == 0:
            return list(actions)
        _fail(context)
        if not failure_ends_all:
            return [_failed_alone(event)]
        reason = f"{_label(event)} has ended with exit status {event.returncode}"
        return [LogInfo(msg=f"{reason}: everything else ends"), Shutdown(reason=reason)]

    return on_exit


def after_end(*actions: Any) -> OnExit:
    """Start actions when a process has ended, even after a failure: what it does is optional."""

    def on_exit(event: Any, context: LaunchContext) -> list[Any]:
        if context.is_shutdown:
            return []
        said = [_failed_alone(event)] if event.returncode != 0 else []
        return [*said, *actions]

    return on_exit


def _failed_alone(event: Any) -> LogInfo:
    """Message about a process that failed while the others go on."""
    status = event.returncode
    return LogInfo(msg=f"{_label(event)} has ended with exit status {status}; the others go on")


def _fail(context: LaunchContext) -> None:
    """Have launch end with exit status 1: it does after any error that is
    reported to its event loop.
    """
    context.asyncio_loop.call_exception_handler(
        {"message": "this launch has failed, and ends with exit status 1"}
    )


def _label(event: Any) -> str:
    """Name of the process, without the number that launch appends."""
    return str(event.process_name).rpartition("-")[0]
