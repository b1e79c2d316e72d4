"""Soft limits under an effort law: walls and dampers of the joints, of the tip, and of
bodies that are near.
"""

from __future__ import annotations

import math
from collections import deque

import numpy as np
from numpy.typing import NDArray

from ..core.compiled import compiled
from ..core.record import Field, Record
from ..core.small_matrices import cholesky_into, solve_with_factor, times, transposed_times
from ..core.types import Array, RobotState, as_row
from ..robot.configuration import RobotConfig
from ..robot.differential_kinematics import RETREAT
from ..robot.model import RobotDynamics, RobotModel
from .clearance_guard import NEAR, ClearanceGuard

# s from a sample to the motor, that is taken for granted; an older sample counts with its age
DELAY = 0.002
HASTE = 1.2  # of 1/τ: rate of the dampers; a single one is stable up to π/2
SPEED = 0.65  # of the velocity limits: from there on nothing that the model knows drives a joint
# of the effort limits: what a wall holds at the position limit, the law's torque and a push
# together
HELD = 1.6
# rad before the position limits, where a wall ends: pushes and coupled joints overshoot by some
# mrad
MARGIN = 0.005
WIDEST = 0.1  # of a joint's range: a wall at each end
# Deceleration towards a position limit, of the effort limit over the largest inertia: half of what
# a push of 60 % of the effort limit leaves, as the dampers know of a push by its speed only, and
# late.
BRAKING = 0.2
POSTURES = 200  # from which the joints' inertias are estimated
TURNS = 4  # in which the dampers of all joints are found
QUIET = 0.3  # of the speed above: slower, and without much torque, there is nothing to do
SLOW = 0.1  # of it: slower, whatever the torque
SHOWN = 1.0  # s for which a warning stays
NOTHING = -1  # what soft_torque answers where no torque is added
# of the tip's speed limit: from there on nothing that the model knows drives the tip
TIP_SPEED = 0.9
# beyond which the arm is stopped: of the limits of speed; rad beyond a position limit
OVERSPEED = 1.1
OVERRUN = 0.01

MEMORY = Record(
    "SoftLimitsMemory",
    (
        Field("quiet_speed", ("n",), "rad/s", "Speed of each joint that counts as quiet."),
        Field("quiet_torque", ("n",), "N·m", "Torque beside gravity that does."),
        Field("middle", ("n",), "rad", "Middle of each joint's range."),
        Field("half", ("n",), "rad", "Way from there that is far from both limits."),
        Field("counts_gravity", (), "", "1 where the law's torque holds the arm."),
        Field(
            "slow",
            (),
            "rad²/s²",
            "Square of the speed of all joints below which the torque doesn't matter.",
        ),
        Field(
            "place",
            ("n",),
            "rad",
            "Joint angles where the joints were seen to be far from their limits.",
        ),
        Field(
            "room",
            (),
            "rad²",
            "Square of the way that they may go from there; below 0 where it isn't known.",
        ),
        Field("stiffness", ("n",), "N·m/rad", "Of the walls."),
        Field("zone", ("n",), "rad", "Width of each wall."),
        Field("lower", ("n",), "rad", "Joint angles at which walls begin."),
        Field("upper", ("n",), "rad", "The same at the other end."),
        Field("speed", ("n",), "rad/s", "Speed from which on nothing known drives a joint."),
        Field("braking", ("n",), "rad/s²", "Twice the deceleration towards a position limit."),
        Field(
            "whole", ("n",), "N·m·s²/rad²", "Damping per speed that takes a joint's whole torque."
        ),
        Field("effort", ("n",), "N·m", "Effort limits."),
        Field("tip_speed", (), "m/s", "Speed from which on nothing known drives the tip."),
    ),
)
_memory_at = MEMORY.views
_NO_PAIRS = np.zeros(0, dtype=np.int64), np.zeros((0, 0)), np.zeros(0), np.zeros(0)


