"""How Gazebo is started: its command, where it looks for plug-ins and models,
and what runs already.
"""

import os
import subprocess

import pytest

from robot_control_ros.bringup import SETUPS, gazebo
from robot_control_ros.bringup.gazebo import check_alone, processes
from robot_control_ros.bringup.system import Program
from robot_control_ros.core.errors import ConfigError
from robot_control_ros.robot.files import share_directory

PLUGINS, RESOURCES = "GZ_SIM_SYSTEM_PLUGIN_PATH", "GZ_SIM_RESOURCE_PATH"
EXPORTS = """
<package format="3"><name>models</name><export>
  <gazebo_ros gazebo_model_path="${prefix}/models" gazebo_media_path="/media"/>
  <gazebo_ros plugin_path="${prefix}/plugins"/>
</export></package>
"""


def program(**given):
    (found,) = [part for part in SETUPS["gazebo"].make(**given).parts if isinstance(part, Program)]
    return found


@pytest.mark.parametrize(("headless", "options"), [("false", ("-r",)), ("true", ("-r", "-s"))])
def test_gazebo_runs_the_world_at_once_without_a_shell_between(headless, options):
    world = str(share_directory() / "config/gazebo/arm.sdf")
    found = program(headless=headless)
    assert (found.name, found.command) == ("gazebo", ("gz", "sim", *options, world))


def test_a_world_of_the_users_is_one_argument(tmp_path, monkeypatch):
    (tmp_path / "my world.sdf").touch()
    monkeypatch.chdir(tmp_path)
    assert program(world="my world.sdf").command[-1] == f"{tmp_path}/my world.sdf"


def test_plugins_of_gazebo_count_as_needed():
    assert "gz_ros2_control" in SETUPS["gazebo"].make().plugins


# --- places ---


@pytest.fixture
def prefixes(tmp_path, monkeypatch):
    """Two prefixes: one with gz_ros2_control, one with a package that exports places;
    no variable is set.
    """
    for name, package in (("one", "gz_ros2_control"), ("two", "models")):
        index = tmp_path / name / "share/ament_index/resource_index/packages"
        index.mkdir(parents=True)
        (index / package).touch()
        (tmp_path / name / "share" / package).mkdir()
    (tmp_path / "two/share/models/package.xml").write_text(EXPORTS)
    (tmp_path / "one/share/gz_ros2_control/package.xml").write_text("not XML")
    monkeypatch.setenv(
        "AMENT_PREFIX_PATH", os.pathsep.join(str(tmp_path / name) for name in ("one", "two"))
    )
    for name in (PLUGINS, RESOURCES, "LD_LIBRARY_PATH"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


def test_gazebo_looks_where_packages_have_their_plugins_and_models(prefixes):
    found = {name: value.split(os.pathsep) for name, value in program().environment.items()}
    share = prefixes / "two/share/models"
    assert found == {
        PLUGINS: [f"{share}/plugins", f"{prefixes}/one/lib"],
        RESOURCES: [f"{share}/models", "/media"],
    }


def test_the_users_places_come_first_and_libraries_next(prefixes, monkeypatch):
    monkeypatch.setenv(PLUGINS, "/mine:/too")
    monkeypatch.setenv(RESOURCES, "/worlds")
    monkeypatch.setenv("LD_LIBRARY_PATH", "/opt/ros/lib")
    found = program().environment
    assert found[PLUGINS].startswith("/mine:/too:/opt/ros/lib:")
    assert found[RESOURCES].startswith("/worlds:")


# --- what runs already ---


@pytest.fixture
def services(monkeypatch):
    """What `gz service --list` answers: an exit status and a text, or an error."""

    def answer(found):
        def run(command, timeout, **options):
            assert command == ["gz", "service", "--list"]
            if isinstance(found, Exception):
                raise found
            status, text = found
            return subprocess.CompletedProcess(command, status, text, "")

        monkeypatch.setattr(subprocess, "run", run)

    return answer


def test_beside_no_gazebo_it_may_start(services):
    services((0, "/other/service\n"))
    check_alone()


@pytest.mark.parametrize(
    "found", [(1, ""), FileNotFoundError("gz"), subprocess.TimeoutExpired("gz", 10.0)]
)
def test_where_nobody_can_tell_it_may_start(services, found):
    services(found)
    check_alone()


def test_beside_another_gazebo_it_is_refused_with_what_to_end(services, tmp_path, monkeypatch):
    services((0, "/world/arm/create\n/gazebo/worlds\n"))
    (tmp_path / "4711").mkdir()
    (tmp_path / "4711/cmdline").write_bytes(b"gz sim server\0")
    monkeypatch.setattr(gazebo, "processes", lambda: processes(tmp_path))
    with pytest.raises(ConfigError, match=r"\(4711: gz sim server\)\. End it first: kill 4711\."):
        check_alone()


@pytest.mark.parametrize(
    ("command", "found"),
    [
        (["gz sim -r -s /a/arm.sdf"], True),  # of gz-sim 8 and 9, which rename themselves
        (["gz sim server"], True),
        (["ruby", "/opt/ros/kilted/bin/gz", "sim", "-r"], True),
        (["/opt/ros/rolling/opt/gz_sim_vendor/libexec/gz/sim10/gz-sim-main", "-r"], True),
        (["gz", "topic", "-l"], False),
        (["python3", "-m", "robot_control_ros.bringup.program_session", "gz", "sim"], False),
        (["vim", "notes on gz sim"], False),
    ],
)
def test_processes_of_gazebo_are_known_by_their_command_line(tmp_path, command, found):
    (tmp_path / "4711").mkdir()
    (tmp_path / "4711/cmdline").write_bytes(b"\0".join(word.encode() for word in command) + b"\0")
    assert [number for number, _ in processes(tmp_path)] == [4711] * found
