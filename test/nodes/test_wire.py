"""Joint states read in place say what the ordinary serialisation says, whatever came before."""

from random import Random

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="ROS 2 is not installed")

from damage import damaged
from hypothesis import given, settings
from hypothesis import strategies as st
from rclpy.serialization import deserialize_message, serialize_message
from sensor_msgs.msg import JointState

from robot_control_ros.core.errors import ConfigError
from robot_control_ros.ros import wire
from robot_control_ros.ros.messages import JointStateReader
from robot_control_ros.ros.wire import WireReader

pytestmark = pytest.mark.ros

JOINTS = ("pan", "lift", "elbow")


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


@pytest.mark.parametrize(
    "joints", ["a", "abc", "abcdefg", ["shoulder_pan_joint", "j2", "elbow", "é_joint"]]
)
@pytest.mark.parametrize("frame", ["", "b", "base", "base_link"])
@pytest.mark.parametrize("effort", [True, False])
def test_states_read_in_place_are_those_of_the_message(joints, frame, effort, monkeypatch):
    joints = list(joints)
    names = [*joints[::-1], "gripper"]
    reader = WireReader(JointStateReader(joints))
    first = joint_state(names, 0, frame, effort)
    same(reader.read(serialize_message(first)), first, joints)
    monkeypatch.setattr(wire, "read_message", lambda *given: pytest.fail("was deserialised"))
    for seed in range(1, 4):
        message = joint_state(names, seed, frame, effort)
        same(reader.read(serialize_message(message)), message, joints)


def test_bytes_between_may_be_anything(monkeypatch):
    """Serialisers leave there what their memory held."""
    reader, message = WireReader(JointStateReader("a")), joint_state("a", 1, "b")
    data = bytearray(serialize_message(message))
    reader.read(bytes(data))
    monkeypatch.setattr(wire, "read_message", lambda *given: pytest.fail("was deserialised"))
    frame, name = data.index(b"b\0"), data.index(b"a\0")
    for at in (frame, name):
        for content in (b"\x00\x00", b"\xff\x5a"):
            data[at + 2 : at + 4] = content
            same(reader.read(bytes(data)), message, ["a"])


def test_a_change_of_layout_is_noticed():
    reader = WireReader(JointStateReader("ab"))
    layouts = (
        ("ab", "", True),
        ("ba", "", True),
        ("ba", "x", True),
        ("xba", "", False),
        ("ab", "", True),
    )
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


def outcome(read, message):
    """What reading a message gives: the state's bytes, None, or what the refusal names."""
    try:
        state = read(message)
    except ConfigError as error:
        return ("refused", error.name)
    if state is None:
        return None
    return state.time, state.q.tobytes(), state.v.tobytes(), state.effort.tobytes()


def deserialised(data):
    """What ROS's deserialiser and the ordinary reader make of a message."""
    try:
        message = deserialize_message(data, JointState)
    except Exception:
        return ("refused", "JointState")
    return outcome(JointStateReader(JOINTS).read, message)


def test_a_refused_joint_state_of_another_publisher_leaves_the_driver_s_order():
    reader = WireReader(JointStateReader(JOINTS))
    driver = joint_state(("elbow", "lift", "pan"), 1)
    other = joint_state(JOINTS, 2)
    other.velocity = []
    for _ in range(3):
        same(reader.read(serialize_message(driver)), driver, JOINTS)
        with pytest.raises(ConfigError):
            reader.read(serialize_message(other))


def test_a_joint_that_is_named_twice_is_refused():
    reader = WireReader(JointStateReader(JOINTS))
    reader.read(serialize_message(joint_state((*JOINTS, "gripper"), 1)))
    with pytest.raises(ConfigError) as refused:
        reader.read(serialize_message(joint_state((*JOINTS, "lift"), 2)))
    assert refused.value.name == "lift"
    with pytest.raises(ConfigError) as refused:
        JointStateReader(JOINTS).read(joint_state((*JOINTS, "lift"), 2))
    assert refused.value.name == "lift"


@pytest.mark.parametrize(
    "data", [b"", b"\0", b"\0\1\0\0", b"\xff" * 400, b"\0\1\0\0" + b"\xff" * 400]
)
def test_bytes_that_are_no_joint_state_are_refused(data):
    with pytest.raises(ConfigError) as refused:
        WireReader(JointStateReader(JOINTS)).read(data)
    assert refused.value.name in ("JointState", "positions")


def big_endian(data):
    """A joint state of (pan, lift, elbow) as a machine of the other byte order would send it."""
    return b"\0\0" + data[2:]


@st.composite
def joint_states(draw):
    """A serialised joint state: a good one, one to be refused, or another's."""
    names = draw(st.permutations(JOINTS))
    names += draw(st.sampled_from([[], [], ["gripper"], ["lift"], ["a", "b", "c"]]))
    names = names[draw(st.sampled_from([0, 0, 0, 1, 3])) :]
    message = joint_state(names, draw(st.integers(0, 5)), draw(st.sampled_from(["", "b", "base"])))
    without = draw(
        st.sampled_from([[], [], ["effort"], ["velocity"], ["velocity", "effort"], ["position"]])
    )
    for part in without:
        setattr(message, part, draw(st.sampled_from([[], [1.0]])))
    return bytes(serialize_message(message))


@st.composite
def sequences(draw):
    """Some of a few joint states, one after the other, as they are or damaged: so one that has the
    layout of an earlier one may be damaged.
    """
    few = draw(st.lists(joint_states(), min_size=1, max_size=3))
    sequence = []
    for _ in range(draw(st.integers(2, 12))):
        data = draw(st.sampled_from(few))
        damage = draw(st.sampled_from(["none", "none", "bytes", "order"]))
        if damage == "bytes":
            data = damaged(data, draw(st.randoms(use_true_random=False)))
        sequence.append(big_endian(data) if damage == "order" else data)
    return sequence


@settings(deadline=None, max_examples=100)
@given(sequences())
def test_in_any_sequence_each_message_gives_what_it_gives_alone(messages):
    reader = WireReader(JointStateReader(JOINTS))
    for data in messages + messages:
        alone = outcome(WireReader(JointStateReader(JOINTS)).read, data)
        assert outcome(reader.read, data) == alone
        assert alone == deserialised(data)


def mutate(count):
    """Read damaged messages between good ones; nothing but a ConfigError may come of them."""
    random, reader = Random(1), WireReader(JointStateReader(JOINTS))
    good = [
        bytes(serialize_message(joint_state(names, seed, frame, effort)))
        for seed, (names, frame, effort) in enumerate(
            [
                (JOINTS[::-1], "base", True),
                (JOINTS, "", False),
                ((*JOINTS, "gripper"), "b", True),
                ("xy", "", True),
            ]
        )
    ]
    expected = [deserialised(data) for data in good]
    for number in range(count):
        data = damaged(good[number % len(good)], random)
        assert outcome(reader.read, data) == deserialised(data)
        assert outcome(reader.read, good[number % 3]) == expected[number % 3]


def test_damaged_messages_are_refused_or_give_what_ros_reads():
    mutate(2000)


@pytest.mark.long
def test_a_hundred_thousand_damaged_messages_are_refused_or_give_what_ros_reads():
    mutate(100_000)
