"""Joint states read in place say what the ordinary serialisation says."""

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="ROS 2 is not installed")

from rclpy.serialization import serialize_message
from sensor_msgs.msg import JointState

from robot_control_ros.core.errors import ConfigError
from robot_control_ros.nodes.common import wire
from robot_control_ros.nodes.common.messages import JointStateReader
from robot_control_ros.nodes.common.wire import WireReader

pytestmark = pytest.mark.ros


def joint_state(names, seed, frame="", effort=True):
    rng = np.random.default_rng(seed)
    message = JointState(name=list(names))
    message.header.frame_id = frame
    message.header.stamp.sec, message.header.stamp.nanosec = 12 + seed, 345_000_000 + seed
    message.position = rng.normal(size=len(names)).tolist()
    message.velocity = rng.normal(size=len(names)).tolist()
    message.effort = rng.normal(size=len(names)).tolist() if effort else []
    return message


def same(state, message, joints):
    index = [list(message.name).index(name) for name in joints]
    assert state.time == message.header.stamp.sec + message.header.stamp.nanosec * 1e-9
    assert np.array_equal(state.q, np.array(message.position)[index])
    assert np.array_equal(state.v, np.array(message.velocity)[index])
    expected = np.array(message.effort)[index] if message.effort else np.full(len(joints), np.nan)
    assert np.array_equal(state.effort, expected, equal_nan=True)


@pytest.mark.parametrize("joints", ["a", "abc", "abcdefg", ["shoulder_pan_joint", "j2", "elbow", "é_joint"]])
@pytest.mark.parametrize("frame", ["", "b", "base", "base_link"])
@pytest.mark.parametrize("effort", [True, False])
def test_states_read_in_place_are_those_of_the_message(joints, frame, effort, monkeypatch):
    joints = list(joints)
    names = [*joints[::-1], "gripper"]
    reader = WireReader(JointStateReader(joints))
    first = joint_state(names, 0, frame, effort)
    same(reader.read(serialize_message(first)), first, joints)
    monkeypatch.setattr(wire, "deserialize_message", lambda *given: pytest.fail("was deserialised"))
    for seed in range(1, 4):
        message = joint_state(names, seed, frame, effort)
        same(reader.read(serialize_message(message)), message, joints)


def test_bytes_between_may_be_anything(monkeypatch):
    """Serialisers leave there what their memory held."""
    reader, message = WireReader(JointStateReader("a")), joint_state("a", 1, "b")
    data = bytearray(serialize_message(message))
    reader.read(bytes(data))
    monkeypatch.setattr(wire, "deserialize_message", lambda *given: pytest.fail("was deserialised"))
    frame, name = data.index(b"b\0"), data.index(b"a\0")
    for at in (frame, name):
        for content in (b"\x00\x00", b"\xff\x5a"):
            data[at + 2 : at + 4] = content
            same(reader.read(bytes(data)), message, ["a"])


def test_a_change_of_layout_is_noticed():
    reader = WireReader(JointStateReader("ab"))
    layouts = (("ab", "", True), ("ba", "", True), ("ba", "x", True), ("xba", "", False), ("ab", "", True))
    for names, frame, effort in layouts:
        for seed in (1, 2):
            message = joint_state(names, seed, frame, effort)
            same(reader.read(serialize_message(message)), message, ["a", "b"])


def test_numbers_that_are_missing_are_refused_after_good_ones_of_the_same_length():
    reader = WireReader(JointStateReader("ab"))
    for _ in range(2):
        reader.read(serialize_message(joint_state("ab", 1)))
    message = joint_state("ab", 1)
    message.velocity, message.effort = [], [1.0, 2.0, 3.0, 4.0]
    with pytest.raises(ConfigError) as refused:
        reader.read(serialize_message(message))
    assert (refused.value.name, refused.value.value, refused.value.bound) == ("velocities", 0, 2)


def test_a_message_of_others_is_passed_over_and_a_missing_joint_refused():
    reader = WireReader(JointStateReader("ab"))
    assert reader.read(serialize_message(joint_state("xy", 0))) is None
    with pytest.raises(ConfigError) as refused:
        reader.read(serialize_message(joint_state("ax", 0)))
    assert refused.value.name == "b"
    message = joint_state("ab", 3)
    same(reader.read(serialize_message(message)), message, ["a", "b"])