class SoftLimits:
    """Keeps the joints off their position and velocity limits, by torques that are added to any
    effort law's.

    It keeps the tip's speed off its limit, too, and bodies of the arm off each other and the cell.

    Walls: a wall ends 5 mrad before a position limit, and begins `zone` before its end. In it act a
    spring V = k x²/2, where x is the way into the zone, and a damper. At its end the spring holds
    1.6 times the effort limit, where the robot's rate allows so stiff a spring.

    Dampers: at speed v > 0 (and alike for v < 0) a joint may accelerate by at most r (v_s - v),
    with r = 1.2 / τ. Here v_s is 0.65 of its velocity limit, less towards the middle of a wall:
    v_s² ≤ 2 a d. The model gives the acceleration by the law, the walls, gravity and the other
    joints. The excess is taken away by a damper -d(q, v, tau) v, with
    0 ≤ d ≤ r / (M⁻¹)_ii + τ_max v_s / (0.65 v_max)². At v_s it can take the law's whole torque
    τ_max.

    The tip has such a damper as well, at 0.9 of its speed limit. Along the unit vector u of its
    velocity, its inertia is 1 / (gᵀ M⁻¹ g), g = J_vᵀ u. The damper's force -d |v| u acts by -g d
    |v| on the joints.

    Two bodies that are near, see :class:`~.clearance_guard.ClearanceGuard`, have a damper and a
    wall along the gradient g of their distance. With the gap d they may approach each other by v_s²
    = 2 a d, where the motors can brake with 5 a. The wall V = k d²/2 begins at d = 0, with k = (r /
    2)² / (gᵀ M⁻¹ g) of the posture there.

    A joint may begin within its wall, or beyond the limit. Then the wall begins there, with no
    torque, and goes back to its place with 0.1 rad/s. So the joint is pushed back slowly. The
    wall's motion gives the arm the power of the spring's torque times 0.1 rad/s at most.

    Pushes are not known to the model: against them a joint's damper begins at v_s. q and v are
    medians of three samples, so that a single wrong one does nothing. τ is 2.5 periods, and 2 ms or
    the age of the sample. A damper on one inertia, whose torque is late by τ, is stable up to
    r = (π/2) / τ.

    Energy: the springs are the gradient of V, and all dampers only take power. Let the sum of all
    torques keep the effort limits. Then the arm's energy with ΣV never grows faster than it is fed
    by the law, by pushes, and by walls that move.

    Torques at their limits may not be enough. Then a joint or the tip is faster than 1.1 times its
    limit, or a joint is more than 0.01 rad beyond one. `overrun` says so until :meth:`release`.

    Far from all limits the torque is the law's, to the last bit.

    Source: J. E. Colgate, G. G. Schenkel, Passivity of a class of sampled-data systems, J. Robotic
    Systems 14(1), 1997 (walls and delay). The bound on speed that falls towards a position limit,
    and the bound on effort that falls with speed, are those of ros_control's joint_limits_interface
    and of URDF's safety_controller.

    Args:
        robot: Configuration of the robot.
        model: Model of the robot, with its limits.
        guard: Finds the bodies that are near; None looks for none.

    Attributes:
        guard: Guard that finds the bodies that are near, or None.
        torque: (n,) torque that was added last [N·m].
        acts: True where a torque was added last.
        stiffness: (n,) stiffness k of the walls [N·m/rad]; 0 where a joint has no position limits.
        zone: (n,) width of each wall [rad].
        overrun: The limit that is passed and can't be kept, in words; empty where all are kept.
    """

    def __init__(
        self, robot: RobotConfig, model: RobotModel, guard: ClearanceGuard | None = None
    ) -> None:
        self.guard = guard
        limits = model.limits
        self._joints = robot.joints
        self._limits = limits
        self._none = np.zeros(robot.n)
        self.torque = self._none
        self.acts = False
        self._fixed_delay = 2.5 * robot.period
        self._gravity_by_robot = robot.profile.gravity_by_robot
        least, most = _inertias(model)
        rate = self._rate(DELAY)
        bounded = np.isfinite(limits.lower) & np.isfinite(limits.upper)
        lower = np.where(bounded, limits.lower + MARGIN, -1.0)
        upper = np.where(bounded, limits.upper - MARGIN, 1.0)
        holds = HELD * limits.effort
        zone = np.minimum(holds / (least * (rate / 2.0) ** 2), WIDEST * (upper - lower))
        self.zone = np.where(bounded, zone, 0.0)
        self.stiffness = np.where(bounded, np.minimum(holds / zone, least * rate**2), 0.0)
        speed = SPEED * limits.velocity
        braking = 2.0 * BRAKING * limits.effort / most
        # where the walls begin
        self._lower = np.where(bounded, lower + self.zone, -np.inf)
        self._upper = np.where(bounded, upper - self.zone, np.inf)
        near = np.maximum(self.zone, speed**2 / braking)
        half = np.where(bounded, np.maximum((upper - lower) / 2.0 - near, 1e-3), np.inf)
        self.row, memory = MEMORY.single(robot.n)
        self._memory = memory
        memory["stiffness"] = self.stiffness
        memory["zone"] = self.zone
        memory["lower"] = self._lower
        memory["upper"] = self._upper
        memory["speed"] = speed
        memory["braking"] = braking
        memory["whole"] = limits.effort / speed**2
        memory["effort"] = limits.effort
        memory["quiet_speed"] = QUIET * speed
        memory["quiet_torque"] = (1.0 - QUIET) * rate * least * speed
        memory["middle"] = (upper + lower) / 2.0
        memory["half"] = half
        memory["counts_gravity"] = not self._gravity_by_robot
        memory["slow"] = (SLOW * float(speed.min())) ** 2
        memory["place"] = math.inf  # not seen yet
        self.set_tip_speed(robot.max_tip_speed)
        self._message = ""
        self._shown = -math.inf
        self._leant = -math.inf  # time at which a wall between bodies acted last
        self.overrun = ""
        self.reset()

    def set_tip_speed(self, limit: float) -> None:
        """Keep the tip's speed below a limit [m/s]; where it can't be kept, `overrun` says so."""
        self._tip_speed = limit
        self.brake_tip_at(limit)

    def brake_tip_at(self, limit: float, why: str = "limits.max_tip_speed") -> None:
        """Brake the tip before a limit [m/s], maybe below that of an overrun; `why` names it."""
        self._braked_at = limit
        self._braked_by = why
        self._memory["tip_speed"] = TIP_SPEED * limit

    def reset(self) -> None:
        """Forget the last samples: the walls begin where the next sample is."""
        self._samples: deque[RobotState] = deque(maxlen=3)  # the newest first
        self.torque = self._none
        self.acts = False
        if self.guard is not None:
            self.guard.restart()

    def release(self) -> None:
        """Forget the limit that was passed."""
        self.overrun = ""

    def remember(self, state: RobotState) -> None:
        """Take up a sample; call it for each."""
        if not self._samples:
            self._memory["lower"] = np.minimum(self._lower, state.q)
            self._memory["upper"] = np.maximum(self._upper, state.q)
            inside = (state.q >= self._lower) & (state.q <= self._upper)
            self._walls_move = not inside.all()
        elif self._walls_move:
            self._move_walls(RETREAT * max(state.time - self._samples[0].time, 0.0))
        self._samples.appendleft(state)

    def _move_walls(self, way: float) -> None:
        """Let the walls go towards their places by `way` [rad]."""
        lower = np.minimum(self._lower, self._memory["lower"] + way)
        upper = np.maximum(self._upper, self._memory["upper"] - way)
        self._memory["lower"] = lower
        self._memory["upper"] = upper
        self._walls_move = bool((lower < self._lower).any() or (upper > self._upper).any())

    def add(self, law: Array, state: RobotState, kin: RobotDynamics, clear: bool = False) -> Array:
        """The law's torques (n,) [N·m] with those of walls and dampers; `law` itself where there
        are none.

        Call it where :func:`is_clear` or the guard's `is_far` is False, and as long as
        :attr:`acts`, as a torque was added last. `clear` is the result of `is_clear`.
        """
        n = len(law)
        q = np.empty(n)
        v = np.empty(n)
        newest, second, third = self._samples if len(self._samples) == 3 else (state, state, state)
        median_into(as_row(newest.q), as_row(second.q), as_row(third.q), q)
        median_into(as_row(newest.v), as_row(second.v), as_row(third.v), v)
        near = 0
        approaches = False
        if self.guard is not None:
            near = self.guard.look(q)
            approaches = self.guard.approaching(v)
        if clear and not self.acts and not approaches:
            return law
        law_row = as_row(law)
        torque = np.empty(n)
        model = kin.model
        bias = model.bias(q, v) - (model.bias(q, self._none) if self._gravity_by_robot else 0.0)
        drift = model.jdot_v(q, v)
        rate = self._rate(state.age)
        number, gradient, gap, stiffness = _NO_PAIRS if self.guard is None else self.guard.pairs
        mass = as_row(model.mass(q))
        sample = law_row, q, v, mass, as_row(bias), kin.jacobian, as_row(drift)
        reason = soft_torque(
            self.row, *sample, number, gradient, gap, stiffness, near, rate, torque, n
        )
        if len(self._samples) == 3:
            self._look_for_overrun(q, v, tip_speed_of(kin.jacobian, v))
        if near > 0 and float(gap[:near].min()) <= 0.0:
            self._leant = state.time
        if reason == NOTHING:
            self.torque = self._none
            self.acts = False
            return law
        self.torque = torque
        self.acts = True
        self._message = self._described(reason, q)
        self._shown = state.time
        return np.asarray(law + torque)

    @property
    def active(self) -> NDArray[np.bool_]:
        """(n,) True where a torque was added last."""
        return np.asarray(self.torque != 0.0)

    def warning(self, time: float) -> str:
        """The limit that acted within the second before `time` [s], in words; else empty."""
        if 0.0 <= time - self._shown <= SHOWN:
            return self._message
        return "" if self.guard is None else self.guard.warning(time)

    def leans(self, time: float) -> bool:
        """Look whether a wall between two bodies acted within the last second before `time` [s]."""
        return 0.0 <= time - self._leant <= SHOWN

    def _rate(self, age: float) -> float:
        """Rate r [1/s] of the dampers, for samples of this age [s]."""
        return HASTE / (self._fixed_delay + max(age, DELAY))

    def _described(self, reason: int, q: Array) -> str:
        """Put the answer of :func:`soft_torque` at joint angles (n,) [rad] into words.

        The answer is twice a number, plus 1 where it brakes. The number is that of a joint, n for
        the tip, and beyond n that of a pair of bodies that come near each other.
        """
        joint, brakes = divmod(reason, 2)
        if joint > len(self._joints) and self.guard is not None:
            return self.guard.described(joint - len(self._joints) - 1)
        if joint == len(self._joints):
            return f"the tip is braked: its speed limit is {self._braked_at:.3g} m/s ({self._braked_by})"
        name = self._joints[joint]
        limits = self._limits
        unit = limits.unit(joint)
        if brakes:
            limit = limits.velocity[joint]
            return f"{name} is braked: its velocity limit is {limit:.3g} {unit.velocity}"
        limit = (limits.upper if q[joint] > self._upper[joint] else limits.lower)[joint]
        return f"{name} is pushed back: its position limit is {limit:.3g} {unit.position}"

    def _look_for_overrun(self, q: Array, v: Array, tip_speed: float) -> None:
        """Set `overrun` where a limit is passed.

        Args:
            q: Joint angles (n,) [rad].
            v: Joint velocities (n,) [rad/s].
            tip_speed: Speed of the tip [m/s].
        """
        if self.overrun:
            return
        limits = self._limits
        end = self.zone + MARGIN + OVERRUN
        beyond = np.maximum(self._memory["lower"] - end - q, q - self._memory["upper"] - end)
        excess = np.abs(v) - OVERSPEED * limits.velocity
        joint = int(excess.argmax())
        if excess[joint] > 0.0:
            unit = limits.unit(joint).velocity
            speed = f"{self._joints[joint]} moves at {abs(v[joint]):.3g} {unit}"
            self.overrun = (
                f"{speed}: must be at most {limits.velocity[joint]:.3g} {unit}, its velocity limit"
            )
        elif tip_speed > OVERSPEED * self._tip_speed:
            bound = f"must be at most {self._tip_speed:.3g} m/s (limits.max_tip_speed)"
            self.overrun = f"the tip moves at {tip_speed:.3g} m/s: {bound}"
        elif beyond.max() > 0.0:
            joint = int(beyond.argmax())
            unit = limits.unit(joint).position
            ends = f"{limits.lower[joint]:.3g} and {limits.upper[joint]:.3g}"
            bound = f"must be within {ends} {unit}, its position limits"
            self.overrun = f"{self._joints[joint]} is at {q[joint]:.3f} {unit}: {bound}"


