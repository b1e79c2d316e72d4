"""The controller's node over DDS, beside a node that only answers; and what the processes take."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from robot_control_ros.bringup import SETUPS, NodeSpec
from robot_control_ros.robot.configuration import load_robot
from robot_control_ros.ros.process_environment import environment

from .process_figures import memory

PAUSE = 10.0  # s, at most, while the other node has its turn
RATES = (500.0, 1000.0)  # Hz


def dds_rows(seconds: float) -> dict[str, Any]:
    """Latency from a joint state to its command [us], the memory of both programs [MB], and the
    start [s].

    Args:
        seconds: Time of each node at each rate; they take turns of 2.5 s.
    """
    os.environ.update(environment())
    from robot_control_ros.bringup.processes import Processes
    from robot_control_ros.ros.running import spinning

    from .stopwatch import Stopwatch, stopwatch_node

    robot = load_robot("ur5")
    spec = SETUPS["sim"].make(robot=robot.name).node("controller")
    topics = {
        "joint_states": "/measured/joint_states",
        "/forward_effort_controller/commands": "/measured/commands",
    }
    parameters = {**spec.parameters, "use_sim_time": False, "state_timeout": PAUSE}
    spec = replace(spec, parameters=parameters, remappings={**spec.remappings, **topics})
    results: dict[str, Any] = {}
    with _echo(), Processes([]) as processes, spinning(stopwatch_node) as (node, spin):
        stopwatch = Stopwatch(robot, node, spin)
        begin = time.monotonic()
        controller = processes.start(spec)
        stopwatch.wait_for_answer("/measured")
        results["controller"] = {
            "start_s": time.monotonic() - begin,
            "memory_mb": memory(controller.pid),
        }
        for rate in RATES:
            nodes = {"echo": "/echo", "controller": "/measured"}
            results[f"{rate:.0f} Hz"] = stopwatch.compare(nodes, rate, seconds)
        simulator = processes.start(NodeSpec("simulator", "simulator", {"robot": robot.name}))
        stopwatch.wait_for_joint_state()
        results["simulator"] = {"memory_mb": memory(simulator.pid)}
    return results


def print_dds(results: dict[str, Any]) -> None:
    """A line for each node at each rate, and their ratios."""
    print(
        f"{'joint_states -> command':<28}{'p50 us':>8}{'p99 us':>8}{'p99.9 us':>10}{'sent':>8}{'lost':>6}"
    )
    for rate in (each for each in results if each.endswith("Hz")):
        rows = results[rate]
        for name, row in rows.items():
            times = f"{row['p50_us']:>8.0f}{row['p99_us']:>8.0f}{row['p999_us']:>10.0f}"
            print(f"{f'{rate}, {name}':<28}{times}{row['sent']:>8}{row['lost']:>6}")
        measured = rows["controller"]
        echo = rows["echo"]
        ratios = "  ".join(
            f"{key[:-3]} {measured[key] / echo[key]:.2f}" for key in ("p50_us", "p99_us", "p999_us")
        )
        print(f"{rate + ', ratio':<28}{ratios}")
    controller = results["controller"]
    simulator = results["simulator"]
    print(f"start to the first command: {controller['start_s']:.2f} s")
    print(
        f"memory: controller {controller['memory_mb']:.0f} MB, simulator {simulator['memory_mb']:.0f} MB"
    )


@contextmanager
def _echo() -> Iterator[None]:
    """The node to measure against, in a process of its own."""
    topics = ("-r", "joint_states:=/echo/joint_states", "-r", "commands:=/echo/commands")
    program = Path(__file__).with_name("echo.py")
    process = subprocess.Popen(
        [sys.executable, str(program), "--ros-args", *topics], start_new_session=True
    )
    try:
        yield
    finally:
        process.terminate()
        process.wait()
