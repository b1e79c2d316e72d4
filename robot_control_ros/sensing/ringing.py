"""Detection of ringing: an oscillation of the arm that the controller feeds.

An oscillation by itself isn't ringing. A sander, a hand, a bounce or a target that swings shake an
arm whose controller brakes it. An arm rings where the controller gives the energy by which the
oscillation grows, or keeps it up all by itself.

Criterion:
    For each joint, the velocity less that of the reference, e = v - v_ref, is high-passed. Half a
    period ends where its sign changes. Let u be the torque of the motors less gravity and friction
    compensation, passed by the same filters. For some half periods in a row these are computed:

        γ                                      growth of the logarithm of the joint's energy in half a period,
        W = ∫ uᵀe dt                           work of the controller, over E, twice the mean kinetic energy,
        c = W / √(∫ uᵀM⁻¹u dt ∫ eᵀM e dt)      it feeds (> 0) or brakes (< 0),
        f = |M ė - u| / |M ė|                  share of foreign torque in the motion, in the norm of M⁻¹ over time.

    - It grows: γ is above a bound, and the controller pays for half of what the arm's energy grows by.
    - It lasts, or grows fast: the controller doesn't brake, and hardly any foreign torque takes part.
    - Under positions or velocities: it doesn't decay, and the drives hardly brake. Drives that
      follow a path brake an arm which something else shakes. The caller checks that the path
      oscillates, too.

    Where the torque isn't known, it must grow all the time. Six ends of half periods make an alarm,
    four where it grows fast.

There are two bands: one for 5 Hz and more, and one for 1 to 10 Hz, which has a low-pass against
noise.

Limits:
    - An oscillation that only lasts, in contact and without growth, isn't found under torques: the
      wall's torque is a foreign one.
    - A late loop with more than half of its stable stiffness feeds an oscillation near its own
      frequency that something else makes. That is taken for ringing.
    - Oscillations below 1 Hz; without torques, also those with fewer than eight samples in a
      period.
    - The measured torque must be that of the motors at the time of the velocity. A filter of its
      own makes it late.
    - M is that of the home posture.
    - A law may shift its reference by what it measures, as position_domain_pd does. Then v_ref is
      what it follows. An oscillation that lives by that shift alone isn't found.

Source:
    The work of the controller over time is the passivity observer of B. Hannaford, J.-H. Ryu,
    Time-domain passivity control of haptic interfaces, IEEE Trans. Robotics and Automation 18(1),
    2002. That v - v_ref is the velocity of the port follows J.-H. Ryu, D.-S. Kwon, B. Hannaford,
    Stable teleoperation with time-domain passivity control, IEEE Trans. Robotics and Automation
    20(2), 2004: the reference is a port of its own. Bands, windows of whole half periods and the
    two cases: own method.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..core.compiled import compiled
from ..core.record import Field, Record
from ..core.small_matrices import cholesky_into, solve_with_factor, transposed_times
from ..core.types import Array

MARKS = 6  # ends of half periods in a row, that make an alarm
FEWEST = 4  # that do where the energy grows fast
FLOOR = 0.02  # √J, below which an extremum is none
BANDS = ((25.0, 0.0), (4.0, 60.0))  # rad/s: of the high-pass, and of the low-pass; 0 is none
LONGEST = 0.55  # s, of half a period
REGULAR = 2.0  # times the shortest half period, that the longest is at most: likewise
SAMPLES = 4  # in half a period, where the torque isn't known: a loop can do nothing faster
MAX_GAP = 0.1  # s between two samples
HELD = 1.0  # s for which the smallest margin stays
TURN = 0.2  # of the last extremum, by which the sign must have changed
# growth of the logarithm of the energy in half a period
FAST = 0.4
SLOW = 0.2
GROWS = 0.08
GROWS_BLINDLY = 0.15  # of an arm whose torque isn't known: noise may look like growth
LASTS = -0.05
PAID = 0.5  # of the growth, that the controller must pay
# c, below which the controller brakes, and that below which drives do
BRAKED = -0.15
BRAKED_BY_DRIVES = -0.4
# f, at most: of what lasts, and of what grows fast, where the inertia changes with the posture
FOREIGN = 0.2
FOREIGN_FAST = 0.6
MOSTLY_FOREIGN = 0.85  # from where on growth never counts as fast: noise has all of it
# of the swing of the reference, below which an extremum is none: with torques, and without
FOLLOWS = 0.5
FOLLOWS_BLINDLY = 2.0
FADES = 0.5  # s, in which that swing is forgotten
DAMPED = 0.05  # m: singular values of the Jacobian that are smaller count less
NO_TERM = -1.0
# what the velocities are those of: an arm under torques, one whose drives follow a path, or that
# path
ARM = 0.0
DRIVEN_ARM = 1.0
PATH = 2.0

MEMORY = Record(
    "RingingMemory",
    (
        # --- what is given ---
        Field("high_pass", (), "rad/s", "Of the band."),
        Field("low_pass", (), "rad/s", "Of the band; 0 is none."),
        Field(
            "weight",
            ("n",),
            "√(kg·m²)",
            "Root of each joint's inertia: a velocity times it is a root of energy.",
        ),
        Field("inertia", ("n", "n"), "kg·m²", "M, of the joints."),
        Field("mobility", ("n", "n"), "1/(kg·m²)", "Its inverse."),
        Field("floor", (), "√J", "Below it an extremum is none.", first=FLOOR),
        Field("measured", (), "", "1 where the efforts are torques of the motors."),
        Field("kind", (), "", "What the velocities are those of: ARM, DRIVEN_ARM or PATH."),
        Field(
            "friction_term",
            (),
            "",
            "Number of the term that compensates friction; -1 for none.",
            first=NO_TERM,
        ),
        # --- the last sample ---
        Field("time", (), "s", "Its stamp.", first=-math.inf),
        Field("target", (4, 4), "m, -", "Its target pose; NaN for none.", first=math.nan),
        Field("reference", ("n",), "rad/s", "Velocities of the reference."),
        Field("known", (), "", "1 where the torque was known."),
        # --- filters ---
        Field(
            "velocity_slow",
            ("n",),
            "rad/s",
            "Errors of velocity, low-passed at the lower end of the band.",
        ),
        Field("velocity", ("n",), "rad/s", "Errors of velocity in the band."),
        Field("torque_slow", ("n",), "N·m", "Torques, low-passed at the lower end of the band."),
        Field("torque", ("n",), "N·m", "Torques in the band."),
        Field(
            "reference_slow", ("n",), "rad/s", "Velocities of the reference, low-passed likewise."
        ),
        Field("swing", ("n",), "rad/s", "Largest velocities of the reference in the band, fading."),
        # --- sums over time ---
        Field("work", (), "J", "∫ uᵀe dt."),
        Field("motion", (), "J·s", "∫ eᵀM e dt."),
        Field("load", (), "J/s", "∫ uᵀM⁻¹u dt."),
        Field("inertial", (), "J/s", "∫ ėᵀM ė dt."),
        Field("foreign", (), "J/s", "The same of what is left of M ė without u."),
        Field("square", (), "J", "eᵀM e of the last sample."),
        # --- half periods ---
        Field(
            "largest", ("n",), "√J", "Largest weighted error since its sign changed, with the sign."
        ),
        Field("count", ("n",), "", "Ends of half periods that are remembered."),
        Field("mark_time", ("n", MARKS), "s", "When each of them was; the last one is the newest."),
        Field(
            "mark_size", ("n", MARKS), "√J", "Largest weighted error of the half period that ended."
        ),
        Field("mark_work", ("n", MARKS), "J", "The sums then."),
        Field("mark_motion", ("n", MARKS), "J·s", "Likewise."),
        Field("mark_load", ("n", MARKS), "J/s", "Likewise."),
        Field("mark_inertial", ("n", MARKS), "J/s", "Likewise."),
        Field("mark_foreign", ("n", MARKS), "J/s", "Likewise."),
        Field("longest", (), "", "Most marks in a row that speak for ringing, lately."),
        Field("longest_at", (), "s", "When that was.", first=-math.inf),
    ),
)

_views = MEMORY.views


@dataclass(frozen=True)
class Ringing:
    """An oscillation that the controller feeds.

    Attributes:
        joint: Number of the joint that oscillates.
        frequency: Frequency of the oscillation [Hz].
        size: The last extremum [√J].
        time: Time of that extremum [s].
    """

    joint: int
    frequency: float
    size: float
    time: float


class RingingDetector:
    """Finds oscillations that the controller feeds; see the module. After an alarm it counts anew.

    Args:
        inertia: (n, n) inertia of the joints [kg·m²].
        floor: Smallest extremum that counts [√J]; 0.02 suits exact velocities, 0.05 noisy ones.

    Attributes:
        rows: Memory (bands, width), as :func:`find_ringing` takes it.
    """

    def __init__(self, inertia: Array, floor: float = FLOOR) -> None:
        self._n = len(inertia)
        self.rows, self._memory = MEMORY.memory(len(BANDS), self._n)
        for memory, (high_pass, low_pass) in zip(self._memory, BANDS, strict=True):
            memory["high_pass"] = high_pass
            memory["low_pass"] = low_pass
        self._memory["weight"] = inertia.diagonal() ** 0.5
        self._memory["inertia"] = inertia
        self._memory["mobility"] = np.linalg.inv(inertia)
        self._memory["floor"] = floor

    @property
    def floor(self) -> float:
        """Smallest extremum that counts [√J]; it may be changed."""
        return float(self._memory["floor"][0])

    @floor.setter
    def floor(self, value: float) -> None:
        self._memory["floor"] = value

    @property
    def reference_velocity(self) -> Array:
        """Joint velocities (n,) of the reference in the last :func:`find_ringing` [rad/s]."""
        return np.array(self._memory["reference"][0])

    def watch(self, kind: float, measured: bool, friction_term: int = -1) -> None:
        """Set the kind of velocities and torques of the next samples, and count anew.

        Args:
            kind: Origin of the velocities: ARM, DRIVEN_ARM or PATH.
            measured: True where the efforts of samples are torques of the motors.
            friction_term: Number of the law's term that compensates friction; -1 where it has none.
        """
        self._memory["kind"] = kind
        self._memory["measured"] = float(measured)
        self._memory["friction_term"] = float(friction_term)
        self._memory["count"] = 0.0

    def margin(self, time: float) -> float:
        """Smallest distance to an alarm in the second before a time [s]: 1 far from it, 0 at one.

        It is 1 less the number of half periods in a row that speak for ringing, over the number
        that makes an alarm.
        """
        longest = [
            float(each["longest"])
            for each in self._memory
            if 0.0 <= time - each["longest_at"] <= HELD
        ]
        return 1.0 - max(longest, default=0.0) / MARKS

    def update(self, time: float, velocity: Array, torque: Array | None = None) -> Ringing | None:
        """Take a sample, and return the oscillation that rings at it; None for none.

        It begins anew after a gap of 0.1 s, and where the time goes back.

        Args:
            time: Time of the sample [s].
            velocity: (n,) velocities of the joints less those of the reference, or velocities of a
                path that a law makes [rad/s].
            torque: (n,) torques of the motors since the last sample, less gravity [N·m]; None where
                they aren't known.
        """
        given = np.full(self._n, math.nan) if torque is None else torque
        return self.ringing(find_oscillation(self.rows, time, velocity, given, self._n), time)

    def ringing(self, found: int, time: float) -> Ringing | None:
        """The oscillation at a time [s], by the answer of :func:`find_ringing`; None for none."""
        if found < 0:
            return None
        band, joint = divmod(found, self._n)
        times = self._memory["mark_time"][band, joint]
        size = float(self._memory["mark_size"][band, joint, -1])
        frequency = (FEWEST - 1) / (2.0 * float(times[-1] - times[-FEWEST]))
        return Ringing(joint, frequency, size, time)


@compiled
def find_ringing(rows: Array, cycle: Any, n: int) -> int:
    """Look for ringing at a sample; see the module.

    Args:
        rows: Memory of a :class:`RingingDetector`.
        cycle: Views of the record, complete up to gravity; its reference is still that of the cycle
            before.
        n: Number of joints.

    Returns:
        A number for :meth:`RingingDetector.ringing`; -1 for nothing.
    """
    memory = _views(rows[0], n)
    _reference_into(memory.reference, cycle, memory.target, cycle.time[0] - memory.time[0])
    velocity = np.empty(n)
    torque = np.empty(n)
    friction = int(memory.friction_term[0])
    for joint in range(n):
        velocity[joint] = cycle.v[joint] - memory.reference[joint]
        torque[joint] = (
            cycle.effort[joint] - cycle.gravity[joint] if memory.measured[0] == 1.0 else math.nan
        )
        if friction >= 0:
            torque[joint] -= cycle.terms[friction, joint]
    return find_oscillation(rows, cycle.time[0], velocity, torque, n)


@compiled
def _reference_into(result: Array, cycle: Any, target: Array, dt: float) -> None:
    """Write the joint velocities (n,) of a cycle's reference into `result`.

    They are those that the law follows, or else those of the reference, or follow by the Jacobian
    from the tip's twist. The twist of a pose without one is its change since the cycle before.
    `target` (4, 4) is the pose of that cycle, and becomes that of this one; dt [s] is the time
    between both.
    """
    shifted = not math.isnan(cycle.followed_v[0])
    given = not math.isnan(cycle.target_v[0])
    twist = cycle.target_twist.copy()
    if math.isnan(twist[0]):
        _twist_between_into(target, cycle.target_pose, dt, twist)
    target[:] = cycle.target_pose
    rests = True
    for i in range(6):
        if math.isnan(twist[i]):
            twist[i] = 0.0
        rests = rests and twist[i] == 0.0
    if shifted:
        result[:] = cycle.followed_v
    elif given:
        result[:] = cycle.target_v
    elif rests:
        result[:] = 0.0
    else:
        _joint_velocity_into(cycle.jacobian, twist, result)


@compiled
def _twist_between_into(before: Array, after: Array, dt: float, twist: Array) -> None:
    """Write the twist (6,) from one pose (4, 4) to a near one, dt [s] later; NaN without both."""
    for i in range(3):
        twist[i] = (after[i, 3] - before[i, 3]) / dt
        j = (i + 1) % 3
        k = (i + 2) % 3
        turn = 0.0  # of R_after R_beforeᵀ, its skew part
        for m in range(3):
            turn += after[k, m] * before[j, m] - after[j, m] * before[k, m]
        twist[3 + i] = 0.5 * turn / dt


@compiled
def _joint_velocity_into(jacobian: Array, twist: Array, result: Array) -> None:
    """Write the joint velocities (n,) of a twist (6,) of the tip, by damped least squares."""
    square = np.empty((6, 6))
    for i in range(6):
        for j in range(i + 1):
            total = DAMPED**2 if i == j else 0.0
            for joint in range(len(result)):
                total += jacobian[i, joint] * jacobian[j, joint]
            square[i, j] = total
    lower = np.empty((6, 6))
    column = np.empty((6, 1))
    column[:, 0] = twist
    result[:] = 0.0
    if cholesky_into(square, lower):
        solve_with_factor(lower, column)
        transposed_times(jacobian, column[:, 0], result)


@compiled
def find_oscillation(rows: Array, time: float, velocity: Array, torque: Array, n: int) -> int:
    """Look for ringing at a sample, in all bands; see :func:`find_ringing`.

    Args:
        rows: Memory of a :class:`RingingDetector`, with the reference's velocities.
        time: Time of the sample [s].
        velocity: (n,) velocities of the joints less those of the reference [rad/s].
        torque: (n,) torques since the last sample, less gravity [N·m]; NaN where they aren't known.
        n: Number of joints.
    """
    reference = _views(rows[0], n).reference
    found = -1
    for band in range(len(rows)):
        joint = _look_at_band(rows[band], time, velocity, torque, reference, n)
        if joint >= 0:
            found = band * n + joint
    if found >= 0:
        for band in range(len(rows)):
            _views(rows[band], n).count[:] = 0.0
    return found


@compiled
def _look_at_band(
    row: Array, time: float, velocity: Array, torque: Array, reference: Array, n: int
) -> int:
    """Number of a joint that rings in a band, or -1."""
    memory = _views(row, n)
    known = 1.0
    for joint in range(n):
        if not math.isfinite(torque[joint]):
            known = 0.0
    dt = time - memory.time[0]
    memory.time[0] = time
    if not 0.0 < dt <= MAX_GAP or known != memory.known[0]:
        memory.known[0] = known
        _begin(memory, velocity, torque, reference)
        return -1
    before = memory.velocity.copy()
    corner = memory.high_pass[0]
    cutoff = memory.low_pass[0]
    _filter(velocity, memory.velocity_slow, memory.velocity, corner, cutoff, dt)
    _follow_swing(memory, reference, dt)
    if known == 1.0:
        _filter(torque, memory.torque_slow, memory.torque, corner, cutoff, dt)
        if _may_ring(memory, n):
            _sum_up(memory, before, dt, n)
    ringing = -1
    for joint in range(n):
        error = memory.velocity[joint] * memory.weight[joint]
        largest = memory.largest[joint]
        if error * largest >= 0.0:
            if abs(error) > abs(largest):
                memory.largest[joint] = error
        elif abs(error) > TURN * abs(largest):
            memory.largest[joint] = error
            if _ends_half_period(memory, joint, abs(largest), time, dt):
                ringing = joint
    return ringing


@compiled
def _may_ring(memory: Any, n: int) -> bool:
    """Return True where half a period counts, now or lately: only then are sums needed."""
    joints = 0
    for joint in range(n):
        if abs(memory.largest[joint]) >= memory.floor[0] or memory.count[joint] > 0.0:
            joints += 1
    return joints > 0


@compiled
def _begin(memory: Any, velocity: Array, torque: Array, reference: Array) -> None:
    """Begin anew at a sample: its values fill the filters, and the sums are 0."""
    memory.velocity_slow[:] = velocity
    memory.torque_slow[:] = torque
    memory.reference_slow[:] = reference
    memory.velocity[:] = 0.0
    memory.torque[:] = 0.0
    memory.work[0] = 0.0
    memory.motion[0] = 0.0
    memory.load[0] = 0.0
    memory.inertial[0] = 0.0
    memory.foreign[0] = 0.0
    memory.square[0] = 0.0
    memory.swing[:] = 0.0
    memory.largest[:] = 0.0
    memory.count[:] = 0.0


@compiled
def _filter(
    values: Array, slow: Array, filtered: Array, corner: float, cutoff: float, dt: float
) -> None:
    """Pass values (n,) through a high-pass and a low-pass [rad/s]; a cutoff of 0 is none."""
    keep = 1.0 / (1.0 + corner * dt)
    rate = cutoff * dt
    share = 1.0 if rate == 0.0 else rate / (1.0 + rate)
    for joint in range(len(values)):
        high = keep * (values[joint] - slow[joint])
        slow[joint] = values[joint] - high
        filtered[joint] += share * (high - filtered[joint])


@compiled
def _follow_swing(memory: Any, reference: Array, dt: float) -> None:
    """Advance `swing`, the largest velocities of the reference in the band, which fade."""
    keep = 1.0 / (1.0 + memory.high_pass[0] * dt)
    fading = 1.0 - dt / FADES
    for joint in range(len(reference)):
        high = keep * (reference[joint] - memory.reference_slow[joint])
        memory.reference_slow[joint] = reference[joint] - high
        memory.swing[joint] = max(abs(high), fading * memory.swing[joint])


@compiled
def _sum_up(memory: Any, before: Array, dt: float, n: int) -> None:
    """Add the last `dt` [s] to the sums; `before` (n,) are the velocity errors at its begin."""
    work = 0.0
    load = 0.0
    square = 0.0
    product = 0.0
    push = 0.0
    for i in range(n):
        momentum = 0.0
        answer = 0.0
        for j in range(n):
            momentum += memory.inertia[i, j] * memory.velocity[j]
            answer += memory.mobility[i, j] * memory.torque[j]
        work += memory.torque[i] * 0.5 * (before[i] + memory.velocity[i])
        load += memory.torque[i] * answer
        square += memory.velocity[i] * momentum
        product += before[i] * momentum
        push += memory.torque[i] * (memory.velocity[i] - before[i]) / dt
    inertial = (memory.square[0] - 2.0 * product + square) / dt**2
    memory.work[0] += dt * work
    # the velocity goes straight between samples
    memory.motion[0] += dt * (memory.square[0] + product + square) / 3.0
    memory.load[0] += dt * load
    memory.inertial[0] += dt * inertial
    memory.foreign[0] += dt * (inertial - 2.0 * push + load)
    memory.square[0] = square


@compiled
def _ends_half_period(memory: Any, joint: int, size: float, time: float, dt: float) -> bool:
    """Remember the end of half a period, and its size; return True where the joint rings."""
    count = int(memory.count[joint])
    times = memory.mark_time[joint]
    span = time - times[MARKS - 1]
    blind = memory.known[0] == 0.0 and memory.kind[0] != PATH
    follows = FOLLOWS_BLINDLY if blind else FOLLOWS
    least = max(memory.floor[0], follows * memory.swing[joint] * memory.weight[joint])
    if size < least:
        memory.count[joint] = 0.0
        return False
    shortest = 0.0 if memory.known[0] == 1.0 else (SAMPLES - 0.5) * dt
    if not shortest <= span <= LONGEST:
        count = 0
    last = MARKS - 1
    for i in range(last):
        times[i] = times[i + 1]
        memory.mark_size[joint, i] = memory.mark_size[joint, i + 1]
        memory.mark_work[joint, i] = memory.mark_work[joint, i + 1]
        memory.mark_motion[joint, i] = memory.mark_motion[joint, i + 1]
        memory.mark_load[joint, i] = memory.mark_load[joint, i + 1]
        memory.mark_inertial[joint, i] = memory.mark_inertial[joint, i + 1]
        memory.mark_foreign[joint, i] = memory.mark_foreign[joint, i + 1]
    times[last] = time
    memory.mark_size[joint, last] = size
    memory.mark_work[joint, last] = memory.work[0]
    memory.mark_motion[joint, last] = memory.motion[0]
    memory.mark_load[joint, last] = memory.load[0]
    memory.mark_inertial[joint, last] = memory.inertial[0]
    memory.mark_foreign[joint, last] = memory.foreign[0]
    count = min(count + 1, MARKS)
    memory.count[joint] = count
    rings = False
    lasting = 1
    for marks in range(FEWEST - 1, count + 1):
        growth = _growth_fed(memory, joint, marks)
        if growth >= LASTS:
            lasting = marks
        if marks >= FEWEST and growth >= FAST and memory.known[0] == 1.0 and memory.kind[0] == ARM:
            rings = True
    rings = rings or lasting >= MARKS
    if rings:
        lasting = MARKS
    elif lasting == MARKS:
        lasting = MARKS - 1
    if lasting >= memory.longest[0] or time - memory.longest_at[0] > HELD:
        memory.longest[0] = lasting
        memory.longest_at[0] = time
    return rings


@compiled
def _growth_fed(memory: Any, joint: int, marks: int) -> float:
    """Growth of the logarithm of the energy in half a period, over the last marks.

    It is -inf where the controller doesn't feed the oscillation.
    """
    last = MARKS - 1
    first = MARKS - marks
    sizes = memory.mark_size[joint]
    halves = marks - 1
    newest = sizes[last] * sizes[last - 1]
    growth = math.log(newest / (sizes[first] * sizes[first + 1])) / (halves - 1)
    lasts = growth >= LASTS
    if memory.kind[0] == PATH:
        return growth if lasts else -math.inf
    before = max(first, last - 3)
    lately = math.log(newest / (sizes[before] * sizes[before + 1])) / (last - 1 - before)
    if memory.known[0] == 0.0:
        steady = min(growth, lately) >= GROWS
        if memory.kind[0] == ARM:
            steady = min(growth, lately) >= GROWS_BLINDLY and _is_regular(
                memory.mark_time[joint], first
            )
        return growth if steady else -math.inf
    span = memory.mark_time[joint, last] - memory.mark_time[joint, first]
    work = memory.mark_work[joint, last] - memory.mark_work[joint, first]
    motion = memory.mark_motion[joint, last] - memory.mark_motion[joint, first]
    load = memory.mark_load[joint, last] - memory.mark_load[joint, first]
    most = math.sqrt(load * motion)  # that the work can be
    if memory.kind[0] == DRIVEN_ARM:
        return growth if lasts and work >= BRAKED_BY_DRIVES * most else -math.inf
    inertial = memory.mark_inertial[joint, last] - memory.mark_inertial[joint, first]
    foreign = memory.mark_foreign[joint, last] - memory.mark_foreign[joint, first]
    whole = math.log(_mean_energy(memory, joint, last) / _mean_energy(memory, joint, first + 1)) / (
        halves - 1
    )
    paid = work * span / (motion * halves)
    if foreign > MOSTLY_FOREIGN**2 * inertial:
        return (
            min(growth, SLOW)
            if min(growth, lately, paid) >= GROWS and paid >= growth
            else -math.inf
        )
    if growth >= GROWS and paid >= PAID * max(whole, 0.5 * growth):
        return growth
    share = FOREIGN_FAST if growth >= FAST else FOREIGN
    makes = lasts and work >= BRAKED * most and foreign <= share**2 * inertial
    return growth if makes else -math.inf


@compiled
def _is_regular(times: Array, first: int) -> bool:
    """Return True where the half periods from a mark on are about equally long."""
    shortest = math.inf
    longest = 0.0
    for i in range(first, MARKS - 1):
        half = times[i + 1] - times[i]
        shortest = min(shortest, half)
        longest = max(longest, half)
    return longest <= REGULAR * shortest


@compiled
def _mean_energy(memory: Any, joint: int, mark: int) -> float:
    """Mean energy of the arm in the half period that ended with a mark."""
    span = memory.mark_time[joint, mark] - memory.mark_time[joint, mark - 1]
    return float((memory.mark_motion[joint, mark] - memory.mark_motion[joint, mark - 1]) / span)
