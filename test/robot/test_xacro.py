"""Robots with ros2_control: urdf/<robot>/<robot>.urdf.xacro, expanded by the program
that launch files run.
"""

import functools
import xml.etree.ElementTree as ElementTree
from dataclasses import replace

import numpy as np
import pytest
import xacro
from arms import configuration_cases, profile_names

from robot_control_ros.robot.configuration import load_robot, robot_names
from robot_control_ros.robot.model import RobotModel
from robot_control_ros.simulation.mujoco_plant import MujocoPlant

ROBOTS = {name: load_robot(name) for name in robot_names() if "mock" in profile_names(name)}
CONTROLLERS, DRIVE = "/somewhere/controllers.yaml", "/somewhere/drive.yaml"
PLUGINS = {
    "mock": "mock_components/GenericSystem",
    "gz_effort": "gz_ros2_control/GazeboSimSystem",
    "gz_position": "gz_ros2_control/GazeboSimSystem",
    "topic": "joint_state_topic_hardware_interface/JointStateTopicSystem",
    "ethercat": "ethercat_driver/EthercatDriver",
}
COMMANDS = {
    "mock": ["position", "velocity"],
    "gz_effort": ["effort"],
    "gz_position": ["position", "velocity"],
    "topic": ["position"],
    "ethercat": ["position", "reset_fault"],
}
SIMULATED = ("mock", "gz_effort", "gz_position")
STATES = ["position", "velocity", "effort"]
MODES = [("position", "8"), ("velocity", "9"), ("effort", "10")]
GAZEBO = ("gz_effort", "gz_position")
PART = 1e-3  # kg, of what is added for Gazebo: to keep a frame, or as a rotor

every_robot = pytest.mark.parametrize("robot", configuration_cases(ROBOTS))
HARDWARE = ("none", *PLUGINS)


def expand(robot, hardware="none", **arguments):
    """The description's text."""
    path = robot.urdf_path.with_name(f"{robot.name}.urdf.xacro")
    given = {"controllers": CONTROLLERS, "slave_config": DRIVE, "hardware": hardware, **arguments}
    return processed(str(path), *given.items())


@functools.cache
def processed(path, *given):
    return xacro.process_file(path, mappings=dict(given)).toxml()


def tree(robot, hardware, **arguments):
    return ElementTree.fromstring(expand(robot, hardware, **arguments))


def same(a, b):
    """Whether two elements say the same; numbers, texts and children in order."""
    return (
        a.tag == b.tag
        and a.attrib == b.attrib
        and (a.text or "").split() == (b.text or "").split()
        and len(a) == len(b)
        and all(same(x, y) for x, y in zip(a, b, strict=True))
    )


def added(robot, hardware):
    """What the plain description hasn't got: all else must be there, unchanged and in order."""
    plain = list(ElementTree.fromstring(robot.urdf()))
    new = []
    for element in tree(robot, hardware):
        if plain and same(element, plain[0]):
            plain.pop(0)
        else:
            new.append(element)
    assert not plain
    return new


def states(robot, rng, count=10):
    limits = RobotModel.of(robot).limits
    lower, upper = np.maximum(limits.lower, -np.pi), np.minimum(limits.upper, np.pi)
    return [(rng.uniform(lower, upper), rng.uniform(-1.0, 1.0, robot.n)) for _ in range(count)]


def params(element):
    return {param.get("name"): param.text for param in element.findall("param")}


def parts(robot, hardware):
    """What is fixed to links at their origins for Gazebo: link, mass and the moments of inertia."""
    new = {
        element.get("name"): element
        for element in added(robot, hardware)
        if element.tag in ("link", "joint")
    }
    joints = [element for element in new.values() if element.tag == "joint"]
    assert all(joint.get("type") == "fixed" and joint.find("origin") is None for joint in joints)
    result = []
    for joint in joints:
        inertial = new.pop(joint.find("child").get("link")).find("inertial")
        moments = [float(inertial.find("inertia").get(name)) for name in ("ixx", "iyy", "izz")]
        result.append(
            (joint.find("parent").get("link"), float(inertial.find("mass").get("value")), moments)
        )
    assert len(new) == len(joints)  # each link has its joint
    return result


