"""The axes along which a force is controlled: approach, contact, its loss, and its energy."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...core.compiled import compiled
from ...core.gain_rows import gains_record, gains_row
from ...core.gains import SCALAR, TASK, gain
from ...core.record import Field, Record
from ...core.types import Array, as_row
from ..energy_tank import fill, pay
from ..spring.virtual_body import mass_gain, max_displacement_gain, max_rotation_gain

# m: torques and rotations count by it where a gain is given for forces and translations
LEVER = 0.1
LEVERS = (1.0, 1.0, 1.0, LEVER, LEVER, LEVER)
DECAY = 0.1  # s, in which the integral decays without contact
FORGETTING = 1.0  # s, in which losses of contact are forgotten
BOUNCING = 3.0  # losses within that time, from which on the tip bounces; touching down has two
SCARCE = 0.1  # of the tank at the start, below which the controller's share becomes less
REFILL = 0.9  # of what the damper takes out, that goes into the tank
FULL = 5.0  # times the tank at the start: it holds no more
MAX_POWER = 5.0  # W, into the environment; wiping with 10 N at 50 mm/s takes 0.5 W
ROOM = 0.1  # of the largest displacement, over which the force fades


@dataclass(frozen=True, eq=False)
class PressingGains:
    """The gains along axes on which a force is controlled; see :class:`Pressing`."""

    force: Array = gain(
        0.0,
        size=TASK,
        unit="N, N·m",
        lower=-200.0,
        upper=200.0,
        doc="Force of the robot on the environment along the force axes; its sign is that of the approach.",
    )
    force_axes: Array = gain(
        0.0,
        size=TASK,
        doc="1 where the force is controlled, 0 where the tip follows the reference compliantly.",
    )
    force_p: float = gain(
        0.1,
        size=SCALAR,
        upper=2.0,
        doc="Feedback of the measured force under torques; a stiff surface and delay bound it.",
    )
    force_i: float = gain(
        5.0,
        size=SCALAR,
        unit="1/s",
        upper=50.0,
        doc="Integral of the force error: takes up friction and weight.",
    )
    force_damping: Array = gain(
        (200.0, 200.0, 200.0, 2.0, 2.0, 2.0),
        size=TASK,
        unit="N·s/m, N·m·s/rad",
        lower=0.1,
        upper=2000.0,
        doc="Damping along the force axes; position-controlled joints need more of it on a stiffer surface.",
    )
    approach_speed: float = gain(
        0.02,
        size=SCALAR,
        unit="m/s",
        lower=0.001,
        upper=0.25,
        doc="Speed of the tip before it touches.",
    )
    contact_on: float = gain(
        1.0,
        size=SCALAR,
        unit="N",
        lower=0.1,
        upper=50.0,
        doc="Contact begins above it: three times the noise.",
    )
    contact_off: float = gain(0.3, size=SCALAR, unit="N", upper=50.0, doc="Contact ends below it.")
    integral_limit: float = gain(
        20.0,
        size=SCALAR,
        unit="N",
        upper=200.0,
        doc="The integral adds no more; a tenth of it in N·m for torques.",
    )
    tank: float = gain(
        1.0,
        size=SCALAR,
        unit="J",
        upper=10.0,
        doc="Energy that feedback of the force may use at first.",
    )
    max_displacement: float = max_displacement_gain(
        "Along force axes the tip is driven no further from the reference."
    )
    max_rotation: float = max_rotation_gain("The same about force axes.")
    mass: Array = mass_gain(
        "Mass and inertia of the virtual body; where torques are commanded it has no effect."
    )


PRESSING = Record(
    "Pressing",
    (
        Field("touched", (6,), "", "1 for each axis that is in contact."),
        Field("integral", (6,), "N, N·m", "u of each axis."),
        Field("tank", (), "J", "Energy that is left."),
        Field("losses", (), "", "Losses of contact, of which a second forgets 63 %."),
    ),
)
PRESSING_WIDTH = PRESSING.width(0)
pressing_at = PRESSING.views
pressing_gains_at = gains_record(PressingGains).views


class Pressing:
    """Six axes, each free, approaching, or in contact; forces are those that the robot exerts.

    On an axis with the wanted force f and the measured one f_m, that moves with v:

        in contact:  w = f + s [k_p (f - f_m) + u] - D v,  u' = k_i (f - f_m) within the integral's limit
        before:      w = sign(f) min(|f|, D v_a) - D v,    u' = -u / 0.1 s
        f = 0:       w = -D v

    So an arm that meets nothing goes at v_a, whatever a sensor's bias is, and so does one that
    loses its contact. Contact begins when the measured force is beyond `contact_on` in the
    direction of f, and ends below `contact_off`.

    The part s [k_p (f - f_m) + u] acts on a late measurement, and isn't passive. The energy that it
    gives is taken from a tank E, E' = 0.9 vᵀD v - s (k_p (f - f_m) + u)ᵀ v. Here s falls from 1 to
    0 with the last tenth of the tank at the start. So all the energy that goes into the environment
    is bounded by the tank at the start, the potential of f and the energy that the damper took out.
    Beyond 5 W the force is scaled down.

    A surface that is too stiff for a late damper throws the tip off again and again: f is then held
    in the mean, and not at any time. No choice of k_p and k_i ends that, so it is told.

    The tank is that of laws/energy_tank.py, but for two things. It pays for a force, and not for a
    change of one, so the force fades before the tank is empty: else it would jump. It pays all the
    time, so that errors of v add up: 0.9 leaves room for them.

    Source: C. Schindlbeck, S. Haddadin, Unified passivity-based Cartesian force/impedance control
    for rigid and flexible joint robots via task-energy tanks, ICRA 2015.

    Attributes:
        row: Memory of the axes, see PRESSING.
        touched: (6,) True for each axis that is in contact.
        tank: Energy left [J].
    """

    def __init__(self) -> None:
        self.row, self._named = PRESSING.single(0)

    def reset(self, tank: float) -> None:
        """Begin without contact, with an empty integral, and with a tank [J] as at the start."""
        reset_pressing(self.row, tank)

    @property
    def touched(self) -> Array:
        return np.asarray(self._named["touched"] == 1.0)

    @property
    def tank(self) -> float:
        return float(self._named["tank"])

    def wrench(
        self, wanted: Array, measured: Array, velocity: Array, away: Array, gains: Any, dt: float
    ) -> Array:
        """The wrench (6,) of the robot along the axes, with the damper -D v; see
        :func:`drive_into`.
        """
        drive = np.empty(6)
        row = gains_row(gains, 0)
        drive_into(
            self.row,
            row,
            as_row(wanted),
            as_row(measured),
            as_row(velocity),
            as_row(away),
            dt,
            drive,
        )
        return np.asarray(drive - gains.force_axes * gains.force_damping * velocity)


@compiled
def reset_pressing(row: Array, tank: float) -> None:
    """Begin without contact, with an empty integral, and with a tank [J] as at the start."""
    pressing = pressing_at(row, 0)
    for i in range(6):
        pressing.touched[i] = 0.0
        pressing.integral[i] = 0.0
    pressing.tank[0] = tank
    pressing.losses[0] = 0.0


@compiled
def drive_into(
    row: Array,
    gains: Array,
    wanted: Array,
    measured: Array,
    velocity: Array,
    away: Array,
    dt: float,
    drive: Array,
) -> None:
    """Write the wrench of the robot along the axes, without the damper -D v; see :class:`Pressing`.

    Args:
        row: Memory of the axes, see PRESSING.
        gains: Row of :class:`PressingGains`.
        wanted, measured: (6,) wrench of the robot on the environment [N, N·m].
        velocity: (6,) velocity of the tip along the axes [m/s, rad/s].
        away: (6,) displacement from the reference over the largest one: at 1 the force has faded to
            0.
        dt: Time since the cycle before [s].
        drive: Result (6,) [N, N·m].
    """
    pressing = pressing_at(row, 0)
    gain = pressing_gains_at(gains, 0)
    active = np.empty(6)
    power = 0.0
    dissipated = 0.0
    pressing.losses[0] *= math.exp(-dt / FORGETTING)
    for i in range(6):
        _feel(row, gains, i, wanted[i], measured[i], dt)
        active[i] = 0.0
        if pressing.touched[i] == 1.0:
            active[i] = gain.force_axes[i] * (
                gain.force_p[0] * (wanted[i] - measured[i]) + pressing.integral[i]
            )
        power += active[i] * velocity[i]
        dissipated += gain.force_axes[i] * gain.force_damping[i] * velocity[i] ** 2
    share = _pay(row, power, dissipated, gain.tank[0], dt)
    driven = 0.0
    for i in range(6):
        force = wanted[i]
        if pressing.touched[i] == 0.0:
            most = gain.force_damping[i] * gain.approach_speed[0] / LEVERS[i]
            force = min(max(wanted[i], -most), most)
        drive[i] = gain.force_axes[i] * force + share * active[i]
        if drive[i] * away[i] > 0.0:
            drive[i] *= min(max((1.0 - abs(away[i])) / ROOM, 0.0), 1.0)
        driven += drive[i] * velocity[i]
    if driven > MAX_POWER:
        for i in range(6):
            drive[i] *= MAX_POWER / driven


@compiled
def _feel(row: Array, gains: Array, i: int, wanted: float, measured: float, dt: float) -> None:
    """Find whether axis i touches, and advance its integral."""
    pressing = pressing_at(row, 0)
    gain = pressing_gains_at(gains, 0)
    pressed = measured * np.sign(wanted) / LEVERS[i]
    holds = pressing.touched[i] == 1.0 and pressed > gain.contact_off[0]
    if holds or pressed > gain.contact_on[0]:
        limit = gain.integral_limit[0] * LEVERS[i]
        risen = pressing.integral[i] + dt * gain.force_i[0] * (wanted - measured)
        pressing.touched[i] = 1.0
        pressing.integral[i] = min(max(risen, -limit), limit)
    else:
        if pressing.touched[i] == 1.0 and gain.force_axes[i] > 0.0:
            pressing.losses[0] += 1.0
        pressing.touched[i] = 0.0
        pressing.integral[i] *= math.exp(-dt / DECAY)


@compiled
def _pay(row: Array, power: float, dissipated: float, start: float, dt: float) -> float:
    """Pay for the active part of the force from the tank, and put the damper's energy into it.

    Args:
        row: Memory of the axes, see PRESSING.
        power: Power that the active part gives [W].
        dissipated: Power that the damper takes [W].
        start: Tank at the start [J].
        dt: Time since the cycle before [s].

    Returns:
        Share of the active part that is paid for, 0 to 1.
    """
    tank = pressing_at(row, 0).tank
    share = 1.0
    if power > 0.0:
        share = min(tank[0] / (SCARCE * start), 1.0) if start > 0.0 else 0.0
    share *= pay(tank, dt * share * power, FULL * start)
    fill(tank, dt * REFILL * dissipated, FULL * start)
    return share
