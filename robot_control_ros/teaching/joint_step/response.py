"""A joint that has any velocity within the physics step, under a callback that is
called at each of them.
"""

from __future__ import annotations

import importlib
import math
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from numbers import Real
from pathlib import Path
from typing import Any

import numpy as np

from ...core.types import Array

T = 0.005  # s, the physics step
SIMULATION_STEP = 0.05  # s: the callback is called at each physics step within
STEP = 10.0  # deg
DURATION = 1.0  # s


@dataclass(frozen=True)
class JointInput:
    """Input of a callback at a physics step, as a simulator's joint callback gets it.

    Attributes:
        init: True at the first call.
        revolute: True where the joint turns; this one does.
        cyclic: True where the joint turns without end.
        pass_count: Number of this physics step within the simulation step, from 1 on.
        position: Present position [rad].
        target: Target position [rad].
        error: Target - position [rad], in a cyclic joint by the short way round.
        effort: Torque of the servo in the last step [N·m], as a joint with 1 kg·m² takes it.
        step_size: Step of the physics [s].
        lower, upper: Ends of the joint [rad]; infinite, this one has none.
        target_velocity: Velocity of the target [rad/s]; 0, the target is at rest.
        max_effort: Largest torque of the servo [N·m]; infinite.
        velocity_limit: Velocity limit of the servo [rad/s]; infinite where there is none.
    """

    init: bool
    cyclic: bool
    pass_count: int
    position: float
    target: float
    error: float
    effort: float
    step_size: float
    velocity_limit: float
    revolute: bool = True
    lower: float = -math.inf
    upper: float = math.inf
    target_velocity: float = 0.0
    max_effort: float = math.inf


Callback = Callable[[JointInput], float]  # gives the velocity command [rad/s]


@dataclass(frozen=True)
class Step:
    """The step of the joint.

    Attributes:
        start, target: Angles before the step and after it [deg].
        cyclic: True where the joint turns without end, and goes the short way round.
        velocity_limit: Velocity limit of the servo [deg/s]; infinite: none.
        duration: Duration of the simulation [s].
        dt: Step of the physics [s].
    """

    start: float = 0.0
    target: float = STEP
    cyclic: bool = False
    velocity_limit: float = math.inf
    duration: float = DURATION
    dt: float = T

    @property
    def size(self) -> float:
        """Angle that the joint has to go [deg], with its sign."""
        return _way(self.target - self.start, 360.0, self.cyclic)


@dataclass(frozen=True, eq=False)
class StepRun:
    """A joint's way after a step: time (k + 1,) [s], angle from the start (k + 1,) [deg], commands
    (k,) [deg/s].

    Attributes:
        size: Size of the step [deg], with its sign.
        problem: Reason why the run ended early; empty where it didn't.
    """

    time: Array
    angle: Array
    command: Array
    size: float = STEP
    problem: str = ""

    def reached(self, percent: float) -> float:
        """Time of the first sample at or beyond `percent` of the step; infinite
        where there is none.
        """
        beyond = np.flatnonzero(self._share >= percent / 100.0 - 1e-10)
        return float(self.time[beyond[0]]) if beyond.size else math.inf

    def settled(self, percent: float) -> float:
        """Time of the first sample from which the angle stays within `percent` of the step;
        infinite where none is.
        """
        outside = np.flatnonzero(np.abs(self._share - 1.0) > percent / 100.0 + 1e-10)
        after = outside[-1] + 1 if outside.size else 0
        return float(self.time[after]) if after < self.time.size else math.inf

    @property
    def overshoot(self) -> float:
        """Overshoot in percent of the step."""
        return float(max(self._share.max() - 1.0, 0.0) * 100.0)

    @property
    def top(self) -> float:
        """Time of the sample that is farthest in the direction of the step [s]."""
        return float(self.time[self._share.argmax()])

    @property
    def peak(self) -> float:
        """Largest command [deg/s]; 0 where there is none."""
        return float(np.abs(self.command).max(initial=0.0))

    def at(self, time: float) -> float:
        """Angle [deg] at the sample nearest to a time [s]."""
        return float(self.angle[round(time / self.time[1])])

    @property
    def _share(self) -> Array:
        return self.angle / self.size


def respond(callback: Callback, step: Step) -> StepRun:
    """The step of a joint whose servo has the commanded velocity, within its limit, from the call
    on: q += v dt.

    An exception of the callback, or a value that is no number, ends the run; `problem` then says
    where and what.
    """
    limit = math.radians(step.velocity_limit)
    target = math.radians(step.target)
    passes = max(1, round(SIMULATION_STEP / step.dt))
    q = math.radians(step.start)
    v = 0.0
    effort = 0.0
    angles = [q]
    commands = []
    problem = ""
    for k in range(round(step.duration / step.dt)):
        joint = JointInput(
            init=k == 0,
            cyclic=step.cyclic,
            pass_count=k % passes + 1,
            position=q,
            target=target,
            error=_way(target - q, 2.0 * math.pi, step.cyclic),
            effort=effort,
            step_size=step.dt,
            velocity_limit=limit,
        )
        wanted, problem = _call(callback, joint)
        if problem:
            problem += f" (call {k + 1}, at {k * step.dt:g} s)"
            break
        last = v
        v = min(max(wanted, -limit), limit)
        effort = (v - last) / step.dt
        q += step.dt * v
        angles.append(q)
        commands.append(v)
    time = np.asarray(step.dt * np.arange(len(angles)), dtype=float)
    return StepRun(time, np.degrees(angles) - step.start, np.degrees(commands), step.size, problem)


def _call(callback: Callback, joint: JointInput) -> tuple[float, str]:
    """The velocity [rad/s], and what is wrong with it."""
    try:
        wanted = callback(joint)
    except Exception as error:  # whatever a user's callback raises
        return 0.0, fault(error)
    if isinstance(wanted, Real) and math.isfinite(wanted):
        return float(wanted), ""
    return 0.0, f"{_definition(callback)}: it gave {wanted!r}: must be a finite velocity [rad/s]"


def _way(error: float, turn: float, cyclic: bool) -> float:
    """Angle from an error, in a cyclic joint within half a turn."""
    return (error + turn / 2.0) % turn - turn / 2.0 if cyclic else error


def fault(error: BaseException) -> str:
    """Text about an exception that a user's code has raised.

    It is for one that is caught where that code is called. It names the innermost line of the file
    that was called first.
    """
    importing = ("<frozen importlib", importlib.__file__)  # what Python imports modules with
    inner = [
        each
        for each in traceback.extract_tb(error.__traceback__)[1:]
        if not each.filename.startswith(importing)
    ]
    own = [frame for frame in inner if frame.filename == inner[0].filename]
    message = f"{type(error).__name__}: {error}"
    # it names its line itself; or the call itself was wrong
    if isinstance(error, SyntaxError) or not own:
        return message
    return f"{Path(own[-1].filename).name}, line {own[-1].lineno}: {message}: {own[-1].line}"


def _definition(callback: Callable[..., Any]) -> str:
    """Place where a callback is defined."""
    code = getattr(callback, "__code__", None) or getattr(type(callback).__call__, "__code__", None)
    return f"{Path(code.co_filename).name}, line {code.co_firstlineno}" if code else repr(callback)
