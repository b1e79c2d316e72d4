"""Trials on many machines: Dask's workers, and processes that share a storage. Whoever is
killed, nothing is lost.
"""

import os
import subprocess
import sys
from collections import Counter

import pytest
from lab import SUPPORT, dask_lab, kill_hard, postgresql, wait_for
from processes import children, memory
from refusals import refuses

pytest.importorskip("optuna")
pytest.importorskip("distributed")

import optuna
from tuned_functions import FIRST, GOALS, SPACE, bowls_of, two_bowls

from robot_control_ros.tuning import sweep, tune
from robot_control_ros.tuning.gain_study import GainStudy
from robot_control_ros.tuning.storage import open_storage

pytestmark = [pytest.mark.long, pytest.mark.limit(300)]

TRIALS = 40
LARGEST_WORKER = 400e6  # B
PROGRAM = """
import sys
from tuned_functions import FIRST, GOALS, SPACE, slow
from robot_control_ros.tuning import tune

if __name__ == "__main__":
    workers, scheduler, storage = sys.argv[1:]
    show = lambda progress: print(len(progress.tuned.rows), flush=True)
    where = {"workers": int(workers), "scheduler": scheduler, "storage": storage}
    tune(slow, SPACE, %d, goals=GOALS, first=[FIRST], progress=show, **where)
"""


def tuned(objective=two_bowls, trials=TRIALS, **settings):
    return tune(objective, SPACE, trials, **({"goals": GOALS, "first": [FIRST]} | settings))


