"""The command that tunes: it searches, goes on, and tells what it has found."""

import pytest

from robot_control_ros.cli.main import main
from robot_control_ros.robot.ros_parameter_file import ParameterFile

pytest.importorskip("mujoco")
pytest.importorskip("optuna")
pytestmark = [pytest.mark.sim, pytest.mark.starts("signs of life are given in a thread")]

OF = ["tune", "planar_two_link"]
SEARCH = [*OF, "--objective", "noise", "--vary", "stiffness=0.5x:4x", "--arms", "1"]


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_search_is_kept_in_the_folder_and_goes_on(folder, capsys):
    assert main([*SEARCH, "--trials", "3"]) == 0
    assert (folder / "planar_two_link-impedance.journal").exists()
    capsys.readouterr()
    assert main([*SEARCH, "--trials", "3"]) == 0
    assert "nothing was computed" in capsys.readouterr().out
    assert main([*SEARCH, "--trials", "4"]) == 0
    assert main([*OF, "status"]) == 0
    assert "4 trials have ended" in capsys.readouterr().out


def test_best_prints_the_gains_of_the_chosen_trial(capsys):
    main([*SEARCH, "--trials", "3"])
    capsys.readouterr()
    assert main([*OF, "best"]) == 0
    assert "stiffness: [" in capsys.readouterr().out


def test_export_writes_gains_that_a_controller_takes(folder, capsys):
    pytest.importorskip("matplotlib")
    main([*SEARCH, "--trials", "3"])
    assert main([*OF, "export", "--held-out", "1"]) == 0
    written = folder / "planar_two_link-impedance-tuned"
    parameters = ParameterFile.read("gains", written / "gains.yaml").of("controller")
    assert list(parameters) == ["impedance.stiffness"]
    assert sorted(path.name for path in written.iterdir()) == [
        "gains.yaml",
        "trials.csv",
        "tuning.md",
        "tuning.png",
    ]


def test_objectives_are_listed_with_unit_and_meaning(capsys):
    assert main([*OF, "--objective", "?"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert {"track", "contact", "noise", "margin"} <= {line.split()[0] for line in lines}
    assert all(len(line.split()) > 6 for line in lines)


@pytest.mark.parametrize("action", ["status", "best", "export"])
def test_without_a_study_there_is_nothing_to_tell(action, folder, capsys):
    assert main([*OF, action]) == 2
    assert capsys.readouterr().err.count("\n") == 1
    assert list(folder.iterdir()) == []


def test_without_optuna_the_extra_is_named(monkeypatch, capsys):
    import sys

    monkeypatch.setitem(sys.modules, "optuna", None)
    assert main(SEARCH) == 2
    assert "tuning" in capsys.readouterr().err
