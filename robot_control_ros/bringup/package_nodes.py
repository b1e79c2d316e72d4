"""Our own nodes: controller, watchdog, simulator, dashboard; and the simulation that they make."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import yaml

from ..control.wrench_supply import check_wrench_supply
from ..core.errors import ConfigError
from ..laws.running_law import RunningLaw
from ..robot.configuration import RobotConfig, load_robot
from ..simulation.scene import load_scene
from .system import Argument, NodeSpec, Setup, System, Value, stages

SWITCH = ("true", "false")
SHARED = ("robot", "profile", "rate", "use_sim_time")  # parameters that the watchdog and the controller have both
DASHBOARD = Argument("dashboard", "false", "Open the page to watch, drag and tune; its address is printed.", SWITCH)
RATE = Argument("rate", "0.0", "Joint states per second [Hz]; 0 takes the robot's.")
SCENE = Argument("scene", "", "What stands around the robot: a name, or the path of a YAML file; empty for nothing.")
ROBOT = Argument("robot", "ur5", "Robot: a name, or the path of a YAML file.")
CONTROL = (
    Argument("law", "impedance", "Control law: a name, or package.module:Class."),
    Argument("gains", "", "ROS parameter file with gains; empty takes the robot's and the law's defaults."),
    Argument("watchdog", "true", "Start the watchdog, which makes the robot safe where the controller dies.", SWITCH),
    DASHBOARD,
)


def control(
    robot: str,
    law: str,
    gains: str,
    watchdog: str,
    dashboard: str,
    profile: str,
    *,
    rate: float = 0.0,
    vital: bool = True,
    description: str = "config",
    forward_follows: bool = False,
) -> tuple[NodeSpec, ...]:
    """Watchdog and page, if wanted, and controller of one robot under one of its profiles.

    Args:
        robot, law, gains, watchdog, dashboard: as the arguments say.
        profile: of the robot's file.
        rate: joint states per second [Hz]; 0 takes that of the file of the gains, or the profile's.
        vital: whether the end of one of them is the end of all; else what is left keeps the robot safe.
        description: where the controller has the robot description from, ``config`` or ``topic``.
        forward_follows: whether the forward controller is activated once ours is active.

    Raises:
        ConfigError: unknown robot, profile, law or file, or a law whose commands the profile doesn't take, or whose
            wrench it doesn't have.
    """
    spec = controller(robot, law, gains, profile=profile, rate=rate or file_rate(gains), description=description)
    if forward_follows:
        spec = replace(spec, parameters={**spec.parameters, "forward_follows": True})
    specs = [replace(spec, vital=vital)]
    if switch("watchdog", watchdog):
        shared = {name: spec.parameters[name] for name in SHARED if name in spec.parameters}
        topics = {old: new for old, new in spec.remappings.items() if old == "joint_states"}
        specs.insert(0, NodeSpec("watchdog", "watchdog", shared, remappings=topics, vital=vital))
    if switch("dashboard", dashboard):
        specs.append(page(robot, profile))
    return tuple(specs)


def controller(
    robot: str, law: str, gains: str = "", *, profile: str, rate: float = 0.0, description: str = "config"
) -> NodeSpec:
    """The controller; see :func:`control`."""
    config = load_robot(robot, profile)
    settings = _given(gains, "wrench")
    check_wrench_supply(running_law(config, law, gains), str(settings.get("source", "")))
    system = config.profile
    parameters: dict[str, Value] = {
        "robot": portable(robot),
        "profile": profile,
        **({"rate": rate} if rate else {}),  # 0 would override the file of the gains
        "law": law,
        "description": description,
        "use_sim_time": system.simulated_time,
    }
    topics = {"joint_states": system.joint_states, "wrench": system.wrench_topic or "wrench"}
    topics = {old: new for old, new in topics.items() if new != old}
    return NodeSpec("controller", "controller", parameters, gain_files(gains), topics)


def active(*, vital: bool = True) -> NodeSpec:
    """Ends when the controller is active, and publishes commands."""
    return NodeSpec("wait_active", "wait_active", {"node": "controller"}, once=True, vital=vital)


def page(robot: str, profile: str) -> NodeSpec:
    """The page in the browser; the others go on without it."""
    return NodeSpec("dashboard", "dashboard", {"robot": portable(robot), "profile": profile}, vital=False)


def simulation(
    robot: str = "ur5",
    law: str = "impedance",
    gains: str = "",
    watchdog: str = "true",
    dashboard: str = "false",
    pacing: str = "realtime",
    rate: float | str = 0.0,
    scene: str = "",
) -> System:
    """Simulator, watchdog and controller of one robot.

    Raises:
        ConfigError: unknown robot, law, scene or file, or a law whose commands the simulator doesn't take.
    """
    hertz = number("rate", rate)
    return stages(
        [
            simulator(robot, hertz, scene, pacing=pacing),
            *control(robot, law, gains, watchdog, dashboard, "sim", rate=hertz),
        ],
    )


def simulator(
    robot: str, rate: float, scene: str, remappings: Mapping[str, str] | None = None, **parameters: Value
) -> NodeSpec:
    """The simulator of one robot.

    Raises:
        ConfigError: unknown scene.
    """
    if scene:
        load_scene(scene)
    given: dict[str, Value] = {"robot": portable(robot), "rate": rate, "scene": portable(scene), **parameters}
    return NodeSpec("simulator", "simulator", given, remappings=remappings or {})


SIMULATION = Setup(
    (
        ROBOT,
        *CONTROL,
        Argument("pacing", "realtime", "realtime, or lockstep: one period per command.", ("realtime", "lockstep")),
        RATE,
        SCENE,
    ),
    simulation,
)


def running_law(robot: RobotConfig, law: str, gains: str) -> RunningLaw:
    """The law with those gains of a parameter file that are given to the node `controller`.

    Raises:
        ConfigError: no such law or file, or a gain or the pairing of law and robot is refused.
    """
    return RunningLaw(robot, law, _given(gains, law))


def _given(gains: str, prefix: str) -> dict[str, Any]:
    """The controller's parameters of a law, or others below one name, in the file of the gains."""
    given: dict[str, Any] = {}
    for path in map(Path, gain_files(gains)):
        for parameters in node_parameters("gains", path, "controller"):
            given.update(_entries("gains", path, parameters.get(prefix)))
            below = {name: value for name, value in parameters.items() if name.startswith(f"{prefix}.")}
            given.update({name[len(prefix) + 1 :]: value for name, value in below.items()})
    return given


