"""`robot_control init-law`: the law that it writes runs, and the test that it writes passes."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from robot_control_ros.cli.main import main

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def python(*arguments, **more):
    """Run Python in the present folder, with `more` in its environment; the package is this one."""
    paths = os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
    line, environment = [sys.executable, *arguments], os.environ | {"PYTHONPATH": paths} | more
    return subprocess.run(line, env=environment, capture_output=True, text=True, check=False)


@pytest.mark.long
@pytest.mark.starts("pytest and the command, on the files that were written")
@pytest.mark.sim
def test_the_line_that_it_prints_runs_the_law_and_its_test_passes(folder, capsys):
    pytest.importorskip("mujoco")
    assert main(["init-law", "hanging_spring"]) == 0
    line = capsys.readouterr().out.partition("Next: robot_control ")[2].split()
    ran = python("-m", "robot_control_ros.cli", *line)
    assert ran.returncode == 0, ran.stderr
    tested = python("-m", "pytest", "-q", "test_hanging_spring.py")
    assert tested.returncode == 0, tested.stdout


@pytest.mark.long
@pytest.mark.starts("pytest and the command, on the files that were written")
@pytest.mark.sim
def test_it_passes_what_every_law_must(folder):
    assert main(["init-law", "hanging_spring"]) == 0
    law = "hanging_spring:HangingSpring"
    suite = ("-p", "no:xdist", str(ROOT / "test" / "across" / "test_every_law.py"), "-k", "hanging_spring and not long")
    path = os.pathsep.join([str(folder), str(ROOT)])
    tested = python("-m", "pytest", "-q", *suite, ROBOT_CONTROL_LAWS=law, PYTHONPATH=path)
    assert tested.returncode == 0, tested.stdout


@pytest.mark.long
@pytest.mark.starts("pytest and the command, on the files that were written")
@pytest.mark.sim
def test_its_test_finds_what_is_wrong(folder):
    assert main(["init-law", "hanging_spring"]) == 0
    law = folder / "hanging_spring.py"
    law.write_text(law.read_text(encoding="utf-8").replace("gains.gravity * kin", "0.5 * kin"))
    assert python("-m", "pytest", "-q", "test_hanging_spring.py").returncode == 1


@pytest.mark.parametrize("name", ["My_Spring", "class", "1st", "../spring", "_spring", "impedance", "numpy", "taken"])
def test_a_name_that_python_or_the_package_has_is_refused_and_nothing_is_written(name, folder, capsys):
    (folder / "test_taken.py").write_text("")
    assert main(["init-law", name]) == 2
    assert [path.name for path in folder.iterdir()] == ["test_taken.py"]
    assert capsys.readouterr().err.count("\n") == 1
