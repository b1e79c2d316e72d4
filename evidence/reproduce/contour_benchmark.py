"""The benchmark of position-domain PD: contours of a horizontal two-link arm and of a UR5,
driven in three domains.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np

from robot_control_ros.core.gains import make_gains
from robot_control_ros.core.remembered_path import between
from robot_control_ros.core.types import Array, JointSpaceReference, RobotState
from robot_control_ros.laws.position_domain_pd import PositionDomainPD
from robot_control_ros.references.contours import CircleContour, ContourMove, Polyline, TimedContour
from robot_control_ros.references.time_scaling import Chain, Trapezoid
from robot_control_ros.simulation.in_process import simulate
from robot_control_ros.teaching.two_link import TwoLink

from .case import light_ur5

# s of control; steps of the plant in it
DT = 1e-3
PLANT_STEPS = 4
DWELL = 0.3  # s, after the contour
STIFFNESS = np.array([1980.0, 300.0])
DAMPING = np.array([132.0, 20.0])
SOFT = {"stiffness": (1980.0, 75.0), "damping": (132.0, 10.0)}
COULOMB = (3.0, 1.0)  # N·m
DOMAINS = ("time", "position", "matched")
MASTER = 1  # of the line
PULSE = (0.45, 0.3, 10.0)  # start as a fraction of the duration; s; N·m on the master
LIMIT = (40.0, 4.0)  # N·m
EXACT = "rectangle, feed-forward 100 %"
PULSED = "line, pulse on the master"
LIMITED = "line in 1 s, torque-limited"
HELD = "line, master held fast"
# m, m/s², N·m/rad
UR5_SIDES = (0.2, 0.1)
UR5_ACCELERATION = 2.0
UR5_STIFFNESS = 1000.0


class JointPathOf:
    """The joints' way along a contour at any time: sampled at the control rate, cubic
    between the samples.
    """

    def __init__(self, arm: TwoLink, move: TimedContour) -> None:
        count = round((move.duration + DWELL) / DT) + 1
        times = np.linspace(0.0, DT * count, count + 1)
        point, velocity, acceleration = move.at(times)
        self.q = np.array([arm.joint_angles(p) for p in point])
        jacobian = np.array([arm.jacobian(q) for q in self.q])
        v = _solve(jacobian, velocity)
        turning = [arm.jdot_v(q, rate) for q, rate in zip(self.q, v, strict=True)]
        a = _solve(jacobian, acceleration - turning)
        self._points = np.column_stack((times, self.q, v, a))

    def __call__(self, t: float) -> tuple[Array, Array, Array]:
        last = len(self._points) - 2
        k = min(max(int(t / DT), 0), last)
        sample = np.empty((3, 2))
        between(self._points[k], self._points[k + 1], min(max(t, 0.0), DT * (last + 1)), sample)
        return sample[0], sample[1], sample[2]


def _polyline_move(points: list[tuple[float, float]], duration: float) -> TimedContour:
    """A polyline in `duration` seconds, by minimum jerk with a stop in every corner."""
    line = Polyline(points)
    return TimedContour(line, Chain.shared(line.lengths, duration))


def _solve(matrices: Array, vectors: Array) -> Array:
    return np.asarray(np.linalg.solve(matrices, vectors[..., None])[..., 0])


@cache
def joint_path(move: TimedContour) -> JointPathOf:
    """The joints' way along the contour of a :class:`Case`."""
    return JointPathOf(TwoLink(), move)


@dataclass(frozen=True)
class Case:
    """One line of the benchmark.

    Attributes:
        name: Name of the line, as in the table.
        move: Contour of the tip, with its timing.
        reference: Contour errors of the source: max and rms in the time domain, max and rms in the
            position domain [mm]. Empty where the source has none.
        gains: Gains of the law that take precedence over those of the benchmark.
        coulomb: Dry friction of the two joints [N·m].
        pulse: Torque pulse on the master: its start, length and torque, see PULSE.
        held: Time from which the master is held fast [s].
    """

    name: str
    move: TimedContour
    reference: tuple[float, ...] = ()
    gains: Mapping[str, Any] = field(default_factory=dict)
    coulomb: tuple[float, float] = (0.0, 0.0)
    pulse: tuple[float, float, float] = (0.0, 0.0, 0.0)
    held: float = math.inf


@dataclass(frozen=True, eq=False)
class ContourErrors:
    """Distance of the tip to the contour (k,) [mm], and its time (k,) [s]."""

    time: Array
    error: Array

    @property
    def max(self) -> float:
        """Largest contour error [mm]."""
        return float(self.error.max())

    @property
    def rms(self) -> float:
        """Root mean square of the contour error [mm]."""
        return math.sqrt(float(self.error @ self.error) / len(self.error))

    @property
    def sizes(self) -> dict[str, float]:
        """Largest contour error and its root mean square, by name [mm]."""
        return {"max": self.max, "rms": self.rms}


@dataclass(frozen=True, eq=False)
class ContourRun(ContourErrors):
    """Record of the two-link arm: angles and torques (k, 2) [rad, N·m], and changes of the master.

    `switches` is the number of those changes.
    """

    q: Array
    torque: Array
    switches: int

    @property
    def torque_step(self) -> float:
        """Largest change of a torque from one cycle to the next [N·m]."""
        return float(np.abs(np.diff(self.torque, axis=0)).max())


