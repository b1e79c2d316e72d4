"""Robot configurations: config/robots/<name>.yaml, or a file of the user's own.

A configuration says what the robot description (URDF) doesn't: which joints and frames the control uses, where
home is, how fast torques may change, and, per :class:`Profile` (simulation, real driver, …), what the system in front
of the robot offers.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from .errors import ConfigError
from .profiles import Profile, finite, mapping, read_profile
from .share import config_names, read_config, share_directory
from .types import CommandMode


@dataclass(frozen=True)
class RobotConfig:
    """One robot under one profile.

    Attributes:
        name, description: for people.
        urdf_path: file of the robot description.
        joints: names, in the order of every joint array.
        base, tip: frames of the description; poses are tip in base.
        wrench_frame: frame of the simulated force-torque sensor.
        home: joint angles [rad].
        rotor_inertia: of each joint's motor, as seen behind the gear [kg·m²]; a robot description has no place for it.
        effort_rate: largest change of each joint torque [N·m/s].
        safe_damping: with which safe outputs of torque brake an arm whose gravity is ours [N·m·s/rad].
        tip_speed, tip_acceleration: limits of a commanded move: (linear [m/s], angular [rad/s]) and the same per s.
        joint_speed: share of the joints' velocity limits used by joint moves.
        axes: (6,) 1 for each axis of the tip that the arm can move, 0 for the others: a planar arm has x and y only.
        law_gains: by law and gain, what differs from the law's defaults.
        profile_name, profile: see :class:`Profile`.
    """

    name: str
    description: str
    urdf_path: Path
    joints: tuple[str, ...]
    base: str
    tip: str
    wrench_frame: str
    home: tuple[float, ...]
    rotor_inertia: tuple[float, ...]
    effort_rate: tuple[float, ...]
    safe_damping: tuple[float, ...]
    tip_speed: tuple[float, float]
    tip_acceleration: tuple[float, float]
    joint_speed: float
    profile_name: str
    profile: Profile
    axes: tuple[float, ...] = (1.0,) * 6
    law_gains: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    @property
    def n(self) -> int:
        """Number of joints."""
        return len(self.joints)

    @property
    def period(self) -> float:
        """Nominal time between two joint states [s]."""
        return 1.0 / self.profile.rate

    def at_rate(self, rate: float) -> RobotConfig:
        """The same with another rate [Hz]; 0 keeps the profile's."""
        return self if rate == 0.0 else replace(self, profile=replace(self.profile, rate=rate))

    def urdf(self) -> str:
        """The text of the robot description."""
        try:
            return self.urdf_path.read_text(encoding="utf-8")
        except OSError as error:
            raise ConfigError(f"robot {self.name}: can't read urdf {self.urdf_path}: {error}") from error

    def check_mode(self, mode: CommandMode, law: str) -> None:
        """Refuse a law whose commands this profile doesn't take.

        Raises:
            ConfigError: names the law, its mode, what there is, and the way out.
        """
        if mode not in self.profile.commands:
            offered = ", ".join(m.value for m in self.profile.commands)
            raise ConfigError(
                f"law {law} commands {mode.value}, but {self.description or self.name} (profile {self.profile_name}) "
                f"takes only: {offered}. {self.profile.remedy}".rstrip()
            )


def robot_names() -> list[str]:
    """Names of the robots that the package brings."""
    return config_names("robots")


def load_robot(name: str, profile: str = "sim") -> RobotConfig:
    """Read a robot configuration.

    Args:
        name: a robot of the package, or the path of a YAML file.
        profile: one of the file's profiles.

    Raises:
        ConfigError: unknown robot or profile, a missing, unknown or unusable entry; lists the valid ones.
    """
    path, data = read_config("robot", name)
    return _Reader(path, data).robot(profile)


_REQUIRED = ("name", "urdf", "joints", "base", "tip", "home", "effort_rate", "profiles")
_OPTIONAL: dict[str, Any] = {
    "description": "",
    "rotor_inertia": None,
    "safe_damping": None,
    "wrench_frame": None,
    "tip_speed": [0.25, 1.0],
    "tip_acceleration": [1.0, 4.0],
    "joint_speed": 0.3,
    "axes": [1, 1, 1, 1, 1, 1],
    "law_gains": {},
}