def node_parameters(argument: str, path: Path, node: str) -> list[dict[str, Any]]:
    """What a ROS parameter file has for a node in the root namespace: its sections, later ones prevail.

    Args:
        argument: that named the file, for errors.
        path: of the file.
        node: its name.

    Raises:
        ConfigError: it can't be read, or isn't a parameter file.
    """
    try:
        content = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise ConfigError(f"{argument} = {str(path)!r}: can't be read as YAML: {error}") from error
    sections = [_entries(argument, path, content).get(name) for name in ("/**", node, f"/{node}")]
    return [_entries(argument, path, _entries(argument, path, each).get("ros__parameters")) for each in sections]


def _entries(argument: str, path: Path, value: Any) -> dict[str, Any]:
    if value is None:
        return {}
    if not isinstance(value, dict):
        form = "node, then ros__parameters, then law or parameter"
        raise ConfigError(f"{argument} = {str(path)!r}: {value!r}: must be a mapping: {form}")
    return value


def file_rate(gains: str) -> float:
    """The controller's `rate` in the file of the gains [Hz]; 0 where there is none."""
    found = 0.0
    for path in gain_files(gains):
        for parameters in node_parameters("gains", Path(path), "controller"):
            found = number("rate", parameters.get("rate", found))
    return found


def gain_files(gains: str) -> tuple[str, ...]:
    """The parameter files: the given one, or none.

    Raises:
        ConfigError: the file doesn't exist.
    """
    if gains and not Path(gains).is_file():
        raise ConfigError(f"gains = {gains!r}: no such file")
    return (str(Path(gains).resolve()),) if gains else ()


def portable(name: str) -> str:
    """A robot's or scene's name as it is, a path made absolute: nodes may run elsewhere."""
    return str(Path(name).resolve()) if name.endswith((".yaml", ".yml")) else name


def number(name: str, value: float | str) -> float:
    """A number from a launch argument; its bounds are the nodes'."""
    try:
        return float(value)
    except (TypeError, ValueError):
        raise ConfigError(f"{name} = {value!r}: must be a number") from None


def switch(name: str, value: str) -> bool:
    """True or false from a launch argument."""
    if value not in SWITCH:
        raise ConfigError(f"{name} = {value!r}; choices: {', '.join(SWITCH)}")
    return value == "true"
