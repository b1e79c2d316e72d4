"""Position-domain PD: one joint leads, and the others follow its position instead of the time."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from ..core.compiled import compiled
from ..core.cycle import CYCLE, Cycles, cycle_at
from ..core.gain_rows import gains_record, gains_row
from ..core.gains import JOINT, choice, gain
from ..core.record import Field, Record
from ..core.remembered_path import RememberedPath, recall
from ..core.rotations import short_way
from ..core.types import (
    Array,
    Command,
    CommandMode,
    JointPathFunction,
    JointSpaceReference,
    Reference,
    RobotState,
)
from ..robot.model import SMOOTHING, RobotDynamics, RobotModel
from .compiled_law import CompiledLaw
from .default_gains import ArmAtHome, joint_stiffness
from .law import register
from .terms import (
    damping_gain,
    damping_ratio_gain,
    joint_damping,
    joint_stiffness_gain,
    limit_sum,
    sum_terms,
)

RAMP = 0.05  # s, with which the slaves go over to a new master
# time constant of the measured lags, as a multiple of the slowest joint's M_ii / D
LAG_FILTER = 4.0
SMALL_LAG = 5e-4  # s: lags well below it aren't matched
HYSTERESIS = 1.2  # times faster than the master a joint must move to replace it
# s, from now, within which the look-up stays
BACK = 0.2
AHEAD = 0.05
MAX_STEP = 0.02  # s, of one Newton step
FIRST_STEPS = 10  # of Newton's, where there was no look-up in the cycle before; else one
SLOWEST = 1e-3  # rad/s, of the master's reference, below which no Newton step is taken
SLOW = 0.05  # rad/s, well below which a joint has no lag that could be measured


MATCHED, POSITION, TIME = range(3)  # the domains
TIME_PLACE = CYCLE.place("time", 0)  # in the row of a cycle
NO_DOMAIN = -1.0  # of a law that begins
EFFORT = 0  # number of the output
FEEDFORWARD, GRAVITY, STIFFNESS, DAMPING, LIMIT = range(5)  # terms

MASTER = Record(
    "Master",
    (
        Field("index", (), "", "Number of the joint that leads; 0 until the reference moves."),
        Field("chosen", (), "", "1 once the reference has moved."),
        Field("rested", (), "", "1 where the reference has rested in the last cycle.", first=1.0),
        Field("changed", (), "", "1 where it is another one than in the last cycle."),
        Field(
            "age",
            (),
            "s",
            "Time since it has changed; infinite where it never did.",
            first=math.inf,
        ),
        Field(
            "looked_up",
            (),
            "s",
            "Time s of the last look-up; NaN where there was none.",
            first=math.nan,
        ),
    ),
)
master_at = MASTER.views


class MasterAxis:
    """The joint that leads, chosen by the largest commanded displacement per cycle, and the look-up
    of its position.

    The choice has hysteresis while the reference moves. Once it has rested, the fastest joint
    becomes the master.

    Args:
        row: Memory of the master, see :data:`MASTER`; a new one by default.
    """

    def __init__(self, row: Array | None = None) -> None:
        self._row = MASTER.single(0)[0] if row is None else row
        self._named = MASTER.by_name(self._row, 0)

    @property
    def index(self) -> int:
        """Number of the master: 0 until the reference moves, and then the fastest joint."""
        return int(self._named["index"])

    def choose(self, v_ref: Array, rest_speed: float, dt: float) -> bool:
        """Choose the master for this cycle, dt [s] after the last one; True where it is another
        one.

        v_ref (n,) are the reference's velocities [rad/s]; it rests where none is above rest_speed
        [rad/s].
        """
        choose_master(self._row, v_ref, rest_speed, dt)
        return bool(self._named["changed"])

    def look_up(
        self, path: JointPathFunction, q_master: float, model: RobotModel, t: float, dt: float
    ) -> tuple[Array, Array]:
        """Look the path up at the time s at which its master is where the measured master is.

        One Newton step solves q_md(s) = q_m, from the last s + dt on, so it takes two evaluations
        of the path. The first look-up takes ten steps from t on.

        Args:
            path: Path of the reference.
            q_master: Measured position q_m of the master [rad].
            model: Model of the robot.
            t: Present time [s].
            dt: Time since the cycle before [s].

        Returns:
            Joint angles (n,) [rad] and velocities (n,) [rad/s] of the path at s.
        """
        steps = newton_steps(self._row)
        s = first_guess(self._row, t, dt)
        master = self.index
        for _ in range(steps):
            q, v, _ = path(s)
            s = better_guess(
                self._row, q[master], v[master], q_master, float(model.cyclic[master]), s, t
            )
        q, v, _ = path(s)
        return q, v


@compiled
def choose_master(row: Array, v_ref: Array, rest_speed: float, dt: float) -> None:
    """Choose the master for this cycle, into its row; see :meth:`MasterAxis.choose`."""
    master = master_at(row, 0)
    fastest = 0
    for joint in range(len(v_ref)):
        if abs(v_ref[joint]) > abs(v_ref[fastest]):
            fastest = joint
    speed = abs(v_ref[fastest])
    master.age[0] += dt
    master.changed[0] = 0.0
    if speed < rest_speed:
        master.rested[0] = 1.0
        return
    margin = 1.0 if master.rested[0] == 1.0 else HYSTERESIS
    master.rested[0] = 0.0
    if master.chosen[0] == 0.0:
        master.chosen[0] = 1.0
        master.index[0] = fastest
    elif speed > margin * abs(v_ref[int(master.index[0])]):
        master.index[0] = fastest
        master.age[0] = 0.0
        master.changed[0] = 1.0
        master.looked_up[0] = math.nan


@compiled
def newton_steps(row: Array) -> int:
    """Number of Newton steps that a look-up needs."""
    return FIRST_STEPS if math.isnan(master_at(row, 0).looked_up[0]) else 1


@compiled
def first_guess(row: Array, t: float, dt: float) -> float:
    """The time s [s] at which a look-up begins: dt after the last one, or the present time t."""
    before = master_at(row, 0).looked_up[0]
    return t if math.isnan(before) else before + dt


@compiled
def better_guess(
    row: Array, q_ref: float, v_ref: float, q: float, cyclic: float, s: float, t: float
) -> float:
    """Return a better guess of the time s [s] at which the master's reference has its position.

    It is one Newton step from a guess, within bounds about the present time t. The result is kept
    as the guess of the next cycle.

    Args:
        row: Memory of the master.
        q_ref, v_ref: Position and velocity of the master's reference at the guess [rad, rad/s].
        q: Measured position of the master [rad].
        cyclic: 1 where the master turns without end, else 0.
        s, t: Guess, and present time [s].
    """
    if abs(v_ref) > SLOWEST:
        s += min(max(short_way(q - q_ref, cyclic) / v_ref, -MAX_STEP), MAX_STEP)
    s = min(max(s, t - BACK), t + AHEAD)
    master_at(row, 0).looked_up[0] = s
    return s


@register("position_domain_pd")
class PositionDomainPD(CompiledLaw):
    """PD in each joint, but the slaves' references are looked up by where the master axis is, not
    by the time.

    Law:
        tau = K (q_r - q) + D (q̇_r - q̇) + s_ff [M(q_d) q̈_d + C(q_d, q̇_d) q̇_d + friction(q̇_d)] + s_g g(q), within
        ±min(torque_limit, the description's effort limit). D = D_0 + 2 ζ √(K M_ii(q)). What s_ff scales is taken at
        t + feedforward_lead.
        Master m, the joint with the largest commanded displacement per cycle (hysteresis 1.2): q_r = q_d(t).
        Slave i: q_r = (1 - w_i) q_d(t) + w_i q_d(s), q̇_r = (1 - w_i) q̇_d(t) + w_i q_d'(s) q̇_m, where s solves
        q_md(s) = q_m (Newton, within t - 0.2 s … t + 0.05 s) and q_d' = dq_d/dq_md = q̇_d(s) / q̇_md(s) is the slope.
        So the damping of a slave is D, whatever the master does: the velocity form, as in electronic camming. (With
        D' (q_d' - q̇_s/q̇_m) it would be D'/q̇_m: unbounded at rest, negative as the master goes backwards.)
        Domain `position`, the source's form: w = (|q̇_md| - rest_speed) / (full_speed - rest_speed) within 0 … 1, with
        the lower |q̇_md| of t and s; from 0 again over 50 ms after a change of master. w = 0 where q̇_md has the other
        sign at s, that is, beyond a point at which the master turns back.
        Domain `matched`: that times (1 - l_i l_m / (l_m² + (0.5 ms)²)) within 0 … 1. The lag of a joint behind its own
        reference, l = e q̇_d / (q̇_d² + (0.05 rad/s)²) with e = q_r - q, is measured and low-passed (T = 4 max M_ii/D): a
        slave is held back only by what the master lags more than it does, so that all are late by the same time. What
        would jump at a change of master fades out over 50 ms.
        Domain `time`: w = 0, the usual PD.
        Output `position`: q_r with q̇_r, for the drive's own PD, and the rest as the torque offset (CiA 402: 0x607A and
        0x60B2). A drive that takes currents gets i = tau / (Kt N η): motor constant, ratio and efficiency of the gear.
    Closed loop:
        M ë + (D + C) ė + K e = what isn't fed forward, about q_r. Quasi-statically a slave that lags by l_s while the
        master lags by l_m is off the path by |l_m - l_s| in the time domain, by |l_s| in the position domain, and by
        max(l_s - l_m, 0) where lags are matched (l_m > 0). So, when to use it: where the master lags (soft, disturbed,
        at its torque limit, without feed-forward) and the slaves are stiff, `position` gains several times. Where a
        slave lags more than the master, `position` loses, and `matched` is the time domain. Where feed-forward is exact
        there is nothing to gain, and where all lag by inertia while they speed up, a little to lose. Timing isn't kept:
        the slaves wait for the master.
        As q_r contains the slave's own lag, lag matching is an integrator with the time T, within the bounds of w: a
        joint alone is stable for T > M/D, a quarter of what it is.
    Frames and units:
        Joint space. K [N·m/rad], D [N·m·s/rad]; joints that turn, since speeds of joints are
        compared.
    Assumptions:
        References that are smooth in time. Without a path of the reference, or at rest, it is PD in
        the time domain. A master that is held fast keeps its slaves back by no more than 0.2 s. |e|
        below half a turn in cyclic joints.
    Source:
        Position-domain PD of a six-joint arm under LinuxCNC and EtherCAT: choice of the active
        axis, compensation, dynamic feed-forward with friction, current limit. Idea: P. R. Ouyang,
        T. Dam, J. Huang, W. J. Zhang, Contour tracking control in position domain, Mechatronics
        22(7), 2012. Lag matching: this package.
    """

    @dataclass(frozen=True, eq=False)
    class Gains:
        domain: str = choice(
            "matched",
            ("matched", "position", "time"),
            doc="matched: slaves wait for the master as far as it lags more; position: always; time: they never do.",
        )
        output: str = choice(
            "effort",
            ("effort", "position"),
            doc="effort: torques; position: the looked-up joint positions, with feed-forward as a torque offset.",
        )
        stiffness: Array = joint_stiffness_gain(400.0)
        damping_ratio: Array = damping_ratio_gain(JOINT)
        damping: Array = damping_gain(JOINT)
        feedforward: float = gain(
            1.0,
            doc="Fraction of the reference's inertial, Coriolis and friction torques that is fed forward; 0 none.",
        )
        feedforward_lead: float = gain(
            0.0,
            unit="s",
            upper=0.02,
            doc="Dead time of the drives: what is fed forward is that of so much later. 0 where torques act at once.",
        )
        gravity: float = gain(
            True, doc="Compensate gravity; off where the robot or its drives do it themselves."
        )
        torque_limit: Array = gain(
            1000.0,
            size=JOINT,
            unit="N·m",
            upper=1000.0,
            doc="Largest torque, where it is below the description's: Kt N η times the largest current; 0 lets go.",
        )
        rest_speed: float = gain(
            0.05,
            unit="rad/s",
            lower=0.001,
            upper=1.0,
            doc="Speed of the master's reference up to which the time domain holds.",
        )
        full_speed: float = gain(
            0.25,
            unit="rad/s",
            lower=0.001,
            upper=5.0,
            doc="Speed of the master's reference from which the position domain holds in full.",
        )

    mode: ClassVar[CommandMode] = CommandMode.EFFORT
    reference: ClassVar[type[Reference]] = JointSpaceReference
    reads_path: ClassVar[bool] = True
    term_names = ("feedforward", "gravity", "stiffness", "damping", "limit")
    memory = Record(
        "PositionDomainPDMemory",
        (
            Field("master", (MASTER.width(0),), "", "See MASTER."),
            Field("active", (5,), "", "1 for each term that the last command was summed from."),
            Field("lag", ("n",), "s", "Of each joint behind its own reference, low-passed."),
            Field(
                "shift",
                (2, "n"),
                "rad, rad/s",
                "Of the reference's position and velocity, as last used.",
            ),
            Field(
                "fading",
                (2, "n"),
                "rad, rad/s",
                "What is left in it of the shift before the last change.",
            ),
            Field(
                "domain", (), "", "Number of the domain in the last cycle; -1 where there was none."
            ),
            Field("looked_up", (3, "n"), "rad, rad/s, rad/s²", "The path at the time s."),
            Field("ahead", (3, "n"), "rad, rad/s, rad/s²", "The motion that is fed forward."),
            Field("motion_torque", ("n",), "N·m", "Its inertial and Coriolis torques."),
            Field("inertia", ("n",), "kg·m²", "Diagonal of M."),
            Field("damping", ("n",), "N·m·s/rad", "D."),
            Field("path_velocity", ("n",), "rad/s", "With which the followed positions move."),
            Field("velocity", ("n",), "rad/s", "That goes with commanded positions."),
            Field("offset", ("n",), "N·m", "Torque offset of these."),
            Field("effort_limit", ("n",), "N·m", "Of the description."),
            Field("cyclic", ("n",), "", "1 for each joint that turns without end."),
            Field("viscous", ("n",), "N·m·s/rad", "Viscous friction of the description."),
            Field("dry", ("n",), "N·m", "Dry friction of the description."),
        ),
    )

    @classmethod
    def default_gains(cls, arm: ArmAtHome) -> dict[str, Array]:
        """Gains that suit an arm, by name; see :mod:`.default_gains`."""
        return {"stiffness": joint_stiffness(arm, cls.Gains)}

    def __init__(self) -> None:
        super().__init__()
        self._path: JointPathFunction | None = None  # of the cycle's reference
        self._no_path = RememberedPath(0)
        self.master = MasterAxis()
        self._targets = slice(0)  # of the row of a cycle: q, v and a of the reference
        self._ahead = np.zeros((3, 0))  # a view into the memory, as the others
        self._looked_up = np.zeros((3, 0))
        self._motion_torque = np.zeros(0)
        self._inertia = np.zeros(0)

    def start(self, state: RobotState, kin: RobotDynamics) -> None:
        """Begin without a shift of the references, with new lags, and with joint 0 as master."""
        memory = self._memory
        model = kin.model
        self._row[:] = 0.0
        memory["domain"] = NO_DOMAIN
        memory["master"] = MASTER.single(0)[0]
        memory["effort_limit"] = model.limits.effort
        memory["cyclic"] = model.cyclic
        memory["viscous"] = model.viscous_friction
        memory["dry"] = model.dry_friction
        self.master = MasterAxis(memory["master"])
        self._ahead = memory["ahead"]
        self._looked_up = memory["looked_up"]
        self._motion_torque = memory["motion_torque"]
        self._inertia = memory["inertia"]
        first = CYCLE.place("target_q", self._n)
        self._targets = slice(first, first + 3 * self._n)

    @property
    def path_velocity(self) -> Array | None:
        """Velocities (n,) of the positions that the joints follow [rad/s]; None under torques.

        The record has them as `followed_v`: the slaves' positions repeat each step of the measured
        master, and that isn't ringing. See :class:`~.law.ControlLaw`.
        """
        if self._gains is None or self._gains.output == "effort":
            return None
        return np.array(self._memory["path_velocity"])

    def command(
        self,
        cycles: Cycles,
        k: int,
        kin: RobotDynamics,
        path: JointPathFunction | None,
        gains: Gains,
        dt: float,
    ) -> Command:
        """The command for a cycle, see :class:`~.compiled_law.CompiledLaw`.

        Commanded positions have velocities and torque offsets.
        """
        self._path = path
        command = super().command(cycles, k, kin, path, gains, dt)
        if gains.output == "effort":
            return command
        offset = self._memory["offset"].copy()
        velocity = self._memory["velocity"].copy()
        return Command(CommandMode.POSITION, command.values, feedforward=offset, velocity=velocity)

    def run(self, cycles: Array, k: int, kin: RobotDynamics, gains: Gains, dt: float) -> None:
        """Write the command of a cycle and its terms, see :class:`~.compiled_law.CompiledLaw`."""
        self.adopt(gains, kin)
        row = gains_row(gains, self._n)
        path = self._path
        ahead = self._ahead
        self._inertia[:] = kin.mass.diagonal()
        if gains.feedforward_lead > 0.0 and path is not None:
            ahead[:] = path(cycles.item(k, TIME_PLACE) + gains.feedforward_lead)
        else:
            ahead[:] = cycles[k, self._targets].reshape(3, self._n)
        if gains.feedforward > 0.0:
            self._motion_torque[:] = kin.model.motion_torque(ahead[0], ahead[1], ahead[2])
        if path is None or isinstance(path, RememberedPath):
            remembered = self._no_path if path is None else path
            compute(cycles, k, row, self._row, remembered.points, remembered.ends, self._n, dt)
            return
        looks_up = begin(cycles, k, row, self._row, True, self._n, dt)
        if looks_up:
            q_master = kin.q.item(self.master.index)
            self._looked_up[:2] = self.master.look_up(
                path, q_master, kin.model, cycles.item(k, TIME_PLACE), dt
            )
        finish(cycles, k, row, self._row, looks_up, self._n, dt)

    def adopt(self, gains: Gains, kin: RobotDynamics) -> None:
        """Take over gains, see :class:`~.compiled_law.CompiledLaw`."""
        self._gains = gains


_memory_at = PositionDomainPD.memory.views
_gains_at = gains_record(PositionDomainPD.Gains).views


@compiled
def compute(
    cycles: Array,
    k: int,
    gains: Array,
    memory: Array,
    points: Array,
    ends: NDArray[np.int64],
    n: int,
    dt: float,
) -> None:
    """Write the terms of a cycle and its command; see the law.

    The memory has to have the motion that is fed forward, with its torques, and the inertia.

    Args:
        cycles, k: Records, and number of the cycle's row.
        gains, memory: Rows of the law's gains and of its memory.
        points, ends: Ring of the reference's remembered path, see :class:`RememberedPath`; empty
            where there is no path.
        n: Number of joints.
        dt: Time since the cycle before [s].
    """
    looks_up = begin(cycles, k, gains, memory, ends[1] > 0, n, dt)
    if looks_up:
        _look_up(cycles[k], memory, points, ends, n, dt)
    finish(cycles, k, gains, memory, looks_up, n, dt)


@compiled
def begin(
    cycles: Array, k: int, gains: Array, memory: Array, has_path: bool, n: int, dt: float
) -> bool:
    """Compute the damping, the lags and the master of a cycle.

    Returns:
        True where there is a path that must be looked up for the slaves.
    """
    cycle = cycle_at(cycles[k], n)
    gain = _gains_at(gains, n)
    law = _memory_at(memory, n)
    slowest = 0.0
    for joint in range(n):
        ratio = gain.damping_ratio[joint]
        law.damping[joint] = joint_damping(
            gain.stiffness[joint], ratio, gain.damping[joint], law.inertia[joint]
        )
        slowest = max(slowest, law.inertia[joint] / max(law.damping[joint], 1e-6))
    share = dt / (LAG_FILTER * slowest + dt) if law.domain[0] != NO_DOMAIN else 1.0
    for joint in range(n):
        error = short_way(
            cycle.target_q[joint] + law.shift[0, joint] - cycle.q[joint], law.cyclic[joint]
        )
        v_ref = cycle.target_v[joint]
        lag = error * v_ref / (v_ref * v_ref + SLOW**2)
        law.lag[joint] += share * (lag - law.lag[joint])
    choose_master(law.master, cycle.target_v, gain.rest_speed[0], dt)
    master_speed = abs(cycle.target_v[int(master_at(law.master, 0).index[0])])
    return has_path and gain.domain[0] != TIME and master_speed > gain.rest_speed[0]


@compiled
def _look_up(
    cycle_row: Array, memory: Array, points: Array, ends: NDArray[np.int64], n: int, dt: float
) -> None:
    """Write the remembered path at the time s into the memory; see :meth:`MasterAxis.look_up`."""
    cycle = cycle_at(cycle_row, n)
    law = _memory_at(memory, n)
    master = int(master_at(law.master, 0).index[0])
    t = cycle.time[0]
    steps = newton_steps(law.master)
    s = first_guess(law.master, t, dt)
    recall(points, ends, s, law.looked_up)
    for _ in range(steps):
        q_ref = law.looked_up[0, master]
        v_ref = law.looked_up[1, master]
        s = better_guess(law.master, q_ref, v_ref, cycle.q[master], law.cyclic[master], s, t)
        recall(points, ends, s, law.looked_up)


@compiled
def finish(
    cycles: Array, k: int, gains: Array, memory: Array, looked_up: bool, n: int, dt: float
) -> None:
    """Write the command of a cycle, after :func:`begin` and the look-up that it asked for."""
    _shift_references(cycles[k], gains, memory, looked_up, n, dt)
    cycle = cycle_at(cycles[k], n)
    gain = _gains_at(gains, n)
    law = _memory_at(memory, n)
    terms = cycle.terms
    position = np.empty(n)
    for joint in range(n):
        position[joint] = cycle.target_q[joint] + law.shift[0, joint]
        law.velocity[joint] = cycle.target_v[joint] + law.shift[1, joint]
        cycle.followed_v[joint] = law.path_velocity[joint]
        ahead = law.ahead[1, joint]
        friction = law.viscous[joint] * ahead + law.dry[joint] * math.tanh(ahead / SMOOTHING)
        error = short_way(position[joint] - cycle.q[joint], law.cyclic[joint])
        terms[FEEDFORWARD, joint] = gain.feedforward[0] * (law.motion_torque[joint] + friction)
        terms[GRAVITY, joint] = gain.gravity[0] * cycle.gravity[joint]
        terms[STIFFNESS, joint] = gain.stiffness[joint] * error
        terms[DAMPING, joint] = law.damping[joint] * (law.velocity[joint] - cycle.v[joint])
    limit = np.minimum(gain.torque_limit, law.effort_limit)
    torque = np.empty(n)
    law.active[:] = 1.0
    law.active[LIMIT] = 0.0
    if gain.output[0] != EFFORT:
        law.active[STIFFNESS] = 0.0
        law.active[DAMPING] = 0.0
    sum_terms(terms, law.active, torque)
    limit_sum(torque, limit, terms[LIMIT])
    law.active[LIMIT] = 1.0
    if gain.output[0] == EFFORT:
        cycle.asked[:] = torque
    else:
        cycle.asked[:] = position
        law.offset[:] = torque


@compiled
def _shift_references(
    cycle_row: Array, gains: Array, memory: Array, looked_up: bool, n: int, dt: float
) -> None:
    """Compute the shift of the slaves' reference from that of the present time, in q and in q̇."""
    cycle = cycle_at(cycle_row, n)
    gain = _gains_at(gains, n)
    law = _memory_at(memory, n)
    master = master_at(law.master, 0)
    m = int(master.index[0])
    domain = gain.domain[0]
    v_m = law.looked_up[1, m]
    weight = 0.0
    if looked_up:  # the speed is negative where s is beyond a point at which the master turns back
        speed = min(abs(cycle.target_v[m]), math.copysign(v_m, v_m * cycle.target_v[m]))
        weight = min(
            (speed - gain.rest_speed[0]) / max(gain.full_speed[0] - gain.rest_speed[0], 1e-3), 1.0
        )
    if weight <= 0.0:
        master.looked_up[0] = math.nan
    switched = domain != law.domain[0] and law.domain[0] != NO_DOMAIN
    fades_anew = switched or (domain == MATCHED and master.changed[0] == 1.0)
    left = math.exp(-dt / RAMP)
    law.domain[0] = domain
    for joint in range(n):
        q_shift = 0.0
        v_shift = 0.0
        if weight > 0.0 and joint != m:
            share = weight * _share(law.lag[joint], law.lag[m], master.age[0], domain)
            away = short_way(law.looked_up[0, joint] - cycle.target_q[joint], law.cyclic[joint])
            slope = law.looked_up[1, joint] / v_m
            q_shift = share * away
            v_shift = share * (slope * cycle.v[m] - cycle.target_v[joint])
        if fades_anew:
            law.fading[0, joint] = law.shift[0, joint] - q_shift
            law.fading[1, joint] = law.shift[1, joint] - v_shift
        followed_shift = q_shift + law.fading[0, joint]
        shift_rate = (followed_shift - law.shift[0, joint]) / dt
        law.path_velocity[joint] = cycle.target_v[joint] + shift_rate
        law.shift[0, joint] = followed_shift
        law.shift[1, joint] = v_shift + law.fading[1, joint]
        law.fading[0, joint] *= left
        law.fading[1, joint] *= left


@compiled
def _share(lag: float, lag_of_master: float, age: float, domain: float) -> float:
    """Share by which a slave follows the master while that moves, 0 … 1.

    Args:
        lag, lag_of_master: Lags of slave and master behind their own references [s].
        age: Time since the last change of the master [s].
        domain: Number of the domain.
    """
    if domain == MATCHED:
        later = 1.0 - lag * (lag_of_master / (lag_of_master**2 + SMALL_LAG**2))
        return min(max(later, 0.0), 1.0)
    return min(age / RAMP, 1.0)