class _Reader:
    """Checks one file, entry by entry, with the file's path in every error."""

    def __init__(self, path: Path, data: Any) -> None:
        self.path = path
        if not isinstance(data, dict):
            raise ConfigError(f"{path}: must be a mapping with the entries {', '.join(_REQUIRED)}")
        unknown = set(data) - set(_REQUIRED) - set(_OPTIONAL)
        missing = [key for key in _REQUIRED if key not in data]
        if unknown or missing:
            valid = ", ".join([*_REQUIRED, *_OPTIONAL])
            problem = f"unknown {sorted(unknown)}" if unknown else f"missing {missing}"
            raise ConfigError(f"{path}: {problem}; entries: {valid}")
        self.data = {**_OPTIONAL, **data}

    def robot(self, profile: str) -> RobotConfig:
        data = self.data
        names = data["joints"]
        if not isinstance(names, list) or not names or len({str(name) for name in names}) != len(names):
            raise ConfigError(f"{self.path}: joints = {names!r}: must be a list of one or more different names")
        joints = tuple(str(name) for name in names)
        n = len(joints)
        system = self._profile(profile, n)
        return RobotConfig(
            name=str(data["name"]),
            description=str(data["description"]),
            urdf_path=self._urdf(str(data["urdf"])),
            joints=joints,
            base=str(data["base"]),
            tip=str(data["tip"]),
            wrench_frame=str(data["wrench_frame"] or data["tip"]),
            home=self._numbers("home", n, -math.inf),
            rotor_inertia=(0.0,) * n if system.described_rotors else self._zero_by_default("rotor_inertia", n),
            safe_damping=self._zero_by_default("safe_damping", n),
            effort_rate=self._numbers("effort_rate", n, 0.0),
            tip_speed=self._pair("tip_speed"),
            tip_acceleration=self._pair("tip_acceleration"),
            joint_speed=self._numbers("joint_speed", 1, 0.0)[0],
            profile_name=profile,
            profile=system,
            axes=self._axes(),
            law_gains=self._mapping("law_gains", data["law_gains"]),
        )

    def _zero_by_default(self, key: str, n: int) -> tuple[float, ...]:
        return (0.0,) * n if self.data[key] is None else self._numbers(key, n, 0.0, inclusive=True)

    def _axes(self) -> tuple[float, ...]:
        axes = self._numbers("axes", 6, 0.0, inclusive=True)
        if not set(axes) <= {0.0, 1.0} or not any(axes):
            raise ConfigError(f"{self.path}: axes = {list(axes)}: must be 1 or 0 each, and not all 0")
        return axes

    def _mapping(self, what: str, value: Any) -> dict[str, Any]:
        return mapping(f"{self.path}: {what}", value)

    def _urdf(self, text: str) -> Path:
        candidates = (self.path.parent / text, share_directory() / "urdf" / text)
        for path in candidates:
            if path.is_file():
                return path
        raise ConfigError(f"{self.path}: urdf = {text!r}: no such file; tried: {', '.join(map(str, candidates))}")

    def _pair(self, key: str) -> tuple[float, float]:
        linear, angular = self._numbers(key, 2, 0.0)
        return linear, angular

    def _numbers(self, key: str, n: int, above: float, inclusive: bool = False) -> tuple[float, ...]:
        raw = self.data[key]
        values = list(raw) if isinstance(raw, (list, tuple)) else [raw]
        if len(values) != n:
            raise ConfigError(f"{self.path}: {key} has {len(values)} values: must have {n}")
        bound = f"{above:g} or more" if inclusive else f"above {above:g}"
        for value in values:
            if not (finite(value) and (value > above or (inclusive and value == above))):
                raise ConfigError(f"{self.path}: {key} = {value!r}: must be a finite number, {bound}")
        return tuple(float(value) for value in values)

    def _profile(self, name: str, n: int) -> Profile:
        profiles = self._mapping("profiles", self.data["profiles"])
        if name not in profiles:
            raise ConfigError(f"{self.path}: unknown profile {name!r}; profiles: {', '.join(profiles)}")
        return read_profile(f"{self.path}: profile {name}", self._mapping(f"profile {name}", profiles[name]), n)
