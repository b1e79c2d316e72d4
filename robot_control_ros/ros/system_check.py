"""Checks that a running ROS system offers what a robot's profile says and a law needs.

They are used by the activation of a controller and by the doctor.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from rclpy.node import Node

from ..control.wrench_supply import estimate, ways_out
from ..core.types import CommandMode
from ..laws.running_law import RunningLaw
from ..robot.configuration import RobotConfig
from ..robot.files import read_config
from ..robot.workcell import MARK, workcell_names
from .controller_manager import list_controllers, manager_services
from .entities import in_namespace
from .findings import Finding, error, ok, warning

COMMAND_TYPE = "std_msgs/msg/Float64MultiArray"
JOINT_COMMAND_TYPE = "sensor_msgs/msg/JointState"
WATCHDOG_ALIVE = "watchdog_alive"  # topic of its signs of life
WATCHDOG = "watchdog"  # name of the node that also listens to commands, and may publish them

SIMULATED = "sim"  # profile of the package's simulator

UNKNOWN = "_NODE_NAME_UNKNOWN_"  # rmw_dds_common: an end whose node isn't known yet


def check_system(
    node: Node,
    robot: RobotConfig,
    law: RunningLaw,
    wrench: str | None,
    joint_states: str = "joint_states",
    commanding: Sequence[str] = (),
) -> list[Finding]:
    """Findings on the graph of nodes and topics, at once, without a request.

    Args:
        node: Node that checks; its own publishers and subscriptions don't count.
        robot: Configuration under the profile that is checked.
        law: Law that is to run.
        wrench: Topic of the wrench; None where the law's wrench doesn't come from a topic.
        joint_states: Topic of the joint states.
        commanding: Names of nodes in the namespace of this node. One node of each name may publish
            commands, as this node and its watchdog may.
    """
    return [
        *_joint_states(node, robot, joint_states),
        *_commands(node, robot, law.mode),
        *check_conflicting_publishers(node, robot, law.mode, commanding),
        *(_wrench(node, robot, law, wrench) if wrench is not None else ()),
    ]


def check_controllers(
    node: Node, robot: RobotConfig, mode: CommandMode, follows: bool = False
) -> list[Finding]:
    """Findings on the forward controller that takes the commands, and on others with its joints.

    The controller manager is asked, and its answer waited for, up to some seconds. There are no
    findings where the profile has no controller manager.

    Args:
        node: Node that checks.
        robot: Configuration under the profile that is checked.
        mode: Mode of the law's commands.
        follows: True where the forward controller is activated next.
    """
    name = robot.profile.controller_manager
    wanted = robot.profile.controllers[mode]
    if not name:
        return []
    if manager_services() is None:
        return [
            ok(
                f"{in_namespace(node, name)} can't be asked: controller_manager_msgs isn't installed here"
            )
        ]
    controllers = list_controllers(node, name)
    if controllers is None:
        return [error(f"{in_namespace(node, name)} doesn't answer", *how_to_start(robot))]
    found = {each.name: each for each in controllers}
    if wanted not in found:
        listed = ", ".join(sorted(found)) or "none"
        return [
            error(f"{wanted} isn't loaded; controllers: {listed}", *_how_to_load(node, robot, mode))
        ]
    interfaces = {f"{joint}/{kind.value}" for joint in robot.joints for kind in CommandMode}
    others = [each for each in controllers if each.name != wanted and each.state == "active"]
    conflicting = [each.name for each in others if interfaces & set(each.claimed_interfaces)]
    switch = f"ros2 control switch_controllers --strict{_of_manager(node, robot)}"
    if conflicting:
        command = f"{switch} --deactivate {' '.join(conflicting)} --activate {wanted}"
        return [
            warning(
                f"{', '.join(conflicting)} has the joints, not {wanted}", "Deactivate it", command
            )
        ]
    state = found[wanted].state
    if state == "inactive" and follows:
        return [ok(f"{wanted} is inactive, and is activated next")]
    if state == "inactive":
        return [warning(f"{wanted} is inactive", "Activate it", f"{switch} --activate {wanted}")]
    if state != "active":
        return [warning(f"{wanted} is {state}", *_how_to_load(node, robot, mode))]
    return [ok(f"{wanted} is active")]


def check_conflicting_publishers(
    node: Node, robot: RobotConfig, mode: CommandMode, commanding: Sequence[str] = ()
) -> list[Finding]:
    """Errors on other nodes that publish commands; arguments are those of :func:`check_system`.

    A node whose name isn't known yet doesn't count.
    """
    topic, senders = _commanders(node, robot, mode)
    own_name = in_namespace(node, node.get_name())
    allowed = Counter(in_namespace(node, name) for name in (WATCHDOG, *commanding))
    # this node may have as many as it made itself
    allowed[own_name] = sum(publisher.topic_name == topic for publisher in node.publishers)
    found = []
    others = []
    for name, count in sorted(senders.items()):
        if count <= allowed[name] or name == UNKNOWN:
            continue
        if count > 1:  # nodes that share a name
            remedy = "Stop one of them; one that was killed is forgotten after some 20 s"
            found.append(error(f"{count} nodes called {name} publish commands on {topic}", remedy))
        else:
            others.append(f"another {name}" if name == own_name else name)
    if others:
        remedy = "Stop it: only one node may command"
        found.append(error(f"{', '.join(others)} publishes commands on {topic}, too", remedy))
    return found


def check_wrench_publishers(node: Node, law: RunningLaw, topic: str) -> list[Finding]:
    """Finding on several publishers of the wrench; an empty list where there are fewer than two.

    It is an error where the law needs the wrench, as the law would feel all of them in turns.

    Args:
        node: Node that checks.
        law: Law that runs, or is to run.
        topic: Topic of the wrench.
    """
    topic = node.resolve_topic_name(topic)
    senders = [
        end
        for end in _others(node, node.get_publishers_info_by_topic(topic))
        if end.node_name != UNKNOWN
    ]
    if len(senders) < 2:
        return []
    text = f"{len(senders)} publish a wrench on {topic}: {_names(senders)}"
    remedy = "Stop all but one; one that was killed is forgotten after some 20 s"
    command = f"ros2 topic info -v {topic}"
    return [(error if law.needs_wrench else warning)(text, remedy, command)]


def check_claim(node: Node, robot: RobotConfig, mode: CommandMode) -> list[Finding]:
    """Errors on other nodes that publish commands, including nodes whose name isn't known yet.

    See :func:`check_conflicting_publishers`.
    """
    topic, senders = _commanders(node, robot, mode)
    unnamed = [
        error(f"a node without a name publishes commands on {topic}, too", "Try again in a second")
    ]
    return check_conflicting_publishers(node, robot, mode) or (unnamed if senders[UNKNOWN] else [])


class Commander(NamedTuple):
    """A publisher of commands.

    Attributes:
        name: Full name of its node; UNKNOWN where that isn't known yet.
        gid: Identifier of the publisher, the same for all nodes that ask.
    """

    name: str
    gid: bytes


def commanders(node: Node, robot: RobotConfig, mode: CommandMode) -> list[Commander]:
    """Publishers of commands, this node's included, without the watchdog in its namespace."""
    topic = node.resolve_topic_name(robot.profile.command_topic(mode))
    ends = node.get_publishers_info_by_topic(topic)
    found = (Commander(_full_name(end), bytes(end.endpoint_gid)) for end in ends)
    return [each for each in found if each.name != in_namespace(node, WATCHDOG)]


