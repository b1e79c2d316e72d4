"""What has to be installed for a system, and what is said where it isn't."""

from pathlib import Path

import pytest

from robot_control_ros.bringup.requirements import check_requirements
from robot_control_ros.bringup.system import LaunchFile, NodeSpec, Program, System, Xacro
from robot_control_ros.core.errors import ConfigError

SYSTEM = System(
    (
        Program(("gz", "sim"), "gazebo", "ros_gz_sim"),
        LaunchFile("ur_robot_driver", "launch/any.py", {}),
        NodeSpec("controller", "controller"),
        NodeSpec(
            "any",
            "any",
            {"robot_description": Xacro(Path("any.xacro"), {})},
            package="controller_manager",
        ),
    ),
    plugins=("gz_ros2_control",),
)
PACKAGES = ("controller_manager", "gz_ros2_control", "ur_robot_driver")
PROGRAMS = ("gz", "xacro")


@pytest.fixture
def install(tmp_path, monkeypatch):
    """Installs packages and programs; nothing else is there."""
    index, programs = tmp_path / "share/ament_index/resource_index/packages", tmp_path / "bin"
    index.mkdir(parents=True)
    programs.mkdir()
    monkeypatch.setenv("AMENT_PREFIX_PATH", f"/nowhere:{tmp_path}")
    monkeypatch.setenv("PATH", str(programs))
    monkeypatch.setenv("ROS_DISTRO", "kilted")

    def put(*names):
        for name in names:
            place = programs if name in PROGRAMS else index
            (place / name).touch(mode=0o755)

    return put


def test_where_all_is_installed_nothing_is_said(install):
    install(*PACKAGES, *PROGRAMS)
    check_requirements(SYSTEM)


@pytest.mark.parametrize("missing", [*PACKAGES, *PROGRAMS])
def test_what_is_missing_is_named_alone(install, missing):
    install(*({*PACKAGES, *PROGRAMS} - {missing}))
    with pytest.raises(ConfigError) as raised:
        check_requirements(SYSTEM)
    named, _, rest = str(raised.value).partition(". ")
    assert (
        named
        == f"not installed here: {'program' if missing in PROGRAMS else 'ROS package'} {missing}"
    )
    debian = {"gz": "ros-gz-sim"}.get(missing, missing.replace("_", "-"))
    assert f"sudo apt-get install ros-kilted-{debian}. " in rest


def test_all_that_is_missing_is_told_at_once(install):
    with pytest.raises(ConfigError) as raised:
        check_requirements(SYSTEM)
    assert all(name in str(raised.value) for name in (*PACKAGES, *PROGRAMS))
    assert "robot_control_ros" not in str(raised.value)


def test_a_systems_own_check_comes_when_all_is_installed(install):
    def refuse():
        raise ConfigError("not now")

    checked = System(SYSTEM.parts, SYSTEM.plugins, (refuse,))
    with pytest.raises(ConfigError, match="not installed here"):
        check_requirements(checked)
    install(*PACKAGES, *PROGRAMS)
    with pytest.raises(ConfigError, match="not now"):
        check_requirements(checked)
