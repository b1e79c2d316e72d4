"""simulate() beside a researcher's forty lines, and the environments beside their
own physics; in turns.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import mujoco
import numpy as np

from robot_control_ros.robot.configuration import load_robot
from robot_control_ros.simulation.in_process import simulate
from robot_control_ros.simulation.mujoco_plant import MujocoPlant

from .forty_lines import forty_lines

LENGTH = 2.0  # s of simulated time of a turn
TURNS = 5  # the median counts
STEPS = 60  # of an environment in a turn


def simulation_rows() -> dict[str, float]:
    """Speed of a UR5 under impedance, in real times, at 1 kHz physics and control."""
    robot = load_robot("ur5")
    plant = MujocoPlant(robot, rate=1000.0)
    tip = plant.model.body(robot.tip).id
    cycles = round(1000.0 * LENGTH)

    def package() -> None:
        simulate(robot, "impedance", duration=LENGTH)

    def plain() -> None:
        forty_lines(plant.model, plant.data, tip, plant.start, cycles)

    package_times, plain_times = _in_turns(package, plain)
    return {
        "simulate_times_real_time": LENGTH / float(np.median(package_times)),
        "forty_lines_times_real_time": LENGTH / float(np.median(plain_times)),
        "ratio": float(np.median(plain_times / package_times)),
    }


def environment_rows() -> dict[str, dict[str, float]]:
    """Steps a second of the environment Reach, with and without a stiffness in each action,
    and of its physics.
    """
    import gymnasium

    import robot_control_learning  # noqa: F401  # registers the environments

    rows = {}
    for name, stiffness in (("Reach", False), ("Reach, streamed stiffness", True)):
        env: Any = gymnasium.make("robot_control_ros/Reach-v0", stiffness=stiffness)
        env.reset(seed=0)
        random = np.random.default_rng(0)
        substeps = round(env.unwrapped.period / mujoco_step())
        plant = MujocoPlant(load_robot("ur5e"))

        def act(env: Any = env, random: Any = random) -> None:
            for _ in range(STEPS):
                ended = env.step(
                    random.uniform(-1.0, 1.0, env.action_space.shape).astype(np.float32)
                )
                if ended[2] or ended[3]:
                    env.reset()

        def physics(plant: MujocoPlant = plant, substeps: int = substeps) -> None:
            for _ in range(STEPS * substeps):
                mujoco.mj_step(plant.model, plant.data)

        env_times, physics_times = _in_turns(act, physics)
        env.close()
        rows[name] = {
            "steps_per_s": STEPS / float(np.median(env_times)),
            "physics_per_s": STEPS / float(np.median(physics_times)),
            "ratio": float(np.median(physics_times / env_times)),
        }
    return rows


def mujoco_step() -> float:
    """The physics step of the environments [s]."""
    return float(MujocoPlant(load_robot("ur5e")).model.opt.timestep)


def print_simulation(row: dict[str, float]) -> None:
    """Print the speed in real times."""
    print(
        f"simulate(): {row['simulate_times_real_time']:.1f} x real time at 1 kHz physics and control"
    )
    print(
        f"forty lines of MuJoCo and NumPy: {row['forty_lines_times_real_time']:.1f} x; ratio {row['ratio']:.3f}"
    )


def print_environments(rows: dict[str, dict[str, float]]) -> None:
    """A line an environment."""
    print(f"{'steps a second':<28}{'environment':>12}{'physics':>9}{'ratio':>8}")
    for name, row in rows.items():
        print(
            f"{name:<28}{row['steps_per_s']:>12.0f}{row['physics_per_s']:>9.0f}{row['ratio']:>8.3f}"
        )


def _in_turns(first: Callable[[], None], second: Callable[[], None]) -> tuple[Any, Any]:
    """Times (TURNS,) of both [s]; each has run once before."""
    first()
    second()
    times = np.empty((2, TURNS))
    for turn in range(TURNS):
        for row, call in enumerate((first, second)):
            begin = time.perf_counter()
            call()
            times[row, turn] = time.perf_counter() - begin
    return times[0], times[1]
