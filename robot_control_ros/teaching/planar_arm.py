"""The planar two-link arm to play with: its joints are moved by hand, or a law takes it to a
target, or to a wall.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..core.errors import HardwareFault
from ..core.gains import make_gains
from ..core.spatial import make_pose
from ..core.types import Array, JointSpaceReference, Reference, RobotState
from ..laws.impedance import Impedance
from ..laws.joint_impedance import JointImpedance
from .two_link import Pair, TwoLink

UPRIGHT = (math.pi / 2.0, 0.0)  # rad
DT = 0.01  # s
# N/m, N·s/m
STIFFNESS = 50.0
DAMPING = 5.0
# N·m/rad, N·m·s/rad
JOINT_STIFFNESS = 50.0
JOINT_DAMPING = 5.0
FASTEST = 1e3  # rad/s, beyond which nothing is simulated any more


def page_gains(
    stiffness: float = STIFFNESS, damping: float = DAMPING, inertia: float = 0.0
) -> Impedance.Gains:
    """The gains that make `impedance` the page's law: Kp, Kd and M, each the same in x
    and y, and gravity.
    """
    values = {"stiffness": stiffness, "damping": damping, "inertia": inertia, "damping_ratio": 0.0}
    gains: Impedance.Gains = make_gains(Impedance.Gains, {**values, "axes": [1, 1, 0, 0, 0, 0]}, 2)
    return gains


def joint_gains(
    stiffness: float = JOINT_STIFFNESS, damping: float = JOINT_DAMPING
) -> JointImpedance.Gains:
    """The gains that make `joint_impedance` the page's joint PD: a spring and a damper in each
    joint, and gravity.
    """
    values = {"stiffness": stiffness, "damping": damping, "damping_ratio": 0.0}
    gains: JointImpedance.Gains = make_gains(JointImpedance.Gains, values, 2)
    return gains


@dataclass(frozen=True)
class PlanarArmSettings:
    """Settings of the arm and its law.

    Attributes:
        stiffness, damping, inertia: Kp [N/m], Kd [N·s/m] and M [kg] of the impedance.
        joint_pd: True where the joint PD drives the arm, else the impedance.
        joint_stiffness, joint_damping: Kq [N·m/rad] and Dq [N·m·s/rad] of the joint PD.
        link_inertia: Inertia of each link about its centre of mass [kg·m²].
        taylor: True for the integrator with a dt² / 2, see :meth:`TwoLink.advance`.
        wall: True where there is a wall: a spring without friction or damping that fills the plane
            beyond `wall_x` [m].
        wall_stiffness: Stiffness of that spring [N/m].
    """

    stiffness: float = STIFFNESS
    damping: float = DAMPING
    inertia: float = 0.0
    joint_pd: bool = False
    joint_stiffness: float = JOINT_STIFFNESS
    joint_damping: float = JOINT_DAMPING
    link_inertia: float = TwoLink().inertia
    taylor: bool = False
    wall: bool = False
    wall_x: float = 1.0
    wall_stiffness: float = 500.0


class PlanarArm:
    """The arm A-B-E with A at the origin, stepped by 10 ms; it begins upright, in kinematics mode.

    In kinematics mode the joints B and E are led by hand, nothing acts on them, and the target is
    glued to the tip E. Otherwise the arm is driven, with its target free: by T = Jᵀ [M (a_d - a) +
    Kd (v_d - v) + Kp (x_d - x)] + G, where v_d = a_d = 0, and a is what the model gives with the
    wall's force as measured wrench. Or by the joint PD, T = Kq (q_d - q) - Dq q̇ + G, where q_d
    puts the tip on the target, with the elbow on the side where it was.

    Attributes:
        settings: Present settings.
        driven: True where the law drives the arm.
        q, v: (2,) joint angles [rad] and velocities [rad/s].
        target: (2,) place of the target x_d [m], never further from A than the arm reaches.
        time: Time since the start, the last change of mode or the last reset [s].
    """

    def __init__(self) -> None:
        self.driven = False
        self.time = 0.0
        self.q = np.array(UPRIGHT)
        self.v = np.zeros(2)
        self.target = np.zeros(2)
        self._impedance = Impedance()
        self._joint_pd = JointImpedance()
        self._adopt(PlanarArmSettings())
        self.reset()

    @property
    def elbow(self) -> Array:
        """Place (2,) of the elbow B [m]."""
        return self._arm.length * np.array([math.cos(self.q[0]), math.sin(self.q[0])])

    @property
    def tip(self) -> Array:
        """Place (2,) of the tip E [m]."""
        return self._arm.tip(self.q)

    @property
    def reach(self) -> float:
        """Largest distance of the tip from A [m]."""
        return 2.0 * self._arm.length

    @property
    def contact(self) -> Array:
        """(2,) force of the wall on the tip [N]; zero in kinematics mode."""
        depth = self.tip[0] - self.settings.wall_x
        if not (self.driven and self.settings.wall and depth > 0.0):
            return np.zeros(2)
        return np.array([-self.settings.wall_stiffness * depth, 0.0])

    @property
    def torque(self) -> Array:
        """(2,) T1, T2 of the law in the present state [N·m]; zero in kinematics mode."""
        if not self.driven:
            return np.zeros(2)
        return np.asarray(sum(self.terms.values()))

    @property
    def terms(self) -> Mapping[str, Array]:
        """The parts (2,) of :attr:`torque` by the law's names, such as stiffness,
        damping, gravity [N·m].
        """
        wrench = np.array([*self.contact, 0.0, 0.0, 0.0, 0.0])
        state = RobotState(self.time, self.q, self.v, np.zeros(2), wrench_on_tip=wrench)
        kin = self._model.update(self.q, self.v)
        if self.settings.joint_pd:
            rest = np.zeros(2)
            self._joint_pd.compute(
                state, kin, JointSpaceReference(q=self._goal, v=rest, a=rest), self._joint_gains, DT
            )
            return self._joint_pd.terms
        reference = Reference(pose=make_pose(np.array([*self.target, 0.0])))
        self._impedance.compute(state, kin, reference, self._gains, DT)
        return self._impedance.terms

    @property
    def tip_stiffness(self) -> tuple[float, float]:
        """The least and the largest stiffness of the tip over all directions, at rest in
        this posture [N/m].
        """
        if not self.settings.joint_pd:
            return self.settings.stiffness, self.settings.stiffness
        jacobian = self._arm.jacobian(self.q)
        # of the tip, times Kq
        kq = self.settings.joint_stiffness
        compliance = np.linalg.eigvalsh(jacobian @ jacobian.T)
        stiffest, softest = (kq / part if part > 1e-9 else math.inf for part in compliance.tolist())
        return softest, stiffest

    def change(self, **settings: Any) -> None:
        """Take other values of some :class:`PlanarArmSettings`, from now on.

        Raises:
            ConfigError: a gain that the law refuses; nothing changes.
        """
        self._adopt(replace(self.settings, **settings))

    def drive(self, driven: bool) -> None:
        """Let the law drive the arm from where it is drawn, at rest, with a free
        target; or end that.
        """
        if driven != self.driven:
            self.driven = driven
            self._rest()

    def reset(self) -> None:
        """Put the arm upright, at rest, at time 0.

        The mode and, where the arm is driven, the target stay.
        """
        self.q = np.array(UPRIGHT)
        self._rest()

    def lead_elbow(self, point: Pair) -> None:
        """Turn the first link towards (x, y) [m], the second along with it; in
        kinematics mode only.
        """
        if not self.driven and np.any(point):
            self.q = np.array([math.atan2(point[1], point[0]), self.q[1]])
            self._rest()

    def set_target_pose(self, point: Pair) -> None:
        """Turn the second link towards (x, y) [m]; in kinematics mode only."""
        away = np.asarray(point, dtype=float) - self.elbow
        if not self.driven and away.any():
            angle = math.atan2(away[1], away[0]) - self.q[0]
            self.q = np.array([self.q[0], math.remainder(angle, 2.0 * math.pi)])
            self._rest()

    def lead_target(self, point: Pair) -> None:
        """Put the target to (x, y) [m], or as near to it as the arm reaches; not
        in kinematics mode.
        """
        if self.driven:
            wanted = np.asarray(point, dtype=float)
            self.target = wanted * min(1.0, self.reach / max(float(np.linalg.norm(wanted)), 1e-12))
            self._goal = self._angles_of(self.target)

    def step(self) -> None:
        """Simulate the next 10 ms; in kinematics mode nothing happens.

        Raises:
            HardwareFault: the step is too long for the settings: the arm has become too fast, and
                was reset.
        """
        if not self.driven:
            return
        push = self._arm.jacobian(self.q).T @ self.contact
        self.q, self.v = self._arm.advance(
            self.q, self.v, self.torque + push, DT, taylor=self.settings.taylor
        )
        self.time += DT
        fastest = float(np.abs(self.v).max())
        if not fastest <= FASTEST:
            self.reset()
            reached = f"a joint reached {fastest:.0f} rad/s"
            raise HardwareFault(
                f"{reached}: 10 ms are too long a step for these settings; the arm was reset"
            )

    def _rest(self) -> None:
        self.v = np.zeros(2)
        self.time = 0.0
        if not self.driven:
            self.target = self.tip
            self._goal = self.q

    def _angles_of(self, point: Array) -> Array:
        """(2,) angles with the tip at a point within reach, the elbow on its present side,
        without whole turns.
        """
        q = self._arm.joint_angles(point * (1.0 - 1e-12))
        if self.q[1] < 0.0:
            q = np.array([q[0] + q[1], -q[1]])  # the two links form a rhombus
        return q + 2.0 * math.pi * np.round((self.q - q) / (2.0 * math.pi))

    def _adopt(self, settings: PlanarArmSettings) -> None:
        self._gains = page_gains(settings.stiffness, settings.damping, settings.inertia)
        self._joint_gains = joint_gains(settings.joint_stiffness, settings.joint_damping)
        self._arm = TwoLink(inertia=settings.link_inertia)
        self._model = self._arm.model()
        self.settings = settings
