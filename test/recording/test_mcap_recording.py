"""MCAP records: what a bare reader finds in them, what is dropped, how they end."""

import contextlib
import itertools
import json
import threading

import numpy as np
import pytest
from full_disk import files_end_at
from hypothesis import given, settings
from hypothesis import strategies as st
from mcap_files import read

pytest.importorskip("mcap")
pytest.importorskip("mcap_ros2.reader")

from mcap.reader import make_reader
from mcap_ros2 import reader as decoder

from robot_control_ros import ConfigError, HardwareFault, Push, Robot
from robot_control_ros.client.recording.csv_recording import CsvRecording
from robot_control_ros.client.recording.message_schemas import message_schema
from robot_control_ros.core.errors import RobotControlError
from robot_control_ros.recording.file_recording import RecordingWarning
from robot_control_ros.recording.mcap_reader import read_record
from robot_control_ros.recording.mcap_recording import McapRecording
from robot_control_ros.recording.named_numbers import NumbersMessage
from robot_control_ros.ros.process_environment import environment
from robot_control_ros.simulation.log import LogSample

pytestmark = pytest.mark.starts("the thread that writes a record, whose end is waited for")
JOINT_STATE = "sensor_msgs/msg/JointState"


def numbers(**values):
    """The type of messages with these numbers, and a message."""
    arrays = {name: np.atleast_1d(np.array(value, dtype=float)) for name, value in values.items()}
    return NumbersMessage("a/msg/A", {name: each.size for name, each in arrays.items()}, {}), arrays


def put(recording, count, start=0):
    """A channel with so many messages."""
    message, _ = numbers(a=0.0)
    channel = recording.numbers_channel("/a", message)
    for k in range(start, start + count):
        recording.put_numbers(channel, numbers(a=float(k))[1], 0.1 * k)


@pytest.mark.sim
def test_a_simulated_robots_record_has_its_states_by_name(tmp_path):
    with Robot.simulated("ur5", push=Push((15.0, 0.0, 0.0))) as robot:
        robot.record()
        with robot.record(tmp_path / "run.mcap") as recording:
            robot.wait(0.2)
        assert (recording.messages, recording.dropped) == (10 + 1, 0)  # states, and the stiffness
        log, end = robot.log(), robot.state
        robot.wait(0.1)
        joints = robot.config.joints
    found, metadata = read(tmp_path / "run.mcap")
    assert metadata == {"robot": "ur5", "joints": json.dumps(joints), "dropped": "0"}
    states = found["/state"]
    assert len(states) == len(log) == 10
    assert len(found["/stiffness"]) == 1
    stamp, last = states[-1]
    assert stamp == round(end.time * 1e9)
    assert list(last.position) == end.q.tolist()
    assert list(last.wrench) == end.wrench.tolist()
    assert last.time == end.time
    np.testing.assert_array_equal(np.reshape(last.pose, (3, 4)), end.pose[:3])
    with (tmp_path / "run.mcap").open("rb") as file:
        definitions = {
            each.name: each.data.decode()
            for each in make_reader(file).get_summary().schemas.values()
        }
    assert (
        f"float64[6] position  # {' '.join(joints)}\n" in definitions["robot_control_ros/msg/State"]
    )
    assert "float64[6] wrench  # x y z rx ry rz\n" in definitions["robot_control_ros/msg/State"]


@pytest.mark.sim
def test_closing_the_robot_ends_the_record_and_a_fault_is_in_it(tmp_path):
    push = Push((2000.0, 0.0, 0.0), start=0.1)
    with Robot.simulated("ur5e", imperfections="like_ur5e", push=push) as robot:
        robot.record(tmp_path / "run.mcap")
        with pytest.raises(HardwareFault, match="trip"):
            robot.wait(5.0)
        words = robot.fault
    found, _ = read(tmp_path / "run.mcap")
    assert f"fault: {words}" in [event.data for _, event in found["/event"]]


def test_what_the_disk_cannot_take_is_dropped_and_counted(tmp_path, monkeypatch):
    monkeypatch.setattr("robot_control_ros.recording.file_recording.MAX_WAITING", 3)
    gate = threading.Event()
    recording = McapRecording(tmp_path / "full.mcap")
    writer = recording.channel("/a", "a/msg/A", "string data")
    monkeypatch.setattr("mcap.writer.Writer.add_message", lambda *message: gate.wait())
    for k in range(10):
        recording.put(writer, b"", k)
    gate.set()
    recording.describe(note="x")
    recording.close()
    assert recording.messages + recording.dropped == 10
    assert recording.dropped >= 6
    with (tmp_path / "full.mcap").open("rb") as file:
        *_, metadata = make_reader(file).iter_metadata()
    assert metadata.metadata == {"note": "x", "dropped": str(recording.dropped)}


