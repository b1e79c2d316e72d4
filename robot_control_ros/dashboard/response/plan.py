"""What shall be tried on the tip, and what would come of it."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ...core.errors import ConfigError
from ...core.gains import AXES
from ...core.types import Array
from ...robot.model import RobotModel
from ..link import RobotLink
from .closed_loop import closed_loop
from .figures import StepFigures
from .second_order import SecondOrder

MAX_FORCE, MAX_TORQUE = 50.0, 5.0  # N, N·m
MAX_MOVE, MAX_TURN = 0.05, 0.2  # m, rad
BAND = (0.2, 8.0)  # Hz, of the chirp; ~/state comes at 50 Hz, the force goes at 30 Hz
SWEEP = 20.0  # s
SHORTEST, LONGEST = 1.0, 8.0  # s that a step lasts
ROOM = 1.6  # a step lasts this much longer than the ideal takes to settle


@dataclass(frozen=True)
class Plan:
    """What shall be tried.

    Attributes:
        axis: 0 to 5.
        chirp: rather than a step.
        size: of the force, or torque [N, N·m].
    """

    axis: int
    chirp: bool
    size: float


@dataclass(frozen=True, eq=False)
class Expectation:
    """What the ideal does under a plan.

    Attributes:
        ideal: it.
        largest: how far it goes [m, rad].
        lasts: how long the force acts, and how long is waited afterwards [s].
    """

    ideal: SecondOrder
    largest: float
    lasts: tuple[float, float]


def expect(link: RobotLink, model: RobotModel, plan: Plan) -> Expectation:
    """What would come of a plan now.

    Raises:
        ConfigError: it can't be tried, and why not.
    """
    blocks, name = link.telemetry().blocks, AXES[plan.axis]
    if "position" not in blocks:
        raise ConfigError("nothing has come from the controller yet: activate it")
    force, move, unit, length = (
        (MAX_FORCE, MAX_MOVE, "N", "m") if plan.axis < 3 else (MAX_TORQUE, MAX_TURN, "N·m", "rad")
    )
    if not 0.0 < plan.size <= force:
        raise ConfigError(f"size = {plan.size:g} {unit}: must be above 0, and {force:g} {unit} at most")
    gains = {each.name: each.value for each in link.parameters().values()}
    ideal = closed_loop(link.robot, model, link.law(), gains, blocks["position"], plan.axis)
    if not math.isfinite(ideal.compliance):
        raise ConfigError(f"no stiffness along {name}: the tip would float away")
    times, settling = _settling(ideal)
    if plan.chirp:
        largest = plan.size * float(np.abs(ideal.frequency_response(np.geomspace(*BAND, 200))).max())
        lasts = (SWEEP, settling)
    else:
        largest = plan.size * float(np.abs(ideal.step(times)).max())
        lasts = (settling, settling)
    if largest > move:
        least = plan.size * move / largest
        raise ConfigError(
            f"{plan.size:g} {unit} would move {name} by {largest:.2g} {length}: {move:g} {length} at most, "
            f"so take {least:.2g} {unit} or more stiffness"
        )
    return Expectation(ideal, largest, lasts)


def _settling(ideal: SecondOrder) -> tuple[Array, float]:
    """Times over which the ideal settles, and how long a step must last."""
    lasts = SHORTEST
    while True:
        times = np.linspace(0.0, lasts, 401)
        settled = StepFigures.of(times, ideal.step(times), ideal.compliance).settling_2
        if ROOM * settled <= lasts or lasts >= LONGEST:
            return times, lasts
        lasts = min(1.25 * lasts, LONGEST)
