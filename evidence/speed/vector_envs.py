"""Steps per second of the Gymnasium environments: one, and some in a vector."""

from __future__ import annotations

import time
from typing import Any

import gymnasium
import numpy as np

from robot_control_ros import gym

COUNT = 8  # environments in a vector


def vector_environments(seconds: float) -> int:
    """Measure each task, `seconds` for each figure, and print a table; returns the exit status."""
    print(f"steps per second      one  {COUNT} sync  {COUNT} async")
    for task in gym.TASKS.values():
        kinds = (1, "sync"), (COUNT, "sync"), (COUNT, "async")
        rates = [_rate(task.id, number, mode, seconds) for number, mode in kinds]
        print(f"{task.id:16} {rates[0]:8.0f} {rates[1]:7.0f} {rates[2]:8.0f}", flush=True)
    return 0


def _rate(task: str, count: int, mode: str, seconds: float) -> float:
    """Steps of all environments per second, with random actions and the resets that come."""
    envs: Any = gymnasium.make_vec(
        f"robot_control_ros/{task}-v0", num_envs=count, vectorization_mode=mode, stiffness=True
    )
    try:
        envs.reset(seed=0)
        random, shape = np.random.default_rng(0), envs.action_space.shape
        for _ in range(3):  # imports, caches
            envs.step(random.uniform(-1.0, 1.0, shape).astype(np.float32))
        steps, begin = 0, time.perf_counter()
        while (taken := time.perf_counter() - begin) < seconds:
            envs.step(random.uniform(-1.0, 1.0, shape).astype(np.float32))
            steps += count
        return steps / taken
    finally:
        envs.close()
