"""The search for the gains of a law on a robot: what it is of, how it runs, and how its result
does on other arms.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from ..core.errors import ConfigError, refused
from ..simulation.imperfect.imperfections import Imperfections, load_imperfections
from .arm_trial import ArmTrial
from .arms import sample_arms
from .gain_space import GainSpace, gain_space
from .objectives import USUAL, Objective, objectives_of
from .proposals import Range
from .results import Goal, Tuned
from .runs import simulated_robot
from .search import tune
from .shared_study import stored_study

ABOUT = ("robot", "law", "objective", "vary", "arms", "arm", "arm_seed")


@dataclass(frozen=True)
class GainStudy:
    """A search for gains: its robot, law, objectives, ranges and simulated arms.

    Attributes:
        robot: Name of the robot, or the path of a YAML file.
        law: Name of the law, or ``package.module:Class``.
        objective: Names of objectives with commas between them; see
            :func:`~.objectives.objectives_of`.
        vary: Ranges of gains; empty takes the usual ones. See :func:`~.gain_space.gain_space`.
        arms: Number of simulated arms on which each trial is measured.
        arm: Name or path of the imperfections that the arms lie around; empty for arms of which
            nothing was measured.
        arm_seed: Seed from which the arms are drawn.
    """

    robot: str = "ur5"
    law: str = "impedance"
    objective: str = USUAL
    vary: tuple[str, ...] = ()
    arms: int = 4
    arm: str = ""
    arm_seed: int = 0

    @classmethod
    def stored(cls, storage: str, name: str) -> GainStudy:
        """The study of a name in a storage.

        Raises:
            ConfigError: the storage has none of this name, or one that is not of gains.
        """
        about = stored_study(storage, name)
        if not set(ABOUT) <= set(about):
            raise refused("study", name, f"is not of gains: it is of {', '.join(about)}")
        values = {key: about[key] for key in ABOUT}
        return cls(**{**values, "vary": tuple(values["vary"])})

    @cached_property
    def objectives(self) -> tuple[Objective, ...]:
        """Objectives that are measured."""
        return objectives_of(self.objective)

    @cached_property
    def goals(self) -> tuple[Goal, ...]:
        """Name, direction and unit of each objective, as the search takes them."""
        return tuple(Goal(each.name, each.direction, each.unit) for each in self.objectives)

    @cached_property
    def space(self) -> GainSpace:
        """Gains that are varied, with their ranges."""
        return gain_space(simulated_robot(self.robot), self.law, self.vary)

    def trial(self, *, held_out: int = 0) -> ArmTrial:
        """The trial that measures gains.

        It does so on the arms of the search, or on `held_out` others that no search has seen.

        Raises:
            ConfigError: the objectives can't be measured on this robot under this law; see
                :class:`ArmTrial`.
        """
        robot = simulated_robot(self.robot)
        base = load_imperfections(self.arm) if self.arm else None
        count = held_out or self.arms
        arms = sample_arms(robot, base, self.arm_seed, count, held_out=bool(held_out))
        trial = ArmTrial(self.robot, self.law, self.space, self.objectives, arms)
        trial.check()
        return trial

    def run(self, trials: int, *, storage: str | None = None, **settings: Any) -> Tuned:
        """Search; see :func:`~.search.tune` for the settings. The robot's own gains are tried
        first.

        Raises:
            ConfigError, HardwareFault: see :func:`~.search.tune`, :func:`~.gain_space.gain_space`
                and :meth:`trial`.
        """
        trial = self.trial()
        ranges = {name: Range(*each) for name, each in self.space.ranges().items()}
        own = self.space.defaults()
        first = [own] if own is not None else []
        about = {**self.about(), "drawn": _digest(trial.arms)}
        return tune(
            trial,
            ranges,
            trials,
            goals=self.goals,
            first=first,
            about=about,
            storage=storage,
            **settings,
        )

    def about(self) -> dict[str, Any]:
        """The attributes, as plain JSON."""
        values = {key: getattr(self, key) for key in ABOUT}
        return {**values, "vary": list(self.vary)}

    def own_parameters(self) -> dict[str, float]:
        """The parameters that stand for the robot's own gains.

        Raises:
            ConfigError: the ranges don't have them.
        """
        own = self.space.defaults()
        if own is None:
            raise ConfigError(
                "the robot's own gains lie outside of the ranges that were searched", name="vary"
            )
        return own

    def own_gains(self) -> dict[str, Any]:
        """The robot's own values of the gains that are varied.

        Raises:
            ConfigError: see :meth:`own_parameters`.
        """
        return self.space.gains(self.own_parameters())


@dataclass(frozen=True)
class HeldOutComparison:
    """Two trials' parameters, measured on arms that no search has seen.

    Attributes:
        own, chosen: Means over these arms by objective: of the robot's own gains, and of the chosen
            ones.
        better: Number of these arms, by objective, on which the chosen gains are better.
        arms: Number of these arms.
    """

    own: Mapping[str, float]
    chosen: Mapping[str, float]
    better: Mapping[str, int]
    arms: int


def compare(
    study: GainStudy, chosen: Mapping[str, float], arms: int, map_: Callable[..., Any] = map
) -> HeldOutComparison:
    """Measure the robot's own gains and the chosen ones on arms that no search has seen.

    Args:
        study: Robot, law, objectives and arms of the search.
        chosen: Parameters by name that the search has chosen.
        arms: Number of arms that are measured.
        map_: Function that computes, with the arguments of `map`: that of an executor, for example.

    Raises:
        ConfigError: the ranges don't have the robot's own gains.
    """
    own = study.own_parameters()
    trial = study.trial(held_out=arms)
    singles = [replace(trial, arms=(arm,)) for arm in trial.arms]
    own_values = [outcome.values for outcome in map_(_measure, singles, [own] * arms)]
    chosen_values = [outcome.values for outcome in map_(_measure, singles, [dict(chosen)] * arms)]
    names = [goal.name for goal in study.goals]
    better = {
        goal.name: sum(
            goal.loss(chosen_values[arm][place]) < goal.loss(own_values[arm][place])
            for arm in range(arms)
        )
        for place, goal in enumerate(study.goals)
    }
    return HeldOutComparison(_means(names, own_values), _means(names, chosen_values), better, arms)


def _measure(trial: ArmTrial, parameters: dict[str, float]) -> Any:
    return trial(parameters)


def _means(names: list[str], values: list[tuple[float, ...]]) -> dict[str, float]:
    return {
        name: sum(row[place] for row in values) / len(values) for place, name in enumerate(names)
    }


def _digest(arms: tuple[Imperfections, ...]) -> str:
    """Tells arms from others of the same name: a file may have been changed."""
    return hashlib.sha256(repr(arms).encode()).hexdigest()[:12]
