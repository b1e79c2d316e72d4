"""Measures how well the process of an EtherCAT bus keeps time, by its cycles as they run."""

from __future__ import annotations

import os
import time
from contextlib import closing, suppress
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

import numpy as np

from ...core.errors import ConfigError, HardwareFault, StaleStateError
from ...core.types import Array
from ...laws.running_law import RunningLaw
from ...robot.configuration import RobotConfig, load_robot
from ...simulation.log import figure_class, save_picture
from ..ethercat.topology import load_topology
from ..process.bus_monitor import REPORT_PERIOD
from ..process.client import BusClient, BusSettings
from ..process.pacing import COLUMNS, SIZE, Timing
from ..process.protocol import BusStatus
from ..process.remote_loop import RemoteLoop
from ..supervisor import Action

PERCENTILES = (50.0, 90.0, 99.0, 99.9)
TICK = 0.01  # s between two signs of life
COLLECT = 1.0  # s between two looks at the cycles' times
ENABLE_LIMIT = 10.0  # s for the drives to do what the law commands
PROFILE = "ethercat"
_TIME_CONSTANT = 0.2  # s, of gains, which don't change here
# Attributes of Jitter, and the counters of the driver that they are made of.
_COUNTERS = {
    "lost_frames": "lost frames",
    "bad_counters": "wrong working counters",
    "late_frames": "late frames",
}


@dataclass(frozen=True, eq=False)
class Jitter:
    """Measured times of the cycles of the bus's process.

    Attributes:
        cycle: Time between two cycles, as configured [s].
        samples: (len(COLUMNS), cycles) durations, see :class:`.pacing.Timing` [s].
        missed: Number of overruns: cycles that were left out, because one before took longer than
            them.
        lost_frames, bad_counters, late_frames: Numbers of cycles whose frame didn't come back, was
            changed by too few slaves, or came after its cycle.
        priority: Priority of SCHED_FIFO that the process had; 0 for the ordinary scheduling.
        unrecorded: Number of cycles whose times are lost, because nobody looked at them in time.
        warnings: Warnings of the process, about what it isn't permitted.
        trouble: Reason why the drives were stopped before the end, or what was wrong with the bus
            then; empty for nothing.
    """

    cycle: float
    samples: Array
    missed: int
    lost_frames: int
    bad_counters: int
    late_frames: int
    priority: int
    unrecorded: int = 0
    warnings: tuple[str, ...] = ()
    trouble: str = ""

    @property
    def cycles(self) -> int:
        """Number of cycles that were measured."""
        return len(self.samples[0])

    @property
    def on_time(self) -> float:
        """Fraction of the cycles there should have been that were over before
        the next one's time.
        """
        return int(np.count_nonzero(self.samples[-1] < self.cycle)) / max(
            1, self.cycles + self.missed
        )

    def percentiles(self) -> dict[str, tuple[float, ...]]:
        """Durations by column: those at PERCENTILES, then the longest [s]."""
        rows = np.percentile(self.samples, (*PERCENTILES, 100.0), axis=1).T
        return {name: tuple(row.tolist()) for name, row in zip(COLUMNS, rows, strict=True)}

    def data(self) -> dict[str, Any]:
        """All but the samples, for JSON; times in s."""
        names = (*(f"p{percent:g}" for percent in PERCENTILES), "max")
        plain = {
            each.name: getattr(self, each.name) for each in fields(self) if each.name != "samples"
        }
        times = {
            name: dict(zip(names, row, strict=True)) for name, row in self.percentiles().items()
        }
        return {**plain, "cycles": self.cycles, "on_time": self.on_time, "times": times}

    def plot(self, path: Path, title: str) -> Path:
        """Plot the fraction of cycles that took longer, over how long; returns the file, a PNG."""
        figure = figure_class()(figsize=(8.0, 5.0), layout="constrained")
        axes = figure.subplots()
        fractions = np.arange(self.cycles, 0, -1) / self.cycles
        for name, row, (style, grey) in zip(COLUMNS, self.samples, _LINES, strict=True):
            axes.plot(
                1e6 * np.sort(row), fractions, style, color=grey, label=name, drawstyle="steps-post"
            )
        axes.axvline(
            1e6 * self.cycle,
            color="0.8",
            linewidth=3.0,
            zorder=0.5,
            label=f"cycle, {1e3 * self.cycle:g} ms",
        )
        axes.set(xscale="log", yscale="log", ylim=(0.5 / self.cycles, 1.5))
        axes.set(xlabel="time [µs]", ylabel="fraction of cycles that took longer")
        axes.set_title(title, fontsize="medium")
        axes.grid(True, color="0.92")
        axes.legend(frameon=False)
        path.parent.mkdir(parents=True, exist_ok=True)
        return save_picture(figure, path, dpi=110)


_LINES = ((":", "0.0"), ("--", "0.0"), ("-", "0.55"), ("-", "0.0"))


