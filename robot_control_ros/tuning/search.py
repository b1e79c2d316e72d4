"""Searches for parameters that make a function's values best, on one core or on many machines."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import CancelledError, Executor, Future
from dataclasses import asdict, dataclass
from numbers import Real
from typing import Any

from ..core.errors import LONGEST, ConfigError, refused
from .engine import SLOTS, Engine, engine, in_one_line, timed, worker_name
from .package_version import package_version
from .proposals import TPE, Proposer, Range
from .results import DIRECTIONS, Goal, TrialOutcome, Tuned
from .shared_study import LOST_AFTER, Claim, Ledger, SharedStudy, signs_of_life
from .storage import open_storage, without_password

NAME = "tuning"  # of a study
LAG = 16  # see the module proposals
POLL = 0.5  # s between two looks at the storage, while nothing ends

Objective = Callable[[dict[str, float]], Any]


@dataclass(frozen=True)
class SearchProgress:
    """Progress of a study.

    Attributes:
        trials: Number of trials that the study has in the end.
        tuned: Trials that have ended.
        seconds: Time since this process began to search [s].
        remaining: Estimated time to the end [s]; NaN where this process has seen no trial end yet.
    """

    trials: int
    tuned: Tuned
    seconds: float
    remaining: float


@dataclass
class _Task:
    """A trial that this process has submitted."""

    claim: Claim
    parameters: dict[str, float]
    remembered: dict[str, Any]


def tune(
    objective: Objective,
    space: Mapping[str, Range | tuple[float, float]],
    trials: int,
    *,
    goals: Sequence[Goal] = (Goal("value"),),
    first: Sequence[Mapping[str, float]] = (),
    workers: int = 0,
    scheduler: str = "",
    executor: Executor | None = None,
    slots: int = SLOTS,
    storage: str | None = None,
    name: str = NAME,
    about: Mapping[str, Any] | None = None,
    seed: int = 0,
    sampler: str = TPE,
    lag: int = LAG,
    lost_after: float = LOST_AFTER,
    tell: Callable[[str], None] = print,
    progress: Callable[[SearchProgress], None] | None = None,
) -> Tuned:
    """Search for the parameters that make an objective's values best.

    The same call again goes on where the last one was ended, if it has a storage. Several processes
    and machines that make the same call with one storage share its trials. The seed and the results
    decide what is tried: the table is the same on one core, on many processes and on many machines
    that compute alike.

    Args:
        objective: Function of the parameters by name. It returns a number, one for each goal, or a
            :class:`TrialOutcome`. In processes it must be importable. An error that it raises is
            the trial's reason to fail.
        space: Range of each parameter by name.
        trials: Number of trials that the study has in the end.
        goals: Name, direction and unit of each value.
        first: Parameters of the first trials, such as those in use today.
        workers, scheduler, executor, slots: Engine that computes trials, see
            :func:`~.engine.engine`; by default this process.
        storage: Address of the storage that keeps the trials, see :func:`~.storage.open_storage`;
            None keeps them in memory.
        name: Name of the study in the storage.
        about: Facts by name, as plain JSON, that tell this study from others. A study of the same
            name with other facts is refused.
        seed: Seed of the proposals; not negative.
        sampler: ``tpe``, ``nsga2`` or ``random``, of Optuna.
        lag: Number of trials that run at a time, at most. Trial k knows the trials 0 to k - lag.
        lost_after: Time without a sign of life [s], after which another process's trials are run
            again.
        tell: Function that gets words for people.
        progress: Function that is called when trials have ended.

    Returns:
        The trials.

    Raises:
        ConfigError: an argument that can't be used; a storage or scheduler that doesn't answer; a
            study of something else; workers with another version of the package. Nothing was tried
            then.
        HardwareFault: storage or scheduler have gone. What has ended is kept.
    """
    ranges = {key: each if isinstance(each, Range) else Range(*each) for key, each in space.items()}
    _check(ranges, trials, goals, first, seed, lag)
    proposer = Proposer(ranges, goals, sampler, seed, lag, first)
    identity = dict(about or {}) | {
        "objectives": [[goal.name, goal.direction, goal.unit] for goal in goals],
        "space": {key: list(asdict(each).values()) for key, each in sorted(ranges.items())},
        "first": [dict(sorted(each.items())) for each in first],
        "seed": seed,
        "sampler": sampler,
        "lag": lag,
        "version": package_version(),
    }
    where = without_password(storage) if storage else "memory"
    with engine(workers, scheduler, executor, slots) as computing:
        computing.check_function(objective)
        study = SharedStudy(open_storage(storage), where, name, goals, identity, tell, lost_after)
        driver = _Driver(objective, trials, goals, proposer, study, computing, lag, progress)
        with signs_of_life(study):
            return driver.run()


class _Driver:
    """Claims trials, submits them and writes their results, until the study has all of them."""

    def __init__(
        self,
        objective: Objective,
        trials: int,
        goals: Sequence[Goal],
        proposer: Proposer,
        study: SharedStudy,
        computing: Engine,
        lag: int,
        progress: Callable[[SearchProgress], None] | None,
    ) -> None:
        self._objective = objective
        self._trials = trials
        self._goals = goals
        self._proposer = proposer
        self._study = study
        self._engine = computing
        self._lag = lag
        self._progress = progress
        self._began = time.monotonic()
        self._ended_before = -1
        self._ended_at_first = 0

    def run(self) -> Tuned:
        try:
            while True:
                ledger = self._study.read()
                ended = ledger.number_ended(self._trials)
                self._report(ledger, ended)
                if ended == self._trials:
                    return ledger.tuned(self._goals)
                self._start(ledger)
                self._collect()
        except BaseException:
            # so that others can run at once what this process doesn't end
            self._study.give_up_all()
            raise

    def _start(self, ledger: Ledger) -> None:
        """Begin trials while there are free slots, and trials that can be proposed."""
        while self._engine.room() > 0 and self._engine.under_way() < self._lag:
            index = ledger.lost(self._trials)
            if index is None and not self._can_begin(ledger):
                return
            claim, ledger = self._study.claim(index)
            if claim is None:
                continue
            if claim.index >= self._trials:  # two processes began the last trial at once
                self._study.give_up(claim)
                return
            task = self._task(claim, ledger)
            if task is None:
                return
            self._engine.submit(task, timed, self._objective, package_version(), task.parameters)

    def _can_begin(self, ledger: Ledger) -> bool:
        if ledger.count >= self._trials:
            return False
        needed = self._proposer.needed(ledger.count)
        return len(ledger.prefix(needed)) == needed

    def _task(self, claim: Claim, ledger: Ledger) -> _Task | None:
        """The trial with its parameters, once all results that they follow from are there.

        None where such a result has been lost: then its trial comes first.
        """
        needed = self._proposer.needed(claim.index)
        while len(ledger.prefix(needed)) < needed:
            if ledger.lost(needed) is not None:
                self._study.give_up(claim)
                return None
            self._collect()
            ledger = self._study.read()
        parameters, remembered = self._proposer.propose(claim.index, ledger.prefix(needed))
        return _Task(claim, parameters, remembered)

    def _collect(self) -> None:
        """Wait until something ends, for POLL at most, and write its result."""
        for task, future in self._engine.ended(POLL):
            self._end(task, future)

    def _end(self, task: _Task, future: Future[Any]) -> None:
        try:
            result, seconds, worker = future.result()
            outcome = self._outcome(result)
        except CancelledError:
            self._engine.check()
            self._study.give_up(task.claim)
            return
        except Exception as error:
            if isinstance(error, ConfigError) and error.name == "version":
                raise
            outcome = TrialOutcome((), in_one_line(error)[:LONGEST])
            seconds = 0.0
            worker = worker_name()
        self._study.end(
            task.claim,
            task.parameters,
            self._proposer.distributions,
            outcome.values,
            remembered=task.remembered,
            reason=outcome.reason,
            details=outcome.details,
            seconds=seconds,
            worker=worker,
        )

    def _outcome(self, result: Any) -> TrialOutcome:
        outcome = (
            result
            if isinstance(result, TrialOutcome)
            else TrialOutcome(_values(result, self._goals))
        )
        if len(outcome.values) not in (0, len(self._goals)):
            names = ", ".join(goal.name for goal in self._goals)
            raise refused(
                "values",
                list(outcome.values),
                f"must be one for each objective: {names}",
                len(self._goals),
            )
        if not all(math.isfinite(value) for value in outcome.values):
            return TrialOutcome(
                (),
                f"values {list(outcome.values)} must be finite. {outcome.reason}".strip(),
                outcome.details,
            )
        return outcome

    def _report(self, ledger: Ledger, ended: int) -> None:
        if self._ended_before < 0:
            self._ended_at_first = ended
        if self._progress is None or ended == self._ended_before:
            return
        self._ended_before = ended
        seconds = time.monotonic() - self._began
        since = ended - self._ended_at_first
        remaining = (self._trials - ended) * seconds / since if since else math.nan
        self._progress(SearchProgress(self._trials, ledger.tuned(self._goals), seconds, remaining))


def _values(result: Any, goals: Sequence[Goal]) -> tuple[float, ...]:
    if isinstance(result, Mapping):
        missing = [goal.name for goal in goals if goal.name not in result]
        if missing:
            raise refused(
                "values",
                sorted(result),
                f"must have each objective; {', '.join(missing)} is missing",
                missing,
            )
        return tuple(float(result[goal.name]) for goal in goals)
    if isinstance(result, Real):
        return (float(result),)
    if isinstance(result, Iterable) and not isinstance(result, str):
        return tuple(float(value) for value in result)
    raise refused(
        "result",
        result,
        "must be a number, one for each objective, or a mapping of objectives to numbers",
    )


def _check(
    space: Mapping[str, Range],
    trials: Any,
    goals: Sequence[Goal],
    first: Sequence[Mapping[str, float]],
    seed: Any,
    lag: Any,
) -> None:
    """Refuse what can't be searched, before anything is computed."""
    if not space:
        raise refused("space", {}, "must have a parameter: nothing could be varied")
    for name, each in space.items():
        each.check(name)
    for what, value, least in (("trials", trials, 1), ("seed", seed, 0), ("lag", lag, 1)):
        if isinstance(value, bool) or not isinstance(value, int) or value < least:
            raise refused(what, value, f"must be a whole number, {least} or more", least)
    if not goals:
        raise refused("goals", (), "must have an objective")
    names = [goal.name for goal in goals]
    if len(set(names)) < len(names):
        raise refused("goals", names, "must have different names")
    for goal in goals:
        if goal.direction not in DIRECTIONS:
            raise refused(
                "direction", goal.direction, f"must be one of: {', '.join(DIRECTIONS)}", DIRECTIONS
            )
    for parameters in first:
        if set(parameters) != set(space):
            raise refused(
                "first",
                sorted(parameters),
                f"must have the parameters {', '.join(sorted(space))}",
                sorted(space),
            )
        for name, value in parameters.items():
            each = space[name]
            if not each.lower <= value <= each.upper:
                raise refused(
                    name,
                    value,
                    f"must be within [{each.lower:g}, {each.upper:g}]",
                    (each.lower, each.upper),
                )
