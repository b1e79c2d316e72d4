"""Which nodes with which parameters, in which environment."""

import functools
import importlib.util
import os
import re
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest
import yaml

from robot_control_ros.bringup import SETUPS, NodeSpec
from robot_control_ros.bringup.drivers import DEFAULT_LAWS
from robot_control_ros.bringup.system import PACKAGE, LaunchFile, Xacro
from robot_control_ros.core.errors import ConfigError
from robot_control_ros.laws import law_names
from robot_control_ros.nodes import __main__ as node_program
from robot_control_ros.robot.configuration import load_robot
from robot_control_ros.robot.files import share_directory
from robot_control_ros.ros.process_environment import environment

STANDING = (0.0,) * 6  # x, y, z, roll, pitch, yaw of an arm that no work cell places
WRENCH = "force_torque_sensor_broadcaster/wrench"
SHARE = share_directory()
REQUIRED = {
    "ur": {"ur_type": "ur5", "robot_ip": "192.168.56.101"},
    "gen3": {"robot_ip": "192.168.1.10"},
}
REQUIRED["ethercat"] = {"interface": "eth1"}
REQUIRED["can"] = {"channel": "can0"}
REQUIRED["fr3"] = {"ip": "172.16.0.2"}
# the others: test_workcell
SINGLE = {name: setup for name, setup in SETUPS.items() if name != "two_arms"}
WITH_CONTROLLER = [
    name
    for name, setup in SINGLE.items()
    if "law" in {argument.name for argument in setup.arguments}
]
LOCAL = [
    name
    for name, setup in SETUPS.items()
    if "robot" in {argument.name for argument in setup.arguments}
]
WATCHED = [
    name
    for name, setup in SINGLE.items()
    if "watchdog" in {argument.name for argument in setup.arguments}
]
# with a controller manager of ours, or Gazebo's
MANAGED = [name for name in LOCAL if name not in ("sim", "ethercat", "can", "fr3")]
# A choice that doesn't go with the other arguments' defaults, and what it goes with.
PARTNERS = {
    ("gazebo", "interface", "position"): {"law": "admittance"},
}

every_setup = pytest.mark.parametrize("name", SETUPS)
watched = pytest.mark.parametrize("name", WATCHED)
with_controller = pytest.mark.parametrize("name", WITH_CONTROLLER)
local = pytest.mark.parametrize("name", LOCAL)
managed = pytest.mark.parametrize("name", MANAGED)


@functools.cache
def made(name, **given):
    """A system of a kind, of its required arguments and the given ones."""
    return SETUPS[name].make(**(REQUIRED.get(name, {}) | given))


def order(system):
    """The names of what is started."""
    return [part.path if isinstance(part, LaunchFile) else part.name for part in system.parts]


def launch_files(system):
    return [part for part in system.parts if isinstance(part, LaunchFile)]


def description(system):
    """The description that the state publisher is given."""
    return system.node("robot_state_publisher").parameters["robot_description"]


def users_robot(folder, robot="ur5", **changes):
    """The path of a robot of the user's own: one of the package with changes."""
    file = SHARE / "config/robots" / f"{robot}.yaml"
    data = yaml.safe_load(file.read_text(encoding="utf-8")) | changes
    (folder / "mine.yaml").write_text(yaml.safe_dump(data), encoding="utf-8")
    return folder / "mine.yaml"


# --- one node ---


def test_a_node_is_named_on_its_command_line():
    assert NodeSpec("controller", "left").ros_arguments() == ["--ros-args", "-r", "__node:=left"]


def test_parameters_files_and_remappings_follow_in_that_order():
    parameters = {
        "robot": "ur5",
        "rate": 250.0,
        "count": 3,
        "paused": True,
        "quiet": False,
        "gains": [1.0, 2.5],
    }
    spec = NodeSpec(
        "controller", "c", parameters, ("one.yaml", "two.yaml"), {"wrench": "/sensor/wrench"}
    )
    assert spec.ros_arguments() == [
        *("--ros-args", "-r", "__node:=c"),
        *("--params-file", "one.yaml", "--params-file", "two.yaml"),  # what comes later wins
        *("-p", 'robot:="ur5"', "-p", "rate:=250.0", "-p", "count:=3"),
        *("-p", "paused:=true", "-p", "quiet:=false", "-p", "gains:=[1.0, 2.5]"),
        *("-r", "wrench:=/sensor/wrench"),
    ]


# --- every kind of system ---


@every_setup
def test_arguments_that_are_not_given_have_their_defaults(name):
    arguments = SETUPS[name].arguments
    assert {argument.name for argument in arguments if argument.default is None} == set(
        REQUIRED.get(name, ())
    )
    defaults = {
        argument.name: argument.default for argument in arguments if argument.default is not None
    }
    assert made(name, **defaults) == made(name)


@pytest.mark.parametrize(
    ("name", "argument"), [(name, each) for name, given in REQUIRED.items() for each in given]
)
def test_an_argument_without_a_default_must_be_given(name, argument):
    given = {key: value for key, value in REQUIRED[name].items() if key != argument}
    with pytest.raises(ConfigError) as refusal:
        SETUPS[name].make(**given)
    assert (refusal.value.name, refusal.value.value) == (argument, None)