@compiled
def soft_torque(
    row: Array,
    law: Array,
    q: Array,
    v: Array,
    mass: Array,
    bias: Array,
    jacobian: Array,
    drift: Array,
    number: NDArray[np.int64],
    gradient: Array,
    gap: Array,
    stiffness: Array,
    near: int,
    rate: float,
    torque: Array,
    n: int,
) -> int:
    """Compute the torques of walls and dampers; see :class:`SoftLimits`.

    A joint's damper acts on the other joints, too. The dampers of the tip and of near bodies act on
    all joints. So the dampers are found in turns (projected Gauss-Seidel).

    Args:
        row: Memory of the soft limits.
        law: Torques (n,) of the law [N·m].
        q, v: Medians (n,) of the samples' joint positions and velocities [rad, rad/s].
        mass: (n, n) mass matrix M(q) [kg·m²].
        bias: (n,) torques C q̇ + g [N·m]; without g where the robot compensates gravity itself.
        jacobian: (6, n) Jacobian of the tip in the base.
        drift: (6,) acceleration J̇ q̇ of the tip.
        number: (16,) numbers of the pairs that are near.
        gradient: (16, n) change of their distance with each joint [m/rad].
        gap: (16,) distance of the bodies of each pair, less their margin [m].
        stiffness: (p,) stiffness of all walls between bodies [N/m]; 0 becomes that of a wall where
            it begins.
        near: Number of near pairs.
        rate: Rate r of the dampers [1/s].
        torque: Result, the torques (n,) of walls and dampers [N·m].
        n: Number of joints.

    Returns:
        The cause of the largest torque, in parts of the effort limit; NOTHING where there is none.
        For a joint it is twice the joint's number, and one more where the joint is braked rather
        than pushed back. For the tip's damper it is twice n. For row i of the near pairs it is 2 (n
        + 1 + i).
    """
    memory = _memory_at(row, n)
    inverse = np.zeros((n, n))
    lower = np.empty((n, n))
    if not cholesky_into(mass, lower):
        torque[:] = 0.0
        return NOTHING
    for joint in range(n):
        inverse[joint, joint] = 1.0
    solve_with_factor(lower, inverse)
    walls = np.zeros(n)
    driven = np.empty(n)
    for joint in range(n):
        into = min(q[joint] - memory.lower[joint], 0.0) + max(q[joint] - memory.upper[joint], 0.0)
        if into != 0.0:
            walls[joint] = (
                -memory.stiffness[joint] * into - 0.5 * rate / inverse[joint, joint] * v[joint]
            )
        driven[joint] = law[joint] + walls[joint] - bias[joint]
    pair_moved = np.empty((near, n))  # M⁻¹ g
    pair_inverse = np.empty(near)
    pair_allowed = np.empty(near)
    pair_most = np.empty(near)
    pair_wall = np.zeros(near)
    pair_taken = np.zeros(near)
    for row_of in range(near):
        slope = gradient[row_of]
        times(inverse, slope, pair_moved[row_of])
        whole = 0.0
        apart = 0.0
        pair_inverse[row_of] = 0.0
        for joint in range(n):
            pair_inverse[row_of] += slope[joint] * pair_moved[row_of, joint]
            whole += abs(pair_moved[row_of, joint]) * memory.effort[joint]
            apart += slope[joint] * v[joint]
        if not pair_inverse[row_of] > 0.0:
            pair_most[row_of] = 0.0
            continue
        braking = 2.0 * BRAKING * whole
        speed = math.sqrt(braking * max(gap[row_of], 0.0))
        closing = math.sqrt(braking * NEAR)
        pair_allowed[row_of] = rate * (speed + apart)
        pair_most[row_of] = (
            (rate + whole * speed / closing**2) / pair_inverse[row_of] * max(-apart, 0.0)
        )
        if gap[row_of] < 0.0:
            pair = int(number[row_of])
            if stiffness[pair] == 0.0:
                stiffness[pair] = (rate / 2.0) ** 2 / pair_inverse[row_of]
            pair_wall[row_of] = (
                -stiffness[pair] * gap[row_of] - 0.5 * rate / pair_inverse[row_of] * apart
            )
            for joint in range(n):
                driven[joint] += slope[joint] * pair_wall[row_of]
    acceleration = np.empty(n)
    times(inverse, driven, acceleration)
    sign = np.sign(v)
    allowed = np.empty(n)
    most = np.empty(n)
    taken = np.zeros(n)
    for joint in range(n):
        size = abs(v[joint])
        way = memory.upper[joint] - q[joint] if v[joint] > 0.0 else q[joint] - memory.lower[joint]
        ahead = way + memory.zone[joint] / 2.0
        speed = min(math.sqrt(max(memory.braking[joint] * ahead, 0.0)), memory.speed[joint])
        allowed[joint] = rate * (speed - size)
        most[joint] = (rate / inverse[joint, joint] + memory.whole[joint] * speed) * size
    tip = np.zeros(n)  # g
    tip_speed = tip_speed_of(jacobian, v)
    tip_drift = 0.0
    tip_inverse = 0.0
    tip_most = 0.0
    tip_taken = 0.0
    tip_allowed = rate * (memory.tip_speed[0] - tip_speed)
    moved = np.empty(n)  # M⁻¹ g
    if tip_speed > 0.0:
        along = np.empty(6)  # u
        times(jacobian, v, along)
        along[3:] = 0.0
        along /= tip_speed
        transposed_times(jacobian, along, tip)
        for axis in range(3):
            tip_drift += along[axis] * drift[axis]
        times(inverse, tip, moved)
        whole = 0.0
        for joint in range(n):
            tip_inverse += tip[joint] * moved[joint]
            whole += abs(moved[joint]) * memory.effort[joint]
        tip_most = (
            (rate + whole / memory.tip_speed[0]) / tip_inverse * tip_speed
            if tip_inverse > 0.0
            else 0.0
        )
    for _ in range(TURNS):
        for joint in range(n):
            gain = sign[joint] * acceleration[joint]
            if gain <= allowed[joint] and taken[joint] == 0.0:
                continue
            wanted = taken[joint] + (gain - allowed[joint]) / inverse[joint, joint]
            wanted = min(max(wanted, 0.0), most[joint])
            for other in range(n):
                acceleration[other] -= inverse[other, joint] * sign[joint] * (wanted - taken[joint])
            taken[joint] = wanted
        if tip_most > 0.0:
            gain = tip_drift
            for joint in range(n):
                gain += tip[joint] * acceleration[joint]
            wanted = min(max(tip_taken + (gain - tip_allowed) / tip_inverse, 0.0), tip_most)
            for joint in range(n):
                acceleration[joint] -= moved[joint] * (wanted - tip_taken)
            tip_taken = wanted
        for row_of in range(near):
            if pair_most[row_of] == 0.0:
                continue
            gain = 0.0
            for joint in range(n):
                gain -= gradient[row_of, joint] * acceleration[joint]
            wanted = pair_taken[row_of] + (gain - pair_allowed[row_of]) / pair_inverse[row_of]
            wanted = min(max(wanted, 0.0), pair_most[row_of])
            for joint in range(n):
                acceleration[joint] += pair_moved[row_of, joint] * (wanted - pair_taken[row_of])
            pair_taken[row_of] = wanted
    found = NOTHING
    largest = 0.0
    for joint in range(n):
        own = walls[joint] - sign[joint] * taken[joint]
        of_tip = -tip[joint] * tip_taken
        torque[joint] = own + of_tip
        if abs(own) > largest * memory.effort[joint]:
            largest = abs(own) / memory.effort[joint]
            found = 2 * joint + int(taken[joint] > abs(walls[joint]))
        if abs(of_tip) > largest * memory.effort[joint]:
            largest = abs(of_tip) / memory.effort[joint]
            found = 2 * n
        for row_of in range(near):
            of_pair = gradient[row_of, joint] * (pair_wall[row_of] + pair_taken[row_of])
            torque[joint] += of_pair
            if abs(of_pair) > largest * memory.effort[joint]:
                largest = abs(of_pair) / memory.effort[joint]
                found = 2 * (n + 1 + row_of)
    return found


