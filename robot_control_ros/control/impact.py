"""The tip's speed bounded for the sake of a blow; what a blow would be, in figures and words."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ..core.types import Array
from ..robot.configuration import RobotConfig
from ..robot.model import RobotDynamics
from ..sensing.contact_settings import COLLISION_SHARE, ContactSettings
from ..stability.contact_bound import SERVO
from ..stability.wall_contact import USUAL_DELAY

PRESSED = 0.25  # of the limit: what the law presses with until the reaction to the contact ends it
# kg: in a direction in which the tip feels heavier it can hardly move; see SingularDamping
HEAVIEST = 1000.0


class ImpactBound:
    """Bounds the tip's speed, so that a body that it runs into feels no more than a limit.

    The tip meets a body of stiffness k, which can't give way: it is clamped, or a person's hand on
    a table. The arm of the effective mass m comes with the speed v, and its law presses on with a
    force f_0. Then the largest force is

        F = f_0 + √(f_0² + k m v²).

    So v ≤ F √((1 - 2 f_0 / F) / (k m)), where f_0 is a quarter of the limit F. The reaction to a
    contact sees to that.

    The arm meets a smooth surface along its normal n, with the speed n·v and the mass 1 / (nᵀ Λ⁻¹
    n),
    Λ = (J_v M⁻¹ J_vᵀ)⁻¹. Of all surfaces the worst one is that with n along Λ v. Its blow has the
    energy vᵀ Λ v / 2.
    So along a direction u the mass m = uᵀ Λ u counts, which is at least 1 / (uᵀ Λ⁻¹ u). Rotors are
    in M.

    Drives that follow positions or velocities press on with v, however light the arm is, until the
    reaction stops them. A contact is found at a quarter of F. From there the force grows by k v t.
    Here t is the delay of the loop, with the drives' time constant; without a wrist sensor, with
    the observer's, too. So v ≤ (3/4) F / (k t) as well.

    Source: ISO/TS 15066:2016, annex A.3.4, with a body of infinite mass. There m_R = M / 2 + m_L is
    an estimate.
    Here it is the effective mass of O. Khatib, Inertial properties in robotic manipulation, Int. J.
    Robotics
    Research 14(1), 1995.

    Attributes:
        acts: True where there is a limit.
    """

    def __init__(self) -> None:
        self.acts = False
        self._limit = 0.0  # F [N]; 0 for none
        self._stiffness = 1.0  # k [N/m]
        self._inertia = np.eye(3)  # Λ [kg]
        self._most = math.inf  # speed that drives may press on with [m/s]

    def update(self, settings: ContactSettings, kin: RobotDynamics, most: float = math.inf) -> None:
        """Take up the settings and the state of a cycle.

        Args:
            settings: Settings of contacts.
            kin: Kinematics and dynamics at that state.
            most: Speed that drives may press on with, see :func:`driven_speed` [m/s]; infinite
                under torques.
        """
        self._limit = settings.max_impact
        self.acts = self._limit > 0.0
        if self.acts:
            self._stiffness = settings.body_stiffness
            self._inertia = tip_inertia(kin)
            self._most = most

    def speed(self, velocity: Array) -> float:
        """The largest speed [m/s] along a velocity (3,) of the tip, in base axes; infinite
        without limit or motion.
        """
        square = float(velocity.dot(velocity))
        if self._limit <= 0.0 or square == 0.0:
            return math.inf
        mass = float(velocity.dot(self._inertia).dot(velocity)) / square
        return min(blow_speed(self._limit, self._stiffness, mass), self._most)


def tip_inertia(kin: RobotDynamics) -> Array:
    """Λ (3, 3) of the tip's translation [kg], in base axes; at most 1000 kg in any direction."""
    linear = kin.jacobian[:3]
    values, directions = np.linalg.eigh(linear.dot(np.linalg.solve(kin.mass, linear.T)))
    masses = 1.0 / np.maximum(values, 1.0 / HEAVIEST)
    return np.asarray((directions * masses).dot(directions.T))


def blow_speed(force: float, stiffness: float, mass: float) -> float:
    """Speed [m/s] of a mass [kg] whose blow on a stiffness [N/m] stays below a force [N],
    while a law presses on.
    """
    return force * math.sqrt((1.0 - 2.0 * PRESSED) / (stiffness * mass))