@pytest.mark.few(2)
@every_robot
def test_the_description_is_the_plain_one_and_nothing_but_the_hardware_is_added(robot):
    for hardware in HARDWARE:
        tags = [
            element.tag
            for element in added(robot, hardware)
            if element.tag not in ("link", "joint")
        ]
        gazebo = ["gazebo", "gazebo"] * (hardware in GAZEBO)
        assert tags == ["ros2_control"] * (hardware != "none") + gazebo
        assert (parts(robot, hardware) == []) == (hardware not in GAZEBO)


@every_robot
def test_gazebos_joints_have_the_rotors_of_the_configuration(robot):
    """A thin disc, whose axis is the joint's, on the link that the joint moves."""
    for hardware in GAZEBO:
        root = ElementTree.fromstring(robot.urdf())
        rotors = []
        for name, inertia in zip(robot.joints, robot.rotor_inertia, strict=True):
            joint = root.find(f"joint[@name='{name}']")
            assert joint.find("axis").get("xyz") == "0 0 1"
            if inertia:
                rotors.append(
                    (joint.find("child").get("link"), PART, [inertia / 2, inertia / 2, inertia])
                )
        assert [part for part in parts(robot, hardware) if max(part[2]) > 1e-6] == rotors


@every_robot
def test_kinematics_limits_and_dynamics_are_the_plain_ones_with_the_parts_for_gazebo(robot, rng):
    for hardware in HARDWARE:
        bare = replace(robot, rotor_inertia=(0.0,) * robot.n)
        plain, expanded = RobotModel.of(bare), RobotModel.of(bare, expand(robot, hardware))
        for ours, theirs in zip(
            plain.limits.__dict__.values(), expanded.limits.__dict__.values(), strict=True
        ):
            np.testing.assert_array_equal(theirs, ours)
        masses = [
            (RobotModel(robot.urdf(), robot.joints, robot.base, link), mass, moments)
            for link, mass, moments in parts(robot, hardware)
            if link != robot.base  # which doesn't move
        ]
        for q, v in states(robot, rng):
            total = plain.at(q, v).mass
            for model, mass, moments in masses:
                kin = model.at(q, v)
                J, R = kin.jacobian, kin.pose[:3, :3]
                total = (
                    total + mass * J[:3].T @ J[:3] + J[3:].T @ R @ np.diag(moments) @ R.T @ J[3:]
                )
            np.testing.assert_allclose(expanded.at(q, v).mass, total, rtol=0, atol=1e-11)
            plain.update(q, v)
            expanded.update(q, v)
            for frame in plain.frames:
                np.testing.assert_array_equal(expanded.frame_pose(frame), plain.frame_pose(frame))


@pytest.mark.sim
@every_robot
def test_mujoco_makes_the_same_robot_of_it(robot, rng):
    pytest.importorskip("mujoco")
    for hardware in HARDWARE:
        text = expand(robot, hardware)
        plant, model = MujocoPlant(robot, urdf=text), RobotModel.of(robot, text)
        for q, v in states(robot, rng, count=3):
            mass, bias, pose = plant.dynamics(q, v)
            kin = model.at(q, v)
            np.testing.assert_allclose(pose, kin.pose, rtol=0, atol=1e-12)
            np.testing.assert_allclose(mass, kin.mass, rtol=0, atol=1e-10)
            np.testing.assert_allclose(bias, model.bias(q, v), rtol=0, atol=1e-9)


@every_robot
def test_ros2_control_has_each_joint_once_with_its_interfaces(robot):
    for hardware in PLUGINS:
        (system,) = tree(robot, hardware).findall("ros2_control")
        assert system.get("type") == "system"
        assert system.find("hardware/plugin").text == PLUGINS[hardware]
        assert [joint.get("name") for joint in system.findall("joint")] == list(robot.joints)
        for joint, home in zip(system.findall("joint"), robot.home, strict=True):
            commands = [interface.get("name") for interface in joint.findall("command_interface")]
            assert commands == COMMANDS[hardware]
            assert [
                interface.get("name") for interface in joint.findall("state_interface")
            ] == STATES
            position = params(joint.find("state_interface[@name='position']"))
            # A real robot is where it is; a simulated one starts at home.
            assert position == ({"initial_value": repr(home)} if hardware in SIMULATED else {})


