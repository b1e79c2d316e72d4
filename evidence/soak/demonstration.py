"""``python -m evidence soak``: the demonstration for some minutes, its table, and its plot."""

from __future__ import annotations

import argparse
import itertools
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from diagnostic_msgs.msg import DiagnosticArray
from rcl_interfaces.srv import SetParameters
from rclpy.parameter import Parameter
from sensor_msgs.msg import JointState

from robot_control_ros.bringup import SETUPS, NodeSpec
from robot_control_ros.cli.options import POSITIVE, picture
from robot_control_ros.core.errors import HardwareFault
from robot_control_ros.core.output_files import replaced_file
from robot_control_ros.robot.configuration import load_robot
from robot_control_ros.simulation.log import figure_class

from ..programs import Program, Programs
from .usage import Missed, Usage, growth, missed_share, settled_usages, soak_failures, usage_of

ROBOT = "ur5"
LAWS = ("impedance", "joint_impedance", "admittance", "joint_pid")
START_LIMIT = 60.0  # s
LOOK = 5.0  # s between two looks at the processes
# s between two of each
GAIN_CHANGE = 1.0
LAW_CHANGE = 7.0
MOVE = 5.0
RESTART = 150.0  # s between two restarts of the simulator
SETTLE = 5.0  # s after the start that don't count
HEAD = ("process", "memory at 10 min [MB]", "at the end [MB]", "grown [MB]", "handles", "threads")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of the command line."""
    parser.add_argument("--minutes", type=POSITIVE, default=30.0, help="length (default: 30)")
    parser.add_argument(
        "--plot", type=picture, default="soak.png", metavar="FILE.png", help="the plot (default: soak.png)"
    )


def run(options: argparse.Namespace) -> int:
    """Run the demonstration, print the table, draw the plot; the exit status is 1 where a bound isn't kept.

    Raises:
        HardwareFault: a process ended by itself, or the controller doesn't begin.
        ConfigError: the plot can't be written.
    """
    with Programs() as programs:
        soak = Soak(programs)
        soak.start()
        soak.run(60.0 * options.minutes)
        statuses = programs.end()
    print("\n".join(table(soak.usages)))
    print(f"\nmissed joint states: {missed_share(soak.counts):.3%} of {soak.counts[-1].cycles}", flush=True)
    plot(soak.usages, soak.counts, options.plot)
    found = soak_failures(soak.usages, soak.counts)
    # The simulator is killed again and again; all others end as they should.
    found += [f"{name} ended with status {each}" for name, each in statuses.items() if each and "simulator" not in name]
    for failure in found:
        print(failure, file=sys.stderr)
    return int(bool(found))


class Soak:
    """The demonstration with its page and a recorder, and a user who changes gains and laws, and moves the arm.

    Args:
        programs: Programs of the domain that it runs in.

    Attributes:
        usages: Usages of each process over time, by name.
        counts: Counts of joint states over time.
    """

    def __init__(self, programs: Programs) -> None:
        self.usages: dict[str, list[Usage]] = {}
        self.counts: list[Missed] = []
        self._programs = programs
        self._specs: dict[str, NodeSpec] = {}
        self._running: dict[str, Program] = {}
        self._values: dict[str, str] = {}  # of the controller's diagnostics
        self._home = load_robot(ROBOT).home
        node = programs.node
        node.create_subscription(DiagnosticArray, "/diagnostics", self._on_diagnostics, 10)
        self._parameters = node.create_client(SetParameters, "/controller/set_parameters")
        self._targets = node.create_publisher(JointState, "/controller/target_joint", 10)
        self._stiffness = itertools.cycle((300.0, 500.0, 800.0))
        self._laws = itertools.cycle(LAWS)
        self._offsets = itertools.cycle((0.3, 0.0, -0.3))

    def start(self) -> None:
        """Start all; returns when the controller runs.

        Raises:
            HardwareFault: it doesn't within a minute.
        """
        for spec in SETUPS["sim"].make(robot=ROBOT, dashboard="true").nodes():
            self._specs[spec.name] = spec
            self._start(spec.name)
        self._until(lambda: "cycles" in self._values, "a controller that runs")
        record = [sys.executable, "-m", "robot_control_ros.cli", "record", "soak.mcap", "--seconds", "0"]
        self._running["recorder"] = self._programs.run("recorder", record)
        self._spin(SETTLE)

    def run(self, seconds: float) -> None:
        """Let it go on for a time [s], as a user would.

        Raises:
            HardwareFault: a process ended by itself.
        """
        began = time.monotonic()
        actions: list[tuple[float, Callable[[], object]]] = [
            (LOOK, lambda: self._look(time.monotonic() - began)),
            (GAIN_CHANGE, lambda: self._set("impedance.stiffness", next(self._stiffness))),
            (LAW_CHANGE, lambda: self._set("law", next(self._laws))),
            (MOVE, self._move),
            (RESTART, self._restart),
        ]
        due = [0.0, GAIN_CHANGE, LAW_CHANGE, MOVE, RESTART]
        while (now := time.monotonic() - began) < seconds:
            for k, (period, action) in enumerate(actions):
                if now >= due[k]:
                    due[k] += period
                    action()
            self._programs.spin(0.05)
        self._look(time.monotonic() - began)

    def _start(self, name: str) -> None:
        spec = self._specs[name]
        options = {"parameter_files": spec.parameter_files, "remappings": spec.remappings}
        self._running[name] = self._programs.start(spec.executable, spec.parameters, name=name, **options)

    def _look(self, now: float) -> None:
        for name, program in self._running.items():
            if program.process.poll() is not None:
                raise HardwareFault(
                    f"the {name} ended with status {program.process.returncode}:\n{program.err[-2000:]}"
                )
            self.usages.setdefault(name, []).append(usage_of(program.process.pid, now))
        self.counts.append(Missed(now, int(self._values["cycles"]), int(self._values["missed deadlines"])))

    def _set(self, name: str, value: Any) -> None:
        request = SetParameters.Request(parameters=[Parameter(name, value=value).to_parameter_msg()])
        self._parameters.call_async(request)

    def _move(self) -> None:
        goal = list(self._home)
        goal[0] += next(self._offsets)
        self._targets.publish(JointState(name=list(load_robot(ROBOT).joints), position=goal))

    def _restart(self) -> None:
        """The simulator is killed, and started again; its memory counts as a new process's."""
        self._running["simulator"].process.kill()
        self._running["simulator"].process.wait()
        self.usages.pop("simulator", None)
        self._start("simulator")

    def _on_diagnostics(self, message: DiagnosticArray) -> None:
        for status in message.status:
            if status.name.startswith("controller"):
                self._values.update((value.key, value.value) for value in status.values)

    def _until(self, condition: Any, what: str) -> None:
        end = time.monotonic() + START_LIMIT
        while not condition():
            if time.monotonic() > end:
                raise HardwareFault(f"waited {START_LIMIT:g} s for: {what}", name=what, bound=START_LIMIT)
            self._programs.spin(0.1)

    def _spin(self, seconds: float) -> None:
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0.0:
            self._programs.spin(left)


def table(usages: dict[str, list[Usage]]) -> list[str]:
    """What each process took, as lines of a table in Markdown."""
    lines = [f"| {' | '.join(HEAD)} |", "| --- | --- | --- | --- | --- | --- |"]
    for name, seen in usages.items():
        settled = settled_usages(seen)
        at_ten = f"{settled[0].memory:.1f}" if settled else "-"
        handles = f"{seen[0].handles} to {seen[-1].handles}"
        threads = f"{seen[0].threads} to {seen[-1].threads}"
        lines.append(f"| {name} | {at_ten} | {seen[-1].memory:.1f} | {growth(seen):.1f} | {handles} | {threads} |")
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
    axes[3].plot([count.time / 60.0 for count in counts], [count.missed - first for count in counts])
    for axis, label in zip(axes, ("memory [MB]", "handles", "threads", "missed joint states"), strict=True):
        axis.set_ylabel(label)
        axis.grid(alpha=0.3)
    axes[0].legend()
    axes[3].set_xlabel("time [min]")
    with replaced_file(path, ".png") as file:
        figure.savefig(file, format="png")
    print(path)