@pytest.fixture
def lab(tmp_path, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", str(SUPPORT))
    with dask_lab(tmp_path) as made:
        yield made


@pytest.fixture(params=["journal", "postgresql"])
def storage(request, tmp_path, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", str(SUPPORT))
    if request.param == "journal":
        yield f"journal://{tmp_path}/a.journal"
        return
    pytest.importorskip("psycopg")
    with postgresql(tmp_path) as url:
        yield url


@pytest.fixture
def program(tmp_path):
    """Starts a process that tunes."""
    path = tmp_path / "program.py"
    path.write_text(PROGRAM % TRIALS)
    started = []

    def start(workers=0, scheduler="", storage=""):
        command = [sys.executable, str(path), str(workers), scheduler, storage]
        running = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        started.append(running)
        return running

    yield start
    for running in started:
        running.kill()
        running.wait()


def until(running, count):
    """Read what a process prints until so many trials have ended."""
    for line in running.stdout:
        if int(line) >= count:
            return


def each_ended_once(storage):
    """Whether the study has one result for each trial, and no more."""
    study = optuna.load_study(study_name="tuning", storage=open_storage(storage))
    results = Counter()
    first_attempts = 0
    for attempt in study.trials:
        index = attempt.user_attrs.get("repeats", first_attempts)
        first_attempts += "repeats" not in attempt.user_attrs
        results[index] += "result" in attempt.user_attrs and attempt.state.is_finished()
    return [results[index] for index in range(TRIALS)] == [1] * TRIALS


def test_two_dask_workers_give_the_same_table_and_map(lab):
    lab.add_worker()
    lab.add_worker()
    assert tuned(scheduler=lab.address).table() == tuned().table()
    grid = {"x": [-1.0, 2.0], "y": [0.5, 1.5]}
    there = sweep(bowls_of, grid, scheduler=lab.address)
    assert there.results == sweep(bowls_of, grid).results


@pytest.mark.sim
@pytest.mark.limit(900)
def test_one_core_four_processes_and_two_dask_workers_tune_an_arm_alike(lab):
    pytest.importorskip("mujoco")
    study = GainStudy("ur5", "impedance", "track,contact", arms=2)
    seen = []
    expected = study.run(24)
    processes = study.run(24, workers=4, progress=lambda progress: seen.append(memory_of_workers()))
    lab.add_worker()
    lab.add_worker()
    dask = study.run(24, scheduler=lab.address)
    assert processes.table() == dask.table() == expected.table()
    assert processes.best.index == dask.best.index == expected.best.index
    assert 0 < max(map(max, filter(None, seen))) < LARGEST_WORKER
    assert max(memory(worker.pid) for worker in lab.workers) < LARGEST_WORKER


def memory_of_workers():
    """What each process that this one has started holds [B]."""
    return [memory(each) for each in children(os.getpid()) if "spawn_main" in command_of(each)]


def test_a_worker_that_joins_late_takes_part(lab, program, tmp_path):
    lab.add_worker("--name", "early", SLOW="0.3")
    storage = f"journal://{tmp_path}/a.journal"
    running = program(scheduler=lab.address, storage=storage)
    until(running, 4)
    lab.add_worker("--name", "late", SLOW="0.3")
    until(running, TRIALS)
    assert running.wait(60) == 0
    found = tuned(storage=storage)
    assert len({row.worker for row in found.rows}) == 2
    assert found.table() == tuned().table()


def test_one_dask_worker_of_two_is_killed(lab, program, tmp_path):
    workers = [lab.add_worker(SLOW="0.3") for _ in range(2)]
    storage = f"journal://{tmp_path}/a.journal"
    running = program(scheduler=lab.address, storage=storage)
    until(running, 8)
    lab.kill(workers[0])
    until(running, TRIALS)
    assert running.wait(60) == 0
    assert tuned(storage=storage).table() == tuned().table()
    assert each_ended_once(storage)


def test_two_dask_workers_of_four_are_killed(lab, program, tmp_path):
    workers = [lab.add_worker(SLOW="0.3") for _ in range(4)]
    storage = f"journal://{tmp_path}/a.journal"
    running = program(scheduler=lab.address, storage=storage)
    until(running, 8)
    for worker in workers[:2]:
        lab.kill(worker)
    until(running, TRIALS)
    assert running.wait(60) == 0
    assert tuned(storage=storage).table() == tuned().table()
    assert each_ended_once(storage)


def test_the_scheduler_is_killed_and_the_same_line_goes_on(lab, program, storage):
    lab.add_worker(SLOW="0.3")
    lab.add_worker(SLOW="0.3")
    running = program(scheduler=lab.address, storage=storage)
    until(running, 8)
    lab.kill(lab.scheduler)
    _, errors = running.communicate(timeout=120)
    assert running.returncode == 1
    assert "HardwareFault" in errors
    assert lab.address in errors
    for worker in lab.workers:
        lab.kill(worker)
    lab.start_scheduler()
    lab.add_worker()
    again = program(scheduler=lab.address, storage=storage)
    _, errors = again.communicate(timeout=120)
    assert again.returncode == 0, errors
    assert tuned(storage=storage).table() == tuned().table()
    assert each_ended_once(storage)


def test_two_processes_of_four_that_share_a_storage_are_killed(storage, program, monkeypatch):
    monkeypatch.setenv("SLOW", "0.3")
    running = [program(storage=storage) for _ in range(4)]
    until(running[0], 8)
    for each in running[:2]:
        each.kill()
    for each in running[2:]:
        _, errors = each.communicate(timeout=200)
        assert each.returncode == 0, errors
    assert tuned(storage=storage).table() == tuned().table()
    assert each_ended_once(storage)


def test_a_worker_process_and_then_the_process_that_leads_it_are_killed(
    storage, program, monkeypatch
):
    monkeypatch.setenv("SLOW", "0.2")
    running = program(workers=4, storage=storage)
    until(running, 6)
    for worker in [each for each in children(running.pid) if "spawn_main" in command_of(each)][:2]:
        kill_hard(worker)
    until(running, 14)
    running.kill()
    running.wait()
    again = program(workers=4, storage=storage)
    _, errors = again.communicate(timeout=200)
    assert again.returncode == 0, errors
    assert tuned(storage=storage).table() == tuned().table()
    assert each_ended_once(storage)


def command_of(number):
    try:
        with open(f"/proc/{number}/cmdline") as file:
            return file.read()
    except OSError:
        return ""


def test_workers_of_another_version_are_refused_before_the_first_trial(lab, monkeypatch):
    lab.add_worker()
    wait_for(lambda: workers_of(lab) == 1, "the worker")
    monkeypatch.setattr("robot_control_ros.tuning.engine.package_version", lambda: "0.0.1+another")
    with refuses("version", bound="0.0.1+another"):
        tuned(scheduler=lab.address)


def workers_of(lab):
    from distributed import Client

    with Client(lab.address, set_as_default=False) as client:
        return len(client.nthreads())


def of_this_test(parameters):
    """Workers can't import it."""


def test_a_function_that_workers_can_t_load_is_refused_before_the_first_trial(lab):
    lab.add_worker()
    with refuses("function"):
        tuned(of_this_test, scheduler=lab.address)


def test_a_scheduler_that_isn_t_there_is_refused(monkeypatch):
    monkeypatch.setattr("robot_control_ros.tuning.engine.CONNECTING", 1.0)
    with refuses("scheduler", "tcp://127.0.0.1:1"):
        tuned(scheduler="tcp://127.0.0.1:1")


def test_a_database_keeps_all_digits(storage):
    assert tuned(storage=storage).table() == tuned(storage=storage).table() == tuned().table()
