"""Nodes keep off Fast DDS's shared memory: whoever is killed in it holds up the others."""

from pathlib import Path

import pytest

pytest.importorskip("rclpy", reason="needs ROS 2 (rclpy)")

from robot_control_ros.ros import transport

RANGE, TRANSPORTS, PROFILES = (
    "ROS_AUTOMATIC_DISCOVERY_RANGE",
    "FASTDDS_BUILTIN_TRANSPORTS",
    "FASTDDS_DEFAULT_PROFILES_FILE",
)


@pytest.fixture
def _fast_dds(monkeypatch):
    monkeypatch.setattr(transport, "get_rmw_implementation_identifier", lambda: "rmw_fastrtps_cpp")


def chosen(**variables):
    transport.leave_shared_memory(variables)
    return variables


@pytest.mark.usefixtures("_fast_dds")
def test_nodes_choose_udp():
    found = chosen()
    assert found.pop(PROFILES).endswith("fastdds_network.xml")
    assert found == {TRANSPORTS: "UDPv4"}


@pytest.mark.usefixtures("_fast_dds")
@pytest.mark.parametrize(
    ("distribution", "name"),
    [("jazzy", "FASTRTPS_DEFAULT_PROFILES_FILE"), ("kilted", PROFILES)],
)
def test_on_this_machine_a_profile_does_so(distribution, name):
    found = chosen(ROS_AUTOMATIC_DISCOVERY_RANGE="LOCALHOST", ROS_DISTRO=distribution)
    assert found[RANGE] == "SYSTEM_DEFAULT"
    assert "<address>127.0.0.1</address>" in Path(found[name]).read_text()
    before = dict(found)
    assert chosen(**found) == before


@pytest.mark.usefixtures("_fast_dds")
@pytest.mark.parametrize("variables", [{TRANSPORTS: "SHM"}, {PROFILES: "mine.xml"}])
def test_what_the_user_has_chosen_stays(variables):
    found = chosen(**variables, ROS_AUTOMATIC_DISCOVERY_RANGE="LOCALHOST")
    assert found == {TRANSPORTS: "UDPv4", RANGE: "LOCALHOST", **variables}


def test_another_middleware_is_left_alone(monkeypatch):
    monkeypatch.setattr(
        transport, "get_rmw_implementation_identifier", lambda: "rmw_cyclonedds_cpp"
    )
    assert chosen(ROS_AUTOMATIC_DISCOVERY_RANGE="LOCALHOST") == {RANGE: "LOCALHOST"}
