"""Task-space PD: a spring and a damper with full matrices between the tip and the reference."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ..core.compiled import compiled
from ..core.cycle import cycle_at
from ..core.gain_rows import gains_record, gains_row
from ..core.gains import JOINT, MATRIX, choice, gain
from ..core.record import Field, Record
from ..core.rotations import euler_xyz_into, offset_into, rotation_log_into
from ..core.small_matrices import times, transposed_times
from ..core.types import Array, CommandMode, RobotState
from ..robot.model import RobotDynamics
from .compiled_law import CompiledLaw
from .default_gains import ArmAtHome, joint_drag, tip_damping, tip_stiffness
from .law import register
from .spring.bounded_spring import (
    WIDTH,
    adopt_spring,
    governor_gain,
    gradient_into,
    max_force_gain,
    max_torque_gain,
    spring_at,
)
from .terms import gravity_gain, sum_terms

ROTATION_ERRORS = ("so3_log", "euler_xyz")
SO3_LOG = 0.0  # the first of them
STIFFNESS, DAMPING, JOINT_DAMPING, GRAVITY = range(4)  # its terms


@register("task_space_pd")
class TaskSpacePD(CompiledLaw):
    """PD control of the tip's pose by the transposed Jacobian, for any number of joints.

    Law:
        tau = Jᵀ [Kp e + Kd (v_ref - J q̇)] - B q̇ + s_g g(q)
        e = [p_ref - p; e_rot], with e_rot of R_ref Rᵀ: its rotation vector (so3_log), or the angles (a, b, c) of
        R_ref Rᵀ = Rx(a) Ry(b) Rz(c) (euler_xyz, the source's). Neither the reference's acceleration nor Coriolis
        torques are used. With max_force or max_torque, Kp e is the gradient of a potential that is linear beyond these
        bounds: see BoundedSpring in laws/spring/bounded_spring.py.
    Closed loop:
        M_q q̈ + C q̇ + (B + Jᵀ Kd J) q̇ = Jᵀ (Kp e + Kd v_ref + w_ext).
        With so3_log, s_g = 1, a resting reference and Kp = diag(K, k I), K symmetric, k a number, Jᵀ Kp e is the exact
        gradient of -V_p, V_p = (e_posᵀ K e_pos + k |e_rot|²) / 2, and V = q̇ᵀ M_q q̇ / 2 + V_p obeys
        dV/dt = -q̇ᵀ B q̇ - vᵀ Kd v + vᵀ w_ext: passive. With other Kp that holds to second order in e_rot only. With
        euler_xyz it holds near zero error; beyond 90° about y the error turns the tip about other axes, and jumps.
        The rotation vector jumps, too, but only where the error is half a turn: there its sign is fixed by the matrix.
    Frames and units:
        Base axes, tip origin; linear then angular. Kp [N/m, N·m/rad], Kd [N·s/m, N·m·s/rad], B
        [N·m·s/rad].
    Assumptions:
        Torque-controlled joints, the model's gravity right. Damping so high that the tip's inertia,
        divided by it, is no longer than a control period makes the joints rattle. No reference pose
        leaves out the spring, no reference twist means 0.
    Source:
        The task-space PD motion model of robotics toolboxes, angular part first there. M. Takegaki,
        S. Arimoto, A new feedback method for dynamic control of manipulators, ASME J. Dyn. Sys.
        Meas. Control 103, 1981. Rotation vector: F. Bullo, R. Murray, Proportional derivative
        control on the Euclidean group, ECC 1995.
    """

    @dataclass(frozen=True, eq=False)
    class Gains:
        stiffness: Array = gain(
            500.0,
            size=MATRIX,
            unit="N/m, N·m/rad",
            upper=10000.0,
            doc="Spring Kp between tip and reference; 0 on an axis lets it float.",
        )
        damping: Array = gain(
            100.0,
            size=MATRIX,
            unit="N·s/m, N·m·s/rad",
            upper=2000.0,
            doc="Damper Kd between the tip's twist and the reference's.",
        )
        max_force: float = max_force_gain()
        max_torque: float = max_torque_gain()
        governor: float = governor_gain()
        joint_damping: Array = gain(
            1.0,
            size=JOINT,
            unit="N·m·s/rad",
            upper=200.0,
            doc="Damping B of each joint; it also slows what moves the joints but not the tip.",
        )
        rotation_error: str = choice(
            "so3_log",
            ROTATION_ERRORS,
            doc="Error of the orientation: the rotation vector, or x-y-z angles as the source has them.",
        )
        gravity: float = gravity_gain()

    mode: ClassVar[CommandMode] = CommandMode.EFFORT
    term_names = ("stiffness", "damping", "joint_damping", "gravity")
    memory = Record(
        "TaskSpacePDMemory",
        (
            Field("spring", (WIDTH,), "", "The spring Kp; see laws/spring/bounded_spring.py."),
            Field("load", (), "", "How near the spring is to its bound; 0 without a bound."),
            Field("active", (4,), "", "1 for each term that the last command was summed from."),
            Field(
                "adopted",
                (),
                "",
                "1 where the spring belongs to the gains, 0 where they are others.",
            ),
        ),
    )

    def start(self, state: RobotState, kin: RobotDynamics) -> None:
        """Begin with a spring that isn't strained; nothing else is remembered."""
        self._memory["active"] = 0.0
        self._memory["spring"] = 0.0
        self._memory["adopted"] = 0.0
        self._memory["load"] = 0.0

    def run(self, cycles: Array, k: int, kin: RobotDynamics, gains: Gains, dt: float) -> None:
        """Write the command of a cycle and its terms, see :class:`~.compiled_law.CompiledLaw`."""
        if gains is not self._gains:
            self.adopt(gains, kin)
        compute(cycles, k, gains_row(gains, self._n), self._row, self._n)

    def adopt(self, gains: Gains, kin: RobotDynamics) -> None:
        """Take over gains, see :class:`~.compiled_law.CompiledLaw`; `compute` adopts the spring."""
        self._gains = gains
        self._memory["adopted"] = 0.0

    @property
    def spring_load(self) -> float:
        """Force of the spring without its bound over the bound; 0 without a bound."""
        return float(self._load[0])

    @classmethod
    def default_gains(cls, arm: ArmAtHome) -> dict[str, Array]:
        """Gains that suit an arm, by name; see :mod:`.default_gains`."""
        stiffness = arm.axes * tip_stiffness(arm, cls.Gains)
        return {
            "stiffness": stiffness,
            "damping": tip_damping(arm, stiffness, cls.Gains),
            "joint_damping": joint_drag(arm, cls.Gains, "joint_damping"),
        }

    @staticmethod
    def joint_gains(gains: Gains, mass: Array, jacobian: Array) -> tuple[Array, Array]:
        """K and D (n, n) of the joints at small errors; see :class:`~.law.ControlLaw`."""
        stiffness, damping = (
            jacobian.T.dot(each).dot(jacobian) for each in (gains.stiffness, gains.damping)
        )
        return stiffness, damping + np.diag(gains.joint_damping)


_memory_at = TaskSpacePD.memory.views
_gains_at = gains_record(TaskSpacePD.Gains).views


@compiled
def compute(cycles: Array, k: int, gains: Array, memory: Array, n: int) -> None:
    """Write the terms of a cycle and their sum; see the law."""
    cycle = cycle_at(cycles[k], n)
    gain = _gains_at(gains, n)
    law = _memory_at(memory, n)
    terms = cycle.terms
    if law.adopted[0] == 0.0:
        adopt_spring(law.spring, gain.stiffness, gain.max_force[0], gain.max_torque[0])
        law.adopted[0] = 1.0
    error = np.zeros(6)
    if not math.isnan(cycle.target_pose[0, 0]):
        turn = np.empty((3, 3))
        offset_into(cycle.target_pose, cycle.pose, error, turn)
        if gain.rotation_error[0] == SO3_LOG:
            rotation_log_into(turn, error[3:])
        else:
            euler_xyz_into(turn, error[3:])
    pull = np.empty(6)
    gradient_into(law.spring, error, pull)
    law.load[0] = spring_at(law.spring, 0).load[0]
    transposed_times(cycle.jacobian, pull, terms[STIFFNESS])
    twist_error = np.empty(6)
    times(cycle.jacobian, cycle.v, twist_error)
    for i in range(6):
        wanted = 0.0 if math.isnan(cycle.target_twist[i]) else cycle.target_twist[i]
        twist_error[i] = wanted - twist_error[i]
    damper = np.empty(6)
    times(gain.damping, twist_error, damper)
    transposed_times(cycle.jacobian, damper, terms[DAMPING])
    for joint in range(n):
        terms[JOINT_DAMPING, joint] = -gain.joint_damping[joint] * cycle.v[joint]
        terms[GRAVITY, joint] = gain.gravity[0] * cycle.gravity[joint]
    law.active[:] = 1.0
    sum_terms(terms, law.active, cycle.asked)
