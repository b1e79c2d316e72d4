"""Soft limits of the joints under an effort law: position walls and velocity dampers."""

from __future__ import annotations

import math
from collections import deque

import numpy as np
from numpy.typing import NDArray

from ..core.compiled import compiled
from ..core.record import Field, Record
from ..core.small_matrices import cholesky_into, solve_with_factor, times
from ..core.types import Array, RobotState, as_row
from ..robot.configuration import RobotConfig
from ..robot.model import RobotDynamics, RobotModel

DELAY = 0.002  # s from a sample to the motor, that is taken for granted; an older sample counts with its age
HASTE = 1.2  # of 1/τ: rate of the dampers; a single one is stable up to π/2
SPEED = 0.65  # of the velocity limits: from there on nothing that the model knows drives a joint
HELD = 1.6  # of the effort limits: what a wall holds at the position limit, the law's torque and a push together
MARGIN = 0.005  # rad before the position limits, where a wall ends: pushes and coupled joints overshoot by some mrad
WIDEST = 0.1  # of a joint's range: a wall at each end
# Deceleration towards a position limit, of the effort limit over the largest inertia: half of what a push of 60 % of
# the effort limit leaves, as the dampers know of a push by its speed only, and late.
BRAKING = 0.2
POSTURES = 200  # from which the joints' inertias are estimated
TURNS = 4  # in which the dampers of all joints are found
QUIET = 0.3  # of the speed above: slower, and without much torque, there is nothing to do
SLOW = 0.1  # of it: slower, whatever the torque
SHOWN = 1.0  # s for which a warning stays
NOTHING = -1  # what soft_torque answers where no torque is added

MEMORY = Record(
    "SoftLimitsMemory",
    (
        Field("quiet_speed", ("n",), "rad/s", "Speed of each joint that counts as quiet."),
        Field("quiet_torque", ("n",), "N·m", "Torque beside gravity that does."),
        Field("middle", ("n",), "rad", "Middle of each joint's range."),
        Field("half", ("n",), "rad", "Way from there that is far from both limits."),
        Field("counts_gravity", (), "", "1 where the law's torque holds the arm."),
        Field("slow", (), "rad²/s²", "Square of the speed of all joints below which the torque doesn't matter."),
        Field("place", ("n",), "rad", "Joint angles where the joints were seen to be far from their limits."),
        Field("room", (), "rad²", "Square of the way that they may go from there; below 0 where it isn't known."),
        Field("stiffness", ("n",), "N·m/rad", "Of the walls."),
        Field("zone", ("n",), "rad", "Width of each wall."),
        Field("lower", ("n",), "rad", "Joint angles at which walls begin."),
        Field("upper", ("n",), "rad", "The same at the other end."),
        Field("speed", ("n",), "rad/s", "Speed from which on nothing known drives a joint."),
        Field("braking", ("n",), "rad/s²", "Twice the deceleration towards a position limit."),
        Field("whole", ("n",), "N·m·s²/rad²", "Damping per speed that takes a joint's whole torque."),
        Field("effort", ("n",), "N·m", "Effort limits."),
    ),
)
_memory_at = MEMORY.views


