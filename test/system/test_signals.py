"""Signals that come again while a node ends: a launcher sends a second one by itself."""

import pytest

pytest.importorskip("rclpy", reason="needs ROS 2 (rclpy)")

from ros_support import Ros, ended_cleanly, interrupt_until_it_ends
from served_pages import free_port

pytestmark = pytest.mark.ros


@pytest.mark.parametrize("executable", ["controller", "simulator", "watchdog", "dashboard"])
def test_every_node_ends_as_usual_however_often_it_is_interrupted(tmp_path, executable):
    if executable in ("simulator", "dashboard"):
        pytest.importorskip({"simulator": "mujoco", "dashboard": "viser"}[executable])
    with Ros(tmp_path) as ros:
        child = ros.start(executable, {"port": free_port()} if executable == "dashboard" else {})
        ros.until(lambda: executable in ros.node.get_node_names(), f"node {executable}")
        assert interrupt_until_it_ends(child) == 0
        assert ended_cleanly(child)
