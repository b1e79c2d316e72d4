"""Which nodes, with which parameters, make a running system.

The command line starts them as processes, the launch files as launch_ros nodes; both decide nothing themselves.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from .errors import ConfigError
from .plants.scene import load_scene
from .robots import load_robot
from .running_law import RunningLaw

SENSOR_TOPIC = "/force_torque_sensor_broadcaster/wrench"

Value = bool | int | float | str | list[float]


@dataclass(frozen=True)
class NodeSpec:
    """One node to start.

    Attributes:
        executable: in ``lib/robot_control_ros``; also the module in ``robot_control_ros.nodes``.
        name: of the node.
        parameters: by name; they win over the files.
        parameter_files: paths of ROS parameter files.
        remappings: topic by topic.
    """

    executable: str
    name: str
    parameters: Mapping[str, Value] = field(default_factory=dict)
    parameter_files: tuple[str, ...] = ()
    remappings: Mapping[str, str] = field(default_factory=dict)

    def ros_arguments(self) -> list[str]:
        """The command line after the executable."""
        arguments = ["--ros-args", "-r", f"__node:={self.name}"]
        for path in self.parameter_files:
            arguments += ["--params-file", path]
        for name, value in self.parameters.items():
            arguments += ["-p", f"{name}:={_yaml(value)}"]
        for old, new in self.remappings.items():
            arguments += ["-r", f"{old}:={new}"]
        return arguments


@dataclass(frozen=True)
class Argument:
    """An argument of a launch file or of the command line."""

    name: str
    default: str
    text: str
    choices: tuple[str, ...] = ()


SIMULATION_ARGUMENTS = (
    Argument("robot", "ur5", "Robot: a name, or the path of a YAML file."),
    Argument("law", "impedance", "Control law: a name, or package.module:Class."),
    Argument("gains", "", "ROS parameter file with gains; empty takes the robot's and the law's defaults."),
    Argument("pacing", "realtime", "realtime, or lockstep: one period per command.", ("realtime", "lockstep")),
    Argument("rate", "0.0", "Joint states per second [Hz]; 0 takes the robot's."),
    Argument("scene", "", "What stands around the robot: a name, or the path of a YAML file; empty for nothing."),
)


def simulation(
    robot: str = "ur5",
    law: str = "impedance",
    gains: str = "",
    pacing: str = "realtime",
    rate: float | str = 0.0,
    scene: str = "",
) -> list[NodeSpec]:
    """Simulator and controller of one robot.

    Raises:
        ConfigError: unknown robot, law, scene or file, or a law whose commands the simulator doesn't take.
    """
    config = load_robot(robot)
    RunningLaw(config, law)
    if scene:
        load_scene(scene)
    parameters: dict[str, Value] = {"robot": _portable(robot), "pacing": pacing, "rate": _number("rate", rate)}
    simulator = NodeSpec("simulator", "simulator", {**parameters, "scene": _portable(scene)})
    spec = controller(robot, law, gains, profile="sim", simulated_time=True)
    return [simulator, replace(spec, parameters={**spec.parameters, "rate": _number("rate", rate)})]


def controller(
    robot: str, law: str, gains: str = "", *, profile: str, simulated_time: bool, wrench_topic: str = SENSOR_TOPIC
) -> NodeSpec:
    """The controller of one robot under one of its profiles.

    Raises:
        ConfigError: see :func:`simulation`.
    """
    config = load_robot(robot, profile)
    RunningLaw(config, law)
    parameters: dict[str, Value] = {
        "robot": _portable(robot),
        "profile": profile,
        "law": law,
        "use_sim_time": simulated_time,
    }
    return NodeSpec("controller", "controller", parameters, gain_files(gains), {"wrench": wrench_topic})


def gain_files(gains: str) -> tuple[str, ...]:
    """The parameter files: the given one, or none.

    Raises:
        ConfigError: the file doesn't exist.
    """
    if gains and not Path(gains).is_file():
        raise ConfigError(f"gains = {gains!r}: no such file")
    return (str(Path(gains).resolve()),) if gains else ()


def environment(base: Mapping[str, str] | None = None) -> dict[str, str]:
    """The environment for ROS processes of this interpreter: `base` (this process's) with what is missing.

    The wheels of ROS 2 find their parts through AMENT_PREFIX_PATH, which nobody sets for them. Where neither a domain
    nor a discovery range is chosen, the system keeps to this machine and to a domain of its own.
    """
    result = dict(os.environ if base is None else base)
    if (Path(sys.prefix) / "share" / "ament_index").is_dir():
        others = [p for p in result.get("AMENT_PREFIX_PATH", "").split(os.pathsep) if p and p != sys.prefix]
        result["AMENT_PREFIX_PATH"] = os.pathsep.join([sys.prefix, *others])
    result.setdefault("ROS_AUTOMATIC_DISCOVERY_RANGE", "LOCALHOST")
    result.setdefault("ROS_DOMAIN_ID", str(1 + os.getpid() % 100))
    return result


def _portable(name: str) -> str:
    """A robot's or scene's name as it is, a path made absolute: nodes may run elsewhere."""
    return str(Path(name).resolve()) if name.endswith((".yaml", ".yml")) else name


def _number(name: str, value: float | str) -> float:
    """A number of Hz from a launch argument; its bounds are the nodes'."""
    try:
        return float(value)
    except ValueError:
        raise ConfigError(f"{name} = {value!r}: must be a number") from None


def _yaml(value: Value) -> str:
    return json.dumps(value)  # JSON is YAML; strings come quoted, so that nothing in them is YAML