def test_an_argument_that_there_is_not_is_refused_with_all_that_there_are():
    with pytest.raises(ConfigError) as refusal:
        made("sim", lw="impedance")
    assert (refusal.value.name, refusal.value.value) == ("argument", "lw")
    assert refusal.value.bound == tuple(argument.name for argument in SETUPS["sim"].arguments)


def test_a_value_that_is_no_choice_is_refused_with_the_choices():
    with pytest.raises(ConfigError) as refusal:
        made("sim", pacing="maybe")
    (argument,) = [argument for argument in SETUPS["sim"].arguments if argument.name == "pacing"]
    assert (refusal.value.name, refusal.value.value, refusal.value.bound) == (
        "pacing",
        "maybe",
        argument.choices,
    )


def test_every_argument_is_explained_and_has_a_valid_default():
    for name, setup in SETUPS.items():
        for argument in setup.arguments:
            assert argument.text.endswith("."), (name, argument.name)
            assert not argument.choices or argument.default in (None, *argument.choices), (
                name,
                argument.name,
            )


@with_controller
def test_the_page_is_of_the_controllers_robot_and_the_others_go_on_without_it(name):
    system = made(name, dashboard="true")
    control, page = system.node("controller"), system.node("dashboard")
    shared = {key: control.parameters[key] for key in ("robot", "profile")}
    assert page == NodeSpec("dashboard", "dashboard", shared, respawn=True)
    assert "dashboard" not in order(made(name))


def test_every_launch_file_with_our_controller_has_the_page():
    for name, setup in SETUPS.items():
        arguments = {argument.name for argument in setup.arguments}
        assert ("dashboard" in arguments) == ("law" in arguments), name


@every_setup
def test_every_choice_makes_a_system(name):
    for argument in SETUPS[name].arguments:
        for choice in argument.choices:
            given = {argument.name: choice, **PARTNERS.get((name, argument.name, choice), {})}
            assert made(name, **given).parts, given


@every_setup
def test_names_are_unique_and_files_exist(name):
    system = made(name)
    nodes = system.nodes()
    assert len({node.full_name for node in nodes}) == len(nodes)
    for node in nodes:
        given = [
            *node.parameter_files,
            *(text for text in node.arguments if text.endswith(".yaml")),
        ]
        assert all(os.path.isabs(path) and os.path.isfile(path) for path in given)


@every_setup
def test_own_nodes_are_modules_of_the_package_with_an_executable(name):
    for node in made(name).nodes():
        if node.package == PACKAGE:
            assert importlib.util.find_spec(f"{PACKAGE}.nodes.{node.executable}")
            assert (Path(__file__).parents[2] / "scripts" / node.executable).is_file()


def test_a_node_that_there_is_not_is_refused_with_all_that_there_are():
    with pytest.raises(SystemExit) as refusal:
        node_program.main(["nonsense"])
    executables = {path.name for path in (Path(__file__).parents[2] / "scripts").iterdir()}
    named = set(re.findall(r"\w+", str(refusal.value).partition(":")[2]))
    assert named == executables - {"robot_control", "can-emulator", "ethercat-emulator"}


@watched
def test_the_watchdog_watches_before_the_controller_starts_and_knows_the_same(name):
    system = made(name)
    names = [node.name for node in system.nodes()]
    assert names.index("watchdog") + 1 == names.index("controller")
    watchdog, control = system.node("watchdog"), system.node("controller")
    shared = {
        key: value
        for key, value in control.parameters.items()
        if key in ("robot", "profile", "rate", "use_sim_time")
    }
    assert watchdog == NodeSpec("watchdog", "watchdog", shared)


@watched
def test_without_a_watchdog_all_else_is_the_same(name):
    def others(system):
        return [part for part in system.parts if getattr(part, "name", "") != "watchdog"]

    assert others(made(name, watchdog="false")) == list(made(name, watchdog="false").parts)
    assert others(made(name)) == others(made(name, watchdog="false"))


@with_controller
def test_the_controller_has_the_profile_of_what_is_in_front_of_the_robot(name):
    profile = {
        "sim": "sim",
        "mock": "mock",
        "gazebo": "gz",
        "ethercat": "ethercat",
        "can": "can",
        "fr3": "franka",
        "icube": "icube",
    }.get(name, "real")
    control = made(name).node("controller")
    assert control.parameters["profile"] == profile
    robot = load_robot(control.parameters["robot"], profile)
    assert (
        control.parameters["use_sim_time"]
        is robot.profile.simulated_time
        is (name in ("sim", "gazebo"))
    )
    assert control.remappings == (
        {"wrench": robot.profile.wrench_topic} if robot.profile.wrench_topic else {}
    )
    assert control.parameters["description"] == ("topic" if name == "gazebo" else "config")


@with_controller
def test_gains_reach_the_controller_as_a_parameter_file(name, tmp_path):
    law = (
        "impedance"
        if name in ("sim", "gazebo", "ethercat", "can", "fr3", "icube")
        else "admittance"
    )
    file = tmp_path / "gains.yaml"
    file.write_text(
        f"/**: {{ ros__parameters: {{ {law}: {{ stiffness: 100.0 }} }} }}", encoding="utf-8"
    )
    system = made(
        name, law=law, gains=str(file), **({"supported": "true"} if name == "icube" else {})
    )
    assert system.node("controller").parameter_files == (str(file),)


