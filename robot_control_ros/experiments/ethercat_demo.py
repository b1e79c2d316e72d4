"""The demonstration on EtherCAT: position-domain PD on an emulated six-axis bus, beside the same law in process."""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from ethercat_emulator.network.veth import enter_namespace, make_pair

from ..bringup import SETUPS, environment
from ..bringup.processes import Processes
from ..core.errors import HardwareFault
from ..core.types import Array
from ..ethercat.driver.topology import load_topology
from ..ethercat.emulation.program import emulated_bus
from ..ethercat.process.pacing import Timing
from ..ethercat.process.protocol import memory_path, open_memory
from ..ethercat.tools.jitter import Jitter, TimingRecorder
from ..robot.configuration import RobotConfig, load_robot
from .contour_figures import draw_contours, draw_errors
from .contour_trial import FEED, LAW, Comparison, ContourTrial, Setting, Track, dead_time, write_figures, write_samples
from .reproduce.contour_benchmark import DOMAINS

ROBOT, PROFILE = "ur5", "ethercat"
FEEDFORWARDS = (0.0, 1.0)
START_LIMIT = 40.0  # s until the bus is in OP and the controller sends telemetry
ENABLE_LIMIT = 15.0  # s until the drives are enabled
REPLY_LIMIT = 15.0  # s: longer than the bus process may take
DIAGNOSTICS_LIMIT = 3.0  # s: diagnostics come once a second
SETTLE = 1.0  # s: five time constants of gains
ATTEMPTS = 3  # per setting
HOMING = 2.0  # s
MARGIN = 0.5  # s that a trajectory may begin late
FOLLOW_LIMIT = 10.0  # s beyond its duration
_COUNTS = ("cycles left out", "lost frames", "wrong working counters", "late frames")
SHOWN = ("on time [%]", "cycles", "cycles left out", "working counter", "wrong working counters", "lost frames")


def ethercat_demo(domains: Sequence[str], *, in_process: bool = True, output: Path = Path()) -> int:
    """Run it within :func:`ethercat_emulator.network.veth.enter_namespace`; returns the exit status.

    Args:
        domains: of the law, each without and with feed-forward.
        in_process: whether the law runs in the bus process; else over topics.
        output: folder for plots and tables.

    Raises:
        ConfigError: no pair of interfaces can be made here.
        HardwareFault: a process ended, the drives were stopped, or no message came.
    """
    os.environ.update(environment())
    robot = load_robot(ROBOT, PROFILE)
    where = "in the bus's process" if in_process else "over topics"
    title = f"{robot.name} on an emulated bus at {robot.profile.rate:g} Hz, {LAW} {where}"
    print(f"{title}: a rectangle at {1e3 * FEED:g} mm/s")
    trial = ContourTrial(robot)
    settings = [Setting(domain, fraction) for domain in domains for fraction in FEEDFORWARDS]
    topology = load_topology(ROBOT)
    in_lockstep = [(trial.simulate(each), trial.simulate_drives(each, topology)) for each in settings]
    try:
        tracks, jitter, bus = _on_the_bus(robot, trial, settings, in_process)
    except KeyboardInterrupt:
        print("\nstopped")
        return 130
    comparisons = [
        Comparison(setting, track, *simulated, left_out)
        for setting, (track, left_out), simulated in zip(settings, tracks, in_lockstep, strict=True)
    ]
    _report(comparisons, bus)
    output.mkdir(parents=True, exist_ok=True)
    files = (
        draw_contours(trial.contour, comparisons, output / "contours.png", title),
        draw_errors(comparisons, output / "errors.png", title),
        jitter.plot(output / "timing.png", title),
        write_figures(comparisons, output / "figures.csv"),
        write_samples(comparisons, robot.joints, output / "samples.csv"),
    )
    print("", *files, sep="  ")
    return 0


def _on_the_bus(
    robot: RobotConfig, trial: ContourTrial, settings: Sequence[Setting], in_process: bool
) -> tuple[list[tuple[Track, int]], Jitter, Mapping[str, str]]:
    """Tracks, each with the cycles left out meanwhile; the timing of cycles; the bus's last diagnostics."""
    from ..nodes.common.running import spinning
    from ..nodes.demo.contour_operator import ContourOperator

    number = os.getpid()  # outside the namespace as well: the names are those of shared memory, too
    master, slaves = f"ecm{number}", f"ecs{number}"
    make_pair(master, slaves)
    hosted = "true" if in_process else "false"
    given = {"interface": master, "robot": ROBOT, "law": LAW, "in_process": hosted, "emulated_bus": "true"}
    ethercat, *others = SETUPS["ethercat"].make(**given).nodes()
    ethercat = replace(ethercat, parameters={**ethercat.parameters, "rate": 0.0})  # peaks last a few cycles
    with (
        emulated_bus(ROBOT, "", slaves),
        Processes([ethercat, *others]) as processes,
        spinning(lambda: ContourOperator(robot)) as (operator, spin),
    ):
        session = _Session(operator, spin, processes, dead_time(load_topology(ROBOT)))
        session.start()
        with closing(open_memory(memory_path(master))) as memory:
            samples = TimingRecorder(Timing(memory.region("timing")))
            tracks = []
            for setting in settings:
                tracks.append(session.follow(trial, setting))
                samples.collect()
            bus = session.diagnostics()
            missed, lost, bad, late = (int(bus[name]) for name in _COUNTS)
            return tracks, Jitter(robot.period, samples.all(), missed, lost, bad, late, priority=0), bus


class _StoppedError(HardwareFault):
    """The bus process stopped the drives."""


