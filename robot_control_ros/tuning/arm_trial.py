"""One trial of a search: the objectives of some gains on several simulated arms."""

from __future__ import annotations

import gc
import math
import warnings
from collections.abc import Mapping
from dataclasses import dataclass

from ..robot.configuration import RobotConfig
from ..simulation.imperfect.imperfections import Imperfections
from ..simulation.trouble import GainsWarning, TroubleWarning
from .gain_space import GainSpace
from .objectives import PRESS, Objective
from .results import TrialOutcome
from .runs import IDEAL, RunFigures, check_measurable, run_figures, simulated_robot

STATIC_FORCE = "static_force"


@dataclass(frozen=True)
class ArmTrial:
    """Measures gains on simulated arms. It may be pickled.

    The result of a call depends on its arguments alone, to the last bit. Each run is simulated once
    for an arm, and gives all objectives that need it.

    Attributes:
        robot: Name of the robot, or the path of a YAML file.
        law: Name of the law, or ``package.module:Class``.
        space: Gains that are varied; it makes gains of the values of a trial.
        objectives: Objectives that are measured.
        arms: Imperfections of the arms that are simulated.
        profile: Hardware profile of the robot; "" is its simulation.
        rate: Control rate [Hz]; 0 is that of the profile.
    """

    robot: str
    law: str
    space: GainSpace
    objectives: tuple[Objective, ...]
    arms: tuple[Imperfections, ...]
    profile: str = ""
    rate: float = 0.0

    def check(self) -> None:
        """Refuse, before the first trial, what can't be measured.

        Raises:
            ConfigError: see :func:`.runs.check_measurable`; imperfections of another robot.
        """
        robot = self._config
        for arm in self.arms:
            arm.check(robot)
        with warnings.catch_warnings():
            _ignore_warnings()
            check_measurable(robot, self.law, self.objectives)

    def __call__(self, values: Mapping[str, float]) -> TrialOutcome:
        """Measure the objectives of a trial's gains on all arms.

        Args:
            values: Values of the trial by name of the dimension, as
                :meth:`.gain_space.GainSpace.gains` takes them.

        Returns:
            For each objective the mean over the arms. By objective, `details["arms"]` has the
            values of all arms in their order. The reason names each run without figures, with its
            arm.

        Raises:
            ConfigError: the gains are refused, each for itself or all together.
        """
        gains = self.space.gains(values)
        runs = dict.fromkeys((each.run, each.wall) for each in self.objectives)
        reasons = []
        found: list[dict[tuple[str, float], RunFigures]] = []
        with warnings.catch_warnings():
            _ignore_warnings()
            for number, arm in enumerate(self.arms):
                measured = {
                    key: run_figures(self._config, self.law, gains, arm, *key) for key in runs
                }
                reasons += [
                    f"arm {number}, {run}: {each.reason}"
                    for (run, _), each in measured.items()
                    if each.reason
                ]
                found.append(measured)
            asked = self._asked_forces(gains)
        # a loop and its plant refer to each other: they are few objects, and megabytes of records
        gc.collect()
        per_arm = {
            each.name: tuple(
                each.counted(_figure(each, one[each.run, each.wall], asked)) for one in found
            )
            for each in self.objectives
        }
        means = tuple(math.fsum(numbers) / len(numbers) for numbers in per_arm.values())
        return TrialOutcome(
            means,
            "; ".join(reasons),
            {"arms": {name: list(each) for name, each in per_arm.items()}},
        )

    @property
    def _config(self) -> RobotConfig:
        return simulated_robot(self.robot, self.profile, self.rate)

    def _asked_forces(self, gains: Mapping[str, object]) -> dict[float, float]:
        """Force at rest of an arm without imperfections [N], by wall; NaN where it has none."""
        walls = dict.fromkeys(each.wall for each in self.objectives if each.figure == STATIC_FORCE)
        runs = {
            wall: run_figures(self._config, self.law, gains, IDEAL, PRESS, wall) for wall in walls
        }
        return {wall: each.figures.get("rest_force", math.nan) for wall, each in runs.items()}


def _figure(objective: Objective, run: RunFigures, asked: Mapping[float, float]) -> float:
    """The objective's figure of a run; NaN where the run has no figures."""
    figures = run.figures
    if not figures:
        return math.nan
    if objective.figure == STATIC_FORCE:
        return math.hypot(figures["rest_force"] - asked[objective.wall], figures["ripple"])
    return figures[objective.figure]


def _ignore_warnings() -> None:
    for kind in (GainsWarning, TroubleWarning):
        warnings.simplefilter("ignore", kind)
