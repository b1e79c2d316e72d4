"""The planar two-link arm under impedance control, as a browser page computes it, through
the package's own law.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from robot_control_ros.core.spatial import make_pose
from robot_control_ros.core.types import Array, Reference, RobotState
from robot_control_ros.laws.impedance import Impedance
from robot_control_ros.robot.model import RobotDynamics, RobotModel
from robot_control_ros.teaching.planar_arm import DAMPING, DT, STIFFNESS, UPRIGHT, page_gains
from robot_control_ros.teaching.two_link import Pair, TwoLink

from ..row import FOLLOWS, Row, calculated, required
from .case import (
    Result,
    Tell,
    counted,
    in_turn,
    near_each,
    panels,
    settled_at,
    tell_nobody,
)

ARM = TwoLink()
DURATION = 20.0  # s
TARGET = (1.2, 0.8)  # m
PUSH = (10.0, -5.0)  # N
STATES = 2000  # random ones, for identities
REQUIRED = required("evidence/reproduce/planar_case.py")

# Of the tip, with the default gains: t [s], x, y [m].
POINTS = (
    (0.1, 0.64567, 1.46550),
    (0.2, 0.90815, 0.84227),
    (0.5, 1.38709, 0.77121),
    (1.0, 1.13904, 0.81304),
    (3.0, 1.19956, 0.80008),
    (5.0, 1.20001, 0.80000),
)
FINAL = (1.35340, -1.53079)  # rad
OTHER_ELBOW = (-0.17739, 1.53079)  # rad


@dataclass(frozen=True)
class Variant:
    """One line of the page's table.

    Attributes:
        name: Name of the line, as in the table.
        settled: Times after which it has settled to 5 % and 2 % of the initial distance, and to 1
            mm [s].
        final: Joint angles at the end [rad].
        changes: Arguments of :func:`drive` that differ from their defaults.
    """

    name: str
    settled: tuple[float, float, float]
    final: tuple[float, float]
    changes: Mapping[str, Any] = field(default_factory=dict)


VARIANTS = (
    Variant("Kp 50, Kd 5", (0.75, 1.26, 3.21), FINAL),
    Variant("I = 1/12", (0.76, 1.28, 3.33), FINAL, {"arm": TwoLink(inertia=1.0 / 12.0)}),
    Variant(
        "from (90, 60) deg",
        (1.18, 1.66, 3.35),
        OTHER_ELBOW,
        {"start": (math.pi / 2.0, math.pi / 3.0)},
    ),
    Variant("Kp 50, Kd 10", (0.54, 0.86, 1.70), FINAL, {"damping": 10.0}),
    Variant("Kp 200, Kd 20", (0.27, 0.40, 0.82), FINAL, {"stiffness": 200.0, "damping": 20.0}),
    Variant("Kp 300, Kd 5", (0.82, 1.40, 3.06), OTHER_ELBOW, {"stiffness": 300.0}),
)
DRAWN = ("Kp 50, Kd 5", "from (90, 60) deg", "Kp 200, Kd 20", "Kp 300, Kd 5")


@dataclass(frozen=True, eq=False)
class PlanarRun:
    """Record of an arm: time (k,) [s], angles q (k, 2) [rad], tip (k, 2) [m], torques (k, 2) [N·m].

    Beside them it has the target (2,) [m].
    """

    time: Array
    q: Array
    tip: Array
    torque: Array
    target: Array

    @property
    def error(self) -> Array:
        """Distance (k,) from tip to target [m]."""
        return np.asarray(np.linalg.norm(self.tip - self.target, axis=1))

    def settled(self, bound: float) -> float:
        """Time of the first sample from which the error stays within `bound` [m];
        infinite where it doesn't.
        """
        return settled_at(self.time, self.error, bound)

    def settling_times(self) -> dict[str, float]:
        """Settling times to 5 % and 2 % of the initial distance, and to 1 mm [s], by name."""
        bounds = {"5 %": 0.05 * self.error[0], "2 %": 0.02 * self.error[0], "1 mm": 0.001}
        return {name: self.settled(bound) for name, bound in bounds.items()}


def drive(
    arm: TwoLink = ARM,
    *,
    stiffness: float = STIFFNESS,
    damping: float = DAMPING,
    target: Pair = TARGET,
    start: Pair = UPRIGHT,
    push: Pair = (0.0, 0.0),
    taylor: bool = False,
    dt: float = DT,
    duration: float = DURATION,
) -> PlanarRun:
    """The arm under the law, both stepped by `dt` [s] for a `duration` [s], from rest; without
    limits.

    Stiffness and damping are Kp [N/m] and Kd [N·s/m]. The tip goes to a `target` (2,) [m] from
    joint angles `start` (2,) [rad]. A constant force `push` (2,) [N] acts on it. For `taylor` see
    :meth:`TwoLink.advance`.
    """
    model = arm.model()
    law = Impedance()
    gains = page_gains(stiffness, damping)
    reference = Reference(pose=make_pose(np.array([*target, 0.0])))
    count = round(duration / dt) + 1
    angles, tip, torques = np.empty((3, count, 2))
    force = np.asarray(push, dtype=float)
    q = np.asarray(start, dtype=float)
    v = np.zeros(2)
    law.reset(*_state(model, q, v))
    for k in range(count):
        torque = law.compute(*_state(model, q, v), reference, gains, dt).values
        angles[k] = q
        tip[k] = arm.tip(q)
        torques[k] = torque
        q, v = arm.advance(q, v, torque + arm.jacobian(q).T @ force, dt, taylor=taylor)
    time = np.asarray(dt * np.arange(count), dtype=float)
    return PlanarRun(time, angles, tip, torques, np.asarray(target, dtype=float))


def run(tell: Tell = tell_nobody) -> Result:
    """Every experiment of the page."""
    runs = {variant.name: drive(**variant.changes) for variant in counted(VARIANTS, tell, 0.0, 0.5)}
    first = runs["Kp 50, Kd 5"]
    other = runs["from (90, 60) deg"]
    undamped = drive(damping=0.0)
    fine = drive(stiffness=300.0, dt=DT / 10.0)
    columns = (*first.tip.T, *first.q.T, *first.torque.T)
    groups = (
        _trajectory_rows(first),
        _variant_rows(runs),
        [
            Row.at_least(
                "Kp 50, Kd 0: error within the last 5 s",
                undamped.error[-500:].max(),
                0.05 * first.error[0],
                "m",
                calculated("no damper takes energy out"),
            )
        ],
        _statics_rows(),
        _identity_rows(),
        _integrator_rows(first),
        [
            Row.report("Kp 300, Kd 5 with dt = 1 ms: final t1", fine.q[-1, 0], "rad"),
            Row.report("Kp 300, Kd 5 with dt = 1 ms: final t2", fine.q[-1, 1], "rad"),
        ],
    )
    rows = in_turn(groups, tell, 0.7)
    return Result(
        title="planar two-link arm under impedance control",
        source=(
            "A page that simulates a planar arm: two links, 1 kg and 1 m each, steps of 10 ms. Its law is "
            "T = Jᵀ (Kp (x_d - x) - Kd J q̇) + G. Here `impedance` controls the arm in x and y alone, without limits."
        ),
        rows=rows,
        notes=[
            f"5 % and 2 % refer to each variant's own initial distance: {first.error[0]:.4f} m from upright, "
            f"{other.error[0]:.4f} m from (90, 60) deg. The latter settles to 5 % and 2 % of {first.error[0]:.4f} m at "
            f"{other.settled(0.05 * first.error[0]):.2f} s and {other.settled(0.02 * first.error[0]):.2f} s.",
            "With Kp 300, Kd 5 the elbow flips because of the step. With 10 ms the arm ends at t2 = "
            f"{runs['Kp 300, Kd 5'].q[-1, 1]:.5f} rad, with 1 ms at {fine.q[-1, 1]:.5f} rad.",
            "With Kd = 0 the law takes no energy out of arm and spring: the tip never settles.",
            "Closed form and model differ by rounding, which grows with the acceleration. Above 1 rad/s² the "
            "difference is relative to the acceleration.",
        ],
        drawings={
            "tip_paths": lambda: _draw_paths(runs),
            "errors": lambda: _draw_errors(
                {**{name: runs[name] for name in DRAWN}, "Kp 50, Kd 0": undamped}
            ),
        },
        series={
            "trajectory": {
                "t": first.time,
                **dict(zip(("x", "y", "t1", "t2", "T1", "T2"), columns, strict=True)),
            },
            "errors": {
                "t": first.time,
                **{name.replace(", ", " "): run.error for name, run in runs.items()},
            },
        },
    )


def _trajectory_rows(first: PlanarRun) -> Iterator[Row]:
    for time, *point in POINTS:
        names = (f"x at {time:g} s", f"y at {time:g} s")
        yield from near_each(names, first.tip[round(time / DT)], point, 1e-5, "m", FOLLOWS)
    names = ("T1 at 0 s", "T2 at 0 s")
    yield from near_each(names, first.torque[0], (-120.0, -60.0), 1e-9, "N·m", FOLLOWS)


def _variant_rows(runs: Mapping[str, PlanarRun]) -> Iterator[Row]:
    for variant in VARIANTS:
        name = variant.name
        run = runs[variant.name]
        times = run.settling_times()
        names = [f"{name}: settled to {bound}" for bound in times]
        yield from near_each(names, times.values(), variant.settled, 1.001 * DT, "s", FOLLOWS)
        names = [f"{name}: final t1", f"{name}: final t2"]
        yield from near_each(names, run.q[-1], variant.final, 1e-5, "rad", FOLLOWS)
        yield Row.at_most(f"{name}: error at 20 s", run.error[-1], 1e-9, "m", REQUIRED)


def _statics_rows() -> Iterator[Row]:
    beyond = drive(target=(2.0, 1.0))
    name = "target (2, 1) out of reach: error at 20 s"
    yield Row.near(name, beyond.error[-1], 0.236, 5e-4, "m", calculated("√5 - 2"))
    pushed = drive(push=PUSH)
    names = [
        f"constant force {force:g} N along {axis}: offset at 20 s"
        for force, axis in zip(PUSH, "xy", strict=True)
    ]
    offset = pushed.tip[-1] - pushed.target
    expected = [force / STIFFNESS for force in PUSH]
    yield from near_each(names, offset, expected, 1e-9, "m", calculated("force over stiffness"))


def _identity_rows() -> Iterator[Row]:
    rng = np.random.default_rng(1)
    model = ARM.model()
    apart, size, page, general = np.empty((4, STATES))
    for k in range(STATES):
        q = rng.uniform(-math.pi, math.pi, 2)
        v = rng.uniform(-2.0, 2.0, 2)
        tau = rng.uniform(-20.0, 20.0, 2)
        acceleration = np.linalg.solve(model.mass(q), tau - model.bias(q, v))
        apart[k] = np.abs(ARM.forward(q, v, tau) - acceleration).max()
        size[k] = max(1.0, np.abs(acceleration).max())
        page[k] = _law_difference(model, q, v, rng.uniform(-2.0, 2.0, (3, 2)), 0.0)
        general[k] = _law_difference(model, q, v, rng.uniform(-2.0, 2.0, (3, 2)), 1.0)
    where = f"{STATES} random states"
    accelerations = f"accelerations up to {size.max():.0f} rad/s²"
    name = f"closed form against the model, {where}, relative"
    yield Row.at_most(name, (apart / size).max(), 1e-12, "", FOLLOWS)
    yield Row.report(f"closed form against the model, {accelerations}", apart.max(), "rad/s²")
    name = f"law against the page's formula, {where}"
    yield Row.at_most(name, page.max(), 1e-10, "N·m", FOLLOWS)
    name = f"law with M = 1 kg against the general form, {where}"
    yield Row.at_most(name, general.max(), 1e-10, "N·m", calculated("the general form"))


def _law_difference(model: RobotModel, q: Array, v: Array, wanted: Array, inertia: float) -> float:
    """Difference between the law's torque and Jᵀ [M (a_d - a) + Kd (v_d - v) + Kp (x_d - x)] + G.

    It is that of the joint where it is larger [N·m]. Here a is the acceleration under the law's
    torque, `wanted` (3, 2) has x_d, v_d and a_d, and `inertia` is M [kg].
    """
    pose = make_pose(np.array([*wanted[0], 0.0]))
    zero = np.zeros(4)
    reference = Reference(
        pose, np.concatenate((wanted[1], zero)), np.concatenate((wanted[2], zero))
    )
    torque = (
        Impedance().compute(*_state(model, q, v), reference, page_gains(inertia=inertia), DT).values
    )
    jacobian = ARM.jacobian(q)
    acceleration = jacobian @ ARM.forward(q, v, torque) + ARM.jdot_v(q, v)
    force = inertia * (wanted[2] - acceleration) + DAMPING * (wanted[1] - jacobian @ v)
    force += STIFFNESS * (wanted[0] - ARM.tip(q))
    return float(np.abs(torque - jacobian.T @ force - ARM.gravity_torque(q)).max())


def _integrator_rows(first: PlanarRun) -> Iterator[Row]:
    """Semi-implicit Euler against the step with a dt² / 2: both are of first order and
    have the same limit.
    """
    taylor = drive(taylor=True)
    fine = drive(dt=DT / 10.0, duration=5.0)
    fine_taylor = drive(dt=DT / 10.0, duration=5.0, taylor=True)
    apart = float(np.linalg.norm(first.tip - taylor.tip, axis=1).max())
    apart_fine = float(np.linalg.norm(fine.tip - fine_taylor.tip, axis=1).max())
    name = "with a dt²/2"
    for bound, time in taylor.settling_times().items():
        yield Row.report(f"{name}: settled to {bound}", time, "s")
    yield Row.at_most(f"{name}: error at 20 s", taylor.error[-1], 1e-9, "m", REQUIRED)
    yield Row.report(f"{name}: tip apart from Euler's by at most", apart, "m")
    name = f"{name}: the same with dt = 1 ms, as a multiple of that"
    first_order = calculated("both are of first order")
    yield Row.near(name, apart_fine / apart, 0.1, 0.03, "", first_order)


def _state(model: RobotModel, q: Array, v: Array) -> tuple[RobotState, RobotDynamics]:
    return RobotState(0.0, q, v, np.zeros(2)), model.update(q, v)


def _draw_paths(runs: Mapping[str, PlanarRun]) -> Any:
    figure, ((axes,),) = panels(6.5, 5.5, x="x [m]", y=["y [m]"])
    for name in DRAWN:
        axes.plot(*runs[name].tip.T, label=name, linewidth=1.2)
    for final in (FINAL, OTHER_ELBOW):
        elbow = ARM.length * np.array([math.cos(final[0]), math.sin(final[0])])
        joints = np.array([(0.0, 0.0), elbow, ARM.tip(final)])
        axes.plot(*joints.T, color="0.6", marker="o", linewidth=3, zorder=0)
    axes.plot(*TARGET, "k+", markersize=12, label="target")
    axes.set(title="Path of the tip, and the arm's two final postures", aspect="equal")
    axes.legend(fontsize="small")
    return figure


def _draw_errors(runs: Mapping[str, PlanarRun]) -> Any:
    figure, ((axes,),) = panels(8.5, 4.5, x="t [s]", y=["error [m]"])
    for name, run in runs.items():
        axes.semilogy(run.time, run.error, label=name, linewidth=1.2)
    axes.axhline(0.001, color="0.3", linestyle=":", linewidth=1.2, label="1 mm")
    axes.set(xlim=(0.0, 4.0), ylim=(1e-4, 4.0), title="Distance from tip to target")
    figure.legend(fontsize="small", loc="outside right upper")
    return figure
