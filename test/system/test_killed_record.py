"""A program that is killed while it records leaves a record that is read to its last second."""

import signal
import subprocess
import sys

import pytest

pytest.importorskip("mcap")

from robot_control_ros.recording.mcap_reader import read_record

PROGRAM = """
import itertools, sys, time
import numpy as np
from robot_control_ros.recording.mcap_recording import McapRecording
from robot_control_ros.recording.named_numbers import NumbersMessage

recording = McapRecording(sys.argv[1], metadata={"robot": "ur5"})
channel = recording.numbers_channel("/a", NumbersMessage("a/msg/A", {"a": 1}, {}))
for k in itertools.count():
    recording.put_numbers(channel, {"a": np.array([float(k)])}, 0.01 * k)
    print(k, flush=True)
    time.sleep(0.01)
"""
MESSAGES = 400  # 4 s at least; the last second may be lost


def test_a_killed_program_s_record_is_read_to_its_last_second(tmp_path):
    path = tmp_path / "run.mcap"
    child = subprocess.Popen(
        [sys.executable, "-c", PROGRAM, str(path)], stdout=subprocess.PIPE, text=True
    )
    with child:
        for line in child.stdout:
            if int(line) == MESSAGES:
                child.send_signal(signal.SIGKILL)
                break
        child.communicate()
    record = read_record(path, ("/a",))
    values = [message["a"][0] for message in record.messages["/a"]]
    assert record.metadata == {"robot": "ur5"}
    assert not record.complete
    assert values == list(range(len(values)))
    assert len(values) > MESSAGES // 4
