"""The tables of topics: the pages of docs and the running nodes have the same."""

import pytest

pytest.importorskip("rclpy", reason="needs ROS 2 (rclpy)")

from documented_topics import PAGES, differences, documented_topics


@pytest.mark.parametrize("node", PAGES)
def test_a_topic_stands_once_in_the_table_of_its_node(node):
    names = [topic.name for topic in documented_topics(node)]
    assert "/diagnostics" in names or "joint_states" in names
    assert len(names) == len(set(names))


@pytest.mark.ros
@pytest.mark.sim
def test_running_nodes_have_the_topics_of_their_pages_and_no_others(ros):
    pytest.importorskip("mujoco")
    nodes = {"simulator": {"scene": "ball"}, "controller": {"autostart": True}, "watchdog": {}}
    for node, parameters in nodes.items():
        ros.start(node, parameters)
    try:
        ros.until(lambda: not differences(ros, nodes), "the topics of the nodes")
    finally:
        assert differences(ros, nodes) == []  # shows them where the wait was in vain
