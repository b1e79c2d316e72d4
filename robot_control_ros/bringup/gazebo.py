"""A robot in Gazebo, behind gz_ros2_control, our controller in front of it.

Names of packages, programs and arguments: config/drivers/gazebo.yaml. Search paths as in
ros_gz_sim's gz_sim.launch.py; ``gz service`` is of gz-transport (src/cmd/service_main.cc).
"""

from __future__ import annotations

import os
import re
import subprocess
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator
from pathlib import Path

from ..core.errors import ConfigError
from ..robot.configuration import load_robot
from ..robot.files import ament_prefixes, has_package, share_directory
from .package_nodes import CONTROL, PREFIX, ROBOT, SWITCH
from .parameter_files import parameter_file
from .ros2_control import (
    CONTROLLERS_FILE,
    controllers,
    forward_controller,
    in_front,
    spawner,
    state_publisher,
    wrench_broadcaster,
    xacro,
)
from .system import Argument, Given, NodeSpec, Program, Setup, System

# by the interface that joints have in one run
PROFILES = {"effort": "gz", "position": "gz_position"}
PLUGINS = ("gz_ros2_control", "joint_state_broadcaster", "forward_command_controller")
PLUGIN_PATH = "GZ_SIM_SYSTEM_PLUGIN_PATH"
RESOURCE_PATH = "GZ_SIM_RESOURCE_PATH"
WORLDS = "/gazebo/worlds"  # the service that every Gazebo offers
LISTED_WITHIN = 10.0  # s for the list of Gazebo's services


def gazebo(given: Given) -> System:
    """Gazebo with gz_ros2_control, our controller in front of it.

    The arm stands until a controller is active; one that takes efforts drops it until the first
    command comes. So ours runs before the forward controller is activated. Its model is that of
    Gazebo's description.

    Raises:
        ConfigError: see :func:`mock`; no such world.
    """
    interface = given["interface"]
    config = load_robot(given["robot"], PROFILES[interface], given["prefix"])
    forward = forward_controller(given, config)
    front = in_front(given, config, forward, description="topic")
    world = parameter_file("world", given["world"] or share_directory() / "config/gazebo/arm.sdf")
    file = controllers(given, config)
    description = xacro(config, hardware=f"gz_{interface}", controllers=str(file))
    bridged = ("/clock@rosgraph_msgs/msg/Clock[gz.msgs.Clock",)
    clock = NodeSpec("parameter_bridge", "clock_bridge", package="ros_gz_bridge", arguments=bridged)
    spawned = ("-topic", "robot_description", "-name", config.name)
    create = NodeSpec("create", "create", package="ros_gz_sim", arguments=spawned)
    simulation = simulator(world, given["headless"] == "true")
    publisher = state_publisher(description, simulated_time=True)
    states = spawner(file, "joint_state_broadcaster")
    return System(
        (simulation, publisher, clock, create, states, wrench_broadcaster(file), *front),
        plugins=PLUGINS,
        checks=(check_alone,),
        forward=forward,
    )


def simulator(world: Path, headless: bool) -> Program:
    """Gazebo, which runs a world at once.

    It is started here, not by ros_gz_sim's launch file: that has a shell between, which keeps
    signals to itself.
    """
    options = ("-r", "-s") if headless else ("-r",)
    return Program(("gz", "sim", *options, str(world)), "gazebo", "ros_gz_sim", search_paths())


def search_paths() -> dict[str, str]:
    """Places where Gazebo looks for plug-ins and models, by environment variable.

    The user's places come first, then those of the installed ROS packages.
    """
    plugins = list(_exported("plugin_path"))
    resources = list(_exported("gazebo_model_path", "gazebo_media_path"))
    plugins += [
        str(prefix / "lib") for prefix in ament_prefixes() if has_package(prefix, "gz_ros2_control")
    ]
    found = {
        PLUGIN_PATH: [os.environ.get(PLUGIN_PATH), os.environ.get("LD_LIBRARY_PATH"), *plugins],
        RESOURCE_PATH: [os.environ.get(RESOURCE_PATH), *resources],
    }
    joined = {name: os.pathsep.join(filter(None, places)) for name, places in found.items()}
    return {name: value for name, value in joined.items() if value}


def _exported(*attributes: str) -> Iterator[str]:
    """Values of <export><gazebo_ros …/></export> in package.xml files.

    ${prefix} in them is the package's share folder.
    """
    for file in (
        file for prefix in ament_prefixes() for file in sorted(prefix.glob("share/*/package.xml"))
    ):
        try:
            exports = ElementTree.parse(file).findall("export/gazebo_ros")
        except (OSError, ElementTree.ParseError):
            continue  # not ours to judge
        values = (export.get(attribute) for attribute in attributes for export in exports)
        yield from (value.replace("${prefix}", str(file.parent)) for value in values if value)


def check_alone() -> None:
    """See that no Gazebo runs already: the arm would be put into that one, whose manager knows
    another arm.

    Raises:
        ConfigError: one does; names its processes, and says what to do.
    """
    try:
        listed = subprocess.run(
            ["gz", "service", "--list"],
            capture_output=True,
            text=True,
            check=False,
            timeout=LISTED_WITHIN,
        )
    except (OSError, subprocess.TimeoutExpired):
        return  # it can't be told
    if WORLDS in listed.stdout.split():
        found = list(processes())
        named = (
            "; ".join(f"{number}: {command}" for number, command in found) or "not on this machine"
        )
        end = (
            f"End it first: kill {' '.join(str(number) for number, _ in found)}. " if found else ""
        )
        raise ConfigError(
            f"Gazebo runs already ({named}). {end}To run two, give each its own GZ_PARTITION and ROS_DOMAIN_ID"
        )


def processes(folder: Path = Path("/proc")) -> Iterator[tuple[int, str]]:
    """Numbers and command lines of the processes of Gazebo on this machine (Linux)."""
    for file in folder.glob("[0-9]*/cmdline"):
        try:
            command = file.read_bytes().replace(b"\0", b" ").decode(errors="replace").strip()
        except OSError:
            continue  # it has ended
        if re.match(r"(ruby )?(\S*/)?gz[ -]sim\b", command):  # a Ruby script, or what it has become
            yield int(file.parent.name), command


GAZEBO = Setup(
    (
        ROBOT,
        *CONTROL,
        CONTROLLERS_FILE,
        PREFIX,
        Argument(
            "interface", "effort", "What the joints take in this run of Gazebo.", tuple(PROFILES)
        ),
        Argument(
            "world", "", "SDF file of a world, see docs/robots/gazebo.md; empty for the package's."
        ),
        Argument("headless", "false", "Run Gazebo without its window.", SWITCH),
    ),
    gazebo,
)
