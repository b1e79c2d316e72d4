"""Joint states read in place and commands written in place say what the ordinary serialisation says."""

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="ROS 2 is not installed")

from rclpy.serialization import deserialize_message, serialize_message
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

from robot_control_ros.core.errors import ConfigError
from robot_control_ros.core.types import Command, CommandMode
from robot_control_ros.nodes.common import wire
from robot_control_ros.nodes.common.messages import JointStateReader, joint_command_parts, read_joint_command
from robot_control_ros.nodes.common.wire import CommandReader, JointStateWriter, WireReader, WireWriter

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
    monkeypatch.setattr(reader, "_learn", lambda data: pytest.fail("was deserialised"))
    for seed in range(1, 4):
        message = joint_state(names, seed, frame, effort)
        same(reader.read(serialize_message(message)), message, joints)


def test_bytes_between_may_be_anything(monkeypatch):
    """Serialisers leave there what their memory held."""
    reader, message = WireReader(JointStateReader("a")), joint_state("a", 1, "b")
    data = bytearray(serialize_message(message))
    reader.read(bytes(data))
    monkeypatch.setattr(reader, "_learn", lambda data: pytest.fail("was deserialised"))
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
    with pytest.raises(ConfigError, match="0 velocities for 2 names"):
        reader.read(serialize_message(message))


def test_a_message_of_others_is_passed_over_and_a_missing_joint_refused():
    reader = WireReader(JointStateReader("ab"))
    assert reader.read(serialize_message(joint_state("xy", 0))) is None
    with pytest.raises(ConfigError, match=r"\['b'\] are missing"):
        reader.read(serialize_message(joint_state("ax", 0)))
    message = joint_state("ab", 3)
    same(reader.read(serialize_message(message)), message, ["a", "b"])


@pytest.mark.parametrize("n", [1, 2, 6, 7])
def test_commands_are_what_the_ordinary_serialisation_makes(n):
    writer = WireWriter(n)
    for seed in range(3):
        values = np.random.default_rng(seed).normal(size=n)
        written = writer.write(values)
        assert isinstance(written, bytes)
        assert list(deserialize_message(written, Float64MultiArray).data) == values.tolist()


@pytest.mark.parametrize("n", [1, 2, 6, 7])
def test_commands_are_read_in_place(n, monkeypatch):
    values = np.random.default_rng(n).normal(size=n)
    message = serialize_message(Float64MultiArray(data=values.tolist()))
    reader, writer = CommandReader(CommandMode.VELOCITY, n, "mine"), WireWriter(n)
    monkeypatch.setattr(wire, "deserialize_message", lambda *arguments: pytest.fail("was deserialised"))
    for data in (message, writer.write(values)):
        command = reader.read(data)
        assert command.mode is CommandMode.VELOCITY
        assert np.array_equal(command.values, values)


def test_the_padding_of_a_command_which_the_serialisation_leaves_to_chance_does_not_count(monkeypatch):
    data = bytearray(serialize_message(Float64MultiArray(data=[1.0, 2.0])))
    reader = CommandReader(CommandMode.EFFORT, 2, "mine")
    monkeypatch.setattr(wire, "deserialize_message", lambda *arguments: pytest.fail("was deserialised"))
    for chance in (b"\0\0\0\0", b"\x17\x2a\xff\x01"):
        data[16:20] = chance
        assert reader.read(bytes(data)).values.tolist() == [1.0, 2.0]


@pytest.mark.parametrize("label", ["mine", "a", "abcd", "another_one"])
def test_labelled_commands_are_written_as_such_and_read_or_passed_over(label):
    values = np.array([1.0, -2.0, 3.0])
    data = WireWriter(3, label).write(values)
    message = deserialize_message(data, Float64MultiArray)
    assert [(part.label, part.size) for part in message.layout.dim] == [(label, 3)]
    assert list(message.data) == values.tolist()
    command = CommandReader(CommandMode.EFFORT, 3, "mine").read(data)
    assert (command is None) is (label == "mine")
    assert command is None or np.array_equal(command.values, values)


@pytest.mark.parametrize("size", [0, 1, 4])
def test_commands_of_another_size_are_read_as_what_they_are(size):
    data = serialize_message(Float64MultiArray(data=[0.5] * size))
    assert CommandReader(CommandMode.EFFORT, 3, "mine").read(data).values.tolist() == [0.5] * size


COMBINATIONS = [
    (True, True, True),
    (True, False, True),
    (True, False, False),
    (False, True, False),
    (False, False, True),
]


@pytest.mark.parametrize("parts", COMBINATIONS)
@pytest.mark.parametrize("joints", ["a", "abc", ["shoulder_pan_joint", "j2", "elbow", "é_joint"]])
def test_joint_states_written_in_place_are_what_was_given(joints, parts, rng, monkeypatch):
    writer, n = JointStateWriter(joints), len(joints)
    for time in (0.0, 12.345678901, 1.8e9 + 0.999999999):
        given = [rng.normal(size=n) if part else None for part in parts]
        message = deserialize_message(writer.write(time, *given), JointState)
        assert list(message.name) == list(joints)
        stamp = message.header.stamp
        assert stamp.sec + stamp.nanosec * 1e-9 == pytest.approx(time, abs=1e-6)
        for values, found in zip(given, (message.position, message.velocity, message.effort), strict=True):
            assert list(found) == ([] if values is None else values.tolist())
        monkeypatch.setattr(wire, "_layout", lambda *given: pytest.fail("was learnt once more"))


def test_where_the_layout_isnt_known_the_message_itself_is_written(rng, monkeypatch):
    monkeypatch.setattr(wire, "_layout", lambda *given: None)
    message = JointStateWriter("ab").write(1.5, np.array([1.0, 2.0]), None, np.array([3.0, 4.0]))
    assert (list(message.position), list(message.velocity), list(message.effort)) == ([1.0, 2.0], [], [3.0, 4.0])
    assert (message.header.stamp.sec, message.header.stamp.nanosec) == (1, 500_000_000)


@pytest.mark.parametrize("mode", CommandMode)
@pytest.mark.parametrize("feedforward", [True, False])
@pytest.mark.parametrize("velocity", [True, False])
def test_a_command_comes_back_from_its_joint_command(mode, feedforward, velocity, rng):
    joints = ["a", "b", "c"]
    command = Command(
        mode,
        rng.normal(size=3),
        rng.normal(size=3) if feedforward and mode is not CommandMode.EFFORT else None,
        rng.normal(size=3) if velocity and mode is CommandMode.POSITION else None,
    )
    message = deserialize_message(JointStateWriter(joints).write(1.0, *joint_command_parts(command)), JointState)
    found = read_joint_command(message, joints)
    assert found.mode is command.mode
    for sent, back in ((command.values, found.values), (command.feedforward, found.feedforward)):
        assert (sent is None) == (back is None)
        assert sent is None or np.array_equal(sent, back)
    assert (command.velocity is None) == (found.velocity is None)
    assert command.velocity is None or np.array_equal(command.velocity, found.velocity)
