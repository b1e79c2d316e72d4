"""The demonstration on EtherCAT: position-domain PD on an emulated six-axis bus, beside the same law in process."""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from ethercat_emulator.network.veth import enter_namespace, make_pair

from ..bringup import drives, environment
from ..bringup.processes import Processes
from ..core.errors import ConfigError, HardwareFault
from ..core.types import Array
from ..ethercat.driver.topology import Topology, load_topology
from ..ethercat.emulation.program import emulated_bus
from ..ethercat.process.pacing import Timing
from ..ethercat.process.protocol import memory_path, open_memory
from ..ethercat.tools.jitter import COLLECT, Jitter, TimingRecorder
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
ATTEMPTS = 3  # to start, and per setting
RATES = (1000.0, 500.0, 250.0)  # Hz
MAX_STALL = 1.0  # s that a loaded machine may stand still
TRIAL = 2.0  # s in which the machine shows whether it keeps the rate
SLOWEST = 0.5  # fraction of cycles on time, below which the machine is too slow
HOMING = 2.0  # s
MARGIN = 0.5  # s that a trajectory may begin late
FOLLOW_LIMIT = 10.0  # s beyond its duration
_COUNTS = ("cycles left out", "lost frames", "wrong working counters", "late frames")
SHOWN = ("on time [%]", "cycles", "cycles left out", "working counter", "wrong working counters", "lost frames")


def ethercat_demo(
    domains: Sequence[str], *, in_process: bool = True, rate: float = RATES[0], output: Path = Path()
) -> int:
    """Run it within :func:`ethercat_emulator.network.veth.enter_namespace`; returns the exit status.

    Args:
        domains: of the law, each without and with feed-forward.
        in_process: whether the law runs in the bus process; else over topics.
        rate: of the bus [Hz], one of RATES.
        output: folder for plots and tables.

    Raises:
        ConfigError: no pair of interfaces can be made here.
        HardwareFault: the machine is too slow, a process ended, the drives were stopped, or no message came.
    """
    os.environ.update(environment())
    robot = load_robot(ROBOT, PROFILE).at_rate(rate)
    output.mkdir(parents=True, exist_ok=True)
    topology = _topology_at(rate, output)
    where = "in the bus's process" if in_process else "over topics"
    title = f"{robot.name} on an emulated bus at {robot.profile.rate:g} Hz, {LAW} {where}"
    print(f"{title}: a rectangle at {1e3 * FEED:g} mm/s")
    trial = ContourTrial(robot)
    settings = [Setting(domain, fraction) for domain in domains for fraction in FEEDFORWARDS]
    in_lockstep = [(trial.simulate(each), trial.simulate_drives(each, topology)) for each in settings]
    try:
        tracks, jitter, bus = _on_the_bus(robot, topology, trial, settings, in_process)
    except KeyboardInterrupt:
        print("\nstopped")
        return 130
    comparisons = [
        Comparison(setting, track, *simulated, left_out)
        for setting, (track, left_out), simulated in zip(settings, tracks, in_lockstep, strict=True)
    ]
    _report(comparisons, bus)
    files = (
        draw_contours(trial.contour, comparisons, output / "contours.png", title),
        draw_errors(comparisons, output / "errors.png", title),
        jitter.plot(output / "timing.png", title),
        write_figures(comparisons, output / "figures.csv"),
        write_samples(comparisons, robot.joints, output / "samples.csv"),
    )
    print("", *files, sep="  ")
    return 0


def _topology_at(rate: float, folder: Path) -> Topology:
    """The robot's topology; for another rate than its own [Hz], that of a file made of it."""
    topology = load_topology(ROBOT)
    if rate == round(1.0 / topology.cycle):
        return topology
    data = yaml.safe_load(topology.path.read_text(encoding="utf-8"))
    path = folder / "topology.yaml"
    path.write_text(yaml.safe_dump({**data, "cycle": 1.0 / rate}), encoding="utf-8")
    return load_topology(str(path))


