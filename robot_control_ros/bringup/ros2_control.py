"""Systems with a ros2_control that we start: on mock hardware, EtherCAT by ICube's driver, our
simulator.

Names of packages, executables and arguments: ros2_control
(controller_manager/controller_manager/spawner.py, controller_manager/src/ros2_control_node.cpp).
"""

from __future__ import annotations

from pathlib import Path

from ..core.errors import ConfigError, refused
from ..core.types import CommandMode
from ..robot.configuration import RobotConfig, load_robot
from ..robot.files import share_directory
from ..robot.profile import CONTROLLERS
from .package_nodes import (
    CONTROL,
    IMPERFECTIONS,
    PREFIX,
    RATE,
    ROBOT,
    SCENE,
    SWITCH,
    active,
    control,
    running_law,
    simulator,
)
from .parameter_files import node_parameters, parameter_file, with_prefix
from .system import Argument, Given, NodeSpec, Setup, System, Value, Xacro

DRIVES = "config/ros2_control/ethercat"
# packages of what is spawned
FORWARD_PLUGINS = ("joint_state_broadcaster", "forward_command_controller")
# Hz (ros2_control, controller_manager/src/controller_manager_parameters.yaml)
DEFAULT_UPDATE_RATE = 100
# s that a spawner waits for the controller manager; by default it waits for ever
MANAGER_LIMIT = "60"
# of a simulator behind ros2_control
STATES = "/robot/joint_states"
COMMANDS = "/robot/joint_commands"
BEHIND_TOPICS = {  # what the manager and its controllers have by the same names
    "joint_states": STATES,
    "joint_commands": COMMANDS,
    "robot_description": "/robot/robot_description",
    **{f"/{name}/commands": f"/robot/{name}/commands" for name in CONTROLLERS.values()},
}
DRIVING = {
    "joint_trajectory_controller": CommandMode.POSITION,
    **{name: mode for mode, name in CONTROLLERS.items()},
}


def mock(given: Given) -> System:
    """ros2_control on mock_components, our controller in front of it.

    Raises:
        ConfigError: unknown robot, law or file, or a law that commands effort, which mock hardware
            doesn't take.
    """
    config = load_robot(given["robot"], "mock", given["prefix"])
    forward = forward_controller(given, config)
    front = in_front(given, config, forward)
    description = xacro(config, hardware="mock")
    file = controllers(given, config)
    publisher = state_publisher(description)
    states = spawner(file, "joint_state_broadcaster")
    return System(
        (publisher, manager(file), states, wrench_broadcaster(file), *front),
        plugins=FORWARD_PLUGINS,
        forward=forward,
    )


def icube(given: Given) -> System:
    """Drives on ICube's ethercat_driver, our controller in front of it; all joints take what the
    law commands.

    The driver enables its drives by itself, before anybody commands (EcCiA402Drive). Without a
    command a drive in torque mode gives no torque: an arm that nothing supports falls. So laws that
    command effort ask for `supported`.

    Raises:
        ConfigError: see :func:`mock`; no such file; a robot without the profile; effort without
            support; a controller manager at another rate than the profile's, which is the drives'.
    """
    config = load_robot(given["robot"], "icube", given["prefix"])
    forward = forward_controller(given, config)
    front = in_front(given, config, forward)
    mode = running_law(config, given["law"], given["gains"]).mode
    if mode is CommandMode.EFFORT and given["supported"] == "false":
        raise ConfigError(
            f"law {given['law']} commands effort, but ethercat_driver enables its drives without torque before the "
            "first command: the arm would fall. Use a law that commands position or velocity, or support the arm and "
            "say supported:=true"
        )
    folder = str(drives(given["slave_config"], config))
    file = controllers(given, config)
    rate = f"{config.profile.rate:g}"
    description = xacro(
        config, hardware="ethercat", command_interface=mode.value, slave_config=folder, rate=rate
    )
    check_update_rate(file, config.profile.rate)
    publisher = state_publisher(description)
    states = spawner(file, "joint_state_broadcaster")
    return System(
        (publisher, manager(file), states, *front),
        plugins=("ethercat_driver", *FORWARD_PLUGINS),
        forward=forward,
    )


def behind(given: Given) -> System:
    """Our simulator behind ros2_control, by joint_state_topic_hardware_interface: any controller
    can drive it.

    All of it keeps wall time: the manager's cycle would otherwise be that of /clock.

    Raises:
        ConfigError: unknown robot, scene, imperfections or file.
    """
    config = load_robot(given["robot"], prefix=given["prefix"])
    controller = given["controller"]
    driving = "forward_command_controller" if controller.startswith("forward_") else controller
    topics = {"joint_states_topic": STATES, "joint_commands_topic": COMMANDS}
    description = xacro(
        config, hardware="topic", command_interface=DRIVING[controller].value, **topics
    )
    file = controllers(given, config)
    return System(
        (
            simulator(given, BEHIND_TOPICS),
            state_publisher(description),
            manager(file),
            spawner(file, "joint_state_broadcaster"),
            spawner(file, controller),
        ),
        plugins=("joint_state_topic_hardware_interface", "joint_state_broadcaster", driving),
    )


def forward_controller(given: Given, config: RobotConfig) -> str:
    """Name of the forward controller that takes the commands of the law.

    Raises:
        ConfigError: see :func:`running_law`.
    """
    return config.profile.controllers[running_law(config, given["law"], given["gains"]).mode]


