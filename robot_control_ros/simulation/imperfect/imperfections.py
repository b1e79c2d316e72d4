"""Imperfections of an arm, its sensors and its line: config/imperfections/<name>.yaml, or a file of
the user's own.

Every tuple without a fixed size has one value for all joints, or one per joint. Nothing here knows
a physics engine.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, is_dataclass, replace
from typing import Any

import numpy as np

from ...core.errors import ConfigError, refused
from ...core.types import Array
from ...robot.configuration import RobotConfig
from ...robot.files import config_names, read_config
from ...robot.schema import SOME, entry, entry_specs, read_entries

_NONE = (0.0,)
_AXES = (0.0, 0.0, 0.0)
_MAX_LOST = 0.9


@dataclass(frozen=True)
class StateLine:
    """The way of the samples from the arm to the controller. Their order stays."""

    delay: float = entry(
        0.0, lower=0.0, upper=1.0, unit="s", doc="From a sample's stamp to its arrival."
    )
    jitter: float = entry(
        0.0, lower=0.0, upper=1.0, unit="s", doc="Added to the delay: uniform from 0 to this."
    )
    lost: float = entry(0.0, lower=0.0, upper=_MAX_LOST, doc="Fraction that never arrives.")


@dataclass(frozen=True)
class CommandLine(StateLine):
    """The way of the commands from the controller to the joints. Their order stays."""

    delay: float = entry(0.0, lower=0.0, upper=1.0, unit="s", doc="From a command to its effect.")
    position_delay: float = entry(
        0.0,
        lower=0.0,
        upper=1.0,
        unit="s",
        doc="In place of `delay` for position and velocity commands; 0 takes `delay`.",
    )


@dataclass(frozen=True)
class SensorNoise:
    """Standard deviations of white, normal noise, one draw per sample."""

    position: tuple[float, ...] = entry(
        _NONE, size=SOME, lower=0.0, unit="rad", doc="Of joint positions."
    )
    velocity: tuple[float, ...] = entry(
        _NONE, size=SOME, lower=0.0, unit="rad/s", doc="Of joint velocities."
    )
    effort: tuple[float, ...] = entry(
        _NONE, size=SOME, lower=0.0, unit="N·m", doc="Of joint torques."
    )
    force: float = entry(0.0, lower=0.0, unit="N", doc="Of each force of the wrist sensor.")
    torque: float = entry(0.0, lower=0.0, unit="N·m", doc="Of each torque of the wrist sensor.")


@dataclass(frozen=True)
class SensorSteps:
    """Quantisation, after the noise: samples are whole multiples of these; 0 for none."""

    position: tuple[float, ...] = entry(
        _NONE, size=SOME, lower=0.0, unit="rad", doc="Of joint positions."
    )
    velocity: tuple[float, ...] = entry(
        _NONE, size=SOME, lower=0.0, unit="rad/s", doc="Of joint velocities."
    )
    effort: tuple[float, ...] = entry(
        _NONE, size=SOME, lower=0.0, unit="N·m", doc="Of joint torques."
    )


@dataclass(frozen=True)
class VelocityFilter:
    """Filter of the arm's controller for the velocities that it sends."""

    delay: float = entry(
        0.0, lower=0.0, upper=1.0, unit="s", doc="Time constant of a first-order filter."
    )
    dead_time: float = entry(
        0.0,
        lower=0.0,
        upper=1.0,
        unit="s",
        doc="Beside the filter: velocities are those of so long before the stamp.",
    )
    zero_below: float = entry(
        0.0, lower=0.0, unit="rad/s", doc="Slower velocities are sent as 0, after the noise."
    )


@dataclass(frozen=True)
class LoadedFriction:
    """Friction of each joint.

    A joint that turns loses (coulomb + stiction exp(-(q̇ / stribeck_velocity)²) + load |motor
    torque| + viscous |q̇|) sign(q̇). One that stands breaks away at coulomb + stiction + load
    |motor torque|.

    Source: B. Armstrong-Hélouvry, P. Dupont, C. Canudas de Wit, A survey of models, analysis tools
    and compensation methods for the control of machines with friction, Automatica 30(7), 1994.
    """

    coulomb: tuple[float, ...] = entry(
        _NONE, size=SOME, lower=0.0, unit="N·m", doc="Dry friction, stiff at rest."
    )
    viscous: tuple[float, ...] = entry(
        _NONE, size=SOME, lower=0.0, unit="N·m·s/rad", doc="Viscous friction."
    )
    load: float = entry(
        0.0,
        lower=0.0,
        upper=0.9,
        doc="Fraction of the motor's torque that is added to the Coulomb friction.",
    )
    stiction: tuple[float, ...] = entry(
        _NONE,
        size=SOME,
        lower=0.0,
        unit="N·m",
        doc="Added to `coulomb` at rest: what it takes more to break away.",
    )
    stribeck_velocity: float = entry(
        0.02, above=0.0, unit="rad/s", doc="Velocity at which 1/e of `stiction` is left."
    )


