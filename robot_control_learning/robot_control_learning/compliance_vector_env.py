"""Gymnasium's vector environment of many arms with one task, in this process or in several."""

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

from robot_control_ros import HardwareFault
from robot_control_ros.core.errors import refused
from robot_control_ros.simulation.worker_processes import BROKEN, worker_processes

from .compliance_env import ComplianceEnv

# the arms of this process, where it is one of several
_vector_here: SyncVectorEnv[Any, Any] | None = None


def make_vector_env(
    num_envs: int = 1,
    *,
    workers: int = 1,
    max_episode_steps: int | None = None,
    autoreset_mode: str | AutoresetMode = AutoresetMode.NEXT_STEP,
    **arguments: Any,
) -> VectorEnv[Any, Any, Any]:
    """Make the simulated arms that ``gymnasium.make_vec`` returns for this package's ids.

    An arm's episodes of one seed are equal to the last bit, in any number of arms and processes.

    Args:
        num_envs: Number of arms.
        workers: Number of processes. 1 simulates in this process. More simulate in fresh processes,
            and each has some of the arms. A script then needs ``if __name__ == "__main__":``.
        max_episode_steps: Steps after which an episode is truncated; None for never.
        autoreset_mode: Gymnasium's mode in which an arm begins its next episode.
        arguments: Arguments of each :class:`~.compliance_env.ComplianceEnv`.

    Raises:
        ConfigError, ModelError: An argument is refused.
        HardwareFault: A process has ended by itself.
    """
    for name, value in (("num_envs", num_envs), ("workers", workers)):
        if not isinstance(value, (int, np.integer)) or value < 1:
            raise refused(name, value, "must be a whole number from 1 on", 1)
    if not isinstance(arguments.get("robot", ""), str):
        raise refused(
            "robot",
            arguments["robot"],
            "must be the name of a robot to simulate: a running one is not many",
        )
    mode = AutoresetMode(autoreset_mode)
    if min(workers, num_envs) == 1:
        return _make_vector(num_envs, mode, max_episode_steps, arguments)
    return ComplianceVectorEnv(num_envs, workers, mode, max_episode_steps, arguments)


class ComplianceVectorEnv(VectorEnv[dict[str, Any], Any, Any]):
    """Arms in several processes: in each process Gymnasium's own SyncVectorEnv steps some of them.

    An error or a Ctrl-C during a step closes the environment.

    Args:
        num_envs: Number of arms.
        workers: Number of processes, at most one for each arm.
        autoreset_mode: Gymnasium's mode in which an arm begins its next episode.
        max_episode_steps: Steps after which an episode is truncated; None for never.
        arguments: Arguments of each :class:`~.compliance_env.ComplianceEnv`.
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
        # the arms of each process
        self._rows = [slice(begin, end) for begin, end in pairwise(bounds)]
        self._counts = [rows.stop - rows.start for rows in self._rows]
        self._stack = ExitStack()
        self._processes: list[ProcessPoolExecutor] = self._stack.enter_context(
            worker_processes(1, len(self._rows))
        )
        jobs = [(count, autoreset_mode, max_episode_steps, arguments) for count in self._counts]
        opened = self._call_all(_open, jobs)
        self.single_observation_space, self.single_action_space, self.metadata = opened[0]
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        # the newest observations of each process
        self._newest: list[Any] = [None] * len(self._rows)

    def reset(
        self,
        *,
        seed: int | Sequence[int | None] | None = None,
        options: dict[str, Any] | None = None,
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """Begin an episode of each arm, or of the arms that ``options["reset_mask"]`` chooses.

        Args:
            seed: Seed of the first arm, each further arm has the next number; or one seed for each
                arm; or None.
            options: Options of Gymnasium, with or without a `reset_mask` (num_envs,) of bool.

        Raises:
            ConfigError: The seeds or the mask aren't as many as the arms.
        """
        seeds = _seeds(seed, self.num_envs)
        other_options = dict(options or {})
        mask = other_options.pop("reset_mask", None)
        if mask is None:
            mask = np.ones(self.num_envs, bool)
        elif (
            np.shape(mask) != (self.num_envs,)
            or np.asarray(mask).dtype != np.bool_
            or not np.any(mask)
        ):
            raise refused(
                "reset_mask",
                mask,
                f"must be {self.num_envs} bools, one of them True",
                self.num_envs,
            )
        jobs = [
            (seeds[rows], other_options, np.asarray(mask[rows])) if mask[rows].any() else None
            for rows in self._rows
        ]
        infos = []
        for number, answer in enumerate(self._call_all(_reset, jobs)):
            if answer is not None:
                self._newest[number] = answer[0]
            infos.append({} if answer is None else answer[1])
        return self._observations(), _joined(infos, self._counts)

    def step(self, actions: Any) -> tuple[dict[str, Any], Any, Any, Any, dict[str, Any]]:
        """Step each arm once, as Gymnasium defines it.

        Args:
            actions: Actions (num_envs, ...), one for each arm.
        """
        actions = np.asarray(actions)
        answers = self._call_all(_step, [(actions[rows],) for rows in self._rows])
        self._newest = [answer[0] for answer in answers]
        rewards, terminations, truncations = (
            np.concatenate([answer[k] for answer in answers]) for k in (1, 2, 3)
        )
        infos = _joined([answer[4] for answer in answers], self._counts)
        return self._observations(), rewards, terminations, truncations, infos

    def call(self, name: str, *arguments: Any, **named: Any) -> tuple[Any, ...]:
        """Call a method of each environment, or read its attribute; returns
        their values in order.
        """
        answers = self._call_all(_call, [(name, arguments, named)] * len(self._rows))
        return tuple(value for answer in answers for value in answer)

    def get_attr(self, name: str) -> tuple[Any, ...]:
        """The attribute's value in each environment."""
        return self.call(name)

    def set_attr(self, name: str, values: Any) -> None:
        """Set an attribute of all environments to one value, or to the values
        of a list or tuple.
        """
        if not isinstance(values, (list, tuple)):
            values = [values] * self.num_envs
        if len(values) != self.num_envs:
            raise refused(
                "values",
                len(values),
                f"must be {self.num_envs}, one for each environment",
                self.num_envs,
            )
        self._call_all(_set, [(name, list(values[rows])) for rows in self._rows])

    @property
    def np_random_seed(self) -> tuple[int, ...]:  # type: ignore[override]  # as Gymnasium's own vectors
        """The seeds of the environments."""
        return self.get_attr("np_random_seed")

    def close_extras(self, **arguments: Any) -> None:
        """End the processes."""
        self._stack.close()

    def _call_all(self, function: Any, jobs: Sequence[tuple[Any, ...] | None]) -> list[Any]:
        """Call a function in all processes at once.

        Args:
            function: Function of this module.
            jobs: Arguments for each process, or None for a process that does nothing.

        Returns:
            Answer of each process, or None.

        Raises:
            HardwareFault: A process has ended by itself.
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
        """The newest observations of all arms."""
        names = self._newest[0].keys()
        return {
            name: np.concatenate([observations[name] for observations in self._newest])
            for name in names
        }


# --- functions that a process runs for its arms ---


def _make_vector(
    count: int, mode: AutoresetMode, max_episode_steps: int | None, arguments: Mapping[str, Any]
) -> SyncVectorEnv[Any, Any]:
    """Gymnasium's own vector environment of `count` arms."""

    def make() -> gymnasium.Env[Any, Any]:
        env = ComplianceEnv(**arguments)
        return env if max_episode_steps is None else TimeLimit(env, max_episode_steps)

    return SyncVectorEnv([make] * count, autoreset_mode=mode)