def _on_the_bus(
    robot: RobotConfig, topology: Topology, trial: ContourTrial, settings: Sequence[Setting], in_process: bool
) -> tuple[list[tuple[Track, int]], Jitter, Mapping[str, str]]:
    """Tracks, each with the cycles left out meanwhile; the timing of cycles; the bus's last diagnostics."""
    number = os.getpid()  # outside the namespace as well: the names are those of shared memory, too
    interfaces = f"ecm{number}", f"ecs{number}"
    make_pair(*interfaces)
    with ExitStack() as stack:
        session = _start(lambda: stack.enter_context(_running(robot, topology, interfaces, in_process)))
        session.check_speed()
        tracks = [session.follow(trial, setting) for setting in settings]
        return tracks, session.jitter(), session.diagnostics()


def _start(enter: Callable[[], _Session]) -> _Session:
    """Start the system; once more where that fails, as on a machine that stalls."""
    for _ in range(ATTEMPTS - 1):
        try:
            return enter()
        except HardwareFault as error:
            print(f"{error}; once more", file=sys.stderr)
    return enter()


@contextmanager
def _running(
    robot: RobotConfig, topology: Topology, interfaces: tuple[str, str], in_process: bool
) -> Iterator[_Session]:
    """The emulated bus, the nodes, and a session with drives that are enabled."""
    from ..nodes.common.running import spinning
    from ..nodes.demo.contour_operator import ContourOperator

    master, slaves = interfaces
    hosted, file = "true" if in_process else "false", str(topology.path)
    ethercat, *others = drives(master, ROBOT, LAW, topology=file, in_process=hosted, emulated_bus="true").nodes()
    patient = {"rate": 0.0, "command_timeout": MAX_STALL, "watchdog": MAX_STALL}  # peaks last a few cycles
    ethercat = replace(ethercat, parameters={**ethercat.parameters, **patient})
    with (
        emulated_bus(ROBOT, file, slaves),
        Processes([ethercat, *others]) as processes,
        spinning(lambda: ContourOperator(robot)) as (operator, spin),
    ):
        session = _Session(operator, spin, processes, topology)
        session.start()
        with closing(open_memory(memory_path(master))) as memory:
            session.recorder = TimingRecorder(Timing(memory.region("timing")))
            yield session


class _StoppedError(HardwareFault):
    """The drives were stopped, or the controller stopped the law."""


