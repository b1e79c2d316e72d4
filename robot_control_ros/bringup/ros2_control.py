"""Systems with a ros2_control that we start: on mock hardware, Gazebo, EtherCAT by ICube's driver, our simulator.

Names of packages, executables and arguments: ros2_control (controller_manager/controller_manager/spawner.py,
controller_manager/src/ros2_control_node.cpp), ros_gz (ros_gz_sim/launch/gz_sim.launch.py.in, ros_gz_sim/src/create.cpp,
ros_gz_bridge/README.md).
"""

from __future__ import annotations

from pathlib import Path

from ..errors import ConfigError
from ..robots import RobotConfig, load_robot
from ..share import share_directory
from .ours import CONTROL, ROBOT, SWITCH, control, number, running_law, simulator, switch
from .system import Argument, LaunchFile, NodeSpec, Setup, System, Value, Xacro, stages

MANAGER_LIMIT = "60"  # s that a spawner waits for the controller manager; by default it waits for ever
STATES, COMMANDS = "/robot/joint_states", "/robot/joint_commands"  # of a simulator behind ros2_control
BROADCASTERS = ("joint_state_broadcaster", "force_torque_sensor_broadcaster")


def mock(robot: str = "ur5", law: str = "admittance", gains: str = "", watchdog: str = "true") -> System:
    """ros2_control on mock_components, our controller in front of it.

    Raises:
        ConfigError: unknown robot, law or file, or a law that commands effort, which mock hardware doesn't take.
    """
    config, node = load_robot(robot, "mock"), control(robot, law, gains, watchdog, "mock")
    description, file = xacro(config, hardware="mock"), controllers(config)
    return stages(
        [state_publisher(description, False), manager(file), spawner(file, *BROADCASTERS)],
        *in_front(config, law, gains, file, node),
    )


def gazebo(
    robot: str = "ur5",
    law: str = "impedance",
    gains: str = "",
    watchdog: str = "true",
    interface: str = "effort",
    world: str = "",
    headless: str = "false",
) -> System:
    """Gazebo with gz_ros2_control, our controller in front of it.

    The arm stands until a controller is active; one that takes efforts drops it until the first command comes. So ours
    runs before the forward controller is activated.

    Raises:
        ConfigError: see :func:`mock`; no such world.
    """
    profile = {"effort": "gz", "position": "gz_position"}.get(interface)
    if profile is None:
        raise ConfigError(f"interface = {interface!r}; choices: effort, position")
    config, node = load_robot(robot, profile), control(robot, law, gains, watchdog, profile)
    path = Path(world).resolve() if world else share_directory() / "config" / "gazebo" / "arm.sdf"
    if not path.is_file():
        raise ConfigError(f"world = {world!r}: no such file")
    file = controllers(config)
    description = xacro(config, hardware=f"gz_{interface}", controllers=str(file))
    server = "-r -s" if switch("headless", headless) else "-r"
    simulation = LaunchFile(
        "ros_gz_sim", "launch/gz_sim.launch.py", {"gz_args": f"{server} {path}", "on_exit_shutdown": "true"}
    )
    clock = NodeSpec(
        "parameter_bridge",
        "clock_bridge",
        package="ros_gz_bridge",
        arguments=("/clock@rosgraph_msgs/msg/Clock[gz.msgs.Clock",),
    )
    create = NodeSpec(
        "create",
        "create",
        package="ros_gz_sim",
        arguments=("-topic", "robot_description", "-name", config.name),
        once=True,
    )
    return stages(
        [simulation, state_publisher(description, True), clock, create],
        [spawner(file, *BROADCASTERS)],
        *in_front(config, law, gains, file, node),
    )


def ethercat(
    robot: str = "ur5", law: str = "impedance", gains: str = "", watchdog: str = "true", slave_config: str = ""
) -> System:
    """Drives on ICube's ethercat_driver, our controller in front of it; all joints take what the law commands.

    Raises:
        ConfigError: see :func:`mock`; no such file, or a robot without the profile.
    """
    config, node = load_robot(robot, "icube"), control(robot, law, gains, watchdog, "icube", vital=False)
    default = share_directory() / "config" / "ros2_control" / "ethercat" / "cia402_servo.yaml"
    slaves = Path(slave_config).resolve() if slave_config else default
    if not slaves.is_file():
        raise ConfigError(f"slave_config = {slave_config!r}: no such file")
    rate = f"{config.profile.rate:g}"
    mode = running_law(config, law, gains).mode.value
    description = xacro(config, hardware="ethercat", command_interface=mode, slave_config=str(slaves), rate=rate)
    file = controllers(config)
    return stages(
        [
            state_publisher(description, False),
            manager(file, update_rate=round(config.profile.rate)),
            spawner(file, "joint_state_broadcaster"),
        ],
        *in_front(config, law, gains, file, node),
    )


