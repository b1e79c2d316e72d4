"""`robot_control list`: everything that a name can be given for, and what goes together."""

import json
import re
from pathlib import Path

import pytest
from documented_topics import PAGES

from robot_control_ros.cli.main import main
from robot_control_ros.core.errors import ConfigError
from robot_control_ros.laws import law_names
from robot_control_ros.laws.running_law import RunningLaw
from robot_control_ros.robot.configuration import load_robot, robot_names
from robot_control_ros.robot.files import config_names

ROOT = Path(__file__).resolve().parents[2]


def listed(capsys, kind):
    assert main(["list", kind]) == 0
    return capsys.readouterr().out.splitlines()


@pytest.mark.parametrize(
    ("kind", "names"),
    [
        ("robots", robot_names),
        ("laws", law_names),
        ("scenes", lambda: config_names("scenes")),
        ("grippers", lambda: config_names("grippers")),
        ("imperfections", lambda: config_names("imperfections")),
    ],
)
def test_each_name_has_a_line(kind, names, capsys):
    assert [line.split()[0] for line in listed(capsys, kind)] == names()


def test_the_laws_of_a_profile_are_those_that_it_takes(capsys):
    for line in listed(capsys, "profiles"):
        robot, profile = line.split()[:2]
        named = line.partition("laws: ")[2].split(", ")
        config = load_robot(robot, profile)
        for law in law_names():
            if law in named:
                RunningLaw(config, law)
            else:
                with pytest.raises(ConfigError):
                    RunningLaw(config, law)


def test_the_topics_are_on_the_pages_of_their_nodes(capsys):
    assert main(["list", "topics"]) == 2
    pages = re.findall(r"docs/\w+\.md", capsys.readouterr().err)
    assert {f"docs/{page}" for page in PAGES.values()} <= set(pages)
    assert all((ROOT / page).is_file() for page in pages)


def test_without_a_kind_all_are_listed(capsys):
    assert main(["list"]) == 0
    shown = capsys.readouterr().out
    assert all(f"{kind}:\n" in shown for kind in ("robots", "laws", "scenes", "profiles"))


@pytest.mark.parametrize("kind", ["robots", "laws", "profiles", "scenes"])
def test_programs_get_the_names_of_the_text_and_values(kind, capsys):
    names = [line.split("  ")[0].strip() for line in listed(capsys, kind)]
    assert main(["list", kind, "--json"]) == 0
    entries = json.loads(capsys.readouterr().out)
    assert list(entries) == names


def test_the_values_for_programs_are_those_of_robot_law_and_profile(capsys, tmp_path):
    file = tmp_path / "lists.json"
    assert main(["list", "--json", str(file)]) == 0
    assert capsys.readouterr().out == ""
    lists = json.loads(file.read_text("utf-8"))
    assert lists["robots"]["gen3"]["joints"] == list(load_robot("gen3").joints)
    assert lists["laws"]["force_control"]["needs_wrench"] is True
    assert lists["laws"]["joint_impedance"]["targets"] == "joint"
    real = lists["profiles"]["ur5e real"]
    assert (real["robot"], real["profile"]) == ("ur5e", "real")
    assert "impedance" in real["laws"]
