"""MCAP records: what a bare reader finds in them, what is dropped, how they end; episodes of environments."""

import json
import threading

import numpy as np
import pytest

pytest.importorskip("mcap")

from mcap.reader import make_reader

from robot_control_ros import ConfigError, HardwareFault, Push, Robot
from robot_control_ros.bringup import environment
from robot_control_ros.client.recording.mcap_recording import McapRecording
from robot_control_ros.client.recording.message_schemas import message_schema

pytestmark = pytest.mark.starts("the thread that writes a record, whose end is waited for")
JOINT_STATE = "sensor_msgs/msg/JointState"


def read(path):
    """Messages by topic, each (log time [ns], data), and the metadata."""
    found = {}
    with path.open("rb") as file:
        reader = make_reader(file)
        for _, channel, message in reader.iter_messages():
            data = json.loads(message.data) if channel.message_encoding == "json" else message.data
            found.setdefault(channel.topic, []).append((message.log_time, data))
        (metadata,) = reader.iter_metadata()
        assert reader.get_summary().statistics.message_count == sum(map(len, found.values()))
    return found, metadata.metadata


@pytest.mark.sim
def test_a_simulated_robots_record_has_its_states_by_name(tmp_path):
    with Robot.simulated("ur5", push=Push((15.0, 0.0, 0.0))) as robot:
        robot.record()
        with robot.record(tmp_path / "run.mcap") as recording:
            robot.wait(0.2)
        assert (recording.messages, recording.dropped) == (10, 0)
        log, end = robot.log(), robot.state
        robot.wait(0.1)
        joints = robot.config.joints
    found, metadata = read(tmp_path / "run.mcap")
    assert metadata == {"robot": "ur5", "joints": json.dumps(joints), "dropped": "0"}
    states = found["/state"]
    assert len(states) == len(log) == 10
    stamp, last = states[-1]
    assert stamp == round(end.time * 1e9)
    assert last["position"] == dict(zip(joints, end.q.tolist(), strict=True))
    assert list(last["wrench"].values()) == end.wrench.tolist()
    assert list(last["wrench"]) == ["x", "y", "z", "rx", "ry", "rz"]
    assert last["time"] == end.time
    np.testing.assert_array_equal(np.reshape(last["pose"], (3, 4)), end.pose[:3])


@pytest.mark.sim
def test_closing_the_robot_ends_the_record_and_a_fault_is_in_it(tmp_path):
    push = Push((2000.0, 0.0, 0.0), start=0.1)
    with Robot.simulated("ur5e", imperfections="like_ur5e", push=push) as robot:
        robot.record(tmp_path / "run.mcap")
        with pytest.raises(HardwareFault, match="trip"):
            robot.wait(5.0)
        words = robot.fault
    found, _ = read(tmp_path / "run.mcap")
    assert {"fault": words} in [event for _, event in found["/event"]]


def test_what_the_disk_cannot_take_is_dropped_and_counted(tmp_path, monkeypatch):
    monkeypatch.setattr("robot_control_ros.client.recording.mcap_recording.MAX_WAITING", 3)
    gate = threading.Event()
    recording = McapRecording(tmp_path / "full.mcap")
    writer = recording.channel("/a", "a", "{}", schema_encoding="jsonschema", message_encoding="json")
    monkeypatch.setattr("mcap.writer.Writer.add_message", lambda *message: gate.wait())
    for k in range(10):
        recording.put(writer, b"{}", k)
    gate.set()
    recording.close(note="x")
    assert recording.messages + recording.dropped == 10
    assert recording.dropped >= 6
    _, metadata = read_metadata(tmp_path / "full.mcap")
    assert metadata == {"note": "x", "dropped": str(recording.dropped)}


def test_a_message_that_comes_after_the_end_is_not_counted(tmp_path):
    """As one that a thread of ROS was about to put while the file was closed."""
    recording = McapRecording(tmp_path / "late.mcap")
    channel = recording.json_channel("/a")
    recording.put_json(channel, {"a": 1.0}, 0.0)
    recording.close()
    recording.put_json(channel, {"a": 2.0}, 1.0)
    found, _ = read(tmp_path / "late.mcap")
    assert (len(found["/a"]), recording.messages, recording.dropped) == (1, 1, 0)


