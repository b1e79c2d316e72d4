"""Launch files with ROS 2's launch itself: in which order processes start, what follows
an end, how all ends.
"""

import os
import signal
import subprocess
import sys
import time

import pytest
from processes import alive

from robot_control_ros.bringup.system import PACKAGE
from robot_control_ros.robot.files import share_directory

pytest.importorskip("launch_ros", reason="needs ROS 2's launch_ros")

SHARE = share_directory()

LAUNCH = """
import sys
from launch import LaunchDescription, LaunchService
from launch.actions import GroupAction, IncludeLaunchDescription
from launch.launch_description_sources import PythonLaunchDescriptionSource

file, group, *given = sys.argv[1:]
source = PythonLaunchDescriptionSource(file)
include = IncludeLaunchDescription(source, launch_arguments=[text.split(":=") for text in given])
service = LaunchService()
actions = [GroupAction([include])] if group == "group" else [include]
service.include_launch_description(LaunchDescription(actions))
sys.exit(service.run())
"""
# In place of an executable: writes its name, process and arguments down; stays, or ends with a
# status.
PROGRAM = """#!/bin/sh
echo "$(basename "$0") $$ $*" >> "{log}"
{then}
"""
DRIVER = """
from launch import LaunchDescription
from launch.actions import DeclareLaunchArgument
from launch.substitutions import LaunchConfiguration
from launch_ros.actions import Node

NAMES = {names}

def generate_launch_description():
    given = [LaunchConfiguration(name) for name in NAMES]
    calibration = LaunchConfiguration("kinematics_params_file", default="none")
    driver = Node(package="driver", executable="driver", arguments=[*given, calibration])
    return LaunchDescription([*map(DeclareLaunchArgument, NAMES), driver])
"""


class Packages:
    """Stands in for all packages that a launch file takes nodes from: executables that only
    write down their start.
    """

    def __init__(self, folder):
        self.folder, self.log, self.process = folder, folder / "log", None
        self.log.touch()
        self.program(folder / "bin/xacro", "echo '<robot/>'")
        (folder / "share").mkdir()
        (folder / "share" / PACKAGE).symlink_to(SHARE)

    def program(self, path, then):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(PROGRAM.format(log=self.log, then=then))
        path.chmod(0o755)

    def executable(self, package, name, then="exec sleep 600"):
        self.package(package)
        self.program(self.folder / "lib" / package / name, then)

    def package(self, package):
        index = self.folder / "share/ament_index/resource_index/packages"
        index.mkdir(parents=True, exist_ok=True)
        (index / package).touch()

    def launch_file(self, package, path, names):
        self.package(package)
        file = self.folder / "share" / package / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(DRIVER.format(names=list(names)))

    def launch(self, name, *, nothing_else=False, group=False, **given):
        """Start a launch file.

        Args:
            name: Name of the file.
            nothing_else: True where what is installed on this machine is not to be found.
            group: True where a group includes the file; its configurations go with the group.
            given: Values of the file's arguments.
        """
        there = {"AMENT_PREFIX_PATH": str(self.folder), "PATH": str(self.folder / "bin")}
        if not nothing_else:
            there = {
                key: os.pathsep.join([place, os.environ.get(key, "")])
                for key, place in there.items()
            }
        variables = {
            **there,
            "PYTHONPATH": os.pathsep.join(sys.path),
            "ROS_LOG_DIR": str(self.folder),
        }
        arguments = [
            str(SHARE / f"launch/{name}.launch.py"),
            "group" if group else "alone",
            *(f"{key}:={value}" for key, value in given.items()),
        ]
        with (self.folder / "out").open("wb") as out:
            self.process = subprocess.Popen(
                [sys.executable, "-c", LAUNCH, *arguments],
                env=os.environ | variables,
                stdout=out,
                stderr=out,
            )

    @property
    def out(self):
        return (self.folder / "out").read_text(errors="replace")

    def started(self):
        """Names, process numbers and arguments, in the order of the starts."""
        return [line.split(" ", 2) for line in self.log.read_text().splitlines()]

    def until(self, condition):
        """The runner ends a test that waits in vain."""
        while not condition():
            time.sleep(0.02)  # between two looks

    def until_the_end(self):
        self.process.wait()
        print(self.out)  # seen where the test fails

    def runs(self, count):
        """Wait until so many processes have started."""
        self.until(lambda: len(self.started()) >= count)
        return self.started()

    def end(self):
        if self.process is not None and self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
            self.process.wait()


