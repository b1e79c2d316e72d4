"""Joint impedance: a spring and a damper in each joint, and the reference's motion fed forward."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ..core.compiled import compiled
from ..core.cycle import cycle_at
from ..core.gain_rows import gains_record, gains_row
from ..core.gains import JOINT, gain
from ..core.record import Field, Record
from ..core.rotations import short_way
from ..core.types import Array, CommandMode, JointSpaceReference, Reference, RobotState
from ..robot.model import RobotDynamics
from .compiled_law import CompiledLaw
from .default_gains import ArmAtHome, joint_stiffness
from .friction_compensation import (
    friction_bound_gain,
    friction_by_wrench_gain,
    friction_gain,
    friction_width_gain,
    write_friction,
)
from .law import register
from .terms import (
    damping_gain,
    damping_ratio_gain,
    gravity_gain,
    joint_damping,
    joint_stiffness_gain,
    sum_terms,
)

STIFFNESS, DAMPING, GRAVITY, FEEDFORWARD, FRICTION = range(5)  # its terms
DRIVES = np.isin(range(5), (STIFFNESS, FEEDFORWARD)).astype(float)  # terms that move an arm at rest


@register("joint_impedance")
class JointImpedance(CompiledLaw):
    """Spring and damper in each joint, about a motion that the model feeds forward (PD+).

    Law:
        tau = K e + D ė + s_ff [M(q) a_ref + C(q, q̇) v_ref] + s_g g(q) + u_f;  e = q_ref - q, ė = v_ref - q̇.
        u_f compensates friction: see laws/friction_compensation.py, and controller.md.
        A cyclic joint goes the short way round: e = ((q_ref - q + π) mod 2π) - π.
        D = D_0 + 2 ζ √(K M_ii(q)): each joint has the damping ratio ζ while the others stand still.
        M and C are taken at the measured state and applied to the reference's motion, which is what the proof below
        needs. C is the matrix of the Christoffel symbols; as C(q, q̇) v_ref is linear in both, two runs of
        inverse dynamics give it: 4 (M a + C v_ref) = ID(q, q̇ + v_ref, 2a) - ID(q, q̇ - v_ref, -2a).
    Closed loop:
        s_ff = 1: M(q) ë + C(q, q̇) ė + D ė + K e = -tau_ext, exactly and at any speed. As Ṁ - 2C is skew-symmetric,
        V = ėᵀ M ė / 2 + eᵀ K e / 2 obeys dV/dt = -ėᵀ D ė - ėᵀ tau_ext: passive, and e tends to 0 where nothing acts.
        With the reference at rest that is M q̈ + (C + D) q̇ + K (q - q_ref) = tau_ext, whatever s_ff.
    Frames and units:
        Joint space. K [N·m/rad], D [N·m·s/rad]; forces instead of torques where joints slide.
    Assumptions:
        Torque-controlled joints; stiffness within what the delay from state to torque allows; |e|
        below half a turn in cyclic joints, where the spring changes its direction.
    Source:
        B. Paden, R. Panja, Globally asymptotically stable 'PD+' controller for robot manipulators,
        Int. J. Control 47,
        1988. Joint impedance: A. Albu-Schäffer, C. Ott, G. Hirzinger, A unified passivity-based
        control framework for position, torque and impedance control of flexible joint robots, Int.
        J. Robotics Research 26, 2007.
    """

    @dataclass(frozen=True, eq=False)
    class Gains:
        stiffness: Array = joint_stiffness_gain(50.0)
        damping_ratio: Array = damping_ratio_gain(JOINT)
        damping: Array = damping_gain(JOINT)
        feedforward: float = gain(
            True, doc="Feed forward the inertial and Coriolis torques of the reference's motion."
        )
        gravity: float = gravity_gain()
        friction: float = friction_gain()
        friction_bound: Array = friction_bound_gain()
        friction_width: float = friction_width_gain()
        friction_by_wrench: float = friction_by_wrench_gain()

    mode: ClassVar[CommandMode] = CommandMode.EFFORT
    reference: ClassVar[type[Reference]] = JointSpaceReference
    term_names = ("stiffness", "damping", "gravity", "feedforward", "friction")
    memory = Record(
        "JointImpedanceMemory",
        (
            Field("active", (5,), "", "1 for each term that the last command was summed from."),
            Field("inertia", ("n",), "kg·m²", "Diagonal of M."),
            Field("forwards", (2, "n"), "rad/s, rad/s²", "q̇ + v_ref and 2 a_ref."),
            Field("backwards", (2, "n"), "rad/s, rad/s²", "q̇ - v_ref and -2 a_ref."),
            Field(
                "torque_forwards",
                ("n",),
                "N·m",
                "Torques of the motion `forwards`, without weight.",
            ),
            Field(
                "torque_backwards",
                ("n",),
                "N·m",
                "Torques of the motion `backwards`, without weight.",
            ),
            Field("cyclic", ("n",), "", "1 for each joint that turns without end."),
            Field("viscous", ("n",), "N·m·s/rad", "Viscous friction of the description."),
            Field("dry", ("n",), "N·m", "Dry friction of the description."),
        ),
    )

    def __init__(self) -> None:
        super().__init__()
        self._inertia = np.zeros(0)  # a view into the memory, as the others
        self._forwards = np.zeros((2, 0))
        self._backwards = np.zeros((2, 0))
        self._torque_forwards = np.zeros(0)
        self._torque_backwards = np.zeros(0)

    def start(self, state: RobotState, kin: RobotDynamics) -> None:
        """Take over the joints' friction and kind from the model; nothing else is remembered."""
        memory = self._memory
        model = kin.model
        self._inertia = memory["inertia"]
        self._forwards = memory["forwards"]
        self._backwards = memory["backwards"]
        self._torque_forwards = memory["torque_forwards"]
        self._torque_backwards = memory["torque_backwards"]
        memory["active"] = 0.0
        memory["cyclic"] = model.cyclic
        memory["viscous"] = model.viscous_friction
        memory["dry"] = model.dry_friction

    def run(self, cycles: Array, k: int, kin: RobotDynamics, gains: Gains, dt: float) -> None:
        """Write the command of a cycle and its terms, see :class:`~.compiled_law.CompiledLaw`."""
        row = gains_row(gains, self._n)
        self._inertia[:] = kin.mass.diagonal()
        if needs_motion_torques(cycles, k, row, self._row, self._n):
            torque = kin.model.motion_torque
            self._torque_forwards[:] = torque(kin.q, self._forwards[0], self._forwards[1])
            self._torque_backwards[:] = torque(kin.q, self._backwards[0], self._backwards[1])
        compute(cycles, k, row, self._row, self._n)

    @classmethod
    def default_gains(cls, arm: ArmAtHome) -> dict[str, Array]:
        """Gains that suit an arm, by name; see :mod:`.default_gains`."""
        return {"stiffness": joint_stiffness(arm, cls.Gains)}

    @staticmethod
    def joint_gains(gains: Gains, mass: Array, jacobian: Array) -> tuple[Array, Array]:
        """K and D (n, n) of the joints at small errors; see :class:`~.law.ControlLaw`."""
        joints = zip(
            gains.stiffness, gains.damping_ratio, gains.damping, mass.diagonal(), strict=True
        )
        return np.diag(gains.stiffness), np.diag([joint_damping(*joint) for joint in joints])