def joint_state_publishers(node: Node, topic: str = "joint_states") -> list[str]:
    """Full names of the nodes that publish joint states, once for each publisher."""
    topic = node.resolve_topic_name(topic)
    return sorted(map(_full_name, _others(node, node.get_publishers_info_by_topic(topic))))


def how_to_start(robot: RobotConfig) -> tuple[str, str]:
    """Advice on how to start the robot's system: a sentence, and a command line.

    An arm of a work cell is simulated with the whole cell.
    """
    cell, mark, _ = robot.file.partition(MARK)
    if mark and robot.profile_name == SIMULATED:
        path = Path(cell)
        known = path.stem in workcell_names() and path == read_config("workcell", path.stem)[0]
        command = "ros2 launch robot_control_ros two_arms.launch.py workcell:="
        return "Start the work cell", f"{command}{path.stem if known else cell}"
    return f"Start {_system(robot)}", robot.profile.start


def how_to_resume(robot: RobotConfig) -> str:
    """Advice for a robot whose joint states have ended."""
    profile = robot.profile
    advice = f"Does {_system(robot)} still run?"
    if profile.simulated_time and profile.controller_manager:
        advice += " A reset of its world ends its controllers: end it and start it again"
    return advice + (f": {profile.start}" if profile.start else "")