def test_a_message_that_comes_after_the_end_is_not_counted(tmp_path):
    """As one that a thread of ROS was about to put while the file was closed."""
    recording = McapRecording(tmp_path / "late.mcap")
    put(recording, 1)
    recording.close()
    recording.put(1, b"", 0)
    found, _ = read(tmp_path / "late.mcap")
    assert (len(found["/a"]), recording.messages, recording.dropped) == (1, 1, 0)


@pytest.fixture
def limited():
    """No file may become longer than 700 kB, as where a disk is full."""
    with files_end_at(700_000):
        yield


@pytest.mark.parametrize("name", ["full.mcap", "full.csv"])
def test_a_full_disk_is_told_when_it_happens_and_what_is_there_can_be_read(name, tmp_path, limited):
    path = tmp_path / name
    with pytest.warns(RecordingWarning, match=name):
        fill(path)
    if name.endswith(".mcap"):
        record = read_record(path, ("/a",))
        values = [message["a"][0] for message in record.messages["/a"]]
        assert not record.complete
        assert values == list(range(len(values)))
        assert len(values) > 100
    else:
        assert path.stat().st_size == 700_000


def fill(path):
    """Write until the record says that it can't go on; it says so before it is closed."""
    if path.suffix == ".csv":
        recording = CsvRecording(path, ("j",), simulated=True)
        rows = (recording.put_item(sample(0.01 * k)) for k in itertools.count())
    else:
        recording = McapRecording(path, simulated=True)
        message, _ = numbers(a=0.0, b=np.zeros(40))
        channel, noise = recording.numbers_channel("/a", message), np.random.default_rng(0)
        rows = (
            recording.put_numbers(
                channel, numbers(a=float(k), b=noise.normal(size=40))[1], 0.01 * k
            )
            for k in itertools.count()
        )
    for _ in rows:
        if recording.error is not None:
            break
    with pytest.raises(HardwareFault, match=path.name):
        recording.wait(None)
    dropped = recording.dropped
    next(rows)
    assert recording.dropped == dropped + 1
    with pytest.raises(HardwareFault, match=path.name):
        recording.close()


def sample(t):
    numbers_of_joint = np.zeros(1)
    booleans = np.zeros(1, dtype=bool)
    spatial = np.zeros(6)
    return LogSample(
        t,
        *(numbers_of_joint,) * 3,
        np.eye(4),
        spatial,
        spatial,
        None,
        numbers_of_joint,
        *(booleans,) * 3,
        "",
        None,
    )


@pytest.mark.few(2)
@pytest.mark.parametrize("cut", [0.2, 0.5, 0.9, 0.999])
def test_a_record_that_was_cut_off_is_read_to_there(cut, tmp_path):
    path = tmp_path / "run.mcap"
    with McapRecording(path, metadata={"robot": "ur5"}, simulated=True) as recording:
        message, _ = numbers(a=0.0, b=np.zeros(40))
        channel, noise = recording.numbers_channel("/a", message), np.random.default_rng(0)
        for k in range(5000):
            recording.put_numbers(
                channel, numbers(a=float(k), b=noise.normal(size=40))[1], 0.01 * k
            )
    whole = read_record(path, ("/a",))
    assert whole.complete
    assert len(whole.messages["/a"]) == 5000
    content = path.read_bytes()
    path.write_bytes(content[: round(cut * len(content))])
    record = read_record(path, ("/a",))
    values = [each["a"][0] for each in record.messages["/a"]]
    assert not record.complete
    assert record.metadata["robot"] == "ur5"
    assert values == list(range(len(values)))
    assert len(values) > 5000 * cut - 1000  # a chunk is lost at most


@pytest.mark.parametrize("name", ["run.mcap", "run.csv"])
def test_an_older_record_is_not_overwritten(name, tmp_path):
    (tmp_path / name).write_text("old")
    with pytest.raises(ConfigError) as caught:
        McapRecording(tmp_path / name) if name.endswith("mcap") else CsvRecording(
            tmp_path / name, ("j",)
        )
    assert caught.value.value == str(tmp_path / name)
    assert (tmp_path / name).read_text() == "old"


def test_a_file_that_has_its_size_is_followed_by_another(tmp_path):
    with McapRecording(
        tmp_path / "run.mcap", metadata={"robot": "ur5"}, simulated=True, largest=100_000
    ) as recording:
        message, _ = numbers(a=0.0, b=np.zeros(40))
        channel, noise = recording.numbers_channel("/a", message), np.random.default_rng(0)
        for k in range(5000):
            recording.put_numbers(
                channel, numbers(a=float(k), b=noise.normal(size=40))[1], 0.01 * k
            )
    names = [path.name for path in recording.paths]
    assert len(names) > 2
    assert names == ["run.mcap", *(f"run_{k}.mcap" for k in range(1, len(names)))]
    values = []
    for path in recording.paths:
        record = read_record(path, ("/a",))
        assert record.complete
        assert record.metadata["robot"] == "ur5"
        values += [each["a"][0] for each in record.messages["/a"]]
    assert values == list(range(5000))


