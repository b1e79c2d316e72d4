"""CONTRIBUTING.md: its law and its plant, as they stand there."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
TESTS = ("across/test_every_law.py", "across/test_gains.py", "across/test_law_switching.py")

pytestmark = pytest.mark.sim


@pytest.fixture
def blocks():
    """Its Python code."""
    return re.findall(
        r"```python\n(.*?)```", (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8"), re.DOTALL
    )


def run(*command, cwd=ROOT, **environment):
    environment = {**os.environ, **environment}
    return subprocess.run(
        [sys.executable, *command],
        cwd=cwd,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.long
@pytest.mark.starts("pytest, on a law that is not the package's")
def test_its_law_passes_the_tests_that_it_names(blocks, tmp_path):
    text = (
        blocks[0]
        .replace("from ..", "from robot_control_ros.")
        .replace("from .law import register\n", "")
    )
    (tmp_path / "joint_damping.py").write_text(
        text.replace('@register("joint_damping")\n', ""), encoding="utf-8"
    )
    law = {"ROBOT_CONTROL_LAWS": "joint_damping:JointDamping", "PYTHONPATH": str(tmp_path)}
    done = run(
        "-m", "pytest", "-q", *(f"test/{name}" for name in TESTS), "-k", "JointDamping", **law
    )
    assert done.returncode == 0, done.stdout
    for name in TESTS:
        assert (
            f"test/{name}"
            in run("-m", "pytest", "-q", "--co", f"test/{name}", "-k", "JointDamping", **law).stdout
        )


def test_its_plant_holds_where_it_began(blocks, monkeypatch, capsys):
    monkeypatch.syspath_prepend(ROOT / "examples")
    exec(blocks[1], {})
    assert capsys.readouterr().out == "0.0\n"
