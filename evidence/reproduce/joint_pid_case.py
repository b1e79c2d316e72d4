"""The joint PID of a simulator's control callback, step by step through the package's own law."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

import numpy as np

from robot_control_ros.core.gains import make_gains
from robot_control_ros.core.types import (
    Command,
    CommandMode,
    JointSpaceReference,
    Reference,
    RobotState,
)
from robot_control_ros.laws.joint_pid import JointPid, JointPidEffort
from robot_control_ros.robot.configuration import load_robot
from robot_control_ros.robot.model import RobotDynamics, RobotModel
from robot_control_ros.simulation.mujoco_plant import MujocoPlant
from robot_control_ros.teaching.joint_step.callbacks import Pid
from robot_control_ros.teaching.joint_step.response import (
    DURATION,
    SIMULATION_STEP,
    STEP,
    Step,
    StepRun,
    T,
    respond,
)
from robot_control_ros.teaching.joint_step.source import LINES, SourceLine
from robot_control_ros.teaching.two_link import TwoLink

from ..row import FOLLOWS, PRINTED, Row, calculated, required
from .case import Result, Tell, counted, in_turn, panels, tell_nobody

WEIGHTLESS = TwoLink(gravity=0.0)
WINDUP = LINES[1]
REQUIRED = required("evidence/reproduce/joint_pid_case.py")

Law = JointPid | JointPidEffort


class Held:
    """A law on the first joint of an arm whose joints all do the same.

    Args:
        law: New instance of the law.
        gains: Gains of the law, by name.
        model: Model of the arm; by default that of a weightless arm without limits.
    """

    def __init__(self, law: Law, gains: Mapping[str, Any], model: RobotModel | None = None) -> None:
        self._law = law
        self._model = model or WEIGHTLESS.model()
        self.set(gains)
        self.reset()

    def set(self, gains: Mapping[str, Any]) -> None:
        """Use other gains from the next call on."""
        self._gains = make_gains(self._law.Gains, gains, self._model.n)

    def reset(self) -> None:
        """Reset the law at angle 0."""
        self._law.reset(*self._sample(0.0, 0.0))

    def call(self, target: float, q: float = 0.0, v: float = 0.0) -> float:
        """The command for a target, an angle and a velocity [rad, rad/s]."""
        still = np.zeros(self._model.n)
        reference = JointSpaceReference(q=np.full(self._model.n, target), v=still, a=still)
        return float(self._law.compute(*self._sample(q, v), reference, self._gains, T).values[0])

    def _sample(self, q: float, v: float) -> tuple[RobotState, RobotDynamics]:
        angles = np.full(self._model.n, q)
        velocities = np.full(self._model.n, v)
        return RobotState(0.0, angles, velocities, np.zeros(self._model.n)), self._model.update(
            angles, velocities
        )


def step(
    gains: Mapping[str, Any], dt: float = T, duration: float = DURATION, size: float = STEP
) -> StepRun:
    """A step [deg] of a joint that has any velocity within the step, under `joint_pid`: q
    += v dt at each call.
    """
    limit = math.degrees(gains.get("velocity_limit", math.inf))
    return respond(Pid(gains), Step(target=size, velocity_limit=limit, duration=duration, dt=dt))


class WatchedPid(JointPid):
    """`joint_pid` that remembers when it was called and where the first joint was:
    (time [s], angle [deg]).
    """

    calls: ClassVar[list[tuple[float, float]]] = []

    def compute(
        self, state: RobotState, kin: RobotDynamics, reference: Reference, gains: Any, dt: float
    ) -> Command:
        WatchedPid.calls.append((state.time, math.degrees(state.q[0])))
        return super().compute(state, kin, reference, gains, dt)


def simulated(line: SourceLine) -> tuple[StepRun, list[int]]:
    """A step of one joint by the gains of a line, with the law within the MuJoCo plant.

    Returns:
        The run, and the number of the law's calls in each simulation step.
    """
    urdf = WEIGHTLESS.urdf()
    robot = WEIGHTLESS.config(home=(0.0, 0.0))
    law = f"{WatchedPid.__module__}:{WatchedPid.__name__}"
    plant = MujocoPlant(
        robot,
        urdf=urdf,
        rate=1.0 / SIMULATION_STEP,
        joint_law=law,
        joint_law_gains=line.gains,
        physics_step=T,
    )
    plant.open()
    plant.read()
    target = Command(CommandMode.POSITION, np.array([math.radians(STEP), 0.0]))
    WatchedPid.calls.clear()
    counts = []
    for _ in range(round(DURATION / SIMULATION_STEP)):
        before = len(WatchedPid.calls)
        plant.write(target)
        state = plant.read()
        counts.append(len(WatchedPid.calls) - before)
    plant.close()
    times, angles = np.array([*WatchedPid.calls, (state.time, math.degrees(state.q[0]))]).T
    return StepRun(times, angles, np.diff(angles) / T), counts


def run(tell: Tell = tell_nobody) -> Result:
    """Every figure of the source, and what follows from its formulae."""
    runs = {line.name: step(line.gains) for line in counted(LINES, tell, 0.0, 0.3)}
    spared = step({**WINDUP.gains, "anti_windup": True})
    rows = [row for line in LINES for row in _line_rows(line, runs[line.name])]
    name = f"{WINDUP.name}, anti-windup"
    first = runs[LINES[0].name]
    rows += [
        Row.at_most(
            f"{name}: overshoot", spared.overshoot, WINDUP.overshoot[0] - 0.05, "%", REQUIRED
        ),
        Row.report(f"{name}: settled to 5 %", spared.settled(5.0), "s"),
    ]
    groups = (
        _stability_rows(),
        _reset_rows(),
        _cyclic_rows(),
        _formula_rows(),
        _effort_rows(),
        _simulation_rows(LINES[0], first),
    )
    rows += in_turn(groups, tell, 0.3)
    drawn = {**runs, name: spared}
    return Result(
        "joint PID with a velocity servo",
        "A simulator's joint control callback: PID at each physics step of 5 ms, ten to a simulation step. A step of "
        "10 deg. The joints reach the commanded velocity within the step. Sample k is the angle after k calls.",
        rows,
        ["If the source has one settling time for 5 % and 2 %, both are compared with it."],
        drawings={"steps": lambda: _draw(drawn)},
        series={"steps": {"t": first.time, **{key: each.angle for key, each in drawn.items()}}},
    )


def _line_rows(line: SourceLine, run: StepRun) -> Iterator[Row]:
    """Rows of one line of the source's table.

    Times pass within one sample, the overshoot within 0.05 percentage points, samples within
    1e-4 deg.
    """
    rise_begin, rise_end = line.rise
    overshoot, top = line.overshoot
    times = (
        ("10 %", run.reached(10.0), rise_begin),
        ("90 %", run.reached(90.0), rise_end),
        ("95 %", run.reached(95.0), line.t95),
        ("largest angle", run.top, top),
        ("settled to 5 %", run.settled(5.0), line.settled[0]),
        ("settled to 2 %", run.settled(2.0), line.settled[1]),
    )
    for what, value, figure in times:
        if figure is not None:
            yield Row.near(f"{line.name}: {what}", value, figure, T, "s", FOLLOWS)
    yield Row.near(f"{line.name}: overshoot", run.overshoot, overshoot, 0.05, "%", FOLLOWS)
    yield Row.near(f"{line.name}: peak command", run.peak, line.peak, 1e-6, "deg/s", FOLLOWS)
    for t, angle in line.samples.items():
        yield Row.near(f"{line.name}: at {t:g} s", run.at(t), angle, 1e-4, "deg", FOLLOWS)


def _stability_rows() -> Iterator[Row]:
    def growth(d: float) -> float:
        """Error after 2 s over that after 1 s, of a step so small that no limit is met."""
        size = 1e-6
        error = step({"variant": "legacy", "p": 0.1, "d": d}, duration=2.0, size=size).angle - size
        return abs(float(error[400] / error[200]))

    low = 0.004
    high = 0.006
    while high - low > 1e-6:
        middle = (low + high) / 2.0
        low, high = (middle, high) if growth(middle) < 1.0 else (low, middle)
    name = "P = 0.1, D = {:g} s: error after 2 s over that after 1 s"
    yield Row.at_most(name.format(0.0045), growth(0.0045), 0.1, "", REQUIRED)
    yield Row.at_least(name.format(0.005), growth(0.005), 10.0, "", REQUIRED)
    formula = calculated("T (2 - P) / 2")
    yield Row.near("P = 0.1: largest stable D", low, T * (2.0 - 0.1) / 2.0, 2e-6, "s", formula)


def _reset_rows() -> Iterator[Row]:
    """Commands for a constant error e: (P e + I S) / T with S = k T e at the k-th call."""
    gains = {"variant": "legacy", "p": 0.1, "i": 2.0, "d": 0.001}
    law = Held(JointPid(), gains)
    target = math.radians(STEP)
    begun = [law.call(target) for _ in range(10)]
    law.reset()
    after_reset = law.call(target)
    for _ in range(10):
        law.call(target)
    law.set({**gains, "i": 0.0})
    law.call(target)
    law.set(gains)
    after_zero = law.call(target)
    for name, command, figure in (
        ("first command (no derivative)", begun[0], 220.0),
        ("tenth command", begun[-1], 400.0),
        ("first command after a reset", after_reset, 220.0),
        ("command after I = 0", after_zero, 220.0),
    ):
        text = f"P = 0.1, I = 2, D = 0.001 s, held at an error of 10 deg: {name}"
        yield Row.near(text, math.degrees(command), figure, 1e-9, "deg/s", FOLLOWS)


def _cyclic_rows() -> Iterator[Row]:
    """The error that the law sees: with P = T the command is e / s."""
    gains = {"variant": "legacy", "p": T}
    endless = Held(JointPid(), gains, RobotModel.of(load_robot("gen3")))
    limited = Held(JointPid(), gains)
    for law, kind, target, q, figure in (
        (endless, "cyclic", 350.0, 10.0, -20.0),
        (endless, "cyclic", -170.0, 170.0, 20.0),
        (limited, "revolute", 350.0, 10.0, 340.0),
    ):
        error = math.degrees(law.call(math.radians(target), math.radians(q)))
        name = f"{kind} joint, target {target:g} deg at {q:g} deg: error"
        yield Row.near(name, error, figure, 1e-9, "deg", FOLLOWS)


def _formula_rows() -> Iterator[Row]:
    """Whole runs against their difference equations, in the error [deg]."""
    p = 0.1
    i = 2.0
    d = 0.002
    fine = 0.001
    share = fine / T  # of a step of 5 ms
    proportional = STEP - step({"variant": "legacy", "p": p}).angle
    integral = STEP - step({"variant": "legacy", "p": p, "i": i}).angle
    quick = STEP - step({"variant": "current", "p": p}, dt=fine).angle
    damped = STEP - step({"variant": "current", "p": p, "d": d}, dt=fine).angle
    pi = [STEP, (1.0 - p - i * T) * STEP]
    while len(pi) < integral.size:
        pi.append((2.0 - p - i * T) * pi[-1] - (1.0 - p) * pi[-2])
    pd = [STEP, (1.0 - p * share) * STEP]
    while len(pd) < damped.size:
        pd.append(pd[-1] - p * share * pd[-1] + d / T * (pd[-2] - pd[-1]))
    steps = np.arange(proportional.size)
    fine_steps = np.arange(quick.size)
    apart = {
        "legacy, P: apart from (1 - P)^k 10 deg": proportional - (1.0 - p) ** steps * STEP,
        "legacy, P and I: apart from e'' = (2 - P - I T) e' - (1 - P) e": integral - pi,
        "current, P, steps of 1 ms: apart from (1 - P / 5)^k 10 deg": quick
        - (1.0 - p * share) ** fine_steps * STEP,
        "current, P and D on the velocity, steps of 1 ms: apart from its equation": damped - pd,
    }
    for name, difference in apart.items():
        yield Row.at_most(name, np.abs(difference).max(), 1e-10, "deg", FOLLOWS)


def _effort_rows() -> Iterator[Row]:
    rng = np.random.default_rng(1)
    count = 1000
    p = 120.0
    i = 30.0
    d = 4.0
    targets, q, v = rng.uniform(-1.0, 1.0, (3, count))
    e = targets - q
    textbook = p * e + i * T * np.cumsum(e) + d * np.diff(e, prepend=e[0]) / T
    for variant, formula, expected, origin in (
        (
            "textbook",
            "Kp e + Ki Σ e T + Kd (e(k) - e(k-1)) / T",
            textbook,
            calculated("the textbook's formula"),
        ),
        ("spring_damper", "k e - c v", p * e - d * v, FOLLOWS),
    ):
        law = Held(JointPidEffort(), {"p": p, "i": i, "d": d, "variant": variant})
        torques = [law.call(*at) for at in zip(targets, q, v, strict=True)]
        name = f"{variant}, {count} random errors: apart from {formula}"
        yield Row.at_most(name, np.abs(torques - expected).max(), 1e-9, "N·m", origin)


def _simulation_rows(line: SourceLine, ideal: StepRun) -> Iterator[Row]:
    simulated_run, counts = simulated(line)
    name = f"{line.name}, within the MuJoCo plant"
    difference = np.abs(simulated_run.angle - ideal.angle).max()
    yield Row.near(f"{name}: fewest calls per 50 ms", min(counts), 10.0, 0.0, "", PRINTED)
    yield Row.near(f"{name}: most calls per 50 ms", max(counts), 10.0, 0.0, "", PRINTED)
    overshoot = simulated_run.overshoot
    yield Row.near(f"{name}: overshoot", overshoot, line.overshoot[0], 0.05, "%", FOLLOWS)
    ideal_servo = calculated("an ideal servo")
    yield Row.at_most(
        f"{name}: angle apart from the ideal servo's", difference, 1e-6, "deg", ideal_servo
    )


def _draw(runs: Mapping[str, StepRun]) -> Any:
    labels = ("angle [deg]", "velocity command [deg/s]")
    figure, ((angle,), (command,)) = panels(9.0, 6.5, 2, x="t [s]", y=labels, sharex=True)
    for name, run in runs.items():
        (line,) = angle.plot(run.time, run.angle, linewidth=1.2, label=name)
        command.step(
            run.time[:-1], run.command, where="post", linewidth=1.2, color=line.get_color()
        )
    angle.axhline(STEP, color="0.3", linestyle=":", linewidth=1.2)
    angle.set(title="Step of 10 deg: (P, I, D), velocity limit", xlim=(0.0, 0.6))
    command.set(ylim=(-100.0, 400.0))
    peak = max(line.peak for line in LINES)
    command.annotate(
        f"up to {peak:g} with (1, 0, 0)",
        (0.003, 385.0),
        (0.05, 375.0),
        arrowprops={"arrowstyle": "->"},
    )
    figure.legend(fontsize="small", loc="outside right upper")
    return figure
