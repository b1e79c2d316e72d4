"""Learns how stiff an arm must be to find a hole with a peg. Type: python examples/peg_policy.py

The policy is a spiral that pushes down. It has three numbers: the stiffness along x and y, the
stiffness along z, and the speed of the push. The cross-entropy method draws them from normal
distributions, and fits these to the best quarter of each generation. All candidates try the same
two places of the hole.
"""

from __future__ import annotations

import argparse
import math
import os

import gymnasium
import numpy as np

import robot_control_learning  # noqa: F401  # registers the environments

STEPS = 200  # of an episode
PERIOD = 0.04  # s, of a step
LARGEST_STEP = 0.002  # m, of the target in a step
RADIUS = 0.0022  # m, of the spiral
TURNS = 8.0  # of the spiral
SPIRAL_TIME = 6.0  # s that the spiral takes
DOWN_TIME = 1.0  # s before the spiral, in which the peg moves down
MEAN = (0.0, 0.0, 0.1)  # of the three numbers, in the first generation
SPREAD = (0.7, 0.7, 0.1)  # their standard deviations there
LEAST_SPREAD = (0.1, 0.1, 0.02)
PLACES = (1, 2)  # seeds of the hole's place


def actions(candidates: np.ndarray, step: int) -> np.ndarray:
    """The actions (n, 6) of candidates (n, 3): three displacements, then three
    stiffnesses, from -1 to 1.
    """
    down = np.full(len(candidates), -0.25) if step * PERIOD < DOWN_TIME else -candidates[:, 2]
    spiral = position(step + 1) - position(step)
    sideways = np.tile(spiral / LARGEST_STEP, (len(candidates), 1))
    lateral = candidates[:, 0]
    vertical = candidates[:, 1]
    return np.clip(np.column_stack((sideways, down, lateral, lateral, vertical)), -1.0, 1.0).astype(
        np.float32
    )


def position(step: int) -> np.ndarray:
    """The position (2,) on the spiral [m]. Its radius is as the root of time, so its turns
    cover the disc evenly.
    """
    progress = min(max((step * PERIOD - DOWN_TIME) / SPIRAL_TIME, 0.0), 1.0)
    angle = 2.0 * math.pi * TURNS * progress
    return RADIUS * math.sqrt(progress) * np.array((math.cos(angle), math.sin(angle)))


def evaluate(
    envs: gymnasium.vector.VectorEnv, candidates: np.ndarray, seeds: list[int]
) -> tuple[np.ndarray, np.ndarray]:
    """The return and the success of each candidate, in the episode of its seed."""
    envs.reset(seed=seeds)
    running = np.ones(envs.num_envs, bool)
    success = np.zeros(envs.num_envs, bool)
    total = np.zeros(envs.num_envs)
    for step in range(STEPS):
        _, reward, terminated, _, info = envs.step(actions(candidates, step))
        total += np.where(running, reward, 0.0)
        success |= running & info["success"]
        running &= ~terminated
        if not running.any():
            break
    return total, success


def stiffness(number: float) -> float:
    """The stiffness [N/m] of a number from -1 to 1 in an action."""
    return float(50.0 * 40.0 ** (0.5 + 0.5 * np.clip(number, -1.0, 1.0)))


def learn(
    envs: gymnasium.vector.VectorEnv, generations: int
) -> tuple[np.ndarray, list[tuple[float, float, float]]]:
    """Learn the three numbers by the cross-entropy method.

    Returns:
        Mean of the last generation, and the mean return, best return and success rate of each
        generation.
    """
    random = np.random.default_rng(1)
    mean = np.array(MEAN)
    spread = np.array(SPREAD)
    curve = []
    for generation in range(generations):
        candidates = random.normal(mean, spread, (envs.num_envs, 3))
        trials = [evaluate(envs, candidates, [seed] * envs.num_envs) for seed in PLACES]
        total, success = (np.mean(each, axis=0) for each in zip(*trials, strict=True))
        elite = candidates[np.argsort(total)[-max(2, envs.num_envs // 4) :]]
        mean = elite.mean(axis=0)
        spread = np.maximum(elite.std(axis=0), LEAST_SPREAD)
        curve.append((float(total.mean()), float(total.max()), float(success.mean())))
        returns = f"{generation:10d} {total.mean():8.1f} {total.max():8.1f} {success.mean():8.0%}"
        push = 1e3 * LARGEST_STEP / PERIOD * mean[2]  # mm/s
        print(
            f"{returns} {stiffness(mean[0]):11.0f} {stiffness(mean[1]):10.0f} {push:10.1f}",
            flush=True,
        )
    return mean, curve


def successes(envs: gymnasium.vector.VectorEnv, numbers: np.ndarray, seeds: range) -> int:
    """Count the episodes of these seeds in which the three numbers bring the peg into the hole."""
    count = 0
    same = np.tile(numbers, (envs.num_envs, 1))
    for first in range(0, len(seeds), envs.num_envs):
        batch = list(seeds[first : first + envs.num_envs])
        filled = batch + [0] * (envs.num_envs - len(batch))  # each arm needs a seed
        count += int(evaluate(envs, same, filled)[1][: len(batch)].sum())
    return count


def plot(path: str, curve: list[tuple[float, float, float]]) -> None:
    """Draw the learning curve."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7.0, 3.2), layout="constrained")
    left, right = figure.subplots(1, 2)
    mean, best, success = zip(*curve, strict=True)
    left.plot(best, color="#e07b39", marker="o", label="best")
    left.plot(mean, color="#1f5fa8", marker="o", label="mean")
    left.set_ylabel("return")
    left.legend(frameon=False)
    right.plot(100.0 * np.array(success), color="#3b9e5f", marker="o")
    right.set_ylabel("peg in the hole [%]")
    right.set_ylim(0.0, 105.0)
    for axis in (left, right):
        axis.set_xlabel("generation")
        axis.grid(True, alpha=0.3)
    figure.savefig(path, dpi=120)


def main() -> None:
    """Learn, then try the first and the learnt policy in episodes that are new to both."""
    parser = argparse.ArgumentParser(description="learns the stiffness for a peg in a hole")
    parser.add_argument("--generations", type=int, default=6, help="(default: 6)")
    parser.add_argument("--population", type=int, default=16, help="candidates (default: 16)")
    parser.add_argument(
        "--plot", default="", metavar="FILE", help="of the learning curve, such as peg_policy.png"
    )
    options = parser.parse_args()
    envs = gymnasium.make_vec(
        "robot_control_ros/PegInHole-v0",
        num_envs=options.population,
        workers=os.cpu_count() or 1,
        stiffness=True,
    )
    try:
        print("generation     mean     best  success  K_xy [N/m] K_z [N/m] push [mm/s]")
        learnt, curve = learn(envs, options.generations)
        for name, numbers in (("first", np.array(MEAN)), ("learnt", learnt)):
            print(
                f"{name} mean in 10 new episodes: {successes(envs, numbers, range(100, 110))} of 10 pegs in the hole"
            )
    finally:
        envs.close()
    if options.plot:
        plot(options.plot, curve)


if __name__ == "__main__":
    main()
