"""The axes along which a force is controlled: approach, contact and loss, and the energy that this may take."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...core.types import Array

LEVER = 0.1  # m: torques and rotations count by it where a gain is given for forces and translations
LEVERS = np.array([1.0, 1.0, 1.0, LEVER, LEVER, LEVER])
DECAY = 0.1  # s, in which the integral decays without contact
SCARCE = 0.1  # of the tank at the start, below which the controller's share becomes less
REFILL = 0.9  # of what the damper takes out, that goes into the tank
FULL = 5.0  # times the tank at the start: it holds no more
MAX_POWER = 5.0  # W, into the environment; wiping with 10 N at 50 mm/s takes 0.5 W
ROOM = 0.1  # of the largest displacement, over which the force fades


class Pressing:
    """Six axes, each free, approaching, or in contact; forces are those that the robot exerts.

    On an axis with the wanted force f and the measured one f_m, that moves with v:

        in contact:  w = f + s [k_p (f - f_m) + u] - D v,  u' = k_i (f - f_m) within the integral's limit
        before:      w = sign(f) min(|f|, D v_a) - D v,    u' = -u / 0.1 s
        f = 0:       w = -D v

    So an arm that meets nothing goes at v_a, whatever a sensor's bias is, and so does one that loses its contact.
    Contact begins when the measured force is beyond `contact_on` in the direction of f, and ends below `contact_off`.

    The part s [k_p (f - f_m) + u] acts on a late measurement, and isn't passive. What it gives is taken from a tank E,
    E' = 0.9 vᵀD v - s (k_p (f - f_m) + u)ᵀ v; s falls from 1 to 0 with E's last tenth. So all that goes into the
    environment is bounded by the tank at the start, the potential of f and what the damper took out. Beyond 5 W the
    force is scaled down.

    Source: C. Schindlbeck, S. Haddadin, Unified passivity-based Cartesian force/impedance control for rigid and
    flexible joint robots via task-energy tanks, ICRA 2015.

    Attributes:
        touched: (6,) whether each axis is in contact.
        tank: energy left [J].
    """

    def __init__(self) -> None:
        self.reset(0.0)

    def reset(self, tank: float) -> None:
        """Nothing is touched, the integral is empty, the tank [J] is as at the start."""
        self.touched = np.zeros(6, dtype=bool)
        self.tank = tank
        self._integral = np.zeros(6)

    def wrench(self, wanted: Array, measured: Array, velocity: Array, away: Array, gains: Any, dt: float) -> Array:
        """The wrench (6,) of the robot along the axes, see :meth:`drive`."""
        drive = self.drive(wanted, measured, velocity, away, gains, dt)
        return np.asarray(drive - gains.force_axes * gains.force_damping * velocity)

    def drive(self, wanted: Array, measured: Array, velocity: Array, away: Array, gains: Any, dt: float) -> Array:
        """The same without the damper -D v.

        Args:
            wanted, measured: (6,) wrench of the robot on the environment [N, N·m].
            velocity: (6,) [m/s, rad/s].
            away: (6,) displacement from the reference over the largest one: at 1 the force has faded to 0.
            gains: of the law.
            dt: [s].
        """
        along, selected = np.sign(wanted), gains.force_axes
        pressed = measured * along / LEVERS
        self.touched = (pressed > gains.contact_on) | (self.touched & (pressed > gains.contact_off))
        error = wanted - measured
        limit = gains.integral_limit * LEVERS
        risen = np.minimum(np.maximum(self._integral + dt * gains.force_i * error, -limit), limit)
        self._integral = np.where(self.touched, risen, math.exp(-dt / DECAY) * self._integral)
        damper = gains.force_damping * velocity
        active = np.where(self.touched, gains.force_p * error + self._integral, 0.0)
        active = self._paid(selected * active, velocity, float((selected * damper).dot(velocity)), gains.tank, dt)
        approach = np.minimum(np.abs(wanted), gains.force_damping * gains.approach_speed / LEVERS)
        drive = selected * np.where(self.touched, wanted, along * approach) + active
        outward = drive * away > 0.0
        drive = np.where(outward, np.minimum(np.maximum((1.0 - np.abs(away)) / ROOM, 0.0), 1.0) * drive, drive)
        power = float(drive.dot(velocity))
        if power > MAX_POWER:
            drive = drive * (MAX_POWER / power)
        return np.asarray(drive)

    def _paid(self, active: Array, velocity: Array, dissipated: float, start: float, dt: float) -> Array:
        """The active part (6,), as far as the tank pays for it."""
        power = float(active.dot(velocity))
        if power > 0.0:
            share = min(self.tank / (SCARCE * start), self.tank / (power * dt), 1.0) if start > 0.0 else 0.0
            active, power = share * active, share * power
        self.tank = min(max(self.tank + dt * (REFILL * dissipated - power), 0.0), FULL * start)
        return active
