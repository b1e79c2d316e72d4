"""Actions of launch for what the bringup decides: what every file in launch/ consists of."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from launch import LaunchContext, LaunchDescription
from launch.actions import (
    DeclareLaunchArgument,
    ExecuteProcess,
    IncludeLaunchDescription,
    LogInfo,
    OpaqueFunction,
    RegisterEventHandler,
    Shutdown,
    TimerAction,
)
from launch.event_handlers import OnProcessExit
from launch.launch_description_sources import PythonLaunchDescriptionSource
from launch.substitutions import LaunchConfiguration, PathJoinSubstitution
from launch_ros.actions import Node
from launch_ros.parameter_descriptions import ParameterValue
from launch_ros.substitutions import FindPackageShare

from ..core.errors import ConfigError
from ..robot.yaml_files import misspelt
from .requirements import check_requirements
from .system import PACKAGE, LaunchFile, NodeSpec, Part, Program, Setup, Value, Xacro

# s between the end of a node and that of the others, for the watchdog to bring the arm to rest
GRACE = 2.0
# ends a program with all that it has started
SESSION = Path(__file__).with_name("program_session.py")


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
    given = {
        argument.name: LaunchConfiguration(argument.name).perform(context)
        for argument in setup.arguments
    }
    check_names(setup, context.launch_configurations)
    system = setup.make(**given)
    check_requirements(system)
    return _actions(system.stages)


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


def _actions(stages: Sequence[Sequence[Part]]) -> list[Any]:
    """The first stage's actions, and the next one's: at once, or when the last
    node has ended well.
    """
    if not stages:
        return []
    later = _actions(stages[1:])
    started = [(spec, _action(spec)) for spec in stages[0]]
    last, _ = started[-1]
    actions = [action for _, action in started]
    for spec, action in started:
        if not isinstance(spec, LaunchFile):
            on_exit = partial(_ended, spec, time.monotonic())
            if isinstance(spec, NodeSpec) and spec.once:
                on_exit = partial(_done, spec, later if spec is last else [])
            actions.append(
                RegisterEventHandler(OnProcessExit(target_action=action, on_exit=on_exit))
            )
    return actions if isinstance(last, NodeSpec) and last.once else [*actions, *later]


def _action(spec: Part) -> Any:
    """Make launch's action of a part of a system.

    A program runs within a session of its own, so that all that it starts ends with it.
    """
    if isinstance(spec, Program):
        command = [sys.executable, str(SESSION), *spec.command]
        variables = dict(spec.environment)
        return ExecuteProcess(
            cmd=command, name=spec.name, additional_env=variables, output="screen", emulate_tty=True
        )
    if isinstance(spec, LaunchFile):
        path = PathJoinSubstitution([FindPackageShare(spec.package), spec.path])
        return IncludeLaunchDescription(
            PythonLaunchDescriptionSource(path), launch_arguments=spec.arguments.items()
        )
    parameters = {name: _parameter(value) for name, value in spec.parameters.items()}
    return Node(
        package=spec.package,
        executable=spec.executable,
        # A name would be that of all nodes of a process, and Humble's controller manager has its
        # controllers' nodes in its process, too.
        name=spec.name if spec.package == PACKAGE else None,
        exec_name=spec.full_name.replace("/", "_"),
        parameters=[*spec.parameter_files, *([parameters] if parameters else [])],
        remappings=list(spec.remappings.items()),
        arguments=list(spec.arguments),
        output="screen",
        emulate_tty=True,
        **({"namespace": spec.namespace} if spec.namespace else {}),
    )


def _parameter(value: Value | Xacro) -> Any:
    """The value; a text as it is, where launch would read it as YAML."""
    if isinstance(value, Xacro):
        value = value.text()
    return ParameterValue(value, value_type=str) if isinstance(value, str) else value


def _done(spec: NodeSpec, later: list[Any], event: Any, context: LaunchContext) -> list[Any]:
    """Actions that follow the end of a node that ends by itself."""
    if context.is_shutdown:
        return []
    if event.returncode == 0:
        return later
    if not spec.optional:
        _fail(context)
    reason = f"{_label(spec)} has ended with exit status {event.returncode}"
    if not spec.vital:
        return [LogInfo(msg=f"{reason}; the others go on"), *(later if spec.optional else [])]
    return [LogInfo(msg=f"{reason}: everything else ends"), Shutdown(reason=reason)]


def _started_again(spec: NodeSpec) -> list[Any]:
    """Actions that start another process of a node, and follow its end."""
    action = _action(spec)
    on_exit = partial(_ended, spec, time.monotonic())
    return [action, RegisterEventHandler(OnProcessExit(target_action=action, on_exit=on_exit))]


def _ended(
    spec: NodeSpec | Program, started: float, event: Any, context: LaunchContext
) -> list[Any]:
    """Actions that follow the end of a node or program that doesn't end by itself.

    Args:
        spec: Node or program that has ended.
        started: Time when it was started, by the steady clock [s].
        event: Event of launch, which has the exit status.
        context: Context of launch.
    """
    if context.is_shutdown:
        return []
    if isinstance(spec, NodeSpec) and spec.respawns(event.returncode, time.monotonic() - started):
        again = f"{_label(spec)} has ended with exit status {event.returncode}: it is started again"
        return [LogInfo(msg=again), *_started_again(spec)]
    if event.returncode != 0:
        _fail(context)
    if isinstance(spec, NodeSpec) and not spec.vital:
        return [
            LogInfo(
                msg=f"{_label(spec)} has ended; the others keep the robot safe until you press Ctrl-C"
            )
        ]
    reason = f"{_label(spec)} has ended"
    return [
        LogInfo(msg=f"{reason}: everything else ends in {GRACE:g} s"),
        TimerAction(period=GRACE, actions=[Shutdown(reason=reason)]),
    ]


def _fail(context: LaunchContext) -> None:
    """Have launch end with exit status 1: it does after any error that is
    reported to its event loop.
    """
    context.asyncio_loop.call_exception_handler(
        {"message": "this launch has failed, and ends with exit status 1"}
    )


def _label(spec: NodeSpec | Program) -> str:
    """Name of a node or program, for messages."""
    return spec.full_name if isinstance(spec, NodeSpec) else spec.name