@pytest.mark.parametrize("name", ["sim", "mock", "ur"])
@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"law": "nonsense"}, "unknown law 'nonsense'; laws: .*impedance"),
        ({"gains": "nowhere.yaml"}, "gains = '/.*/nowhere.yaml': no such file"),
    ],
)
def test_a_controller_that_cannot_be_is_refused(name, arguments, words):
    with pytest.raises(ConfigError, match=words):
        made(name, **arguments)


@pytest.mark.parametrize(
    ("robot", "words"),
    [
        ("nonsense", "unknown robot 'nonsense'; robots: "),
        ("nowhere.yaml", "robot 'nowhere.yaml': no such file"),
    ],
)
def test_a_robot_that_there_is_not_is_refused(robot, words):
    with pytest.raises(ConfigError, match=words):
        made("sim", robot=robot)


@pytest.mark.parametrize(
    ("name", "arguments", "words"),
    [
        ("sim", {"scene": "nonsense"}, "unknown scene 'nonsense'; scenes: ball, "),
        ("sim", {"scene": "nowhere.yaml"}, "scene 'nowhere.yaml': no such file"),
        (
            "sim",
            {"imperfections": "nonsense"},
            "unknown preset 'nonsense'; presets: like_gen3, like_ur5, like_ur5e, worst",
        ),
        ("sim", {"imperfections": "like_gen3"}, "imperfections like_gen3: "),
        ("sim", {"rate": "fast"}, "rate = 'fast': must be a finite number from 0 to 4000"),
        (
            "mock",
            {"law": "impedance"},
            "law impedance commands effort, but .* takes only: position, velocity. Mock",
        ),
        (
            "gazebo",
            {"law": "admittance"},
            "takes only: effort. Start Gazebo with interface:=position",
        ),
        (
            "gazebo",
            {"interface": "position"},
            "takes only: position, velocity. Start Gazebo with interface:=effort",
        ),
        (
            "gazebo",
            {"interface": "velocity"},
            "interface = 'velocity': must be one of: effort, position",
        ),
        ("gazebo", {"world": "nowhere.sdf"}, "world = '/.*/nowhere.sdf': no such file"),
        ("icube", {"robot": "planar_two_link"}, "unknown profile 'icube'; profiles: sim, mock, "),
        (
            "icube",
            {"slave_config": "nowhere.yaml"},
            "slave_config = '/.*/nowhere.yaml': no such file",
        ),
        ("sim_ros2_control", {"scene": "nonsense"}, "unknown scene 'nonsense'; scenes: ball, "),
        (
            "sim_ros2_control",
            {"rate": "fast"},
            "rate = 'fast': must be a finite number from 0 to 4000",
        ),
        (
            "ur",
            {"law": "impedance"},
            "takes only: position, velocity. Use one of: admittance, force_control, joint_pid, pos",
        ),
        (
            "ur",
            {"ur_type": "ur5e", "law": "impedance", "use_mock_hardware": "true"},
            "takes only: position, velocity. Use one of: joint_pid, ",
        ),
        ("gen3", {"law": "impedance"}, "takes only: position. Use one of: admittance, "),
        (
            "gen3",
            {"law": "impedance", "use_mock_hardware": "true"},
            "takes only: position. Use one of: ",
        ),
        (
            "ur",
            {"law": "admittance", "use_mock_hardware": "true"},
            "law admittance needs a wrench, but .* Use one",
        ),
        (
            "gen3",
            {"law": "admittance", "use_mock_hardware": "true"},
            "law admittance needs a wrench, but .* Use one",
        ),
    ],
)
def test_a_system_that_cannot_be_is_refused_with_the_way_out(name, arguments, words):
    with pytest.raises(ConfigError, match=words):
        made(name, **arguments)


def test_a_controllers_file_that_there_is_not_is_refused():
    with pytest.raises(ConfigError, match=r"controllers_file = '/.*/nowhere\.yaml': no such file"):
        made("mock", controllers_file="nowhere.yaml")


# --- a robot of the user's own ---


@local
def test_a_robot_by_path_is_handed_on_by_an_absolute_one(name, tmp_path, monkeypatch):
    path = users_robot(tmp_path, {"can": "openarm", "fr3": "fr3"}.get(name, "ur5"))
    monkeypatch.chdir(tmp_path)
    arguments = {"arm": "openarm"} if name == "can" else {}
    made_nodes = made(name, robot="mine.yaml", **arguments).nodes()
    nodes = [node for node in made_nodes if "robot" in node.parameters]
    assert nodes
    assert {node.parameters["robot"] for node in nodes} == {str(path)}


@managed
def test_a_robot_of_the_users_needs_controllers_of_the_users(name, tmp_path):
    path = str(users_robot(tmp_path, name="mine"))
    with pytest.raises(
        ConfigError, match=r"controllers_file = '/.*/ros2_control/mine\.yaml': no such file"
    ):
        made(name, robot=path)
    file = tmp_path / "controllers.yaml"
    file.write_text(
        "controller_manager: { ros__parameters: { update_rate: 500 } }", encoding="utf-8"
    )
    system = made(name, robot=path, controllers_file=str(file))
    spawners = [node for node in system.nodes() if node.executable == "spawner"]
    assert spawners
    assert all(str(file) in node.arguments for node in spawners)
    if name == "gazebo":
        assert description(system).arguments["controllers"] == str(file)
    else:
        assert system.node("controller_manager").parameter_files == (str(file),)


