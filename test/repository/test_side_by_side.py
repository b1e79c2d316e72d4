"""Files of tests run side by side: each test runs once, and what fails or crashes makes the run
red.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

SUPPORT = Path(__file__).resolve().parents[1] / "support"
PASSES = "def test_passes():\n    pass\n"
FAILS = "def test_fails():\n    print('seen by the user')\n    assert [1] == [2]\n"
CRASHES = "import os, signal\n\ndef test_crashes():\n    os.kill(os.getpid(), signal.SIGKILL)\n"
TAKEN = """
import os, pathlib, pytest

@pytest.mark.parametrize("k", range(3))
def test_is_noted(k):
    with pathlib.Path({path!r}).open("a") as file:
        file.write(f"{{os.getpid()}} {{__name__}} {{k}}\\n")
"""

pytestmark = pytest.mark.starts("pytest, on files of a few tests")


def run(folder, files, *options):
    """Run pytest on files in two processes; returns its status, its output, and the outcomes."""
    for name, text in files.items():
        (folder / name).mkdir()
        (folder / name / f"test_{name}.py").write_text(text)
    summary = folder / "summary"
    summary.touch()
    variables = {"PYTHONPATH": str(SUPPORT), "ROBOT_CONTROL_TEST_SUMMARY": str(summary)}
    plugins = [word for name in ("parts", "side_by_side") for word in ("-p", name)]
    command = [sys.executable, "-m", "pytest", "-c", os.devnull, "--rootdir", str(folder)]
    ended = subprocess.run(
        [*command, *plugins, "-p", "no:cacheprovider", "--forks=2", *options, str(folder)],
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
        check=False,
    )
    lines = summary.read_text().splitlines()
    counted = [json.loads(line)["outcomes"] for line in lines]
    outcomes = {
        test.partition("::")[2]: outcome for each in counted for test, outcome in each.items()
    }
    return ended.returncode, ended.stdout + ended.stderr, outcomes


def test_each_test_runs_once_in_the_process_that_has_its_file(tmp_path):
    noted = tmp_path / "noted"
    names = [f"many{number}" for number in range(5)]
    status, _, outcomes = run(tmp_path, dict.fromkeys(names, TAKEN.format(path=str(noted))))
    assert (status, set(outcomes.values())) == (pytest.ExitCode.OK, {"passed"})
    lines = [line.split() for line in noted.read_text().splitlines()]
    ran = sorted((module.rpartition("_")[2], int(k)) for _, module, k in lines)
    assert ran == [(name, k) for name in names for k in range(3)]
    processes = {(pid, module) for pid, module, _ in lines}
    assert len(processes) == len(names)
    assert str(os.getpid()) not in {pid for pid, _ in processes}


def test_a_failure_is_told_with_what_was_printed(tmp_path):
    status, output, outcomes = run(tmp_path, {"a": PASSES, "b": FAILS})
    assert status == pytest.ExitCode.TESTS_FAILED
    assert outcomes == {"test_passes": "passed", "test_fails": "failed"}
    assert "seen by the user" in output
    assert "assert [1] == [2]" in output


def test_the_first_failure_ends_the_run_where_that_is_asked(tmp_path):
    waits = "import time\n\ndef test_waits():\n    time.sleep(600.0)\n"
    status, _, outcomes = run(tmp_path, {"a": waits, "b": FAILS}, "-x")
    assert (status, outcomes) == (pytest.ExitCode.TESTS_FAILED, {"test_fails": "failed"})


def test_a_test_whose_process_ends_has_failed(tmp_path):
    status, output, outcomes = run(tmp_path, {"a": CRASHES})
    assert (status, outcomes) == (pytest.ExitCode.TESTS_FAILED, {"test_crashes": "failed"})
    assert "SIGKILL" in output
