"""``python -m evidence soak``: the demonstration for some minutes, its table, and its plot."""

from __future__ import annotations

import argparse
import itertools
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

import numpy as np

from robot_control_ros.bringup import SETUPS, NodeSpec
from robot_control_ros.cli.options import add_number, picture
from robot_control_ros.client.robot import Robot
from robot_control_ros.core.bounded import Bounded
from robot_control_ros.core.errors import ConfigError, HardwareFault, StaleStateError
from robot_control_ros.core.output_files import replaced_file
from robot_control_ros.simulation.log import figure_class

from ..programs import Program, Programs
from ..row import Row, exit_status, summary, text_table
from .usage import REQUIRED, Missed, Usage, growth, settled_usages, soak_rows, usage_of

ROBOT = "ur5"
LOOP = "controller: control loop"  # name of the control loop's diagnosis
LAWS = ("impedance", "joint_impedance", "admittance", "joint_pid")
START_LIMIT = 60.0  # s
LOOK = 5.0  # s between two looks at the processes
LOST_AFTER = 10.0  # s of silence: this machine is full
GAIN_CHANGE = 1.0  # s between two changes
LAW_CHANGE = 7.0  # s between two changes
MOVE = 5.0  # s between two moves
RESTART = 150.0  # s between two restarts of the simulator
SETTLE = 5.0  # s after the start that don't count
BUSY = "while True: pass"  # program of a process that keeps a processor busy
LOAD = "load"  # name of these processes
KILLED = ("simulator", LOAD)  # names of what is killed, and whose exit status says nothing
HEAD = ("process", "memory at 10 min [MB]", "at the end [MB]", "grown [MB]", "handles", "threads")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of the command line."""
    length = Bounded(default=30.0, above=0.0, unit="min", doc="length of the run")
    add_number(parser.add_argument, "--minutes", length)
    text = "number of processes beside it that keep a processor busy each"
    load = Bounded(default=0, lower=0, upper=64, whole=True, doc=text)
    add_number(parser.add_argument, "--busy", load)
    parser.add_argument(
        "--plot",
        type=picture,
        default="soak.png",
        metavar="FILE",
        help="picture of memory and misses (default: soak.png)",
    )


def run(options: argparse.Namespace) -> int:
    """Run the demonstration, print the table, draw the plot; status 1 where a bound isn't kept.

    Raises:
        HardwareFault: A process ended by itself.
        StaleStateError: The controller doesn't begin.
        ConfigError: The plot can't be written.
    """
    with Programs() as programs:
        soak = Soak(programs, options.busy)
        soak.start()
        domain = int(programs.environment["ROS_DOMAIN_ID"])
        with Robot(ROBOT, domain=domain, timeout=START_LIMIT, lost_after=LOST_AFTER) as robot:
            soak.run(robot, 60.0 * options.minutes)
        statuses = programs.end()
    print(f"Beside it, processes that kept a processor busy each: {options.busy}\n")
    print("\n".join(table(soak.usages)), end="\n\n")
    rows = soak_rows(soak.usages, soak.counts)
    rows += [
        Row.near(f"exit status of {name}", each, 0, 0, "", REQUIRED)
        for name, each in statuses.items()
        if not name.startswith(KILLED)
    ]
    print("\n".join(text_table(rows)))
    print(summary(rows), flush=True)
    plot(soak.usages, soak.counts, options.plot)
    return exit_status(rows)


class Soak:
    """The demonstration with its page, a recorder, and a user who changes gains and moves the arm.

    Args:
        programs: Programs among which it runs.
        load: Number of processes beside it that keep a processor busy each.

    Attributes:
        usages: Usage of each process over time, by name.
        counts: Counts of joint states over time.
    """

    def __init__(self, programs: Programs, load: int = 0) -> None:
        self.usages: dict[str, list[Usage]] = {}
        self.counts: list[Missed] = []
        self._programs = programs
        self._load = load
        self._specs: dict[str, NodeSpec] = {}
        self._running: dict[str, Program] = {}
        self._factors = itertools.cycle((0.6, 1.0, 1.6))  # of the stiffness that a law begins with
        self._stiffness: dict[str, np.ndarray] = {}  # that laws have begun with, by law
        self._laws = itertools.cycle(LAWS)
        self._offsets = itertools.cycle((0.3, 0.0, -0.3))  # rad from home, of the first joint

    def start(self) -> None:
        """Start all processes."""
        for spec in SETUPS["sim"].make(robot=ROBOT, dashboard="true").nodes():
            self._specs[spec.name] = spec
            self._start(spec.name)

    def run(self, robot: Robot, seconds: float) -> None:
        """Let it go on for a time [s], as a user would.

        Raises:
            HardwareFault: A process ended by itself.
        """
        while LOOP not in robot.diagnostics:
            time.sleep(0.1)
        record = [
            sys.executable,
            "-m",
            "robot_control_ros.cli",
            "record",
            "soak.mcap",
            "--seconds",
            "0",
        ]
        self._running["recorder"] = self._programs.run("recorder", record)
        for number in range(self._load):
            self._programs.run(f"{LOAD} {number + 1}", [sys.executable, "-c", BUSY])
        time.sleep(SETTLE)
        began = time.monotonic()
        actions: list[tuple[float, Callable[[], object]]] = [
            (LOOK, lambda: self._look(robot, time.monotonic() - began)),
            (GAIN_CHANGE, lambda: self._change_gain(robot)),
            (LAW_CHANGE, lambda: robot.set_law(next(self._laws))),
            (MOVE, lambda: self._move(robot)),
            (RESTART, self._restart),
        ]
        due = [0.0, GAIN_CHANGE, LAW_CHANGE, MOVE, RESTART]
        while (now := time.monotonic() - began) < seconds:
            for k, (period, action) in enumerate(actions):
                if now >= due[k]:
                    due[k] += period
                    # refused while the simulator is away
                    with suppress(ConfigError, StaleStateError):
                        action()
            time.sleep(0.05)
        self._look(robot, time.monotonic() - began)

    def _start(self, name: str) -> None:
        spec = self._specs[name]
        options = {"parameter_files": spec.parameter_files, "remappings": spec.remappings}
        self._running[name] = self._programs.start(
            spec.executable, spec.parameters, name=name, **options
        )

    def _look(self, robot: Robot, now: float) -> None:
        """Note what the processes take, and what the controller has missed."""
        for name, program in self._running.items():
            if program.process.poll() is not None:
                raise HardwareFault(
                    f"the {name} ended with status {program.process.returncode}:\n{program.err[-2000:]}"
                )
            self.usages.setdefault(name, []).append(usage_of(program.process.pid, now))
        values = robot.diagnostics[LOOP].values
        self.counts.append(Missed(now, int(values["cycles"]), int(values["missed deadlines"])))

    def _change_gain(self, robot: Robot) -> None:
        """Change the stiffness, where the law has one."""
        stiffness = robot.gains.get("stiffness")
        if stiffness is not None:
            first = self._stiffness.setdefault(robot.law, stiffness)
            robot.set_gains(stiffness=first * next(self._factors))

    def _move(self, robot: Robot) -> None:
        goal = np.array(robot.config.home)
        goal[0] += next(self._offsets)
        robot.move_to(q=goal, wait=False)

    def _restart(self) -> None:
        """Kill the simulator, and start it again; its memory counts as a new process's."""
        self._running["simulator"].process.kill()
        self._running["simulator"].process.wait()
        self.usages.pop("simulator", None)
        self._start("simulator")


