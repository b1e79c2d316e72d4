"""How fast it all is: every figure beside what it is to be compared with, measured in the same run."""

from __future__ import annotations

import json
import math
import os
import platform
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pinocchio as pin

from robot_control_ros.bringup import SETUPS, NodeSpec, environment
from robot_control_ros.control.loop import ControlLoop
from robot_control_ros.core.output_files import write_text
from robot_control_ros.core.types import RobotState, Wrench
from robot_control_ros.laws import law_names
from robot_control_ros.robot.configuration import RobotConfig, load_robot
from robot_control_ros.robot.model import RobotModel
from robot_control_ros.simulation.in_process import simulate

BATCH = 250  # calls timed together
BATCHES = 60  # the median counts
PLAIN = "plain spring"  # of the impedance: without bound, in base axes


def bench(*, seconds: float = 30.0, json_path: str = "bench.json", ros: bool = True) -> int:
    """Run everything, print tables, write JSON; returns the exit status."""
    robot = load_robot("ur5")
    results: dict[str, Any] = {"machine": _machine(), "compute": _compute(robot), "simulate": _simulation()}
    results["impedance"] = _impedance(robot)
    _print_compute(results["compute"])
    _print_impedance(results["impedance"])
    print(f"\nsimulate(): {results['simulate']['times_real_time']:.1f} x real time at 1 kHz physics and control")
    if ros:
        results["dds"], results["memory_mb"] = _over_dds(robot, seconds)
        _print_dds(results["dds"], results["memory_mb"])
    write_text(json_path, json.dumps(results, indent=2) + "\n", ".json")
    print(f"\nwritten: {json_path}")
    return 0


def _machine() -> dict[str, Any]:
    return {"python": platform.python_version(), "system": platform.platform(), "cores": os.cpu_count()}


def _states(robot: RobotConfig, count: int, dt: float, with_wrench: bool) -> list[RobotState]:
    """A slow walk about home at constant speed, so that every call sees another state and no joint stands."""
    rng = np.random.default_rng(1)
    home, effort = np.array(robot.home), np.zeros(robot.n)
    phase = rng.uniform(0.0, 6.0, robot.n)
    states = []
    for i in range(count):
        t = i * dt
        q, v = home + 0.2 * np.arcsin(np.sin(t + phase)), 0.2 * np.sign(np.cos(t + phase))
        force = np.array([math.sin(t), math.cos(t), 0.0])
        wrench = Wrench(force, np.zeros(3), robot.wrench_frame) if with_wrench else None
        states.append(RobotState(t, q, v, effort, wrench))
    return states


def _time_us(call: Callable[[int], object], first: int) -> float:
    """Mean time of one of BATCH calls [us]."""
    begin = time.perf_counter()
    for i in range(first, first + BATCH):
        call(i)
    return (time.perf_counter() - begin) / BATCH * 1e6


def _bare_calls(robot: RobotConfig) -> Callable[[Any], None]:
    """The three Pinocchio calls that no controller can do without, as a user would call them.

    Forward kinematics of all frames, the tip's Jacobian and the gravity torques at q (n,).
    """
    model = pin.buildModelFromXML(robot.urdf())
    data, tip = model.createData(), model.getFrameId(robot.tip)

    def calls(q: Any) -> None:
        pin.framesForwardKinematics(model, data, q)
        pin.computeFrameJacobian(model, data, q, tip, pin.ReferenceFrame.LOCAL_WORLD_ALIGNED)
        pin.computeGeneralizedGravity(model, data, q)

    return calls


def _compute(robot: RobotConfig) -> dict[str, Any]:
    return {law: _law(robot, law) for law in law_names()}


