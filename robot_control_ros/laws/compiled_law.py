"""Laws whose compute is a compiled function over records."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar, NoReturn

import numpy as np

from ..core.compiled import compiled
from ..core.cycle import NONE, Cycles, cycle_at
from ..core.record import Record
from ..core.types import (
    Array,
    Command,
    CommandMode,
    JointPathFunction,
    Reference,
    RobotState,
    as_row,
)
from ..robot.model import RobotDynamics

NO_WRENCH = np.full(6, NONE)
_ANY = np.zeros(0)
_EVERYTHING = Reference(_ANY, _ANY, _ANY, _ANY, _ANY, _ANY, _ANY)


class CompiledLaw:
    """Base class of the laws that compute over records.

    A subclass declares

    - `Gains` and `mode`, as every law;
    - `memory`: the record of what it remembers beyond a cycle. Its `active` has a 1 for each term
      of the last sum;
    - `term_names`: names of the terms that its command is summed from, in the order of the record's
      `terms`;
    - :meth:`start`, which prepares the memory, and :meth:`run`, which calls its compiled function.

    :meth:`compute` writes the cycle into a record, and makes a command of the numbers that the
    compiled function has written there.
    """

    Gains: ClassVar[type]
    mode: ClassVar[CommandMode]
    memory: ClassVar[Record]
    term_names: ClassVar[tuple[str, ...]]

    def __init__(self) -> None:
        self._n = 0
        self._row = np.zeros(0)
        self._memory: Any = None
        # how near the spring is to its bound, in the memory of a law that has one
        self._load = np.zeros(1)
        self._gains: Any = None  # that the memory was prepared for
        self._gains_row = self._row  # numbers of these gains
        self._own = Cycles(0)  # for who calls compute
        self._cycles = self._own  # of the last command
        self._k = 0

    @property
    def terms(self) -> dict[str, Array]:
        """Terms (n,) of the last command by name, those in force; see :class:`~.law.ControlLaw`."""
        if self._memory is None:
            return {}
        active = self._memory["active"]
        terms = self._cycles.terms[self._k]
        return {name: terms[i].copy() for i, name in enumerate(self.term_names) if active[i]}

    def reset(self, state: RobotState, kin: RobotDynamics) -> None:
        """Forget the past, and begin at a state; see :class:`~.law.ControlLaw`."""
        if self._n != kin.model.n:
            self.remember_in(self.memory.single(kin.model.n)[0], kin.model.n)
        self._gains = None
        self.start(state, kin)

    def compute(
        self, state: RobotState, kin: RobotDynamics, reference: Reference, gains: Any, dt: float
    ) -> Command:
        """The command for a sample, see :class:`~.law.ControlLaw`."""
        if self._n != kin.model.n:
            self.reset(state, kin)
        write_state(self._own, 0, state, kin)
        write_reference(self._own, 0, reference)
        return self.command(self._own, 0, kin, reference.path, gains, dt)

    def command(
        self,
        cycles: Cycles,
        k: int,
        kin: RobotDynamics,
        path: JointPathFunction | None,
        gains: Any,
        dt: float,
    ) -> Command:
        """The command for a cycle, whose record is complete up to the reference.

        Args:
            cycles, k, kin, gains, dt: Cycle and gains, see :meth:`run`.
            path: Path of the reference, which a law with ``reads_path`` has got before; None where
                it has none.

        Returns:
            The command that :meth:`run` wrote into the field `asked` of the cycle.
        """
        self.run(cycles.rows, k, kin, gains, dt)
        self._cycles = cycles
        self._k = k
        return Command(self.mode, cycles.asked[k].copy())

    def save(self) -> Array:
        """A copy of the memory that lasts beyond a cycle, (width,)."""
        return self._row.copy()

    def restore(self, row: Array, state: RobotState, kin: RobotDynamics, gains: Any) -> None:
        """Go on from a memory that :meth:`save` returned.

        Args:
            row: Memory of the law (width,).
            state, kin: State and dynamics of the next cycle.
            gains: Gains that the law had in the cycle before.
        """
        self.reset(state, kin)
        self.adopt(gains, kin)
        self._row[:] = row

    def __deepcopy__(self, memo: Any) -> NoReturn:
        """Refuse a copy: names and parts of its memory would no longer be those of its row."""
        raise TypeError(
            "a compiled law isn't copied by deepcopy: make another one, and let it restore what save() gives"
        )

    @abstractmethod
    def start(self, state: RobotState, kin: RobotDynamics) -> None:
        """Prepare the memory for a law that begins anew."""

    def adopt(self, gains: Any, kin: RobotDynamics) -> None:
        """Take over gains: compute what follows from them alone and isn't compiled.

        By default that is nothing.
        """

    @abstractmethod
    def run(self, cycles: Array, k: int, kin: RobotDynamics, gains: Any, dt: float) -> None:
        """Write the command of a cycle, and its terms.

        Args:
            cycles: Records (length, width), see :data:`~..core.cycle.CYCLE`.
            k: Number of the cycle's row, which is complete up to the reference.
            kin: Kinematics and dynamics of the cycle's state, for quantities that are computed
                seldom.
            gains: Gains of the law.
            dt: Time since the cycle before [s].
        """

    def remember_in(self, row: Array, n: int) -> None:
        """Keep the memory in a row (width,) for n joints, whose fields have their first values."""
        self._n = n
        self._row = row
        self._memory = self.memory.by_name(row, n)
        if any(field.name == "load" for field in self.memory.fields):
            place = self.memory.place("load", n)
            self._load = row[place : place + 1]
        self._own = Cycles(n)
        self._cycles = self._own
        self._k = 0


def write_state(cycles: Cycles, k: int, state: RobotState, kin: RobotDynamics) -> None:
    """Write a state and its kinematics into the record of cycle k."""
    wrench = NO_WRENCH if state.wrench_on_tip is None else as_row(state.wrench_on_tip)
    sample = (
        float(state.time),
        float(state.age),
        as_row(kin.q),
        as_row(kin.v),
        as_row(state.effort),
        wrench,
    )
    state_into(
        cycles.rows[k],
        *sample,
        as_row(kin.pose),
        as_row(kin.jacobian),
        as_row(kin.gravity),
        kin.model.n,
    )
    write_sensors(cycles, k, state.sensors)


def write_sensors(cycles: Cycles, k: int, sensors: Array | None) -> None:
    """Write the numbers (k,) of further sensors into the record of cycle k; None leaves it as it is."""
    if sensors is not None:
        cycles.sensors[k, : len(sensors)] = sensors


@compiled
def state_into(
    row: Array,
    time: float,
    age: float,
    q: Array,
    v: Array,
    effort: Array,
    wrench: Array,
    pose: Array,
    jacobian: Array,
    gravity: Array,
    n: int,
) -> None:
    """Write a state and its kinematics into a record.

    Args:
        row: Record (width,).
        time, age: Stamp and age of the state [s].
        q, v, effort: Joint positions, velocities and efforts (n,) of the state [rad, rad/s, N·m];
            efforts of another size count as none.
        wrench: (6,) measured wrench, base axes, about the tip's origin [N, N·m]; NaN for none.
        pose, jacobian: Pose (4, 4) and Jacobian (6, n) of the tip in the base.
        gravity: (n,) gravity torques [N·m].
        n: Number of joints.
    """
    cycle = cycle_at(row, n)
    cycle.time[0] = time
    cycle.age[0] = age
    cycle.pose[:] = pose
    cycle.wrench[:] = wrench
    measured = len(effort) == n
    for joint in range(n):
        cycle.q[joint] = q[joint]
        cycle.v[joint] = v[joint]
        cycle.effort[joint] = effort[joint] if measured else NONE
        cycle.gravity[joint] = gravity[joint]
        for i in range(6):
            cycle.jacobian[i, joint] = jacobian[i, joint]


def write_reference(
    cycles: Cycles, k: int, reference: Reference, before: Reference | None = None
) -> None:
    """Write a reference into the record of cycle k; fields that it doesn't have become NaN.

    Args:
        cycles, k: Records, and number of the cycle's row.
        reference: Reference of the cycle.
        before: Reference that was written there last, so that NaN needn't be written again; None
            where it isn't known.
    """
    before = _EVERYTHING if before is None else before
    if reference.pose is not None:
        cycles.target_pose[k] = reference.pose
    elif before.pose is not None:
        cycles.target_pose[k] = NONE
    if reference.twist is not None:
        cycles.target_twist[k] = reference.twist
    elif before.twist is not None:
        cycles.target_twist[k] = NONE
    if reference.acceleration is not None:
        cycles.target_acceleration[k] = reference.acceleration
    elif before.acceleration is not None:
        cycles.target_acceleration[k] = NONE
    if reference.wrench is not None:
        cycles.target_wrench[k] = reference.wrench
    elif before.wrench is not None:
        cycles.target_wrench[k] = NONE
    if reference.q is not None:
        cycles.target_q[k] = reference.q
    elif before.q is not None:
        cycles.target_q[k] = NONE
    if reference.v is not None:
        cycles.target_v[k] = reference.v
    elif before.v is not None:
        cycles.target_v[k] = NONE
    if reference.a is not None:
        cycles.target_a[k] = reference.a
    elif before.a is not None:
        cycles.target_a[k] = NONE