@every_robot
def test_the_sensor_is_where_somebody_measures(robot):
    for hardware in PLUGINS:
        sensors = tree(robot, hardware).findall("ros2_control/sensor")
        assert [sensor.get("name") for sensor in sensors] == ["force_torque_sensor"] * (
            hardware in SIMULATED
        )
        for sensor in sensors:
            names = [interface.get("name") for interface in sensor]
            assert names == [
                f"{quantity}.{axis}" for quantity in ("force", "torque") for axis in "xyz"
            ]
            assert all(params(interface) == {"initial_value": "0.0"} for interface in sensor)


def test_mock_hardware_integrates_velocities():
    system = tree(ROBOTS["ur5"], "mock").find("ros2_control/hardware")
    assert params(system) == {"calculate_dynamics": "true"}


@every_robot
def test_gazebo_loads_the_controllers_and_holds_the_joints_until_one_is_active(robot):
    for hardware in GAZEBO:
        (plugin,) = tree(robot, hardware).findall("gazebo/plugin")
        assert plugin.get("filename") == "gz_ros2_control-system"
        assert plugin.get("name") == "gz_ros2_control::GazeboSimROS2ControlPlugin"
        assert plugin.find("parameters").text == CONTROLLERS
        assert plugin.find("hold_joints").text == "true"


@every_robot
def test_gazebo_measures_what_the_environment_exerts_on_the_robot_in_the_wrench_frame(robot):
    for hardware in GAZEBO:
        root = tree(robot, hardware)
        (place,) = [element for element in root.findall("gazebo") if element.get("reference")]
        joint = root.find(f"joint[@name='{place.get('reference')}']")
        assert joint.get("type") == "fixed"
        assert joint.find("child").get("link") == robot.wrench_frame
        assert place.find("preserveFixedJoint").text == "true"
        sensor = place.find("sensor")
        assert (sensor.get("name"), sensor.get("type")) == ("force_torque_sensor", "force_torque")
        assert sensor.find("force_torque/frame").text == "child"
        assert sensor.find("force_torque/measure_direction").text == "child_to_parent"


@every_robot
@pytest.mark.parametrize("hardware", GAZEBO)
def test_gazebo_stands_the_robot_in_the_world_and_leaves_no_joint_out(robot, hardware):
    """A link whose joint stays needs a mass, its own or that of what is fixed to it (sdformat,
    src/parser_urdf.cc).
    """
    root = tree(robot, hardware)
    preserved = {
        e.get("reference")
        for e in root.findall("gazebo")
        if e.find("preserveFixedJoint") is not None
    }
    links = {link.get("name"): link for link in root.findall("link")}
    joints = root.findall("joint")

    def lumped(joint):
        at_world = joint.find("parent").get("link") == "world"
        return joint.get("type") == "fixed" and joint.get("name") not in preserved and not at_world

    def mass(name):
        own = links[name].find("inertial/mass")
        fixed = [
            j.find("child").get("link")
            for j in joints
            if j.find("parent").get("link") == name and lumped(j)
        ]
        return (0.0 if own is None else float(own.get("value"))) + sum(map(mass, fixed))

    (base,) = [joint for joint in joints if joint.find("parent").get("link") == "world"]
    assert base.get("type") == "fixed"
    kept = [joint for joint in joints if not lumped(joint)]
    assert {joint.get("name") for joint in kept} == {base.get("name"), *robot.joints, *preserved}
    assert min(mass(joint.find("child").get("link")) for joint in kept) > 0.0


@pytest.mark.parametrize("command", STATES)
def test_topics_and_command_interface_of_a_robot_that_speaks_joint_states(command):
    system = tree(
        ROBOTS["gen3"], "topic", command_interface=command, joint_commands_topic="/a/b"
    ).find("ros2_control")
    assert params(system.find("hardware")) == {
        "joint_states_topic": "/robot/joint_states",
        "joint_commands_topic": "/a/b",
        "trigger_joint_command_threshold": "-1",
    }
    for joint in system.findall("joint"):
        assert [interface.get("name") for interface in joint.findall("command_interface")] == [
            command
        ]