def cases() -> dict[str, Case]:
    """The lines of the benchmark by name."""

    def line(duration: float) -> TimedContour:
        return _polyline_move([(0.6, 0.4), (1.4, 1.0)], duration)

    circle = CircleContour((1.0, 0.6), 0.3)
    rectangle = _polyline_move([(0.8, 0.4), (1.3, 0.4), (1.3, 0.8), (0.8, 0.8), (0.8, 0.4)], 4.0)
    diamond = _polyline_move([(1.3, 0.6), (1.0, 0.9), (0.7, 0.6), (1.0, 0.3), (1.3, 0.6)], 4.0)
    zigzag = _polyline_move([(0.6, 0.5), (0.8, 0.8), (1.0, 0.5), (1.2, 0.8), (1.4, 0.5)], 4.0)
    full = {"feedforward": 1.0}
    limit = {"torque_limit": LIMIT}
    listed = (
        Case("line", line(2.0), (4.752, 2.915, 0.959, 0.604)),
        Case(
            "circle",
            TimedContour(circle, Trapezoid.lasting(circle.length, 4.0)),
            (2.038, 1.201, 1.634, 0.806),
        ),
        Case("rectangle", rectangle, (4.430, 1.586, 4.812, 1.632)),
        Case("diamond", diamond, (4.409, 1.870, 1.940, 0.807)),
        Case("zigzag", zigzag, (3.949, 1.633, 2.069, 0.713)),
        Case("line, soft master", line(2.0), (21.478, 13.063, 4.088, 1.300), SOFT),
        Case(
            "line, feed-forward 80 %",
            line(2.0),
            (1.009, 0.636, 0.600, 0.405),
            {"feedforward": 0.8},
            COULOMB,
        ),
        Case(EXACT, rectangle, (0.024, 0.012, 0.696, 0.085), full, COULOMB),
        Case(PULSED, line(2.0), gains=full, pulse=PULSE),
        Case(LIMITED, line(1.0), gains={**full, **limit}),
        Case(HELD, line(2.0), held=1.0),
    )
    return {case.name: case for case in listed}


def drive(case: Case, domain: str) -> ContourRun:
    """The arm along the contour under the law, from rest at its beginning."""
    arm = TwoLink(inertia=1.0 / 12.0, gravity=0.0, viscous=2.0, coulomb=case.coulomb)
    model = arm.model()
    law = PositionDomainPD()
    path = joint_path(case.move)
    values = {
        "stiffness": STIFFNESS,
        "damping": DAMPING,
        "damping_ratio": 0.0,
        "feedforward": 0.0,
        "gravity": False,
    }
    gains = make_gains(law.Gains, {**values, "domain": domain, **case.gains}, 2)
    count = round((case.move.duration + DWELL) / DT)
    angles, torques = np.empty((2, count, 2))
    q = path(0.0)[0]
    v = np.zeros(2)
    law.reset(RobotState(0.0, q, v, v), model.update(q, v))
    master = law.master.index
    switches = 0
    for k in range(count):
        time = k * DT
        q_ref, v_ref, a_ref = path(time)
        reference = JointSpaceReference(path=path, q=q_ref, v=v_ref, a=a_ref)
        command = law.compute(RobotState(time, q, v, v), model.update(q, v), reference, gains, DT)
        switches += law.master.index != master
        master = law.master.index
        angles[k] = q
        torques[k] = command.values
        torque = command.values + _pulse(case, time)
        if time < case.held:
            q, v = arm.advance(q, v, torque, DT / PLANT_STEPS, PLANT_STEPS)
        else:
            q, v = _held(arm, q, v, torque)
    error, _ = case.move.contour.distance(np.array([arm.tip(q) for q in angles]))
    return ContourRun(
        np.linspace(0.0, DT * (count - 1), count), 1e3 * error, angles, torques, switches
    )


def _pulse(case: Case, time: float) -> Array:
    """Torques (2,) of the case's pulse on the joints at a time [s] [N·m]."""
    fraction, length, torque = case.pulse
    start = fraction * case.move.duration
    return torque * np.eye(2)[MASTER] if start <= time < start + length else np.zeros(2)


def _held(arm: TwoLink, q: Array, v: Array, torque: Array) -> tuple[Array, Array]:
    """The arm after a control period with its second joint, the line's master, held fast."""
    q = q.copy()
    v = np.array([v[0], 0.0])
    for _ in range(PLANT_STEPS):
        v[0] += DT / PLANT_STEPS * (torque[0] - arm.friction(v)[0]) / arm.mass_matrix(q)[0, 0]
        q[0] += DT / PLANT_STEPS * v[0]
    return q, v


def ur5_rectangle(pose: Array) -> Polyline:
    """The rectangle in x and z, forwards and downwards from a pose (4, 4) of the tip."""
    wide, high = UR5_SIDES
    corners = np.array(
        [(0.0, 0.0, 0.0), (wide, 0.0, 0.0), (wide, 0.0, -high), (0.0, 0.0, -high), (0.0, 0.0, 0.0)]
    )
    return Polyline(pose[:3, 3] + corners)


def drive_ur5(domain: str, feed: float, feedforward: float) -> ContourErrors:
    """A UR5 in MuJoCo goes along the rectangle, at rest in its corners.

    Args:
        domain, feedforward: Gains of the law.
        feed: Speed of the tip [m/s].
    """

    def timing(contour: Polyline) -> Chain:
        return Chain(
            [Trapezoid(float(length), feed, UR5_ACCELERATION) for length in contour.lengths]
        )

    def start(pose: Array) -> ContourMove:
        contour = ur5_rectangle(pose)
        return ContourMove(contour, timing(contour), pose, 0.0)

    log = simulate(
        light_ur5(),
        "position_domain_pd",
        {"domain": domain, "stiffness": UR5_STIFFNESS, "feedforward": feedforward},
        start,
        timing(ur5_rectangle(np.eye(4))).duration + DWELL,
        rate=500.0,
    )
    error, _ = ur5_rectangle(log.pose[0]).distance(log.pose[:, :3, 3])
    return ContourErrors(log.t, 1e3 * error)
