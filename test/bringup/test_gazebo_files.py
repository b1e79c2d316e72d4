"""What Gazebo's side needs of our files, as a table: each row names where the fact was read.

Read for Jazzy with Harmonic (gz-sim 8), for Kilted with Ionic (gz-sim 9), and for gz-sim 10.
Kilted's gz_ros2_control was read as rolling, from which it branched; its ros_gz as ros2.
"""

import functools
import re
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import xacro
import yaml
from arms import profile_names, robot_cases

from robot_control_ros.bringup import SETUPS
from robot_control_ros.bringup.system import Program
from robot_control_ros.robot.configuration import load_robot, robot_names
from robot_control_ros.robot.model import RobotModel

INTERFACES = {"effort": ("gz", "impedance"), "position": ("gz_position", "admittance")}
ROBOTS = [name for name in robot_names() if "gz" in profile_names(name)]
every_robot = pytest.mark.parametrize("robot", robot_cases(ROBOTS))


class Case:
    """One robot in Gazebo, as its launch file starts it.

    Attributes:
        robot: its configuration.
        interface: what the joints take.
        system: what is started.
        root: the robot description that Gazebo gets.
        world: the world that it is put in.
        controllers: parameters of the controller manager.
    """

    def __init__(self, robot, interface):
        profile, law = INTERFACES[interface]
        self.robot, self.interface = load_robot(robot, profile), interface
        self.system = SETUPS["gazebo"].make(robot=robot, interface=interface, law=law)
        given = self.system.node("robot_state_publisher").parameters["robot_description"]
        self.root = ElementTree.fromstring(
            xacro.process_file(str(given.path), mappings=dict(given.arguments)).toxml()
        )
        (program,) = [part for part in self.system.parts if isinstance(part, Program)]
        self.world = ElementTree.parse(program.command[-1]).getroot().find("world")
        with open(given.arguments["controllers"], encoding="utf-8") as file:
            self.controllers = yaml.safe_load(file)["controller_manager"]["ros__parameters"]
        self.file = given.arguments["controllers"]

    @property
    def hardware(self):
        return self.root.find("ros2_control")

    @property
    def sensor(self):
        return self.root.find("gazebo/sensor")

    def moved(self):
        """The description's joints that ros2_control has, by name."""
        joints = {joint.get("name"): joint for joint in self.root.findall("joint")}
        return {name: joints[name] for name in self.robot.joints}


@functools.cache
def case(robot, interface):
    return Case(robot, interface)


@dataclass(frozen=True)
class Row:
    """A fact, where it was read, and what it says of a case: what is found, and what must be."""

    fact: str
    read: str
    found: Callable[[Case], Any]
    needed: Callable[[Case], Any]


