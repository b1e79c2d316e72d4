"""Cycles of a loop in MCAP files: written, read by others, replayed, cut off,
of another version.
"""

import json

import numpy as np
import pytest

pytest.importorskip("mcap")
pytest.importorskip("mcap_ros2.reader")

from mcap_ros2 import reader as decoder

from robot_control_ros import ConfigError, HardwareFault, Robot, simulate
from robot_control_ros.cli.main import main
from robot_control_ros.control.law_replay import Replay
from robot_control_ros.control.loop import ControlLoop
from robot_control_ros.core.cycle import CYCLE
from robot_control_ros.core.gains import gain_specs
from robot_control_ros.core.types import RobotState
from robot_control_ros.recording.cycle_file import (
    CYCLE_TOPIC,
    SETTING_TOPIC,
    CycleFile,
    CycleWriter,
    copy_last,
    cycle_message,
    metadata_of,
)
from robot_control_ros.recording.loop_recording import LoopRecording
from robot_control_ros.recording.mcap_recording import McapRecording
from robot_control_ros.recording.named_numbers import NumbersMessage, decode_numbers, encode_row
from robot_control_ros.robot.configuration import load_robot

pytestmark = pytest.mark.starts("the thread that writes a record, whose end is waited for")
GEN3 = load_robot("gen3")


def moved_loop(cycles, robot=GEN3, law="impedance"):
    """A loop that was fed with an arm that moves."""
    loop = ControlLoop(robot, law)
    for k in range(cycles):
        feed(loop, k)
        if k == 40:
            loop.running.gains.set({"stiffness": 300.0})
    return loop


def feed(loop, k):
    robot = loop.robot
    t = k * robot.period
    q = np.array(robot.home) + 0.05 * np.sin(t + np.arange(robot.n))
    loop.tick(RobotState(t, q, 0.05 * np.cos(t + np.arange(robot.n)), np.zeros(robot.n)))


def write(path, loop, record=None):
    record = loop.recorder.last() if record is None else record
    with McapRecording(path, simulated=True) as recording:
        CycleWriter(recording, loop.robot.n, metadata_of(loop.robot, loop.model)).put(record)
    return record


def test_what_is_read_is_what_was_written(tmp_path):
    loop = moved_loop(1200)
    record = write(tmp_path / "run.mcap", loop)
    file = CycleFile(tmp_path / "run.mcap")
    blocks = list(file.blocks(500))
    assert file.complete
    assert [len(block) for block in blocks] == [500, 500, 200]
    np.testing.assert_array_equal(np.concatenate([block.rows for block in blocks]), record.rows)
    assert file.metadata["robot"] == "gen3"
    memories = [memory for block in blocks for memory in block.memories]
    assert [memory.cycle for memory in memories] == [memory.cycle for memory in record.memories]


def test_a_file_is_replayed_without_the_robots_files(tmp_path):
    loop = moved_loop(300)
    write(tmp_path / "run.mcap", loop)
    file = CycleFile(tmp_path / "run.mcap")
    replay = Replay(file.model())
    for block in file.blocks(100):
        replayed = replay.run(block)
        assert replayed.replayed.all()
        assert replayed.difference().max() == 0.0


def test_another_decoder_reads_the_cycles_by_name(tmp_path):
    loop = moved_loop(5)
    record = write(tmp_path / "run.mcap", loop)
    read = [
        each.ros_msg
        for each in decoder.read_ros2_messages(str(tmp_path / "run.mcap"), topics=[CYCLE_TOPIC])
    ]
    for field in CYCLE.kept:
        for message, expected in zip(read, record[field.name], strict=True):
            np.testing.assert_array_equal(
                np.ravel(getattr(message, field.name)), np.ravel(expected)
            )


def test_each_field_of_the_message_has_its_unit_and_meaning():
    lines = cycle_message(6).definition().splitlines()
    for field, line in zip(CYCLE.kept, lines, strict=True):
        assert f" {field.name}  # " in line
        assert field.meaning in line


@pytest.mark.few(1)
@pytest.mark.parametrize("fraction", [0.3, 0.6, 0.95])
def test_a_file_that_was_cut_off_is_read_to_its_end(fraction, tmp_path):
    path = tmp_path / "run.mcap"
    write(path, moved_loop(1500))
    data = path.read_bytes()
    path.write_bytes(data[: int(fraction * len(data))])
    file = CycleFile(path)
    numbers = np.concatenate([[], *(block["number"] for block in file.blocks())])
    assert not file.complete
    np.testing.assert_array_equal(numbers, np.arange(len(numbers)))


def changed_version(path, loop, change):
    """A file whose cycles have other fields."""
    record = loop.recorder.last()
    message = cycle_message(loop.robot.n)
    sizes = {name: size for name, size in message.sizes.items() if name != change}
    rows = [decode_numbers(message.definition(), encode_row(row)) for row in record.rows]
    with McapRecording(
        path, simulated=True, metadata=metadata_of(loop.robot, loop.model)
    ) as recording:
        kind = NumbersMessage(message.kind, {**sizes, "added": 1}, {})
        channel, texts = (
            recording.numbers_channel(CYCLE_TOPIC, kind),
            recording.text_channel(SETTING_TOPIC),
        )
        for setting in record.settings:
            gains = {
                spec: _plain(getattr(setting.gains, spec)) for spec in _gain_names(setting.gains)
            }
            text = {
                "number": setting.number,
                "cycle": setting.cycle,
                "law": setting.law,
                "gains": gains,
            }
            recording.put_text(texts, json.dumps(text), 0.0)
        for row in rows:
            values = {name: row[name] for name in sizes} | {"added": np.zeros(1)}
            recording.put_numbers(channel, values, float(row["time"][0]))


