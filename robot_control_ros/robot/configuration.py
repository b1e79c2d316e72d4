"""Robot configurations: config/robots/<name>.yaml, or a file of the user's own.

A configuration says what the robot description (URDF) doesn't: which joints and frames the control
uses, where home is, and how fast torques may change. Each :class:`HardwareProfile` (simulation,
real driver, …) says what the system in front of the robot offers.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from ..core.errors import ConfigError, refused
from ..core.gains import JOINT, make_gains
from ..core.input_files import read_text
from ..core.types import CommandMode
from .cell import CellObject, checked_bodies, named_objects
from .description import link_names, link_poses, parse_description, place_description, prefixed
from .files import config_names, extended, found_urdf, merge, read_config
from .gripper import GripperConfig, load_gripper
from .payload import Payload
from .profile import HardwareProfile, extended_profile
from .schema import SOME, entry, errors_at, read_entries
from .solids import Shape
from .workcell import MARK, read_arm


def _different(joints: tuple[str, ...]) -> tuple[str, ...]:
    if len(set(joints)) != len(joints):
        raise refused("joints", list(joints), "must be different names")
    return joints


def _not_all_0(axes: tuple[float, ...]) -> tuple[float, ...]:
    if not any(axes):
        raise refused("axes", list(axes), "must not be 0 all")
    return axes


@dataclass(frozen=True, kw_only=True)
class RobotConfig:
    """A robot with one of its hardware profiles; `robot_control docs --entries robot` lists all
    entries.

    Attributes:
        profile_name: Name of the profile.
        profile: Profile of the hardware in front of the robot.
        file: Path of the YAML file; empty where it isn't from one.
        gripper: Gripper on the link `flange`; None for none. The description has it, and `tip` is
            between its fingers.
        flange: Name of the tip without the gripper.
        described_rotor_inertia: (n,) inertia of the rotors that the links of the published
            description hold [kg·m²]; empty where `rotor_inertia` counts.
    """

    name: str = entry(doc="Name of the robot.")
    extends: str = entry(
        "", doc="Another robot of the package, or a file; this one says only what differs."
    )
    description: str = entry("", doc="The robot, for people.")
    urdf_path: Path = entry(
        key="urdf",
        of=str,
        convert=Path,
        doc="The robot description, in this file's folder or in the package's urdf/.",
    )
    prefix: str = entry(
        "",
        doc="In front of the names of joints and frames, as a driver's `tf_prefix`; here they stand without it. The "
        "frame `world` gets none.",
    )
    mount: tuple[float, ...] = entry(
        (0.0,) * 6,
        size=6,
        unit="m, rad",
        doc="x, y, z, roll, pitch, yaw of the description's root in the world.",
    )
    joints: tuple[str, ...] = entry(
        size=SOME, convert=_different, doc="Names, in the order of every joint array."
    )
    base: str = entry(doc="Frame of the description that is fixed in the world.")
    tip: str = entry(doc="Frame of the description that is controlled; poses are tip in base.")
    wrench_frame: str = entry(
        "", doc="Frame of the simulated force-torque sensor; the tip where empty."
    )
    home: tuple[float, ...] = entry(
        size=JOINT, unit="rad", doc="Joint angles where simulations begin."
    )
    rotor_inertia: tuple[float, ...] = entry(
        0.0,
        size=JOINT,
        lower=0.0,
        unit="kg·m²",
        doc="Inertia of each motor behind its gear; URDF has no place for it.",
    )
    effort_rate: tuple[float, ...] = entry(
        size=JOINT, above=0.0, unit="N·m/s", doc="Largest change of each joint torque."
    )
    safe_damping: tuple[float, ...] = entry(
        0.0,
        size=JOINT,
        lower=0.0,
        unit="N·m·s/rad",
        doc="Damping of safe torques, which brake the arm.",
    )
    tip_speed: tuple[float, float] = entry(
        (0.25, 1.0),
        size=2,
        above=0.0,
        unit="m/s, rad/s",
        doc="Limits of commanded moves, linear and angular.",
    )
    tip_acceleration: tuple[float, float] = entry(
        (1.0, 4.0),
        size=2,
        above=0.0,
        unit="m/s², rad/s²",
        doc="Limits of commanded moves, linear and angular.",
    )
    max_tip_speed: float = entry(
        1.5,
        lower=0.01,
        upper=10.0,
        unit="m/s",
        doc="Speed of the tip, whatever drives it. The arm brakes before it, and stops beyond it.",
    )
    tip_jerk: tuple[float, float] = entry(
        (100.0, 400.0),
        size=2,
        above=0.0,
        unit="m/s³, rad/s³",
        doc="Limits of streamed tip trajectories.",
    )
    target_wrench: tuple[float, float] = entry(
        (0.0, 0.0),
        size=2,
        lower=0.0,
        unit="N, N·m",
        doc="Largest force and torque that `~/target_wrench` takes; 0 takes a quarter of what the joints hold at home.",
    )
    joint_speed: float = entry(
        0.3, above=0.0, doc="Fraction of the joints' velocity limits that moves of the joints use."
    )
    axes: tuple[float, ...] = entry(
        (1.0,) * 6,
        size=6,
        choices=(0, 1),
        convert=_not_all_0,
        doc="1 for each of x, y, z, rx, ry, rz that the arm can move its tip in. A planar arm has x and y.",
    )
    payload: Payload = entry(
        Payload(),
        of=Mapping[str, Any],
        convert=lambda given: make_gains(Payload, given, 0),
        doc="What the tip carries and the description hasn't, in the tip's frame. It has `mass` [kg], `center` of "
        "gravity [m], and `inertia` about it, xx, yy, zz, xy, xz, yz [kg·m²]. The simulated arm carries it, too.",
    )
    law_gains: Mapping[str, Mapping[str, Any]] = entry(
        {}, doc="By law and gain, what differs from the law's defaults."
    )
    contact: Mapping[str, Any] = entry(
        {},
        doc="Settings of contact detection by name. `collision_torque` is the external torque of each joint that is a "
        "collision [N·m]. Without thresholds nothing is detected.",
    )
    cell: Mapping[str, CellObject] = entry(
        {},
        convert=named_objects,
        doc="By name, solids in the world that the arm must not touch. They stand in the simulation, too.",
    )
    bodies: Mapping[str, tuple[Shape, ...]] = entry(
        {},
        convert=checked_bodies,
        doc="By link, solids in its frame that stand for its shapes, as `cell` has them; an empty list is none.",
    )
    clearance: Mapping[str, Any] = entry(
        {},
        doc="Settings of what the arm keeps from itself and its cell, by name: `margin` [m], `payload_radius` [m], "
        "`checked`.",
    )
    profile: HardwareProfile = entry(
        key="profiles",
        of=Mapping[str, HardwareProfile],
        doc="By name, what is in front of the robot; `sim` must be there to simulate it.",
    )
    gripper_name: str = entry(
        "",
        key="gripper",
        doc="The gripper on the tip: a name of config/grippers, or the path of a YAML file.",
    )
    profile_name: str
    file: str = ""
    gripper: GripperConfig | None = None
    flange: str = ""
    described_rotor_inertia: tuple[float, ...] = ()

    @property
    def n(self) -> int:
        """Number of joints."""
        return len(self.joints)

    @property
    def title(self) -> str:
        """Robot and profile, for messages."""
        return f"{self.description or self.name} (profile {self.profile_name})"

    @property
    def period(self) -> float:
        """Nominal time between two joint states [s]."""
        return 1.0 / self.profile.rate

    def at_rate(self, rate: float) -> RobotConfig:
        """Configuration with another rate [Hz]; 0 keeps the profile's."""
        return self if rate == 0.0 else replace(self, profile=replace(self.profile, rate=rate))

    def with_rotors(self, inertia: float) -> RobotConfig:
        """Configuration with one rotor inertia [kg·m²] for all joints.

        It is for comparison with figures that belong to such an inertia.
        """
        return replace(self, rotor_inertia=(inertia,) * self.n)

    def with_payload(self, mass: float, center: Any = 0.0, inertia: Any = 0.0) -> RobotConfig:
        """Configuration with a payload on its tip.

        See :class:`Payload` for the figures and its errors.
        """
        return replace(self, payload=Payload(mass, center, inertia))

    def urdf(self) -> str:
        """The text of the robot description, with the prefix, at its place in the world."""
        with errors_at(f"robot {self.name}"):
            text = read_text("urdf", self.urdf_path)
        text = place_description(text, self.prefix, self.mount)
        return text if self.gripper is None else self.gripper.mounted(text, self.flange)

    def completed(self, urdf: str) -> str:
        """A description (its text) that others publish, with the mount and the gripper of this
        configuration.

        A mount is added where the base stands in the description as it does without one. Where it
        stands elsewhere, that counts. The gripper is added where the description hasn't its links.

        Raises:
            ModelError: the text is no description.
        """
        if any(self.mount):
            bare = place_description(read_text("urdf", self.urdf_path), self.prefix, ())
            stands = link_poses(parse_description(urdf)).get(self.base)
            unmounted = link_poses(parse_description(bare))[self.base]
            if stands is not None and np.abs(stands - unmounted).max() < 1e-6:
                urdf = place_description(urdf, "", self.mount)
        if self.gripper is not None and self.gripper.root not in link_names(urdf):
            urdf = self.gripper.mounted(urdf, self.flange)
        return urdf

    def with_gripper(self, gripper: GripperConfig) -> RobotConfig:
        """Configuration with a gripper on its tip, whose joints and frames get the robot's prefix.

        The payload is then that of the gripper's tip. A robot that compensates gravity itself must
        be told the gripper.
        """
        gripper = gripper.with_prefix(self.prefix)
        return replace(self, gripper=gripper, flange=self.tip, tip=gripper.tip)

    def check_mode(self, mode: CommandMode, law: str) -> None:
        """Refuse a law whose commands this profile doesn't take.

        Raises:
            ConfigError: names the law, its mode, what there is, and the way out.
        """
        if mode not in self.profile.commands:
            offered = ", ".join(m.value for m in self.profile.commands)
            text = f"law {law} commands {mode.value}, but {self.title} takes only: {offered}. {self.profile.remedy}"
            raise ConfigError(text.rstrip(), name=law, value=mode, bound=self.profile.commands)


