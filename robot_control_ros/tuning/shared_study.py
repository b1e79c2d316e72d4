"""A study that processes and machines share through its storage: who runs which trial, and what has
ended.

Each attempt at a trial is a trial of Optuna's. The storage numbers attempts in the order in which
they were made, for all machines alike. A first attempt's index is the number of first attempts
before it. A trial whose worker has gone gets another attempt, which names the index. Where an index
has two attempts, the one with the lower number counts. So no lock is needed beyond those of the
storage.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import socket
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import optuna
from optuna.distributions import FloatDistribution
from optuna.exceptions import UpdateFinishedTrialError
from optuna.storages import BaseStorage
from optuna.trial import FrozenTrial, TrialState, create_trial

from ..core.errors import refused, unknown
from .proposals import direction_of
from .results import Goal, TrialRow, Tuned
from .storage import patiently, stored, without_password

BEAT = 10.0  # s between two signs of life of a worker
LOST_AFTER = 60.0  # s without one, after which its trials are run again
# Attributes of attempts and of the study.
REPEATS = "repeats"
OWNER = "owner"
ALIVE = "alive"
RESULT = "result"
ABOUT = "about"

_T = TypeVar("_T")


@dataclass(frozen=True)
class Claim:
    """An attempt that this process makes.

    Attributes:
        trial_id: Number by which the storage knows the attempt.
        index: Index of the trial.
    """

    trial_id: int
    index: int


class Ledger:
    """State of a study's trials, as its attempts tell it.

    Args:
        attempts: All attempts of the study, in the order of their numbers.
    """

    def __init__(self, attempts: Sequence[FrozenTrial]) -> None:
        self._attempts: dict[int, list[FrozenTrial]] = {}
        self._index: dict[int, int] = {}
        self.count = 0
        for attempt in attempts:
            index = int(attempt.user_attrs.get(REPEATS, self.count))
            if REPEATS not in attempt.user_attrs:
                self.count += 1
            self._attempts.setdefault(index, []).append(attempt)
            self._index[attempt.number] = index

    def index_of(self, number: int) -> int:
        """Index of the trial at which the attempt with this number is made."""
        return self._index[number]

    def ended(self, index: int) -> FrozenTrial | None:
        """The attempt whose result counts; None where the trial has none yet."""
        for attempt in self._attempts.get(index, ()):
            if attempt.state.is_finished() and RESULT in attempt.user_attrs:
                return attempt
        return None

    def running(self, index: int) -> list[FrozenTrial]:
        """The attempts that are under way."""
        return [
            attempt for attempt in self._attempts.get(index, ()) if not attempt.state.is_finished()
        ]

    def all_running(self) -> Iterator[tuple[int, FrozenTrial]]:
        """Index and attempt of all that is under way."""
        for index in self._attempts:
            for attempt in self.running(index):
                yield index, attempt

    def prefix(self, most: int) -> list[FrozenTrial]:
        """The results of the trials from 0 on, up to the first that has none; at most `most`."""
        found: list[FrozenTrial] = []
        while len(found) < most:
            attempt = self.ended(len(found))
            if attempt is None:
                break
            found.append(attempt)
        return found

    def number_ended(self, trials: int) -> int:
        """Number of the first `trials` trials that have ended."""
        return sum(self.ended(index) is not None for index in range(min(trials, self.count)))

    def lost(self, trials: int) -> int | None:
        """The first of `trials` trials that nobody runs and that has no result; None for none."""
        for index in range(min(trials, self.count)):
            if self.ended(index) is None and not self.running(index):
                return index
        return None

    def tuned(self, goals: Sequence[Goal]) -> Tuned:
        """The rows of the trials that have ended."""
        rows = ((index, self.ended(index)) for index in range(self.count))
        return Tuned(
            tuple(goals),
            tuple(_row(index, attempt) for index, attempt in rows if attempt is not None),
        )


def _row(index: int, attempt: FrozenTrial) -> TrialRow:
    result = attempt.user_attrs[RESULT]
    values = tuple(attempt.values) if attempt.state is TrialState.COMPLETE else ()
    return TrialRow(
        index,
        dict(result["parameters"]),
        values,
        result["reason"],
        result["details"],
        result["seconds"],
        result["worker"],
    )


class SharedStudy:
    """The study of a name in a storage; it is made where there is none yet.

    Args:
        storage: Storage of the study, see :func:`~.storage.open_storage`.
        where: Address of the storage, for messages.
        name: Name of the study.
        goals: Objectives of the study.
        about: Facts by name, as plain JSON, that tell this study from others.
        tell: Function that gets words for people.
        lost_after: Time without a sign of life [s], after which a worker's trials are run again.

    Raises:
        ConfigError: the storage holds a study of this name that is of something else.
    """

    def __init__(
        self,
        storage: BaseStorage,
        where: str,
        name: str,
        goals: Sequence[Goal],
        about: Mapping[str, Any],
        tell: Callable[[str], None],
        lost_after: float = LOST_AFTER,
    ) -> None:
        self._storage = storage
        self._tell = tell
        directions = [direction_of(goal) for goal in goals]
        self._study = self._patiently(
            lambda: optuna.create_study(
                storage=storage, study_name=name, directions=directions, load_if_exists=True
            )
        )
        self._id = self._patiently(lambda: storage.get_study_id_from_name(name))
        self._check(where, name, about)
        self._owner = _this_process()
        self._lost_after = lost_after
        self._seen: dict[int, tuple[Any, float]] = {}
        self._claims: dict[int, Claim] = {}
        self._guard = threading.Lock()

    def read(self) -> Ledger:
        """State of the study's trials now. Attempts whose worker has gone are ended."""
        attempts = self._attempts()
        gone = [
            attempt
            for attempt in attempts
            if not attempt.state.is_finished() and self._has_gone(attempt)
        ]
        for attempt in gone:
            self._end_without_result(attempt._trial_id)
        return Ledger(self._attempts() if gone else attempts)

    def claim(self, index: int | None) -> tuple[Claim | None, Ledger]:
        """Begin an attempt.

        Args:
            index: Index of a trial that is lost; None begins a new trial.

        Returns:
            The claim, or None where another process has the same trial already. Then what has
            happened in the study up to now.
        """
        attributes: dict[str, Any] = {OWNER: self._owner}
        if index is not None:
            attributes[REPEATS] = index
        template = create_trial(state=TrialState.RUNNING, user_attrs=attributes)
        trial_id = self._patiently(lambda: self._storage.create_new_trial(self._id, template))
        number = self._patiently(lambda: self._storage.get_trial(trial_id).number)
        ledger = Ledger(self._attempts())
        claim = Claim(trial_id, ledger.index_of(number))
        others = [attempt.number for attempt in ledger.running(claim.index)]
        if ledger.ended(claim.index) is not None or min(others, default=number) < number:
            self._end_without_result(trial_id)
            return None, ledger
        with self._guard:
            self._claims[trial_id] = claim
        return claim, ledger

    def end(
        self,
        claim: Claim,
        parameters: Mapping[str, float],
        distributions: Mapping[str, FloatDistribution],
        values: Sequence[float],
        *,
        remembered: Mapping[str, Any],
        reason: str,
        details: Mapping[str, Any],
        seconds: float,
        worker: str,
    ) -> None:
        """Write the result of an attempt; without values the trial has failed."""
        result = {
            "parameters": dict(parameters),
            "reason": reason,
            "details": dict(details),
            "seconds": seconds,
            "worker": worker,
        }
        state = TrialState.COMPLETE if values else TrialState.FAIL
        trial_id = claim.trial_id
        # taken for gone meanwhile: another attempt is made
        with contextlib.suppress(UpdateFinishedTrialError):
            for name, value in parameters.items():
                self._set_parameter(trial_id, name, value, distributions[name])
            if remembered:
                self._set(trial_id, "sampler", dict(remembered))
            self._set(trial_id, RESULT, result)
            finished = list(values) or None
            self._patiently(lambda: self._storage.set_trial_state_values(trial_id, state, finished))
        self._forget(trial_id)

    def give_up(self, claim: Claim) -> None:
        """End an attempt without a result: the trial is run again, here or elsewhere."""
        self._end_without_result(claim.trial_id)

    def give_up_all(self) -> None:
        """Give up all attempts of this process, as far as the storage can be written."""
        with self._guard:
            claims = list(self._claims.values())
        for claim in claims:
            with contextlib.suppress(Exception):
                self.give_up(claim)

    def beat(self) -> None:
        """Give a sign of life for all attempts of this process; where it can't be
        written, the next one is.
        """
        with self._guard:
            claims = list(self._claims)
        for trial_id in claims:
            with contextlib.suppress(Exception):
                self._storage.set_trial_user_attr(trial_id, ALIVE, time.time())

    def _check(self, where: str, name: str, about: Mapping[str, Any]) -> None:
        """Write what the study is of, or refuse one that is of something else."""
        known = self._patiently(lambda: self._storage.get_study_user_attrs(self._id)).get(ABOUT)
        if known is None:
            self._patiently(lambda: self._storage.set_study_user_attr(self._id, ABOUT, dict(about)))
            known = self._patiently(lambda: self._storage.get_study_user_attrs(self._id))[ABOUT]
        for key in (*about, *known):
            if known.get(key) != about.get(key):
                rule = f"the study {name} in {where} has {known.get(key)!r}: name another study or another storage"
                raise refused(key, about.get(key), rule, known.get(key))

    def _attempts(self) -> list[FrozenTrial]:
        return self._patiently(lambda: self._study.get_trials(deepcopy=False))

    def _has_gone(self, attempt: FrozenTrial) -> bool:
        """True where the process that makes an attempt has ended, or gives no sign of life."""
        owner = attempt.user_attrs.get(OWNER, {})
        if owner == self._owner:
            with self._guard:
                return attempt._trial_id not in self._claims
        here = owner.get("machine") == self._owner["machine"]
        if here and _started(int(owner["process"])) != owner["started"]:
            return True
        sign = attempt.user_attrs.get(ALIVE)
        now = time.monotonic()
        last = self._seen.get(attempt._trial_id)
        if last is None or last[0] != sign:
            self._seen[attempt._trial_id] = (sign, now)
            return False
        return now - last[1] > self._lost_after

    def _end_without_result(self, trial_id: int) -> None:
        with contextlib.suppress(UpdateFinishedTrialError):
            self._patiently(lambda: self._storage.set_trial_state_values(trial_id, TrialState.FAIL))
        self._forget(trial_id)

    def _forget(self, trial_id: int) -> None:
        with self._guard:
            self._claims.pop(trial_id, None)

    def _set_parameter(
        self, trial_id: int, name: str, value: float, distribution: FloatDistribution
    ) -> None:
        internal = distribution.to_internal_repr(value)
        self._patiently(
            lambda: self._storage.set_trial_param(trial_id, name, internal, distribution)
        )

    def _set(self, trial_id: int, name: str, value: Any) -> None:
        self._patiently(lambda: self._storage.set_trial_user_attr(trial_id, name, value))

    def _patiently(self, write: Callable[[], _T]) -> _T:
        return patiently(write, self._tell)


