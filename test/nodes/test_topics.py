"""The table of topics: the pages of docs and the running nodes have the same."""

import re
from pathlib import Path

import pytest

from robot_control_ros.nodes.topics import TOPICS

DOCS = Path(__file__).parents[2] / "docs"
PAGES = {
    "controller": "controller.md",
    "simulator": "simulator.md",
    "watchdog": "watchdog.md",
    "ethercat": "ethercat.md",
}
OF_ROS = ("/controller/transition_event", "/rosout", "/parameter_events", "/tf", "/tf_static")
SOMETIMES = {
    "robot_description",
    "<joint_commands>",
    "<running_topic>",
    "~/<object>/target",
    "<gripper_controller>/commands",
}  # by parameter or profile


def rows_of(page: str) -> list[str]:
    """The first cells of the page's table of topics."""
    table = (DOCS / page).read_text(encoding="utf-8").split("| topic | type | |\n|---|---|---|\n")[1]
    return [line.split("|")[1] for line in table.split("\n\n")[0].splitlines()]


@pytest.mark.parametrize("node", PAGES)
def test_the_page_of_a_node_has_its_topics_in_the_same_order_and_direction(node):
    shown = []
    for cell in rows_of(PAGES[node]):
        name = re.search(r"the profile's `(\w+)`", cell)
        names = [f"<{name[1]}>"] if name else re.findall(r"`([^`]+)`", cell)
        shown += [(each, re.search(r" (in|out)\b", cell)[1]) for each in names]
    assert shown == [(topic.name, topic.direction) for topic in TOPICS if topic.node == node]


def pattern(topic) -> str:
    """Of the full names that a topic may have."""
    name = topic.name.replace("~", f"/{topic.node}")
    name = re.escape(name if name.startswith("/") else f"/{name}")
    name = name.replace("forward_effort_controller", "forward_(effort|position|velocity)_controller")
    return re.sub(r"<\w+>", r"[^/]+", name)


@pytest.mark.sim
def test_running_nodes_have_these_topics_and_no_others(tmp_path):
    pytest.importorskip("rclpy")
    pytest.importorskip("mujoco")
    from lockstep import LockstepRos

    with LockstepRos(tmp_path) as ros:
        nodes = {"simulator": {"scene": "ball"}, "controller": {"autostart": True}, "watchdog": {}}
        for node, parameters in nodes.items():
            ros.start(node, parameters)

        def differences() -> list[str]:
            """What is declared and not there, or there and not declared."""
            found = []
            for node in nodes:
                offered = {"in": {}, "out": {}}
                for name in ros.node.get_node_names():  # a node may read states by a node of its own
                    if name.lstrip("_").startswith(node):
                        offered["in"] |= dict(ros.node.get_subscriber_names_and_types_by_node(name, "/"))
                        offered["out"] |= dict(ros.node.get_publisher_names_and_types_by_node(name, "/"))
                declared = [topic for topic in TOPICS if topic.node == node and not topic.name.endswith(">")]
                for topic in declared:
                    kind = topic.type.replace("/", "/msg/")
                    fits = [n for n, kinds in offered[topic.direction].items() if re.fullmatch(pattern(topic), n)]
                    right = all(kind in offered[topic.direction][name] for name in fits)
                    if not (right and (fits or topic.name in SOMETIMES)):
                        found.append(f"{node} lacks {topic.name}")
                for direction, names in offered.items():
                    known = [
                        pattern(topic) for topic in declared if topic.direction == direction or "commands" in topic.name
                    ]
                    for name in names:
                        hidden = name.rpartition("/")[2].startswith("_")  # a node's message to itself
                        if name not in OF_ROS and not hidden and not any(re.fullmatch(each, name) for each in known):
                            found.append(f"{node} has {name} {direction}")
            return found

        try:
            ros.until(lambda: not differences(), "the topics of the nodes")
        finally:
            assert differences() == []  # shows them where the wait was in vain