class _Session:
    """The steps of the demonstration, by a ContourOperator that spins while the processes must go on.

    The dead time [s] is that of the drives.
    """

    def __init__(self, operator: Any, spin: Callable[[float], None], processes: Processes, dead_time: float) -> None:
        self._operator, self._spin, self._processes = operator, spin, processes
        self._dead_time = dead_time

    def start(self) -> None:
        """Wait for the controller, and enable the drives."""
        self._until(lambda: self._operator.ready, START_LIMIT, "no telemetry from the controller")
        self._enable()

    def follow(self, trial: ContourTrial, setting: Setting) -> tuple[Track, int]:
        """Track along the contour, and how many cycles were left out meanwhile.

        It is tried again where the drives were stopped on the way, as on a machine that stalls.

        Raises:
            HardwareFault: they were stopped too often, or another failure.
        """
        for _ in range(ATTEMPTS - 1):
            try:
                return self._follow(trial, setting)
            except _StoppedError as error:
                print(f"{setting}: {error}; once more", file=sys.stderr)
                self._recover(trial)
        return self._follow(trial, setting)

    def _follow(self, trial: ContourTrial, setting: Setting) -> tuple[Track, int]:
        operator = self._operator
        reply = operator.set_gains(LAW, setting.gains(self._dead_time))
        self._until(reply.done, REPLY_LIMIT, "gains: no reply")
        operator.check_set(reply)
        settled = time.monotonic() + SETTLE
        self._until(lambda: time.monotonic() > settled, 2.0 * SETTLE, "no time")
        before = int(self.diagnostics()["cycles left out"])
        self._send(trial.times, trial.positions, trial.velocities, trial.duration + MARGIN)
        return trial.track(*operator.samples()), int(self.diagnostics()["cycles left out"]) - before

    def _send(self, times: Array, positions: Array, velocities: Array, duration: float) -> None:
        operator = self._operator
        operator.send(times, positions, velocities)
        self._until(lambda: operator.recorded >= duration, duration + FOLLOW_LIMIT, "no joint states")

    def _recover(self, trial: ContourTrial) -> None:
        """Enable the drives again, and go to the contour's beginning."""
        self._call("reset_fault")
        self._enable()
        home = trial.positions[:1]
        self._send(np.array([HOMING]), home, np.zeros_like(home), HOMING + MARGIN)

    def _enable(self) -> None:
        operator, limit = self._operator, time.monotonic() + ENABLE_LIMIT
        refusal = ""
        while not operator.running:
            if time.monotonic() > limit:
                message = f"the drives aren't enabled within {ENABLE_LIMIT:g} s: {refusal or operator.message}"
                raise HardwareFault(message, bound=ENABLE_LIMIT)
            refusal = self._call("enable")
            self.diagnostics()

    def _call(self, service: str) -> str:
        """Call a service of the bus; returns why it was refused, or ""."""
        reply = self._operator.request(service)
        self._until(reply.done, REPLY_LIMIT, f"{service}: no reply")
        return "" if reply.result().success else str(reply.result().message)

    def diagnostics(self) -> Mapping[str, str]:
        """The next diagnostics of the bus."""
        operator, since = self._operator, time.monotonic()
        self._until(lambda: operator.diagnosed_at > since, DIAGNOSTICS_LIMIT, "no diagnostics of the bus")
        values: Mapping[str, str] = operator.bus
        return values

    def _until(self, condition: Callable[[], bool], limit: float, what: str) -> None:
        operator, end = self._operator, time.monotonic() + limit
        was_running = operator.running
        while not condition():
            if time.monotonic() > end:
                message = f"{what} (waited for {limit:g} s); drives: {operator.message or 'unknown'}"
                raise HardwareFault(message, bound=limit)
            self._spin(0.02)
            self._processes.check()
            if was_running and operator.stopped:
                raise _StoppedError(f"the drives were stopped: {operator.message.split(';')[0]}")


def _report(comparisons: Sequence[Comparison], bus: Mapping[str, str]) -> None:
    columns = ("on the bus", 18), ("cycles", 10), ("in process", 18), ("ratio", 14), ("with drives", 18), ("ratio", 14)
    print(f"{'contour error [mm]':<28}" + "".join(f"{name:>{width}}" for name, width in columns))
    print(f"{'':<28}{'max':>9}{'rms':>9}{'left out':>10}" + 2 * f"{'max':>9}{'rms':>9}{'max':>7}{'rms':>7}")
    for each in comparisons:
        cells = f"{each.bus.max:9.4f}{each.bus.rms:9.4f}{each.left_out:10d}"
        for track in (each.simulated, each.delayed):
            ratios = f"{each.bus.max / track.max:7.3f}{each.bus.rms / track.rms:7.3f}"
            cells += f"{track.max:9.4f}{track.rms:9.4f}{ratios}"
        print(f"{each.setting!s:<28}{cells}")
    print("bus: " + "; ".join(f"{name.removesuffix(' [%]')}: {bus[name]}{_unit(name)}" for name in SHOWN))


def _unit(name: str) -> str:
    return " %" if name.endswith("[%]") else ""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of the command line; :func:`run_arguments` runs what they say."""
    parser.add_argument(
        "--domains", nargs="+", default=["time", "matched"], choices=DOMAINS, help="of the law (default: time matched)"
    )
    parser.add_argument("--topics", action="store_true", help="the law over ROS topics, not in the bus's process")
    parser.add_argument(
        "--output", default="demo-output/ethercat", metavar="FOLDER", help="for plots and CSV (default: %(default)s)"
    )


def run_arguments(options: argparse.Namespace) -> int:
    """Run :func:`ethercat_demo` by the options of :func:`add_arguments`, in a namespace; returns the exit status."""
    enter_namespace()
    return ethercat_demo(options.domains, in_process=not options.topics, output=Path(options.output))
