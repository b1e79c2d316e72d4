"""Objectives that a search makes small or large: figures of simulated runs, declared once."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from ..core.errors import refused, unknown
from ..stability.wall_contact import WALL
from .results import MAXIMIZE, MINIMIZE

STEP = "step"
CONTOUR = "contour"
PRESS = "wall"
REST = "rest"
BOUND = "bound"
RUNS = (STEP, CONTOUR, PRESS, REST, BOUND)
WALLS = (100.0, 1e6)  # N/m, softest and stiffest wall
USUAL = "track,contact"
LISTED = "robot_control tune ROBOT --objective ? tells what they are"


@dataclass(frozen=True)
class Objective:
    """A figure that a search makes small or large.

    Attributes:
        name: Name by which a user asks for it. Behind an @ it has the stiffness of the wall, where
            that isn't the usual one.
        figure: Name of the figure in the registry.
        unit: Unit of the figure.
        direction: "minimize" or "maximize".
        doc: Text for people that says what the figure is.
        run: Run that gives the figure, one of RUNS.
        worst: Figure that a run without one counts [unit]. No other run counts worse.
        wall: Stiffness of the wall [N/m]; 0 where the run has none.
    """

    name: str
    figure: str
    unit: str
    direction: str
    doc: str
    run: str
    worst: float
    wall: float = 0.0

    @property
    def minimizes(self) -> bool:
        """True where less is better."""
        return self.direction == MINIMIZE

    def counted(self, value: float) -> float:
        """A figure as it counts: no worse than `worst`, which also stands for one not finite."""
        if not math.isfinite(value):
            return self.worst
        return min(value, self.worst) if self.minimizes else max(value, self.worst)


def _declared(
    name: str, unit: str, run: str, worst: float, doc: str, direction: str = MINIMIZE
) -> Objective:
    return Objective(name, name, unit, direction, doc, run, worst, WALL if run == PRESS else 0.0)


_OBJECTIVES = (
    _declared(
        "settling",
        "s",
        STEP,
        10.0,
        "Time after a step of the target by 20 mm until the tip stays within 1 mm of where it rests. An arm that "
        "doesn't rest, or goes less than half the way, counts 10 s.",
    ),
    _declared(
        "overshoot",
        "%",
        STEP,
        1000.0,
        "How far the tip goes beyond where it rests, in parts of that step.",
    ),
    _declared(
        "track",
        "mm",
        CONTOUR,
        1000.0,
        "Distance of the tip from its target along a circle of 50 mm radius, root mean square. A lag counts.",
    ),
    _declared(
        "contact",
        "N",
        PRESS,
        10000.0,
        "Largest force on a wall that the target enters at 0.1 m/s, to stop 20 mm behind its surface.",
    ),
    _declared(
        "static_force",
        "N",
        PRESS,
        10000.0,
        "Error of the force at rest at that wall, ripple included, root mean square. Right is the force of an ideal "
        "arm under the same gains.",
    ),
    _declared(
        "noise",
        "N·m; mm/s",
        REST,
        1000.0,
        "Noise of the commanded torques at rest, root mean square over time and joints. Of positions and velocities it "
        "is the speed of the tip that they command.",
    ),
    _declared(
        "effort",
        "N·m",
        CONTOUR,
        1000.0,
        "Torque of the joints less gravity along that circle, root mean square over time and joints.",
    ),
    _declared(
        "margin",
        "",
        BOUND,
        0.0,
        "Largest factor on the stiffness with which the sampled, late loop is stable at home. Nothing is simulated.",
        MAXIMIZE,
    ),
)


def objectives() -> tuple[Objective, ...]:
    """All objectives, each with the usual wall."""
    return _OBJECTIVES


def objectives_of(text: str) -> tuple[Objective, ...]:
    """The objectives of a text.

    Args:
        text: Names with commas between them, as in ``track,contact``. ``contact@1e5`` is the
            contact at a wall of 1e5 N/m.

    Raises:
        ConfigError: an unknown name; lists the valid ones. No name, one twice, or a wall that isn't
            possible.
    """
    names = [each.strip() for each in text.split(",")]
    if not text.strip() or "" in names:
        known = ", ".join(each.name for each in _OBJECTIVES)
        raise refused(
            "objectives", text, f"must be names with commas between them: {known}; {LISTED}"
        )
    found = tuple(_objective(name) for name in names)
    for index, each in enumerate(found):
        if each in found[:index]:
            raise refused("objectives", text, f"must have {each.name} once")
    return found


def _objective(text: str) -> Objective:
    figure, at, wall = text.partition("@")
    known = {each.figure: each for each in _OBJECTIVES}
    if figure not in known:
        raise unknown("objective", figure, known, hint=f"; {LISTED}")
    found = known[figure]
    return _at_wall(found, text, wall) if at else found


def _at_wall(objective: Objective, text: str, wall: str) -> Objective:
    if objective.run != PRESS:
        names = ", ".join(each.figure for each in _OBJECTIVES if each.run == PRESS)
        raise refused("objective", text, f"must be {objective.figure} alone: a wall is for {names}")
    rule = f"must be {objective.figure}@STIFFNESS with {WALLS[0]:g} to {WALLS[1]:g} N/m"
    try:
        stiffness = float(wall)
    except ValueError:
        raise refused("objective", text, rule, WALLS) from None
    if not WALLS[0] <= stiffness <= WALLS[1]:
        raise refused("objective", text, rule, WALLS)
    name = objective.figure if stiffness == WALL else f"{objective.figure}@{stiffness:g}"
    return replace(objective, name=name, wall=stiffness)