def _commanders(node: Node, robot: RobotConfig, mode: CommandMode) -> tuple[str, Counter[str]]:
    """Topic of commands, and the number of its publishers by the full name of their node."""
    topic = node.resolve_topic_name(robot.profile.command_topic(mode))
    return topic, Counter(_full_name(end) for end in node.get_publishers_info_by_topic(topic))


def _full_name(end: Any) -> str:
    """Full name of the node of a publisher or subscription; UNKNOWN where it isn't known yet."""
    if end.node_name == UNKNOWN:
        return UNKNOWN
    return f"{end.node_namespace.rstrip('/')}/{end.node_name}"


def _system(robot: RobotConfig) -> str:
    return robot.profile.description or f"the system of profile {robot.profile_name}"


def _joint_states(node: Node, robot: RobotConfig, topic: str) -> Iterator[Finding]:
    topic = node.resolve_topic_name(topic)
    if senders := _others(node, node.get_publishers_info_by_topic(topic)):
        yield ok(f"joint states on {topic}, from {_names(senders)}")
    else:
        yield error(f"nobody publishes joint states on {topic}", *how_to_start(robot))


def _commands(node: Node, robot: RobotConfig, mode: CommandMode) -> Iterator[Finding]:
    topic = node.resolve_topic_name(robot.profile.command_topic(mode))
    takers = [
        end
        for end in _others(node, node.get_subscriptions_info_by_topic(topic))
        if end.node_name != WATCHDOG
    ]
    kind = JOINT_COMMAND_TYPE if robot.profile.joint_commands else COMMAND_TYPE
    fitting = [end for end in takers if end.topic_type == kind]
    if fitting:
        yield ok(f"{mode.value} commands on {topic} are taken by {_names(fitting)}")
    elif takers:
        types = ", ".join(sorted({end.topic_type for end in takers}))
        yield error(f"{topic} takes {types}: must be {kind}", *_how_to_load(node, robot, mode))
    else:
        yield error(
            f"nobody takes {mode.value} commands on {topic}", *_how_to_load(node, robot, mode)
        )


def _wrench(node: Node, robot: RobotConfig, law: RunningLaw, topic: str) -> Iterator[Finding]:
    topic = node.resolve_topic_name(topic)
    senders = _others(node, node.get_publishers_info_by_topic(topic))
    if conflicting := check_wrench_publishers(node, law, topic):
        yield from conflicting
    elif senders:
        yield ok(f"wrench on {topic}, from {_names(senders)}")
    elif law.needs_wrench:
        text = f"law {law.name} needs a wrench, and nobody publishes one on {topic}"
        if robot.profile.wrench_topic:
            remedy = f"Start the sensor's broadcaster{estimate(robot)}"
        else:
            remedy = f"profiles.{robot.profile_name}.wrench_topic is empty in {robot.file}. {ways_out(robot)}"
        yield error(text, remedy)


def _others(node: Node, ends: Sequence[Any]) -> list[Any]:
    """Publishers or subscriptions of other nodes, without hidden ones.

    The name of a hidden node, as of a tool, begins with an underscore.
    """
    own = node.get_name(), node.get_namespace()
    return [
        end
        for end in ends
        if (end.node_name, end.node_namespace) != own and not end.node_name.startswith("_")
    ]


def _names(ends: Sequence[Any]) -> str:
    """Names of the nodes of publishers or subscriptions, sorted; one name for each of these."""
    return ", ".join(sorted(end.node_name for end in ends))


def _how_to_load(node: Node, robot: RobotConfig, mode: CommandMode) -> tuple[str, str]:
    if not robot.profile.controller_manager:
        return how_to_start(robot)
    command = f"ros2 run controller_manager spawner {robot.profile.controllers[mode]} --inactive"
    return "Load it", command + _of_manager(node, robot)


def _of_manager(node: Node, robot: RobotConfig) -> str:
    """Option of ros2_control's commands that names the manager; empty for its default name."""
    manager = in_namespace(node, robot.profile.controller_manager)
    return "" if manager == "/controller_manager" else f" -c {manager}"
