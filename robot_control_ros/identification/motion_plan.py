"""The motion that identifies an arm: slow strokes of each joint, to and fro,
and small quick steps.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from ..core.errors import HardwareFault, refused, unknown
from ..core.types import Array
from ..references.joint import JointPath
from ..references.workspace import Workspace
from ..robot.configuration import RobotConfig
from ..robot.model import RobotModel

MARGIN = 0.15  # rad, by which a soft joint may leave its reference
SPEEDS = (0.3, 0.6, 1.0)  # of the strokes, as fractions of the speed
SLOW = 1.0  # rad/s², the acceleration of strokes
STEPS = 6  # quick steps per joint
EFFORT = 0.15  # fraction of the effort limits that a quick step may need
QUICK = 8.0  # rad/s², the largest acceleration of quick steps
REST = 3.0  # s at rest at the beginning
PAUSE = 0.4  # s at rest between two motions
_CHECKED = 5  # postures of each stroke


@dataclass(frozen=True)
class MotionBounds:
    """What the user allows.

    Attributes:
        amplitude: Amplitude of each joint's strokes, about its start [rad].
        speed: Speed of the fastest stroke [rad/s].
        joints: Names of the joints that move; all where empty.
    """

    amplitude: float = 0.25
    speed: float = 0.4
    joints: Sequence[str] = ()


@dataclass(frozen=True)
class Stroke:
    """A part of the motion in which one joint's reference has constant speed.

    Attributes:
        joint: Number of the joint.
        velocity: Velocity of the reference [rad/s].
        start, end: Times after the motion's start [s].
    """

    joint: int
    velocity: float
    start: float
    end: float


@dataclass(frozen=True, eq=False)
class MotionPlan:
    """A motion, and the bounds that it keeps.

    Attributes:
        q0: (n,) Joint angles where the motion starts and ends [rad].
        times, positions, velocities: Knots of the reference: (k,) [s], (k, n) [rad], (k, n)
            [rad/s].
        strokes: Parts of constant speed.
        lower, upper: (n,) Bounds of the joint angles [rad].
        speed: (n,) Bounds of the joint speeds [rad/s].
        acceleration: (n,) Largest accelerations of the reference [rad/s²].
        duration: Duration of the motion [s].
    """

    q0: Array
    times: Array
    positions: Array
    velocities: Array
    strokes: tuple[Stroke, ...]
    lower: Array
    upper: Array
    speed: Array
    acceleration: Array

    @property
    def duration(self) -> float:
        return float(self.times[-1])

    def path(self, model: RobotModel, start: float) -> JointPath:
        """The reference that begins at a time [s]."""
        limits = np.full(model.n, np.inf)
        return JointPath(model, self.q0, self.times, self.positions, self.velocities, start, limits)

    def left(self, q: Array, v: Array) -> str:
        """Words for the bound that joint angles and velocities (n,) leave; empty
        where they keep all.
        """
        beyond = np.maximum(q - self.upper, self.lower - q)
        if beyond.max() > 0.0:
            joint = int(beyond.argmax())
            return f"joint {joint + 1} at {q[joint]:.3f} rad: {self.lower[joint]:.3f} to {self.upper[joint]:.3f} rad"
        fast = np.abs(v) - self.speed
        if fast.max() > 0.0:
            joint = int(fast.argmax())
            return (
                f"joint {joint + 1} at {v[joint]:.3f} rad/s: at most {self.speed[joint]:.3f} rad/s"
            )
        return ""

    def check_followed(self, joints: Sequence[str], times: Array, q: Array) -> None:
        """Refuse joint angles (k, n) at times (k,) [s] after the start that didn't follow the
        motion.

        Raises:
            HardwareFault: A joint was more than 0.15 rad from its reference; names it.
        """
        for name, angles, track in zip(joints, q.T, self.positions.T, strict=True):
            error = float(np.abs(angles - np.interp(times, self.times, track)).max())
            if error > MARGIN:
                text = (
                    f"{name} was {error:.3f} rad from the motion, at most {MARGIN:g} rad: "
                    "did something else lead it?"
                )
                raise HardwareFault(text, name=name, value=error, bound=MARGIN)

    def describe(self, joints: Sequence[str]) -> str:
        """The bounds, a line per joint, for people."""
        lines = [f"{self.duration:.0f} s"]
        for name, *row in zip(
            joints, self.lower, self.upper, self.speed, self.acceleration, strict=True
        ):
            lines.append("{}: {:.3f} to {:.3f} rad, {:.2f} rad/s, {:.1f} rad/s²".format(name, *row))
        return "\n".join(lines)


def plan_motion(
    robot: RobotConfig, model: RobotModel, q0: Array, bounds: MotionBounds | None = None
) -> MotionPlan:
    """Plan the motion about a posture.

    Args:
        robot: Configuration of the robot, in whose workspace the tip stays.
        model: Model of the robot.
        q0: (n,) Present joint angles [rad].
        bounds: Bounds that the user allows; None takes the usual ones.

    Raises:
        ConfigError: A joint is unknown, a stroke is too short for the speed, or limits and
            workspace leave no room.
    """
    if bounds is None:
        bounds = MotionBounds()
    names = list(bounds.joints) or list(robot.joints)
    for name in names:
        if name not in robot.joints:
            raise unknown("joint", name, robot.joints)
    moving = np.array([name in names for name in robot.joints])
    _check_stroke(bounds, model, moving)
    reach = np.where(moving, bounds.amplitude, 0.0) + MARGIN
    lower = q0 - reach
    upper = q0 + reach
    model.limits.check(robot.joints, lower, "identification: least angle of ")
    model.limits.check(robot.joints, upper, "identification: largest angle of ")
    _check_workspace(robot, model, q0, bounds.amplitude * moving)
    quick = np.minimum(QUICK, EFFORT * model.limits.effort / model.mass(q0).diagonal())
    knots = _Knots(q0)
    knots.wait(REST)
    for joint in np.flatnonzero(moving).tolist():
        _joint(knots, joint, bounds, float(quick[joint]))
    acceleration = np.where(moving, np.maximum(quick, SLOW), 0.0)
    # a stuck joint comes loose faster than its reference moves; the trip is three times the fastest
    # reference
    speed = np.minimum(3.0 * bounds.speed, model.limits.velocity)
    return MotionPlan(
        q0=q0,
        times=np.array(knots.times),
        positions=np.array(knots.positions),
        velocities=np.array(knots.velocities),
        strokes=tuple(knots.strokes),
        lower=lower,
        upper=upper,
        speed=speed,
        acceleration=acceleration,
    )


def _check_stroke(bounds: MotionBounds, model: RobotModel, moving: Array) -> None:
    fastest = float(model.limits.velocity[moving].min()) / 3.0
    if not 0.0 < bounds.speed <= fastest:
        raise refused(
            "speed",
            bounds.speed,
            f"must be above 0, at most {fastest:g} rad/s",
            fastest,
            unit="rad/s",
        )
    least = bounds.speed**2 / SLOW + bounds.speed / 2.0
    if not 2.0 * bounds.amplitude >= least:
        rule = f"must be at least {least / 2.0:g} rad for {bounds.speed:g} rad/s"
        raise refused("amplitude", bounds.amplitude, rule, least / 2.0, unit="rad")


def _check_workspace(robot: RobotConfig, model: RobotModel, q0: Array, amplitude: Array) -> None:
    workspace = Workspace(robot.profile.workspace)
    for joint in np.flatnonzero(amplitude).tolist():
        for fraction in np.linspace(-1.0, 1.0, _CHECKED):
            q = q0.copy()
            q[joint] += fraction * amplitude[joint]
            workspace.check(model.at(q).pose[:3, 3])


def _joint(knots: _Knots, joint: int, bounds: MotionBounds, quick: float) -> None:
    """Strokes of one joint at each speed, then quick steps."""
    speeds = [fraction * bounds.speed for fraction in SPEEDS]
    knots.move(joint, -bounds.amplitude, bounds.speed, SLOW)
    for speed in speeds:
        for direction in (1.0, -1.0):
            knots.move(joint, direction * 2.0 * bounds.amplitude, speed, SLOW, stroke=True)
    knots.move(joint, bounds.amplitude, bounds.speed, SLOW)
    size = bounds.speed**2 / quick  # a step that reaches the speed, and brakes
    for step in range(STEPS):
        knots.move(joint, size if step % 2 == 0 else -size, bounds.speed, quick)


@dataclass
class _Knots:
    """Knots of the reference; parabolas and lines are exact on the cubics between them."""

    q0: Array
    times: list[float] = field(default_factory=lambda: [0.0])
    positions: list[Array] = field(default_factory=list)
    velocities: list[Array] = field(default_factory=list)
    strokes: list[Stroke] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.positions.append(self.q0)
        self.velocities.append(np.zeros_like(self.q0))

    def wait(self, duration: float) -> None:
        self._append_segment(duration, 0, 0.0, 0.0)

    def move(
        self, joint: int, way: float, speed: float, acceleration: float, stroke: bool = False
    ) -> None:
        """Move a joint by a signed way [rad] with a trapezoid of speed, then pause."""
        v = np.sign(way) * min(speed, np.sqrt(abs(way) * acceleration))
        ramp = abs(v) / acceleration
        cruise = abs(way / v) - ramp
        self._append_segment(ramp, joint, v * ramp / 2.0, v)
        if cruise > 1e-9:
            begin = self.times[-1]
            self._append_segment(cruise, joint, v * cruise, v)
            if stroke:
                self.strokes.append(Stroke(joint, float(v), begin, self.times[-1]))
        self._append_segment(ramp, joint, v * ramp / 2.0, 0.0)
        self.wait(PAUSE)

    def _append_segment(self, duration: float, joint: int, way: float, velocity: float) -> None:
        q = self.positions[-1].copy()
        v = np.zeros_like(self.q0)
        q[joint] += way
        v[joint] = velocity
        self.times.append(self.times[-1] + duration)
        self.positions.append(q)
        self.velocities.append(v)