def split_gripper(name: str) -> tuple[str, str]:
    """The names of robot and gripper in ``robot+gripper``; the second is empty
    where there is none.
    """
    robot, plus, gripper = name.rpartition("+")
    known = plus and (MARK in robot or robot in robot_names() or robot.endswith((".yaml", ".yml")))
    return (robot, gripper) if known else (name, "")


def equipped(robot: str, gripper: str) -> str:
    """The name of a robot with a gripper, for :func:`load_robot`; without one
    (empty) that of the robot.
    """
    return f"{robot}+{gripper}" if gripper else robot


def robot_names() -> list[str]:
    """Names of the robots of this package."""
    return config_names("robots")


def load_robot(name: str, profile: str = "sim", prefix: str = "") -> RobotConfig:
    """Read a robot configuration.

    Args:
        name: Name of a robot of the package, or the path of a YAML file; ``+`` and a gripper's name
            may follow, as in ``ur5+robotiq_2f85``. Or `<work cell>#<arm>`, an arm of a work cell.
        profile: Name of one of the file's profiles.
        prefix: Prefix of joints and frames; empty takes the file's.

    Raises:
        ConfigError: unknown robot or profile, a missing, unknown or unusable entry; lists the valid
            ones.
    """
    name, gripper = split_gripper(name)
    paths, data = extended(name, _read)
    where = str(paths[0])
    count = 0
    if isinstance(data, dict):
        count = len(data["joints"]) if isinstance(data.get("joints"), list) else 0
        if "profiles" in data:
            profiles = data["profiles"]
            if not isinstance(profiles, dict):
                raise refused(
                    "profiles",
                    profiles,
                    "must be a mapping of names to entries",
                    where=f"{where}: ",
                )
            with errors_at(where):
                data = data | {"profiles": {profile: extended_profile(profiles, profile)}}
    values = read_entries(RobotConfig, data, where, count)
    system = values["profile"][profile]
    values |= {"profile_name": profile, "profile": system, "file": where}
    values["law_gains"] = merge(values["law_gains"], system.law_gains)
    values["wrench_frame"] = values["wrench_frame"] or values["tip"]
    _add_prefix(values, prefix or values["prefix"])
    if system.described_rotors:
        values["described_rotor_inertia"] = values["rotor_inertia"]
        values["rotor_inertia"] = (0.0,) * count
    with errors_at(where):
        values["urdf_path"] = found_urdf(values["urdf_path"], [path.parent for path in paths])
        robot = RobotConfig(**values)
        # the file's own may stand beside it, or beside one that it extends
        named = gripper or robot.gripper_name
        beside = (
            []
            if gripper
            else [path.parent for path in paths if os.path.isfile(path.parent / named)]
        )
        return robot.with_gripper(load_gripper(named, *beside[:1])) if named else robot


def _read(name: str, place: Path | None) -> tuple[Path, Any]:
    beside = place.parent if place else None
    return read_arm(name, beside) if MARK in name else read_config("robot", name, beside=beside)


def _add_prefix(values: dict[str, Any], prefix: str) -> None:
    """Give joints and frames the prefix that their description gets."""
    values["prefix"] = prefix
    values["joints"] = tuple(prefixed(joint, prefix) for joint in values["joints"])
    for frame in ("base", "tip", "wrench_frame"):
        values[frame] = prefixed(values[frame], prefix)
    values["bodies"] = {prefixed(link, prefix): each for link, each in values["bodies"].items()}
    profile = values["profile"]
    frames = {
        prefixed(name, prefix): prefixed(frame, prefix)
        for name, frame in profile.wrench_frames.items()
    }
    values["profile"] = replace(profile, wrench_frames=frames)