@pytest.mark.few(4)
@every_robot
@pytest.mark.parametrize(("command", "mode"), MODES)
def test_drives_that_are_alike_are_in_the_joints_order_in_the_commands_mode(robot, command, mode):
    system = tree(robot, "ethercat", command_interface=command, rate="1000").find("ros2_control")
    assert params(system.find("hardware")) == {"master_id": "0", "control_frequency": "1000"}
    assert [joint.get("name") for joint in system.findall("joint")] == list(robot.joints)
    for position, joint in enumerate(system.findall("joint")):
        assert_drive(
            joint,
            command,
            {"position": str(position), "mode_of_operation": mode, "slave_config": DRIVE},
        )


def assert_drive(joint, command, expected):
    assert [interface.get("name") for interface in joint.findall("command_interface")] == [
        command,
        "reset_fault",
    ]
    assert [interface.get("name") for interface in joint.findall("state_interface")] == STATES
    (module,) = joint.findall("ec_module")
    assert module.find("plugin").text == "ethercat_generic_plugins/EcCiA402Drive"
    assert params(module) == {"alias": "0", **expected}


@pytest.fixture
def bus(tmp_path):
    """A folder of drives of the planar arm, against the cable's order and with others
    between; no torques on one.
    """
    text = """
rate: 250
joints:
  joint_2: { position: 3, commands: [position, velocity, effort] }
  joint_1: { position: 5, commands: [position, velocity] }
"""
    assert ROBOTS["planar_two_link"].joints == ("joint_1", "joint_2")
    (tmp_path / "bus.yaml").write_text(text, encoding="utf-8")
    return tmp_path


@pytest.mark.parametrize(("command", "mode"), MODES[:2])
@pytest.mark.parametrize("rate", ["250", "250.0"])
def test_drives_of_a_topology_are_at_its_places_with_a_file_each(bus, command, mode, rate):
    arguments = {"command_interface": command, "rate": rate, "slave_config": str(bus)}
    system = tree(ROBOTS["planar_two_link"], "ethercat", **arguments).find("ros2_control")
    assert params(system.find("hardware")) == {"master_id": "0", "control_frequency": rate}
    places = {"joint_1": "5", "joint_2": "3"}
    assert [joint.get("name") for joint in system.findall("joint")] == list(places)
    for joint in system.findall("joint"):
        name = joint.get("name")
        expected = {
            "position": places[name],
            "mode_of_operation": mode,
            "slave_config": f"{bus}/{name}.yaml",
        }
        assert_drive(joint, command, expected)


@pytest.mark.parametrize(
    ("robot", "arguments", "message"),
    [
        ("planar_two_link", {"rate": "500"}, "rate:=500: the drives in .* are set up for 250 Hz"),
        (
            "planar_two_link",
            {"command_interface": "effort"},
            "of joint_1:='effort': choices: position, velocity",
        ),
        ("ur5", {}, "bus.yaml: no drive moves shoulder_pan_joint; joints: joint_2, joint_1"),
        (
            "planar_two_link",
            {"slave_config": "/nowhere"},
            "No such file or directory: '/nowhere/bus.yaml'",
        ),
    ],
)
def test_drives_of_another_topology_are_refused(bus, robot, arguments, message):
    with pytest.raises(xacro.XacroException, match=message):
        expand(ROBOTS[robot], "ethercat", **{"rate": "250", "slave_config": str(bus), **arguments})


@pytest.mark.few(2)
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            {"hardware": "gazebo"},
            "hardware:='gazebo': choices: none, mock, gz_effort, gz_position, ethercat, topic",
        ),
        (
            {"hardware": "topic", "command_interface": "torque"},
            "choices: position, velocity, effort",
        ),
        (
            {"hardware": "gz_effort", "controllers": ""},
            "controllers:='': must be the absolute path",
        ),
        (
            {"hardware": "gz_position", "controllers": "a/b.yaml"},
            "controllers:='a/b.yaml': must be the absolute path",
        ),
        (
            {"hardware": "ethercat", "slave_config": ""},
            "slave_config:='': must be the absolute path",
        ),
    ],
)
def test_what_is_refused_is_named_with_the_way_out(arguments, message):
    for robot in ROBOTS.values():
        with pytest.raises(xacro.XacroException, match=message.replace("(", r"\(")):
            expand(robot, **arguments)


def test_files_are_found_from_anywhere(monkeypatch, tmp_path):
    text = expand(ROBOTS["ur5e"], "mock")
    monkeypatch.chdir(tmp_path)
    assert expand(ROBOTS["ur5e"], "mock") == text
