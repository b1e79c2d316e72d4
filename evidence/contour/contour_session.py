"""The steps of the demonstration on EtherCAT: enable, set gains, follow a contour; again where a machine stalls."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Mapping
from typing import Any

from robot_control_ros.bringup.processes import Processes
from robot_control_ros.core.errors import ConfigError, HardwareFault
from robot_control_ros.fieldbus.ethercat.topology import Topology
from robot_control_ros.fieldbus.tools.jitter import COLLECT, Jitter, TimingRecorder

from .contour_trial import LAW, ContourTrial, Setting, Track, dead_time

START_LIMIT = 160.0  # s until the bus is in OP, the control laws are compiled, and the controller sends telemetry
ENABLE_LIMIT = 30.0  # s until the drives are enabled
REPLY_LIMIT = 15.0  # s: longer than the bus process may take
DIAGNOSTICS_LIMIT = 10.0  # s: diagnostics come once a second, on a machine that has time
SETTLE = 1.0  # s: five time constants of gains
ATTEMPTS = 4  # to start, and per setting
HOME_LIMIT = 30.0  # s until the arm is at home again
AT_HOME = 0.02  # rad
MARGIN = 0.5  # s that a trajectory may begin late
FOLLOW_LIMIT = 10.0  # s beyond its duration
_COUNTS = ("cycles left out", "lost frames", "wrong working counters", "late frames")
TRIAL = 2.0  # s in which the machine shows whether it keeps the rate
SLOWEST = 0.5  # fraction of cycles on time, below which the machine is too slow
RATES = (1000.0, 500.0, 250.0)  # Hz


class StoppedError(HardwareFault):
    """The drives were stopped, or the controller stopped the law."""


class ContourSession:
    """The steps of the demonstration, by a ContourOperator that spins while the processes must go on.

    Attributes:
        recorder: of the cycles' times; None before the bus runs.
    """

    def __init__(self, operator: Any, spin: Callable[[float], None], processes: Processes, topology: Topology) -> None:
        self.recorder: TimingRecorder | None = None
        self._operator = operator
        self._spin = spin
        self._processes = processes
        self._cycle = topology.cycle
        self._dead_time = dead_time(topology)
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
        unrecorded = self.recorder.unrecorded
        return Jitter(self._cycle, self.recorder.all(), missed, lost, bad, late, priority=0, unrecorded=unrecorded)

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
                    self._recover()
                return self._follow(trial, setting)
            except StoppedError as error:
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
        if operator.home_distance > AT_HOME:
            raise StoppedError(self._with_cause("the arm isn't where the contour begins"))
        operator.send(trial.times, trial.positions, trial.velocities)
        self._until(lambda: self._recorded(trial.duration + MARGIN), trial.duration + FOLLOW_LIMIT, "no joint states")
        try:
            track = trial.track(*operator.samples())
        except ConfigError as error:
            raise StoppedError(self._with_cause(str(error))) from error
        return track, int(self.diagnostics()["cycles left out"]) - before

    def _recorded(self, duration: float) -> bool:
        if self._operator.last_error:
            raise StoppedError(self._operator.last_error)
        return bool(self._operator.recorded >= duration)

    def _recover(self) -> None:
        """Enable the drives again, and go to the contour's beginning."""
        self.diagnostics()  # as the drives are now
        self._call("ethercat/reset_fault")
        self._enable()
        if refusal := self._call("controller/go_home"):
            raise StoppedError(refusal)
        self._until(lambda: self._operator.home_distance < AT_HOME, HOME_LIMIT, "the arm doesn't get home")

    def _enable(self) -> None:
        operator = self._operator
        limit = time.monotonic() + ENABLE_LIMIT
        refusal = ""
        while not operator.running:
            if time.monotonic() > limit:
                message = f"the drives aren't enabled within {ENABLE_LIMIT:g} s: {refusal or operator.message}"
                raise HardwareFault(message, bound=ENABLE_LIMIT)
            if refusal := self._call("ethercat/enable"):
                self._call("ethercat/reset_fault")  # slaves that fell out of OP while the machine stood still
            self.diagnostics()

    def _call(self, service: str) -> str:
        """Call a service; returns why it was refused, or ""."""
        reply = self._operator.request(service)
        self._until(reply.done, REPLY_LIMIT, f"{service}: no reply")
        return "" if reply.result().success else str(reply.result().message)

    def diagnostics(self) -> Mapping[str, str]:
        """The next diagnostics of the bus."""
        operator = self._operator
        since = time.monotonic()
        self._until(lambda: operator.diagnosed_at > since, DIAGNOSTICS_LIMIT, "no diagnostics of the bus")
        values: Mapping[str, str] = operator.bus
        return values

    def _until(self, condition: Callable[[], bool], limit: float, what: str) -> None:
        operator = self._operator
        end = time.monotonic() + limit
        was_running = operator.running
        while not condition():
            late = time.monotonic() > end  # before messages are taken that came while this process was held up
            self._spin(0.02)
            if self.recorder is not None and time.monotonic() > self._collected + COLLECT:
                self._collected = time.monotonic()
                self.recorder.collect()
            self._check()
            if was_running and operator.stopped:
                raise StoppedError(f"the drives were stopped: {operator.message.split(';')[0]}")
            if late and not condition():
                message = f"{what} (waited for {limit:g} s); drives: {operator.message or 'unknown'}"
                raise HardwareFault(self._with_cause(message), bound=limit)

    def _check(self) -> None:
        try:
            self._processes.check()
        except HardwareFault as error:
            raise HardwareFault(self._with_cause(str(error))) from error

    def _with_cause(self, message: str) -> str:
        warning = self._operator.last_warning
        return f"{message}; last message: {warning}" if warning else message
