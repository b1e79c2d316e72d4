"""Many simulated arms: in this process beside two others, in turns; simulated to their end,
and stepped together.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import gymnasium
import numpy as np

import robot_control_learning  # noqa: F401  # registers the environments
from robot_control_ros.simulation.many_arms import simulate_many
from robot_control_ros.simulation.worker_processes import worker_processes

ARMS = 64
WORKERS = 2
LENGTH = 0.25  # s of simulated time of an arm
STEPS = 3  # of all environments in a turn
TURNS = 3  # the median counts


def arm_rows() -> dict[str, dict[str, float]]:
    """Work of two processes in a second beside that of one; their start isn't counted."""
    return {"simulate_many()": _simulated(), "Reach, in a vector": _stepped()}


def print_arms(rows: dict[str, dict[str, float]]) -> None:
    """A line for each."""
    print(f"{f'{ARMS} arms, in a second':<28}{'one process':>12}{f'{WORKERS} more':>9}{'ratio':>8}")
    for name, row in rows.items():
        print(f"{name:<28}{row['one_process']:>12.2f}{row['processes']:>9.2f}{row['ratio']:>8.3f}")


def _simulated() -> dict[str, float]:
    """Seconds of simulated time of all arms."""
    with worker_processes(WORKERS) as (processes,):

        def here() -> None:
            simulate_many(ARMS, duration=LENGTH)

        def there() -> None:
            simulate_many(ARMS, duration=LENGTH, executor=processes)

        return _row(here, there, ARMS * LENGTH)


def _stepped() -> dict[str, float]:
    """Steps of all environments."""
    vectors: list[Any] = [
        gymnasium.make_vec("robot_control_ros/Reach-v0", ARMS, workers=n) for n in (1, WORKERS)
    ]
    actions = (
        np.random.default_rng(0)
        .uniform(-1.0, 1.0, vectors[0].action_space.shape)
        .astype(np.float32)
    )
    for vector in vectors:
        vector.reset(seed=0)

    def step(vector: Any) -> None:
        for _ in range(STEPS):
            vector.step(actions)

    try:
        return _row(lambda: step(vectors[0]), lambda: step(vectors[1]), ARMS * STEPS)
    finally:
        for vector in vectors:
            vector.close()


def _row(one: Callable[[], None], several: Callable[[], None], amount: float) -> dict[str, float]:
    """What both do in a second, and their ratio; each has run once before."""
    times = np.empty((TURNS + 1, 2))
    for turn in times:
        for column, call in enumerate((one, several)):
            begin = time.perf_counter()
            call()
            turn[column] = time.perf_counter() - begin
    taken = times[1:]
    return {
        "one_process": amount / float(np.median(taken[:, 0])),
        "processes": amount / float(np.median(taken[:, 1])),
        "ratio": float(np.median(taken[:, 0] / taken[:, 1])),
    }