class SoftLimits:
    """Keeps the joints off their position and velocity limits, by torques that are added to any effort law's.

    Walls: within `zone` of a position limit, less 5 mrad, a spring V = k x²/2, x the way into the zone, and a damper.
    There the spring holds 1.6 times the effort limit, where the robot's rate allows so stiff a spring.

    Dampers: at speed v > 0 (and alike for v < 0) a joint may gain speed by at most r (v_s - v), r = 1.2 / τ. v_s is
    0.65 of its velocity limit, less towards the middle of a wall: v_s² ≤ 2 a d. The model says what law, walls,
    gravity and the other joints give it. What is too much is taken away, by a damper -d(q, v, tau) v, with
    0 ≤ d ≤ r / (M⁻¹)_ii + τ_max v_s / (0.65 v_max)²: at v_s it can take the law's whole torque τ_max.

    Pushes are not known to it: against them a joint's damper begins at v_s. q and v are medians of three samples, so
    that a single wrong one does nothing. τ is 2.5 periods, and 2 ms or the age of the sample. A damper on one inertia,
    whose torque is late by τ, is stable up to r = (π/2) / τ.

    Energy: the springs are the gradient of V, and all dampers only take power. So the arm's energy with ΣV never grows
    faster than law and pushes feed it, as long as the sum keeps the effort limits.

    Far from all limits the torque is the law's, to the last bit.

    Source: J. E. Colgate, G. G. Schenkel, Passivity of a class of sampled-data systems, J. Robotic Systems 14(1), 1997
    (walls and delay). The bound on speed that falls towards a position limit, and the bound on effort that falls with
    speed, are those of ros_control's joint_limits_interface and of URDF's safety_controller.

    Args:
        robot: its configuration.
        model: of the robot, with its limits.

    Attributes:
        torque: (n,) what was added last [N·m].
        stiffness: (n,) k of the walls [N·m/rad]; 0 where a joint has no position limits.
        zone: (n,) width of each wall [rad].
    """

    def __init__(self, robot: RobotConfig, model: RobotModel) -> None:
        limits = model.limits
        self._joints = robot.joints
        self._limits = limits
        self._none = self.torque = np.zeros(robot.n)
        self._fixed_delay = 2.5 * robot.period
        self._gravity_by_robot = robot.profile.gravity_by_robot
        self.reset()
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
        self._upper = np.where(bounded, upper - self.zone, np.inf)
        near = np.maximum(self.zone, speed**2 / braking)
        half = np.where(bounded, np.maximum((upper - lower) / 2.0 - near, 1e-3), np.inf)
        self.row, memory = MEMORY.single(robot.n)
        memory["stiffness"] = self.stiffness
        memory["zone"] = self.zone
        memory["lower"] = np.where(bounded, lower + self.zone, -np.inf)
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
        self._joint = 0
        self._kind = ""
        self._shown = -math.inf

    def reset(self) -> None:
        """Forget the last samples."""
        self._samples: deque[RobotState] = deque(maxlen=3)  # the newest first
        self.torque = self._none

    def remember(self, state: RobotState) -> None:
        """Take up a sample; call it for each."""
        self._samples.appendleft(state)

    def add(self, law: Array, state: RobotState, kin: RobotDynamics) -> Array:
        """The law's torques (n,) [N·m] with those of walls and dampers; `law` itself where there are none.

        Call it where :func:`is_clear` says no, and as long as :attr:`acts` says that a torque was added last.
        """
        law_row = as_row(law)
        age = state.age
        n = len(law)
        model = kin.model
        q = np.empty(n)
        v = np.empty(n)
        torque = np.empty(n)
        newest, second, third = self._samples if len(self._samples) == 3 else (state, state, state)
        median_into(as_row(newest.q), as_row(second.q), as_row(third.q), q)
        median_into(as_row(newest.v), as_row(second.v), as_row(third.v), v)
        bias = model.bias(q, v) - (model.bias(q, self._none) if self._gravity_by_robot else 0.0)
        rate = self._rate(age)
        reason = soft_torque(self.row, law_row, q, v, as_row(model.mass(q)), as_row(bias), rate, torque, n)
        if reason == NOTHING:
            self.torque = self._none
            return law
        self.torque = torque
        self._keep_reason(reason, q, state.time)
        return np.asarray(law + torque)

    @property
    def acts(self) -> bool:
        """Whether a torque was added last."""
        return self.torque is not self._none

    @property
    def active(self) -> NDArray[np.bool_]:
        """(n,) True where a torque was added last."""
        return np.asarray(self.torque != 0.0)

    def warning(self, time: float) -> str:
        """Which joint was kept off which limit within the last second before `time` [s]; empty where none was."""
        if not 0.0 <= time - self._shown <= SHOWN:
            return ""
        name = self._joints[self._joint]
        limits = self._limits
        if self._kind == "velocity":
            return f"{name} is braked: its velocity limit is {limits.velocity[self._joint]:.3g} rad/s"
        limit = (limits.upper if self._kind == "upper" else limits.lower)[self._joint]
        return f"{name} is pushed back: its position limit is {limit:.3g} rad"

    def _rate(self, age: float) -> float:
        """Rate r [1/s] of the dampers, for samples of this age [s]."""
        return HASTE / (self._fixed_delay + max(age, DELAY))

    def _keep_reason(self, reason: int, q: Array, time: float) -> None:
        self._joint, brakes = divmod(reason, 2)
        self._shown = time
        self._kind = "velocity" if brakes else "upper" if q[self._joint] > self._upper[self._joint] else "lower"