def driven_speed(robot: RobotConfig, settings: ContactSettings, sensor: bool) -> float:
    """Speed [m/s] of drives that press on until the reaction stops them; infinite where there is no
    limit.

    Args:
        robot: Configuration of the robot, whose rate and delay count.
        settings: Settings of contacts.
        sensor: True where a wrist sensor finds the contact; else an observer finds it, which is
            slower.
    """
    if settings.max_impact <= 0.0:
        return math.inf
    seconds = (robot.profile.delay or USUAL_DELAY * robot.period) + 0.5 * robot.period + 1.0 / SERVO
    if not sensor:
        seconds += 1.0 / settings.observer_gain
    return (1.0 - COLLISION_SHARE) * settings.max_impact / (settings.body_stiffness * seconds)


@dataclass(frozen=True)
class Blow:
    """A blow that is expected at a posture, by the model of ISO/TS 15066.

    The model assumes that the law doesn't press on.

    Attributes:
        masses: Effective mass of the arm at its tip, in its lightest and its heaviest direction
            [kg].
        virtual: Largest mass of the law's virtual body [kg]; 0 of a law without one.
        stiffness: Stiffness of the body that is struck [N/m].
        speed: Speed with which moves lead the tip [m/s].
        limit: Largest force of a blow, `contact.max_impact` [N].
        kept: Speed of the tip that keeps the limit, in the heaviest and the lightest direction
            [m/s].
    """

    masses: tuple[float, float]
    virtual: float
    stiffness: float
    speed: float
    limit: float
    kept: tuple[float, float]

    @property
    def forces(self) -> tuple[float, float]:
        """Force of a blow at `speed`, in the lightest and the heaviest direction [N]."""
        light, heavy = self.masses
        return self.speed * math.sqrt(self.stiffness * light), self.speed * math.sqrt(
            self.stiffness * heavy
        )

    @property
    def exceeds(self) -> bool:
        """True where the moves' own speed would exceed the limit: then the tip is slowed down."""
        return self.kept[0] < self.speed

    def __str__(self) -> str:
        masses = _range(*self.masses, "kg")
        forces = _range(*self.forces, "N")
        text = f"{masses} at {self.speed:.3g} m/s on {self.stiffness:g} N/m: {forces}"
        if self.virtual > 0.0:
            text += f"; the virtual mass is {self.virtual:.3g} kg"
        if self.exceeds:
            speeds = _range(*self.kept, "m/s")
            text += f"; contact.max_impact {self.limit:g} N: the tip is kept below {speeds}"
        return text


def expected_blow(
    settings: ContactSettings,
    kin: RobotDynamics,
    speed: float,
    virtual: Array | None = None,
    most: float = math.inf,
) -> Blow | None:
    """The blow that is expected at a posture; None where `contact.max_impact` is off.

    Args:
        settings: Settings of contacts.
        kin: Kinematics and dynamics at the posture.
        speed: Speed of moves [m/s].
        virtual: Mass (6, 6) of the law's virtual body [kg, kg·m²]; None of a law without one.
        most: Speed that drives may press on with [m/s]; infinite under torques.
    """
    limit = settings.max_impact
    if limit <= 0.0:
        return None
    masses = np.linalg.eigvalsh(tip_inertia(kin))
    masses = masses[masses < HEAVIEST / 2.0]  # the tip moves in these directions
    if not masses.size:
        return None
    light = float(masses[0])
    heavy = float(masses[-1])
    body = 0.0 if virtual is None else float(np.linalg.eigvalsh(virtual[:3, :3])[-1])
    stiffness = settings.body_stiffness
    kept = (
        min(blow_speed(limit, stiffness, heavy), most),
        min(blow_speed(limit, stiffness, light), most),
    )
    return Blow((light, heavy), body, stiffness, speed, limit, kept)


def _range(low: float, high: float, unit: str) -> str:
    """Two figures in words; one where they are alike."""
    first = f"{low:.2g}" if low < 100.0 else f"{low:.0f}"
    second = f"{high:.2g}" if high < 100.0 else f"{high:.0f}"
    return f"{first} {unit}" if first == second else f"{first} to {second} {unit}"