_memory_at = JointImpedance.memory.views
_gains_at = gains_record(JointImpedance.Gains).views


@compiled
def needs_motion_torques(cycles: Array, k: int, gains: Array, memory: Array, n: int) -> bool:
    """Write the two motions whose torques make up that of the reference's motion.

    Returns:
        True where the reference's motion is fed forward, so that their torques are needed.
    """
    cycle = cycle_at(cycles[k], n)
    gain = _gains_at(gains, n)
    law = _memory_at(memory, n)
    moves = False
    for joint in range(n):
        v = cycle.target_v[joint]
        a = cycle.target_a[joint]
        law.forwards[0, joint] = cycle.v[joint] + v
        law.forwards[1, joint] = 2.0 * a
        law.backwards[0, joint] = cycle.v[joint] - v
        law.backwards[1, joint] = -2.0 * a
        if v != 0.0 or a != 0.0:
            moves = True
    is_fed = moves and gain.feedforward[0] > 0.0
    law.active[FEEDFORWARD] = 1.0 if is_fed else 0.0
    return bool(is_fed)


@compiled
def compute(cycles: Array, k: int, gains: Array, memory: Array, n: int) -> None:
    """Write the terms of a cycle and their sum; see the law.

    Call it after :func:`needs_motion_torques`, when the torques of its motions are in the memory.
    """
    cycle = cycle_at(cycles[k], n)
    gain = _gains_at(gains, n)
    law = _memory_at(memory, n)
    terms = cycle.terms
    for joint in range(n):
        stiffness = gain.stiffness[joint]
        damping = joint_damping(
            stiffness, gain.damping_ratio[joint], gain.damping[joint], law.inertia[joint]
        )
        error = short_way(cycle.target_q[joint] - cycle.q[joint], law.cyclic[joint])
        terms[STIFFNESS, joint] = stiffness * error
        terms[DAMPING, joint] = damping * (cycle.target_v[joint] - cycle.v[joint])
        terms[GRAVITY, joint] = gain.gravity[0] * cycle.gravity[joint]
        difference = law.torque_forwards[joint] - law.torque_backwards[joint]
        terms[FEEDFORWARD, joint] = gain.feedforward[0] * difference / 4.0
    law.active[STIFFNESS] = 1.0
    law.active[DAMPING] = 1.0
    law.active[GRAVITY] = 1.0
    write_friction(cycles[k], FRICTION, DRIVES, gain, law, n)
    sum_terms(terms, law.active, cycle.asked)
