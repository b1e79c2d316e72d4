"""Maps how often a scripted policy gets a peg into a hole. Type: python examples/peg_map.py
--workers 2

The policy is the spiral of peg_policy.py. The map is over the stiffness sideways and the damping
ratio. Each cell has the same episodes.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping
from pathlib import Path

import gymnasium
import numpy as np

import robot_control_learning  # noqa: F401  # registers the environments
from robot_control_ros.tuning import sweep

sys.path.append(str(Path(__file__).parent))  # so that the processes find the policy, too
from peg_policy import STEPS, position

STIFFNESS = (100.0, 300.0, 900.0, 1500.0)  # N/m, along x and y
DAMPING_RATIO = (0.3, 0.7, 1.0, 1.5)
DOWN_STIFFNESS = 100.0  # N/m
ROTATION_STIFFNESS = 50.0  # N·m/rad
PUSH = 0.25  # of the fastest step downwards


def success(stiffness: float, damping_ratio: float, episodes: int) -> float:
    """The share of the episodes in which the peg gets into the hole."""
    gains = {
        "stiffness": [stiffness, stiffness, DOWN_STIFFNESS, *[ROTATION_STIFFNESS] * 3],
        "damping_ratio": damping_ratio,
    }
    env = gymnasium.make("robot_control_ros/PegInHole-v0", gains=gains)
    try:
        return sum(peg_is_in(env, seed) for seed in range(episodes)) / episodes
    finally:
        env.close()


def peg_is_in(env: gymnasium.Env, seed: int) -> bool:
    """Whether the policy gets the peg into the hole of a seed."""
    env.reset(seed=seed)
    for step in range(STEPS):
        sideways = (position(step + 1) - position(step)) / 0.002
        action = np.clip([*sideways, -PUSH], -1.0, 1.0).astype(np.float32)
        _, _, terminated, _, info = env.step(action)
        if terminated:
            return bool(info["success"])
    return False


def as_text(rates: Mapping[tuple[float, float], float]) -> str:
    """The map, a line for each stiffness."""
    lines = ["K_xy [N/m]   damping ratio " + "".join(f"{ratio:>7g}" for ratio in DAMPING_RATIO)]
    for stiffness in STIFFNESS:
        cells = "".join(f"{rates[stiffness, ratio]:>7.0%}" for ratio in DAMPING_RATIO)
        lines.append(f"{stiffness:>10g}{'':>16}{cells}")
    return "\n".join(lines)


def main() -> None:
    """Compute the map, and print it."""
    parser = argparse.ArgumentParser(
        description="maps the success of a policy over stiffness and damping"
    )
    parser.add_argument("--episodes", type=int, default=8, help="in each cell (default: 8)")
    parser.add_argument(
        "--workers", type=int, default=0, help="processes (default: this one alone)"
    )
    parser.add_argument(
        "--scheduler", default="", help="instead: Dask's workers, as in tcp://10.0.0.5:8786"
    )
    options = parser.parse_args()
    grid = {"stiffness": STIFFNESS, "damping_ratio": DAMPING_RATIO, "episodes": [options.episodes]}
    found = sweep(success, grid, workers=options.workers, scheduler=options.scheduler)
    cells = zip(found.points, found.results, strict=True)
    print(
        as_text(
            {
                (each.arguments["stiffness"], each.arguments["damping_ratio"]): rate
                for each, rate in cells
            }
        )
    )


if __name__ == "__main__":
    main()
