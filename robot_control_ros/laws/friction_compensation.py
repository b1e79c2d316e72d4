"""Compensation of joint friction: a term that every effort law can have, and its gains.

It is a bounded torque in the direction in which the arm would move without friction.

Law:
    u = c sat(s / s_0), |u_i| <= c_i;  s = tau_s + s_w Jᵀ w_ext, sat(x) = min(max(x, -1), 1)
    s is the torque that is left over at rest: tau_s of springs and feed-forward, w_ext measured. c is
    `friction_bound`, s_0 `friction_width`, s_w `friction_by_wrench`. There is no state: nothing winds up.
    With the switch `friction`, the description's b q̇ and f tanh(q̇ / 0.01 rad/s) are added to u. Then the dry part
    keeps within ±max(c, s_f f).
Closed loop:
    The arm with its friction stays passive, because u takes no more than friction has: u_i q̇_i <= c_i |q̇_i|
    <= f_i |q̇_i| for the true dry friction f_i >= c_i. That needs the bound alone, and holds for any delay, noise
    and history of s. At rest, |s_i| <= s_0 f_i / (c_i + s_0) where c_i > 0 and f_i < c_i + s_0; else f_i - c_i.
Frames and units:
    Joint space [N·m]; the wrench in base axes about the tip origin, exerted on the robot.
Assumptions:
    c is at most the smallest friction, of the warm and unloaded arm. Without a wrench a push and
    friction look the same: then the arm resists a push by up to c in each joint. So it does to a
    push above the sensor. The wrench is a sensor's: one from joint efforts contains u.
Source:
    Bound: B. Armstrong-Hélouvry, P. Dupont, C. Canudas de Wit, A survey of models, analysis tools
    and compensation methods for the control of machines with friction, Automatica 30(7), 1994.
    Passivity as above.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..core.compiled import compiled
from ..core.cycle import cycle_at
from ..core.gains import JOINT, gain
from ..core.types import Array
from ..robot.model import SMOOTHING


def friction_gain() -> Any:
    """Switch of the compensation by velocity."""
    return gain(
        False, doc="Compensate the description's joint friction, by velocity: nothing at rest."
    )


def friction_bound_gain() -> Any:
    """Bound of the compensation at rest."""
    doc = "Compensate dry friction at rest, by no more than this; keep it below the identified friction. 0 is off."
    return gain(0.0, size=JOINT, unit="N·m", upper=100.0, doc=doc)


def friction_width_gain() -> Any:
    """Width of the residual torque in which the compensation at rest grows to its bound."""
    doc = "Residual torque at which the compensation reaches friction_bound; less is steeper and amplifies noise."
    return gain(0.5, unit="N·m", lower=0.05, upper=20.0, doc=doc)


def friction_by_wrench_gain() -> Any:
    """Switch of the measured wrench, by which the compensation tells a push from friction."""
    doc = "Count the measured wrench, so that a push moves the arm; switch it off where joint efforts give the wrench."
    return gain(True, doc=doc)


@compiled
def write_friction(
    cycle_row: Array, number: int, drives: Array, gain: Any, law: Any, n: int
) -> None:
    """Write the term of a cycle that compensates friction, where that is on; see the module.

    Args:
        cycle_row: Row of the cycle, with the terms that drive the arm.
        number: Number of the term.
        drives: (k,) 1 for each term that moves an arm at rest besides gravity and contacts.
        gain: Views of the law's gains, with the four of this module.
        law: Views of the law's memory: `viscous`, `dry` and `active`, of which this term's entry is
            written.
        n: Number of joints.
    """
    law.active[number] = 0.0
    if not (gain.friction[0] > 0.0 or np.any(gain.friction_bound != 0.0)):
        return
    cycle = cycle_at(cycle_row, n)
    residual = np.zeros(n)
    add_push(cycle_row, gain.friction_by_wrench[0], residual, n)
    for joint in range(n):
        for term in range(len(drives)):
            if drives[term] == 1.0 and law.active[term] == 1.0:
                residual[joint] += cycle.terms[term, joint]
    width = gain.friction_width[0]
    share = gain.friction[0]
    friction_into(
        gain.friction_bound,
        width,
        share,
        residual,
        cycle.v,
        law.viscous,
        law.dry,
        cycle.terms[number],
    )
    law.active[number] = 1.0


@compiled
def add_push(cycle_row: Array, share: float, residual: Array, n: int) -> None:
    """Add s_w Jᵀ w_ext to a residual torque (n,) [N·m]: the push of a cycle's measured wrench.

    `share` is s_w, 0 to 1.
    """
    cycle = cycle_at(cycle_row, n)
    if math.isnan(cycle.wrench[0]) or share == 0.0:
        return
    for joint in range(n):
        push = 0.0
        for axis in range(6):
            push += cycle.jacobian[axis, joint] * cycle.wrench[axis]
        residual[joint] += share * push


@compiled
def friction_into(
    bound: Array,
    width: float,
    share: float,
    residual: Array,
    v: Array,
    viscous: Array,
    dry: Array,
    torque: Array,
) -> None:
    """Write the compensation u into `torque`; see the module.

    Args:
        bound: Bound c (n,) of the compensation at rest [N·m].
        width: Width s_0 [N·m].
        share: Fraction s_f to which the switch `friction` is on, 0 to 1.
        residual: Torque s (n,) [N·m] that moves an arm at rest, without gravity and contacts.
        v: Joint velocities (n,) [rad/s].
        viscous, dry: Viscous friction b (n,) [N·m·s/rad] and dry friction f (n,) [N·m] of the
            description.
        torque: Result (n,) [N·m].
    """
    for joint in range(len(v)):
        at_rest = bound[joint] * min(max(residual[joint] / width, -1.0), 1.0)
        by_velocity = share * dry[joint] * math.tanh(v[joint] / SMOOTHING)
        limit = max(bound[joint], share * dry[joint])
        torque[joint] = share * viscous[joint] * v[joint] + min(
            max(at_rest + by_velocity, -limit), limit
        )
