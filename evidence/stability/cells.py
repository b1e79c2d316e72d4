"""Figures of a robot at a rate and a delay: measured, and by formulae beside them."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from robot_control_ros.core.gains import ParameterSet
from robot_control_ros.core.types import Array
from robot_control_ros.laws.admittance import Admittance
from robot_control_ros.laws.running_law import RunningLaw
from robot_control_ros.robot.configuration import RobotConfig, load_robot
from robot_control_ros.robot.model import RobotModel
from robot_control_ros.stability.stiffness_bound import largest_stable
from robot_control_ros.stability.wall_contact import least_damping

from .trials import CONTACT, contact_is_stable, impedance_is_stable

RATES = (125.0, 250.0, 500.0, 1000.0)  # Hz
DELAYS = (0.0, 0.001, 0.002, 0.004, 0.008, 0.016)  # s
OFFSET = 0.4  # rad from home, of every joint, in the postures other than home
SOFT = (500.0, 20.0)  # N/m, N·m/rad: of the part that isn't measured

# In ẍ + 2 ω ẋ + ω² x = 0 spring and damper act τ late. |2 ω s + ω²| = |s²| holds at s = i u ω with
# u² = 2 + √5. There the phase atan(2 u) is used up if ω τ = atan(2 u) / u. So
# K = ω² Λ = CRITICAL Λ / τ².
_U = math.sqrt(2.0 + math.sqrt(5.0))
CRITICAL = (math.atan(2.0 * _U) / _U) ** 2


@dataclass(frozen=True)
class Quantity:
    """A quantity that is searched for: field of :class:`Cell`, title, and searched range [unit]."""

    name: str
    law: str
    title: str
    unit: str
    lowest: float
    highest: float

    def of(self, cell: Cell) -> float:
        return float(getattr(cell, self.name))

    def text(self, cell: Cell) -> str:
        """Value in a cell as text: two digits, rounded down; beyond the range its end."""
        value = self.of(cell)
        if value == 0.0:
            return f"< {self.lowest:g}"
        if value >= self.highest:
            return f"≥ {self.highest:g}"
        digit = 10.0 ** (math.floor(math.log10(value)) - 1)
        return f"{math.floor(value / digit) * digit:g}"


TRANSLATION = Quantity("translation", "impedance", "translational stiffness", "N/m", 500.0, 10000.0)
ROTATION = Quantity("rotation", "impedance", "rotational stiffness", "N·m/rad", 10.0, 10000.0)
WALL = Quantity("wall", "admittance", "stiffness of the wall", "N/m", 250.0, 128000.0)
QUANTITIES = (TRANSLATION, ROTATION, WALL)


@dataclass(frozen=True)
class Cell:
    """The largest stable values of one robot at one rate [Hz] and delay [s]; see :class:`Quantity`.

    A value is 0 where the least of the range isn't stable. It is the range's end where everything
    is stable.

    Attributes:
        half_of_both: True where half the translational and half the rotational stiffness are stable
            together.
    """

    robot: str
    rate: float
    delay: float
    translation: float
    rotation: float
    half_of_both: bool
    wall: float

    @property
    def lag(self) -> float:
        """Delay plus half a period [s]: a held command is so late on average."""
        return self.delay + 0.5 / self.rate


def postures(robot: RobotConfig) -> list[Array]:
    """Joint angles (n,): home, and home with every joint 0.4 rad up, down, and
    in turns up and down.
    """
    home = np.array(robot.home)
    signs = (-1.0) ** np.arange(robot.n)
    return [home, home + OFFSET, home - OFFSET, home + OFFSET * signs]


def measure(name: str, rate: float, delay: float) -> Cell:
    """All quantities of one robot, each the smallest over the postures."""
    robot = load_robot(name)
    places = postures(robot)

    def held(translation: float, rotation: float) -> bool:
        return all(
            impedance_is_stable(robot, q, rate, delay, translation, rotation) for q in places
        )

    def against(wall: float) -> bool:
        return all(contact_is_stable(robot, q, rate, delay, wall) for q in places)

    translation = largest_stable(
        lambda k: held(k, SOFT[1]), TRANSLATION.lowest, TRANSLATION.highest
    )
    rotation = largest_stable(lambda k: held(SOFT[0], k), ROTATION.lowest, ROTATION.highest)
    half_of_both = held(translation / 2.0, rotation / 2.0)
    wall = largest_stable(against, WALL.lowest, WALL.highest)
    return Cell(name, rate, delay, translation, rotation, half_of_both, wall)


def lightest(robot: RobotConfig) -> tuple[float, float]:
    """The smallest inertia over the postures that the tip has along [kg] and
    about [kg·m²] any axis.
    """
    model = RobotModel.of(robot)
    kins = [model.at(q) for q in postures(robot)]
    mobilities = [kin.jacobian @ np.linalg.solve(kin.mass, kin.jacobian.T) for kin in kins]
    linear, angular = np.max(
        [[np.linalg.norm(w[:3, :3], 2), np.linalg.norm(w[3:, 3:], 2)] for w in mobilities], axis=0
    )
    return 1.0 / linear, 1.0 / angular


def virtual_damping() -> float:
    """Damping of the measured contact along the tip's axes [N·s/m]."""
    return float(ParameterSet(Admittance.Gains, 0, CONTACT).current.virtual_damping[0, 0])


def default_body(name: str) -> tuple[float, float]:
    """Mass [kg] and damping [N·s/m] of a robot's admittance along the tip's axes,
    with its own defaults.
    """
    gains = RunningLaw(load_robot(name), "admittance").gains.current
    return float(gains.mass[0, 0]), float(gains.virtual_damping[0, 0])


def least_contact_damping(cell: Cell) -> float:
    """Least damping that the robot's default mass needs against a wall of 10⁴ N/m [N·s/m].

    See stability/wall_contact.py.
    """
    return float(least_damping(default_body(cell.robot)[0], cell.lag))