@pytest.fixture
def packages(tmp_path):
    packages = Packages(tmp_path)
    for package, name in (
        (PACKAGE, "controller"),
        (PACKAGE, "watchdog"),
        ("controller_manager", "ros2_control_node"),
        ("robot_state_publisher", "robot_state_publisher"),
        ("driver", "driver"),
    ):
        packages.executable(package, name)
    for package, name in ((PACKAGE, "wait_active"), ("controller_manager", "spawner")):
        packages.executable(package, name, "exit 0")
    for package in ("joint_state_broadcaster", "forward_command_controller"):
        packages.package(package)
    yield packages
    packages.end()


MOCK = [
    {"xacro"},
    {"robot_state_publisher", "ros2_control_node", "spawner"},
    {"spawner"},
    {"spawner"},
    {"watchdog", "controller", "wait_active"},
    {"spawner"},
]


def test_processes_start_in_stages_and_end_together(packages):
    packages.launch("mock", robot="ur5e")
    started = packages.runs(sum(map(len, MOCK)))
    for stage in MOCK:
        assert {name for name, *_ in started[: len(stage)]} == stage
        started = started[len(stage) :]
    spawned = [
        arguments.split()[0] for name, _, arguments in packages.started() if name == "spawner"
    ]
    forward = "forward_position_controller"
    assert spawned == [
        "joint_state_broadcaster",
        "force_torque_sensor_broadcaster",
        forward,
        forward,
    ]
    inactive = [
        "--inactive" in arguments for name, _, arguments in packages.started() if name == "spawner"
    ]
    assert inactive == [False, False, True, False]
    packages.end()
    assert packages.process.returncode == 0
    assert not any(alive(number) for _, number, _ in packages.started())


def test_in_a_group_whose_configurations_have_gone_all_stages_start(packages):
    packages.launch("mock", group=True)
    started = packages.runs(sum(map(len, MOCK)))
    assert {name for name, *_ in started} == set().union(*MOCK)
    packages.end()
    assert packages.process.returncode == 0


def test_when_the_controller_dies_the_others_have_time_to_bring_the_arm_to_rest(packages):
    packages.launch("mock")
    numbers = {name: int(number) for name, number, _ in packages.runs(sum(map(len, MOCK)))}
    os.kill(numbers["controller"], signal.SIGKILL)
    packages.until_the_end()
    assert "controller has ended: everything else ends in 2 s" in packages.out
    assert packages.process.returncode == 1
    assert not any(alive(number) for number in numbers.values())


def test_a_spawner_that_fails_ends_all_and_says_so(packages):
    packages.executable("controller_manager", "spawner", "exit 1")
    packages.launch("mock")
    packages.until_the_end()
    assert (
        "spawn_joint_state_broadcaster has ended with exit status 1: everything else ends"
        in packages.out
    )
    assert packages.process.returncode == 1
    assert {name for name, *_ in packages.started()} <= MOCK[0] | MOCK[1]