def behind(
    robot: str = "ur5", controller: str = "joint_trajectory_controller", scene: str = "", rate: str = "0.0"
) -> System:
    """Our simulator behind ros2_control, by joint_state_topic_hardware_interface: any controller can drive it.

    All of it keeps wall time: the manager's cycle would otherwise be that of /clock.

    Raises:
        ConfigError: unknown robot, controller or scene.
    """
    commands = {
        "joint_trajectory_controller": "position",
        "forward_position_controller": "position",
        "forward_velocity_controller": "velocity",
        "forward_effort_controller": "effort",
    }
    if controller not in commands:
        raise ConfigError(f"controller = {controller!r}; choices: {', '.join(commands)}")
    config = load_robot(robot)
    description = xacro(
        config,
        hardware="topic",
        command_interface=commands[controller],
        joint_states_topic=STATES,
        joint_commands_topic=COMMANDS,
    )
    topics = {"joint_states": STATES, "joint_commands": COMMANDS, "robot_description": "/robot/robot_description"}
    file = controllers(config)
    return stages(
        [
            simulator(robot, number("rate", rate), scene, topics),
            state_publisher(description, False),
            manager(file),
            spawner(file, "joint_state_broadcaster"),
        ],
        [spawner(file, controller)],
    )


def in_front(
    config: RobotConfig, law: str, gains: str, file: Path, control: tuple[NodeSpec, ...]
) -> tuple[tuple[NodeSpec, ...], ...]:
    """The stages that put our controller in front of a forward controller: loaded, ours running, then activated."""
    forward = config.profile.controllers[running_law(config, law, gains).mode]
    return (spawner(file, forward, inactive=True),), control, (spawner(file, forward),)


def spawner(file: Path | None, *names: str, inactive: bool = False) -> NodeSpec:
    """Loads, configures and, unless `inactive`, activates controllers; of one that is loaded it does the rest."""
    arguments = [*names, "--controller-manager-timeout", MANAGER_LIMIT]
    if file is not None:
        arguments += ["--param-file", str(file)]
    if inactive:
        arguments.append("--inactive")
    name = f"{'load' if inactive else 'spawn'}_{names[0]}"
    return NodeSpec("spawner", name, package="controller_manager", arguments=tuple(arguments), once=True)


def state_publisher(description: Xacro, simulated_time: bool) -> NodeSpec:
    """Publishes the robot description, from which the controller manager makes the hardware, and the frames."""
    parameters: dict[str, Value | Xacro] = {"robot_description": description, "use_sim_time": simulated_time}
    return NodeSpec("robot_state_publisher", "robot_state_publisher", parameters, package="robot_state_publisher")


def manager(file: Path, **parameters: Value) -> NodeSpec:
    """The controller manager."""
    return NodeSpec(
        "ros2_control_node",
        "controller_manager",
        parameters,
        (str(file),),
        {"~/robot_description": "/robot_description"},  # before Jazzy the topic was the manager's own
        package="controller_manager",
    )


def controllers(config: RobotConfig) -> Path:
    """The parameter file of a robot's controller manager.

    Raises:
        ConfigError: there is none.
    """
    return _existing(config, share_directory() / "config" / "ros2_control" / f"{config.name}.yaml", "controllers")


def xacro(config: RobotConfig, **arguments: str) -> Xacro:
    """A robot's description with ros2_control's tags.

    Raises:
        ConfigError: there is none.
    """
    path = config.urdf_path.with_name(f"{config.urdf_path.name}.xacro")
    return Xacro(_existing(config, path, "description with ros2_control's tags"), arguments)


def _existing(config: RobotConfig, path: Path, what: str) -> Path:
    if not path.is_file():
        raise ConfigError(f"robot {config.name}: no {what}: {path} is missing")
    return path


MOCK = Setup((ROBOT, Argument("law", "admittance", CONTROL[0].text), *CONTROL[1:]), mock)
GAZEBO = Setup(
    (
        ROBOT,
        *CONTROL,
        Argument("interface", "effort", "What the joints take in this run of Gazebo.", ("effort", "position")),
        Argument("world", "", "SDF file with the force-torque system; empty for the package's."),
        Argument("headless", "false", "Run Gazebo without its window.", SWITCH),
    ),
    gazebo,
)
ETHERCAT = Setup(
    (
        ROBOT,
        *CONTROL,
        Argument("slave_config", "", "ICube's slave file; empty for a generic CiA 402 drive, see the file's comments."),
    ),
    ethercat,
)
BEHIND = Setup(
    (
        ROBOT,
        Argument("controller", "joint_trajectory_controller", "The controller that drives the simulator."),
        Argument("scene", "", "What stands around the robot: a name, or the path of a YAML file; empty for nothing."),
        Argument("rate", "0.0", "Joint states per second [Hz]; 0 takes the robot's."),
    ),
    behind,
)
