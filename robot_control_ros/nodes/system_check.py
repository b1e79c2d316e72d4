"""What the running ROS system offers, against a robot's profile and what a law needs: for activation and the doctor."""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set
from typing import Any

from rclpy.node import Node

from ..findings import Finding, error, errors, ok, warning
from ..robots import RobotConfig
from ..running_law import RunningLaw
from ..types import CommandMode
from .controller_manager import ControllerManager

COMMAND_TYPE = "std_msgs/msg/Float64MultiArray"
WATCHDOG = "watchdog"  # the node that also listens to, and may publish, commands


def check_system(
    node: Node,
    robot: RobotConfig,
    law: RunningLaw,
    wrench: str | None,
    joint_states: str = "joint_states",
    commanding: Sequence[str] = (),
) -> list[Finding]:
    """All findings.

    Args:
        node: that asks; its own publishers and subscriptions don't count.
        robot: under the profile that is to be checked.
        law: that is to run.
        wrench: topic of the wrench; None where the law's wrench doesn't come from a topic.
        joint_states: topic.
        commanding: names of nodes that may publish commands, besides the one that asks and the watchdog.
    """
    findings = [
        *_joint_states(node, robot, joint_states),
        *_commands(node, robot, law.mode, {WATCHDOG, *commanding}),
        *(_wrench(node, robot, law, wrench) if wrench is not None else ()),
    ]
    if robot.profile.controller_manager and not errors(findings):
        findings += check_controllers(node, robot, law.mode)
    return findings


def check_controllers(node: Node, robot: RobotConfig, mode: CommandMode) -> list[Finding]:
    """What the controller manager says of the controller that takes the commands, and of its rivals."""
    name, wanted = robot.profile.controller_manager, robot.profile.controllers[mode]
    manager = ControllerManager(node, name)
    if not manager.installed:
        return [ok(f"{name} was not asked: controller_manager_msgs isn't installed here")]
    controllers = manager.controllers()
    if controllers is None:
        return [error(f"{name} doesn't answer", _start(robot))]
    found = {controller.name: controller for controller in controllers}
    if wanted not in found:
        listed = ", ".join(sorted(found)) or "none"
        remedy = f"Load it: ros2 run controller_manager spawner {wanted} --inactive"
        return [error(f"{wanted} isn't loaded; controllers: {listed}", remedy)]
    interfaces = {f"{joint}/{kind.value}" for joint in robot.joints for kind in CommandMode}
    rivals = [
        controller.name
        for controller in controllers
        if controller.name != wanted and controller.state == "active" and interfaces & set(controller.claimed)
    ]
    switch = "ros2 control switch_controllers --strict"
    if rivals:
        remedy = f"{switch} --deactivate {' '.join(rivals)} --activate {wanted}"
        return [warning(f"{', '.join(rivals)} drives the joints, not {wanted}", remedy)]
    if found[wanted].state != "active":
        return [warning(f"{wanted} is {found[wanted].state}", f"{switch} --activate {wanted}")]
    return [ok(f"{wanted} is active")]


def _joint_states(node: Node, robot: RobotConfig, topic: str) -> Iterator[Finding]:
    topic = node.resolve_topic_name(topic)
    senders = _others(node, node.get_publishers_info_by_topic(topic))
    if senders:
        yield ok(f"joint states on {topic}, from {_names(senders)}")
    else:
        yield error(f"nobody publishes joint states on {topic}", _start(robot))


def _commands(node: Node, robot: RobotConfig, mode: CommandMode, commanding: Set[str]) -> Iterator[Finding]:
    topic = robot.profile.command_topic(mode)
    takers = [end for end in _others(node, node.get_subscriptions_info_by_topic(topic)) if end.node_name != WATCHDOG]
    fitting = [end for end in takers if end.topic_type == COMMAND_TYPE]
    if fitting:
        yield ok(f"{mode.value} commands on {topic} are taken by {_names(fitting)}")
    elif takers:
        types = ", ".join(sorted({end.topic_type for end in takers}))
        yield error(f"{topic} takes {types}: must be {COMMAND_TYPE}", _load(robot, mode))
    else:
        yield error(f"nobody takes {mode.value} commands on {topic}", _load(robot, mode))
    rivals = [end for end in _others(node, node.get_publishers_info_by_topic(topic)) if end.node_name not in commanding]
    if rivals:
        yield error(f"{_names(rivals)} publishes commands on {topic}, too", "Stop it: one at a time.")


def _wrench(node: Node, robot: RobotConfig, law: RunningLaw, topic: str) -> Iterator[Finding]:
    topic = node.resolve_topic_name(topic)
    senders = _others(node, node.get_publishers_info_by_topic(topic))
    if senders:
        yield ok(f"wrench on {topic}, from {_names(senders)}")
    elif law.needs_wrench:
        text = f"law {law.name} needs a wrench, and nobody publishes one on {topic}"
        yield error(text, "Start the sensor's broadcaster, or set wrench.source to joint_effort.")


def _others(node: Node, ends: Sequence[Any]) -> list[Any]:
    """Publishers or subscriptions of other nodes; those whose name begins with an underscore are hidden tools."""
    own = node.get_name(), node.get_namespace()
    return [end for end in ends if (end.node_name, end.node_namespace) != own and not end.node_name.startswith("_")]


def _names(ends: Sequence[Any]) -> str:
    return ", ".join(sorted({end.node_name for end in ends}))


def _start(robot: RobotConfig) -> str:
    start, system = robot.profile.start, robot.profile.description or f"the system of profile {robot.profile_name}"
    return f"Start {system}: {start}" if start else f"Start {system}."


def _load(robot: RobotConfig, mode: CommandMode) -> str:
    if not robot.profile.controller_manager:
        return _start(robot)
    return f"Load it: ros2 run controller_manager spawner {robot.profile.controllers[mode]} --inactive"