class TimingRecorder:
    """The times of all cycles from now on, beyond what the ring holds that another process fills.

    Attributes:
        unrecorded: Number of cycles whose times were written over before they were collected.
    """

    def __init__(self, timing: Timing) -> None:
        self._timing = timing
        self._taken = timing.count
        self.unrecorded = 0
        self._parts: list[Array] = [np.empty((len(COLUMNS), 0))]

    def collect(self) -> None:
        """Take what is new; often, since the ring holds some seconds only."""
        cycles = self._timing.count
        ring = self._timing.samples()
        # others were written over meanwhile
        oldest = min(max(self._taken, self._timing.count - SIZE), cycles)
        self.unrecorded += oldest - self._taken
        self._parts.append(ring[:, np.arange(oldest, cycles) % SIZE])
        self._taken = cycles

    def all(self) -> Array:
        """(columns, cycles) of all that was collected [s]."""
        return np.concatenate(self._parts, axis=1)


def measure(settings: BusSettings, seconds: float, law: str = "") -> Jitter:
    """Run the bus's process for a while.

    Args:
        settings: Settings of the process of an EtherCAT bus.
        seconds: Duration of the measurement, once the bus is in OP and the law runs [s].
        law: Law that runs in the process and holds the arm with the drives ENABLED; without one
            they stay disabled.

    Raises:
        ConfigError: unknown robot, law or interface; the bus isn't that of the topology, or another
            process's.
        HardwareFault: the bus isn't in OP, the drives can't be enabled, or the process ends.
    """
    if not seconds > 0.0:
        raise ConfigError(
            f"seconds = {seconds:g}: must be above 0", name="seconds", value=seconds, bound=0.0
        )
    config = load_robot(settings.robot, settings.profile)
    cycle = load_topology(settings.options.get("topology") or config.name).cycle
    config = config.at_rate(1.0 / cycle)
    running = RunningLaw(config, law) if law else None
    settings = replace(settings, in_process=running is not None)
    client = BusClient(settings)
    with closing(client):
        client.wait_until_ready()
        loop = None if running is None else _start(client, config, running, settings.robot)
        return _observe(client, loop, cycle, seconds)


def _start(client: BusClient, robot: RobotConfig, law: RunningLaw, name: str) -> RemoteLoop:
    """Let a law hold the arm."""
    loop = RemoteLoop(robot, law, None, _TIME_CONSTANT, name=name, path=client.path)
    try:
        loop.reset()
    except HardwareFault as error:
        raise HardwareFault(f"{error}; {_describe(client)}") from error
    until = time.monotonic() + ENABLE_LIMIT
    requested = False
    refusal = ""
    while True:
        status = _status(client, loop)
        if status.action is Action.RUN:
            return loop
        if requested and status.action in (Action.DISABLE, Action.QUICK_STOP):
            raise HardwareFault(f"the drives aren't enabled: {_describe(client)}")
        if not requested and status.in_process:
            try:
                client.request("enable")
                requested = True
            except ConfigError as error:  # what stands against it may go by
                refusal = f"{error}; "
        if time.monotonic() > until:
            message = (
                f"the drives aren't enabled within {ENABLE_LIMIT:g} s: {refusal}{_describe(client)}"
            )
            raise HardwareFault(message, bound=ENABLE_LIMIT)


def _observe(client: BusClient, loop: RemoteLoop | None, cycle: float, seconds: float) -> Jitter:
    samples = TimingRecorder(client.timing)
    first = _status(client, loop)
    until = time.monotonic() + seconds
    collect = time.monotonic() + COLLECT
    trouble = ""
    last = first
    while not trouble and time.monotonic() < until:
        last = _status(client, loop)
        if loop is not None and last.action not in (Action.RUN, Action.HOLD):
            trouble = _describe(client)
        if time.monotonic() > collect:
            collect += COLLECT
            samples.collect()
    samples.collect()
    if not last.fresh and not trouble:
        trouble = _describe(client)
    return Jitter(
        cycle=cycle,
        samples=samples.all(),
        missed=last.overruns - first.overruns,
        **{
            field: round(last.counters[name] - first.counters[name])
            for field, name in _COUNTERS.items()
        },
        priority=_real_time_priority(client.process_number),
        unrecorded=samples.unrecorded,
        warnings=tuple(client.report().get("warnings", ())),
        trouble=trouble,
    )


def _status(client: BusClient, loop: RemoteLoop | None) -> BusStatus:
    """The newest status, after a pause; the law gets a sign of life."""
    time.sleep(TICK)
    status = client.wait(1.0)
    if status is None:
        client.check()
        raise HardwareFault("the bus's process has had no cycle for 1 s")
    if loop is not None:
        with suppress(StaleStateError):  # what that means, the bus's process decides
            loop.tick(status.state)
    return status


def _describe(client: BusClient) -> str:
    """State of the bus, as its process says."""
    time.sleep(2.0 * REPORT_PERIOD)
    report = client.report()
    status = client.status()
    if status is None or "message" not in report:
        return "no word from the bus's process"
    counter = status.counters["working counter"]
    return f"{report['message']} (working counter {counter} of {report['expected']})"


def _real_time_priority(process: int) -> int:
    return (
        os.sched_getparam(process).sched_priority
        if os.sched_getscheduler(process) == os.SCHED_FIFO
        else 0
    )