def in_front(
    given: Given, config: RobotConfig, forward: str, *, description: str = "config"
) -> tuple[NodeSpec, ...]:
    """Nodes that put ours in front of a forward controller.

    They are a spawner that loads the forward controller, our nodes, a node that ends when ours are
    active, and then a spawner that activates the forward controller.

    Raises:
        ConfigError: see :func:`control`; no such file of controllers.
    """
    ours = control(given, config.profile_name, description=description, forward_follows=True)
    file = controllers(given, config)
    load = spawner(file, forward, inactive=True)
    return (load, *ours, active(), spawner(file, forward))


def spawner(file: Path | None, controller: str, *, inactive: bool = False) -> NodeSpec:
    """Node that loads, configures and, unless `inactive`, activates a controller.

    Where the controller is loaded already, it does the rest.
    """
    arguments = [controller, "--controller-manager-timeout", MANAGER_LIMIT]
    if file is not None:
        arguments += ["--param-file", str(file)]
    if inactive:
        arguments.append("--inactive")
    name = f"{'load' if inactive else 'spawn'}_{controller}"
    return NodeSpec("spawner", name, package="controller_manager", arguments=tuple(arguments))


def wrench_broadcaster(file: Path) -> NodeSpec:
    """The spawner of the sensor's broadcaster, which fails on a Gazebo that is too old to show
    it to ros2_control.
    """
    return spawner(file, "force_torque_sensor_broadcaster")


def state_publisher(description: Xacro, *, simulated_time: bool = False) -> NodeSpec:
    """Node that publishes the frames, and the robot description.

    The controller manager makes the hardware from that description.
    """
    parameters: dict[str, Value | Xacro] = {
        "robot_description": description,
        "use_sim_time": simulated_time,
    }
    name = "robot_state_publisher"
    return NodeSpec(name, name, parameters, package="robot_state_publisher")


def manager(file: Path) -> NodeSpec:
    """Node of the controller manager."""
    return NodeSpec(
        "ros2_control_node",
        "controller_manager",
        parameter_files=(str(file),),
        # before Jazzy the topic was the manager's own
        remappings={"~/robot_description": "/robot_description"},
        package="controller_manager",
    )


def controllers(given: Given, config: RobotConfig) -> Path:
    """The parameter file of a robot's controller manager: the given one, or the package's with the
    robot's prefix.

    Raises:
        ConfigError: there is none.
    """
    if given["controllers_file"]:
        return parameter_file("controllers_file", given["controllers_file"])
    own = share_directory() / f"config/ros2_control/{config.name}.yaml"
    return with_prefix(parameter_file("controllers_file", own), config.prefix)


def drives(slave_config: str, config: RobotConfig) -> Path:
    """ICube's configuration of a robot's drives: a folder made of its topology, or one slave file
    for all.

    The given one, or the package's folder for the robot, or else its file for a generic drive.

    Raises:
        ConfigError: it doesn't exist.
    """
    own = share_directory() / DRIVES
    path = Path(slave_config or own / config.name).resolve()
    if path.is_dir():
        return parameter_file("slave_config", path / "bus.yaml").parent
    return parameter_file("slave_config", slave_config or own / "cia402_servo.yaml")


def check_update_rate(file: Path, rate: float) -> None:
    """Refuse a controllers file whose manager would run at another rate than the drives [Hz].

    Raises:
        ConfigError: it has another update_rate, or none.
    """
    parameters = node_parameters("controllers_file", file, "controller_manager", needed=False)
    found = parameters.get("update_rate", DEFAULT_UPDATE_RATE)
    if found != rate:
        rule = f"must be {rate:g} Hz, the rate of the drives in profile icube"
        raise refused(
            "update_rate", found, rule, rate, where=f"controllers_file = {str(file)!r}: ", unit="Hz"
        )


def xacro(config: RobotConfig, **arguments: str) -> Xacro:
    """A robot's description with ros2_control's tags, which lies beside the one without.

    Raises:
        ConfigError: there is none.
    """
    path = config.urdf_path.with_name(f"{config.urdf_path.name}.xacro")
    if not path.is_file():
        raise ConfigError(
            f"robot {config.name}: no description with ros2_control's tags: {path} is missing"
        )
    return Xacro(path, arguments, config.prefix, config.mount)


CONTROLLERS_FILE = Argument(
    "controllers_file",
    "",
    "Parameters of the controller manager; empty for config/ros2_control/<robot>.yaml.",
)
MOCK = Setup(
    (ROBOT, Argument("law", "admittance", CONTROL[0].text), *CONTROL[1:], CONTROLLERS_FILE, PREFIX),
    mock,
)
ICUBE = Setup(
    (
        Argument("robot", "ur5", "Robot with a profile icube: ur5, or the path of a YAML file."),
        Argument("law", "joint_pid", CONTROL[0].text),
        *CONTROL[1:],
        CONTROLLERS_FILE,
        PREFIX,
        Argument(
            "slave_config",
            "",
            "Folder made of a topology, or one slave file; empty for the package's.",
        ),
        Argument(
            "supported",
            "false",
            "The arm can't fall, whatever the drives do: effort is allowed.",
            SWITCH,
        ),
    ),
    icube,
)
BEHIND = Setup(
    (
        ROBOT,
        Argument(
            "controller",
            "joint_trajectory_controller",
            "What drives the simulator.",
            tuple(DRIVING),
        ),
        CONTROLLERS_FILE,
        PREFIX,
        SCENE,
        IMPERFECTIONS,
        RATE,
    ),
    behind,
)