TABLE = [
    # --- the programs that put the arm in, and bridge the clock ---
    Row(
        "a topic, a ROS type, [ for from Gazebo to ROS, a type of Gazebo",
        "ros_gz jazzy, ros2: ros_gz_bridge/README.md, src/parameter_bridge.cpp",
        lambda case: case.system.node("clock_bridge").arguments,
        lambda case: ("/clock@rosgraph_msgs/msg/Clock[gz.msgs.Clock",),
    ),
    Row(
        "create takes the description from a topic, and asks for the only world's name by itself",
        "ros_gz jazzy, ros2: ros_gz_sim/src/create.cpp",
        lambda case: case.system.node("create").arguments,
        lambda case: ("-topic", "robot_description", "-name", case.robot.name),
    ),
    Row(
        "a spawner waits for the manager without end, unless it is given a time",
        "ros2_control jazzy, kilted: controller_manager/controller_manager/spawner.py",
        lambda case: {"--controller-manager-timeout" in node.arguments for node in spawners(case)},
        lambda case: {True},
    ),
    # --- the plug-in and its manager ---
    Row(
        "the plug-in's library and class",
        "gz_ros2_control jazzy, rolling: gz_ros2_control/CMakeLists.txt, src/gz_ros2_control_plugin.cpp",
        lambda case: [plugin.attrib for plugin in case.root.findall("gazebo/plugin")],
        lambda case: [
            {
                "filename": "gz_ros2_control-system",
                "name": "gz_ros2_control::GazeboSimROS2ControlPlugin",
            },
        ],
    ),
    Row(
        "its parameters are a file of ROS parameters; an empty one is refused",
        "gz_ros2_control jazzy, rolling: src/gz_ros2_control_plugin.cpp, Configure()",
        lambda case: case.root.findtext("gazebo/plugin/parameters"),
        lambda case: case.file,
    ),
    Row(
        "joints that no controller has claimed are held",
        "gz_ros2_control jazzy, rolling: doc/index.rst, src/gz_system.cpp, write()",
        lambda case: case.root.findtext("gazebo/plugin/hold_joints"),
        lambda case: "true",
    ),
    Row(
        "the class that speaks for the joints",
        "gz_ros2_control jazzy, rolling: gz_ros2_control/gz_hardware_plugins.xml",
        lambda case: (case.hardware.get("type"), case.hardware.findtext("hardware/plugin")),
        lambda case: ("system", "gz_ros2_control/GazeboSimSystem"),
    ),
    Row(
        "the manager's cycle must not be shorter than the world's step, or it runs late",
        "gz_ros2_control jazzy, rolling: src/gz_ros2_control_plugin.cpp, PreUpdate(), PostUpdate()",
        lambda case: (
            (1.0 / case.controllers["update_rate"])
            / float(case.world.findtext("physics/max_step_size"))
            >= 1
        ),
        lambda case: True,
    ),
    Row(
        "the manager's rate is that of the joint states",
        "gz_ros2_control jazzy, rolling: src/gz_ros2_control_plugin.cpp, PostUpdate()",
        lambda case: case.controllers["update_rate"],
        lambda case: case.robot.profile.rate,
    ),
    # --- joints ---
    Row(
        "a joint that the model doesn't have is left out with no more than a warning",
        "gz_ros2_control jazzy, rolling: src/gz_system.cpp, initSim()",
        lambda case: [joint.get("name") for joint in case.hardware.findall("joint")],
        lambda case: list(case.moved()),
    ),
    Row(
        "only joints with one axis are taken",
        "gz_ros2_control jazzy, rolling: src/gz_ros2_control_plugin.cpp, GetEnabledJoints()",
        lambda case: (
            {joint.get("type") for joint in case.moved().values()}
            <= {"revolute", "continuous", "prismatic"}
        ),
        lambda case: True,
    ),
    Row(
        "a joint starts at the initial_value of its state interface position",
        "gz_ros2_control jazzy, rolling: src/gz_system.cpp, initSim()",
        lambda case: [
            float(joint.findtext("state_interface[@name='position']/param[@name='initial_value']"))
            for joint in case.hardware.findall("joint")
        ],
        lambda case: list(case.robot.home),
    ),
    Row(
        "a force command, once there, has velocity commands ignored: so effort stands alone",
        "gz-sim 8, 9, 10: src/systems/physics/Physics.cc, UpdatePhysics()",
        lambda case: {
            tuple(command.get("name") for command in joint.findall("command_interface"))
            for joint in case.hardware.findall("joint")
        },
        lambda case: {("effort",) if case.interface == "effort" else ("position", "velocity")},
    ),
    Row(
        "Gazebo's joints take no more effort than the description's limit, which is the model's",
        "sdformat 14, 15, 16: src/parser_urdf.cc, CreateJoint()",
        lambda case: [float(joint.find("limit").get("effort")) for joint in case.moved().values()],
        lambda case: list(RobotModel.of(case.robot).limits.effort),
    ),
    # --- the sensor ---
    Row(
        "a sensor of ros2_control is found by the name that Gazebo's has",
        "gz_ros2_control: pull requests 610 and 637",
        lambda case: case.sensor.get("name"),
        lambda case: case.hardware.find("sensor").get("name"),
    ),
    Row(
        "the header's frame_id is gz_frame_id, which must be a frame of the description",
        "gz-sensors 8, 9, 10: src/Sensor.cc, src/ForceTorqueSensor.cc; ros_gz: ros_gz_bridge/src/convert/std_msgs.cpp",
        lambda case: case.sensor.findtext("gz_frame_id"),
        lambda case: case.robot.wrench_frame,
    ),
    Row(
        "by the child (the environment) on the parent (the robot), in the child's axes",
        "sdformat 14, 15, 16: sdf/1.11/forcetorque.sdf",
        lambda case: [
            case.sensor.findtext(f"force_torque/{tag}") for tag in ("frame", "measure_direction")
        ],
        lambda case: ["child", "child_to_parent"],
    ),
    Row(
        "the child of the sensor's joint is the frame that it names",
        "gz-sim 8, 9, 10: src/systems/force_torque/ForceTorque.cc",
        lambda case: case.root.find(f"joint[@name='{sensor_joint(case)}']/child").get("link"),
        lambda case: case.sensor.findtext("gz_frame_id"),
    ),
    Row(
        "the sensor's topic is bridged by the command of docs/robots/gazebo.md",
        "gz-sim 8, 9, 10: src/systems/force_torque/ForceTorque.cc",
        lambda case: case.sensor.findtext("topic"),
        lambda case: "force_torque_sensor",
    ),
    # --- the world ---
    Row(
        "systems, by library and class; a world that lists some gets no others",
        "gz-sim 8, 9, 10: examples/worlds/empty.sdf, sensors.sdf, apply_link_wrench.sdf",
        lambda case: {
            (plugin.get("filename"), plugin.get("name")) for plugin in case.world.findall("plugin")
        },
        lambda case: {
            ("gz-sim-physics-system", "gz::sim::systems::Physics"),
            ("gz-sim-user-commands-system", "gz::sim::systems::UserCommands"),
            ("gz-sim-scene-broadcaster-system", "gz::sim::systems::SceneBroadcaster"),
            ("gz-sim-forcetorque-system", "gz::sim::systems::ForceTorque"),
            ("gz-sim-apply-link-wrench-system", "gz::sim::systems::ApplyLinkWrench"),
        },
    ),
    Row(
        "gravity is 9.8 unless the world says otherwise; the model's is 9.81",
        "sdformat 14, 15, 16: sdf/1.9/world.sdf",
        lambda case: [float(value) for value in case.world.findtext("gravity").split()],
        lambda case: list(
            RobotModel(case.robot.urdf(), case.robot.joints, "world", case.robot.tip).gravity
        ),
    ),
    Row(
        "the topics of wrenches have the world's name, which the docs' commands have, too",
        "gz-sim 8, 9, 10: src/systems/apply_link_wrench/ApplyLinkWrench.cc, Configure()",
        lambda case: case.world.get("name"),
        lambda case: "arm",
    ),
    Row(
        "the arm is fixed to the world, and nothing in the world, such as a floor, can cut a robot, whatever its base",
        "gz-sim 10 with planar_two_link: a floor within its base gave joint angles of 1e79",
        lambda case: [*case.world.iter("collision"), *case.world.iter("include")],
        lambda case: [],
    ),
]


