"""Trials in processes of this machine: the same as in one; a process that is
killed loses nothing.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("optuna")

from tuned_functions import (
    FIRST,
    GOALS,
    SPACE,
    deadly,
    deadly_on_the_left,
    product_of,
    two_bowls,
)

from robot_control_ros.core.errors import ConfigError
from robot_control_ros.tuning import sweep, tune
from robot_control_ros.tuning.engine import engine, timed
from robot_control_ros.tuning.gain_study import GainStudy

SUPPORT = Path(__file__).resolve().parents[1] / "support"
TRIALS = 30
KILLING = 4  # trials, each of which may end its process twice
KILLED = """
from tuned_functions import FIRST, GOALS, SPACE, slow
from robot_control_ros.tuning import tune

if __name__ == "__main__":
    show = lambda progress: print(len(progress.tuned.rows), flush=True)
    tune(slow, SPACE, 1000, goals=GOALS, first=[FIRST], workers=2, storage={storage!r}, progress=show)
"""


@pytest.fixture(autouse=True)
def importable(monkeypatch):
    """Where processes find the functions."""
    monkeypatch.setenv("PYTHONPATH", str(SUPPORT))


def tuned(objective=two_bowls, trials=TRIALS, **settings):
    return tune(objective, SPACE, trials, **({"goals": GOALS, "first": [FIRST]} | settings))


def test_a_process_that_is_killed_in_a_trial_loses_nothing(monkeypatch, tmp_path):
    monkeypatch.setenv("DEADLY", str(tmp_path / "died"))
    found = tuned(deadly, workers=2)
    assert (tmp_path / "died").exists()
    assert found.table() == tuned().table()


def test_a_sweep_in_processes_is_the_same_and_in_several_of_them():
    grid = {"a": list(range(20)), "b": [0, 2]}
    here = sweep(product_of, grid)
    there = sweep(product_of, grid, workers=2)
    assert [point.arguments for point in there.points] == [point.arguments for point in here.points]
    assert [point.reason for point in there.points] == [point.reason for point in here.points]
    products = [
        [point.result and point.result["product"] for point in each.points]
        for each in (here, there)
    ]
    assert products[0] == products[1]
    processes = {point.result["process"] for point in there.points if point.result}
    assert os.getpid() not in processes


def test_trials_that_always_kill_their_process_have_failed_and_those_beside_keep_their_values():
    found = tuned(deadly_on_the_left, KILLING, workers=2, sampler="random")
    expected = tuned(trials=KILLING, sampler="random")
    assert 0 < sum(row.failed for row in found.rows) < KILLING
    for row, other in zip(found.rows, expected.rows, strict=True):
        assert row.failed == (row.parameters["x"] < 0.0)
        assert bool(row.reason) == row.failed
        assert row.failed or row.values == other.values


@pytest.mark.sim
def test_an_arm_s_gains_have_the_same_values_in_processes():
    pytest.importorskip("mujoco")
    study = GainStudy("planar_two_link", "impedance", "track,contact,noise", arms=1)
    assert study.run(4, workers=2).table() == study.run(4).table()


def test_after_a_kill_the_next_run_goes_on(tmp_path):
    storage = f"journal://{tmp_path}/a.journal"
    program = tmp_path / "tune.py"
    program.write_text(KILLED.format(storage=storage))
    with subprocess.Popen(
        [sys.executable, str(program)], stdout=subprocess.PIPE, text=True
    ) as running:
        for line in running.stdout:
            if int(line) >= 5:
                break
        running.kill()
    found = tuned(trials=12, storage=storage)
    assert found.table() == tuned(trials=12).table()


def test_a_worker_with_another_version_is_refused_before_a_trial_counts():
    with engine(workers=1) as processes:
        processes.submit("tag", timed, product_of, "0.0.1+another", 1, 2)
        ended = []
        while not ended:
            ended = processes.ended(1.0)
    ((tag, future),) = ended
    assert tag == "tag"
    with pytest.raises(ConfigError) as caught:
        future.result()
    assert (caught.value.name, caught.value.bound) == ("version", "0.0.1+another")


def test_a_function_that_processes_can_t_load_is_refused_before_the_first_trial():
    with pytest.raises(ConfigError) as caught:
        tuned(lambda parameters: 0.0, workers=1)
    assert caught.value.name == "function"
