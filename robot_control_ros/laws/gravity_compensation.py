"""Gravity compensation: the arm floats and can be led by hand."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ..core.compiled import compiled
from ..core.cycle import cycle_at
from ..core.gain_rows import gains_record, gains_row
from ..core.gains import JOINT, gain
from ..core.record import Field, Record
from ..core.types import Array, CommandMode, RobotState
from ..robot.model import RobotDynamics
from .compiled_law import CompiledLaw
from .default_gains import ArmAtHome, joint_drag
from .friction_compensation import (
    friction_bound_gain,
    friction_by_wrench_gain,
    friction_gain,
    friction_width_gain,
    write_friction,
)
from .law import register
from .terms import gravity_gain, sum_terms

GRAVITY, DAMPING, FRICTION = range(3)  # its terms
DRIVES = np.zeros(3)  # none of them moves an arm at rest


@register("gravity_compensation")
class GravityCompensation(CompiledLaw):
    """Hold the arm against its own weight, and damp it.

    Law:
        tau = s_g g(q) - D q̇ + u_f
        u_f compensates friction: see laws/friction_compensation.py, and controller.md.
    Closed loop:
        M(q) q̈ + C(q, q̇) q̇ + (D + B) q̇ = tau_ext, with B the joints' own friction left over: a passive arm with
        kinetic energy only, d/dt (q̇ᵀ M q̇ / 2) = -q̇ᵀ (D + B) q̇ + q̇ᵀ tau_ext.
    Frames and units:
        Joint space; N·m, rad/s. The reference is not used.
    Assumptions:
        The inertial parameters of the description, the tool included, are right; an error of the
        gravity torque makes the arm sink or rise until friction holds it.
    Source:
        B. Siciliano et al., Robotics: Modelling, Planning and Control, Springer 2009, section
        8.5.1.
    """

    @dataclass(frozen=True, eq=False)
    class Gains:
        damping: Array = gain(
            1.0,
            size=JOINT,
            unit="N·m·s/rad",
            upper=200.0,
            doc="Joint damping D; 0 lets the arm swing freely.",
        )
        gravity: float = gravity_gain()
        friction: float = friction_gain()
        friction_bound: Array = friction_bound_gain()
        friction_width: float = friction_width_gain()
        friction_by_wrench: float = friction_by_wrench_gain()

    mode: ClassVar[CommandMode] = CommandMode.EFFORT
    term_names = ("gravity", "damping", "friction")
    memory = Record(
        "GravityCompensationMemory",
        (
            Field("active", (3,), "", "1 for each term that the last command was summed from."),
            Field("viscous", ("n",), "N·m·s/rad", "Viscous friction of the description."),
            Field("dry", ("n",), "N·m", "Dry friction of the description."),
        ),
    )

    @classmethod
    def default_gains(cls, arm: ArmAtHome) -> dict[str, Array]:
        """Gains that suit an arm, by name; see :mod:`.default_gains`."""
        return {"damping": joint_drag(arm, cls.Gains, "damping")}

    def start(self, state: RobotState, kin: RobotDynamics) -> None:
        """Take over the friction of the description; nothing else is remembered."""
        self._memory["active"] = 0.0
        self._memory["viscous"] = kin.model.viscous_friction
        self._memory["dry"] = kin.model.dry_friction

    def run(self, cycles: Array, k: int, kin: RobotDynamics, gains: Gains, dt: float) -> None:
        """Write the command of a cycle and its terms, see :class:`~.compiled_law.CompiledLaw`."""
        compute(cycles, k, gains_row(gains, self._n), self._row, self._n)


_memory_at = GravityCompensation.memory.views
_gains_at = gains_record(GravityCompensation.Gains).views


@compiled
def compute(cycles: Array, k: int, gains: Array, memory: Array, n: int) -> None:
    """Write the terms of a cycle and their sum; see the law."""
    cycle = cycle_at(cycles[k], n)
    gain = _gains_at(gains, n)
    law = _memory_at(memory, n)
    terms = cycle.terms
    for joint in range(n):
        terms[GRAVITY, joint] = gain.gravity[0] * cycle.gravity[joint]
        terms[DAMPING, joint] = -gain.damping[joint] * cycle.v[joint]
    law.active[GRAVITY] = 1.0
    law.active[DAMPING] = 1.0
    write_friction(cycles[k], FRICTION, DRIVES, gain, law, n)
    sum_terms(terms, law.active, cycle.asked)