def _open(
    count: int, mode: AutoresetMode, max_episode_steps: int | None, arguments: Mapping[str, Any]
) -> tuple[gymnasium.Space[Any], gymnasium.Space[Any], dict[str, Any]]:
    """Make the arms of this process; returns the spaces of one environment, and the metadata."""
    global _vector_here
    _vector_here = _make_vector(count, mode, max_episode_steps, arguments)
    return (
        _vector_here.single_observation_space,
        _vector_here.single_action_space,
        _vector_here.metadata,
    )


def _opened() -> SyncVectorEnv[Any, Any]:
    """The arms of this process."""
    assert _vector_here is not None
    return _vector_here


def _reset(
    seeds: Sequence[int | None], options: dict[str, Any], mask: Any
) -> tuple[Any, dict[str, Any]]:
    """Reset the arms that the mask (k,) chooses."""
    return _opened().reset(seed=list(seeds), options={**options, "reset_mask": mask})


def _step(actions: Any) -> tuple[Any, Any, Any, Any, dict[str, Any]]:
    """Step the arms once."""
    return _opened().step(actions)


def _call(name: str, arguments: tuple[Any, ...], named: dict[str, Any]) -> tuple[Any, ...]:
    """Call a method of each environment, or read its attribute."""
    return _opened().call(name, *arguments, **named)


def _set(name: str, values: list[Any]) -> None:
    """Set an attribute of each environment to its own value."""
    _opened().set_attr(name, values)


# --- seeds for all arms, and infos of all ---


def _seeds(seed: int | Sequence[int | None] | None, count: int) -> list[int | None]:
    """The seeds of `count` arms."""
    if seed is None:
        return [None] * count
    if isinstance(seed, (int, np.integer)):
        return [int(seed) + number for number in range(count)]
    if len(seed) != count:
        raise refused(
            "seed",
            len(seed),
            f"must be {count}, one for each environment",
            count,
            where="number of ",
        )
    return list(seed)


def _joined(infos: Sequence[dict[str, Any]], counts: Sequence[int]) -> dict[str, Any]:
    """Join the infos of all processes as Gymnasium does.

    Each key has an array with a row for each arm, and `_key` says which rows have a value.

    Args:
        infos: Info of each process.
        counts: Number of arms of each process.
    """
    joined: dict[str, Any] = {}
    for key in dict.fromkeys(key for info in infos for key in info):
        example = next(info[key] for info in infos if key in info)
        if isinstance(example, dict):
            joined[key] = _joined([info.get(key, {}) for info in infos], counts)
        else:
            parts = [
                info[key] if key in info else _empty_rows(example, count)
                for info, count in zip(infos, counts, strict=True)
            ]
            joined[key] = np.concatenate(parts)
    return joined


def _empty_rows(example: Any, count: int) -> Any:
    """Rows for `count` arms without a key; `example` has the key's type and shape."""
    fill = None if example.dtype == object else np.zeros((), example.dtype)
    return np.full((count, *example.shape[1:]), fill, example.dtype)
