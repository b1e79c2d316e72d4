"""config/ros2_control/: files that controller managers, controllers and drivers read."""

import math
import xml.etree.ElementTree as ElementTree
from functools import cache

import pytest
import xacro
import yaml
from arms import configuration_cases, profile_names

from robot_control_ros.core.types import CommandMode
from robot_control_ros.robot.configuration import load_robot, robot_names
from robot_control_ros.robot.files import share_directory
from robot_control_ros.robot.profile import CONTROLLERS

FOLDER = share_directory() / "config" / "ros2_control"
ROBOTS = {name: load_robot(name) for name in robot_names() if "mock" in profile_names(name)}
FILES = {path.stem: path for path in FOLDER.glob("*.yaml")}
KINOVA = "gen3_forward_position"
DRIVE = FOLDER / "ethercat" / "cia402_servo.yaml"
RESET = "fault_reset_controller"

FORWARD = "forward_command_controller/ForwardCommandController"
TRAJECTORY = "joint_trajectory_controller/JointTrajectoryController"
# By type, the parameters written here out of those that there are: ros2_controllers,
# <package>/src/*_parameters.yaml; ros2_control,
# controller_manager/src/controller_manager_parameters.yaml; ros2_kortex, ros2_controllers.yaml.
PARAMETERS = {
    FORWARD: {"joints", "interface_name"},
    TRAJECTORY: {"joints", "command_interfaces", "state_interfaces", "constraints"},
    "joint_state_broadcaster/JointStateBroadcaster": set(),
    "force_torque_sensor_broadcaster/ForceTorqueSensorBroadcaster": {"sensor_name", "frame_id"},
    "picknik_twist_controller/PicknikTwistController": {"joint", "interface_names"},
    "picknik_reset_fault_controller/PicknikResetFaultController": set(),
}
MANAGER = {"update_rate", "enforce_command_limits"}

every_robot = pytest.mark.parametrize("robot", configuration_cases(ROBOTS))
every_file = pytest.mark.parametrize("name", FILES)


def read(name):
    return yaml.safe_load(FILES[name].read_text(encoding="utf-8"))


def types(name):
    """By name, the controllers' types."""
    manager = read(name)["controller_manager"]["ros__parameters"]
    return {key: value["type"] for key, value in manager.items() if isinstance(value, dict)}


def parameters(name, controller):
    return read(name).get(controller, {"ros__parameters": {}})["ros__parameters"]


def system(robot, hardware):
    """The ros2_control tag of a robot."""
    return processed(
        robot.urdf_path.with_name(f"{robot.name}.urdf.xacro"), FILES[robot.name], hardware
    )


@cache
def processed(path, controllers, hardware):
    given = {"hardware": hardware, "controllers": str(controllers), "slave_config": str(DRIVE)}
    return ElementTree.fromstring(xacro.process_file(str(path), mappings=given).toxml()).find(
        "ros2_control"
    )


def interfaces(robot, hardware, kind):
    """What every joint has, as ``command_interface`` or ``state_interface``."""
    joints = system(robot, hardware).findall("joint")
    return set.intersection(
        *({interface.get("name") for interface in joint.findall(kind)} for joint in joints)
    )


def test_there_is_a_file_for_every_robot():
    assert set(FILES) == {*ROBOTS, KINOVA}


@every_file
def test_every_section_is_that_of_a_declared_controller_and_has_only_what_there_is(name):
    data, declared = read(name), types(name)
    assert set(data) <= {"controller_manager", *declared}
    assert all(list(section) == ["ros__parameters"] for section in data.values())
    assert {
        key for key in data["controller_manager"]["ros__parameters"] if key not in declared
    } <= MANAGER
    for controller, type_name in declared.items():
        assert set(parameters(name, controller)) <= PARAMETERS[type_name], controller


@every_file
def test_ros_can_read_it(name):
    """ROS's own parser knows no anchors and aliases."""
    tokens = [type(token) for token in yaml.scan(FILES[name].read_text(encoding="utf-8"))]
    assert yaml.AnchorToken not in tokens
    assert yaml.AliasToken not in tokens


@every_file
def test_controllers_take_the_robots_joints_in_its_order(name):
    robot = ROBOTS[name.removesuffix("_forward_position")]
    for controller, type_name in types(name).items():
        if type_name in (FORWARD, TRAJECTORY):
            assert parameters(name, controller)["joints"] == list(robot.joints), controller


@every_robot
@pytest.mark.parametrize("profile", ["mock", "gz", "gz_position"])
def test_a_profile_has_its_rate_its_controllers_and_their_interfaces(robot, profile):
    chosen = load_robot(robot.name, profile).profile
    assert read(robot.name)["controller_manager"]["ros__parameters"]["update_rate"] == chosen.rate
    hardware = {"gz": "gz_effort"}.get(profile, profile)
    assert {mode.value for mode in chosen.commands} == interfaces(
        robot, hardware, "command_interface"
    )
    declared = types(robot.name)
    for mode in chosen.commands:
        controller = chosen.controllers[mode]
        assert declared[controller] == FORWARD
        assert parameters(robot.name, controller)["interface_name"] == mode.value
    assert chosen.fallback_controller in ("", *declared)


@every_robot
def test_forward_controllers_of_all_modes_are_there(robot):
    forward = {name for name, type_name in types(robot.name).items() if type_name == FORWARD}
    assert forward - {RESET} == {CONTROLLERS[mode] for mode in CommandMode}