def stored_study(url: str, name: str) -> dict[str, Any]:
    """Facts by name that tell the study of a name in a storage from others; nothing is made.

    Args:
        url: Address of the storage, see :func:`~.storage.open_storage`.
        name: Name of the study.

    Raises:
        ConfigError: the storage has no such study, or doesn't answer.
    """
    return dict(_known_study(url, name).user_attrs.get(ABOUT, {}))


def stored_ledger(url: str, name: str) -> Ledger:
    """State of the trials in the study of a name in a storage; nothing is changed.

    Raises:
        ConfigError: see :func:`stored_study`.
    """
    return Ledger(_known_study(url, name).get_trials(deepcopy=False))


def _known_study(url: str, name: str) -> optuna.Study:
    """The study; ConfigError where the storage has none of this name."""
    storage = stored(url)
    known = [study.study_name for study in storage.get_all_studies()]
    if name not in known:
        raise unknown("study", name, known, hint=f", in {without_password(url)}")
    return optuna.load_study(study_name=name, storage=storage)


@contextlib.contextmanager
def signs_of_life(study: SharedStudy) -> Iterator[None]:
    """Give signs of life for a study's attempts during a block, from a thread of their own."""
    ended = threading.Event()

    def work() -> None:
        while not ended.wait(BEAT):
            study.beat()

    thread = threading.Thread(target=work, name="signs of life", daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()


def _this_process() -> dict[str, Any]:
    """Facts that tell this process from all others, also from a later one with the same number."""
    process = os.getpid()
    return {
        "machine": _machine(),
        "host": socket.gethostname(),
        "process": process,
        "started": _started(process),
        "user": secrets.token_hex(4),
    }


def _machine() -> str:
    """The machine since it was switched on, and the room in which process numbers count."""
    parts = []
    with contextlib.suppress(OSError):
        parts.append(Path("/proc/sys/kernel/random/boot_id").read_text().strip())
        parts.append(os.readlink("/proc/self/ns/pid"))
    return " ".join(parts)


def _started(process: int) -> str:
    """Time when a process of this machine was started, in clock ticks; empty where it has ended."""
    try:
        fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return ""
    return "" if fields[0] == "Z" else fields[19]
