"""Our own nodes: controller, watchdog, simulator, dashboard; and the simulation that they make."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from ..control.wrench_supply import check_wrench_supply
from ..core.errors import ConfigError, refused
from ..laws.running_law import RunningLaw
from ..robot.configuration import RobotConfig, equipped, load_robot
from ..robot.profile import JOINT_STATE_RATE
from ..robot.ros_parameter_file import ParameterFile
from ..simulation.imperfect.imperfections import load_imperfections
from ..simulation.scene import load_scene
from .parameter_files import gain_parameters, parameter_file, portable
from .system import Argument, Given, NodeSpec, Setup, System, Value

SWITCH = ("true", "false")
SHARED = (
    "robot",
    "profile",
    "prefix",
    "rate",
    "use_sim_time",
)  # parameters that the watchdog and the controller have both
DASHBOARD = Argument(
    "dashboard", "false", "Open the page to watch, drag and tune; its address is printed.", SWITCH
)
RATE = Argument.of_number("rate", JOINT_STATE_RATE)
SCENE = Argument(
    "scene",
    "",
    "What stands around the robot: a name, or the path of a YAML file; empty for nothing.",
)
IMPERFECTIONS = Argument(
    "imperfections",
    "",
    "Of the simulated arm: a name, or the path of a YAML file; empty for an ideal arm.",
)
GRIPPER = Argument(
    "gripper", "", "On the robot's tip: a name, or the path of a YAML file; empty for none."
)
ROBOT = Argument("robot", "ur5", "Robot: a name, or the path of a YAML file.")
PREFIX = Argument(
    "prefix", "", "In front of the names of joints and frames; empty takes the robot's."
)
NAMESPACE = Argument("namespace", "", "Of all nodes and topics; empty for the root.")
CONTROL = (
    Argument("law", "impedance", "Control law: a name, or package.module:Class."),
    Argument(
        "gains",
        "",
        "ROS parameter file with gains; empty takes the robot's and the law's defaults.",
    ),
    Argument(
        "watchdog",
        "true",
        "Start the watchdog, which makes the robot safe where the controller dies.",
        SWITCH,
    ),
    DASHBOARD,
)


def control(
    given: Given, profile: str, *, rate: float = 0.0, **parameters: Value
) -> tuple[NodeSpec, ...]:
    """Watchdog and page, if wanted, and the controller; for the arguments and errors see
    :func:`controller`.
    """
    spec = controller(given, profile, rate=rate, **parameters)
    specs = [spec]
    if given["watchdog"] == "true":
        shared = {name: spec.parameters[name] for name in SHARED if name in spec.parameters}
        topics = {old: new for old, new in spec.remappings.items() if old == "joint_states"}
        specs.insert(0, NodeSpec("watchdog", "watchdog", shared, remappings=topics))
    if given["dashboard"] == "true":
        prefix = {"prefix": given["prefix"]} if given.get("prefix") else {}
        specs.append(page(given["robot"], profile, **prefix))
    return tuple(specs)


def controller(given: Given, profile: str, *, rate: float = 0.0, **parameters: Value) -> NodeSpec:
    """The controller of one robot under one of its profiles.

    Args:
        given: Arguments robot, law and gains; prefix and namespace where they aren't empty.
        profile: Name of a profile in the robot's file.
        rate: Joint states per second [Hz]; 0 takes that of the file of the gains, or the profile's.
        parameters: More parameters of the controller.

    Raises:
        ConfigError: unknown robot, profile, law or file; a law whose commands the profile doesn't
            take; a law whose wrench it doesn't have.
    """
    prefix = given.get("prefix", "")
    namespace = given.get("namespace", "")
    robot = load_robot(given["robot"], profile, prefix)
    source = gain_parameters(given["gains"], namespace).get("wrench.source", "")
    check_wrench_supply(running_law(robot, given["law"], given["gains"], namespace), str(source))
    rate = rate or file_rate(given["gains"], namespace)
    values: dict[str, Value] = {
        "robot": portable(given["robot"]),
        "profile": profile,
        **({"prefix": prefix} if prefix else {}),
        **({"rate": rate} if rate else {}),  # 0 would override the file of the gains
        "law": given["law"],
        "description": "config",
        "use_sim_time": robot.profile.simulated_time,
        **({} if robot.profile.simulated_time else {"save_faults": True}),
        **parameters,
    }
    files = (str(parameter_file("gains", given["gains"])),) if given["gains"] else ()
    topics = {
        "joint_states": robot.profile.joint_states,
        "wrench": robot.profile.wrench_topic or "wrench",
    }
    topics = {old: new for old, new in topics.items() if new != old}
    return NodeSpec("controller", "controller", values, files, topics)


def active() -> NodeSpec:
    """Node that ends when the controller is active and publishes commands."""
    return NodeSpec("wait_active", "wait_active", {"node": "controller"})


def page(robot: str, profile: str, **parameters: Value) -> NodeSpec:
    """The page in the browser, with more of its parameters. It is started again after a
    failure.
    """
    values: dict[str, Value] = {"robot": portable(robot), "profile": profile, **parameters}
    return NodeSpec("dashboard", "dashboard", values, respawn=True)


def simulation(given: Given) -> System:
    """Simulator, watchdog and controller of one robot.

    Raises:
        ConfigError: unknown robot, law, scene, imperfections or file, or a law whose commands the
            simulator doesn't take.
    """
    given = {**given, "robot": equipped(given["robot"], given["gripper"])}
    rate = JOINT_STATE_RATE.parse("rate", given["rate"])
    specs = [simulator(given, pacing=given["pacing"]), *control(given, "sim", rate=rate)]
    return System(tuple(replace(spec, namespace=given["namespace"]) for spec in specs))


def simulator(
    given: Given, remappings: Mapping[str, str] | None = None, **parameters: Value
) -> NodeSpec:
    """The simulator of one robot; `given` has robot, rate, scene and imperfections.

    Raises:
        ConfigError: unknown scene or imperfections, or those of another robot; a rate that is
            refused.
    """
    scene = given["scene"]
    imperfections = given["imperfections"]
    if scene:
        load_scene(scene)
    if imperfections:
        load_imperfections(imperfections).check(load_robot(given["robot"]))
    values: dict[str, Value] = {
        "robot": portable(given["robot"]),
        "rate": JOINT_STATE_RATE.parse("rate", given["rate"]),
        "scene": portable(scene),
        "imperfections": portable(imperfections),
        **({"prefix": given["prefix"]} if given.get("prefix") else {}),
        **parameters,
    }
    return NodeSpec("simulator", "simulator", values, remappings=remappings or {})


SIMULATION = Setup(
    (
        ROBOT,
        GRIPPER,
        *CONTROL,
        Argument(
            "pacing",
            "realtime",
            "realtime, or lockstep: one period per command.",
            ("realtime", "lockstep"),
        ),
        RATE,
        SCENE,
        IMPERFECTIONS,
        PREFIX,
        NAMESPACE,
    ),
    simulation,
)


def running_law(robot: RobotConfig, law: str, gains: str, namespace: str = "") -> RunningLaw:
    """The law with those gains of a parameter file that are given to the node `controller` in a
    namespace.

    Raises:
        ConfigError: no such law or file, or a gain or the pairing of law and robot is refused.
    """
    parameters = gain_parameters(gains, namespace)
    prefix = f"{law}."
    if law in parameters:
        raise refused("gains", gains, f"{law} = {parameters[law]!r}: must be a mapping of gains")
    own = {name: value for name, value in parameters.items() if name.startswith(prefix)}
    try:
        return RunningLaw(robot, law, own)
    except ConfigError as error:
        # an unknown name, or a value that is refused, such as that of stiffness[0]
        wrong = str(error.value) if error.name == "gain" else error.name.partition("[")[0]
        full_name = prefix + wrong.removeprefix(prefix)
        if full_name not in own:
            raise
        file = ParameterFile.read("gains", parameter_file("gains", gains))
        raise file.error_at(full_name, error) from error


def file_rate(gains: str, namespace: str = "") -> float:
    """The controller's `rate` in the file of the gains [Hz]; 0 where there is none."""
    return JOINT_STATE_RATE.check("rate", gain_parameters(gains, namespace).get("rate", 0.0))
