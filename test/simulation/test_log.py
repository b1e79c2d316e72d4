"""The log: columns and numbers of the file, and the picture."""

import csv
import sys

import numpy as np
import pytest

from robot_control_ros.core.errors import ConfigError
from robot_control_ros.core.types import CommandMode
from robot_control_ros.simulation.log import Log, LogSample

JOINTS = ("elbow", "wrist")
AXES = ["x", "y", "z", "rx", "ry", "rz"]


def samples(count=5, seed=0):
    """Keyword arguments of LogSample, one per sample."""
    rng = np.random.default_rng(seed)
    for k in range(count):
        pose = np.eye(4)
        pose[:3] = rng.normal(size=(3, 4))
        yield {
            "t": k / 3.0,
            "q": rng.normal(size=2),
            "v": rng.normal(size=2) * 1e-17,
            "effort": rng.normal(size=2) * 1e9,
            "pose": pose,
            "pose_error": rng.normal(size=6),
            "twist": rng.normal(size=6),
            "wrench": rng.normal(size=6) if k != 2 else None,
            "command": rng.normal(size=2),
            "saturated": rng.normal(size=2) > 0.0,
            "rate_limited": rng.normal(size=2) > 0.0,
            "soft_limited": rng.normal(size=2) > 0.0,
            "fault": "stopped" if k == 4 else "",
            "contact": rng.normal(size=6) if k == 3 else None,
        }


def written(count=5):
    return Log.of(JOINTS, CommandMode.EFFORT, [LogSample(**sample) for sample in samples(count)])


def test_a_log_holds_every_sample_in_its_shape():
    log, given = written(), list(samples())
    assert len(log) == 5
    assert log.joints == JOINTS
    assert log.mode is CommandMode.EFFORT
    for name in (
        "t",
        "q",
        "v",
        "effort",
        "pose",
        "pose_error",
        "twist",
        "command",
        "saturated",
        "rate_limited",
        "soft_limited",
    ):
        assert np.array_equal(getattr(log, name), np.array([sample[name] for sample in given])), (
            name
        )
    assert log.fault == ("", "", "", "", "stopped")
    assert np.isnan(log.wrench[2]).all()
    assert np.isnan(log.contact[[0, 1, 2, 4]]).all()
    for name in ("wrench", "contact"):
        assert np.array_equal(getattr(log, name)[3], given[3][name])


def test_a_log_of_nothing_is_refused():
    with pytest.raises(ConfigError, match="log is empty"):
        Log.of(JOINTS, CommandMode.EFFORT, [])


def test_the_file_names_every_column(tmp_path):
    path = written().to_csv(tmp_path / "log.csv")
    with path.open(newline="") as file:
        names = next(csv.reader(file))
    wanted = ["t"]
    for name in ("q", "v", "effort"):
        wanted += [f"{name}.elbow", f"{name}.wrist"]
    wanted += [f"pose.{row}{column}" for row in range(3) for column in range(4)]
    for name in ("pose_error", "twist", "wrench"):
        wanted += [f"{name}.{axis}" for axis in AXES]
    for name in ("command", "saturated", "rate_limited", "soft_limited"):
        wanted += [f"{name}.elbow", f"{name}.wrist"]
    wanted += ["fault", *(f"contact.{axis}" for axis in AXES)]
    assert names == wanted


def test_the_file_gives_back_every_number_exactly(tmp_path):
    log = written()
    path = log.to_csv(str(tmp_path / "log.csv"))
    with path.open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 5

    def column(name):
        return np.array([float(row[name]) for row in rows])

    assert np.array_equal(column("t"), log.t)
    assert column("fault").tolist() == [0.0, 0.0, 0.0, 0.0, 1.0]
    for k, joint in enumerate(JOINTS):
        for name in ("q", "v", "effort", "command", "saturated", "rate_limited", "soft_limited"):
            assert np.array_equal(column(f"{name}.{joint}"), getattr(log, name)[:, k])
    for k, axis in enumerate(AXES):
        for name in ("pose_error", "twist", "wrench", "contact"):
            assert np.array_equal(
                column(f"{name}.{axis}"), getattr(log, name)[:, k], equal_nan=True
            )
    for row in range(3):
        for k in range(4):
            assert np.array_equal(column(f"pose.{row}{k}"), log.pose[:, row, k])


def test_a_log_of_one_sample_is_a_file_of_two_lines(tmp_path):
    path = written(1).to_csv(tmp_path / "log.csv")
    assert len(path.read_text().splitlines()) == 2


@pytest.mark.few(1)
@pytest.mark.parametrize("title", ["", "A push of 10 N"])
def test_a_plot_is_a_png(tmp_path, title):
    pytest.importorskip("matplotlib")
    path = written().plot(tmp_path / "log.png", title)
    content = path.read_bytes()
    assert path == tmp_path / "log.png"
    assert content[:8] == b"\x89PNG\r\n\x1a\n"
    assert content.rstrip()[-8:-4] == b"IEND"


def test_without_matplotlib_the_error_names_the_extra(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(ConfigError, match=r"pip install -e '.*\[sim\]'$"):
        written().plot(tmp_path / "log.png")


def test_a_log_is_frozen():
    with pytest.raises(AttributeError):
        written().t = np.zeros(5)
    assert isinstance(written(), Log)


def test_a_plot_without_an_ending_is_a_png(tmp_path):
    pytest.importorskip("matplotlib")
    assert written().plot(tmp_path / "log") == tmp_path / "log.png"
    assert (tmp_path / "log.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize("write", ["to_csv", "plot"])
def test_a_file_of_another_kind_is_not_overwritten(write, tmp_path):
    pytest.importorskip("matplotlib")
    robot = tmp_path / "robot.yaml"
    robot.write_text("name: arm")
    with pytest.raises(ConfigError) as caught:
        getattr(written(), write)(robot)
    assert caught.value.value == str(robot)
    assert robot.read_text() == "name: arm"
