"""Profiles: what a system in front of a robot offers. One entry of `profiles` in config/robots/<name>.yaml each.

A simulator, a vendor's driver, Gazebo: the same arm behind each of them has other rates, other command interfaces that
really work, other topics, and somebody else who compensates gravity.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from .errors import ConfigError
from .types import CommandMode

JOINT_EFFORTS = {"torque": 1.0, "reversed_torque": -1.0, "none": math.nan}
CONTROLLERS = {mode: f"forward_{mode.value}_controller" for mode in CommandMode}


@dataclass(frozen=True)
class Profile:
    """What one system in front of the robot offers.

    Attributes:
        rate: joint states per second [Hz].
        commands: command interfaces that really work.
        gravity_by_robot: True where the robot compensates gravity itself; ours is then off and may not be
            switched on.
        friction_by_robot: the same of friction.
        description, start: the system, for people, and what they type to have it.
        described_rotors: True where the description that the system publishes has the rotors' inertia in its links, as
            Gazebo needs it; the controller takes that description then, and no ``rotor_inertia`` besides.
        simulated_time: True where stamps are those of a simulation's /clock.
        joint_states, wrench_topic: topics; an empty wrench_topic says that nobody measures one.
        joint_effort: what the joint states' efforts are: the joints' ``torque`` as commanded ones count, a
            ``reversed_torque``, or ``none``: a motor current, or nothing.
        running_topic: where the robot says, by a latched std_msgs/Bool, whether it executes commands; or empty.
        controllers: by mode, the controller that takes the commands, on ``/<controller>/commands``.
        joint_commands: topic that takes all commands as sensor_msgs/JointState instead, velocity and torque that go
            with a position included; empty where there is none.
        controller_manager: the node that manages them; empty where there is none.
        fallback_controller: what the watchdog asks for when our controller has died; empty to leave all as it is.
        frozen_after: time [s] after which joint states that stay the same to the last bit, efforts and all, are those
            of a driver that has lost the robot; 0 where a robot at rest may look like that.
        wrench_frames: by frame_id that the sensor's messages carry and the description lacks, the frame of the
            description that it stands for.
        wrench: settings of the wrench pipeline by name, where they aren't the defaults.
        workspace: bounds of the tip's targets by name, where there are any.
        limits: ``effort`` [N·m] and ``velocity`` [rad/s], (n,) each, where they are tighter than the description's.
        remedy: what to do instead, said when an interface is asked for that isn't there.
        notes: what a user has to know: firmware, settings of the robot.
    """

    rate: float
    commands: tuple[CommandMode, ...]
    gravity_by_robot: bool
    friction_by_robot: bool = False
    description: str = ""
    start: str = ""
    described_rotors: bool = False
    simulated_time: bool = False
    joint_states: str = "joint_states"
    wrench_topic: str = ""
    joint_effort: str = "torque"
    running_topic: str = ""
    controllers: Mapping[CommandMode, str] = field(default_factory=lambda: CONTROLLERS)
    joint_commands: str = ""
    controller_manager: str = ""
    fallback_controller: str = ""
    frozen_after: float = 0.0
    wrench_frames: Mapping[str, str] = field(default_factory=dict)
    wrench: Mapping[str, Any] = field(default_factory=dict)
    workspace: Mapping[str, Any] = field(default_factory=dict)
    limits: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    remedy: str = ""
    notes: tuple[str, ...] = ()

    def command_topic(self, mode: CommandMode) -> str:
        """Where commands of a mode go."""
        return self.joint_commands or f"/{self.controllers[mode]}/commands"

    @property
    def own(self) -> tuple[str, ...]:
        """What the robot compensates itself: ``gravity``, ``friction``."""
        by_robot = {"gravity": self.gravity_by_robot, "friction": self.friction_by_robot}
        return tuple(name for name, own in by_robot.items() if own)

    @property
    def effort_sign(self) -> float:
        """What the joint states' efforts are multiplied with: 1, -1, or NaN where they are no torques."""
        return JOINT_EFFORTS[self.joint_effort]