def _law(robot: RobotConfig, law: str) -> dict[str, float]:
    """Bare Pinocchio, compute and tick in turns, so that a machine that changes its speed changes all three.

    Only a law that needs a wrench is given one.
    """
    dt = robot.period
    loop, bare = ControlLoop(robot, law), _bare_calls(robot)
    states = _states(robot, BATCH * BATCHES, dt, with_wrench=loop.running.needs_wrench)
    loop.tick(states[0])
    law_loop = ControlLoop(robot, law)
    law_loop.tick(states[0])
    gains, reference = law_loop.running.gains.current, law_loop.reference
    sensed: list[RobotState] = []
    kinematics: list[Any] = []

    def compute(i: int) -> None:
        law_loop.running.law.compute(sensed[i % BATCH], kinematics[i % BATCH], reference, gains, dt)

    rows = []
    for first in range(0, BATCH * BATCHES, BATCH):
        batch = states[first : first + BATCH]
        kinematics[:] = [law_loop.model.update(state.q, state.v) for state in batch]
        pairs = zip(batch, kinematics, strict=True)
        sensed[:] = [replace(state, wrench_on_tip=law_loop.wrench.on_tip(state, kin)) for state, kin in pairs]
        rows.append(
            (
                _time_us(lambda i: bare(states[i].q), first),
                _time_us(compute, first),
                _time_us(lambda i: loop.tick(states[i]), first),
            )
        )
    times = np.array(rows)
    pinocchio_us, compute_us, tick_us = (float(x) for x in np.median(times, axis=0))
    return {
        "pinocchio_us": pinocchio_us,
        "compute_us": compute_us,
        "tick_us": tick_us,
        "compute_per_pinocchio": float(np.median(times[:, 1] / times[:, 0])),
        "tick_per_compute": float(np.median(times[:, 2] / times[:, 1])),
    }


def _impedance(robot: RobotConfig) -> dict[str, dict[str, float]]:
    """A tick of the impedance in its variants, in turns, on an arm that swings freely and pulls at its spring.

    By variant: the time [us], what it is more than that of the plain spring [us], and the ratio of both.
    """
    free, tight = {"max_force": 0.0, "max_torque": 0.0}, {"max_force": 5.0, "max_torque": 0.5}
    wide, link = {"max_force": 2000.0, "max_torque": 500.0}, RobotModel.of(robot).links[2]
    gains: dict[str, dict[str, Any]] = {PLAIN: free, "without contact detection": free, "and without ringing": free}
    for name, frame in (("base", "base"), ("tip", "tip"), (link, link)):
        gains |= {f"bound, {name} axes": wide | {"frame": frame}, f"at it, {name} axes": tight | {"frame": frame}}
    loops = {name: ControlLoop(robot, "impedance", values) for name, values in gains.items()}
    silent = loops["and without ringing"].ringing
    silent.soften = lambda running, gains, *others: gains  # type: ignore[method-assign]
    for name in ("without contact detection", "and without ringing"):
        loops[name].contact.settings.set(dict.fromkeys(robot.contact, 0.0))
    states = _swing(robot, loops[PLAIN].model)
    names, times = list(loops), np.empty((len(loops), BATCHES))
    for turn in range(BATCHES):
        for index in np.roll(range(len(names)), turn):  # who comes first finds the states in no cache: each in its turn
            tick = loops[names[index]].tick
            times[index, turn] = _time_us(lambda i, tick=tick: tick(states[i]), turn * BATCH)  # type: ignore[misc]
    return {
        name: {
            "tick_us": float(np.median(each)),
            "more_us": float(np.median(each - times[0])),
            "ratio": float(np.median(each / times[0])),
        }
        for name, each in zip(loops, times, strict=True)
    }


def _swing(robot: RobotConfig, model: RobotModel) -> list[RobotState]:
    """From home and back, with the torques of that motion: nothing touches the arm."""
    home, states = np.array(robot.home), []
    for i in range(BATCH * BATCHES):
        t = i * robot.period
        q, v = home + 0.05 * (1.0 - math.cos(2.0 * t)), np.full(robot.n, 0.1 * math.sin(2.0 * t))
        states.append(RobotState(t, q, v, model.inverse_dynamics(q, v, np.full(robot.n, 0.2 * math.cos(2.0 * t)))))
    return states


def _simulation() -> dict[str, float]:
    simulate(duration=0.2)
    lengths = []
    for _ in range(3):
        begin = time.perf_counter()
        simulate(duration=4.0)
        lengths.append(4.0 / (time.perf_counter() - begin))
    return {"times_real_time": float(np.median(lengths))}


