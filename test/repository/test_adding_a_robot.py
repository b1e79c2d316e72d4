"""The guide to adding a robot: its files and commands do what it says they print."""

import os
import re
import runpy
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from robot_control_ros.cli.main import main
from robot_control_ros.robot.configuration import load_robot, robot_names

pytestmark = pytest.mark.sim


@pytest.fixture
def guide():
    return (Path(__file__).resolve().parents[2] / "docs" / "adding_a_robot.md").read_text(
        encoding="utf-8"
    )


@pytest.fixture(autouse=True)
def folder(guide, tmp_path, monkeypatch):
    """Its files, in the folder where the commands are typed."""
    pytest.importorskip("mujoco")
    files = re.findall(r"`([\w.]+)`:\n\n```\w+\n(.*?)```", guide, re.DOTALL)
    assert [name for name, _ in files] == ["desk_arm.urdf", "desk_arm.yaml", "check.py"]
    for name, text in files:
        (tmp_path / name).write_text(text, encoding="utf-8")
    monkeypatch.chdir(tmp_path)


def printed(guide):
    """What stands in the guide as printed."""
    return "\n".join(re.findall(r"```text\n(.*?)```", guide, re.DOTALL))


def commands(guide):
    lines = "\n".join(re.findall(r"```sh\n(.*?)```", guide, re.DOTALL)).splitlines()
    return [
        line.removeprefix("robot_control ")
        for line in lines
        if line.startswith("robot_control simulate")
    ]


@pytest.mark.starts("the lines of the page, in a shell")
def test_the_refusals_are_those_that_it_shows(guide):
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    shown = re.findall(r"```sh\n([^`]*?python -c .*?)```\n\n```text\n(.*?)```", guide, re.DOTALL)
    assert len(shown) == 2
    for command, text in shown:
        run = subprocess.run(
            ["bash", "-c", command],
            text=True,
            capture_output=True,
            env={**os.environ, "PATH": path},
        )
        assert run.stdout == text


@pytest.mark.long
def test_the_simulations_give_the_numbers_that_it_shows(guide, capsys):
    given = commands(guide)
    assert len(given) == 3
    for command in given:
        assert main(shlex.split(command)) == 0
        errors = [line for line in capsys.readouterr().out.splitlines() if "position error" in line]
        assert len(errors) == 1
        assert errors[0] in printed(guide)


def test_the_check_prints_what_it_shows(guide, capsys):
    runpy.run_path("check.py")
    assert capsys.readouterr().out in printed(guide)


def test_the_packages_own_robots_are_where_it_says(guide):
    _, _, section = guide.partition("## Into the package")
    assert "`urdf:` must be\n`<name>/<name>.urdf`" in section
    for name in robot_names():
        assert load_robot(name).urdf_path.parts[-3:] == ("urdf", name, f"{name}.urdf")