def test_a_robot_with_drives_can_reset_their_faults():
    with_drives = {robot.name for robot in ROBOTS.values() if "icube" in profile_names(robot.name)}
    assert with_drives == {name for name in FILES if RESET in types(name)} == {"ur5"}
    for name in with_drives:
        assert parameters(name, RESET)["interface_name"] in interfaces(
            ROBOTS[name], "ethercat", "command_interface"
        )


@every_robot
def test_drives_made_of_a_topology_have_the_rate_of_the_profile_and_of_the_manager(robot):
    folder = FOLDER / "ethercat" / robot.name
    assert folder.is_dir() == ("icube" in profile_names(robot.name))
    if folder.is_dir():
        rate = load_robot(robot.name, "icube").profile.rate
        assert read(robot.name)["controller_manager"]["ros__parameters"]["update_rate"] == rate
        assert yaml.safe_load((folder / "bus.yaml").read_text(encoding="utf-8"))["rate"] == rate
        for joint in robot.joints:
            slave = yaml.safe_load((folder / f"{joint}.yaml").read_text(encoding="utf-8"))
            cycle = {
                entry["sub_index"]: entry["value"]
                for entry in slave["sdo"]
                if entry["index"] == 0x60C2
            }
            assert cycle[1] * 10.0 ** cycle[2] == pytest.approx(1.0 / rate)


@every_robot
@pytest.mark.parametrize("hardware", ["mock", "gz_position", "topic", "ethercat"])
def test_trajectories_run_where_positions_are_taken(robot, hardware):
    wanted = parameters(robot.name, "joint_trajectory_controller")
    assert set(wanted["command_interfaces"]) <= interfaces(robot, hardware, "command_interface")
    assert set(wanted["state_interfaces"]) <= interfaces(robot, hardware, "state_interface")


@every_robot
@pytest.mark.parametrize("hardware", ["mock", "gz_effort", "gz_position"])
def test_the_broadcaster_reads_the_sensor_and_names_the_wrench_frame(robot, hardware):
    settings = parameters(robot.name, "force_torque_sensor_broadcaster")
    assert settings["sensor_name"] == system(robot, hardware).find("sensor").get("name")
    assert settings["frame_id"] == robot.wrench_frame


@every_robot
def test_drives_have_the_cycle_time_of_the_rate_that_is_asked_for(robot):
    (rate,) = [
        p.text
        for p in system(robot, "ethercat").iter("param")
        if p.get("name") == "control_frequency"
    ]
    assert int(rate) == load_robot("ur5", "icube").profile.rate
    cycle = {
        entry["sub_index"]: entry["value"] for entry in drive()["sdo"] if entry["index"] == 0x60C2
    }
    assert cycle[1] * 10.0 ** cycle[2] == pytest.approx(1.0 / int(rate))


def test_kinovas_file_has_what_kinovas_launch_file_spawns():
    """kortex_bringup/launch/kortex_control.launch.py, without a gripper;
    robot_controller is ours.
    """
    spawned = {
        "joint_state_broadcaster",
        "twist_controller",
        "fault_controller",
        "forward_position_controller",
    }
    assert spawned <= set(types(KINOVA))
    real = load_robot("gen3", "real").profile
    assert read(KINOVA)["controller_manager"]["ros__parameters"]["update_rate"] == real.rate
    assert {real.controllers[mode] for mode in real.commands} == {"forward_position_controller"}
    assert real.fallback_controller in ("", *types(KINOVA))


def drive():
    return yaml.safe_load(DRIVE.read_text(encoding="utf-8"))


def channels(direction):
    (mapping,) = drive()[direction]
    return {channel["index"]: channel for channel in mapping["channels"]}


def test_a_drive_exchanges_the_objects_of_cia_402_with_their_types():
    """CiA 402: control and status word, mode and its display, position, velocity and
    torque, target and actual.
    """
    sizes = {
        index: channel["type"]
        for direction in ("rpdo", "tpdo")
        for index, channel in channels(direction).items()
    }
    assert list(channels("rpdo")) == [0x6040, 0x6060, 0x607A, 0x60FF, 0x6071]
    assert list(channels("tpdo")) == [0x6041, 0x6061, 0x6064, 0x606C, 0x6077]
    words, modes, longs, torques = (
        [0x6040, 0x6041],
        [0x6060, 0x6061],
        [0x607A, 0x6064, 0x60FF, 0x606C],
        [0x6071, 0x6077],
    )
    for indices, size in ((words, "uint16"), (modes, "int8"), (longs, "int32"), (torques, "int16")):
        assert [sizes[index] for index in indices] == [size] * len(indices)


@pytest.mark.parametrize(
    ("quantity", "target", "actual", "factor"),
    [
        ("position", 0x607A, 0x6064, 2**20 / (2.0 * math.pi)),
        ("velocity", 0x60FF, 0x606C, 2**20 / (2.0 * math.pi)),
        ("effort", 0x6071, 0x6077, 1000.0 / 100.0),
    ],
)
def test_a_drives_scaling_there_and_back_is_none(quantity, target, actual, factor):
    command, state = channels("rpdo")[target], channels("tpdo")[actual]
    assert (command["command_interface"], state["state_interface"]) == (quantity, quantity)
    assert command["factor"] == pytest.approx(factor, rel=1e-12)
    assert command["factor"] * state["factor"] == pytest.approx(1.0, rel=1e-12)


def test_a_drive_that_nobody_commands_stays_where_it_is():
    defaults = {index: channel["default"] for index, channel in channels("rpdo").items()}
    assert math.isnan(defaults[0x607A])  # the driver puts the measured position there
    assert (defaults[0x60FF], defaults[0x6071]) == (0, 0)