class _Session:
    """The steps of the demonstration, by a ContourOperator that spins while the processes must go on.

    Attributes:
        recorder: of the cycles' times; None before the bus runs.
    """

    def __init__(self, operator: Any, spin: Callable[[float], None], processes: Processes, topology: Topology) -> None:
        self.recorder: TimingRecorder | None = None
        self._operator, self._spin, self._processes = operator, spin, processes
        self._cycle, self._dead_time = topology.cycle, dead_time(topology)
        self._collected = 0.0

    def start(self) -> None:
        """Wait for the controller, and enable the drives."""
        self._until(lambda: self._operator.ready, START_LIMIT, "no telemetry from the controller")
        self._enable()

    def check_speed(self) -> None:
        """Let the drives hold the arm for a while; a HardwareFault where the machine is too slow for the rate."""
        began = time.monotonic()
        self._until(lambda: time.monotonic() > began + TRIAL, 2.0 * TRIAL, "no time")
        on_time = self.jitter().on_time
        if on_time < SLOWEST:
            rate = 1.0 / self._cycle
            lower = [f"--rate {each:g}" for each in RATES if each < rate]
            message = f"this machine is too slow for {rate:g} Hz: {100.0 * on_time:.0f} % of the cycles are on time"
            hint = f"try {lower[0]}" if lower else "end other programs"
            raise HardwareFault(f"{message}; {hint}", name="rate", value=on_time, bound=SLOWEST)

    def jitter(self) -> Jitter:
        """The timing of all cycles since the start."""
        bus = self.diagnostics()
        assert self.recorder is not None
        self.recorder.collect()
        missed, lost, bad, late = (int(bus[name]) for name in _COUNTS)
        return Jitter(self._cycle, self.recorder.all(), missed, lost, bad, late, priority=0)

    def follow(self, trial: ContourTrial, setting: Setting) -> tuple[Track, int]:
        """Track along the contour, and how many cycles were left out meanwhile.

        It is tried again where the drives or the law were stopped on the way, as on a machine that stalls.

        Raises:
            HardwareFault: they were stopped too often, or another failure.
        """
        problem = None
        for _ in range(ATTEMPTS):
            try:
                if problem is not None:
                    self._recover(trial)
                return self._follow(trial, setting)
            except _StoppedError as error:
                problem = error
                print(f"{setting}: {error}", file=sys.stderr)
        raise HardwareFault(f"stopped {ATTEMPTS} times: {problem}; a lower --rate may help", bound=ATTEMPTS)

    def _follow(self, trial: ContourTrial, setting: Setting) -> tuple[Track, int]:
        operator = self._operator
        reply = operator.set_gains(LAW, setting.gains(self._dead_time))
        self._until(reply.done, REPLY_LIMIT, "gains: no reply")
        operator.check_set(reply)
        settled = time.monotonic() + SETTLE
        self._until(lambda: time.monotonic() > settled, 2.0 * SETTLE, "no time")
        before = int(self.diagnostics()["cycles left out"])
        self._send(trial.times, trial.positions, trial.velocities, trial.duration + MARGIN)
        try:
            track = trial.track(*operator.samples())
        except ConfigError as error:
            raise _StoppedError(str(error)) from error
        return track, int(self.diagnostics()["cycles left out"]) - before

    def _send(self, times: Array, positions: Array, velocities: Array, duration: float) -> None:
        operator = self._operator

        def arrived() -> bool:
            if operator.last_error:
                raise _StoppedError(operator.last_error)
            return bool(operator.recorded >= duration)

        operator.send(times, positions, velocities)
        self._until(arrived, duration + FOLLOW_LIMIT, "no joint states")

    def _recover(self, trial: ContourTrial) -> None:
        """Enable the drives again, and go to the contour's beginning."""
        self.diagnostics()  # as the drives are now
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
            late = time.monotonic() > end  # before messages are taken that came while this process was held up
            self._spin(0.02)
            if self.recorder is not None and time.monotonic() > self._collected + COLLECT:
                self._collected = time.monotonic()
                self.recorder.collect()
            self._check()
            if was_running and operator.stopped:
                raise _StoppedError(f"the drives were stopped: {operator.message.split(';')[0]}")
            if late and not condition():
                message = f"{what} (waited for {limit:g} s); drives: {operator.message or 'unknown'}"
                raise HardwareFault(self._with_cause(message), bound=limit)

    def _check(self) -> None:
        try:
            self._processes.check()
        except HardwareFault as error:
            raise HardwareFault(self._with_cause(str(error))) from error

    def _with_cause(self, message: str) -> str:
        error = self._operator.last_error
        return f"{message}; last error: {error}" if error else message


def _report(comparisons: Sequence[Comparison], bus: Mapping[str, str]) -> None:
    columns = ("on the bus", 18), ("cycles", 10), ("in process", 18), ("ratio", 14), ("with drives", 18), ("ratio", 14)
    print(f"{'contour error [mm]':<28}" + "".join(f"{name:>{width}}" for name, width in columns))
    print(f"{'':<28}{'max':>9}{'rms':>9}{'left out':>10}" + 2 * f"{'max':>9}{'rms':>9}{'max':>7}{'rms':>7}")
    for each in comparisons:
        mark = " " if each.bus.complete else "*"
        cells = f"{each.bus.max:8.4f}{mark}{each.bus.rms:8.4f}{mark}{each.left_out:10d}"
        for track in (each.simulated, each.delayed):
            ratios = f"{each.bus.max / track.max:6.3f}{mark}{each.bus.rms / track.rms:6.3f}{mark}"
            cells += f"{track.max:9.4f}{track.rms:9.4f}{ratios}"
        print(f"{each.setting!s:<28}{cells}")
    if gap := max((each.bus.longest_gap for each in comparisons if not each.bus.complete), default=0.0):
        print(f"* samples are missing, for up to {gap:.3f} s: the true figures may be larger")
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
        "--rate", type=float, default=RATES[0], choices=RATES, help="of the bus [Hz] (default: %(default)g)"
    )
    parser.add_argument(
        "--output", default="demo-output/ethercat", metavar="FOLDER", help="for plots and CSV (default: %(default)s)"
    )


def run_arguments(options: argparse.Namespace) -> int:
    """Run :func:`ethercat_demo` by the options of :func:`add_arguments`, in a namespace; returns the exit status."""
    enter_namespace()
    return ethercat_demo(options.domains, in_process=not options.topics, rate=options.rate, output=Path(options.output))