@pytest.mark.sim
def test_states_go_to_a_csv_file_as_the_log_has_them(tmp_path):
    with Robot.simulated("ur5") as robot:
        robot.record()
        with robot.record(tmp_path / "run.csv") as recording:
            robot.wait(0.2)
        robot.log().to_csv(tmp_path / "log.csv")
    assert recording.messages == 10
    assert (tmp_path / "run.csv").read_text() == (tmp_path / "log.csv").read_text()


@pytest.mark.parametrize(
    "content", [b"", b"\x89MCAP0\r\n", b"x" * 100], ids=["empty", "magic", "other"]
)
def test_what_is_no_record_is_refused_or_empty(content, tmp_path):
    (tmp_path / "run.mcap").write_bytes(content)
    if content.startswith(b"\x89MCAP"):
        assert not read_record(tmp_path / "run.mcap", ("/a",)).complete
        return
    with pytest.raises(ConfigError) as caught:
        read_record(tmp_path / "run.mcap", ("/a",))
    assert caught.value.name == "record"


def changed_record(folder):
    """A small record's bytes."""
    with McapRecording(
        folder / "whole.mcap", metadata={"robot": "ur5"}, simulated=True
    ) as recording:
        put(recording, 50)
    return (folder / "whole.mcap").read_bytes()


def read_changed(content, data, folder):
    """Change some bytes of a record, or cut it off, and read it."""
    changed = bytearray(content)
    for _ in range(data.draw(st.integers(0, 6))):
        changed[data.draw(st.integers(0, len(changed) - 1))] = data.draw(st.integers(0, 255))
    (folder / "changed.mcap").write_bytes(changed[: data.draw(st.integers(0, len(changed)))])
    with contextlib.suppress(RobotControlError):
        read_record(folder / "changed.mcap", ("/a",))


@settings(max_examples=60, deadline=None, database=None, derandomize=True)
@given(data=st.data())
def test_a_changed_record_is_read_or_refused_by_us(data, tmp_path_factory):
    folder = tmp_path_factory.mktemp("few")
    read_changed(changed_record(folder), data, folder)


@pytest.mark.long
def test_ten_thousand_changed_records_are_read_or_refused_by_us(tmp_path):
    content = changed_record(tmp_path)

    @settings(max_examples=10_000, deadline=None, database=None, derandomize=True)
    @given(data=st.data())
    def check(data):
        read_changed(content, data, tmp_path)

    check()


def test_a_folder_that_is_not_there_is_refused(tmp_path):
    with pytest.raises(ConfigError, match="must exist"):
        McapRecording(tmp_path / "no" / "run.mcap")


@pytest.mark.ros
def test_the_schema_of_a_message_has_the_types_in_it(monkeypatch):
    pytest.importorskip("rclpy")
    monkeypatch.setenv("AMENT_PREFIX_PATH", environment().get("AMENT_PREFIX_PATH", ""))
    parts = message_schema(JOINT_STATE).split("\n" + 80 * "=" + "\n")
    assert [part.splitlines()[0] for part in parts[1:]] == [
        "MSG: std_msgs/Header",
        "MSG: builtin_interfaces/Time",
    ]
    assert "float64[] velocity" in parts[0]
    assert "string frame_id" in parts[1]
    with pytest.raises(ConfigError, match="no definition of sensor_msgs/Nonsense"):
        message_schema("sensor_msgs/msg/Nonsense")


@pytest.mark.ros
def test_another_decoder_reads_messages_by_that_schema(tmp_path, monkeypatch):
    pytest.importorskip("rclpy")
    from rclpy.serialization import serialize_message
    from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

    monkeypatch.setenv("AMENT_PREFIX_PATH", environment().get("AMENT_PREFIX_PATH", ""))
    kind = "trajectory_msgs/msg/JointTrajectory"
    sent = JointTrajectory(
        joint_names=["a", "b"], points=[JointTrajectoryPoint(positions=[1.0, 2.0])]
    )
    sent.header.frame_id = "base"
    with McapRecording(tmp_path / "ros.mcap") as recording:
        channel = recording.channel("/path", kind, message_schema(kind))
        recording.put(channel, serialize_message(sent), 5)
    (message,) = decoder.read_ros2_messages(str(tmp_path / "ros.mcap"))
    assert message.ros_msg.header.frame_id == "base"
    assert message.ros_msg.joint_names == ["a", "b"]
    assert list(message.ros_msg.points[0].positions) == [1.0, 2.0]
