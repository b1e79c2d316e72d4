"""From what the bringup decides to launch's actions: what every file in launch/ consists of."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from functools import partial
from typing import Any

from launch import LaunchContext, LaunchDescription
from launch.actions import (
    DeclareLaunchArgument,
    IncludeLaunchDescription,
    LogInfo,
    OpaqueFunction,
    RegisterEventHandler,
    Shutdown,
    TimerAction,
)
from launch.event_handlers import OnProcessExit
from launch.launch_description_sources import PythonLaunchDescriptionSource
from launch.substitutions import Command, LaunchConfiguration, PathJoinSubstitution
from launch_ros.actions import Node
from launch_ros.parameter_descriptions import ParameterValue
from launch_ros.substitutions import FindPackageShare

from .bringup import PACKAGE, LaunchFile, NodeSpec, Setup, Value, Xacro

GRACE = 2.0  # s between the end of a node and that of the others, for the watchdog to bring the arm to rest


def describe(setup: Setup) -> LaunchDescription:
    """The launch description of a kind of system."""
    declared = [
        DeclareLaunchArgument(
            argument.name,
            default_value=argument.default,
            description=argument.text,
            choices=list(argument.choices) or None,
        )
        for argument in setup.arguments
    ]
    return LaunchDescription([*declared, OpaqueFunction(function=partial(_start, setup=setup))])


def _start(context: LaunchContext, setup: Setup) -> list[Any]:
    given = {argument.name: LaunchConfiguration(argument.name).perform(context) for argument in setup.arguments}
    return _actions(setup.make(**given).stages)


def _actions(stages: Sequence[Sequence[NodeSpec | LaunchFile]]) -> list[Any]:
    """The first stage's actions, and the next one's: at once, or when the last node has ended well."""
    if not stages:
        return []
    later, started = _actions(stages[1:]), [(spec, _action(spec)) for spec in stages[0]]
    last, _ = started[-1]
    actions = [action for _, action in started]
    for spec, action in started:
        if isinstance(spec, NodeSpec):
            on_exit = partial(_done, spec, later if spec is last else []) if spec.once else partial(_ended, spec)
            actions.append(RegisterEventHandler(OnProcessExit(target_action=action, on_exit=on_exit)))
    return actions if isinstance(last, NodeSpec) and last.once else [*actions, *later]


def _action(spec: NodeSpec | LaunchFile) -> Any:
    if isinstance(spec, LaunchFile):
        path = PathJoinSubstitution([FindPackageShare(spec.package), spec.path])
        return IncludeLaunchDescription(PythonLaunchDescriptionSource(path), launch_arguments=spec.arguments.items())
    parameters = {name: _parameter(value) for name, value in spec.parameters.items()}
    return Node(
        package=spec.package,
        executable=spec.executable,
        # It would name all nodes of the process: Humble's controller manager has its controllers' nodes in it, too.
        name=spec.name if spec.package == PACKAGE else None,
        exec_name=spec.name,
        parameters=[*spec.parameter_files, *([parameters] if parameters else [])],
        remappings=list(spec.remappings.items()),
        arguments=list(spec.arguments),
        output="screen",
        emulate_tty=True,
    )


def _parameter(value: Value | Xacro) -> Any:
    """The value; a text as it is, where launch would read it as YAML."""
    if isinstance(value, Xacro):
        return ParameterValue(Command(shlex.join(value.command()), on_stderr="warn"), value_type=str)
    return ParameterValue(value, value_type=str) if isinstance(value, str) else value


def _done(spec: NodeSpec, later: list[Any], event: Any, context: LaunchContext) -> list[Any]:
    """What follows the end of a node that ends by itself."""
    if context.is_shutdown:
        return []
    if event.returncode == 0:
        return later
    reason = f"{spec.name} has ended with exit status {event.returncode}"
    if not spec.vital:
        return [LogInfo(msg=f"{reason}; the others go on"), *(later if spec.optional else [])]
    return [LogInfo(msg=f"{reason}: everything else ends"), Shutdown(reason=reason)]


def _ended(spec: NodeSpec, event: Any, context: LaunchContext) -> list[Any]:
    """What follows the end of a node that doesn't end by itself."""
    if context.is_shutdown:
        return []
    if not spec.vital:
        return [LogInfo(msg=f"{spec.name} has ended; the others go on, to leave the robot safe, until Ctrl-C")]
    reason = f"{spec.name} has ended"
    return [
        LogInfo(msg=f"{reason}: everything else ends in {GRACE:g} s"),
        TimerAction(period=GRACE, actions=[Shutdown(reason=reason)]),
    ]