def test_on_a_real_arm_the_driver_gets_its_arguments_and_the_watchdog_goes_on_without_the_controller(
    packages,
):
    """Also those arguments that we do not know."""
    names = ("ur_type", "robot_ip", "activate_joint_controller")
    packages.launch_file("ur_robot_driver", "launch/ur_control.launch.py", names)
    packages.launch(
        "ur", ur_type="ur5", robot_ip="1.2.3.4", kinematics_params_file="/my/calibration.yaml"
    )
    started = packages.runs(5)
    (driver,) = [arguments for name, _, arguments in started if name == "driver"]
    assert driver.startswith("ur5 1.2.3.4 false /my/calibration.yaml")
    assert started[-1][0] == "spawner"
    numbers = {name: int(number) for name, number, _ in started}
    os.kill(numbers["controller"], signal.SIGKILL)
    packages.until(lambda: "controller has ended; the others keep the robot safe" in packages.out)
    assert alive(numbers["watchdog"])
    assert alive(numbers["driver"])
    packages.end()
    assert not alive(numbers["watchdog"])
    assert packages.process.returncode == 1


def test_what_is_missing_is_told_at_once_and_nothing_starts(packages):
    packages.launch("gazebo", nothing_else=True)
    packages.until_the_end()
    for name in ("gz", "ros_gz_sim", "ros_gz_bridge", "gz_ros2_control"):
        assert name in packages.out
    assert packages.process.returncode == 1
    assert not packages.started()


# In place of Gazebo with its window, which is several processes in process groups of their own.
GAZEBO = """
if [ "$1" = service ]; then cat "{services}"; exit 0; fi
sleep 600 &
echo "window $! " >> "{log}"
trap '' INT TERM
wait
"""


@pytest.fixture
def gazebo(packages):
    packages.services = packages.folder / "services"
    packages.services.touch()
    packages.program(
        packages.folder / "bin/gz", GAZEBO.format(services=packages.services, log=packages.log)
    )
    packages.executable("ros_gz_bridge", "parameter_bridge")
    packages.executable("ros_gz_sim", "create", "exit 0")
    for name in ("gz_ros2_control", "joint_state_broadcaster", "forward_command_controller"):
        packages.package(name)
    return packages


def until_complete(packages):
    """Numbers by name, once the last spawner has run and Gazebo with its window is there."""

    def complete():
        names = [name for name, *_ in packages.started()]
        return names.count("spawner") == 4 and "window" in names

    packages.until(complete)
    return {
        name: int(number)
        for name, number, arguments in packages.started()
        if not arguments.startswith("service")
    }


def test_gazebo_ends_with_a_controller_that_was_killed(gazebo):
    gazebo.launch("gazebo")
    numbers = until_complete(gazebo)
    os.kill(numbers["controller"], signal.SIGKILL)
    gazebo.until_the_end()
    assert gazebo.process.returncode == 1
    assert not [name for name, number in numbers.items() if alive(number)]


def test_all_ends_with_gazebo(gazebo):
    gazebo.launch("gazebo", headless="true")
    numbers = until_complete(gazebo)
    os.kill(numbers["gz"], signal.SIGKILL)
    gazebo.until_the_end()
    assert "gazebo has ended: everything else ends in 2 s" in gazebo.out
    assert gazebo.process.returncode == 1
    assert not [name for name, number in numbers.items() if alive(number)]


def test_ctrl_c_ends_gazebo_and_is_no_failure(gazebo):
    gazebo.launch("gazebo")
    numbers = until_complete(gazebo)
    gazebo.end()
    assert gazebo.process.returncode == 0
    assert not [name for name, number in numbers.items() if alive(number)]


def test_what_cannot_be_and_what_is_beside_another_gazebo_is_told_and_nothing_starts(gazebo):
    gazebo.launch("mock", robot="nonsense")
    gazebo.until_the_end()
    assert "unknown robot 'nonsense'; robots: " in gazebo.out
    assert gazebo.process.returncode == 1
    assert not gazebo.started()
    gazebo.services.write_text("/gazebo/worlds\n/world/arm/create\n")
    gazebo.launch("gazebo")
    gazebo.until_the_end()
    assert "Gazebo runs already" in gazebo.out
    assert gazebo.process.returncode == 1
    assert [arguments for _, _, arguments in gazebo.started()] == ["service --list"]
