"""Names of vendors' drivers: each with branches and source, and the same in
bringup, profiles and docs.
"""

import re
from pathlib import Path

import pytest
import yaml

from robot_control_ros.bringup import SETUPS, NodeSpec
from robot_control_ros.bringup.drivers import UR_TYPES
from robot_control_ros.bringup.gazebo import WORLDS
from robot_control_ros.bringup.system import Program
from robot_control_ros.robot.configuration import load_robot
from robot_control_ros.robot.files import config_names, read_config

ROOT = Path(__file__).parents[2]
# and the driver of each
ROBOTS = {"ur5": "ur_robot_driver", "ur5e": "ur_robot_driver", "gen3": "ros2_kortex"}
OURS = {"forward_position_controller"}  # what our file adds to ros2_kortex's controllers
NAMED = re.compile(r"(?<![\w/])/\w+_(?:controller|broadcaster)/\w+")
VERSION = re.compile(r"\b\d+\.\d+\.\d+\b")

# the arms that share the UR5e's page
FAMILY = sorted(set(UR_TYPES) - set(ROBOTS))
every_robot = pytest.mark.parametrize("robot", ROBOTS)


def names(driver):
    return read_config("driver", driver)[1]


def rows(driver):
    """Every name of a driver with what is said of it, by group and name."""
    groups = {
        group: rows
        for group, rows in names(driver).items()
        if group != "commits" and isinstance(rows, dict)
    }
    return {(group, name): row for group, each in groups.items() for name, row in each.items()}


def page(robot):
    return (ROOT / f"docs/robots/{robot}.md").read_text(encoding="utf-8")


def versions(driver, group, *features):
    """By what `versions` has them for."""
    return {
        key: each
        for feature in features
        for key, each in names(driver)[group][feature]["versions"].items()
    }


def all_versions(*features):
    """Of PolyScope, from the e-Series on."""
    found = [names("ur_robot_driver")["polyscope"][feature]["versions"] for feature in features]
    return {version for each in found for kind, version in each.items() if kind != "cb3"}


def test_a_driver_is_read_by_its_name():
    assert {*ROBOTS.values(), "gazebo", "franka_ros2"} <= set(config_names("drivers"))


@pytest.mark.parametrize("driver", config_names("drivers"))
def test_every_name_has_the_branches_that_were_read_and_a_source(driver):
    known = set(names(driver)["commits"])
    for where, row in rows(driver).items():
        assert set(row["branches"]) <= known, where
        assert row["branches"], where
        assert re.fullmatch(r"([\w-]+/[\w-]+: )?\w[\w./, -]+", row["source"]), where
        assert set(row.get("types", row["branches"])) == set(row["branches"]), where


@pytest.mark.parametrize("driver", sorted(set(ROBOTS.values())))
def test_a_value_of_an_argument_is_fixed_or_an_argument_of_ours(driver):
    setup = SETUPS["ur" if driver == "ur_robot_driver" else "gen3"]
    ours = {argument.name for argument in setup.arguments} | {"controllers_file"}
    for row in names(driver)["arguments"].values():
        assert set(re.findall(r"{(\w+)}", row.get("value", ""))) <= ours


@pytest.mark.parametrize("robot", [*ROBOTS, *FAMILY])
def test_a_profile_has_the_names_of_its_driver(robot):
    driver = names(ROBOTS.get(robot, "ur_robot_driver"))
    profile = load_robot(robot, "real").profile
    controllers = {
        name
        for name, row in driver["controllers"].items()
        if set(row["branches"]) >= {"jazzy", "main"}
    }
    assert profile.fallback_controller in controllers
    assert {profile.controllers[mode] for mode in profile.commands} <= controllers | OURS
    assert f"/{profile.controller_manager}" in driver["nodes"]
    assert {f"/{profile.joint_states}"} <= set(driver["topics"])
    assert {f"/{topic}" for topic in (profile.running_topic, profile.wrench_topic) if topic} <= set(
        driver["topics"]
    )
    assert set(profile.wrench_frames) == set(driver.get("frames", ()))
    assert profile.rate == driver["rates"][robot]["rate"]