def spawners(case):
    return [node for node in case.system.nodes() if node.executable == "spawner"]


def sensor_joint(case):
    (place,) = [
        element for element in case.root.findall("gazebo") if element.find("sensor") is not None
    ]
    return place.get("reference")


@every_robot
@pytest.mark.parametrize("row", TABLE, ids=lambda row: row.fact[:40])
def test_gazebos_side_gets_what_it_needs(row, robot):
    for interface in INTERFACES:
        one = case(robot, interface)
        assert row.found(one) == row.needed(one), (
            f"{robot}, {interface}: {row.fact}; read in {row.read}"
        )


@every_robot
def test_the_world_is_one_for_every_robot(robot):
    cases = [case(each, interface) for each in ("ur5", robot) for interface in INTERFACES]
    assert len({ElementTree.tostring(each.world) for each in cases}) == 1


def test_the_docs_push_links_that_robots_have_in_the_world_that_there_is():
    page = (Path(__file__).parents[2] / "docs/robots/gazebo.md").read_text(encoding="utf-8")
    pushed = set(re.findall(r'name: "(\w+)::(\w+)"', page))
    assert pushed
    for robot, link in pushed:
        assert link == load_robot(robot).wrench_frame
    topics = set(re.findall(r"-t /world/(\w+)/(wrench\S*)", page))
    world = case("ur5", "effort").world.get("name")
    assert topics == {(world, "wrench"), (world, "wrench/persistent"), (world, "wrench/clear")}


def test_the_docs_bridge_brings_the_sensors_topic_to_where_the_controller_listens():
    page = (Path(__file__).parents[2] / "docs/robots/gazebo.md").read_text(encoding="utf-8")
    (command,) = re.findall(r"ros2 run ros_gz_bridge parameter_bridge \S.*", page)
    robot, topic = load_robot("ur5", "gz"), case("ur5", "effort").sensor.findtext("topic")
    assert f"/{topic}@geometry_msgs/msg/WrenchStamped[gz.msgs.Wrench" in command
    assert f"-r /{topic}:=/{robot.profile.wrench_topic}" in command