def read_profile(where: str, entry: Mapping[str, Any], n: int) -> Profile:
    """A profile of an entry of a robot's file.

    Args:
        where: file and profile, for errors.
        entry: by the names of :class:`Profile`'s attributes.
        n: number of joints.

    Raises:
        ConfigError: an entry is missing, unknown or unusable; names it, its value and what is valid.
    """
    required = ("rate", "commands", "gravity_by_robot")
    unknown = set(entry) - set(required) - set(_READERS)
    missing = [key for key in required if key not in entry]
    if unknown or missing:
        problem = f"unknown {sorted(unknown)}" if unknown else f"missing {missing}"
        raise ConfigError(f"{where}: {problem}; entries: {', '.join([*required, *_READERS])}")
    rate = entry["rate"]
    if not (finite(rate) and rate > 0):
        raise ConfigError(f"{where}: rate = {rate!r}: must be a number of Hz above 0")
    by_robot = _switch(f"{where}: gravity_by_robot", entry["gravity_by_robot"], n)
    given = {key: _READERS[key](f"{where}: {key}", value, n) for key, value in entry.items() if key in _READERS}
    return Profile(float(rate), _commands(where, entry["commands"]), by_robot, **given)


def finite(value: Any) -> bool:
    """Whether it is a finite number."""
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)


def mapping(what: str, value: Any) -> dict[str, Any]:
    """A mapping of names to entries, or ConfigError."""
    if not isinstance(value, dict):
        raise ConfigError(f"{what} = {value!r}: must be a mapping of names to entries")
    return value


def _commands(where: str, given: Any) -> tuple[CommandMode, ...]:
    valid = [mode.value for mode in CommandMode]
    if not isinstance(given, list) or not given or any(mode not in valid for mode in given):
        raise ConfigError(f"{where}: commands = {given!r}: must be a list; choices: {', '.join(valid)}")
    return tuple(CommandMode(mode) for mode in given)


def _switch(what: str, value: Any, n: int) -> bool:
    if not isinstance(value, bool):
        raise ConfigError(f"{what} = {value!r}: must be true or false")
    return value


def _seconds(what: str, value: Any, n: int) -> float:
    if not (finite(value) and value >= 0.0):
        raise ConfigError(f"{what} = {value!r}: must be a number of seconds, 0 or more")
    return float(value)


def _text(what: str, value: Any, n: int) -> str:
    if not isinstance(value, str):
        raise ConfigError(f"{what} = {value!r}: must be a text")
    return value


def _joint_effort(what: str, value: Any, n: int) -> str:
    if value not in JOINT_EFFORTS:
        raise ConfigError(f"{what} = {value!r}; choices: {', '.join(JOINT_EFFORTS)}")
    return str(value)


def _texts(what: str, value: Any, n: int) -> tuple[str, ...]:
    if not isinstance(value, list):
        raise ConfigError(f"{what} = {value!r}: must be a list of texts")
    return tuple(_text(what, each, n) for each in value)


def _names(what: str, value: Any, n: int) -> dict[str, str]:
    return {str(key): _text(f"{what}: {key}", each, n) for key, each in mapping(what, value).items()}


def _settings(what: str, value: Any, n: int) -> dict[str, Any]:
    return mapping(what, value)


def _controllers(what: str, value: Any, n: int) -> dict[CommandMode, str]:
    given, valid = _names(what, value, n), [mode.value for mode in CommandMode]
    if not set(given) <= set(valid):
        raise ConfigError(f"{what}: unknown {sorted(set(given) - set(valid))}; modes: {', '.join(valid)}")
    return CONTROLLERS | {CommandMode(mode): name for mode, name in given.items()}


def _limits(what: str, value: Any, n: int) -> dict[str, tuple[float, ...]]:
    valid = ("effort", "velocity")
    limits: dict[str, tuple[float, ...]] = {}
    for key, numbers in mapping(what, value).items():
        if key not in valid:
            raise ConfigError(f"{what}: unknown {key!r}; limits: {', '.join(valid)}")
        if not (isinstance(numbers, list) and len(numbers) == n and all(finite(x) and x > 0.0 for x in numbers)):
            raise ConfigError(f"{what}: {key} = {numbers!r}: must be {n} finite numbers above 0")
        limits[key] = tuple(float(number) for number in numbers)
    return limits


_READERS: dict[str, Callable[[str, Any, int], Any]] = {
    "friction_by_robot": _switch,
    "description": _text,
    "start": _text,
    "described_rotors": _switch,
    "simulated_time": _switch,
    "joint_states": _text,
    "wrench_topic": _text,
    "joint_effort": _joint_effort,
    "running_topic": _text,
    "controllers": _controllers,
    "joint_commands": _text,
    "controller_manager": _text,
    "fallback_controller": _text,
    "frozen_after": _seconds,
    "wrench_frames": _names,
    "wrench": _settings,
    "workspace": _settings,
    "limits": _limits,
    "remedy": _text,
    "notes": _texts,
}
