"""Simulated arms as they may be: what nobody knows exactly of a real one, drawn at random, and
the same each time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from numbers import Integral
from typing import Any

import numpy as np

from ..core.errors import refused
from ..core.types import Array
from ..robot.configuration import RobotConfig
from ..robot.model import RobotModel
from ..simulation.imperfect.imperfections import (
    CommandLine,
    Imperfections,
    LoadedFriction,
    ModelErrors,
    SensorNoise,
    per_joint,
)

GRAVITY = 9.81  # m/s²
LONGEST_DELAY = 1.0  # s, that imperfections may have
SHORTEST_DELAY = 1e-6  # s, of positions: 0 would be none of their own
SEEDS = 2**32  # of sensor noise


@dataclass(frozen=True)
class UnknownArm:
    """Uniform ranges from which arms are drawn, for a robot of which nothing was measured.

    Attributes:
        delay: Range of the delay from a command to its effect [s]: up to two periods of an arm at
            500 Hz.
        coulomb: Range of dry friction, as a fraction of the joint's effort limit. UR5e and Gen3
            have up to a twentieth; their own controllers compensate most of it.
        viscous: Range of the friction at 1 rad/s, as a fraction of the joint's effort limit.
        most_effort: Bound of the effort limit that friction is a fraction of [N·m]: that of a UR5's
            shoulder. The effort limits of textbooks' arms say nothing about their size.
        payload: Largest unknown mass on the tip, as of a tool weighed badly. It is a fraction of
            the mass that the joints hold in any direction at home.
        heaviest: Bound of that unknown mass [kg].
        rotors: Range of the factor on the robot's rotor inertia, which its maker rarely tells.
        rotor: Rotor inertia of a joint for which the robot states none [kg·m²].
        velocity_noise: Range of the standard deviation of joint velocities [rad/s]: encoders,
            differentiated and filtered.
        position_noise, effort_noise: Fixed standard deviations of joint positions and efforts
            [rad, N·m], as a UR5e's.
        force_noise, torque_noise: Fixed standard deviations of a wrist sensor [N, N·m].
    """

    delay: tuple[float, float] = (0.0, 0.004)
    coulomb: tuple[float, float] = (0.0, 0.02)
    viscous: tuple[float, float] = (0.0, 0.02)
    most_effort: float = 150.0
    payload: float = 0.02
    heaviest: float = 0.5
    rotors: tuple[float, float] = (0.5, 1.5)
    rotor: float = 0.1
    velocity_noise: tuple[float, float] = (1e-4, 1e-3)
    position_noise: float = 2e-5
    effort_noise: float = 0.05
    force_noise: float = 0.1
    torque_noise: float = 0.01


@dataclass(frozen=True)
class KnownArm:
    """Half widths around the imperfections of a known arm, for those that state no half width.

    Each one is a fraction of the known arm's value.

    Attributes:
        delay: Fraction of the delays: they change with the load of a computer.
        friction: Fraction of each joint's friction: it changes with temperature by this much.
        payload: Fraction of the payload's mass.
        rotors: Fraction of the rotor inertia.
    """

    delay: float = 0.25
    friction: float = 0.3
    payload: float = 0.5
    rotors: float = 0.2


UNKNOWN_ARM = UnknownArm()
KNOWN_ARM = KnownArm()


def sample_arms(
    robot: RobotConfig, base: Imperfections | None, seed: int, count: int, *, held_out: bool = False
) -> tuple[Imperfections, ...]:
    """Arms that differ in what is not known: friction, delay, payload, rotors and sensor noise.

    Arm i follows from the seed, `held_out` and i alone, so it is the same among any number of arms.

    Args:
        robot: Configuration of the robot.
        base: Imperfections of one arm, named or identified. The others lie around it, uniformly:
            within its half widths, or else within the fractions of :class:`KnownArm`. None takes
            the ranges of :class:`UnknownArm`.
        seed: Seed of all random numbers, 0 or more.
        count: Number of arms, 1 or more.
        held_out: True draws other arms, which no search has seen.

    Returns:
        (count,) imperfections; what has no range is as in `base`.

    Raises:
        ConfigError: a seed or count that isn't possible; imperfections of another robot.
    """
    for name, value, least in (("seed", seed, 0), ("arms", count, 1)):
        if not (isinstance(value, Integral) and not isinstance(value, bool) and value >= least):
            raise refused(name, value, f"must be a whole number from {least} on", least)
    if base is None:
        ends = _Ends.of(robot)
        return tuple(
            _unknown(ends, _generator(seed, held_out, number), number) for number in range(count)
        )
    base.check(robot)
    return tuple(
        _around(robot, base, _generator(seed, held_out, number), number) for number in range(count)
    )


def friction_scale(effort: Array) -> Array:
    """Torques (n,) of which friction is stated as a fraction [N·m].

    They are the effort limits (n,), at most 150 N·m.
    """
    return np.minimum(effort, UNKNOWN_ARM.most_effort)


def _generator(seed: int, held_out: bool, number: int) -> np.random.Generator:
    return np.random.default_rng(np.random.SeedSequence([int(seed), int(held_out), number]))


@dataclass(frozen=True, eq=False)
class _Ends:
    """Quantities of a robot to which the fractions of :class:`UnknownArm` refer.

    Attributes:
        friction: Torques (n,) of which friction is a fraction [N·m].
        payload: Largest mass that is drawn [kg].
        rotors: Rotor inertia (n,) [kg·m²].
    """

    friction: Array
    payload: float
    rotors: Array

    @classmethod
    def of(cls, robot: RobotConfig) -> _Ends:
        model = RobotModel.of(robot)
        effort = model.limits.effort
        kin = model.at(np.array(robot.home))
        lever = np.linalg.norm(kin.jacobian[:3], axis=0)  # m that the tip moves by 1 rad of a joint
        held = float(np.min(effort / (GRAVITY * np.maximum(lever, 1e-3))))
        rotors = np.array(robot.rotor_inertia)
        rotors = np.where(rotors > 0.0, rotors, UNKNOWN_ARM.rotor)
        return cls(
            friction_scale(effort), min(UNKNOWN_ARM.payload * held, UNKNOWN_ARM.heaviest), rotors
        )


def _unknown(ends: _Ends, random: np.random.Generator, number: int) -> Imperfections:
    ranges = UNKNOWN_ARM
    n = len(ends.friction)
    coulomb = random.uniform(*ranges.coulomb, n) * ends.friction
    viscous = random.uniform(*ranges.viscous, n) * ends.friction
    rotors = random.uniform(*ranges.rotors, n) * ends.rotors
    delay = random.uniform(*ranges.delay)
    payload = random.uniform(0.0, ends.payload)
    noise = random.uniform(*ranges.velocity_noise)
    return Imperfections(
        name=f"arm {number}",
        seed=_noise_seed(random),
        commands=CommandLine(delay=delay),
        noise=SensorNoise(
            (ranges.position_noise,),
            (noise,),
            (ranges.effort_noise,),
            ranges.force_noise,
            ranges.torque_noise,
        ),
        friction=LoadedFriction(coulomb=_plain(coulomb), viscous=_plain(viscous)),
        model=ModelErrors(payload_mass=payload),
        rotor_inertia=_plain(rotors),
    )


def _around(
    robot: RobotConfig, base: Imperfections, random: np.random.Generator, number: int
) -> Imperfections:
    n = robot.n
    around = KNOWN_ARM
    width = base.half_width
    friction = base.friction
    coulomb = _drawn(random, friction.coulomb, width.coulomb, around.friction, n)
    viscous = _drawn(random, friction.viscous, width.viscous, around.friction, n)
    stated = base.rotor_inertia or robot.rotor_inertia
    rotors = _drawn(random, stated, (0.0,), around.rotors, n)
    shift = random.uniform(-1.0, 1.0)  # of both delays
    mass = _drawn(random, (base.model.payload_mass,), (width.payload_mass,), around.payload, 1)[0]
    commands = _shifted(base.commands, width.delay, shift)
    return replace(
        base,
        name=f"{base.name}, arm {number}".removeprefix(", "),
        seed=_noise_seed(random),
        commands=commands,
        friction=replace(friction, coulomb=coulomb, viscous=viscous),
        model=replace(base.model, payload_mass=mass),
        rotor_inertia=rotors,
    )


def _drawn(
    random: np.random.Generator,
    values: Sequence[float],
    widths: Sequence[float],
    fraction: float,
    n: int,
) -> tuple[float, ...]:
    """Values (n,) drawn uniformly around the given ones, each 0 or more.

    Where a half width is 0, it is a fraction of the value instead.
    """
    middle = per_joint(tuple(values), n)
    half = per_joint(tuple(widths), n)
    half = np.where(half > 0.0, half, fraction * middle)
    shift = random.uniform(-1.0, 1.0, n)
    return _plain(np.maximum(middle + half * shift, 0.0))


def _shifted(line: CommandLine, width: float, shift: float) -> CommandLine:
    """The line with its delays shifted by a share of their half width; a delay that is 0 and
    has no width stays so.
    """
    delay = line.delay
    own = line.position_delay
    if delay > 0.0 or own == 0.0:
        delay = min(max(_moved(delay, width, shift), 0.0), LONGEST_DELAY)
    if own > 0.0:
        own = min(max(_moved(own, width, shift), SHORTEST_DELAY), LONGEST_DELAY)
    return replace(line, delay=delay, position_delay=own)


def _moved(delay: float, width: float, shift: float) -> float:
    return delay + shift * (width if width > 0.0 else KNOWN_ARM.delay * delay)


def _noise_seed(random: np.random.Generator) -> int:
    return int(random.integers(0, SEEDS))


def _plain(values: Any) -> tuple[float, ...]:
    return tuple(float(each) for each in values)