@compiled
def tip_speed_of(jacobian: Array, v: Array) -> float:
    """Speed of the tip [m/s], by its Jacobian (6, n) and the velocities of the
    joints (n,) [rad/s].
    """
    square = 0.0
    for axis in range(3):
        velocity = 0.0
        for joint in range(len(v)):
            velocity += jacobian[axis, joint] * v[joint]
        square += velocity * velocity
    return math.sqrt(square)


@compiled
def is_clear(
    row: Array, law: Array, q: Array, v: Array, jacobian: Array, gravity: Array, age: float, n: int
) -> bool:
    """Return True where walls and dampers have nothing to do: the usual case.

    The tip must be slow. Besides, one of two things is enough. The joints are very slow, and near a
    place that was found to be far from their limits. Or the sample is fresh, and the joints are
    slow, driven little, and away from their position limits.

    Args:
        row: Memory of the soft limits.
        law: Torques (n,) of the law [N·m].
        q, v, gravity: Joint positions, velocities and gravity torques (n,) of the sample [rad,
            rad/s, N·m].
        jacobian: (6, n) Jacobian of the tip in the base.
        age: Age of the sample [s].
        n: Number of joints.
    """
    memory = _memory_at(row, n)
    if tip_speed_of(jacobian, v) > QUIET * memory.tip_speed[0]:
        return False
    squares = 0.0
    way = 0.0
    for joint in range(n):
        squares += v[joint] * v[joint]
        way += (q[joint] - memory.place[joint]) ** 2
    if squares < memory.slow[0]:
        if memory.room[0] < 0.0:
            nearest = math.inf
            for joint in range(n):
                nearest = min(
                    nearest, memory.half[joint] - abs(memory.place[joint] - memory.middle[joint])
                )
            memory.room[0] = nearest * nearest
        if way < memory.room[0]:
            return True
    if age > DELAY:
        return False
    total = 0.0
    for joint in range(n):
        drive = law[joint] - memory.counts_gravity[0] * gravity[joint]
        total += (v[joint] / memory.quiet_speed[joint]) ** 4
        total += (drive / memory.quiet_torque[joint]) ** 4
        total += ((q[joint] - memory.middle[joint]) / memory.half[joint]) ** 4
    if not total < 1.0:  # below, each share is
        return False
    memory.place[:] = q
    memory.room[0] = -1.0
    return True


@compiled
def median_into(a: Array, b: Array, c: Array, result: Array) -> None:
    """Write the median (n,) of three samples, so that a single wrong one does nothing."""
    for i in range(len(a)):
        result[i] = max(min(a[i], b[i]), min(max(a[i], b[i]), c[i]))


def _inertias(model: RobotModel) -> tuple[Array, Array]:
    """Estimate the inertias of the joints over many postures.

    Returns:
        The least inertia (n,) of each joint while the others are free, and the largest (n,) while
        the others are held.
    """
    lower = np.maximum(model.limits.lower, -math.pi)
    upper = np.minimum(model.limits.upper, math.pi)
    shares = np.array(
        [np.random.default_rng(list(name.encode())).random(POSTURES) for name in model.joints]
    ).T
    masses = np.array([model.mass(q) for q in lower + shares * (upper - lower)])
    free = 1.0 / np.diagonal(np.linalg.inv(masses), axis1=1, axis2=2)
    return free.min(axis=0), np.diagonal(masses, axis1=1, axis2=2).max(axis=0)
