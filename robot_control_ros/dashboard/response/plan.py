"""A test of the tip, and what the ideal does in it."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ...core.errors import ConfigError, refused
from ...core.gains import AXES
from ...core.types import Array
from ...robot.model import RobotModel
from ..link import RobotLink
from .closed_loop import closed_loop
from .figures import StepFigures
from .second_order import SecondOrder

BAND = (0.2, 8.0)  # Hz, of the chirp; ~/state comes at 50 Hz, the force goes at 30 Hz
SWEEP = 20.0  # s
# s that a step lasts
SHORTEST = 1.0
LONGEST = 8.0
ROOM = 1.6  # a step lasts this much longer than the ideal takes to settle


@dataclass(frozen=True)
class AxisKind:
    """Limits and units along an axis, or about it."""

    max_force: float  # of a test, in `force_unit`
    max_move: float  # of the tip, in `unit`
    force_unit: str
    unit: str
    spring_unit: str
    mass_unit: str
    shown_unit: str  # of motions on the page
    scale: float  # shown units in one `unit`


LINEAR = AxisKind(50.0, 0.05, "N", "m", "N/m", "kg", "mm", 1e3)
ANGULAR = AxisKind(5.0, 0.2, "N·m", "rad", "N·m/rad", "kg·m²", "°", math.degrees(1.0))


@dataclass(frozen=True)
class Plan:
    """A step or chirp of force."""

    axis: int  # 0 to 5
    chirp: bool  # rather than a step
    size: float  # of the force, or torque [N, N·m]

    @property
    def name(self) -> str:
        """Name of the axis."""
        return AXES[self.axis]

    @property
    def kind(self) -> AxisKind:
        """Limits and units of the axis."""
        return LINEAR if self.axis < 3 else ANGULAR


@dataclass(frozen=True, eq=False)
class Expectation:
    """Motion of the ideal under a plan."""

    ideal: SecondOrder  # the ideal
    max_move: float  # of it [m, rad]
    duration: float  # of the force [s]
    decay: float  # time to wait afterwards [s]


def expect(link: RobotLink, model: RobotModel, plan: Plan) -> Expectation:
    """Motion that the ideal would do under a plan now.

    Raises:
        ConfigError: the test isn't possible; says why.
    """
    blocks = link.telemetry().blocks
    name = plan.name
    kind = plan.kind
    if "position" not in blocks:
        raise ConfigError("nothing has come from the controller yet: activate it")
    if not 0.0 < plan.size <= kind.max_force:
        rule = f"must be above 0, and {kind.max_force:g} at most"
        raise refused("size", plan.size, rule, (0.0, kind.max_force), unit=kind.force_unit)
    gains = {each.name: each.value for each in link.parameters().values()}
    ideal = closed_loop(link.robot, model, link.law(), gains, blocks["position"], plan.axis)
    if not math.isfinite(ideal.compliance):
        raise ConfigError(f"no stiffness along {name}: the tip would float away", name="stiffness")
    times, settling = _settling(ideal)
    motion = ideal.frequency_response(np.geomspace(*BAND, 200)) if plan.chirp else ideal.step(times)
    move = plan.size * float(np.abs(motion).max())
    if move > kind.max_move:
        least = plan.size * kind.max_move / move
        message = (
            f"{plan.size:g} {kind.force_unit} would move {name} by {move:.2g} {kind.unit}: {kind.max_move:g} "
            f"{kind.unit} at most, so take {least:.2g} {kind.force_unit} or more stiffness"
        )
        raise ConfigError(message, name=name, value=move, bound=kind.max_move)
    return Expectation(ideal, move, SWEEP if plan.chirp else settling, settling)


def _settling(ideal: SecondOrder) -> tuple[Array, float]:
    """Times over which the ideal settles, and the duration of a step."""
    duration = SHORTEST
    while True:
        times = np.linspace(0.0, duration, 401)
        settled = StepFigures.of(times, ideal.step(times), ideal.compliance).settling_2
        if ROOM * settled <= duration or duration >= LONGEST:
            return times, duration
        duration = min(1.25 * duration, LONGEST)
