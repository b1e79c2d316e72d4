"""A search for gains: what it is of is kept, the same line goes on, and its result
is told and written.
"""

import csv
from dataclasses import replace

import numpy as np
import pytest
from refusals import refuses

pytest.importorskip("mujoco")
pytest.importorskip("optuna")

from robot_control_ros.core.errors import ConfigError
from robot_control_ros.robot.ros_parameter_file import ParameterFile
from robot_control_ros.tuning.gain_files import write_report
from robot_control_ros.tuning.gain_study import GainStudy, compare

pytestmark = [pytest.mark.sim, pytest.mark.starts("signs of life are given in a thread")]

STUDY = GainStudy("planar_two_link", "impedance", "track,noise", ("stiffness=0.5x:4x",), arms=2)


@pytest.fixture(scope="module")
def storage(tmp_path_factory):
    return f"journal://{tmp_path_factory.mktemp('tuned')}/a.journal"


@pytest.fixture(scope="module")
def tuned(storage):
    return STUDY.run(6, storage=storage)


def test_trial_0_has_the_robot_s_own_gains(tuned):
    assert STUDY.space.gains(tuned.rows[0].parameters) == STUDY.own_gains()
    assert tuned.rows[0].values == STUDY.trial()(STUDY.space.defaults()).values


def test_what_a_study_is_of_is_read_from_its_storage(tuned, storage):
    found = GainStudy.stored(storage, "tuning")
    assert found == STUDY
    assert found.space == STUDY.space


@pytest.mark.parametrize(
    ("changed", "name"),
    [
        ({"robot": "ur5"}, "robot"),
        ({"law": "joint_impedance", "vary": ()}, "law"),
        ({"objective": "track"}, "objective"),
        ({"arms": 1}, "arms"),
        ({"arm_seed": 3}, "arm_seed"),
        ({"vary": ("stiffness=0.5x:3x",)}, "vary"),
    ],
)
def test_another_study_in_the_same_storage_is_refused(tuned, storage, changed, name):
    with refuses(name):
        replace(STUDY, **changed).run(6, storage=storage)


def test_a_study_that_isn_t_there_is_refused_with_those_that_are(tuned, storage):
    with refuses("study", "another", ("tuning",)):
        GainStudy.stored(storage, "another")


@pytest.mark.parametrize(
    ("changed", "name"),
    [
        ({"robot": "nobody"}, "robot"),
        ({"objective": "speed"}, "objective"),
        ({"vary": ("stiffness=1:1e9",)}, "stiffness"),
        ({"arm": "like_nobody"}, "preset"),
        ({"law": "joint_pid", "objective": "margin", "vary": ()}, "objective"),
        ({"arms": 0}, "arms"),
    ],
)
def test_what_can_t_be_searched_is_refused_before_the_first_trial(changed, name):
    with pytest.raises(ConfigError) as caught:
        replace(STUDY, **changed).run(1, tell=None)
    assert caught.value.name == name


def test_other_arms_are_other_arms(tuned):
    seen = STUDY.trial().arms
    held_out = STUDY.trial(held_out=3).arms
    assert not set(map(repr, seen)) & set(map(repr, held_out))
    comparison = compare(STUDY, tuned.best.parameters, 3)
    alone = [replace(STUDY.trial(), arms=(arm,))(tuned.best.parameters).values for arm in held_out]
    assert list(comparison.chosen.values()) == pytest.approx(np.mean(alone, axis=0))
    assert all(0 <= count <= 3 for count in comparison.better.values())


def test_the_same_gains_are_nowhere_better():
    comparison = compare(STUDY, STUDY.space.defaults(), 2)
    assert comparison.own == comparison.chosen
    assert set(comparison.better.values()) == {0}


def test_the_export_has_gains_that_the_controller_takes_and_all_trials(tuned, tmp_path):
    pytest.importorskip("matplotlib")
    paths = {path.name: path for path in write_report(STUDY, tuned, tmp_path / "out", 2)}
    assert set(paths) == {"gains.yaml", "trials.csv", "tuning.png", "tuning.md"}
    parameters = ParameterFile.read("gains", paths["gains.yaml"]).of("controller")
    gains = STUDY.space.gains(tuned.best.parameters)
    assert parameters == {f"impedance.{name}": value for name, value in gains.items()}
    with paths["trials.csv"].open(encoding="utf-8") as file:
        assert len(list(csv.DictReader(file))) == 6
    assert paths["tuning.png"].read_bytes()[1:4] == b"PNG"
    assert "tuning.png" in paths["tuning.md"].read_text(encoding="utf-8")
