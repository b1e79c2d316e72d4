"""From what the bringup decides to launch's actions: what every file in launch/ consists of."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from functools import partial
from typing import Any

from launch import LaunchContext, LaunchDescription
from launch.actions import (
    DeclareLaunchArgument,
    EmitEvent,
    IncludeLaunchDescription,
    LogInfo,
    OpaqueFunction,
    RegisterEventHandler,
    TimerAction,
)
from launch.event_handlers import OnProcessExit
from launch.events import Shutdown
from launch.launch_description_sources import PythonLaunchDescriptionSource
from launch.substitutions import Command, LaunchConfiguration, PathJoinSubstitution
from launch_ros.actions import LifecycleNode, Node
from launch_ros.event_handlers import OnStateTransition
from launch_ros.parameter_descriptions import ParameterValue
from launch_ros.substitutions import FindPackageShare

from .bringup import LaunchFile, NodeSpec, Setup, Xacro

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
    """The first stage's actions, and what starts the next one: at once, or when the last node has got so far."""
    if not stages:
        return []
    entities = [(spec, _action(spec)) for spec in stages[0]]
    later, actions = _actions(stages[1:]), [action for _, action in entities]
    last, gate = entities[-1]
    for spec, action in entities:
        if isinstance(spec, NodeSpec) and not spec.once:
            actions.append(RegisterEventHandler(OnProcessExit(target_action=action, on_exit=partial(_ended, spec))))
    if isinstance(last, NodeSpec) and last.once:
        actions.append(
            RegisterEventHandler(OnProcessExit(target_action=gate, on_exit=partial(_done, last.name, later)))
        )
    elif isinstance(last, NodeSpec) and last.lifecycle:
        started = OnStateTransition(target_lifecycle_node=gate, goal_state="active", entities=later, handle_once=True)
        actions.append(RegisterEventHandler(started))
    else:
        actions += later
    return actions


def _action(spec: NodeSpec | LaunchFile) -> Any:
    if isinstance(spec, LaunchFile):
        path = PathJoinSubstitution([FindPackageShare(spec.package), spec.path])
        return IncludeLaunchDescription(PythonLaunchDescriptionSource(path), launch_arguments=spec.arguments.items())
    parameters = {
        name: _description(value) if isinstance(value, Xacro) else value for name, value in spec.parameters.items()
    }
    common = {
        "package": spec.package,
        "executable": spec.executable,
        "name": spec.name,
        "parameters": [*spec.parameter_files, *([parameters] if parameters else [])],
        "remappings": list(spec.remappings.items()),
        "arguments": list(spec.arguments),
        "output": "screen",
        "emulate_tty": True,
    }
    return LifecycleNode(namespace="", **common) if spec.lifecycle else Node(**common)


def _description(xacro: Xacro) -> ParameterValue:
    return ParameterValue(Command(shlex.join(xacro.command()), on_stderr="warn"), value_type=str)


def _done(name: str, later: list[Any], event: Any, context: LaunchContext) -> list[Any]:
    if event.returncode == 0:
        return later
    return [EmitEvent(event=Shutdown(reason=f"{name} ended with exit status {event.returncode}"))]


def _ended(spec: NodeSpec, event: Any, context: LaunchContext) -> list[Any]:
    if context.is_shutdown:
        return []
    if not spec.vital:
        return [LogInfo(msg=f"{spec.name} has ended; the others go on, to leave the robot safe, until Ctrl-C")]
    reason = f"{spec.name} has ended"
    return [
        LogInfo(msg=f"{reason}: everything else ends in {GRACE:g} s"),
        TimerAction(period=GRACE, actions=[EmitEvent(event=Shutdown(reason=reason))]),
    ]
