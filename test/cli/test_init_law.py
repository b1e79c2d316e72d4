"""`robot_control init-law`: the law that it writes runs, and the test that it writes passes."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from robot_control_ros.cli.main import main
from robot_control_ros.control.loop import ControlLoop
from robot_control_ros.core.types import RobotState
from robot_control_ros.robot.configuration import load_robot

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
@pytest.mark.parametrize("kind", [[], ["--compiled"]], ids=["plain", "compiled"])
def test_the_line_that_it_prints_runs_the_law_and_its_test_passes(kind, folder, capsys):
    pytest.importorskip("mujoco")
    assert main(["init-law", "hanging_spring", *kind]) == 0
    line = capsys.readouterr().out.partition("Next: robot_control ")[2].split()
    ran = python("-m", "robot_control_ros.cli", *line)
    assert ran.returncode == 0, ran.stderr
    tested = python("-m", "pytest", "-q", "test_hanging_spring.py")
    assert tested.returncode == 0, tested.stdout


@pytest.mark.long
@pytest.mark.starts("pytest and the command, on the files that were written")
@pytest.mark.sim
@pytest.mark.parametrize("kind", [[], ["--compiled"]], ids=["plain", "compiled"])
def test_it_passes_what_every_law_must(kind, folder):
    assert main(["init-law", "hanging_spring", *kind]) == 0
    law = "hanging_spring:HangingSpring"
    suite = (
        "-p",
        "no:xdist",
        str(ROOT / "test" / "across" / "test_every_law.py"),
        "-k",
        "hanging_spring and not long",
    )
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


@pytest.mark.parametrize(
    "name", ["My_Spring", "class", "1st", "../spring", "_spring", "impedance", "numpy", "taken"]
)
def test_a_name_that_python_or_the_package_has_is_refused_and_nothing_is_written(
    name, folder, capsys
):
    (folder / "test_taken.py").write_text("")
    assert main(["init-law", name]) == 2
    assert [path.name for path in folder.iterdir()] == ["test_taken.py"]
    assert capsys.readouterr().err.count("\n") == 1


def test_a_compiled_law_commands_what_the_plain_one_does(folder, monkeypatch):
    assert main(["init-law", "plain_spring"]) == 0
    assert main(["init-law", "compiled_spring", "--compiled"]) == 0
    monkeypatch.syspath_prepend(folder)
    robot = load_robot("ur5")
    loops = [
        ControlLoop(robot, f"{kind}_spring:{kind.capitalize()}Spring")
        for kind in ("plain", "compiled")
    ]
    for k in range(50):
        q = np.array(robot.home) + 0.02 * np.sin(0.1 * k + np.arange(6))
        state = RobotState(k * robot.period, q, np.full(6, 0.1), np.zeros(6))
        plain, compiled = (loop.tick(state).values for loop in loops)
        np.testing.assert_allclose(compiled, plain, rtol=0, atol=1e-12)
        terms = [loop.report().terms for loop in loops]
        for name in ("spring", "damping", "gravity"):
            np.testing.assert_allclose(terms[1][name], terms[0][name], rtol=0, atol=1e-12)
