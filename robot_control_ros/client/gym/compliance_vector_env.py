"""Many environments of one task as a vector environment of Gymnasium, in this process or in several."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from concurrent.futures import BrokenExecutor, Future, ProcessPoolExecutor
from contextlib import ExitStack
from itertools import pairwise
from typing import Any

import gymnasium
import numpy as np
from gymnasium.vector import AutoresetMode, SyncVectorEnv, VectorEnv
from gymnasium.vector.utils import batch_space
from gymnasium.wrappers import TimeLimit

from ...core.errors import HardwareFault, refused
from ...simulation.worker_processes import BROKEN, worker_processes
from .compliance_env import ComplianceEnv

_share: SyncVectorEnv[Any, Any] | None = None  # of this process, where it is one of several


def make_vector_env(
    num_envs: int = 1,
    *,
    workers: int = 1,
    max_episode_steps: int | None = None,
    autoreset_mode: str | AutoresetMode = AutoresetMode.NEXT_STEP,
    **arguments: Any,
) -> VectorEnv[Any, Any, Any]:
    """What ``gymnasium.make_vec`` gives for the package's ids: simulated arms that are stepped together.

    Of one seed the episodes of an arm are equal to the last bit, whatever the number of arms and processes.

    Args:
        num_envs: how many arms.
        workers: 1 simulates in this process; more do so in as many fresh ones, each with its share of the arms. A
            script then needs ``if __name__ == "__main__":``.
        max_episode_steps: after which an episode is truncated; None for never.
        autoreset_mode: when an arm begins anew whose episode has ended; see Gymnasium.
        arguments: of each :class:`~.compliance_env.ComplianceEnv`.

    Raises:
        ConfigError, ModelError: an argument is refused.
        HardwareFault: a process has ended by itself.
    """
    for name, value in (("num_envs", num_envs), ("workers", workers)):
        if not isinstance(value, (int, np.integer)) or value < 1:
            raise refused(name, value, "must be a whole number from 1 on", 1)
    if not isinstance(arguments.get("robot", ""), str):
        raise refused("robot", arguments["robot"], "must be the name of a robot to simulate: a running one is not many")
    mode = AutoresetMode(autoreset_mode)
    if min(workers, num_envs) == 1:
        return _vector(num_envs, mode, max_episode_steps, arguments)
    return ComplianceVectorEnv(num_envs, workers, mode, max_episode_steps, arguments)


class ComplianceVectorEnv(VectorEnv[dict[str, Any], Any, Any]):
    """Arms in several processes: in each of them Gymnasium's own SyncVectorEnv steps a share of them.

    An error or a Ctrl-C while they are stepped closes it.

    Args:
        num_envs: how many arms.
        workers: how many processes, at most.
        autoreset_mode: see Gymnasium.
        max_episode_steps, arguments: see :func:`make_vector_env`.
    """

    def __init__(
        self,
        num_envs: int,
        workers: int,
        autoreset_mode: AutoresetMode,
        max_episode_steps: int | None,
        arguments: Mapping[str, Any],
    ) -> None:
        self.num_envs = num_envs
        bounds = np.linspace(0, num_envs, min(workers, num_envs) + 1).round().astype(int)
        self._shares = [slice(first, last) for first, last in pairwise(bounds)]
        self._sizes = [share.stop - share.start for share in self._shares]
        self._stack = ExitStack()
        self._processes: list[ProcessPoolExecutor] = self._stack.enter_context(worker_processes(1, len(self._shares)))
        opened = self._all(_open, [(size, autoreset_mode, max_episode_steps, arguments) for size in self._sizes])
        self.single_observation_space, self.single_action_space, self.metadata = opened[0]
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self._seen: list[Any] = [None] * len(self._shares)  # what each share has observed last

    def reset(
        self, *, seed: int | Sequence[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """Begin an episode of each arm, or of those that ``options["reset_mask"]`` chooses; see Gymnasium.

        Args:
            seed: of the first arm, the next one for the next arm; or one for each; or None.
            options: may have a `reset_mask` (num_envs,) of bool.

        Raises:
            ConfigError: seeds or mask aren't as many as there are arms.
        """
        seeds = _seeds(seed, self.num_envs)
        rest = dict(options or {})
        mask = rest.pop("reset_mask", None)
        if mask is None:
            mask = np.ones(self.num_envs, bool)
        elif np.shape(mask) != (self.num_envs,) or np.asarray(mask).dtype != np.bool_ or not np.any(mask):
            raise refused("reset_mask", mask, f"must be {self.num_envs} bools, one of them True", self.num_envs)
        jobs = [(seeds[share], rest, np.asarray(mask[share])) if mask[share].any() else None for share in self._shares]
        infos = []
        for number, answer in enumerate(self._all(_reset, jobs)):
            if answer is not None:
                self._seen[number] = answer[0]
            infos.append({} if answer is None else answer[1])
        return self._observations(), _joined(infos, self._sizes)

    def step(self, actions: Any) -> tuple[dict[str, Any], Any, Any, Any, dict[str, Any]]:
        """One step of each arm; see Gymnasium.

        Args:
            actions: (num_envs, ...) an action for each arm.
        """
        rows = np.asarray(actions)
        answers = self._all(_step, [(rows[share],) for share in self._shares])
        self._seen = [answer[0] for answer in answers]
        rewards, terminations, truncations = (np.concatenate([answer[k] for answer in answers]) for k in (1, 2, 3))
        infos = _joined([answer[4] for answer in answers], self._sizes)
        return self._observations(), rewards, terminations, truncations, infos

    def call(self, name: str, *arguments: Any, **named: Any) -> tuple[Any, ...]:
        """Call a method of each environment, or read an attribute; returns what each gives, in order."""
        answers = self._all(_call, [(name, arguments, named)] * len(self._shares))
        return tuple(value for answer in answers for value in answer)

    def get_attr(self, name: str) -> tuple[Any, ...]:
        """An attribute of each environment."""
        return self.call(name)

    def set_attr(self, name: str, values: Any) -> None:
        """Set an attribute of each environment: to a value, or to its own of a list or tuple."""
        if not isinstance(values, (list, tuple)):
            values = [values] * self.num_envs
        if len(values) != self.num_envs:
            raise refused("values", len(values), f"must be {self.num_envs}, one for each environment", self.num_envs)
        self._all(_set, [(name, list(values[share])) for share in self._shares])

    @property
    def np_random_seed(self) -> tuple[int, ...]:  # type: ignore[override]  # as Gymnasium's own vectors
        """The seeds of the environments."""
        return self.get_attr("np_random_seed")

    def close_extras(self, **arguments: Any) -> None:
        """End the processes."""
        self._stack.close()

    def _all(self, function: Any, jobs: Sequence[tuple[Any, ...] | None]) -> list[Any]:
        """Call a function in each process that has a job, at once; None where there is none.

        Raises:
            HardwareFault: a process has ended by itself.
        """
        try:
            futures: list[Future[Any] | None] = [
                None if job is None else process.submit(function, *job)
                for process, job in zip(self._processes, jobs, strict=True)
            ]
            return [None if future is None else future.result() for future in futures]
        except BaseException as error:
            self.closed = True
            self._stack.__exit__(*sys.exc_info())
            if isinstance(error, BrokenExecutor):
                raise HardwareFault(BROKEN) from error
            raise

    def _observations(self) -> dict[str, Any]:
        return {name: np.concatenate([seen[name] for seen in self._seen]) for name in self._seen[0]}


# --- in a process that steps a share of the arms ---


def _vector(
    count: int, mode: AutoresetMode, max_episode_steps: int | None, arguments: Mapping[str, Any]
) -> SyncVectorEnv[Any, Any]:
    def make() -> gymnasium.Env[Any, Any]:
        env = ComplianceEnv(**arguments)
        return env if max_episode_steps is None else TimeLimit(env, max_episode_steps)

    return SyncVectorEnv([make] * count, autoreset_mode=mode)


def _open(
    count: int, mode: AutoresetMode, max_episode_steps: int | None, arguments: Mapping[str, Any]
) -> tuple[gymnasium.Space[Any], gymnasium.Space[Any], dict[str, Any]]:
    """Make a share; returns the spaces of an environment, and the metadata."""
    global _share
    _share = _vector(count, mode, max_episode_steps, arguments)
    return _share.single_observation_space, _share.single_action_space, _share.metadata


def _opened() -> SyncVectorEnv[Any, Any]:
    assert _share is not None
    return _share


def _reset(seeds: Sequence[int | None], options: dict[str, Any], mask: Any) -> tuple[Any, dict[str, Any]]:
    """Reset those of the mask (k,)."""
    return _opened().reset(seed=list(seeds), options={**options, "reset_mask": mask})


def _step(actions: Any) -> tuple[Any, Any, Any, Any, dict[str, Any]]:
    return _opened().step(actions)


def _call(name: str, arguments: tuple[Any, ...], named: dict[str, Any]) -> tuple[Any, ...]:
    return _opened().call(name, *arguments, **named)


def _set(name: str, values: list[Any]) -> None:
    _opened().set_attr(name, values)


# --- what is for all, and of all ---


def _seeds(seed: int | Sequence[int | None] | None, count: int) -> list[int | None]:
    """A seed for each arm."""
    if seed is None:
        return [None] * count
    if isinstance(seed, (int, np.integer)):
        return [int(seed) + number for number in range(count)]
    if len(seed) != count:
        raise refused("seed", len(seed), f"must be {count}, one for each environment", count, where="number of ")
    return list(seed)


def _joined(infos: Sequence[dict[str, Any]], sizes: Sequence[int]) -> dict[str, Any]:
    """The infos of all shares as Gymnasium has them: an array for each key, and after `_` which rows have it."""
    joined: dict[str, Any] = {}
    for key in dict.fromkeys(key for info in infos for key in info):
        example = next(info[key] for info in infos if key in info)
        if isinstance(example, dict):
            joined[key] = _joined([info.get(key, {}) for info in infos], sizes)
        else:
            rows = [
                info[key] if key in info else _missing(example, size) for info, size in zip(infos, sizes, strict=True)
            ]
            joined[key] = np.concatenate(rows)
    return joined


def _missing(example: Any, size: int) -> Any:
    """Rows where no environment of a share has a key."""
    fill = None if example.dtype == object else np.zeros((), example.dtype)
    return np.full((size, *example.shape[1:]), fill, example.dtype)