@compiled
def soft_torque(
    row: Array, law: Array, q: Array, v: Array, mass: Array, bias: Array, rate: float, torque: Array, n: int
) -> int:
    """The torques of walls and dampers; see :class:`SoftLimits`.

    A joint's damper acts on the others, too, so they are found in turns (projected Gauss-Seidel).

    Args:
        row: memory of the soft limits.
        law: the law's torques (n,) [N·m].
        q, v: medians of the samples, (n,) [rad, rad/s].
        mass, bias: (n, n) and (n,), without gravity where the robot holds itself.
        rate: r of the dampers [1/s].
        torque: result (n,) [N·m].
        n: number of joints.

    Returns:
        NOTHING, or twice the number of the joint with the largest torque, and one more where it is braked rather than
        pushed back.
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
            walls[joint] = -memory.stiffness[joint] * into - 0.5 * rate / inverse[joint, joint] * v[joint]
        driven[joint] = law[joint] + walls[joint] - bias[joint]
    gain = np.empty(n)
    times(inverse, driven, gain)
    sign = np.sign(v)
    allowed = np.empty(n)
    most = np.empty(n)
    taken = np.zeros(n)
    for joint in range(n):
        size = abs(v[joint])
        way = memory.upper[joint] - q[joint] if v[joint] > 0.0 else q[joint] - memory.lower[joint]
        ahead = way + memory.zone[joint] / 2.0
        speed = min(math.sqrt(max(memory.braking[joint] * ahead, 0.0)), memory.speed[joint])
        gain[joint] *= sign[joint]
        allowed[joint] = rate * (speed - size)
        most[joint] = (rate / inverse[joint, joint] + memory.whole[joint] * speed) * size
    for _ in range(TURNS):
        acts = (gain > allowed) | (taken > 0.0)
        for joint in range(n):
            if not acts[joint]:
                continue
            wanted = taken[joint] + (gain[joint] - allowed[joint]) / inverse[joint, joint]
            wanted = min(max(wanted, 0.0), most[joint])
            for other in range(n):
                gain[other] -= sign[other] * inverse[other, joint] * sign[joint] * (wanted - taken[joint])
            taken[joint] = wanted
    found = NOTHING
    largest = 0.0
    for joint in range(n):
        torque[joint] = walls[joint] - sign[joint] * taken[joint]
        share = abs(torque[joint]) / memory.effort[joint]
        if share > largest:
            largest = share
            found = 2 * joint + int(taken[joint] > abs(walls[joint]))
    return found


@compiled
def is_clear(row: Array, law: Array, q: Array, v: Array, gravity: Array, age: float, n: int) -> bool:
    """Whether walls and dampers have nothing to do: the usual case.

    That is where the joints are slow, and not nearer to their limits than where they were seen to be far; or where they
    are slow, driven little, and away from their position limits.

    Args:
        row: memory of the soft limits.
        law: the law's torques (n,) [N·m].
        q, v, gravity: of the sample, (n,) [rad, rad/s, N·m].
        age: of the sample [s].
        n: number of joints.
    """
    memory = _memory_at(row, n)
    squares = 0.0
    way = 0.0
    for joint in range(n):
        squares += v[joint] * v[joint]
        way += (q[joint] - memory.place[joint]) ** 2
    if squares < memory.slow[0]:
        if memory.room[0] < 0.0:
            nearest = math.inf
            for joint in range(n):
                nearest = min(nearest, memory.half[joint] - abs(memory.place[joint] - memory.middle[joint]))
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
    """The median (n,) of three samples, so that a single wrong one does nothing."""
    for i in range(len(a)):
        result[i] = max(min(a[i], b[i]), min(max(a[i], b[i]), c[i]))


def _inertias(model: RobotModel) -> tuple[Array, Array]:
    """The least inertia of each joint, the others free, and the largest, the others held (n,), over many postures."""
    lower = np.maximum(model.limits.lower, -math.pi)
    upper = np.minimum(model.limits.upper, math.pi)
    shares = np.array([np.random.default_rng(list(name.encode())).random(POSTURES) for name in model.joints]).T
    masses = np.array([model.mass(q) for q in lower + shares * (upper - lower)])
    free = 1.0 / np.diagonal(np.linalg.inv(masses), axis1=1, axis2=2)
    return free.min(axis=0), np.diagonal(masses, axis1=1, axis2=2).max(axis=0)