def table(usages: dict[str, list[Usage]]) -> list[str]:
    """Table of what each process took, as lines in Markdown."""
    lines = [f"| {' | '.join(HEAD)} |", "| --- | --- | --- | --- | --- | --- |"]
    for name, seen in usages.items():
        settled = settled_usages(seen)
        at_ten = f"{settled[0].memory:.1f}" if settled else "-"
        handles = f"{seen[0].handles} to {seen[-1].handles}"
        threads = f"{seen[0].threads} to {seen[-1].threads}"
        grown = growth(seen)
        grown_by = "-" if grown is None else f"{grown:.1f}"
        memory = f"{at_ten} | {seen[-1].memory:.1f} | {grown_by}"
        lines.append(f"| {name} | {memory} | {handles} | {threads} |")
    return lines


def plot(usages: dict[str, list[Usage]], counts: Sequence[Missed], path: Path) -> None:
    """Draw memory, handles, threads and missed joint states over time.

    Raises:
        ConfigError: matplotlib isn't installed, or the file can't be written.
    """
    figure = figure_class()(figsize=(9.0, 10.0), layout="constrained")
    axes = figure.subplots(4, sharex=True)
    for name, seen in usages.items():
        minutes = [usage.time / 60.0 for usage in seen]
        axes[0].plot(minutes, [usage.memory for usage in seen], label=name)
        axes[1].plot(minutes, [usage.handles for usage in seen])
        axes[2].plot(minutes, [usage.threads for usage in seen])
    first = counts[0].missed
    axes[3].plot(
        [count.time / 60.0 for count in counts], [count.missed - first for count in counts]
    )
    for axis, label in zip(
        axes, ("memory [MB]", "handles", "threads", "missed joint states"), strict=True
    ):
        axis.set_ylabel(label)
        axis.grid(alpha=0.3)
    axes[0].legend()
    axes[3].set_xlabel("time [min]")
    with replaced_file(path, ".png") as file:
        figure.savefig(file, format="png")
    print(path)