def read_metadata(path):
    with path.open("rb") as file:
        (metadata,) = make_reader(file).iter_metadata()
    return metadata.name, metadata.metadata


def test_a_full_disk_is_a_fault_at_the_end_and_nobody_waits(tmp_path, monkeypatch):
    def refuse(*message):
        raise OSError(28, "No space left on device")

    recording = McapRecording(tmp_path / "full.mcap", simulated=True)
    channel = recording.json_channel("/a")
    monkeypatch.setattr("mcap.writer.Writer.add_message", refuse)
    recording.put_json(channel, {"a": 1.0}, 0.0)
    with pytest.raises(HardwareFault, match="No space left"):
        recording.close()


def test_a_folder_that_is_not_there_is_refused(tmp_path):
    with pytest.raises(ConfigError, match="must exist"):
        McapRecording(tmp_path / "no" / "run.mcap")


@pytest.mark.ros
def test_the_schema_of_a_message_has_the_types_in_it(monkeypatch):
    pytest.importorskip("rclpy")
    monkeypatch.setenv("AMENT_PREFIX_PATH", environment().get("AMENT_PREFIX_PATH", ""))
    parts = message_schema(JOINT_STATE).split("\n" + 80 * "=" + "\n")
    assert [part.splitlines()[0] for part in parts[1:]] == ["MSG: std_msgs/Header", "MSG: builtin_interfaces/Time"]
    assert "float64[] velocity" in parts[0]
    assert "string frame_id" in parts[1]
    with pytest.raises(ConfigError, match="no definition of sensor_msgs/Nonsense"):
        message_schema("sensor_msgs/msg/Nonsense")


@pytest.mark.ros
def test_another_decoder_reads_messages_by_that_schema(tmp_path, monkeypatch):
    pytest.importorskip("rclpy")
    decoder = pytest.importorskip("mcap_ros2.reader")
    from rclpy.serialization import serialize_message
    from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

    monkeypatch.setenv("AMENT_PREFIX_PATH", environment().get("AMENT_PREFIX_PATH", ""))
    kind = "trajectory_msgs/msg/JointTrajectory"
    sent = JointTrajectory(joint_names=["a", "b"], points=[JointTrajectoryPoint(positions=[1.0, 2.0])])
    sent.header.frame_id = "base"
    with McapRecording(tmp_path / "ros.mcap", profile="ros2") as recording:
        encodings = {"schema_encoding": "ros2msg", "message_encoding": "cdr"}
        channel = recording.channel("/path", kind, message_schema(kind), **encodings)
        recording.put(channel, serialize_message(sent), 5)
    (message,) = decoder.read_ros2_messages(str(tmp_path / "ros.mcap"))
    assert message.ros_msg.header.frame_id == "base"
    assert message.ros_msg.joint_names == ["a", "b"]
    assert list(message.ros_msg.points[0].positions) == [1.0, 2.0]


@pytest.mark.sim
def test_episodes_are_files_with_their_steps(tmp_path):
    gymnasium = pytest.importorskip("gymnasium")
    from robot_control_ros import gym

    env = gym.RecordEpisodes(gymnasium.make("robot_control_ros/Reach-v0", max_episode_steps=4), tmp_path / "episodes")
    seen = [env.reset(seed=3)[0]]
    for k in range(4):
        observation, reward, *_ = env.step(np.full(3, 0.1 * k, np.float32))
        seen.append(observation)
    env.reset(seed=4)
    env.step(np.zeros(3, np.float32))
    env.close()
    first, second = sorted((tmp_path / "episodes").iterdir())
    assert (first.name, second.name) == ("episode_00000.mcap", "episode_00001.mcap")
    found, metadata = read(first)
    steps = [step for _, step in found["/step"]]
    assert [len(found[topic]) for topic in ("/step", "/state")] == [4, 8]
    for step, expected in zip(steps, seen, strict=False):
        for name, values in expected.items():
            np.testing.assert_array_equal(np.array(step["observation"][name], np.float32), values)
    assert steps[2]["action"] == pytest.approx([0.2] * 3)
    assert steps[-1]["reward"] == reward
    assert [step["truncated"] for step in steps] == [False, False, False, True]
    expected = {"task": "Reach", "period": "0.04", "seed": "3", "steps": "4", "success": "false", "dropped": "0"}
    assert metadata.items() >= expected.items()
    assert read(second)[1]["steps"] == "1"