def _over_dds(robot: RobotConfig, seconds: float) -> tuple[dict[str, Any], dict[str, float]]:
    os.environ.update(environment())
    from bench.process_figures import memory
    from bench.stopwatch import Stopwatch, stopwatch_node
    from robot_control_ros.bringup.processes import Processes
    from robot_control_ros.nodes.common.running import spinning

    spec = SETUPS["sim"].make(robot=robot.name).node("controller")
    topics = {"joint_states": "/measured/joint_states", "/forward_effort_controller/commands": "/measured/commands"}
    pause = 10.0  # s, at most, while the other node has its turn
    parameters = {**spec.parameters, "use_sim_time": False, "state_timeout": pause}
    spec = replace(spec, parameters=parameters, remappings={**spec.remappings, **topics})
    simulator = NodeSpec("simulator", "simulator", {"robot": robot.name})
    results: dict[str, Any] = {}
    with _echo(), Processes([]) as processes, spinning(stopwatch_node) as (node, spin):
        stopwatch, running = Stopwatch(robot, node, spin), {"controller": processes.start(spec)}
        for rate in (500.0, 1000.0):
            nodes = {"echo": "/echo", "controller": "/measured"}
            results[f"{rate:.0f} Hz"] = stopwatch.compare(nodes, rate, seconds)
        running["simulator"] = processes.start(simulator)
        stopwatch.wait_for_joint_state()
        taken = {name: memory(process.pid) for name, process in running.items()}
    return results, taken


@contextmanager
def _echo() -> Iterator[None]:
    """The node to measure against, in a process of its own."""
    topics = ("-r", "joint_states:=/echo/joint_states", "-r", "commands:=/echo/commands")
    program = Path(__file__).with_name("echo.py")
    process = subprocess.Popen([sys.executable, str(program), "--ros-args", *topics], start_new_session=True)
    try:
        yield
    finally:
        process.terminate()
        process.wait()


def _print_compute(results: dict[str, Any]) -> None:
    print(f"{'us a call':<24}{'Pinocchio':>11}{'compute':>9}{'ratio':>7}{'tick':>8}{'ratio':>7}")
    for law, row in results.items():
        print(
            f"{law:<24}{row['pinocchio_us']:>11.2f}{row['compute_us']:>9.2f}{row['compute_per_pinocchio']:>7.2f}"
            f"{row['tick_us']:>8.2f}{row['tick_per_compute']:>7.2f}"
        )


def _print_impedance(results: dict[str, dict[str, float]]) -> None:
    print(f"\n{'us a tick of impedance':<31}{'tick':>8}{'more':>8}{'ratio':>7}")
    for name, row in results.items():
        print(f"{name:<31}{row['tick_us']:>8.2f}{row['more_us']:>8.2f}{row['ratio']:>7.2f}")
    detection = -results["and without ringing"]["more_us"]
    plain, bound = (detection / results[name]["tick_us"] for name in (PLAIN, "bound, base axes"))
    shares = f"{plain:.0%} of a tick with the plain spring, {bound:.0%} with a bound"
    print(f"contact detection and ringing: {detection:.1f} us, {shares}")


def _print_dds(results: dict[str, Any], memory: dict[str, float]) -> None:
    print(f"\n{'joint_states -> command':<28}{'p50 us':>8}{'p99 us':>8}{'p99.9 us':>10}{'sent':>8}{'lost':>6}")
    for rate, rows in results.items():
        for name, row in rows.items():
            label = f"{rate}, {name}"
            times = f"{row['p50_us']:>8.0f}{row['p99_us']:>8.0f}{row['p999_us']:>10.0f}"
            print(f"{label:<28}{times}{row['sent']:>8}{row['lost']:>6}")
        measured, echo = rows["controller"], rows["echo"]
        ratios = "  ".join(f"{key[:-3]} {measured[key] / echo[key]:.2f}" for key in ("p50_us", "p99_us", "p999_us"))
        print(f"{rate + ', ratio':<28}{ratios}")
    print("\n" + "  ".join(f"{name}: {size:.0f} MB" for name, size in memory.items()))
