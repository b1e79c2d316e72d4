"""Proposes what is tried next, by Optuna's samplers: a pure function of seed and earlier trials.

Trial k is proposed from the results of the trials 0 to k - lag, and of no others. So it is the same
on any number of processes and machines, whichever of them has finished what.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import optuna
from optuna.distributions import BaseDistribution, FloatDistribution
from optuna.samplers import BaseSampler, NSGAIISampler, RandomSampler, TPESampler
from optuna.study import StudyDirection
from optuna.trial import FrozenTrial, TrialState, create_trial

from ..core.errors import refused
from ..robot.schema import choice
from .results import MINIMIZE, Goal

TPE = "tpe"
NSGA2 = "nsga2"
RANDOM = "random"
SAMPLERS = (TPE, NSGA2, RANDOM)
STARTUP = 16  # random trials before TPE begins
POPULATION = 24  # of a generation of NSGA-II


@dataclass(frozen=True)
class Range:
    """Range of a parameter.

    Attributes:
        lower, upper: Bounds, inclusive.
        log: True where its logarithm is searched; then `lower` is above 0.
    """

    lower: float
    upper: float
    log: bool = False

    def check(self, name: str) -> None:
        """Refuse what is no range.

        Raises:
            ConfigError: names the parameter.
        """
        span = (self.lower, self.upper)
        if not (np.isfinite(span).all() and self.lower < self.upper):
            raise refused(name, span, "must be two finite numbers, the smaller one first")
        if self.log and self.lower <= 0.0:
            raise refused(name, span, "must be above 0 where the logarithm is searched", 0.0)


class Proposer:
    """Proposes the parameters of trials.

    Args:
        space: Range of each parameter by name.
        goals: Objectives of the study.
        sampler: ``tpe``, ``nsga2`` or ``random``.
        seed: Seed of all random numbers.
        lag: Trial k is proposed from the results of the trials 0 to k - lag.
        first: Parameters of the first trials.
    """

    def __init__(
        self,
        space: Mapping[str, Range],
        goals: Sequence[Goal],
        sampler: str,
        seed: int,
        lag: int,
        first: Sequence[Mapping[str, float]] = (),
    ) -> None:
        choice("sampler", sampler, SAMPLERS)
        for name, each in space.items():
            each.check(name)
        self.distributions = {
            name: FloatDistribution(each.lower, each.upper, log=each.log)
            for name, each in space.items()
        }
        self._directions = [direction_of(goal) for goal in goals]
        self._sampler = sampler
        self._seed = seed
        self._lag = lag
        self._first = tuple(dict(each) for each in first)
        self._study = self._empty()
        self._known = 0

    def needed(self, index: int) -> int:
        """Number of trials, from 0 on, that must have ended before `index` can be proposed."""
        return max(index - self._lag + 1, 0)

    def propose(
        self, index: int, ended: Sequence[FrozenTrial]
    ) -> tuple[dict[str, float], dict[str, Any]]:
        """Parameters of trial `index`, and what the sampler wants to know of it later.

        Args:
            index: Index of the trial.
            ended: Trials 0 to needed(index) - 1, in the order of their index, as Optuna has them.
        """
        if index < len(self._first):
            return dict(self._first[index]), {}
        count = self.needed(index)
        if count < self._known:
            self._study = self._empty()
            self._known = 0
        for trial in ended[self._known : count]:
            self._study.add_trial(_plain_trial(trial))
        self._known = count
        self._study.sampler = self._seeded(index)
        distributions: dict[str, BaseDistribution] = dict(self.distributions)
        asked = self._study.ask(distributions)
        parameters = {name: float(value) for name, value in asked.params.items()}
        remembered: dict[str, Any] = {}
        if self._sampler == NSGA2:  # which wants to know the generation
            remembered = dict(self._study.get_trials(deepcopy=False)[-1].system_attrs)
        self._study.tell(asked, state=TrialState.FAIL)  # which no sampler learns from
        return parameters, remembered

    def _empty(self) -> optuna.Study:
        return optuna.create_study(
            directions=self._directions, sampler=RandomSampler(seed=self._seed)
        )

    def _seeded(self, index: int) -> BaseSampler:
        seed = int(np.random.SeedSequence((self._seed, index)).generate_state(1)[0])
        if self._sampler == RANDOM:
            return RandomSampler(seed=seed)
        if self._sampler == NSGA2:
            return NSGAIISampler(population_size=POPULATION, seed=seed)
        return TPESampler(
            n_startup_trials=STARTUP, seed=seed, multivariate=True, constant_liar=False
        )


def direction_of(goal: Goal) -> StudyDirection:
    """Direction of a goal in Optuna's terms."""
    return StudyDirection.MINIMIZE if goal.direction == MINIMIZE else StudyDirection.MAXIMIZE


def _plain_trial(trial: FrozenTrial) -> FrozenTrial:
    """A trial that has ended, with nothing but what a sampler needs of it."""
    if trial.state is not TrialState.COMPLETE:
        return create_trial(state=TrialState.FAIL)
    return create_trial(
        values=trial.values,
        params=trial.params,
        distributions=trial.distributions,
        system_attrs=trial.user_attrs.get("sampler", {}),
    )