def test_a_description_without_tags_is_refused(tmp_path):
    (tmp_path / "mine.urdf").write_text(
        (SHARE / "urdf/ur5/ur5.urdf").read_text(encoding="utf-8"), encoding="utf-8"
    )
    path = users_robot(tmp_path, urdf="mine.urdf")
    words = (
        f"robot ur5: no description with ros2_control's tags: {tmp_path}/mine.urdf.xacro is missing"
    )
    with pytest.raises(ConfigError, match=words):
        made("mock", robot=str(path))


def test_topics_of_the_profile_are_those_of_controller_and_watchdog(tmp_path):
    profiles = {
        "sim": {
            "rate": 500,
            "commands": ["effort"],
            "gravity_by_robot": False,
            "joint_states": "/arm/states",
        }
    }
    system = made("sim", robot=str(users_robot(tmp_path, profiles=profiles)))
    for name in ("watchdog", "controller"):
        assert system.node(name).remappings == {"joint_states": "/arm/states"}


# --- a simulation ---


def test_a_simulation_is_a_simulator_a_watchdog_and_a_controller_of_one_robot():
    system = made("sim")
    assert order(system) == ["simulator", "watchdog", "controller"]
    given = {"robot": "ur5", "pacing": "realtime", "rate": 0.0, "scene": "", "imperfections": ""}
    assert system.node("simulator") == NodeSpec("simulator", "simulator", given)
    shared = {"robot": "ur5", "profile": "sim", "use_sim_time": True}
    assert system.node("watchdog") == NodeSpec("watchdog", "watchdog", shared)
    given = shared | {"law": "impedance", "description": "config"}
    assert system.node("controller") == NodeSpec(
        "controller", "controller", given, remappings={"wrench": WRENCH}
    )


def test_arguments_reach_the_nodes():
    chosen = {"scene": "ball", "imperfections": "like_ur5"}
    system = made("sim", law="gravity_compensation", pacing="lockstep", rate="250", **chosen)
    given = {"robot": "ur5", "pacing": "lockstep", "rate": 250.0, **chosen}
    assert system.node("simulator").parameters == given
    assert system.node("controller").parameters["law"] == "gravity_compensation"
    assert [system.node(name).parameters["rate"] for name in ("watchdog", "controller")] == [
        250.0,
        250.0,
    ]


