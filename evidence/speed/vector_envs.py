"""Steps per second of the Gymnasium environments: one, and some in a vector."""

from __future__ import annotations

import time
from typing import Any

import gymnasium
import numpy as np

from robot_control_learning import TASKS

COUNT = 8  # environments in a vector


def vector_environments(seconds: float) -> int:
    """Measure each task, `seconds` for each figure, and print a table; returns the exit status."""
    kinds: dict[str, dict[str, Any]] = {
        "one": {"num_envs": 1},
        f"{COUNT} sync": {"num_envs": COUNT, "vectorization_mode": "sync"},
        f"{COUNT} async": {"num_envs": COUNT, "vectorization_mode": "async"},
        f"{COUNT}, workers=2": {"num_envs": COUNT, "workers": 2},
    }
    print(f"{'steps per second':<18}" + "".join(f"{kind:>14}" for kind in kinds))
    for task in TASKS.values():
        rates = [_rate(task.id, settings, seconds) for settings in kinds.values()]
        print(f"{task.id:<18}" + "".join(f"{rate:>14.0f}" for rate in rates), flush=True)
    return 0


def _rate(task: str, settings: dict[str, Any], seconds: float) -> float:
    """Steps of all environments per second, with random actions and the resets that come."""
    envs: Any = gymnasium.make_vec(f"robot_control_ros/{task}-v0", **settings, stiffness=True)
    try:
        envs.reset(seed=0)
        random = np.random.default_rng(0)
        shape = envs.action_space.shape
        for _ in range(3):  # imports, caches
            envs.step(random.uniform(-1.0, 1.0, shape).astype(np.float32))
        steps = 0
        begin = time.perf_counter()
        while (taken := time.perf_counter() - begin) < seconds:
            envs.step(random.uniform(-1.0, 1.0, shape).astype(np.float32))
            steps += envs.num_envs
        return steps / taken
    finally:
        envs.close()