@every_robot
def test_a_page_has_the_names_of_its_driver(robot):
    driver, text = names(ROBOTS[robot]), page(robot)
    assert set(NAMED.findall(text)) <= {*driver["topics"], *driver["services"]}
    command = re.compile(rf"ros2 launch {driver['package']} (\S+) ((?:.*\\\n)*.*)")
    (launched,) = command.findall(text)
    (file,) = driver["launch_file"]
    assert f"launch/{launched[0]}" == file
    given = re.findall(r"(\w+):=", launched[1])
    assert given
    assert set(given) <= set(driver["arguments"])
    mentioned = {
        name
        for name in re.findall(r"`(\w+_(?:file|ip|comm))(?::=\w+)?`", text)
        if name != "controllers_file"
    }
    assert mentioned <= set(driver["arguments"])


def test_the_types_of_kinovas_controllers_in_our_file_are_its_own():
    path = ROOT / "config/ros2_control/gen3_forward_position.yaml"
    manager = yaml.safe_load(path.read_text(encoding="utf-8"))["controller_manager"][
        "ros__parameters"
    ]
    ours = {
        name: entry["type"]
        for name, entry in manager.items()
        if isinstance(entry, dict) and name not in OURS
    }
    assert ours == {name: row["type"] for name, row in names("ros2_kortex")["controllers"].items()}


@pytest.mark.parametrize(
    ("row", "features"),
    [
        ("PolyScope for positions, velocities", ["position_velocity"]),
        ("PolyScope for torques", ["effort", "effort_on_polyscope_x", "effort_as_advised"]),
        ("PolyScope for friction scales", ["friction_scales"]),
    ],
)
def test_the_page_of_the_ur5e_says_which_version_is_for_what(row, features):
    (cell,) = re.findall(rf"^\| {row} \| (.*) \|$", page("ur5e"), re.MULTILINE)
    assert set(VERSION.findall(cell)) == all_versions(*features)


@pytest.mark.parametrize(
    ("begin", "feature"), [("Effort", "effort"), ("Friction scales", "friction_scales")]
)
def test_the_notes_of_the_ur5e_say_which_version_is_for_what(begin, feature):
    notes = " ".join(
        note for note in load_robot("ur5e", "real").profile.notes if note.startswith(begin)
    )
    released = set(versions("ur_robot_driver", "releases", feature).values())
    assert set(VERSION.findall(notes)) == all_versions(feature) | released


@pytest.mark.parametrize("robot", ["ur5", "ur5e"])
def test_the_pages_ask_for_the_driver_that_has_everything(robot):
    newest = versions(
        "ur_robot_driver", "releases", "effort", "wrench_at_tcp", "friction_scales", "wrench_frame"
    )
    words = f"ur_robot_driver {newest['jazzy']} (Jazzy) or {newest['kilted']} (Kilted)"
    assert words in page(robot)


def test_the_page_of_the_ur5_has_the_oldest_polyscope():
    versions = names("ur_robot_driver")["polyscope"]["position_velocity"]["versions"]
    assert f"| PolyScope | {versions['cb3']} or newer |" in page("ur5")


def test_the_page_of_the_gen3_has_the_release():
    assert (
        f"ros2_kortex {versions('ros2_kortex', 'releases', 'binary_packages')['jazzy']} for Jazzy"
        in page("gen3")
    )


def test_gazebo_is_started_by_its_names():
    system, driver = SETUPS["gazebo"].make(headless="true"), names("gazebo")
    started = {part.command[0]: part for part in system.parts if isinstance(part, Program)}
    started |= {
        part.executable: part
        for part in system.parts
        if isinstance(part, NodeSpec) and "ros_gz" in part.package
    }
    assert set(started) == set(driver["programs"])
    for name, row in driver["programs"].items():
        assert started[name].package == row["package"]
    assert [word for word in started["gz"].command[1:] if not word.endswith(".sdf")] == driver[
        "programs"
    ]["gz"]["arguments"]
    assert [word for word in started["create"].arguments if word[0] == "-"] == driver["programs"][
        "create"
    ]["arguments"]
    assert set(started["gz"].environment) <= set(driver["environment"])
    assert set(driver["plugins"]) <= set(system.plugins)
    assert set(driver["services"]) == {WORLDS}