def test_a_scene_by_path_is_handed_on_by_an_absolute_one(tmp_path, monkeypatch):
    (tmp_path / "mine.yaml").write_text("objects: {}", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    assert made("sim", scene="mine.yaml").node("simulator").parameters["scene"] == str(
        tmp_path / "mine.yaml"
    )


# --- ros2_control ---


def spawner(controller, file="config/ros2_control/ur5.yaml", inactive=False):
    """What ros2_control's spawner is to be given."""
    arguments = [controller, "--controller-manager-timeout", "60"]
    arguments += ["--param-file", str(SHARE / file)] if file else []
    arguments += ["--inactive"] if inactive else []
    name = f"{'load' if inactive else 'spawn'}_{controller}"
    return NodeSpec("spawner", name, package="controller_manager", arguments=tuple(arguments))


@pytest.mark.parametrize("output", ["position", "velocity"])
def test_mock_hardware_is_a_manager_with_controllers_and_our_controller_in_front(output, tmp_path):
    gains, forward = tmp_path / "gains.yaml", f"forward_{output}_controller"
    gains.write_text(
        f"/**: {{ ros__parameters: {{ admittance: {{ output: {output} }} }} }}", encoding="utf-8"
    )
    system = made("mock", law="admittance", gains=str(gains))
    assert order(system) == [
        "robot_state_publisher",
        "controller_manager",
        "spawn_joint_state_broadcaster",
        "spawn_force_torque_sensor_broadcaster",
        f"load_{forward}",
        "watchdog",
        "controller",
        "wait_active",
        f"spawn_{forward}",
    ]
    assert system.forward == forward
    publisher, manager, broadcaster, wrench_broadcaster, load, _, _, wait, activate = system.nodes()
    assert (publisher.package, publisher.executable) == (
        "robot_state_publisher",
        "robot_state_publisher",
    )
    assert publisher.parameters == {
        "robot_description": Xacro(
            SHARE / "urdf/ur5/ur5.urdf.xacro", {"hardware": "mock"}, mount=STANDING
        ),
        "use_sim_time": False,
    }
    assert manager == NodeSpec(
        "ros2_control_node",
        "controller_manager",
        package="controller_manager",
        parameter_files=(str(SHARE / "config/ros2_control/ur5.yaml"),),
        remappings={"~/robot_description": "/robot_description"},
    )
    assert broadcaster == spawner("joint_state_broadcaster")
    assert wrench_broadcaster == spawner("force_torque_sensor_broadcaster")
    assert load == spawner(forward, inactive=True)
    assert wait == NodeSpec("wait_active", "wait_active", {"node": "controller"})
    assert activate == spawner(forward)


@pytest.mark.parametrize(
    ("interface", "law", "forward", "profile"),
    [
        ("effort", "impedance", "forward_effort_controller", "gz"),
        ("position", "admittance", "forward_position_controller", "gz_position"),
    ],
)
def test_in_gazebo_the_arm_is_not_let_loose_before_our_controller_is_active(
    interface, law, forward, profile
):
    system = made("gazebo", robot="ur5e", law=law, interface=interface)
    assert order(system) == [
        "gazebo",
        "robot_state_publisher",
        "clock_bridge",
        "create",
        "spawn_joint_state_broadcaster",
        "spawn_force_torque_sensor_broadcaster",
        f"load_{forward}",
        "watchdog",
        "controller",
        "wait_active",
        f"spawn_{forward}",
    ]
    assert system.forward == forward
    file = "config/ros2_control/ur5e.yaml"
    arguments = {"hardware": f"gz_{interface}", "controllers": str(SHARE / file)}
    assert description(system) == Xacro(
        SHARE / "urdf/ur5e/ur5e.urdf.xacro", arguments, mount=STANDING
    )
    bridge, create = system.node("clock_bridge"), system.node("create")
    assert (bridge.package, bridge.executable, bridge.arguments) == (
        "ros_gz_bridge",
        "parameter_bridge",
        ("/clock@rosgraph_msgs/msg/Clock[gz.msgs.Clock",),
    )
    assert (create.package, create.executable, create.arguments) == (
        "ros_gz_sim",
        "create",
        ("-topic", "robot_description", "-name", "ur5e"),
    )
    assert system.node("spawn_joint_state_broadcaster") == spawner(
        "joint_state_broadcaster", file=file
    )
    sensor = "force_torque_sensor_broadcaster"
    assert system.node(f"spawn_{sensor}") == spawner(sensor, file=file)
    assert system.node(f"load_{forward}") == spawner(forward, file=file, inactive=True)
    assert system.node(f"spawn_{forward}") == spawner(forward, file=file)
    assert system.node("controller").parameters["profile"] == profile


def test_in_gazebo_all_keep_simulated_time():
    system = made("gazebo")
    given = {
        node.name: node.parameters["use_sim_time"]
        for node in system.nodes()
        if "use_sim_time" in node.parameters
    }
    assert given == {"robot_state_publisher": True, "watchdog": True, "controller": True}


@with_controller
def test_a_controller_is_told_that_the_forward_controller_follows_where_it_does(name):
    system = made(name)
    follows = any(node.name.startswith("spawn_forward_") for node in system.nodes())
    assert system.node("controller").parameters.get("forward_follows", False) is follows
    assert follows is (name in ("mock", "gazebo", "icube", "ur"))


@pytest.mark.parametrize(
    ("law", "interface"),
    [("impedance", "effort"), ("admittance", "position"), ("gravity_compensation", "effort")],
)
def test_drives_take_what_the_law_commands(tmp_path, law, interface):
    file = tmp_path / "gains.yaml"  # these drives come without a sensor
    file.write_text("/**: { ros__parameters: { wrench.source: joint_effort } }", encoding="utf-8")
    system = made("icube", law=law, supported="true", gains=str(file))
    forward = f"forward_{interface}_controller"
    assert order(system) == [
        "robot_state_publisher",
        "controller_manager",
        "spawn_joint_state_broadcaster",
        f"load_{forward}",
        "watchdog",
        "controller",
        "wait_active",
        f"spawn_{forward}",
    ]
    assert system.forward == forward
    assert system.node("spawn_joint_state_broadcaster") == spawner("joint_state_broadcaster")
    assert description(system).arguments == {
        "hardware": "ethercat",
        "command_interface": interface,
        "slave_config": str(SHARE / "config/ros2_control/ethercat/ur5"),
        "rate": f"{load_robot('ur5', 'icube').profile.rate:g}",
    }


def test_drives_that_would_drop_the_arm_are_refused():
    with pytest.raises(
        ConfigError, match=r"law impedance commands effort, .* the arm would fall.* supported:=true"
    ):
        made("icube", law="impedance")
    assert description(made("icube")).arguments["command_interface"] == "velocity"


def test_the_users_drives_are_handed_on_by_an_absolute_path(tmp_path, monkeypatch):
    (tmp_path / "drive.yaml").touch()
    monkeypatch.chdir(tmp_path)
    system = made("icube", slave_config="drive.yaml")
    assert description(system).arguments["slave_config"] == str(tmp_path / "drive.yaml")


def test_a_folder_of_the_users_drives_is_one_with_a_bus(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "bus").mkdir()
    with pytest.raises(ConfigError, match=r"slave_config = '/.*/bus/bus.yaml': no such file"):
        made("icube", slave_config="bus")
    (tmp_path / "bus" / "bus.yaml").touch()
    assert description(made("icube", slave_config="bus")).arguments["slave_config"] == str(
        tmp_path / "bus"
    )


def test_drives_of_a_robot_without_a_folder_are_generic(tmp_path):
    controllers = str(SHARE / "config/ros2_control/ur5.yaml")
    system = made(
        "icube", robot=str(users_robot(tmp_path, name="mine")), controllers_file=controllers
    )
    generic = SHARE / "config/ros2_control/ethercat/cia402_servo.yaml"
    assert description(system).arguments["slave_config"] == str(generic)


@pytest.mark.parametrize(
    ("content", "found"),
    [
        ("controller_manager: { ros__parameters: { update_rate: 250 } }", "250"),
        ("/controller_manager: { ros__parameters: { update_rate: 1000 } }", "1000"),
        (
            "/**: { ros__parameters: { update_rate: 500 } }\n"
            "controller_manager: { ros__parameters: { update_rate: 50 } }",
            "50",
        ),
        ("other: { ros__parameters: { update_rate: 500 } }", "100"),  # ros2_control's default
        ("", "100"),
    ],
)
def test_a_manager_at_another_rate_than_the_drives_is_refused(tmp_path, content, found):
    file = tmp_path / "controllers.yaml"
    file.write_text(content, encoding="utf-8")
    with pytest.raises(
        ConfigError, match=rf"controllers_file = .*: update_rate = {found} Hz: must be 500 Hz"
    ):
        made("icube", controllers_file=str(file))
    made("mock", controllers_file=str(file))  # nothing there has to be in step


@pytest.mark.parametrize("section", ["/**", "controller_manager", "/controller_manager"])
def test_a_manager_at_the_drives_rate_is_taken(tmp_path, section):
    file = tmp_path / "controllers.yaml"
    file.write_text(f"{section}: {{ ros__parameters: {{ update_rate: 500 }} }}", encoding="utf-8")
    assert (
        str(file)
        in made("icube", controllers_file=str(file)).node("controller_manager").parameter_files
    )


def test_controllers_that_are_no_parameter_file_are_refused_in_words(tmp_path):
    file = tmp_path / "controllers.yaml"
    file.write_text("controller_manager: 5", encoding="utf-8")
    with pytest.raises(
        ConfigError,
        match=r"controllers_file = .*: 5: must be a mapping: node, then ros__parameters",
    ):
        made("icube", controllers_file=str(file))


@pytest.mark.parametrize(
    ("driving", "interface"),
    [
        ("joint_trajectory_controller", "position"),
        ("forward_position_controller", "position"),
        ("forward_velocity_controller", "velocity"),
        ("forward_effort_controller", "effort"),
    ],
)
def test_behind_ros2_control_the_simulator_is_the_robot(driving, interface):
    system = made("sim_ros2_control", controller=driving, scene="ball", rate="250")
    assert order(system) == [
        "simulator",
        "robot_state_publisher",
        "controller_manager",
        "spawn_joint_state_broadcaster",
        f"spawn_{driving}",
    ]
    simulator = system.node("simulator")
    assert simulator.parameters == {
        "robot": "ur5",
        "rate": 250.0,
        "scene": "ball",
        "imperfections": "",
    }
    assert simulator.remappings == {
        "joint_states": "/robot/joint_states",
        "joint_commands": "/robot/joint_commands",
        "robot_description": "/robot/robot_description",
        "/forward_effort_controller/commands": "/robot/forward_effort_controller/commands",
        "/forward_position_controller/commands": "/robot/forward_position_controller/commands",
        "/forward_velocity_controller/commands": "/robot/forward_velocity_controller/commands",
    }
    assert description(system).arguments == {
        "hardware": "topic",
        "command_interface": interface,
        "joint_states_topic": "/robot/joint_states",
        "joint_commands_topic": "/robot/joint_commands",
    }
    assert system.node("robot_state_publisher").parameters["use_sim_time"] is False
    assert system.node(f"spawn_{driving}") == spawner(driving)


@pytest.mark.parametrize(
    ("name", "plugin"),
    [
        ("mock", "mock_components/GenericSystem"),
        ("gazebo", "gz_ros2_control/GazeboSimSystem"),
        ("icube", "ethercat_driver/EthercatDriver"),
        ("sim_ros2_control", "joint_state_topic_hardware_interface/JointStateTopicSystem"),
    ],
)
@pytest.mark.usefixtures("xacro_here")
def test_xacro_makes_the_hardware_of_the_system_of_the_description(name, plugin):
    text = description(made(name)).text()
    assert ElementTree.fromstring(text).findtext("ros2_control/hardware/plugin") == plugin


@pytest.fixture
def xacro_program(monkeypatch):
    """The program of this interpreter's environment is found."""
    folder = str(Path(sys.executable).parent)
    monkeypatch.setenv("PATH", os.pathsep.join([folder, os.environ["PATH"]]))


@pytest.mark.starts("the program xacro makes a description")
def test_the_program_makes_what_xacro_makes_here(xacro_program, request):
    given = description(made("mock"))
    text = given.text()
    request.getfixturevalue("xacro_here")
    assert given.text() == text


@pytest.mark.starts("the program xacro refuses a description")
@pytest.mark.usefixtures("xacro_program")
def test_what_xacro_refuses_is_refused_with_its_words():
    path = SHARE / "urdf/ur5/ur5.urdf.xacro"
    with pytest.raises(
        ConfigError, match=r"ur5.urdf.xacro: .*hardware:='nonsense': choices: none, mock"
    ):
        Xacro(path, {"hardware": "nonsense"}).text()


# --- drivers ---


@pytest.mark.parametrize(
    ("ur_type", "law", "forward", "rate"),
    [
        ("ur5", "admittance", "forward_position_controller", 125.0),
        ("ur5e", "admittance", "forward_position_controller", 500.0),
        ("ur5e", "impedance", "forward_effort_controller", 500.0),
        ("ur20", "impedance", "forward_effort_controller", 500.0),
    ],
)
def test_the_driver_of_universal_robots_loads_the_controllers_and_ours_has_one_activated(
    ur_type, law, forward, rate
):
    system = made("ur", ur_type=ur_type, law=law, headless_mode="true")
    assert order(system) == [
        "launch/ur_control.launch.py",
        "watchdog",
        "controller",
        "wait_active",
        f"spawn_{forward}",
    ]
    assert system.forward == forward
    (driver,) = launch_files(system)
    assert driver.package == "ur_robot_driver"
    assert driver.arguments == {
        "ur_type": ur_type,
        "robot_ip": "192.168.56.101",
        "use_mock_hardware": "false",
        "headless_mode": "true",
        "tf_prefix": "",
        "verify_robot_model": "true",
        "activate_joint_controller": "false",
        "launch_rviz": "false",
    }
    control = system.node("controller").parameters
    assert (control["robot"], control["profile"], control["rate"]) == (ur_type, "real", rate)
    assert system.node(f"spawn_{forward}") == spawner(forward, file="")


@pytest.mark.parametrize("mock", ["true", "false"])
@pytest.mark.parametrize(
    ("name", "given"), [("ur", {"ur_type": "ur5"}), ("ur", {"ur_type": "ur5e"}), ("gen3", {})]
)
def test_a_driver_runs_with_its_default_law_and_takes_every_law_that_a_refusal_hints_at(
    name, given, mock
):
    given = given | {"use_mock_hardware": mock}
    assert (
        made(name, **given).node("controller").parameters["law"]
        == DEFAULT_LAWS["mock" if mock == "true" else "real"]
    )
    for law in law_names():
        try:
            made(name, law=law, **given)
        except ConfigError as error:
            hinted = str(error).partition("Use one of: ")[2].rstrip(".").split(", ")
            assert hinted[0] in law_names()
            for hint in hinted:
                assert made(name, law=hint, **given).node("controller").parameters["law"] == hint


@pytest.mark.parametrize(
    ("name", "plugins"),
    [
        ("mock", ("joint_state_broadcaster", "forward_command_controller")),
        ("icube", ("ethercat_driver", "joint_state_broadcaster", "forward_command_controller")),
        (
            "sim_ros2_control",
            (
                "joint_state_topic_hardware_interface",
                "joint_state_broadcaster",
                "joint_trajectory_controller",
            ),
        ),
    ],
)
def test_packages_that_the_manager_loads_plugins_of_are_looked_up_before_the_start(name, plugins):
    assert made(name).plugins == plugins


def test_a_rate_that_was_not_given_does_not_override_the_file_of_the_gains():
    assert "rate" not in made("sim").node("controller").parameters
    assert made("sim", rate="250").node("controller").parameters["rate"] == 250.0


@pytest.mark.parametrize(
    ("name", "section"), [*((name, "controller") for name in WITH_CONTROLLER), ("sim", "/**")]
)
def test_a_rate_in_the_file_of_the_gains_counts_for_controller_and_watchdog(
    name, section, tmp_path
):
    file = tmp_path / "gains.yaml"
    file.write_text(f"{section}: {{ros__parameters: {{rate: 321.0}}}}\n", encoding="utf-8")
    system = made(name, gains=str(file))
    assert {
        node.parameters["rate"]
        for node in system.nodes()
        if node.name in ("controller", "watchdog")
    } == {321.0}


def test_a_rate_that_is_given_overrides_the_file_of_the_gains(tmp_path):
    file = tmp_path / "gains.yaml"
    file.write_text("controller: {ros__parameters: {rate: 321.0}}\n", encoding="utf-8")
    assert made("sim", gains=str(file), rate="250").node("controller").parameters["rate"] == 250.0


def test_packages_of_all_controllers_in_kinovas_file_are_looked_up_with_the_driver():
    file = SHARE / "config/ros2_control/gen3_forward_position.yaml"
    manager = yaml.safe_load(file.read_text(encoding="utf-8"))["controller_manager"][
        "ros__parameters"
    ]
    types = [entry["type"] for entry in manager.values() if isinstance(entry, dict)]
    assert set(made("gen3").plugins) == {each.partition("/")[0] for each in types}
    assert made("gen3", driver="false").plugins == ()


def test_kinovas_driver_has_a_forward_controller_by_our_file():
    system = made("gen3")
    assert order(system) == ["launch/gen3.launch.py", "watchdog", "controller"]
    (driver,) = launch_files(system)
    assert driver.package == "kortex_bringup"
    assert driver.arguments == {
        "robot_ip": "192.168.1.10",
        "use_fake_hardware": "false",
        "controllers_file": str(SHARE / "config/ros2_control/gen3_forward_position.yaml"),
        "robot_controller": "forward_position_controller",
        "robot_pos_controller": "joint_trajectory_controller",
        "launch_rviz": "false",
        "prefix": "",
    }
    control = system.node("controller").parameters
    assert (control["robot"], control["profile"], control["rate"]) == ("gen3", "real", 1000.0)


@pytest.mark.parametrize(
    ("name", "argument", "rate"),
    [("ur", "use_mock_hardware", 125.0), ("gen3", "use_fake_hardware", 1000.0)],
)
def test_a_driver_on_mock_hardware_has_the_profile_of_that_and_its_own_rate(name, argument, rate):
    system = made(name, use_mock_hardware="true", law="position_domain_pd")
    assert launch_files(system)[0].arguments[argument] == "true"
    control = system.node("controller").parameters
    assert (control["profile"], control["rate"]) == ("mock", rate)


@pytest.mark.parametrize("name", ["ur", "gen3"])
def test_a_driver_that_runs_already_is_not_started(name):
    system, whole = made(name, driver="false"), made(name)
    assert not launch_files(system)
    assert system.nodes() == whole.nodes()


# --- gains ---


def test_without_a_file_the_defaults_are_taken():
    assert made("sim").node("controller").parameter_files == ()


def test_gains_by_path_are_handed_on_by_an_absolute_one(tmp_path, monkeypatch):
    (tmp_path / "gains.yaml").write_text("controller: { ros__parameters: {} }")
    monkeypatch.chdir(tmp_path)
    system = SETUPS["sim"].make(gains="gains.yaml")
    assert system.node("controller").parameter_files == (str(tmp_path / "gains.yaml"),)


@pytest.mark.parametrize(
    "content",
    [
        "- a",
        "controller: 5",
        "/**: { ros__parameters: [] }",
        "/**: {ros__parameters: {impedance: 3}}",
    ],
)
def test_gains_that_are_no_parameter_file_are_refused_in_words(tmp_path, content):
    file = tmp_path / "gains.yaml"
    file.write_text(content, encoding="utf-8")
    with pytest.raises(ConfigError, match=r"gains = .*: must be a mapping"):
        made("sim", gains=str(file))


@pytest.mark.parametrize(
    "content",
    [
        "contoller: { ros__parameters: { impedance: { stiffness: 300.0 } } }",
        "controller: { ros_parameters: { impedance: { stiffness: 300.0 } } }",
        "controller: { ros__parameters: { impedance: { stiffness: 300.0, stiffness: 30.0 } } }",
        "a: " + "[" * 900,
        "a: " + "9" * 5000,
        "a: &a { x: *a }",
        "",
    ],
    ids=["node", "ros__parameters", "twice", "deep", "digits", "recursive", "empty"],
)
def test_gains_that_would_leave_the_default_ones_are_refused(tmp_path, content):
    file = tmp_path / "gains.yaml"
    file.write_text(content, encoding="utf-8")
    with pytest.raises(ConfigError) as caught:
        made("sim", gains=str(file))
    assert str(caught.value).startswith(f"gains = {str(file)!r}: ")


@pytest.mark.parametrize(
    "entry", ["stiffness: -5.0", "stifness: 5.0", "stiffness: [1.0, 2.0, 3.0, 4.0, 5.0, -6.0]"]
)
def test_a_gain_that_is_refused_is_told_with_file_and_line(tmp_path, entry):
    file = tmp_path / "gains.yaml"
    file.write_text(
        f"controller:\n  ros__parameters:\n    impedance:\n      coriolis: true\n      {entry}\n"
    )
    with pytest.raises(ConfigError) as caught:
        made("sim", gains=str(file))
    assert str(caught.value).startswith(f"gains = {str(file)!r}: line 5: ")


@pytest.mark.parametrize("kind", ["loop", "pipe", "device"])
def test_gains_in_what_is_no_regular_file_are_refused_at_once(tmp_path, kind):
    file = Path("/dev/zero") if kind == "device" else tmp_path / "gains.yaml"
    if kind == "loop":
        file.symlink_to(file)
    if kind == "pipe":
        os.mkfifo(file)
    with pytest.raises(ConfigError) as caught:
        made("sim", gains=str(file))
    assert (caught.value.name, caught.value.value) == ("gains", str(file))


@pytest.mark.parametrize("name", ["nowhere.yaml", "."])
def test_gains_that_are_no_file_are_refused(tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ConfigError) as caught:
        SETUPS["sim"].make(gains=name)
    assert (caught.value.name, caught.value.value) == ("gains", str(tmp_path / name))


# --- the environment ---


@pytest.fixture
def prefix(tmp_path, monkeypatch):
    """The interpreter's prefix, with an ament index."""
    (tmp_path / "share/ament_index").mkdir(parents=True)
    monkeypatch.setattr(sys, "prefix", str(tmp_path))
    return str(tmp_path)


def test_what_the_user_has_chosen_stays(prefix):
    chosen = {"ROS_DOMAIN_ID": "7", "ROS_AUTOMATIC_DISCOVERY_RANGE": "SUBNET", "OTHER": "x"}
    found = environment(chosen)
    assert {name: found[name] for name in chosen} == chosen
    assert chosen == {"ROS_DOMAIN_ID": "7", "ROS_AUTOMATIC_DISCOVERY_RANGE": "SUBNET", "OTHER": "x"}


def test_where_nothing_is_chosen_the_system_keeps_to_this_machine(prefix):
    found = environment({})
    assert found["ROS_AUTOMATIC_DISCOVERY_RANGE"] == "LOCALHOST"
    assert 0 <= int(found["ROS_DOMAIN_ID"]) <= 101
    assert environment({}) == found


def test_the_prefix_of_the_interpreter_comes_first_and_once(prefix):
    for before in (
        "",
        "/opt/ros",
        f"/opt/ros{os.pathsep}{prefix}",
        f"{prefix}{os.pathsep}/opt/ros",
    ):
        parts = environment({"AMENT_PREFIX_PATH": before})["AMENT_PREFIX_PATH"].split(os.pathsep)
        assert parts == ([prefix, "/opt/ros"] if before else [prefix])


def test_an_interpreter_without_ros_leaves_the_prefixes_alone(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "prefix", str(tmp_path))
    assert environment({"AMENT_PREFIX_PATH": "/opt/ros"})["AMENT_PREFIX_PATH"] == "/opt/ros"
    assert "AMENT_PREFIX_PATH" not in environment({})


def test_the_environment_of_this_process_is_where_it_starts_from(prefix, monkeypatch):
    monkeypatch.setenv("ROBOT_CONTROL_TEST", "here")
    assert environment()["ROBOT_CONTROL_TEST"] == "here"
