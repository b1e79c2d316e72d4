"""The topics of the nodes, as the tables of the pages declare them: there is no
other list of them.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

DOCS = Path(__file__).parents[2] / "docs"
PAGES = {
    "controller": "controller.md",
    "simulator": "simulator.md",
    "watchdog": "watchdog.md",
    "ethercat": "ethercat.md",
    "can": "can.md",
}
HEAD = "| topic | type | |\n|---|---|---|\n"
OF_ROS = ("/controller/transition_event", "/rosout", "/parameter_events", "/tf", "/tf_static")
SOMETIMES = {  # by parameter or profile
    "robot_description",
    "<joint_commands>",
    "<running_topic>",
    "~/<object>/target",
    "<gripper_controller>/commands",
}


class Topic(NamedTuple):
    """One topic of one node.

    Attributes:
        node: Default name of the node.
        name: Name as ROS resolves it; `<…>` depends on robot, profile or scene.
        directions: "in" where the node subscribes to it, "out" where it publishes it.
        type: Type of its messages, such as ``sensor_msgs/JointState``.
    """

    node: str
    name: str
    directions: tuple[str, ...]
    type: str

    def pattern(self) -> str:
        """A pattern of the full names that the topic may have."""
        name = self.name.replace("~", f"/{self.node}")
        name = re.escape(name if name.startswith("/") else f"/{name}")
        name = name.replace(
            "forward_effort_controller", "forward_(effort|position|velocity)_controller"
        )
        return re.sub(r"<\w+>", r"[^/]+", name)


@cache
def documented_topics(node: str) -> list[Topic]:
    """The topics of a node, in the order of the table on its page."""
    table = (DOCS / PAGES[node]).read_text(encoding="utf-8").split(HEAD)[1]
    return [
        topic
        for line in table.split("\n\n")[0].splitlines()
        for topic in _topics_of_row(node, line)
    ]


def _topics_of_row(node: str, line: str) -> list[Topic]:
    """The topics of a row: its first cell has names and directions, its second one their types."""
    _, first, second, *_ = line.split("|")
    by_profile = re.search(r"the profile's `(\w+)`", first)
    names = [f"<{by_profile[1]}>"] if by_profile else re.findall(r"`([^`]+)`", first)
    *_, said = re.findall(r"` (in and out|in|out)\b", first)
    directions = tuple(said.split(" and "))
    types = _types(second)
    if len(types) == 1:
        types = types * len(names)
    return [Topic(node, name, directions, kind) for name, kind in zip(names, types, strict=True)]


def _types(cell: str) -> list[str]:
    """The types in a cell; in ``geometry_msgs/TwistStamped, WrenchStamped`` the
    package holds for both.
    """
    package, found = "", []
    for prefix, name in re.findall(r"(?:(\w+)/)?\b([A-Z]\w+)", cell):
        package = prefix or package
        found.append(f"{package}/{name}")
    return found


def differences(ros: Any, nodes: Sequence[str]) -> list[str]:
    """What the pages declare and running nodes lack, and what these have and no page declares."""
    return [difference for node in nodes for difference in _differences_of(ros, node)]


def _differences_of(ros: Any, node: str) -> list[str]:
    offered: dict[str, dict[str, list[str]]] = {"in": {}, "out": {}}
    for name in ros.node.get_node_names():  # a node may read states by a node of its own
        if name.lstrip("_").startswith(node):
            offered["in"] |= dict(ros.node.get_subscriber_names_and_types_by_node(name, "/"))
            offered["out"] |= dict(ros.node.get_publisher_names_and_types_by_node(name, "/"))
    declared = [topic for topic in documented_topics(node) if not topic.name.endswith(">")]
    lacking = [
        f"{node} lacks {topic.name} {direction}"
        for topic in declared
        for direction in topic.directions
        if not _is_offered(topic, offered[direction])
    ]
    undeclared = [
        f"{node} has {name} {direction}"
        for direction, names in offered.items()
        for name in names
        if not _is_declared(name, direction, declared)
    ]
    return lacking + undeclared


def _is_offered(topic: Topic, offered: dict[str, list[str]]) -> bool:
    fitting = [name for name in offered if re.fullmatch(topic.pattern(), name)]
    kind = topic.type.replace("/", "/msg/")
    return all(kind in offered[name] for name in fitting) and bool(
        fitting or topic.name in SOMETIMES
    )


def _is_declared(name: str, direction: str, declared: Sequence[Topic]) -> bool:
    if name in OF_ROS or name.rpartition("/")[2].startswith("_"):  # a node's message to itself
        return True
    known = [
        topic for topic in declared if direction in topic.directions or "commands" in topic.name
    ]
    return any(re.fullmatch(topic.pattern(), name) for topic in known)
