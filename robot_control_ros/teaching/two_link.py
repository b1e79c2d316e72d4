"""A planar arm with two equal links in closed form: the plant of the planar experiments, and
the same arm as URDF.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from ..core.errors import refused
from ..core.types import Array
from ..robot.configuration import RobotConfig, load_robot
from ..robot.model import RobotModel

JOINTS = ("joint_1", "joint_2")
BASE = "base"
TIP = "tip"
COULOMB_WIDTH = 0.01  # rad/s, of the tanh that stands for the sign of a joint's velocity

Pair = Sequence[float] | Array


@dataclass(frozen=True)
class TwoLink:
    """Two equal links in the plane x y, y upwards; t1 is counted from x, t2 from the first link,
    both about z.

    H(q) q̈ + c(q, q̇) + G(q) + friction(q̇) = tau, with

        H11 = 2 I + m (l² + 2 lc²) + 2 m l lc cos t2;  H12 = I + m lc² + m l lc cos t2;  H22 = I + m lc²
        c = m l lc sin t2 [-(2 ṫ1 ṫ2 + ṫ2²); ṫ1²]
        G = m g [(l + lc) cos t1 + lc cos(t1 + t2); lc cos(t1 + t2)]
        friction = d q̇ + f tanh(q̇ / 0.01 rad/s)

    Source: M. Spong, S. Hutchinson, M. Vidyasagar, Robot Modeling and Control, 2006, section 7.4.

    Attributes:
        inertia: Inertia I of a link about its centre of mass [kg·m²].
        gravity: Gravity g along -y [m/s²]; 0 for an arm that moves in a horizontal plane.
        mass, length, center: Mass m [kg] and length l [m] of a link, and distance lc from its joint
            to its centre of mass [m].
        viscous: Viscous friction d of each joint [N·m·s/rad].
        coulomb: Coulomb friction f of the two joints [N·m].
    """

    inertia: float = 1.0 / 48.0
    gravity: float = 9.8
    mass: float = 1.0
    length: float = 1.0
    center: float = 0.5
    viscous: float = 0.0
    coulomb: tuple[float, float] = (0.0, 0.0)

    def mass_matrix(self, q: Pair) -> Array:
        """H (2, 2) [kg·m²]."""
        h11, h12, h22, _ = self._inertias(float(q[1]))
        return np.array([[h11, h12], [h12, h22]])

    def gravity_torque(self, q: Pair) -> Array:
        """Torque that holds the arm at rest, G (2,) [N·m]."""
        return np.array(self._weights(float(q[0]), float(q[1])))

    def friction(self, v: Pair) -> Array:
        """Torque (2,) that friction takes at joint velocities v (2,) [rad/s], in N·m."""
        return np.array([self._friction(0, float(v[0])), self._friction(1, float(v[1]))])

    def forward(self, q: Pair, v: Pair, tau: Pair) -> Array:
        """q̈ (2,) [rad/s²] under joint torques tau (2,) [N·m]."""
        return np.array(self._acceleration(*map(float, (*q, *v, *tau))))

    def advance(
        self, q: Pair, v: Pair, tau: Pair, dt: float, steps: int = 1, *, taylor: bool = False
    ) -> tuple[Array, Array]:
        """(q, v), each (2,), after `steps` steps of `dt` seconds under a constant tau (2,).

        Semi-implicit Euler: v += a dt, then q += v dt. With `taylor`: q += v dt + a dt² / 2, then v
        += a dt.
        """
        t1, t2, w1, w2, tau1, tau2 = map(float, (*q, *v, *tau))
        fraction = 0.5 if taylor else 1.0  # of a dt² that the position sees
        for _ in range(steps):
            a1, a2 = self._acceleration(t1, t2, w1, w2, tau1, tau2)
            t1 += dt * (w1 + fraction * dt * a1)
            t2 += dt * (w2 + fraction * dt * a2)
            w1 += dt * a1
            w2 += dt * a2
        return np.array([t1, t2]), np.array([w1, w2])

    def tip(self, q: Pair) -> Array:
        """(x, y) of the tip [m]."""
        both = q[0] + q[1]
        return self.length * np.array(
            [math.cos(q[0]) + math.cos(both), math.sin(q[0]) + math.sin(both)]
        )

    def jacobian(self, q: Pair) -> Array:
        """(2, 2): velocity of the tip over the joints' [m]."""
        both = q[0] + q[1]
        x = self.length * math.cos(both)
        y = self.length * math.sin(both)
        return np.array(
            [[-self.length * math.sin(q[0]) - y, -y], [self.length * math.cos(q[0]) + x, x]]
        )

    def jdot_v(self, q: Pair, v: Pair) -> Array:
        """(2,) acceleration of the tip where the joints have none, J̇ q̇ [m/s²]."""
        both = q[0] + q[1]
        first = v[0] ** 2
        second = (v[0] + v[1]) ** 2
        x = first * math.cos(q[0]) + second * math.cos(both)
        y = first * math.sin(q[0]) + second * math.sin(both)
        return -self.length * np.array([x, y])

    def joint_angles(self, point: Pair) -> Array:
        """(t1, t2) [rad] with the tip at a point (x, y) [m]; of the two, that with t2 = +arccos.

        Raises:
            ConfigError: beyond the arm's reach.
        """
        x = float(point[0])
        y = float(point[1])
        cosine = (x * x + y * y) / (2.0 * self.length * self.length) - 1.0
        if not cosine <= 1.0:
            away = math.hypot(x, y)
            reach = 2.0 * self.length
            raise refused("point", away, f"must be within {reach:g} m of the base", reach, unit="m")
        t2 = math.acos(cosine)
        return np.array([math.atan2(y, x) - math.atan2(math.sin(t2), 1.0 + math.cos(t2)), t2])

    def urdf(self, effort: float = 1e4, velocity: float = 1e3) -> str:
        """Robot description of this arm, with these limits of the joints [N·m, rad/s].

        With gravity its base stands up on the root, so that gravity along the root's -z acts along
        the base's -y.
        """
        upright = math.pi / 2.0 if self.gravity else 0.0
        turn = 2.0 * math.pi
        inertia = f'ixx="{self.inertia / 10.0!r}" iyy="{self.inertia!r}" izz="{self.inertia!r}" ixy="0" ixz="0" iyz="0"'
        parts = [_joint("mount", "fixed", "root", BASE, f'xyz="0 0 0" rpy="{upright!r} 0 0"')]
        parent = BASE
        at = 0.0
        for name, link, dry in zip(JOINTS, ("link_1", "link_2"), self.coulomb, strict=True):
            movement = (
                f'<axis xyz="0 0 1"/><dynamics damping="{self.viscous!r}" friction="{dry!r}"/>'
                f'<limit lower="{-turn!r}" upper="{turn!r}" effort="{effort!r}" velocity="{velocity!r}"/>'
            )
            parts.append(
                f'<link name="{link}"><inertial><origin xyz="{self.center!r} 0 0"/><mass value="{self.mass!r}"/>'
                f"<inertia {inertia}/></inertial></link>"
            )
            parts.append(_joint(name, "revolute", parent, link, f'xyz="{at!r} 0 0"', movement))
            parent = link
            at = self.length
        parts.append(_joint("tip_joint", "fixed", parent, TIP, f'xyz="{self.length!r} 0 0"'))
        links = "".join(f'<link name="{name}"/>' for name in ("root", BASE, TIP))
        return f'<robot name="two_link">{links}{"".join(parts)}</robot>'

    def model(self, effort: float = 1e4, velocity: float = 1e3) -> RobotModel:
        """The package's model of :meth:`urdf` under this arm's own gravity."""
        return RobotModel(
            self.urdf(effort, velocity), JOINTS, BASE, TIP, gravity=(0.0, 0.0, -self.gravity)
        )

    def config(self, rate: float = 1000.0, **changes: Any) -> RobotConfig:
        """A robot configuration at `rate` [Hz] that takes every command; its description is
        :meth:`urdf`, no file.
        """
        arm = load_robot("planar_two_link").at_rate(rate)
        urdf = Path("two_link.urdf")
        return replace(
            arm, urdf_path=urdf, joints=JOINTS, base=BASE, tip=TIP, wrench_frame=TIP, **changes
        )

    def _inertias(self, t2: float) -> tuple[float, float, float, float]:
        """H11, H12, H22 and m l lc sin t2."""
        reach = self.mass * self.length * self.center
        own = self.inertia + self.mass * self.center * self.center
        coupling = reach * math.cos(t2)
        h11 = 2.0 * own + self.mass * self.length * self.length + 2.0 * coupling
        return h11, own + coupling, own, reach * math.sin(t2)

    def _weights(self, t1: float, t2: float) -> tuple[float, float]:
        weight = self.mass * self.gravity
        outer = weight * self.center * math.cos(t1 + t2)
        return weight * (self.length + self.center) * math.cos(t1) + outer, outer

    def _friction(self, joint: int, w: float) -> float:
        dry = self.coulomb[joint]
        return self.viscous * w + (dry * math.tanh(w / COULOMB_WIDTH) if dry else 0.0)

    def _acceleration(
        self, t1: float, t2: float, w1: float, w2: float, tau1: float, tau2: float
    ) -> tuple[float, float]:
        h11, h12, h22, h = self._inertias(t2)
        g1, g2 = self._weights(t1, t2)
        r1 = tau1 + h * w2 * (2.0 * w1 + w2) - g1 - self._friction(0, w1)
        r2 = tau2 - h * w1 * w1 - g2 - self._friction(1, w2)
        determinant = h11 * h22 - h12 * h12
        return (h22 * r1 - h12 * r2) / determinant, (h11 * r2 - h12 * r1) / determinant


def _joint(name: str, kind: str, parent: str, child: str, origin: str, movement: str = "") -> str:
    ends = f'<parent link="{parent}"/><child link="{child}"/><origin {origin}/>'
    return f'<joint name="{name}" type="{kind}">{ends}{movement}</joint>'