@dataclass(frozen=True)
class CentreErrors:
    """Errors of the model's centres of mass of the links, along each link's own axes.

    They are how far the true centres are from where the model has them.
    """

    x: tuple[float, ...] = entry(_NONE, size=SOME, unit="m", doc="Along x of each link, by joint.")
    y: tuple[float, ...] = entry(_NONE, size=SOME, unit="m", doc="Along y.")
    z: tuple[float, ...] = entry(_NONE, size=SOME, unit="m", doc="Along z.")


@dataclass(frozen=True)
class ModelErrors:
    """Errors of the controller's model: masses that the arm really has and carries."""

    mass: tuple[float, ...] = entry(
        _NONE,
        size=SOME,
        above=-1.0,
        doc="Relative error of the links' masses and inertias, by joint. 0.05: 5 % heavier than modelled.",
    )
    payload_mass: float = entry(0.0, lower=0.0, unit="kg", doc="A point mass on the tip.")
    payload_centre: tuple[float, ...] = entry(
        _AXES, size=3, unit="m", doc="Where it is, in the tip."
    )
    centre: CentreErrors = entry(CentreErrors(), doc="Errors of the links' centres of mass.")
    base_tilt: tuple[float, ...] = entry(
        (0.0, 0.0),
        size=2,
        lower=-math.pi,
        upper=math.pi,
        unit="rad",
        doc="Roll and pitch of the true base that `mount` hasn't.",
    )


@dataclass(frozen=True)
class WrenchErrors:
    """Offset and drift of the wrist sensor, in its axes."""

    force_offset: tuple[float, ...] = entry(_AXES, size=3, unit="N", doc="At time 0.")
    torque_offset: tuple[float, ...] = entry(_AXES, size=3, unit="N·m", doc="At time 0.")
    force_drift: tuple[float, ...] = entry(_AXES, size=3, unit="N/s", doc="Change of the offset.")
    torque_drift: tuple[float, ...] = entry(
        _AXES, size=3, unit="N·m/s", doc="Change of the offset."
    )


@dataclass(frozen=True)
class TripLimits:
    """Limits at which the arm stops by itself; 0: never.

    The true value is compared, once per control period.
    """

    joint_velocity: tuple[float, ...] = entry(
        _NONE, size=SOME, lower=0.0, unit="rad/s", doc="Of each joint."
    )
    tip_velocity: float = entry(0.0, lower=0.0, unit="m/s", doc="Linear velocity of the tip.")
    force: float = entry(
        0.0, lower=0.0, unit="N", doc="At the wrist sensor, weight beyond it included."
    )
    power: float = entry(0.0, lower=0.0, unit="W", doc="Of all motors together, given or taken.")
    momentum: float = entry(0.0, lower=0.0, unit="kg·m/s", doc="Linear momentum of the arm.")
    following_error: tuple[float, ...] = entry(
        _NONE, size=SOME, lower=0.0, unit="rad", doc="Of each joint: commanded minus true position."
    )


@dataclass(frozen=True)
class HalfWidths:
    """Largest distance of true values from those of the file, to either side.

    The simulated arm doesn't use them.

    0 says that nothing is known. `robot_control identify` writes half of each 99 % interval.
    """

    delay: float = entry(
        0.0, lower=0.0, upper=1.0, unit="s", doc="Of the delay of the commands that was identified."
    )
    coulomb: tuple[float, ...] = entry(
        _NONE, size=SOME, lower=0.0, unit="N·m", doc="Of `friction.coulomb`."
    )
    viscous: tuple[float, ...] = entry(
        _NONE, size=SOME, lower=0.0, unit="N·m·s/rad", doc="Of `friction.viscous`."
    )
    payload_mass: float = entry(0.0, lower=0.0, unit="kg", doc="Of `model.payload_mass`.")