def _gain_names(gains):
    """Without one that a later version has, and that has its default here."""
    return [spec.name for spec in gain_specs(type(gains)) if spec.name != "governor"]


def _plain(value):
    return value.tolist() if isinstance(value, np.ndarray) else value


def test_a_record_of_a_version_without_a_field_is_replayed_where_that_is_possible(tmp_path):
    loop = moved_loop(30)
    changed_version(tmp_path / "run.mcap", loop, "spring_load")
    file = CycleFile(tmp_path / "run.mcap")
    replay = Replay(file.model())
    (block,) = file.blocks()
    assert np.isnan(block["spring_load"]).all()
    assert replay.run(block).difference().max() == 0.0


def test_a_record_of_a_version_without_what_a_replay_needs_is_refused(tmp_path):
    changed_version(tmp_path / "run.mcap", moved_loop(3), "q")
    with pytest.raises(ConfigError):
        list(CycleFile(tmp_path / "run.mcap").blocks())


def test_a_file_without_cycles_is_refused(tmp_path):
    with McapRecording(tmp_path / "run.mcap", simulated=True):
        pass
    with pytest.raises(ConfigError):
        CycleFile(tmp_path / "run.mcap")


def test_the_last_seconds_of_a_file_can_be_replayed(tmp_path):
    write(tmp_path / "run.mcap", moved_loop(3000))
    copy_last(CycleFile(tmp_path / "run.mcap"), tmp_path / "last.mcap", 1.3)
    file = CycleFile(tmp_path / "last.mcap")
    (block,) = file.blocks()
    assert 1.3 <= len(block) * GEN3.period <= 2.3
    replayed = Replay(file.model()).run(block)
    assert replayed.replayed.all()
    assert replayed.difference().max() == 0.0


def test_a_running_loop_is_recorded_until_the_file_is_closed(tmp_path):
    loop = moved_loop(100)
    recording = LoopRecording(tmp_path / "run.mcap", loop.recorder, loop.robot, loop.model, 60)
    for k in range(100, 400):
        feed(loop, k)
    recording.close()
    assert recording.ended
    assert recording.error is None
    numbers = np.concatenate(
        [block["number"] for block in CycleFile(tmp_path / "run.mcap").blocks()]
    )
    np.testing.assert_array_equal(numbers, np.arange(60, 400))


def test_a_recording_with_an_end_ends_by_itself(tmp_path):
    loop = moved_loop(100)
    recording = LoopRecording(tmp_path / "run.mcap", loop.recorder, loop.robot, loop.model, 20, 80)
    recording.close()
    numbers = np.concatenate(
        [block["number"] for block in CycleFile(tmp_path / "run.mcap").blocks()]
    )
    np.testing.assert_array_equal(numbers, np.arange(20, 80))


def test_a_simulation_is_recorded_and_replayed_on_the_command_line(tmp_path, capsys):
    path = tmp_path / "run.mcap"
    log = simulate("ur5", "admittance", duration=0.3, record=path)
    (block,) = CycleFile(path).blocks()
    np.testing.assert_array_equal(block["sent"], log.command)
    assert main(["replay", str(path)]) == 0
    capsys.readouterr()
    table = tmp_path / "run.csv"
    assert main(["replay", str(path), "--set", "stiffness=50", "--csv", str(table)]) == 0
    values = np.loadtxt(table, delimiter=",", skiprows=1)
    np.testing.assert_array_equal(values[:, 1:7], block["asked"])
    assert main(["replay", str(path), "--set", "stifness=50"]) == 2


def test_a_simulation_that_fails_leaves_its_cycles(tmp_path):
    def throw(plant):
        if plant.time > 0.1:
            raise HardwareFault("the arm has tripped")

    with pytest.raises(HardwareFault):
        simulate("ur5", "impedance", duration=0.3, record=tmp_path / "run.mcap", intervene=throw)
    (block,) = CycleFile(tmp_path / "run.mcap").blocks()
    assert 95 <= len(block) <= 105


def test_a_simulated_robot_saves_its_last_cycles(tmp_path):
    with Robot.simulated("ur5") as robot:
        robot.move_to(robot.pose[:3, 3] + (0.0, 0.0, 0.05))
        path = robot.save_cycles(tmp_path / "move.mcap", 1.0)
        with pytest.raises(ConfigError):
            robot.save_cycles(tmp_path / "move.mcap")
        with pytest.raises(ConfigError):
            robot.save_cycles(tmp_path / "other.mcap", -1.0)
    file = CycleFile(path)
    (block,) = file.blocks()
    assert Replay(file.model()).run(block).difference().max() == 0.0