@dataclass(frozen=True)
class Imperfections:
    """Imperfections that a real arm has and an ideal one lacks; the default is the ideal arm.

    Attributes:
        name: Name of the preset or file, for messages.
    """

    name: str = ""
    description: str = entry("", doc="The arm, for people.")
    seed: int = entry(0, lower=0, doc="Of all random numbers: the same seed gives the same run.")
    states: StateLine = entry(StateLine(), doc="The way of the samples.")
    commands: CommandLine = entry(CommandLine(), doc="The way of the commands.")
    noise: SensorNoise = entry(SensorNoise(), doc="Noise of the sensors.")
    steps: SensorSteps = entry(SensorSteps(), doc="Quantisation of the sensors.")
    velocity: VelocityFilter = entry(VelocityFilter(), doc="Filter of the velocities.")
    friction: LoadedFriction = entry(LoadedFriction(), doc="Friction of the joints.")
    model: ModelErrors = entry(ModelErrors(), doc="What the controller's model has wrong.")
    rotor_inertia: tuple[float, ...] = entry(
        (), size=SOME, lower=0.0, unit="kg·m²", doc="Of the simulated arm; left out, the robot's."
    )
    stiffness: tuple[float, ...] = entry(
        (),
        size=SOME,
        above=0.0,
        unit="N·m/rad",
        doc="Of elastic joints, whose sensors are on the motors; left out: rigid.",
    )
    backlash: tuple[float, ...] = entry(
        _NONE,
        size=SOME,
        lower=0.0,
        unit="rad",
        doc="Way of the link, from end to end, that a standing motor leaves it free. The sensors are on the motors.",
    )
    wrench: WrenchErrors = entry(WrenchErrors(), doc="Offset and drift of the wrist sensor.")
    effort_offset: tuple[float, ...] = entry(
        _NONE, size=SOME, unit="N·m", doc="Added to the measured joint torques."
    )
    torque_offset: tuple[float, ...] = entry(
        _NONE,
        size=SOME,
        unit="N·m",
        doc="Added to the torque that each motor gives; the measured one has it, too.",
    )
    trips: TripLimits = entry(TripLimits(), doc="Where the arm stops by itself.")
    half_width: HalfWidths = entry(
        HalfWidths(),
        doc="How far true values may be from these; 0 is not known. The simulated arm doesn't use it.",
    )

    @property
    def has_gears(self) -> bool:
        """True where a gear that gives way lies between a motor and its link."""
        return bool(self.stiffness) or any(self.backlash)

    def check(self, robot: RobotConfig) -> None:
        """Refuse lists that aren't as long as the robot has joints, and gears that give way without
        rotors.

        Raises:
            ConfigError: names the imperfections, the entry, the robot and its joints.
        """
        for key, values in _joint_lists(self):
            if len(values) not in (1, robot.n):
                place = f"imperfections {self.name}: {key} has {len(values)} values"
                rule = f"must have 1 for all, or {robot.n}: {robot.name} has the joints {', '.join(robot.joints)}"
                way = f"others: {', '.join(imperfection_names())}, or a path ending in .yaml"
                raise ConfigError(f"{place}; {rule}; {way}", name=key, value=values, bound=robot.n)
        rotors = self.rotor_inertia or robot.rotor_inertia
        if self.has_gears and not min(rotors) > 0.0:
            rule = "must be above 0 kg·m² for each joint: a motor before an elastic gear or backlash needs inertia"
            raise refused(
                "rotor_inertia", list(rotors), rule, 0.0, where=f"imperfections {self.name}: "
            )


def per_joint(values: tuple[float, ...], n: int) -> Array:
    """One value for all joints, or one each, as an array (n,)."""
    return np.array(np.broadcast_to(np.array(values), n))


def _joint_lists(group: Any, prefix: str = "") -> Iterator[tuple[str, tuple[float, ...]]]:
    cls: Any = type(group)
    for spec in entry_specs(cls):
        value = getattr(group, spec.name)
        if is_dataclass(value):
            yield from _joint_lists(value, f"{prefix}{spec.key}.")
        elif spec.size == SOME and value:
            yield prefix + spec.key, value


def imperfection_names() -> list[str]:
    """Names of the presets of this package."""
    return config_names("imperfections")


def load_imperfections(name: str) -> Imperfections:
    """Read imperfections.

    Args:
        name: Name of a preset of the package, or the path of a YAML file.

    Raises:
        ConfigError: unknown name, an unknown or unusable entry; lists the valid ones.
    """
    path, data = read_config("preset", name, "imperfections")
    return replace(Imperfections(**read_entries(Imperfections, data, str(path))), name=path.stem)
